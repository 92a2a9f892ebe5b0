//! Replacing functions that read the state of a connection by their values.
//!
//! What must hold: the result's column names do not change. A column without an alias is named after its text, so every item
//! of a select list, at any depth, that holds a replaced call and has no alias gets one; an alias is allowed wherever
//! such an item stands, even in a subquery within an expression, where it means nothing. Definitions (views, routines,
//! column defaults) are left alone, because the value would outlive the session; so are texts that the parser does not
//! read, whose items have no certain end.

use std::ops::Range;

use bumpalo::Bump;

use crate::ast::{
    Call, Expr, ExprKind, SelectItem, SelectItemKind, Span, Statement, StatementKind, SystemVariable, VariableScope,
};
use crate::keyword::Keyword;
use crate::kw;
use crate::mode::{LeadBytes, LexMode};
use crate::parse::parse;
use crate::splice::splice;
use crate::visit::{Flow, Node, Visitor, walk};

/// The values to put in. A function whose value is `None` stays as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateValues<'a> {
    /// `CONNECTION_ID()`, as BIGINT UNSIGNED.
    pub connection_id: Option<u64>,
    /// `@@pseudo_thread_id`: the same until it is set.
    pub pseudo_thread_id: Option<u64>,
    /// `ROW_COUNT()`, as BIGINT.
    pub row_count: Option<i64>,
    /// `FOUND_ROWS()`, as BIGINT.
    pub found_rows: Option<u64>,
    /// `@@socket`: a path in UTF-8.
    pub socket: Option<&'a str>,
}

/// Replaces `CONNECTION_ID()`, `ROW_COUNT()`, `FOUND_ROWS()` and the like by `COALESCE(n, …)` of the value and the function itself:
/// so the column keeps the function's type, length and flags, and the statement its warnings, on both kinds of server.
/// The names of the result's columns stay. `None` when there is nothing to replace.
pub fn replace_state_functions(sql: &[u8], mode: LexMode, values: &StateValues<'_>) -> Option<Vec<u8>> {
    let arena = Bump::new();
    let parsed = parse(&arena, sql, mode).ok().filter(|parsed| !parsed.dollars)?;
    let mut search = Search { sql, mode, values, edits: Vec::new(), items: Vec::new(), done: Vec::new() };
    for statement in parsed.statements {
        walk(Node::Statement(statement), &mut search);
    }
    if search.edits.is_empty() {
        return None;
    }
    search.edits.sort_by_key(|(range, _)| range.start);
    let edits: Vec<(Range<usize>, &[u8])> =
        search.edits.iter().map(|(range, text)| (range.clone(), text.as_slice())).collect();
    Some(splice(sql, &edits))
}

/// Identifiers have at most 256 characters as aliases.
const LONGEST_ALIAS: usize = 255;

/// An item of a select list that the walk is in.
struct OpenItem {
    span: Span,
    /// It needs an alias if a call within it is replaced.
    unnamed: bool,
    /// One is.
    replaced: bool,
}

struct Search<'a> {
    sql: &'a [u8],
    mode: LexMode,
    values: &'a StateValues<'a>,
    edits: Vec<(Range<usize>, Vec<u8>)>,
    items: Vec<OpenItem>,
    /// Where the items of DO begin, which take no aliases; the last first.
    done: Vec<u32>,
}

impl<'a> Search<'a> {
    /// Whether a statement is executed as it stands.
    fn statement(&mut self, statement: &'a Statement<'a>) -> Flow {
        match &statement.kind {
            StatementKind::Query(_)
            | StatementKind::Insert(_)
            | StatementKind::Update(_)
            | StatementKind::Delete(_)
            | StatementKind::Load(_)
            | StatementKind::Set(_)
            | StatementKind::SetStatement(_)
            | StatementKind::Call(_)
            | StatementKind::Explain(_)
            | StatementKind::Kill(_)
            | StatementKind::Show(_) => Flow::Descend,
            StatementKind::Do(expressions) => {
                self.done = expressions.items.iter().rev().map(|item| item.span.start).collect();
                Flow::Descend
            }
            StatementKind::CreateTable(create) => {
                if let Some(query) = create.definition().and_then(|definition| definition.query) {
                    walk(Node::Query(query), self);
                }
                Flow::Skip
            }
            _ => Flow::Skip,
        }
    }

    fn open_item(&mut self, item: &SelectItem<'a>) {
        let of_do = self.done.last() == Some(&item.span.start);
        if of_do {
            self.done.pop();
        }
        let unnamed = !of_do && matches!(item.kind, SelectItemKind::Expr(_, None));
        self.items.push(OpenItem { span: item.span, unnamed, replaced: false });
    }

    /// Gives the item an alias if it needs one; what it is in must know that it holds a replaced call.
    fn close_item(&mut self) {
        let Some(item) = self.items.pop().filter(|item| item.replaced) else { return };
        if let Some(outer) = self.items.last_mut() {
            outer.replaced = true;
        }
        if item.unnamed {
            let range = item.span.range();
            let alias = alias(&self.sql[range.clone()], self.mode.lead_bytes);
            self.edits.push((range.end..range.end, alias));
        }
    }

    fn replace(&mut self, span: Span, value: String) {
        self.edits.push((span.range(), value.into_bytes()));
        if let Some(item) = self.items.last_mut() {
            item.replaced = true;
        }
    }

    fn call(&mut self, call: &Call<'a>, span: Span) {
        let text = span.text(self.sql);
        // Words of the grammar have no parentheses; an executable comment within would lose its beginning or end.
        if call.name.database.is_some() || !call.arguments.is_empty() || !text.ends_with(b")") || text.contains(&b'!') {
            return;
        }
        let word = Keyword::of(call.name.name.name);
        let quoted = matches!(text.first(), Some(b'`' | b'"'));
        if let Some(value) = self.value(word)
            && word.is_known_call(self.mode, quoted, call.adjacent)
        {
            self.replace(span, value);
        }
    }

    fn value(&self, word: Keyword) -> Option<String> {
        match word {
            kw::CONNECTION_ID => {
                self.values.connection_id.map(|id| format!("COALESCE(CAST({id} AS UNSIGNED), CONNECTION_ID())"))
            }
            kw::ROW_COUNT => self.values.row_count.map(|count| format!("COALESCE({count}, ROW_COUNT())")),
            kw::FOUND_ROWS => self.values.found_rows.map(|count| format!("COALESCE({count}, FOUND_ROWS())")),
            _ => None,
        }
    }

    fn system_variable(&mut self, variable: &SystemVariable<'a>, span: Span) {
        match Keyword::of(variable.name.name) {
            kw::SOCKET => self.socket(span),
            kw::PSEUDO_THREAD_ID => self.pseudo_thread_id(variable, span),
            _ => {}
        }
    }

    /// The path is put in by its bytes: as a literal it would depend on the session's character set and sql_mode.
    fn socket(&mut self, span: Span) {
        let Some(path) = self.values.socket else { return };
        let text = span.text(self.sql);
        let form = ["@@socket", "@@global.socket"].into_iter().find(|form| text.eq_ignore_ascii_case(form.as_bytes()));
        if let Some(form) = form {
            let hex: String = path.bytes().map(|byte| format!("{byte:02X}")).collect();
            self.replace(span, format!("COALESCE(CONVERT(X'{hex}' USING utf8mb4), {form})"));
        }
    }

    /// `@@pseudo_thread_id` is `CONNECTION_ID()` by another name, until it is set.
    fn pseudo_thread_id(&mut self, variable: &SystemVariable<'a>, span: Span) {
        const FORMS: [&str; 3] = ["@@pseudo_thread_id", "@@session.pseudo_thread_id", "@@local.pseudo_thread_id"];
        let Some(id) = self.values.pseudo_thread_id else { return };
        let of_session = matches!(variable.scope, None | Some(VariableScope::Session));
        let text = span.text(self.sql);
        let form = FORMS.into_iter().find(|form| text.eq_ignore_ascii_case(form.as_bytes()));
        if let Some(form) = form.filter(|_| of_session) {
            self.replace(span, format!("COALESCE(NULLIF(CAST({id} AS UNSIGNED), 0), {form})"));
        }
    }
}

impl<'a> Visitor<'a> for Search<'a> {
    fn enter(&mut self, node: Node<'a>) -> Flow {
        match node {
            Node::Statement(statement) => return self.statement(statement),
            Node::SelectItem(item) => self.open_item(item),
            Node::Expr(Expr { kind: ExprKind::Call(call), span }) => self.call(call, *span),
            Node::Expr(Expr { kind: ExprKind::SystemVariable(variable), span }) => {
                self.system_variable(variable, *span);
            }
            _ => {}
        }
        Flow::Descend
    }

    fn leave(&mut self, node: Node<'a>) {
        if let Node::SelectItem(_) = node {
            self.close_item();
        }
    }
}

/// ` AS ` and the item's text as a quoted name: as far as it fits, not ending in a space, which names may not.
fn alias(text: &[u8], lead_bytes: LeadBytes) -> Vec<u8> {
    let mut alias = b" AS `".to_vec();
    let mut fits = 0;
    while fits < text.len() {
        // Never half a character: a lead byte at the end would take the closing quote for its second byte.
        let pair = text.get(fits + 1).is_some_and(|trail| lead_bytes.is_pair(text[fits], *trail));
        let is_continuation = |byte: &&u8| !lead_bytes.has_pairs() && **byte & 0xC0 == 0x80;
        let length = if pair { 2 } else { 1 + text[fits + 1..].iter().take_while(is_continuation).count() };
        let half = fits + 1 == text.len() && lead_bytes.is_pair(text[fits], b'`');
        if fits + length > LONGEST_ALIAS || half {
            break;
        }
        alias.extend_from_slice(&text[fits..fits + length]);
        if text[fits] == b'`' {
            alias.push(b'`');
        }
        fits += length;
    }
    alias.truncate(alias.trim_ascii_end().len());
    alias.push(b'`');
    alias
}

#[cfg(test)]
mod tests;
