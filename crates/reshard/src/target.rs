//! Writing rows to targets.
//!
//! What must always hold: a row is stored exactly as it was read: a warning that is not expected is an error. Several statements are under
//! way at once; when a section ends, each has been answered. What fails is done again as a whole, from what the source has then: nothing
//! here must be atomic.

use std::collections::VecDeque;

use weir_catalog::ShardId;
use weir_wire::Failure;
use weir_wire::error::codes;

use crate::MoveError;
use crate::connector::Connector;
use crate::form::Form;
use crate::link::Link;
use crate::plan::TablePlan;

/// Rows are sent in statements of about so many bytes.
const STATEMENT: usize = 256 * 1024;
/// Statements under way on a target.
const UNDER_WAY: usize = 4;

/// The targets of a source's task.
pub(crate) struct Targets {
    all: Vec<Target>,
    /// What is deleted before rows are written, if anything is: a condition.
    delete: Option<Vec<u8>>,
    /// Its transactions have begun.
    begun: bool,
}

/// A target.
struct Target {
    link: Link,
    /// It is one of those of the section's table.
    used: bool,
    /// The beginnings of statements on the section's table.
    replace: Vec<u8>,
    delete: Vec<u8>,
    /// The statement that rows are put into.
    rows: Vec<u8>,
    warnings: usize,
    /// How many warnings the statements may give whose replies are awaited.
    under_way: VecDeque<usize>,
}

/// Which side has failed.
#[derive(Debug)]
pub(crate) enum SectionError {
    Source(ShardId, Failure),
    Target(ShardId, Failure),
    Stop(MoveError),
}

impl From<MoveError> for SectionError {
    fn from(error: MoveError) -> SectionError {
        SectionError::Stop(error)
    }
}

impl SectionError {
    /// Whether the same section may succeed when it is tried again at once: a lock was not had.
    pub(crate) fn is_passing(&self) -> bool {
        let (SectionError::Source(_, failure) | SectionError::Target(_, failure)) = self else { return false };
        matches!(failure.code, codes::ER_LOCK_DEADLOCK | codes::ER_LOCK_WAIT_TIMEOUT)
    }

    pub(crate) fn into_error(self) -> MoveError {
        match self {
            SectionError::Source(shard, failure) => MoveError::of_source(shard, failure),
            SectionError::Target(shard, failure) => MoveError::of_target(shard, failure),
            SectionError::Stop(error) => error,
        }
    }
}

impl Targets {
    /// Connects to these shards.
    pub(crate) async fn open(connector: &dyn Connector, shards: &[ShardId]) -> Result<Targets, MoveError> {
        let mut all = Vec::with_capacity(shards.len());
        for shard in shards {
            let failed = |failure| MoveError::of_target(*shard, failure);
            let mut link = Link::open(connector, *shard).await.map_err(failed)?;
            // Rows that are not there are not locked: tasks do not wait for each other.
            link.run(b"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED").await.map_err(failed)?;
            // Two tasks that wait for each other on two servers are told by nothing else.
            link.run(b"SET SESSION innodb_lock_wait_timeout=2").await.map_err(failed)?;
            if link.mariadb {
                link.run(b"SET SESSION check_constraint_checks=0").await.map_err(failed)?;
            }
            let mut target = Target {
                link,
                used: false,
                replace: Vec::new(),
                delete: Vec::new(),
                rows: Vec::new(),
                warnings: 0,
                under_way: VecDeque::new(),
            };
            target.is_writer().await.map_err(SectionError::into_error)?;
            all.push(target);
        }
        Ok(Targets { all, delete: None, begun: false })
    }

    /// Begins a section on a table. `delete`: the condition of rows whose place others take.
    pub(crate) fn begin(&mut self, table: &TablePlan, form: &Form, delete: Option<Vec<u8>>) {
        (self.delete, self.begun) = (delete, false);
        for target in &mut self.all {
            target.rows.clear();
            target.warnings = 0;
            let site = table.targets.iter().find(|site| site.shard == target.link.shard);
            target.used = site.is_some();
            if let Some(site) = site {
                target.replace = form.replace(site).into_bytes();
                target.delete = form.delete(site).into_bytes();
            }
        }
    }

    /// The places of the targets that a row goes to.
    pub(crate) fn on(&self, shard: Option<ShardId>) -> Vec<usize> {
        let wanted = |target: &Target| target.used && shard.is_none_or(|shard| target.link.shard == shard);
        self.all.iter().enumerate().filter(|(_, target)| wanted(target)).map(|(at, _)| at).collect()
    }

    /// Puts a row, as literals, to a target. `defer`: so many bytes may wait before anything is sent.
    pub(crate) async fn put(
        &mut self,
        at: usize,
        row: &[u8],
        warnings: usize,
        defer: usize,
    ) -> Result<(), SectionError> {
        let target = &mut self.all[at];
        if target.rows.is_empty() {
            target.rows.extend_from_slice(&target.replace);
        } else {
            target.rows.push(b',');
        }
        target.rows.extend_from_slice(row);
        target.warnings += warnings;
        // The server counts no more than these.
        if target.rows.len() >= STATEMENT.max(defer) || target.warnings > 30_000 {
            self.begin_transactions().await?;
            self.all[at].send_rows().await?;
        }
        Ok(())
    }

    /// Whether anything was sent.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun
    }

    async fn begin_transactions(&mut self) -> Result<(), SectionError> {
        let Some(condition) = self.delete.as_ref().filter(|_| !self.begun) else { return Ok(()) };
        for target in self.all.iter_mut().filter(|target| target.used) {
            target.send(b"BEGIN", usize::MAX).await?;
            let delete = [&target.delete[..], condition].concat();
            target.send(&delete, usize::MAX).await?;
        }
        self.begun = true;
        Ok(())
    }

    /// Ends a section: all rows are sent, all replies awaited. `delete`: rows have to be deleted first, if that was not done.
    pub(crate) async fn commit(&mut self, delete: bool) -> Result<(), SectionError> {
        if delete {
            self.begin_transactions().await?;
        }
        for target in self.all.iter_mut().filter(|target| target.used) {
            target.is_writer_before().await?;
            target.send_rows().await?;
            if self.begun {
                target.send(b"COMMIT", usize::MAX).await?;
            }
        }
        for target in &mut self.all {
            while !target.under_way.is_empty() {
                target.answer().await?;
            }
            if target.used {
                target.is_writer().await?;
            }
        }
        Ok(())
    }

    /// Gives a section up: what was not sent is forgotten, what was begun is rolled back.
    pub(crate) async fn abandon(&mut self) -> Result<(), SectionError> {
        for target in &mut self.all {
            target.rows.clear();
            while !target.under_way.is_empty() {
                match target.answer().await {
                    Err(SectionError::Target(shard, failure)) if failure.code == codes::CR_SERVER_LOST => {
                        return Err(SectionError::Target(shard, failure));
                    }
                    _ => {}
                }
            }
            if target.used {
                let shard = target.link.shard;
                target.link.run(b"ROLLBACK").await.map_err(|failure| SectionError::Target(shard, failure))?;
            }
        }
        self.begun = false;
        Ok(())
    }

    /// The most running threads of a target.
    pub(crate) async fn threads_running(&mut self) -> Result<u64, MoveError> {
        let mut most = 0;
        for target in &mut self.all {
            most = most
                .max(threads_running(&mut target.link).await.map_err(|f| MoveError::of_target(target.link.shard, f))?);
        }
        Ok(most)
    }

    /// The shards.
    pub(crate) fn shards(&self) -> impl Iterator<Item = ShardId> {
        self.all.iter().map(|target| target.link.shard)
    }
}

impl Target {
    async fn send_rows(&mut self) -> Result<(), SectionError> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let (rows, warnings) = (std::mem::take(&mut self.rows), std::mem::take(&mut self.warnings));
        let sent = self.send(&rows, warnings).await;
        self.rows = rows;
        self.rows.clear();
        sent
    }

    /// What was committed on a server that has ceased to be the writer counts for nothing. MySQL refuses it; MariaDB lets accounts write
    /// that may replace writers.
    async fn is_writer(&mut self) -> Result<(), SectionError> {
        let shard = self.link.shard;
        let failed = |failure| SectionError::Target(shard, failure);
        if self.link.mariadb && self.link.query_texts("SELECT @@GLOBAL.read_only").await.map_err(failed)? != ["0"] {
            let message = format!("Server '{}' has become read-only", self.link.server_name());
            return Err(failed(Failure::server(codes::ER_OPTION_PREVENTS_STATEMENT, message)));
        }
        Ok(())
    }

    /// The same before anything of a section was sent: it would be on that server alone.
    async fn is_writer_before(&mut self) -> Result<(), SectionError> {
        if self.under_way.is_empty() { self.is_writer().await } else { Ok(()) }
    }

    async fn send(&mut self, sql: &[u8], warnings: usize) -> Result<(), SectionError> {
        while self.under_way.len() >= UNDER_WAY {
            self.answer().await?;
        }
        let shard = self.link.shard;
        self.link.send(sql).await.map_err(|failure| SectionError::Target(shard, failure))?;
        self.under_way.push_back(warnings);
        Ok(())
    }

    /// Awaits the next reply.
    async fn answer(&mut self) -> Result<(), SectionError> {
        let Some(expected) = self.under_way.pop_front() else { return Ok(()) };
        let shard = self.link.shard;
        let done = self.link.done().await.map_err(|failure| SectionError::Target(shard, failure))?;
        if usize::from(done.warnings) > expected {
            let message = format!("Server '{}' did not store a row exactly as it was", self.link.server_name());
            return Err(SectionError::Stop(MoveError::internal(message)));
        }
        Ok(())
    }
}

/// `Threads_running` of a server.
pub(crate) async fn threads_running(link: &mut Link) -> Result<u64, Failure> {
    let row = link.query_texts("SHOW GLOBAL STATUS LIKE 'Threads_running'").await?;
    Ok(row.get(1).and_then(|value| value.parse().ok()).unwrap_or(0))
}
