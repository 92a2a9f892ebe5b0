//! UNION and other set operations: each query is read by itself, and its rows become rows of the whole.
//!
//! What must always hold: the client gets the column definitions that one server would send, and each value is converted to its column.
//! Rows that must be sorted or compared are in memory, within a limit; others stream.

mod kept;

use std::rc::Rc;

use weir_plan::{SortKey, Union, UnionPart};
use weir_wire::{Failure, StatusFlags};

use super::collations::Weights;
use super::columns::{Column, ColumnKind};
use super::convert::{Conversion, refused};
use super::failure::internal;
use super::feed::FeedStep;
use super::key::{self, KeyPart};
use super::link::Link;
use super::row::{self, Format, Span};
use super::rows::Rows;
use super::telling::{Telling, those};
use super::value::{self, Value};
use super::{ReadContext, ReadError, SORT_LIMIT, put_end};
use crate::{MultiShardResult, Request, ShardLease, Sink};
use kept::Kept;

/// Runs it on parts of all of its shards, as [`super::run`] does a read. `own`: the transaction that it runs in is the statement's, of
/// which the client knows nothing.
///
/// # Errors
/// As [`super::run`].
pub async fn run(
    parts: &mut [ShardLease],
    union: &Union,
    request: &Request<'_>,
    session: &ReadContext<'_>,
    own: bool,
    sink: &mut impl Sink,
) -> Result<MultiShardResult, Failure> {
    let untold = if own { StatusFlags::IN_TRANS | StatusFlags::IN_TRANS_READONLY } else { StatusFlags::empty() };
    let mut running = Running { union, telling: Telling::new(request, session, untold, sink) };
    let ended = running.all(parts).await;
    let outcome = running.telling.outcome;
    put_end(ended, outcome, session.capabilities, sink)
}

/// A union that runs.
struct Running<'a, S> {
    union: &'a Union,
    telling: Telling<'a, S>,
}

/// What rows of the whole look like.
struct Whole {
    columns: Vec<Column>,
    /// What is known of the keys' collations.
    weights: Rc<Weights>,
}

/// Where rows go.
enum To {
    /// To the client, but for those that are left out, and so many at most.
    Client { skip: u64, left: u64 },
    /// They are kept.
    Kept(Kept),
}

impl<S: Sink> Running<'_, S> {
    async fn all(&mut self, parts: &mut [ShardLease]) -> Result<(), ReadError> {
        let whole = self.head(parts).await?;
        let (skip, left) = (self.union.skip, self.union.take.unwrap_or(u64::MAX));
        let mut to = match self.union.keys[..] {
            [] => To::Client { skip, left },
            _ => To::Kept(Kept::new(self.union, SORT_LIMIT)),
        };
        for part in &self.union.parts {
            if let To::Kept(kept) = &mut to {
                kept.begin(part.how);
            }
            if !matches!(to, To::Client { left: 0, .. }) {
                self.part(parts, part, &whole, &mut to).await?;
            }
            if let To::Kept(kept) = &mut to {
                kept.end();
            }
        }
        if let To::Kept(kept) = to {
            let size = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
            for row in kept.into_rows().skip(size(skip)).take(size(left)) {
                self.telling.send(&row).await?;
            }
        }
        Ok(())
    }

    /// Asks what the columns are, and tells the client.
    async fn head(&mut self, parts: &mut [ShardLease]) -> Result<Whole, ReadError> {
        let head = &self.union.head;
        let weights = match those(parts, head).first_mut() {
            Some(part) => self.telling.session.collations.needed_by(&self.union.keys, &mut part.lease).await,
            None => Err(internal("the plan names no shard")),
        };
        let weights = weights.map_err(ReadError::Failed)?;
        Ok(Whole { columns: self.telling.head(parts, head).await?, weights })
    }

    /// Reads the rows of one of the queries.
    async fn part(
        &mut self,
        parts: &mut [ShardLease],
        part: &UnionPart,
        whole: &Whole,
        to: &mut To,
    ) -> Result<(), ReadError> {
        let mut rows = self.telling.open(parts, &part.read).await?;
        let ended = self.rows(&mut rows, whole, to).await;
        self.telling.ended(&mut rows).await;
        ended
    }

    async fn rows<L: Link>(&mut self, rows: &mut Rows<L>, whole: &Whole, to: &mut To) -> Result<(), ReadError> {
        let mut maker: Option<Maker> = None;
        loop {
            match rows.step().map_err(ReadError::Failed)? {
                FeedStep::Row => {}
                FeedStep::Wait => {
                    self.telling.wait(rows).await?;
                    continue;
                }
                FeedStep::End => return Ok(()),
            }
            if maker.is_none() {
                let from = rows.columns().unwrap_or_default();
                maker = Some(Maker::new(from, whole, &self.union.keys, rows.format()).map_err(ReadError::Failed)?);
            }
            let Some(maker) = &mut maker else { continue };
            maker.make(rows.payload()).map_err(ReadError::Failed)?;
            match to {
                To::Client { left: 0, .. } => return Ok(()),
                To::Client { skip, .. } if *skip > 0 => *skip -= 1,
                To::Client { left, .. } => {
                    *left -= 1;
                    self.telling.send(&maker.row).await?;
                }
                To::Kept(kept) => kept.put(&maker.key, &maker.row).map_err(ReadError::Failed)?,
            }
        }
    }
}

/// Makes rows of the whole of one query's.
struct Maker {
    format: Format,
    from: Vec<Column>,
    kinds: Vec<ColumnKind>,
    /// The columns of the whole, and those behind them that only keys are made of.
    to: Vec<Column>,
    to_kinds: Vec<ColumnKind>,
    /// What becomes of the columns of the whole.
    conversions: Vec<Conversion>,
    keys: Vec<KeyPart>,
    values: Vec<Value>,
    spans: Vec<Span>,
    with_weights: Vec<u8>,
    /// The row at hand, and its key.
    row: Vec<u8>,
    key: Vec<u8>,
}

impl Maker {
    fn new(from: &[Column], whole: &Whole, keys: &[SortKey], format: Format) -> Result<Maker, Failure> {
        let count = whole.columns.len();
        if from.len() < count {
            return Err(internal("a query of a UNION has fewer columns than the whole"));
        }
        let mut conversions = Vec::with_capacity(count);
        for (at, (own, to)) in from.iter().zip(&whole.columns).enumerate() {
            let conversion = Conversion::of(own, to);
            conversions.push(conversion.ok_or_else(|| refused(&format!("column {}", at + 1)))?);
        }
        let to: Vec<Column> = whole.columns.iter().chain(&from[count..]).copied().collect();
        let kinds = |columns: &[Column]| columns.iter().map(|column| column.kind).collect::<Vec<_>>();
        let parts = keys.iter().map(|key| KeyPart::new(key, &to, format, &whole.weights)).collect::<Result<_, _>>()?;
        Ok(Maker {
            format,
            kinds: kinds(from),
            to_kinds: kinds(&to),
            from: from.to_vec(),
            to,
            conversions,
            keys: parts,
            values: Vec::new(),
            spans: Vec::new(),
            with_weights: Vec::new(),
            row: Vec::new(),
            key: Vec::new(),
        })
    }

    fn make(&mut self, payload: &[u8]) -> Result<(), Failure> {
        let Maker { format, from, to, conversions, values, spans, .. } = self;
        self.row.clear();
        let same =
            conversions.iter().all(|conversion| *conversion == Conversion::Same) && from.len() == conversions.len();
        if same && self.keys.is_empty() {
            self.row.extend_from_slice(payload);
            return Ok(());
        }
        let malformed = |error: weir_wire::Malformed| internal(&error.to_string());
        row::locate(*format, &self.kinds, from.len(), payload, spans).map_err(malformed)?;
        values.clear();
        for (at, own) in from.iter().enumerate() {
            let conversion = conversions.get(at).copied().unwrap_or(Conversion::Same);
            values.push(conversion.value(spans[at].of(payload), own, &to[at], *format)?);
        }
        let count = conversions.len();
        value::put_row(&values[..count], &to[..count], *format, &mut self.row)?;
        if !self.keys.is_empty() {
            self.with_weights.clear();
            value::put_row(values, to, *format, &mut self.with_weights)?;
            row::locate(*format, &self.to_kinds, to.len(), &self.with_weights, spans).map_err(malformed)?;
            key::encode(&mut self.keys, &self.with_weights, spans, &mut self.key)?;
        }
        Ok(())
    }
}
