//! MySQL's LIKE: `%` is any text, `_` one character, a backslash takes the next character as it is. Letters of ASCII
//! match in either case, as names do in MySQL's SHOW statements.

/// A pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(Vec<Part>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Any,
    One,
    Char(char),
}

impl Pattern {
    /// The pattern that `text` writes.
    pub fn new(text: &str) -> Pattern {
        let mut parts = Vec::new();
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            parts.push(match c {
                '%' => Part::Any,
                '_' => Part::One,
                '\\' => Part::Char(chars.next().unwrap_or('\\')),
                c => Part::Char(c.to_ascii_lowercase()),
            });
        }
        Pattern(parts)
    }

    /// Whether all of `text` matches. Takes time in proportion to both lengths at most.
    pub fn matches(&self, text: &[u8]) -> bool {
        let text: Vec<char> = String::from_utf8_lossy(text).chars().map(|c| c.to_ascii_lowercase()).collect();
        let (mut at, mut part) = (0, 0);
        // Where the latest `%` is, and how much of the text it has taken so far.
        let mut retry: Option<(usize, usize)> = None;
        while at < text.len() {
            match self.0.get(part) {
                Some(Part::Any) => {
                    retry = Some((part, at));
                    part += 1;
                }
                Some(Part::One) => (at, part) = (at + 1, part + 1),
                Some(Part::Char(c)) if c.to_ascii_lowercase() == text[at] => (at, part) = (at + 1, part + 1),
                _ => {
                    let Some((any, taken)) = retry else { return false };
                    retry = Some((any, taken + 1));
                    (at, part) = (taken + 1, any + 1);
                }
            }
        }
        self.0[part..].iter().all(|part| *part == Part::Any)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn like_matches_as_mysql_does() {
        let cases = [
            ("", "", true),
            ("", "a", false),
            ("%", "", true),
            ("%", "anything", true),
            ("_", "ü", true),
            ("_", "", false),
            ("pool.%", "pool.max_queue", true),
            ("pool.%", "pools", false),
            ("%max%connections", "clients.max_user_connections", true),
            ("%max%connections", "clients.max_user_connections2", false),
            ("max\\_queue", "max_queue", true),
            ("max\\_queue", "maxxqueue", false),
            ("MAX_QUEUE", "max_queue", true),
            ("a%b%c", "aXbYbZc", true),
            ("a%b%c", "aXbYbZ", false),
            ("50\\%", "50%", true),
            ("a\\", "a\\", true),
        ];
        for (pattern, text, expected) in cases {
            assert_eq!(Pattern::new(pattern).matches(text.as_bytes()), expected, "{text:?} LIKE {pattern:?}");
        }
    }

    #[test]
    fn a_long_text_against_many_wildcards_ends_soon() {
        let pattern = Pattern::new(&"%a".repeat(500));
        assert!(!pattern.matches("ab".repeat(400).as_bytes()));
    }
}
