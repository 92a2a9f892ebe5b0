//! Operands: literals, names, and everything that begins with a word or a sign of its own.
//!
//! What must hold: the match on a word comes first for words that have a grammar of their own; any other word is a name.
//! Cases that are rare or large are functions that are not inlined, since each descent has a frame of this module on the
//! stack.

use bumpalo::collections::Vec as ArenaVec;

use super::super::{Expected, Parser, Read};
use crate::ast::{
    BinaryOp, Case, CaseBranch, Expr, ExprKind, Literal, Match, SequenceCall, SequenceKind, Temporal, UnaryOp,
};
use crate::keyword::Keyword;
use crate::kw;
use crate::lexer::TokenKind;
use crate::mode::Dialect;

impl<'a> Parser<'a> {
    /// An operand, with the prefix operators that stand before it.
    pub(super) fn primary(&mut self) -> Read<Expr<'a>> {
        match self.kind() {
            TokenKind::Word => self.word_primary(self.word()),
            TokenKind::QuotedIdent => self.name_primary(),
            TokenKind::Integer => self.literal(Literal::Integer),
            TokenKind::String => self.string(),
            TokenKind::Parameter => self.parameter(),
            TokenKind::Decimal => self.literal(Literal::Decimal),
            TokenKind::Float => self.literal(Literal::Float),
            TokenKind::Hex => self.literal(Literal::Hex),
            TokenKind::Bit => self.literal(Literal::Bit),
            TokenKind::UserVariable => self.user_variable_or_assignment(),
            TokenKind::SystemVariable => self.system_variable(),
            TokenKind::Punct(byte) => self.punctuation_primary(byte),
            _ => self.no_expression(),
        }
    }

    fn parameter(&mut self) -> Read<Expr<'a>> {
        let span = Self::span_of(self.take());
        Ok(Expr { span, kind: ExprKind::Parameter(self.next_parameter()) })
    }

    fn punctuation_primary(&mut self, byte: u8) -> Read<Expr<'a>> {
        match byte {
            b'(' => self.paren(),
            b'-' => self.unary(UnaryOp::Minus),
            b'+' => self.unary(UnaryOp::Plus),
            b'~' => self.unary(UnaryOp::BitNot),
            b'!' => self.unary(UnaryOp::Bang),
            b'.' => self.column(),
            b'@' => self.user_variable_or_assignment(),
            b'{' => self.odbc(),
            b'\\' => self.backslash(),
            _ => self.no_expression(),
        }
    }

    fn word_primary(&mut self, word: Keyword) -> Read<Expr<'a>> {
        match word {
            Keyword::NONE => self.name_primary(),
            kw::NULL => self.literal(Literal::Null),
            kw::TRUE => self.literal(Literal::True),
            kw::FALSE => self.literal(Literal::False),
            kw::CASE => self.case(),
            kw::EXISTS => self.exists(),
            kw::BINARY => self.unary(UnaryOp::Binary),
            // Only where it is as strong as `!`.
            kw::NOT if self.mode.high_not_precedence => self.unary(UnaryOp::Not),
            kw::ROW if self.next_is_punct(b'(') => self.row(),
            kw::MATCH => self.match_against(),
            kw::DATE if self.next_is_string() => self.temporal(Temporal::Date),
            kw::TIME if self.next_is_string() => self.temporal(Temporal::Time),
            kw::TIMESTAMP if self.next_is_string() => self.temporal(Temporal::Timestamp),
            kw::NEXT | kw::PREVIOUS if self.next_is(kw::VALUE) && self.may_be_mariadb() => self.sequence_value(),
            _ if self.next_is_punct(b'(') => self.word_call(word),
            kw::CURRENT_ROLE if self.mode.dialect == Dialect::MariaDb => self.bare_call(),
            _ if is_function_without_parentheses(word) => self.bare_call(),
            _ => self.name_primary(),
        }
    }

    /// A column, or a call of a function that has no grammar of its own.
    fn name_primary(&mut self) -> Read<Expr<'a>> {
        if self.next_is_punct(b'(') {
            return if self.at_name() { self.plain_call() } else { self.no_expression() };
        }
        if self.at_introducer() && self.kind() == TokenKind::Word {
            return self.introduced();
        }
        self.column()
    }

    /// `c`, `t.c`, `db.t.c`, `.t.c`, then perhaps `->'$.path'`; or `db.f(…)`.
    pub(super) fn column(&mut self) -> Read<Expr<'a>> {
        let start = self.start();
        let name = self.column_name()?;
        if self.at_punct(b'(') && name.table.is_some() && name.database.is_none() && self.sql[start as usize] != b'.' {
            return self.qualified_call(name);
        }
        let column = Expr { span: self.span_from(start), kind: ExprKind::Column(self.alloc(name)) };
        if self.kind() == TokenKind::Operator { self.json_path(column) } else { Ok(column) }
    }

    /// The `->'$.path'` that may follow a column.
    fn json_path(&mut self, column: Expr<'a>) -> Read<Expr<'a>> {
        let op = match self.cursor.text(self.cursor.current()) {
            b"->" => BinaryOp::JsonExtract,
            b"->>" => BinaryOp::JsonUnquote,
            _ => return Ok(column),
        };
        self.advance();
        let path = Expr { span: self.expect_string()?, kind: ExprKind::Literal(Literal::String) };
        Ok(self.join(column, op, path))
    }

    /// `CASE … END`.
    #[inline(never)]
    fn case(&mut self) -> Read<Expr<'a>> {
        let start = self.start();
        self.advance();
        let operand = if self.at(kw::WHEN) { None } else { Some(self.expr()?) };
        let mut branches = ArenaVec::new_in(self.arena);
        if !self.at(kw::WHEN) {
            return self.stop(Expected::Word(kw::WHEN));
        }
        while self.eat(kw::WHEN) {
            let condition = self.expr()?;
            self.expect(kw::THEN)?;
            let value = self.expr()?;
            branches.push(CaseBranch { condition, value });
        }
        let otherwise = if self.eat(kw::ELSE) { Some(self.expr()?) } else { None };
        self.expect(kw::END)?;
        let case = Case { operand, branches: branches.into_bump_slice(), otherwise };
        Ok(Expr { span: self.span_from(start), kind: ExprKind::Case(self.alloc(case)) })
    }

    #[inline(never)]
    fn exists(&mut self) -> Read<Expr<'a>> {
        let start = self.start();
        self.advance();
        let query = self.parenthesised_query()?;
        Ok(Expr { span: self.span_from(start), kind: ExprKind::Exists(query) })
    }

    /// `ROW(a, b)`: two at least.
    #[inline(never)]
    fn row(&mut self) -> Read<Expr<'a>> {
        let start = self.start();
        self.advance();
        self.expect_punct(b'(')?;
        let exprs = self.exprs()?;
        if exprs.len() < 2 {
            return self.stop(Expected::Punct(b','));
        }
        self.expect_punct(b')')?;
        Ok(Expr { span: self.span_from(start), kind: ExprKind::Row(exprs) })
    }

    /// `{identifier expr}`.
    #[inline(never)]
    fn odbc(&mut self) -> Read<Expr<'a>> {
        let start = self.start();
        self.advance();
        let name = self.ident()?;
        let expr = self.expr()?;
        self.expect_punct(b'}')?;
        Ok(Expr { span: self.span_from(start), kind: ExprKind::Odbc(self.alloc(name), self.alloc(expr)) })
    }

    /// `MATCH (a, b) AGAINST (expr [modifier])`.
    #[inline(never)]
    fn match_against(&mut self) -> Read<Expr<'a>> {
        let start = self.start();
        self.advance();
        let parentheses = self.eat_punct(b'(');
        let columns = self.list(Self::column)?;
        if parentheses {
            self.expect_punct(b')')?;
        }
        self.expect(kw::AGAINST)?;
        self.expect_punct(b'(')?;
        // IN begins the modifier here.
        let against = self.expr_at(super::pratt::BIT_OR)?;
        let from = self.start();
        if self.eat(kw::IN) {
            match self.expect_any(&[kw::BOOLEAN, kw::NATURAL])? {
                kw::BOOLEAN => self.expect(kw::MODE)?,
                _ => self.expect_all(&[kw::LANGUAGE, kw::MODE])?,
            }
        }
        if self.eat(kw::WITH) {
            self.expect_all(&[kw::QUERY, kw::EXPANSION])?;
        }
        let modifier = (self.start() != from).then(|| self.span_from(from));
        self.expect_punct(b')')?;
        let kind = ExprKind::Match(self.alloc(Match { columns, against, modifier }));
        Ok(Expr { span: self.span_from(start), kind })
    }

    /// `NEXT VALUE FOR s`, `PREVIOUS VALUE FOR s`.
    #[inline(never)]
    fn sequence_value(&mut self) -> Read<Expr<'a>> {
        let start = self.start();
        let kind = if self.at(kw::NEXT) { SequenceKind::Next } else { SequenceKind::Previous };
        self.advance();
        self.advance();
        self.expect(kw::FOR)?;
        let sequence = self.object_name()?;
        let call = self.alloc(SequenceCall { kind, sequence, arguments: &[] });
        Ok(Expr { span: self.span_from(start), kind: ExprKind::Sequence(call) })
    }
}

/// Functions that are called without parentheses too, on both servers.
fn is_function_without_parentheses(word: Keyword) -> bool {
    matches!(
        word,
        kw::CURRENT_DATE
            | kw::CURRENT_TIME
            | kw::CURRENT_TIMESTAMP
            | kw::CURRENT_USER
            | kw::LOCALTIME
            | kw::LOCALTIMESTAMP
            | kw::UTC_DATE
            | kw::UTC_TIME
            | kw::UTC_TIMESTAMP
    )
}
