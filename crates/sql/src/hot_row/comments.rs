//! Texts without their comments: two that differ in nothing else are about one row.
//!
//! What must hold: to a server, a text and the same without its plain comments mean the same. Hints and executable comments are
//! statements' own, and a text that has one is not read here.

use std::borrow::Cow;
use std::ops::Range;

use crate::lexer::{Lexer, TokenKind};
use crate::mode::LexMode;

/// A text without its comments: a space stands for those between two tokens.
#[derive(Debug)]
pub(super) struct Uncommented<'t> {
    pub(super) text: Cow<'t, [u8]>,
    cuts: Vec<Cut>,
}

/// What was taken out.
#[derive(Debug)]
struct Cut {
    /// Where it would stand in the text without comments.
    at: usize,
    /// How many bytes stand there for it.
    stands: usize,
    /// Its bytes, with the spaces around it.
    length: usize,
}

/// Whether comments may be in a text.
fn may_have_comments(text: &[u8]) -> bool {
    memchr::memmem::find(text, b"/*").is_some()
        || memchr::memchr(b'#', text).is_some()
        || memchr::memmem::find(text, b"--").is_some()
}

impl<'t> Uncommented<'t> {
    /// `None`: it has hints or executable comments, or can't be read.
    pub(super) fn of(text: &'t [u8], mode: LexMode) -> Option<Uncommented<'t>> {
        let mut cuts: Vec<Cut> = Vec::new();
        if !may_have_comments(text) {
            return Some(Uncommented { text: Cow::Borrowed(text), cuts });
        }
        let (mut plain, mut from) = (Vec::new(), 0);
        let mut tokens = Lexer::new(text, mode);
        loop {
            let token = tokens.next_token();
            let range = match token.kind {
                TokenKind::HintStart | TokenKind::CodeStart | TokenKind::Unterminated => return None,
                TokenKind::End => text.len()..text.len(),
                _ => token.range(),
            };
            let gap = &text[from..range.start];
            if has_comment(gap) {
                if [&b"/*!"[..], b"/*M!", b"/*+"].iter().any(|mark| memchr::memmem::find(gap, mark).is_some()) {
                    return None;
                }
                let stands = usize::from(!plain.is_empty() && !range.is_empty());
                cuts.push(Cut { at: plain.len(), stands, length: gap.len() });
                plain.resize(plain.len() + stands, b' ');
            } else {
                plain.extend_from_slice(gap);
            }
            plain.extend_from_slice(&text[range.clone()]);
            from = range.end;
            if token.kind == TokenKind::End {
                break;
            }
        }
        let text = if cuts.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(plain) };
        Some(Uncommented { text, cuts })
    }

    /// Where a part of the text stands in the text with comments, with the comments around it.
    pub(super) fn original(&self, part: Range<usize>) -> Range<usize> {
        let longer = |cuts: &mut dyn Iterator<Item = &Cut>| cuts.map(|cut| cut.length - cut.stands).sum::<usize>();
        let spaces = |bytes: &mut dyn Iterator<Item = &u8>| bytes.take_while(|byte| byte.is_ascii_whitespace()).count();
        let start = part.start - spaces(&mut self.text[..part.start].iter().rev());
        let end = part.end + spaces(&mut self.text[part.end..].iter());
        start + longer(&mut self.cuts.iter().filter(|cut| cut.at < start))
            ..end + longer(&mut self.cuts.iter().filter(|cut| cut.at <= end))
    }
}

/// Whether there is more than space between two tokens.
fn has_comment(gap: &[u8]) -> bool {
    gap.iter().any(|byte| matches!(byte, b'*' | b'#' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<(String, String)> {
        let plain = Uncommented::of(text.as_bytes(), LexMode::default())?;
        let without = String::from_utf8(plain.text.to_vec()).expect("text");
        let update = without.find("UPDATE").expect("an update");
        let end = without[update..].find(';').map_or(without.len(), |at| update + at);
        Some((text[plain.original(update..end)].to_owned(), without))
    }

    #[test]
    fn comments_are_taken_out_and_stay_around_their_statement() {
        for (text, statement, without) in [
            ("UPDATE t SET a = 1", "UPDATE t SET a = 1", "UPDATE t SET a = 1"),
            ("/* a */ UPDATE t SET a = 1", "/* a */ UPDATE t SET a = 1", "UPDATE t SET a = 1"),
            ("UPDATE t SET a = 1 /*x='1'*/", "UPDATE t SET a = 1 /*x='1'*/", "UPDATE t SET a = 1"),
            ("UPDATE/**/t /* ; */ SET a = 1 -- b", "UPDATE/**/t /* ; */ SET a = 1 -- b", "UPDATE t SET a = 1"),
            (
                "UPDATE t # it's\nSET a = '/* no */';",
                "UPDATE t # it's\nSET a = '/* no */'",
                "UPDATE t SET a = '/* no */';",
            ),
            (
                "begin; /* a */ UPDATE t SET a = 5 - -1 /* b */; /* c */ commit /* d */",
                " /* a */ UPDATE t SET a = 5 - -1 /* b */",
                "begin; UPDATE t SET a = 5 - -1 ; commit",
            ),
            ("UPDATE t SET a = 1; /* a */", "UPDATE t SET a = 1", "UPDATE t SET a = 1;"),
        ] {
            let (found, plain) = read(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!((&found[..], &plain[..]), (statement, without), "{text}");
        }
    }

    #[test]
    fn hints_and_executable_comments_are_not_taken_out() {
        for text in [
            "UPDATE /*+ BKA(t) */ t SET a = 1",
            "UPDATE t /*+ BKA(t) */ SET a = 1",
            "UPDATE t SET a = 1 /*!50000 + 1 */",
            "UPDATE t SET a = 1 /*!999999 + 1 */",
            "UPDATE t SET a = 1 /*M! + 1 */",
            "UPDATE t SET a = 1 /* open",
        ] {
            assert!(Uncommented::of(text.as_bytes(), LexMode::default()).is_none(), "{text}");
        }
    }
}
