//! What definitions mean: each case is a text and what its tree says, kinds by name and spans by their text.

use std::fmt::Debug;

use bumpalo::Bump;

use crate::ast::{Span, StatementKind};
use crate::mode::{Dialect, LexMode};
use crate::parse::{Parsed, SyntaxError, parse};

mod alter;
mod other;
mod partition;
mod placement;
mod table;

fn read<'a>(arena: &'a Bump, sql: &'a str, dialect: Dialect) -> Result<Parsed<'a>, SyntaxError> {
    parse(arena, sql.as_bytes(), LexMode { dialect, ..LexMode::default() })
}

/// What the text's one statement is, which the tree must have as one that begins and ends with the text.
fn one<'a>(arena: &'a Bump, sql: &'a str, dialect: Dialect) -> StatementKind<'a> {
    let parsed = read(arena, sql, dialect).unwrap_or_else(|error| panic!("{sql}: {error}"));
    assert_eq!(parsed.statements.len(), 1, "{sql}");
    assert_eq!(text(sql, parsed.statements[0].span), sql);
    parsed.statements[0].kind
}

/// The two kinds of server.
const BOTH: [Dialect; 2] = [Dialect::MySql, Dialect::MariaDb];

/// The name of an enum's variant.
fn variant(value: &impl Debug) -> String {
    let text = format!("{value:?}");
    text.split(['(', ' ', '{']).next().unwrap_or_default().to_owned()
}

fn text(sql: &str, span: Span) -> &str {
    &sql[span.range()]
}

/// Where reading stopped, for a text that is refused.
fn refused(sql: &str, dialect: Dialect) -> String {
    let arena = Bump::new();
    match read(&arena, sql, dialect) {
        Err(error) => sql[error.span.start as usize..].to_owned(),
        Ok(parsed) => panic!("{sql} was read as {:?}", parsed.statements[0].kind),
    }
}
