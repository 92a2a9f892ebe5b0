//! JSON_TABLE.

use crate::ast::{
    Expr, Ident, JsonColumn, JsonColumnKind, JsonResponse, JsonTable, JsonValueColumn, Span, TableRef, TableRefKind,
};
use crate::kw;
use crate::lexer::TokenKind;

use super::super::{Expected, Parser, Read};

impl<'a> Parser<'a> {
    /// `JSON_TABLE(document, path COLUMNS (…)) [AS] alias`.
    pub(super) fn json_table(&mut self) -> Read<TableRef<'a>> {
        let start = self.start();
        self.expect(kw::JSON_TABLE)?;
        self.expect_punct(b'(')?;
        let document = self.expr()?;
        self.expect_punct(b',')?;
        let path = self.json_table_path()?;
        let columns = self.json_columns()?;
        self.expect_punct(b')')?;
        let alias = self.table_alias()?;
        let table = self.alloc(JsonTable { document, path, columns, alias });
        Ok(TableRef { span: self.span_from(start), kind: TableRefKind::JsonTable(table) })
    }

    /// A string, perhaps with a character set before it.
    fn json_table_path(&mut self) -> Read<Span> {
        let start = self.start();
        let introducer = matches!(self.cursor.text(self.cursor.current()), [b'_', ..]);
        if introducer && self.cursor.next().token.kind == TokenKind::String {
            self.advance();
        }
        self.expect_string()?;
        Ok(self.span_from(start))
    }

    /// `COLUMNS (…)`.
    fn json_columns(&mut self) -> Read<&'a [JsonColumn<'a>]> {
        self.expect(kw::COLUMNS)?;
        self.nested(|parser| parser.parenthesised(Self::json_column))
    }

    fn json_column(&mut self) -> Read<JsonColumn<'a>> {
        let start = self.start();
        let nested =
            self.at(kw::NESTED) && (self.next_is(kw::PATH) || self.cursor.next().token.kind == TokenKind::String);
        let kind = if nested {
            self.advance();
            self.eat(kw::PATH);
            let path = self.json_table_path()?;
            JsonColumnKind::Nested(path, self.json_columns()?)
        } else {
            let name = self.ident()?;
            if self.eat(kw::FOR) {
                self.expect(kw::ORDINALITY)?;
                JsonColumnKind::Ordinality(name)
            } else {
                JsonColumnKind::Value(self.json_value_column(name)?)
            }
        };
        Ok(JsonColumn { span: self.span_from(start), kind })
    }

    fn json_value_column(&mut self, name: Ident<'a>) -> Read<&'a JsonValueColumn<'a>> {
        let data_type = self.data_type()?;
        if self.eat(kw::COLLATE) {
            self.charset_unless_default()?;
        }
        let exists = self.eat(kw::EXISTS);
        self.expect(kw::PATH)?;
        let path = self.json_table_path()?;
        let (mut on_empty, mut on_error) = (None, None);
        while let Some(response) = self.json_response()? {
            self.expect(kw::ON)?;
            match self.expect_any(&[kw::EMPTY, kw::ERROR])? {
                kw::EMPTY => on_empty = Some(response),
                _ => on_error = Some(response),
            }
        }
        let column = JsonValueColumn { name, data_type, exists, path, on_empty, on_error };
        Ok(self.alloc(column))
    }

    /// `ERROR`, `NULL`, `DEFAULT literal`, if one is here.
    fn json_response(&mut self) -> Read<Option<JsonResponse<'a>>> {
        let response = match self.word() {
            kw::ERROR => JsonResponse::Error,
            kw::NULL => JsonResponse::Null,
            kw::DEFAULT => {
                self.advance();
                return self.json_default().map(|value| Some(JsonResponse::Default(value)));
            }
            _ => return Ok(None),
        };
        self.advance();
        Ok(Some(response))
    }

    fn json_default(&mut self) -> Read<Expr<'a>> {
        match self.kind() {
            TokenKind::Parameter => self.stop(Expected::What("a literal")),
            _ => self.expr_without_comparisons(),
        }
    }
}
