//! Statements that a binary log has as texts: whether one is about a table that is followed.
//!
//! What must always hold: a statement that changes such a table's definition, or its rows without logging them, is found. Weir refuses these
//! itself; this is about those that reach a server another way. Of doubt, a move stops.

use weir_catalog::moves::is_schema_of_move;
use weir_sql::{LexMode, Lexer, TokenKind};

use weir_wire::binlog::Watched;

/// What a statement does to a followed table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Touch {
    /// It defines it anew, or empties it.
    Definition,
    /// It changes its rows, and is logged as a text.
    Rows,
}

/// What a text, whose default database is this, does to one of these tables: the first that is found, by its place.
pub(crate) fn touches(text: &[u8], database: &[u8], watched: &[Watched]) -> Option<(usize, Touch)> {
    let pieces = pieces(text);
    let words: Vec<&str> = pieces.iter().filter_map(Piece::word).collect();
    let word = |at: usize| words.get(at).copied().unwrap_or_default();
    let database = String::from_utf8_lossy(database).to_lowercase();
    let is = |schema: &str, table: &str| {
        let wanted = |one: &Watched| {
            schema == one.schema.to_lowercase() && (table.is_empty() || table == one.table.to_lowercase())
        };
        watched.iter().position(wanted)
    };
    let named = |names: &[(Option<String>, String)]| {
        let found = names.iter().find_map(|(schema, table)| is(schema.as_deref().unwrap_or(&database), table));
        found.map(|at| (at, Touch::Definition))
    };
    match (word(0), word(1)) {
        ("alter" | "drop" | "create", "database" | "schema") => {
            let schema = words.iter().skip(2).find(|word| !matches!(**word, "if" | "exists" | "not"));
            is(schema.filter(|_| word(0) != "create")?, "").map(|at| (at, Touch::Definition))
        }
        ("drop", "table" | "tables") => named(&names(&pieces, 2, usize::MAX)),
        ("rename", "table" | "tables") => {
            let all = names(&pieces, 2, usize::MAX);
            // A cutover that was broken off and taken back: the tables are what they were.
            let by_move = |(schema, _): &(Option<String>, String)| schema.as_deref().is_some_and(is_schema_of_move);
            if all.iter().any(by_move) { None } else { named(&all) }
        }
        ("truncate", "table") | ("alter", "table") => {
            let mut all = names(&pieces, 2, 1);
            // ALTER TABLE … EXCHANGE PARTITION p WITH TABLE t
            if let Some(at) = words.iter().position(|word| *word == "exchange") {
                all.extend(names(&pieces, at, usize::MAX));
            }
            named(&all)
        }
        ("truncate", _) => named(&names(&pieces, 1, 1)),
        ("alter" | "create", _) => {
            // ALTER IGNORE TABLE, CREATE OR REPLACE TABLE; what comes before the name of a view, an index or a trigger is no TABLE.
            let table = words.iter().take(4).position(|word| *word == "table")?;
            named(&names(&pieces, table + 1, 1))
        }
        ("insert" | "update" | "delete" | "replace" | "load" | "with", _) => {
            let has = |name: &str| words[1..].contains(&name);
            let found = watched.iter().position(|one| {
                let (schema, table) = (one.schema.to_lowercase(), one.table.to_lowercase());
                has(&table) && (database == schema || has(&schema))
            });
            found.map(|at| (at, Touch::Rows))
        }
        _ => None,
    }
}

/// A part of a text that matters here.
#[derive(Debug, PartialEq, Eq)]
enum Piece {
    /// A word or a name, in lower case, without quotes.
    Word(String),
    Point,
    Other,
}

impl Piece {
    fn word(&self) -> Option<&str> {
        match self {
            Piece::Word(word) => Some(word),
            _ => None,
        }
    }
}

/// The names of tables behind so many words, each with its schema; so many at most.
fn names(pieces: &[Piece], behind: usize, most: usize) -> Vec<(Option<String>, String)> {
    let starts = pieces.iter().enumerate().filter(|(_, piece)| piece.word().is_some()).map(|(at, _)| at);
    let mut rest = starts.skip(behind).map(|at| &pieces[at..]).next().unwrap_or_default();
    let mut names = Vec::new();
    while names.len() < most && !rest.is_empty() {
        match rest {
            [Piece::Word(schema), Piece::Point, Piece::Word(table), ..] => {
                names.push((Some(schema.clone()), table.clone()));
                rest = &rest[3..];
            }
            [Piece::Word(word), ..] if matches!(&**word, "if" | "exists" | "not") => rest = &rest[1..],
            [Piece::Word(table), ..] => {
                names.push((None, table.clone()));
                rest = &rest[1..];
            }
            _ => rest = &rest[1..],
        }
    }
    names
}

fn pieces(text: &[u8]) -> Vec<Piece> {
    let mut lexer = Lexer::new(text, LexMode::default());
    let mut pieces = Vec::new();
    loop {
        let token = lexer.next_token();
        let bytes = token.text(text);
        pieces.push(match token.kind {
            TokenKind::End | TokenKind::Unterminated => return pieces,
            TokenKind::Word => Piece::Word(String::from_utf8_lossy(bytes).to_lowercase()),
            TokenKind::QuotedIdent => {
                let name = String::from_utf8_lossy(&bytes[1..bytes.len() - 1]).to_lowercase();
                Piece::Word(name.replace("``", "`"))
            }
            TokenKind::Punct(b'.') => Piece::Point,
            _ => Piece::Other,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_and_statements_on_followed_tables_are_found() {
        let watched = [Watched { schema: "d".to_owned(), table: "t".to_owned() }];
        let touch =
            |text: &str, database: &str| touches(text.as_bytes(), database.as_bytes(), &watched).map(|(_, what)| what);
        for (text, database, expected) in [
            ("ALTER TABLE t ADD c INT", "d", Some(Touch::Definition)),
            ("alter table `D`.`T` add c int", "e", Some(Touch::Definition)),
            ("/* x */ TRUNCATE t", "d", Some(Touch::Definition)),
            ("TRUNCATE TABLE t", "e", None),
            ("RENAME TABLE d.a TO d.b, d.t TO d.u", "", Some(Touch::Definition)),
            ("RENAME TABLE `d`.`t` TO `weir_old_7`.`t`, `weir_move_7`.`t` TO `d`.`t`", "", None),
            ("RENAME TABLE d.t TO weir_old_.t", "", Some(Touch::Definition)),
            ("DROP TABLE IF EXISTS `a`,`t` /* generated by server */", "d", Some(Touch::Definition)),
            ("DROP DATABASE d", "e", Some(Touch::Definition)),
            ("CREATE OR REPLACE TABLE d.t (a INT)", "", Some(Touch::Definition)),
            ("CREATE VIEW v AS SELECT * FROM t", "d", None),
            ("DROP VIEW t", "d", None),
            ("CREATE INDEX i ON t (a)", "d", None),
            ("ANALYZE TABLE t", "d", None),
            ("UPDATE t SET a = 1", "d", Some(Touch::Rows)),
            ("INSERT INTO u VALUES ('t')", "d", None),
            ("ALTER TABLE u ADD t INT", "d", None),
            ("ALTER TABLE u EXCHANGE PARTITION p WITH TABLE d.t", "e", Some(Touch::Definition)),
            ("CREATE TABLE u (t INT)", "d", None),
            ("CREATE TABLE IF NOT EXISTS t (a INT)", "d", Some(Touch::Definition)),
            ("CREATE DEFINER=`t`@`%` TRIGGER g BEFORE INSERT ON t FOR EACH ROW SET @a = 1", "d", None),
            ("CREATE DATABASE d", "", None),
            ("DROP TABLE e.t", "d", None),
        ] {
            assert_eq!(touch(text, database), expected, "{text}");
        }
    }
}
