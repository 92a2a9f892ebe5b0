//! What changes say: each statement with what its tree holds, in words.

use bumpalo::Bump;

use crate::ast::{
    Assignment, Delete, Expr, Insert, InsertSource, Load, LoadDuplicates, ObjectName, Span, StatementKind, TableRef,
    Update,
};
use crate::mode::{Dialect, LexMode};
use crate::parse::parse;

/// Says what is in a tree.
struct Teller<'s>(&'s str);

impl<'s> Teller<'s> {
    fn text(&self, span: Span) -> &'s str {
        &self.0[span.range()]
    }

    fn each<T>(&self, name: &str, list: &[T], span: impl Fn(&T) -> Span) -> String {
        let texts: Vec<_> = list.iter().map(|one| self.text(span(one))).collect();
        if texts.is_empty() { String::new() } else { format!(" {name}:{}", texts.join("|")) }
    }

    fn maybe(&self, name: &str, span: Option<Span>) -> String {
        span.map_or_else(String::new, |span| format!(" {name}:{}", self.text(span)))
    }

    fn condition(&self, condition: Option<Expr<'_>>) -> String {
        self.maybe("where", condition.map(|expr| expr.span))
    }

    fn assignments(&self, name: &str, assignments: &[Assignment<'_>]) -> String {
        let texts: Vec<_> = assignments
            .iter()
            .map(|one| format!("{}<-{}", self.text(one.column.span()), self.text(one.value.span)))
            .collect();
        if texts.is_empty() { String::new() } else { format!(" {name}:{}", texts.join("|")) }
    }

    fn flags(&self, flags: &[(bool, &str)]) -> String {
        flags.iter().filter(|(is, _)| *is).map(|(_, name)| format!(" {name}")).collect()
    }

    fn insert(&self, node: &Insert<'_>) -> String {
        let source = match node.source {
            InsertSource::Values(rows) => self.each("rows", rows, |row| row.span),
            InsertSource::Set(assignments) => self.assignments("set", assignments),
            InsertSource::Query(query) => format!(" query:{}", self.text(query.span)),
        };
        let columns = node.columns.map_or_else(String::new, |columns| {
            if columns.is_empty() { " ()".to_owned() } else { self.each("columns", columns, |column| column.span()) }
        });
        [
            self.text(node.table.span).to_owned(),
            self.flags(&[(node.replace, "replace"), (node.ignore, "ignore")]),
            self.maybe("hint", node.hint),
            self.maybe("priority", node.priority),
            self.each("partitions", node.partitions, |name| name.span),
            columns,
            source,
            self.maybe("as", node.row_alias.map(|alias| alias.span)),
            self.assignments("update", node.on_duplicate),
            self.each("returning", node.returning, |item| item.span),
        ]
        .concat()
    }

    fn update(&self, node: &Update<'_>) -> String {
        [
            self.each("tables", node.tables, |table: &TableRef<'_>| table.span).trim_start().to_owned(),
            self.maybe("with", node.with.map(|with| with.span)),
            self.maybe("hint", node.hint),
            self.flags(&[(node.low_priority, "low"), (node.ignore, "ignore")]),
            self.assignments("set", node.assignments),
            self.condition(node.condition),
            self.each("by", node.order_by, |item| item.span),
            self.maybe("limit", node.limit.map(|limit| limit.span)),
        ]
        .concat()
    }

    fn delete(&self, node: &Delete<'_>) -> String {
        [
            self.each("tables", node.tables, |table: &TableRef<'_>| table.span).trim_start().to_owned(),
            self.each("targets", node.targets, |name: &ObjectName<'_>| name.span),
            self.maybe("with", node.with.map(|with| with.span)),
            self.flags(&[
                (node.low_priority, "low"),
                (node.quick, "quick"),
                (node.ignore, "ignore"),
                (node.history, "history"),
            ]),
            self.maybe("before", node.before.map(|time| time.span)),
            self.condition(node.condition),
            self.each("by", node.order_by, |item| item.span),
            self.maybe("limit", node.limit.map(|limit| limit.span)),
            self.each("returning", node.returning, |item| item.span),
        ]
        .concat()
    }

    fn load(&self, node: &Load<'_>) -> String {
        [
            self.text(node.table.span).to_owned(),
            format!(" from:{}", self.text(node.file)),
            self.flags(&[
                (node.xml, "xml"),
                (node.local, "local"),
                (node.duplicates == LoadDuplicates::Replace, "replace"),
                (node.duplicates == LoadDuplicates::Ignore, "ignore"),
            ]),
            self.maybe("priority", node.priority),
            self.each("partitions", node.partitions, |name| name.span),
            self.maybe("charset", node.charset.map(|name| name.span)),
            self.maybe("format", node.format),
            self.each("columns", node.columns.unwrap_or_default(), |column| column.span),
            self.assignments("set", node.assignments),
        ]
        .concat()
    }
}

fn told_in(dialect: Dialect, sql: &str) -> String {
    let arena = Bump::new();
    let parsed = match parse(&arena, sql.as_bytes(), LexMode { dialect, ..LexMode::default() }) {
        Ok(parsed) => parsed,
        Err(error) => return format!("no: {}", &sql[error.span.start as usize..]),
    };
    let teller = Teller(sql);
    let (span, told) = match parsed.statements[0].kind {
        StatementKind::Insert(node) => (node.span, teller.insert(node)),
        StatementKind::Update(node) => (node.span, teller.update(node)),
        StatementKind::Delete(node) => (node.span, teller.delete(node)),
        StatementKind::Load(node) => (node.span, teller.load(node)),
        _ => return "another statement".to_owned(),
    };
    assert_eq!(teller.text(span), sql, "a statement's span is all of it");
    told
}

fn check(cases: &[(&str, &str)]) {
    for (sql, expected) in cases {
        assert_eq!(told_in(Dialect::Either, sql), *expected, "{sql}");
    }
}

#[test]
fn inserts_say_what_goes_where() {
    check(&[
        ("INSERT INTO t VALUES (1, 'a'), (DEFAULT, NULL)", "t rows:(1, 'a')|(DEFAULT, NULL)"),
        ("INSERT t VALUE ()", "t rows:()"),
        ("INSERT INTO t () VALUES ()", "t () rows:()"),
        ("INSERT INTO db.t (a, t.b) VALUES (1, 2)", "db.t columns:a|t.b rows:(1, 2)"),
        ("INSERT INTO t VALUES ROW(1, 2), ROW(3, 4)", "t rows:ROW(1, 2)|ROW(3, 4)"),
        ("INSERT LOW_PRIORITY IGNORE INTO t VALUES (1)", "t ignore priority:LOW_PRIORITY rows:(1)"),
        ("REPLACE DELAYED t VALUES (1)", "t replace priority:DELAYED rows:(1)"),
        ("INSERT /*+ X() */ INTO t VALUES (1)", "t hint:/*+ X() */ rows:(1)"),
        ("INSERT INTO t PARTITION (p0, p1) (a) VALUES (1)", "t partitions:p0|p1 columns:a rows:(1)"),
        ("INSERT INTO t SET a = 1, b := DEFAULT", "t set:a<-1|b<-DEFAULT"),
        ("INSERT INTO t SELECT 1", "t query:SELECT 1"),
        ("INSERT INTO t (SELECT 1) UNION (SELECT 2) LIMIT 1", "t query:(SELECT 1) UNION (SELECT 2) LIMIT 1"),
        ("INSERT INTO t (a) ((SELECT 1))", "t columns:a query:((SELECT 1))"),
        ("INSERT INTO t (a) WITH x AS (SELECT 1) SELECT 2", "t columns:a query:WITH x AS (SELECT 1) SELECT 2"),
        ("INSERT INTO t TABLE u", "t query:TABLE u"),
        ("INSERT INTO t VALUES (1) UNION SELECT 2", "t query:VALUES (1) UNION SELECT 2"),
        ("INSERT INTO t VALUES (1) RETURNING *, a b", "t rows:(1) returning:*|a b"),
    ]);
}

#[test]
fn on_duplicate_follows_every_source() {
    check(&[
        (
            "INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE a = VALUES(a) + 1, t.b = (VALUES(b))",
            "t rows:(1) update:a<-VALUES(a) + 1|t.b<-(VALUES(b))",
        ),
        ("INSERT INTO t VALUES (1) AS n(x) ON DUPLICATE KEY UPDATE a = n.x", "t rows:(1) as:AS n(x) update:a<-n.x"),
        ("INSERT INTO t SET a = 1 AS n ON DUPLICATE KEY UPDATE a = 2", "t set:a<-1 as:AS n update:a<-2"),
        (
            "INSERT INTO t SELECT * FROM u JOIN v ON u.a = v.a ON DUPLICATE KEY UPDATE b = 1",
            "t query:SELECT * FROM u JOIN v ON u.a = v.a update:b<-1",
        ),
        ("INSERT INTO t SELECT * FROM u, v ON DUPLICATE KEY UPDATE b = 1", "t query:SELECT * FROM u, v update:b<-1"),
        (
            "INSERT INTO t (SELECT 1) ON DUPLICATE KEY UPDATE b = 1 RETURNING b",
            "t query:(SELECT 1) update:b<-1 returning:b",
        ),
        // Both servers take the first ON for the join's.
        ("INSERT INTO t SELECT * FROM u JOIN v ON DUPLICATE KEY UPDATE b = 1", "no: KEY UPDATE b = 1"),
        ("REPLACE INTO t VALUES (1) ON DUPLICATE KEY UPDATE a = 1", "no: ON DUPLICATE KEY UPDATE a = 1"),
        ("INSERT INTO t (SELECT 1 ON DUPLICATE KEY UPDATE a = 1)", "no: ON DUPLICATE KEY UPDATE a = 1)"),
    ]);
}

#[test]
fn what_no_server_reads_as_an_insert_is_refused() {
    check(&[
        ("INSERT IGNORE LOW_PRIORITY INTO t VALUES (1)", "no: LOW_PRIORITY INTO t VALUES (1)"),
        ("REPLACE IGNORE INTO t VALUES (1)", "no: IGNORE INTO t VALUES (1)"),
        ("INSERT INTO t x VALUES (1)", "no: x VALUES (1)"),
        ("INSERT INTO t (a) SET a = 1", "no: SET a = 1"),
        ("INSERT INTO t VALUES (1,)", "no: )"),
        ("INSERT INTO t VALUES (DEFAULT + 1)", "no: + 1)"),
        ("WITH x AS (SELECT 1) INSERT INTO t SELECT 1", "no: INSERT INTO t SELECT 1"),
    ]);
}

#[test]
fn updates_say_what_is_read_and_set() {
    check(&[
        (
            "UPDATE LOW_PRIORITY IGNORE t SET a = a + 1 WHERE b = 2 ORDER BY c DESC LIMIT 3",
            "tables:t low ignore set:a<-a + 1 where:b = 2 by:c DESC limit:LIMIT 3",
        ),
        ("UPDATE t AS x, u SET x.a = u.a, db.x.b = DEFAULT", "tables:t AS x|u set:x.a<-u.a|db.x.b<-DEFAULT"),
        ("UPDATE t JOIN (SELECT 1) d ON 1 SET t.a = 1", "tables:t JOIN (SELECT 1) d ON 1 set:t.a<-1"),
        ("WITH x AS (SELECT 1) UPDATE t, x SET a = 1", "tables:t|x with:WITH x AS (SELECT 1) set:a<-1"),
        ("UPDATE t FOR PORTION OF p FROM 1 TO 2 AS x SET a = 1", "tables:t FOR PORTION OF p FROM 1 TO 2 AS x set:a<-1"),
        ("UPDATE t PARTITION (p0) SET a = 1", "tables:t PARTITION (p0) set:a<-1"),
        ("UPDATE t SET a = b = c", "tables:t set:a<-b = c"),
        ("UPDATE t SET a = 1 LIMIT 1, 2", "no: , 2"),
        ("UPDATE t SET (a, b) = (1, 2)", "no: (a, b) = (1, 2)"),
        ("UPDATE t SET a = 1 FROM u", "no: FROM u"),
    ]);
}

#[test]
fn deletes_say_what_is_read_and_deleted() {
    check(&[
        ("DELETE FROM t WHERE a = 1 ORDER BY b LIMIT 2", "tables:t where:a = 1 by:b limit:LIMIT 2"),
        ("DELETE FROM t AS x WHERE x.a = 1", "tables:t AS x where:x.a = 1"),
        ("DELETE FROM t PARTITION (p0) RETURNING a, b", "tables:t PARTITION (p0) returning:a|b"),
        ("DELETE t, db.u FROM t JOIN db.u ON 1", "tables:t JOIN db.u ON 1 targets:t|db.u"),
        ("DELETE t.*, db.u.* FROM t, db.u WHERE 1", "tables:t|db.u targets:t|db.u where:1"),
        ("DELETE FROM x USING t AS x, u", "tables:t AS x|u targets:x"),
        ("DELETE FROM t.*, db.u.* USING t, db.u", "tables:t|db.u targets:t|db.u"),
        ("DELETE IGNORE QUICK LOW_PRIORITY FROM t", "tables:t low quick ignore"),
        ("DELETE quick, t FROM quick, t", "tables:quick|t targets:quick|t"),
        ("WITH x AS (SELECT 1) DELETE FROM t", "tables:t with:WITH x AS (SELECT 1)"),
        ("DELETE HISTORY FROM t BEFORE SYSTEM_TIME NOW()", "tables:t history before:NOW()"),
        ("DELETE history FROM t AS history WHERE 1", "tables:t AS history targets:history where:1"),
        ("DELETE FROM t FOR PORTION OF p FROM 1 TO 2", "tables:t FOR PORTION OF p FROM 1 TO 2"),
        ("DELETE FROM t, u", "no: "),
        ("DELETE t FROM t LIMIT 1", "no: LIMIT 1"),
        ("DELETE FROM t.* WHERE 1", "no: WHERE 1"),
        ("DELETE FROM (t)", "no: (t)"),
    ]);
    assert_eq!(told_in(Dialect::MySql, "DELETE HISTORY FROM t"), "tables:t targets:HISTORY");
    assert_eq!(told_in(Dialect::MariaDb, "DELETE HISTORY FROM t"), "tables:t history");
}

#[test]
fn loads_say_which_file_goes_where() {
    check(&[
        ("LOAD DATA INFILE 'x' INTO TABLE t", "t from:'x'"),
        (
            "LOAD DATA LOW_PRIORITY LOCAL INFILE 'x' IGNORE INTO TABLE db.t PARTITION (p0) CHARACTER SET utf8mb4 FIELDS \
             TERMINATED BY ',' OPTIONALLY ENCLOSED BY '\"' LINES TERMINATED BY 0x0a IGNORE 1 LINES (a, @b) SET c = @b",
            "db.t from:'x' local ignore priority:LOW_PRIORITY partitions:p0 charset:utf8mb4 format:FIELDS TERMINATED BY \
             ',' OPTIONALLY ENCLOSED BY '\"' LINES TERMINATED BY 0x0a IGNORE 1 LINES columns:a|@b set:c<-@b",
        ),
        (
            "LOAD XML INFILE 'x' REPLACE INTO TABLE t ROWS IDENTIFIED BY '<r>'",
            "t from:'x' xml replace format:ROWS IDENTIFIED BY '<r>'",
        ),
        ("LOAD DATA FROM URL 'x' COUNT 5 IN PRIMARY KEY ORDER INTO TABLE t PARALLEL = 4 MEMORY = 1M", "t from:'x'"),
        ("LOAD DATA INFILE 'x' REPLACE IGNORE INTO TABLE t", "no: IGNORE INTO TABLE t"),
        ("LOAD DATA INFILE 'x' INTO TABLE t FIELDS LINES", "no: LINES"),
    ]);
}
