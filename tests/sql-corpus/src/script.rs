//! Reads the language of MariaDB's test programs: statements among the commands of the program that runs them.
//!
//! What must hold: a statement comes out byte for byte as the program would send it, or not at all (when it holds
//! variables whose values only a run knows). Facts of the language are in the manual of `mysqltest`: a statement ends at
//! the delimiter, outside of quotes; a line that begins with `#` or `--` stands for itself; `if` and `while` end at `{`.

use std::collections::HashMap;

use crate::setting::Setting;

/// Words that begin a command of the program, when they stand where a statement would. Those that carry a statement are
/// in [`CARRIERS`].
const COMMANDS: &[&str] = &[
    "append_file",
    "cat_file",
    "change_user",
    "character_set",
    "chmod",
    "connect",
    "connection",
    "copy_file",
    "dec",
    "diff_files",
    "die",
    "dirty_close",
    "disconnect",
    "echo",
    "end",
    "end_timer",
    "error",
    "exec",
    "execw",
    "exit",
    "file_exists",
    "horizontal_results",
    "inc",
    "list_files",
    "list_files_append_file",
    "list_files_write_file",
    "lowercase_result",
    "mkdir",
    "move_file",
    "optimizer_trace",
    "output",
    "perl",
    "ping",
    "reap",
    "remove_file",
    "remove_files_wildcard",
    "replace_column",
    "replace_regex",
    "replace_result",
    "require",
    "reset_connection",
    "result",
    "result_format",
    "rmdir",
    "save_master_pos",
    "send_quit",
    "send_shutdown",
    "shutdown_server",
    "skip",
    "sleep",
    "real_sleep",
    "sorted_result",
    "source",
    "start_timer",
    "sync_slave_with_master",
    "sync_with_master",
    "vertical_results",
    "wait_for_slave_to_stop",
    "write_file",
    "write_line",
    "partially_sorted_result",
    "copy_files_wildcard",
];
/// Commands whose argument is a statement, with whether variables are replaced in it.
const CARRIERS: &[(&str, bool)] = &[
    ("query", false),
    ("query_vertical", false),
    ("query_horizontal", false),
    ("send", false),
    ("send_eval", true),
    ("eval", true),
    ("evalp", true),
];

/// Reads the statements of a file, in order, each with the settings of its session as far as the file tells.
pub(crate) fn statements(file: &[u8], mut found: impl FnMut(&[u8], Setting)) {
    let mut script =
        Script { text: file, at: 0, delimiter: b";".to_vec(), variables: HashMap::new(), setting: Setting::default() };
    while let Some(unit) = script.next_unit() {
        script.take(unit, &mut found);
    }
}

/// What stands between two delimiters.
enum Unit<'a> {
    /// A line that begins with `--`, without that.
    Dashes(&'a [u8]),
    /// Anything else.
    Statement(&'a [u8]),
}

struct Script<'a> {
    text: &'a [u8],
    at: usize,
    delimiter: Vec<u8>,
    variables: HashMap<Vec<u8>, Vec<u8>>,
    setting: Setting,
}

impl<'a> Script<'a> {
    fn next_unit(&mut self) -> Option<Unit<'a>> {
        loop {
            while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
                self.at += 1;
            }
            let rest = &self.text[self.at..];
            match rest {
                [] => return None,
                [b'#', ..] => {
                    self.line();
                }
                [b'-', b'-', ..] => return Some(Unit::Dashes(&self.line()[2..])),
                [b'}', ..] => self.at += 1,
                _ if rest.starts_with(&self.delimiter) => self.at += self.delimiter.len(),
                _ => return Some(Unit::Statement(self.until_delimiter())),
            }
        }
    }

    /// The rest of the line; moves past it.
    fn line(&mut self) -> &'a [u8] {
        let rest = &self.text[self.at..];
        let length = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        self.at = (self.at + length + 1).min(self.text.len());
        rest[..length].trim_ascii_end()
    }

    fn until_delimiter(&mut self) -> &'a [u8] {
        let start = self.at;
        let is_block = [&b"while"[..], b"if"].iter().any(|word| begins_with_word(&self.text[start..], word));
        let mut quote = None;
        while let Some(&byte) = self.text.get(self.at) {
            match quote {
                None if self.text[self.at..].starts_with(&self.delimiter) => {
                    let found = &self.text[start..self.at];
                    self.at += self.delimiter.len();
                    return found.trim_ascii();
                }
                None if byte == b'{' && is_block => {
                    self.at += 1;
                    return &self.text[start..self.at];
                }
                // A backslash outside of quotes keeps the next quote from being one.
                None if byte == b'\\' => self.at += 1,
                None if matches!(byte, b'\'' | b'"' | b'`') => quote = Some(byte),
                Some(_) if byte == b'\\' => self.at += 1,
                Some(open) if byte == open => quote = None,
                _ => {}
            }
            self.at += 1;
        }
        self.at = self.text.len();
        self.text[start..].trim_ascii()
    }

    fn take(&mut self, unit: Unit<'a>, found: &mut impl FnMut(&[u8], Setting)) {
        let (text, dashes) = match unit {
            Unit::Dashes(text) => (text.trim_ascii_start(), true),
            Unit::Statement(text) => (text, false),
        };
        let length = text.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_').unwrap_or(text.len());
        let word = String::from_utf8_lossy(&text[..length]).to_ascii_lowercase();
        let rest = text[length..].trim_ascii();
        match word.as_str() {
            "delimiter" => self.delimiter = rest.trim_ascii_end().to_vec(),
            "let" => self.set_variable(rest),
            "if" | "while" => {}
            "perl" => self.skip_to_mark(rest),
            "write_file" | "append_file" => self.skip_to_mark(rest.rsplit(|byte| *byte == b' ').next().unwrap_or(b"")),
            "character_set" => self.setting.set_charset(&String::from_utf8_lossy(rest)),
            "disable_parsing" => self.skip_unparsed(),
            _ if word.starts_with("enable_") || word.starts_with("disable_") => {}
            _ if COMMANDS.contains(&word.as_str()) => {}
            _ => match CARRIERS.iter().find(|(carrier, _)| *carrier == word) {
                Some((_, true)) => {
                    if let Some(expanded) = self.expand(rest) {
                        self.emit(&expanded, found);
                    }
                }
                Some((_, false)) => self.emit(rest, found),
                None if dashes => {}
                None => self.emit(text, found),
            },
        }
    }

    fn emit(&mut self, statement: &[u8], found: &mut impl FnMut(&[u8], Setting)) {
        if statement.is_empty() {
            return;
        }
        self.setting.follow(statement);
        found(statement, self.setting);
    }

    /// `$name = value`; a value that a run finds out makes the variable unknown.
    fn set_variable(&mut self, text: &[u8]) {
        let Some(equals) = text.iter().position(|byte| *byte == b'=') else { return };
        let name = text[..equals].trim_ascii().trim_ascii_start();
        let name = name.strip_prefix(b"$").unwrap_or(name).to_vec();
        let value = text[equals + 1..].trim_ascii();
        let computed =
            value.starts_with(b"`") || value.starts_with(b"query_get_value") || value.starts_with(b"convert_error");
        match (!computed).then(|| self.expand(value)).flatten() {
            Some(value) => self.variables.insert(name, value),
            None => self.variables.remove(&name),
        };
    }

    /// The text with its variables' values, if all are known.
    fn expand(&self, text: &[u8]) -> Option<Vec<u8>> {
        let mut out = Vec::with_capacity(text.len());
        let mut at = 0;
        while at < text.len() {
            match text[at] {
                b'\\' if text.get(at + 1) == Some(&b'$') => {
                    out.push(b'$');
                    at += 2;
                }
                b'$' => {
                    let rest = &text[at + 1..];
                    let length = rest
                        .iter()
                        .position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')
                        .unwrap_or(rest.len());
                    out.extend(self.variables.get(&rest[..length])?);
                    at += 1 + length;
                }
                byte => {
                    out.push(byte);
                    at += 1;
                }
            }
        }
        Some(out)
    }

    /// Past the lines up to the one that is the mark, `EOF` if there is none.
    fn skip_to_mark(&mut self, mark: &[u8]) {
        let mark = mark.trim_ascii();
        let is_mark = !mark.is_empty() && mark.iter().all(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
        let mark = if is_mark { mark } else { b"EOF" };
        while self.at < self.text.len() {
            let line = self.line();
            if line.starts_with(mark) {
                return;
            }
        }
    }

    fn skip_unparsed(&mut self) {
        while self.at < self.text.len() {
            if self.line().trim_ascii_start().starts_with(b"--enable_parsing") {
                return;
            }
        }
    }
}

/// Whether the text begins with this word, in any case, and the word ends there.
fn begins_with_word(text: &[u8], word: &[u8]) -> bool {
    text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
        && text.get(word.len()).is_none_or(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')
}

#[cfg(test)]
mod tests {
    use super::statements;

    fn read(file: &str) -> Vec<String> {
        let mut found = Vec::new();
        statements(file.as_bytes(), |text, _| found.push(String::from_utf8_lossy(text).into_owned()));
        found
    }

    #[test]
    fn statements_stand_between_delimiters() {
        assert_eq!(
            read("# note; here\nSELECT ';' ; select 2,\n  '#';\n--echo x; y\n-- error 1064\nSELECT \"it\\\";s\";"),
            ["SELECT ';'", "select 2,\n  '#'", "SELECT \"it\\\";s\""]
        );
        assert_eq!(
            read("delimiter //;\nCREATE PROCEDURE p() BEGIN SELECT 1; END//\ndelimiter ;//\nSELECT 3;"),
            ["CREATE PROCEDURE p() BEGIN SELECT 1; END", "SELECT 3"]
        );
        assert_eq!(read("--delimiter $$\nSELECT 1; SELECT 2$$"), ["SELECT 1; SELECT 2"]);
    }

    #[test]
    fn blocks_hold_statements() {
        assert_eq!(
            read("let $i= 3;\nwhile ($i)\n{\n  SELECT 5;\n  dec $i;\n}\nif (`select 1`) { --echo x\n SELECT 6;\n}"),
            ["SELECT 5", "SELECT 6"]
        );
    }

    #[test]
    fn commands_carry_statements() {
        assert_eq!(
            read(
                "let $t= t1;\n--let $e = ENGINE=$x\neval SELECT * FROM $t;\n--eval INSERT INTO $t VALUES (1)\neval SELECT $e;"
            ),
            ["SELECT * FROM t1", "INSERT INTO t1 VALUES (1)"]
        );
        assert_eq!(
            read("send SELECT 1;\nreap;\nquery_vertical SELECT 2;\nconnect (c,localhost,root,,);"),
            ["SELECT 1", "SELECT 2"]
        );
    }

    #[test]
    fn other_languages_are_passed_over() {
        assert_eq!(read("perl;\nprint 'x;';\nEOF\nSELECT 1;"), ["SELECT 1"]);
        assert_eq!(read("--perl END\nprint 1;\nEND\nSELECT 1;"), ["SELECT 1"]);
        assert_eq!(read("--write_file $d/f MARK\nSELECT 0;\nMARK\nSELECT 1;"), ["SELECT 1"]);
        assert_eq!(read("--disable_parsing\nSELECT 0;\n--enable_parsing\nSELECT 1;"), ["SELECT 1"]);
    }
}
