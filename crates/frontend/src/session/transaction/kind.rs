//! Which statements concern the transaction as a whole.
//!
//! What must always hold: what is not read as one of them here is none of them, or is one that only the server judges.

use weir_sql::ast::{Completion, SetItemKind, SetValue, SetVariable, StatementKind, SystemVariable, Transaction};
use weir_sql::{Dialect, Effects, LexMode, Lexer, Pins, TextKind, TokenKind};
use weir_wire::error::codes;

use super::super::outcome::ReplyOutcome;
use super::super::statement::Statement;

/// Pins that say nothing of a connection that later statements of a transaction could miss.
pub(in crate::session) const HARMLESS: Pins = Pins::SET_TRANSACTION.union(Pins::FOUND_ROWS).union(Pins::ROW_COUNT);

/// When a shard has to have joined a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::session) enum Joins {
    /// Before anything else is sent there. What writes must not be on its way to a server that has refused the branch.
    First,
    /// While others join: whoever asks for it has it confirmed.
    Meanwhile,
    /// With the statement that is sent there next.
    WithStatement,
}

/// How a transaction is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::session) struct Ends {
    pub(in crate::session) commit: bool,
    pub(in crate::session) chain: bool,
    pub(in crate::session) release: bool,
}

/// What a statement is for the transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::session) enum TransactionStatement {
    /// BEGIN, START TRANSACTION.
    Begin,
    /// START TRANSACTION WITH CONSISTENT SNAPSHOT; READ ONLY or not, if it says so.
    Snapshot(Option<bool>),
    /// COMMIT, ROLLBACK.
    End(Ends),
    /// The name, and the statement itself.
    Savepoint(Vec<u8>, String),
    RollbackTo(Vec<u8>),
    Release(Vec<u8>),
    /// SET TRANSACTION, for the next one; READ ONLY or not, if it says so.
    SetTransaction(Option<bool>),
    /// SET autocommit; whether on.
    Autocommit(bool),
    Other,
}

impl TransactionStatement {
    /// What a statement is for the transaction.
    pub(in crate::session) fn of(statement: &Statement<'_>) -> TransactionStatement {
        let (class, text, lex) = (statement.class, statement.text, statement.mode());
        match class.kind {
            TextKind::Begin { .. } => return TransactionStatement::Begin,
            TextKind::Commit => {
                return TransactionStatement::End(Ends { commit: true, chain: false, release: false });
            }
            TextKind::Rollback => {
                return TransactionStatement::End(Ends { commit: false, chain: false, release: false });
            }
            TextKind::Set if class.effects.contains(Effects::SET_TRANSACTION_ONCE) && class.assigned.is_empty() => {
                return next_transaction(statement).unwrap_or(TransactionStatement::Other);
            }
            TextKind::Set if class.assigned.iter().any(|name| &**name == "autocommit") => {
                return TransactionStatement::Autocommit(turns_autocommit_on(text, lex));
            }
            TextKind::Other => {}
            _ => return TransactionStatement::Other,
        }
        if !begins_so(text, lex) {
            return TransactionStatement::Other;
        }
        let Some(statement) = statement.only() else { return TransactionStatement::Other };
        let StatementKind::Transaction(transaction) = statement.kind else { return TransactionStatement::Other };
        let named = |name: &[u8]| name.to_ascii_lowercase();
        let ends = |commit: bool, completion: &Completion| {
            let set = |flag: Option<bool>| flag == Some(true);
            TransactionStatement::End(Ends { commit, chain: set(completion.chain), release: set(completion.release) })
        };
        match transaction {
            Transaction::Start(start) if start.consistent_snapshot => TransactionStatement::Snapshot(start.read_only),
            Transaction::Begin | Transaction::Start(_) => TransactionStatement::Begin,
            Transaction::Commit(completion) => ends(true, completion),
            Transaction::Rollback(completion) => ends(false, completion),
            Transaction::Savepoint(name) => {
                let statement = String::from_utf8_lossy(statement.span.text(text)).into_owned();
                TransactionStatement::Savepoint(named(name.name), statement)
            }
            Transaction::RollbackTo(name) => TransactionStatement::RollbackTo(named(name.name)),
            Transaction::ReleaseSavepoint(name) => TransactionStatement::Release(named(name.name)),
        }
    }
}

/// What a SET says of the next transaction, if that is all that it says, and no server refuses it.
fn next_transaction(statement: &Statement<'_>) -> Option<TransactionStatement> {
    let StatementKind::Set(set) = statement.only()?.kind else { return None };
    let mut said = None;
    for item in set.items {
        let read_only = match item.kind {
            SetItemKind::Transaction(transaction) if transaction.scope.is_none() => transaction.read_only,
            SetItemKind::Variable(set) => set_for_next(set, statement)?,
            _ => return None,
        };
        said = read_only.or(said);
    }
    Some(TransactionStatement::SetTransaction(said))
}

/// The same of `@@transaction_read_only = 1` and the like.
fn set_for_next(set: &SetVariable<'_>, statement: &Statement<'_>) -> Option<Option<bool>> {
    let (isolation, access) = match statement.mode().dialect {
        Dialect::MariaDb => ("tx_isolation", "tx_read_only"),
        _ => ("transaction_isolation", "transaction_read_only"),
    };
    let SystemVariable { scope: None, base: None, name } = set.variable else { return None };
    let value = match &set.value {
        SetValue::Expr(value) => value.span.text(statement.text),
        SetValue::Word(word) => word.name,
        SetValue::Default(_) => return None,
    };
    let value = value.trim_ascii();
    let unquoted = |quote| value.strip_prefix(quote).and_then(|value| value.strip_suffix(quote));
    let value = unquoted(b"'").or_else(|| unquoted(b"\"")).unwrap_or(value);
    let is_one_of = |words: &[&str]| words.iter().any(|word| value.eq_ignore_ascii_case(word.as_bytes()));
    if name.is(isolation) {
        let known = is_one_of(&["READ-UNCOMMITTED", "READ-COMMITTED", "REPEATABLE-READ", "SERIALIZABLE"]);
        return (set.at_signs && known).then_some(None);
    }
    match set.at_signs && name.is(access) {
        true if is_one_of(&["ON", "1", "TRUE"]) => Some(Some(true)),
        true if is_one_of(&["OFF", "0", "FALSE"]) => Some(Some(false)),
        _ => None,
    }
}

/// Whether the first word is one that such statements begin with.
fn begins_so(text: &[u8], lex: LexMode) -> bool {
    const WORDS: [&str; 6] = ["SAVEPOINT", "ROLLBACK", "RELEASE", "COMMIT", "START", "BEGIN"];
    let first = Lexer::new(text, lex).next();
    first.is_some_and(|token| WORDS.iter().any(|word| token.text(text).eq_ignore_ascii_case(word.as_bytes())))
}

/// Of a SET that has autocommit among its variables. In doubt it is on: that commits, as MySQL may.
fn turns_autocommit_on(text: &[u8], lex: LexMode) -> bool {
    let mut tokens = Lexer::new(text, lex).skip_while(|token| {
        let word = token.text(text);
        let word = word.strip_prefix(b"@@").unwrap_or(word);
        !word.eq_ignore_ascii_case(b"autocommit")
    });
    tokens.next();
    let value =
        tokens.find(|token| !matches!(token.kind, TokenKind::Punct(_) | TokenKind::Operator | TokenKind::Assign));
    let off =
        |word: &[u8]| [&b"0"[..], b"OFF", b"FALSE", b"'OFF'", b"'0'"].iter().any(|o| word.eq_ignore_ascii_case(o));
    !value.is_some_and(|token| off(token.text(text)))
}

/// Whether a server has refused a statement before a transaction could begin for it, so that what was said of the next one holds on: as one
/// that writes in a READ ONLY transaction, or by its names, which MariaDB looks at only when it has begun, where they are columns' (asked of
/// both). What else fails is taken to have begun one.
pub(super) fn has_begun_nothing(outcome: &ReplyOutcome, mariadb: bool) -> bool {
    const REFUSED: [u16; 9] = [
        codes::ER_CANT_EXECUTE_IN_READ_ONLY,
        codes::ER_PARSE_ERROR,
        codes::ER_NO_DB_ERROR,
        codes::ER_BAD_DB_ERROR,
        codes::ER_NO_SUCH_TABLE,
        codes::ER_SP_DOES_NOT_EXIST,
        codes::ER_DBACCESS_DENIED_ERROR,
        codes::ER_TABLEACCESS_DENIED_ERROR,
        codes::ER_PROCACCESS_DENIED_ERROR,
    ];
    outcome.error.is_some_and(|(code, _)| REFUSED.contains(&code) || code == codes::ER_BAD_FIELD_ERROR && !mariadb)
}

/// Whether an error may be that of a statement with which the server has rolled back all of its transaction.
pub(super) fn ends_transaction(code: u16) -> bool {
    // A full lock table, and MariaDB's rows that others have changed since its snapshot.
    const OTHERS: [u16; 2] = [1206, 1020];
    OTHERS.contains(&code)
        || matches!(
            code,
            codes::ER_LOCK_DEADLOCK | codes::ER_LOCK_WAIT_TIMEOUT | codes::ER_XA_RBROLLBACK | codes::ER_XA_RBDEADLOCK
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_sql::{Bump, classify};

    use crate::session::statement::Form;

    fn read(text: &str) -> TransactionStatement {
        let lex = LexMode { dialect: Dialect::MySql, ..LexMode::default() };
        let (class, arena) = (classify(text.as_bytes(), lex), Bump::new());
        TransactionStatement::of(&Statement::new(&arena, text.as_bytes(), &class, lex, Form::Resolved))
    }

    #[test]
    fn statements_about_the_transaction_are_told_from_others() {
        let ends = |commit, chain, release| TransactionStatement::End(Ends { commit, chain, release });
        let name = |name: &str| name.as_bytes().to_vec();
        let cases = [
            ("BEGIN", TransactionStatement::Begin),
            ("start transaction with consistent snapshot", TransactionStatement::Snapshot(None)),
            ("START TRANSACTION READ ONLY, WITH CONSISTENT SNAPSHOT", TransactionStatement::Snapshot(Some(true))),
            ("COMMIT", ends(true, false, false)),
            ("commit work and chain", ends(true, true, false)),
            ("ROLLBACK RELEASE", ends(false, false, true)),
            ("rollback and no chain no release", ends(false, false, false)),
            ("savepoint `A b`", TransactionStatement::Savepoint(name("a b"), "savepoint `A b`".to_owned())),
            ("ROLLBACK WORK TO SAVEPOINT Sp1", TransactionStatement::RollbackTo(name("sp1"))),
            ("rollback to x", TransactionStatement::RollbackTo(name("x"))),
            ("RELEASE SAVEPOINT x", TransactionStatement::Release(name("x"))),
            ("SET autocommit = 0", TransactionStatement::Autocommit(false)),
            ("SET SESSION autocommit=ON", TransactionStatement::Autocommit(true)),
            ("SET @@autocommit := OFF, sql_mode = ''", TransactionStatement::Autocommit(false)),
            (
                "SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ ONLY",
                TransactionStatement::SetTransaction(Some(true)),
            ),
            ("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", TransactionStatement::SetTransaction(None)),
            ("SET @@transaction_read_only = OFF", TransactionStatement::SetTransaction(Some(false))),
            (
                "SET @@transaction_read_only = 1, @@transaction_isolation = 'read-committed'",
                TransactionStatement::SetTransaction(Some(true)),
            ),
            ("SET @@transaction_read_only = 2", TransactionStatement::Other),
            ("SET @@transaction_read_only = 1, @a = 1", TransactionStatement::Other),
            ("SET @@tx_read_only = 1", TransactionStatement::Other),
            ("SET SESSION TRANSACTION READ ONLY", TransactionStatement::Other),
            ("SELECT 1", TransactionStatement::Other),
            ("INSERT INTO savepoint_ VALUES (1)", TransactionStatement::Other),
        ];
        for (text, wording) in cases {
            assert_eq!(read(text), wording, "{text}");
        }
    }
}
