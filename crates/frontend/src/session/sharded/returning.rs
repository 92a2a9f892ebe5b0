//! Writes that return rows (RETURNING).
//!
//! What must always hold: rows of one shard are handed on as they come, as its server does; those of several are told only once all of
//! them have written theirs.

use weir_backend::prepared::StatementKey;
use weir_catalog::ShardId;
use weir_exec::write::Returned;
use weir_exec::{LeftId, MultiShardResult, Request};
use weir_plan::{Read, Write, WriteKind};

use super::super::Session;
use super::super::statement::{Execution, Statement};
use super::super::stopped::Stopped;
use super::reading::Reading;
use super::sink::ClientSink;
use crate::backends::places;

/// The shard and the text of a write that returns rows and runs on one shard.
pub(super) fn of_one(write: &Write) -> Option<(ShardId, &[u8])> {
    write.returns.as_ref()?;
    match &write.kind {
        WriteKind::Everywhere(shards, text) | WriteKind::Global(shards, text) => match shards[..] {
            [shard] => Some((shard, text)),
            _ => None,
        },
        _ => None,
    }
}

impl Session {
    /// Runs it, and hands its rows to the client. `generated`: the first of its AUTO_INCREMENT values.
    pub(super) async fn return_of_one(
        &mut self,
        asked: &Statement<'_>,
        shard: ShardId,
        text: &[u8],
        generated: Option<u64>,
    ) -> Result<(), Stopped> {
        // Its parameters are in the text.
        let read = Read::of_one(shard, text.to_vec(), Vec::new(), String::new());
        let request = match asked.values() {
            Some(_) => Request::Text,
            None => asked.request(),
        };
        let shards = places(&[shard]);
        let mut leased = self.leases_for(&shards, true).await?;
        let mut ran = match self.make_alike(asked.class, false, &mut leased).await {
            Ok(()) => self.run_read(&mut leased, Reading::Of(&read), &request).await,
            Err(failure) => Err(failure.into()),
        };
        if let Ok(outcome) = &mut ran {
            outcome.insert_id = generated.unwrap_or_default();
            outcome.left_id = generated.map_or(LeftId::Unchanged, LeftId::Known);
            outcome.returned = Some(Returned::default());
        }
        if let Some(Execution { key, .. }) = asked.execution() {
            // Nobody executes a text with these values again.
            let key = StatementKey::new(text.into(), key.parsing.clone());
            leased.parts.iter_mut().for_each(|part| part.lease.close_statement(&key));
        }
        self.read_done(asked.class, &shards, leased, ran).await
    }

    /// The rows of several shards, which have all been written.
    pub(super) async fn tell_returned(
        &mut self,
        returned: &Returned,
        outcome: &MultiShardResult,
    ) -> Result<(), Stopped> {
        let (status, capabilities) = (self.state.own_status(), self.client.capabilities);
        let mut sink = ClientSink::new(&mut self.client, &self.handle);
        match returned.tell(outcome.warnings, status, capabilities, &mut sink).await {
            Ok(()) => {
                self.client.is_answered();
                Ok(())
            }
            Err(failure) => Err(match sink.into_error() {
                Some(error) => Stopped::Ended(error.into()),
                None => Stopped::Refused(failure),
            }),
        }
    }
}
