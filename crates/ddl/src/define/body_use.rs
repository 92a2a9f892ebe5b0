//! What the bodies of stored programs use: tables, and statements that change them.
//!
//! What must always hold: whatever a body may use is among what is told of it. A part that the grammar reads is told exactly; of any other
//! part, each word counts that is a table's name or a statement that changes rows.

use weir_catalog::{Catalog, Object, Placement, ShardId};
use weir_sql::ast::{Piece, Span, StatementKind};
use weir_sql::facts::facts;
use weir_sql::resolve::{Context, Roles};
use weir_sql::{Bump, LexMode, Lexer, TokenKind, parse, parse_body};

use super::asked::Asked;

/// What the body of a program may use.
#[derive(Default)]
pub(super) struct BodyUse {
    /// It uses a sharded table, or a view of several shards.
    pub(super) sharded: bool,
    /// The shards of the SINGLE tables that it uses, if it uses any.
    pub(super) single: Option<Vec<ShardId>>,
    /// It uses a GLOBAL table.
    pub(super) global: bool,
    /// It changes rows of tables, or calls what may.
    pub(super) writes: bool,
}

impl BodyUse {
    /// `database`: that of the program.
    pub(super) fn of(asked: &Asked<'_>, catalog: &Catalog, body: Span, database: &str) -> BodyUse {
        let mut all = BodyUse::default();
        let Named { tables, writes } = Named::of(asked, catalog, body, database);
        all.writes = writes;
        for (home, name) in &tables {
            all.add(catalog, home, name);
        }
        all
    }

    fn add(&mut self, catalog: &Catalog, home: &str, name: &[u8]) {
        if let Some((_, table)) = catalog.table(home.as_bytes(), name) {
            match table.placement {
                Placement::Global => self.global = true,
                Placement::Single(shard) => self.single.get_or_insert_default().push(shard),
                Placement::Sharded(_) => self.sharded = true,
            }
        }
        let is_view = |view: &&str| catalog.databases.get(home).is_some_and(|all| all.views.contains_key(*view));
        if let Some(view) = std::str::from_utf8(name).ok().filter(is_view) {
            match weir_plan::views::shards(catalog, home, view)[..] {
                [shard] => self.single.get_or_insert_default().push(shard),
                _ => self.sharded = true,
            }
        }
    }
}

/// The tables that a body may use.
pub(super) fn tables_in(asked: &Asked<'_>, catalog: &Catalog, body: Span, database: &str) -> Vec<Object> {
    let named = Named::of(asked, catalog, body, database);
    let known = named.tables.iter().filter_map(|(home, name)| {
        let (table, _) = catalog.table(home.as_bytes(), name)?;
        Some(Object::within(home, table))
    });
    known.collect()
}

/// Names that a body may mean as tables or views, with their databases, and whether it may change rows.
#[derive(Default)]
struct Named {
    tables: Vec<(String, Vec<u8>)>,
    writes: bool,
}

impl Named {
    fn of(asked: &Asked<'_>, catalog: &Catalog, body: Span, database: &str) -> Named {
        let mut named = Named::default();
        let text = body.text(asked.text);
        let arena = Bump::new();
        let Ok(pieces) = parse_body(&arena, text, asked.mode) else {
            named.words(catalog, text, asked.mode, database);
            return named;
        };
        for piece in pieces {
            let part = match piece {
                Piece::Statement(span) => span.text(text).to_vec(),
                Piece::Expression(span) => [b"SELECT (", span.text(text), b")"].concat(),
                Piece::Variable(_) | Piece::Assigned(_) | Piece::Control(_) => continue,
            };
            if named.part(catalog, &part, asked.mode, database).is_none() {
                named.words(catalog, &part, asked.mode, database);
            }
        }
        named
    }

    /// Adds what a statement names; `None` if it cannot be read as one.
    fn part(&mut self, catalog: &Catalog, text: &[u8], mode: LexMode, database: &str) -> Option<()> {
        let arena = Bump::new();
        let parsed = parse(&arena, text, mode).ok().filter(|parsed| !parsed.conditional && !parsed.dollars)?;
        let [statement] = parsed.statements else { return None };
        let read = matches!(
            statement.kind,
            StatementKind::Query(_)
                | StatementKind::Insert(_)
                | StatementKind::Update(_)
                | StatementKind::Delete(_)
                | StatementKind::Do(_)
                | StatementKind::Set(_)
                | StatementKind::Call(_)
                | StatementKind::Signal(_)
                | StatementKind::GetDiagnostics(_)
        );
        if !read {
            return None;
        }
        let context = Context {
            database: Some(database.as_bytes()),
            dialect: mode.dialect,
            fold_case: catalog.fold_case,
            columns: &(),
        };
        let facts = facts(statement, text, mode, &context);
        for (_, table) in facts.names.tables() {
            let home = String::from_utf8_lossy(table.database.unwrap_or(database.as_bytes())).into_owned();
            self.writes |= !(table.roles - Roles::READ).is_empty();
            self.tables.push((home, table.name.to_vec()));
        }
        self.writes |= starts_with_write(text, mode);
        Some(())
    }

    /// Adds each word of a text that may name a table, in the program's database or in one that the text names.
    fn words(&mut self, catalog: &Catalog, text: &[u8], mode: LexMode, database: &str) {
        let names = names_in(text, mode);
        self.writes |= names.iter().any(|(name, word)| *word && is_write(name));
        let others = names.iter().filter_map(|(name, _)| catalog.database(name)).map(|(name, _)| name);
        for home in std::iter::once(database).chain(others) {
            self.tables.extend(names.iter().map(|(name, _)| (home.to_owned(), name.to_vec())));
        }
    }
}

fn is_write(word: &[u8]) -> bool {
    const WRITES: [&str; 9] =
        ["insert", "update", "delete", "replace", "call", "load", "truncate", "execute", "handler"];
    WRITES.iter().any(|write| word.eq_ignore_ascii_case(write.as_bytes()))
}

fn starts_with_write(text: &[u8], mode: LexMode) -> bool {
    let token = Lexer::new(text, mode).next_token();
    token.kind == TokenKind::Word && is_write(token.text(text))
}

/// The words of a text and its quoted names, and whether each is a word.
fn names_in(text: &[u8], mode: LexMode) -> Vec<(&[u8], bool)> {
    let mut names = Vec::new();
    let mut lexer = Lexer::new(text, mode);
    loop {
        let token = lexer.next_token();
        match token.kind {
            TokenKind::End => break,
            TokenKind::Word => names.push((token.text(text), true)),
            TokenKind::QuotedIdent => names.push((unquoted(token.text(text)), false)),
            _ => {}
        }
    }
    names
}

fn unquoted(name: &[u8]) -> &[u8] {
    name.get(1..name.len().saturating_sub(1)).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a body in database `d` names, as `name,name` with `!` in front if it may change rows.
    fn named(body: &str) -> String {
        let settings = std::collections::BTreeMap::new();
        let arena = Bump::new();
        let parsed = parse(&arena, b"DO 1", LexMode::default()).expect("a statement");
        let asked = Asked {
            text: body.as_bytes(),
            statement: &parsed.statements[0],
            database: Some(b"d"),
            mode: LexMode::default(),
            settings: &settings,
        };
        let span = Span { start: 0, end: u32::try_from(body.len()).expect("short") };
        let named = Named::of(&asked, &Catalog::default(), span, "d");
        let tables: Vec<_> = named.tables.iter().map(|(_, name)| String::from_utf8_lossy(name)).collect();
        format!("{}{}", if named.writes { "!" } else { "" }, tables.join(","))
    }

    #[test]
    fn functions_with_names_of_statements_change_nothing() {
        for (body, expected) in [
            ("RETURN REPLACE(LOWER(a), ' ', '-')", ""),
            ("RETURN CASE WHEN TRUNCATE(a, 0) = a THEN INSERT('abc', 1, 1, 'x') ELSE a END", ""),
            ("BEGIN DECLARE t INT; SET t = t + 1; RETURN t; END", ""),
            ("RETURN (SELECT COUNT(*) FROM t)", "t"),
            ("BEGIN INSERT INTO t VALUES (1); RETURN 1; END", "!t"),
            ("BEGIN DECLARE x INT; SELECT a INTO x FROM t WHERE t.a = 1; RETURN x; END", "t"),
            ("BEGIN IF EXISTS (SELECT 1 FROM u) THEN DELETE FROM t; END IF; RETURN 1; END", "u,!t"),
            ("BEGIN CALL p(); RETURN 1; END", "!"),
            ("SET NEW.a = (SELECT MAX(a) FROM t)", "t"),
            ("SELECT a FROM t FOR UPDATE", "!t"),
        ] {
            let (found, expected) = (named(body), expected.replace(",!", ","));
            let expected = if body.contains("DELETE") { format!("!{expected}") } else { expected };
            assert_eq!(found, expected, "{body}");
        }
    }

    #[test]
    fn of_what_cannot_be_read_each_word_counts() {
        assert!(named("BEGIN PREPARE s FROM 'x'; EXECUTE s; END").starts_with('!'));
        assert!(named("this is no SQL: update t").starts_with('!'));
    }
}
