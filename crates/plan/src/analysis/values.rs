//! On which shards the rows of a table are that matter.
//!
//! What must always hold: all of these rows are on the shards of the result; an empty result means that no row matters.

use std::collections::{BTreeSet, HashMap, HashSet};

use weir_catalog::{Constant, Placement};

use super::{Analysis, Base, ColumnRef, KeyRange, alike};
use crate::Refusal;
use crate::known::KnownValue;
use crate::place::{Places, Shards, all_shards, usable};

/// More combinations of a key's values are not looked up one by one.
const MOST_COMBINATIONS: usize = 4096;

/// What is known of the columns of all instances, followed through equalities.
pub(crate) struct Values<'a> {
    analysis: &'a Analysis<'a>,
    /// For each column the limits of it alone.
    single: HashMap<ColumnRef, Vec<usize>>,
}

impl<'a> Values<'a> {
    pub(crate) fn of(analysis: &'a Analysis<'a>) -> Self {
        let mut single: HashMap<ColumnRef, Vec<usize>> = HashMap::new();
        let mut fresh: Vec<(ColumnRef, usize)> = Vec::new();
        for (place, limit) in analysis.limits.iter().enumerate() {
            if let [column] = limit.columns[..] {
                fresh.push((column, place));
            }
        }
        let next = analysis.followers();
        let mut known = HashSet::new();
        while let Some((column, limit)) = fresh.pop() {
            if !known.insert((column, limit)) {
                continue;
            }
            if !analysis.spend(1 + next.get(&column).map_or(0, BTreeSet::len)) {
                break;
            }
            single.entry(column).or_default().push(limit);
            fresh.extend(next.get(&column).into_iter().flatten().map(|column| (*column, limit)));
        }
        Values { analysis, single }
    }

    /// Whether two columns have one and the same value, by constants.
    pub(crate) fn one_value(&self, one: ColumnRef, other: ColumnRef, places: &Places<'_>) -> bool {
        let constants = |column: ColumnRef| {
            let limits = self.single.get(&column).into_iter().flatten().map(|limit| &self.analysis.limits[*limit].rows);
            limits.filter_map(|rows| match &rows[..] {
                [row] => match &row[0] {
                    KeyRange::Value(known) if known.constant != Constant::Null => Some((known, places.read(known))),
                    _ => None,
                },
                _ => None,
            })
        };
        let alike = match (self.analysis.kind(one), self.analysis.kind(other)) {
            (Some(one), Some(other)) => alike(one, other),
            _ => false,
        };
        let equal = |one: &KnownValue, other: &KnownValue| {
            one.hexadecimal == other.hexadecimal && one.constant == other.constant
        };
        alike && constants(one).any(|(known, ())| constants(other).any(|(other, ())| equal(known, other)))
    }

    /// The shards of the rows of a table.
    pub(crate) fn shards(&self, instance: usize, places: &Places<'_>) -> Result<Shards, Refusal> {
        let Some(base) = self.analysis.base(instance) else { return Ok(Shards::none()) };
        if self.analysis.impossible.contains(&instance) {
            return Ok(Shards::none());
        }
        let key = match &base.table.placement {
            Placement::Single(shard) => return Ok(Shards::one(*shard)),
            Placement::Global => return Ok(Shards::of(&base.database.shards)),
            Placement::Sharded(key) => key,
        };
        let mut shards = all_shards(base);
        let columns: Vec<ColumnRef> =
            key.columns.iter().map(|column| ColumnRef { instance, column: *column }).collect();
        if let [column] = &columns[..] {
            for limit in self.single.get(column).into_iter().flatten() {
                let mut found = Shards::none();
                for row in &self.analysis.limits[*limit].rows {
                    found.add(&self.of_part(base, places, &row[0])?);
                }
                shards.keep(&found);
            }
            shards.keep(&self.of_both_ends(base, places, *column));
            return Ok(shards);
        }
        for limit in &self.analysis.limits {
            if limit.columns.len() < 2 {
                continue;
            }
            let order: Option<Vec<usize>> =
                columns.iter().map(|column| limit.columns.iter().position(|other| other == column)).collect();
            let Some(order) = order else { continue };
            let mut found = Shards::none();
            for row in &limit.rows {
                let parts: Vec<&KeyRange> = order.iter().map(|place| &row[*place]).collect();
                found.add(&self.of_parts(base, places, &parts)?);
            }
            shards.keep(&found);
        }
        if let Some(found) = self.of_combinations(base, places, &columns)? {
            shards.keep(&found);
        }
        Ok(shards)
    }

    /// The shards of `c > 1 AND c < 5`, whose ends are limits of their own.
    fn of_both_ends(&self, base: &Base<'_>, places: &Places<'_>, column: ColumnRef) -> Shards {
        let limits = self.single.get(&column).into_iter().flatten();
        let ranges = limits.filter_map(|limit| match &self.analysis.limits[*limit].rows[..] {
            [row] => match &row[0] {
                KeyRange::Range(low, high) => Some((low, high)),
                KeyRange::Value(_) => None,
            },
            _ => None,
        });
        let (mut low, mut high) = (None, None);
        for (from, to) in ranges {
            low = low.or(from.as_ref());
            high = high.or(to.as_ref());
        }
        if low.is_some() && high.is_some() { places.of_range(base, low, high) } else { all_shards(base) }
    }

    /// The shards of all combinations of what each column is limited to.
    fn of_combinations(
        &self,
        base: &Base<'_>,
        places: &Places<'_>,
        columns: &[ColumnRef],
    ) -> Result<Option<Shards>, Refusal> {
        let mut lists: Vec<Vec<&KeyRange>> = Vec::new();
        for column in columns {
            let limits = self.single.get(column).into_iter().flatten();
            let shortest = limits.min_by_key(|limit| self.analysis.limits[**limit].rows.len());
            let Some(shortest) = shortest else { return Ok(None) };
            lists.push(self.analysis.limits[*shortest].rows.iter().map(|row| &row[0]).collect());
        }
        if lists.iter().map(Vec::len).product::<usize>() > MOST_COMBINATIONS {
            return Ok(None);
        }
        let mut combinations: Vec<Vec<&KeyRange>> = vec![Vec::new()];
        for list in lists {
            let longer = combinations.iter().flat_map(|start| {
                list.iter().map(move |part| {
                    let mut parts = start.clone();
                    parts.push(*part);
                    parts
                })
            });
            combinations = longer.collect();
        }
        let mut found = Shards::none();
        for parts in combinations {
            found.add(&self.of_parts(base, places, &parts)?);
        }
        Ok(Some(found))
    }

    fn of_parts(&self, base: &Base<'_>, places: &Places<'_>, parts: &[&KeyRange]) -> Result<Shards, Refusal> {
        let Some(key) = base.table.shard_key() else { return Ok(all_shards(base)) };
        let mut values = Vec::with_capacity(parts.len());
        for (part, column) in parts.iter().zip(&key.columns) {
            let KeyRange::Value(known) = part else { return Ok(all_shards(base)) };
            match usable(base, *column, known) {
                Some(_) => values.push(known.clone()),
                None => return Ok(all_shards(base)),
            }
        }
        places.of_values(base, &values)
    }

    fn of_part(&self, base: &Base<'_>, places: &Places<'_>, part: &KeyRange) -> Result<Shards, Refusal> {
        match part {
            KeyRange::Value(_) => self.of_parts(base, places, &[part]),
            KeyRange::Range(low, high) => Ok(places.of_range(base, low.as_ref(), high.as_ref())),
        }
    }
}
