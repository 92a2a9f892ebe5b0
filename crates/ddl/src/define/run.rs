//! The course of a definition: recorded, run on one shard, then on the others at once, and published in the catalog.
//!
//! What must always hold: what the first shard refuses leaves no trace; what any other has not is kept in the record, with its error.

use std::time::Duration;

use futures_util::future::join_all;
use weir_catalog::define::Unplaced;
use weir_catalog::{Catalog, Definition, DefinitionKind, Object, Progress, ShardId};
use weir_exec::write::infos_added;
use weir_exec::{MultiShardResult, ShardLease};
use weir_shards::Locks;
use weir_shards::ask::{Reply, ServerAnswer, ask};
use weir_sql::ast::StatementKind;
use weir_wire::Failure;
use weir_wire::error::codes;

use super::already::{self, Verdict, verdict};
use super::asked::Asked;
use super::collations::CollationFacts;
use super::conclude::{self, Answered};
use super::held::{self, Held};
use super::intend::{intend, intend_knowing};
use super::intent::Intent;
use super::obstacles::{in_the_way, in_use, moving};
use super::progress::{finish, forget, half_done, keep, note, way_on};
use super::reach::part_of;
use super::records::Records;
use super::single::NotDefined;
use super::stage::{At, Stage};
use super::{multi_object, shards, single, undo};

/// How often a definition is thought over when the catalog changes under it. Each time another definition has come a step further, of
/// this Weir only those that had begun before: the bound is for what nobody has thought of.
const ATTEMPTS: usize = 10_000;

/// How long a session that has locked tables waits for another definition of them, which may wait for its locks.
const PATIENCE: Duration = Duration::from_secs(5);

/// Runs a definition of something sharded; `None` if it is about nothing that is. `parts`: connections to the shards that
/// [`Intent::shards`] names, at least. `stage`: how far it is.
///
/// Cancel-safe only while it is [`At::Waiting`]: dropped later, it leaves the record, with what shards have said so far.
///
/// # Errors
/// The first shard's refusal, after which nothing was done; that tables have to be moved before; or which shards have it and which do not,
/// and how to proceed.
pub async fn define<R: Records>(
    asked: &Asked<'_>,
    records: &R,
    locks: &Locks,
    parts: &mut [ShardLease],
    stage: &Stage,
) -> Result<Option<MultiShardResult>, NotDefined> {
    let catalog = records.catalog();
    let Some(objects) = intend(asked, &catalog)?.map(|intent| intent.objects) else { return Ok(None) };
    let mut all = objects.clone();
    all.extend(single::possible(asked, &catalog).into_iter().filter(|object| !objects.contains(object)));
    let _taken = match asked.under_locks {
        // Who has them may wait for what the session has locked.
        true => locks.take_within(PATIENCE, &all).await.ok_or_else(|| in_use(&all))?,
        false => locks.take(&all).await,
    };
    let mut held = Vec::new();
    let defined = match begin(asked, records, locks, (&objects, &all), (&mut *parts, stage, &mut held)).await {
        Ok(Some(begun)) => run(asked, records, begun, (&mut *parts, stage, &mut held)).await,
        Ok(None) => Ok(None),
        Err(not) => Err(not),
    };
    stage.during(At::Settling, held::release(&mut held, parts)).await;
    defined
}

/// Has all shards do what is recorded.
async fn run<R: Records>(
    asked: &Asked<'_>,
    records: &R,
    (id, intent): (u64, Intent),
    (parts, stage, held): (&mut [ShardLease], &Stage, &mut Held),
) -> Result<Option<MultiShardResult>, NotDefined> {
    let (mut is_missing, mut kept) = (false, false);
    let mut answer = first(records, id, &intent, (&mut *parts, stage)).await?;
    if matches!(&answer, First::Refused(failure) if held::is_because_of_locks(failure)) {
        held::release(held, parts).await;
        answer = first(records, id, &intent, (&mut *parts, stage)).await?;
    }
    let (id, intent, told) = match answer {
        First::Done(reply) => {
            kept = reply.warnings == 0;
            let told = outcome(reply, intent.note.clone());
            (id, intent, Ok(Some(told)))
        }
        First::Missing(failure) => {
            is_missing = true;
            (id, intent, Err(failure))
        }
        First::ThereAlready(reply) => {
            keep(records, id, move |catalog| forget(catalog, id)).await?;
            return Ok(Some(outcome(reply, None)));
        }
        First::Refused(failure) => match in_part(asked, records, id, &intent, parts).await? {
            Some((id, rest)) => (id, rest, Err(failure)),
            None => return Err(failure.into()),
        },
    };
    let mut answers = stage.during(At::Running, others(asked, &intent, parts)).await;
    already::pass_over_left(&intent, &mut answers);
    let catalog = records.catalog();
    if let Some(definition) = catalog.definition(id) {
        conclude::look_again(definition, &catalog, &mut answers, parts).await;
    }
    let news: Vec<_> = answers.iter().map(|(shard, answer)| (*shard, answer.progress())).collect();
    if news.iter().all(|(_, progress)| *progress == Progress::Done) {
        finish(records, id, &news).await?;
        let told = told.map(|told| told.map(|told| of_all_rows(&catalog, &intent, told, &answers)));
        let made = answers.into_iter().find_map(|(_, answer)| match answer {
            Answered::Made(reply) => Some(reply),
            _ => None,
        });
        // What the first shard lacks and another one had is dropped now. What was refused of a list is still told.
        let made = made.filter(|_| is_missing);
        return Ok(told.or_else(|failure| made.map(|reply| Some(outcome(reply, None))).ok_or(failure))?);
    }
    Err(not_everywhere(records, id, (&intent, kept), answers, (parts, stage)).await?.into())
}

/// What a client is told of a definition that not all shards have done. If none can have it, or can be left with it, the record is gone.
/// `kept`: the first shard ran it without a warning.
async fn not_everywhere<R: Records>(
    records: &R,
    id: u64,
    (intent, kept): (&Intent, bool),
    answers: Vec<(ShardId, Answered)>,
    (parts, stage): (&mut [ShardLease], &Stage),
) -> Result<Failure, Failure> {
    let lost = answers.iter().any(|(_, answer)| matches!(answer, Answered::Lost(_)));
    let mut news: Vec<_> = answers.iter().map(|(shard, answer)| (*shard, answer.progress())).collect();
    let catalog = records.catalog();
    if !lost && intent.objects.iter().all(|object| object.database.is_empty()) && intent.undo.is_impossible() {
        // Of accounts: it may be given again, and stands in nobody's way.
        keep(records, id, move |catalog| forget(catalog, id)).await?;
        return conclude::refused(&catalog, &answers, false).ok_or_else(no_part);
    }
    if !lost && !intent.undo.is_impossible() {
        let others = answers.iter().filter_map(|(shard, answer)| match answer {
            Answered::Made(reply) => Some((*shard, reply.warnings == 0)),
            _ => None,
        });
        let made: Vec<_> = intent.shards.first().map(|first| (*first, kept)).into_iter().chain(others).collect();
        let has_made = |shard: &ShardId| made.iter().any(|(of, _)| of == shard);
        let undone = made.iter().map(|(shard, _)| (*shard, Progress::Lost("it is being undone".to_owned())));
        let noted: Vec<_> = news.iter().filter(|(shard, _)| !has_made(shard)).cloned().chain(undone).collect();
        let catalog = keep(records, id, move |catalog| note(catalog, id, &noted)).await?;
        let Some(definition) = catalog.definition(id) else { return Ok(no_part()) };
        match stage.during(At::Undoing, conclude::take_back(definition, &catalog, &made, parts)).await {
            Ok(()) => {
                keep(records, id, move |catalog| forget(catalog, id)).await?;
                return conclude::refused(&catalog, &answers, true).ok_or_else(no_part);
            }
            Err(left) => {
                tracing::warn!(id, ?left, "a definition that a shard has refused could not be taken back");
                let state = |shard: &ShardId| match left.iter().any(|(of, _)| of == shard) {
                    true => Progress::Done,
                    false => Progress::Failed("it was undone".to_owned()),
                };
                news.retain(|(shard, _)| !has_made(shard));
                news.extend(made.iter().map(|(shard, _)| (*shard, state(shard))));
            }
        }
    }
    let catalog = keep(records, id, move |catalog| note(catalog, id, &news)).await?;
    Ok(half_done(&catalog, id))
}

/// Records a definition, before anything is sent. What it does follows from the catalog that it is recorded in.
async fn begin<R: Records>(
    asked: &Asked<'_>,
    records: &R,
    locks: &Locks,
    (objects, taken): (&[Object], &[Object]),
    (parts, stage, held): (&mut [ShardLease], &Stage, &mut Held),
) -> Result<Option<(u64, Intent)>, NotDefined> {
    let mut collations = None;
    let (mut said, mut is_held): (Option<String>, bool) = (None, false);
    let mut turn = Some(locks.turn().await);
    for _ in 0..ATTEMPTS {
        let now = records.catalog();
        if collations.is_none()
            && matches!(asked.statement.kind, StatementKind::CreateTable(_) | StatementKind::AlterDatabase(_))
        {
            collations = Some(collations_for(records, &now, objects).await?);
        }
        let intent = match intend_knowing(asked, &now, collations.as_ref()) {
            Ok(intent) => intent,
            Err(Unplaced::Refused(failure)) => {
                return Err(moving(asked, &now, objects).err().unwrap_or(failure).into());
            }
            Err(unplaced) => {
                learn(collations.get_or_insert_default(), unplaced, records).await?;
                continue;
            }
        };
        let Some(mut intent) = intent.filter(|intent| intent.objects == objects) else { break };
        moving(asked, &now, objects)?;
        in_the_way(&now, objects, &intent.changes)?;
        if !intent.singles.is_empty() {
            if asked.under_locks {
                return Err(intent.because.unwrap_or_else(no_part).into());
            }
            if !intent.singles.iter().all(|object| taken.contains(object)) {
                break;
            }
            moving(asked, &now, &intent.singles)?;
            in_the_way(&now, &intent.singles, &[])?;
            // It waits for whoever uses these tables: others may begin meanwhile.
            drop(turn.take());
            stage.during(At::Settling, single::make(records, &intent, parts)).await?;
            turn = Some(locks.turn().await);
            said = intent.note;
            continue;
        }
        if !is_held && held::wanted(asked, &now, &intent) {
            is_held = true;
            // It waits for whoever uses these tables.
            drop(turn.take());
            held::take(&now, &intent, parts, held).await?;
            turn = Some(locks.turn().await);
            continue;
        }
        intent.note = match (said.clone(), intent.note) {
            (Some(said), Some(note)) => Some(format!("{said}. {note}")),
            (said, note) => said.or(note),
        };
        undo::capture(asked, &now, &mut intent, parts).await;
        let recorded = stage.during(At::Settling, record(records, now.version, intent.record(asked)?)).await?;
        if let Some(id) = recorded {
            stage.set(At::Settling);
            return Ok(Some((id, intent)));
        }
    }
    drop(turn);
    let message = "Other definitions have changed the object meanwhile; try again";
    Err(Failure::weir(codes::ER_TABLE_DEF_CHANGED, message).into())
}

/// Records a definition if the catalog is still of this version. Its number.
async fn record<R: Records>(records: &R, version: u64, record: Definition) -> Result<Option<u64>, Failure> {
    let (told, number) = std::sync::mpsc::channel();
    let begun = records.change(move |catalog| {
        if catalog.version == version {
            // The receiver lives as long as the future that awaits this.
            let _ = told.send(catalog.begin_definition(record));
        }
        Ok(())
    });
    begun.await?;
    Ok(number.try_recv().ok())
}

/// Learns what was missing to place a table.
///
/// # Errors
/// A refusal, or what the servers say of it.
pub(super) async fn learn<R: Records>(
    known: &mut CollationFacts,
    unplaced: Unplaced,
    records: &R,
) -> Result<(), Failure> {
    match unplaced {
        Unplaced::Refused(failure) => Err(failure),
        Unplaced::NeedsCheck { column, collation } => {
            if known.inexact.contains(&collation) {
                return Err(weir_catalog::collation::refusal(&column, &collation));
            }
            match known.check(records, &column, &collation).await {
                // A table without a clause needs no such key.
                Err(_) if known.inexact.contains(&collation) => Ok(()),
                checked => checked,
            }
        }
        Unplaced::NeedsWeights(collation, chars) => known.learn(records, &collation, &chars).await,
    }
}

/// What is known of the servers that a new table will be on.
async fn collations_for<R: Records>(
    records: &R,
    catalog: &Catalog,
    objects: &[Object],
) -> Result<CollationFacts, Failure> {
    let Some(object) = objects.first() else { return Ok(CollationFacts::default()) };
    let shard = shards::of_database(catalog, &object.database).first().copied().unwrap_or(ShardId(0));
    CollationFacts::of(records, &object.database, shard).await
}

/// What is left to be done of a definition that the first shard has refused, recorded in its place. `None` if it has done nothing: the
/// record is gone.
async fn in_part<R: Records>(
    asked: &Asked<'_>,
    records: &R,
    id: u64,
    intent: &Intent,
    parts: &mut [ShardLease],
) -> Result<Option<(u64, Intent)>, Failure> {
    let rest = match intent.kind {
        DefinitionKind::Drop => multi_object::dropped_in_part(&records.catalog(), intent, parts).await,
        _ => None,
    };
    let Some(rest) = rest else {
        keep(records, id, move |catalog| forget(catalog, id)).await?;
        return Ok(None);
    };
    let (record, first) = (rest.record(asked)?, rest.shards.first().copied());
    let (told, number) = std::sync::mpsc::channel();
    let begun = keep(records, id, move |catalog| {
        forget(catalog, id)?;
        let id = catalog.begin_definition(record);
        // The receiver lives as long as the future that awaits this.
        let _ = told.send(id);
        note(catalog, id, &first.map(|first| (first, Progress::Done)).into_iter().collect::<Vec<_>>())
    });
    begun.await?;
    Ok(number.try_recv().ok().map(|id| (id, rest)))
}

enum First {
    Done(Reply),
    /// It has not what is to be dropped; others may have it.
    Missing(Failure),
    /// It was refused; the record is still there.
    Refused(Failure),
    /// IF NOT EXISTS, and it exists: nothing is left to be done.
    ThereAlready(Reply),
}

/// Asks the first shard.
async fn first<R: Records>(
    records: &R,
    id: u64,
    intent: &Intent,
    (parts, stage): (&mut [ShardLease], &Stage),
) -> Result<First, Failure> {
    let (answer, is_there) = match intent.shards.first().and_then(|shard| part_of(parts, *shard)) {
        Some(part) => stage.during(At::Running, ask_first(part, intent)).await,
        None => (ServerAnswer::Refused(no_part()), false),
    };
    match answer {
        ServerAnswer::Reply(reply) if is_there => Ok(First::ThereAlready(reply)),
        ServerAnswer::Reply(reply) => {
            if intent.shards.len() > 1 {
                let news = [(intent.shards[0], Progress::Done)];
                keep(records, id, move |catalog| note(catalog, id, &news)).await?;
            }
            Ok(First::Done(reply))
        }
        ServerAnswer::Refused(failure)
            if intent.shards.len() > 1
                && intent.objects.len() == 1
                && intent.kind == DefinitionKind::Drop
                && verdict(intent.kind, &failure) == Verdict::Done =>
        {
            Ok(First::Missing(failure))
        }
        ServerAnswer::Refused(failure) => Ok(First::Refused(failure)),
        ServerAnswer::Lost(failure) => {
            let news = [(intent.shards[0], Progress::Lost(failure.message.clone()))];
            keep(records, id, move |catalog| note(catalog, id, &news)).await?;
            let message = format!("{}; whether it ran is unknown: {}", failure.message, way_on(id));
            Err(Failure { message, ..failure })
        }
    }
}

/// The first shard's answer, and whether IF NOT EXISTS has made nothing there.
async fn ask_first(part: &mut ShardLease, intent: &Intent) -> (ServerAnswer, bool) {
    match ask(&mut part.lease, intent.text_for(part.shard)).await {
        ServerAnswer::Reply(reply) if intent.if_not_exists => match already::was_there(part, &reply).await {
            Ok(is_there) => (ServerAnswer::Reply(reply), is_there),
            Err(failure) => (ServerAnswer::Lost(failure.maybe_done()), false),
        },
        answer => (answer, false),
    }
}

/// Asks the other shards at once.
async fn others(asked: &Asked<'_>, intent: &Intent, parts: &mut [ShardLease]) -> Vec<(ShardId, Answered)> {
    let shards = intent.shards.get(1..).unwrap_or_default();
    let reached = parts.iter_mut().filter(|part| shards.contains(&part.shard));
    let reached: Vec<std::pin::Pin<Box<dyn Future<Output = _> + '_>>> = reached
        .map(|part| -> std::pin::Pin<Box<dyn Future<Output = _> + '_>> {
            Box::pin(async move {
                let answer = ask(&mut part.lease, intent.text_for(part.shard)).await;
                (part.shard, Answered::of(asked, intent, (part, answer)).await)
            })
        })
        .collect();
    let mut answers = join_all(reached).await;
    let missing = shards.iter().filter(|shard| !answers.iter().any(|(told, _)| told == *shard));
    let missing: Vec<_> = missing.map(|shard| (*shard, Answered::Lost(no_part()))).collect();
    answers.extend(missing);
    answers
}

/// What is told of a change of a sharded table's rows: the first shard's answer, with the counts of all.
fn of_all_rows(
    catalog: &Catalog,
    intent: &Intent,
    first: MultiShardResult,
    answers: &[(ShardId, Answered)],
) -> MultiShardResult {
    // ALTER TABLE can give the table another name.
    let changes = matches!(intent.kind, DefinitionKind::ChangeTable | DefinitionKind::Rename);
    let mut tables = intent.objects.iter().filter_map(|object| shards::table(catalog, object));
    if !changes || !tables.any(|table| table.shard_key().is_some()) {
        return first;
    }
    let others = answers.iter().filter_map(|(_, answer)| match answer {
        Answered::Made(reply) => Some(reply),
        _ => None,
    });
    let mut infos = vec![&first.info[..]];
    infos.extend(others.clone().map(|reply| &reply.info[..]));
    let info = infos_added(&infos);
    let affected = first.affected + others.map(|reply| reply.affected).sum::<u64>();
    MultiShardResult { affected, info, ..first }
}

fn no_part() -> Failure {
    Failure::weir(codes::ER_UNKNOWN_ERROR, "there is no connection to the shard")
}

fn outcome(reply: Reply, note: Option<String>) -> MultiShardResult {
    MultiShardResult {
        affected: reply.affected,
        warnings: reply.warnings.saturating_add(u16::from(note.is_some())),
        note,
        insert_id: reply.insert_id,
        info: reply.info,
        status: reply.status,
        ..MultiShardResult::default()
    }
}
