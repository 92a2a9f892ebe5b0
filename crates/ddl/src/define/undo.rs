//! Taking a definition back on the shards that have it, when another one has refused it.
//!
//! What must always hold: nothing is dropped that the definition has not made, and nothing that somebody has put rows into; what could not
//! be taken back is told.

use weir_catalog::{Catalog, Change, DefinitionKind, Object, ShardId, Undo};
use weir_sql::Dialect;
use weir_sql::ast::{Account, StatementKind};
use weir_wire::Failure;
use weir_wire::error::codes;

use super::already::comparable;
use super::asked::Asked;
use super::intent::Intent;
use super::names::quoted;
use super::reach::Reach;
use super::{multi_object, names, restore};

/// How the servers are asked to take a definition back, as far as its text tells.
pub(super) fn of(asked: &Asked<'_>, intent: &Intent) -> Undo {
    // One shard alone has nothing to take back: what it refuses it has not done.
    let Some(object) = intent.objects.first().filter(|_| intent.shards.len() > 1) else { return Undo::Impossible };
    let dropped = |what: &str| Undo::Send(format!("DROP {what} {}", quoted(object)));
    match asked.statement.kind {
        StatementKind::CreateTable(_) if intent.kind == DefinitionKind::CreateTable => Undo::DropEmpty(object.clone()),
        StatementKind::CreateDatabase(_) if intent.kind == DefinitionKind::Create => Undo::DropEmpty(object.clone()),
        StatementKind::RenameTables(_) => Undo::Rename,
        StatementKind::AlterTable(alter) if intent.kind == DefinitionKind::Rename && alter.actions.len() == 1 => {
            Undo::Rename
        }
        StatementKind::CreateView(_) if intent.kind == DefinitionKind::Create => dropped("VIEW"),
        StatementKind::CreateRoutine(routine) if intent.kind == DefinitionKind::Create => {
            dropped(if routine.function { "FUNCTION" } else { "PROCEDURE" })
        }
        StatementKind::CreateTrigger(_) if intent.kind == DefinitionKind::Create => dropped("TRIGGER"),
        StatementKind::CreateEvent(event) if !event.or_replace => dropped("EVENT"),
        StatementKind::CreateLibrary(_) => dropped("LIBRARY"),
        _ if object.database.is_empty() => account(asked),
        _ => Undo::Impossible,
    }
}

fn account(asked: &Asked<'_>) -> Undo {
    let text = |account: &Account<'_>| std::str::from_utf8(&asked.text[account.span.range()]).ok().map(str::to_owned);
    // MariaDB does one after another: a shard that has refused the list has made some of it, and then all shards keep them.
    let whole = asked.mode.dialect == Dialect::MySql;
    let list = |word: &str, accounts: Vec<&Account<'_>>| {
        if accounts.len() > 1 && !whole {
            return None;
        }
        let all: Option<Vec<String>> = accounts.into_iter().map(text).collect();
        all.map(|all| format!("DROP {word} {}", all.join(", ")))
    };
    let undone = match asked.statement.kind {
        StatementKind::CreateUser(create) if !create.or_replace => {
            list("USER", create.users.iter().map(|user| &user.account).collect())
        }
        StatementKind::CreateRole(create) if !create.or_replace => list("ROLE", create.roles.iter().collect()),
        StatementKind::RenameUser(rename) if whole || rename.pairs.len() == 1 => {
            let pairs = rename.pairs.iter().rev().map(|(from, to)| Some(format!("{} TO {}", text(to)?, text(from)?)));
            pairs.collect::<Option<Vec<_>>>().map(|pairs| format!("RENAME USER {}", pairs.join(", ")))
        }
        StatementKind::CreateLoadableFunction(function) => {
            names::utf8(function.name.name.name, false).ok().map(|name| format!("DROP FUNCTION `{name}`"))
        }
        _ => None,
    };
    undone.map_or(Undo::Impossible, Undo::Send)
}

/// Reads what is needed to undo a definition that changes existing objects.
pub(super) async fn capture(
    asked: &Asked<'_>,
    catalog: &Catalog,
    intent: &mut Intent,
    shards: &mut (impl Reach + ?Sized),
) {
    let (Some(first), Some(object)) = (intent.shards.first().copied(), intent.objects.first().cloned()) else { return };
    if intent.shards.len() < 2 {
        return;
    }
    match asked.statement.kind {
        _ if intent.kind == DefinitionKind::ChangeTable => {
            if let Some(create) = shown(&object, "TABLE", first, shards).await {
                intent.undo = Undo::Restore(object, create);
            }
        }
        StatementKind::CreateView(view) if (view.or_replace || view.alter) && intent.own.is_empty() => {
            let known = catalog.database(object.database.as_bytes());
            let known = known.is_some_and(|(_, database)| {
                object.name.as_ref().is_some_and(|name| database.views.contains_key(name))
            });
            match shown(&object, "VIEW", first, shards).await {
                Some(create) if known => {
                    intent.undo = Undo::Send(create.replacen("CREATE ", "CREATE OR REPLACE ", 1));
                }
                Some(_) => {}
                None => intent.undo = Undo::Send(format!("DROP VIEW {}", quoted(&object))),
            }
        }
        _ => {}
    }
}

/// What SHOW CREATE tells; `None` if it can't be had.
async fn shown(object: &Object, kind: &str, shard: ShardId, shards: &mut (impl Reach + ?Sized)) -> Option<String> {
    let reply = shards.ask(shard, &format!("SHOW CREATE {kind} {}", quoted(object))).await.ok().ok()?;
    let create = reply.rows.into_iter().next()?.into_iter().nth(1)??;
    String::from_utf8(if kind == "TABLE" { comparable(&create) } else { create }).ok()
}

/// Takes a definition back on a shard that has it. `kept`: the shard ran it without a warning.
///
/// # Errors
/// Why it has it still.
pub(super) async fn undo(
    undo: &Undo,
    catalog: &Catalog,
    changes: &[Change],
    (shard, kept): (ShardId, bool),
    shards: &mut (impl Reach + ?Sized),
) -> Result<(), Failure> {
    match undo {
        Undo::Impossible => Err(left("what was there before is gone or not known")),
        Undo::Send(text) => shards.ask(shard, text).await.ok().map(drop),
        Undo::DropEmpty(object) => drop_empty(object, shard, shards).await,
        Undo::Restore(object, before) => restore(object, before, (shard, kept), shards).await,
        Undo::Rename => {
            let renames = multi_object::renames_on(catalog, changes, shard);
            let pairs: Vec<String> =
                renames.iter().rev().map(|(from, to)| format!("{} TO {}", quoted(to), quoted(from))).collect();
            match pairs.is_empty() {
                true => Ok(()),
                false => shards.ask(shard, &format!("RENAME TABLE {}", pairs.join(", "))).await.ok().map(drop),
            }
        }
    }
}

async fn drop_empty(object: &Object, shard: ShardId, shards: &mut (impl Reach + ?Sized)) -> Result<(), Failure> {
    let (kind, content) = match &object.name {
        Some(_) => ("TABLE", format!("SELECT 1 FROM {} LIMIT 1", quoted(object))),
        None => ("DATABASE", format!("SHOW TABLES FROM {}", quoted(object))),
    };
    if !shards.ask(shard, &content).await.ok()?.rows.is_empty() {
        return Err(left("it is not empty"));
    }
    shards.ask(shard, &format!("DROP {kind} {}", quoted(object))).await.ok().map(drop)
}

async fn restore(
    object: &Object,
    before: &str,
    (shard, kept): (ShardId, bool),
    shards: &mut (impl Reach + ?Sized),
) -> Result<(), Failure> {
    let unseen = || left("SHOW CREATE TABLE does not show it");
    let now = shown(object, "TABLE", shard, shards).await.ok_or_else(unseen)?;
    if now == before {
        return Ok(());
    }
    // Trailing spaces that are cut off are worth a note only.
    let kept = kept && shards.ask(shard, "SELECT 1 FROM DUAL WHERE @@sql_notes").await.ok()?.rows.len() == 1;
    let actions = restore::way_back(before, &now, kept);
    let actions = actions.ok_or_else(|| left("values may have been lost or changed"))?;
    shards.ask(shard, &format!("ALTER TABLE {} {}", quoted(object), actions.join(", "))).await.ok()?;
    match shown(object, "TABLE", shard, shards).await {
        Some(now) if now == before => Ok(()),
        _ => Err(left("the table is still not what it was")),
    }
}

fn left(why: &str) -> Failure {
    Failure::weir(codes::ER_UNKNOWN_ERROR, format!("it can't be undone: {why}"))
}
