//! Replies of several shards as one.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use weir_catalog::{Catalog, Object, Placement, ShardId};
use weir_plan::write::literal::quoted_name;
use weir_shards::ask::{Reply, Row};
use weir_sql::ast::UpkeepVerb;
use weir_wire::Failure;

use super::plan::Care;
use crate::define::{Records, shards};

/// All rows, each first value once, in the order of their first values if several shards have some.
pub fn names(replies: Vec<Reply>) -> Reply {
    let mut replies = replies.into_iter();
    let mut whole = replies.next().unwrap_or_default();
    let mut seen: BTreeSet<Option<Vec<u8>>> = whole.rows.iter().map(first).collect();
    let had = whole.rows.len();
    for reply in replies {
        for row in reply.rows {
            if seen.insert(first(&row)) {
                whole.rows.push(row);
            }
        }
    }
    if whole.rows.len() > had {
        whole.rows.sort_by_key(first);
    }
    whole
}

/// The databases that the first shard tells of, and those of the catalog that others let the user into.
pub fn databases(replies: Vec<(ShardId, Reply)>, catalog: &Catalog) -> Reply {
    let is_there = |shard: ShardId, row: &Row| {
        let known = first(row).and_then(|name| catalog.database(&name).map(|(_, database)| database));
        known.is_some_and(|database| database.shards.contains(&shard))
    };
    let of_others = |(at, (shard, mut reply)): (usize, (ShardId, Reply))| {
        reply.rows.retain(|row| at == 0 || is_there(shard, row));
        reply
    };
    names(replies.into_iter().enumerate().map(of_others).collect())
}

/// SHOW GRANTS: what the first shard tells, but of tables and views that it has not what a shard tells that has them.
pub fn grants(replies: Vec<(ShardId, Reply)>, catalog: &Catalog) -> Reply {
    let Some(own) = replies.first().map(|(shard, _)| *shard) else { return Reply::default() };
    let away = not_on(own, catalog);
    let of = |row: &Row| away.get(granted_on(&first(row)?)?).copied();
    let mut replies = replies.into_iter();
    let mut whole = replies.next().map(|(_, reply)| reply).unwrap_or_default();
    whole.rows.retain(|row| of(row).is_none());
    for (shard, reply) in replies {
        whole.rows.extend(reply.rows.into_iter().filter(|row| of(row) == Some(shard)));
    }
    whole
}

/// The object that a line of SHOW GRANTS is about, as it is written there.
fn granted_on(line: &[u8]) -> Option<&[u8]> {
    const ON: &[u8] = b" ON `";
    let from = line.windows(ON.len()).position(|part| part == ON)? + ON.len() - 1;
    let object = &line[from..];
    // A quote within a name is doubled, so that it neither opens nor ends one.
    let mut quotes = 0_usize;
    let end = object.iter().position(|byte| {
        quotes += usize::from(*byte == b'`');
        *byte == b' ' && quotes.is_multiple_of(2)
    });
    Some(&object[..end.unwrap_or(object.len())])
}

/// The tables and views that a shard has not, as SHOW GRANTS names them, with a shard that has each.
fn not_on(own: ShardId, catalog: &Catalog) -> HashMap<Vec<u8>, ShardId> {
    let mut away = HashMap::new();
    for (schema, database) in &catalog.databases {
        for name in database.tables.keys().chain(database.views.keys()) {
            let object = Object::within(schema.clone(), name.clone());
            let shards = shards::of_object(catalog, &object);
            if let Some(shard) = shards.first().filter(|_| !shards.contains(&own)) {
                let named = [&quoted_name(schema.as_bytes())[..], b".", &quoted_name(name.as_bytes())];
                away.insert(named.concat(), *shard);
            }
        }
    }
    away
}

fn first(row: &Row) -> Option<Vec<u8>> {
    row.first().cloned().flatten()
}

/// The columns that count how much there is in a table.
pub struct Counts<'a> {
    /// What adds up.
    pub summed: &'a [&'a str],
    /// When it was changed.
    pub latest: &'a str,
    /// `length` by `rows`.
    pub average: &'a str,
    /// How long all rows are.
    pub length: &'a str,
    /// How many there are.
    pub rows: &'a str,
}

/// SHOW TABLE STATUS: each table once, with the counts of all its shards.
pub fn status(replies: Vec<Reply>, catalog: &Catalog, database: &str) -> Reply {
    const COUNTS: Counts<'static> = Counts {
        summed: &["Rows", "Data_length", "Index_length", "Data_free"],
        latest: "Update_time",
        average: "Avg_row_length",
        length: "Data_length",
        rows: "Rows",
    };
    let adds = |row: &Row| {
        let table = first(row).and_then(|name| catalog.table(database.as_bytes(), &name));
        table.is_some_and(|(_, table)| matches!(table.placement, Placement::Sharded(_)))
    };
    counted(replies, |_| vec![0], &COUNTS, adds)
}

/// All rows, each identity once (in its order if several shards have some); the counts of rows that are to be added are sums.
pub fn counted(
    replies: Vec<Reply>,
    identity: impl Fn(&Reply) -> Vec<usize>,
    counts: &Counts<'_>,
    adds: impl Fn(&Row) -> bool,
) -> Reply {
    let mut replies = replies.into_iter();
    let mut whole = replies.next().unwrap_or_default();
    let identity = identity(&whole);
    let key = |row: &Row| -> Row { identity.iter().map(|at| row.get(*at).cloned().flatten()).collect() };
    let own = whole.rows.len();
    let mut same: BTreeMap<Row, Vec<Row>> = BTreeMap::new();
    for row in &whole.rows {
        same.entry(key(row)).or_default().push(row.clone());
    }
    for row in replies.flat_map(|reply| reply.rows) {
        let all = same.entry(key(&row)).or_default();
        if all.is_empty() {
            whole.rows.push(row.clone());
        }
        all.push(row);
    }
    if whole.rows.len() > own {
        whole.rows.sort_by_cached_key(key);
    }
    let summed: Vec<usize> = counts.summed.iter().filter_map(|name| whole.column(name)).collect();
    let latest = whole.column(counts.latest);
    let average = (whole.column(counts.average), whole.column(counts.length), whole.column(counts.rows));
    for row in &mut whole.rows {
        let Some(same) = same.get(&key(row)).filter(|_| adds(row)) else { continue };
        for at in &summed {
            let numbers: Vec<u64> = same.iter().filter_map(|other| number(other, *at)).collect();
            if !numbers.is_empty() {
                row[*at] = Some(numbers.iter().sum::<u64>().to_string().into_bytes());
            }
        }
        if let Some(at) = latest {
            row[at] = same.iter().filter_map(|other| other.get(at).cloned().flatten()).max();
        }
        if let (Some(average), Some(length), Some(rows)) = average
            && let (Some(length), Some(rows)) = (number(row, length), number(row, rows))
        {
            row[average] = Some(length.checked_div(rows).unwrap_or(0).to_string().into_bytes());
        }
    }
    whole
}

/// The next values of AUTO_INCREMENT: those of the sequences.
///
/// # Errors
/// When a sequence can't be asked for.
pub async fn auto_increments<R: Records>(
    reply: &mut Reply,
    catalog: &Catalog,
    database: &str,
    records: &R,
) -> Result<(), Failure> {
    let Some(at) = reply.column("Auto_increment") else { return Ok(()) };
    for row in &mut reply.rows {
        let Some(name) = first(row) else { continue };
        let Some((name, table)) = catalog.table(database.as_bytes(), &name) else { continue };
        if table.auto_increment.is_some() && !matches!(table.placement, Placement::Single(_)) {
            let next = records.sequence(&Object::within(database, name)).await?;
            row[at] = Some(next.to_string().into_bytes());
        }
    }
    Ok(())
}

fn number(row: &Row, at: usize) -> Option<u64> {
    std::str::from_utf8(row.get(at)?.as_ref()?).ok()?.parse().ok()
}

/// What shards say of one table: the sum of their checksums, or else the worst of what they say.
pub fn upkeep(replies: Vec<Reply>, care: &Care) -> Reply {
    if care.adds && care.verb == UpkeepVerb::Checksum {
        return checksum(replies);
    }
    let mut worst: Option<Reply> = None;
    for reply in replies {
        if worst.as_ref().is_none_or(|worst| severity(&reply) > severity(worst)) {
            worst = Some(reply);
        }
    }
    worst.unwrap_or_default()
}

/// Servers add the checksums of rows, each modulo 2^32. A table without one (NULL) has none.
fn checksum(replies: Vec<Reply>) -> Reply {
    let mut replies = replies.into_iter();
    let mut whole = replies.next().unwrap_or_default();
    for reply in replies {
        for (row, other) in whole.rows.iter_mut().zip(&reply.rows) {
            let sum = number(row, 1).zip(number(other, 1)).map(|(one, other)| (one + other) & 0xffff_ffff);
            if let Some(cell) = row.get_mut(1) {
                *cell = sum.map(|sum| sum.to_string().into_bytes());
            }
        }
    }
    whole
}

/// How bad the worst row is: `Msg_type` is the third column of what ANALYZE and the like answer.
fn severity(reply: &Reply) -> u8 {
    let of = |row: &Row| match row.get(2).and_then(Option::as_deref) {
        Some(b"error" | b"Error") => 4,
        Some(b"warning" | b"Warning") => 3,
        Some(b"note" | b"Note" | b"info" | b"Info") => 1,
        // A status that is not OK: `Operation failed`, `Corrupt`. `Table is already up to date` is as good as OK.
        Some(b"status") => match row.get(3).and_then(Option::as_deref) {
            Some(b"OK" | b"Table is already up to date" | b"Engine-independent statistics collected") | None => 0,
            Some(_) => 2,
        },
        _ => 0,
    };
    reply.rows.iter().map(of).max().unwrap_or(0)
}

/// Rows of one table after those of others.
pub fn appended(mut before: Reply, reply: Reply) -> Reply {
    before.rows.extend(reply.rows);
    before.warnings = before.warnings.saturating_add(reply.warnings);
    before
}
