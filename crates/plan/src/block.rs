//! Compound statements outside of routines (`BEGIN NOT ATOMIC`, IF, loops), and the definitions in them.
//!
//! What must always hold: no definition of an object that several shards have, and nothing that may be one, runs within a block, which one
//! server runs by itself.

use weir_catalog::Catalog;
use weir_sql::{LexMode, Lexer, TokenKind};

/// The word of a statement in the block that can't run there; `None` if there is none.
pub(crate) fn passes_by(text: &[u8], mode: LexMode, catalog: &Catalog, database: Option<&[u8]>) -> Option<String> {
    let words = words(text, mode);
    let is = |at: usize, all: &[&str]| words.get(at).is_some_and(|word| word.is_any(all));
    let sharded = |name: &[u8]| catalog.database(name).is_some();
    let here = database.is_some_and(sharded) || words.iter().any(|word| sharded(word.name));
    let everywhere = catalog.shards.len() > 1;
    (0..words.len()).find_map(|at| {
        let local = is(at + 1, &["temporary", "prepare"]) || is(at + 1, &["or"]) && is(at + 3, &["temporary"]);
        let of_servers = is(at, &["grant", "revoke"]) || is(at + 1, &["user", "role", "database", "schema"]);
        let defines = is(at, &["create", "alter", "drop", "rename", "grant", "revoke"]) && !local;
        let truncates = is(at, &["truncate"]) && !words[at].called;
        let hidden = is(at, &["execute"]);
        let refused = defines && (here || of_servers && everywhere) || (truncates || hidden) && here;
        refused.then(|| String::from_utf8_lossy(words[at].name).to_uppercase())
    })
}

/// A word or a name.
struct Found<'a> {
    name: &'a [u8],
    quoted: bool,
    /// A parenthesis follows.
    called: bool,
}

impl Found<'_> {
    fn is_any(&self, all: &[&str]) -> bool {
        !self.quoted && all.iter().any(|word| self.name.eq_ignore_ascii_case(word.as_bytes()))
    }
}

fn words(text: &[u8], mode: LexMode) -> Vec<Found<'_>> {
    let mut lexer = Lexer::new(text, mode);
    let mut words: Vec<Found<'_>> = Vec::new();
    let mut last_is_word = false;
    loop {
        let token = lexer.next_token();
        let bytes = token.text(text);
        let is_word = matches!(token.kind, TokenKind::Word | TokenKind::QuotedIdent);
        match token.kind {
            TokenKind::End => return words,
            TokenKind::Word => words.push(Found { name: bytes, quoted: false, called: false }),
            TokenKind::QuotedIdent => {
                let name = bytes.get(1..bytes.len().saturating_sub(1)).unwrap_or(bytes);
                words.push(Found { name, quoted: true, called: false });
            }
            TokenKind::Punct(b'(') if last_is_word => {
                if let Some(word) = words.last_mut() {
                    word.called = true;
                }
            }
            _ => {}
        }
        last_is_word = is_word;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use weir_catalog::{Change, ShardId, Told};

    use super::*;

    fn catalog() -> Catalog {
        let mut catalog = Catalog { shards: vec!["s1".to_owned(), "s2".to_owned()], ..Catalog::default() };
        let add = Change::AddDatabase("shop".to_owned(), vec![ShardId(0), ShardId(1)]);
        catalog.apply_changes(&[add], &Told::default()).expect("it is new");
        Arc::new(catalog).as_ref().clone()
    }

    #[test]
    fn definitions_and_what_may_be_one_are_found() {
        let found = |text: &str, database: &str| {
            passes_by(text.as_bytes(), LexMode::default(), &catalog(), Some(database.as_bytes()))
        };
        for (text, word) in [
            ("BEGIN NOT ATOMIC CREATE TABLE t (a INT); END", "CREATE"),
            ("BEGIN NOT ATOMIC DECLARE EXIT HANDLER FOR 1050 DROP TABLE t; END", "DROP"),
            ("IF 1 THEN TRUNCATE t; END IF", "TRUNCATE"),
            ("IF 1 THEN RENAME TABLE t TO u; END IF", "RENAME"),
            ("BEGIN NOT ATOMIC EXECUTE IMMEDIATE 'CREATE TABLE t (a INT)'; END", "EXECUTE"),
        ] {
            assert_eq!(found(text, "shop").as_deref(), Some(word), "{text}");
            assert_eq!(found(text, "plain"), None, "{text}");
        }
        assert_eq!(found("BEGIN NOT ATOMIC CREATE TABLE `shop`.t (a INT); END", "plain").as_deref(), Some("CREATE"));
        assert_eq!(found("BEGIN NOT ATOMIC CREATE USER a; END", "plain").as_deref(), Some("CREATE"));
        assert_eq!(found("BEGIN NOT ATOMIC GRANT ALL ON *.* TO a; END", "plain").as_deref(), Some("GRANT"));
        for text in [
            "BEGIN NOT ATOMIC CREATE TEMPORARY TABLE t (a INT); DROP TEMPORARY TABLE t; END",
            "BEGIN NOT ATOMIC CREATE OR REPLACE TEMPORARY TABLE t (a INT); END",
            "BEGIN NOT ATOMIC SELECT TRUNCATE(1.5, 0), 'CREATE TABLE', `create`; DROP PREPARE p; END",
        ] {
            assert_eq!(found(text, "shop"), None, "{text}");
        }
    }
}
