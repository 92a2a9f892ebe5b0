//! Definitions of several tables or views at once: what each shard is sent of them.
//!
//! What must always hold: a shard is sent what it has, in the statement's order; what is known of nowhere is sent to the first shard
//! alone, which is asked first and refuses it as one server does.

use std::ops::Range;

use weir_catalog::{Change, Definition, Object, ShardId};
use weir_exec::ShardLease;
use weir_shards::ask::ServerAnswer;

use super::asked::Asked;
use super::intent::Intent;
use super::names::quoted;
use super::reach::{Reach, exists, part_of};
use super::shards;

/// One entry of a statement's list.
pub(super) struct Item {
    /// The shards that have it; `None` if it is known of nowhere.
    pub home: Option<Vec<ShardId>>,
    /// Where it stands in the text.
    pub range: Range<usize>,
}

/// The shards of a statement with this list, and what shards are sent that don't get the whole text.
pub(super) fn spread(
    asked: &Asked<'_>,
    items: &[Item],
    nowhere: Vec<ShardId>,
) -> (Vec<ShardId>, Vec<(ShardId, Vec<u8>)>) {
    let mut homes = items.iter().filter_map(|item| item.home.as_ref());
    let Some(first) = homes.next() else { return (nowhere, Vec::new()) };
    if homes.all(|home| home == first) {
        return (first.clone(), Vec::new());
    }
    let mut all: Vec<ShardId> = items.iter().filter_map(|item| item.home.clone()).flatten().collect();
    all.sort_unstable();
    all.dedup();
    let list = items.first().map_or(0, |item| item.range.start)..items.last().map_or(0, |item| item.range.end);
    let own = |shard: &ShardId| {
        let is_first = all.first() == Some(shard);
        let here = items.iter().filter(|item| item.home.as_ref().map_or(is_first, |home| home.contains(shard)));
        let here: Vec<&[u8]> = here.map(|item| &asked.text[item.range.clone()]).collect();
        (*shard, weir_sql::splice(asked.text, &[(list.clone(), &here.join(&b", "[..])[..])]))
    };
    let own = all.iter().map(own).collect();
    (all, own)
}

/// What is left to be done of a DROP that the first shard has refused, if that has dropped some of its objects all the same: MariaDB drops
/// one after another. `None` if it has done nothing.
pub(super) async fn dropped_in_part(
    catalog: &weir_catalog::Catalog,
    intent: &Intent,
    parts: &mut [ShardLease],
) -> Option<Intent> {
    let first = *intent.shards.first()?;
    if intent.objects.len() < 2 || part_of(parts, first).is_none() {
        return None;
    }
    let (mut gone, mut elsewhere) = (Vec::new(), Vec::new());
    for change in &intent.changes {
        let (Change::DropTable(object) | Change::DropView(object)) = change else { continue };
        match shards::home(catalog, object) {
            None => {}
            Some(home) if !home.contains(&first) => elsewhere.push((change.clone(), home)),
            Some(home) if exists(object, first, parts).await == Some(false) => gone.push((change.clone(), home)),
            Some(_) => {}
        }
    }
    if gone.is_empty() {
        return None;
    }
    let mut all = gone;
    all.append(&mut elsewhere);
    let own = intent.shards.iter().filter_map(|shard| {
        let here = all.iter().filter(|(_, home)| home.contains(shard)).map(|(change, _)| change);
        drop_if_there(here).map(|text| (*shard, text.into_bytes()))
    });
    let own: Vec<_> = own.collect();
    let shards = own.iter().map(|(shard, _)| *shard).collect();
    let text = drop_if_there(all.iter().map(|(change, _)| change))?.into_bytes();
    let changes = all.into_iter().map(|(change, _)| change).collect();
    Some(Intent { shards, text, own, changes, ..intent.clone() })
}

/// A statement that drops what is there of these tables, or of these views.
pub(super) fn drop_if_there<'a>(changes: impl Iterator<Item = &'a Change>) -> Option<String> {
    let mut kind = "TABLE";
    let names: Vec<String> = changes
        .filter_map(|change| match change {
            Change::DropTable(object) => Some(quoted(object)),
            Change::DropView(object) => {
                kind = "VIEW";
                Some(quoted(object))
            }
            _ => None,
        })
        .collect();
    (!names.is_empty()).then(|| format!("DROP {kind} IF EXISTS {}", names.join(", ")))
}

/// The renames of a definition that one shard does: of tables that it has.
pub(super) fn renames_on<'d>(
    catalog: &weir_catalog::Catalog,
    changes: &'d [Change],
    shard: ShardId,
) -> Vec<(&'d Object, &'d Object)> {
    // A name that an earlier one has given, and the shards of its table.
    let mut given: Vec<(&Object, Vec<ShardId>)> = Vec::new();
    let mut here = Vec::new();
    for change in changes {
        let Change::Rename(from, to) = change else { continue };
        let earlier = given.iter().position(|(name, _)| *name == from);
        let home = match earlier {
            Some(at) => given.swap_remove(at).1,
            None => shards::of_object(catalog, from),
        };
        if home.contains(&shard) {
            here.push((from, to));
        }
        given.push((to, home));
    }
    here
}

/// Of several tables that are dropped, those that are left.
pub(super) async fn drop_rest(definition: &Definition, shard: ShardId, shards: &mut (impl Reach + ?Sized)) -> bool {
    let accounts = definition.objects.iter().all(|object| object.database.is_empty());
    if let Some(text) = definition.statement.text.as_deref().filter(|_| accounts).and_then(if_there) {
        return matches!(shards.ask(shard, &text).await, ServerAnswer::Reply(_));
    }
    if definition.objects.len() < 2 {
        return true;
    }
    match drop_if_there(definition.changes.iter()) {
        Some(text) => matches!(shards.ask(shard, &text).await, ServerAnswer::Reply(_)),
        None => true,
    }
}

/// DROP USER and DROP ROLE of several, some of which may be gone.
fn if_there(text: &str) -> Option<String> {
    let mut words = text.split_whitespace();
    let (drop, kind) = (words.next()?, words.next()?);
    let is = |word: &str, expected: &str| word.eq_ignore_ascii_case(expected);
    let names = text.trim_start()[drop.len()..].trim_start().get(kind.len()..)?;
    (is(drop, "DROP") && (is(kind, "USER") || is(kind, "ROLE")) && names.contains(','))
        .then(|| format!("DROP {kind} IF EXISTS {names}"))
}
