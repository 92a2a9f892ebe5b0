//! What decides how a text is read: parts of `sql_mode`, the client's character set, and the kind of server.
//!
//! The defaults are those of a session with an empty `sql_mode`, an ASCII-safe character set, and a server of unknown
//! kind. A wrong mode makes the lexer see other string boundaries than the server does, so a session must pass the mode
//! that its connection will have when the text runs.

/// How the server will read the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LexMode {
    /// `ANSI_QUOTES`: `"x"` is an identifier, not a string.
    pub ansi_quotes: bool,
    /// `NO_BACKSLASH_ESCAPES`: `\` is an ordinary character in strings.
    pub no_backslash_escapes: bool,
    /// `PIPES_AS_CONCAT`: `||` joins strings. Without it, it is OR.
    pub pipes_as_concat: bool,
    /// `HIGH_NOT_PRECEDENCE`: `NOT a BETWEEN b AND c` is `(NOT a) BETWEEN b AND c`.
    pub high_not_precedence: bool,
    /// `IGNORE_SPACE`: `COUNT (x)` calls the built-in function. Without it the server looks for a stored function.
    pub ignore_space: bool,
    /// Multi-byte characters of `character_set_client` whose second byte may look like ASCII.
    pub lead_bytes: LeadBytes,
    /// The kind of server, which decides which functions are built in and which executable comments run.
    pub dialect: Dialect,
}

impl LexMode {
    /// The mode that a value of `@@sql_mode` stands for, and what combination names such as `ANSI` contain. The character
    /// set and the dialect are left at their defaults.
    pub fn from_sql_mode(sql_mode: &str) -> Self {
        let mut mode = Self::default();
        for part in sql_mode.split(',').map(str::trim) {
            match part.to_ascii_uppercase().as_str() {
                "ANSI_QUOTES" => mode.ansi_quotes = true,
                "IGNORE_SPACE" => mode.ignore_space = true,
                "PIPES_AS_CONCAT" => mode.pipes_as_concat = true,
                "HIGH_NOT_PRECEDENCE" => mode.high_not_precedence = true,
                "NO_BACKSLASH_ESCAPES" => mode.no_backslash_escapes = true,
                // All but ANSI exist on MariaDB only.
                "ANSI" | "DB2" | "MAXDB" | "MSSQL" | "ORACLE" | "POSTGRESQL" => {
                    mode.ansi_quotes = true;
                    mode.pipes_as_concat = true;
                    mode.ignore_space = true;
                }
                _ => {}
            }
        }
        mode
    }
}

/// Whether a byte of the client's character set can swallow a following ASCII-looking byte, such as `\` or a backquote.
///
/// Every character set that a server allows as `character_set_client` and that isn't named here keeps ASCII bytes for
/// ASCII characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LeadBytes {
    /// `utf8mb4`, `utf8mb3`, `latin1`, `ascii`, `euckr`, `gb2312`, `ujis`, … and all other single-byte sets.
    #[default]
    None,
    /// `big5`.
    Big5,
    /// `gbk` and `gb18030` (whose four-byte characters hold no byte that matters to a lexer).
    Gbk,
    /// `sjis` and `cp932`.
    Sjis,
}

impl LeadBytes {
    /// The setting for a character set's name, as in `@@character_set_client`.
    pub fn of_charset(name: &str) -> Self {
        match name.to_ascii_lowercase().as_str() {
            "big5" => Self::Big5,
            "gbk" | "gb18030" => Self::Gbk,
            "sjis" | "cp932" => Self::Sjis,
            _ => Self::None,
        }
    }

    /// Whether these two bytes are one character.
    pub(crate) fn is_pair(self, lead: u8, trail: u8) -> bool {
        match self {
            Self::None => false,
            Self::Big5 => matches!(lead, 0xA1..=0xF9) && matches!(trail, 0x40..=0x7E | 0xA1..=0xFE),
            Self::Gbk => matches!(lead, 0x81..=0xFE) && matches!(trail, 0x40..=0x7E | 0x80..=0xFE),
            Self::Sjis => matches!(lead, 0x81..=0x9F | 0xE0..=0xFC) && matches!(trail, 0x40..=0x7E | 0x80..=0xFC),
        }
    }
}

/// The kind of server that will run the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Not known: a function counts as built in only if both kinds of server have it, because on the other kind its
    /// name may be a stored function's.
    #[default]
    Either,
    /// MySQL.
    MySql,
    /// MariaDB.
    MariaDb,
}

/// Whether a server executes the contents of a versioned comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Execution {
    /// Every supported server of the dialect does.
    Always,
    /// None does.
    Never,
    /// It depends on the server's kind or version.
    Perhaps,
}

impl Dialect {
    /// Whether `/*!` (or `/*M!` if `mariadb_only`) with this version number is executed.
    ///
    /// MySQL runs versions up to its own and never `/*M!`. MariaDB runs versions up to its own, except that for `/*!` it
    /// leaves out 50700 to 99999, which are MySQL's. Servers older than 5.7 are not supported.
    pub(crate) fn executes(self, mariadb_only: bool, version: Option<u32>) -> Execution {
        const OLDEST_MYSQL: u32 = 50_700;
        const OLDEST_MARIADB: u32 = 100_600;
        // What dumps write that no server is to run.
        const NO_VERSION: u32 = 999_999;
        let version = version.unwrap_or(0);
        if version == NO_VERSION {
            return Execution::Never;
        }
        let mysql = match version {
            _ if mariadb_only => Execution::Never,
            0..=OLDEST_MYSQL => Execution::Always,
            _ => Execution::Perhaps,
        };
        let mariadb = match version {
            50_700..=99_999 if !mariadb_only => Execution::Never,
            0..=OLDEST_MARIADB => Execution::Always,
            _ => Execution::Perhaps,
        };
        match self {
            Self::MySql => mysql,
            Self::MariaDb => mariadb,
            Self::Either if mysql == mariadb => mysql,
            Self::Either => Execution::Perhaps,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Dialect, Execution, LexMode};

    #[test]
    fn no_server_runs_the_last_version() {
        for dialect in [Dialect::MySql, Dialect::MariaDb, Dialect::Either] {
            for mariadb_only in [false, true] {
                assert_eq!(dialect.executes(mariadb_only, Some(999_999)), Execution::Never);
            }
        }
    }

    #[test]
    fn parts_of_sql_mode_are_found() {
        let ansi = LexMode { ansi_quotes: true, pipes_as_concat: true, ignore_space: true, ..LexMode::default() };
        assert_eq!(LexMode::from_sql_mode("ansi"), ansi);
        assert_eq!(LexMode::from_sql_mode("PIPES_AS_CONCAT,ANSI_QUOTES, IGNORE_SPACE"), ansi);
        let escapes = LexMode { no_backslash_escapes: true, ..LexMode::default() };
        assert_eq!(LexMode::from_sql_mode("STRICT_TRANS_TABLES,no_backslash_escapes"), escapes);
        assert_eq!(LexMode::from_sql_mode(""), LexMode::default());
    }
}
