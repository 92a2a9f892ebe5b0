//! What sessions begin with: made once for each kind of login and shared, because clients that connect for each query
//! would wait for it each time.
//!
//! What must always hold: it follows from the server's identity, the client's character set and its flags alone.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use weir_backend::Identity;
use weir_backend::profile::{Profile, SharedProfile, charset_of};
use weir_sql::{Dialect, LeadBytes, LexMode};
use weir_wire::Capabilities;

/// The most kinds of login, and databases, for which something is kept.
const MOST: usize = 1000;

/// The parts of a new session's state that are not the same for all.
#[derive(Debug, Clone)]
pub(crate) struct Beginning {
    pub(crate) profile: SharedProfile,
    /// What COM_RESET_CONNECTION goes back to, but for the database.
    pub(crate) initial: SharedProfile,
    pub(crate) lex: LexMode,
}

impl Beginning {
    fn new(identity: &Identity, kind: Kind) -> Beginning {
        let names = identity.handshake_collation(kind.collation);
        // A client's flag, which Weir does not pass to connections that clients without it share. A reset of the
        // connection takes it back on MariaDB, and not on MySQL.
        let sql_mode = kind.ignore_space.then(|| format!("IGNORE_SPACE,{}", identity.sql_mode));
        let sql_mode = sql_mode.as_deref().map(|mode| ("sql_mode", mode));
        let profile = Rc::new(Profile::new(None, names).with_variables(sql_mode));
        let initial = match identity.mariadb {
            true => Rc::new(Profile::new(None, names)),
            false => Rc::new(Profile::default().with_variables(sql_mode)),
        };
        Beginning { lex: lex_mode(&profile, identity), profile, initial }
    }
}

/// The parts of a profile that decide how a text is read.
pub(crate) fn lex_mode(profile: &Profile, identity: &Identity) -> LexMode {
    let mut lex = LexMode::from_sql_mode(profile.variable("sql_mode").unwrap_or(&identity.sql_mode));
    let charset = profile.variable("character_set_client").unwrap_or_default();
    lex.lead_bytes = LeadBytes::of_charset(charset_of(charset));
    lex.dialect = if identity.mariadb { Dialect::MariaDb } else { Dialect::MySql };
    lex.version = version_number(&identity.version);
    lex
}

/// A greeting's version (`9.7.4`, `5.5.5-10.11.19-MariaDB`) as executable comments name it; 0 if it has another form.
fn version_number(greeting: &[u8]) -> u32 {
    let greeting = greeting.strip_prefix(b"5.5.5-").unwrap_or(greeting);
    let mut parts = greeting.split(|byte| !byte.is_ascii_digit()).take(3).map(|digits| {
        let digits = std::str::from_utf8(digits).ok()?;
        digits.parse::<u32>().ok().filter(|part| *part < 100)
    });
    let mut part = || parts.next().flatten();
    let version = (|| Some(part()? * 10_000 + part()? * 100 + part()?))();
    version.unwrap_or(0)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Kind {
    collation: u16,
    ignore_space: bool,
}

/// What a worker's sessions begin with.
#[derive(Debug, Default)]
pub(crate) struct Beginnings {
    made: RefCell<Made>,
}

#[derive(Debug, Default)]
struct Made {
    identity: Option<Arc<Identity>>,
    kinds: HashMap<Kind, Beginning>,
    /// By database: a profile without it, and the same with it.
    in_databases: HashMap<Box<[u8]>, (SharedProfile, SharedProfile)>,
}

impl Beginnings {
    /// What a session of a client with these flags and this collation begins with.
    pub(crate) fn of(&self, identity: &Arc<Identity>, capabilities: Capabilities, collation: u16) -> Beginning {
        let mut made = self.made.borrow_mut();
        if !made.identity.as_ref().is_some_and(|known| Arc::ptr_eq(known, identity)) {
            *made = Made { identity: Some(identity.clone()), ..Made::default() };
        }
        if made.kinds.len() >= MOST {
            made.kinds.clear();
        }
        let kind = Kind { collation, ignore_space: capabilities.contains(Capabilities::IGNORE_SPACE) };
        made.kinds.entry(kind).or_insert_with(|| Beginning::new(identity, kind)).clone()
    }

    /// A profile, with a default database.
    pub(crate) fn in_database(&self, profile: &SharedProfile, database: &[u8]) -> SharedProfile {
        let in_databases = &mut self.made.borrow_mut().in_databases;
        if let Some((without, with)) = in_databases.get(database)
            && Rc::ptr_eq(without, profile)
        {
            return with.clone();
        }
        let with = Rc::new(profile.with_database(Some(database)));
        if in_databases.len() >= MOST {
            in_databases.clear();
        }
        in_databases.insert(database.into(), (profile.clone(), with.clone()));
        with
    }
}

#[cfg(test)]
mod tests {
    use super::version_number;

    #[test]
    fn a_greeting_has_the_number_that_comments_name() {
        for (greeting, number) in [
            ("9.7.4", 90_704),
            ("8.0.36-28.1", 80_036),
            ("10.11.19-MariaDB-log", 101_119),
            ("5.5.5-10.6.2-MariaDB", 100_602),
            ("Weir", 0),
            ("9.7", 0),
            ("9.700.1", 0),
        ] {
            assert_eq!(version_number(greeting.as_bytes()), number, "{greeting}");
        }
    }
}
