//! Intervals, and the functions of dates with a grammar of their own.
//!
//! What must hold: `INTERVAL (a, b)` is a function and `INTERVAL (a) DAY` an interval, which shows behind the first
//! expression.

use super::super::{Expected, Parser, Read};
use super::paren::Inside;
use super::pratt::{ANY, NO_CEILING};
use crate::ast::{Call, Expr, ExprKind, Ident, Interval, ObjectName};
use crate::keyword::Keyword;
use crate::kw;

impl<'a> Parser<'a> {
    /// At INTERVAL: `INTERVAL expr unit`, or the function.
    pub(super) fn interval_or_call(&mut self) -> Read<Expr<'a>> {
        let start = self.start();
        let adjacent = self.is_adjacent();
        let name = self.take_ident();
        let value = if self.at_punct(b'(') {
            let open = self.start();
            let inner = match self.inside()? {
                Inside::Query(query) => ExprKind::Subquery(query),
                Inside::Exprs([expr]) => ExprKind::Paren(expr),
                Inside::Exprs(arguments) => {
                    let name = ObjectName { span: name.span, database: None, name };
                    return Ok(self.call_expr(Call::of(name, adjacent, arguments)));
                }
            };
            let mut value = Expr { span: self.span_from(open), kind: inner };
            self.operators(&mut value, ANY, NO_CEILING)?;
            value
        } else {
            self.expr()?
        };
        let unit = self.interval_unit()?;
        Ok(Expr { span: self.span_from(start), kind: ExprKind::Interval(self.alloc(Interval { value, unit })) })
    }

    /// `DAY`, `DAY_MICROSECOND`, `SQL_TSI_DAY`, ….
    pub(crate) fn interval_unit(&mut self) -> Read<Ident<'a>> {
        if is_simple_unit(self.word()) || is_compound_unit(self.word()) {
            return Ok(self.take_ident());
        }
        self.stop(Expected::What("a unit of time"))
    }

    /// `EXTRACT(unit FROM expr)`.
    #[inline(never)]
    pub(super) fn extract(&mut self) -> Read<Expr<'a>> {
        let (name, adjacent) = self.call_name()?;
        let unit = self.interval_unit()?;
        self.expect(kw::FROM)?;
        let expr = self.expr()?;
        self.expect_punct(b')')?;
        let arguments = std::slice::from_ref(self.alloc(expr));
        Ok(self.call_expr(Call { word: Some(unit), ..Call::of(name, adjacent, arguments) }))
    }

    /// `TIMESTAMPADD(unit, a, b)`, `TIMESTAMPDIFF(unit, a, b)`.
    #[inline(never)]
    pub(super) fn timestamp_add(&mut self) -> Read<Expr<'a>> {
        let (name, adjacent) = self.call_name()?;
        if !is_simple_unit(self.word()) {
            return self.stop(Expected::What("a unit of time"));
        }
        let unit = self.take_ident();
        self.expect_punct(b',')?;
        let arguments = self.exprs()?;
        self.expect_punct(b')')?;
        Ok(self.call_expr(Call { word: Some(unit), ..Call::of(name, adjacent, arguments) }))
    }

    /// `DATE_ADD(a, INTERVAL b unit)`, `ADDDATE(a, b)`.
    #[inline(never)]
    pub(super) fn add_date(&mut self) -> Read<Expr<'a>> {
        let (name, adjacent) = self.call_name()?;
        let date = self.expr()?;
        self.expect_punct(b',')?;
        let amount = if self.at(kw::INTERVAL) { self.interval_argument()? } else { self.expr()? };
        self.expect_punct(b')')?;
        Ok(self.call_expr(Call::of(name, adjacent, self.pair(date, amount))))
    }

    /// An interval alone, or an expression that begins with INTERVAL.
    fn interval_argument(&mut self) -> Read<Expr<'a>> {
        let mut argument = self.interval_or_call()?;
        if matches!(argument.kind, ExprKind::Call(_)) {
            self.operators(&mut argument, ANY, NO_CEILING)?;
        } else if !self.at_punct(b')') {
            argument = self.add_to_interval(argument)?;
            self.operators(&mut argument, ANY, self.interval_sum_ceiling())?;
        }
        Ok(argument)
    }

    /// `GET_FORMAT(DATE, expr)`.
    #[inline(never)]
    pub(super) fn get_format(&mut self) -> Read<Expr<'a>> {
        let (name, adjacent) = self.call_name()?;
        if !self.at_any(&[kw::DATE, kw::TIME, kw::DATETIME, kw::TIMESTAMP]) {
            return self.stop(Expected::Words(&[kw::DATE, kw::TIME, kw::DATETIME, kw::TIMESTAMP]));
        }
        let word = self.call_word();
        self.expect_punct(b',')?;
        let expr = self.expr()?;
        self.expect_punct(b')')?;
        let arguments = std::slice::from_ref(self.alloc(expr));
        Ok(self.call_expr(Call { word: Some(word), ..Call::of(name, adjacent, arguments) }))
    }
}

/// Units of one number.
fn is_simple_unit(word: Keyword) -> bool {
    matches!(
        word,
        kw::MICROSECOND
            | kw::SECOND
            | kw::MINUTE
            | kw::HOUR
            | kw::DAY
            | kw::WEEK
            | kw::MONTH
            | kw::QUARTER
            | kw::YEAR
            | kw::SQL_TSI_SECOND
            | kw::SQL_TSI_MINUTE
            | kw::SQL_TSI_HOUR
            | kw::SQL_TSI_DAY
            | kw::SQL_TSI_WEEK
            | kw::SQL_TSI_MONTH
            | kw::SQL_TSI_QUARTER
            | kw::SQL_TSI_YEAR
    )
}

/// Units of several numbers.
fn is_compound_unit(word: Keyword) -> bool {
    matches!(
        word,
        kw::SECOND_MICROSECOND
            | kw::MINUTE_MICROSECOND
            | kw::MINUTE_SECOND
            | kw::HOUR_MICROSECOND
            | kw::HOUR_SECOND
            | kw::HOUR_MINUTE
            | kw::DAY_MICROSECOND
            | kw::DAY_SECOND
            | kw::DAY_MINUTE
            | kw::DAY_HOUR
            | kw::YEAR_MONTH
    )
}
