//! Runs the batches of a queue, one after another, on one connection.
//!
//! What must always hold: whatever ends a runner, the members that it has and those that wait are ended. A server that has stopped
//! answering ends the batch at hand, as it ends the statements of sessions.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use weir_backend::pool::Request;
use weir_backend::profile::SharedProfile;
use weir_backend::{Lease, Pool};
use weir_wire::Failure;
use weir_wire::auth::Password;

use super::HotRows;
use super::batch::{Batch, End, Probes, Ran};
use super::length::Pace;
use super::member::{Member, Verdict};
use super::queue::{Queue, Queues};
use super::table::{TableKey, as_text};

/// How often it is looked whether a server still answers.
const WATCH: Duration = Duration::from_millis(250);

/// How a runner gets to the server, and what it is told of it.
pub struct Runner {
    /// Connections to the shard's writer.
    pub pool: Rc<Pool>,
    /// The password of the members' user.
    pub password: Password,
    /// Whether the server still is the shard's writer.
    pub is_writer: Box<dyn Fn() -> bool>,
    /// The table's counters may be moved by one statement for several.
    pub merges: bool,
    /// The table, as the members' user sees it.
    pub table: TableKey,
    /// All that is known of hot rows.
    pub rows: Arc<HotRows>,
    /// The queue.
    pub queue: Arc<Queue>,
}

/// The members of the batch at hand. Those that have not ended when it is dropped end as not known.
struct Taken<'a> {
    members: Vec<Arc<Member>>,
    runner: &'a Runner,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let failure = self.runner.pool.server.lost("its batch has not ended");
        self.members.iter().for_each(|member| member.end(Verdict::Unknown(failure.clone())));
    }
}

/// The members that wait run by themselves when the queue's runner goes.
struct Waiting<'a>(&'a Runner);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let Runner { rows, queue, .. } = self.0;
        let waiting = Queues::end(rows, queue);
        rows.counters.alone.fetch_add(waiting.len() as u64, Ordering::Relaxed);
        waiting.iter().for_each(|member| member.end(Verdict::Alone));
    }
}

impl Runner {
    /// Runs batches until nobody waits.
    pub async fn run(self) {
        let _waiting = Waiting(&self);
        let profile: SharedProfile = Rc::new(self.queue.profile.clone());
        let parsing: SharedProfile = Rc::new(profile.parsing());
        let mut lease = match self.connect(&profile).await {
            Ok(Some(lease)) => lease,
            Ok(None) => return,
            Err(failure) => {
                tracing::debug!(%failure, "there is no connection for a hot row");
                return;
            }
        };
        let mut pace = Pace::default();
        let mut soiled = false;
        loop {
            let settings = self.rows.settings.load();
            let members = self.queue.take(pace.most(settings.max_hold, settings.max_batch));
            if members.is_empty() {
                if Queues::end_empty(&self.rows, &self.queue) {
                    break;
                }
                continue;
            }
            let taken = Taken { members, runner: &self };
            if !settings.enabled || !(self.is_writer)() || !lease.is_clean() || !lease.is_current() {
                taken.members.iter().for_each(|member| member.end(Verdict::Alone));
                break;
            }
            self.queue.running.store(taken.members.len() as u64, Ordering::Relaxed);
            let ran = match self.run_batch(&mut lease, &taken.members, &parsing).await {
                Ok(ran) => ran,
                Err(failure) => {
                    let failure = failure.maybe_done();
                    taken.members.iter().for_each(|member| member.end(Verdict::Unknown(failure.clone())));
                    lease.close();
                    return;
                }
            };
            self.queue.running.store(0, Ordering::Relaxed);
            if let Some((members, time)) = ran.pace {
                pace.ran(members, time);
            }
            soiled = ran.soiled;
            let lasting = ran.lasting;
            self.end(taken, ran);
            if lasting {
                tracing::warn!(table = %self.table.name, "changes of a hot row could not be rolled back whole: they run one by one");
                self.rows.tables.is_unfit(&self.table);
                break;
            }
            if !lease.is_clean() {
                lease.close();
                return;
            }
        }
        give_back(lease, soiled || self.queue.asks_warnings.load(Ordering::Relaxed)).await;
    }

    /// A connection with the queue's settings; `None` if the table's rows can't be batched.
    async fn connect(&self, profile: &SharedProfile) -> Result<Option<Lease>, Failure> {
        let key = &self.queue.key.pool;
        let request = Request { key, password: &self.password, profile, patient: false, may_lack_database: false };
        let mut lease = self.pool.lend(request).await?;
        lease.has_found_rows = false;
        lease.queue_state(profile, true)?;
        lease.flush().await?;
        lease.confirm_state().await?;
        let facts = self.rows.tables.ask(&self.table, &mut lease).await?;
        if self.queue.inserts && facts.auto_increment {
            self.queue.asks_insert_id.store(true, Ordering::Relaxed);
        }
        if facts.batched && self.merges {
            self.learn_triggers(&mut lease).await?;
        }
        Ok(Some(lease).filter(|_| facts.batched))
    }

    /// Puts the question whether the table has triggers together, if the members' user could see them.
    async fn learn_triggers(&self, lease: &mut Lease) -> Result<(), Failure> {
        let TableKey { database, name, .. } = &self.table;
        let (database, name) = (as_text(database), as_text(name));
        let grantee =
            "GRANTEE = CONCAT('''', REPLACE(CURRENT_USER(), '@', '''@'''), '''') AND PRIVILEGE_TYPE = 'TRIGGER'";
        let question = format!(
            "SELECT EXISTS(SELECT 1 FROM information_schema.USER_PRIVILEGES WHERE {grantee}) OR \
             EXISTS(SELECT 1 FROM information_schema.SCHEMA_PRIVILEGES WHERE {grantee} AND {database} LIKE TABLE_SCHEMA) OR \
             EXISTS(SELECT 1 FROM information_schema.TABLE_PRIVILEGES WHERE {grantee} AND TABLE_SCHEMA = {database} AND TABLE_NAME = {name})"
        );
        let reply = lease.query(&question).await?;
        let sees = reply.rows.into_iter().flatten().next().flatten().is_some_and(|cell| cell == b"1");
        if sees {
            let question = format!(
                "SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = {database} AND EVENT_OBJECT_TABLE = {name}"
            );
            self.queue.merging.triggers.get_or_init(|| question);
        }
        Ok(())
    }

    async fn run_batch(
        &self,
        lease: &mut Lease,
        members: &[Arc<Member>],
        parsing: &SharedProfile,
    ) -> Result<Ran, Failure> {
        let probes = Probes {
            warnings: self.queue.asks_warnings.load(Ordering::Relaxed),
            insert_id: self.queue.asks_insert_id.load(Ordering::Relaxed),
        };
        if probes.insert_id || members.iter().any(|member| member.sets_insert_id) {
            lease.insert_id = None;
        }
        let mut running = std::pin::pin!(Batch { members, probes, parsing, merging: &self.queue.merging }.run(lease));
        loop {
            // What is dropped with the batch is its connection's reply: the connection is closed then.
            tokio::select! {
                biased;
                ran = &mut running => return Ok(ran),
                () = tokio::time::sleep(WATCH) => {
                    if self.pool.server.refusal().is_some() {
                        return Err(self.pool.server.lost("it has stopped answering"));
                    }
                }
            }
        }
    }

    /// Ends the members of a batch, or has them run again.
    fn end(&self, mut taken: Taken<'_>, ran: Ran) {
        let counters = &self.rows.counters;
        if let Some(wants) = ran.wants {
            self.queue.asks_warnings.fetch_or(wants.warnings, Ordering::Relaxed);
            self.queue.asks_insert_id.fetch_or(wants.insert_id, Ordering::Relaxed);
        }
        let members = std::mem::take(&mut taken.members);
        if ran.committed {
            self.queue.count(members.len());
            counters.batches.fetch_add(1, Ordering::Relaxed);
            counters.statements.fetch_add(members.len() as u64, Ordering::Relaxed);
            counters.merged.fetch_add(if ran.merged { members.len() as u64 } else { 0 }, Ordering::Relaxed);
        }
        let mut again = Vec::new();
        for (member, end) in members.into_iter().zip(ran.ends) {
            match end {
                End::Ended(verdict) => {
                    let alone = matches!(verdict, Verdict::Alone);
                    counters.alone.fetch_add(u64::from(alone), Ordering::Relaxed);
                    member.end(verdict);
                }
                End::Again => {
                    counters.replays.fetch_add(1, Ordering::Relaxed);
                    match member.wait_again() {
                        true => again.push(member),
                        false => member.end(Verdict::Alone),
                    }
                }
            }
        }
        self.queue.put_back(again);
    }
}

/// The next session must not see what the last member has left.
async fn give_back(mut lease: Lease, soiled: bool) {
    if soiled {
        match lease.ask("SELECT LAST_INSERT_ID() FROM (SELECT 1) AS cleared LIMIT 1").await {
            Ok(_) => lease.insert_id = None,
            Err(_) => lease.close(),
        }
    }
}
