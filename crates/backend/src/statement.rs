//! Prepared statements, as connections and sessions know them.
//!
//! What must always hold: two keys are equal only if a server reads both texts alike.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::{Rc, Weak};

use weir_wire::stmt::Execute;

use crate::connection::Connection;
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
    hash: u64,
}

impl StatementKey {
    /// The key of a text that is read under `parsing`.
    pub fn new(text: Box<[u8]>, parsing: SharedProfile) -> StatementKey {
        let mut hasher = DefaultHasher::new();
        (&text, parsing.key()).hash(&mut hasher);
        StatementKey { text, parsing, hash: hasher.finish() }
    }
}

impl PartialEq for StatementKey {
    fn eq(&self, other: &Self) -> bool {
        let same = || self.hash == other.hash && self.text == other.text && self.parsing == other.parsing;
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
}

impl Connection {
    /// Closes the statement here if it can't be executed as it was prepared: MySQL takes the types of expressions from what was executed
    /// before, which were another session's.
    pub fn close_if_unfit(&mut self, execution: &Execution<'_>, mariadb: bool) {
        let Some(prepared) = self.statements.peek(execution.key) else { return };
        let others = prepared.executed_by.is_some_and(|session| session != execution.session);
        if !mariadb && others && (execution.untyped || prepared.types.as_ref() != execution.types) {
            self.close_statement(execution.key);
        }
    }

    /// Writes the execution of a statement that is prepared here as `id`, with the types of its parameters if they are others than those
    /// of its last execution here.
    pub fn encode_execution(&mut self, execution: &Execution<'_>, id: u32, out: &mut Vec<u8>) {
        let Execution { key, execute, types, session, .. } = *execution;
        let Some(prepared) = self.statements.peek_mut(key) else {
            execute.encode_into(out, id, types.map(|types| &types[..]).filter(|_| execute.params > 0));
            return;
        };
        let same = matches!((&prepared.types, types), (Some(a), Some(b)) if Rc::ptr_eq(a, b) || a == b);
        let send = types.filter(|_| !same && execute.params > 0);
        execute.encode_into(out, id, send.map(|types| &types[..]));
        prepared.types = types.cloned();
        let by = |before| if before == session { session } else { u32::MAX };
        prepared.executed_by = Some(prepared.executed_by.map_or(session, by));
    }
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
        for other in [key("SELECT 2", "a"), key("SELECT 1", "b")] {
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
