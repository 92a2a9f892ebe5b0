//! Clients and the distributed transactions of Weirs.
//!
//! What must always hold: no text that a client writes ends, prepares or takes the name of a branch of Weir's, or writes a decision: a
//! transaction would end differently on its shards, whoever it belongs to. A text that only a server sees, because a routine, a variable or an
//! expression has it, is out of Weir's sight.

use weir_shards::schema::SCHEMA;
use weir_sql::{Class, Effects, Pins, TextKind, named_transactions};
use weir_txn::TransactionId;
use weir_wire::Failure;
use weir_wire::error::not_supported;

use super::Statement;

/// The procedure that writes a decision, which clients' users may call.
const DECIDE: &[u8] = b"decide";

/// Why nobody runs a statement about transactions of Weir's, if it is one.
pub(super) fn refused(statement: &Statement<'_>, in_own_schema: bool) -> Option<Failure> {
    if !may_name(statement.class) {
        return None;
    }
    let found = named_transactions(statement.text, statement.mode());
    let is_own = |database: Option<&[u8]>| database.map_or(in_own_schema, |database| is_own_schema(Some(database)));
    let decides = |(database, name): &(Option<Vec<u8>>, Vec<u8>)| {
        is_own(database.as_deref()) && name.eq_ignore_ascii_case(DECIDE)
    };
    let why = if found.names.iter().any(|name| TransactionId::is_kept_for(name)) {
        "XA with a name that begins with weir1-: these are Weir's own transactions, which Weir ends by itself"
    } else if found.unsure {
        "XA or CALL of this name in a text with executable comments of several versions: send it without them"
    } else if found.calls.iter().any(decides) {
        "CALL weir.decide: only Weir decides what becomes of transactions over several shards"
    } else {
        return None;
    };
    Some(not_supported(why))
}

/// Whether a default database is Weir's own.
pub(super) fn is_own_schema(database: Option<&[u8]>) -> bool {
    database.is_some_and(|database| database.eq_ignore_ascii_case(SCHEMA.as_bytes()))
}

/// Whether a text of this class may have such a statement, or define or prepare one.
fn may_name(class: &Class) -> bool {
    let effects = Effects::IMPLICIT_COMMIT
        | Effects::RUNS_OTHERS
        | Effects::STARTS_TRANSACTION_OTHER
        | Effects::SETS_FOR_STATEMENT;
    class.effects == Effects::WRITES
        || class.effects.intersects(effects)
        || class.pins.intersects(Pins::TEXT_PREPARE | Pins::UNKNOWN_STATEMENT)
        || class.kind == TextKind::Multiple
}
