//! Calls: of functions by name, of aggregates, of those that need no parentheses.
//!
//! What must hold: a name that the server knows as its own function only directly before a parenthesis calls a stored
//! function when a space stands between, and has no grammar of its own then.

use bumpalo::collections::Vec as ArenaVec;

use super::super::{Expected, Parser, Read};
use crate::ast::{Call, ColumnName, Expr, ExprKind, Ident, Limit, ObjectName};
use crate::cursor::Item;
use crate::keyword::Keyword;
use crate::kw;
use crate::lexer::TokenKind;

impl<'a> Parser<'a> {
    /// At a known word with a parenthesis behind it.
    pub(super) fn word_call(&mut self, word: Keyword) -> Read<Expr<'a>> {
        if self.is_adjacent() || self.mode.ignore_space {
            match word {
                kw::COUNT
                | kw::SUM
                | kw::MIN
                | kw::MAX
                | kw::BIT_AND
                | kw::BIT_OR
                | kw::BIT_XOR
                | kw::STD
                | kw::STDDEV
                | kw::STDDEV_POP
                | kw::STDDEV_SAMP
                | kw::VARIANCE
                | kw::VAR_POP
                | kw::VAR_SAMP
                | kw::GROUP_CONCAT
                | kw::JSON_ARRAYAGG
                | kw::JSON_OBJECTAGG => return self.aggregate(),
                kw::ST_COLLECT if self.may_be_mysql() => return self.aggregate(),
                kw::PERCENTILE_CONT | kw::PERCENTILE_DISC | kw::MEDIAN if self.may_be_mariadb() => {
                    return self.aggregate();
                }
                kw::JSON_DUALITY_OBJECT if self.may_be_mysql() => return self.json_duality_object(),
                kw::CAST => return self.cast(),
                kw::EXTRACT => return self.extract(),
                kw::TRIM | kw::TRIM_ORACLE => return self.trim(),
                kw::SUBSTRING | kw::SUBSTR | kw::MID => return self.substring(),
                kw::POSITION => return self.position(),
                kw::DATE_ADD | kw::DATE_SUB | kw::ADDDATE | kw::SUBDATE => return self.add_date(),
                _ => {}
            }
        }
        self.syntax_call(word)
    }

    /// Words that need not stand directly before their parenthesis.
    fn syntax_call(&mut self, word: Keyword) -> Read<Expr<'a>> {
        match word {
            kw::AVG => self.aggregate(),
            kw::CONVERT => self.convert(),
            kw::CHAR => self.char_call(),
            kw::DEFAULT => self.column_call(),
            kw::VALUES if self.may_be_mysql() || self.values_is_function => self.column_call(),
            kw::VALUE if self.may_be_mariadb() => self.column_call(),
            kw::TIMESTAMPADD | kw::TIMESTAMPDIFF => self.timestamp_add(),
            kw::GET_FORMAT => self.get_format(),
            kw::WEIGHT_STRING => self.weight_string(),
            kw::JSON_VALUE if self.may_be_mysql() => self.json_value(),
            kw::COLUMN_CREATE | kw::COLUMN_ADD | kw::COLUMN_GET if self.may_be_mariadb() => self.dynamic_columns(),
            kw::NEXTVAL | kw::LASTVAL | kw::SETVAL if self.may_be_mariadb() => self.sequence_call(word),
            kw::IF
            | kw::LEFT
            | kw::RIGHT
            | kw::REPLACE
            | kw::INSERT
            | kw::REPEAT
            | kw::MOD
            | kw::DATABASE
            | kw::SCHEMA
            | kw::CURRENT_DATE
            | kw::CURRENT_TIME
            | kw::CURRENT_TIMESTAMP
            | kw::CURRENT_USER
            | kw::CURRENT_ROLE
            | kw::LOCALTIME
            | kw::LOCALTIMESTAMP
            | kw::UTC_DATE
            | kw::UTC_TIME
            | kw::UTC_TIMESTAMP
            | kw::ROW_NUMBER
            | kw::RANK
            | kw::DENSE_RANK
            | kw::CUME_DIST
            | kw::PERCENT_RANK
            | kw::NTILE
            | kw::LEAD
            | kw::LAG
            | kw::FIRST_VALUE
            | kw::LAST_VALUE
            | kw::NTH_VALUE
            | kw::GROUPING => self.plain_call(),
            _ if word.is_reserved_in(self.mode.dialect) => self.no_expression(),
            _ if word.is_callable(self.mode.dialect) => self.plain_call(),
            _ => {
                self.advance();
                self.stop(Expected::What("no parenthesis after a keyword"))
            }
        }
    }

    /// Whether the next token follows the current one without anything between.
    pub(super) fn is_adjacent(&self) -> bool {
        self.cursor.current().token.end == self.cursor.next().token.start
    }

    /// The name of a call, and whether the parenthesis is adjacent. The parenthesis is read too.
    pub(super) fn call_name(&mut self) -> Read<(ObjectName<'a>, bool)> {
        let adjacent = self.is_adjacent();
        let name = self.take_ident();
        self.expect_punct(b'(')?;
        Ok((ObjectName { span: name.span, database: None, name }, adjacent))
    }

    /// What was read since the name began, as a call.
    pub(super) fn call_expr(&self, call: Call<'a>) -> Expr<'a> {
        Expr { span: self.span_from(call.name.span.start), kind: ExprKind::Call(self.alloc(call)) }
    }

    /// A function whose arguments are expressions.
    #[inline(never)]
    pub(super) fn plain_call(&mut self) -> Read<Expr<'a>> {
        let name = self.cursor.current();
        self.advance();
        self.expect_punct(b'(')?;
        let arguments = self.call_arguments()?;
        self.plain_call_of(name, arguments)
    }

    /// `db.f(…)`: at the parenthesis.
    #[inline(never)]
    pub(super) fn qualified_call(&mut self, name: ColumnName<'a>) -> Read<Expr<'a>> {
        let (name, adjacent) = (self.alloc(name), self.cursor.previous().token.end == self.start());
        self.advance();
        let arguments = self.call_arguments()?;
        self.qualified_call_of(name, adjacent, arguments)
    }

    #[inline(never)]
    fn plain_call_of(&mut self, name: Item, arguments: &'a [Expr<'a>]) -> Read<Expr<'a>> {
        let span = Self::span_of(name);
        let adjacent = self.sql.get(span.end as usize) == Some(&b'(');
        let name = self.ident_of(name);
        self.window_call(Call::of(ObjectName { span, database: None, name }, adjacent, arguments))
    }

    #[inline(never)]
    fn qualified_call_of(
        &mut self,
        name: &'a ColumnName<'a>,
        adjacent: bool,
        arguments: &'a [Expr<'a>],
    ) -> Read<Expr<'a>> {
        let name = ObjectName { span: name.span(), database: name.table, name: name.name };
        self.window_call(Call::of(name, adjacent, arguments))
    }

    /// Arguments to after the closing parenthesis.
    fn call_arguments(&mut self) -> Read<&'a [Expr<'a>]> {
        if self.eat_punct(b')') {
            return Ok(&[]);
        }
        let first = self.expr()?;
        if self.eat_punct(b')') {
            return Ok(std::slice::from_ref(self.alloc(first)));
        }
        let arguments = self.more_arguments(first)?;
        self.expect_punct(b')')?;
        Ok(arguments)
    }

    #[inline(never)]
    fn more_arguments(&mut self, first: Expr<'a>) -> Read<&'a [Expr<'a>]> {
        let mut list = ArenaVec::with_capacity_in(4, self.arena);
        list.push(first);
        self.argument_name()?;
        while self.eat_punct(b',') {
            list.push(self.expr()?);
            self.argument_name()?;
        }
        Ok(list.into_bump_slice())
    }

    /// The name that an argument of a loadable function may have: `f(a AS b)`.
    fn argument_name(&mut self) -> Read<()> {
        if !self.at_punct(b',') && !self.at_punct(b')') && (self.eat(kw::AS) || self.at_name() || self.at_string()) {
            self.ident_or_string()?;
        }
        Ok(())
    }

    fn at_string(&self) -> bool {
        self.kind() == TokenKind::String
    }

    /// A function without parentheses.
    #[inline(never)]
    pub(super) fn bare_call(&mut self) -> Read<Expr<'a>> {
        let name = self.take_ident();
        Ok(self.call_expr(Call::of(ObjectName { span: name.span, database: None, name }, false, &[])))
    }

    /// An aggregate: DISTINCT, `*`, ORDER BY, SEPARATOR, LIMIT.
    #[inline(never)]
    fn aggregate(&mut self) -> Read<Expr<'a>> {
        let name = self.cursor.current();
        self.advance();
        self.expect_punct(b'(')?;
        if name.word == kw::COUNT && self.eat_punct(b'*') {
            return self.aggregate_of(name, false, None);
        }
        let distinct = self.eat(kw::DISTINCT);
        self.eat(kw::ALL);
        let arguments = self.exprs()?;
        self.aggregate_of(name, distinct, Some(arguments))
    }

    /// Behind an aggregate's arguments; none for a star.
    #[inline(never)]
    fn aggregate_of(&mut self, name: Item, distinct: bool, arguments: Option<&'a [Expr<'a>]>) -> Read<Expr<'a>> {
        let span = Self::span_of(name);
        let adjacent = self.sql.get(span.end as usize) == Some(&b'(');
        let name = ObjectName { span, database: None, name: self.ident_of(name) };
        let star = arguments.is_none();
        let mut call =
            Call { aggregate: true, distinct, star, ..Call::of(name, adjacent, arguments.unwrap_or_default()) };
        if !star && !self.at_punct(b')') {
            self.nested_by(2, |parser| parser.aggregate_clauses(&mut call))?;
        }
        self.expect_punct(b')')?;
        self.window_call(call)
    }

    #[inline(never)]
    fn aggregate_clauses(&mut self, call: &mut Call<'a>) -> Read<()> {
        if self.eat_all(&[kw::ORDER, kw::BY]) {
            call.order_by = self.order_items()?;
        }
        if self.eat(kw::SEPARATOR) {
            call.separator = match self.kind() {
                TokenKind::Hex | TokenKind::Bit => Some(Self::span_of(self.take())),
                _ => Some(self.expect_string()?),
            };
        }
        if self.at(kw::LIMIT) && self.may_be_mariadb() {
            call.limit = Some(self.aggregate_limit()?);
        }
        Ok(())
    }

    /// `LIMIT n`, `LIMIT o, n`, `LIMIT n OFFSET o`.
    fn aggregate_limit(&mut self) -> Read<&'a Limit<'a>> {
        let start = self.start();
        self.advance();
        let first = self.expr_at(super::pratt::SIMPLE)?;
        let (count, offset) = if self.eat_punct(b',') {
            (self.expr_at(super::pratt::SIMPLE)?, Some(first))
        } else if self.eat(kw::OFFSET) {
            (first, Some(self.expr_at(super::pratt::SIMPLE)?))
        } else {
            (first, None)
        };
        let span = self.span_from(start);
        Ok(self.alloc(Limit { span, count: Some(count), offset, with_ties: false, rows_examined: None }))
    }

    /// `DEFAULT(c)`, `VALUES(c)`: the argument is a column.
    #[inline(never)]
    fn column_call(&mut self) -> Read<Expr<'a>> {
        let (name, adjacent) = self.call_name()?;
        let start = self.start();
        let column = self.column_name()?;
        let column = Expr { span: self.span_from(start), kind: ExprKind::Column(self.alloc(column)) };
        self.expect_punct(b')')?;
        Ok(self.call_expr(Call::of(name, adjacent, std::slice::from_ref(self.alloc(column)))))
    }

    /// Two arguments.
    #[inline(never)]
    pub(super) fn pair(&self, first: Expr<'a>, second: Expr<'a>) -> &'a [Expr<'a>] {
        self.arena.alloc([first, second])
    }

    /// The word as the [`Call::word`] of a call.
    pub(super) fn call_word(&mut self) -> Ident<'a> {
        self.take_ident()
    }
}
