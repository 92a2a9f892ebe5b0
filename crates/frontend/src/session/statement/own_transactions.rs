//! Clients and the distributed transactions of Weirs.
//!
//! What must always hold: no text that a client writes ends, prepares or takes the name of a branch of Weir's, or writes a decision: a
//! transaction would end differently on its shards, whoever it belongs to. A text that only a server sees, because a routine or a variable has
//! it, is out of Weir's sight.

use weir_shards::schema::SCHEMA;
use weir_sql::{Class, Effects, LexMode, Lexer, Pins, TextKind, TokenKind, xa_names};
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
    let (text, mode) = (statement.text, statement.mode());
    if xa_names(text, mode).iter().any(|name| TransactionId::is_kept_for(name)) {
        let message =
            "XA with a name that begins with weir1-: these are Weir's own transactions, which Weir ends by itself";
        return Some(not_supported(message));
    }
    decides(text, mode, in_own_schema)
        .then_some(not_supported("weir.decide: only Weir decides what becomes of transactions over several shards"))
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

/// Whether a text names the procedure that writes a decision.
fn decides(text: &[u8], mode: LexMode, in_own_schema: bool) -> bool {
    let mut before = [&b""[..]; 2];
    Lexer::new(text, mode).any(|token| {
        if matches!(token.kind, TokenKind::CodeStart | TokenKind::CodeEnd) {
            return false;
        }
        let now = match token.kind {
            TokenKind::QuotedIdent => token.text(text).get(1..token.text(text).len() - 1).unwrap_or_default(),
            _ => token.text(text),
        };
        let [first, second] = before;
        before = [second, now];
        let qualified = second == b"." && is_own_schema(Some(first));
        let called = in_own_schema && second.eq_ignore_ascii_case(b"CALL");
        (qualified || called) && now.eq_ignore_ascii_case(DECIDE)
    })
}
