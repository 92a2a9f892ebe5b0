//! Which shards are asked, and how their replies become one.

use weir_catalog::{Catalog, EventPlace, Object, Placement, ShardId};
use weir_sql::ast::{
    AlterTable, DescribeTable, Expr, ExprKind, Flush, FlushTables, FlushWhat, Ident, ObjectName, Show, ShowCreate,
    ShowFilter, ShowKind, ShowTable, Span, StatementKind, TableUpkeep, UpkeepVerb,
};
use weir_sql::splice;
use weir_sql::visit::{Flow, Node, walk};
use weir_wire::Failure;
use weir_wire::error::{codes, not_supported};

use crate::define::{Asked, names, shards as placed};

/// How a statement is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Telling {
    /// As this shard answers.
    One(ShardId),
    /// As this shard answers, with Weir's clause and the sequence.
    CreateTable(ShardId, Object),
    /// As the first of these shards answers that lets the user in, with the database's shards.
    CreateDatabase(Vec<ShardId>, String),
    /// SHOW DATABASES: what the first of these shards tells, and what others tell of databases that they have.
    Databases(Vec<ShardId>),
    /// SHOW GRANTS: what the first of these shards tells, and what others tell of what only they have.
    Grants(Vec<ShardId>),
    /// All rows of these shards, each first value once.
    Names(Vec<ShardId>),
    /// SHOW TABLE STATUS of a database: each table once, with sums.
    Status(Vec<ShardId>, String),
    /// One table after the other.
    Upkeep(Vec<Care>),
    /// One after the other, each on the shards that have it: the text for it alone, and its shards.
    Flush(Vec<(Vec<u8>, Vec<ShardId>)>),
}

/// What is done to one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Care {
    /// The statement for it alone.
    pub text: Vec<u8>,
    /// Its shards.
    pub shards: Vec<ShardId>,
    /// What is done.
    pub verb: UpkeepVerb,
    /// Checksums of its shards are added.
    pub adds: bool,
}

/// The shards that a statement about sharded objects is for.
///
/// # Errors
/// As [`plan`].
pub fn shards(asked: &Asked<'_>, catalog: &Catalog) -> Result<Vec<ShardId>, Failure> {
    let mut shards = match plan(asked, catalog)? {
        Telling::One(shard) | Telling::CreateTable(shard, _) => vec![shard],
        Telling::Names(shards)
        | Telling::Status(shards, _)
        | Telling::CreateDatabase(shards, _)
        | Telling::Databases(shards)
        | Telling::Grants(shards) => shards,
        Telling::Upkeep(tables) => tables.into_iter().flat_map(|table| table.shards).collect(),
        Telling::Flush(tables) => tables.into_iter().flat_map(|(_, shards)| shards).collect(),
    };
    shards.sort();
    shards.dedup();
    Ok(shards)
}

/// How a statement is answered.
///
/// # Errors
/// 1235 for what can't be combined.
pub fn plan(asked: &Asked<'_>, catalog: &Catalog) -> Result<Telling, Failure> {
    match asked.statement.kind {
        StatementKind::Show(show) => self::show(asked, catalog, show),
        StatementKind::DescribeTable(DescribeTable { table, .. }) => of_table(asked, catalog, *table),
        StatementKind::TableUpkeep(upkeep) => self::upkeep(asked, catalog, upkeep),
        StatementKind::AlterTable(alter) => of_partitions(asked, catalog, alter),
        StatementKind::Flush(Flush { what: FlushWhat::Tables(flush), .. }) => self::flush(asked, catalog, flush),
        _ => Ok(Telling::One(ShardId(0))),
    }
}

fn show(asked: &Asked<'_>, catalog: &Catalog, show: &Show<'_>) -> Result<Telling, Failure> {
    let all_of = |name| match names::database(asked, catalog, name) {
        Some(database) => (placed::of_database(catalog, &database), database),
        None => (vec![ShardId(0)], String::new()),
    };
    match show.kind {
        ShowKind::Tables(name) | ShowKind::Triggers(name) | ShowKind::Events(name) | ShowKind::OpenTables(name) => {
            Ok(Telling::Names(all_of(name).0))
        }
        ShowKind::TableStatus(name) => {
            if let Some(ShowFilter::Where(condition)) = &show.filter {
                status_filter(condition)?;
            }
            let (shards, database) = all_of(name);
            Ok(Telling::Status(shards, database))
        }
        ShowKind::Columns(table) | ShowKind::Index(table) => {
            let ShowTable { table, database } = table;
            of_table(asked, catalog, ObjectName { database: database.or(table.database), ..table })
        }
        ShowKind::Create(create) => match create {
            ShowCreate::Table(name) => match of_table(asked, catalog, *name)? {
                Telling::One(shard) => match names::object(asked, catalog, name)? {
                    Some(object) if placed::table(catalog, &object).is_some() => {
                        Ok(Telling::CreateTable(shard, object))
                    }
                    _ => Ok(Telling::One(shard)),
                },
                other => Ok(other),
            },
            ShowCreate::View(name) | ShowCreate::Sequence(name) => of_table(asked, catalog, *name),
            ShowCreate::Trigger(name) => {
                let object = names::object(asked, catalog, name)?;
                let known = catalog.triggers.iter().find(|(trigger, _)| Some(trigger) == object.as_ref());
                let of = known.map(|(_, table)| table.clone()).or(object);
                Ok(Telling::One(of.map_or(ShardId(0), |of| one_of(catalog, &of))))
            }
            ShowCreate::Routine(_, name) => of_table(asked, catalog, *name),
            ShowCreate::Event(name) => {
                let object = names::object(asked, catalog, name)?;
                let place = object.as_ref().and_then(|object| catalog.event(object)).map(|event| &event.place);
                match place {
                    Some(EventPlace::One(shard)) => Ok(Telling::One(*shard)),
                    Some(EventPlace::Each { .. }) | None => of_table(asked, catalog, *name),
                }
            }
            ShowCreate::Database(name) => {
                let (shards, database) = all_of(Some(*name));
                Ok(Telling::CreateDatabase(shards, database))
            }
            ShowCreate::User(_) => Ok(Telling::One(ShardId(0))),
        },
        ShowKind::Databases => Ok(Telling::Databases(catalog.all_shards().collect())),
        ShowKind::Grants(_) => Ok(Telling::Grants(catalog.all_shards().collect())),
        _ => Ok(Telling::One(ShardId(0))),
    }
}

/// Refuses a filter on what is a sum.
fn status_filter(condition: &Expr<'_>) -> Result<(), Failure> {
    const SAME_EVERYWHERE: [&str; 7] =
        ["name", "engine", "version", "row_format", "collation", "create_options", "comment"];
    let mut odd = None;
    walk(Node::Expr(condition), &mut |node: Node<'_>| {
        match node {
            Node::Expr(Expr { kind: ExprKind::Column(column), .. })
                if !SAME_EVERYWHERE.iter().any(|known| column.name.is(known)) =>
            {
                odd = Some(String::from_utf8_lossy(column.name.name).into_owned());
            }
            Node::Query(_) => odd = Some("a subquery".to_owned()),
            _ => {}
        }
        if odd.is_some() { Flow::Stop } else { Flow::Descend }
    });
    match odd {
        None => Ok(()),
        Some(what) => Err(not_supported(format!(
            "SHOW TABLE STATUS of a sharded database can't be filtered by {what}, which is combined from several shards: filter by \
             the name"
        ))),
    }
}

fn of_table(asked: &Asked<'_>, catalog: &Catalog, name: ObjectName<'_>) -> Result<Telling, Failure> {
    let object = names::object(asked, catalog, &name)?;
    Ok(Telling::One(object.map_or(ShardId(0), |object| one_of(catalog, &object))))
}

/// A shard that has it.
fn one_of(catalog: &Catalog, object: &Object) -> ShardId {
    placed::of_object(catalog, object).first().copied().unwrap_or(ShardId(0))
}

/// FLUSH TABLES t, u, without a lock.
fn flush(asked: &Asked<'_>, catalog: &Catalog, flush: &FlushTables<'_>) -> Result<Telling, Failure> {
    let (Some(first), Some(last)) = (flush.tables.first(), flush.tables.last()) else {
        return Ok(Telling::One(ShardId(0)));
    };
    let list = first.span.range().start..last.span.range().end;
    let mut each = Vec::new();
    let mut named = Vec::new();
    for table in flush.tables {
        let object = named_once(asked, catalog, table, &mut named)?;
        let shards = object.map_or_else(|| vec![ShardId(0)], |object| placed::of_object(catalog, &object));
        each.push((splice(asked.text, &[(list.clone(), table.span.text(asked.text))]), shards));
    }
    Ok(Telling::Flush(each))
}

fn upkeep(asked: &Asked<'_>, catalog: &Catalog, upkeep: &TableUpkeep<'_>) -> Result<Telling, Failure> {
    let spans: Vec<Span> = upkeep.tables.iter().map(|table| table.span).collect();
    let (Some(first), Some(last)) = (spans.first(), spans.last()) else { return Ok(Telling::One(ShardId(0))) };
    let list = first.range().start..last.range().end;
    let mut cares = Vec::new();
    let mut named = Vec::new();
    let persistent = persistent(asked.text, upkeep);
    for (table, span) in upkeep.tables.iter().zip(&spans) {
        let object = named_once(asked, catalog, &table.name, &mut named)?;
        let shards = shards_of_care(catalog, object.as_ref(), upkeep.verb);
        let own = match &persistent {
            Some(persistent) => &[table.name.span.text(asked.text), b" ", persistent].concat(),
            None => span.text(asked.text),
        };
        let text = splice(asked.text, &[(list.clone(), own)]);
        cares.push(Care { text, shards, verb: upkeep.verb, adds: upkeep.verb == UpkeepVerb::Checksum });
    }
    Ok(Telling::Upkeep(cares))
}

/// The next table of a statement that names several, each of which gets a text of its own.
///
/// # Errors
/// The statement has named it before: servers refuse that.
fn named_once(
    asked: &Asked<'_>,
    catalog: &Catalog,
    name: &ObjectName<'_>,
    named: &mut Vec<Object>,
) -> Result<Option<Object>, Failure> {
    let Some(object) = names::object(asked, catalog, name)? else { return Ok(None) };
    if named.contains(&object) {
        let message = format!("Not unique table/alias: '{}'", String::from_utf8_lossy(name.name.name));
        return Err(Failure::client(codes::ER_NONUNIQ_TABLE, message));
    }
    named.push(object.clone());
    Ok(Some(object))
}

/// PERSISTENT FOR stands behind one table and is about all of them: of several, MariaDB takes the last list of columns, and of indexes.
fn persistent(text: &[u8], upkeep: &TableUpkeep<'_>) -> Option<Vec<u8>> {
    let said = || upkeep.tables.iter().filter_map(|table| table.persistent);
    let list = |idents: Option<&[Ident<'_>]>| match idents {
        None => b"ALL".to_vec(),
        Some(idents) => {
            let names: Vec<&[u8]> = idents.iter().map(|ident| ident.span.text(text)).collect();
            [b"(", &names.join(&b", "[..])[..], b")"].concat()
        }
    };
    said().next()?;
    let columns = list(said().filter_map(|persistent| persistent.columns).next_back());
    let indexes = list(said().filter_map(|persistent| persistent.indexes).next_back());
    Some([b"PERSISTENT FOR COLUMNS ", &columns[..], b" INDEXES ", &indexes[..]].concat())
}

/// ALTER TABLE … ANALYZE PARTITION and the like.
fn of_partitions(asked: &Asked<'_>, catalog: &Catalog, alter: &AlterTable<'_>) -> Result<Telling, Failure> {
    let Some(verb) = alter.partition_upkeep() else { return Ok(Telling::One(ShardId(0))) };
    let object = names::object(asked, catalog, &alter.table)?;
    let shards = shards_of_care(catalog, object.as_ref(), verb);
    Ok(Telling::Upkeep(vec![Care { text: asked.text.to_vec(), shards, verb, adds: false }]))
}

/// The shards where this is done to a table. What is not known is missing everywhere; a checksum of copies is that of one.
fn shards_of_care(catalog: &Catalog, object: Option<&Object>, verb: UpkeepVerb) -> Vec<ShardId> {
    let known = object.and_then(|object| placed::table(catalog, object));
    let mut shards = match object {
        Some(object) => placed::of_object(catalog, object),
        None => vec![ShardId(0)],
    };
    let copies = known.is_some_and(|table| table.placement == Placement::Global);
    if known.is_none() || copies && verb == UpkeepVerb::Checksum {
        shards.truncate(1);
    }
    shards
}
