//! A text of several statements, taken apart as a server does it: the first statement off its beginning, and the rest when that
//! statement has run, because it may have changed how the rest is read.
//!
//! What must hold: [`First::Ends`] is where every server that the mode allows ends the first statement, or where it finds a syntax
//! error at the latest; where that is not certain it is [`First::Unknown`].

use bumpalo::Bump;

use crate::classify::class_of_statement;
use crate::facts::NoPrograms;
use crate::keyword::Keyword;
use crate::kw;
use crate::lexer::{Conditional, Lexer, TokenKind};
use crate::mode::LexMode;
use crate::parse::{first_end, parse};
use crate::{Effects, Pins, TextKind};

/// The end of a text's first statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First {
    /// At this offset: a semicolon, or the text's end.
    Ends(usize),
    /// It can't be told. A server that takes one statement only finds out whether it is one.
    Unknown,
}

/// Where the first statement of a text ends.
pub fn first_statement(sql: &[u8], mode: LexMode) -> First {
    let arena = Bump::new();
    let lexer = Lexer::new(sql, mode);
    let (with, conditional) = end_in(&arena, lexer, mode);
    let without = match conditional {
        Conditional::None => with,
        Conditional::One { .. } => end_in(&arena, lexer.reading_otherwise(), mode).0,
        Conditional::Mixed => None,
    };
    match with {
        // At the very end of a text the servers take a NUL for the text's end, and `--` for a comment; before more of it neither is.
        Some(end) if end < sql.len() && ENDS_A_TEXT.iter().any(|last| sql[..end].ends_with(last)) => First::Unknown,
        // The text's end is before the NUL in its last place, which belongs to the statement all the same.
        Some(end) if with == without && sql.get(end) == Some(&0) => First::Ends(sql.len()),
        Some(end) if with == without => First::Ends(end),
        _ => First::Unknown,
    }
}

/// What means something else at the end of a text than within it.
const ENDS_A_TEXT: [&[u8]; 2] = [b"\0", b"--"];

fn end_in(arena: &Bump, lexer: Lexer<'_>, mode: LexMode) -> (Option<usize>, Conditional) {
    match first_end(arena, lexer, mode) {
        (None, _) => end_by_tokens(lexer),
        found => found,
    }
}

/// The first semicolon of a statement that has no grammar here, unless it is of a kind that may have semicolons within.
fn end_by_tokens(mut lexer: Lexer<'_>) -> (Option<usize>, Conditional) {
    let (mut at_first, mut in_comment) = (true, false);
    loop {
        let token = lexer.next_token();
        let text = token.text(lexer.sql);
        let end = match token.kind {
            TokenKind::CodeStart | TokenKind::CodeEnd => {
                in_comment = token.kind == TokenKind::CodeStart;
                continue;
            }
            // Nothing but comments stands before it: a syntax error, and no end. In an executable comment it would leave that open.
            TokenKind::Semicolon if at_first || in_comment => None,
            TokenKind::End | TokenKind::Semicolon => Some(token.start as usize),
            TokenKind::Word if !(text.starts_with(b"$") || at_first && WITH_BODY.contains(&Keyword::of(text))) => {
                at_first = false;
                continue;
            }
            TokenKind::Unterminated | TokenKind::DollarQuoted | TokenKind::Word => None,
            // A label in sql_mode ORACLE.
            TokenKind::Operator if at_first => None,
            _ => {
                at_first = false;
                continue;
            }
        };
        return (end, lexer.conditional());
    }
}

/// Words with which a statement may begin that has statements within.
const WITH_BODY: [Keyword; 11] = [
    kw::CREATE,
    kw::ALTER,
    kw::BEGIN,
    kw::DECLARE,
    kw::IF,
    kw::CASE,
    kw::LOOP,
    kw::WHILE,
    kw::REPEAT,
    kw::FOR,
    kw::SET,
];

/// Whether a text has several statements that every server reads as they are read here, whatever the ones before have done: none but
/// the last may change how texts are read, and none is for Weir itself.
pub fn are_read_alike(sql: &[u8], mode: LexMode) -> bool {
    let arena = Bump::new();
    let Ok(parsed) = parse(&arena, sql, mode) else { return false };
    // Comments behind one statement have a reply of their own, and the one is not seen to be one of several.
    if parsed.statements.len() < 2
        || parsed.conditional
        || parsed.dollars
        || parsed.parts as usize != parsed.statements.len()
    {
        return false;
    }
    let last = parsed.statements.len().saturating_sub(1);
    parsed.statements.iter().enumerate().all(|(number, statement)| {
        let (class, _) = class_of_statement(statement, sql, mode, &NoPrograms);
        let own = matches!(
            class.kind,
            TextKind::Kill(_) | TextKind::Weir(_) | TextKind::Batch | TextKind::ShowProcesslist { .. }
        );
        let runs_others = Effects::RUNS_OTHERS | Effects::SETS_FOR_STATEMENT;
        let may_change = class.assigned.iter().any(|name| decides_reading(name))
            || class.effects.intersects(runs_others)
            || class.pins.intersects(Pins::UNKNOWN_STATEMENT | Pins::SPECIAL_VARIABLE | Pins::SESSION_TRACKING);
        !own && (number == last || !may_change)
    })
}

/// Whether a session variable decides how texts are read, or whether a change of one that does is told.
pub fn decides_reading(variable: &str) -> bool {
    matches!(variable, "sql_mode" | "character_set_client") || variable.starts_with("session_track")
}

/// A text without the semicolons and spaces at its end, of which the servers take no notice.
pub fn trimmed(sql: &[u8], mode: LexMode) -> &[u8] {
    let garbage = |byte: &u8| *byte == b';' || is_space(*byte, mode);
    let end = sql.iter().rposition(|byte| !garbage(byte)).map_or(0, |last| last + 1);
    &sql[..end]
}

/// A text without the spaces at its beginning.
pub fn trimmed_start(sql: &[u8], mode: LexMode) -> &[u8] {
    let start = sql.iter().position(|byte| !is_space(*byte, mode)).unwrap_or(sql.len());
    &sql[start..]
}

fn is_space(byte: u8, mode: LexMode) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | 0x0B | 0x0C | b'\r') || byte >= 0x80 && mode.lead_bytes.is_space(byte)
}

#[cfg(test)]
mod tests;
