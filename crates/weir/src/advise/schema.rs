//! What a dump defines: tables with all the keys that later statements give them, and the statements that are judged when all tables are known.

use std::collections::BTreeMap;

use weir_catalog::{Catalog, Database, Object, ShardId, SlotMap, Told};
use weir_ddl::define::{Asked, intend};
use weir_sql::ast::{AlterActionKind, CreateTable, KeyKind, ObjectName, StatementKind, TableBody, TableElement};
use weir_sql::{Bump, LexMode, Lexer, TokenKind, parse};

use super::split::{Piece, pieces};

/// A table, in its state after the whole dump.
#[derive(Debug, Clone)]
pub(super) struct Declared {
    pub(super) object: Object,
    pub(super) line: usize,
    /// Its CREATE TABLE, with the keys that came later.
    pub(super) text: Vec<u8>,
    /// Where in the text more of what stands in parentheses goes.
    end: usize,
    /// The model that it is made LIKE.
    pub(super) like: Option<Object>,
    /// It begins with the rows of a query.
    pub(super) from_query: bool,
    /// A clause says where it is.
    pub(super) placed: bool,
    /// What the foreign keys of its CREATE TABLE itself refer to, but for itself.
    pub(super) own_references: Vec<Object>,
}

/// A statement that is judged when all tables are known.
#[derive(Debug, Clone)]
pub(super) struct Later {
    pub(super) line: usize,
    pub(super) text: Vec<u8>,
    pub(super) database: String,
}

/// What will be refused, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refused {
    pub(super) line: usize,
    pub(super) what: String,
    pub(super) why: String,
}

/// All that a dump defines.
#[derive(Debug, Default)]
pub(super) struct Schema {
    pub(super) catalog: Catalog,
    pub(super) tables: Vec<Declared>,
    pub(super) later: Vec<Later>,
    pub(super) refused: Vec<Refused>,
    current: String,
}

impl Schema {
    /// Reads a dump that is restored into a database, unless it names others.
    pub(super) fn read(text: &[u8], database: &str, single: bool, mode: LexMode) -> Schema {
        let catalog = Catalog { shards: vec!["s1".into(), "s2".into()], ..Catalog::default() };
        let mut schema = Schema { catalog, current: database.to_owned(), ..Schema::default() };
        schema.enter(database, single);
        for piece in pieces(text, mode) {
            if let Some(first) = first_word(piece.text, mode)
                && [&b"create"[..], b"alter", b"use"].iter().any(|word| first.eq_ignore_ascii_case(word))
            {
                schema.add(piece, mode);
            }
        }
        schema
    }

    fn enter(&mut self, name: &str, single: bool) {
        let shards = vec![ShardId(0), ShardId(1)];
        let new = Database {
            slots: SlotMap::even(&shards),
            shards,
            tables: BTreeMap::new(),
            views: BTreeMap::new(),
            default_single: single,
        };
        self.catalog.databases.entry(name.to_owned()).or_insert_with(|| new.into());
    }

    fn add(&mut self, piece: Piece<'_>, mode: LexMode) {
        let arena = Bump::new();
        let parsed = match parse(&arena, piece.text, mode) {
            Ok(parsed) => parsed,
            Err(error) => return self.refuse(piece, &format!("it can't be read: {error}")),
        };
        for statement in parsed.statements {
            match statement.kind {
                StatementKind::Use(name) => {
                    self.current = lossy(name.name);
                    self.enter(&self.current.clone(), false);
                }
                StatementKind::CreateDatabase(_) | StatementKind::AlterDatabase(_) => self.define(piece, mode),
                StatementKind::CreateTable(create) if !create.temporary => self.add_table(piece, create),
                StatementKind::AlterTable(alter) => {
                    let more = added(piece.text, alter.actions);
                    self.extend(&alter.table, &more);
                }
                StatementKind::CreateIndex(index) if index.kind == KeyKind::Unique => {
                    if let ([first, ..], Some(last)) = (index.parts, index.parts.last()) {
                        let parts = &piece.text[first.span.start as usize..last.span.end as usize];
                        let word = if index.unchecked.is_some() { "UNIQUE UNCHECKED KEY" } else { "UNIQUE KEY" };
                        let more = format!("{word} {} ({})", quoted(index.name.name), lossy(parts));
                        self.extend(&index.table, &[more.into_bytes()]);
                    }
                }
                StatementKind::CreateView(_)
                | StatementKind::CreateTrigger(_)
                | StatementKind::CreateRoutine(_)
                | StatementKind::CreateEvent(_)
                | StatementKind::DefineSequence(_) => {
                    let later = Later { line: piece.line, text: piece.text.to_vec(), database: self.current.clone() };
                    self.later.push(later);
                }
                _ => {}
            }
        }
    }

    fn add_table(&mut self, piece: Piece<'_>, create: &CreateTable<'_>) {
        let object = self.object(&create.name);
        self.enter(&object.database, false);
        if self.tables.iter().any(|known| known.object == object) {
            return;
        }
        let mut declared = Declared {
            object,
            line: piece.line,
            text: piece.text.to_vec(),
            end: piece.text.len(),
            like: None,
            from_query: false,
            placed: create.placement().is_some(),
            own_references: Vec::new(),
        };
        match create.body {
            TableBody::Like(like) => declared.like = Some(self.object(&like.table)),
            TableBody::Definition(definition) => {
                declared.from_query = definition.query.is_some();
                let references = weir_catalog::define::references(definition.elements());
                declared.own_references = references
                    .iter()
                    .map(|(_, to)| self.object(&to.table))
                    .filter(|to| *to != declared.object)
                    .collect();
                declared.end = definition.elements.map_or(declared.end, |all| all.span.end as usize - 1);
                declared.placed |= weir_catalog::define::server_text(piece.text, create) != piece.text;
            }
        }
        self.tables.push(declared);
    }

    /// Adds keys and columns to a table that is known.
    fn extend(&mut self, table: &ObjectName<'_>, more: &[Vec<u8>]) {
        let object = self.object(table);
        let Some(known) = self.tables.iter_mut().find(|known| known.object == object && known.like.is_none()) else {
            return;
        };
        for element in more {
            let text = [b", ", &element[..]].concat();
            known.text.splice(known.end..known.end, text.iter().copied());
            known.end += text.len();
        }
    }

    /// Does a statement about a database.
    fn define(&mut self, piece: Piece<'_>, mode: LexMode) {
        match judged(piece.text, &self.current, &self.catalog, mode) {
            Ok(Some(intent)) => {
                // Of a database nothing has to be told.
                let _ = self.catalog.apply_changes(&intent.changes, &Told::default());
            }
            Ok(None) => {}
            Err(failure) => self.refuse(piece, &failure.message),
        }
    }

    fn refuse(&mut self, piece: Piece<'_>, why: &str) {
        self.refused.push(Refused { line: piece.line, what: beginning(piece.text), why: why.to_owned() });
    }

    fn object(&self, name: &ObjectName<'_>) -> Object {
        let database = name.database.map_or_else(|| self.current.clone(), |database| lossy(database.name));
        Object::within(database, lossy(name.name.name))
    }
}

/// What Weir would do for this statement.
pub(super) fn judged(
    text: &[u8],
    database: &str,
    catalog: &Catalog,
    mode: LexMode,
) -> Result<Option<weir_ddl::define::Intent>, weir_wire::Failure> {
    let arena = Bump::new();
    let Ok(parsed) = parse(&arena, text, mode) else { return Ok(None) };
    let [statement] = parsed.statements else { return Ok(None) };
    let settings = BTreeMap::new();
    let database = Some(database.as_bytes());
    intend(&Asked { text, statement, database, mode, settings: &settings, under_locks: false }, catalog)
}

/// What an ALTER TABLE adds, as it would stand in CREATE TABLE.
fn added(text: &[u8], actions: &[weir_sql::ast::AlterAction<'_>]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let mut add = |span: weir_sql::ast::Span| found.push(span.text(text).to_vec());
    for action in actions {
        match action.kind {
            AlterActionKind::AddKey(key) => add(key.span),
            AlterActionKind::AddForeignKey(key) => add(key.span),
            AlterActionKind::AddColumn(column) => add(column.definition.span),
            AlterActionKind::AddElements(elements) => elements.iter().map(TableElement::span).for_each(&mut add),
            _ => {}
        }
    }
    found
}

fn first_word(text: &[u8], mode: LexMode) -> Option<&[u8]> {
    let mut lexer = Lexer::new(text, mode);
    loop {
        let token = lexer.next_token();
        match token.kind {
            TokenKind::Word => return Some(token.text(text)),
            TokenKind::CodeStart => {}
            _ => return None,
        }
    }
}

/// The beginning of a statement, in one line.
pub(super) fn beginning(text: &[u8]) -> String {
    const SHOWN: usize = 70;
    let words: Vec<String> = lossy(text).split_whitespace().take(20).map(str::to_owned).collect();
    let line = words.join(" ");
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

pub(super) fn lossy(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

fn quoted(name: &[u8]) -> String {
    format!("`{}`", lossy(name).replace('`', "``"))
}
