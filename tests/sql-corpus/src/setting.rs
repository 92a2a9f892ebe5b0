//! What a session's settings say about how a statement is read: the parts of `sql_mode` that matter, and the client's
//! character set. The tests of MariaDB change both as they go.

use weir_sql::{Dialect, LeadBytes, LexMode};

/// The parts of `sql_mode` that change how a text is read, in the order of the bits.
const MODES: [&str; 5] =
    ["ANSI_QUOTES", "NO_BACKSLASH_ESCAPES", "PIPES_AS_CONCAT", "HIGH_NOT_PRECEDENCE", "IGNORE_SPACE"];
/// What `ANSI` and the like stand for.
const ANSI: u8 = 1 | 4 | 16;
/// Character sets that a client can have on both kinds of server; the first is for all that we don't know.
const CHARSETS: [&str; 17] = [
    "utf8mb4", "latin1", "sjis", "cp932", "gbk", "big5", "ujis", "eucjpms", "euckr", "gb2312", "cp1251", "koi8r",
    "latin2", "latin5", "cp1250", "greek", "binary",
];

/// See the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Setting {
    modes: u8,
    charset: u8,
    /// ORACLE mode, whose grammar is another one.
    pub(crate) oracle: bool,
}

impl Setting {
    /// With these parts of `sql_mode` and no others.
    pub(crate) fn with_modes(names: &[&str]) -> Self {
        let mut setting = Self::default();
        names.iter().for_each(|name| setting.add_modes(name));
        setting
    }

    /// How our lexer is told.
    pub(crate) fn lex_mode(self, dialect: Dialect) -> LexMode {
        LexMode {
            ansi_quotes: self.modes & 1 != 0,
            no_backslash_escapes: self.modes & 2 != 0,
            pipes_as_concat: self.modes & 4 != 0,
            high_not_precedence: self.modes & 8 != 0,
            ignore_space: self.modes & 16 != 0,
            lead_bytes: LeadBytes::of_charset(self.charset()),
            dialect,
            version: 0,
        }
    }

    /// How a server is told.
    pub(crate) fn statements(self) -> [String; 2] {
        [format!("SET NAMES {}", self.charset()), format!("SET sql_mode = '{}'", self.sql_mode())]
    }

    /// The value of `sql_mode`.
    pub(crate) fn sql_mode(self) -> String {
        let named = MODES.iter().enumerate().filter(|(bit, _)| self.modes >> bit & 1 != 0);
        named.map(|(_, name)| *name).collect::<Vec<_>>().join(",")
    }

    /// Two bytes that tell it from others.
    pub(crate) fn tag(self) -> [u8; 2] {
        [self.modes, self.charset]
    }

    fn charset(self) -> &'static str {
        CHARSETS[usize::from(self.charset)]
    }

    /// Follows what a statement does to the session: `SET sql_mode = …`, `SET NAMES …`.
    pub(crate) fn follow(&mut self, statement: &[u8]) {
        let text = String::from_utf8_lossy(&statement[..statement.len().min(400)]).to_ascii_lowercase();
        let Some(rest) = text.trim_start().strip_prefix("set").filter(|rest| rest.starts_with([' ', '\t', '\n', '@']))
        else {
            return;
        };
        let rest = rest.trim_start();
        if let Some(name) = rest.strip_prefix("names").or_else(|| rest.strip_prefix("character set")) {
            self.set_charset(name);
        }
        if let Some(at) = rest.find("sql_mode").filter(|_| !rest.contains("global")) {
            let after = rest[at + "sql_mode".len()..].trim_start_matches(['`', ' ', ':']);
            if let Some(value) = after.strip_prefix('=') {
                self.set_sql_mode(value.trim());
            }
        }
    }

    /// Changes the client's character set to that which the text begins with.
    pub(crate) fn set_charset(&mut self, text: &str) {
        let name: String = text
            .trim_start_matches([' ', '\t', '\'', '"', '='])
            .chars()
            .take_while(char::is_ascii_alphanumeric)
            .collect();
        let known = CHARSETS.iter().position(|charset| charset.eq_ignore_ascii_case(&name));
        self.charset = u8::try_from(known.unwrap_or(0)).unwrap_or(0);
    }

    fn set_sql_mode(&mut self, value: &str) {
        let adds = value.starts_with("concat") || value.starts_with("(select concat");
        if !adds {
            (self.modes, self.oracle) = (0, false);
        }
        let end = if adds { value.len() } else { value.find([';', '@']).unwrap_or(value.len()) };
        value[..end].split(|c: char| !c.is_ascii_alphanumeric() && c != '_').for_each(|name| self.add_modes(name));
    }

    fn add_modes(&mut self, name: &str) {
        let name = name.to_ascii_uppercase();
        match name.as_str() {
            "ORACLE" => self.oracle = true,
            "ANSI" | "DB2" | "MAXDB" | "MSSQL" | "POSTGRESQL" => self.modes |= ANSI,
            _ => {
                if let Some(bit) = MODES.iter().position(|mode| *mode == name) {
                    self.modes |= 1 << bit;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Setting;

    #[test]
    fn a_session_is_followed_through_its_settings() {
        let mut setting = Setting::default();
        setting.follow(b"SET @@session.sql_mode = 'ansi_quotes,STRICT_ALL_TABLES'");
        assert_eq!(setting.sql_mode(), "ANSI_QUOTES");
        setting.follow(b"set sql_mode=concat(@@sql_mode, ',no_backslash_escapes')");
        assert_eq!(setting.sql_mode(), "ANSI_QUOTES,NO_BACKSLASH_ESCAPES");
        setting.follow(b"set global sql_mode = ''");
        assert_eq!(setting.sql_mode(), "ANSI_QUOTES,NO_BACKSLASH_ESCAPES");
        setting.follow(b"SET sql_mode = oracle");
        assert!(setting.oracle);
        setting.follow(b"set sql_mode=@saved, names sjis");
        assert_eq!((setting.sql_mode().as_str(), setting.oracle), ("", false));
        setting.follow(b"SET NAMES 'sjis' COLLATE x");
        assert_eq!(setting.charset(), "sjis");
        setting.follow(b"SELECT 'set names gbk'");
        assert_eq!(setting.charset(), "sjis");
    }
}
