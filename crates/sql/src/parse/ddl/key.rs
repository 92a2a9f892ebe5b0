//! Keys and constraints.

use super::super::{Expected, Parser, Read};
use crate::ast::{
    Check, Constraint, ForeignKey, KeyDefinition, KeyKind, KeyOption, KeyOptionKind, KeyPart, KeyPartKind,
    ReferenceAction, References, Span,
};
use crate::kw;

impl<'a> Parser<'a> {
    /// `CONSTRAINT [name]`, if it is there.
    pub(super) fn constraint(&mut self) -> Read<Option<Constraint<'a>>> {
        let start = self.start();
        if !self.eat(kw::CONSTRAINT) {
            return Ok(None);
        }
        let name = if self.at_name() { Some(self.ident()?) } else { None };
        Ok(Some(Constraint { span: self.span_from(start), name }))
    }

    /// A key. `start` and `constraint`: of the CONSTRAINT before it, which was read.
    pub(super) fn key_definition(&mut self, start: u32, constraint: Option<Constraint<'a>>) -> Read<KeyDefinition<'a>> {
        let (kind, unchecked) = self.key_kind()?;
        if kind == KeyKind::Primary {
            self.expect(kw::KEY)?;
        } else if kind != KeyKind::Plain {
            self.eat_any(&[kw::KEY, kw::INDEX]);
        }
        let if_not_exists = self.if_not_exists()?;
        let name = if self.at_name() { Some(self.ident()?) } else { None };
        let (parts, options) = self.key_body()?;
        let span = self.span_from(start);
        Ok(KeyDefinition { span, constraint, kind, unchecked, if_not_exists, name, parts, options })
    }

    /// The word that says which kind of key it is, and Weir's UNCHECKED after it.
    pub(super) fn key_kind(&mut self) -> Read<(KeyKind, Option<Span>)> {
        let kind = match self.word() {
            kw::PRIMARY => KeyKind::Primary,
            kw::UNIQUE => KeyKind::Unique,
            kw::FULLTEXT => KeyKind::Fulltext,
            kw::SPATIAL => KeyKind::Spatial,
            kw::VECTOR => KeyKind::Vector,
            kw::INDEX | kw::KEY => KeyKind::Plain,
            _ => return self.stop(Expected::What("a key")),
        };
        self.advance();
        let unchecked = if kind == KeyKind::Unique { self.unchecked() } else { None };
        Ok((kind, unchecked))
    }

    /// Weir's UNCHECKED, if it is there. A key of that name must be quoted.
    pub(super) fn unchecked(&mut self) -> Option<Span> {
        self.spelled("unchecked").then(|| Self::span_of(self.take()))
    }

    /// `[USING x] (parts) [options]`.
    fn key_body(&mut self) -> Read<(&'a [KeyPart<'a>], &'a [KeyOption<'a>])> {
        let before = self.key_using()?;
        let parts = self.key_parts()?;
        Ok((parts, self.key_options(before)?))
    }

    /// `USING x`, `TYPE x`, if it is there.
    pub(super) fn key_using(&mut self) -> Read<Option<KeyOption<'a>>> {
        let start = self.start();
        if self.eat_any(&[kw::USING, kw::TYPE]).is_none() {
            return Ok(None);
        }
        let kind = KeyOptionKind::Using(self.any_word()?);
        Ok(Some(KeyOption { span: self.span_from(start), kind }))
    }

    pub(super) fn key_parts(&mut self) -> Read<&'a [KeyPart<'a>]> {
        self.parenthesised(Self::key_part)
    }

    fn key_part(&mut self) -> Read<KeyPart<'a>> {
        let start = self.start();
        let kind = if self.eat_punct(b'(') {
            let expr = self.expr()?;
            self.expect_punct(b')')?;
            KeyPartKind::Expr(expr)
        } else {
            KeyPartKind::Column(self.ident()?, self.key_length()?)
        };
        let without_overlaps = self.eat(kw::WITHOUT);
        if without_overlaps {
            self.expect_spelled("overlaps")?;
        }
        let descending = self.eat_any(&[kw::ASC, kw::DESC]) == Some(kw::DESC);
        Ok(KeyPart { span: self.span_from(start), kind, descending, without_overlaps })
    }

    fn key_length(&mut self) -> Read<Option<Span>> {
        if !self.eat_punct(b'(') {
            return Ok(None);
        }
        let length = self.any_number()?;
        self.expect_punct(b')')?;
        Ok(Some(length))
    }

    /// A key's options, after the one that was read before its parts.
    pub(super) fn key_options(&mut self, mut before: Option<KeyOption<'a>>) -> Read<&'a [KeyOption<'a>]> {
        self.several(|parser| match before.take() {
            Some(option) => Ok(Some(option)),
            None => parser.key_option(),
        })
    }

    fn key_option(&mut self) -> Read<Option<KeyOption<'a>>> {
        let start = self.start();
        let kind = match self.word() {
            kw::USING => return self.key_using(),
            kw::TYPE if !self.next_is_punct(b'=') => return self.key_using(),
            kw::COMMENT => {
                self.advance();
                KeyOptionKind::Comment(self.expect_string()?)
            }
            kw::KEY_BLOCK_SIZE => {
                self.advance();
                self.optional_equal();
                KeyOptionKind::KeyBlockSize(self.any_number()?)
            }
            kw::WITH if self.next_is(kw::PARSER) => {
                self.expect_all(&[kw::WITH, kw::PARSER])?;
                KeyOptionKind::Parser(self.ident()?)
            }
            kw::VISIBLE => self.key_word(KeyOptionKind::Visible),
            kw::INVISIBLE => self.key_word(KeyOptionKind::Invisible),
            kw::IGNORED => self.key_word(KeyOptionKind::Ignored(true)),
            kw::NOT if self.next_is(kw::IGNORED) => {
                self.advance();
                self.key_word(KeyOptionKind::Ignored(false))
            }
            kw::ENGINE_ATTRIBUTE | kw::SECONDARY_ENGINE_ATTRIBUTE => {
                let name = self.take_ident();
                self.optional_equal();
                KeyOptionKind::Other(name, self.expect_string()?)
            }
            // ALGORITHM and LOCK end CREATE INDEX.
            kw::ALGORITHM => return Ok(None),
            _ if self.at_engines_option() => {
                let name = self.take_ident();
                self.advance();
                KeyOptionKind::Other(name, self.option_value()?)
            }
            _ => return Ok(None),
        };
        Ok(Some(KeyOption { span: self.span_from(start), kind }))
    }

    fn key_word(&mut self, kind: KeyOptionKind<'a>) -> KeyOptionKind<'a> {
        self.advance();
        kind
    }

    /// FOREIGN KEY. `start` and `constraint`: of the CONSTRAINT before it, which was read.
    pub(super) fn foreign_key(&mut self, start: u32, constraint: Option<Constraint<'a>>) -> Read<ForeignKey<'a>> {
        self.expect_all(&[kw::FOREIGN, kw::KEY])?;
        let if_not_exists = self.if_not_exists()?;
        let name = if self.at_name() { Some(self.ident()?) } else { None };
        let columns = self.key_parts()?;
        let references = self.references()?;
        Ok(ForeignKey { span: self.span_from(start), constraint, if_not_exists, name, columns, references })
    }

    /// `REFERENCES t [(columns)] [MATCH x] [ON DELETE action] [ON UPDATE action]`.
    pub(super) fn references(&mut self) -> Read<References<'a>> {
        let start = self.start();
        self.expect(kw::REFERENCES)?;
        let table = self.object_name()?;
        let columns = if self.at_punct(b'(') { self.key_parts()? } else { &[] };
        let matching = if self.eat(kw::MATCH) { Some(self.any_word()?) } else { None };
        let (mut on_delete, mut on_update) = (None, None);
        while self.at(kw::ON) && (self.next_is(kw::DELETE) || self.next_is(kw::UPDATE)) {
            self.advance();
            let delete = self.take().word == kw::DELETE;
            let action = Some(self.reference_action()?);
            *(if delete { &mut on_delete } else { &mut on_update }) = action;
        }
        let span = self.span_from(start);
        Ok(References { span, constraint: None, table, columns, matching, on_delete, on_update })
    }

    fn reference_action(&mut self) -> Read<ReferenceAction> {
        Ok(match self.expect_any(&[kw::RESTRICT, kw::CASCADE, kw::SET, kw::NO])? {
            kw::RESTRICT => ReferenceAction::Restrict,
            kw::CASCADE => ReferenceAction::Cascade,
            kw::NO => {
                self.expect(kw::ACTION)?;
                ReferenceAction::NoAction
            }
            _ => match self.expect_any(&[kw::NULL, kw::DEFAULT])? {
                kw::NULL => ReferenceAction::SetNull,
                _ => ReferenceAction::SetDefault,
            },
        })
    }

    /// CHECK. `start` and `constraint`: of the CONSTRAINT before it, which was read.
    pub(super) fn check(&mut self, start: u32, constraint: Option<Constraint<'a>>) -> Read<Check<'a>> {
        self.expect(kw::CHECK)?;
        self.expect_punct(b'(')?;
        let expr = self.expr()?;
        self.expect_punct(b')')?;
        let enforced =
            if self.eat(kw::ENFORCED) { Some(true) } else { self.eat_all(&[kw::NOT, kw::ENFORCED]).then_some(false) };
        Ok(Check { span: self.span_from(start), constraint, if_not_exists: false, expr, enforced })
    }
}
