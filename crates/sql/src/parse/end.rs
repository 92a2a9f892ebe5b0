//! Where a text's first statement ends.
//!
//! What must hold: an end is told only if all that stands before it can be read with certainty, and is whole without what stands behind it.

use bumpalo::Bump;

use super::Parser;
use crate::lexer::{Conditional, Lexer, TokenKind};
use crate::mode::LexMode;

/// Where the first statement of a lexer's text ends: at its semicolon or the text's end; with the executable comments up to there.
/// `None` for what can't be read.
pub(crate) fn first_end(arena: &Bump, lexer: Lexer<'_>, mode: LexMode) -> (Option<usize>, Conditional) {
    let mut parser = Parser::new(arena, lexer, mode);
    let read = parser.statement().is_ok() && parser.at_end();
    let (cursor, end) = (parser.cursor, parser.start() as usize);
    if !read {
        return (None, cursor.conditional());
    }
    let has_comments = lexer.sql[..end].windows(2).any(|two| two == b"/*");
    match has_comments || cursor.unreadable() {
        // The parser has looked beyond the end, and through comments.
        true => seen_until(lexer, end),
        false => (Some(end), Conditional::None),
    }
}

/// A statement's end, if what stands before it can be read with certainty and leaves no executable comment open; with those comments.
fn seen_until(mut lexer: Lexer<'_>, end: usize) -> (Option<usize>, Conditional) {
    let (mut readable, mut in_comment) = (true, false);
    loop {
        let token = lexer.next_token();
        if token.start as usize >= end {
            return ((readable && !in_comment).then_some(end), lexer.conditional());
        }
        match token.kind {
            TokenKind::CodeStart => in_comment = true,
            TokenKind::CodeEnd => in_comment = false,
            TokenKind::Unterminated | TokenKind::DollarQuoted => readable = false,
            TokenKind::Word => readable &= !token.text(lexer.sql).starts_with(b"$"),
            _ => {}
        }
    }
}
