//! Bodies of stored programs: where they end.
//!
//! What must hold: a body is never taken for longer than it is, because what follows it in the same text is executed. It
//! may be taken for shorter: then a part of the body counts as statements of its own, which at worst pins.

use super::Kind;
use super::scan::Reader;
use crate::cursor::Cursor;
use crate::keyword::Keyword;
use crate::kw;
use crate::lexer::TokenKind;

/// Where the reading of a definition has got to.
#[derive(Default)]
struct Body {
    /// Open blocks and CASEs.
    depth: u32,
    /// A BEGIN was seen.
    in_block: bool,
    /// The body is a statement without a block.
    simple: bool,
    /// Within a DECLARE, which may end in a block: DECLARE … HANDLER FOR … BEGIN.
    declares: bool,
}

impl Reader<'_> {
    /// From the word PROCEDURE, FUNCTION, TRIGGER or EVENT to the end of the definition.
    ///
    /// A body in BEGIN … END is skipped whole; any other body ends at the first semicolon.
    pub(super) fn routine(&mut self) -> Kind {
        self.cursor.advance();
        let mut body = Body::default();
        while self.cursor.kind() != TokenKind::End {
            match self.cursor.kind() {
                TokenKind::Semicolon if body.depth == 0 => break,
                TokenKind::Punct(b'(') if body.depth == 0 => {
                    self.cursor.skip_parentheses();
                    continue;
                }
                TokenKind::Word if body.closes(&self.cursor) => {
                    self.cursor.advance();
                    self.cursor.eat(kw::CASE);
                    body.depth = body.depth.saturating_sub(1);
                    if body.depth == 0 && body.in_block {
                        return self.after_body();
                    }
                    continue;
                }
                TokenKind::Word => body.note(&self.cursor),
                _ => {}
            }
            self.cursor.advance();
        }
        Kind::Other
    }

    /// After the last END a label may stand.
    fn after_body(&mut self) -> Kind {
        if self.cursor.current().is_name() {
            self.cursor.advance();
        }
        if self.cursor.at_end() { Kind::Other } else { self.unknown_form() }
    }
}

impl Body {
    /// A word that may open a block, or tell what a later word may do.
    fn note(&mut self, cursor: &Cursor<'_>) {
        let before = cursor.previous();
        if self.starts_statement(cursor) {
            self.declares = cursor.at(kw::DECLARE);
        }
        if cursor.at(kw::CASE) {
            self.depth += 1;
        } else if cursor.at(kw::BEGIN) && self.may_begin(cursor) {
            self.depth += 1;
            self.in_block = true;
        } else if self.depth == 0 {
            let heads_trigger = matches!(before.word, kw::BEFORE | kw::AFTER | kw::OR);
            let names_charset = matches!(before.word, kw::CHARACTER | kw::CHAR);
            self.simple |= match cursor.current().word {
                kw::SELECT | kw::RETURN | kw::CALL | kw::REPLACE | kw::WITH | kw::VALUES | kw::TABLE => true,
                kw::INSERT | kw::UPDATE | kw::DELETE => !heads_trigger,
                kw::SET => !names_charset,
                _ => false,
            };
        }
    }

    /// Other blocks (IF, LOOP, …) end with words of their own, so only BEGIN and CASE are counted.
    fn closes(&self, cursor: &Cursor<'_>) -> bool {
        cursor.at(kw::END) && ![kw::IF, kw::LOOP, kw::WHILE, kw::REPEAT].contains(&cursor.next().word)
    }

    fn starts_statement(&self, cursor: &Cursor<'_>) -> bool {
        const BEFORE_STATEMENTS: &[Keyword] = &[kw::BEGIN, kw::THEN, kw::ELSE, kw::DO, kw::LOOP, kw::REPEAT];
        let before = cursor.previous();
        matches!(before.token.kind, TokenKind::Semicolon | TokenKind::Punct(b':'))
            || BEFORE_STATEMENTS.contains(&before.word)
    }

    /// Whether BEGIN opens a block here, instead of being a name.
    fn may_begin(&self, cursor: &Cursor<'_>) -> bool {
        if matches!(cursor.next().token.kind, TokenKind::Punct(_) | TokenKind::Operator) {
            return false;
        }
        if self.depth > 0 {
            return self.declares || self.starts_statement(cursor);
        }
        let before = cursor.previous();
        let names_it = [kw::PROCEDURE, kw::FUNCTION, kw::TRIGGER, kw::EVENT, kw::EXISTS].contains(&before.word)
            || matches!(before.token.kind, TokenKind::Punct(b'.' | b','));
        !self.simple && !names_it
    }
}
