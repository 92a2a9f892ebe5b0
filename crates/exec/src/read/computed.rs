//! Expressions over aggregates: Weir folds the groups, and a server computes the expressions over them.
//!
//! What must always hold: the client gets the column definitions that one server would send. The server's input has the type, digits and
//! collation that it has in the client's query; where that is uncertain, the query is refused. Groups are in memory, within a limit.

mod json_input;

use weir_plan::{Computed, ComputedColumn, Read};
use weir_wire::Failure;

use super::columns::{Column, ColumnKind};
use super::convert::Conversion;
use super::failure::internal;
use super::feed::FeedStep;
use super::row::{self, Format, Span};
use super::telling::Telling;
use super::value::{self, Value, integer};
use super::{ReadContext, ReadError, SORT_LIMIT, put_end};
use crate::{MultiShardResult, Request, ShardLease, Sink};
use json_input::{Batch, Document, Types};
use weir_wire::error::{codes, not_supported};

/// Runs it on parts of all of its shards, as [`super::run`] does a read.
///
/// # Errors
/// As [`super::run`].
pub async fn run(
    parts: &mut [ShardLease],
    computed: &Computed,
    request: &Request<'_>,
    session: &ReadContext<'_>,
    sink: &mut impl Sink,
) -> Result<MultiShardResult, Failure> {
    let telling = Telling::new(request, session, weir_wire::StatusFlags::empty(), sink);
    let mut running = Running { computed, telling, skip: computed.skip, left: computed.take.unwrap_or(u64::MAX) };
    let ended = running.all(parts).await;
    let outcome = running.telling.outcome;
    put_end(ended, outcome, session.capabilities, sink)
}

/// What runs.
struct Running<'a, S> {
    computed: &'a Computed,
    telling: Telling<'a, S>,
    skip: u64,
    left: u64,
}

/// Groups that were read.
#[derive(Default)]
struct Groups {
    rows: Vec<Vec<u8>>,
    columns: Vec<Column>,
    definitions: Vec<Vec<u8>>,
    format: Option<Format>,
}

impl<S: Sink> Running<'_, S> {
    async fn all(&mut self, parts: &mut [ShardLease]) -> Result<(), ReadError> {
        let (mut to, mut definitions, status) = self.telling.asked_head(parts, &self.computed.head).await?;
        let groups = self.groups(parts).await?;
        let Some(format) = groups.format else { return Err(ReadError::Failed(internal("groups have no columns"))) };
        for (at, column) in self.computed.columns.iter().enumerate() {
            // What is not computed is told as shards tell it, which sort their groups as one server does.
            if let ComputedColumn::Own(place) = column
                && let (Some(own), Some(definition)) = (groups.columns.get(*place), groups.definitions.get(*place))
                && at < to.len().min(definitions.len())
            {
                to[at] = *own;
                definitions[at].clone_from(definition);
            }
        }
        let charset = parts.first().and_then(|part| crate::values::results_charset(&part.lease));
        let types = Types::new(self.computed, &groups.columns, format, charset).map_err(ReadError::Failed)?;
        self.telling.tell(&definitions, status);
        let mut first = 0;
        while first < groups.rows.len() && self.left > 0 {
            let batch = types.batch(&groups.rows[first..]).map_err(ReadError::Failed)?;
            let rows = &groups.rows[first..first + batch.rows];
            if self.computed.whole && batch.rows < groups.rows.len() {
                return Err(ReadError::Failed(too_many()));
            }
            first += batch.rows;
            self.batch(parts, &types, batch, rows, (&groups, &to)).await?;
        }
        Ok(())
    }

    /// Reads the groups.
    async fn groups(&mut self, parts: &mut [ShardLease]) -> Result<Groups, ReadError> {
        let mut rows = self.telling.open(parts, &self.computed.groups).await?;
        let mut groups = Groups::default();
        let mut bytes = 0;
        let ended = loop {
            match rows.step() {
                Ok(FeedStep::Row) => {
                    let row = rows.payload().to_vec();
                    bytes += size_of::<Vec<u8>>() + row.capacity();
                    groups.rows.push(row);
                    if bytes > SORT_LIMIT {
                        break Err(ReadError::Failed(too_many()));
                    }
                }
                Ok(FeedStep::Wait) => self.telling.wait(&mut rows).await?,
                Ok(FeedStep::End) => break Ok(()),
                Err(failure) => break Err(ReadError::Failed(failure)),
            }
        };
        if let (Some(columns), Some((definitions, _))) = (rows.columns(), rows.head()) {
            (groups.columns, groups.definitions) = (columns.to_vec(), definitions.to_vec());
            groups.format = Some(rows.format());
        }
        self.telling.ended(&mut rows).await;
        ended.map(|()| groups)
    }

    /// Has some of the groups computed, and sends what comes of them.
    async fn batch(
        &mut self,
        parts: &mut [ShardLease],
        types: &Types<'_>,
        batch: Batch,
        rows: &[Vec<u8>],
        (groups, to): (&Groups, &[Column]),
    ) -> Result<(), ReadError> {
        let Some(shard) = self.computed.computes() else {
            return Err(ReadError::Failed(internal("the plan names no shard")));
        };
        let named = |part: &ShardLease| part.lease.capabilities.contains(weir_wire::Capabilities::QUERY_ATTRIBUTES);
        let Some(part) = parts.iter().find(|part| part.shard == shard) else {
            return Err(ReadError::Failed(internal("the shard that computes is not among the statement's")));
        };
        let named = named(part);
        let document = Document::new(self.telling.request, &self.computed.parameters, batch.document, named);
        let document = document.map_err(ReadError::Failed)?;
        let text = types.text(&document, &part.lease);
        let read = Read::of_one(shard, text, (0..document.parameters()).collect(), String::new());
        let execution = document.execution();
        let request = document.request(self.telling.request, execution.as_ref());
        let mut computed = self.telling.open_as(parts, &read, &request).await?;
        let averages = self.computed.given.iter().any(|given| given.average.is_some());
        let mut maker: Option<Maker<'_>> = None;
        let ended = loop {
            match computed.step() {
                Ok(FeedStep::Row) => {}
                Ok(FeedStep::Wait) => {
                    self.telling.wait(&mut computed).await?;
                    continue;
                }
                Ok(FeedStep::End) => break Ok(()),
                Err(failure) => break Err(ReadError::Failed(failure)),
            }
            if self.skip > 0 {
                self.skip -= 1;
                continue;
            }
            if self.left == 0 {
                break Ok(());
            }
            self.left -= 1;
            if maker.is_none() {
                let from = computed.columns().unwrap_or_default();
                match Maker::new(&self.computed.columns, groups, from, to, computed.format(), averages) {
                    Ok(made) => maker = Some(made),
                    Err(failure) => break Err(ReadError::Failed(failure)),
                }
            }
            let Some(maker) = &mut maker else { continue };
            if let Err(failure) = maker.make(computed.payload(), rows) {
                break Err(ReadError::Failed(failure));
            }
            self.telling.send(&maker.row).await?;
        };
        self.telling.ended(&mut computed).await;
        ended
    }
}

/// Makes the client's rows.
struct Maker<'a> {
    columns: &'a [ComputedColumn],
    format: Format,
    /// Of the groups, and of what is computed behind the number of the row.
    groups: &'a [Column],
    from: Vec<Column>,
    to: &'a [Column],
    conversions: Vec<Conversion>,
    group_kinds: Vec<ColumnKind>,
    kinds: Vec<ColumnKind>,
    group_spans: Vec<Span>,
    spans: Vec<Span>,
    values: Vec<Value>,
    row: Vec<u8>,
}

impl<'a> Maker<'a> {
    fn new(
        columns: &'a [ComputedColumn],
        groups: &'a Groups,
        from: &[Column],
        to: &'a [Column],
        format: Format,
        averages: bool,
    ) -> Result<Maker<'a>, Failure> {
        if columns.len() != to.len() {
            return Err(internal("the columns of groups are not those of the whole"));
        }
        let mut conversions = Vec::with_capacity(columns.len());
        for (at, (column, to)) in columns.iter().zip(to).enumerate() {
            let own = match column {
                ComputedColumn::Own(place) => groups.columns.get(*place),
                ComputedColumn::Computed(nth) => from.get(nth + 1),
            };
            let own = own.ok_or_else(|| internal("there is no column to take a value from"))?;
            let conversion = if own == to { Some(Conversion::Same) } else { Conversion::of(own, to) };
            let conversion = conversion.or_else(|| of_more_digits(own, to, averages));
            conversions.push(conversion.ok_or_else(|| {
                not_supported(format!(
                    "Column {} is computed from the groups of several shards, with another type than on one server: CAST it",
                    at + 1
                ))
            })?);
        }
        let kinds = |columns: &[Column]| columns.iter().map(|column| column.kind).collect::<Vec<_>>();
        Ok(Maker {
            columns,
            format,
            groups: &groups.columns,
            group_kinds: kinds(&groups.columns),
            kinds: kinds(from),
            from: from.to_vec(),
            to,
            conversions,
            group_spans: Vec::new(),
            spans: Vec::new(),
            values: Vec::new(),
            row: Vec::new(),
        })
    }

    /// The row that is made of a computed one and the group that it names.
    fn make(&mut self, computed: &[u8], rows: &[Vec<u8>]) -> Result<(), Failure> {
        let malformed = |error: weir_wire::Malformed| internal(&error.to_string());
        row::locate(self.format, &self.kinds, self.kinds.len(), computed, &mut self.spans).map_err(malformed)?;
        let number = match (self.spans.first().and_then(|span| span.of(computed)), self.from.first()) {
            (Some(field), Some(column)) => integer(column, self.format, field)?,
            _ => return Err(internal("a computed row has no number")),
        };
        let group = usize::try_from(number - 1).ok().and_then(|at| rows.get(at));
        let group = group.ok_or_else(|| internal("a computed row is of no group"))?;
        row::locate(self.format, &self.group_kinds, self.group_kinds.len(), group, &mut self.group_spans)
            .map_err(malformed)?;
        self.values.clear();
        for (at, column) in self.columns.iter().enumerate() {
            let (field, own) = match column {
                ComputedColumn::Own(place) => (self.group_spans[*place].of(group), &self.groups[*place]),
                ComputedColumn::Computed(nth) => (self.spans[nth + 1].of(computed), &self.from[nth + 1]),
            };
            self.values.push(self.conversions[at].value(field, own, &self.to[at], self.format)?);
        }
        self.row.clear();
        value::put_row(&self.values, self.to, self.format, &mut self.row)
    }
}

/// What is made of averages has more digits than a server shows, or a wider type. The type of the whole holds its values.
fn of_more_digits(from: &Column, to: &Column, averages: bool) -> Option<Conversion> {
    match (from.kind, to.kind) {
        (ColumnKind::Decimal, ColumnKind::Decimal) if averages && from.decimals > to.decimals => {
            Some(Conversion::Decimal)
        }
        (ColumnKind::Decimal, ColumnKind::Integer { .. }) if from.decimals == 0 => Some(Conversion::Decimal),
        _ => None,
    }
}

fn too_many() -> Failure {
    let message = "Out of sort memory: the groups of several shards that expressions are computed over are too many. Ask for fewer with \
                   WHERE, or order by the columns that are grouped by";
    Failure::client(codes::ER_OUT_OF_SORTMEMORY, message)
}
