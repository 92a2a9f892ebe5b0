//! Routines, triggers, events and views as texts: what a server tells of one, and what makes the same on another.
//!
//! What must always hold: what is made has the definer, the `sql_mode`, the character sets and the time zone of what was told. What could
//! not be made so is refused before anything has changed.

use weir_catalog::ShardId;
use weir_shards::Sharding;
use weir_shards::own::{OwnSession, name, quoted, text};
use weir_wire::Failure;
use weir_wire::error::not_supported;

/// What it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Function,
    Procedure,
    View,
    Event,
    Trigger,
}

impl Kind {
    /// The word of SQL.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Kind::Function => "FUNCTION",
            Kind::Procedure => "PROCEDURE",
            Kind::View => "VIEW",
            Kind::Event => "EVENT",
            Kind::Trigger => "TRIGGER",
        }
    }

    /// What lists all of a database, with a name first.
    fn list(self, database: &str) -> String {
        let of = quoted(database);
        match self {
            Kind::Function | Kind::Procedure => format!(
                "SELECT ROUTINE_NAME FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = {of} AND ROUTINE_TYPE = '{}'",
                self.word()
            ),
            Kind::View => format!("SELECT TABLE_NAME FROM information_schema.VIEWS WHERE TABLE_SCHEMA = {of}"),
            Kind::Event => format!("SELECT EVENT_NAME FROM information_schema.EVENTS WHERE EVENT_SCHEMA = {of}"),
            Kind::Trigger => {
                format!("SELECT TRIGGER_NAME FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = {of}")
            }
        }
    }
}

/// The names of all of a kind that a shard has in a database.
///
/// # Errors
/// The server's.
pub(crate) async fn names(
    sharding: &Sharding,
    shard: ShardId,
    kind: Kind,
    database: &str,
) -> Result<Vec<String>, Failure> {
    let reply = sharding.own.run(shard, kind.list(database)).await?;
    Ok(reply.rows.iter().map(|row| text(row.first())).collect())
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) kind: Kind,
    pub(crate) name: String,
    pub(crate) text: String,
    /// Views have none.
    pub(crate) sql_mode: Option<String>,
    pub(crate) charset: String,
    pub(crate) collation: String,
    /// That of the database as of its definition.
    pub(crate) database_collation: Option<String>,
    /// Of events.
    pub(crate) time_zone: Option<String>,
}

/// What a shard tells of one.
///
/// # Errors
/// 1235 when Weir's account may not see its text, or when it has characters that can't be sent as they were; the server's own.
pub(crate) async fn told(
    sharding: &Sharding,
    shard: ShardId,
    kind: Kind,
    (database, own): (&str, &str),
) -> Result<Program, Failure> {
    let sql = format!("SHOW CREATE {} {}.{}", kind.word(), name(database), name(own));
    let reply = sharding.own.run(shard, sql).await?;
    let row = reply.rows.first();
    let cell =
        |place: usize| row.and_then(|row| row.get(place)).filter(|cell| cell.is_some()).map(|cell| text(Some(cell)));
    // Where the text is; what is told of character sets comes right behind it.
    let (mode, at) = match kind {
        Kind::View => (None, 1),
        Kind::Event => (Some(1), 3),
        _ => (Some(1), 2),
    };
    let what = || format!("{} {database}.{own}", kind.word());
    let create = cell(at).ok_or_else(|| {
        not_supported(format!(
            "Weir's own account '{}' may not see the text of {}: GRANT SELECT ON *.* to it",
            sharding.own.user(),
            what()
        ))
    })?;
    let charset = cell(at + 1).unwrap_or_else(|| "utf8mb4".to_owned());
    if !create.is_ascii() && !charset.starts_with("utf8") {
        return Err(not_supported(format!(
            "{} has characters of {charset} in its text: DROP it, and CREATE it again under SET NAMES utf8mb4",
            what()
        )));
    }
    Ok(Program {
        kind,
        name: own.to_owned(),
        text: create,
        sql_mode: mode.and_then(cell),
        charset,
        collation: cell(at + 2).unwrap_or_else(|| "utf8mb4_general_ci".to_owned()),
        database_collation: cell(at + 3).filter(|_| kind != Kind::View),
        time_zone: cell(2).filter(|_| kind == Kind::Event),
    })
}

impl Program {
    /// What a session is set to in which it is made.
    pub(crate) fn settings(&self) -> String {
        let mut all = vec![
            format!("SESSION character_set_client = {}", quoted(&self.charset)),
            format!("SESSION collation_connection = {}", quoted(&self.collation)),
        ];
        all.extend(self.sql_mode.iter().map(|mode| format!("SESSION sql_mode = {}", quoted(mode))));
        all.extend(self.time_zone.iter().map(|zone| format!("SESSION time_zone = {}", quoted(zone))));
        format!("SET {}", all.join(", "))
    }

    /// Makes it in the session's database, in place of one of this name.
    ///
    /// # Errors
    /// The server's.
    pub(crate) async fn make(&self, session: &mut OwnSession) -> Result<(), Failure> {
        session.run(BEGINNING).await?;
        session.run(&format!("DROP {} IF EXISTS {}", self.kind.word(), name(&self.name))).await?;
        session.run(&self.settings()).await?;
        session.run(&self.text).await?;
        session.run(BEGINNING).await.map(drop)
    }
}

/// What Weir's own statements are read with.
const BEGINNING: &str = "SET NAMES utf8mb4, SESSION sql_mode = 'STRICT_ALL_TABLES', SESSION time_zone = '+00:00'";

/// The session is in a database from now on.
///
/// # Errors
/// The server's.
pub(crate) async fn enter(session: &mut OwnSession, database: &str) -> Result<(), Failure> {
    session.run(&format!("USE {}", name(database))).await.map(drop)
}
