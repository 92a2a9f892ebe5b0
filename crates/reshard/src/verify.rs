//! Comparing both sides of a move while changes go on.
//!
//! What must always hold: a difference is told only if it lasts: the sources' row is the same before and after the targets were asked, the
//! targets had applied all that the sources had before, and still have something else, several times. Checksums are computed by the servers;
//! rows of a chunk that do not add up are compared by key. Servers are asked for one chunk at a time, as fast as copying may be.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use weir_catalog::ShardId;
use weir_wire::Failure;

use crate::form::Form;
use crate::key::{Beyond, put_beyond, put_is_one_of};
use crate::link::{Link, OwnedRow};
use crate::plan::{Placed, Site, TablePlan};
use crate::shared::Shared;
use crate::{Handle, MoveError};

/// Rows of a first chunk, and the least of any that takes too long.
const FIRST: u64 = 1_000;
const LEAST: u64 = 50;
/// How often a row has to be found different.
const CERTAIN: u32 = 3;
/// How often rows are looked at that change all the time.
const ROUNDS: u32 = 60;
/// The most keys of one side of a chunk: a target may have any number of rows that it should not have. Those that are left out look as if
/// they differed, and are looked at again.
const MOST_KEYS: u64 = 100_000;
/// Keys that are looked at again at once.
const KEYS: usize = 200;

/// How both sides are compared.
#[derive(Debug, Clone)]
pub struct VerifySettings {
    /// The most differences that are told.
    pub most_differences: usize,
    /// The longest wait for the engine to follow, each time.
    pub patience: Duration,
}

impl Default for VerifySettings {
    fn default() -> VerifySettings {
        VerifySettings { most_differences: 20, patience: Duration::from_secs(30) }
    }
}

/// What came of a comparison.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verification {
    /// Rows of the sources that were compared.
    pub rows: u64,
    /// Chunks of them.
    pub chunks: u64,
    /// What differs lastingly, up to the bound.
    pub differences: Vec<Difference>,
    /// There are more differences than these.
    pub more: bool,
    /// Rows that have changed each time they were looked at, so that nothing can be said of them.
    pub unsettled: u64,
}

/// A row that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The table.
    pub table: String,
    /// The row's key, as SQL: `` `id`=5 ``.
    pub key: String,
    /// How it differs.
    pub kind: DifferenceKind,
}

/// How a row differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DifferenceKind {
    /// The sources have it, the targets don't (or fewer of them than should).
    Missing,
    /// The targets have it, the sources don't, or more of them than should.
    Extra,
    /// Both have it, with other values.
    Changed,
}

/// The rows of some sites under each key: their checksums.
type Rows = BTreeMap<Vec<String>, Vec<u64>>;

/// A range of keys: behind the first, up to the second.
type Range = (Option<Vec<String>>, Option<Vec<String>>);

struct Comparing<'h> {
    handle: &'h Handle,
    shared: &'h Shared,
    settings: VerifySettings,
    sources: BTreeMap<ShardId, Link>,
    targets: BTreeMap<ShardId, Link>,
    rows: u64,
    found: Verification,
}

/// Compares all tables.
pub(crate) async fn verify(
    handle: &Handle,
    shared: &Shared,
    settings: VerifySettings,
) -> Result<Verification, MoveError> {
    let mut sources = BTreeMap::new();
    for shard in shared.plan.sources() {
        let link = Link::open(&*shared.connector, shard).await;
        sources.insert(shard, link.map_err(|failure| MoveError::of_source(shard, failure))?);
    }
    let mut targets = BTreeMap::new();
    for shard in shared.plan.targets() {
        let link = Link::open(&*shared.connector, shard).await;
        targets.insert(shard, link.map_err(|failure| MoveError::of_target(shard, failure))?);
    }
    let mut comparing =
        Comparing { handle, shared, settings, sources, targets, rows: FIRST, found: Verification::default() };
    for nth in 0..shared.plan.tables.len() {
        comparing.table(nth).await?;
    }
    Ok(comparing.found)
}

impl Comparing<'_> {
    async fn table(&mut self, nth: usize) -> Result<(), MoveError> {
        let (table, form) = (&self.shared.plan.tables[nth], &*self.shared.tables[nth].form);
        // Each target has all rows, or all of them together have.
        let sides: Vec<&[Site]> = match table.placement.columns().is_empty().then(|| table.placement.place(&[])) {
            Some(Ok(Placed::Everywhere)) => table.targets.chunks(1).collect(),
            _ => vec![&table.targets],
        };
        let mut from = None;
        loop {
            let to = self.end_of_chunk(table, form, from.as_ref()).await?;
            let range = (from, to.clone());
            self.chunk(table, form, &range, &sides).await?;
            match to {
                Some(_) if !self.found.more => from = to,
                _ => return Ok(()),
            }
        }
    }

    /// The last key of the next chunk: that of a source that has as many rows. `None`: all the rest is one chunk.
    async fn end_of_chunk(
        &mut self,
        table: &TablePlan,
        form: &Form,
        from: Option<&Vec<String>>,
    ) -> Result<Option<Vec<String>>, MoveError> {
        let rows = self.rows.min(self.shared.controls.most_rows_per_chunk());
        for site in &table.sources {
            let mut sql = form.keys(site).into_bytes();
            put_range(&mut sql, form, from, None);
            sql.extend_from_slice(format!(" ORDER BY {} LIMIT 1 OFFSET {}", form.order(), rows - 1).as_bytes());
            let found = ask(&mut self.sources, site.shard, &sql, MoveError::of_source).await?;
            if let Some(row) = found.first() {
                return Ok(Some(form.key_alone(row)));
            }
        }
        Ok(None)
    }

    async fn chunk(
        &mut self,
        table: &TablePlan,
        form: &Form,
        range: &Range,
        sides: &[&[Site]],
    ) -> Result<(), MoveError> {
        let controls = &self.shared.controls;
        while controls.is_paused() {
            controls.changed(Duration::from_millis(200)).await;
        }
        let begun = Instant::now();
        let condition = {
            let mut sql = Vec::new();
            put_range(&mut sql, form, range.0.as_ref(), range.1.as_ref());
            sql
        };
        let here = sums(&mut self.sources, &table.sources, form, &condition, MoveError::of_source).await?;
        // Without what waits for other things than rows: chunks that are small for that would never reach the end of a table that grows.
        let mut reading = begun.elapsed();
        self.follow().await?;
        for side in sides {
            let asked = Instant::now();
            let there = sums(&mut self.targets, side, form, &condition, MoveError::of_target).await?;
            reading += asked.elapsed();
            if here != there {
                self.by_key(table, form, &condition, side).await?;
            }
        }
        self.found.rows += here.0;
        self.found.chunks += 1;
        let time = reading.as_secs_f64().max(1e-6);
        let factor = controls.chunk_time().as_secs_f64() / time;
        let wanted = self.rows.min(controls.most_rows_per_chunk()) as f64;
        self.rows = ((wanted * factor.clamp(0.25, 2.0)) as u64).max(LEAST);
        if let Some(rate) = controls.rate() {
            let whole = Duration::from_secs_f64(here.0 as f64 / rate as f64);
            tokio::time::sleep(whole.saturating_sub(begun.elapsed())).await;
        }
        Ok(())
    }

    /// Waits until the targets have what the sources have now.
    async fn follow(&self) -> Result<(), MoveError> {
        let positions = self.handle.positions().await?;
        self.handle.catch_up(&positions, self.settings.patience).await
    }

    /// Compares the rows of a chunk, and tells what differs lastingly.
    async fn by_key(
        &mut self,
        table: &TablePlan,
        form: &Form,
        condition: &[u8],
        side: &[Site],
    ) -> Result<(), MoveError> {
        let here = rows(&mut self.sources, &table.sources, form, condition, MoveError::of_source).await?;
        self.follow().await?;
        let there = rows(&mut self.targets, side, form, condition, MoveError::of_target).await?;
        let keys: BTreeSet<&Vec<String>> = here.keys().chain(there.keys()).collect();
        let differs = |key: &&Vec<String>| kind(here.get(*key), there.get(*key)).is_some();
        let suspects: Vec<Vec<String>> = keys.into_iter().filter(differs).cloned().collect();
        for suspects in suspects.chunks(KEYS) {
            self.look_again(table, form, suspects, side).await?;
        }
        Ok(())
    }

    async fn look_again(
        &mut self,
        table: &TablePlan,
        form: &Form,
        suspects: &[Vec<String>],
        side: &[Site],
    ) -> Result<(), MoveError> {
        let mut left: BTreeMap<Vec<String>, (u32, Option<DifferenceKind>)> =
            suspects.iter().map(|key| (key.clone(), (0, None))).collect();
        for _ in 0..ROUNDS {
            let condition = one_of(form, left.keys());
            let before = rows(&mut self.sources, &table.sources, form, &condition, MoveError::of_source).await?;
            self.follow().await?;
            let there = rows(&mut self.targets, side, form, &condition, MoveError::of_target).await?;
            let after = rows(&mut self.sources, &table.sources, form, &condition, MoveError::of_source).await?;
            left.retain(|key, (times, last)| {
                let (before, there, after) = (before.get(key), there.get(key), after.get(key));
                match kind(before, there) {
                    None => return false,
                    Some(kind) if before == after => (*times, *last) = (*times + 1, Some(kind)),
                    Some(_) => {}
                }
                true
            });
            if left.values().all(|(times, _)| *times >= CERTAIN) {
                break;
            }
        }
        for (key, (times, kind)) in left {
            match kind {
                Some(_) if self.found.differences.len() >= self.settings.most_differences => self.found.more = true,
                Some(kind) if times >= CERTAIN => {
                    let (table, key) = (table.name.clone(), spelt(form, &key));
                    self.found.differences.push(Difference { table, key, kind });
                }
                _ => self.found.unsettled += 1,
            }
        }
        Ok(())
    }
}

/// How what both sides have under a key differs.
fn kind(here: Option<&Vec<u64>>, there: Option<&Vec<u64>>) -> Option<DifferenceKind> {
    let (here, there) = (here.map_or(&[][..], Vec::as_slice), there.map_or(&[][..], Vec::as_slice));
    match here.len().cmp(&there.len()) {
        Ordering::Greater => Some(DifferenceKind::Missing),
        Ordering::Less => Some(DifferenceKind::Extra),
        Ordering::Equal => (here != there).then_some(DifferenceKind::Changed),
    }
}

/// A key as a condition.
fn spelt(form: &Form, key: &[String]) -> String {
    let mut out = Vec::new();
    crate::key::put_is(&mut out, &form.key_names, key.iter().map(String::as_bytes));
    String::from_utf8_lossy(&out).into_owned()
}

fn one_of<'k>(form: &Form, keys: impl Iterator<Item = &'k Vec<String>>) -> Vec<u8> {
    let keys: Vec<Vec<u8>> = keys.map(|key| key.join(",").into_bytes()).collect();
    let mut condition = b" WHERE ".to_vec();
    put_is_one_of(&mut condition, &form.key_names, keys.iter().map(Vec::as_slice));
    condition
}

fn put_range(sql: &mut Vec<u8>, form: &Form, from: Option<&Vec<String>>, to: Option<&Vec<String>>) {
    let mut between: &[u8] = b" WHERE ";
    for (key, side) in [(from, Beyond::After), (to, Beyond::UpTo)] {
        let Some(key) = key else { continue };
        sql.extend_from_slice(between);
        put_beyond(sql, &form.key_names, key, side);
        between = b" AND ";
    }
}

/// Asks a site's shard.
async fn ask(
    links: &mut BTreeMap<ShardId, Link>,
    shard: ShardId,
    sql: &[u8],
    error: fn(ShardId, Failure) -> MoveError,
) -> Result<Vec<OwnedRow>, MoveError> {
    let link = links.get_mut(&shard).ok_or_else(|| MoveError::internal("a comparison without a connection"))?;
    link.query(&String::from_utf8_lossy(sql)).await.map_err(|failure| error(shard, failure))
}

/// How many rows these sites have, and the checksum of all of them.
async fn sums(
    links: &mut BTreeMap<ShardId, Link>,
    sites: &[Site],
    form: &Form,
    condition: &[u8],
    error: fn(ShardId, Failure) -> MoveError,
) -> Result<(u64, u64), MoveError> {
    let mut all = (0, 0);
    for site in sites {
        let sql = [form.sums(site).as_bytes(), condition].concat();
        let rows = ask(links, site.shard, &sql, error).await?;
        let number = |at: usize| number(rows.first().and_then(|row| row.get(at)));
        all = (all.0 + number(0)?, all.1 ^ number(1)?);
    }
    Ok(all)
}

/// The rows of these sites.
async fn rows(
    links: &mut BTreeMap<ShardId, Link>,
    sites: &[Site],
    form: &Form,
    condition: &[u8],
    error: fn(ShardId, Failure) -> MoveError,
) -> Result<Rows, MoveError> {
    let mut all = Rows::new();
    for site in sites {
        let limit = format!(" LIMIT {MOST_KEYS}");
        let sql = [form.key_sums(site).as_bytes(), condition, limit.as_bytes()].concat();
        for row in ask(links, site.shard, &sql, error).await? {
            all.entry(form.key_alone(&row)).or_default().push(number(row.last())?);
        }
    }
    all.values_mut().for_each(|sums| sums.sort_unstable());
    Ok(all)
}

fn number(cell: Option<&Option<Vec<u8>>>) -> Result<u64, MoveError> {
    let text = cell.and_then(Option::as_deref).and_then(|bytes| std::str::from_utf8(bytes).ok());
    text.and_then(|text| text.parse().ok()).ok_or_else(|| MoveError::internal("a checksum is no number"))
}
