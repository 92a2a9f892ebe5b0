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
    /// What bytes above ASCII are in `character_set_client`.
    pub lead_bytes: LeadBytes,
    /// The kind of server, which decides which functions are built in and which executable comments run.
    pub dialect: Dialect,
    /// The server's version, as executable comments name it: 90704, 101119. 0: not known. A server that is newer may stand beside it, so what a
    /// text does is still judged for both ways of reading its comments.
    pub version: u32,
}

impl LexMode {
    /// Whether an executable comment of this version runs, if that depends on the server's.
    pub(crate) fn runs_version(&self, version: Option<u32>) -> bool {
        self.version == 0 || version.is_none_or(|version| version <= self.version)
    }

    /// The mode that a value of `@@sql_mode` stands for, and what combination names such as `ANSI` contain. The character
    /// set, the dialect and the version are left at their defaults.
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

/// What the bytes above ASCII do to a lexer in the client's character set: a lead byte can swallow a following ASCII-looking
/// byte, such as `\` or a backquote; some single bytes are spaces, and some begin a comment behind `--`.
///
/// Both kinds of server have the same tables: `tests/sql-corpus` holds every byte, and every pair, against them. Every
/// character set that a server allows as `character_set_client` and that isn't named here has ASCII bytes for ASCII
/// characters, and only letters above them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LeadBytes {
    /// `utf8mb4`, `utf8mb3`, `ascii`, `euckr`, `gb2312`, `ujis`, `koi8r`, …
    #[default]
    None,
    /// `big5`.
    Big5,
    /// `gbk` and `gb18030` (whose four-byte characters hold no byte that matters to a lexer).
    Gbk,
    /// `sjis` and `cp932`.
    Sjis,
    /// `latin1`, `latin2`, `latin5`, `armscii8`, `dec8`, `geostd8`, `greek`: 0xA0 is a space.
    SpaceA0,
    /// `cp852`, `cp866`, `keybcs2`: 0xFF is a space.
    SpaceFf,
    /// `cp1250`.
    Cp1250,
    /// `cp850`.
    Cp850,
    /// `hebrew`.
    Hebrew,
    /// `hp8`.
    Hp8,
    /// `latin7`.
    Latin7,
    /// `macroman`.
    Macroman,
    /// `swe7`, where `[`, `\`, `]`, `^`, `{`, `|`, `}` and `~` are letters: they can't be read outside of quotes.
    Swe7,
}

impl LeadBytes {
    /// The setting for a character set's name, as in `@@character_set_client`.
    pub fn of_charset(name: &str) -> Self {
        match name.to_ascii_lowercase().as_str() {
            "big5" => Self::Big5,
            "gbk" | "gb18030" => Self::Gbk,
            "sjis" | "cp932" => Self::Sjis,
            "latin1" | "latin2" | "latin5" | "armscii8" | "dec8" | "geostd8" | "greek" => Self::SpaceA0,
            "cp852" | "cp866" | "keybcs2" => Self::SpaceFf,
            "cp1250" => Self::Cp1250,
            "cp850" => Self::Cp850,
            "hebrew" => Self::Hebrew,
            "hp8" => Self::Hp8,
            "latin7" => Self::Latin7,
            "macroman" => Self::Macroman,
            "swe7" => Self::Swe7,
            _ => Self::None,
        }
    }

    /// Whether some characters have two bytes of which the second may be ASCII.
    pub fn has_pairs(self) -> bool {
        matches!(self, Self::Big5 | Self::Gbk | Self::Sjis)
    }

    /// Whether bytes that look like ASCII are.
    pub fn is_ascii(self) -> bool {
        !self.has_pairs() && self != Self::Swe7
    }

    /// Whether these two bytes are one character.
    pub(crate) fn is_pair(self, lead: u8, trail: u8) -> bool {
        match self {
            Self::Big5 => matches!(lead, 0xA1..=0xF9) && matches!(trail, 0x40..=0x7E | 0xA1..=0xFE),
            Self::Gbk => matches!(lead, 0x81..=0xFE) && matches!(trail, 0x40..=0x7E | 0x80..=0xFE),
            Self::Sjis => matches!(lead, 0x81..=0x9F | 0xE0..=0xFC) && matches!(trail, 0x40..=0x7E | 0x80..=0xFC),
            _ => false,
        }
    }

    /// Whether a byte above ASCII is a space.
    pub(crate) fn is_space(self, byte: u8) -> bool {
        match self {
            Self::SpaceA0 | Self::Cp1250 | Self::Hebrew | Self::Latin7 => byte == 0xA0,
            Self::SpaceFf => byte == 0xFF,
            _ => false,
        }
    }

    /// Whether a byte above ASCII makes a comment of `--` before it: a space or a control character.
    pub(crate) fn begins_comment(self, byte: u8) -> bool {
        let control = match self {
            Self::Cp1250 => matches!(byte, 0x80 | 0x81 | 0x83 | 0x88 | 0x90 | 0x98),
            Self::Cp850 => byte == 0xFF,
            Self::Hebrew => matches!(byte, 0xFD | 0xFE),
            Self::Hp8 => matches!(byte, 0x80..=0xA0 | 0xB1 | 0xB2 | 0xF2..=0xF5 | 0xFF),
            Self::Latin7 => {
                matches!(byte, 0x81 | 0x83 | 0x88 | 0x8A | 0x8C | 0x90 | 0x98 | 0x9A | 0x9C | 0x9F | 0xA1 | 0xA5)
            }
            Self::Macroman => matches!(byte, 0x80 | 0xCB | 0xE5),
            _ => false,
        };
        control || self.is_space(byte)
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
