//! Which server a read is sent to: a pure function of what is known of the group and of what the session has seen.

use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_backend::Position;

use crate::level::Level;
use crate::seen::Seen;
use crate::view::View;

/// A session stays with its reader for so long before others are considered.
const STAY: Duration = Duration::from_secs(1);
/// Reads that go to the writer for so long only because what the session has seen there is not covered by a watched position
/// make it worth while to ask for one.
const ASK_AFTER: Duration = Duration::from_millis(200);

/// Where a read goes.
#[derive(Debug, Clone, PartialEq)]
pub enum Choice {
    /// To the writer.
    Writer,
    /// To a reader, which has everything that the session needs, or must be waited for.
    Reader {
        /// Its place in the group.
        index: usize,
        /// The position that it must have reached.
        wait: Option<Arc<Position>>,
    },
    /// Ask the writer for its position first ([`Seen::covered_by`]), and then choose again.
    Ask,
}

/// What a worker knows of the readers besides the group's view.
pub trait Readers {
    /// Statements in flight there.
    fn load(&self, index: usize) -> usize;
    /// It was too late for a position lately: nobody should wait there now.
    fn is_late(&self, index: usize) -> bool;
    /// It has failed this very statement.
    fn is_excluded(&self, index: usize) -> bool;
    /// It is known to have reached this position, in this life.
    fn has_reached(&self, index: usize, life: u64, position: &Position) -> bool;
    /// The statement itself asks for a reader.
    fn is_wanted(&self) -> bool;
    /// A number that differs from one choice to the next.
    fn turn(&self) -> usize;
}

/// How ready a reader is for a session.
#[derive(Debug, Clone, PartialEq)]
enum Ready {
    Now,
    After(Arc<Position>),
}

/// Chooses a server for a read. At level [`Level::Strong`] the caller has asked for the writer's position before, and `seen` has it.
pub fn choose(view: &View, seen: &Seen, level: Level, readers: &dyn Readers, now: Instant) -> Choice {
    if level == Level::Primary {
        return Choice::Writer;
    }
    let candidates = || (0..view.members.len()).filter(|&index| view.takes_reads(index) && !readers.is_excluded(index));
    if level == Level::Eventual {
        // The view may be older than its readers are allowed to be.
        let fresh =
            |index: &usize| *index == view.writer || view.age(*index, now).is_some_and(|age| age <= view.max_lag);
        let chosen = pick(view, readers, candidates().filter(fresh));
        return chosen.map_or(Choice::Writer, |index| at(view, index, None));
    }
    if let Some(index) = stays(view, seen, readers, now) {
        return Choice::Reader { index, wait: None };
    }
    let judged: Vec<_> = candidates().map(|index| (index, judge(view, seen, readers, index))).collect();
    let ready = judged.iter().filter(|(_, ready)| *ready == Some(Ready::Now)).map(|(index, _)| *index);
    if let Some(index) = pick(view, readers, ready) {
        return at(view, index, None);
    }
    let waits =
        |(index, ready): &(usize, Option<Ready>)| matches!(ready, Some(Ready::After(_))) && !readers.is_late(*index);
    let own = seen.reader.map(|last| last.index);
    let waiting = || judged.iter().filter(|judged| waits(judged)).map(|(index, _)| *index);
    let chosen = waiting().find(|index| Some(*index) == own).or_else(|| pick(view, readers, waiting()));
    if let Some(index) = chosen {
        let wait = judged.into_iter().find_map(|(judged, ready)| match ready {
            Some(Ready::After(position)) if judged == index => Some(position),
            _ => None,
        });
        return at(view, index, wait);
    }
    let unknown = judged.iter().any(|(_, ready)| ready.is_none());
    let long = seen.uncovered_since.is_some_and(|since| now.saturating_duration_since(since) >= ASK_AFTER);
    if unknown && (long || readers.is_wanted()) { Choice::Ask } else { Choice::Writer }
}

/// The writer, where its share of the reads has its turn, is no reader to wait for.
fn at(view: &View, index: usize, wait: Option<Arc<Position>>) -> Choice {
    if index == view.writer { Choice::Writer } else { Choice::Reader { index, wait } }
}

/// The session's own reader, while nothing speaks against it.
fn stays(view: &View, seen: &Seen, readers: &dyn Readers, now: Instant) -> Option<usize> {
    let last = seen.reader?;
    let settled = seen.written.is_none() && seen.horizon.is_none();
    let same = view.takes_reads(last.index)
        && view.members[last.index].life == last.life
        && !readers.is_excluded(last.index)
        && last.index != view.writer;
    let fresh = now.saturating_duration_since(last.since) < STAY;
    // Later, others are considered; it is one of them.
    (settled && same && (fresh || !covers_all(view, last.at))).then_some(last.index)
}

/// Whether a watched position of the writer covers all that was seen before `at`.
fn covers_all(view: &View, at: Instant) -> bool {
    view.writer_position.as_ref().is_some_and(|writer| writer.asked > at)
}

/// `None`: it is not known what it would have to have.
fn judge(view: &View, seen: &Seen, readers: &dyn Readers, index: usize) -> Option<Ready> {
    if index == view.writer {
        return Some(Ready::Now);
    }
    let member = &view.members[index];
    let elsewhere = seen.reader.filter(|last| (last.index, last.life) != (index, member.life)).map(|last| last.at);
    let needed = match seen.horizon.max(elsewhere) {
        None => seen.written.clone(),
        Some(at) => {
            let writer = view.writer_position.as_ref().filter(|writer| writer.asked > at)?;
            let mut needed = writer.position.clone();
            if let Some(written) = &seen.written {
                Arc::make_mut(&mut needed).add(written);
            }
            Some(needed)
        }
    };
    let Some(needed) = needed else { return Some(Ready::Now) };
    let has = member.applied.as_ref().is_some_and(|applied| applied.covers(&needed))
        || readers.has_reached(index, member.life, &needed);
    Some(if has { Ready::Now } else { Ready::After(needed) })
}

/// One of them, each as often as its weight and its present load say: a server with twice the weight gets twice the reads, one
/// that is busy fewer.
fn pick(view: &View, readers: &dyn Readers, among: impl Iterator<Item = usize>) -> Option<usize> {
    const SCALE: u64 = 1 << 16;
    let share = |index: usize| u64::from(view.members[index].weight) * SCALE / (readers.load(index) as u64 + 1);
    let candidates: Vec<(usize, u64)> = among.map(|index| (index, share(index).max(1))).collect();
    if let [(only, _)] = candidates[..] {
        return Some(only);
    }
    let all: u64 = candidates.iter().map(|(_, share)| share).sum();
    // Multiples of the golden ratio: wherever a row of turns begins, it is spread evenly. As few sessions may be all there are, and
    // each stays where it began, a short one has to be.
    let fraction = (readers.turn() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut point = ((u128::from(fraction) * u128::from(all)) >> u64::BITS) as u64;
    candidates.into_iter().find_map(|(index, share)| match point.checked_sub(share) {
        None => Some(index),
        Some(rest) => {
            point = rest;
            None
        }
    })
}

#[cfg(test)]
mod tests;
