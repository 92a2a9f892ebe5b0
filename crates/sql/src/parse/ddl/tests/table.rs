//! CREATE TABLE: columns, keys, options, queries.

use bumpalo::Bump;

use super::{BOTH, one, refused, text, variant};
use crate::ast::{
    CreateTable, Duplicates, KeyDefinition, KeyPart, KeyPartKind, ReferenceAction, References, StatementKind,
    TableBody, TableElement, TableOptionKind,
};
use crate::mode::Dialect;

fn create<'a>(arena: &'a Bump, sql: &'a str, dialect: Dialect) -> &'a CreateTable<'a> {
    match one(arena, sql, dialect) {
        StatementKind::CreateTable(table) => table,
        other => panic!("{sql} was read as {other:?}"),
    }
}

/// The elements of a table: `column: type; attribute=text, …`.
fn elements(sql: &str, dialect: Dialect) -> Vec<String> {
    let arena = Bump::new();
    let definition = create(&arena, sql, dialect).definition().expect("a definition");
    definition.elements().iter().map(|element| described(sql, element)).collect()
}

fn described(sql: &str, element: &TableElement<'_>) -> String {
    match element {
        TableElement::Column(column) => {
            let attributes: Vec<String> = column
                .attributes
                .iter()
                .map(|attribute| format!("{}={}", variant(&attribute.kind), text(sql, attribute.span)))
                .collect();
            let (name, data_type) = (text(sql, column.name.span), text(sql, column.data_type.span));
            format!("{name}: {data_type}; {}", attributes.join(", "))
        }
        TableElement::Key(key) => described_key(sql, key),
        TableElement::ForeignKey(key) => {
            let name = key.name.map_or("", |name| text(sql, name.span));
            format!("foreign {name} {} {}", parts(sql, key.columns), described_references(sql, &key.references))
        }
        TableElement::Check(check) => format!("check {} {:?}", text(sql, check.expr.span), check.enforced),
        TableElement::Period(period) => {
            let [name, from, to] = [period.name, period.from, period.to].map(|name| text(sql, name.span));
            format!("period {name}: {from}..{to}")
        }
    }
}

fn described_key(sql: &str, key: &KeyDefinition<'_>) -> String {
    let constraint = key.constraint.and_then(|constraint| constraint.name).map(|name| text(sql, name.span));
    let name = key.name.map_or("", |name| text(sql, name.span));
    let options: Vec<String> =
        key.options.iter().map(|option| format!(" {}={}", variant(&option.kind), text(sql, option.span))).collect();
    let unchecked = if key.unchecked.is_some() { "!" } else { "" };
    let constraint = constraint.map(|name| format!("{name}:")).unwrap_or_default();
    format!("{constraint}{:?}{unchecked} {name}{}{}", key.kind, parts(sql, key.parts), options.concat())
}

fn parts(sql: &str, list: &[KeyPart<'_>]) -> String {
    let one = |part: &KeyPart<'_>| {
        let what = match part.kind {
            KeyPartKind::Column(name, length) => {
                let length = length.map_or(String::new(), |length| format!("/{}", text(sql, length)));
                format!("{}{length}", text(sql, name.span))
            }
            KeyPartKind::Expr(expr) => format!("<{}>", text(sql, expr.span)),
        };
        let order = if part.descending { "-" } else { "" };
        let overlaps = if part.without_overlaps { "^" } else { "" };
        format!("{what}{order}{overlaps}")
    };
    format!("[{}]", list.iter().map(one).collect::<Vec<_>>().join(" "))
}

fn described_references(sql: &str, references: &References<'_>) -> String {
    let action = |action: Option<ReferenceAction>| action.map_or("-".to_owned(), |action| format!("{action:?}"));
    let matching = references.matching.map_or("-", |word| text(sql, word.span));
    let (table, columns) = (text(sql, references.table.span), parts(sql, references.columns));
    format!("{table}{columns} {matching} {} {}", action(references.on_delete), action(references.on_update))
}

#[test]
fn columns_have_types_and_attributes() {
    let cases: &[(&str, &str)] = &[
        ("a INT", "a: INT; "),
        ("`a b` INT(10) UNSIGNED NOT NULL", "`a b`: INT(10) UNSIGNED; NotNull=NOT NULL"),
        ("a BIGINT AUTO_INCREMENT PRIMARY KEY", "a: BIGINT; AutoIncrement=AUTO_INCREMENT, PrimaryKey=PRIMARY KEY"),
        ("a INT KEY COMMENT 'x'", "a: INT; PrimaryKey=KEY, Comment=COMMENT 'x'"),
        ("a INT UNIQUE KEY NULL UNIQUE", "a: INT; Unique=UNIQUE KEY, Null=NULL, Unique=UNIQUE"),
        (
            "a VARCHAR(9) DEFAULT 'x' COLLATE utf8mb4_bin",
            "a: VARCHAR(9); Default=DEFAULT 'x', Collate=COLLATE utf8mb4_bin",
        ),
        ("a INT DEFAULT -1 NOT NULL", "a: INT; Default=DEFAULT -1, NotNull=NOT NULL"),
        ("a INT DEFAULT (1 + b)", "a: INT; Default=DEFAULT (1 + b)"),
        ("a BIT(1) DEFAULT b'1'", "a: BIT(1); Default=DEFAULT b'1'"),
        (
            "a TIMESTAMP(6) DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6)",
            "a: TIMESTAMP(6); Default=DEFAULT CURRENT_TIMESTAMP(6), OnUpdate=ON UPDATE CURRENT_TIMESTAMP(6)",
        ),
        ("a SERIAL", "a: SERIAL; "),
        ("a INT SERIAL DEFAULT VALUE", "a: INT; SerialDefaultValue=SERIAL DEFAULT VALUE"),
        ("a INT AS (b + 1) VIRTUAL UNIQUE", "a: INT; Generated=AS (b + 1) VIRTUAL, Unique=UNIQUE"),
        ("a INT GENERATED ALWAYS AS (b) STORED", "a: INT; Generated=GENERATED ALWAYS AS (b) STORED"),
        ("a INT CHECK (a > 1) NOT NULL", "a: INT; Check=CHECK (a > 1), NotNull=NOT NULL"),
        ("a INT REFERENCES t (b) ON DELETE CASCADE", "a: INT; References=REFERENCES t (b) ON DELETE CASCADE"),
        ("a INT INVISIBLE", "a: INT; Invisible=INVISIBLE"),
        (
            "a ENUM('x', 'y') CHARACTER SET latin1 DEFAULT 'x'",
            "a: ENUM('x', 'y') CHARACTER SET latin1; Default=DEFAULT 'x'",
        ),
    ];
    for (column, meaning) in cases {
        for dialect in BOTH {
            assert_eq!(elements(&format!("CREATE TABLE t ({column})"), dialect), [*meaning]);
        }
    }
}

#[test]
fn attributes_of_one_server_are_read() {
    let cases: &[(Dialect, &str, &str)] = &[
        (
            Dialect::MySql,
            "a INT COLUMN_FORMAT FIXED STORAGE DISK",
            "a: INT; ColumnFormat=COLUMN_FORMAT FIXED, Storage=STORAGE DISK",
        ),
        (Dialect::MySql, "a POINT NOT NULL SRID 4326", "a: POINT; NotNull=NOT NULL, Srid=SRID 4326"),
        (
            Dialect::MySql,
            "a INT NOT SECONDARY ENGINE_ATTRIBUTE '{}'",
            "a: INT; NotSecondary=NOT SECONDARY, Option=ENGINE_ATTRIBUTE '{}'",
        ),
        (
            Dialect::MySql,
            "a INT CONSTRAINT c CHECK (a > 1) NOT ENFORCED",
            "a: INT; Check=CONSTRAINT c CHECK (a > 1) NOT ENFORCED",
        ),
        (
            Dialect::MariaDb,
            "a INT DEFAULT length('x') NOT NULL",
            "a: INT; Default=DEFAULT length('x'), NotNull=NOT NULL",
        ),
        (Dialect::MariaDb, "a INT DEFAULT NEXT VALUE FOR s", "a: INT; Default=DEFAULT NEXT VALUE FOR s"),
        (Dialect::MariaDb, "a INT AS (b) PERSISTENT", "a: INT; Generated=AS (b) PERSISTENT"),
        (Dialect::MariaDb, "a INT AS ((SELECT 1))", "a: INT; Generated=AS ((SELECT 1))"),
        (Dialect::MariaDb, "a INT AS (SELECT 1) STORED", "a: INT; Generated=AS (SELECT 1) STORED"),
        (
            Dialect::MariaDb,
            "a TIMESTAMP(6) GENERATED ALWAYS AS ROW START",
            "a: TIMESTAMP(6); RowStart=GENERATED ALWAYS AS ROW START",
        ),
        (
            Dialect::MariaDb,
            "a TIMESTAMP(6) AS ROW END INVISIBLE",
            "a: TIMESTAMP(6); RowEnd=AS ROW END, Invisible=INVISIBLE",
        ),
        (Dialect::MariaDb, "a INT WITHOUT SYSTEM VERSIONING", "a: INT; SystemVersioning=WITHOUT SYSTEM VERSIONING"),
        (Dialect::MariaDb, "a POINT REF_SYSTEM_ID = 101", "a: POINT; Srid=REF_SYSTEM_ID = 101"),
        (Dialect::MariaDb, "a INT compression_level = 9 NULL", "a: INT; Option=compression_level = 9, Null=NULL"),
        (Dialect::MariaDb, "a CHAR(9) COLLATE DEFAULT", "a: CHAR(9); Collate=COLLATE DEFAULT"),
        (Dialect::MariaDb, "t.a INT CONSTRAINT f REFERENCES u (b)", "a: INT; References=CONSTRAINT f REFERENCES u (b)"),
    ];
    for (dialect, column, meaning) in cases {
        assert_eq!(elements(&format!("CREATE TABLE t ({column})"), *dialect), [*meaning]);
    }
}

#[test]
fn keys_have_kinds_parts_and_options() {
    let cases: &[(&str, &str)] = &[
        ("PRIMARY KEY (a, b)", "Primary [a b]"),
        ("CONSTRAINT c PRIMARY KEY USING BTREE (a)", "c:Primary [a] Using=USING BTREE"),
        ("CONSTRAINT PRIMARY KEY (a)", "Primary [a]"),
        ("UNIQUE (a)", "Unique [a]"),
        ("UNIQUE KEY u (a(10) DESC, b ASC)", "Unique u[a/10- b]"),
        ("UNIQUE UNCHECKED KEY u (a)", "Unique! u[a]"),
        ("UNIQUE UNCHECKED (a)", "Unique! [a]"),
        ("UNIQUE `unchecked` (a)", "Unique `unchecked`[a]"),
        ("INDEX type (a)", "Plain type[a]"),
        (
            "KEY k TYPE HASH (a) COMMENT 'x' KEY_BLOCK_SIZE = 8",
            "Plain k[a] Using=TYPE HASH Comment=COMMENT 'x' KeyBlockSize=KEY_BLOCK_SIZE = 8",
        ),
        ("FULLTEXT KEY f (a) WITH PARSER ngram", "Fulltext f[a] Parser=WITH PARSER ngram"),
        ("SPATIAL INDEX (a)", "Spatial [a]"),
        ("KEY ((a + 1) DESC, b)", "Plain [<a + 1>- b]"),
        ("KEY k (a) INVISIBLE", "Plain k[a] Invisible=INVISIBLE"),
        ("KEY k (a) NOT IGNORED", "Plain k[a] Ignored=NOT IGNORED"),
        ("UNIQUE (a, p WITHOUT OVERLAPS)", "Unique [a p^]"),
        (
            "CONSTRAINT c FOREIGN KEY f (a) REFERENCES d.t (b) MATCH FULL ON UPDATE SET NULL ON DELETE NO ACTION",
            "foreign f [a] d.t[b] FULL NoAction SetNull",
        ),
        ("FOREIGN KEY (a, b) REFERENCES t (c, d)", "foreign  [a b] t[c d] - - -"),
        ("CHECK (a > 1)", "check a > 1 None"),
        ("CONSTRAINT c CHECK (a > 1) NOT ENFORCED", "check a > 1 Some(false)"),
        ("PERIOD FOR SYSTEM_TIME (s, e)", "period SYSTEM_TIME: s..e"),
    ];
    for (key, meaning) in cases {
        for dialect in BOTH {
            assert_eq!(elements(&format!("CREATE TABLE t (a INT, {key})"), dialect)[1], *meaning, "{key}");
        }
    }
    let vector = "CREATE TABLE t (a INT, VECTOR INDEX v (a) M = 5)";
    assert_eq!(elements(vector, Dialect::MariaDb)[1], "Vector v[a] Other=M = 5");
}

#[test]
fn options_stand_with_and_without_signs_and_commas() {
    let sql = "CREATE TABLE t (a INT) ENGINE InnoDB, AUTO_INCREMENT=7 DEFAULT CHARACTER SET = utf8mb4 COLLATE 'utf8mb4_bin' \
               COMMENT 'x' UNION (t1, d.t2) DATA DIRECTORY = '/x' ROW_FORMAT=COMPRESSED STATS_PERSISTENT DEFAULT \
               WITH SYSTEM VERSIONING page_compressed=1 START TRANSACTION";
    let arena = Bump::new();
    let definition = create(&arena, sql, Dialect::Either).definition().expect("a definition");
    let shown: Vec<String> = definition
        .options
        .iter()
        .map(|option| format!("{}: {}", variant(&option.kind), text(sql, option.span)))
        .collect();
    assert_eq!(
        shown,
        [
            "Engine: ENGINE InnoDB",
            "AutoIncrement: AUTO_INCREMENT=7",
            "Charset: DEFAULT CHARACTER SET = utf8mb4",
            "Collate: COLLATE 'utf8mb4_bin'",
            "Comment: COMMENT 'x'",
            "Union: UNION (t1, d.t2)",
            "Other: DATA DIRECTORY = '/x'",
            "Other: ROW_FORMAT=COMPRESSED",
            "Other: STATS_PERSISTENT DEFAULT",
            "SystemVersioning: WITH SYSTEM VERSIONING",
            "Other: page_compressed=1",
            "StartTransaction: START TRANSACTION",
        ]
    );
    let TableOptionKind::Other(name, Some(value)) = definition.options[6].kind else { panic!("a named option") };
    assert_eq!((text(sql, name), text(sql, value)), ("DATA DIRECTORY", "'/x'"));
}

#[test]
fn a_table_may_begin_with_the_rows_of_a_query() {
    let cases: &[(&str, &str, Option<Duplicates>)] = &[
        ("CREATE TABLE t SELECT 1", "SELECT 1", None),
        ("CREATE TABLE t AS SELECT 1 AS a", "SELECT 1 AS a", None),
        ("CREATE TABLE t (a INT) IGNORE AS SELECT 1", "SELECT 1", Some(Duplicates::Ignore)),
        ("CREATE TABLE t (a INT) ENGINE=MyISAM REPLACE SELECT 1", "SELECT 1", Some(Duplicates::Replace)),
        ("CREATE TABLE t (SELECT 1)", "(SELECT 1)", None),
        ("CREATE TABLE t (a INT) (SELECT 1)", "(SELECT 1)", None),
        ("CREATE TABLE t ((SELECT 1) UNION (SELECT 2))", "((SELECT 1) UNION (SELECT 2))", None),
        ("CREATE TABLE t WITH c AS (SELECT 1) SELECT * FROM c", "WITH c AS (SELECT 1) SELECT * FROM c", None),
        ("CREATE TABLE t AS (SELECT 1) UNION SELECT 2", "(SELECT 1) UNION SELECT 2", None),
        ("CREATE TABLE t (a INT) PARTITION BY HASH (a) PARTITIONS 2 (SELECT 1)", "(SELECT 1)", None),
    ];
    for (sql, query, duplicates) in cases {
        for dialect in BOTH {
            let arena = Bump::new();
            let definition = create(&arena, sql, dialect).definition().expect("a definition");
            let found = definition.query.expect("a query");
            assert_eq!((text(sql, found.span), definition.duplicates), (*query, *duplicates), "{sql}");
        }
    }
}

#[test]
fn a_table_may_be_like_another() {
    for sql in ["CREATE TEMPORARY TABLE IF NOT EXISTS d.t LIKE u", "CREATE TEMPORARY TABLE IF NOT EXISTS d.t (LIKE u)"]
    {
        let arena = Bump::new();
        let table = create(&arena, sql, Dialect::MySql);
        assert!(table.temporary && table.if_not_exists && !table.or_replace);
        assert_eq!(text(sql, table.name.span), "d.t");
        let TableBody::Like(like) = table.body else { panic!("{sql}") };
        assert_eq!(text(sql, like.table.span), "u");
    }
}

#[test]
fn what_sharding_asks_is_found_by_name() {
    let sql = "CREATE TABLE t (a INT NOT NULL NULL, b INT NOT NULL DEFAULT 5, C INT AS (a), PRIMARY KEY (b, a))";
    let arena = Bump::new();
    let definition = create(&arena, sql, Dialect::Either).definition().expect("a definition");
    assert_eq!(definition.columns().count(), 3);
    assert_eq!(definition.first_primary_column().expect("a key").name, b"b");
    assert!(!definition.column(b"A").expect("a column").is_not_null());
    let b = definition.column(b"b").expect("a column");
    assert!(b.is_not_null() && !b.is_primary_key() && !b.is_auto_increment());
    assert_eq!(text(sql, b.default().expect("a default").span), "5");
    assert_eq!(text(sql, definition.column(b"c").expect("a column").generated().expect("it is").expr.span), "a");
    assert!(definition.column(b"d").is_none());

    let sql = "CREATE TABLE t (a INT, b INT AUTO_INCREMENT KEY)";
    let definition = create(&arena, sql, Dialect::Either).definition().expect("a definition");
    assert_eq!(definition.first_primary_column().expect("a key").name, b"b");
}

#[test]
fn what_no_server_reads_is_refused() {
    let cases: &[(&str, &str)] = &[
        ("CREATE TABLE t (a INT,)", ")"),
        ("CREATE TABLE t (a INT) ENGINE=x,", ""),
        ("CREATE TABLE t (a INT PRIMARY)", ")"),
        ("CREATE TABLE t (a)", ")"),
        ("CREATE TABLE t (a INT DEFAULT 1 + 1)", "+ 1)"),
        ("CREATE TABLE t (a INT DEFAULT NOT NULL)", "NOT NULL)"),
        ("CREATE TABLE t (CONSTRAINT c KEY (a)", ""),
        ("CREATE TABLE t (KEY a INT)", "INT)"),
        ("CREATE TABLE t (a INT) UNION x", "x"),
        ("CREATE TABLE t (LIKE u) ENGINE=x", "ENGINE=x"),
        ("CREATE TABLE t (a INT) PARTITION BY HASH (a) ENGINE=x", "ENGINE=x"),
        ("CREATE TABLE t (a INT REFERENCES t (b) ON DELETE)", ")"),
        ("CREATE TABLE", ""),
    ];
    for (sql, rest) in cases {
        for dialect in BOTH {
            assert_eq!(refused(sql, dialect), *rest, "{sql}");
        }
    }
    assert_eq!(refused("CREATE TABLE t (t.a INT)", Dialect::MySql), ".a INT)");
    assert_eq!(refused("CREATE TABLE t (a INT foo=1)", Dialect::MySql), "foo=1)");
}
