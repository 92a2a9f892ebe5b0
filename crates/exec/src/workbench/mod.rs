//! Queries that need rows of several shards in one place: these are gathered into temporary tables on one server, where the client's own
//! text runs.
//!
//! [`run`] makes the tables (`tables`), streams the rows of the shards into them (`fill`, `bench`, `value`), and runs the query as
//! [`crate::read`] runs any; its columns are told as those of the tables that the temporary ones stand for (`relabel`). What must always
//! hold:
//! - a connection on which temporary tables may be is retired: whatever ends a statement early, it is closed, and the tables are gone;
//! - the client is told nothing before all rows are gathered; an error of a shard or of the workbench is its answer;
//! - a row that a server would not store exactly as it was fails the statement.

mod bench;
mod fill;
mod names;
mod relabel;
mod tables;
mod value;

use std::cell::Cell;
use std::rc::Rc;

use weir_backend::{OwnReply, Profile};
use weir_plan::Workbench;
use weir_wire::error::not_supported;
use weir_wire::packets::encode_failure;
use weir_wire::{Capabilities, Failure, StatusFlags};

use crate::read::{self, ReadContext, ReadError, ask_heads, heads};
use crate::{MultiShardResult, Request, ShardLease, Sink};
use bench::Bench;
use fill::{Filling, unless_gone};
pub(crate) use names::of_tables;
pub use names::with_tables;
use relabel::{Original, Relabelling};
pub use value::Literal;

/// The bounds on what one statement gathers.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Bytes of rows, as they are sent to the workbench.
    pub bytes: u64,
    /// Rows.
    pub rows: u64,
}

/// What a statement gathers, with its bounds. Counts stay when the statement is dropped midway.
#[derive(Debug)]
pub struct Gathering {
    /// The most that it may gather.
    pub bounds: Bounds,
    rows: Cell<u64>,
    bytes: Cell<u64>,
    used: Cell<bool>,
}

impl Gathering {
    /// Nothing is gathered yet.
    pub fn new(bounds: Bounds) -> Gathering {
        Gathering { bounds, rows: Cell::new(0), bytes: Cell::new(0), used: Cell::new(false) }
    }

    /// The rows and the bytes gathered so far, if the statement takes a workbench.
    pub fn gathered(&self) -> Option<Gathered> {
        self.used.get().then(|| Gathered { rows: self.rows.get(), bytes: self.bytes.get() })
    }

    /// Counts a row. Whether it is within the bounds.
    fn note(&self, bytes: usize) -> bool {
        self.rows.set(self.rows.get() + 1);
        self.bytes.set(self.bytes.get() + bytes as u64);
        self.rows.get() <= self.bounds.rows && self.bytes.get() <= self.bounds.bytes
    }
}

/// How much was gathered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gathered {
    /// Rows.
    pub rows: u64,
    /// Bytes of rows, as they are sent to the workbench.
    pub bytes: u64,
}

/// Gathers the fragments on the workbench and runs the query there. Rows go to the sink as [`read::run`] puts them. `parts`: connections to
/// the shards of the plan ([`Workbench::shards`]). `bench`: a connection to the server of [`Workbench::home`] that is in no transaction
/// and has the session's state; afterwards, what the query leaves on it (warnings) can be asked for until [`clear`].
///
/// Dropping the future leaves connections in mid-reply, and the workbench's with its tables: they close when they are given back.
///
/// # Errors
/// When the client is gone, or does not read.
pub async fn run(
    parts: &mut [ShardLease],
    bench: &mut ShardLease,
    plan: &Workbench,
    request: &Request<'_>,
    session: &ReadContext<'_>,
    gathering: &Gathering,
    sink: &mut impl Sink,
) -> Result<MultiShardResult, Failure> {
    bench.lease.retired = true;
    match filled(parts, bench, plan, request, session, gathering, sink).await {
        Ok(_) if !plan.returns => computed(bench, plan, request, sink).await,
        Ok(originals) => {
            let capabilities = bench.lease.capabilities;
            let mut sink = Relabelling::new((&originals, &plan.fragments), capabilities, sink);
            let bench = std::slice::from_mut(bench);
            let outcome = read::run(bench, &plan.query, request, session, &mut sink).await?;
            let error = outcome.error.map(|failure| of_tables(failure, &plan.fragments));
            Ok(MultiShardResult { error, ..outcome })
        }
        Err(error) => failed(error, plan, sink),
    }
}

/// Tells the client of an error.
fn failed(error: ReadError, plan: &Workbench, sink: &mut impl Sink) -> Result<MultiShardResult, Failure> {
    let failure = match error {
        ReadError::Failed(failure) => of_tables(failure, &plan.fragments),
        ReadError::Client(failure) => return Err(failure),
    };
    sink.put(&encode_failure(&failure));
    Ok(MultiShardResult { error: Some(failure), ..MultiShardResult::default() })
}

/// Gathers the fragments on the workbench, as [`run`] does, for a query whose rows are read afterwards: it is in the session's state then,
/// but for what is queued. To be [`clear`]ed in any case.
///
/// # Errors
/// A server's, or the loss of a connection.
pub async fn gather(
    parts: &mut [ShardLease],
    bench: &mut ShardLease,
    plan: &Workbench,
    session: &ReadContext<'_>,
    gathering: &Gathering,
) -> Result<(), Failure> {
    bench.lease.retired = true;
    match filled(parts, bench, plan, &Request::Text, session, gathering, &mut Nobody).await {
        Ok(_) => Ok(()),
        Err(ReadError::Failed(failure) | ReadError::Client(failure)) => Err(failure),
    }
}

/// Nobody waits for rows.
struct Nobody;

impl Sink for Nobody {
    fn put(&mut self, _payload: &[u8]) {}

    fn is_full(&self) -> bool {
        false
    }

    async fn flush(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

/// Runs a statement that answers with an OK, which the caller tells the client; an error goes to the sink.
async fn computed(
    bench: &mut ShardLease,
    plan: &Workbench,
    request: &Request<'_>,
    sink: &mut impl Sink,
) -> Result<MultiShardResult, Failure> {
    let ran = match request {
        _ if plan.query.parameters.is_empty() => {
            let ran = async {
                bench.lease.flush().await?;
                bench.lease.confirm_state().await?;
                bench.lease.query(&plan.query.text).await
            };
            unless_gone(sink, ran).await
        }
        _ => Err(ReadError::Failed(not_supported(
            "Parameters in a statement that assigns user variables from rows of several shards are not supported: send it as a text",
        ))),
    };
    match ran {
        Ok(OwnReply { affected, status, warnings, .. }) => {
            Ok(MultiShardResult { affected, status, warnings, ..MultiShardResult::default() })
        }
        Err(error) => failed(error, plan, sink),
    }
}

/// Makes and fills the tables. Returns what they stand for.
async fn filled(
    parts: &mut [ShardLease],
    part: &mut ShardLease,
    plan: &Workbench,
    request: &Request<'_>,
    session: &ReadContext<'_>,
    gathering: &Gathering,
    sink: &mut impl Sink,
) -> Result<Vec<Original>, ReadError> {
    gathering.used.set(true);
    let confirmed = async {
        part.lease.flush().await?;
        part.lease.confirm_state().await
    };
    unless_gone(sink, confirmed).await?;
    let own = part.lease.profile().clone();
    if let Some(charset) = tables::wide_results(&own) {
        return Err(ReadError::Failed(wide(charset)));
    }
    let asked = Asked::of(parts, &own, plan);
    let mut bench = Bench::new(part);
    bench.queue_profile(&Rc::new(tables::filling(&own, plan))).map_err(ReadError::Failed)?;
    for fragment in &plan.fragments {
        bench.queue_create(&tables::create(fragment));
    }
    // The workbench makes its tables while the shards answer.
    bench.begin().await;
    let known = async {
        ask_heads(parts, &asked.texts).await?;
        heads(parts, &asked.texts).await
    };
    let known = unless_gone(sink, known).await?;
    let capabilities = parts.first().map_or(bench.part.lease.capabilities, |part| part.lease.capabilities);
    let originals = asked.originals(plan, &known, capabilities);
    let mut filling = Filling {
        bench,
        plan,
        request,
        session,
        gathering,
        sink,
        own: own.clone(),
        text: Vec::new(),
        warnings: 0,
        validated: false,
    };
    match filling.all(parts).await {
        Ok(()) => {}
        Err(ReadError::Failed(failure)) => {
            filling.settle().await?;
            return Err(ReadError::Failed(failure));
        }
        Err(gone) => return Err(gone),
    }
    // Confirmed with the query's reply.
    filling.bench.queue_profile(&own).map_err(ReadError::Failed)?;
    Ok(originals)
}

fn wide(charset: &str) -> Failure {
    not_supported(format!(
        "Rows can't be gathered from several shards while character_set_results is {charset}, in which digits are no ASCII: set it to utf8mb4"
    ))
}

/// What is asked about the tables that fragments stand for: one question about each that can be asked for.
#[derive(Debug, Default)]
struct Asked {
    /// The places of the fragments.
    fragments: Vec<usize>,
    /// The places of the parts that are asked, and the questions.
    texts: Vec<(usize, Vec<u8>)>,
}

impl Asked {
    fn of(parts: &[ShardLease], own: &Profile, plan: &Workbench) -> Asked {
        let mut asked = Asked::default();
        for (place, fragment) in plan.fragments.iter().enumerate() {
            let part = parts.iter().position(|part| fragment.read.shards.contains(&part.shard));
            if let Some(part) = part.filter(|_| tables::can_ask_head(own, fragment)) {
                asked.fragments.push(place);
                asked.texts.push((part, tables::head(fragment)));
            }
        }
        asked
    }

    /// The tables, with the answers, which are in the order of the questions.
    fn originals(&self, plan: &Workbench, answers: &[Vec<Vec<u8>>], capabilities: Capabilities) -> Vec<Original> {
        let answer = |place| self.fragments.iter().position(|asked| *asked == place).and_then(|at| answers.get(at));
        let original = |(place, fragment)| {
            let head = answer(place).map(Vec::as_slice).unwrap_or_default();
            Original::new(fragment, head, capabilities)
        };
        plan.fragments.iter().enumerate().map(original).collect()
    }
}

/// Removes the temporary tables, once the session has read what the statement has left on the connection. A connection on which that
/// fails, or that is not clean, stays retired: it is closed when it is given back.
///
/// Dropping the future leaves the connection retired.
pub async fn clear(bench: &mut ShardLease, plan: &Workbench) {
    bench.lease.retired = false;
    let usable = bench.lease.is_clean() && !bench.lease.awaits_state();
    bench.lease.retired = true;
    if !usable {
        return;
    }
    let own = bench.lease.profile().clone();
    if !tables::can_drop_under(&own, plan) {
        let tracking = bench.lease.tracking();
        if bench.lease.queue_state(&Rc::new(tables::filling(&own, plan)), tracking).is_err() {
            return;
        }
    }
    let in_transaction = StatusFlags::IN_TRANS | StatusFlags::IN_TRANS_READONLY;
    let dropped = bench.lease.query(&tables::drop(plan)).await;
    bench.lease.retired = !dropped.is_ok_and(|reply| !reply.status.intersects(in_transaction));
}
