//! Where a read of several shards runs on each of them: on the writer, or, as a read of one shard may, on a replica.
//!
//! What must always hold: on each shard the read finds what the session has seen there; a replica that is late, or lost before the
//! client has been told anything, costs the read a detour by the writer, and never an error.

use std::sync::Arc;
use std::time::Instant;

use futures_util::future::join_all;
use weir_backend::Position;
use weir_sql::{Class, RoutingHint};
use weir_topology::{Choice, Level};

use super::super::Session;
use super::super::statement::place;
use super::{Chosen, Wish};
use crate::backends::{ReadInProgress, ServerId};

/// A server of a shard that a statement runs on.
pub(in crate::session) struct ShardServer {
    /// The shard.
    pub(in crate::session) shard: usize,
    /// One of its readers; without, its writer.
    pub(in crate::session) reader: Option<Reader>,
}

impl ShardServer {
    /// The shard's writer.
    pub(in crate::session) fn writer(shard: usize) -> ShardServer {
        ShardServer { shard, reader: None }
    }
}

/// A replica that a read was given.
pub(in crate::session) struct Reader {
    /// Its index in the shard's group.
    pub(in crate::session) index: usize,
    /// The position that it must have reached.
    pub(in crate::session) wait: Option<Arc<Position>>,
    life: u64,
    level: Level,
    _reading: ReadInProgress,
}

impl Session {
    /// The servers for a read of several shards, if one of them is a replica: the session's level, the read itself and its hint must
    /// allow it.
    pub(in crate::session) async fn servers_of_read(
        &mut self,
        class: &Class,
        hint: Option<RoutingHint>,
        shards: &[usize],
    ) -> Option<Vec<ShardServer>> {
        if !shards.iter().any(|shard| self.shared.shards[*shard].splits) {
            return None;
        }
        let level = place::level_of_multi_shard_read(class, hint, &self.place_facts())?;
        let wish = Wish { level, wanted: hint == Some(RoutingHint::Replica), timeless: false, failed: 0 };
        if level == Level::Strong {
            self.ask_writers(shards).await;
        }
        let mut chosen: Vec<Chosen> = shards.iter().map(|shard| self.choose_on(*shard, wish)).collect();
        let asks: Vec<usize> = shards
            .iter()
            .zip(&chosen)
            .filter(|(_, chosen)| chosen.choice == Choice::Ask)
            .map(|(shard, _)| *shard)
            .collect();
        if !asks.is_empty() {
            self.ask_writers(&asks).await;
            chosen = shards.iter().map(|shard| self.choose_on(*shard, wish)).collect();
        }
        let servers: Vec<ShardServer> =
            shards.iter().zip(chosen).map(|(shard, chosen)| self.server_of(*shard, level, chosen)).collect();
        servers.iter().any(|server| server.reader.is_some()).then_some(servers)
    }

    /// Takes the positions of these shards' writers for what the session has seen. At the level `strong` a writer that does not answer
    /// has its shard's read to itself: what the session has seen there is covered by nothing.
    async fn ask_writers(&mut self, shards: &[usize]) {
        let asked = shards.iter().map(|shard| self.shared.shards[*shard].positions.clone());
        let positions = join_all(asked.map(|positions| async move { positions.of_writer().await })).await;
        let now = Instant::now();
        for (shard, position) in shards.iter().zip(positions) {
            let seen = self.seen.of_mut(*shard);
            match position {
                Ok(position) => seen.covered_by(position),
                Err(_) => seen.saw_writer(now),
            }
        }
    }

    fn server_of(&self, shard: usize, level: Level, chosen: Chosen) -> ShardServer {
        let reader = match chosen.choice {
            Choice::Reader { index, wait } if index != chosen.writer => {
                let reading = self.shared.shards[shard].at(index).reading();
                Some(Reader { index, wait, life: chosen.life, level, _reading: reading })
            }
            _ => None,
        };
        ShardServer { shard, reader }
    }

    /// A replica has not reached the position in time: nobody waits there for a while.
    pub(in crate::session) fn reader_was_late(&mut self, shard: usize, reader: &Reader) {
        self.endpoint.metrics.reads_late.inc();
        self.shared.at(ServerId { shard, index: reader.index }).was_late();
    }

    /// A read has ended on a replica.
    pub(in crate::session) fn note_read_on(&mut self, shard: usize, reader: &Reader) {
        if let Some(position) = &reader.wait {
            self.shared.at(ServerId { shard, index: reader.index }).has_reached(reader.life, position);
        }
        self.endpoint.metrics.reads_on_readers.inc();
        let (now, seen) = (Instant::now(), self.seen.of_mut(shard));
        match reader.level {
            // What it was not asked to have, it may lack.
            Level::Eventual => seen.saw_writer(now),
            _ => seen.read_on(reader.index, reader.life, now),
        }
    }
}
