//! Names of databases and of what is in them.

use serde::{Deserialize, Serialize};

/// A database (no name within it), or something in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Object {
    /// The database; empty for accounts, which belong to none.
    pub database: String,
    /// The table, view or program; `None`: the database as a whole.
    pub name: Option<String>,
}

impl Object {
    /// A database.
    pub fn database(name: impl Into<String>) -> Object {
        Object { database: name.into(), name: None }
    }

    /// Something in a database.
    pub fn within(database: impl Into<String>, name: impl Into<String>) -> Object {
        Object { database: database.into(), name: Some(name.into()) }
    }

    /// Whether a definition of one stands in the way of a definition of the other: they are the same, or one is the other's database.
    pub fn meets(&self, other: &Object) -> bool {
        self.database == other.database && (self.name.is_none() || other.name.is_none() || self.name == other.name)
    }
}

impl std::fmt::Display for Object {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.name {
            Some(name) => write!(f, "{}.{name}", self.database),
            None => f.write_str(&self.database),
        }
    }
}
