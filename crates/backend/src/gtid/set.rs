//! MySQL's positions: sets of GTIDs, `source:1-5:7,source:tag:1-3` ("GTID Sets" in MySQL's manual).
//!
//! What must always hold: the intervals of a series are sorted, and neither overlap nor touch.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use super::NoPosition;

/// A set of GTIDs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GtidSet {
    /// By source and tag: `uuid`, or `uuid:tag`.
    series: BTreeMap<Box<str>, Vec<Interval>>,
}

/// From the first number to the last, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Interval {
    first: u64,
    last: u64,
}

impl GtidSet {
    /// Whether all of `other` is in this set.
    pub fn contains(&self, other: &GtidSet) -> bool {
        let within = |(series, wanted): (&_, &Vec<Interval>)| {
            let Some(own) = self.series.get(series) else { return wanted.is_empty() };
            wanted.iter().all(|wanted| {
                // The only interval that may hold it: the last that begins before it or with it.
                let at = own.partition_point(|interval| interval.first <= wanted.first);
                at > 0 && own[at - 1].last >= wanted.last
            })
        };
        other.series.iter().all(within)
    }

    /// Adds all of `other`.
    pub fn add(&mut self, other: &GtidSet) {
        for (series, intervals) in &other.series {
            let own = self.series.entry(series.clone()).or_default();
            own.extend_from_slice(intervals);
            normalise(own);
        }
    }

    /// What is in this set and not in `other`.
    #[must_use]
    pub fn without(&self, other: &GtidSet) -> GtidSet {
        let mut series = BTreeMap::new();
        for (name, intervals) in &self.series {
            let others = other.series.get(name).map(Vec::as_slice).unwrap_or_default();
            let rest: Vec<_> = intervals.iter().flat_map(|interval| cut(*interval, others)).collect();
            if !rest.is_empty() {
                series.insert(name.clone(), rest);
            }
        }
        GtidSet { series }
    }

    /// How many GTIDs it has.
    pub fn len(&self) -> u64 {
        let length = |interval: &Interval| interval.last.saturating_sub(interval.first).saturating_add(1);
        self.series.values().flatten().map(length).fold(0, u64::saturating_add)
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.series.values().all(Vec::is_empty)
    }

    /// See [`super::Position::up_to`].
    pub(super) fn up_to(self, watched: &GtidSet) -> GtidSet {
        let fill = |(series, intervals): (Box<str>, Vec<Interval>)| {
            let last = intervals.last().map_or(0, |interval| interval.last);
            let before = watched.series.get(&series).map(Vec::as_slice).unwrap_or_default();
            let mut all: Vec<Interval> = before.iter().copied().filter(|interval| interval.first <= last).collect();
            let known = all.last_mut().map_or(0, |interval| {
                interval.last = interval.last.min(last);
                interval.last
            });
            let complete = before.last().is_none_or(|interval| interval.last <= last);
            if complete && known < last {
                all.push(Interval { first: known + 1, last });
            }
            all.extend(intervals);
            normalise(&mut all);
            (series, all)
        };
        GtidSet { series: self.series.into_iter().map(fill).collect() }
    }
}

/// The parts of an interval that are in none of `others`, which are sorted.
fn cut(interval: Interval, others: &[Interval]) -> Vec<Interval> {
    let (mut rest, mut first) = (Vec::new(), interval.first);
    for other in others {
        if other.last < first || other.first > interval.last {
            continue;
        }
        if other.first > first {
            rest.push(Interval { first, last: other.first - 1 });
        }
        first = other.last.saturating_add(1);
    }
    if first <= interval.last {
        rest.push(Interval { first, last: interval.last });
    }
    rest
}

fn normalise(intervals: &mut Vec<Interval>) {
    intervals.sort_unstable_by_key(|interval| interval.first);
    intervals.dedup_by(|next, previous| {
        let joined = next.first <= previous.last.saturating_add(1);
        if joined {
            previous.last = previous.last.max(next.last);
        }
        joined
    });
}

impl FromStr for GtidSet {
    type Err = NoPosition;

    /// Also reads what `gtid_owned` says, where a thread's id follows each number (`5#12`).
    fn from_str(text: &str) -> Result<GtidSet, NoPosition> {
        let none = || NoPosition(text.to_owned());
        let mut set = GtidSet::default();
        for source in text.split(',').map(str::trim).filter(|source| !source.is_empty()) {
            let mut parts = source.split(':').map(str::trim);
            let uuid = parts.next().filter(|uuid| is_uuid(uuid)).ok_or_else(none)?.to_ascii_lowercase();
            let mut series: Box<str> = uuid.as_str().into();
            for part in parts {
                if part.starts_with(|c: char| c.is_ascii_digit()) {
                    set.series.entry(series.clone()).or_default().push(interval(part).ok_or_else(none)?);
                } else if is_tag(part) {
                    series = format!("{uuid}:{part}").into();
                } else {
                    return Err(none());
                }
            }
        }
        set.series.values_mut().for_each(normalise);
        Ok(set)
    }
}

fn interval(text: &str) -> Option<Interval> {
    let (range, _thread) = text.split_once('#').unwrap_or((text, ""));
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let interval = Interval { first: first.parse().ok()?, last: last.parse().ok()? };
    (interval.first > 0 && interval.first <= interval.last).then_some(interval)
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36 && text.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
}

fn is_tag(text: &str) -> bool {
    let is_tag_byte = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
    (1..=32).contains(&text.len()) && text.bytes().all(is_tag_byte)
}

impl fmt::Display for GtidSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (series, intervals)) in self.series.iter().enumerate() {
            if number > 0 {
                f.write_str(",")?;
            }
            f.write_str(series)?;
            for Interval { first, last } in intervals {
                match first == last {
                    true => write!(f, ":{first}")?,
                    false => write!(f, ":{first}-{last}")?,
                }
            }
        }
        Ok(())
    }
}
