//! What makes a statement give other results when it runs again, or elsewhere, on the same data.

use bitflags::bitflags;

use crate::ast::Call;
use crate::keyword::Keyword;
use crate::kw;

bitflags! {
    /// On what, apart from data and parameters, the results of a statement depend. When in doubt a flag is set.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Varies: u16 {
        /// The clock as of the statement's start: `NOW()`, `CURDATE()`, `UNIX_TIMESTAMP()`.
        const TIME = 1 << 0;
        /// The clock as of the call: `SYSDATE()`.
        const CLOCK = 1 << 1;
        /// Chance: `RAND()`, `UUID()`, `RANDOM_BYTES()`.
        const RANDOM = 1 << 2;
        /// It takes its time: `SLEEP()`, `BENCHMARK()`, waits for locks and positions.
        const WAITS = 1 << 3;
        /// User variables.
        const USER_VARIABLES = 1 << 4;
        /// The session: who it is, its default database, what its statements before did.
        const SESSION = 1 << 5;
        /// The server that runs it: its variables, version, files, locks by name.
        const SERVER = 1 << 6;
        /// Functions that are not built in, of which nothing is known, or that read tables which not every server has all rows of.
        const STORED = 1 << 7;
        /// A sequence's values.
        const SEQUENCE = 1 << 8;
        /// Which rows come first without an ORDER BY: LIMIT.
        const UNORDERED = 1 << 9;
        /// Tables that a stored function reads, of which every shard has all rows unless [`Varies::STORED`] is there too.
        const TABLES = 1 << 10;
        /// A setting of the session that all of its connections have alike ([`SETTINGS`]).
        const SETTING = 1 << 11;
        /// Nothing, but it calls a stored function that changes rows; [`Varies::STORED`] is there too.
        const CHANGES = 1 << 12;
    }
}

/// Session variables that say how statements are read and computed. Each of a session's connections is given what the session has set;
/// what it has not set is as the servers are configured, which have to be alike in this, as rows would be computed differently otherwise.
/// Left out is what Weir sets on connections of its own accord (`autocommit`, `sql_select_limit`, `timestamp`, …).
const SETTINGS: [&str; 31] = [
    "auto_increment_increment",
    "auto_increment_offset",
    "character_set_client",
    "character_set_connection",
    "character_set_results",
    "collation_connection",
    "cte_max_recursion_depth",
    "date_format",
    "default_week_format",
    "div_precision_increment",
    "explicit_defaults_for_timestamp",
    "foreign_key_checks",
    "group_concat_max_len",
    "innodb_lock_wait_timeout",
    "lc_messages",
    "lc_time_names",
    "lock_wait_timeout",
    "max_error_count",
    "max_length_for_sort_data",
    "max_recursive_iterations",
    "max_sort_length",
    "old_mode",
    "optimizer_switch",
    "sql_auto_is_null",
    "sql_big_selects",
    "sql_mode",
    "sql_quote_show_create",
    "sql_safe_updates",
    "sql_warnings",
    "time_zone",
    "unique_checks",
];

impl Varies {
    /// Of a built-in function; nothing for others.
    pub(super) fn of_function(word: Keyword, without_arguments: bool) -> Self {
        match word {
            kw::NOW
            | kw::CURDATE
            | kw::CURTIME
            | kw::CURRENT_DATE
            | kw::CURRENT_TIME
            | kw::CURRENT_TIMESTAMP
            | kw::LOCALTIME
            | kw::LOCALTIMESTAMP
            | kw::UTC_DATE
            | kw::UTC_TIME
            | kw::UTC_TIMESTAMP => Self::TIME,
            kw::UNIX_TIMESTAMP if without_arguments => Self::TIME,
            kw::SYSDATE => Self::CLOCK,
            kw::RAND | kw::RANDOM_BYTES | kw::UUID | kw::UUID_SHORT | kw::SYS_GUID => Self::RANDOM,
            // Their salts are random.
            kw::ENCRYPT => Self::RANDOM,
            kw::SLEEP | kw::BENCHMARK => Self::WAITS,
            kw::GET_LOCK => Self::WAITS.union(Self::SERVER),
            kw::MASTER_POS_WAIT
            | kw::SOURCE_POS_WAIT
            | kw::MASTER_GTID_WAIT
            | kw::WAIT_FOR_EXECUTED_GTID_SET
            | kw::WSREP_SYNC_WAIT_UPTO_GTID => Self::WAITS.union(Self::SERVER),
            kw::RELEASE_LOCK | kw::RELEASE_ALL_LOCKS | kw::IS_FREE_LOCK | kw::IS_USED_LOCK => Self::SERVER,
            kw::VERSION | kw::LOAD_FILE => Self::SERVER,
            kw::CONNECTION_ID
            | kw::USER
            | kw::CURRENT_USER
            | kw::SESSION_USER
            | kw::SYSTEM_USER
            | kw::CURRENT_ROLE
            | kw::DATABASE
            | kw::SCHEMA
            | kw::LAST_INSERT_ID
            | kw::ROW_COUNT
            | kw::FOUND_ROWS => Self::SESSION,
            _ => Self::empty(),
        }
    }

    /// Of a call of a built-in function; [`Varies::STORED`] if a database stands before its name.
    pub fn of_call(call: &Call<'_>) -> Self {
        match call.name.database {
            Some(_) => Self::STORED,
            None => Self::of_function(Keyword::of(call.name.name.name), call.arguments.is_empty()),
        }
    }

    /// Of a system variable that is read. `LAST_INSERT_ID()` by its other names is the session's, whichever server is asked.
    pub fn of_system_variable(name: &[u8], global: bool) -> Self {
        match Keyword::of(name) {
            kw::LAST_INSERT_ID | kw::IDENTITY if !global => Self::SESSION,
            _ if !global && SETTINGS.iter().any(|setting| name.eq_ignore_ascii_case(setting.as_bytes())) => {
                Self::SETTING
            }
            _ => Self::SERVER,
        }
    }

    /// Whether it gives the same results on the same data, wherever and whenever it runs.
    pub fn is_nothing(self) -> bool {
        self.is_empty()
    }
}
