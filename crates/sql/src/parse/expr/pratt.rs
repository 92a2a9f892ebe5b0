//! Operators: which of them takes which operands.
//!
//! What must hold: the shape is the server's. Three things decide about it. An operator has a *level*, and takes what is
//! on its left if that level is at least the one that is being read. What may stand on its right is read at a level of
//! its own, which for most is the next one. And what an operator made may be too weak to be the left side of one of a
//! higher level that follows (`a IN (1) + 1` is an error): that is the *ceiling*.
//!
//! MySQL's predicates (IN, LIKE, BETWEEN, …) don't follow one another, and the right side of LIKE is a `simple_expr`.
//! MariaDB's are operators: all of the level of LIKE, from left to right, BETWEEN weaker and from right to left. Those
//! with NOT before them are the strongest of all there, on their left side: `a LIKE b NOT LIKE c` is
//! `a LIKE (b NOT LIKE c)`. A server of unknown kind is given MariaDB's reading, which is MySQL's where MySQL has one.

use super::super::{Expected, Parser, Read};
use crate::ast::{BinaryOp, Expr, ExprKind, UnaryOp};
use crate::keyword::Keyword;
use crate::kw;
use crate::lexer::TokenKind;

/// How tightly an operator binds.
pub(super) type Level = u8;

/// Anything that is an expression.
pub(super) const ANY: Level = 1;
const OR: Level = 1;
const XOR: Level = 2;
const AND: Level = 3;
/// An expression without AND, XOR and OR outside of parentheses.
pub(super) const NOT: Level = 4;
/// Comparisons and IS.
pub(super) const COMPARISON: Level = 5;
/// An expression without comparisons outside of parentheses: `predicate`.
pub(super) const BETWEEN: Level = 6;
const PREDICATE: Level = 7;
/// Predicates with NOT.
pub(super) const NEGATED_PREDICATE: Level = 8;
/// An expression without predicates too: `bit_expr`.
pub(super) const BIT_OR: Level = 9;
const BIT_AND: Level = 10;
const SHIFT: Level = 11;
const ADD: Level = 12;
const MULTIPLY: Level = 13;
const BIT_XOR: Level = 14;
/// An expression without any operators between operands but `||` that joins strings: `simple_expr`.
pub(super) const SIMPLE: Level = 15;
const UNARY: Level = 16;
const COLLATE: Level = 17;
/// As a ceiling: anything may follow.
pub(super) const NO_CEILING: Level = 18;

/// What stands after an operand and takes it in.
#[derive(Clone, Copy)]
enum Infix {
    Binary(BinaryOp),
    Comparison(BinaryOp),
    Predicate,
    Is,
    Collate,
}

impl<'a> Parser<'a> {
    /// An expression of operators of at least this level.
    pub(in crate::parse) fn expr_at(&mut self, least: Level) -> Read<Expr<'a>> {
        self.enter()?;
        let mut ceiling = NO_CEILING;
        let mut expr = match self.word() {
            kw::NOT if !self.mode.high_not_precedence => {
                ceiling = AND;
                self.negation(least)
            }
            kw::INTERVAL => self.interval_operand(least, &mut ceiling),
            _ => self.primary(),
        }?;
        self.operators(&mut expr, least, ceiling)?;
        self.leave();
        Ok(expr)
    }

    /// The operators that follow an expression, and their other operands: all of it becomes the expression.
    pub(super) fn operators(&mut self, left: &mut Expr<'a>, least: Level, mut ceiling: Level) -> Read<()> {
        while let Some((infix, level)) = self.infix() {
            if level < least || level > ceiling {
                break;
            }
            ceiling = match infix {
                Infix::Binary(op) => self.binary(left, op, level),
                Infix::Comparison(op) => self.comparison(left, op),
                Infix::Predicate => self.predicate(left),
                Infix::Is => self.is_test(left),
                Infix::Collate => self.collate(left),
            }?;
        }
        Ok(())
    }

    /// What the current token does to an operand before it.
    #[inline]
    fn infix(&self) -> Option<(Infix, Level)> {
        match self.kind() {
            TokenKind::Punct(byte) => punctuation(byte),
            TokenKind::Word => self.word_infix(self.word()),
            TokenKind::Operator => self.long_operator(),
            _ => None,
        }
    }

    fn word_infix(&self, word: Keyword) -> Option<(Infix, Level)> {
        let found = match word {
            Keyword::NONE => return None,
            kw::AND => (Infix::Binary(BinaryOp::And), AND),
            kw::OR => (Infix::Binary(BinaryOp::Or), OR),
            kw::XOR => (Infix::Binary(BinaryOp::Xor), XOR),
            kw::DIV => (Infix::Binary(BinaryOp::IntegerDivide), MULTIPLY),
            kw::MOD => (Infix::Binary(BinaryOp::Modulo), MULTIPLY),
            kw::IS => (Infix::Is, COMPARISON),
            kw::IN | kw::LIKE | kw::REGEXP | kw::RLIKE => (Infix::Predicate, PREDICATE),
            kw::BETWEEN => (Infix::Predicate, BETWEEN),
            kw::NOT => return self.negated_predicate(),
            kw::COLLATE => (Infix::Collate, COLLATE),
            kw::SOUNDS if self.next_is(kw::LIKE) => (Infix::Predicate, PREDICATE),
            kw::MEMBER if self.may_be_mysql() && (self.next_is(kw::OF) || self.next_is_punct(b'(')) => {
                (Infix::Predicate, PREDICATE)
            }
            _ => return None,
        };
        Some(found)
    }

    /// At NOT after an operand.
    fn negated_predicate(&self) -> Option<(Infix, Level)> {
        matches!(self.cursor.next().word, kw::IN | kw::LIKE | kw::REGEXP | kw::RLIKE | kw::BETWEEN)
            .then_some((Infix::Predicate, NEGATED_PREDICATE))
    }

    fn long_operator(&self) -> Option<(Infix, Level)> {
        let found = match self.cursor.text(self.cursor.current()) {
            b"<=" => (Infix::Comparison(BinaryOp::Le), COMPARISON),
            b">=" => (Infix::Comparison(BinaryOp::Ge), COMPARISON),
            b"<>" | b"!=" => (Infix::Comparison(BinaryOp::Ne), COMPARISON),
            b"<=>" => (Infix::Comparison(BinaryOp::NullSafeEq), COMPARISON),
            b"||" if self.mode.pipes_as_concat => (Infix::Binary(BinaryOp::Concat), SIMPLE),
            b"||" => (Infix::Binary(BinaryOp::Or), OR),
            b"&&" => (Infix::Binary(BinaryOp::And), AND),
            b"<<" => (Infix::Binary(BinaryOp::ShiftLeft), SHIFT),
            b">>" => (Infix::Binary(BinaryOp::ShiftRight), SHIFT),
            _ => return None,
        };
        Some(found)
    }

    /// The operator and its right side, which binds tighter than the operator does. Gives the ceiling, as all who read what
    /// follows an operand do.
    fn binary(&mut self, left: &mut Expr<'a>, op: BinaryOp, level: Level) -> Read<Level> {
        self.advance();
        if level == ADD && self.at(kw::INTERVAL) {
            return self.plus_interval(left, op);
        }
        let right = self.expr_at(level + 1)?;
        *left = self.join(*left, op, right);
        Ok(level)
    }

    /// `left op right`.
    pub(super) fn join(&self, left: Expr<'a>, op: BinaryOp, right: Expr<'a>) -> Expr<'a> {
        let [left, right] = self.arena.alloc([left, right]);
        Expr { span: left.span.to(right.span), kind: ExprKind::Binary(op, left, right) }
    }

    /// A prefix operator and what it stands before.
    pub(super) fn unary(&mut self, op: UnaryOp) -> Read<Expr<'a>> {
        let start = self.start();
        self.advance();
        if self.at(kw::INTERVAL) && matches!(op, UnaryOp::Minus | UnaryOp::Plus) && !self.may_be_mysql() {
            return self.signed_interval(start, op);
        }
        let operand = self.expr_at(UNARY)?;
        Ok(Expr { span: self.span_from(start), kind: ExprKind::Unary(op, self.alloc(operand)) })
    }

    /// `NOT expr`: a whole comparison.
    fn negation(&mut self, least: Level) -> Read<Expr<'a>> {
        if least > NOT {
            return self.no_expression();
        }
        let start = self.start();
        self.advance();
        let operand = self.expr_at(NOT)?;
        Ok(Expr { span: self.span_from(start), kind: ExprKind::Unary(UnaryOp::Not, self.alloc(operand)) })
    }

    #[inline(never)]
    fn collate(&mut self, left: &mut Expr<'a>) -> Read<Level> {
        self.advance();
        let collation = if self.may_be_mysql() { self.charset_name()? } else { self.ident_or_string()? };
        let kind = ExprKind::Collate(self.alloc(*left), self.alloc(collation));
        *left = Expr { span: left.span.to(collation.span), kind };
        Ok(COLLATE)
    }

    /// At INTERVAL on the right of `+` or `-`. Behind an interval the sum is complete: `a + INTERVAL 1 DAY * 2` is a product.
    #[inline(never)]
    fn plus_interval(&mut self, left: &mut Expr<'a>, op: BinaryOp) -> Read<Level> {
        let mut right = self.interval_or_call()?;
        let call = matches!(right.kind, ExprKind::Call(_));
        if call {
            self.operators(&mut right, ADD + 1, NO_CEILING)?;
        }
        *left = self.join(*left, op, right);
        Ok(if call { ADD } else { BIT_XOR })
    }

    /// At INTERVAL where an operand begins: the function, or an interval to which something is added.
    #[inline(never)]
    fn interval_operand(&mut self, least: Level, ceiling: &mut Level) -> Read<Expr<'a>> {
        let interval = self.interval_or_call()?;
        if matches!(interval.kind, ExprKind::Call(_)) {
            return Ok(interval);
        }
        if least > SIMPLE && !self.may_be_mysql() {
            return self.no_expression();
        }
        *ceiling = self.interval_sum_ceiling();
        self.add_to_interval(interval)
    }

    /// At INTERVAL behind a sign (MariaDB): `-INTERVAL 1 DAY + expr`, where the sign is the interval's.
    #[inline(never)]
    fn signed_interval(&mut self, start: u32, op: UnaryOp) -> Read<Expr<'a>> {
        let mut interval = self.interval_or_call()?;
        if matches!(interval.kind, ExprKind::Call(_)) {
            self.operators(&mut interval, UNARY, NO_CEILING)?;
            let operand = interval;
            return Ok(Expr { span: self.span_from(start), kind: ExprKind::Unary(op, self.alloc(operand)) });
        }
        let signed = Expr { span: self.span_from(start), kind: ExprKind::Unary(op, self.alloc(interval)) };
        self.add_to_interval(signed)
    }

    /// `INTERVAL 1 DAY` must be followed by `+` where an operand is asked for. What is added to it is all that follows,
    /// comparisons too.
    pub(super) fn add_to_interval(&mut self, interval: Expr<'a>) -> Read<Expr<'a>> {
        self.expect_punct(b'+')?;
        let right = self.expr_at(NOT)?;
        Ok(self.join(interval, BinaryOp::Add, right))
    }

    /// The ceiling after `INTERVAL 1 DAY + expr`: a `simple_expr` of MySQL, a `bit_expr` of MariaDB.
    pub(super) fn interval_sum_ceiling(&self) -> Level {
        if self.may_be_mysql() { NO_CEILING } else { BIT_XOR }
    }

    /// One level deeper.
    #[inline]
    pub(super) fn enter(&mut self) -> Read<()> {
        if self.depth >= super::super::MAX_DEPTH {
            return self.stop(Expected::LessNesting);
        }
        self.depth += 1;
        Ok(())
    }

    /// One level up. Not called after an error: whoever goes on after one restores the depth.
    #[inline]
    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// MySQL's predicates, which don't follow one another.
    pub(super) fn has_strict_predicates(&self) -> bool {
        !self.may_be_mariadb()
    }

    /// The ceiling after a predicate.
    pub(super) fn predicate_ceiling(&self) -> Level {
        if self.has_strict_predicates() { COMPARISON } else { NEGATED_PREDICATE }
    }

    /// The ceiling after `IS TRUE`, which on MySQL is no operand of a comparison.
    pub(super) fn truth_ceiling(&self) -> Level {
        if self.has_strict_predicates() { AND } else { COMPARISON }
    }
}

fn punctuation(byte: u8) -> Option<(Infix, Level)> {
    let found = match byte {
        b'=' => (Infix::Comparison(BinaryOp::Eq), COMPARISON),
        b'<' => (Infix::Comparison(BinaryOp::Lt), COMPARISON),
        b'>' => (Infix::Comparison(BinaryOp::Gt), COMPARISON),
        b'+' => (Infix::Binary(BinaryOp::Add), ADD),
        b'-' => (Infix::Binary(BinaryOp::Subtract), ADD),
        b'*' => (Infix::Binary(BinaryOp::Multiply), MULTIPLY),
        b'/' => (Infix::Binary(BinaryOp::Divide), MULTIPLY),
        b'%' => (Infix::Binary(BinaryOp::Modulo), MULTIPLY),
        b'|' => (Infix::Binary(BinaryOp::BitOr), BIT_OR),
        b'&' => (Infix::Binary(BinaryOp::BitAnd), BIT_AND),
        b'^' => (Infix::Binary(BinaryOp::BitXor), BIT_XOR),
        _ => return None,
    };
    Some(found)
}
