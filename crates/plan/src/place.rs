//! Sets of shards, and where values are.

use std::sync::Arc;

use weir_catalog::{
    Bound, Constant, Database, Located, Method, Placement, RangeShards, ShardId, Table, Weights, locate_null_safe,
    locate_range, locate_stored, ranges_are_unsure,
};

use crate::Refusal;
use crate::analysis::Base;
use crate::known::KnownValue;
use crate::trace::{Asking, Operand, RangeEnd, RoutingAnswer, Trace};

/// A set of shards, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shards(Vec<ShardId>);

impl Shards {
    pub(crate) fn none() -> Self {
        Shards(Vec::new())
    }

    pub(crate) fn one(shard: ShardId) -> Self {
        Shards(vec![shard])
    }

    pub(crate) fn of(shards: &[ShardId]) -> Self {
        let mut shards = shards.to_vec();
        shards.sort_unstable();
        shards.dedup();
        Shards(shards)
    }

    pub(crate) fn add(&mut self, others: &Shards) {
        if !others.0.iter().all(|shard| self.0.contains(shard)) {
            self.0.extend(&others.0);
            self.0.sort_unstable();
            self.0.dedup();
        }
    }

    pub(crate) fn keep(&mut self, others: &Shards) {
        self.0.retain(|shard| others.0.contains(shard));
    }

    pub(crate) fn has(&self, shard: ShardId) -> bool {
        self.0.contains(&shard)
    }

    pub(crate) fn list(&self) -> &[ShardId] {
        &self.0
    }
}

/// Where values are.
#[derive(Clone, Copy)]
pub(crate) struct Places<'a> {
    pub(crate) weights: &'a Weights,
    /// Who takes down what is asked.
    pub(crate) trace: Option<&'a Trace<'a>>,
}

impl Places<'_> {
    /// The shards of the rows whose key has these values; NULL is the value of `IS NULL`.
    pub(crate) fn of_values(&self, base: &Base<'_>, values: &[KnownValue]) -> Result<Shards, Refusal> {
        let constants: Vec<Constant> = values.iter().map(|known| known.constant.clone()).collect();
        let located = locate_null_safe(base.database, base.table, &constants, self.weights);
        if let Some(trace) = self.trace {
            let asking = Asking::NullSafe(values.iter().map(Operand::of).collect());
            trace.ask(base.database, base.table, asking, RoutingAnswer::Located(located.clone()));
        }
        of_located(located, base)
    }

    /// Where a row with these values of the shard key is stored.
    pub(crate) fn of_stored(
        &self,
        database: &Arc<Database>,
        table: &Arc<Table>,
        mut values: Vec<KnownValue>,
    ) -> Located {
        let columns = table.shard_key().map_or(&[][..], |key| &key.columns);
        columns.iter().zip(&mut values).for_each(|(column, known)| store(table, *column, known));
        let constants: Vec<Constant> = values.iter().map(|known| known.constant.clone()).collect();
        let located = locate_stored(database, table, &constants, self.weights);
        if let Some(trace) = self.trace {
            let asking = Asking::Stored(values.iter().map(Operand::of).collect());
            trace.ask(database, table, asking, RoutingAnswer::Located(located.clone()));
        }
        located
    }

    /// Takes down that a value is looked at.
    pub(crate) fn read(&self, known: &KnownValue) {
        if let Some(trace) = self.trace {
            trace.pin(known.source);
        }
    }

    /// The shards of the rows whose key is within a range.
    pub(crate) fn of_range(
        &self,
        base: &Base<'_>,
        low: Option<&(KnownValue, bool)>,
        high: Option<&(KnownValue, bool)>,
    ) -> Shards {
        match (bound(base, low), bound(base, high)) {
            (Some(from), Some(to)) => {
                let reach = locate_range(base.database, base.table, &from, &to);
                if let Some(trace) = self.trace
                    && !ranges_are_unsure(base.table)
                {
                    let asking = Asking::Range(operand(low), operand(high));
                    trace.ask(base.database, base.table, asking, RoutingAnswer::Reach(reach.clone()));
                }
                match reach {
                    RangeShards::Shards(shards) => Shards::of(&shards),
                    RangeShards::Unsure => all_shards(base),
                }
            }
            _ => all_shards(base),
        }
    }
}

fn operand(end: Option<&(KnownValue, bool)>) -> RangeEnd {
    end.map(|(known, included)| (Operand::of(known), *included))
}

/// An end of a range; `None`: it can't be said where it is.
fn bound(base: &Base<'_>, end: Option<&(KnownValue, bool)>) -> Option<Bound> {
    let Some((known, included)) = end else { return Some(Bound::Open) };
    let column = base.table.shard_key()?.columns.first()?;
    let value = usable(base, *column, known)?.clone();
    Some(if *included { Bound::Including(value) } else { Bound::Excluding(value) })
}

/// The shards that a table's rows can be on.
pub(crate) fn all_shards(base: &Base<'_>) -> Shards {
    match &base.table.placement {
        Placement::Single(shard) => Shards::one(*shard),
        Placement::Global => Shards::of(&base.database.shards),
        Placement::Sharded(key) => match &key.method {
            Method::Range(bounds) => Shards::of(&bounds.iter().map(|(_, shard)| *shard).collect::<Vec<ShardId>>()),
            Method::List(values, others) => {
                let listed = values.iter().map(|(_, shard)| *shard);
                Shards::of(&listed.chain(*others).collect::<Vec<ShardId>>())
            }
            Method::Hash | Method::Year | Method::Month | Method::Day => Shards::of(&base.database.shards),
        },
    }
}

/// The value to look up: `x'…'` is a number for a column of numbers, which is not decided here.
pub(crate) fn usable<'k>(base: &Base<'_>, column: usize, known: &'k KnownValue) -> Option<&'k Constant> {
    let kind = &base.table.columns.get(column)?.kind;
    let bytes = ["binary", "varbinary", "char", "varchar"].contains(&kind.base.as_str());
    (!known.hexadecimal || bytes).then_some(&known.constant)
}

/// Makes a value what a column stores: a literal of bits is a number in a column of integers or bits.
fn store(table: &Table, column: usize, known: &mut KnownValue) {
    const NUMBERS: [&str; 6] = ["tinyint", "smallint", "mediumint", "int", "bigint", "bit"];
    if let Some(number) = known.number
        && table.columns.get(column).is_some_and(|column| NUMBERS.contains(&column.kind.base.as_str()))
    {
        known.constant = Constant::Integer(number.into());
    }
}

/// What a place says, as shards.
pub(crate) fn of_located(located: Located, base: &Base<'_>) -> Result<Shards, Refusal> {
    match located {
        Located::Shard(shard) => Ok(Shards::one(shard)),
        Located::Nowhere => Ok(Shards::none()),
        Located::Unsure => Ok(all_shards(base)),
        Located::NeedsWeights(collation, characters) => Err(Refusal::NeedsWeights(collation, characters)),
    }
}
