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
    /// A failure of the client's, with the SQLSTATE of its code. Nothing was done on any server.
    pub fn client(code: u16, message: impl Into<String>) -> Self {
        Failure::new(Fault::Client, code, sqlstate(code), message)
    }

    /// The same, of a server.
    pub fn server(code: u16, message: impl Into<String>) -> Self {
        Failure::new(Fault::Server, code, sqlstate(code), message)
    }

    /// The same, of Weir itself.
    pub fn weir(code: u16, message: impl Into<String>) -> Self {
        Failure::new(Fault::Weir, code, sqlstate(code), message)
    }

    /// A failure with an SQLSTATE of its own, such as a server's. Nothing was done on any server.
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
    Failure::client(codes::ER_NOT_SUPPORTED_YET, message)
}

/// A table of codes: a constant for each name, and the SQLSTATE of each code. A code that stands twice does not compile.
macro_rules! codes {
    ($($name:ident = $code:literal $sqlstate:literal;)*) => {
        /// MySQL's and MariaDB's error codes that Weir sends, or knows when a server sends them. The names are the servers' own.
        #[expect(missing_docs, reason = "the names are the manual's")]
        pub mod codes {
            $(pub const $name: u16 = $code;)*
        }

        /// The SQLSTATE that Weir sends with a code of the table; HY000 for others, as servers do.
        #[deny(unreachable_patterns)]
        pub fn sqlstate(code: u16) -> &'static [u8; 5] {
            match code {
                $($code => $sqlstate,)*
                _ => b"HY000",
            }
        }
    };
}

codes! {
    ER_DB_CREATE_EXISTS = 1007 b"HY000";
    ER_DB_DROP_EXISTS = 1008 b"HY000";
    ER_OUT_OF_SORTMEMORY = 1038 b"HY001";
    ER_CON_COUNT_ERROR = 1040 b"08004";
    ER_HANDSHAKE_ERROR = 1043 b"08S01";
    ER_DBACCESS_DENIED_ERROR = 1044 b"42000";
    ER_ACCESS_DENIED_ERROR = 1045 b"28000";
    ER_UNKNOWN_COM_ERROR = 1047 b"08S01";
    ER_NO_DB_ERROR = 1046 b"3D000";
    ER_BAD_NULL_ERROR = 1048 b"23000";
    ER_BAD_DB_ERROR = 1049 b"42000";
    ER_TABLE_EXISTS_ERROR = 1050 b"42S01";
    ER_BAD_TABLE_ERROR = 1051 b"42S02";
    ER_SERVER_SHUTDOWN = 1053 b"08S01";
    ER_BAD_FIELD_ERROR = 1054 b"42S22";
    ER_DUP_FIELDNAME = 1060 b"42S21";
    ER_DUP_ENTRY = 1062 b"23000";
    ER_PARSE_ERROR = 1064 b"42000";
    ER_NONUNIQ_TABLE = 1066 b"42000";
    ER_KEY_COLUMN_DOES_NOT_EXIST = 1072 b"42000";
    ER_WRONG_FIELD_TERMINATORS = 1083 b"42000";
    ER_CANT_DROP_FIELD_OR_KEY = 1091 b"42000";
    ER_UPDATE_TABLE_USED = 1093 b"HY000";
    ER_NO_SUCH_THREAD = 1094 b"HY000";
    ER_KILL_DENIED_ERROR = 1095 b"HY000";
    ER_TABLE_NOT_LOCKED_FOR_WRITE = 1099 b"HY000";
    ER_TABLE_NOT_LOCKED = 1100 b"HY000";
    ER_UNKNOWN_ERROR = 1105 b"HY000";
    ER_TOO_MANY_TABLES = 1116 b"HY000";
    ER_UDF_EXISTS = 1125 b"HY000";
    ER_HOST_NOT_PRIVILEGED = 1130 b"HY000";
    ER_WRONG_VALUE_COUNT_ON_ROW = 1136 b"21S01";
    ER_NONEXISTING_GRANT = 1141 b"42000";
    ER_TABLEACCESS_DENIED_ERROR = 1142 b"42000";
    ER_COLUMNACCESS_DENIED_ERROR = 1143 b"42000";
    ER_NO_SUCH_TABLE = 1146 b"42S02";
    ER_NONEXISTING_TABLE_GRANT = 1147 b"42000";
    ER_NOT_ALLOWED_COMMAND = 1148 b"42000";
    ER_NET_PACKET_TOO_LARGE = 1153 b"08S01";
    ER_NET_PACKETS_OUT_OF_ORDER = 1156 b"08S01";
    ER_NET_READ_ERROR = 1158 b"08S01";
    ER_KEY_DOES_NOT_EXITS = 1176 b"HY000";
    ER_ERROR_DURING_COMMIT = 1180 b"HY000";
    ER_FT_MATCHING_KEY_NOT_FOUND = 1191 b"HY000";
    ER_LOCK_OR_ACTIVE_TRANSACTION = 1192 b"HY000";
    ER_UNKNOWN_SYSTEM_VARIABLE = 1193 b"HY000";
    ER_TOO_MANY_USER_CONNECTIONS = 1203 b"42000";
    ER_LOCK_WAIT_TIMEOUT = 1205 b"HY000";
    ER_WRONG_ARGUMENTS = 1210 b"HY000";
    ER_LOCK_DEADLOCK = 1213 b"40001";
    ER_WRONG_USAGE = 1221 b"HY000";
    ER_USER_LIMIT_REACHED = 1226 b"42000";
    ER_SPECIFIC_ACCESS_DENIED_ERROR = 1227 b"42000";
    ER_WRONG_VALUE_FOR_VAR = 1231 b"42000";
    ER_NOT_SUPPORTED_YET = 1235 b"42000";
    ER_SUBQUERY_NO_1_ROW = 1242 b"21000";
    ER_UNKNOWN_STMT_HANDLER = 1243 b"HY000";
    ER_NOT_SUPPORTED_AUTH_MODE = 1251 b"08004";
    ER_CUT_VALUE_GROUP_CONCAT = 1260 b"HY000";
    ER_WARN_DATA_OUT_OF_RANGE = 1264 b"22003";
    WARN_DATA_TRUNCATED = 1265 b"01000";
    ER_OPTION_PREVENTS_STATEMENT = 1290 b"HY000";
    ER_TRUNCATED_WRONG_VALUE = 1292 b"22007";
    ER_UNSUPPORTED_PS = 1295 b"HY000";
    ER_SP_ALREADY_EXISTS = 1304 b"42000";
    ER_SP_DOES_NOT_EXIST = 1305 b"42000";
    ER_QUERY_INTERRUPTED = 1317 b"70100";
    ER_SP_BAD_CURSOR_SELECT = 1323 b"42000";
    ER_WRONG_OBJECT = 1347 b"HY000";
    ER_VIEW_INVALID = 1356 b"HY000";
    ER_TRG_ALREADY_EXISTS = 1359 b"HY000";
    ER_TRG_DOES_NOT_EXIST = 1360 b"HY000";
    ER_DIVISION_BY_ZERO = 1365 b"22012";
    ER_TRUNCATED_WRONG_VALUE_FOR_FIELD = 1366 b"HY000";
    ER_PROCACCESS_DENIED_ERROR = 1370 b"42000";
    ER_CANNOT_USER = 1396 b"HY000";
    ER_XAER_NOTA = 1397 b"XAE04";
    ER_XAER_RMERR = 1401 b"XAE03";
    ER_XA_RBROLLBACK = 1402 b"XA100";
    ER_NONEXISTING_PROC_GRANT = 1403 b"42000";
    ER_CANT_CREATE_USER_WITH_GRANT = 1410 b"42000";
    ER_WRONG_VALUE_FOR_TYPE = 1411 b"HY000";
    ER_TABLE_DEF_CHANGED = 1412 b"HY000";
    ER_STMT_HAS_NO_OPEN_CURSOR = 1421 b"HY000";
    ER_CONNECT_TO_FOREIGN_DATA_SOURCE = 1429 b"HY000";
    ER_STACK_OVERRUN_NEED_MORE = 1436 b"HY000";
    ER_DATETIME_FUNCTION_OVERFLOW = 1441 b"22008";
    ER_VIEW_PREVENT_UPDATE = 1443 b"HY000";
    ER_NO_SUCH_USER = 1449 b"HY000";
    ER_MAX_PREPARED_STMT_COUNT_REACHED = 1461 b"42000";
    ER_AUTOINC_READ_FAILED = 1467 b"HY000";
    ER_FOREIGN_SERVER_EXISTS = 1476 b"HY000";
    ER_FOREIGN_SERVER_DOESNT_EXIST = 1477 b"HY000";
    ER_PARTITION_MAXVALUE_ERROR = 1481 b"HY000";
    ER_RANGE_NOT_INCREASING_ERROR = 1493 b"HY000";
    ER_MULTIPLE_DEF_CONST_IN_LIST_PART_ERROR = 1495 b"HY000";
    ER_WRONG_VALUE = 1525 b"HY000";
    ER_NO_PARTITION_FOR_GIVEN_VALUE = 1526 b"HY000";
    ER_EVENT_ALREADY_EXISTS = 1537 b"HY000";
    ER_EVENT_DOES_NOT_EXIST = 1539 b"HY000";
    ER_XA_RBDEADLOCK = 1614 b"XA102";
    ER_FUNC_INEXISTENT_NAME_COLLISION = 1630 b"42000";
    ER_DATA_OUT_OF_RANGE = 1690 b"22003";
    ER_UNKNOWN_PARTITION = 1735 b"HY000";
    ER_CANT_EXECUTE_IN_READ_ONLY = 1792 b"25006";
    ER_MUST_CHANGE_PASSWORD = 1820 b"HY000";
    ER_MALFORMED_PACKET = 1835 b"HY000";
    ER_READ_ONLY_MODE = 1836 b"HY000";
    ER_MUST_CHANGE_PASSWORD_LOGIN = 1862 b"HY000";
    ER_CONNECTION_KILLED = 1927 b"70100";
    ER_QUERY_TIMEOUT = 3024 b"HY000";
    ER_RUN_HOOK_ERROR = 3100 b"HY000";
    ER_SECURE_TRANSPORT_REQUIRED = 3159 b"HY000";
    ER_AUDIT_API_ABORT = 3164 b"HY000";
    ER_WRONG_COMPRESSION_ALGORITHM_CLIENT = 3922 b"08004";
    ER_CLIENT_LOCAL_FILES_DISABLED = 3948 b"42000";
    ER_CLIENT_INTERACTION_TIMEOUT = 4031 b"HY000";
    ER_UNKNOWN_SEQUENCES = 4091 b"42S02";
    ER_UNKNOWN_VIEW = 4092 b"42S02";
    CR_CONN_HOST_ERROR = 2003 b"HY000";
    CR_SERVER_LOST = 2013 b"HY000";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_has_the_sqlstate_of_its_code() {
        for (code, expected) in [
            (codes::ER_NOT_SUPPORTED_YET, b"42000"),
            (codes::ER_LOCK_DEADLOCK, b"40001"),
            (codes::CR_SERVER_LOST, b"HY000"),
            (u16::MAX, b"HY000"),
        ] {
            assert_eq!(&Failure::weir(code, "").sqlstate, expected, "{code}");
        }
        assert_eq!(Failure::client(codes::ER_DUP_ENTRY, "x").to_string(), "ERROR 1062 (23000): x");
    }
}
