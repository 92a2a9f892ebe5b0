//! Triggers go with their tables.
//!
//! What must always hold: hidden tables have none, so that none runs for a row that is copied or follows: what a trigger did is in the log
//! of its source. Whenever statements may use a table, it has all of its triggers, in their order.

use std::sync::Arc;

use weir_catalog::{Catalog, Move, MovedTable, MovedTrigger, Object, ShardId};
use weir_shards::Sharding;
use weir_shards::own::{OwnSession, name, quoted, text};
use weir_sql::ast::{Span, Statement, StatementKind};
use weir_sql::{Bump, LexMode, splice};
use weir_wire::Failure;
use weir_wire::error::not_supported;

use crate::program::{self, Kind, Program};
use crate::{Direction, layout, request};

/// The triggers of a table, in the order in which they have to be made.
///
/// # Errors
/// 1235 for one that could not be made again as it is; the server's.
pub(crate) async fn told(
    sharding: &Sharding,
    shard: ShardId,
    table: &Object,
    mode: LexMode,
) -> Result<Vec<MovedTrigger>, Failure> {
    let names = names(sharding, shard, table).await?;
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let collation = layout::database_collation(sharding, shard, &table.database).await?;
    let mut all = Vec::new();
    for trigger in names {
        let Program { name, text, sql_mode, charset, collation: connection, database_collation, .. } =
            program::told(sharding, shard, Kind::Trigger, (&table.database, &trigger)).await?;
        if database_collation.is_some_and(|was| was != collation) {
            return Err(not_supported(format!(
                "Trigger {}.{name} was made when the database had another collation than {collation}: DROP it, and CREATE it again",
                table.database
            )));
        }
        let trigger =
            MovedTrigger { name, text, sql_mode: sql_mode.unwrap_or_default(), charset, collation: connection };
        // To be found out now, not at the cutover.
        in_schema(&trigger, mode, "x", "x")?;
        all.push(trigger);
    }
    Ok(all)
}

/// The names of a table's triggers, in their order.
async fn names(sharding: &Sharding, shard: ShardId, table: &Object) -> Result<Vec<String>, Failure> {
    let own = table.name.as_deref().unwrap_or_default();
    let sql = format!(
        "SELECT TRIGGER_NAME, EVENT_OBJECT_TABLE FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = {} AND EVENT_OBJECT_TABLE = {} \
         ORDER BY EVENT_MANIPULATION, ACTION_TIMING, ACTION_ORDER",
        quoted(&table.database),
        quoted(own)
    );
    let reply = sharding.own.run(shard, sql).await?;
    // Names are compared without regard to case there, also where tables have names with it.
    let of_table = reply.rows.iter().filter(|row| sharding.catalog().fold_case || text(row.get(1)) == own);
    Ok(of_table.map(|row| text(row.first())).collect())
}

/// Whether all triggers of a database still find their rows after a move of these tables.
///
/// # Errors
/// 1235 for one that does not; the servers' own.
pub(crate) async fn follow(sharding: &Sharding, after: &Catalog, moved: &[MovedTable]) -> Result<(), Failure> {
    let Some(database) = moved.first().map(|moved| &moved.object.database) else { return Ok(()) };
    let mut shards: Vec<ShardId> = moved.iter().flat_map(|moved| moved.from_shards.clone()).collect();
    shards.sort_unstable();
    shards.dedup();
    let sql = format!(
        "SELECT TRIGGER_NAME, EVENT_OBJECT_TABLE, ACTION_STATEMENT, SQL_MODE FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = {}",
        quoted(database)
    );
    for shard in shards {
        let mode = request::mode(sharding, shard);
        for row in sharding.own.run(shard, sql.clone()).await?.rows {
            let table = Object::within(database.clone(), text(row.get(1)));
            let mode = LexMode { dialect: mode.dialect, ..LexMode::from_sql_mode(&text(row.get(3))) };
            if !weir_ddl::define::may_have_trigger(after, &table, text(row.get(2)).as_bytes(), mode) {
                return Err(not_supported(format!(
                    "Trigger '{}' of {table} would no longer find all rows that it uses on the shard of its table's row: DROP the trigger first",
                    text(row.first())
                )));
            }
        }
    }
    Ok(())
}

/// The statement that makes a trigger for a table of this name in a schema.
fn in_schema(trigger: &MovedTrigger, mode: LexMode, schema: &str, table: &str) -> Result<String, Failure> {
    let mode = LexMode { dialect: mode.dialect, ..LexMode::from_sql_mode(&trigger.sql_mode) };
    let arena = Bump::new();
    let create = trigger.text.as_bytes();
    let unread = || not_supported(format!("Weir can't read trigger '{}': DROP it first", trigger.name));
    let parsed = weir_sql::parse(&arena, create, mode).map_err(|_| unread())?;
    let [Statement { kind: StatementKind::CreateTrigger(found), .. }] = parsed.statements else {
        return Err(unread());
    };
    let named = |own: &str| format!("{}.{}", name(schema), name(own));
    let mut edits: Vec<(Span, String)> =
        vec![(found.name.span, named(&trigger.name)), (found.table.span, named(table))];
    edits.sort_by_key(|(span, _)| span.start);
    let edits: Vec<_> = edits.iter().map(|(span, text)| (span.range(), text.as_bytes())).collect();
    Ok(String::from_utf8_lossy(&splice(create, &edits)).into_owned())
}

/// Makes triggers of a table in a schema; the session is in that schema.
async fn make(
    session: &mut OwnSession,
    mode: LexMode,
    triggers: &[MovedTrigger],
    (schema, table): (&str, &str),
) -> Result<(), Failure> {
    for trigger in triggers {
        let MovedTrigger { name, sql_mode, charset, collation, .. } = trigger.clone();
        let made = Program {
            kind: Kind::Trigger,
            text: in_schema(trigger, mode, schema, table)?,
            sql_mode: Some(sql_mode),
            database_collation: None,
            time_zone: None,
            name,
            charset,
            collation,
        };
        made.make(session).await?;
    }
    Ok(())
}

/// Whether Weir may make all triggers of a move wherever its tables are or come to, found out on a table that nobody uses.
///
/// # Errors
/// The servers'.
pub(crate) async fn try_out(sharding: &Sharding, known: &Move) -> Result<(), Failure> {
    for moved in known.tables.iter().filter(|moved| !moved.triggers.is_empty()) {
        let own = moved.object.name.as_deref().unwrap_or_default();
        for shard in moved.from_shards.iter().chain(&moved.to_shards) {
            let model = if moved.from_shards.contains(shard) { &moved.object.database } else { &known.new_schema() };
            let (schema, model) = (known.old_schema(), format!("{}.{}", name(model), name(own)));
            let scratch = format!("{}.{}", name(&schema), name(own));
            let mut session = sharding.own.session(*shard).await?;
            program::enter(&mut session, &schema).await?;
            session.run(&format!("DROP TABLE IF EXISTS {scratch}")).await?;
            session.run(&format!("CREATE TABLE {scratch} LIKE {model}")).await?;
            make(&mut session, request::mode(sharding, *shard), &moved.triggers, (&schema, own)).await?;
            session.run(&format!("DROP TABLE {scratch}")).await?;
        }
    }
    Ok(())
}

/// The tables of a shard that get out of use and have triggers.
pub(crate) fn leaving(known: &Move, shard: ShardId, direction: Direction) -> impl Iterator<Item = &MovedTable> {
    known.tables.iter().filter(move |moved| {
        let before = match direction {
            Direction::Forward => &moved.from_shards,
            Direction::Back => &moved.to_shards,
        };
        !moved.triggers.is_empty() && before.contains(&shard)
    })
}

/// What drops the triggers of the tables that get out of use on a shard: none could be renamed with them.
pub(crate) fn drops(known: &Move, shard: ShardId, direction: Direction) -> Vec<String> {
    let of_table = |moved: &MovedTable| {
        let drop = |trigger: &MovedTrigger| {
            format!("DROP TRIGGER IF EXISTS {}.{}", name(&moved.object.database), name(&trigger.name))
        };
        moved.triggers.iter().map(drop).collect::<Vec<_>>()
    };
    leaving(known, shard, direction).flat_map(of_table).collect()
}

/// Makes what is missing of the triggers of the tables that are in use on a shard when the names are as this direction leaves them.
///
/// # Errors
/// The server's.
pub(crate) async fn ensure(
    sharding: &Arc<Sharding>,
    known: &Move,
    shard: ShardId,
    direction: Direction,
) -> Result<(), Failure> {
    for moved in known.tables.iter().filter(|moved| !moved.triggers.is_empty()) {
        let there = match direction {
            Direction::Forward => &moved.to_shards,
            Direction::Back => &moved.from_shards,
        };
        if !there.contains(&shard) {
            continue;
        }
        let has = names(sharding, shard, &moved.object).await?;
        if has.iter().eq(moved.triggers.iter().map(|known| &known.name)) {
            continue;
        }
        let own = moved.object.name.as_deref().unwrap_or_default();
        let mut session = sharding.own.session(shard).await?;
        session.run("SET SESSION lock_wait_timeout = 2").await?;
        program::enter(&mut session, &moved.object.database).await?;
        for trigger in &moved.triggers {
            session.run(&format!("DROP TRIGGER IF EXISTS {}", name(&trigger.name))).await?;
        }
        make(&mut session, request::mode(sharding, shard), &moved.triggers, (&moved.object.database, own)).await?;
    }
    Ok(())
}
