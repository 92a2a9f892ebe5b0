//! A terminal: one connection with a home warehouse, which runs one transaction of the mix after another.
//!
//! Must always hold: after a transaction, whatever became of it, none is open on its connection; or the connection is lost.

use std::collections::HashMap;

use mysql::prelude::Queryable;
use mysql::{Conn, Params, Row, Statement, Value};

use super::random::Random;
use super::{DISTRICTS, Kind, Scale, WAREHOUSES, delivery, new_order, payment, status};

/// Why a transaction failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    /// The server, or the connection.
    #[error(transparent)]
    Sql(#[from] mysql::Error),
    /// A row that the population must have.
    #[error("there is no such row: {0}")]
    Missing(&'static str),
}

/// What became of a transaction.
#[derive(Debug)]
pub(crate) struct Tried {
    pub(crate) kind: Kind,
    pub(crate) outcome: Result<(), Problem>,
    /// Whether the connection can be used on.
    pub(crate) goes_on: bool,
}

/// A connection, and the statements that were prepared on it, if they are to be.
pub(super) struct Session {
    connection: Conn,
    prepared: Option<HashMap<String, Statement>>,
    statements: u64,
}

impl Session {
    /// The rows of a statement whose `?` stand for `values`.
    pub(super) fn rows(&mut self, text: &str, values: &[Value]) -> Result<Vec<Row>, Problem> {
        self.statements += 1;
        let Some(prepared) = &mut self.prepared else {
            return Ok(self.connection.query(with_values(text, values))?);
        };
        let statement = match prepared.get(text) {
            Some(statement) => statement.clone(),
            None => {
                let statement = self.connection.prep(text)?;
                prepared.insert(text.to_owned(), statement.clone());
                statement
            }
        };
        let parameters = if values.is_empty() { Params::Empty } else { Params::Positional(values.to_vec()) };
        Ok(self.connection.exec(statement, parameters)?)
    }

    /// The first row, which has to be there.
    pub(super) fn row(&mut self, what: &'static str, text: &str, values: &[Value]) -> Result<Row, Problem> {
        self.rows(text, values)?.into_iter().next().ok_or(Problem::Missing(what))
    }

    /// A statement without rows.
    pub(super) fn run(&mut self, text: &str, values: &[Value]) -> Result<(), Problem> {
        self.rows(text, values).map(drop)
    }

    /// BEGIN, COMMIT or ROLLBACK.
    pub(super) fn command(&mut self, text: &str) -> Result<(), Problem> {
        self.statements += 1;
        Ok(self.connection.query_drop(text)?)
    }
}

/// A statement with its values in the places of `?`.
fn with_values(text: &str, values: &[Value]) -> String {
    let mut out = String::with_capacity(text.len() + 16 * values.len());
    let mut values = values.iter();
    for (place, part) in text.split('?').enumerate() {
        if place > 0 {
            out.push_str(&values.next().map_or_else(|| "NULL".to_owned(), |value| value.as_sql(false)));
        }
        out.push_str(part);
    }
    out
}

/// A whole number of a row; 0 for NULL.
pub(super) fn number(row: &Row, column: usize) -> i64 {
    row.get_opt::<Option<i64>, _>(column).and_then(Result::ok).flatten().unwrap_or_default()
}

/// A terminal.
pub(crate) struct Terminal {
    pub(super) session: Session,
    pub(super) home: u32,
    pub(super) scale: Scale,
    pub(super) random: Random,
}

impl Terminal {
    /// Terminals are spread over the warehouses by their numbers, which are also their seeds.
    pub(crate) fn new(connection: Conn, number: u32, scale: Scale, prepared: bool) -> Self {
        let session = Session { connection, prepared: prepared.then(HashMap::new), statements: 0 };
        let random = Random::new(0x7463_0000 + u64::from(number));
        Self { session, home: number % WAREHOUSES + 1, scale, random }
    }

    /// Statements that it has sent.
    pub(crate) fn statements(&self) -> u64 {
        self.session.statements
    }

    /// Runs a transaction of the mix.
    pub(crate) fn run(&mut self) -> Tried {
        let kind = Kind::at(self.random.uniform(0, 99));
        let outcome = match kind {
            Kind::NewOrder => new_order::run(self),
            Kind::Payment => payment::run(self),
            Kind::OrderStatus => status::order_status(self),
            Kind::Delivery => delivery::run(self),
            Kind::StockLevel => status::stock_level(self),
        };
        let is_of_server =
            !matches!(outcome, Err(Problem::Sql(ref error)) if !matches!(error, mysql::Error::MySqlError(_)));
        let goes_on = is_of_server && (outcome.is_ok() || self.session.command("ROLLBACK").is_ok());
        Tried { kind, outcome, goes_on }
    }

    /// A district of a warehouse.
    pub(super) fn district(&mut self) -> u32 {
        self.random.uniform(1, DISTRICTS)
    }

    /// Another warehouse than the home.
    pub(super) fn other_warehouse(&mut self) -> u32 {
        let other = self.random.uniform(1, WAREHOUSES - 1);
        if other < self.home { other } else { other + 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_where_the_places_are() {
        let values = [Value::from(7), Value::from("it's"), Value::from(12.34)];
        assert_eq!(with_values("a = ? AND b = ? AND c = ?", &values), "a = 7 AND b = 'it\\'s' AND c = 12.34");
        assert_eq!(with_values("DO 1", &[]), "DO 1");
    }
}
