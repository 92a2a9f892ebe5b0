//! PARTITION BY.

use super::super::{Expected, Parser, Read};
use crate::ast::{
    Expr, Ident, PartitionDefinition, PartitionHash, PartitionKey, PartitionMethod, PartitionValue, PartitionValues,
    Partitioning, Span, Subpartition, Subpartitioning, SystemTime, TableOption,
};
use crate::kw;
use crate::mode::Dialect;

impl<'a> Parser<'a> {
    /// At PARTITION BY.
    pub(super) fn at_partition_by(&self) -> bool {
        self.at_pair(kw::PARTITION, kw::BY)
    }

    /// `PARTITION BY …` with all that belongs to it.
    pub(super) fn partitioning(&mut self) -> Read<Partitioning<'a>> {
        let start = self.start();
        let in_comment = self.after_code_mark();
        self.expect_all(&[kw::PARTITION, kw::BY])?;
        let method = self.partition_method()?;
        let count = if self.eat(kw::PARTITIONS) { Some(self.any_number()?) } else { None };
        let subpartitioning = if self.at(kw::SUBPARTITION) { Some(self.subpartitioning()?) } else { None };
        let definitions = if self.at_punct(b'(') && !self.query_begins() { self.partition_definitions()? } else { &[] };
        let span = self.span_from(start);
        Ok(Partitioning { span, in_comment, method, count, subpartitioning, definitions })
    }

    /// Whether the mark of an executable comment stands directly before the current token.
    fn after_code_mark(&self) -> bool {
        let gap = self.text_of(Span { start: self.cursor.previous().token.end, end: self.start() }).trim_ascii();
        let digits = gap.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        gap[..gap.len() - digits].ends_with(b"!")
    }

    fn subpartitioning(&mut self) -> Read<&'a Subpartitioning<'a>> {
        let start = self.start();
        self.expect_all(&[kw::SUBPARTITION, kw::BY])?;
        let method = self.partition_method()?;
        let count = if self.eat(kw::SUBPARTITIONS) { Some(self.any_number()?) } else { None };
        Ok(self.alloc(Subpartitioning { span: self.span_from(start), method, count }))
    }

    fn partition_method(&mut self) -> Read<PartitionMethod<'a>> {
        if self.spelled("system_time") {
            return self.partition_by_system_time();
        }
        let linear = self.eat(kw::LINEAR);
        Ok(match self.expect_any(&[kw::HASH, kw::KEY, kw::RANGE, kw::LIST])? {
            kw::HASH => {
                let expr = self.partition_expr()?;
                PartitionMethod::Hash(self.alloc(PartitionHash { linear, expr }))
            }
            kw::KEY => {
                let key = self.partition_key(linear)?;
                PartitionMethod::Key(self.alloc(key))
            }
            kw::RANGE if self.eat(kw::COLUMNS) => PartitionMethod::RangeColumns(self.names_in_parentheses()?),
            kw::RANGE => {
                let expr = self.partition_expr()?;
                PartitionMethod::Range(self.alloc(expr))
            }
            _ if self.eat(kw::COLUMNS) => PartitionMethod::ListColumns(self.names_in_parentheses()?),
            _ => {
                let expr = self.partition_expr()?;
                PartitionMethod::List(self.alloc(expr))
            }
        })
    }

    fn partition_expr(&mut self) -> Read<Expr<'a>> {
        self.expect_punct(b'(')?;
        let expr = self.expr()?;
        self.expect_punct(b')')?;
        Ok(expr)
    }

    fn partition_key(&mut self, linear: bool) -> Read<PartitionKey<'a>> {
        let mut algorithm = None;
        if self.eat(kw::ALGORITHM) {
            self.optional_equal();
            algorithm = Some(self.any_number()?);
        }
        let columns = self.parenthesised_or_empty(Self::ident)?;
        Ok(PartitionKey { linear, algorithm, columns })
    }

    /// `SYSTEM_TIME [INTERVAL n unit [STARTS expr] | LIMIT n] [AUTO]`.
    fn partition_by_system_time(&mut self) -> Read<PartitionMethod<'a>> {
        let start = self.start();
        self.advance();
        let (mut interval, mut starts, mut limit) = (None, None, None);
        if self.eat(kw::INTERVAL) {
            interval = Some(self.expr()?);
            self.interval_unit()?;
            starts = if self.eat(kw::STARTS) { Some(self.expr()?) } else { None };
        } else if self.eat(kw::LIMIT) {
            self.eat_punct(b'+');
            limit = Some(self.any_number()?);
        }
        let auto = self.eat(kw::AUTO);
        let node = SystemTime { span: self.span_from(start), interval, starts, limit, auto };
        Ok(PartitionMethod::SystemTime(self.alloc(node)))
    }

    /// `(PARTITION p0 …, …)`.
    pub(super) fn partition_definitions(&mut self) -> Read<&'a [PartitionDefinition<'a>]> {
        self.parenthesised(Self::partition_definition)
    }

    /// `PARTITION p0 VALUES … options (SUBPARTITION …)`.
    pub(super) fn partition_definition(&mut self) -> Read<PartitionDefinition<'a>> {
        let start = self.start();
        // MariaDB does without the word.
        if self.mode.dialect == Dialect::MySql {
            self.expect(kw::PARTITION)?;
        } else {
            self.eat(kw::PARTITION);
        }
        let name = self.ident()?;
        let values = self.partition_values()?;
        let options = self.partition_options()?;
        let subpartitions = if self.at_punct(b'(') { self.parenthesised(Self::subpartition)? } else { &[] };
        Ok(PartitionDefinition { span: self.span_from(start), name, values, options, subpartitions })
    }

    fn subpartition(&mut self) -> Read<Subpartition<'a>> {
        let start = self.start();
        self.expect(kw::SUBPARTITION)?;
        let name: Ident<'a> = self.ident_or_string()?;
        let options = self.partition_options()?;
        Ok(Subpartition { span: self.span_from(start), name, options })
    }

    fn partition_options(&mut self) -> Read<&'a [TableOption<'a>]> {
        self.several(Self::table_option)
    }

    /// Which rows a partition has, if that is said.
    pub(super) fn partition_values(&mut self) -> Read<Option<PartitionValues<'a>>> {
        Ok(Some(match self.word() {
            kw::VALUES => {
                self.advance();
                if self.eat(kw::IN) {
                    PartitionValues::In(self.parenthesised(Self::partition_value)?)
                } else if self.eat(kw::LESS) {
                    self.expect(kw::THAN)?;
                    PartitionValues::LessThan(self.less_than()?)
                } else {
                    return self.stop(Expected::Words(&[kw::LESS, kw::IN]));
                }
            }
            kw::DEFAULT if !self.at_table_option() => self.values_word(PartitionValues::Default),
            kw::HISTORY => self.values_word(PartitionValues::History),
            kw::CURRENT => self.values_word(PartitionValues::Current),
            _ => return Ok(None),
        }))
    }

    fn values_word(&mut self, values: PartitionValues<'a>) -> PartitionValues<'a> {
        self.advance();
        values
    }

    fn less_than(&mut self) -> Read<&'a [PartitionValue<'a>]> {
        if self.at_punct(b'(') {
            return self.parenthesised(Self::partition_value);
        }
        if !self.at(kw::MAXVALUE) {
            return self.stop(Expected::Word(kw::MAXVALUE));
        }
        let value = PartitionValue::MaxValue(Self::span_of(self.take()));
        Ok(std::slice::from_ref(self.arena.alloc(value)))
    }

    fn partition_value(&mut self) -> Read<PartitionValue<'a>> {
        match self.word() {
            kw::MAXVALUE => return Ok(PartitionValue::MaxValue(Self::span_of(self.take()))),
            kw::DEFAULT if !self.next_is_punct(b'(') => {
                return Ok(PartitionValue::Default(Self::span_of(self.take())));
            }
            _ => {}
        }
        if self.at_tuple_with_maxvalue() {
            return self.nested(|parser| parser.parenthesised(Self::partition_value)).map(PartitionValue::Tuple);
        }
        Ok(PartitionValue::Expr(self.expr()?))
    }

    /// At parentheses that hold MAXVALUE and no parentheses.
    fn at_tuple_with_maxvalue(&self) -> bool {
        let mut ahead = self.cursor;
        if !ahead.eat_punct(b'(') {
            return false;
        }
        while !ahead.at_end() && !ahead.at_punct(b'(') && !ahead.at_punct(b')') {
            if ahead.eat(kw::MAXVALUE) {
                return true;
            }
            ahead.advance();
        }
        false
    }
}
