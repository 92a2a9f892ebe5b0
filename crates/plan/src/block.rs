//! Compound statements outside of routines (`BEGIN NOT ATOMIC`, IF, loops), and the definitions in them.
//!
//! What must always hold: no definition of an object that several shards have, and nothing that may be one, runs within a block, which one
//! server runs by itself; and no block that may name rows of several shards. Blocks are not parsed: each of their words may be a name.

use std::collections::BTreeSet;

use weir_catalog::{Catalog, Placement, RoutineKind, ShardId};
use weir_sql::{Dialect, LexMode, Lexer, TokenKind};

use crate::routines::mode_of;

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

/// The shards that have the tables which a block may use: by itself, through views, and by what it calls.
///
/// # Errors
/// The name of a table whose rows are on several shards.
pub(crate) fn shards_of(
    text: &[u8],
    mode: LexMode,
    catalog: &Catalog,
    database: Option<&[u8]>,
) -> Result<BTreeSet<ShardId>, String> {
    let mut search = Search { catalog, shards: BTreeSet::new(), seen: BTreeSet::new(), changes: false };
    search.look(text, mode, database)?;
    Ok(search.shards)
}

/// What else than tables a name may be of.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Of {
    View,
    Routine(RoutineKind),
}

struct Search<'a> {
    catalog: &'a Catalog,
    shards: BTreeSet<ShardId>,
    /// Views and routines that were looked through.
    seen: BTreeSet<(Of, &'a str, &'a str)>,
    /// Rows may be changed: of a GLOBAL table all shards would have to.
    changes: bool,
}

impl<'a> Search<'a> {
    fn look(&mut self, text: &[u8], mode: LexMode, database: Option<&[u8]>) -> Result<(), String> {
        let words = words(text, mode);
        let changing = ["insert", "update", "delete", "replace", "load"];
        self.changes |= words.iter().any(|word| word.is_any(&changing) && !word.called);
        let named = words.iter().map(|word| word.name).filter(|name| self.catalog.database(name).is_some());
        let databases: BTreeSet<&[u8]> = database.into_iter().chain(named).collect();
        for (at, word) in words.iter().enumerate() {
            let calls = word.called || at > 0 && words[at - 1].is_any(&["call"]);
            for database in &databases {
                self.named(database, word.name)?;
                if calls || self.follows_call(&words, at) {
                    self.called(database, word.name, mode.dialect)?;
                }
            }
        }
        Ok(())
    }

    /// Whether a name stands behind CALL, with its database or without.
    fn follows_call(&self, words: &[Found<'_>], at: usize) -> bool {
        at > 1 && words[at - 2].is_any(&["call"]) && self.catalog.database(words[at - 1].name).is_some()
    }

    /// A table or a view of this name.
    fn named(&mut self, database: &[u8], name: &[u8]) -> Result<(), String> {
        let catalog = self.catalog;
        let Some((database_name, of)) = catalog.database(database) else { return Ok(()) };
        if let Some((name, table)) = catalog.table(database, name) {
            match (&table.placement, &of.shards[..]) {
                (Placement::Single(shard), _) | (_, [shard]) => drop(self.shards.insert(*shard)),
                (Placement::Global, _) if !self.changes => {}
                _ => return Err(name.to_owned()),
            }
        }
        match of.view(name, catalog.fold_case) {
            Some((view, text)) if self.seen.insert((Of::View, database_name, view)) => {
                let mode = LexMode { dialect: Dialect::MariaDb, ..LexMode::default() };
                self.look(text.as_bytes(), mode, Some(database))
            }
            _ => Ok(()),
        }
    }

    /// Routines of this name.
    fn called(&mut self, database: &[u8], name: &[u8], dialect: Dialect) -> Result<(), String> {
        let catalog = self.catalog;
        let Some((of_database, _)) = catalog.database(database) else { return Ok(()) };
        let Some(routines) = catalog.routines.get(of_database) else { return Ok(()) };
        let Ok(name) = std::str::from_utf8(name).map(str::to_ascii_lowercase) else { return Ok(()) };
        let both = [(RoutineKind::Procedure, &routines.procedures), (RoutineKind::Function, &routines.functions)];
        for (kind, of) in both {
            if let Some((name, routine)) = of.get_key_value(&name)
                && self.seen.insert((Of::Routine(kind), of_database, name))
            {
                self.look(routine.text.as_bytes(), mode_of(routine, dialect), Some(database))?;
            }
        }
        Ok(())
    }
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
