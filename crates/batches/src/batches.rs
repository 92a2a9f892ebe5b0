//! All batches: begun, taken up again, shown and commanded.
//!
//! What must always hold: who is not the owner and no admin neither sees a batch nor commands it; only the owner takes one up.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use weir_catalog::ShardId;
use weir_shards::Own;
use weir_wire::Failure;
use weir_wire::error::codes;

use crate::record::{self, NewBatch, Record, State};
use crate::run::{Course, Live, Run};

/// Where the records are.
const HOME: ShardId = ShardId(0);
/// Parts wait while replicas that take reads are further behind.
const MOST_LAG: Duration = Duration::from_secs(3);

/// What a batch is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// To wait behind the part at hand.
    Pause,
    /// To go on.
    Resume,
    /// To be given up behind the part at hand.
    Cancel,
}

/// A batch, for display.
#[derive(Debug, Clone)]
pub struct Shown {
    /// Its record.
    pub record: Record,
    /// What it does, or what became of it.
    pub state: &'static str,
}

/// See the module. One for a process.
#[derive(Debug)]
pub struct Batches {
    own: Own,
    made: AtomicBool,
    live: Mutex<BTreeMap<u64, Arc<Live>>>,
}

impl Batches {
    /// Batches of which the first of these servers keep the records.
    pub fn new(own: Own) -> Arc<Batches> {
        Arc::new(Batches { own, made: AtomicBool::new(false), live: Mutex::default() })
    }

    fn live(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Live>>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn leave(&self, id: u64) {
        self.live().remove(&id);
    }

    /// Begins a batch.
    ///
    /// # Errors
    /// That the record can't be written: what Weir's own account lacks is named.
    pub async fn begin(self: &Arc<Self>, batch: NewBatch) -> Result<Run, Failure> {
        self.make().await?;
        let token = token();
        // Once: a repeated INSERT would be a second batch.
        let replies = self.own.run_long(HOME, vec![record::insert(&batch, &token), record::clean()]).await;
        let replies = replies.map_err(|failure| self.with_grants(failure))?;
        let id = replies.first().map_or(0, |reply| reply.last_insert_id);
        let live = Arc::new(Live::default());
        self.live().insert(id, live.clone());
        tracing::info!(batch = id, user = batch.user, table = batch.table, "a batch begins");
        let record = Record {
            id,
            batch,
            done: None,
            parts: 0,
            changed: 0,
            state: State::Running,
            error: None,
            begun: String::new(),
        };
        Ok(Run::new(record, token, live, self.clone()))
    }

    /// Takes up a batch that no session runs any more.
    ///
    /// # Errors
    /// 1105 if there is none of the user with this number, or it has ended, or a session runs it.
    pub async fn take_up(self: &Arc<Self>, id: u64, user: &str) -> Result<Run, Failure> {
        let known = self.record(id).await?.filter(|record| record.batch.user == user).ok_or_else(|| no_such(id))?;
        if matches!(known.state, State::Finished | State::Cancelled) {
            return Err(refused(id, "it has ended"));
        }
        let live = {
            let mut all = self.live();
            if all.contains_key(&id) {
                return Err(refused(id, "a session runs it"));
            }
            let live = Arc::new(Live::default());
            all.insert(id, live.clone());
            live
        };
        let token = token();
        // From here on its end removes it from the list.
        let mut run = Run::new(known, token.clone(), live, self.clone());
        self.write(record::take(id, &token)).await?;
        let now = self.record(id).await?.filter(|record| record.state == State::Running);
        let record = now.ok_or_else(|| refused(id, "it has ended"))?;
        run.begins_with(record);
        tracing::info!(batch = id, user, done = run.record.done, "a batch is taken up again");
        Ok(run)
    }

    /// Whether a session of this process runs a batch.
    pub fn is_running(&self, id: u64) -> bool {
        self.live().contains_key(&id)
    }

    /// All batches, or those of a user.
    ///
    /// # Errors
    /// The server's.
    pub async fn shown(&self, user: Option<&str>) -> Result<Vec<Shown>, Failure> {
        let records = match self.own.run(HOME, record::select(None)).await {
            Ok(reply) => record::read(reply),
            Err(failure) if record::is_missing(failure.code) => Vec::new(),
            Err(failure) => return Err(self.with_grants(failure)),
        };
        let live = self.live();
        let shown = |mut record: Record| {
            record.changed = live.get(&record.id).map_or(record.changed, |live| live.changed());
            let state = match (record.state, live.get(&record.id)) {
                (State::Running, Some(live)) => live.state(),
                (State::Running, None) => "interrupted",
                (State::Failed, _) => "failed",
                (State::Finished, _) => "finished",
                (State::Cancelled, _) => "cancelled",
            };
            Shown { record, state }
        };
        let mine = |record: &Record| user.is_none_or(|user| record.batch.user == user);
        Ok(records.into_iter().filter(mine).map(shown).collect())
    }

    /// Tells a batch what to do. `user`: who does, if it is no admin.
    ///
    /// # Errors
    /// 1105 if there is no such batch, or it can't do that now.
    pub async fn order(&self, id: u64, user: Option<&str>, order: Order) -> Result<(), Failure> {
        let known = self.record(id).await?.ok_or_else(|| no_such(id))?;
        if user.is_some_and(|user| known.batch.user != user) {
            return Err(no_such(id));
        }
        let live = self.live().get(&id).cloned();
        match (order, live) {
            (Order::Pause, Some(live)) => live.tell(Course::Paused),
            (Order::Resume, Some(live)) => live.tell(Course::Runs),
            (Order::Cancel, Some(live)) => live.tell(Course::Cancelled),
            _ if matches!(known.state, State::Finished | State::Cancelled) => return Err(refused(id, "it has ended")),
            (Order::Cancel, None) => self.write(record::cancel(id)).await?,
            (Order::Pause, None) => return Err(refused(id, "no session runs it")),
            (Order::Resume, None) => {
                let why = "no session runs it: its user goes on with WEIR BATCH RESUME, over SQL, which runs it in that session";
                return Err(refused(id, why));
            }
        }
        Ok(())
    }

    async fn record(&self, id: u64) -> Result<Option<Record>, Failure> {
        match self.own.run(HOME, record::select(Some(id))).await {
            Ok(reply) => Ok(record::read(reply).pop()),
            Err(failure) if record::is_missing(failure.code) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    pub(crate) async fn write(&self, statement: String) -> Result<(), Failure> {
        self.own.run(HOME, statement).await.map(drop)
    }

    pub(crate) async fn write_end(&self, statement: String) {
        if let Err(failure) = self.write(statement).await {
            tracing::warn!(%failure, "the end of a batch could not be recorded");
        }
    }

    /// Makes what is not there. Whether it is, is asked first: a definition would end up in the binary log each time.
    async fn make(&self) -> Result<(), Failure> {
        if self.made.load(Ordering::Relaxed) {
            return Ok(());
        }
        let asked = "SELECT COUNT(*) FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = 'weir' AND ROUTINE_NAME = 'batch_done'";
        let there = self.own.run(HOME, asked).await?;
        if weir_shards::own::number(there.rows.first().and_then(|row| row.first())) != Some(1) {
            let objects = record::OBJECTS.map(str::to_owned).to_vec();
            self.own.run_all(HOME, objects).await.map_err(|failure| self.with_grants(failure))?;
        }
        self.made.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// What Weir's account lacks, if an error is about rights.
    fn with_grants(&self, failure: Failure) -> Failure {
        const RIGHTS: [u16; 4] = [
            codes::ER_DBACCESS_DENIED_ERROR,
            codes::ER_TABLEACCESS_DENIED_ERROR,
            codes::ER_SPECIFIC_ACCESS_DENIED_ERROR,
            codes::ER_PROCACCESS_DENIED_ERROR,
        ];
        if !RIGHTS.contains(&failure.code) {
            return failure;
        }
        let message = format!(
            "Weir keeps the progress of a BATCH in the schema weir, on which its own account {} lacks rights ({}): GRANT ALL PRIVILEGES ON `weir`.* \
             TO that account WITH GRANT OPTION",
            self.own.user(),
            failure.message
        );
        Failure { message, ..failure }
    }

    /// Whether replicas that take reads are too far behind.
    pub(crate) fn lags(&self) -> bool {
        let now = Instant::now();
        self.own.groups().iter().any(|group| {
            group.with_view(|view| {
                let mut replicas =
                    (0..view.members.len()).filter(|index| *index != view.writer && view.takes_reads(*index));
                replicas.any(|index| view.age(index, now).is_some_and(|age| age > MOST_LAG))
            })
        })
    }
}

/// Nobody can guess it.
fn token() -> String {
    format!("{:032x}", rand::random::<u128>())
}

fn no_such(id: u64) -> Failure {
    Failure::client(codes::ER_UNKNOWN_ERROR, format!("There is no batch {id} of yours (WEIR SHOW BATCHES)"))
}

fn refused(id: u64, why: &str) -> Failure {
    Failure::client(codes::ER_UNKNOWN_ERROR, format!("Batch {id}: {why}"))
}
