//! Whether all that a statement is about is on one shard.
//!
//! What must always hold: a shard is given only if every row that matters is there.

use weir_catalog::{Constant, Placement, ShardId, lead_shard};
use weir_sql::ast::{Insert, InsertSource};

use crate::Refusal;
use crate::analysis::values::Values;
use crate::analysis::{Analysis, Base, InstanceKind};
use crate::known::KnownValue;
use crate::place::Shards;
use crate::planner::Planner;
use crate::routines::function_needs;

/// Where the tables of a statement meet.
pub(crate) enum Meeting {
    /// It has none of a sharded database.
    NoTables,
    /// On this shard, and why.
    On(ShardId, String),
    /// Nowhere, and why.
    Apart(String),
}

/// Where the tables of a statement meet.
pub(crate) fn meeting(analysis: &Analysis<'_>, planner: &Planner<'_>) -> Result<Meeting, Refusal> {
    let values = Values::of(analysis);
    let places = planner.places();
    let mut named = false;
    // Shards that have rows which matter, each with a table of it; and those that have all of the GLOBAL tables,
    // and of those without such rows.
    let mut needed = Shards::none();
    let mut able: Option<Shards> = None;
    let mut reasons: Vec<String> = Vec::new();
    // Where rows of GLOBAL tables are locked if no others are.
    let mut lead = None;
    if let Some(functions) = function_needs(planner)? {
        named = true;
        for (shard, why) in functions.needed {
            needed.add(&Shards::one(shard));
            reasons.push(why);
        }
        able = Some(functions.able);
    }
    for (place, instance) in analysis.instances.iter().enumerate() {
        let (shards, everywhere, name) = match &instance.kind {
            InstanceKind::Elsewhere(shard) => (Shards::one(*shard), false, String::new()),
            InstanceKind::Base(base) => {
                named = true;
                let everywhere = base.table.placement == Placement::Global;
                let shards = values.shards(place, &places)?;
                // No row of it may matter; it is still read, where it is.
                if shards.list().is_empty() {
                    if !everywhere {
                        reasons.push(where_rows_are(planner, base.name, &shards));
                    }
                    keep(&mut able, copies(base));
                    continue;
                }
                (shards, everywhere, base.name.to_owned())
            }
            _ => continue,
        };
        if everywhere {
            if let InstanceKind::Base(Base { locked: true, database, .. }) = &instance.kind {
                lead = lead_shard(&database.shards);
            }
            keep(&mut able, shards);
            continue;
        }
        if !name.is_empty() {
            reasons.push(where_rows_are(planner, &name, &shards));
        }
        needed.add(&shards);
    }
    if !named {
        return Ok(Meeting::NoTables);
    }
    reasons.dedup();
    let at = match needed.list() {
        [] => able.as_ref().and_then(|able| {
            let first = lead.unwrap_or_else(|| planner.home());
            if able.has(first) { Some(first) } else { able.list().first().copied() }
        }),
        [shard] => Some(*shard).filter(|shard| able.as_ref().is_none_or(|able| able.has(*shard))),
        _ => None,
    };
    Ok(match at {
        Some(shard) if reasons.is_empty() && lead.is_some() => {
            let name = planner.catalog.shard_name(shard);
            Meeting::On(shard, format!("its tables are GLOBAL: their rows are locked on {name} for all sessions"))
        }
        Some(shard) if reasons.is_empty() => {
            Meeting::On(shard, "its tables are GLOBAL: any shard has all rows".to_owned())
        }
        Some(shard) => Meeting::On(shard, reasons.join("; ")),
        None => Meeting::Apart(reasons.join("; ")),
    })
}

/// Where a statement runs that no row matters to: where the session is, if its tables are there; else on a shard that has them all.
pub(crate) fn any_shard(analysis: &Analysis<'_>, planner: &Planner<'_>) -> Option<ShardId> {
    let mut common: Option<Shards> = None;
    for instance in analysis.instances.iter() {
        if let InstanceKind::Base(base) = &instance.kind {
            let own = copies(base);
            match &mut common {
                None => common = Some(own),
                Some(common) => common.keep(&own),
            }
        }
    }
    let (common, home) = (common?, planner.home());
    if common.has(home) { Some(home) } else { common.list().first().copied() }
}

/// Leaves only these of the shards that are able to run a statement.
fn keep(able: &mut Option<Shards>, shards: Shards) {
    match able {
        None => *able = Some(shards),
        Some(able) => able.keep(&shards),
    }
}

/// The shards that have a table, whatever rows they have of it.
fn copies(base: &Base<'_>) -> Shards {
    match base.table.placement {
        Placement::Single(shard) => Shards::one(shard),
        _ => Shards::of(&base.database.shards),
    }
}

fn where_rows_are(planner: &Planner<'_>, table: &str, shards: &Shards) -> String {
    let names: Vec<&str> = shards.list().iter().map(|shard| planner.catalog.shard_name(*shard)).collect();
    match names[..] {
        [] => format!("no row of {table} can match"),
        _ => format!("the rows of {table} that matter are on {}", names.join(", ")),
    }
}

/// Where the table of an INSERT and all that it reads meet, if the rows are of one shard.
pub(crate) fn meeting_of_insert(
    analysis: &Analysis<'_>,
    planner: &Planner<'_>,
    insert: &Insert<'_>,
) -> Result<Meeting, Refusal> {
    let InstanceKind::Base(base) = &analysis.instances[0].kind else { return meeting(analysis, planner) };
    let Placement::Sharded(key) = &base.table.placement else {
        return match base.table.placement {
            Placement::Global if base.database.shards.len() > 1 => {
                Ok(Meeting::Apart(format!("{} is GLOBAL: it is written on all shards", base.name)))
            }
            _ => meeting(analysis, planner),
        };
    };
    let apart = |why: &str| Ok(Meeting::Apart(format!("INSERT into {}: {why}", base.name)));
    let (InsertSource::Values(rows), [_]) = (insert.source, &analysis.instances[..]) else {
        return apart("only rows of values can be sent to one shard");
    };
    let names: Vec<&[u8]> = match insert.columns {
        Some(columns) => columns.iter().map(|column| column.name.name).collect(),
        None => {
            base.table.columns.iter().filter(|column| !column.invisible).map(|column| column.name.as_bytes()).collect()
        }
    };
    let folder = planner.folder();
    let mut shards = Shards::none();
    for row in rows {
        let value = |column: &usize| {
            let name = base.table.columns[*column].name.as_bytes();
            let place = names.iter().position(|known| known.eq_ignore_ascii_case(name))?;
            folder.fold(row.values.get(place)?).map(|known| known.constant)
        };
        let generated = |column: &usize| matches!(value(column), None | Some(Constant::Null | Constant::Integer(0)));
        if base.table.auto_increment.iter().any(generated) {
            return apart("a value has to be generated");
        }
        let known = |constant| KnownValue { constant, hexadecimal: false, number: None, source: None };
        let values: Option<Vec<KnownValue>> = key.columns.iter().map(|column| value(column).map(known)).collect();
        let Some(values) = values else { return apart("the value of the shard key is not known") };
        shards.add(&planner.places().of_values(base, &values)?);
    }
    match shards.list() {
        [shard] => Ok(Meeting::On(*shard, where_rows_are(planner, base.name, &shards))),
        _ => apart("the rows are not certain to be on one shard"),
    }
}
