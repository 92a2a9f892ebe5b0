//! Gathers the rows of fragments: they stream from the shards into the workbench's tables.
//!
//! What must always hold: no more rows are in memory than those of a few statements of [`CHUNK`] bytes; when the bounds are reached, or
//! anything fails, the shards' replies are read to their ends or killed.

use std::rc::Rc;

use weir_backend::profile::SharedProfile;
use weir_plan::{Fragment, FragmentColumn, Read, Workbench};
use weir_wire::error::codes;
use weir_wire::{Command, Failure};

use super::bench::Bench;
use super::value::Literal;
use super::{Gathering, tables};
use crate::read::{Column, FeedStep, Link, ReadContext, ReadError, Rows, open_on, those};
use crate::{Request, ShardLease, Sink};

/// The size of statements with rows. Longer ones are no faster.
const CHUNK: usize = 64 * 1024;

/// Values that narrow a fragment, at most: servers take longer lists for as long as a scan.
const MOST_VALUES: usize = 2000;

/// What it takes to fill the tables.
pub(super) struct Filling<'a, S> {
    pub(super) bench: Bench<'a>,
    pub(super) plan: &'a Workbench,
    pub(super) request: &'a Request<'a>,
    pub(super) session: &'a ReadContext<'a>,
    pub(super) gathering: &'a Gathering,
    pub(super) sink: &'a mut S,
    /// The session's settings on the workbench.
    pub(super) own: SharedProfile,
    pub(super) text: Vec<u8>,
    /// Values in it that a server stores with a warning.
    pub(super) warnings: usize,
    /// The server has found nothing wrong with the query.
    pub(super) validated: bool,
}

impl<S: Sink> Filling<'_, S> {
    /// Gathers the rows of all fragments, one after another.
    pub(super) async fn all(&mut self, parts: &mut [ShardLease]) -> Result<(), ReadError> {
        let plan = self.plan;
        for fragment in &plan.fragments {
            let narrowed = self.narrowed(fragment).await?;
            let read = narrowed.as_ref().unwrap_or(&fragment.read);
            // What has no parameters need not be prepared.
            let request = if read.parameters.is_empty() { &Request::Text } else { self.request };
            let opened = open_on(those(parts, read), read, request, self.session.collations);
            let mut rows = opened.await.map_err(ReadError::Failed)?;
            let filled = self.fragment(&mut rows, fragment).await;
            rows.drain(self.session.cancel).await;
            filled?;
        }
        while !self.bench.is_idle() {
            self.progress().await?;
        }
        Ok(())
    }

    /// A fragment's query with the values that rows gathered before have, where these are few.
    async fn narrowed(&mut self, fragment: &Fragment) -> Result<Option<Read>, ReadError> {
        let mut conditions: Vec<Vec<u8>> = Vec::new();
        if !fragment.read.parameters.is_empty() {
            // It would be prepared anew each time.
            return Ok(None);
        }
        for narrowing in &fragment.narrowed {
            while !self.bench.is_idle() {
                self.progress().await?;
            }
            let Some(by) = self.plan.fragments.get(narrowing.by) else { continue };
            let question = tables::values(by, narrowing, MOST_VALUES + 1);
            let asked = self.bench.part.lease.query(&question);
            let found = unless_gone(self.sink, asked).await?.rows;
            if found.len() <= MOST_VALUES {
                conditions.push(tables::is_one_of(narrowing, found.into_iter().flatten().flatten()));
            }
        }
        let Some(narrowing) = fragment.narrowed.first().filter(|_| !conditions.is_empty()) else { return Ok(None) };
        let mut read = fragment.read.clone();
        let at = read.text.len().saturating_sub(narrowing.behind);
        let joined: &[u8] = if narrowing.has_condition { b" AND " } else { b" WHERE " };
        let added = [joined, &conditions.join(&b" AND "[..])].concat();
        read.text.splice(at..at, added);
        Ok(Some(read))
    }

    async fn fragment<L: Link>(&mut self, rows: &mut Rows<L>, fragment: &Fragment) -> Result<(), ReadError> {
        let head = tables::insert(fragment);
        let mut fields: Vec<FieldLiteral> = Vec::new();
        self.text.clear();
        self.warnings = 0;
        loop {
            match rows.step().map_err(ReadError::Failed)? {
                FeedStep::Row => {}
                FeedStep::Wait => {
                    self.wait(rows).await?;
                    continue;
                }
                FeedStep::End => break,
            }
            if fields.is_empty() {
                fields = literals_of(rows, fragment).map_err(ReadError::Failed)?;
            }
            if self.text.is_empty() {
                self.text.extend_from_slice(&head);
            } else {
                self.text.push(b',');
            }
            let before = self.text.len();
            self.warnings += put_row(rows, &fields, &mut self.text).map_err(ReadError::Failed)?;
            if !self.gathering.note(self.text.len() - before) {
                return Err(ReadError::Failed(too_much(self.gathering, fragment)));
            }
            if self.text.len() >= CHUNK {
                if !self.validated {
                    self.validate().await?;
                }
                self.send().await?;
            }
        }
        if !self.text.is_empty() {
            self.send().await?;
        }
        Ok(())
    }

    /// Sends the rows that are at hand, once there is room.
    async fn send(&mut self) -> Result<(), ReadError> {
        while !self.bench.has_room() {
            self.progress().await?;
        }
        self.bench.queue_rows(&self.text, std::mem::take(&mut self.warnings));
        self.text.clear();
        Ok(())
    }

    /// Has the server look for what is wrong with the query, before much is moved for nothing. Where little is gathered, that would cost
    /// more than it can save: there the query itself finds it.
    async fn validate(&mut self) -> Result<(), ReadError> {
        self.validated = true;
        while !self.bench.is_idle() {
            self.progress().await?;
        }
        let filling = self.bench.part.lease.profile().clone();
        let parsing = match self.request {
            Request::Execute { parsing, .. } => Rc::new(self.own.parsed_as(parsing)),
            _ => self.own.clone(),
        };
        self.bench.queue_profile(&parsing).map_err(ReadError::Failed)?;
        let prepared = unless_gone(self.sink, self.bench.part.lease.prepare(&self.plan.query.text)).await?;
        let close = [&[Command::StmtClose as u8][..], &prepared.id.to_le_bytes()].concat();
        self.bench.part.lease.queue(&close, false);
        self.bench.queue_profile(&filling).map_err(ReadError::Failed)?;
        while !self.bench.is_idle() {
            self.progress().await?;
        }
        Ok(())
    }

    /// Waits for rows, while the workbench stores those before them.
    async fn wait<L: Link>(&mut self, rows: &mut Rows<L>) -> Result<(), ReadError> {
        // Cancel-safe, all of them.
        tokio::select! {
            biased;
            filled = rows.fill() => filled.map_err(ReadError::Failed),
            progress = self.bench.progress() => progress.map_err(ReadError::Failed),
            failure = self.sink.gone() => Err(ReadError::Client(failure)),
        }
    }

    /// Reads the replies to what is under way on the workbench, so that its connection can be used on after a failure.
    pub(super) async fn settle(&mut self) -> Result<(), ReadError> {
        while !self.bench.is_idle() && !self.bench.is_lost() {
            match self.progress().await {
                Ok(()) | Err(ReadError::Failed(_)) => {}
                Err(gone) => return Err(gone),
            }
        }
        Ok(())
    }

    /// Waits for the workbench.
    async fn progress(&mut self) -> Result<(), ReadError> {
        unless_gone(self.sink, self.bench.progress()).await
    }
}

/// Awaits something, unless the client goes.
pub(super) async fn unless_gone<T>(
    sink: &mut impl Sink,
    wanted: impl Future<Output = Result<T, Failure>>,
) -> Result<T, ReadError> {
    tokio::select! {
        biased;
        done = wanted => done.map_err(ReadError::Failed),
        failure = sink.gone() => Err(ReadError::Client(failure)),
    }
}

/// How the fields of a column are written.
struct FieldLiteral {
    literal: Literal,
    /// It is an ENUM: a value that is no member, which has the number 0, is stored with a warning.
    is_enum: bool,
}

fn literals_of<L: Link>(rows: &Rows<L>, fragment: &Fragment) -> Result<Vec<FieldLiteral>, Failure> {
    let columns = rows.columns().unwrap_or_default();
    if columns.len() != fragment.columns.len() {
        return Err(crate::read::failure::internal("a fragment has another number of columns than its plan says"));
    }
    let both = fragment.columns.iter().zip(columns);
    let field = |(planned, column): (&FragmentColumn, &Column)| FieldLiteral {
        literal: Literal::of(planned.passed, column, rows.format()),
        is_enum: planned.definition.get(..4).is_some_and(|kind| kind.eq_ignore_ascii_case("enum")),
    };
    Ok(both.map(field).collect())
}

/// Appends the row at hand. Returns how many of its values are stored with a warning.
fn put_row<L: Link>(rows: &mut Rows<L>, fields: &[FieldLiteral], text: &mut Vec<u8>) -> Result<usize, Failure> {
    let row = rows.at_hand()?;
    let (mut before, mut warnings) = (b'(', 0);
    for (FieldLiteral { literal, is_enum }, field) in fields.iter().zip(row.fields()) {
        text.push(before);
        let start = text.len();
        literal.put(field, text)?;
        warnings += usize::from(*is_enum && text[start..] == *b"0");
        before = b',';
    }
    text.push(b')');
    Ok(warnings)
}

fn too_much(gathering: &Gathering, fragment: &Fragment) -> Failure {
    let bounds = gathering.bounds;
    let most = match gathering.rows.get() > bounds.rows {
        true => format!("{} rows (workbench.max_rows)", bounds.rows),
        false => format!("{} bytes (workbench.max_bytes)", bounds.bytes),
    };
    let message = format!(
        "The rows that this statement needs in one place are more than {most}; the limit was reached with those of table '{}.{}': \
         leave some out by a condition on it in WHERE or ON, or raise the limit",
        fragment.table.database, fragment.table.table,
    );
    Failure::client(codes::ER_OUT_OF_SORTMEMORY, message)
}
