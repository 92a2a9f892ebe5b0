//! For tests: the only statement of a text, and texts that must not be read.

use crate::ast::{Account, AccountKind, Ident, Span, StatementKind};
use crate::{Bump, Dialect, LeadBytes, LexMode, parse};

pub(super) const MYSQL: LexMode = mode(Dialect::MySql);
pub(super) const MARIADB: LexMode = mode(Dialect::MariaDb);

const fn mode(dialect: Dialect) -> LexMode {
    LexMode {
        ansi_quotes: false,
        no_backslash_escapes: false,
        pipes_as_concat: false,
        high_not_precedence: false,
        ignore_space: false,
        lead_bytes: LeadBytes::None,
        dialect,
        version: 0,
    }
}

/// Looks at the only statement of a text, which it covers; the function gives the text of a span.
pub(super) fn with<T>(
    sql: &str,
    mode: LexMode,
    look: impl FnOnce(StatementKind<'_>, &dyn Fn(Span) -> String) -> T,
) -> T {
    let arena = Bump::new();
    let parsed = parse(&arena, sql.as_bytes(), mode).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let [statement] = parsed.statements else { panic!("{sql}: {} statements", parsed.statements.len()) };
    assert_eq!(statement.span.range(), 0..sql.len(), "{sql}");
    look(statement.kind, &|span| sql[span.range()].to_owned())
}

/// Reading has to stop at the text that follows, where the servers of the dialect stop or before.
pub(super) fn stops(sql: &str, mode: LexMode, near: &str) {
    let arena = Bump::new();
    match parse(&arena, sql.as_bytes(), mode) {
        Ok(parsed) => panic!("{sql}: {parsed:?}"),
        Err(error) => assert_eq!(&sql[error.span.start as usize..], near, "{sql}"),
    }
}

pub(super) fn name(ident: Ident<'_>) -> String {
    String::from_utf8_lossy(ident.name).into_owned()
}

pub(super) fn account(account: &Account<'_>) -> String {
    match account.kind {
        AccountKind::Named { user, host: None } => name(user),
        AccountKind::Named { user, host: Some(host) } => format!("{}@{}", name(user), name(host)),
        other => format!("{other:?}"),
    }
}

pub(super) fn accounts(list: &[Account<'_>]) -> String {
    list.iter().map(account).collect::<Vec<_>>().join(" ")
}
