//! CREATE OR REPLACE TABLE whose table can't be where the one is that it replaces.
//!
//! What must always hold: the table that is there is dropped only if nothing but it stands in the way, the new one does not begin with its
//! rows, and what servers look at before they drop it themselves has been looked at: the rights, the query, columns that expressions name.
//! What they find out only afterwards leaves no table, as on one server.

use std::sync::Arc;

use weir_catalog::{Catalog, ShardId};
use weir_sql::Lexer;
use weir_sql::ast::{Expr, ExprKind, Statement, StatementKind};
use weir_sql::resolve::{Context, resolve};
use weir_sql::visit::{Flow, Node, walk};

use super::asked::Asked;
use super::filled::Filled;
use super::{filled, intend, names, shards};

/// What has to come before such a statement.
#[derive(Debug)]
pub struct Before {
    /// A shard that is asked first.
    pub shard: ShardId,
    /// DROP TABLE.
    pub drop: String,
    /// The steps in which it is filled: the server is to accept its definition before the other table is dropped.
    pub filled: Option<Filled>,
}

/// What has to come before a statement, after which it can be run; `None`: it is another statement, or that would not help.
pub fn before(asked: &Asked<'_>, catalog: &Catalog) -> Option<Before> {
    let StatementKind::CreateTable(create) = asked.statement.kind else { return None };
    let object = names::object(asked, catalog, &create.name).ok()??;
    if !create.or_replace || create.temporary || shards::table(catalog, &object).is_none() {
        return None;
    }
    let context =
        Context { database: asked.database, dialect: asked.mode.dialect, fold_case: catalog.fold_case, columns: &() };
    let named = resolve(asked.statement, &context);
    let reads_it = named.tables().any(|(source, table)| {
        let same = table.database.and_then(|database| catalog.database(database)).is_some_and(|(database, _)| {
            let known = catalog.table(database.as_bytes(), table.name).map(|(known, _)| known);
            database == object.database && known.is_some() && known == object.name.as_deref()
        });
        same && source.span != create.name.span
    });
    if reads_it {
        return None;
    }
    let mut without = catalog.clone();
    let database = without.databases.get_mut(&object.database)?;
    Arc::make_mut(database).tables.remove(object.name.as_deref()?);
    let definition = create.definition()?;
    let filled = match definition.query {
        Some(_) => Some(filled::apart(asked, &without).ok()??),
        None => None,
    };
    let certain = || !names_columns(asked.statement) && !names_engine(asked);
    let helps = filled.is_some() || certain() && matches!(intend(asked, &without), Ok(Some(_)));
    let shard = *shards::of_database(catalog, &object.database).first()?;
    helps.then(|| Before { shard, drop: format!("DROP TABLE {}", names::quoted(&object)), filled })
}

/// Whether the text names another storage engine than InnoDB, which the server may not have.
fn names_engine(asked: &Asked<'_>) -> bool {
    let mut words = Lexer::new(asked.text, asked.mode).map(|token| token.text(asked.text)).filter(|word| *word != b"=");
    let mut named = false;
    while let Some(word) = words.next() {
        named |= word.eq_ignore_ascii_case(b"engine")
            && !words.next().is_some_and(|engine| engine.eq_ignore_ascii_case(b"innodb"));
    }
    named
}

/// Whether expressions name columns, which may not be there.
fn names_columns(statement: &Statement<'_>) -> bool {
    let mut found = false;
    walk(Node::Statement(statement), &mut |node: Node<'_>| {
        found |= matches!(node, Node::Expr(Expr { kind: ExprKind::Column(_), .. }));
        if found { Flow::Stop } else { Flow::Descend }
    });
    found
}
