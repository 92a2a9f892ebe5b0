//! The list of commands.
//!
//! What must always hold: no two entries have a form or a path in common, and each is in words that [`super::form`] can read.

use weir_wire::Failure;

use super::{Argument, ArgumentKind, Arguments, Command, Method, MoveOrder, Shape, Spec};
use crate::columns;
use crate::sessions::Interrupt;

pub(super) const PATTERN: Argument = Argument {
    name: "pattern",
    kind: ArgumentKind::Text,
    about: "What to show, as in MySQL's LIKE: `%` matches any text, `_` one character",
};
const STATE: Argument = Argument { name: "state", kind: ArgumentKind::Text, about: "`ON` or `OFF`" };
const LIMIT: Argument = Argument {
    name: "limit",
    kind: ArgumentKind::Integer,
    about: "The maximum number of rows to show; 100 if not given",
};
const ID: Argument =
    Argument { name: "id", kind: ArgumentKind::Integer, about: "The connection id of a session: `CONNECTION_ID()`" };

const DATABASE: Argument = Argument { name: "database", kind: ArgumentKind::Text, about: "The database's name" };

const GROUP: Argument = Argument {
    name: "group",
    kind: ArgumentKind::Text,
    about: "The group's name; it may be left out if the server tells it, or there is one group",
};
const NEW_WRITER: Argument =
    Argument { name: "server", kind: ArgumentKind::Text, about: "The name of the server that becomes the writer" };

const DEFINITION: Argument =
    Argument { name: "id", kind: ArgumentKind::Integer, about: "The definition's number, as SHOW DDL shows it" };

const MOVE: Argument =
    Argument { name: "id", kind: ArgumentKind::Integer, about: "The move's number, as SHOW MOVES shows it" };

fn order(arguments: &Arguments, order: MoveOrder) -> Result<Command, Failure> {
    Ok(Command::Move { id: arguments.integer(MOVE.name)?, order })
}

fn kill(arguments: &Arguments, why: Interrupt) -> Result<Command, Failure> {
    Ok(Command::Kill { id: arguments.integer(ID.name)?, why })
}

/// All commands.
pub static CATALOGUE: &[Spec] = &[
    Spec {
        sql: &["STATUS", "SHOW STATUS"],
        ctl: "STATUS",
        method: Method::Get,
        path: "/api/v1/status",
        arguments: &[],
        shape: Shape::Record(columns::STATUS),
        about: "Version, uptime, sessions and server connections at a glance",
        build: |_| Ok(Command::Status),
    },
    Spec {
        sql: &["SHOW SERVERS [LIKE 'pattern']"],
        ctl: "SERVERS ['pattern']",
        method: Method::Get,
        path: "/api/v1/servers",
        arguments: &[PATTERN],
        shape: Shape::Rows(columns::SERVERS),
        about: "The servers, by name, and whether they answer",
        build: |arguments| Ok(Command::ShowServers(arguments.pattern())),
    },
    Spec {
        sql: &["SHOW SESSIONS [LIKE 'pattern']"],
        ctl: "SESSIONS ['pattern']",
        method: Method::Get,
        path: "/api/v1/sessions",
        arguments: &[PATTERN],
        shape: Shape::Rows(columns::SESSIONS),
        about: "The sessions, by user, with what each does and what binds it to a server connection",
        build: |arguments| Ok(Command::ShowSessions(arguments.pattern())),
    },
    Spec {
        sql: &["SHOW POOLS [LIKE 'pattern']"],
        ctl: "POOLS ['pattern']",
        method: Method::Get,
        path: "/api/v1/pools",
        arguments: &[PATTERN],
        shape: Shape::Rows(columns::POOLS),
        about: "The pools of server connections, by server and worker",
        build: |arguments| Ok(Command::ShowPools(arguments.pattern())),
    },
    Spec {
        sql: &["SHOW HOT ROWS [LIKE 'pattern']"],
        ctl: "HOT-ROWS ['pattern']",
        method: Method::Get,
        path: "/api/v1/hot-rows",
        arguments: &[PATTERN],
        shape: Shape::Rows(columns::HOT_ROWS),
        about: "The rows that many clients change at once, by table, and the batches that their statements ride in",
        build: |arguments| Ok(Command::ShowHotRows(arguments.pattern())),
    },
    Spec {
        sql: &["SHOW TRANSACTIONS [LIKE 'pattern']"],
        ctl: "TRANSACTIONS ['pattern']",
        method: Method::Get,
        path: "/api/v1/transactions",
        arguments: &[PATTERN],
        shape: Shape::Rows(columns::TRANSACTIONS),
        about: "Prepared branches of transactions over several shards, by name, that a Weir or a server that died has left",
        build: |arguments| Ok(Command::ShowTransactions(arguments.pattern())),
    },
    Spec {
        sql: &["SHOW DIGESTS [LIKE 'pattern'] [LIMIT limit]"],
        ctl: "DIGESTS [LIMIT limit] ['pattern']",
        method: Method::Get,
        path: "/api/v1/digests",
        arguments: &[PATTERN, LIMIT],
        shape: Shape::Rows(columns::DIGESTS),
        about: "The cost of statements, by their text without literals, in order of total time",
        build: |arguments| {
            let limit = arguments.optional_integer(LIMIT.name)?;
            Ok(Command::ShowDigests { like: arguments.pattern(), limit })
        },
    },
    Spec {
        sql: &["RESET DIGESTS"],
        ctl: "RESET DIGESTS",
        method: Method::Delete,
        path: "/api/v1/digests",
        arguments: &[],
        shape: Shape::Done,
        about: "Reset the statistics of all digests",
        build: |_| Ok(Command::ResetDigests),
    },
    Spec {
        sql: &["SHOW CONFIG [LIKE 'pattern']"],
        ctl: "CONFIG ['pattern']",
        method: Method::Get,
        path: "/api/v1/config",
        arguments: &[PATTERN],
        shape: Shape::Rows(columns::CONFIG),
        about: "The configuration in effect, by key; passwords are masked",
        build: |arguments| Ok(Command::ShowConfig(arguments.pattern())),
    },
    Spec {
        sql: &["KILL [CONNECTION] id"],
        ctl: "KILL id",
        method: Method::Delete,
        path: "/api/v1/sessions/{id}",
        arguments: &[ID],
        shape: Shape::Done,
        about: "End a session",
        build: |arguments| kill(arguments, Interrupt::Connection),
    },
    Spec {
        sql: &["KILL QUERY id"],
        ctl: "KILL-QUERY id",
        method: Method::Post,
        path: "/api/v1/sessions/{id}/kill-query",
        arguments: &[ID],
        shape: Shape::Done,
        about: "End the statement that a session runs",
        build: |arguments| kill(arguments, Interrupt::Query),
    },
    Spec {
        sql: &["RELOAD"],
        ctl: "RELOAD",
        method: Method::Post,
        path: "/api/v1/reload",
        arguments: &[],
        shape: Shape::Rows(columns::RELOAD),
        about: "Read the configuration file again, and apply everything that does not need a restart",
        build: |_| Ok(Command::Reload),
    },
    Spec {
        sql: &["SET LOG LEVEL [=] level"],
        ctl: "SET LOG-LEVEL level",
        method: Method::Put,
        path: "/api/v1/log-level",
        arguments: &[Argument {
            name: "level",
            kind: ArgumentKind::Text,
            about: "`error`, `warn`, `info`, `debug`, `trace`, or a list such as `info,weir_backend=debug`",
        }],
        shape: Shape::Done,
        about: "Change how much is logged, until the next start or reload",
        build: |arguments| Ok(Command::SetLogLevel(arguments.text("level")?)),
    },
    Spec {
        sql: &["SET WRITER [=] server"],
        ctl: "SET WRITER server",
        method: Method::Put,
        path: "/api/v1/writer",
        arguments: &[Argument {
            name: "server",
            kind: ArgumentKind::Text,
            about: "The server's name. It must take writes (read_only = 0) and have everything that the current writer has committed",
        }],
        shape: Shape::Done,
        about: "Send writes to another server of the group from now on",
        build: |arguments| Ok(Command::SetWriter(arguments.text("server")?)),
    },
    Spec {
        sql: &["SHOW GROUPS [LIKE 'pattern']"],
        ctl: "GROUPS ['pattern']",
        method: Method::Get,
        path: "/api/v1/groups",
        arguments: &[PATTERN],
        shape: Shape::Rows(columns::GROUPS),
        about: "The groups, by name: how they replicate, and the state of each server",
        build: |arguments| Ok(Command::ShowGroups(arguments.pattern())),
    },
    Spec {
        sql: &["SHOW FAILOVERS [LIKE 'pattern']"],
        ctl: "FAILOVERS ['pattern']",
        method: Method::Get,
        path: "/api/v1/failovers",
        arguments: &[PATTERN],
        shape: Shape::Rows(columns::FAILOVERS),
        about: "The latest changes of the groups' writers, by group: what was seen, decided and done",
        build: |arguments| Ok(Command::ShowFailovers(arguments.pattern())),
    },
    Spec {
        sql: &["SWITCHOVER [GROUP group] TO server"],
        ctl: "SWITCHOVER [GROUP group] TO server",
        method: Method::Post,
        path: "/api/v1/switchover",
        arguments: &[GROUP, NEW_WRITER],
        shape: Shape::Done,
        about: "Make a server the writer in place of one that is there: nothing is lost, and clients wait meanwhile",
        build: |arguments| {
            let group = arguments.get(GROUP.name).map(str::to_owned);
            Ok(Command::Switchover { group, server: arguments.text(NEW_WRITER.name)? })
        },
    },
    Spec {
        sql: &["FAILOVER [GROUP group] [TO server]"],
        ctl: "FAILOVER [GROUP group] [TO server]",
        method: Method::Post,
        path: "/api/v1/failover",
        arguments: &[GROUP, NEW_WRITER],
        shape: Shape::Done,
        about: "Replace a writer that is gone, whatever is lost with it",
        build: |arguments| {
            let argument = |name| arguments.get(name).map(str::to_owned);
            Ok(Command::Failover { group: argument(GROUP.name), server: argument(NEW_WRITER.name) })
        },
    },
    Spec {
        sql: &["GROUP BOOT [group]"],
        ctl: "GROUP BOOT [group]",
        method: Method::Post,
        path: "/api/v1/groups/boot",
        arguments: &[GROUP],
        shape: Shape::Done,
        about: "Start a Group Replication or Galera group of which no member is in operation, from the one that has the most",
        build: |arguments| Ok(Command::BootGroup(arguments.get(GROUP.name).map(str::to_owned))),
    },
    Spec {
        sql: &["ADVISE [group]"],
        ctl: "ADVISE [group]",
        method: Method::Get,
        path: "/api/v1/advice",
        arguments: &[GROUP],
        shape: Shape::Rows(columns::ADVICE),
        about: "Settings of the groups' servers that cost safety, speed or time without a writer, and what changes them",
        build: |arguments| Ok(Command::Advise(arguments.get(GROUP.name).map(str::to_owned))),
    },
    Spec {
        sql: &["SHOW RULES [LIKE 'pattern']"],
        ctl: "RULES ['pattern']",
        method: Method::Get,
        path: "/api/v1/rules",
        arguments: &[PATTERN],
        shape: Shape::Rows(columns::RULES),
        about: "The rules in their order, and how often each was applied",
        build: |arguments| Ok(Command::ShowRules(arguments.pattern())),
    },
    Spec {
        sql: &["SET READ_ONLY [=] state"],
        ctl: "SET READ-ONLY state",
        method: Method::Put,
        path: "/api/v1/read-only",
        arguments: &[STATE],
        shape: Shape::Done,
        about: "Refuse (ON) or allow (OFF) statements that change data, until the next start",
        build: |arguments| Ok(Command::SetReadOnly(arguments.on_or_off(STATE.name)?)),
    },
    Spec {
        sql: &["ROTATE LOGS"],
        ctl: "ROTATE LOGS",
        method: Method::Post,
        path: "/api/v1/logs/rotate",
        arguments: &[],
        shape: Shape::Done,
        about: "Start new files of the slow log and the audit log",
        build: |_| Ok(Command::RotateLogs),
    },
    Spec {
        sql: &["SHOW SHARDS [LIKE 'pattern']"],
        ctl: "SHARDS ['pattern']",
        method: Method::Get,
        path: "/api/v1/shards",
        arguments: &[PATTERN],
        shape: Shape::Rows(columns::SHARDS),
        about: "The shards, by name, and the version of the catalog that each has a copy of",
        build: |arguments| Ok(Command::ShowShards(arguments.pattern())),
    },
    Spec {
        sql: &["SHOW DDL"],
        ctl: "DDL",
        method: Method::Get,
        path: "/api/v1/definitions",
        arguments: &[],
        shape: Shape::Rows(columns::DEFINITIONS),
        about: "The definitions that are in progress, or that only some shards have",
        build: |_| Ok(Command::ShowDefinitions),
    },
    Spec {
        sql: &["RESUME DDL id"],
        ctl: "RESUME DDL id",
        method: Method::Post,
        path: "/api/v1/definitions/{id}/resume",
        arguments: &[DEFINITION],
        shape: Shape::Done,
        about: "Resume a definition on the shards that do not have it",
        build: |arguments| Ok(Command::ResumeDefinition(arguments.integer(DEFINITION.name)?)),
    },
    Spec {
        sql: &["CANCEL DDL id"],
        ctl: "CANCEL DDL id",
        method: Method::Delete,
        path: "/api/v1/definitions/{id}",
        arguments: &[DEFINITION],
        shape: Shape::Rows(columns::CANCELLED),
        about: "Undo a definition where it ran, as far as possible, and remove it; shows what each shard is left with",
        build: |arguments| Ok(Command::CancelDefinition(arguments.integer(DEFINITION.name)?)),
    },
    Spec {
        sql: &["SHOW TABLES [LIKE 'pattern']"],
        ctl: "TABLES ['pattern']",
        method: Method::Get,
        path: "/api/v1/tables",
        arguments: &[PATTERN],
        shape: Shape::Rows(columns::TABLES),
        about: "The tables of sharded databases, by name, and where their rows are",
        build: |arguments| Ok(Command::ShowTables(arguments.pattern())),
    },
    Spec {
        sql: &["CATALOG CHECK"],
        ctl: "CATALOG CHECK",
        method: Method::Get,
        path: "/api/v1/catalog/differences",
        arguments: &[],
        shape: Shape::Rows(columns::DIFFERENCES),
        about: "Compare the catalog with the servers: no rows if they agree",
        build: |_| Ok(Command::CheckCatalog),
    },
    Spec {
        sql: &["SHOW MOVES [LIKE 'pattern']"],
        ctl: "MOVES ['pattern']",
        method: Method::Get,
        path: "/api/v1/moves",
        arguments: &[PATTERN],
        shape: Shape::Rows(columns::MOVES),
        about: "The moves of tables to other placements, by tables: how far each is, and what comes next",
        build: |arguments| Ok(Command::ShowMoves(arguments.pattern())),
    },
    Spec {
        sql: &["MOVE TABLES tables …"],
        ctl: "MOVE TABLES tables …",
        method: Method::Post,
        path: "/api/v1/moves",
        arguments: &[Argument {
            name: "tables",
            kind: ArgumentKind::Text,
            about: "Tables and their new placements: `shop.customers TO SHARD BY HASH(id), shop.orders TO SHARD BY HASH(customer_id)`",
        }],
        shape: Shape::Rows(columns::MOVE_BEGUN),
        about: "Give tables other placements while they are used, all at one moment; shows the move's number",
        build: |arguments| Ok(Command::MoveTables(arguments.text("tables")?)),
    },
    Spec {
        sql: &["MOVE PAUSE id"],
        ctl: "MOVE PAUSE id",
        method: Method::Post,
        path: "/api/v1/moves/{id}/pause",
        arguments: &[MOVE],
        shape: Shape::Done,
        about: "Stop copying rows, and do not cut over, until the move is resumed",
        build: |arguments| order(arguments, MoveOrder::Pause),
    },
    Spec {
        sql: &["MOVE RESUME id"],
        ctl: "MOVE RESUME id",
        method: Method::Post,
        path: "/api/v1/moves/{id}/resume",
        arguments: &[MOVE],
        shape: Shape::Done,
        about: "Go on with a move that is paused, by a command or by an error",
        build: |arguments| order(arguments, MoveOrder::Resume),
    },
    Spec {
        sql: &["MOVE CANCEL id"],
        ctl: "MOVE CANCEL id",
        method: Method::Post,
        path: "/api/v1/moves/{id}/cancel",
        arguments: &[MOVE],
        shape: Shape::Done,
        about: "Give a move up before its cutover: nothing is left of it",
        build: |arguments| order(arguments, MoveOrder::Cancel),
    },
    Spec {
        sql: &["MOVE CUTOVER id"],
        ctl: "MOVE CUTOVER id",
        method: Method::Post,
        path: "/api/v1/moves/{id}/cutover",
        arguments: &[MOVE],
        shape: Shape::Done,
        about: "Let a move cut over as soon as it can",
        build: |arguments| order(arguments, MoveOrder::CutOver),
    },
    Spec {
        sql: &["MOVE VERIFY id"],
        ctl: "MOVE VERIFY id",
        method: Method::Post,
        path: "/api/v1/moves/{id}/verify",
        arguments: &[MOVE],
        shape: Shape::Done,
        about: "Compare the old and the new tables of a move once more; SHOW MOVES tells what came of it",
        build: |arguments| order(arguments, MoveOrder::Verify),
    },
    Spec {
        sql: &["MOVE FINISH id"],
        ctl: "MOVE FINISH id",
        method: Method::Post,
        path: "/api/v1/moves/{id}/finish",
        arguments: &[MOVE],
        shape: Shape::Done,
        about: "Drop the old tables of a move that has cut over: there is no way back then",
        build: |arguments| order(arguments, MoveOrder::Finish),
    },
    Spec {
        sql: &["MOVE UNDO id"],
        ctl: "MOVE UNDO id",
        method: Method::Post,
        path: "/api/v1/moves/{id}/undo",
        arguments: &[MOVE],
        shape: Shape::Done,
        about: "Take the old placement back after the cutover, with all that was written since",
        build: |arguments| order(arguments, MoveOrder::Undo),
    },
    Spec {
        sql: &["MOVE THROTTLE id ROWS rows"],
        ctl: "MOVE THROTTLE id ROWS rows",
        method: Method::Put,
        path: "/api/v1/moves/{id}/throttle",
        arguments: &[
            MOVE,
            Argument {
                name: "rows",
                kind: ArgumentKind::Integer,
                about: "The most rows per second from each shard; 0: no limit",
            },
        ],
        shape: Shape::Done,
        about: "Limit how many rows a move copies per second",
        build: |arguments| order(arguments, MoveOrder::Throttle(arguments.integer("rows")?)),
    },
    Spec {
        sql: &["ATTACH DATABASE database"],
        ctl: "ATTACH database",
        method: Method::Put,
        path: "/api/v1/databases/{database}",
        arguments: &[DATABASE],
        shape: Shape::Done,
        about: "Adopt a database of the servers as it is: each of its tables is SINGLE on its shard",
        build: |arguments| Ok(Command::Attach(arguments.text(DATABASE.name)?)),
    },
    Spec {
        sql: &["DETACH DATABASE database"],
        ctl: "DETACH database",
        method: Method::Delete,
        path: "/api/v1/databases/{database}",
        arguments: &[DATABASE],
        shape: Shape::Done,
        about: "Remove a database whose tables are SINGLE from the catalog; the tables stay where they are",
        build: |arguments| Ok(Command::Detach(arguments.text(DATABASE.name)?)),
    },
    Spec {
        sql: &["ALTER TABLE table HOT mode"],
        ctl: "HOT table mode",
        method: Method::Put,
        path: "/api/v1/hot-rows/tables/{table}",
        arguments: &[
            Argument { name: "table", kind: ArgumentKind::Text, about: "The table, as `database.table`" },
            Argument {
                name: "mode",
                kind: ArgumentKind::Text,
                about: "`MERGE`: counters are changed by one statement for several clients; `GROUP`: each statement runs",
            },
        ],
        shape: Shape::Done,
        about: "Choose how changes of a sharded table's hot rows are made",
        build: |arguments| {
            let mode = arguments.text("mode")?;
            let merge = match mode.to_ascii_uppercase().as_str() {
                "MERGE" => true,
                "GROUP" => false,
                _ => return Err(super::wrong_argument(&format!("`mode` must be MERGE or GROUP, not `{mode}`"))),
            };
            Ok(Command::AlterHot { table: arguments.text("table")?, merge })
        },
    },
    Spec {
        sql: &["HELP [command …]"],
        ctl: "HELP [command …]",
        method: Method::Get,
        path: "/api/v1/help",
        arguments: &[Argument {
            name: "command",
            kind: ArgumentKind::Text,
            about: "Only the commands that begin with these words",
        }],
        shape: Shape::Rows(columns::HELP),
        about: "The commands",
        build: |arguments| Ok(Command::Help(arguments.get("command").map(str::to_owned))),
    },
];
