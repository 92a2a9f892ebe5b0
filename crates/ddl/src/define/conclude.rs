//! What the answers of a definition's shards mean, and what follows: it is done, taken back, or left to RESUME.
//!
//! What must always hold: after a shard's refusal, what the others did is taken back, or the record stays. A record stays only where it is
//! uncertain what a shard has, or where that can't be undone.

use weir_catalog::{Catalog, Definition, DefinitionKind, Progress, ShardId};
use weir_exec::ShardLease;
use weir_shards::ask::{Reply, ServerAnswer};
use weir_sql::ast::StatementKind;
use weir_wire::Failure;
use weir_wire::error::codes;

use super::already::{Verdict, verdict, was_there};
use super::asked::Asked;
use super::intent::Intent;
use super::multi_object::drop_rest;
use super::{resume, undo};

/// A shard's answer.
#[derive(Debug)]
pub(super) enum Answered {
    /// It has done it.
    Made(Reply),
    /// It had it already, from elsewhere.
    There,
    /// It has refused: nothing was done.
    Refused(Failure),
    /// It may have done it or not.
    Lost(Failure),
}

impl Answered {
    /// What a shard's answer means by itself.
    pub(super) async fn of(
        asked: &Asked<'_>,
        intent: &Intent,
        (part, answer): (&mut ShardLease, ServerAnswer),
    ) -> Answered {
        let reply = match answer {
            ServerAnswer::Reply(reply) => reply,
            ServerAnswer::Refused(failure) => return Answered::Refused(failure),
            ServerAnswer::Lost(failure) => return Answered::Lost(failure),
        };
        let there = match makes_if_not_there(asked) {
            true => was_there(part, &reply).await,
            false => Ok(false),
        };
        match (there, intent.kind) {
            (Ok(false), _) => Answered::Made(reply),
            // One that nobody knows of, with rows perhaps that belong elsewhere.
            (Ok(true), DefinitionKind::CreateTable) => Answered::Refused(there_already(intent)),
            (Ok(true), _) => Answered::There,
            (Err(failure), _) => Answered::Lost(failure.maybe_done()),
        }
    }

    pub(super) fn progress(&self) -> Progress {
        match self {
            Answered::Made(_) | Answered::There => Progress::Done,
            Answered::Refused(failure) => Progress::Failed(failure.to_string()),
            Answered::Lost(failure) => Progress::Lost(failure.to_string()),
        }
    }
}

fn there_already(intent: &Intent) -> Failure {
    let object = intent.objects.first().map(ToString::to_string).unwrap_or_default();
    let message = format!(
        "Table '{object}' already exists there, and the catalog does not have it: DROP TABLE IF EXISTS removes it, RENAME on that server \
         keeps it"
    );
    Failure::client(codes::ER_TABLE_EXISTS_ERROR, message)
}

/// Whether a warning of the statement may mean that the thing was there before.
fn makes_if_not_there(asked: &Asked<'_>) -> bool {
    match asked.statement.kind {
        StatementKind::CreateTable(create) => create.if_not_exists,
        StatementKind::CreateDatabase(create) => create.if_not_exists,
        StatementKind::CreateView(create) => create.conditional,
        StatementKind::CreateUser(create) => create.if_not_exists,
        StatementKind::CreateRole(create) => create.if_not_exists,
        StatementKind::CreateLibrary(create) => create.if_not_exists,
        StatementKind::CreateRoutine(create) => create.if_not_exists,
        StatementKind::CreateTrigger(create) => create.if_not_exists,
        StatementKind::CreateEvent(create) => create.if_not_exists,
        StatementKind::CreateLoadableFunction(create) => create.if_not_exists,
        _ => false,
    }
}

/// Looks at refusals once more: a shard that has it already has done it.
pub(super) async fn look_again(
    definition: &Definition,
    catalog: &Catalog,
    answers: &mut [(ShardId, Answered)],
    parts: &mut [ShardLease],
) {
    for (shard, answer) in answers {
        let Answered::Refused(failure) = answer else { continue };
        let there = match (definition.kind, verdict(definition.kind, failure)) {
            (DefinitionKind::Drop, Verdict::Done) => drop_rest(definition, *shard, parts).await,
            (DefinitionKind::ChangeTable, _) => resume::has_change(definition, *shard, parts).await,
            (DefinitionKind::Rename, _) => resume::is_renamed(definition, catalog, *shard, parts).await,
            _ => false,
        };
        if there {
            *answer = Answered::There;
        }
    }
}

/// What a client is told of a definition that a shard has refused and that is nowhere now.
pub(super) fn refused(catalog: &Catalog, answers: &[(ShardId, Answered)], taken_back: bool) -> Option<Failure> {
    answers.iter().find_map(|(shard, answer)| match answer {
        Answered::Refused(failure) => {
            let others = if taken_back { "it was undone on the others" } else { "the others have done it" };
            let message = format!("{} (shard {}; {others})", failure.message, catalog.shard_name(*shard));
            Some(Failure { message, ..failure.clone() })
        }
        _ => None,
    })
}

/// Takes a definition back on these shards. Each: whether it ran it without a warning.
///
/// # Errors
/// The shards that have it still, and why.
pub(super) async fn take_back(
    definition: &Definition,
    catalog: &Catalog,
    made: &[(ShardId, bool)],
    parts: &mut [ShardLease],
) -> Result<(), Vec<(ShardId, Failure)>> {
    let mut left = Vec::new();
    for made in made {
        if let Err(failure) = undo::undo(&definition.undo, catalog, &definition.changes, *made, parts).await {
            left.push((made.0, failure));
        }
    }
    if left.is_empty() { Ok(()) } else { Err(left) }
}
