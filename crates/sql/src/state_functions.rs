//! Replacing functions that read the state of a connection by their values.
//!
//! What must hold: the result's column names do not change. A column without an alias is named after its text, so every item
//! of a select list, at any depth, that holds a replaced call and has no alias gets one. An alias is allowed wherever
//! an item of a select list stands, even in a subquery within an expression, where it means nothing; so depth does not
//! matter, and only the places where a list begins and ends must be known. Definitions (views, routines, column defaults)
//! are left alone, because the value would outlive the session.

use std::ops::Range;

use crate::cursor::{Cursor, Item};
use crate::keyword::Keyword;
use crate::kw;
use crate::lexer::TokenKind;
use crate::mode::{LeadBytes, LexMode};
use crate::splice::splice;

/// The values to put in. A function whose value is `None` stays as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateValues {
    /// `CONNECTION_ID()`, as BIGINT UNSIGNED.
    pub connection_id: Option<u64>,
    /// `ROW_COUNT()`, as BIGINT.
    pub row_count: Option<i64>,
    /// `FOUND_ROWS()`, as BIGINT.
    pub found_rows: Option<u64>,
}

/// Replaces `CONNECTION_ID()`, `ROW_COUNT()` and `FOUND_ROWS()` by `COALESCE(n, …)` of the value and the function itself:
/// so the column keeps the function's type, length and flags, and the statement its warnings, on both kinds of server.
/// The names of the result's columns stay. `None` when there is nothing to replace.
pub fn replace_state_functions(sql: &[u8], mode: LexMode, values: &StateValues) -> Option<Vec<u8>> {
    let mut search =
        Search { sql, mode, values, cursor: Cursor::new(sql, mode), edits: Vec::new(), lists: vec![List::default()] };
    search.text();
    // In a text with an open quote, the added names would move the ends of what stands behind them.
    if search.edits.is_empty() || search.cursor.unreadable() {
        return None;
    }
    let edits: Vec<(Range<usize>, &[u8])> =
        search.edits.iter().map(|(range, text)| (range.clone(), text.as_slice())).collect();
    Some(splice(sql, &edits))
}

/// Identifiers have at most 256 characters as aliases.
const LONGEST_ALIAS: usize = 255;

/// Open parentheses that are kept track of.
const DEEPEST: usize = 10_000;

/// Statements that are executed as they stand.
const EXECUTED: &[Keyword] = &[
    kw::SELECT,
    kw::WITH,
    kw::VALUES,
    kw::TABLE,
    kw::DO,
    kw::SET,
    kw::INSERT,
    kw::REPLACE,
    kw::UPDATE,
    kw::DELETE,
    kw::CALL,
    kw::EXPLAIN,
    kw::DESC,
    kw::DESCRIBE,
    kw::ANALYZE,
    kw::KILL,
    kw::SHOW,
    kw::LOAD,
];

/// Words between SELECT and the first item.
const SELECT_OPTIONS: &[Keyword] = &[
    kw::ALL,
    kw::DISTINCT,
    kw::DISTINCTROW,
    kw::HIGH_PRIORITY,
    kw::STRAIGHT_JOIN,
    kw::SQL_BIG_RESULT,
    kw::SQL_BUFFER_RESULT,
    kw::SQL_CACHE,
    kw::SQL_CALC_FOUND_ROWS,
    kw::SQL_NO_CACHE,
    kw::SQL_SMALL_RESULT,
];

/// Words that end a select list.
const LIST_ENDS: &[Keyword] = &[
    kw::FROM,
    kw::INTO,
    kw::WHERE,
    kw::GROUP,
    kw::HAVING,
    kw::ORDER,
    kw::LIMIT,
    kw::UNION,
    kw::EXCEPT,
    kw::INTERSECT,
    kw::FOR,
    kw::LOCK,
    kw::PROCEDURE,
    kw::ON,
    kw::RETURNING,
];

/// Units of INTERVAL that are not reserved words.
const UNITS: &[Keyword] =
    &[kw::MICROSECOND, kw::SECOND, kw::MINUTE, kw::HOUR, kw::DAY, kw::WEEK, kw::MONTH, kw::QUARTER, kw::YEAR];

/// What is known of the text between one pair of parentheses, or outside all.
#[derive(Clone, Copy, Default)]
struct List {
    /// Within a select list.
    active: bool,
    /// The item's first and last bytes, once it has begun.
    range: Option<(usize, usize)>,
    /// A call was replaced within the item.
    replaced: bool,
    /// A call was replaced within an item that has ended.
    replaced_before: bool,
    /// AS was seen.
    named: bool,
    /// The last token is an alias without AS.
    ends_with_alias: bool,
    /// The last token ends an operand.
    ends_operand: bool,
    /// CASE and INTERVAL that wait for their ends.
    cases: u32,
    intervals: u32,
}

struct Search<'a> {
    sql: &'a [u8],
    mode: LexMode,
    values: &'a StateValues,
    cursor: Cursor<'a>,
    edits: Vec<(Range<usize>, Vec<u8>)>,
    /// One for each open parenthesis, and one for the statement; never empty.
    lists: Vec<List>,
}

impl Search<'_> {
    fn text(&mut self) {
        while self.cursor.kind() != TokenKind::End {
            self.lists.clear();
            self.lists.push(List::default());
            let mut verb = self.cursor;
            while verb.eat_punct(b'(') {}
            if verb.at_any(EXECUTED) {
                self.statement();
            } else if verb.at(kw::CREATE) {
                // What a routine's body holds can't be told from statements that follow it.
                if !self.create_table_select() {
                    return;
                }
                self.statement();
            } else {
                self.cursor.skip_statement();
            }
            self.cursor.advance();
        }
    }

    /// CREATE TABLE … SELECT: moves to the SELECT, or to the statement's end. False for other objects.
    fn create_table_select(&mut self) -> bool {
        self.cursor.advance();
        self.cursor.eat_all(&[kw::OR, kw::REPLACE]);
        self.cursor.eat(kw::TEMPORARY);
        if !self.cursor.at(kw::TABLE) {
            return false;
        }
        while !self.cursor.at_end() && !self.cursor.at(kw::SELECT) {
            self.cursor.advance();
        }
        true
    }

    fn statement(&mut self) {
        let edits_before = self.edits.len();
        while !self.cursor.at_end() {
            let item = self.cursor.current();
            match item.token.kind {
                TokenKind::Punct(b'(') if self.lists.len() > DEEPEST => break,
                TokenKind::Punct(b'(') => {
                    self.extend(item, false);
                    self.lists.push(List::default());
                }
                TokenKind::Punct(b')') => self.close_parenthesis(item),
                TokenKind::Punct(b',') if self.list().active => {
                    self.end_item();
                    self.list().active = true;
                }
                _ if item.is_name() && self.replace_call(item) => continue,
                TokenKind::SystemVariable if self.replace_thread_id(item) => continue,
                TokenKind::Word if item.word == kw::SELECT => self.begin_list(),
                TokenKind::Word if LIST_ENDS.contains(&item.word) => {
                    self.end_item();
                    self.list().active = item.word == kw::RETURNING;
                }
                _ => self.part_of_item(item),
            }
            self.cursor.advance();
        }
        if self.lists.len() > 1 {
            // A parenthesis is open: no server accepts this statement, and its items have no certain end. Nor does one
            // accept parentheses as deep as those that are given up on.
            self.cursor.skip_statement();
            self.edits.truncate(edits_before);
            return;
        }
        self.end_item();
    }

    fn list(&mut self) -> &mut List {
        self.lists.last_mut().expect("the statement's own list is never popped")
    }

    fn begin_list(&mut self) {
        self.end_item();
        self.list().active = true;
        while SELECT_OPTIONS.contains(&self.cursor.next().word) {
            self.cursor.advance();
        }
    }

    fn close_parenthesis(&mut self, item: Item) {
        self.end_item();
        let replaced = self.list().replaced_before;
        if self.lists.len() > 1 {
            self.lists.pop();
        }
        self.list().replaced |= replaced;
        self.extend(item, true);
    }

    /// The item goes on up to here.
    fn extend(&mut self, item: Item, ends_operand: bool) {
        let list = self.list();
        let start = list.range.map_or(item.token.start as usize, |(start, _)| start);
        list.range = Some((start, item.token.end as usize));
        list.ends_with_alias = false;
        list.ends_operand = ends_operand;
    }

    fn part_of_item(&mut self, item: Item) {
        let before = *self.list();
        let previous = self.cursor.previous();
        let mut ends_operand = ends_operand(item);
        let mut alias = before.ends_operand && may_be_alias(item);
        match item.word {
            kw::AS => self.list().named = true,
            kw::CASE => self.list().cases += 1,
            kw::END if before.cases > 0 => {
                self.list().cases -= 1;
                alias = false;
                ends_operand = true;
            }
            kw::INTERVAL => self.list().intervals += 1,
            word if before.intervals > 0 && before.ends_operand && UNITS.contains(&word) => {
                self.list().intervals -= 1;
                alias = false;
            }
            _ => {}
        }
        if item.token.kind == TokenKind::String {
            // 'a' 'b' is one string, _utf8'a' and DATE'2000-01-01' are literals.
            let introduced = previous.token.kind == TokenKind::Word
                && (self.cursor.text(previous).starts_with(b"_")
                    || matches!(previous.word, kw::DATE | kw::TIME | kw::TIMESTAMP));
            alias &= !introduced && previous.token.kind != TokenKind::String;
        }
        self.extend(item, ends_operand);
        self.list().ends_with_alias = alias;
    }

    /// Ends the current item of a select list, and gives it an alias if it needs one.
    fn end_item(&mut self) {
        let sql = self.sql;
        let list = self.list();
        let done = *list;
        // What encloses the list must know of it in the end, even if this item has a name.
        *list = List { replaced_before: done.replaced_before || done.replaced, ..List::default() };
        let Some((start, end)) = done.range else { return };
        if done.active && done.replaced && !done.named && !done.ends_with_alias {
            let alias = alias(&sql[start..end], self.mode.lead_bytes);
            self.edits.push((end..end, alias));
        }
    }

    /// Replaces a call at the cursor and moves past it.
    fn replace_call(&mut self, name: Item) -> bool {
        let word = Keyword::of(self.cursor.name(name));
        let Some(value) = self.value(word) else { return false };
        let mut ahead = self.cursor;
        ahead.advance();
        let adjacent = name.token.end == ahead.current().token.start;
        let quoted = name.token.kind == TokenKind::QuotedIdent;
        let called = ahead.eat_punct(b'(') && ahead.at_punct(b')');
        let qualified = self.cursor.previous().token.kind == TokenKind::Punct(b'.');
        let close = ahead.current();
        let range = name.token.start as usize..close.token.end as usize;
        if !called || qualified || !word.is_known_call(self.mode, quoted, adjacent) {
            return false;
        }
        // An executable comment within would lose its beginning or end.
        if self.sql[range.clone()].contains(&b'!') {
            return false;
        }
        self.edits.push((range, value.into_bytes()));
        self.extend(name, true);
        self.extend(close, true);
        self.list().replaced = true;
        ahead.advance();
        self.cursor = ahead;
        true
    }

    /// Replaces `@@pseudo_thread_id`, which is `CONNECTION_ID()` by another name, at the cursor and moves past it.
    fn replace_thread_id(&mut self, variable: Item) -> bool {
        let range = variable.token.range();
        let Some(id) = self.values.connection_id else { return false };
        let mut ahead = self.cursor;
        ahead.advance();
        let before = self.cursor.previous();
        let listed = before.token.kind == TokenKind::Punct(b',') && !self.list().active;
        let assigned = before.word == kw::SET || listed;
        if assigned || ahead.at_punct(b'.') || !self.sql[range.clone()].eq_ignore_ascii_case(b"@@pseudo_thread_id") {
            return false;
        }
        let value = format!("COALESCE(NULLIF(CAST({id} AS UNSIGNED), 0), @@pseudo_thread_id)");
        self.edits.push((range, value.into_bytes()));
        self.extend(variable, true);
        self.list().replaced = true;
        self.cursor = ahead;
        true
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
}

/// Whether an alias may follow this token.
fn ends_operand(item: Item) -> bool {
    match item.token.kind {
        TokenKind::Word => {
            let literal = matches!(
                item.word,
                kw::NULL
                    | kw::TRUE
                    | kw::FALSE
                    | kw::CURRENT_DATE
                    | kw::CURRENT_TIME
                    | kw::CURRENT_TIMESTAMP
                    | kw::CURRENT_USER
            );
            let operator = matches!(item.word, kw::ESCAPE | kw::SOUNDS | kw::MEMBER | kw::OF | kw::ANY | kw::SOME);
            literal || !operator && !item.word.is_reserved()
        }
        TokenKind::Punct(byte) => byte == b'}',
        TokenKind::Operator | TokenKind::Assign => false,
        _ => true,
    }
}

/// Whether this token is an alias if it follows an operand and ends the item.
fn may_be_alias(item: Item) -> bool {
    match item.token.kind {
        TokenKind::Word => !item.word.is_reserved(),
        TokenKind::QuotedIdent | TokenKind::String => true,
        _ => false,
    }
}

/// ` AS ` and the item's text as a quoted name: as far as it fits, not ending in a space, which names may not.
fn alias(text: &[u8], lead_bytes: LeadBytes) -> Vec<u8> {
    let mut alias = b" AS `".to_vec();
    let mut fits = 0;
    while fits < text.len() {
        // Never half a character: a lead byte at the end would take the closing quote for its second byte.
        let pair = text.get(fits + 1).is_some_and(|trail| lead_bytes.is_pair(text[fits], *trail));
        let is_continuation = |byte: &&u8| lead_bytes == LeadBytes::None && **byte & 0xC0 == 0x80;
        let length = if pair { 2 } else { 1 + text[fits + 1..].iter().take_while(is_continuation).count() };
        if fits + length > LONGEST_ALIAS {
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
