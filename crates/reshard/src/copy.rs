//! Copying a source's tables, a chunk at a time.
//!
//! What must always hold: while a chunk is read and written, no change of its source is applied: what is stale in it is corrected by
//! an event that is still to come. A chunk's rows are consecutive in the order of the key.

use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use crate::MoveError;
use crate::checkpoint::Copied;
use crate::controls::Controls;
use crate::key::{Beyond, put_beyond};
use crate::source::Source;
use crate::target::{SectionError, threads_running};
use crate::transfer::{Transferred, transfer};

/// Rows of a first chunk.
const FIRST: u64 = 500;
/// A chunk has no more bytes than these, as far as rows are alike.
const MOST_BYTES: u64 = 4 * 1024 * 1024;
/// How often a chunk is tried that meets locks.
const TRIES: usize = 20;
/// How often it is looked whether servers are busy.
const LOOK: Duration = Duration::from_millis(200);

/// How large chunks are, and when the next may begin.
#[derive(Debug)]
pub(crate) struct Pace {
    rows: u64,
    next: Instant,
    looked: Option<Instant>,
    busy: bool,
}

impl Pace {
    pub(crate) fn new() -> Pace {
        Pace { rows: FIRST, next: Instant::now(), looked: None, busy: false }
    }

    /// When the next chunk may begin; `None` while copying is held up.
    pub(crate) fn next(&self) -> Option<Instant> {
        (!self.busy).then_some(self.next)
    }

    /// A table begins whose rows have so many bytes on average.
    fn begin(&mut self, average: u64) {
        self.rows = FIRST.min(MOST_BYTES / average.max(1)).max(1);
    }

    /// A chunk has taken this time.
    fn note(&mut self, done: &Transferred, wanted: u64, time: Duration, controls: &Controls) {
        let factor = controls.chunk_time().as_secs_f64() / time.as_secs_f64().max(1e-6);
        if done.rows == wanted {
            self.rows = (wanted as f64 * factor.clamp(0.25, 2.0)) as u64;
        }
        let each = done.bytes.checked_div(done.rows).unwrap_or(1).max(1);
        self.rows = self.rows.min(MOST_BYTES / each).max(1);
        if let Some(rate) = controls.rate() {
            let begun = Instant::now().checked_sub(time).unwrap_or(self.next);
            self.next = begun + Duration::from_secs_f64(done.rows as f64 / rate as f64);
        } else {
            self.next = Instant::now();
        }
    }
}

impl Source {
    /// The first table that is not copied yet.
    pub(crate) fn to_copy(&self) -> Option<usize> {
        self.tables.iter().position(|table| table.copied != Copied::All)
    }

    /// Copies the next chunk of a table.
    ///
    /// # Errors
    /// What ends the move.
    pub(crate) async fn copy(&mut self, nth: usize) -> Result<(), MoveError> {
        let begun = Instant::now();
        if self.tables[nth].copied == Copied::Nothing {
            self.pace.begin(self.tables[nth].average);
        }
        let wanted = self.pace.rows.min(self.shared.controls.most_rows_per_chunk());
        let mut tries = 0;
        let done = loop {
            match self.copy_once(nth, wanted).await {
                Ok(done) => break done,
                Err(error) if error.is_passing() && tries < TRIES => {
                    tries += 1;
                    self.targets.abandon().await.map_err(SectionError::into_error)?;
                }
                Err(error) => return Err(error.into_error()),
            }
        };
        self.counters.rows.fetch_add(done.rows, Relaxed);
        self.counters.bytes.fetch_add(done.bytes, Relaxed);
        self.pace.note(&done, wanted, begun.elapsed(), &self.shared.controls);
        let before = &mut self.tables[nth].copied;
        let (first, last) = (*before == Copied::Nothing, done.rows < wanted);
        *before = if last { Copied::All } else { Copied::UpTo(done.last) };
        self.note_copied(first || last);
        Ok(())
    }

    async fn copy_once(&mut self, nth: usize, wanted: u64) -> Result<Transferred, SectionError> {
        let here = &self.tables[nth];
        let (table, common) = (&self.shared.plan.tables[here.table], &self.shared.tables[here.table]);
        let form = &*common.form;
        let mut sql = form.query(&here.site).into_bytes();
        sql.extend_from_slice(format!(" FORCE INDEX ({})", here.index).as_bytes());
        if let Copied::UpTo(last) = &here.copied {
            sql.extend_from_slice(b" WHERE ");
            put_beyond(&mut sql, &form.key_names, last, Beyond::After);
        }
        sql.extend_from_slice(format!(" ORDER BY {} LIMIT {wanted}", form.order()).as_bytes());
        let _writing = match table.sources.len() {
            1 => None,
            _ => Some(common.writing.read().await),
        };
        self.targets.begin(table, form, None);
        let done = transfer(&mut self.link, &sql, (table, form), &self.shared, &mut self.targets, 0).await?;
        self.targets.commit(false).await?;
        Ok(done)
    }

    /// Looks whether copying has to wait: it is paused, replicas are behind, or servers are busy. Servers are asked from time to time.
    ///
    /// # Errors
    /// When one can't be asked.
    pub(crate) async fn look_at_load(&mut self) -> Result<(), MoveError> {
        let controls = self.shared.controls.clone();
        let lags = || controls.lags(self.shard) || self.targets.shards().any(|shard| controls.lags(shard));
        if controls.is_paused() || lags() {
            (self.pace.busy, self.pace.looked) = (true, None);
        } else if self.pace.looked.is_none_or(|at| at.elapsed() >= LOOK) {
            self.pace.looked = Some(Instant::now());
            self.pace.busy = match controls.most_threads_running() {
                Some(most) => self.threads_running().await? > most,
                None => false,
            };
        }
        self.counters.held_up.store(self.pace.busy, Relaxed);
        Ok(())
    }

    /// The most running threads of its servers.
    async fn threads_running(&mut self) -> Result<u64, MoveError> {
        let own = threads_running(&mut self.link).await;
        let own = own.map_err(|failure| MoveError::of_source(self.shard, failure))?;
        Ok(own.max(self.targets.threads_running().await?))
    }
}
