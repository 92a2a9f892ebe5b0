//! Temporary tables in sharded databases: they are on the session's connection, and hide tables of their name.
//!
//! What must always hold: a statement that names a temporary table runs on the connection that has it, or is refused. It never
//! reads or writes rows of the table that is hidden.

mod definitions;
mod tables;

use std::sync::Arc;

use weir_catalog::{Catalog, Placement, ShardId};
use weir_plan::write::literal::put_name;
use weir_plan::{Plan, Refusal, Route};
use weir_shards::Sharding;
use weir_sql::ast::{self, CreateTable, ObjectName, StatementKind, TableBody, TableLike};
use weir_sql::visit::{Flow, NameRole, Node, Object, walk};
use weir_sql::{Pins, TextKind, TokenKind};
use weir_wire::Failure;
use weir_wire::error::not_supported;

use super::super::Session;
use super::super::state::TableName;
use super::super::statement::Statement;
use super::super::stopped::Stopped;
use crate::backends::shard_id;
use tables::with_tables;

/// The names of a statement.
#[derive(Debug, Default)]
struct Named {
    /// Temporary tables, and the one that it makes.
    temporary: Vec<TableName>,
    /// Other tables and views of sharded databases, and whether it is a view.
    others: Vec<(TableName, bool)>,
}

impl Session {
    /// A statement was run, without an error: temporary tables have come or gone.
    pub(in super::super) fn note_temporary(&mut self, asked: &Statement<'_>) {
        let Some(sharding) = self.sharding() else { return };
        let makes = asked.class.pins.contains(Pins::TEMPORARY_TABLE);
        if !makes && self.state.temporary.is_empty() {
            return;
        }
        let Ok(parsed) = asked.parsed() else { return };
        let catalog = sharding.catalog();
        for statement in parsed.statements {
            match statement.kind {
                StatementKind::CreateTable(create) if create.temporary => {
                    let name = self.full_name(&create.name, &catalog);
                    self.state.temporary.extend(name.filter(|(database, _)| catalog.database(database).is_some()));
                }
                StatementKind::DropTables(drop) => {
                    for name in drop.names {
                        if let Some(name) = self.full_name(name, &catalog) {
                            self.state.temporary.remove(&name);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn full_name(&self, name: &ObjectName<'_>, catalog: &Catalog) -> Option<TableName> {
        let database = name.database.map(|database| database.name).or(self.state.profile.database.as_deref())?;
        let folded = |name: &[u8]| if catalog.fold_case { name.to_ascii_lowercase() } else { name.to_vec() };
        Some((folded(database), folded(name.name.name)))
    }

    /// Whether an INSERT or REPLACE is one into a temporary table.
    pub(super) fn inserts_into_temporary(&self, sharding: &Sharding, asked: &Statement<'_>) -> bool {
        let Some(StatementKind::Insert(insert)) = asked.only().map(|statement| statement.kind) else { return false };
        let name = self.full_name(&insert.table, &sharding.catalog());
        name.is_some_and(|name| self.state.temporary.contains(&name))
    }

    /// The plan of a statement that names a temporary table of a sharded database, or makes one. `None`: it is none of them.
    pub(super) async fn plan_with_temporary(
        &mut self,
        sharding: &Arc<Sharding>,
        asked: &Statement<'_>,
    ) -> Result<Option<Plan>, Stopped> {
        if self.state.temporary.is_empty() && !asked.class.pins.contains(Pins::TEMPORARY_TABLE) {
            return Ok(None);
        }
        let catalog = sharding.catalog_now();
        let (names, makes) = {
            // What can't be read is refused where it is planned.
            let Ok(parsed) = asked.parsed() else { return Ok(None) };
            let mut named = Named::default();
            parsed.statements.iter().for_each(|statement| self.names(statement, &catalog, &mut named));
            if named.temporary.is_empty() {
                return Ok(None);
            }
            let [statement] = parsed.statements else {
                return Err(refused("stands in a text of several statements: send each in a text of its own").into());
            };
            self.check_form(statement, asked, &named)?;
            if named.others.is_empty() {
                return Ok(Some(Plan::Home));
            }
            if let StatementKind::DropTables(drop) = statement.kind {
                return Ok(Some(if drop.temporary { Plan::Home } else { Plan::Define }));
            }
            if let StatementKind::CreateTable(create) = statement.kind
                && let Some(plan) = self.plan_alike(create, &catalog)
            {
                return Ok(Some(plan));
            }
            (named.temporary, matches!(statement.kind, StatementKind::CreateTable(_)))
        };
        let hidden = with_tables(&catalog, names.iter().map(|name| (name, None)));
        match self.plan_in(sharding, &hidden, asked).await {
            Ok(Plan::Home) => Ok(Some(Plan::Home)),
            Ok(Plan::Route(route @ Route { text: None, raise: None, .. })) if self.may_have_temporary(route.shard) => {
                Ok(Some(Plan::Route(route)))
            }
            Ok(_) | Err(Stopped::Refused(_)) if !makes => {
                self.plan_as_single(sharding, &catalog, &names, asked).await.map(Some)
            }
            // In steps, with a table where the session is.
            Ok(_) | Err(Stopped::Refused(_)) if asked.class.pins.contains(Pins::TEMPORARY_TABLE) => {
                Ok(Some(Plan::Define))
            }
            Ok(_) => Err(elsewhere().into()),
            Err(stopped) => Err(stopped),
        }
    }

    /// The plan of CREATE TEMPORARY TABLE … LIKE a table of a sharded database, whose shards all have its definition.
    fn plan_alike(&self, create: &CreateTable<'_>, catalog: &Catalog) -> Option<Plan> {
        let TableBody::Like(TableLike { table, placement: None, .. }) = create.body else { return None };
        let (database, name) = self.full_name(table, catalog)?;
        let (_, known) = catalog.database(&database)?;
        let shards = match catalog.table(&database, &name)?.1.placement {
            Placement::Single(shard) => vec![shard],
            _ => known.shards.clone(),
        };
        let shard = shards.into_iter().find(|shard| self.may_have_temporary(*shard))?;
        let reason = "all shards of a table have its definition".to_owned();
        Some(Plan::Route(Route { shard, text: None, raise: None, reason }))
    }

    /// Whether the session has its temporary tables on a shard, or would have them there.
    fn may_have_temporary(&self, shard: ShardId) -> bool {
        let bound = self.current.lease.is_some() && self.state.is_bound();
        !bound || shard_id(self.place_for_temporary()) == shard
    }

    /// The plan of a statement over rows of other shards, for which temporary tables are SINGLE tables of their shard: only the session's
    /// connection has them.
    async fn plan_as_single(
        &mut self,
        sharding: &Arc<Sharding>,
        catalog: &Catalog,
        names: &[TableName],
        asked: &Statement<'_>,
    ) -> Result<Plan, Stopped> {
        let catalog = Arc::new(self.with_temporary_tables(catalog, names).await?);
        match self.plan_in(sharding, &catalog, asked).await? {
            Plan::Home => Ok(Plan::Home),
            Plan::Route(route) if self.may_have_temporary(route.shard) => Ok(Plan::Route(route)),
            plan @ (Plan::Workbench(_) | Plan::Union(_) | Plan::Write(_)) => {
                self.temporary_catalog = Some(catalog);
                Ok(plan)
            }
            _ => Err(elsewhere().into()),
        }
    }

    /// Plans with what a catalog has.
    pub(super) async fn plan_in(
        &mut self,
        sharding: &Arc<Sharding>,
        catalog: &Catalog,
        asked: &Statement<'_>,
    ) -> Result<Plan, Stopped> {
        let circumstances = self.circumstances();
        loop {
            match self.plan_with(catalog, &sharding.weights(), &circumstances, asked, None)? {
                Ok(plan) => return Ok(plan),
                Err(Refusal::NeedsWorkbench(_)) => return Err(elsewhere().into()),
                Err(refusal) => match refusal.into_failure() {
                    Ok(failure) => return Err(failure.into()),
                    Err((collation, chars)) => sharding.learn(&collation, &chars).await?,
                },
            }
        }
    }

    /// Whether a statement names a temporary table.
    pub(super) fn names_temporary(&self, asked: &Statement<'_>, catalog: &Catalog) -> bool {
        let mut named = Named::default();
        if let Ok(parsed) = asked.parsed() {
            parsed.statements.iter().for_each(|statement| self.names(statement, catalog, &mut named));
        }
        !named.temporary.is_empty()
    }

    /// Adds the names of a statement.
    fn names(&self, statement: &ast::Statement<'_>, catalog: &Catalog, named: &mut Named) {
        let made = match statement.kind {
            StatementKind::CreateTable(create) if create.temporary => self.full_name(&create.name, catalog),
            _ => None,
        };
        let mut again = false;
        walk(Node::Statement(statement), &mut |node: Node<'_>| {
            let Node::Name(name, role) = node else { return Flow::Descend };
            let of_table = match role {
                NameRole::Star | NameRole::Routine | NameRole::Deleted | NameRole::Locked => false,
                NameRole::Created(object) | NameRole::Altered(object) => object == Object::Table,
                NameRole::Dropped(object) | NameRole::Shown(object) | NameRole::Referred(object) => {
                    object == Object::Table
                }
                _ => true,
            };
            let Some(full) = self.full_name(name, catalog).filter(|_| of_table) else { return Flow::Descend };
            let Some((_, database)) = catalog.database(&full.0) else { return Flow::Descend };
            let is_made = made.as_ref() == Some(&full) && matches!(role, NameRole::Created(_));
            again |= made.as_ref() == Some(&full) && !is_made;
            let view = database.views.keys().any(|view| view.as_bytes() == full.1);
            match is_made || self.state.temporary.contains(&full) {
                true => named.temporary.push(full),
                false => named.others.push((full, view)),
            }
            Flow::Descend
        });
        // A table that is made of the one that it hides: the planner says whether that one is in one place.
        if again {
            named.temporary.retain(|name| Some(name) != made.as_ref());
        }
    }

    /// Refuses what could leave other temporary tables than those that are known.
    fn check_form(&self, statement: &ast::Statement<'_>, asked: &Statement<'_>, named: &Named) -> Result<(), Failure> {
        if named.others.iter().any(|(_, view)| *view) {
            return Err(refused("is used together with a view, which may be about a table that it hides"));
        }
        let renames = || {
            let mut tokens = weir_sql::Lexer::new(asked.text, self.state.lex);
            tokens.any(|token| token.kind == TokenKind::Word && token.text(asked.text).eq_ignore_ascii_case(b"RENAME"))
        };
        match statement.kind {
            StatementKind::RenameTables(_) => Err(refused("is renamed: make another one")),
            StatementKind::AlterTable(_) if renames() => Err(refused("is renamed: make another one")),
            _ if asked.class.kind == TextKind::Multiple => Err(refused("stands in a text of several statements")),
            _ => Ok(()),
        }
    }
}

/// A name as it stands in a text.
fn put((database, name): &TableName) -> Vec<u8> {
    let mut text = Vec::new();
    put_name(&mut text, database);
    text.push(b'.');
    put_name(&mut text, name);
    text
}

fn refused(why: &str) -> Failure {
    not_supported(format!("A temporary table of a sharded database {why}"))
}

fn elsewhere() -> Failure {
    not_supported(
        "A temporary table is on one connection, to one shard, and rows of the statement's other tables are on others: read them first, or use a \
         table that is not temporary",
    )
}
