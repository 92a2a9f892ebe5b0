//! One result for a client, made of several reads.
//!
//! What must always hold: column definitions are sent once, those of the read that stands for the whole. A read that has begun is read to its
//! end, or ended, before the next one.

use weir_plan::Read;
use weir_wire::StatusFlags;

use super::columns::Column;
use super::failure::internal;
use super::feed::FeedStep;
use super::link::Link;
use super::rows::Rows;
use super::{ReadContext, ReadError, open_on, put_definitions};
use crate::{MultiShardResult, Request, ShardLease, Sink};

/// What is told so far.
pub(super) struct Telling<'a, S> {
    pub(super) request: &'a Request<'a>,
    pub(super) session: &'a ReadContext<'a>,
    /// Status flags that the client does not get.
    untold: StatusFlags,
    sink: &'a mut S,
    pub(super) outcome: MultiShardResult,
}

impl<'a, S: Sink> Telling<'a, S> {
    pub(super) fn new(
        request: &'a Request<'a>,
        session: &'a ReadContext<'a>,
        untold: StatusFlags,
        sink: &'a mut S,
    ) -> Telling<'a, S> {
        Telling { request, session, untold, sink, outcome: MultiShardResult::default() }
    }

    /// Asks what the columns are, and tells the client.
    pub(super) async fn head(&mut self, parts: &mut [ShardLease], head: &Read) -> Result<Vec<Column>, ReadError> {
        let (columns, definitions, status) = self.asked_head(parts, head).await?;
        self.tell(&definitions, status);
        Ok(columns)
    }

    /// Tells the client the columns.
    pub(super) fn tell(&mut self, definitions: &[Vec<u8>], status: StatusFlags) {
        put_definitions(definitions, status - self.untold, self.session.capabilities, self.sink);
    }

    /// Asks what the columns are: they, their definitions, and the status flags behind these.
    pub(super) async fn asked_head(
        &mut self,
        parts: &mut [ShardLease],
        head: &Read,
    ) -> Result<(Vec<Column>, Vec<Vec<u8>>, StatusFlags), ReadError> {
        let mut rows = self.open(parts, head).await?;
        let ended = loop {
            match rows.step() {
                // Only VALUES has any here.
                Ok(FeedStep::Row) => {}
                Ok(FeedStep::Wait) => self.wait(&mut rows).await?,
                Ok(FeedStep::End) => break Ok(()),
                Err(failure) => break Err(ReadError::Failed(failure)),
            }
        };
        rows.drain(self.session.cancel).await;
        ended?;
        let columns = rows.columns().map(<[Column]>::to_vec).unwrap_or_default();
        self.outcome.status = rows.end().status - self.untold;
        let Some((definitions, status)) = rows.head() else {
            return Err(ReadError::Failed(internal("a query has no columns")));
        };
        Ok((columns, definitions.to_vec(), status))
    }

    /// Asks the shards of a read.
    pub(super) async fn open<'p>(
        &self,
        parts: &'p mut [ShardLease],
        read: &Read,
    ) -> Result<Rows<&'p mut ShardLease>, ReadError> {
        self.open_as(parts, read, self.request).await
    }

    /// The same, asked in another way than the client's statement.
    pub(super) async fn open_as<'p>(
        &self,
        parts: &'p mut [ShardLease],
        read: &Read,
        request: &Request<'_>,
    ) -> Result<Rows<&'p mut ShardLease>, ReadError> {
        open_on(those(parts, read), read, request, self.session.collations).await.map_err(ReadError::Failed)
    }

    /// A read has come to its end, or is left there.
    pub(super) async fn ended<L: Link>(&mut self, rows: &mut Rows<L>) {
        rows.drain(self.session.cancel).await;
        let end = rows.end();
        self.outcome.warnings = self.outcome.warnings.saturating_add(end.warnings);
        self.outcome.status = end.status - self.untold;
    }

    /// Sends a row.
    pub(super) async fn send(&mut self, row: &[u8]) -> Result<(), ReadError> {
        self.sink.put(row);
        self.outcome.sent += 1;
        if self.sink.is_full() {
            self.sink.flush().await.map_err(ReadError::Client)?;
        }
        Ok(())
    }

    /// Waits for more of a read.
    pub(super) async fn wait<L: Link>(&mut self, rows: &mut Rows<L>) -> Result<(), ReadError> {
        self.sink.flush().await.map_err(ReadError::Client)?;
        // Cancel-safe, both of them.
        tokio::select! {
            biased;
            filled = rows.fill() => filled.map_err(ReadError::Failed),
            failure = self.sink.gone() => Err(ReadError::Client(failure)),
        }
    }
}

/// The parts that a read is asked on.
pub(crate) fn those<'p>(parts: &'p mut [ShardLease], read: &Read) -> Vec<&'p mut ShardLease> {
    parts.iter_mut().filter(|part| read.shards.contains(&part.shard)).collect()
}
