//! Running another text in place of a client's, with the client's literals in it.
//!
//! What must always hold: a literal is carried over byte for byte, with its quotes. A prepared statement's parameters keep
//! their order, each once, because the client sends their values by their order.

use weir_sql::{Class, LexMode, Lexer, TextKind, TokenKind, classify};

/// Why a text can't be rewritten, or not so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RewriteError {
    /// `$0`, or a number too large.
    #[error("`{0}` is not the number of a literal: numbers start at $1")]
    NoNumber(String),
    /// Not exactly one statement.
    #[error("the new text is not one statement")]
    NotOneStatement,
    /// The statement has fewer literals.
    #[error("it has {has} literals, but the new text uses ${wanted}")]
    Missing {
        /// The number in the new text.
        wanted: usize,
        /// How many there are.
        has: usize,
    },
    /// A prepared statement's parameters.
    #[error("its parameters would be in another order or incomplete")]
    Parameters,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    /// The literal with this number, from 0.
    Literal(usize),
}

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewrite(Vec<Part>);

impl Rewrite {
    /// Reads a new text, in which `$n` stands for the n-th literal of the client's.
    ///
    /// # Errors
    /// When it is not one statement, or a number is none.
    pub fn new(text: &str) -> Result<Rewrite, RewriteError> {
        let mut parts = Vec::new();
        let (mut plain, mut rest) = (String::new(), text);
        let mut quote = None;
        while let Some(c) = rest.chars().next() {
            rest = &rest[c.len_utf8()..];
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            match (c, quote) {
                ('$', None) if digits > 0 => {
                    let number = rest[..digits].parse::<usize>().ok().and_then(|number| number.checked_sub(1));
                    let number = number.ok_or_else(|| RewriteError::NoNumber(format!("${}", &rest[..digits])))?;
                    parts.extend([Part::Text(std::mem::take(&mut plain)), Part::Literal(number)]);
                    rest = &rest[digits..];
                    continue;
                }
                ('\\', Some('\'' | '"')) => {
                    // What is escaped ends no string.
                    let escaped = rest.chars().next();
                    plain.push(c);
                    plain.extend(escaped);
                    rest = &rest[escaped.map_or(0, char::len_utf8)..];
                    continue;
                }
                ('\'' | '"' | '`', None) => quote = Some(c),
                (c, Some(open)) if c == open => quote = None,
                _ => {}
            }
            plain.push(c);
        }
        parts.push(Part::Text(plain));
        let rewrite = Rewrite(parts);
        let Class { kind, .. } = classify(&rewrite.with(|_| b"?"), LexMode::default());
        match kind {
            TextKind::Multiple | TextKind::Empty | TextKind::Weir(_) => Err(RewriteError::NotOneStatement),
            _ => Ok(rewrite),
        }
    }

    /// How many literals the client's text must have.
    pub fn literals(&self) -> usize {
        self.numbers().map(|number| number + 1).max().unwrap_or(0)
    }

    fn numbers(&self) -> impl Iterator<Item = usize> {
        self.0.iter().filter_map(|part| match part {
            Part::Literal(number) => Some(*number),
            Part::Text(_) => None,
        })
    }

    fn with<'a>(&'a self, literal: impl Fn(usize) -> &'a [u8]) -> Vec<u8> {
        let bytes = self.0.iter().map(|part| match part {
            Part::Text(text) => text.as_bytes(),
            Part::Literal(number) => literal(*number),
        });
        bytes.collect::<Vec<_>>().concat()
    }

    /// The text to run in place of a client's.
    ///
    /// # Errors
    /// When the client's has too few literals, or parameters that would not keep their order.
    pub fn apply(&self, text: &[u8], mode: LexMode) -> Result<Vec<u8>, RewriteError> {
        let literals: Vec<_> = Lexer::new(text, mode).filter(|token| token.kind.is_literal()).collect();
        if self.literals() > literals.len() {
            return Err(RewriteError::Missing { wanted: self.literals(), has: literals.len() });
        }
        let is_parameter = |number: &usize| literals[*number].kind == TokenKind::Parameter;
        if !self.numbers().filter(is_parameter).eq((0..literals.len()).filter(is_parameter)) {
            return Err(RewriteError::Parameters);
        }
        let new = self.0.iter().map(|part| match part {
            Part::Text(new) => new.as_bytes(),
            Part::Literal(number) => literals[*number].text(text),
        });
        Ok(new.collect::<Vec<_>>().concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(new: &str, text: &str) -> Result<String, RewriteError> {
        let new = Rewrite::new(new)?.apply(text.as_bytes(), LexMode::default())?;
        Ok(String::from_utf8(new).expect("UTF-8"))
    }

    #[test]
    fn literals_are_carried_over_by_number() {
        let text = "SELECT a FROM t WHERE b = 'it''s' AND c = -5 OR d IN (0x1F, 2.5)";
        let cases = [
            ("SELECT a FROM t WHERE b = $1 LIMIT 100", "SELECT a FROM t WHERE b = 'it''s' LIMIT 100"),
            ("SELECT $4, $2, $2", "SELECT 2.5, 5, 5"),
            ("SELECT '$1', `$2`, $3", "SELECT '$1', `$2`, 0x1F"),
            ("SELECT 1", "SELECT 1"),
            ("SELECT 'a\\'$1', $3", "SELECT 'a\\'$1', 0x1F"),
            ("SELECT $x, $1", "SELECT $x, 'it''s'"),
        ];
        for (new, expected) in cases {
            assert_eq!(applied(new, text), Ok(expected.to_owned()), "{new}");
        }
        assert_eq!(applied("SELECT $5", text), Err(RewriteError::Missing { wanted: 5, has: 4 }));
    }

    #[test]
    fn parameters_keep_their_order() {
        let text = "SELECT a FROM t WHERE b = ? AND c = 7 AND d = ?";
        assert_eq!(applied("SELECT 1 WHERE $1 + $3 > $2", text), Ok("SELECT 1 WHERE ? + ? > 7".to_owned()));
        for new in ["SELECT $3, $1", "SELECT $1", "SELECT $1, $1, $3"] {
            assert_eq!(applied(new, text), Err(RewriteError::Parameters), "{new}");
        }
    }

    #[test]
    fn what_is_no_statement_is_refused() {
        assert_eq!(Rewrite::new("SELECT $0"), Err(RewriteError::NoNumber("$0".into())));
        for text in ["", "  ", "SELECT 1; SELECT 2", "WEIR STATUS"] {
            assert_eq!(Rewrite::new(text), Err(RewriteError::NotOneStatement), "{text}");
        }
        assert_eq!(Rewrite::new("SELECT $3, $1").map(|rewrite| rewrite.literals()), Ok(3));
    }
}
