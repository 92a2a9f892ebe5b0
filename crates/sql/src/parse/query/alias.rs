//! Aliases, and the words that may be one or begin a clause.
//!
//! What must hold: a word that one server reserves and another doesn't is an alias unless what follows makes sense only
//! after the clause that the word begins; so a text is read as the server reads it that reads it at all.

use crate::ast::Ident;
use crate::kw;
use crate::lexer::TokenKind;

use super::super::{Parser, Read};

impl<'a> Parser<'a> {
    /// `[AS] alias` of a table.
    pub(super) fn table_alias(&mut self) -> Read<Option<Ident<'a>>> {
        // MariaDB reads `t = alias` too.
        if self.eat(kw::AS) || self.eat_punct(b'=') {
            return Ok(Some(self.ident()?));
        }
        Ok((self.at_name() && !self.at_clause_word()).then(|| self.take_ident()))
    }

    /// `[AS] alias` of what is selected; the alias may be a string.
    pub(super) fn item_alias(&mut self) -> Read<Option<Ident<'a>>> {
        match self.kind() {
            TokenKind::Word if self.eat(kw::AS) => Ok(Some(self.ident_or_string()?)),
            TokenKind::Word | TokenKind::QuotedIdent if self.at_name() && !self.at_clause_word() => {
                Ok(Some(self.take_ident()))
            }
            TokenKind::String if matches!(self.cursor.text(self.cursor.current()), [b'\'' | b'"', ..]) => {
                Ok(Some(self.take_ident()))
            }
            _ => Ok(None),
        }
    }

    /// Whether the current word, which may be a name, begins a clause here.
    pub(in crate::parse) fn at_clause_word(&self) -> bool {
        match self.word() {
            kw::WINDOW => self.is_name(self.cursor.next()),
            kw::OFFSET => {
                matches!(self.cursor.next().token.kind, TokenKind::Integer | TokenKind::Parameter)
                    || self.is_name(self.cursor.next())
            }
            kw::QUALIFY | kw::RETURNING => self.next_begins_expr(),
            kw::MINUS => {
                matches!(self.cursor.next().word, kw::SELECT | kw::VALUES | kw::TABLE | kw::ALL | kw::DISTINCT)
            }
            kw::TABLESAMPLE => matches!(self.cursor.next().word, kw::SYSTEM | kw::BERNOULLI),
            _ => false,
        }
    }

    /// Whether an expression, or a star, may begin with the next token. Not said of words that may also stand after an
    /// alias.
    fn next_begins_expr(&self) -> bool {
        let next = self.cursor.next();
        match next.token.kind {
            TokenKind::UserVariable | TokenKind::SystemVariable => true,
            TokenKind::Punct(byte) => matches!(byte, b'(' | b'*' | b'-' | b'+' | b'!' | b'~' | b'.'),
            TokenKind::Word | TokenKind::QuotedIdent => {
                self.is_name(next)
                    || matches!(
                        next.word,
                        kw::CASE
                            | kw::NOT
                            | kw::EXISTS
                            | kw::IF
                            | kw::NULL
                            | kw::TRUE
                            | kw::FALSE
                            | kw::INTERVAL
                            | kw::ROW_NUMBER
                            | kw::RANK
                            | kw::DENSE_RANK
                            | kw::CONVERT
                            | kw::CURRENT_USER
                            | kw::CURRENT_DATE
                            | kw::CURRENT_TIMESTAMP
                            | kw::DEFAULT
                            | kw::VALUES
                            | kw::BINARY
                            | kw::CHAR
                            | kw::MOD
                    )
            }
            kind => kind.is_literal(),
        }
    }
}
