//! ALTER TABLE … SHARD BY: a table gets another placement, and the client waits for it. So do tables that have to become SINGLE for a
//! definition.
//!
//! What must always hold: the client's own account may alter the table; a client that goes away, or is killed, takes the move back with it.

use std::sync::Arc;

use weir_catalog::{Catalog, Object};
use weir_exec::MultiShardResult;
use weir_moves::{Mover, Request, Waited, WantedTable};
use weir_shards::Sharding;
use weir_shards::ask::ask;
use weir_shards::own::name;
use weir_sql::ast::{self, AlterActionKind, AlterTable, ExprKind, PartitionMethod, StatementKind};
use weir_wire::Failure;
use weir_wire::error::{codes, not_supported};

use super::super::Session;
use super::super::statement::Statement;
use super::super::stopped::Stopped;
use super::definitions::under_locks;
use crate::backends::places;

/// No table has such a column.
const NO_COLUMN: &str = "`weir no such column`";

/// The placement that a statement gives to a table of a sharded database, if it is such a statement.
///
/// # Errors
/// It does something else, too.
fn wanted(
    text: &[u8],
    statement: &ast::Statement<'_>,
    database: Option<&[u8]>,
    catalog: &Catalog,
) -> Result<Option<WantedTable>, Failure> {
    let StatementKind::AlterTable(alter) = statement.kind else { return Ok(None) };
    let database = alter.table.database.map(|database| database.name).or(database);
    let Some((database, _)) = database.and_then(|database| catalog.database(database)) else { return Ok(None) };
    let Some(clause) = clause(text, alter) else { return Ok(None) };
    if alter.actions.len() != 1 {
        return Err(not_supported(
            "ALTER TABLE with a new placement and other changes: give the placement in a statement of its own",
        ));
    }
    let table = String::from_utf8_lossy(alter.table.name.name).into_owned();
    let object = weir_catalog::Object::within(database, table);
    Ok(Some(WantedTable { object, clause: clause? }))
}

/// The clause of a new placement, as it stands in a comment.
fn clause(text: &[u8], alter: &AlterTable<'_>) -> Option<Result<String, Failure>> {
    alter.actions.iter().find_map(|action| match &action.kind {
        AlterActionKind::Place(placement) => {
            let clause = String::from_utf8_lossy(placement.span.text(text)).into_owned();
            let inner = clause.strip_prefix("/*").and_then(|clause| clause.strip_suffix("*/"));
            let inner = inner.and_then(|inner| Some(inner.trim_start().get("weir:".len()..)?.trim().to_owned()));
            Some(Ok(inner.unwrap_or(clause)))
        }
        AlterActionKind::PartitionBy(by) if !by.in_comment => match by.method {
            PartitionMethod::Hash(hash) => Some(match hash.expr.bare().kind {
                ExprKind::Column(column) if !hash.linear => {
                    Ok(format!("shard by hash({})", name(&String::from_utf8_lossy(column.name.name))))
                }
                _ => Err(not_supported(
                    "PARTITION BY HASH in a sharded database means sharding, and takes one column: write SHARD BY HASH(column), or \
                     /*!50100 PARTITION BY … */ for partitions within each shard",
                )),
            }),
            _ => None,
        },
        _ => None,
    })
}

impl Session {
    /// Gives a table another placement, if that is what the statement is about.
    pub(super) async fn place_table(
        &mut self,
        sharding: &Arc<Sharding>,
        asked: &Statement<'_>,
        statement: &ast::Statement<'_>,
    ) -> Result<bool, Stopped> {
        let database = self.state.profile.database.clone();
        let catalog = sharding.catalog_now();
        let Some(table) = wanted(asked.text, statement, database.as_deref(), &catalog)? else { return Ok(false) };
        if self.has_table_locks() {
            return Err(under_locks().into());
        }
        self.commit_for_definition().await?;
        self.may_alter(&catalog, &table).await?;
        let moved = self.move_and_wait(vec![table]).await?;
        let note = moved.map(|(_, id)| {
            format!("Move {id}: WEIR MOVE UNDO {id} takes it back, WEIR MOVE FINISH {id} drops the old table")
        });
        let warnings = u16::from(note.is_some());
        let outcome = MultiShardResult { note, warnings, ..MultiShardResult::default() };
        self.note_multi_shard(asked.class, &[], &outcome, &mut []).await;
        self.note_warnings_alike(&outcome, &mut []).await;
        self.answer_write(&outcome);
        Ok(true)
    }

    /// Moves tables and waits until they are where they should be. The move's number, unless they were there.
    async fn move_and_wait(&mut self, tables: Vec<WantedTable>) -> Result<Option<(Arc<Mover>, u64)>, Stopped> {
        let mover = self.endpoint.commands.mover()?.clone();
        let by = self.user.clone();
        // Nobody waits for the one who waits for it.
        if let Some(pass) = &self.pass {
            pass.leave();
        }
        let Some(id) = mover.begin(Request { tables, by, awaited: true }).await? else { return Ok(None) };
        self.wait_for_move(&mover, id).await?;
        Ok(Some((mover, id)))
    }

    /// Gives tables, which are sharded only by default, the placement that a definition needs. There is no way back: it would stand in the
    /// definition's way.
    ///
    /// # Errors
    /// `otherwise`, with why they can't be moved.
    pub(super) async fn gather(&mut self, tables: Vec<(Object, String)>, otherwise: Failure) -> Result<(), Stopped> {
        let tables = tables.into_iter().map(|(object, clause)| WantedTable { object, clause }).collect();
        let moved = match self.move_and_wait(tables).await {
            Ok(Some((mover, id))) => mover.finish_and_wait(id).await.map_err(Stopped::from),
            Ok(None) => Ok(()),
            Err(stopped) => Err(stopped),
        };
        moved.map_err(|stopped| match stopped {
            Stopped::Refused(why) => {
                let message = format!("{}. Weir could not do so by itself: {}", otherwise.message, why.message);
                Failure { message, ..otherwise }.into()
            }
            stopped => stopped,
        })
    }

    /// Asks a server that has the table whether the client's account may alter it, by an ALTER that can't do anything.
    async fn may_alter(&mut self, catalog: &Catalog, table: &WantedTable) -> Result<(), Stopped> {
        let object = &table.object;
        let known = object.name.as_deref().unwrap_or_default();
        let Some((_, found)) = catalog.table(object.database.as_bytes(), known.as_bytes()) else {
            // That it is not there is said by who looks for it.
            return Ok(());
        };
        let of_database = catalog.database(object.database.as_bytes()).map(|(_, found)| &found.shards[..]);
        let shards = weir_catalog::moves::shards_of_placement(of_database.unwrap_or_default(), &found.placement);
        let first = places(shards.get(..1).unwrap_or_default());
        let mut leased = self.leases_outside(&first).await?;
        // It fails, once the right was found: the servers' logs hear nothing of it.
        let text = format!("ALTER TABLE {}.{} DROP COLUMN {NO_COLUMN}", name(&object.database), name(known));
        let mut answer = Ok(());
        for part in &mut leased.parts {
            answer = ask(&mut part.lease, text.as_bytes()).await.ok().map(drop);
        }
        let refused = answer.err().filter(|failure| failure.code != codes::ER_CANT_DROP_FIELD_OR_KEY);
        self.end_leases(leased, refused).await
    }

    /// Waits until a move has cut over. Who is told to stop, or goes away, takes it back.
    async fn wait_for_move(&mut self, mover: &Arc<Mover>, id: u64) -> Result<(), Stopped> {
        self.handle.set_state("Moving the table");
        let stopped = {
            let waited = mover.wait(id);
            let mut waited = std::pin::pin!(waited);
            loop {
                // Cancel-safe: a move is waited for by looking at its record, a bell keeps its ring, `gone` keeps what was read.
                tokio::select! {
                    biased;
                    ended = &mut waited => {
                        self.handle.set_state("");
                        return match ended {
                            Ok(Waited::Done) => Ok(()),
                            Ok(Waited::Stopped(failure)) | Err(failure) => Err(failure.into()),
                        };
                    }
                    () = self.handle.bell.rung() => if let Err(stopped) = self.stops_waiting() {
                        break stopped;
                    },
                    error = self.client.gone() => break Stopped::Ended(error.into()),
                }
            }
        };
        self.handle.set_state("");
        match mover.cancel(id).await {
            Ok(()) => Err(stopped),
            // It has cut over meanwhile.
            Err(failure) => {
                tracing::info!(id, %failure, "a move could not be cancelled any more");
                Err(stopped)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_sql::{Bump, LexMode};

    use super::*;

    #[test]
    fn clauses_are_found_in_all_forms() {
        let cases = [
            ("ALTER TABLE t SHARD BY HASH(id)", Some("SHARD BY HASH(id)")),
            (
                "ALTER TABLE t /*weir: shard by hash(id) unique unchecked (mail) */",
                Some("shard by hash(id) unique unchecked (mail)"),
            ),
            ("ALTER TABLE t PARTITION BY HASH(id) PARTITIONS 4", Some("shard by hash(`id`)")),
            ("ALTER TABLE t SINGLE ON SHARD 's1'", Some("SINGLE ON SHARD 's1'")),
            ("ALTER TABLE t GLOBAL", Some("GLOBAL")),
            ("ALTER TABLE t ADD COLUMN a INT", None),
            ("ALTER TABLE t PARTITION BY KEY(id)", None),
        ];
        for (text, expected) in cases {
            let arena = Bump::new();
            let parsed = weir_sql::parse(&arena, text.as_bytes(), LexMode::default()).expect(text);
            let StatementKind::AlterTable(alter) = parsed.statements[0].kind else { panic!("{text}") };
            let found = clause(text.as_bytes(), alter).map(|clause| clause.expect(text));
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }
}
