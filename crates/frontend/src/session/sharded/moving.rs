//! Statements and tables that move ([`weir_shards::gate`]).
//!
//! What must always hold: a statement is planned only while its session is in, if it may mean a table of the gate; what waits here has
//! done nothing, and holds nothing that the cutover waits for.

use std::time::Duration;

use weir_catalog::{Catalog, Words};
use weir_shards::{Sharding, Stage};
use weir_sql::Pins;
use weir_wire::Failure;
use weir_wire::error::codes;

use super::super::Session;
use super::super::stopped::Stopped;

/// How long a statement waits for a cutover. One takes a fraction of a second, unless a shard is lost in the middle of it.
const PATIENCE: Duration = Duration::from_secs(50);

/// What keeps a session's hold on tables from one statement to the next, besides a transaction.
const HOLDS_TABLES: Pins = Pins::LOCK_TABLES.union(Pins::HANDLER);

impl Session {
    /// Before a statement is planned: notes by which catalog that is, and waits while its tables change their places.
    pub(in crate::session) async fn heed_moves(&mut self, sharding: &Sharding, text: &[u8]) -> Result<(), Stopped> {
        let Some(pass) = &self.pass else { return Ok(()) };
        let before = pass.enter(&sharding.gate, sharding.catalog().version);
        if sharding.gate.stage() != Stage::Open {
            // Rare: not in line.
            Box::pin(self.heed_gate(sharding, text, before)).await?;
        }
        self.heed_snapshot(sharding, text)
    }

    async fn heed_gate(&mut self, sharding: &Sharding, text: &[u8], mut before: bool) -> Result<(), Stopped> {
        let words = self.words(text, &sharding.catalog());
        // As on a server, the bound is for what waits, not for what runs.
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let mut changes = sharding.gate.changes();
            let stage = sharding.gate.stage();
            let Some(pass) = &self.pass else { return Ok(()) };
            if stage == Stage::Open || before {
                return Ok(());
            }
            let (means, open) = (sharding.gate.means(&words), self.has_open_transaction());
            let waits = match stage {
                Stage::Open | Stage::Near => false,
                Stage::Holding => !open && (means || self.is_or_begins_transaction()),
                Stage::Sealed => means || !open && self.is_or_begins_transaction(),
            };
            if !waits {
                if !means {
                    pass.step_out();
                }
                return Ok(());
            }
            match open {
                true => pass.step_out(),
                false => pass.stay_out(),
            }
            self.handle.set_state("Waiting for a move");
            let waited = self.wait_for_gate(&mut changes, deadline).await;
            self.handle.set_state("");
            waited?;
            let Some(pass) = &self.pass else { return Ok(()) };
            before = pass.enter(&sharding.gate, sharding.catalog().version);
        }
    }

    /// Before a transaction takes its snapshot of all tables: it counts as one that uses those that move.
    pub(in crate::session) async fn heed_moves_with_snapshot(&mut self, sharding: &Sharding) -> Result<(), Stopped> {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let mut changes = sharding.gate.changes();
            let Some(pass) = &self.pass else { return Ok(()) };
            pass.enter(&sharding.gate, sharding.catalog().version);
            if sharding.gate.stage() < Stage::Holding {
                return Ok(());
            }
            pass.stay_out();
            self.wait_for_gate(&mut changes, deadline).await?;
        }
    }

    async fn wait_for_gate(
        &mut self,
        changes: &mut tokio::sync::watch::Receiver<u64>,
        deadline: tokio::time::Instant,
    ) -> Result<(), Stopped> {
        loop {
            // Cancel-safe: a receiver keeps what it has not seen, `gone` keeps what was read, a bell keeps its ring.
            tokio::select! {
                biased;
                _ = changes.changed() => return Ok(()),
                () = self.handle.bell.rung() => self.stops_waiting()?,
                error = self.client.gone() => return Err(Stopped::Ended(error.into())),
                () = tokio::time::sleep_until(deadline) => {
                    let message = "Lock wait timeout exceeded; try restarting transaction (a move of the table is at its cutover, which a \
                                   shard holds up: see WEIR SHOW MOVES)";
                    return Err(Failure::weir(codes::ER_LOCK_WAIT_TIMEOUT, message).into());
                }
            }
        }
    }

    /// A transaction whose snapshot is older than a table's rows where they are now would not see them.
    fn heed_snapshot(&self, sharding: &Sharding, text: &[u8]) -> Result<(), Stopped> {
        let Some(since) = self.pass.as_ref().and_then(weir_shards::Pass::since) else { return Ok(()) };
        let catalog = sharding.catalog();
        let newer = |known: &&(weir_catalog::Object, u64)| known.1 > since;
        if !self.has_open_transaction() || !catalog.relocated.iter().any(|known| newer(&known)) {
            return Ok(());
        }
        let words = self.words(text, &catalog);
        let meant = catalog.relocated.iter().filter(newer).find(|(object, _)| {
            object.name.as_deref().is_some_and(|name| words.may_mean(&weir_catalog::Name::of(name)))
        });
        match meant {
            None => Ok(()),
            Some((object, _)) => {
                let message = format!(
                    "Table definition has changed, please retry transaction: the rows of '{object}' have moved since the transaction began"
                );
                Err(Failure::client(codes::ER_TABLE_DEF_CHANGED, message).into())
            }
        }
    }

    fn words(&self, text: &[u8], catalog: &Catalog) -> Words {
        Words::of(text, self.state.profile.database.as_deref(), catalog)
    }

    /// A command has ended: the session is out, unless its transaction goes on, or something else that holds tables.
    pub(in crate::session) fn leave_gate(&self) {
        let Some(pass) = &self.pass else { return };
        let stays = self.has_open_transaction()
            || self.transaction.is_multi_shard()
            || self.state.pins.intersects(HOLDS_TABLES)
            || self.state.has_busy_statements();
        if !stays {
            pass.leave();
        }
    }
}
