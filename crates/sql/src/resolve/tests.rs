//! Statements, the tables that they name, and to which of them their columns can belong.

use bumpalo::Bump;

use super::{ColumnRole, Columns, Context, Resolved, Roles, Source, SourceKind, resolve};
use crate::mode::{Dialect, LexMode};
use crate::parse::parse;

/// The sources of a statement, then its columns, as people read them.
fn resolved(sql: &str, context: &Context<'_>) -> (String, String) {
    let arena = Bump::new();
    let mode = LexMode { dialect: context.dialect, ..LexMode::default() };
    let parsed = parse(&arena, sql.as_bytes(), mode).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let [statement] = parsed.statements else { panic!("{sql}: one statement was expected") };
    let resolved = resolve(statement, context);
    let tables: Vec<String> = resolved.sources.iter().filter_map(table).collect();
    let columns: Vec<String> = (0..resolved.columns.len()).map(|at| column(&resolved, at)).collect();
    (tables.join(", "), columns.join(", "))
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("test statements are text")
}

/// `db.t=alias roles`.
fn table(source: &Source<'_>) -> Option<String> {
    let SourceKind::Table(table) = source.kind else { return None };
    let alias = source.alias.map(|alias| format!("={}", text(alias.name))).unwrap_or_default();
    let database = table.database.map(|database| format!("{}.", text(database))).unwrap_or_default();
    let roles: Vec<String> = table.roles.iter_names().map(|(name, _)| name.to_ascii_lowercase()).collect();
    Some(format!("{database}{}{alias} {}", text(table.name), roles.join("+")))
}

/// `column>source|source`, `:=` before the name of one that is written, `~` after one that may be an item's alias.
fn column(resolved: &Resolved<'_>, at: usize) -> String {
    let column = &resolved.columns[at];
    let sources: Vec<String> = column.sources.iter().map(|source| called(&resolved.sources[*source])).collect();
    let role = match column.role {
        ColumnRole::Read => "",
        ColumnRole::Written => ":=",
        ColumnRole::Joined => "using ",
    };
    let item = if column.item.is_some() { "~" } else { "" };
    format!("{role}{}{item}>{}", text(column.name.name.name), sources.join("|"))
}

fn called(source: &Source<'_>) -> String {
    let own = match source.kind {
        SourceKind::Table(table) => text(table.name),
        SourceKind::Common(table) => return format!("with:{}", text(table.name.name)),
        SourceKind::Derived(_) => "",
        SourceKind::JsonTable(table) => table.alias.map_or("", |alias| text(alias.name)),
        SourceKind::NewRow(row) => text(row.name.name),
    };
    source.alias.map_or(own, |alias| text(alias.name)).to_owned()
}

fn check(cases: &[(&str, &str, &str)]) {
    let context = Context::of_database(b"d");
    for (sql, tables, columns) in cases {
        assert_eq!(resolved(sql, &context), (tables.to_string(), columns.to_string()), "{sql}");
    }
}

#[test]
fn tables_and_aliases() {
    check(&[
        ("SELECT a FROM t", "d.t read", "a>t"),
        ("SELECT t.a FROM x.t", "x.t read", "a>t"),
        ("SELECT x.t.a, y.t.a FROM x.t, y.t", "x.t read, y.t read", "a>t, a>t"),
        ("SELECT t.a FROM x.t, y.t", "x.t read, y.t read", "a>t|t"),
        ("SELECT u.a, t.b FROM t AS u", "d.t=u read", "a>u, b>"),
        ("SELECT a FROM t, u", "d.t read, d.u read", "a>t|u"),
        ("SELECT t.a, u.b FROM t JOIN u ON t.id = u.id", "d.t read, d.u read", "a>t, b>u, id>t, id>u"),
        ("SELECT 1 FROM t JOIN u USING (id)", "d.t read, d.u read", "using id>t|u"),
        ("SELECT * FROM t, u JOIN v ON a = b", "d.t read, d.u read, d.v read", "a>u|v, b>u|v"),
        ("SELECT 1", "", ""),
        ("SELECT a", "", "a>"),
        ("TABLE t ORDER BY a", "d.t read", "a>t"),
        ("SELECT a FROM t UNION SELECT b FROM u ORDER BY a", "d.t read, d.u read", "a>t, b>u, a>"),
        ("(SELECT a FROM t) ORDER BY b", "d.t read", "a>t, b>t"),
    ]);
}

#[test]
fn subqueries_see_what_is_around_them() {
    check(&[
        ("SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.x = t.x)", "d.t read, d.u read", "a>t, x>u, x>t"),
        ("SELECT a FROM t WHERE b IN (SELECT c FROM u)", "d.t read, d.u read", "a>t, b>t, c>u|t"),
        ("SELECT d.a FROM (SELECT a FROM t) AS d", "d.t read", "a>d, a>t"),
        ("SELECT a FROM (SELECT a FROM t) AS d, u", "d.u read, d.t read", "a>d, a>t"),
        ("SELECT 1 FROM t, (SELECT t.a) AS d", "d.t read", "a>"),
        ("SELECT 1 FROM t, LATERAL (SELECT t.a) AS d, u", "d.t read, d.u read", "a>t"),
        ("SELECT 1 FROM t, LATERAL (SELECT u.a) AS d, u", "d.t read, d.u read", "a>"),
        ("SELECT (SELECT t.a FROM u AS t) FROM t", "d.t read, d.u=t read", "a>t|t"),
    ]);
}

#[test]
fn common_tables_hide_tables() {
    check(&[
        ("WITH x AS (SELECT a FROM t) SELECT a FROM x", "d.t read", "a>t, a>with:x"),
        ("WITH t AS (SELECT a FROM t) SELECT a FROM t", "d.t read", "a>t, a>with:t"),
        ("WITH x AS (SELECT 1 AS a) SELECT a FROM d.x", "d.x read", "a>x"),
        ("WITH RECURSIVE x AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM x) SELECT a FROM x", "", "a>with:x, a>with:x"),
        ("WITH x AS (SELECT 1 FROM y), y AS (SELECT 1 FROM x) SELECT 1 FROM y", "d.y read", ""),
        ("WITH x AS (SELECT 1) SELECT 1 FROM (WITH x AS (SELECT 1 FROM x) SELECT 1 FROM x) AS d, x", "", ""),
        ("SELECT 1 FROM (WITH x AS (SELECT 1) SELECT 1 FROM x) AS d, x", "d.x read", ""),
        ("WITH x AS (SELECT 1) SELECT 1 FROM u WHERE a IN (SELECT 1 FROM x)", "d.u read", "a>u"),
        ("INSERT INTO t WITH x AS (SELECT 1) SELECT * FROM x", "d.t written", ""),
        ("INSERT INTO x WITH x AS (SELECT 1) SELECT * FROM x", "d.x written", ""),
    ]);
    let mutual = "WITH RECURSIVE x AS (SELECT 1 FROM y), y AS (SELECT 1 FROM x) SELECT 1 FROM y";
    let mariadb = Context { dialect: Dialect::MariaDb, ..Context::of_database(b"d") };
    assert_eq!(resolved(mutual, &mariadb).0, "");
    let mysql = Context { dialect: Dialect::MySql, ..Context::of_database(b"d") };
    assert_eq!(resolved(mutual, &mysql).0, "d.y read");
}

#[test]
fn aliases_of_the_select_list_are_known_after_it() {
    check(&[
        ("SELECT a AS b FROM t ORDER BY b", "d.t read", "a>t, b~>"),
        ("SELECT a AS b FROM t ORDER BY b + 1", "d.t read", "a>t, b~>t"),
        ("SELECT a AS b FROM t GROUP BY b HAVING b > 1", "d.t read", "a>t, b~>t, b~>t"),
        ("SELECT a AS b FROM t WHERE b = 1", "d.t read", "a>t, b>t"),
        ("SELECT a AS b FROM t ORDER BY t.b", "d.t read", "a>t, b>t"),
        ("SELECT a AS a FROM t ORDER BY a", "d.t read", "a>t, a>t"),
        ("SELECT a AS b FROM t UNION SELECT c FROM u ORDER BY b", "d.t read, d.u read", "a>t, c>u, b~>"),
    ]);
}

#[test]
fn changes_say_what_they_write() {
    check(&[
        ("INSERT INTO t (a, b) VALUES (1, 2)", "d.t written", ":=a>t, :=b>t"),
        ("INSERT INTO t (a) SELECT a FROM u", "d.t written, d.u read", ":=a>t, a>u"),
        (
            "INSERT INTO t (a) SELECT b FROM u ON DUPLICATE KEY UPDATE a = VALUES(a) + u.c",
            "d.t written, d.u read",
            ":=a>t, b>u, :=a>t, a>t, c>u",
        ),
        (
            "INSERT INTO t VALUES (1) AS new ON DUPLICATE KEY UPDATE a = new.a + b",
            "d.t read+written",
            ":=a>t, a>new, b>t",
        ),
        ("REPLACE INTO t SET a = 1", "d.t written", ":=a>t"),
        ("UPDATE t SET a = b WHERE c = 1", "d.t read+written", ":=a>t, b>t, c>t"),
        ("UPDATE t AS x, u AS y SET x.a = y.a", "d.t=x read+written, d.u=y read", ":=a>x, a>y"),
        ("UPDATE t, u SET a = 1", "d.t read+maybe_written, d.u read+maybe_written", ":=a>t|u"),
        ("UPDATE t, (SELECT 1 AS x) AS s SET a = x", "d.t read+written", ":=a>t, x>s"),
        ("DELETE FROM t WHERE a = 1", "d.t read+written", "a>t"),
        ("DELETE x FROM t AS x JOIN u ON x.a = u.a", "d.t=x read+written, d.u read", "a>x, a>u"),
        ("DELETE FROM t, d.u USING t, u, v", "d.t read+written, d.u read+written, d.v read", ""),
        ("WITH x AS (SELECT 1 AS a) DELETE FROM t WHERE a IN (SELECT a FROM x)", "d.t read+written", "a>t, a>with:x"),
    ]);
}

#[test]
fn locks_say_which_tables_they_lock() {
    check(&[
        ("LOCK TABLES t READ, x.u AS v WRITE", "d.t locked_update, x.u locked_update", ""),
        ("SELECT 1 FROM t FOR UPDATE", "d.t read+locked_update", ""),
        ("SELECT 1 FROM t LOCK IN SHARE MODE", "d.t read+locked_share", ""),
        ("SELECT 1 FROM t AS x, u FOR SHARE OF x", "d.t=x read+locked_share, d.u read", ""),
        ("SELECT 1 FROM t WHERE a IN (SELECT 1 FROM u) FOR UPDATE", "d.t read+locked_update, d.u read", "a>t"),
        ("SELECT 1 FROM t WHERE a IN (SELECT 1 FROM u FOR UPDATE)", "d.t read, d.u read+locked_update", "a>t"),
    ]);
}

#[test]
fn a_catalog_decides_between_tables() {
    struct Catalog;
    impl Columns for Catalog {
        fn has(&self, _: Option<&[u8]>, table: &[u8], column: &[u8]) -> Option<bool> {
            (table != b"unknown").then(|| table == b"t" && column == b"a" || table == b"u" && column == b"b")
        }
    }
    let context = Context { columns: &Catalog, ..Context::of_database(b"d") };
    for (sql, columns) in [
        ("SELECT a, b FROM t, u", "a>t, b>u"),
        ("SELECT c FROM t, u", "c>"),
        ("SELECT c, a FROM t, unknown", "c>unknown, a>t"),
        ("SELECT 1 FROM t WHERE EXISTS (SELECT a FROM u)", "a>t"),
        ("SELECT b AS a FROM t, u GROUP BY a", "b>u, a~>t"),
        ("SELECT 1 FROM t WHERE EXISTS (SELECT t.a, t.b FROM u AS t)", "a>t, b>t"),
        ("SELECT 1 FROM t WHERE EXISTS (SELECT t.c FROM u AS t)", "c>"),
        ("SELECT 1 FROM t WHERE EXISTS (SELECT t.a FROM unknown AS t)", "a>t|t"),
    ] {
        assert_eq!(resolved(sql, &context).1, columns, "{sql}");
    }
}

#[test]
fn names_of_other_case_are_other_tables_where_servers_say_so() {
    let sql = "WITH x AS (SELECT 1) SELECT T.a FROM t, X";
    let exact = Context { dialect: Dialect::MySql, ..Context::of_database(b"d") };
    assert_eq!(resolved(sql, &exact), ("d.t read, d.X read".to_owned(), "a>".to_owned()));
    let folded = Context { fold_case: true, ..exact };
    assert_eq!(resolved(sql, &folded), ("d.t read".to_owned(), "a>t".to_owned()));
}

#[test]
fn long_joins_and_chains_are_resolved_without_recursion() {
    let joins = format!("SELECT 1 FROM t{}", " JOIN t ON 1".repeat(20_000));
    let chain = format!("SELECT 1 FROM t WHERE a = 1{}", " OR a = 1".repeat(20_000));
    let context = Context::of_database(b"d");
    let arena = Bump::new();
    for (sql, tables, columns) in [(joins, 20_001, 0), (chain, 1, 20_001)] {
        let parsed = parse(&arena, sql.as_bytes(), LexMode::default()).expect("it is read");
        let resolved = resolve(&parsed.statements[0], &context);
        assert_eq!((resolved.tables().count(), resolved.columns.len()), (tables, columns));
        assert!(resolved.tables().all(|(_, table)| table.roles == Roles::READ));
    }
}
