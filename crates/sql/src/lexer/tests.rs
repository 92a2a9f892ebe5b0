//! Token boundaries, and that any bytes can be read.

use super::{Lexer, TokenKind};
use crate::cursor::Cursor;
use crate::mode::{Dialect, LeadBytes, LexMode};

const PLAIN: LexMode = LexMode {
    ansi_quotes: false,
    no_backslash_escapes: false,
    pipes_as_concat: false,
    high_not_precedence: false,
    ignore_space: false,
    lead_bytes: LeadBytes::None,
    dialect: Dialect::Either,
    version: 0,
};

/// `Kind text` of each token, one per element.
fn lex(sql: &[u8], mode: LexMode) -> Vec<String> {
    Lexer::new(sql, mode)
        .map(|token| format!("{:?} {}", token.kind, String::from_utf8_lossy(token.text(sql))))
        .collect()
}

/// The token's text only, comments and spaces left out.
fn texts(sql: &str, mode: LexMode) -> String {
    Lexer::new(sql.as_bytes(), mode)
        .map(|token| String::from_utf8_lossy(token.text(sql.as_bytes())).into_owned())
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn a_zero_byte_in_the_last_place_ends_the_text() {
    assert_eq!(texts("select 1\0", PLAIN), "select 1");
    assert_eq!(texts("select 1\0; \n;", PLAIN), "select 1");
    assert_eq!(texts("\0", PLAIN), "");
    assert_eq!(texts("select \0 1", PLAIN), "select \0 1");
    assert_eq!(texts("select 1\0\0", PLAIN), "select 1 \0");
    // An executable comment that is open there covers the rest.
    assert_eq!(texts("/*! select\0 ;", PLAIN), "/*! select \0 ;");
}

#[test]
fn literals_and_names_have_their_kinds() {
    for (sql, expected) in [
        ("select", "Word select"),
        ("`a``b`", "QuotedIdent `a``b`"),
        ("'it''s'", "String 'it''s'"),
        ("'a\\'b'", "String 'a\\'b'"),
        ("\"x\"", "String \"x\""),
        ("N'x'", "String N'x'"),
        ("12", "Integer 12"),
        ("1.5", "Decimal 1.5"),
        (".5", "Decimal .5"),
        ("1.", "Decimal 1."),
        ("1e5", "Float 1e5"),
        ("1.5E-3", "Float 1.5E-3"),
        (".5e1", "Float .5e1"),
        ("0xAF", "Hex 0xAF"),
        ("x'AF'", "Hex x'AF'"),
        ("0b01", "Bit 0b01"),
        ("B'01'", "Bit B'01'"),
        ("0xZ", "Word 0xZ"),
        ("0XAF", "Word 0XAF"),
        ("1abc", "Word 1abc"),
        ("1e", "Word 1e"),
        ("@a.b$c", "UserVariable @a.b$c"),
        ("@'a b'", "UserVariable @'a b'"),
        ("@`a b`", "UserVariable @`a b`"),
        ("@@a", "SystemVariable @@a"),
        ("@@`a`", "SystemVariable @@`a`"),
        ("?", "Parameter ?"),
        (":=", "Assign :="),
        ("<=>", "Operator <=>"),
        ("->>", "Operator ->>"),
        (";", "Semicolon ;"),
        ("é", "Word é"),
        ("'open", "Unterminated 'open"),
        ("`open", "Unterminated `open"),
        ("/* open", "Unterminated /* open"),
        ("x'4g'", "Unterminated x'4g'"),
    ] {
        assert_eq!(lex(sql.as_bytes(), PLAIN), [expected], "{sql}");
    }
}

#[test]
fn sequences_split_where_the_servers_split_them() {
    for (sql, expected) in [
        ("a.1b.select", "a . 1b . select"),
        ("t.5e1", "t . 5e1"),
        ("`t`.x'41'", "`t` . x '41'"),
        ("a .5", "a .5"),
        ("1e5a", "1e5 a"),
        ("@@session.x", "@@session . x"),
        ("_utf8mb4'x'", "_utf8mb4 'x'"),
        ("1--1", "1 - - 1"),
        ("1-- 1\n+2", "1 + 2"),
        ("1--", "1"),
        ("1 # x\n+ 2", "1 + 2"),
        ("a/* ; ' */b", "a b"),
        ("a /**/ b", "a b"),
        ("a / * b", "a / * b"),
        ("a */ b", "a * / b"),
        ("SELECT/*+ MAX_EXECUTION_TIME(1) */1", "SELECT /*+ MAX_EXECUTION_TIME ( 1 ) */ 1"),
        ("a /*+ not a hint */ b", "a b"),
        ("a /*! b */ c", "a /*! b */ c"),
        ("a /*!50003 b*/c", "a /*!50003 b */ c"),
        ("a /*!5 b*/", "a /*! 5 b */"),
        ("a /*M! b */", "a /*M! b */"),
        ("a /*!80000 ' */ ' */ b", "a /*!80000 ' */ ' */ b"),
        ("/*! a /* b */ c */", "/*! a c */"),
        ("/*! open", "/*! open "),
        ("a:=b", "a := b"),
        ("@ a", "@ a"),
    ] {
        assert_eq!(texts(sql, PLAIN), expected, "{sql}");
    }
}

#[test]
fn modes_move_the_ends_of_strings() {
    let ansi = LexMode { ansi_quotes: true, ..PLAIN };
    assert_eq!(lex(b"\"a\"\"b\"", ansi), ["QuotedIdent \"a\"\"b\""]);
    assert_eq!(lex(b"\"a\\\"", ansi), ["QuotedIdent \"a\\\""]);
    let no_backslash = LexMode { no_backslash_escapes: true, ..PLAIN };
    assert_eq!(texts("'a\\' b", no_backslash), "'a\\' b");
    assert_eq!(lex(b"'a\\' b", PLAIN), ["Unterminated 'a\\' b"]);
    // 0xBF 0x5C is one character of GBK, so the quote after it ends the string.
    let gbk = LexMode { lead_bytes: LeadBytes::Gbk, ..PLAIN };
    assert_eq!(Lexer::new(b"'\xBF\\' x", gbk).count(), 2);
    assert_eq!(Lexer::new(b"'\xBF\\' x", PLAIN).count(), 1);
}

#[test]
fn comments_for_other_servers_are_skipped() {
    let mysql = LexMode { dialect: Dialect::MySql, ..PLAIN };
    let mariadb = LexMode { dialect: Dialect::MariaDb, ..PLAIN };
    assert_eq!(texts("a /*M! b */ c", mysql), "a c");
    assert_eq!(texts("a /*!80000 b */ c", mysql), "a /*!80000 b */ c");
    assert_eq!(texts("a /*!80000 b */ c", mariadb), "a c");
    assert_eq!(texts("a /*!50700 b */ c", mariadb), "a c");
    assert_eq!(texts("a /*!50699 b */ c", mariadb), "a /*!50699 b */ c");
    assert_eq!(texts("a /*M!100100 b */ c", mariadb), "a /*M!100100 b */ c");
    for dialect in [Dialect::MySql, Dialect::MariaDb, Dialect::Either] {
        let lex = LexMode { dialect, ..PLAIN };
        assert_eq!(texts("a /*M!999999 enable the sandbox mode */ c", lex), "a c", "the first line of MariaDB's dumps");
        assert_eq!(texts("a /*!999999 b */ c", lex), "a c");
    }
}

#[test]
fn comments_for_newer_servers_are_skipped() {
    let mysql = LexMode { dialect: Dialect::MySql, version: 90_704, ..PLAIN };
    assert_eq!(texts("a /*!90704 b */ c", mysql), "a /*!90704 b */ c");
    for newer in ["90705", "99999", "100000", "091000"] {
        assert_eq!(texts(&format!("a /*!{newer} b */ c"), mysql), "a c", "{newer}");
    }
    let mariadb = LexMode { dialect: Dialect::MariaDb, version: 101_119, ..PLAIN };
    assert_eq!(texts("a /*!101119 b */ c", mariadb), "a /*!101119 b */ c");
    assert_eq!(texts("a /*M!101120 b */ c", mariadb), "a c");
}

#[test]
fn dollars_quote_on_mysql_only() {
    let mysql = LexMode { dialect: Dialect::MySql, ..PLAIN };
    for (sql, expected) in [
        ("$$ a;'b $$ c", &["DollarQuoted $$ a;'b $$", "Word c"][..]),
        ("$x$ $$ $X$ $x$$", &["DollarQuoted $x$ $$ $X$ $x$", "Word $"]),
        ("$1$a$1$", &["DollarQuoted $1$a$1$"]),
        ("$é$a$é$", &["DollarQuoted $é$a$é$"]),
        ("$$ a", &["Unterminated $$ a"]),
        ("$a$b", &["Unterminated $a$b"]),
        ("$a b$", &["Word $a", "Word b$"]),
        ("a$b$c", &["Word a$b$c"]),
        ("t.$a$", &["Word t", "Punct(46) .", "Word $a$"]),
    ] {
        assert_eq!(lex(sql.as_bytes(), mysql), expected, "{sql}");
    }
    assert_eq!(lex(b"$$ a", PLAIN), ["Word $$", "Word a"]);
}

/// Pseudo-random numbers, the same in every run.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((word ^ (word >> 31)) % bound as u64) as usize
    }

    /// Pieces that lexers stumble over, and any bytes.
    pub(crate) fn text(&mut self) -> Vec<u8> {
        const PIECES: &[&str] = &[
            "SELECT ",
            "SET ",
            "@",
            "@@",
            "'",
            "\"",
            "`",
            "\\",
            "/*",
            "*/",
            "/*!",
            "/*!80000",
            "/*M!",
            "/*+",
            "--",
            "-- ",
            "#",
            "\n",
            ";",
            "(",
            ")",
            ",",
            ".",
            "=",
            ":=",
            "a",
            "1",
            "0x",
            "0b",
            "x'",
            "n'",
            "e",
            "BEGIN",
            " END",
            " CASE ",
            "CREATE PROCEDURE ",
            "KILL ",
            "SHOW WARNINGS LIMIT ",
            "ROW_COUNT()",
            "GET_LOCK(",
            "INTO ",
            "NAMES ",
            "WITH ",
            "EXPLAIN ",
            "FOR ",
            "$$",
            "WEIR ",
            "TRANSACTION ",
            " AS ",
            "session_track",
            "\u{e9}",
            "é",
            "IN (1,2)",
            "?",
        ];
        let mut text = Vec::new();
        for _ in 0..self.below(24) {
            match self.below(8) {
                0 => text.push(self.below(256) as u8),
                _ => text.extend_from_slice(PIECES[self.below(PIECES.len())].as_bytes()),
            }
        }
        text
    }

    pub(crate) fn mode(&mut self) -> LexMode {
        LexMode {
            ansi_quotes: self.below(2) == 0,
            no_backslash_escapes: self.below(2) == 0,
            pipes_as_concat: self.below(2) == 0,
            high_not_precedence: self.below(2) == 0,
            ignore_space: self.below(2) == 0,
            lead_bytes: [LeadBytes::None, LeadBytes::Gbk, LeadBytes::Big5, LeadBytes::Sjis][self.below(4)],
            dialect: [Dialect::Either, Dialect::MySql, Dialect::MariaDb][self.below(3)],
            version: [0, 90_704, 101_119][self.below(3)],
        }
    }
}

#[test]
fn any_bytes_give_tokens_in_order_within_the_text() {
    let mut random = Random::new(1);
    for _ in 0..100_000 {
        let (sql, mode) = (random.text(), random.mode());
        let mut at = 0;
        let mut lexer = Lexer::new(&sql, mode);
        loop {
            let token = lexer.next_token();
            assert!(at <= token.start && token.start <= token.end, "{sql:?} {token:?}");
            assert!(token.end as usize <= sql.len(), "{sql:?} {token:?}");
            at = token.end;
            if token.kind == TokenKind::End {
                break;
            }
            let opens_nothing = token.kind == TokenKind::Unterminated || token.kind == TokenKind::SystemVariable;
            assert!(opens_nothing || token.start < token.end, "{sql:?} {token:?}");
        }
        let mut cursor = Cursor::new(&sql, mode);
        while cursor.kind() != TokenKind::End {
            cursor.advance();
        }
    }
}
