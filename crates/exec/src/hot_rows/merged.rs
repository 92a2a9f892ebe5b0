//! A batch whose members all move one counter, made by one statement.
//!
//! The row is locked and read first, with the table's definition under the same transaction's lock; what each member would find is
//! computed from the value. What must always hold: whatever is not certain ends in a rollback, and the members run one after another.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use weir_backend::Lease;
use weir_wire::{Failure, StatusFlags};

use super::batch::{Answer, Batch, queue_text};
use super::counter::{Moved, Number, Step, moved};
use super::definition::{counter_range, is_whole};
use super::member::{Said, WarningRow};
use super::reply::{self, Reply};

/// What members must have in common for their moves to be made together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CounterForm {
    /// The table, as their statements write it.
    pub table: Vec<u8>,
    /// The counter, as their statements write it.
    pub column: Vec<u8>,
    /// Its name.
    pub name: String,
    /// What finds the row, but for guards.
    pub condition: Vec<u8>,
    /// Columns that the condition compares with bound whole numbers: the same as with numbers of the text if they hold whole numbers.
    pub whole: Vec<String>,
    /// Decimals are bound: the same as decimals of the text if the counter is one.
    pub decimal: bool,
}

/// A member's move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CounterStep {
    /// What it moves.
    pub form: CounterForm,
    /// By how much, and when.
    pub step: Step,
}

/// What a queue has learnt about making moves together.
#[derive(Debug, Default)]
pub struct Merging {
    /// The question whether the table has triggers; there is none if its members' user could not see them.
    pub(super) triggers: std::sync::OnceLock<String>,
    /// The flags of an UPDATE's OK that tell of how the row was found, and one bit more once they are known.
    flags: AtomicU32,
    /// Batches that are not tried to be merged.
    skip: AtomicU32,
}

/// The bit that says that the flags are known.
const KNOWN: u32 = 1 << 16;
/// After a batch could not be merged, so many are not tried.
const SKIPPED: u32 = 8;

/// What has gone wrong: the members have done nothing.
enum NotMerged {
    /// The transaction is to be rolled back.
    Uncertain(&'static str),
    /// The connection is lost.
    Lost(Failure),
}

impl From<Failure> for NotMerged {
    fn from(failure: Failure) -> NotMerged {
        NotMerged::Lost(failure)
    }
}

impl Batch<'_> {
    /// What its members have in common, if their moves may be made together.
    pub(super) fn merges(&self) -> Option<(&CounterForm, &Merging, &str)> {
        let merging = self.merging;
        let question = merging.triggers.get()?;
        let first = &self.members.first()?.counter.as_ref()?.form;
        let alike = |member: &Arc<super::member::Member>| {
            member.must_affect.is_none() && member.counter.as_ref().is_some_and(|counter| counter.form == *first)
        };
        if self.members.len() < 2 || !self.members.iter().all(alike) {
            return None;
        }
        let skips = merging.skip.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok();
        (!skips).then_some((first, merging, question))
    }

    /// Makes its members' moves by one statement, which is not committed yet. `None`: nothing was done, and no transaction is open.
    pub(super) async fn merge(
        &self,
        lease: &mut Lease,
        (form, merging, triggers): (&CounterForm, &Merging, &str),
    ) -> Option<Vec<Answer>> {
        match self.try_merge(lease, form, merging, triggers).await {
            Ok(answers) => Some(answers),
            Err(not_merged) => {
                merging.skip.store(SKIPPED, Ordering::Relaxed);
                match not_merged {
                    NotMerged::Lost(failure) => {
                        lease.retired = true;
                        tracing::debug!(%failure, "a batch was not merged");
                    }
                    NotMerged::Uncertain(why) => {
                        tracing::debug!(why, table = %String::from_utf8_lossy(&form.table), "a batch was not merged");
                        if lease.query("ROLLBACK").await.is_err() {
                            lease.retired = true;
                        }
                    }
                }
                None
            }
        }
    }

    async fn try_merge(
        &self,
        lease: &mut Lease,
        form: &CounterForm,
        merging: &Merging,
        triggers: &str,
    ) -> Result<Vec<Answer>, NotMerged> {
        let CounterForm { table, column, condition, .. } = form;
        let select = [b"SELECT ", &column[..], b" FROM ", table, b" WHERE ", condition, b" FOR UPDATE"].concat();
        let show = [b"SHOW CREATE TABLE ", &table[..]].concat();
        for text in [b"BEGIN", &select[..], &show, triggers.as_bytes()] {
            queue_text(lease, text);
        }
        reply::send(lease).await?;
        let mut replies = Vec::with_capacity(4);
        for _ in 0..4 {
            replies.push(reply::read(lease).await?);
        }
        let moved = self.compute(form, &replies)?;
        let said = match &moved.by {
            None => None,
            Some(by) => {
                let set = [b"UPDATE ", &table[..], b" SET ", column, b" = ", column, b" ", by.as_bytes()].concat();
                queue_text(lease, &[&set[..], b" WHERE ", condition].concat());
                reply::send(lease).await?;
                Some(reply::read(lease).await?.said)
            }
        };
        let flags = match &said {
            Some(said) => found_one(said).ok_or(NotMerged::Uncertain("its UPDATE has found something else"))?,
            None => match merging.flags.load(Ordering::Relaxed) {
                known if known & KNOWN != 0 => StatusFlags::from_bits_retain(known as u16),
                _ => {
                    return Err(NotMerged::Uncertain(
                        "no member finds its row, and what an OK would be like is not known",
                    ));
                }
            },
        };
        merging.flags.store(KNOWN | u32::from(flags.bits()), Ordering::Relaxed);
        let answer = |found: bool| Answer {
            said: Said::Ok {
                affected: found.into(),
                insert_id: 0,
                status: flags,
                warnings: 0,
                info: format!("Rows matched: {0}  Changed: {0}  Warnings: 0", u8::from(found)).into_bytes(),
                changes: Vec::new(),
            },
            warnings: None,
            last_insert_id: None,
        };
        Ok(moved.found.into_iter().map(answer).collect())
    }

    /// What each member finds, if that is certain.
    fn compute(&self, form: &CounterForm, replies: &[Reply]) -> Result<Moved, NotMerged> {
        let [begin, select, show, triggers] = replies else { return Err(NotMerged::Uncertain("replies are missing")) };
        let succeeded = |reply: &Reply| matches!(&reply.said, Said::Ok { warnings: 0, .. });
        if ![begin, select, show, triggers].into_iter().all(succeeded) {
            return Err(NotMerged::Uncertain("its row can't be read without an error or a warning"));
        }
        if cell(triggers, 0) != Some(b"0") {
            return Err(NotMerged::Uncertain("it has triggers"));
        }
        let definition = cell(show, 1).and_then(|text| std::str::from_utf8(text).ok()).unwrap_or_default();
        let range = counter_range(definition, &form.name).map_err(NotMerged::Uncertain)?;
        if form.decimal && is_whole(definition, &form.name)
            || !form.whole.iter().all(|column| is_whole(definition, column))
        {
            return Err(NotMerged::Uncertain("a parameter has another type than its column"));
        }
        let value = match &select.rows[..] {
            [row] => row.first().and_then(|cell| Number::parse(cell.as_deref()?)),
            _ => None,
        };
        let value = value.ok_or(NotMerged::Uncertain("it is not one row with a number"))?;
        let steps: Vec<Step> =
            self.members.iter().filter_map(|member| Some(member.counter.as_ref()?.step.clone())).collect();
        moved(value, range, &steps).ok_or(NotMerged::Uncertain("a member would round, overflow, or change nothing"))
    }
}

/// The flags of an UPDATE's OK that tell of how it has found its row, if it has found one, and has warned of nothing.
fn found_one(said: &Said) -> Option<StatusFlags> {
    match said {
        Said::Ok { status, warnings: 0, info, .. } if info.starts_with(b"Rows matched: 1 ") => {
            Some(*status - StatusFlags::SESSION_STATE_CHANGED)
        }
        _ => None,
    }
}

fn cell(reply: &Reply, at: usize) -> Option<&[u8]> {
    let row: &WarningRow = reply.rows.first()?;
    row.get(at)?.as_deref()
}
