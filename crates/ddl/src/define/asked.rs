//! A definition as a client has asked for it.

use std::collections::BTreeMap;

use weir_sql::ast::Statement;
use weir_sql::{LexMode, splice};

/// A statement, and what of its session decides what it means.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The text.
    pub text: &'a [u8],
    /// The statement: all of the text.
    pub statement: &'a Statement<'a>,
    /// The default database.
    pub database: Option<&'a [u8]>,
    /// How the servers read the text.
    pub mode: LexMode,
    /// Session variables that decide how it is read, for a later time: `sql_mode`, `character_set_client` and the like.
    pub settings: &'a BTreeMap<String, String>,
    /// The connections are those on which the session has locked tables: no others are locked there, and none unlocked.
    pub under_locks: bool,
}

/// The client's text without these bytes of it.
pub(super) fn cut(asked: &Asked<'_>, spans: &[weir_sql::ast::Span]) -> Vec<u8> {
    let mut ranges: Vec<_> = spans.iter().map(|span| span.range()).collect();
    ranges.sort_by_key(|range| range.start);
    let edits: Vec<_> = ranges.into_iter().map(|range| (range, &b""[..])).collect();
    splice(asked.text, &edits)
}
