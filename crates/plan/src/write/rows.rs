//! The rows of an INSERT: which of their values is which column's.

use std::ops::Range;

use weir_catalog::Table;
use weir_sql::ast::{Assignment, Expr, ExprKind, Insert, InsertSource, ValueWord, ValuesRow};
use weir_sql::{LexMode, Lexer, TokenKind};
use weir_wire::error::codes;

use super::mistake;
use crate::Refusal;

/// The rows, and the columns of the table that their values are for.
pub(super) struct Rows<'a> {
    /// The column of each value, by its place in the table; `None` for a name that the table does not have.
    columns: Vec<Option<usize>>,
    rows: RowsIn<'a>,
}

/// Where the rows stand.
#[derive(Clone, Copy)]
enum RowsIn<'a> {
    Values(&'a [ValuesRow<'a>]),
    Set(&'a [Assignment<'a>]),
}

impl<'a> Rows<'a> {
    /// The rows of an INSERT that has no query.
    pub(super) fn of(insert: &Insert<'a>, table: &Table) -> Result<Option<Rows<'a>>, Refusal> {
        let (columns, rows) = match insert.source {
            InsertSource::Query(_) => return Ok(None),
            InsertSource::Set(assignments) => {
                let columns = assignments.iter().map(|one| table.column(one.column.name.name)).collect();
                (columns, RowsIn::Set(assignments))
            }
            InsertSource::Values(rows) => {
                let columns = match insert.columns {
                    Some(columns) => columns.iter().map(|column| table.column(column.name.name)).collect(),
                    // `()` without columns gives all of them their defaults.
                    None if rows.iter().all(|row| row.values.is_empty()) => Vec::new(),
                    None => (0..table.columns.len()).filter(|at| !table.columns[*at].invisible).map(Some).collect(),
                };
                (columns, RowsIn::Values(rows))
            }
        };
        let rows = Rows { columns, rows };
        rows.check()?;
        Ok(Some(rows))
    }

    /// Each row has as many values as there are columns, or none.
    fn check(&self) -> Result<(), Refusal> {
        let RowsIn::Values(rows) = self.rows else { return Ok(()) };
        let wrong = |row: &ValuesRow<'_>| {
            let none = row.values.is_empty() && rows.len() == 1;
            row.values.len() != self.columns.len() && !none
        };
        match rows.iter().position(wrong) {
            None => Ok(()),
            Some(at) => {
                let message = format!("Column count doesn't match value count at row {}", at + 1);
                Err(mistake(codes::ER_WRONG_VALUE_COUNT_ON_ROW, message))
            }
        }
    }

    /// Says so if the table does not have all columns that are named: before a server misses a value, it looks for the columns.
    pub(super) fn are_of_columns(&self, insert: &Insert<'a>) -> Result<(), Refusal> {
        let Some(unknown) = self.columns.iter().position(Option::is_none) else { return Ok(()) };
        let name = match self.rows {
            RowsIn::Values(_) => insert.columns.and_then(|columns| columns.get(unknown)),
            RowsIn::Set(assignments) => assignments.get(unknown).map(|one| &one.column),
        };
        let Some(name) = name else { return Ok(()) };
        let words = [name.database, name.table, Some(name.name)].into_iter().flatten();
        let words: Vec<_> = words.map(|word| String::from_utf8_lossy(word.name)).collect();
        Err(mistake(codes::ER_BAD_FIELD_ERROR, format!("Unknown column '{}' in 'field list'", words.join("."))))
    }

    pub(super) fn len(&self) -> usize {
        match self.rows {
            RowsIn::Values(rows) => rows.len(),
            RowsIn::Set(_) => 1,
        }
    }

    /// The column of each value, by its place in the table; `None` for a name that the table does not have.
    pub(super) fn columns(&self) -> &[Option<usize>] {
        &self.columns
    }

    /// Whether the rows are of the form `SET a = 1`.
    pub(super) fn is_set(&self) -> bool {
        matches!(self.rows, RowsIn::Set(_))
    }

    /// Where a row of VALUES stands.
    pub(super) fn span(&self, row: usize) -> Option<Range<usize>> {
        match self.rows {
            RowsIn::Values(rows) => Some(rows.get(row)?.span.range()),
            RowsIn::Set(_) => None,
        }
    }

    /// The place of a column's value in each row; the last one counts, as the servers refuse two.
    pub(super) fn place(&self, column: usize) -> Option<usize> {
        self.columns.iter().rposition(|known| *known == Some(column))
    }

    /// A value; `None` in a row that is empty.
    pub(super) fn value(&self, row: usize, place: usize) -> Option<&'a Expr<'a>> {
        match self.rows {
            RowsIn::Values(rows) => rows.get(row)?.values.get(place),
            RowsIn::Set(assignments) => assignments.get(place).map(|one| &one.value),
        }
    }

    /// All values of a row.
    pub(super) fn values(&self, row: usize) -> impl Iterator<Item = &'a Expr<'a>> {
        (0..).map_while(move |place| self.value(row, place))
    }

    /// Where more columns' names go, and what must stand before the first and after the last of them.
    pub(super) fn more_columns(
        &self,
        insert: &Insert<'a>,
        text: &[u8],
        mode: LexMode,
    ) -> Option<(usize, &'static [u8], &'static [u8])> {
        if let Some(last) = insert.columns.and_then(<[_]>::last) {
            return Some((last.span().range().end, b",", b""));
        }
        let RowsIn::Values(rows) = self.rows else { return None };
        let first = rows.first()?.span.range().start;
        let (values, parenthesis) = before_rows(text, insert.table.span.range().end, first, mode)?;
        match insert.columns {
            Some(_) => Some((parenthesis?, b"", b"")),
            None => Some((values, b"(", b") ")),
        }
    }

    /// Where more values of a row go, and what must stand before the first of them.
    pub(super) fn more_values(&self, row: usize) -> Option<(usize, &'static [u8])> {
        match self.rows {
            RowsIn::Values(rows) => {
                let row = rows.get(row)?;
                Some((row.span.range().end - 1, if row.values.is_empty() { b"" } else { b"," }))
            }
            RowsIn::Set(assignments) => Some((assignments.last()?.span.range().end, b",")),
        }
    }
}

/// Where the word VALUES begins, and the `)` of the columns before it.
fn before_rows(text: &[u8], from: usize, to: usize, mode: LexMode) -> Option<(usize, Option<usize>)> {
    let mut words = None;
    let mut parenthesis = None;
    for token in Lexer::new(text, mode) {
        let range = token.range();
        if range.start >= to || token.kind == TokenKind::End {
            break;
        }
        if range.start < from {
            continue;
        }
        match token.kind {
            TokenKind::Word if words.is_none() && is_values(&text[range.clone()]) => words = Some(range.start),
            TokenKind::Punct(b')') if words.is_none() => parenthesis = Some(range.start),
            _ => {}
        }
    }
    Some((words?, parenthesis))
}

fn is_values(word: &[u8]) -> bool {
    word.eq_ignore_ascii_case(b"VALUES") || word.eq_ignore_ascii_case(b"VALUE")
}

/// Whether a value is the word DEFAULT.
pub(super) fn is_default(value: &Expr<'_>) -> bool {
    matches!(value.kind, ExprKind::Word(ValueWord::Default))
}
