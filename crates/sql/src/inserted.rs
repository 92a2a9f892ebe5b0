//! Whether a plain INSERT has its rows' AUTO_INCREMENT values generated, read token by token.
//!
//! What must always hold: what is not exactly `INSERT INTO t (columns) VALUES (…), …` is not understood, and neither is a value of that
//! column but NULL, DEFAULT, digits and a parameter. Nothing is allocated: a statement is looked at after each run.

use crate::lexer::{Lexer, TokenKind};
use crate::mode::LexMode;

/// See the module.
#[derive(Debug, Clone, Copy)]
pub struct PlainInsert<'a> {
    /// The database that it names, without quotes.
    pub database: Option<&'a [u8]>,
    /// The table, without quotes.
    pub table: &'a [u8],
    /// Behind the parenthesis that opens the list of columns.
    columns: Lexer<'a>,
    /// Behind VALUES.
    rows: Lexer<'a>,
}

impl<'a> PlainInsert<'a> {
    /// Reads a text up to its values.
    pub fn of(text: &'a [u8], mode: LexMode) -> Option<PlainInsert<'a>> {
        let mut lexer = Lexer::new(text, mode);
        word(&mut lexer, b"INSERT")?;
        word(&mut lexer, b"INTO")?;
        let (mut database, mut table) = (None, name(&mut lexer)?);
        let mut next = lexer.next_token().kind;
        if next == TokenKind::Punct(b'.') {
            database = Some(table);
            table = name(&mut lexer)?;
            next = lexer.next_token().kind;
        }
        if next != TokenKind::Punct(b'(') {
            return None;
        }
        let columns = lexer;
        loop {
            name(&mut lexer)?;
            match lexer.next_token().kind {
                TokenKind::Punct(b',') => {}
                TokenKind::Punct(b')') => break,
                _ => return None,
            }
        }
        word(&mut lexer, b"VALUES")?;
        Some(PlainInsert { database, table, columns, rows: lexer })
    }

    /// Whether each row leaves the value of `column`, which is AUTO_INCREMENT, to the server, or each gives one of its own other than 0.
    /// `parameter` says whether NULL or 0 is the value of a parameter, counted from 0. `None`: that can't be said.
    pub fn generates(&self, column: &[u8], parameter: impl Fn(usize) -> Option<bool>) -> Option<bool> {
        let at = self.place_of(column);
        let mut lexer = self.rows;
        let mut parameters = 0;
        let mut all = None;
        loop {
            let row = row(&mut lexer, at, &mut parameters, &parameter)?;
            if all.is_some_and(|all| all != row) {
                return None;
            }
            all = Some(row);
            match lexer.next_token().kind {
                TokenKind::Punct(b',') => {}
                TokenKind::End => return all,
                TokenKind::Semicolon if lexer.next_token().kind == TokenKind::End => return all,
                _ => return None,
            }
        }
    }

    /// The place of a column in the list, from 0.
    fn place_of(&self, column: &[u8]) -> Option<usize> {
        let mut lexer = self.columns;
        let mut at = 0;
        loop {
            if name(&mut lexer)?.eq_ignore_ascii_case(column) {
                return Some(at);
            }
            if lexer.next_token().kind != TokenKind::Punct(b',') {
                return None;
            }
            at += 1;
        }
    }
}

/// Whether the value at a place of the row that comes next is generated.
fn row(
    lexer: &mut Lexer<'_>,
    at: Option<usize>,
    parameters: &mut usize,
    parameter: &impl Fn(usize) -> Option<bool>,
) -> Option<bool> {
    if lexer.next_token().kind != TokenKind::Punct(b'(') {
        return None;
    }
    // A column that is not in the list has its default, which is a generated value.
    let mut generates = at.is_none().then_some(true);
    let (mut depth, mut item) = (1, 0);
    loop {
        let token = lexer.next_token();
        match token.kind {
            TokenKind::Punct(b'(') => depth += 1,
            TokenKind::Punct(b')') if depth == 1 => return generates,
            TokenKind::Punct(b')') => depth -= 1,
            TokenKind::Punct(b',') if depth == 1 => {
                item += 1;
                continue;
            }
            TokenKind::CodeStart
            | TokenKind::CodeEnd
            | TokenKind::HintStart
            | TokenKind::HintEnd
            | TokenKind::Unterminated
            | TokenKind::Semicolon
            | TokenKind::End => return None,
            _ => {}
        }
        if at == Some(item) {
            // More than one token is an expression.
            if generates.is_some() {
                return None;
            }
            let text = token.text(lexer.sql);
            generates = Some(match token.kind {
                TokenKind::Integer => text.iter().all(|digit| *digit == b'0'),
                TokenKind::Word if text.eq_ignore_ascii_case(b"NULL") || text.eq_ignore_ascii_case(b"DEFAULT") => true,
                TokenKind::Parameter => parameter(*parameters)?,
                _ => return None,
            });
        }
        *parameters += usize::from(token.kind == TokenKind::Parameter);
    }
}

fn word(lexer: &mut Lexer<'_>, wanted: &[u8]) -> Option<()> {
    let token = lexer.next_token();
    (token.kind == TokenKind::Word && token.text(lexer.sql).eq_ignore_ascii_case(wanted)).then_some(())
}

/// A name in ASCII, without its quotes.
fn name<'a>(lexer: &mut Lexer<'a>) -> Option<&'a [u8]> {
    let token = lexer.next_token();
    let text = token.text(lexer.sql);
    let name = match token.kind {
        TokenKind::Word => text,
        TokenKind::QuotedIdent => text.get(1..text.len() - 1)?,
        _ => return None,
    };
    let plain = |byte: &u8| byte.is_ascii() && !matches!(byte, b'`' | b'"' | b'\'' | b'\\');
    name.iter().all(plain).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a text has the values of `id` generated.
    fn generates(text: &str, parameters: &[Option<bool>]) -> Option<bool> {
        let insert = PlainInsert::of(text.as_bytes(), LexMode::default())?;
        insert.generates(b"id", |at| parameters.get(at).copied().flatten())
    }

    #[test]
    fn values_are_generated_or_given() {
        let cases = [
            ("INSERT INTO t (id, k, c) VALUES (0, 501462, 'a(,)')", Some(true)),
            ("insert into d.t(`ID`,k) values(NULL,1),(default,2);", Some(true)),
            ("INSERT INTO t (k) VALUES (1)", Some(true)),
            ("INSERT INTO t (k) VALUES (f(1, 2)), ((3))", Some(true)),
            ("INSERT INTO t (k, id) VALUES (COALESCE(1, 2), 17)", Some(false)),
            ("INSERT INTO t (id) VALUES (3), (4)", Some(false)),
            ("INSERT INTO t (id) VALUES (3), (0)", None),
            ("INSERT INTO t (id) VALUES (-3)", None),
            ("INSERT INTO t (id) VALUES (1 - 1)", None),
            ("INSERT INTO t (id) VALUES ((1))", None),
            ("INSERT INTO t (id) VALUES (DEFAULT(id))", None),
            ("INSERT INTO t (id) VALUES ('0')", None),
            ("INSERT INTO t (id) VALUES (/*!50000 0 */ 1)", None),
            ("INSERT INTO t (id, k) VALUES (0, 1) ON DUPLICATE KEY UPDATE k = 2", None),
            ("INSERT INTO t (id, k) VALUES (0, 1) RETURNING id", None),
            ("INSERT INTO t (id, k) VALUES (0, 1); SELECT 1", None),
            ("INSERT INTO t (id, k) SELECT 0, 1", None),
            ("INSERT INTO t VALUES (0)", None),
            ("INSERT IGNORE INTO t (id) VALUES (0)", None),
            ("INSERT INTO t PARTITION (p) (id) VALUES (0)", None),
            ("REPLACE INTO t (id) VALUES (0)", None),
            ("INSERT INTO t (id) VALUES (0", None),
            ("INSERT INTO t (`i``d`) VALUES (0)", None),
        ];
        for (text, expected) in cases {
            assert_eq!(generates(text, &[]), expected, "{text}");
        }
    }

    #[test]
    fn parameters_are_asked_for_by_their_number() {
        let text = "INSERT INTO t (k, id) VALUES (ABS(?), ?), (?, ?)";
        let zero = [None, Some(true), None, Some(true)];
        assert_eq!(generates(text, &zero), Some(true));
        assert_eq!(generates(text, &[None, Some(true), None, Some(false)]), None);
        assert_eq!(generates(text, &[None, Some(false), None, Some(false)]), Some(false));
        assert_eq!(generates(text, &[Some(true), None, Some(true), None]), None);
    }

    #[test]
    fn names_are_told_without_quotes() {
        let insert = PlainInsert::of(b"INSERT INTO `a b`.t (x) VALUES (1)", LexMode::default()).expect("plain");
        assert_eq!((insert.database, insert.table), (Some(&b"a b"[..]), &b"t"[..]));
    }
}
