//! What a client is told when something fails: MySQL's code and SQLSTATE, whose fault it was, and whether the
//! same statement may safely be sent again.

/// Whose fault a failure was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The client asked for what can't be had, or broke the protocol.
    Client,
    /// A server behind Weir failed or refused.
    Server,
    /// Weir itself, or its configuration.
    Weir,
}

/// A failure as the client will see it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("ERROR {code} ({}): {message}", sqlstate_text(sqlstate))]
pub struct Failure {
    /// MySQL's error code.
    pub code: u16,
    /// The SQLSTATE.
    pub sqlstate: [u8; 5],
    /// What happened, and what to do.
    pub message: String,
    /// Whose fault it was.
    pub fault: Fault,
    /// Nothing was done on any server: sending the same statement again can't do it twice.
    pub retry_safe: bool,
}

fn sqlstate_text(sqlstate: &[u8; 5]) -> &str {
    std::str::from_utf8(sqlstate).unwrap_or("HY000")
}

impl Failure {
    /// A failure in which nothing was done on any server.
    pub fn new(fault: Fault, code: u16, sqlstate: &[u8; 5], message: impl Into<String>) -> Self {
        Failure { code, sqlstate: *sqlstate, message: message.into(), fault, retry_safe: true }
    }

    /// The same, when a server may have done the work, in part or whole.
    pub fn maybe_done(mut self) -> Self {
        self.retry_safe = false;
        self
    }
}

/// The refusal of what Weir does not do: MySQL's 1235, ER_NOT_SUPPORTED_YET. The message says what to do instead.
pub fn not_supported(message: impl Into<String>) -> Failure {
    Failure::new(Fault::Client, codes::ER_NOT_SUPPORTED_YET, b"42000", message)
}

/// MySQL's error codes that Weir itself sends. Source: MySQL Error Message Reference.
#[expect(missing_docs, reason = "the names are the manual's")]
pub mod codes {
    pub const ER_CON_COUNT_ERROR: u16 = 1040;
    pub const ER_HANDSHAKE_ERROR: u16 = 1043;
    pub const ER_DBACCESS_DENIED_ERROR: u16 = 1044;
    pub const ER_ACCESS_DENIED_ERROR: u16 = 1045;
    pub const ER_UNKNOWN_COM_ERROR: u16 = 1047;
    pub const ER_SERVER_SHUTDOWN: u16 = 1053;
    pub const ER_PARSE_ERROR: u16 = 1064;
    pub const ER_NO_SUCH_THREAD: u16 = 1094;
    pub const ER_KILL_DENIED_ERROR: u16 = 1095;
    pub const ER_UNKNOWN_ERROR: u16 = 1105;
    pub const ER_NET_PACKET_TOO_LARGE: u16 = 1153;
    pub const ER_NET_PACKETS_OUT_OF_ORDER: u16 = 1156;
    pub const ER_NET_READ_ERROR: u16 = 1158;
    pub const ER_TOO_MANY_USER_CONNECTIONS: u16 = 1203;
    pub const ER_WRONG_ARGUMENTS: u16 = 1210;
    pub const ER_UNKNOWN_SYSTEM_VARIABLE: u16 = 1193;
    pub const ER_SPECIFIC_ACCESS_DENIED_ERROR: u16 = 1227;
    pub const ER_WRONG_VALUE_FOR_VAR: u16 = 1231;
    pub const ER_TOO_MANY_TABLES: u16 = 1116;
    pub const ER_NOT_SUPPORTED_YET: u16 = 1235;
    pub const ER_UNKNOWN_STMT_HANDLER: u16 = 1243;
    pub const ER_QUERY_INTERRUPTED: u16 = 1317;
    pub const ER_NO_SUCH_TABLE: u16 = 1146;
    pub const ER_LOCK_WAIT_TIMEOUT: u16 = 1205;
    /// Transactions wait for each other's locks.
    pub const ER_LOCK_DEADLOCK: u16 = 1213;
    pub const ER_CONNECTION_KILLED: u16 = 1927;
    pub const ER_OPTION_PREVENTS_STATEMENT: u16 = 1290;
    pub const ER_CANT_EXECUTE_IN_READ_ONLY: u16 = 1792;
    pub const ER_MALFORMED_PACKET: u16 = 1835;
    pub const ER_CLIENT_INTERACTION_TIMEOUT: u16 = 4031;
    pub const CR_CONN_HOST_ERROR: u16 = 2003;
    pub const CR_SERVER_LOST: u16 = 2013;
}
