//! How an account proves itself: IDENTIFIED …, factors, passwords.
//!
//! What must hold: each password's string ends up in the tree (see [`crate::ast::Secret`]).

use bumpalo::collections::Vec as ArenaVec;

use crate::ast::{Authentication, AuthenticationAction, Secret, Span};
use crate::keyword::Keyword;
use crate::kw;
use crate::lexer::TokenKind;
use crate::parse::{Expected, Parser, Read};

const SET: Authentication<'_> = Authentication {
    span: Span { start: 0, end: 0 },
    action: AuthenticationAction::Set,
    factor: None,
    plugin: None,
    secret: None,
    replace: None,
    retain_current: false,
    initial: None,
};

impl<'a> Parser<'a> {
    /// What CREATE USER and GRANT say of an account; nothing is possible.
    pub(super) fn new_authentication(&mut self) -> Read<&'a [Authentication<'a>]> {
        if !self.at(kw::IDENTIFIED) {
            return Ok(&[]);
        }
        let mut ways = ArenaVec::new_in(self.arena);
        ways.push(self.identified()?);
        loop {
            // MySQL: further factors, each with its IDENTIFIED. MariaDB: other plugins of the same one.
            let way = match self.eat_any(&[kw::AND, kw::OR]) {
                Some(kw::AND) => self.identified()?,
                Some(_) => {
                    let start = self.start();
                    self.plugin(start)?
                }
                None => return Ok(ways.into_bump_slice()),
            };
            ways.push(way);
        }
    }

    /// What ALTER USER says of an account.
    pub(super) fn changed_authentication(&mut self) -> Read<&'a [Authentication<'a>]> {
        match self.word() {
            kw::IDENTIFIED => {
                let ways = self.new_authentication()?;
                if let [way] = ways {
                    let way = self.with_replacement(*way)?;
                    return Ok(std::slice::from_ref(self.alloc(way)));
                }
                Ok(ways)
            }
            kw::DISCARD => {
                let start = self.start();
                self.expect_all(&[kw::DISCARD, kw::OLD, kw::PASSWORD])?;
                let action = AuthenticationAction::DiscardOldPassword;
                let way = Authentication { span: self.span_from(start), action, ..SET };
                Ok(std::slice::from_ref(self.alloc(way)))
            }
            kw::ADD | kw::MODIFY | kw::DROP => self.several(Self::changed_factor),
            _ if self.kind() == TokenKind::Integer => {
                let way = self.registration()?;
                Ok(std::slice::from_ref(self.alloc(way)))
            }
            _ => Ok(&[]),
        }
    }

    /// `IDENTIFIED BY …`, `IDENTIFIED WITH …`, `IDENTIFIED VIA …`.
    fn identified(&mut self) -> Read<Authentication<'a>> {
        let start = self.start();
        self.expect(kw::IDENTIFIED)?;
        match self.expect_any(&[kw::BY, kw::WITH, kw::VIA])? {
            kw::BY => {
                let secret = Some(self.password_after_by()?);
                Ok(Authentication { span: self.span_from(start), secret, ..SET })
            }
            _ => self.plugin(start),
        }
    }

    /// A plugin's name and what it takes.
    fn plugin(&mut self, start: u32) -> Read<Authentication<'a>> {
        let plugin = Some(self.ident_or_string()?);
        let mut way = Authentication { plugin, ..SET };
        match self.eat_any(&[kw::BY, kw::AS, kw::USING, kw::INITIAL]) {
            Some(kw::BY) => way.secret = Some(self.password_after_by()?),
            Some(kw::AS | kw::USING) if self.at_pair_of_call(kw::PASSWORD) => {
                self.advance();
                self.advance();
                way.secret = Some(Secret::Password(self.expect_string()?));
                self.expect_punct(b')')?;
            }
            Some(kw::AS | kw::USING) => way.secret = Some(Secret::Hash(self.hash()?)),
            Some(_) => {
                self.expect(kw::AUTHENTICATION)?;
                let initial = self.identified()?;
                way.initial = Some(self.alloc(initial));
            }
            None => {}
        }
        Ok(Authentication { span: self.span_from(start), ..way })
    }

    fn at_pair_of_call(&self, word: Keyword) -> bool {
        self.at(word) && self.next_is_punct(b'(')
    }

    /// `'password'`, `RANDOM PASSWORD`, `PASSWORD 'hash'`.
    fn password_after_by(&mut self) -> Read<Secret> {
        match self.eat_any(&[kw::RANDOM, kw::PASSWORD]) {
            Some(kw::RANDOM) => {
                self.expect(kw::PASSWORD)?;
                Ok(Secret::Random)
            }
            Some(_) => Ok(Secret::Hash(self.expect_string()?)),
            None => Ok(Secret::Password(self.expect_string()?)),
        }
    }

    fn hash(&mut self) -> Read<Span> {
        match self.kind() {
            TokenKind::String | TokenKind::Hex => Ok(Self::span_of(self.take())),
            _ => self.stop(Expected::What("a string")),
        }
    }

    /// `REPLACE '…'` and `RETAIN CURRENT PASSWORD` after a new password.
    fn with_replacement(&mut self, way: Authentication<'a>) -> Read<Authentication<'a>> {
        let replace = if self.eat(kw::REPLACE) { Some(self.expect_string()?) } else { None };
        let retain_current = self.eat(kw::RETAIN);
        if retain_current {
            self.expect_all(&[kw::CURRENT, kw::PASSWORD])?;
        }
        Ok(Authentication { span: self.span_from(way.span.start), replace, retain_current, ..way })
    }

    /// `ADD 2 FACTOR IDENTIFIED …`, `MODIFY 2 FACTOR IDENTIFIED …`, `DROP 2 FACTOR`.
    fn changed_factor(&mut self) -> Read<Option<Authentication<'a>>> {
        let start = self.start();
        let action = match self.eat_any(&[kw::ADD, kw::MODIFY, kw::DROP]) {
            Some(kw::ADD) => AuthenticationAction::AddFactor,
            Some(kw::MODIFY) => AuthenticationAction::ModifyFactor,
            Some(_) => AuthenticationAction::DropFactor,
            None => return Ok(None),
        };
        let factor = Some(self.factor()?);
        let way = if action == AuthenticationAction::DropFactor { SET } else { self.identified()? };
        Ok(Some(Authentication { span: self.span_from(start), action, factor, ..way }))
    }

    /// `2 FACTOR`: the number.
    fn factor(&mut self) -> Read<Span> {
        let number = self.expect_integer()?;
        self.expect(kw::FACTOR)?;
        Ok(number)
    }

    /// `2 FACTOR INITIATE REGISTRATION` and the like.
    fn registration(&mut self) -> Read<Authentication<'a>> {
        let start = self.start();
        let factor = Some(self.factor()?);
        let mut way = Authentication { factor, ..SET };
        match self.expect_any(&[kw::INITIATE, kw::FINISH, kw::UNREGISTER])? {
            kw::INITIATE => {
                self.expect(kw::REGISTRATION)?;
                way.action = AuthenticationAction::InitiateRegistration;
            }
            kw::FINISH => {
                self.expect_all(&[kw::REGISTRATION, kw::SET, kw::CHALLENGE_RESPONSE, kw::AS])?;
                way.action = AuthenticationAction::FinishRegistration;
                way.secret = Some(Secret::Hash(self.hash()?));
            }
            _ => way.action = AuthenticationAction::Unregister,
        }
        Ok(Authentication { span: self.span_from(start), ..way })
    }
}
