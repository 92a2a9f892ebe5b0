//! Comparisons, IS, IN, BETWEEN, LIKE and what is like them.
//!
//! What must hold: see `pratt`. A method here begins at its operator, whose left side was read.

use super::super::{Expected, Parser, Read};
use super::paren::Inside;
use super::pratt::{BETWEEN, BIT_OR, COMPARISON, Level, NEGATED_PREDICATE, SIMPLE};
use crate::ast::{Between, BinaryOp, Expr, ExprKind, In, InList, Is, IsTest, Like, Quantified};
use crate::kw;

impl<'a> Parser<'a> {
    /// `left = right`, `left = ANY (query)`.
    pub(super) fn comparison(&mut self, left: &mut Expr<'a>, op: BinaryOp) -> Read<Level> {
        self.advance();
        if self.at_any(&[kw::ALL, kw::ANY, kw::SOME]) && self.next_is_punct(b'(') && op != BinaryOp::NullSafeEq {
            return self.quantified(left, op);
        }
        let right = self.expr_at(BETWEEN)?;
        *left = self.join(*left, op, right);
        Ok(COMPARISON)
    }

    #[inline(never)]
    fn quantified(&mut self, left: &mut Expr<'a>, op: BinaryOp) -> Read<Level> {
        let all = self.at(kw::ALL);
        self.advance();
        let query = self.parenthesised_query()?;
        let kind = ExprKind::Quantified(self.alloc(Quantified { expr: *left, op, all, query }));
        *left = self.grown(left, kind);
        Ok(COMPARISON)
    }

    /// `left IS …`.
    #[inline(never)]
    pub(super) fn is_test(&mut self, left: &mut Expr<'a>) -> Read<Level> {
        self.advance();
        let negated = self.eat(kw::NOT);
        let test = match self.word() {
            kw::NULL => IsTest::Null,
            kw::TRUE => IsTest::True,
            kw::FALSE => IsTest::False,
            kw::UNKNOWN => IsTest::Unknown,
            _ => return self.stop(Expected::Words(&[kw::NULL, kw::TRUE, kw::FALSE, kw::UNKNOWN])),
        };
        self.advance();
        *left = self.grown(left, ExprKind::Is(self.alloc(Is { expr: *left, negated, test })));
        Ok(if test == IsTest::Null { COMPARISON } else { self.truth_ceiling() })
    }

    /// IN, BETWEEN, LIKE, REGEXP, SOUNDS LIKE or MEMBER OF, perhaps with NOT before it.
    #[inline(never)]
    pub(super) fn predicate(&mut self, left: &mut Expr<'a>) -> Read<Level> {
        let negated = self.eat(kw::NOT);
        match self.take().word {
            kw::IN => self.in_list(left, negated),
            kw::BETWEEN => self.between(left, negated),
            kw::LIKE => self.like(left, negated),
            kw::REGEXP | kw::RLIKE if negated => self.match_of(left, BinaryOp::NotRegexp),
            kw::REGEXP | kw::RLIKE => self.match_of(left, BinaryOp::Regexp),
            kw::SOUNDS => {
                self.advance();
                self.match_of(left, BinaryOp::SoundsLike)
            }
            _ => self.member_of(left),
        }?;
        Ok(self.predicate_ceiling())
    }

    fn in_list(&mut self, left: &mut Expr<'a>, negated: bool) -> Read<()> {
        let list = match self.inside()? {
            Inside::Query(query) => InList::Query(query),
            Inside::Exprs(values) => InList::Values(values),
        };
        *left = self.grown(left, ExprKind::In(self.alloc(In { expr: *left, negated, list })));
        Ok(())
    }

    fn between(&mut self, left: &mut Expr<'a>, negated: bool) -> Read<()> {
        let low = self.expr_at(if self.has_strict_predicates() { BIT_OR } else { BETWEEN })?;
        self.expect(kw::AND)?;
        let high = self.expr_at(BETWEEN)?;
        *left = self.grown(left, ExprKind::Between(self.alloc(Between { expr: *left, negated, low, high })));
        Ok(())
    }

    fn like(&mut self, left: &mut Expr<'a>, negated: bool) -> Read<()> {
        let least = if self.has_strict_predicates() { SIMPLE } else { NEGATED_PREDICATE };
        let pattern = self.expr_at(least)?;
        let escape = if self.eat(kw::ESCAPE) { Some(self.expr_at(least)?) } else { None };
        *left = self.grown(left, ExprKind::Like(self.alloc(Like { expr: *left, negated, pattern, escape })));
        Ok(())
    }

    /// What is on the right of REGEXP and SOUNDS LIKE.
    fn match_of(&mut self, left: &mut Expr<'a>, op: BinaryOp) -> Read<()> {
        let right = self.expr_at(if self.has_strict_predicates() { BIT_OR } else { NEGATED_PREDICATE })?;
        *left = self.join(*left, op, right);
        Ok(())
    }

    /// `left MEMBER [OF] (array)`.
    fn member_of(&mut self, left: &mut Expr<'a>) -> Read<()> {
        self.eat(kw::OF);
        let start = self.start();
        self.expect_punct(b'(')?;
        let array = self.expr_at(SIMPLE)?;
        self.expect_punct(b')')?;
        let array = Expr { span: self.span_from(start), kind: ExprKind::Paren(self.alloc(array)) };
        *left = self.join(*left, BinaryOp::MemberOf, array);
        Ok(())
    }

    /// What an expression became by what was read after it.
    fn grown(&self, left: &Expr<'a>, kind: ExprKind<'a>) -> Expr<'a> {
        Expr { span: self.span_from(left.span.start), kind }
    }
}
