//! Rows in memory that are sorted or compared.
//!
//! What must always hold: of equal rows the first one stays; memory is bounded.

use std::collections::HashMap;

use weir_plan::{Combine, Union};
use weir_wire::Failure;
use weir_wire::error::codes;

/// A row's key, and the row.
type Keyed = (Vec<u8>, Vec<u8>);

/// See the module.
pub(super) struct Kept {
    rows: Vec<Keyed>,
    /// What the present query's rows are compared with, if they are not just more.
    before: Vec<Keyed>,
    how: Combine,
    bytes: usize,
    limit: usize,
    /// No more than these first rows are wanted, and all queries just add theirs.
    most: usize,
}

impl Kept {
    /// Rows of so many bytes at most.
    pub(super) fn new(union: &Union, limit: usize) -> Kept {
        let adds = union.parts.iter().all(|part| part.how == Combine::All);
        let most = union.take.filter(|_| adds).map_or(u64::MAX, |take| take.saturating_add(union.skip));
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        Kept { rows: Vec::new(), before: Vec::new(), how: Combine::All, bytes: 0, limit, most }
    }

    /// The rows of the next query follow, which are combined so.
    pub(super) fn begin(&mut self, how: Combine) {
        self.how = how;
        if matches!(how, Combine::Intersect { .. } | Combine::Except { .. }) {
            self.before = std::mem::take(&mut self.rows);
        }
    }

    /// A row of the present query.
    ///
    /// # Errors
    /// When there are too many.
    pub(super) fn put(&mut self, key: &[u8], row: &[u8]) -> Result<(), Failure> {
        let keyed = (key.to_vec(), row.to_vec());
        self.bytes += size(&keyed);
        self.rows.push(keyed);
        if self.bytes > self.limit || self.rows.len() > self.most.saturating_mul(2).saturating_add(1024) {
            self.forget();
        }
        if self.bytes <= self.limit {
            return Ok(());
        }
        let message = format!(
            "Out of sort memory: the rows of a UNION that are sorted or compared over several shards have more than {} bytes. Ask for \
             fewer rows in its queries",
            self.limit
        );
        Err(Failure::client(codes::ER_OUT_OF_SORTMEMORY, message))
    }

    /// The present query has no more rows.
    pub(super) fn end(&mut self) {
        match self.how {
            Combine::All => {}
            Combine::Distinct => self.make_distinct(),
            Combine::Intersect { all } => self.compare(all, true),
            Combine::Except { all } => self.compare(all, false),
        }
    }

    /// The rows in their order.
    pub(super) fn into_rows(mut self) -> impl Iterator<Item = Vec<u8>> {
        self.sort();
        self.rows.into_iter().map(|(_, row)| row)
    }

    /// Forgets what is not wanted, as far as that is known.
    fn forget(&mut self) {
        match self.how {
            Combine::Distinct => self.make_distinct(),
            _ if self.rows.len() > self.most => {
                self.sort();
                self.rows.truncate(self.most);
                self.weigh();
            }
            _ => {}
        }
    }

    fn make_distinct(&mut self) {
        self.sort();
        self.rows.dedup_by(|later, first| later.0 == first.0);
        self.weigh();
    }

    /// Of the rows before, those stay that the present query has, or has not.
    fn compare(&mut self, all: bool, stay: bool) {
        let mut counts: HashMap<Vec<u8>, usize> = HashMap::new();
        for (key, _) in self.rows.drain(..) {
            *counts.entry(key).or_default() += 1;
        }
        for keyed in std::mem::take(&mut self.before) {
            let there = match counts.get_mut(&keyed.0) {
                None | Some(0) => false,
                Some(count) => {
                    *count -= usize::from(all);
                    true
                }
            };
            if there == stay {
                self.rows.push(keyed);
            }
        }
        if all { self.weigh() } else { self.make_distinct() }
    }

    fn sort(&mut self) {
        self.rows.sort_by(|one, other| one.0.cmp(&other.0));
    }

    fn weigh(&mut self) {
        self.bytes = self.rows.iter().map(size).sum();
    }
}

fn size((key, row): &Keyed) -> usize {
    size_of::<Keyed>() + key.capacity() + row.capacity()
}

#[cfg(test)]
mod tests;
