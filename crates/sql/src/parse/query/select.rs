//! SELECT, up to HAVING, WINDOW and QUALIFY.

use crate::ast::{
    Expr, ExprKind, Grouping, NamedWindow, OrderItem, QueryBody, Select, SelectItem, SelectItemKind, SelectOptions,
    Span, TableRef,
};
use crate::kw;
use crate::lexer::TokenKind;
use crate::mode::Dialect;

use super::super::{Parser, Read};

impl<'a> Parser<'a> {
    /// `SELECT …`.
    pub(super) fn select(&mut self) -> Read<QueryBody<'a>> {
        let start = self.start();
        let hint = self.hint_ahead();
        self.expect(kw::SELECT)?;
        let options = self.select_options();
        let items = self.select_items()?;
        let mut select = Select {
            span: Span::default(),
            hint,
            options,
            items,
            into: None,
            from: &[],
            condition: None,
            group_by: &[],
            grouping: Grouping::Plain,
            having: None,
            windows: &[],
            qualify: None,
        };
        // What may follow begins with a word.
        if self.kind() == TokenKind::Word {
            select.into = self.read_into()?;
            select.from = self.tables_after_from()?;
            select.condition = self.where_clause()?;
            self.select_rest(&mut select)?;
        }
        select.span = self.span_from(start);
        Ok(QueryBody::Select(self.alloc(select)))
    }

    /// The optimizer hint after the current word.
    pub(in crate::parse) fn hint_ahead(&self) -> Option<Span> {
        self.cursor.hint_ahead().map(|(start, end)| Span { start, end })
    }

    fn select_options(&mut self) -> SelectOptions {
        let mut options = SelectOptions::default();
        loop {
            match self.word() {
                kw::DISTINCT | kw::DISTINCTROW => options.distinct = true,
                kw::STRAIGHT_JOIN => options.straight_join = true,
                kw::HIGH_PRIORITY => options.high_priority = Some(Self::span_of(self.cursor.current())),
                kw::SQL_CALC_FOUND_ROWS => options.calc_found_rows = true,
                kw::SQL_BUFFER_RESULT => options.buffer_result = true,
                kw::ALL | kw::SQL_SMALL_RESULT | kw::SQL_BIG_RESULT | kw::SQL_NO_CACHE => {}
                kw::SQL_CACHE if self.sql_cache_is_option() => {}
                _ => return options,
            }
            self.advance();
        }
    }

    /// MySQL has no `SQL_CACHE` any more: there it is a column. MariaDB never reads it as one, so that only what could not
    /// follow the option decides.
    fn sql_cache_is_option(&self) -> bool {
        let next = self.cursor.next();
        !matches!(next.token.kind, TokenKind::Punct(b',' | b'.' | b')') | TokenKind::End | TokenKind::Semicolon)
            && !matches!(next.word, kw::FROM | kw::AS)
    }

    /// `*` (only as the first), `t.*`, expressions with their aliases.
    pub(crate) fn select_items(&mut self) -> Read<&'a [SelectItem<'a>]> {
        if self.at_punct(b'*') { self.star_and_items() } else { self.list(Self::select_item) }
    }

    #[inline(never)]
    fn star_and_items(&mut self) -> Read<&'a [SelectItem<'a>]> {
        let start = self.start();
        self.advance();
        let star = SelectItem { span: self.span_from(start), kind: SelectItemKind::Star };
        if !self.eat_punct(b',') {
            return Ok(std::slice::from_ref(self.arena.alloc(star)));
        }
        let rest = self.list(Self::select_item)?;
        let mut items = bumpalo::collections::Vec::with_capacity_in(rest.len() + 1, self.arena);
        items.push(star);
        items.extend_from_slice(rest);
        Ok(items.into_bump_slice())
    }

    fn select_item(&mut self) -> Read<SelectItem<'a>> {
        let start = self.start();
        let kind = if self.next_is_punct(b'.') && self.at_name() && self.cursor.star_follows_points() {
            SelectItemKind::TableStar(self.table_star()?)
        } else {
            let expr = self.expr()?;
            SelectItemKind::Expr(expr, self.item_alias()?)
        };
        Ok(SelectItem { span: self.span_from(start), kind })
    }

    /// FROM and its tables; none for DUAL.
    fn tables_after_from(&mut self) -> Read<&'a [TableRef<'a>]> {
        if !self.eat(kw::FROM) || self.eat(kw::DUAL) {
            return Ok(&[]);
        }
        self.table_refs()
    }

    /// GROUP BY, HAVING, WINDOW, QUALIFY.
    fn select_rest(&mut self, select: &mut Select<'a>) -> Read<()> {
        if self.eat(kw::GROUP) {
            self.expect(kw::BY)?;
            (select.group_by, select.grouping) = self.group_by()?;
        }
        if self.eat(kw::HAVING) {
            select.having = Some(self.expr()?);
        }
        if self.at(kw::WINDOW) {
            self.advance();
            select.windows = self.list(Self::named_window)?;
        }
        if self.at(kw::QUALIFY) {
            self.advance();
            select.qualify = Some(self.expr()?);
        }
        Ok(())
    }

    /// After GROUP BY.
    fn group_by(&mut self) -> Read<(&'a [OrderItem<'a>], Grouping)> {
        // MariaDB takes the names of the functions that it doesn't have for stored ones.
        let sets = self.mode.dialect != Dialect::MariaDb;
        let grouping = match self.word() {
            kw::ROLLUP if sets && self.next_is_punct(b'(') => Grouping::Rollup,
            kw::CUBE if sets && self.next_is_punct(b'(') => Grouping::Cube,
            kw::GROUPING if sets && self.next_is(kw::SETS) => {
                self.advance();
                Grouping::Sets
            }
            _ => return self.plain_group_by(),
        };
        self.advance();
        self.expect_punct(b'(')?;
        let items = match grouping {
            Grouping::Sets => self.list(Self::grouping_set)?,
            _ => self.order_items()?,
        };
        self.expect_punct(b')')?;
        Ok((items, grouping))
    }

    /// A set of GROUPING SETS. `()`, which has all rows in one group, is a row of no values.
    fn grouping_set(&mut self) -> Read<OrderItem<'a>> {
        let start = self.start();
        if !(self.at_punct(b'(') && self.next_is_punct(b')')) {
            return self.order_item();
        }
        self.advance();
        self.advance();
        let span = self.span_from(start);
        Ok(OrderItem { span, expr: Expr { span, kind: ExprKind::Row(&[]) }, descending: false })
    }

    fn plain_group_by(&mut self) -> Read<(&'a [OrderItem<'a>], Grouping)> {
        let items = self.order_items()?;
        let mut grouping = Grouping::Plain;
        // WITH CHECK OPTION may follow a view's query.
        if self.at(kw::WITH) {
            grouping = match self.cursor.next().word {
                kw::ROLLUP => Grouping::Rollup,
                kw::CUBE => Grouping::Cube,
                _ => return Ok((items, grouping)),
            };
            self.advance();
            self.advance();
        }
        Ok((items, grouping))
    }

    fn named_window(&mut self) -> Read<NamedWindow<'a>> {
        let name = self.ident()?;
        self.expect(kw::AS)?;
        Ok(NamedWindow { name, window: self.window_spec()? })
    }
}
