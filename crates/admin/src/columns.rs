//! The columns of the commands' answers.

use crate::answer::Column;

/// `STATUS`
pub const STATUS: &[Column] = &[
    Column::text("version", "Weir's version"),
    Column::integer("pid", "The process id"),
    Column::integer("instance", "The highest byte of its connection ids (`listen.instance`)"),
    Column::integer("uptime_seconds", "Seconds since the start of this process"),
    Column::integer("sessions", "Client sessions"),
    Column::integer("groups", "Groups of servers in the configuration: shards"),
    Column::integer("writers_up", "Groups whose writer can write"),
    Column::integer("servers", "Servers in the configuration"),
    Column::integer("servers_up", "Servers that answer"),
    Column::integer("server_connections", "Connections open to servers"),
    Column::integer("waiting_statements", "Statements that wait for a connection"),
    Column::text("read_only", "ON while statements that change data are refused"),
];

/// `SHOW SERVERS`
pub const SERVERS: &[Column] = &[
    Column::text("server", "The server's name"),
    Column::text("address", "Where it is"),
    Column::text(
        "role",
        "What it is for: writer or replica; unused: its group tells of it, and the last column why nothing is sent there",
    ),
    Column::text("health", "unknown, up, down or hung"),
    Column::text("group", "Its group"),
    Column::integer("weight", "Its share of the reads"),
    Column::text("reads", "Whether reads are sent to it: yes, no, or why not"),
    Column::number("lag_seconds", "How old what it shows can be at most; null: not known").or_null(),
    Column::text("position", "What it had applied when it was last asked").or_null(),
    Column::text("version", "The version that it tells").or_null(),
    Column::text("reason", "Why it is down"),
    Column::integer("seconds", "Seconds since its health changed"),
    Column::text("notice", "With discover = true: that its group does not know it, or why it is not used").or_null(),
];

/// `SHOW GROUPS`
pub const GROUPS: &[Column] = &[
    Column::text("group", "The group's name"),
    Column::text("kind", "How its servers replicate: static, async, group_replication or galera"),
    Column::text("failover", "Who replaces a dead writer: automatic or manual"),
    Column::text("server", "The server's name"),
    Column::text("role", "What it is for: writer or replica"),
    Column::text("state", "What it is to its group now, in the servers' words"),
    Column::text("follows", "The address that it replicates from").or_null(),
    Column::text("error", "Its last error of replication, or why Weir cannot ask").or_null(),
    Column::number("lag_seconds", "How old what it shows can be at most; null: not known").or_null(),
    Column::text("commits_wait_for", "Whose acknowledgement a commit waits for").or_null(),
    Column::integer("queue", "Transactions that wait to be certified or applied").or_null(),
    Column::integer("conflicts", "Its transactions that certification has refused").or_null(),
    Column::number("paused", "The part of the time that flow control held replication up").or_null(),
    Column::text("notice", "What is wrong, and what is waited for").or_null(),
];

/// `SHOW FAILOVERS`
pub const FAILOVERS: &[Column] = &[
    Column::text("group", "The group's name"),
    Column::text("began", "When it began, UTC"),
    Column::text("action", "failover, switchover, rejoin, fence, resume, boot or elected"),
    Column::text("from", "The server that was the writer, or that was worked on"),
    Column::text("to", "The server that became the writer, or is followed").or_null(),
    Column::text("outcome", "done, or why it failed"),
    Column::number("seconds", "How long it took"),
    Column::text("lost", "Transactions that only the old writer had, as far as is known").or_null(),
    Column::text("timeline", "What was seen, decided and done, and when"),
];

/// `ADVISE`
pub const ADVICE: &[Column] = &[
    Column::text("group", "The group's name"),
    Column::text("server", "The server's name"),
    Column::text("setting", "The variable; null: the server did not say").or_null(),
    Column::text("value", "Its value").or_null(),
    Column::text("costs", "What it costs: safety, speed or availability").or_null(),
    Column::text("reason", "Why"),
    Column::text("statement", "What changes it there").or_null(),
];

/// `SHOW SESSIONS`
pub const SESSIONS: &[Column] = &[
    Column::integer("id", "The connection id, as KILL takes it"),
    Column::text("user", "The user; empty before the login"),
    Column::text("host", "The client's address"),
    Column::text("db", "The default database").or_null(),
    Column::text("command", "The command, as SHOW PROCESSLIST names it"),
    Column::text("state", "What the command waits for"),
    Column::text("server", "The servers whose connections it has, and the connections' ids there").or_null(),
    Column::text("pins", "What binds it to that connection"),
    Column::text("replay", "Whether its open transaction would be run again if the writer were lost; no, and why")
        .or_null(),
    Column::text("consistency", "How fresh its reads have to be"),
    Column::text("statement", "The beginning of the running statement").or_null(),
    Column::integer("seconds", "Seconds in this command"),
];

/// `SHOW POOLS`
pub const POOLS: &[Column] = &[
    Column::text("server", "The server's name"),
    Column::integer("worker", "The worker's number"),
    Column::integer("open", "Connections open"),
    Column::integer("idle", "Connections that nobody uses"),
    Column::integer("held", "Connections kept for what a statement left"),
    Column::integer("waiting", "Statements that wait for a connection"),
    Column::integer("limit", "The most connections to the server, of all workers"),
    Column::integer("lanes", "Connections that are lanes"),
    Column::integer("riding", "Statements in flight on lanes"),
    Column::number("depth", "Statements in flight per lane, over the last second"),
    Column::number("batch", "Statements per write, over the last second"),
    Column::integer("stalls", "Lanes that a statement has held up, since the start"),
    Column::text("group", "The server's group"),
];

/// `SHOW HOT ROWS`
pub const HOT_ROWS: &[Column] = &[
    Column::text("database", "The table's database"),
    Column::text("table", "The table"),
    Column::text("statement", "The statement without its literals"),
    Column::text("values", "The values that name the row"),
    Column::text("user", "The user whose statements they are"),
    Column::text("server", "The server that runs them"),
    Column::text("state", "hot, or cooled: one of the rows that were hot last"),
    Column::integer("waiting", "Statements that wait for their batch"),
    Column::integer("running", "Statements of the batch that runs"),
    Column::integer("batches", "Batches that were committed since the row is hot"),
    Column::integer("statements", "Statements in those batches"),
    Column::number("per_batch", "Statements per batch"),
    Column::integer("commits_saved", "Commits that the batches have saved"),
    Column::text("since", "Since when the row is hot, in UTC"),
];

/// `SHOW TRANSACTIONS`
pub const TRANSACTIONS: &[Column] = &[
    Column::text("transaction", "Its name: the XA gtrid, and the key in weir.decisions"),
    Column::text("shard", "The shard that has the branch"),
    Column::text("decider", "The shard that decides"),
    Column::integer("seconds", "For how long it has been seen prepared"),
    Column::text("reason", "Why it could not be ended yet; null: it has not been tried").or_null(),
];

/// `SHOW DIGESTS`
pub const DIGESTS: &[Column] = &[
    Column::text("digest", "The digest, as rules take it; `other` for all those that have no row of their own"),
    Column::text("text", "The statement without its literals"),
    Column::text("kind", "select, insert, update, delete, ddl, transaction or other"),
    Column::integer("count", "Statements"),
    Column::integer("errors", "Those that ended in an error"),
    Column::number("total_ms", "All their time, in milliseconds, from arrival to the end of the reply"),
    Column::number("min_ms", "The shortest"),
    Column::number("max_ms", "The longest"),
    Column::number("p50_ms", "Half of them took no longer; at most a quarter too long, as the next two"),
    Column::number("p95_ms", "95 of 100 took no longer"),
    Column::number("p99_ms", "99 of 100 took no longer"),
    Column::integer("rows_sent", "Rows sent to clients"),
    Column::integer("rows_affected", "Rows changed"),
    Column::integer("bytes", "Bytes of the servers' replies"),
    Column::integer("on_replicas", "Those that a replica answered"),
    Column::integer("on_lanes", "Those that rode lanes"),
    Column::text("first_seen", "When the first of them ended, in UTC").or_null(),
    Column::text("last_seen", "When the last of them ended, in UTC").or_null(),
];

/// `SHOW RULES`
pub const RULES: &[Column] = &[
    Column::text("rule", "The rule's name"),
    Column::text("action", "block, limit, route, rewrite or timeout"),
    Column::text("matches", "Which statements it is for"),
    Column::integer("hits", "Statements that it was applied to"),
    Column::integer("refusals", "Statements that it has refused or ended"),
];

/// `SHOW CONFIG`
pub const CONFIG: &[Column] = &[
    Column::text("key", "Section and name of the key"),
    Column::text("value", "The value in effect; passwords are masked").or_null(),
    Column::text("source", "Where the value is from: file, default, or what has overridden both"),
];

/// `RELOAD`
pub const RELOAD: &[Column] = &[
    Column::text("key", "A key that has changed"),
    Column::text("outcome", "applied, or needs restart"),
    Column::text("old", "The value before; passwords are masked").or_null(),
    Column::text("new", "The value now; passwords are masked").or_null(),
];

/// `SHOW SHARDS`
pub const SHARDS: &[Column] = &[
    Column::text("shard", "The shard's name, which is its group's"),
    Column::integer("number", "Its number; 0 is the home shard"),
    Column::text("writer", "The server that takes its writes"),
    Column::text("health", "Whether that server answers"),
    Column::text("schema", "ready, or why the schema `weir` is not there yet"),
    Column::integer("catalog_version", "The newest version of the catalog that was copied there"),
    Column::integer("databases", "Sharded databases that it holds"),
    Column::integer("single_tables", "Tables that are on this shard alone"),
    Column::integer("slots", "Slots that it has, of all databases together"),
    Column::text(
        "state",
        "in use; draining, and what it still holds; or drained: it can be removed if it is the last one",
    ),
];

/// `SHOW DDL`
pub const DEFINITIONS: &[Column] = &[
    Column::integer("id", "Its number, for RESUME DDL and CANCEL DDL"),
    Column::text("statement", "The beginning of its text; passwords are left out"),
    Column::text("database", "The default database that it was given in").or_null(),
    Column::text("done", "The shards that have it"),
    Column::text("not_done", "The shards that don't, each with its error if it has answered"),
];

/// `SHOW BATCHES`
pub const BATCHES: &[Column] = &[
    Column::integer("id", "Its number, for WEIR BATCH …"),
    Column::text("user", "Whose it is"),
    Column::text("table", "The table whose rows are changed, or copied"),
    Column::text("column", "The column along which it is split"),
    Column::text(
        "state",
        "running, paused, waiting for replicas, cancelling; interrupted: no session runs it; failed, finished, cancelled",
    ),
    Column::integer("parts", "Parts that are done"),
    Column::integer("rows_changed", "Rows that they have changed, as the servers count them"),
    Column::text("done", "The last value of the column that is done").or_null(),
    Column::text("last", "The last value of all"),
    Column::text("begun", "When it began, UTC"),
    Column::text("statement", "The statement"),
    Column::text("next", "What can be done"),
    Column::text("error", "Why it has failed, or was cancelled").or_null(),
];

/// `SHOW MOVES`
pub const MOVES: &[Column] = &[
    Column::integer("id", "Its number, for WEIR MOVE …"),
    Column::text("tables", "The tables, each with its database"),
    Column::text("from", "Their placements before"),
    Column::text("to", "Their placements after"),
    Column::text(
        "phase",
        "prepare, copy, follow, cutover, reverse, finishing, cancelling; finished, cancelled or undone",
    ),
    Column::text("state", "What it does now, or waits for"),
    Column::integer("rows_copied", "Rows that were copied"),
    Column::integer("rows", "Rows that there are to copy, as the servers estimate"),
    Column::integer("bytes_copied", "Bytes that were copied, as statements"),
    Column::number("rows_per_second", "Rows per second, over the last seconds"),
    Column::integer("remaining_seconds", "The time that the copy will still take").or_null(),
    Column::integer("changes", "Changes that were applied"),
    Column::number("lag_seconds", "How far the copy is behind"),
    Column::text("compared", "What came of the latest comparison of both sides").or_null(),
    Column::text("cutover_at", "Its cutover does not come before this time, UTC").or_null(),
    Column::text("next", "What comes next, or can be done"),
    Column::text("error", "Why it is paused, or was given up").or_null(),
];

/// `MOVE TABLES`
pub const MOVE_BEGUN: &[Column] = &[
    Column::integer("id", "The move's number; 0 if all tables have these placements already"),
    Column::text("tables", "The tables"),
];

/// `REBALANCE`, `DRAIN SHARD`, `MOVE SLOTS`
pub const LAYOUTS: &[Column] = &[
    Column::text("database", "The database"),
    Column::integer("move", "The number of its move; none for a dry run, or if no table has to move").or_null(),
    Column::text("slots_before", "Its shards, with the slots that each has"),
    Column::text("slots_after", "The same after the move"),
    Column::integer("slots_moved", "Slots that get another shard"),
    Column::text("tables", "The tables that move"),
];

/// `CANCEL DDL`
pub const CANCELLED: &[Column] = &[
    Column::text("shard", "The shard"),
    Column::text("state", "That it does not have the definition; or what it is left with, and how that is ended"),
];

/// `SHOW TABLES`
pub const TABLES: &[Column] = &[
    Column::text("database", "The database"),
    Column::text("table", "The table"),
    Column::text("placement", "sharded, global or single"),
    Column::text("shard_key", "The columns that say on which shard a row is").or_null(),
    Column::text("shards", "The shards that hold rows of it"),
    Column::text("clause", "How CREATE TABLE says it"),
];

/// `CATALOG CHECK`
pub const DIFFERENCES: &[Column] = &[
    Column::text("shard", "The shard"),
    Column::text("object", "What differs"),
    Column::text("difference", "What the shard has, and what the catalog"),
];

/// `HELP`
pub const HELP: &[Column] =
    &[Column::text("statement", "How SQL writes it"), Column::text("description", "What it does")];
