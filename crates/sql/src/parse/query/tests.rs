//! What queries mean, written with all parentheses.

use std::fmt::Write;

use bumpalo::Bump;

use crate::ast::{
    CompoundTerm, ExprKind, Grouping, IndexHintKind, IndexHintScope, JoinKind, JsonColumnKind, JsonResponse,
    PeriodKind, Query, QueryBody, Select, SelectItemKind, SetOp, Span, TableRef, TableRefKind,
};
use crate::mode::{Dialect, LexMode};
use crate::parse::{parse, parse_query, parse_table_reference};

/// A query with its combinations and joins in brackets: what the tree says about the text.
struct Shape<'s> {
    sql: &'s str,
    out: String,
}

impl<'s> Shape<'s> {
    fn text(&self, span: Span) -> &'s str {
        &self.sql[span.range()]
    }

    fn query(&mut self, query: &Query<'_>) {
        if let Some(with) = query.with {
            for table in with.tables {
                let _ = write!(self.out, "{}=", self.text(table.name.span));
                self.query(table.query);
                self.out.push(' ');
            }
        }
        self.body(&query.body);
        for item in query.order_by {
            let text = self.text(item.span);
            let _ = write!(self.out, " by:{text}");
        }
        if let Some(limit) = query.limit {
            let part = |part: Option<crate::ast::Expr<'_>>| part.map_or("-", |part| &self.sql[part.span.range()]);
            let text = format!(" limit:{}/{}", part(limit.offset), part(limit.count));
            self.out.push_str(&text);
        }
        if let Some(into) = query.into {
            let text = format!(" {}", self.text(into.span));
            self.out.push_str(&text);
        }
        for lock in query.locks {
            let text = format!(" {}", self.text(lock.span));
            self.out.push_str(&text);
        }
    }

    fn body(&mut self, body: &QueryBody<'_>) {
        match body {
            QueryBody::Select(select) => {
                self.out.push('S');
                for item in select.items {
                    let text = match item.kind {
                        SelectItemKind::Star => "*".to_owned(),
                        SelectItemKind::TableStar(name) => format!("{}.*", self.text(name.span)),
                        SelectItemKind::Expr(expr, None) => self.text(expr.span).to_owned(),
                        SelectItemKind::Expr(expr, Some(alias)) => {
                            format!("{}={}", String::from_utf8_lossy(alias.name), self.text(expr.span))
                        }
                    };
                    let _ = write!(self.out, " {text}");
                }
                if let Some(into) = select.into {
                    let text = format!(" {}", self.text(into.span));
                    self.out.push_str(&text);
                }
                if !select.from.is_empty() {
                    self.out.push_str(" from ");
                    self.tables(select.from);
                }
            }
            QueryBody::Values(values) => {
                let _ = write!(self.out, "V{}", values.rows.len());
            }
            QueryBody::Table(table) => {
                let text = self.text(table.name.span);
                let _ = write!(self.out, "T {text}");
            }
            QueryBody::Compound(compound) => {
                self.out.push('[');
                self.body(&compound.first);
                for term in compound.rest {
                    self.term(term);
                }
                self.out.push(']');
            }
            QueryBody::Nested(query) => {
                self.out.push('(');
                self.query(query);
                self.out.push(')');
            }
        }
    }

    fn term(&mut self, term: &CompoundTerm<'_>) {
        let op = match term.op {
            SetOp::Union => "UNION",
            SetOp::Except => "EXCEPT",
            SetOp::Intersect => "INTERSECT",
        };
        let _ = write!(self.out, " {op}{} ", if term.all { "+" } else { "" });
        self.body(&term.body);
    }

    fn tables(&mut self, tables: &[TableRef<'_>]) {
        for (at, table) in tables.iter().enumerate() {
            self.out.push_str(if at > 0 { ", " } else { "" });
            self.table(table);
        }
    }

    fn table(&mut self, table: &TableRef<'_>) {
        match &table.kind {
            TableRefKind::Table(named) => {
                let text = self.text(named.name.span);
                self.out.push_str(text);
                if let Some(alias) = named.alias {
                    let _ = write!(self.out, "={}", String::from_utf8_lossy(alias.name));
                }
            }
            TableRefKind::Derived(derived) => {
                self.out.push_str(if derived.lateral { "lateral{" } else { "{" });
                self.query(derived.query);
                self.out.push('}');
                if let Some(alias) = derived.alias {
                    let _ = write!(self.out, "={}", String::from_utf8_lossy(alias.name));
                }
            }
            TableRefKind::JsonTable(_) => self.out.push_str("json"),
            TableRefKind::Join(join) => {
                self.out.push('[');
                self.table(&join.left);
                let kind = match join.kind {
                    JoinKind::Inner => "J",
                    JoinKind::Straight => "SJ",
                    JoinKind::Left => "LJ",
                    JoinKind::Right => "RJ",
                };
                let _ = write!(self.out, " {}{kind} ", if join.natural { "N" } else { "" });
                self.table(&join.right);
                if let Some(on) = join.on {
                    let text = self.text(on.span);
                    let _ = write!(self.out, " on {text}");
                }
                if !join.using.is_empty() {
                    let _ = write!(self.out, " using {}", join.using.len());
                }
                self.out.push(']');
            }
            TableRefKind::Nested(tables) => {
                self.out.push('(');
                self.tables(tables);
                self.out.push(')');
            }
            TableRefKind::Odbc(table) => {
                self.out.push_str("oj ");
                self.table(table);
            }
        }
    }
}

fn mode(dialect: Dialect) -> LexMode {
    LexMode { dialect, ..LexMode::default() }
}

fn shape_in(dialect: Dialect, sql: &str) -> String {
    let arena = Bump::new();
    match parse_query(&arena, sql.as_bytes(), mode(dialect)) {
        Ok(query) => {
            assert_eq!(query.span.text(sql.as_bytes()), sql.as_bytes(), "the span of {sql}");
            let mut shape = Shape { sql, out: String::new() };
            shape.query(&query);
            shape.out
        }
        Err(error) => format!("no: {}", &sql[error.span.start as usize..]),
    }
}

fn shape(sql: &str) -> String {
    shape_in(Dialect::Either, sql)
}

fn tables(sql: &str) -> String {
    let arena = Bump::new();
    match parse_table_reference(&arena, sql.as_bytes(), LexMode::default()) {
        Ok(table) => {
            assert_eq!(table.span.text(sql.as_bytes()), sql.as_bytes(), "the span of {sql}");
            let mut shape = Shape { sql, out: String::new() };
            shape.table(&table);
            shape.out
        }
        Err(error) => format!("no: {}", &sql[error.span.start as usize..]),
    }
}

#[test]
fn queries_combine_as_the_servers_combine_them() {
    let cases = [
        ("SELECT 1 UNION SELECT 2", "[S 1 UNION S 2]"),
        ("SELECT 1 UNION ALL SELECT 2 EXCEPT SELECT 3", "[S 1 UNION+ S 2 EXCEPT S 3]"),
        (
            "SELECT 1 UNION SELECT 2 INTERSECT SELECT 3 UNION DISTINCT SELECT 4",
            "[S 1 UNION [S 2 INTERSECT S 3] UNION S 4]",
        ),
        ("SELECT 1 INTERSECT ALL SELECT 2", "[S 1 INTERSECT+ S 2]"),
        ("SELECT 1 MINUS SELECT 2", "[S 1 EXCEPT S 2]"),
        ("SELECT 1 UNION SELECT 2 ORDER BY 1 LIMIT 5", "[S 1 UNION S 2] by:1 limit:-/5"),
        ("SELECT 1 UNION (SELECT 2 ORDER BY 1)", "[S 1 UNION (S 2 by:1)]"),
        ("((SELECT 1)) UNION (SELECT 2) ORDER BY 1 LIMIT 1", "[((S 1)) UNION (S 2)] by:1 limit:-/1"),
        ("((SELECT 1) LIMIT 1) LIMIT 2", "((S 1) limit:-/1) limit:-/2"),
        ("(SELECT 1)", "(S 1)"),
        ("(SELECT 1) FOR UPDATE", "(S 1) FOR UPDATE"),
        ("WITH x AS (SELECT 1) (SELECT a FROM x) UNION SELECT 2", "x=S 1 [(S a from x) UNION S 2]"),
        ("VALUES ROW(1, 2), ROW(3, 4) LIMIT 1", "V2 limit:-/1"),
        ("VALUES (1), (2) UNION SELECT 3", "[V2 UNION S 3]"),
        ("SELECT 1 UNION TABLE t", "[S 1 UNION T t]"),
        ("TABLE db.t ORDER BY a", "T db.t by:a"),
        ("SELECT 1 LIMIT 1 UNION SELECT 2", "no: UNION SELECT 2"),
        ("SELECT 1 UNION WITH x AS (SELECT 1) SELECT 1", "no: WITH x AS (SELECT 1) SELECT 1"),
        ("(SELECT 1", "no: "),
    ];
    for (sql, expected) in cases {
        assert_eq!(shape(sql), expected, "{sql}");
    }
}

#[test]
fn joins_associate_as_on_the_servers() {
    let cases = [
        ("a JOIN b", "[a J b]"),
        ("a JOIN b JOIN c", "[[a J b] J c]"),
        ("a JOIN b JOIN c ON 1 ON 2", "[a J [b J c on 1] on 2]"),
        ("a JOIN b JOIN c ON 1", "[[a J b] J c on 1]"),
        ("a JOIN b ON 1 JOIN c ON 2", "[[a J b on 1] J c on 2]"),
        ("a LEFT JOIN b JOIN c ON 1 ON 2", "[a LJ [b J c on 1] on 2]"),
        ("a JOIN b LEFT JOIN c ON 1", "[[a J b] LJ c on 1]"),
        ("a JOIN b LEFT OUTER JOIN c USING (x, y)", "[[a J b] LJ c using 2]"),
        ("a JOIN b JOIN c ON 1 JOIN d", "[[[a J b] J c on 1] J d]"),
        ("a JOIN b JOIN c JOIN d ON 1 ON 2", "[[a J b] J [c J d on 1] on 2]"),
        ("a JOIN b NATURAL JOIN c ON 1", "[a J [b NJ c] on 1]"),
        ("a LEFT JOIN b NATURAL RIGHT JOIN c ON 1", "[a LJ [b NRJ c] on 1]"),
        ("a STRAIGHT_JOIN b CROSS JOIN c", "[[a SJ b] J c]"),
        ("(a, b) JOIN c", "[(a, b) J c]"),
        ("a JOIN (b JOIN c) ON 1", "[a J ([b J c]) on 1]"),
        ("a full JOIN b", "[a=full J b]"),
        ("{OJ a LEFT JOIN b ON 1}", "oj [a LJ b on 1]"),
        ("a LEFT JOIN b JOIN c ON 1", "no: "),
        ("a LEFT JOIN b", "no: "),
        ("a NATURAL JOIN b ON 1", "no: ON 1"),
        ("a NATURAL CROSS JOIN b", "no: CROSS JOIN b"),
        ("a x FULL JOIN b ON 1", "no: FULL JOIN b ON 1"),
    ];
    for (sql, expected) in cases {
        assert_eq!(tables(sql), expected, "{sql}");
    }
}

#[test]
fn parentheses_in_from_hold_tables_or_a_query() {
    let cases = [
        ("(a)", "(a)"),
        ("((a x, b))", "((a=x, b))"),
        ("(SELECT 1) x", "{S 1}=x"),
        ("((SELECT 1)) x", "{(S 1)}=x"),
        ("((SELECT 1) x)", "({S 1}=x)"),
        ("((SELECT 1) x, t)", "({S 1}=x, t)"),
        ("((SELECT 1) UNION (SELECT 2)) x", "{[(S 1) UNION (S 2)]}=x"),
        ("(((SELECT 1) UNION SELECT 2) LIMIT 1) AS x", "{([(S 1) UNION S 2]) limit:-/1}=x"),
        ("(((SELECT 1) x) JOIN t)", "([({S 1}=x) J t])"),
        ("(((SELECT 1)) x JOIN t ON 1, u)", "([{(S 1)}=x J t on 1], u)"),
        ("LATERAL (SELECT a) x", "lateral{S a}=x"),
        ("(VALUES (1), (2)) x", "{V2}=x"),
        ("(WITH y AS (SELECT 1) SELECT 2) x", "{y=S 1 S 2}=x"),
        ("(a) x", "no: x"),
        ("((SELECT 1) + 1) x", "no: + 1) x"),
    ];
    for (sql, expected) in cases {
        assert_eq!(tables(sql), expected, "{sql}");
    }
}

#[test]
fn words_that_one_server_reserves_are_aliases_or_begin_clauses() {
    let cases = [
        ("SELECT 1 window", "S window=1"),
        ("SELECT a offset FROM t", "S offset=a from t"),
        ("SELECT a FROM t offset", "S a from t=offset"),
        ("SELECT a FROM t OFFSET 1 ROWS FETCH NEXT 2 ROWS ONLY", "S a from t limit:1/2"),
        ("SELECT a FROM t minus", "S a from t=minus"),
        ("SELECT a FROM t qualify", "S a from t=qualify"),
        ("SELECT a FROM t QUALIFY a", "S a from t"),
        ("SELECT a FROM t LIMIT 1, 2", "S a from t limit:1/2"),
        ("SELECT a 'x y', b `z` FROM t", "S x y=a z=b from t"),
        ("SELECT t.*, db.t.*, t.a FROM t", "S t.* db.t.* t.a from t"),
        ("SELECT *, a FROM t", "S * a from t"),
        ("SELECT a, * FROM t", "no: * FROM t"),
        ("SELECT t.* x FROM t", "no: x FROM t"),
    ];
    for (sql, expected) in cases {
        assert_eq!(shape(sql), expected, "{sql}");
    }
}

#[test]
fn long_chains_and_many_parentheses_are_read() {
    let union = vec!["SELECT 1"; 20_000].join(" UNION ALL ");
    let joins = format!("SELECT 1 FROM {}", vec!["t"; 20_000].join(" JOIN "));
    let nested = format!("{}SELECT 1{}", "(".repeat(400), ")".repeat(400));
    let tables = format!("SELECT 1 FROM {}t{}", "(".repeat(400), ")".repeat(400));
    for sql in [union, joins, nested, tables] {
        let arena = Bump::new();
        assert!(parse(&arena, sql.as_bytes(), LexMode::default()).is_ok(), "{}", &sql[..40]);
    }
}

/// Reads a query that is one SELECT and gives it to a test.
fn with_select(dialect: Dialect, sql: &str, test: impl FnOnce(&Select<'_>, &Query<'_>)) {
    let arena = Bump::new();
    let query = parse_query(&arena, sql.as_bytes(), mode(dialect)).unwrap_or_else(|error| panic!("{sql}: {error}"));
    match query.body {
        QueryBody::Select(select) => test(select, &query),
        other => panic!("{sql}: {other:?}"),
    }
}

#[test]
fn a_hint_belongs_to_the_select_that_it_follows() {
    let sql = "SELECT /*+ A */ (SELECT 1) FROM (SELECT /*+ B */ 2) x";
    with_select(Dialect::Either, sql, |select, _| {
        let hint = |select: &Select<'_>| select.hint.map(|span| &sql[span.range()]);
        assert_eq!(hint(select), Some("/*+ A */"));
        let SelectItemKind::Expr(item, _) = select.items[0].kind else { panic!("{select:?}") };
        let ExprKind::Subquery(Query { body: QueryBody::Select(inner), .. }) = item.kind else { panic!("{item:?}") };
        assert_eq!(hint(inner), None);
        let TableRefKind::Derived(derived) = select.from[0].kind else { panic!("{select:?}") };
        let QueryBody::Select(inner) = derived.query.body else { panic!("{derived:?}") };
        assert_eq!(hint(inner), Some("/*+ B */"));
    });
}

#[test]
fn groups_are_told_apart() {
    let cases = [
        ("SELECT 1 FROM t GROUP BY a, b DESC", Grouping::Plain, 2),
        ("SELECT 1 FROM t GROUP BY a WITH ROLLUP", Grouping::Rollup, 1),
        ("SELECT 1 FROM t GROUP BY ROLLUP (a, b)", Grouping::Rollup, 2),
        ("SELECT 1 FROM t GROUP BY CUBE (a)", Grouping::Cube, 1),
        ("SELECT 1 FROM t GROUP BY GROUPING SETS ((a), (b), (c))", Grouping::Sets, 3),
        ("SELECT 1 FROM t GROUP BY GROUPING SETS ((a, b), (), ())", Grouping::Sets, 3),
        ("SELECT 1 FROM t GROUP BY GROUPING SETS (())", Grouping::Sets, 1),
    ];
    for (sql, grouping, items) in cases {
        with_select(Dialect::Either, sql, |select, _| {
            assert_eq!((select.grouping, select.group_by.len()), (grouping, items), "{sql}");
        });
    }
    // MariaDB looks for a stored function.
    with_select(Dialect::MariaDb, "SELECT 1 FROM t GROUP BY ROLLUP(a), b", |select, _| {
        assert_eq!((select.grouping, select.group_by.len()), (Grouping::Plain, 2));
    });
}

#[test]
fn tables_have_their_clauses() {
    let sql = "SELECT 1 FROM t PARTITION (p0, p1) FOR SYSTEM_TIME BETWEEN a AND b AS x USE INDEX FOR ORDER BY () \
               FORCE KEY (PRIMARY, k) TABLESAMPLE BERNOULLI (5)";
    with_select(Dialect::Either, sql, |select, _| {
        let TableRefKind::Table(table) = select.from[0].kind else { panic!("{select:?}") };
        assert_eq!(table.partitions.len(), 2);
        assert!(table.period.is_some_and(|period| period.kind == PeriodKind::Between && period.bounds.len() == 2));
        assert!(table.alias.is_some_and(|alias| alias.is("x")));
        let hints: Vec<_> = table.index_hints.iter().map(|hint| (hint.kind, hint.scope, hint.names.len())).collect();
        let expected =
            [(IndexHintKind::Use, IndexHintScope::OrderBy, 0), (IndexHintKind::Force, IndexHintScope::All, 2)];
        assert_eq!(hints, expected);
        assert!(table.sample.is_some_and(|sample| sample.bernoulli));
    });
    assert_eq!(shape("SELECT 1 FROM t FORCE INDEX ()"), "no: )");
    assert_eq!(shape("SELECT 1 FROM t AS x PARTITION (p)"), "no: PARTITION (p)");
}

#[test]
fn json_tables_have_columns_of_all_kinds() {
    let sql = "SELECT 1 FROM JSON_TABLE(d, '$[*]' COLUMNS (n FOR ORDINALITY, v INT PATH '$.v' NULL ON EMPTY DEFAULT '1' \
               ON ERROR, e INT EXISTS PATH '$', nested INT PATH '$', NESTED PATH '$.x' COLUMNS (i INT PATH '$'))) AS j";
    with_select(Dialect::Either, sql, |select, _| {
        let TableRefKind::JsonTable(table) = select.from[0].kind else { panic!("{select:?}") };
        assert_eq!(&sql[table.path.range()], "'$[*]'");
        let [ordinality, value, exists, name, inner] = table.columns else { panic!("{table:?}") };
        assert!(matches!(ordinality.kind, JsonColumnKind::Ordinality(column) if column.is("n")));
        let JsonColumnKind::Value(value) = value.kind else { panic!("{value:?}") };
        assert_eq!(value.on_empty, Some(JsonResponse::Null));
        assert!(matches!(value.on_error, Some(JsonResponse::Default(_))));
        assert!(matches!(exists.kind, JsonColumnKind::Value(column) if column.exists));
        assert!(matches!(name.kind, JsonColumnKind::Value(column) if column.name.is("nested")));
        assert!(matches!(inner.kind, JsonColumnKind::Nested(_, [_])));
    });
    for collation in ["utf8mb4_bin", "DEFAULT"] {
        let sql = format!(
            "SELECT 1 FROM JSON_TABLE(d, '$' COLUMNS (a TEXT CHARACTER SET utf8mb4 COLLATE {collation} PATH '$')) j"
        );
        assert!(!shape(&sql).starts_with("no:"), "{sql}");
    }
    assert_eq!(
        shape("SELECT 1 FROM JSON_TABLE('[]', ? COLUMNS (a INT PATH '$')) x"),
        "no: ? COLUMNS (a INT PATH '$')) x"
    );
}

#[test]
fn clauses_at_the_end_have_their_order() {
    let cases = [
        ("SELECT a INTO @x FROM t LIMIT 1 FOR UPDATE", "S a INTO @x from t limit:-/1 FOR UPDATE"),
        ("SELECT a FROM t LIMIT 1 INTO @x, @y", "S a from t limit:-/1 INTO @x, @y"),
        ("SELECT a FROM t FOR UPDATE OF t SKIP LOCKED INTO @x", "S a from t INTO @x FOR UPDATE OF t SKIP LOCKED"),
        ("SELECT a FROM t FOR SHARE NOWAIT FOR UPDATE", "S a from t FOR SHARE NOWAIT FOR UPDATE"),
        ("SELECT a FROM t LOCK IN SHARE MODE WAIT 5", "S a from t LOCK IN SHARE MODE WAIT 5"),
        (
            "SELECT a FROM t INTO OUTFILE 'f' FIELDS TERMINATED BY ',' LINES TERMINATED BY '.'",
            "S a from t INTO OUTFILE 'f' FIELDS TERMINATED BY ',' LINES TERMINATED BY '.'",
        ),
        ("SELECT a FROM t LIMIT ROWS EXAMINED 5", "S a from t limit:-/-"),
        ("SELECT a FROM t FETCH FIRST ROW WITH TIES", "S a from t limit:-/-"),
        ("SELECT a FROM t INTO @x LIMIT 1", "no: LIMIT 1"),
        ("SELECT a FROM t FOR UPDATE LIMIT 1", "no: LIMIT 1"),
        ("SELECT a FROM t LIMIT 1 + 1", "no: + 1"),
        ("SELECT a FROM t LIMIT @x", "no: @x"),
        ("SELECT a FROM t LIMIT 0x10", "no: 0x10"),
    ];
    for (sql, expected) in cases {
        assert_eq!(shape(sql), expected, "{sql}");
    }
}

#[test]
fn values_in_parentheses_are_a_query_where_the_server_has_no_function() {
    let cases = [
        (Dialect::MariaDb, "SELECT 1 FROM t WHERE a IN (VALUES (1), (2))", true),
        (Dialect::MySql, "SELECT 1 FROM t WHERE a IN (VALUES (1), (2))", false),
        (Dialect::MySql, "SELECT 1 FROM t WHERE a IN (VALUES ROW(1), ROW(2))", true),
        (Dialect::MySql, "SELECT (VALUES(a) + 1) FROM t", true),
        (Dialect::MariaDb, "SELECT (VALUES(a) + 1) FROM t", false),
    ];
    for (dialect, sql, read) in cases {
        assert_eq!(!shape_in(dialect, sql).starts_with("no: "), read, "{sql}");
    }
}
