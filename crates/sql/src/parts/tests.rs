use super::{First, are_read_alike, first_statement, trimmed, trimmed_start};
use crate::{Dialect, LeadBytes, LexMode};

const MYSQL: LexMode = LexMode {
    ansi_quotes: false,
    no_backslash_escapes: false,
    pipes_as_concat: false,
    high_not_precedence: false,
    ignore_space: false,
    lead_bytes: LeadBytes::None,
    dialect: Dialect::MySql,
    version: 0,
};
const MARIADB: LexMode = LexMode { dialect: Dialect::MariaDb, ..MYSQL };

fn first(sql: &[u8], mode: LexMode) -> Option<String> {
    match first_statement(sql, mode) {
        First::Ends(end) => Some(String::from_utf8_lossy(&sql[..end]).into_owned()),
        First::Unknown => None,
    }
}

#[test]
fn the_first_statement_ends_where_the_server_ends_it() {
    let cases: [(&str, &str); 18] = [
        ("SELECT 1; SELECT 2", "SELECT 1"),
        ("SELECT ';'; SELECT 2", "SELECT ';'"),
        ("SELECT 1", "SELECT 1"),
        ("xyzzy ';' `;` /*;*/ ; SELECT 2", "xyzzy ';' `;` /*;*/ "),
        (
            "CREATE PROCEDURE p() BEGIN SELECT 1; SELECT 2; END; SELECT 3",
            "CREATE PROCEDURE p() BEGIN SELECT 1; SELECT 2; END",
        ),
        ("SELECT 1 /*!80000 + 1 */; SELECT 2", "SELECT 1 /*!80000 + 1 */"),
        (
            "SET sql_mode = 'NO_BACKSLASH_ESCAPES'; SELECT '\\'; DELETE FROM vic -- '",
            "SET sql_mode = 'NO_BACKSLASH_ESCAPES'",
        ),
        ("SELECT '\\'; DELETE FROM vic -- '", "SELECT '\\'; DELETE FROM vic -- '"),
        ("KILL 1; SELECT 2", "KILL 1"),
        ("SELECT 1 --", "SELECT 1 --"),
        ("SELECT '--'; SELECT 2", "SELECT '--'"),
        ("BEGIN; /* open", "BEGIN"),
        ("SET @a = 1; 'open", "SET @a = 1"),
        ("SET @a = 1; $$ SELECT 1 $$", "SET @a = 1"),
        ("SELECT 1; /*!99999 ; SELECT /**/ 2 */", "SELECT 1"),
        ("SELECT 1; /*!99999 SELECT 2 */ /*!99998 SELECT 3 */", "SELECT 1"),
        ("-- ;\nSELECT 1; x", "-- ;\nSELECT 1"),
        ("", ""),
    ];
    for (sql, expected) in cases {
        for mode in [MYSQL, MARIADB] {
            assert_eq!(first(sql.as_bytes(), mode).as_deref(), Some(expected), "{sql}");
        }
    }
    let escapes = LexMode { no_backslash_escapes: true, ..MARIADB };
    assert_eq!(first(b"SELECT '\\'; DELETE FROM vic -- '", escapes).as_deref(), Some("SELECT '\\'"));
    let block = "BEGIN NOT ATOMIC SELECT 1; SELECT 2; END; SELECT 3";
    assert_eq!(first(block.as_bytes(), MARIADB).as_deref(), Some("BEGIN NOT ATOMIC SELECT 1; SELECT 2; END"));
}

#[test]
fn what_is_not_certain_is_unknown() {
    let cases = [
        // Run, the comment ends behind the string; skipped, within it.
        "SELECT 1 /*!99998 '*/; DELETE FROM vic; #' */",
        "SELECT 1 /*!99998 ; DELETE FROM vic */",
        "SELECT 1 /*!999999 x /*/ ; DELETE FROM vic /*/",
        "SELECT 1 /*!99998 */ /*!99997 */; SELECT 2",
        "CREATE PROCEDURE p() xyzzy; SELECT 2; END",
        "SELECT 'open; SELECT 2",
        "ALTER xyzzy; SELECT 1",
        "; SELECT 1",
        "/* nothing */; SELECT 1",
        "SELECT 1\0; SELECT 2",
        "SELECT 1 /*!50000 ; SELECT 2 */",
        // A comment at a text's end, and two signs here.
        "SELECT 1 --; SELECT 2",
        "--; SELECT 2\n",
    ];
    for sql in cases {
        assert_eq!(first(sql.as_bytes(), MYSQL), None, "{sql}");
    }
    assert_eq!(first(b"<<l>> BEGIN SELECT 1; END; SELECT 2", MARIADB), None);
    let swe7 = LexMode { lead_bytes: LeadBytes::of_charset("swe7"), ..MARIADB };
    assert_eq!(first(b"SELECT 1 ~ 2; SELECT 3", swe7), None);
}

#[test]
fn a_zero_byte_in_the_last_place_belongs_to_the_last_statement() {
    assert_eq!(first_statement(b"SELECT 1\0", MYSQL), First::Ends(9));
    assert_eq!(first_statement(b"SELECT 1; SELECT 2\0", MYSQL), First::Ends(8));
    assert_eq!(first_statement(b"xyzzy 1 \0", MYSQL), First::Ends(9));
}

#[test]
fn a_space_of_the_client_s_character_set_is_one() {
    let latin1 = LexMode { lead_bytes: LeadBytes::of_charset("latin1"), ..MYSQL };
    let hidden = b"SELECT 1 --\xA0 '\n; DELETE FROM vic -- '";
    assert_eq!(first_statement(hidden, latin1), First::Ends(15));
    assert_eq!(first_statement(hidden, MYSQL), First::Ends(hidden.len()));
    assert_eq!(trimmed(b"SELECT 1; \xA0;", latin1), b"SELECT 1");
    assert_eq!(trimmed_start(b"\xA0 SELECT 1", latin1), b"SELECT 1");
}

#[test]
fn only_the_last_statement_may_change_how_texts_are_read() {
    let cases = [
        ("SELECT 1; SELECT 2", true),
        ("BEGIN; INSERT INTO t VALUES (1); COMMIT", true),
        ("SET @a = 1; SELECT @a", true),
        ("SET autocommit = 0; SELECT 1; SET sql_mode = ''", true),
        ("SET sql_mode = ''; SELECT 1", false),
        ("SET NAMES gbk; SELECT 1", false),
        ("SET GLOBAL sql_mode = ''; SELECT 1", true),
        ("SET session_track_system_variables = ''; SELECT 1", false),
        ("CALL p(); SELECT 1", false),
        ("SELECT 1; CALL p()", true),
        ("EXECUTE s; SELECT 1", false),
        ("EXECUTE IMMEDIATE 'x'; SELECT 1", false),
        ("SET STATEMENT sql_mode = '' FOR SELECT 1; SELECT 1", false),
        ("BEGIN NOT ATOMIC SELECT 1; END; SELECT 1", false),
        ("SELECT 1; KILL 1", false),
        ("SELECT 1; SHOW PROCESSLIST", false),
        ("SELECT 1; WEIR SHOW SERVERS", false),
        ("SELECT 1; BATCH LIMIT 5 DELETE FROM t", false),
        ("SELECT 1; xyzzy", false),
        ("SELECT 1 /*!101102 + 1 */; SELECT 2", false),
        ("SELECT 1;; SELECT 2", false),
        ("SELECT 1; SELECT 2; -- x", true),
        ("SELECT 1; -- x", false),
        ("BEGIN; /* x */", false),
    ];
    for (sql, alike) in cases {
        assert_eq!(are_read_alike(sql.as_bytes(), MARIADB), alike, "{sql}");
    }
}
