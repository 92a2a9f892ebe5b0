//! Texts of several statements that try to be read otherwise than the server reads them.
//!
//! A text is a list of fragments, so that a difference can be cut down by dropping some. Markers, `INSERT INTO trace VALUES (n)`, stand
//! anywhere in it: as statements, in strings, names, comments and prepared texts. Which of them run is for the server to say.
//!
//! What must hold: a text's answer depends on nothing but the text and the session's login. There are no clocks, ids, files or locks in it,
//! and what a text defines it drops before it defines it.

use weir_local::Flavor;

use crate::script::{Dice, for_flavor};

/// Markers that a text may have.
pub(super) const MARKERS: u64 = 64;

/// The statements that make a database for texts.
pub(super) const CONTENT: [&str; 7] = [
    "CREATE DATABASE {db}",
    "USE {db}",
    "CREATE TABLE trace (n BIGINT, KEY (n))",
    "CREATE PROCEDURE set_mode(m VARCHAR(200)) SET SESSION sql_mode = m",
    "CREATE PROCEDURE set_gbk() SET NAMES gbk",
    "CREATE FUNCTION mode_set(m VARCHAR(200)) RETURNS INT DETERMINISTIC BEGIN SET SESSION sql_mode = m; RETURN 1; END",
    "CREATE PROCEDURE run_mode(m VARCHAR(200)) BEGIN SET @t = CONCAT('SET sql_mode = ''', m, ''''); PREPARE s FROM @t; EXECUTE s; END",
];

type Fragment = Vec<u8>;

/// A text, in fragments.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Text(pub(super) Vec<Fragment>);

impl Text {
    pub(super) fn bytes(&self) -> Vec<u8> {
        self.0.concat()
    }

    /// The text without some of its fragments.
    pub(super) fn without(&self, from: usize, count: usize) -> Self {
        Self([&self.0[..from], &self.0[from + count..]].concat())
    }
}

const MODES: &[&str] = &[
    "",
    "NO_BACKSLASH_ESCAPES",
    "ANSI_QUOTES",
    "ANSI_QUOTES,NO_BACKSLASH_ESCAPES",
    "PIPES_AS_CONCAT",
    "IGNORE_SPACE",
    "HIGH_NOT_PRECEDENCE",
    "ANSI",
    "STRICT_TRANS_TABLES,NO_BACKSLASH_ESCAPES",
    "TRADITIONAL",
    "NO_SUCH_MODE",
];
const MODES_OF_MARIADB: &[&str] = &["ORACLE", "MSSQL", "DB2", "POSTGRESQL", "MAXDB"];

/// Ways to set sql_mode to `{m}`.
const SET_MODE: &[&str] = &[
    "SET sql_mode = '{m}'",
    "SET SESSION sql_mode = CONCAT('{m}', '')",
    "SET @@SESSION.sql_mode := '{m}', autocommit = 1",
    "SET sql_mode = \"{m}\"",
    "SET sql_mode = (SELECT '{m}')",
    "SET @m = '{m}'; SET sql_mode = @m",
    "SELECT '{m}' INTO @m; SET sql_mode = @m",
    "SET sql_mode = DEFAULT",
    "SET sql_mode = 4",
    "SET sql_mode = 1048576",
    "SET sql_mode = REPLACE(@@sql_mode, 'ANSI_QUOTES', '')",
    "SET session_track_system_variables = ''; SET sql_mode = '{m}'",
    "SET session_track_system_variables = '*'; SET sql_mode = '{m}'",
    "PREPARE s FROM 'SET sql_mode = ''{m}'''; EXECUTE s",
    "SET @t = 'SET sql_mode = ''{m}'''; PREPARE s FROM @t; EXECUTE s; DEALLOCATE PREPARE s",
    "SET @m = '{m}'; PREPARE s FROM 'SET sql_mode = ?'; EXECUTE s USING @m",
    "CALL set_mode('{m}')",
    "CALL run_mode('{m}')",
    "SELECT mode_set('{m}')",
    "DO mode_set('{m}')",
    "/*!50000 SET sql_mode = '{m}' */",
    "SET /*!50000 sql_mode = '{m}', */ @x = 1",
    "mysql|SELECT /*+ SET_VAR(sql_mode = '{m}') */ 1",
    "mysql|/*!80000 SET sql_mode = '{m}' */",
    "mariadb|/*M! SET sql_mode = '{m}' */",
    "mariadb|EXECUTE IMMEDIATE 'SET sql_mode = ''{m}'''",
    "mariadb|SET STATEMENT max_statement_time = 9 FOR SET sql_mode = '{m}'",
    "mariadb|SET STATEMENT sql_mode = '{m}' FOR SELECT 1",
    "mariadb|SET STATEMENT sql_mode = '{m}' FOR EXECUTE IMMEDIATE 'SELECT 1'",
    "mariadb|BEGIN NOT ATOMIC SET sql_mode = '{m}'; END",
    "mariadb|IF 1 THEN SET sql_mode = '{m}'; END IF",
];

const CHARSETS: &[&str] = &[
    "gbk", "sjis", "big5", "cp932", "latin1", "utf8mb4", "binary", "utf8mb3", "ascii", "euckr", "ujis", "gb2312",
    "swe7", "cp850", "hebrew", "latin7", "cp1250", "macroman", "hp8", "latin2", "eucjpms", "utf16", "ucs2",
];

/// Ways to set the client's character set to `{c}`.
const SET_CHARSET: &[&str] = &[
    "SET NAMES {c}",
    "SET NAMES '{c}'",
    "SET NAMES DEFAULT",
    "SET CHARACTER SET {c}",
    "SET character_set_client = {c}",
    "SET @@character_set_client := '{c}'",
    "SET @c = '{c}'; SET character_set_client = @c",
    "SET character_set_client = CONCAT('{c}', '')",
    "SET sql_mode = '', NAMES {c}",
    "SET session_track_system_variables = ''; SET character_set_client = {c}",
    "PREPARE s FROM 'SET NAMES {c}'; EXECUTE s",
    "CALL set_gbk()",
    "/*!50000 SET NAMES {c} */",
    "mariadb|EXECUTE IMMEDIATE 'SET NAMES {c}'",
    "mariadb|SET STATEMENT max_statement_time = 9 FOR SET NAMES {c}",
    "mariadb|SET STATEMENT character_set_client = {c} FOR SELECT 1",
    "mariadb|BEGIN NOT ATOMIC SET NAMES {c}; END",
];

/// What stands in quotes, or anywhere: bytes that some mode or character set reads otherwise.
const BYTES: &[&[u8]] = &[
    b"",
    b"a",
    b"\\",
    b"\\\\",
    b"\\'",
    b"\\\"",
    b"''",
    b"\"\"",
    b"``",
    b"\xbf\\",
    b"\x81\\",
    b"\xa1\\",
    b"\x95\\",
    b"\x83\\",
    b"\xe0\\",
    b"\xfe\\",
    b"\xbf'",
    b"\x81'",
    b"\xbf\"",
    b"\x81`",
    b"\x95`",
    b"\xbf",
    b"\x81",
    b"\xa1",
    b"\xff",
    b"\x80",
    b"\xa0",
    b"\xe4\xb8\xad",
    b"\x81\x30\x81\x30",
    b"\x8f\xa1\xa1",
    b"\x8e\xb1",
    b"\xf0\x9f\x98\x80",
    b"\0",
    b"\x1a",
    b"\n",
    b"\r",
    b"\t",
    b"\x0b",
    b"\x0c",
    b"\x7f",
    b"--",
    b"#",
    b"/*",
    b"*/",
    b"||",
    b"$$",
    b"?",
    b"@",
    b"~",
    b"[",
    b"{",
];

/// What stands between statements and words: `{k}` is a marker.
const COMMENTS: &[&[u8]] = &[
    b"/* {k} */",
    b"/* ; {k}; */",
    b"-- ; {k};\n",
    b"# ; {k};\n",
    b"--; {k}\n",
    b"--\t;{k}\n",
    b"--\x01; {k}\n",
    b"--\xa0; {k}\n",
    b"--\xff; {k}\n",
    b"/*! ; {k} */",
    b"/*!50000 ; {k} */",
    b"/*!50000 ; {k}; */",
    b"/*!80000 ; {k} */",
    b"/*!99999 ; {k} */",
    b"/*!999999 ; {k} */",
    b"/*!100000 ; {k} */",
    b"/*!101100 ; {k} */",
    b"/*!090700; {k} */",
    b"/*!50000{k}*/",
    b"/*!5; {k} */",
    b"/*M! ; {k} */",
    b"/*M!100000 ; {k} */",
    b"/*M!999999 ; {k} */",
    b"/*!50000 '*/; {k}; #' */",
    b"/*!99999 '*/; {k}; #' */",
    b"/*!99998 \"*/; {k}; #\" */",
    b"/*+ ; {k} */",
    b"/*+ '*/ ; {k} -- '\n",
    b"/* /* ; */ ; {k} */",
    b"/*! /* ; */ ; {k} */",
    b"/*!99999 /* ; */ ; {k} */",
    b"/*!50000 # */ ; {k}\n*/",
    b"/*!50000 -- */ ; {k}\n*/",
    b"/**/",
    b"/*!*/",
    b"/*!50000*/",
    b"/*;",
    b"/* ; {k}",
    b"/*! ; {k}",
    b"/*!99999 ; {k}",
    b"*/",
    b"*/ ; {k}",
    b"/*/ ; {k} /*/",
    b"/*!/ ; {k} */",
    b"--",
    b"-- ",
];

/// Statements without tricks, which see what others leave.
const PLAIN: &[&str] = &[
    "SELECT 1",
    "SELECT 1 AS \"a;b\"",
    "SELECT 'x' || 'y'",
    "SELECT 'a' 'b', \"c\"",
    "SELECT NOT 1 BETWEEN 0 AND 2",
    "SELECT @@sql_mode, @@character_set_client",
    "SELECT COUNT(*) FROM trace WHERE n < 0",
    "SELECT COUNT (*) FROM trace WHERE n < 0",
    "SELECT * FROM nowhere",
    "SELECT HEX('\u{4e2d}\\\\')",
    "SELECT LENGTH('\\n'), HEX('\\')",
    "SHOW WARNINGS",
    "SELECT ROW_COUNT()",
    "SELECT CAST('x' AS SIGNED)",
    "SET @a = ';', @b = \"'\"",
    "DO 1",
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "USE nowhere",
    "(SELECT 1)",
    "SELECT 1 UNION SELECT ';'",
    "WITH c AS (SELECT ';') SELECT * FROM c",
    "VALUES ROW(1, ';')",
    "TABLE nowhere",
    "EXPLAIN nowhere",
    "",
    " ",
];

/// What no server can read, or only one of them.
const BROKEN: &[&str] = &[
    "xyzzy",
    "SELECT FROM",
    "SELEC 1",
    ")",
    "SELECT (",
    "SELECT 1 FROM",
    "'",
    "\"",
    "`",
    "SELECT '",
    "SELECT \"",
    "SELECT `",
    "DELIMITER //",
    "delimiter ;;",
    "\\g",
    "\\",
    "@",
    "$$",
    "SELECT $x$ ; {k} $x$",
    "SELECT $$;{k}$$",
    "q'[;]'",
    "SELECT N'\\'; {k} -- '",
    "SELECT _gbk'\\'; {k} -- '",
    "SELECT x'\\'; {k} -- '",
    "SELECT b';'",
    "END",
    "BEGIN {k}; END",
    "{k} RETURNING n",
    "<<a>> BEGIN {k}; END",
    "a: BEGIN {k}; END",
    "IF 1 THEN {k}; END IF",
    "CASE 1 WHEN 1 THEN {k}; END CASE",
    "l: LOOP {k}; LEAVE l; END LOOP",
    "WHILE 0 DO {k}; END WHILE",
    "BEGIN NOT ATOMIC {k}; END",
    "BEGIN NOT ATOMIC {k}; xyzzy; END",
    "BEGIN NOT ATOMIC DECLARE x INT; {k}; {k}; END",
    "DECLARE x INT",
    "DROP PROCEDURE IF EXISTS hp; CREATE PROCEDURE hp() BEGIN {k}; END; CALL hp()",
    "DROP PROCEDURE IF EXISTS hp; CREATE PROCEDURE hp() {k}; CALL hp()",
    "DROP PROCEDURE IF EXISTS hp; CREATE PROCEDURE hp() IF 1 THEN {k}; END IF; CALL hp()",
    "PREPARE s FROM '{k}'; EXECUTE s",
    "PREPARE s FROM '{k}; {k}'; EXECUTE s",
    "EXECUTE IMMEDIATE '{k}'",
    "SET STATEMENT max_statement_time = 9 FOR {k}",
    "EXPLAIN {k}",
    "ANALYZE {k}",
    "DESCRIBE {k}",
    "{k}, (-1)",
    "WITH c AS (SELECT 1) {k}",
];

const SEPARATORS: &[&[u8]] = &[
    b";", b"; ", b" ;\n", b";;", b"; ;", b";/**/", b"\0;", b";\0", b"", b" ", b";\xa0", b";\xff", b";\x0b", b"\n;\t",
    b";-- \n",
];

/// A random text whose markers are `base` and the numbers after it.
pub(super) fn draw(dice: &mut Dice, flavor: Flavor, base: u64) -> Text {
    let mut writer = Writer { dice, flavor, base, markers: 0, fragments: Vec::new() };
    for number in 0..1 + writer.dice.below(6) {
        if number > 0 {
            let usual = writer.dice.percent(80);
            let separator = if usual { *writer.dice.pick(&SEPARATORS[..2]) } else { *writer.dice.pick(SEPARATORS) };
            writer.put(separator);
        }
        writer.statement();
    }
    if writer.dice.percent(10) {
        let at = writer.dice.below(writer.fragments.len() + 1);
        let bytes = writer.dice.pick(BYTES).to_vec();
        writer.fragments.insert(at, bytes);
    }
    if writer.dice.percent(3) && !writer.fragments.is_empty() {
        let at = writer.dice.below(writer.fragments.len());
        let half = writer.fragments[at].len() / 2;
        writer.fragments[at].truncate(half);
    }
    Text(writer.fragments)
}

struct Writer<'a> {
    dice: &'a mut Dice,
    flavor: Flavor,
    base: u64,
    markers: u64,
    fragments: Vec<Fragment>,
}

impl Writer<'_> {
    /// Adds a fragment, with a marker in each place for one.
    fn put(&mut self, fragment: &[u8]) {
        let mut parts = Vec::new();
        let mut rest = fragment;
        while let Some(at) = rest.windows(3).position(|window| window == b"{k}") {
            parts.extend_from_slice(&rest[..at]);
            parts.extend_from_slice(self.marker().as_bytes());
            rest = &rest[at + 3..];
        }
        parts.extend_from_slice(rest);
        self.fragments.push(parts);
    }

    fn marker(&mut self) -> String {
        let number = self.base + self.markers.min(MARKERS - 1);
        self.markers += 1;
        let word = *self.dice.pick(&[
            "INSERT INTO trace VALUES",
            "INSERT INTO trace VALUES",
            "REPLACE trace VALUES",
            "insert/**/into trace values",
        ]);
        format!("{word} ({number})")
    }

    fn statement(&mut self) {
        if self.dice.percent(10) {
            self.comment();
        }
        match self.dice.below(100) {
            0..25 => self.switch(),
            25..65 => self.hide(),
            65..75 => self.put(b"{k}"),
            75..90 => self.line(PLAIN),
            _ => self.line(BROKEN),
        }
        if self.dice.percent(15) {
            self.comment();
        }
    }

    /// What changes how the rest is read.
    fn switch(&mut self) {
        let modes = if self.flavor == Flavor::MariaDb && self.dice.percent(20) { MODES_OF_MARIADB } else { MODES };
        let mode = *self.dice.pick(modes);
        // gb18030 is MySQL's.
        let own = self.flavor == Flavor::MySql && self.dice.percent(15);
        let charset = if own { "gb18030" } else { *self.dice.pick(CHARSETS) };
        let ways = if self.dice.percent(55) { SET_MODE } else { SET_CHARSET };
        let line = self.of_flavor(ways).replace("{m}", mode).replace("{c}", charset);
        // Each statement is a fragment of its own.
        for (number, statement) in line.split("; ").enumerate() {
            if number > 0 {
                self.put(b"; ");
            }
            self.put(statement.as_bytes());
        }
    }

    /// A query with quotes in which something else may be hidden.
    fn hide(&mut self) {
        let quote = *self.dice.pick(b"''\"`");
        self.put(b"SELECT ");
        if self.dice.percent(20) {
            self.bytes();
        }
        if quote == b'`' {
            self.put(b"1 AS ");
        }
        self.put(&[quote]);
        self.bytes();
        self.put(&[quote]);
        if self.dice.percent(20) {
            self.comment();
        }
        self.put(b"; ");
        self.put(b"{k}");
        match self.dice.below(6) {
            0 | 1 => self.put(&[b" -- ", &[quote][..]].concat()),
            2 => self.put(&[b" #", &[quote][..]].concat()),
            3 => self.put(&[&b" /* "[..], &[quote], b" */"].concat()),
            4 => self.put(&[&b"; SELECT 2 AS x, "[..], &[quote, b'z', quote]].concat()),
            _ => {}
        }
    }

    fn bytes(&mut self) {
        for _ in 0..1 + self.dice.below(3) {
            let bytes = *self.dice.pick(BYTES);
            self.put(bytes);
        }
    }

    fn comment(&mut self) {
        let comment = *self.dice.pick(COMMENTS);
        self.put(b" ");
        self.put(comment);
        self.put(b" ");
    }

    fn line(&mut self, lines: &[&'static str]) {
        let line = self.of_flavor(lines);
        self.put(line.as_bytes());
    }

    /// A line, of those that this server has.
    fn of_flavor(&mut self, lines: &[&'static str]) -> &'static str {
        loop {
            let line: &&'static str = self.dice.pick(lines);
            if let Some(line) = for_flavor(line, self.flavor) {
                return line;
            }
        }
    }
}

/// Bytes as a person reads them.
pub(super) fn shown(bytes: &[u8]) -> String {
    format!("b\"{}\"", bytes.escape_ascii())
}
