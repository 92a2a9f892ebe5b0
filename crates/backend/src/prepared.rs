//! Prepared statements, as connections and sessions know them.
//!
//! What must always hold: two keys are equal only if a server reads both texts in the same way.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::{Rc, Weak};
use std::time::Instant;

use weir_wire::stmt::Execute;

use crate::profile::SharedProfile;

/// Entries above which those that nobody has any more are looked for.
const FEW_KEYS: usize = 1024;

/// What a prepared statement is known by.
#[derive(Debug)]
pub struct StatementKey {
    /// The text.
    pub text: Box<[u8]>,
    /// The profile under which the text is read: [`Profile::parsing`](crate::Profile::parsing) at the time of PREPARE.
    pub parsing: SharedProfile,
    /// The client's statement that is alone to have it; 0 for a key that all have who have prepared the text.
    alone: u64,
    hash: u64,
}

impl StatementKey {
    /// The key of a text that is read under `parsing`.
    pub fn new(text: Box<[u8]>, parsing: SharedProfile) -> StatementKey {
        Self::with(text, parsing, 0)
    }

    fn with(text: Box<[u8]>, parsing: SharedProfile, alone: u64) -> StatementKey {
        let mut hasher = DefaultHasher::new();
        (&text, parsing.key(), alone).hash(&mut hasher);
        StatementKey { text, parsing, alone, hash: hasher.finish() }
    }

    /// A key of the same text that only this statement of this session has: a server keeps a cursor, and values that came in
    /// pieces, with its own id of a statement, which two statements of a client can't have in common then.
    pub fn alone(&self, session: u32, statement: u32) -> StatementKey {
        let alone = u64::from(session) << 32 | u64::from(statement);
        Self::with(self.text.clone(), self.parsing.clone(), alone)
    }

    /// Whether only one statement of one session has it.
    pub fn is_alone(&self) -> bool {
        self.alone != 0
    }
}

impl PartialEq for StatementKey {
    fn eq(&self, other: &Self) -> bool {
        let heads = |key: &Self| (key.hash, key.alone);
        let same = || heads(self) == heads(other) && self.text == other.text && self.parsing == other.parsing;
        std::ptr::eq(self, other) || same()
    }
}

impl Eq for StatementKey {}

impl Hash for StatementKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

/// A statement as it is prepared on one connection.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// The server's id of it.
    pub id: u32,
    /// The parameter types of its last execution here.
    pub types: Option<Rc<[u8]>>,
    /// The session that has executed it here, if any; `u32::MAX` for several.
    pub executed_by: Option<u32>,
    /// It has a cursor or values in pieces, which closing it would lose.
    pub held: bool,
    /// The server has warned when it was prepared.
    pub warned: bool,
    /// How many definitions had been made by then.
    pub defined: u64,
}

impl Prepared {
    /// Prepared as `id`, without a warning, when so many definitions had been made or more.
    pub fn new(id: u32, defined: u64) -> Prepared {
        Prepared { id, types: None, executed_by: None, held: false, warned: false, defined }
    }
}

/// One execution of a prepared statement, as a session wants it.
#[derive(Debug, Clone, Copy)]
pub struct Execution<'a> {
    /// The statement.
    pub key: &'a Rc<StatementKey>,
    /// What the client has sent.
    pub execute: &'a Execute<'a>,
    /// The types of the parameters.
    pub types: Option<&'a Rc<[u8]>>,
    /// The types of some parameters are not known.
    pub untyped: bool,
    /// The session.
    pub session: u32,
    /// When the session's client has prepared it.
    pub since: Instant,
    /// It may be a CALL, whose parameters MariaDB leaves with the types of the OUT values that came back.
    pub retypes: bool,
}

/// The keys of a worker's sessions. Equal ones are one and the same, so that connections find most of them by their address.
/// A key lives as long as somebody has it: texts may be large.
#[derive(Debug, Default)]
pub struct StatementKeys {
    /// By hash. Of different keys with one hash the latest is here, and the others are not shared.
    keys: RefCell<HashMap<u64, Weak<StatementKey>>>,
}

impl StatementKeys {
    /// The one key that all who have an equal one share.
    pub fn share(&self, key: StatementKey) -> Rc<StatementKey> {
        let mut keys = self.keys.borrow_mut();
        if let Some(known) = keys.get(&key.hash).and_then(Weak::upgrade)
            && *known == key
        {
            return known;
        }
        if keys.len() >= FEW_KEYS && keys.len() == keys.capacity() {
            keys.retain(|_, key| key.strong_count() > 0);
        }
        let key = Rc::new(key);
        keys.insert(key.hash, Rc::downgrade(&key));
        key
    }
}

#[cfg(test)]
mod tests {
    use super::{FEW_KEYS, StatementKey, StatementKeys};
    use crate::profile::Profile;
    use std::rc::Rc;

    fn key(text: &str, database: &str) -> StatementKey {
        StatementKey::new(text.as_bytes().into(), Rc::new(Profile::new(Some(database.as_bytes()), None)))
    }

    #[test]
    fn equal_keys_are_shared_and_others_are_not() {
        let keys = StatementKeys::default();
        let one = keys.share(key("SELECT 1", "a"));
        assert!(Rc::ptr_eq(&one, &keys.share(key("SELECT 1", "a"))));
        for other in [key("SELECT 2", "a"), key("SELECT 1", "b"), one.alone(1, 1), one.alone(1, 2)] {
            assert_ne!(*one, other);
            assert!(!Rc::ptr_eq(&one, &keys.share(other)));
        }
    }

    #[test]
    fn keys_that_nobody_has_any_more_are_forgotten() {
        let keys = StatementKeys::default();
        let kept = keys.share(key("SELECT 'kept'", "a"));
        for n in 0..20 * FEW_KEYS {
            keys.share(key(&format!("SELECT {n}"), "a"));
        }
        let entries = keys.keys.borrow();
        assert!(entries.len() <= 4 * FEW_KEYS);
        assert_eq!(entries.values().filter(|key| key.strong_count() > 0).count(), 1, "texts that nobody has stay");
        drop(entries);
        assert!(Rc::ptr_eq(&kept, &keys.share(key("SELECT 'kept'", "a"))));
    }
}
