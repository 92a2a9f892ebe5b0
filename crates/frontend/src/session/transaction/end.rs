//! How a transaction ends on all of its parts.
//!
//! What must always hold: the parts end alike, and nothing is left of the transaction in the session afterwards, whatever came of it.

use weir_backend::Position;
use weir_sql::Pins;
use weir_txn::{CommitParticipant, Ended, Role, Verdict};
use weir_wire::error::codes;
use weir_wire::{Failure, StatusFlags};

use super::super::Session;
use super::super::state::Begin;
use super::super::stopped::{SessionEnd, Stopped};
use super::Participant;
use super::kind::Ends;
use crate::backends::shard_id;

impl Session {
    /// A statement that commits what is open before it runs.
    pub(super) async fn commit_before(&mut self) -> Result<(), Stopped> {
        if !self.transaction.is_multi_shard() {
            return Ok(());
        }
        let committed = self.commit_participants().await;
        if self.current.lease.is_some() && !self.state.is_bound() {
            match self.state.left_something() {
                true => self.give_way().await,
                false => self.release().await,
            }
        }
        if !self.target.named {
            self.target_writer();
        }
        committed
    }

    /// A statement that runs on connections of its own, or on none, commits what is open before.
    pub(in super::super) async fn commit_for_definition(&mut self) -> Result<(), Stopped> {
        // The connection would keep what it was told of the next transaction.
        let told = self.state.pins.contains(Pins::SET_TRANSACTION) && !self.transaction.unsent();
        self.commit_open(told).await?;
        if self.transaction.is_announced() {
            self.forget_transaction();
        }
        self.state.pins -= Pins::SET_TRANSACTION;
        self.state.set_transaction_used = false;
        Ok(())
    }

    /// The same of a beginning, for which what was said of the next transaction is meant.
    pub(super) async fn commit_for_beginning(&mut self) -> Result<(), Stopped> {
        self.commit_open(false).await
    }

    async fn commit_open(&mut self, told: bool) -> Result<(), Stopped> {
        self.commit_before().await?;
        self.state.begin = None;
        if (told || self.has_open_transaction()) && self.current.lease.is_some() {
            self.connection().query("COMMIT").await?;
            self.state.status -= StatusFlags::IN_TRANS | StatusFlags::IN_TRANS_READONLY;
            self.current.reader_life = None;
            self.forget_transaction();
        }
        Ok(())
    }

    /// COMMIT and ROLLBACK, in all their forms, of a transaction with several participants.
    pub(super) async fn end_by_statement(&mut self, ends: &Ends) -> Result<(), Stopped> {
        let (said, read_only) = (self.said_of_transaction(), self.transaction.read_only);
        match ends.commit {
            true => self.commit_participants().await?,
            false => drop(self.end_participants(false).await),
        }
        if ends.chain {
            self.say_again(said);
            let differs = read_only || self.state.next_is_read_only();
            self.state.begin = Some(Begin::plain(differs.then_some(read_only)));
        }
        self.transaction_ok_here(if ends.chain { b"T_______" } else { b"________" });
        if ends.release {
            self.client.flush().await.map_err(|error| Stopped::Ended(error.into()))?;
            return Err(Stopped::Ended(SessionEnd::Quit));
        }
        Ok(())
    }

    /// Commits on all parts.
    pub(super) async fn commit_participants(&mut self) -> Result<(), Stopped> {
        let ended = self.end_participants(true).await;
        match (ended.verdict, ended.failure) {
            (Verdict::Committed, _) => Ok(()),
            // As with one server: the connection is lost in its COMMIT.
            (Verdict::Unknown, Some(failure)) if failure.code == codes::CR_SERVER_LOST => {
                Err(Stopped::Ended(SessionEnd::Told(failure)))
            }
            (_, Some(failure)) => Err(failure.into()),
            (_, None) => Err(Self::rolled_back_failure().into()),
        }
    }

    fn rolled_back_failure() -> Failure {
        let message = "XA_RBROLLBACK: Transaction branch was rolled back";
        Failure::server(codes::ER_XA_RBROLLBACK, message)
    }

    /// Ends the transaction on all parts. Nothing stops it: neither the client's end nor a kill.
    pub(super) async fn end_participants(&mut self, commit: bool) -> Ended {
        self.leave_for_anchor().await;
        let coordinator = self.endpoint.transactions.clone();
        let id = self.transaction.id;
        let mut parked = std::mem::take(&mut self.transaction.parked);
        let mut lease = self.current.lease.take();
        if !commit {
            // What is in the middle of a reply hears nothing: its part ends with its connection.
            lease = lease.filter(|lease| lease.is_clean());
            for part in &mut parked {
                part.participant.lease = part.participant.lease.take().filter(|lease| lease.is_clean());
            }
        }
        let mut parties = Vec::with_capacity(parked.len() + 1);
        if let Some(lease) = &mut lease {
            let taken = self.transaction.taken(self.current.server.shard, self.current.wrote);
            parties.push(CommitParticipant::new(shard_id(self.current.server.shard), taken, lease));
        }
        for part in &mut parked {
            let Participant { server, lease, wrote, .. } = &mut part.participant;
            if let Some(lease) = lease {
                let taken = self.transaction.taken(server.shard, *wrote);
                parties.push(CommitParticipant::new(shard_id(server.shard), taken, lease));
            }
        }
        parties.sort_by_key(|party| (party.taken.role == Role::Branch, party.shard));
        self.handle.set_state(if commit { "Committing on several shards" } else { "Rolling back on several shards" });
        let ended = match commit {
            true => Box::pin(coordinator.commit(id, &mut parties)).await,
            false => {
                Box::pin(coordinator.roll_back(id, &mut parties)).await;
                Ended { verdict: Verdict::RolledBack, failure: None, unseen: None }
            }
        };
        let wrote =
            |party: &CommitParticipant<'_>| (usize::from(party.shard.0), party.taken.wrote, party.gtids.clone());
        let written: Vec<_> = parties.iter().map(wrote).collect();
        drop(parties);
        self.take_up_anchor(lease, &mut parked);
        // What is clean goes back to its pool; what is not is closed.
        parked.iter_mut().for_each(|part| drop(part.participant.lease.take()));
        let kept = self.transaction.kept.take();
        self.transaction_is_over();
        if let Some(id) = &ended.unseen
            && !coordinator.until_ended(id).await
        {
            tracing::warn!(transaction = %id, "a client hears of its commit before a branch has ended");
        }
        // Now, as a branch that recovery has ended tells no position: what the writer has from now on includes it.
        for (shard, wrote, gtids) in written {
            if commit && wrote {
                self.note_written(shard, gtids.as_deref());
            }
        }
        self.handle.set_state("");
        self.transaction.kept = kept;
        self.take_up_kept_connection();
        ended
    }

    fn transaction_is_over(&mut self) {
        self.forget_transaction();
        self.state.status -= StatusFlags::IN_TRANS | StatusFlags::IN_TRANS_READONLY;
        self.state.pins -= Pins::SET_TRANSACTION;
        self.state.set_transaction_used = false;
        self.state.begin = None;
        self.current.reader_life = None;
        if self.current.lease.as_ref().is_some_and(|lease| !lease.is_clean()) {
            self.lose_lease();
        }
    }

    /// The session has written on a shard, up to a position if that is known.
    fn note_written(&mut self, shard: usize, gtids: Option<&str>) {
        let backends = &self.shared.shards[shard];
        if !backends.splits {
            return;
        }
        let position = gtids.and_then(|gtids| Position::parse(self.identity.mariadb, gtids).ok());
        let Some(position) = position else {
            self.seen.of_mut(shard).saw_writer(std::time::Instant::now());
            return;
        };
        let (position, whole) = backends.group.with_view(|view| {
            let watched = view.writer_position.as_ref().map(|writer| &*writer.position);
            let whole = position.spans(watched);
            (position.up_to(watched), whole)
        });
        self.seen.of_mut(shard).wrote(position, whole);
    }
}
