//! Values that a text needs before it can be planned: a server computes them once, or a sequence generates them.
//!
//! What must always hold: a value becomes a literal that is that value exactly, of its type.

use weir_catalog::ShardId;
use weir_plan::{Generate, Raise, Read, Resolve};
use weir_wire::Failure;
use weir_wire::error::codes;

use super::{WriteContext, internal, rows_before};
use crate::read::{self, Collations};
use crate::values::results_charset;
use crate::values::row::put_value_after;
use crate::{MultiShardResult, Request, ShardLease};
use weir_shards::{SequenceName, Sequences};

/// A subquery that has several rows: the server that needs its value says so.
const SEVERAL_ROWS: &[u8] = b"SELECT NULL UNION ALL SELECT NULL";

/// Where values of AUTO_INCREMENT come from.
pub trait Generator {
    /// So many values, each greater than those before it, and than the explicit ones before it.
    ///
    /// # Errors
    /// When there are none left, or the sequence can't be reached.
    fn take(&self, wanted: &Generate) -> impl Future<Output = Result<Vec<u64>, Failure>>;

    /// Goes on behind an explicit value. To be awaited before the row is acknowledged.
    ///
    /// # Errors
    /// When the sequence can't be reached.
    fn raise(&self, raise: &Raise) -> impl Future<Output = Result<(), Failure>>;
}

impl Generator for Sequences {
    async fn take(&self, wanted: &Generate) -> Result<Vec<u64>, Failure> {
        let name = name(wanted.keeper, &wanted.database, &wanted.table);
        let mut values = Vec::new();
        for run in &wanted.runs {
            if let Some(value) = run.behind {
                self.at_least(&name, value).await?;
            }
            let first = Sequences::take(self, &name, run.count).await?;
            values.extend((0..run.count).map(|nth| first + nth));
        }
        Ok(values)
    }

    async fn raise(&self, raise: &Raise) -> Result<(), Failure> {
        self.at_least(&name(raise.keeper, &raise.database, &raise.table), raise.value).await
    }
}

fn name(shard: ShardId, database: &str, table: &str) -> SequenceName {
    SequenceName { shard, database: database.to_owned(), table: table.to_owned() }
}

/// A text that can be planned.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolved {
    /// The text. It has no parameters.
    pub text: Vec<u8>,
    /// The first value that was generated for AUTO_INCREMENT: what `LAST_INSERT_ID()` becomes if the statement succeeds.
    pub insert_id: Option<u64>,
    /// How many rows the query of INSERT … SELECT had. With none there is nothing to run: see [`Resolved::nothing`].
    pub rows: Option<u64>,
}

impl Resolved {
    /// The answer to an INSERT … SELECT whose query had no rows.
    pub fn nothing(&self) -> Option<MultiShardResult> {
        let info = b"Records: 0  Duplicates: 0  Warnings: 0".to_vec();
        (self.rows == Some(0)).then(|| MultiShardResult { info, ..MultiShardResult::default() })
    }
}

/// Finds out what a text needs, and puts it there. `parts`: connections to the shards of the plan ([`weir_plan::Write::shards`]); in the
/// statement's transaction if rows are read; `bench`: one to the workbench that the plan names ([`weir_plan::Write::workbench`]).
///
/// # Errors
/// The server's error, or the sequence's; nothing was written then.
pub async fn resolve(
    parts: &mut [ShardLease],
    mut bench: Option<&mut ShardLease>,
    wanted: &Resolve,
    text: &[u8],
    session: &WriteContext<'_>,
    generator: &impl Generator,
) -> Result<Resolved, Failure> {
    let answer = match &wanted.ask {
        None => Vec::new(),
        Some((shard, question)) => {
            let part = parts.iter_mut().find(|part| part.shard == *shard);
            let part = part.ok_or_else(|| internal("a question was given no connection to its shard"))?;
            ask(part, question, wanted.ignore, session.reading.collations).await?
        }
    };
    let read = match &wanted.read {
        None => Vec::new(),
        Some(source) => match rows_before::one(parts, bench.as_deref_mut(), (source, wanted.ignore), session).await {
            Err(failure) if wanted.lazy && failure.code == codes::ER_SUBQUERY_NO_1_ROW => vec![SEVERAL_ROWS.to_vec()],
            Err(failure) if wanted.lazy && rows_before::STRICT.contains(&failure.code) => {
                let message = format!(
                    "A subquery that only some rows may need has a wrong value ({}): compute it first and write it as a literal",
                    failure.message
                );
                return Err(weir_wire::error::not_supported(message));
            }
            read => read?,
        },
    };
    let (rows, found) = match &wanted.rows {
        None => (Vec::new(), None),
        Some(source) => {
            let (rows, found) = rows_before::values(parts, bench, (source, wanted.ignore), session).await?;
            if found.columns.zip(wanted.columns).is_some_and(|(has, wanted)| has != usize::from(wanted)) {
                let message = "Column count doesn't match value count at row 1";
                return Err(Failure::client(codes::ER_WRONG_VALUE_COUNT_ON_ROW, message));
            }
            (rows, Some(found.rows))
        }
    };
    let generated = match &wanted.generate {
        None => Vec::new(),
        Some(generate) => generator.take(generate).await?,
    };
    let text = wanted.text(text, &answer, &read, &rows, &generated);
    Ok(Resolved { text, insert_id: generated.first().copied(), rows: found })
}

/// The values of the one row that a query has, as literals. What is wrong with one is the write's error, if it is not one with IGNORE: the
/// literal would hide it from the server that writes.
async fn ask(
    part: &mut ShardLease,
    question: &[u8],
    ignore: bool,
    collations: &Collations,
) -> Result<Vec<Vec<u8>>, Failure> {
    super::send::confirm(part).await?;
    let charset = results_charset(&part.lease);
    let read = Read::of_one(part.shard, question.to_vec(), Vec::new(), String::new());
    let introducer = part.lease.profile().introducer();
    let mut rows = read::open(std::slice::from_mut(part), &read, &Request::Text, collations).await?;
    let mut answer = Vec::new();
    while let Some(row) = rows.next_row().await? {
        for (field, column) in row.fields().zip(row.columns()) {
            let mut literal = Vec::new();
            put_value_after(&mut literal, introducer, field, column, charset.as_deref())?;
            answer.push(literal);
        }
    }
    let warnings = rows.end().warnings;
    drop(rows);
    rows_before::refuse_strictly(std::slice::from_mut(part), warnings, ignore).await?;
    Ok(answer)
}
