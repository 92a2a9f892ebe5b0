//! Names for the words that the reading of statements asks about.
//!
//! What must hold: each is in the table of words, which the compiler checks.

use crate::keyword::Keyword;

macro_rules! names {
    ($($name:ident = $text:literal),* $(,)?) => {
        $(pub(crate) const $name: Keyword = Keyword::named($text);)*
    };
}

names! {
    AFTER = "after", AGAINST = "against", AGGREGATE = "aggregate", ALGORITHM = "algorithm", ALL = "all",
    ALTER = "alter", ANALYZE = "analyze", AND = "and", ANY = "any", AS = "as", BACKUP = "backup",
    BEFORE = "before", BEGIN = "begin", BY = "by", CACHE = "cache", CALL = "call", CASE = "case",
    CHAIN = "chain", CHANGE = "change", CHAR = "char", CHARACTER = "character", CHARSET = "charset",
    CHECK = "check", CHECKSUM = "checksum", CLONE = "clone", COLLATE = "collate", COLUMNS = "columns",
    COMMIT = "commit", CONNECTION = "connection", CONNECTION_ID = "connection_id", COUNT = "count",
    CREATE = "create", CURRENT_DATE = "current_date", CURRENT_TIME = "current_time",
    CURRENT_TIMESTAMP = "current_timestamp", CURRENT_USER = "current_user", CURRVAL = "currval",
    DATA = "data", DATABASE = "database", DATE = "date", DAY = "day", DEALLOCATE = "deallocate",
    DECLARE = "declare", DEFAULT = "default", DEFINER = "definer", DELAYED = "delayed", DELETE = "delete",
    DESC = "desc", DESCRIBE = "describe", DISTINCT = "distinct", DISTINCTROW = "distinctrow", DO = "do",
    DROP = "drop", DUALITY = "duality", DUMPFILE = "dumpfile", ELSE = "else", END = "end", ERRORS = "errors",
    ERROR_COUNT = "error_count", ESCAPE = "escape", EVENT = "event", EXCEPT = "except", EXECUTE = "execute",
    EXISTS = "exists", EXPLAIN = "explain", EXPORT = "export", FALSE = "false", FLUSH = "flush", FOR = "for",
    FOUND_ROWS = "found_rows", FROM = "from", FULL = "full", FULLTEXT = "fulltext", FUNCTION = "function",
    GET = "get", GET_LOCK = "get_lock", GLOBAL = "global", GRANT = "grant", GROUP = "group",
    GROUP_REPLICATION = "group_replication", HANDLER = "handler", HARD = "hard", HAVING = "having",
    HELP = "help", HIGH_PRIORITY = "high_priority", HOUR = "hour", IDENTITY = "identity", IF = "if",
    IGNORE = "ignore", IMPORT = "import", INDEX = "index", INSERT = "insert", INSTALL = "install",
    INSTANCE = "instance", INTERSECT = "intersect", INTERVAL = "interval", INTO = "into", INVOKER = "invoker",
    ISOLATION = "isolation", JOIN = "join", JSON = "json", JSON_TABLE = "json_table", KILL = "kill",
    LASTVAL = "lastval", LAST_GTID = "last_gtid", LAST_INSERT_ID = "last_insert_id", LATERAL = "lateral",
    LIBRARY = "library", LIMIT = "limit", LOAD = "load", LOCAL = "local", LOCK = "lock", LOGFILE = "logfile",
    LOOP = "loop", LOW_PRIORITY = "low_priority", MATERIALIZED = "materialized", MEMBER = "member",
    MICROSECOND = "microsecond", MINUTE = "minute", MONTH = "month", NAMES = "names", NEXT = "next",
    NEXTVAL = "nextval", NO = "no", NOT = "not", NO_WRITE_TO_BINLOG = "no_write_to_binlog", NULL = "null",
    OF = "of", OFFLINE = "offline", OFFSET = "offset", ON = "on", ONLINE = "online", ONLY = "only",
    OPTIMIZE = "optimize", OR = "or", ORDER = "order", OUTFILE = "outfile", PASSWORD = "password",
    PERSIST = "persist", PERSIST_ONLY = "persist_only", PREPARE = "prepare", PREVIOUS = "previous",
    PROCEDURE = "procedure", PROCESSLIST = "processlist", PSEUDO_THREAD_ID = "pseudo_thread_id",
    PURGE = "purge", QUARTER = "quarter", QUERY = "query", READ = "read", RECOVER = "recover",
    RECURSIVE = "recursive", REFERENCE = "reference", REFERENCES = "references", RELATIONAL = "relational",
    RELEASE = "release", RELEASE_ALL_LOCKS = "release_all_locks", RENAME = "rename", REPAIR = "repair",
    REPEAT = "repeat", REPLACE = "replace", REPLICA = "replica", RESET = "reset", RESIGNAL = "resignal",
    RESOURCE = "resource", RESTART = "restart", RETURN = "return", RETURNING = "returning", REVOKE = "revoke",
    ROLE = "role", ROLLBACK = "rollback", ROW_COUNT = "row_count", SAVEPOINT = "savepoint", SCHEMA = "schema",
    SECOND = "second", SECURITY = "security", SELECT = "select", SEQUENCE = "sequence", SERVER = "server",
    SESSION = "session", SESSION_VARIABLES = "session_variables", SET = "set", SETVAL = "setval",
    SHARE = "share", SHOW = "show", SHUTDOWN = "shutdown", SIGNAL = "signal", SLAVE = "slave", SOFT = "soft",
    SOME = "some", SOUNDS = "sounds", SPATIAL = "spatial", SQL = "sql", SQL_BIG_RESULT = "sql_big_result",
    SQL_BUFFER_RESULT = "sql_buffer_result", SQL_CACHE = "sql_cache",
    SQL_CALC_FOUND_ROWS = "sql_calc_found_rows", SQL_NO_CACHE = "sql_no_cache",
    SQL_SMALL_RESULT = "sql_small_result", STAGE = "stage", START = "start", STATEMENT = "statement",
    STOP = "stop", STRAIGHT_JOIN = "straight_join", TABLE = "table", TABLES = "tables",
    TABLESPACE = "tablespace", TEMPORARY = "temporary", THEN = "then", TIME = "time", TIMESTAMP = "timestamp",
    TO = "to", TRANSACTION = "transaction", TRANSACTION_ISOLATION = "transaction_isolation",
    TRANSACTION_READ_ONLY = "transaction_read_only", TRIGGER = "trigger", TRUE = "true",
    TRUNCATE = "truncate", TX_ISOLATION = "tx_isolation", TX_READ_ONLY = "tx_read_only", UNDO = "undo",
    UNINSTALL = "uninstall", UNION = "union", UNIQUE = "unique", UNLOCK = "unlock", UPDATE = "update",
    USE = "use", USER = "user", USER_VARIABLES = "user_variables",
    USER_VARIABLES_BY_THREAD = "user_variables_by_thread", VALUE = "value", VALUES = "values",
    VARIABLES = "variables", VARIABLES_BY_THREAD = "variables_by_thread", VARIABLES_INFO = "variables_info",
    VIEW = "view", WARNINGS = "warnings", WARNING_COUNT = "warning_count", WEEK = "week", WEIR = "weir",
    WHERE = "where", WHILE = "while", WITH = "with", WORK = "work", WRITE = "write", XA = "xa", XML = "xml",
    YEAR = "year",
}
