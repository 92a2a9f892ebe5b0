//! What a client has prepared: by COM_STMT_PREPARE, and by SQL.
//!
//! What must always hold: a statement's parameter types are those of its own executions.

use std::collections::BTreeMap;
use std::rc::{Rc, Weak};
use std::time::Instant;

use weir_admin::digests::Digested;
use weir_backend::lanes::Group;
use weir_backend::prepared::StatementKey;
use weir_backend::profile::SharedProfile;
use weir_sql::hot_row::{HotText, TransactionHints};
use weir_sql::{Class, RoutingHint};
use weir_wire::error::codes;
use weir_wire::kept::KeptRows;
use weir_wire::stmt::{Execute, settle_null_types};
use weir_wire::{Failure, Malformed};

use super::state::SessionState;
use super::stopped::malformed;

/// The most statements that one client may have prepared: `max_prepared_stmt_count` of a stock server.
const MOST_STATEMENTS: usize = 16_382;
/// How many times `max_allowed_packet` the texts may have, all together, that one client has prepared: they are kept in Weir's memory.
const TEXTS_OF_SESSION: usize = 4;
/// Texts up to this length are bounded by their number alone.
const SHORT_TEXT: usize = 16 << 10;
/// MariaDB: "the statement prepared last", if that could be prepared.
pub(in crate::session) const LAST_PREPARED: u32 = u32::MAX;

/// A statement prepared by the client.
#[derive(Debug)]
pub(crate) struct PreparedStatement {
    pub(crate) key: Rc<StatementKey>,
    /// When it was prepared.
    pub(crate) since: Instant,
    pub(crate) class: Rc<Class>,
    pub(crate) params: u16,
    /// The parameter types of its latest execution.
    pub(crate) types: Option<Rc<[u8]>>,
    /// Its executions have not all had the same parameter types.
    pub(crate) retyped: bool,
    /// The latest type that each parameter had in any execution.
    pub(crate) known_types: Vec<Option<[u8; 2]>>,
    /// Rows wait on the server.
    pub(crate) cursor: bool,
    /// Rows wait here.
    pub(crate) waiting: Option<KeptRows>,
    /// A parameter's value has been sent in pieces.
    pub(crate) long_data: bool,
    /// Values that were sent in pieces and are kept here until the execution, by the numbers of their parameters.
    pub(crate) pieces: BTreeMap<u16, Vec<u8>>,
    /// Sending a piece failed: the next execution tells.
    pub(crate) failed: Option<Failure>,
    /// Where it wants to run, if it says so.
    pub(crate) hint: Option<RoutingHint>,
    /// What is counted of its executions.
    pub(crate) digested: Rc<Digested>,
    /// Its digest, if its executions may ride lanes.
    pub(crate) digest: Option<u128>,
    /// Its text as a statement that may ride in a batch, and the hash of what it says of its row.
    pub(crate) hot: Option<(Rc<HotText>, u64)>,
    /// What its hints say of its transaction.
    pub(crate) hints: Option<TransactionHints>,
    /// The lanes whose settings were last found to be those that it was prepared with.
    pub(crate) lanes: Weak<Group>,
}

impl PreparedStatement {
    /// The bytes of the values that are kept for its execution.
    pub(crate) fn kept(&self) -> usize {
        self.pieces.values().map(Vec::len).sum()
    }

    /// Keeps a piece of a parameter's value. Its values may have `most` bytes.
    ///
    /// # Errors
    /// A server's, if there is no such parameter, or if it is longer.
    pub(crate) fn keep_piece(&mut self, parameter: u16, piece: &[u8], most: usize) -> Result<(), Failure> {
        if parameter >= self.params {
            let message = "Incorrect arguments to mysqld_stmt_send_long_data";
            return Err(Failure::client(codes::ER_WRONG_ARGUMENTS, message));
        }
        if self.kept() + piece.len() > most {
            let message = "Parameter of prepared statement which is set through mysql_send_long_data() is longer than \
                           'max_allowed_packet' bytes";
            return Err(Failure::client(codes::ER_UNKNOWN_ERROR, message));
        }
        self.pieces.entry(parameter).or_default().extend_from_slice(piece);
        Ok(())
    }

    /// An execution with the values that are kept for it, if there are any. They are no longer kept.
    ///
    /// # Errors
    /// When the execution is cut short.
    pub(crate) fn take_pieces(&mut self, execute: &Execute<'_>, named: bool) -> Result<Option<Vec<u8>>, Malformed> {
        let pieces = std::mem::take(&mut self.pieces);
        let types = execute.types.or(self.types.as_deref()).filter(|_| !pieces.is_empty());
        types.map(|types| execute.joined(types, &pieces, named)).transpose()
    }

    /// Takes the types that an execution brings for its parameters. Returns whether those of some are not known.
    ///
    /// # Errors
    /// There are none, neither with this execution nor from an earlier one.
    pub(crate) fn take_types(&mut self, execute: &Execute<'_>, named: bool, mariadb: bool) -> Result<bool, Failure> {
        let first = self.types.is_none();
        let brought = execute.types.map(<[u8]>::to_vec);
        let Some(mut types) = brought.or_else(|| if first { execute.types_of_nulls(named) } else { None }) else {
            if execute.params > 0 && first {
                let message = "Incorrect arguments to mysqld_stmt_execute";
                return Err(Failure::client(codes::ER_WRONG_ARGUMENTS, message));
            }
            return Ok(false);
        };
        let mut untyped = false;
        if !mariadb {
            untyped = settle_null_types(&mut types, &mut self.known_types, named).map_err(malformed)?;
        }
        self.retyped |= self.types.as_ref().is_some_and(|before| before[..] != types[..]);
        self.types = Some(types.into());
        Ok(untyped)
    }
}

/// A text that a client has prepared by SQL.
#[derive(Debug)]
pub(in crate::session) struct SqlPrepared {
    pub(super) text: Box<[u8]>,
    pub(super) parameters: usize,
    /// The settings under which it was prepared.
    pub(super) parsing: SharedProfile,
}

const TOO_LONG_TEXTS: &str = "The session's prepared statements are longer than four times max_allowed_packet: close or DEALLOCATE some of them first";

fn too_many_statements() -> Failure {
    let message =
        format!("Can't create more than max_prepared_stmt_count statements (current value: {MOST_STATEMENTS})");
    Failure::client(codes::ER_MAX_PREPARED_STMT_COUNT_REACHED, message)
}

impl SessionState {
    /// Checks that one more text of `length` bytes may be prepared, with packets of at most `packet` bytes.
    ///
    /// # Errors
    /// The session has prepared as many as it may, or texts of as many bytes.
    pub(in crate::session) fn may_prepare(&self, length: usize, packet: usize) -> Result<(), Failure> {
        if self.statements.len() >= MOST_STATEMENTS || self.sql_prepared.len() >= MOST_STATEMENTS {
            return Err(too_many_statements());
        }
        if length <= SHORT_TEXT {
            return Ok(());
        }
        let of_protocol = self.statements.values().map(|statement| statement.key.text.len());
        let texts: usize = of_protocol.chain(self.sql_prepared.values().map(|prepared| prepared.text.len())).sum();
        match texts.saturating_add(length) > packet.saturating_mul(TEXTS_OF_SESSION) {
            true => Err(Failure::client(codes::ER_MAX_PREPARED_STMT_COUNT_REACHED, TOO_LONG_TEXTS)),
            false => Ok(()),
        }
    }
}

/// A statement with values in pieces would run with another text than the one that has them.
pub(in crate::session) fn in_pieces() -> Failure {
    let message = "Values sent in pieces (COM_STMT_SEND_LONG_DATA) to a statement that Weir has to change, as it uses ROW_COUNT(), \
                   FOUND_ROWS() or a generated key, are not supported; send them with the execution";
    Failure::client(codes::ER_NOT_SUPPORTED_YET, message)
}
