//! What a command answers, and how each door shows it.
//!
//! An answer is a plain table with typed columns. What must always hold: each row has one cell per column, of the
//! column's kind, or NULL where the column allows it; so the SQL result, the JSON and the schema of the JSON agree.

use serde_json::{Map, Number, Value as Json};
use weir_wire::resultset::{self, ResultSet};

use crate::like::Pattern;

/// The kind of a column's cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellKind {
    /// Text. Statements may be of any bytes; in JSON what is not UTF-8 is replaced.
    Text,
    /// A whole number, not negative.
    Integer,
    /// A number.
    Number,
}

/// A column of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// What its cells are.
    pub kind: CellKind,
    /// Whether a cell may be NULL.
    pub nullable: bool,
    /// What it tells, for the OpenAPI document.
    pub about: &'static str,
}

impl Column {
    /// A column of text.
    pub const fn text(name: &'static str, about: &'static str) -> Column {
        Column { name, kind: CellKind::Text, nullable: false, about }
    }

    /// A column of whole numbers.
    pub const fn integer(name: &'static str, about: &'static str) -> Column {
        Column { name, kind: CellKind::Integer, nullable: false, about }
    }

    /// A column of numbers.
    pub const fn number(name: &'static str, about: &'static str) -> Column {
        Column { name, kind: CellKind::Number, nullable: false, about }
    }

    /// The same, with NULL where there is nothing to tell.
    pub const fn or_null(mut self) -> Column {
        self.nullable = true;
        self
    }
}

/// A cell.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Text.
    Text(Vec<u8>),
    /// A whole number.
    Integer(u64),
    /// A number.
    Number(f64),
    /// Nothing.
    Null,
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.as_bytes().to_vec())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text.into_bytes())
    }
}

impl From<Vec<u8>> for Value {
    fn from(text: Vec<u8>) -> Value {
        Value::Text(text)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Value {
        Value::Integer(number)
    }
}

impl From<usize> for Value {
    fn from(number: usize) -> Value {
        Value::Integer(number as u64)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Value {
        Value::Number(number)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Null, Into::into)
    }
}

impl Value {
    fn to_cell(&self) -> Option<Vec<u8>> {
        match self {
            Value::Text(text) => Some(text.clone()),
            Value::Integer(number) => Some(number.to_string().into_bytes()),
            Value::Number(number) => Some(number.to_string().into_bytes()),
            Value::Null => None,
        }
    }

    fn to_json(&self) -> Json {
        match self {
            Value::Text(text) => String::from_utf8_lossy(text).into_owned().into(),
            Value::Integer(number) => (*number).into(),
            Value::Number(number) => Number::from_f64(*number).map_or(Json::Null, Json::Number),
            Value::Null => Json::Null,
        }
    }

    /// Whether this is what a column of the kind holds.
    fn is_of(&self, column: &Column) -> bool {
        match self {
            Value::Text(_) => column.kind == CellKind::Text,
            Value::Integer(_) => column.kind == CellKind::Integer,
            Value::Number(number) => column.kind == CellKind::Number && number.is_finite(),
            Value::Null => column.nullable,
        }
    }
}

/// Rows under typed columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    columns: &'static [Column],
    rows: Vec<Vec<Value>>,
}

impl Table {
    /// A table without rows.
    pub fn new(columns: &'static [Column]) -> Table {
        Table { columns, rows: Vec::new() }
    }

    /// Appends a row.
    pub fn push(&mut self, row: Vec<Value>) {
        debug_assert_eq!(row.len(), self.columns.len(), "one cell per column");
        debug_assert!(
            row.iter().zip(self.columns).all(|(cell, column)| cell.is_of(column)),
            "{row:?} has the kinds of {:?}",
            self.columns
        );
        self.rows.push(row);
    }

    /// The rows.
    pub fn rows(&self) -> &[Vec<Value>] {
        &self.rows
    }

    /// Keeps the rows whose text in column `name` matches.
    pub fn keep_like(&mut self, name: &str, pattern: &Pattern) {
        let Some(at) = self.columns.iter().position(|column| column.name == name) else { return };
        self.rows.retain(|row| matches!(&row[at], Value::Text(text) if pattern.matches(text)));
    }

    fn objects(&self) -> impl Iterator<Item = Json> {
        self.rows.iter().map(|row| {
            let fields = self.columns.iter().zip(row).map(|(column, cell)| (column.name.to_owned(), cell.to_json()));
            Json::Object(fields.collect::<Map<_, _>>())
        })
    }
}

/// What a command answers.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// Any number of rows.
    Rows(Table),
    /// One thing: exactly one row. SQL shows it as names and values.
    Record(Table),
    /// It is done, and there is nothing to tell.
    Done,
}

impl Answer {
    /// As a result set of MySQL's text protocol; `None` for an OK.
    pub fn to_result_set(&self) -> Option<ResultSet> {
        let (columns, rows) = match self {
            Answer::Done => return None,
            Answer::Rows(table) => {
                let cells = |row: &Vec<Value>| row.iter().map(Value::to_cell).collect();
                (table.columns.iter().map(sql_column).collect(), table.rows.iter().map(cells).collect())
            }
            Answer::Record(table) => {
                let columns = vec![resultset::Column::text("name"), resultset::Column::text("value")];
                let values = table.rows.iter().flatten();
                let pair = |(column, value): (&Column, &Value)| vec![Some(column.name.into()), value.to_cell()];
                (columns, table.columns.iter().zip(values).map(pair).collect())
            }
        };
        Some(ResultSet { columns, rows })
    }

    /// As JSON: `{"items": […]}` for rows, an object for a record; `None` when there is nothing to tell.
    pub fn to_json(&self) -> Option<Json> {
        match self {
            Answer::Done => None,
            Answer::Rows(table) => Some(serde_json::json!({ "items": table.objects().collect::<Vec<_>>() })),
            Answer::Record(table) => table.objects().next(),
        }
    }
}

fn sql_column(column: &Column) -> resultset::Column {
    match column.kind {
        CellKind::Text => resultset::Column::text(column.name),
        CellKind::Integer => resultset::Column::integer(column.name),
        CellKind::Number => resultset::Column::number(column.name),
    }
}

#[cfg(test)]
mod tests {
    use weir_wire::resultset::ColumnType;

    use super::*;

    const COLUMNS: [Column; 3] =
        [Column::text("name", "."), Column::integer("count", ".").or_null(), Column::number("share", ".")];

    fn table() -> Table {
        let mut table = Table::new(&COLUMNS);
        table.push(vec!["one".into(), Some(7_u64).into(), 1.5.into()]);
        table.push(vec![vec![b't', 0xff].into(), Value::Null, 2.0.into()]);
        table
    }

    #[test]
    fn rows_are_a_typed_result_set_and_json_items() {
        let answer = Answer::Rows(table());
        let set = answer.to_result_set().expect("rows");
        let kinds: Vec<_> = set.columns.iter().map(|column| column.kind).collect();
        assert_eq!(kinds, [ColumnType::Text, ColumnType::BigInt, ColumnType::Double]);
        assert_eq!(set.rows[0], [Some(b"one".to_vec()), Some(b"7".to_vec()), Some(b"1.5".to_vec())]);
        assert_eq!(set.rows[1], [Some(vec![b't', 0xff]), None, Some(b"2".to_vec())]);
        let expected = r#"{"items":[{"count":7,"name":"one","share":1.5},{"count":null,"name":"t�","share":2.0}]}"#;
        assert_eq!(answer.to_json().expect("rows"), expected.parse::<Json>().expect("JSON"));
    }

    #[test]
    fn a_record_is_names_and_values_and_one_object() {
        let mut table = table();
        table.rows.truncate(1);
        let answer = Answer::Record(table);
        let rows = answer.to_result_set().expect("rows").rows;
        assert_eq!(rows[1], [Some(b"count".to_vec()), Some(b"7".to_vec())]);
        assert_eq!(rows.len(), 3);
        assert_eq!(answer.to_json().expect("an object")["share"], 1.5);
    }

    #[test]
    fn like_keeps_the_rows_that_match() {
        let mut table = table();
        table.keep_like("name", &Pattern::new("O_e"));
        assert_eq!(table.rows.len(), 1);
        table.keep_like("name", &Pattern::new("t%"));
        assert!(table.rows.is_empty());
    }
}
