//! Stored procedures and functions, as far as Weir has to know what they do.
//!
//! What must always hold: a routine is known only with the text that all shards of its database have. A routine that is not known may exist.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A procedure or a function, as SHOW CREATE tells of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Routine {
    /// The statement that makes it.
    pub text: String,
    /// The `sql_mode` that it is read and run with.
    pub sql_mode: String,
    /// `collation_connection` as of its definition: that of its literals.
    pub collation: String,
    /// The database's collation as of its definition: that of parameters for which none is named.
    pub database_collation: String,
}

/// The routines of a database. Names are in lower case, as servers compare them; one that is not ASCII is not known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Routines {
    /// Its procedures.
    #[serde(default)]
    pub procedures: BTreeMap<String, Arc<Routine>>,
    /// Its functions.
    #[serde(default)]
    pub functions: BTreeMap<String, Arc<Routine>>,
}

/// Which of the two kinds that have names of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum RoutineKind {
    /// A procedure.
    Procedure,
    /// A function.
    Function,
}

impl RoutineKind {
    /// The word of SQL.
    pub fn word(self) -> &'static str {
        match self {
            RoutineKind::Procedure => "PROCEDURE",
            RoutineKind::Function => "FUNCTION",
        }
    }
}

impl Routines {
    fn of(&mut self, kind: RoutineKind) -> &mut BTreeMap<String, Arc<Routine>> {
        match kind {
            RoutineKind::Procedure => &mut self.procedures,
            RoutineKind::Function => &mut self.functions,
        }
    }

    /// Takes a routine in; `None`: it is not known.
    pub fn put(&mut self, kind: RoutineKind, name: &str, routine: Option<Routine>) {
        if !name.is_ascii() {
            // The servers' collation of names may take it for another one.
            self.of(kind).clear();
            return;
        }
        let name = name.to_ascii_lowercase();
        match routine {
            Some(routine) => self.of(kind).insert(name, Arc::new(routine)),
            None => self.of(kind).remove(&name),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routine(text: &str) -> Routine {
        let text = text.to_owned();
        Routine { text, sql_mode: String::new(), collation: String::new(), database_collation: String::new() }
    }

    #[test]
    fn names_are_compared_as_servers_do() {
        let mut routines = Routines::default();
        routines.put(RoutineKind::Procedure, "Pay", Some(routine("1")));
        routines.put(RoutineKind::Function, "pay", Some(routine("2")));
        assert_eq!(routines.procedures["pay"].text, "1");
        assert_eq!(routines.functions["pay"].text, "2");
        routines.put(RoutineKind::Procedure, "PAY", None);
        assert!(routines.procedures.is_empty() && !routines.functions.is_empty());
        // It may be the same to the servers as one that is known.
        routines.put(RoutineKind::Function, "päy", None);
        assert!(routines.functions.is_empty());
    }
}
