//! Statements that a server prepares and executes by a name of Weir's own, with the session's user variables as parameters.
//!
//! What must always hold: the name is prepared again before each execution, on the same connection; nobody else uses it.

/// The name.
pub struct PreparedName(&'static str);

/// See [`PreparedName`]. It has a space, so that it is none of a client's.
pub const SQL_PREPARED: PreparedName = PreparedName("`weir named`");

impl PreparedName {
    /// What prepares a text. `backslashes`: they mean something in strings.
    pub fn prepare(&self, text: &[u8], backslashes: bool) -> Vec<u8> {
        let mut prepare = format!("PREPARE {} FROM '", self.0).into_bytes();
        for byte in text {
            if *byte == b'\'' || *byte == b'\\' && backslashes {
                prepare.push(*byte);
            }
            prepare.push(*byte);
        }
        prepare.push(b'\'');
        prepare
    }

    /// What executes it.
    pub fn execute<'a>(&self, variables: impl IntoIterator<Item = &'a str>) -> Vec<u8> {
        let variables: Vec<String> = variables.into_iter().map(|name| format!("@`{name}`")).collect();
        let using = if variables.is_empty() { String::new() } else { format!(" USING {}", variables.join(",")) };
        format!("EXECUTE {}{using}", self.0).into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_quoted_and_variables_named() {
        let cases = [
            ("SELECT 'a''b'", true, "PREPARE `weir named` FROM 'SELECT ''a''''b'''"),
            (r"SELECT '\n'", true, r"PREPARE `weir named` FROM 'SELECT ''\\n'''"),
            (r"SELECT '\n'", false, r"PREPARE `weir named` FROM 'SELECT ''\n'''"),
        ];
        for (text, backslashes, wanted) in cases {
            assert_eq!(String::from_utf8_lossy(&SQL_PREPARED.prepare(text.as_bytes(), backslashes)), wanted);
        }
        assert_eq!(SQL_PREPARED.execute([]), b"EXECUTE `weir named`");
        assert_eq!(SQL_PREPARED.execute(["a", "b c"]), b"EXECUTE `weir named` USING @`a`,@`b c`");
    }
}
