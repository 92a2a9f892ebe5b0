//! The two sets of facts about a text: what it does, and what it leaves on its connection.

use bitflags::bitflags;

bitflags! {
    /// What the statements of a text read and do. When in doubt a flag is set.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Effects: u32 {
        /// May read tables.
        const READS = 1 << 0;
        /// May write data, define or administer something, or is not known to do none of that.
        const WRITES = 1 << 1;
        /// Commits the open transaction before it runs (DDL, administration). Informational.
        const IMPLICIT_COMMIT = 1 << 2;
        /// Starts a transaction in another way than as a text that is [`TextKind::Begin`](crate::TextKind::Begin): `WITH CONSISTENT
        /// SNAPSHOT`, `COMMIT AND CHAIN`, `XA START`, BEGIN as one of several statements.
        const STARTS_TRANSACTION_OTHER = 1 << 3;
        /// Sets the characteristics of the next transaction only: `SET TRANSACTION …`, `SET @@transaction_isolation = …`.
        const SET_TRANSACTION_ONCE = 1 << 4;
        /// Reads the diagnostics of the statement before: SHOW WARNINGS, SHOW ERRORS, `@@warning_count`,
        /// `@@error_count`, GET DIAGNOSTICS.
        const USES_WARNINGS = 1 << 5;
        /// Calls `ROW_COUNT()`.
        const USES_ROW_COUNT = 1 << 6;
        /// Calls `FOUND_ROWS()`.
        const USES_FOUND_ROWS = 1 << 7;
        /// Has `SQL_CALC_FOUND_ROWS`.
        const CALC_FOUND_ROWS = 1 << 8;
        /// Reads `LAST_INSERT_ID()`, `@@last_insert_id` or `@@identity`.
        const USES_LAST_INSERT_ID = 1 << 9;
        /// Calls `LAST_INSERT_ID(expr)`.
        const SETS_LAST_INSERT_ID = 1 << 10;
        /// May generate an AUTO_INCREMENT value: INSERT, REPLACE, LOAD, CALL and what is not known.
        const GENERATES_INSERT_ID = 1 << 11;
        /// Reads `CONNECTION_ID()`, `@@pseudo_thread_id` or `@@socket`: Weir's own, not the server's.
        const USES_CONNECTION_ID = 1 << 12;
        /// Reads user variables.
        const USES_USER_VARIABLES = 1 << 13;
        /// Sets user variables, except as a text of [`TextKind::SetUserVariables`](crate::TextKind::SetUserVariables) does.
        const SETS_USER_VARIABLES = 1 << 14;
        /// Shows values of session variables, which may differ where Weir has set them for itself.
        const SHOWS_SESSION_VARIABLES = 1 << 15;
        /// Sets global variables: SET GLOBAL, SET PERSIST. Comes with [`Effects::WRITES`].
        const CHANGES_GLOBALS = 1 << 16;
        /// Locks the rows that it reads: FOR UPDATE, FOR SHARE, LOCK IN SHARE MODE. Comes with [`Effects::WRITES`].
        const LOCKING_READ = 1 << 17;
        /// May change the default database: USE, DROP DATABASE.
        const CHANGES_DATABASE = 1 << 18;
        /// Asks the client for a file: LOAD DATA LOCAL, LOAD XML LOCAL.
        const LOCAL_INFILE = 1 << 19;
        /// Sets variables for the time of one statement only: MariaDB's SET STATEMENT … FOR.
        const SETS_FOR_STATEMENT = 1 << 20;
        /// Reads what belongs to one server rather than to the data: system variables, locks by name, files, its place in
        /// replication, the server's own schemas.
        const SERVER_STATE = 1 << 21;
        /// May run statements that the text does not show: CALL, EXECUTE, a block, and whatever begins with no word that is
        /// known to do nothing of that. An error of it may be one of those statements.
        const RUNS_OTHERS = 1 << 22;
        /// May change accounts, their passwords, rights or roles: GRANT, SET PASSWORD, FLUSH PRIVILEGES, and texts that may run such a
        /// statement.
        const CHANGES_ACCOUNTS = 1 << 23;
        /// A write that returns rows: RETURNING.
        const RETURNING = 1 << 24;
        /// The OK of it does not tell the AUTO_INCREMENT value that it may have generated: LOAD, an INSERT with RETURNING.
        const INSERT_ID_UNTOLD = 1 << 25;
    }
}

bitflags! {
    /// What a text, when it succeeds, leaves on its connection and no other connection can be given. Also used for
    /// what a text gives back.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Pins: u32 {
        /// CREATE TEMPORARY.
        const TEMPORARY_TABLE = 1 << 0;
        /// LOCK TABLES.
        const LOCK_TABLES = 1 << 1;
        /// FLUSH TABLES … WITH READ LOCK or FOR EXPORT.
        const GLOBAL_READ_LOCK = 1 << 2;
        /// LOCK INSTANCE FOR BACKUP, BACKUP STAGE, BACKUP LOCK.
        const BACKUP_LOCK = 1 << 3;
        /// `GET_LOCK()`.
        const USER_LOCK = 1 << 4;
        /// HANDLER.
        const HANDLER = 1 << 5;
        /// PREPARE, EXECUTE, EXECUTE IMMEDIATE as text.
        const TEXT_PREPARE = 1 << 6;
        /// SET ROLE.
        const ROLE = 1 << 7;
        /// A user variable whose value is not a plain literal of the text.
        const COMPUTED_USER_VARIABLE = 1 << 8;
        /// SET of a `session_track_…` variable.
        const SESSION_TRACKING = 1 << 9;
        /// SET of a variable that has effect once, or that SET … = DEFAULT does not undo, or that changes what other
        /// statements mean.
        const SPECIAL_VARIABLE = 1 << 10;
        /// `SQL_CALC_FOUND_ROWS` or `FOUND_ROWS()`.
        const FOUND_ROWS = 1 << 11;
        /// `ROW_COUNT()`.
        const ROW_COUNT = 1 << 12;
        /// XA START, until XA COMMIT or XA ROLLBACK.
        const XA = 1 << 13;
        /// Characteristics of the next transaction.
        const SET_TRANSACTION = 1 << 14;
        /// CALL.
        const CALL = 1 << 15;
        /// A function that is not built into the server.
        const UNKNOWN_FUNCTION = 1 << 16;
        /// A statement that is not recognised.
        const UNKNOWN_STATEMENT = 1 << 17;
        /// The last value of a MariaDB sequence in this session: `NEXTVAL`, `LASTVAL`, `PREVIOUS VALUE FOR` and the like.
        const SEQUENCE = 1 << 18;
    }
}

impl Pins {
    /// Names for people, in the order of the flags.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        NAMES.iter().filter(move |(pin, _)| self.contains(*pin)).map(|(_, name)| *name)
    }
}

const NAMES: &[(Pins, &str)] = &[
    (Pins::TEMPORARY_TABLE, "temporary table"),
    (Pins::LOCK_TABLES, "LOCK TABLES"),
    (Pins::GLOBAL_READ_LOCK, "FLUSH TABLES lock"),
    (Pins::BACKUP_LOCK, "backup lock"),
    (Pins::USER_LOCK, "GET_LOCK"),
    (Pins::HANDLER, "HANDLER"),
    (Pins::TEXT_PREPARE, "PREPARE"),
    (Pins::ROLE, "SET ROLE"),
    (Pins::COMPUTED_USER_VARIABLE, "computed user variable"),
    (Pins::SESSION_TRACKING, "session tracking"),
    (Pins::SPECIAL_VARIABLE, "special variable"),
    (Pins::FOUND_ROWS, "FOUND_ROWS"),
    (Pins::ROW_COUNT, "ROW_COUNT"),
    (Pins::XA, "XA transaction"),
    (Pins::SET_TRANSACTION, "SET TRANSACTION"),
    (Pins::CALL, "CALL"),
    (Pins::UNKNOWN_FUNCTION, "unknown function"),
    (Pins::UNKNOWN_STATEMENT, "unknown statement"),
    (Pins::SEQUENCE, "sequence"),
];
