//! Plans of writes: INSERT, REPLACE, UPDATE, DELETE and LOAD.
//!
//! What must always hold: each row is written on the shard that its key says, and on no other; the texts that shards get do together
//! what the client's text would do on one server, with the same counts. What can't be told from the text alone is found out first
//! ([`Resolve`](crate::Resolve)) and put into the text; what can't be done exactly is refused with the reason.
//!
//! * `insert`: rows by their keys; `rows`: which value is which column's; `resolve`: values that have to be known first;
//!   `select`: INSERT … SELECT; `stored_as`: values on their way to columns of other types; `on_duplicate`: subqueries of ON DUPLICATE KEY UPDATE.
//! * `change`: UPDATE and DELETE; `gather`: those with LIMIT; `moving`: of shard keys; `forms`: values read without loss; `varying`: functions of time, chance and the session; `names`: tables and columns;
//!   `returning`: RETURNING; `through_view`: writes of views.
//! * `load`: LOAD DATA.
//! * [`mod@literal`]: values as literals; `edits`: changes of the text.

mod change;
mod edits;
mod forms;
mod gather;
mod insert;
pub mod literal;
mod load;
mod locking;
mod lone;
mod moving;
mod names;
mod nulls;
mod on_duplicate;
mod own_reads;
pub(crate) mod portion;
mod query_columns;
mod resolve;
mod returning;
mod rows;
mod select;
mod stored_as;
mod through_view;
mod varying;

use std::sync::Arc;

use weir_catalog::{Catalog, Constant, Database, Located, ShardId, Table, Weights};
use weir_sql::ast::{Expr, Statement, StatementKind};
use weir_wire::Failure;

use crate::aggregate::has_group_function;

pub use edits::with_values;
pub(crate) use through_view::with_written_views;

use crate::session::SessionFacts;
use crate::{Need, Plan, Refusal};

/// A write, and what its plan depends on.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    /// The statement.
    pub statement: &'a Statement<'a>,
    /// The text that its spans are of.
    pub text: &'a [u8],
    /// What is known of tables.
    pub catalog: &'a Catalog,
    /// What is known of collations.
    pub weights: &'a Weights,
    /// The session.
    pub session: &'a SessionFacts<'a>,
    /// What the planning of reads knows of the statement.
    pub reads: &'a dyn Reads,
}

/// What the planning of reads tells about a write.
pub trait Reads {
    /// The value of an expression that is the same for all rows, if it is known for certain.
    fn constant(&self, expr: &Expr<'_>) -> Option<Constant>;

    /// Whether there is such a value.
    fn is_constant(&self, expr: &Expr<'_>) -> bool;

    /// Whether an expression calls a stored function that has to run on certain shards, and reads no column itself.
    fn calls_placed(&self, expr: &Expr<'_>) -> bool;

    /// The value that an AUTO_INCREMENT column gets, if it is known; it may be NULL or 0.
    fn explicit(&self, expr: &Expr<'_>) -> Option<Constant>;

    /// Where a row with these values of the shard key is stored. `None`: one of them isn't known.
    fn stored(&self, database: &Arc<Database>, table: &Arc<Table>, values: &[&Expr<'_>]) -> Option<Located>;

    /// The shards that have rows which the statement (UPDATE, DELETE, or the query of an INSERT) can be about.
    ///
    /// # Errors
    /// When a shard can't decide about its own rows alone, with the reason; see [`Refusal`].
    fn alone(&self) -> Result<Vec<ShardId>, Refusal>;

    /// Whether a subquery has an aggregate of columns of the tables around it.
    fn has_outer_aggregate(&self) -> bool;

    /// The plan of another text: a query that Weir needs answered.
    ///
    /// # Errors
    /// As for a client's query.
    fn query(&self, text: &[u8]) -> Result<Plan, Refusal>;

    /// The same of a query whose rows a write needs first: they are locked as one server locks what it reads for a write.
    ///
    /// # Errors
    /// As for a client's query.
    fn rows(&self, text: &[u8]) -> Result<Plan, Refusal>;
}

/// The plan of an INSERT, REPLACE, UPDATE, DELETE or LOAD of sharded or GLOBAL tables.
///
/// # Errors
/// What can't be done, with the reason; or what has to be learnt first.
pub fn plan_write(input: &Input<'_>) -> Result<Plan, Refusal> {
    match input.statement.kind {
        StatementKind::Insert(insert) => insert::plan_insert(input, insert),
        StatementKind::Update(_) | StatementKind::Delete(_) => change::plan_change(input),
        StatementKind::Load(load) => load::plan_load(input, load),
        _ => Err(Need::OtherForm.refused(
            "This statement can't write to tables of several shards: write with INSERT, UPDATE, DELETE, REPLACE or LOAD DATA",
        )),
    }
}

/// Servers have no aggregates and window functions in what a write assigns or looks for (1111, 3593, 4015). A query of Weir's own would have.
fn refuse_group_functions<'a>(exprs: impl IntoIterator<Item = &'a Expr<'a>>) -> Result<(), Refusal> {
    match exprs.into_iter().any(has_group_function) {
        true => {
            Err(Need::OtherForm.refused("Aggregates and window functions are not supported here: read the value first"))
        }
        false => Ok(()),
    }
}

/// An error of the client's that a server would report.
fn mistake(code: u16, message: impl Into<String>) -> Refusal {
    Refusal::Failure(Failure::client(code, message))
}
