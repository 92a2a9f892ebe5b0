//! CREATE SEQUENCE and ALTER SEQUENCE (MariaDB).

use super::super::{Expected, Parser, Read};
use crate::ast::{DefineSequence, SequenceSetting, SequenceSettingKind, Span, StatementKind};
use crate::kw;

impl<'a> Parser<'a> {
    /// CREATE SEQUENCE or ALTER SEQUENCE.
    pub(in crate::parse) fn define_sequence(&mut self) -> Read<StatementKind<'a>> {
        let alter = self.expect_any(&[kw::CREATE, kw::ALTER])? == kw::ALTER;
        let or_replace = self.or_replace();
        let temporary = self.eat(kw::TEMPORARY);
        self.expect(kw::SEQUENCE)?;
        let conditional = if alter { self.if_exists()? } else { self.if_not_exists()? };
        let name = self.object_name()?;
        let settings = self.several(Self::sequence_setting)?;
        let options = self.table_options(&mut None)?;
        let node = DefineSequence { alter, or_replace, temporary, conditional, name, settings, options };
        Ok(StatementKind::DefineSequence(self.alloc(node)))
    }

    fn sequence_setting(&mut self) -> Read<Option<SequenceSetting>> {
        let start = self.start();
        let Some(kind) = self.sequence_word()? else { return Ok(None) };
        let value = match kind {
            SequenceSettingKind::Start => {
                self.eat(kw::WITH);
                Some(self.sequence_number()?)
            }
            SequenceSettingKind::Restart => {
                let with = self.eat(kw::WITH);
                let number = with || self.at_punct(b'=') || self.at_punct(b'-') || self.at_number();
                if number { Some(self.sequence_number()?) } else { None }
            }
            SequenceSettingKind::Increment => {
                self.eat(kw::BY);
                Some(self.sequence_number()?)
            }
            SequenceSettingKind::MinValue | SequenceSettingKind::MaxValue | SequenceSettingKind::Cache => {
                Some(self.sequence_number()?)
            }
            _ => None,
        };
        Ok(Some(SequenceSetting { span: self.span_from(start), kind, value }))
    }

    fn sequence_word(&mut self) -> Read<Option<SequenceSettingKind>> {
        const WORDS: &[(&str, SequenceSettingKind)] = &[
            ("start", SequenceSettingKind::Start),
            ("restart", SequenceSettingKind::Restart),
            ("increment", SequenceSettingKind::Increment),
            ("minvalue", SequenceSettingKind::MinValue),
            ("maxvalue", SequenceSettingKind::MaxValue),
            ("cache", SequenceSettingKind::Cache),
            ("cycle", SequenceSettingKind::Cycle),
            ("nominvalue", SequenceSettingKind::NoMinValue),
            ("nomaxvalue", SequenceSettingKind::NoMaxValue),
            ("nocache", SequenceSettingKind::NoCache),
            ("nocycle", SequenceSettingKind::NoCycle),
        ];
        let no = self.eat(kw::NO);
        let Some((_, kind)) = WORDS.iter().find(|(word, _)| self.spelled(word)) else {
            return if no { self.stop(Expected::What("MINVALUE, MAXVALUE, CACHE or CYCLE")) } else { Ok(None) };
        };
        self.advance();
        Ok(Some(match kind {
            SequenceSettingKind::MinValue if no => SequenceSettingKind::NoMinValue,
            SequenceSettingKind::MaxValue if no => SequenceSettingKind::NoMaxValue,
            SequenceSettingKind::Cache if no => SequenceSettingKind::NoCache,
            SequenceSettingKind::Cycle if no => SequenceSettingKind::NoCycle,
            kind => *kind,
        }))
    }

    fn at_number(&self) -> bool {
        self.kind() == crate::lexer::TokenKind::Integer
    }

    /// `[=] [-] n`: the number with its sign.
    fn sequence_number(&mut self) -> Read<Span> {
        self.optional_equal();
        let start = self.start();
        if !self.eat_punct(b'-') {
            self.eat_punct(b'+');
        }
        self.any_number()?;
        Ok(self.span_from(start))
    }
}
