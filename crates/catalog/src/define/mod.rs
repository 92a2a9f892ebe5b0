//! Where a new table's rows are: Weir's clauses in CREATE TABLE, or the default rule.
//!
//! What must always hold: a table is placed only if equal keys are on one shard, unique keys are unique, and foreign keys find their rows. Any
//! other definition is refused with the reason and an alternative. Servers get the client's text without Weir's clauses.

mod foreign;
mod parts;
#[cfg(test)]
mod tests;
mod types;
mod unique;

pub use foreign::{Draft, check_references, check_referring, references};
pub use parts::clause as parts_clause;
pub use unique::{lacks, unique_keys};

use weir_sql::ast::{
    ColumnAttributeKind, CreateTable, Expr, ExprKind, Ident, PartitionMethod, PlacementKind, ShardBy, ShardMethod,
    Span, TableBody, TableDefinition, TableElement,
};
use weir_sql::visit::{Flow, Node, walk};
use weir_sql::{Bump, LexMode, splice};
use weir_wire::Failure;
use weir_wire::error::codes;

use crate::collation::{self, Exactness};
use crate::definition::Placed;
use crate::key::KeyKind;
use crate::model::{Catalog, Database};
use crate::placement::{Method, Placement, ShardId, ShardKey};
use crate::table::Column;
use crate::weights::Weights;

/// What a definition depends on, apart from itself.
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    /// What is known.
    pub catalog: &'a Catalog,
    /// The database that the table will be in: a sharded one.
    pub database: &'a str,
    /// That database's default collation.
    pub collation: Option<&'a str>,
    /// The default collation of a character set, on the servers.
    pub collation_of: &'a dyn Fn(&str) -> Option<String>,
    /// Collations whose weights are known have passed the check.
    pub weights: &'a Weights,
    /// Collations that have not passed the check.
    pub inexact: &'a [String],
    /// The statement's text, in UTF-8.
    pub text: &'a [u8],
    /// How it was read.
    pub mode: LexMode,
}

/// Why a table was not placed.
#[derive(Debug, Clone, PartialEq)]
pub enum Unplaced {
    /// It can't be.
    Refused(Failure),
    /// It has to be found out first whether this collation is exact ([`collation::check_query`]); if it is, its weights are to be learnt, if only
    /// those of no character, and if not, it is [`collation::refusal`] that tells.
    NeedsCheck {
        /// The column of the shard key.
        column: String,
        /// Its collation.
        collation: String,
    },
    /// The weights of these characters of a collation have to be learnt first.
    NeedsWeights(String, Vec<char>),
}

impl From<Failure> for Unplaced {
    fn from(failure: Failure) -> Unplaced {
        Unplaced::Refused(failure)
    }
}

/// Where the table of this definition will be. For `CREATE TABLE … LIKE` that is where its model is, which is the caller's to say.
///
/// # Errors
/// See [`Unplaced`].
pub fn declare(setting: &Setting<'_>, create: &CreateTable<'_>) -> Result<Placed, Unplaced> {
    let Some((_, database)) = setting.catalog.database(setting.database.as_bytes()) else {
        let message = format!("Unknown database '{}'", setting.database);
        return Err(Failure::client(codes::ER_BAD_DB_ERROR, message).into());
    };
    let Some(definition) = create.definition() else {
        return refused("CREATE TABLE … LIKE has the placement of its model: write the columns out for another one");
    };
    let placed = match definition.placement.as_ref().map(|placement| placement.kind) {
        Some(PlacementKind::Global) => everywhere(),
        Some(PlacementKind::Single(None)) => on_one(setting, first_shard(database)?),
        Some(PlacementKind::Single(Some(name))) => on_one(setting, shard_of(setting, &text(name.name))?),
        Some(PlacementKind::Sharded(by)) => by_key(setting, definition, by)?,
        None => by_default(setting, database, create, definition)?,
    };
    check_keys(setting, create, definition, &placed)?;
    Ok(placed)
}

/// Checks the foreign keys from and to a table that is placed like this.
fn check_keys(
    setting: &Setting<'_>,
    create: &CreateTable<'_>,
    definition: &TableDefinition<'_>,
    placed: &Placed,
) -> Result<(), Failure> {
    let columns = types::columns(setting, definition);
    let name = folded(setting, create.name.name.name);
    let draft = Draft { name: &name, columns: &columns, placement: &placed.placement };
    check_references(setting, definition.elements(), &draft)?;
    check_referring(setting, &draft)
}

/// The columns of a definition, as the servers will have them as far as keys are concerned: lengths of integers and defaults that they add are
/// theirs to say.
pub fn columns(setting: &Setting<'_>, create: &CreateTable<'_>) -> Vec<Column> {
    create.definition().map_or_else(Vec::new, |definition| types::columns(setting, definition))
}

/// The text for the servers: without Weir's clause, without UNCHECKED, and without the PARTITION BY HASH that means sharding.
pub fn server_text(sql: &[u8], create: &CreateTable<'_>) -> Vec<u8> {
    let mut cut: Vec<Span> = create.placement().map(|placement| placement.span).into_iter().collect();
    if let TableBody::Definition(definition) = create.body {
        if sharding_partitions(definition).is_some() {
            cut.extend(definition.partitioning.map(|partitioning| partitioning.span));
        }
        for element in definition.elements() {
            match element {
                TableElement::Key(key) => cut.extend(key.unchecked),
                TableElement::Column(column) => {
                    cut.extend(column.attributes.iter().filter_map(|attribute| match attribute.kind {
                        ColumnAttributeKind::Unique(unchecked) => unchecked,
                        _ => None,
                    }))
                }
                _ => {}
            }
        }
    }
    cut.sort_unstable_by_key(|span| span.start);
    let edits: Vec<_> = cut.iter().map(|span| (span.range(), &b""[..])).collect();
    splice(sql, &edits)
}

/// PARTITION BY HASH that means sharding, and its column: not one of an expression, not LINEAR, not within an executable comment, and not beside a clause of
/// Weir's own. All others are partitions within each shard.
pub fn sharding_partitions<'a>(definition: &TableDefinition<'a>) -> Option<Ident<'a>> {
    let partitioning = definition.partitioning.filter(|partitioning| !partitioning.in_comment)?;
    match partitioning.method {
        PartitionMethod::Hash(hash) if definition.placement.is_none() => match hash.expr.bare().kind {
            ExprKind::Column(column) if !hash.linear => Some(column.name),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a column's default is the next value of a SEQUENCE.
fn has_sequence_default(definition: &TableDefinition<'_>) -> bool {
    let mut found = false;
    let mut look = |expr| {
        walk(Node::Expr(expr), &mut |node: Node<'_>| {
            found |= matches!(node, Node::Expr(Expr { kind: ExprKind::Sequence(_), .. }));
            Flow::Descend
        });
    };
    for element in definition.elements() {
        let TableElement::Column(column) = element else { continue };
        for attribute in column.attributes {
            if let ColumnAttributeKind::Default(expr) = attribute.kind {
                look(expr);
            }
        }
    }
    found
}

/// Without a clause: sharded by the hash of the primary key's first column, if that is exact and all of its keys allow it, and else SINGLE.
fn by_default(
    setting: &Setting<'_>,
    database: &Database,
    create: &CreateTable<'_>,
    definition: &TableDefinition<'_>,
) -> Result<Placed, Unplaced> {
    if let Some(column) = sharding_partitions(definition) {
        return by_hash(setting, definition, column);
    }
    let single = on_one(setting, first_shard(database)?);
    let Some(column) =
        definition.first_primary_column().filter(|_| !database.default_single && database.shards.len() > 1)
    else {
        return Ok(single);
    };
    let sharded = by_hash(setting, definition, column).and_then(|placed| {
        if has_sequence_default(definition) {
            return refused(
                "A column's default takes values of a SEQUENCE, which is on one shard: use AUTO_INCREMENT, whose values come from one sequence for all shards",
            );
        }
        check_keys(setting, create, definition, &placed)?;
        foreign::check_known(setting, create, definition.elements())?;
        Ok(Placed { by_default: true, ..placed })
    });
    let why = match sharded {
        Err(Unplaced::Refused(why)) if why.code == codes::ER_NOT_SUPPORTED_YET => why.message,
        Err(Unplaced::NeedsCheck { column, collation }) if setting.inexact.contains(&collation) => {
            collation::refusal(&column, &collation).message
        }
        // The key's column is the query's: the table is where its rows are.
        Err(Unplaced::Refused(why))
            if why.code == codes::ER_KEY_COLUMN_DOES_NOT_EXIST && definition.query.is_some() =>
        {
            return Ok(single);
        }
        other => return other,
    };
    let note = format!(
        "Table '{}' is SINGLE, on shard '{}': without SHARD BY it would be sharded by its primary key ({}), but: {why}",
        text(create.name.name.name),
        setting.catalog.shard_name(first_shard(database)?),
        text(column.name)
    );
    Ok(Placed { note: Some(note), ..single })
}

fn by_hash(setting: &Setting<'_>, definition: &TableDefinition<'_>, column: Ident<'_>) -> Result<Placed, Unplaced> {
    let columns = [column];
    by_key(setting, definition, &ShardBy { method: ShardMethod::Hash, columns: &columns, count: None, parts: &[] })
}

fn by_key(setting: &Setting<'_>, definition: &TableDefinition<'_>, by: &ShardBy<'_>) -> Result<Placed, Unplaced> {
    let columns = types::columns(setting, definition);
    let mut places = Vec::new();
    for name in by.columns {
        places.push(place_of(&columns, name, &places)?);
    }
    let keys: Vec<&Column> = places.iter().map(|place| &columns[*place]).collect();
    for key in &keys {
        check_column(key, setting.weights)?;
    }
    let (method, shown) = parts::method(setting, by, &keys)?;
    let names: Vec<&str> = keys.iter().map(|key| &*key.name).collect();
    let unchecked = unique::unchecked(definition, &names)?;
    let word = match method {
        Method::Hash => "hash",
        Method::Range(_) => "range",
        Method::List(..) => "list",
        Method::Year => "year",
        Method::Month => "month",
        Method::Day => "day",
    };
    let names: Vec<String> = names.into_iter().map(quoted).collect();
    if names.iter().any(|name| name.contains("*/")) {
        return refused(
            "A name with */ in it can't stand in the comment that keeps the shard key: name the column otherwise",
        );
    }
    let clause = format!("shard by {word}({}){shown}", names.join(", "));
    Ok(Placed::new(Placement::Sharded(ShardKey { columns: places, method }), unchecked, clause))
}

fn place_of(columns: &[Column], name: &Ident<'_>, before: &[usize]) -> Result<usize, Unplaced> {
    let found = columns.iter().position(|column| column.name.as_bytes().eq_ignore_ascii_case(name.name));
    match found {
        Some(place) if before.contains(&place) => {
            let message = format!("Duplicate column name '{}'", text(name.name));
            Err(Failure::client(codes::ER_DUP_FIELDNAME, message).into())
        }
        Some(place) => Ok(place),
        None => {
            let message = format!("Key column '{}' doesn't exist in table", text(name.name));
            Err(Failure::client(codes::ER_KEY_COLUMN_DOES_NOT_EXIST, message).into())
        }
    }
}

/// Whether a column can be in a shard key. [`declare`] has asked it of what the definition says; what the server has made of that is to be
/// asked again, because sessions and servers have defaults of their own.
///
/// # Errors
/// See [`Unplaced`].
pub fn check_column(column: &Column, weights: &Weights) -> Result<(), Unplaced> {
    if column.generated {
        return Err(unfit(
            column,
            "it is generated, so that a statement doesn't say its value; use the columns that it is made from",
        )
        .into());
    }
    let kind = KeyKind::of(&column.kind).map_err(|why| unfit(column, why))?;
    let KeyKind::Text { collation, .. } = kind else {
        return Ok(());
    };
    match collation::exactness(collation) {
        Exactness::Known => Ok(()),
        Exactness::ToCheck if weights.of(collation).is_some() => Ok(()),
        Exactness::ToCheck => {
            Err(Unplaced::NeedsCheck { column: column.name.clone(), collation: collation.to_owned() })
        }
        Exactness::Never => Err(collation::refusal(&column.name, collation).into()),
    }
}

/// The refusal of a column of a shard key.
pub(crate) fn unfit(column: &Column, why: &str) -> Failure {
    let message = format!(
        "Column '{}' of type {} can't be in a shard key: {why} (or name another column with SHARD BY HASH(…), or make the table SINGLE \
         or GLOBAL)",
        column.name, column.kind.full
    );
    Failure::client(codes::ER_NOT_SUPPORTED_YET, message)
}

fn everywhere() -> Placed {
    Placed::new(Placement::Global, Vec::new(), "global")
}

fn on_one(setting: &Setting<'_>, shard: ShardId) -> Placed {
    Placed::new(Placement::Single(shard), Vec::new(), single_clause(setting.catalog.shard_name(shard)))
}

/// The clause of a table on one shard.
pub fn single_clause(shard: &str) -> String {
    format!("single on shard '{}'", shard.replace('\'', "''"))
}

fn first_shard(database: &Database) -> Result<ShardId, Unplaced> {
    let none = || Failure::weir(codes::ER_UNKNOWN_ERROR, "The database has no shard");
    database.shards.first().copied().ok_or_else(|| none().into())
}

/// A shard of the database, by its name.
fn shard_of(setting: &Setting<'_>, name: &str) -> Result<ShardId, Unplaced> {
    let of_database =
        setting.catalog.database(setting.database.as_bytes()).map_or(&[][..], |(_, database)| &database.shards);
    match setting.catalog.shard(name).filter(|shard| of_database.contains(shard)) {
        Some(shard) => Ok(shard),
        None => {
            let names: Vec<&str> = of_database.iter().map(|shard| setting.catalog.shard_name(*shard)).collect();
            refused(format!("Database '{}' has no shard '{name}': it has {}", setting.database, names.join(", ")))
        }
    }
}

/// A name as a clause has it: in quotes where the parser needs them.
fn quoted(name: &str) -> String {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') && !name.is_empty();
    let sql = format!("create table t (x int) shard by hash({name})");
    if plain && weir_sql::parse(&Bump::new(), sql.as_bytes(), LexMode::default()).is_ok() {
        return name.to_owned();
    }
    format!("`{}`", name.replace('`', "``"))
}

fn refused<T>(why: impl Into<String>) -> Result<T, Unplaced> {
    Err(Failure::client(codes::ER_NOT_SUPPORTED_YET, why).into())
}

/// A name's text.
fn text(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

/// A name of a database or table, as the catalog has it.
fn folded(setting: &Setting<'_>, name: &[u8]) -> String {
    if setting.catalog.fold_case { text(name).to_lowercase() } else { text(name) }
}
