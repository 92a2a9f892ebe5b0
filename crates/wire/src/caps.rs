//! Flags and command bytes of the protocol.
//!
//! Capabilities are one 64-bit set: MySQL's 32 bits, and MariaDB's extended capabilities in the upper half
//! (MariaDB sends them in the greeting's filler when the `CLIENT_MYSQL` bit is clear).

use bitflags::bitflags;

bitflags! {
    /// Capability flags. Source: MySQL `include/mysql_com.h`, MariaDB `include/mysql_com.h`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
    pub struct Capabilities: u64 {
        /// `CLIENT_LONG_PASSWORD`, which MariaDB calls `CLIENT_MYSQL`: clear in a MariaDB greeting.
        const LONG_PASSWORD = 1;
        /// Affected rows counts rows found, not rows changed.
        const FOUND_ROWS = 1 << 1;
        /// Column definitions carry all flags.
        const LONG_FLAG = 1 << 2;
        /// The handshake names a default database.
        const CONNECT_WITH_DB = 1 << 3;
        /// `db.table.column` is not allowed.
        const NO_SCHEMA = 1 << 4;
        /// The compressed protocol, zlib.
        const COMPRESS = 1 << 5;
        /// ODBC client: no effect on the server.
        const ODBC = 1 << 6;
        /// `LOAD DATA LOCAL` is allowed.
        const LOCAL_FILES = 1 << 7;
        /// Spaces are allowed before the parenthesis of a function.
        const IGNORE_SPACE = 1 << 8;
        /// The 4.1 protocol: the only one that Weir speaks.
        const PROTOCOL_41 = 1 << 9;
        /// `wait_timeout` is `interactive_timeout`.
        const INTERACTIVE = 1 << 10;
        /// TLS.
        const SSL = 1 << 11;
        /// Client side only.
        const IGNORE_SIGPIPE = 1 << 12;
        /// Status flags carry the transaction state.
        const TRANSACTIONS = 1 << 13;
        /// Old name of the 4.1 protocol.
        const RESERVED = 1 << 14;
        /// 4.1 authentication.
        const SECURE_CONNECTION = 1 << 15;
        /// Several statements in one text.
        const MULTI_STATEMENTS = 1 << 16;
        /// Several results for one text.
        const MULTI_RESULTS = 1 << 17;
        /// Several results, and OUT parameters, for one EXECUTE.
        const PS_MULTI_RESULTS = 1 << 18;
        /// Authentication plugins.
        const PLUGIN_AUTH = 1 << 19;
        /// Connection attributes.
        const CONNECT_ATTRS = 1 << 20;
        /// The authentication response has a length-encoded length.
        const PLUGIN_AUTH_LENENC_DATA = 1 << 21;
        /// The client can log in with an expired password.
        const CAN_HANDLE_EXPIRED_PASSWORDS = 1 << 22;
        /// OK packets carry session state changes.
        const SESSION_TRACK = 1 << 23;
        /// Result sets end with an OK packet, and no EOF follows the columns.
        const DEPRECATE_EOF = 1 << 24;
        /// MySQL: result set metadata may be left out.
        const OPTIONAL_RESULTSET_METADATA = 1 << 25;
        /// The compressed protocol, zstd.
        const ZSTD_COMPRESSION = 1 << 26;
        /// MySQL: queries and executions carry attributes.
        const QUERY_ATTRIBUTES = 1 << 27;
        /// MySQL: multi factor authentication.
        const MULTI_FACTOR_AUTHENTICATION = 1 << 28;
        /// MySQL: progress reports (obsolete).
        const PROGRESS_OBSOLETE = 1 << 29;
        /// Client side only.
        const SSL_VERIFY_SERVER_CERT = 1 << 30;
        /// Client side only.
        const REMEMBER_OPTIONS = 1 << 31;
        /// MariaDB: progress reports.
        const MARIADB_PROGRESS = 1 << 32;
        /// MariaDB: `COM_MULTI` (reserved).
        const MARIADB_COM_MULTI = 1 << 33;
        /// MariaDB: bulk execution of prepared statements.
        const MARIADB_STMT_BULK_OPERATIONS = 1 << 34;
        /// MariaDB: column definitions carry the extended type.
        const MARIADB_EXTENDED_METADATA = 1 << 35;
        /// MariaDB: prepared statements may leave out unchanged metadata.
        const MARIADB_CACHE_METADATA = 1 << 36;
    }
}

bitflags! {
    /// Server status flags of OK and EOF packets. Source: MySQL `include/mysql_com.h`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub struct StatusFlags: u16 {
        /// A transaction is open.
        const IN_TRANS = 0x0001;
        /// Autocommit is on.
        const AUTOCOMMIT = 0x0002;
        /// Another result follows.
        const MORE_RESULTS_EXISTS = 0x0008;
        /// The statement used no good index.
        const NO_GOOD_INDEX_USED = 0x0010;
        /// The statement used no index.
        const NO_INDEX_USED = 0x0020;
        /// A cursor is open: fetch the rows.
        const CURSOR_EXISTS = 0x0040;
        /// The cursor has sent its last row.
        const LAST_ROW_SENT = 0x0080;
        /// A database was dropped.
        const DB_DROPPED = 0x0100;
        /// `NO_BACKSLASH_ESCAPES` is in the sql_mode.
        const NO_BACKSLASH_ESCAPES = 0x0200;
        /// The metadata of a prepared statement has changed.
        const METADATA_CHANGED = 0x0400;
        /// The query was slow.
        const QUERY_WAS_SLOW = 0x0800;
        /// The result holds OUT parameters.
        const PS_OUT_PARAMS = 0x1000;
        /// The open transaction is read only.
        const IN_TRANS_READONLY = 0x2000;
        /// The packet carries session state changes.
        const SESSION_STATE_CHANGED = 0x4000;
        /// MariaDB: `ANSI_QUOTES` is in the sql_mode.
        const ANSI_QUOTES = 0x8000;
        const _ = !0;
    }
}

/// A client's commands, by their first payload byte. Source: MySQL `include/my_command.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
#[expect(missing_docs, reason = "the names are the manual's")]
pub enum Command {
    Sleep = 0x00,
    Quit = 0x01,
    InitDb = 0x02,
    Query = 0x03,
    FieldList = 0x04,
    CreateDb = 0x05,
    DropDb = 0x06,
    Refresh = 0x07,
    Shutdown = 0x08,
    Statistics = 0x09,
    ProcessInfo = 0x0a,
    Connect = 0x0b,
    ProcessKill = 0x0c,
    Debug = 0x0d,
    Ping = 0x0e,
    Time = 0x0f,
    DelayedInsert = 0x10,
    ChangeUser = 0x11,
    BinlogDump = 0x12,
    TableDump = 0x13,
    ConnectOut = 0x14,
    RegisterSlave = 0x15,
    StmtPrepare = 0x16,
    StmtExecute = 0x17,
    StmtSendLongData = 0x18,
    StmtClose = 0x19,
    StmtReset = 0x1a,
    SetOption = 0x1b,
    StmtFetch = 0x1c,
    Daemon = 0x1d,
    BinlogDumpGtid = 0x1e,
    ResetConnection = 0x1f,
}

impl Command {
    /// The command of a first payload byte that a client may send and Weir serves; `None` for all others, which
    /// are answered with error 1047.
    pub fn served(byte: u8) -> Option<Command> {
        use Command::*;
        const SERVED: [Command; 16] = [
            Quit,
            InitDb,
            Query,
            FieldList,
            Statistics,
            ProcessKill,
            Ping,
            ChangeUser,
            StmtPrepare,
            StmtExecute,
            StmtSendLongData,
            StmtClose,
            StmtReset,
            SetOption,
            StmtFetch,
            ResetConnection,
        ];
        SERVED.into_iter().find(|command| *command as u8 == byte)
    }

    /// The name that `SHOW PROCESSLIST` gives to a running command.
    pub fn process_name(self) -> &'static str {
        match self {
            Command::InitDb => "Init DB",
            Command::Query => "Query",
            Command::FieldList => "Field List",
            Command::Statistics => "Statistics",
            Command::ProcessKill => "Kill",
            Command::Ping => "Ping",
            Command::ChangeUser => "Change user",
            Command::StmtPrepare => "Prepare",
            Command::StmtExecute => "Execute",
            Command::StmtSendLongData => "Long Data",
            Command::StmtClose => "Close stmt",
            Command::StmtReset => "Reset stmt",
            Command::SetOption => "Set option",
            Command::StmtFetch => "Fetch",
            Command::ResetConnection => "Reset Connection",
            Command::Quit => "Quit",
            _ => "Sleep",
        }
    }
}
