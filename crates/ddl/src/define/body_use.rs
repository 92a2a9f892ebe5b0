//! What the bodies of stored programs use: tables, and statements that change them.
//!
//! What must always hold: whatever a body may use is among what is told of it. A part that the grammar reads is told exactly; of any other
//! part, each word counts that is a table's name or a statement that changes rows.

use std::collections::BTreeSet;

use weir_catalog::{Catalog, Object, Placement, RoutineKind, ShardId};
use weir_sql::ast::{CallProcedure, Piece, RoutineBody, Span, Statement, StatementKind};
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
    /// It may change rows of a GLOBAL table.
    pub(super) writes_global: bool,
    /// It changes rows of tables, or calls what may.
    pub(super) writes: bool,
    /// The shards of tables that it names and that the catalog does not know: those of other databases, and those still to be made.
    pub(super) unknown: Vec<ShardId>,
    /// It calls a procedure that is not known.
    pub(super) calls_unknown: bool,
    /// It has a statement that is not read or written rows, or is known only when it runs.
    pub(super) opaque: bool,
}

impl BodyUse {
    /// `database`: that of the program.
    pub(super) fn of(asked: &Asked<'_>, catalog: &Catalog, body: Span, database: &str) -> BodyUse {
        BodyUse::of_text(catalog, body.text(asked.text), asked.mode, database)
    }

    /// The same of a body that is not part of a statement.
    pub(super) fn of_text(catalog: &Catalog, body: &[u8], mode: LexMode, database: &str) -> BodyUse {
        let mut all = BodyUse::default();
        let Named { tables, writes, calls_unknown, opaque, .. } = Named::of(catalog, body, mode, database);
        (all.writes, all.calls_unknown, all.opaque) = (writes, calls_unknown, opaque);
        for name in &tables {
            all.add(catalog, name);
        }
        all
    }

    /// The shards that it needs, if it uses no rows of several: each of the tables that are on one.
    pub(super) fn needs(&self) -> Option<Vec<ShardId>> {
        let mut all: Vec<ShardId> = self.single.iter().flatten().chain(&self.unknown).copied().collect();
        all.sort_unstable();
        all.dedup();
        (!self.sharded && !self.opaque && !self.writes_global).then_some(all)
    }

    fn add(&mut self, catalog: &Catalog, TableName { database: home, name, sure, written }: &TableName) {
        let known = catalog.table(home.as_bytes(), name);
        if let Some((_, table)) = known {
            match table.placement {
                Placement::Global => {
                    self.global = true;
                    self.writes_global |= if *sure { *written } else { self.writes };
                }
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
        } else if *sure && known.is_none() {
            let first = catalog.database(home.as_bytes()).and_then(|(_, database)| database.shards.first());
            self.unknown.push(first.copied().unwrap_or(ShardId(0)));
        }
    }
}

/// The tables that a body may use.
pub(super) fn tables_in(asked: &Asked<'_>, catalog: &Catalog, body: Span, database: &str) -> Vec<Object> {
    let named = Named::of(catalog, body.text(asked.text), asked.mode, database);
    let known = named.tables.iter().filter_map(|TableName { database: home, name, .. }| {
        let (table, _) = catalog.table(home.as_bytes(), name)?;
        Some(Object::within(home, table))
    });
    known.collect()
}

/// A name that a body may mean as a table or a view.
struct TableName {
    database: String,
    name: Vec<u8>,
    /// It is one; otherwise it is a word of a text that could not be read.
    sure: bool,
    /// Its rows are changed or locked, if it is one.
    written: bool,
}

/// Names that a body may mean as tables or views, and what it may do beside that.
#[derive(Default)]
struct Named {
    tables: Vec<TableName>,
    writes: bool,
    calls_unknown: bool,
    opaque: bool,
    /// The procedures that were looked into: database and name in lower case.
    called: BTreeSet<(String, String)>,
}

impl Named {
    fn of(catalog: &Catalog, text: &[u8], mode: LexMode, database: &str) -> Named {
        let mut named = Named::default();
        named.body(catalog, text, mode, database);
        named
    }

    /// Adds what a body names, and the procedures that it calls.
    fn body(&mut self, catalog: &Catalog, text: &[u8], mode: LexMode, database: &str) {
        let arena = Bump::new();
        let Ok(pieces) = parse_body(&arena, text, mode) else {
            self.opaque = true;
            return self.words(catalog, text, mode, database);
        };
        for piece in pieces {
            let part = match piece {
                Piece::Statement(span) => span.text(text).to_vec(),
                Piece::Expression(span) => [b"SELECT (", span.text(text), b")"].concat(),
                Piece::Variable(_) | Piece::Assigned(_) | Piece::Control(_) => continue,
            };
            if self.part(catalog, &part, mode, database).is_none() {
                self.words(catalog, &part, mode, database);
            }
        }
    }

    /// Adds what a procedure names that a body calls.
    fn call(&mut self, catalog: &Catalog, call: &CallProcedure<'_>, mode: LexMode, database: &str) {
        let home = call.name.database.map_or(database.as_bytes(), |home| home.name);
        let name = call.name.name.name;
        let visited = (String::from_utf8_lossy(home).into_owned(), String::from_utf8_lossy(name).to_lowercase());
        if !self.called.insert(visited) {
            return;
        }
        let known = catalog.routine(home, RoutineKind::Procedure, name).filter(|_| call.package_database.is_none());
        let Some((home, routine)) = known else {
            self.calls_unknown = true;
            return;
        };
        let mode = LexMode { dialect: mode.dialect, ..LexMode::from_sql_mode(&routine.sql_mode) };
        let (arena, text) = (Bump::new(), routine.text.as_bytes());
        let body = parse(&arena, text, mode).ok().and_then(|parsed| match parsed.statements {
            [Statement { kind: StatementKind::CreateRoutine(create), .. }] => match create.body {
                RoutineBody::Statement(body) => Some(body),
                RoutineBody::External(_) => None,
            },
            _ => None,
        });
        match body {
            Some(body) => self.body(catalog, body.text(text), mode, home),
            None => self.opaque = true,
        }
    }

    /// Adds what a statement names; `None` if it cannot be read as one.
    fn part(&mut self, catalog: &Catalog, text: &[u8], mode: LexMode, database: &str) -> Option<()> {
        let arena = Bump::new();
        let parsed = parse(&arena, text, mode).ok().filter(|parsed| !parsed.conditional && !parsed.dollars);
        let Some(parsed) = parsed else {
            self.opaque = true;
            return None;
        };
        let [statement] = parsed.statements else {
            self.opaque = true;
            return None;
        };
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
            // What these need is told by the words that are tables; others define something, or run what is known only then.
            self.opaque |= !matches!(statement.kind, StatementKind::Truncate(_) | StatementKind::TableUpkeep(_));
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
            let written = !(table.roles - Roles::READ).is_empty();
            self.writes |= written;
            self.tables.push(TableName { database: home, name: table.name.to_vec(), sure: true, written });
        }
        self.writes |= starts_with_write(text, mode);
        if let StatementKind::Call(call) = statement.kind {
            self.call(catalog, call, mode, database);
        }
        Some(())
    }

    /// Adds each word of a text that may name a table, in the program's database or in one that the text names.
    fn words(&mut self, catalog: &Catalog, text: &[u8], mode: LexMode, database: &str) {
        let names = names_in(text, mode);
        self.writes |= names.iter().any(|(name, word)| *word && is_write(name));
        let others = names.iter().filter_map(|(name, _)| catalog.database(name)).map(|(name, _)| name);
        for home in std::iter::once(database).chain(others) {
            let maybe =
                |name: &[u8]| TableName { database: home.to_owned(), name: name.to_vec(), sure: false, written: false };
            self.tables.extend(names.iter().map(|(name, _)| maybe(name)));
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
        let named = Named::of(&Catalog::default(), body.as_bytes(), LexMode::default(), "d");
        let tables: Vec<_> = named.tables.iter().map(|table| String::from_utf8_lossy(&table.name)).collect();
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
