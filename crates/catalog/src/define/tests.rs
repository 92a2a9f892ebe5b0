//! Definitions: where their tables are, or why they can't be.

use std::collections::{BTreeMap, HashMap};

use weir_sql::ast::StatementKind;

use super::*;
use crate::placement::SlotMap;
use crate::table::Table;
use crate::weights::CollationWeights;

fn catalog() -> Catalog {
    let shards = vec![ShardId(0), ShardId(1)];
    let database = Database {
        slots: SlotMap::even(&shards),
        shards,
        tables: BTreeMap::new(),
        views: BTreeMap::new(),
        default_single: false,
    };
    let mut catalog = Catalog { shards: vec!["s1".into(), "s2".into(), "other".into()], ..Catalog::default() };
    catalog.databases.insert("d".into(), database.into());
    catalog
}

fn with<T>(catalog: &Catalog, sql: &str, work: impl FnOnce(&Setting<'_>, &CreateTable<'_>) -> T) -> T {
    let bump = Bump::new();
    let parsed = weir_sql::parse(&bump, sql.as_bytes(), LexMode::default()).expect(sql);
    let StatementKind::CreateTable(create) = parsed.statements[0].kind else { panic!("{sql}") };
    let weights = Weights::default()
        .with("utf8mb4_general_ci", CollationWeights { pad: true, space: vec![0, 32], of: HashMap::new() });
    let setting = Setting {
        catalog,
        database: "d",
        collation: Some("utf8mb4_bin"),
        collation_of: &|charset| (charset == "utf8mb4").then(|| "utf8mb4_general_ci".to_owned()),
        weights: &weights,
        inexact: &[],
        text: sql.as_bytes(),
        mode: LexMode::default(),
    };
    work(&setting, create)
}

fn place(catalog: &Catalog, sql: &str) -> Result<Placed, Unplaced> {
    with(catalog, sql, declare)
}

/// Adds a table, as it would be read from a server.
fn add(catalog: &mut Catalog, sql: &str) {
    let (placed, columns) =
        with(catalog, sql, |setting, create| (declare(setting, create).expect(sql), columns(setting, create)));
    let table = Table {
        placement: placed.placement,
        columns,
        primary_key: vec![],
        unique_keys: vec![],
        odd_unique: vec![],
        unchecked: placed.unchecked,
        foreign_keys: vec![],
        triggers: false,
        auto_increment: None,
        clause: placed.clause,
        hot_merge: false,
        by_default: placed.by_default,
    };
    let name = sql.split_whitespace().nth(2).expect("name").to_owned();
    let mut database = Database::clone(&catalog.databases["d"]);
    database.tables.insert(name, table.into());
    catalog.databases.insert("d".into(), database.into());
}

#[test]
fn clauses_say_where_tables_are_and_restore_themselves() {
    let cases = [
        ("(id INT PRIMARY KEY)", "shard by hash(id)"),
        ("(a INT, b INT, PRIMARY KEY (b, a))", "shard by hash(b)"),
        ("(a INT)", "single on shard 's1'"),
        ("(id INT PRIMARY KEY) PARTITION BY HASH(id) PARTITIONS 64", "shard by hash(id)"),
        ("(a INT, b INT, PRIMARY KEY (a, b)) PARTITION BY HASH(b)", "shard by hash(b)"),
        ("(id INT PRIMARY KEY) /*!50100 PARTITION BY HASH(id) PARTITIONS 2 */", "shard by hash(id)"),
        ("(a INT) /*!50100 PARTITION BY HASH(a) */", "single on shard 's1'"),
        ("(id INT PRIMARY KEY) PARTITION BY HASH(id + 1)", "shard by hash(id)"),
        ("(id INT PRIMARY KEY) PARTITION BY LINEAR HASH(id)", "shard by hash(id)"),
        ("(a INT, d DATE) PARTITION BY HASH(MONTH(d)) PARTITIONS 6", "single on shard 's1'"),
        ("(id INT PRIMARY KEY) GLOBAL", "global"),
        ("(id INT PRIMARY KEY) SINGLE", "single on shard 's1'"),
        ("(id INT PRIMARY KEY) SINGLE ON SHARD 's2'", "single on shard 's2'"),
        ("(id INT PRIMARY KEY) DISTRIBUTED BY (s2)", "single on shard 's2'"),
        ("(id INT PRIMARY KEY) ENGINE=InnoDB /*weir: global */", "global"),
        ("(a INT, b DATE, PRIMARY KEY (a, b)) SHARD BY HASH(a, b)", "shard by hash(a, b)"),
        ("(`select` INT PRIMARY KEY)", "shard by hash(`select`)"),
        ("(d DATE) SHARD BY YEAR(d)", "shard by year(d)"),
        ("(d DATETIME(3)) SHARD BY MONTH(d)", "shard by month(d)"),
        ("(d DATE) SHARD BY DAY(d)", "shard by day(d)"),
        (
            "(id INT) SHARD BY RANGE(id) (s1 VALUES LESS THAN (-5), s2 VALUES LESS THAN (10), s1 VALUES LESS THAN MAXVALUE)",
            "shard by range(id) (s1 values less than (-5), s2 values less than (10), s1 values less than maxvalue)",
        ),
        (
            "(d DATE) SHARD BY RANGE(d) (s1 VALUES LESS THAN ('2024-01-01'))",
            "shard by range(d) (s1 values less than ('2024-01-01'))",
        ),
        (
            "(v VARCHAR(9)) SHARD BY LIST(v) (s1 VALUES IN ('it''s', \"b\", NULL), s2 DEFAULT)",
            "shard by list(v) (s1 values in ('it''s', 'b', null), s2 default)",
        ),
        ("(v VARCHAR(9) CHARACTER SET utf8mb4 PRIMARY KEY)", "shard by hash(v)"),
    ];
    let catalog = catalog();
    for (body, clause) in cases {
        let placed = place(&catalog, &format!("CREATE TABLE t {body}")).unwrap_or_else(|why| panic!("{body}: {why:?}"));
        assert_eq!(placed.clause, clause, "{body}");
        let columns = &body[..=body.rfind(") ").filter(|_| !body.ends_with("KEY)")).map_or(body.len() - 1, |_| {
            let mut depth = 0;
            body.char_indices()
                .find_map(|(at, char)| {
                    depth += i32::from(char == '(') - i32::from(char == ')');
                    (depth == 0).then_some(at)
                })
                .expect("balanced")
        })];
        let again = place(&catalog, &format!("CREATE TABLE t {columns} /*weir: {clause} */"));
        let (again, placed) = (again.expect(columns), placed);
        assert_eq!(
            (again.placement, again.unchecked, again.clause),
            (placed.placement, placed.unchecked, placed.clause),
            "{columns} {clause}"
        );
    }
}

#[test]
fn what_cant_be_is_refused_with_the_way_out() {
    let cases = [
        ("(id FLOAT PRIMARY KEY)", "approximate"),
        ("(id TIMESTAMP PRIMARY KEY)", "DATETIME"),
        ("(id ENUM('a') PRIMARY KEY)", "VARCHAR"),
        ("(id TEXT, PRIMARY KEY (id(10)))", "VARCHAR"),
        ("(id BLOB, PRIMARY KEY (id(10)))", "VARBINARY"),
        ("(id JSON) SHARD BY HASH(id)", "SINGLE or GLOBAL"),
        ("(id UUID PRIMARY KEY)", "BINARY(16)"),
        ("(id POINT) SHARD BY HASH(id)", "integer"),
        ("(a INT, id INT AS (a) STORED, PRIMARY KEY (id))", "generated"),
        ("(id VARCHAR(9) COLLATE utf8mb4_danish_ci PRIMARY KEY)", "utf8mb4_bin"),
        ("(id VARCHAR(9) COLLATE utf8mb4_0900_as_cs PRIMARY KEY)", "utf8mb4_general_ci"),
        ("(id VARCHAR(9) COLLATE gbk_chinese_ci PRIMARY KEY)", "utf8mb4"),
        ("(id VARCHAR(9), PRIMARY KEY (id(3)))", "PRIMARY"),
        ("(id INT PRIMARY KEY, u INT UNIQUE)", "UNIQUE UNCHECKED"),
        ("(id INT PRIMARY KEY, u INT, UNIQUE x (u))", "'x'"),
        ("(id INT PRIMARY KEY, u INT, UNIQUE ((u + 1)))", "UNIQUE UNCHECKED"),
        ("(id INT PRIMARY KEY, u INT) SHARD BY HASH(u)", "SHARD BY HASH"),
        ("(id INT PRIMARY KEY) SINGLE ON SHARD 's9'", "s1, s2"),
        ("(id INT PRIMARY KEY) SINGLE ON SHARD 'other'", "s1, s2"),
        ("(id INT PRIMARY KEY) SHARD BY RANGE(id)", "parts"),
        ("(id INT PRIMARY KEY) SHARD BY YEAR(id)", "DATE or DATETIME"),
        ("(a INT, b INT) SHARD BY RANGE(a, b) (s1 VALUES LESS THAN (1))", "HASH"),
        ("(a VARCHAR(9)) SHARD BY RANGE(a) (s1 VALUES LESS THAN ('a'))", "LIST or HASH"),
        ("(a INT) SHARD BY RANGE(a) (s1 VALUES LESS THAN (1.5))", "exactly"),
        ("(a INT) SHARD BY LIST(a) (s1 VALUES IN (1 + 1))", "literals"),
        ("(a VARCHAR(9)) SHARD BY LIST(a) (s1 VALUES IN ('*/'))", "literals"),
    ];
    let catalog = catalog();
    for (body, reason) in cases {
        let clause = ["SHARD BY", "PARTITION BY", "SINGLE"].iter().any(|word| body.contains(word));
        if !clause {
            let placed = place(&catalog, &format!("CREATE TABLE t {body}")).expect(body);
            assert_eq!((placed.placement, placed.by_default), (Placement::Single(ShardId(0)), false), "{body}");
            let note = placed.note.expect(body);
            assert!(note.starts_with("Table 't' is SINGLE, on shard 's1'") && note.contains(reason), "{body}: {note}");
        }
        let clause = if clause { "" } else { " SHARD BY HASH(id)" };
        match place(&catalog, &format!("CREATE TABLE t {body}{clause}")) {
            Err(Unplaced::Refused(failure)) => {
                assert_eq!((failure.code, failure.sqlstate), (1235, *b"42000"), "{body}");
                assert!(failure.message.contains(reason), "{body}: {}", failure.message);
            }
            other => panic!("{body}: {other:?}"),
        }
    }
}

#[test]
fn mistakes_have_the_servers_own_errors() {
    let cases = [
        ("(a INT) SHARD BY HASH(b)", 1072),
        ("(a INT) SHARD BY HASH(a, a)", 1060),
        ("(a INT) SHARD BY RANGE(a) (s1 VALUES LESS THAN (2), s2 VALUES LESS THAN (2))", 1493),
        ("(a INT) SHARD BY RANGE(a) (s1 VALUES LESS THAN MAXVALUE, s2 VALUES LESS THAN (2))", 1481),
        ("(a INT) SHARD BY LIST(a) (s1 VALUES IN (1, 2), s2 VALUES IN (01))", 1495),
    ];
    let catalog = catalog();
    for (body, code) in cases {
        let found = place(&catalog, &format!("CREATE TABLE t {body}"));
        assert!(matches!(&found, Err(Unplaced::Refused(failure)) if failure.code == code), "{body}: {found:?}");
    }
}

#[test]
fn collations_and_characters_that_are_not_known_are_asked_for() {
    let catalog = catalog();
    let needs = |column: &str, collation: &str| {
        Err(Unplaced::NeedsCheck { column: column.to_owned(), collation: collation.to_owned() })
    };
    let swedish = "CREATE TABLE t (c CHAR(9) PRIMARY KEY) CHARACTER SET latin1";
    assert_eq!(place(&catalog, swedish), needs("c", "latin1_swedish_ci"));
    let list = "CREATE TABLE t (c CHAR(9) COLLATE utf8mb4_general_ci) SHARD BY LIST(c) (s1 VALUES IN ('ab'))";
    assert_eq!(place(&catalog, list), Err(Unplaced::NeedsWeights("utf8mb4_general_ci".to_owned(), vec!['a', 'b'])));
}

#[test]
fn unchecked_keys_are_recorded_by_the_servers_names() {
    let sql = "CREATE TABLE t (id INT PRIMARY KEY, u INT UNIQUE UNCHECKED, UNIQUE UNCHECKED (u, id), UNIQUE UNCHECKED (u), \
               UNIQUE UNCHECKED x (u), CONSTRAINT y UNIQUE UNCHECKED (u))";
    assert_eq!(place(&catalog(), sql).expect("placed").unchecked, ["u", "u_3", "x", "y"]);
}

#[test]
fn servers_get_the_text_without_weirs_words() {
    let cases = [
        (
            "CREATE TABLE t (id INT PRIMARY KEY) PARTITION BY HASH(id) PARTITIONS 64",
            "CREATE TABLE t (id INT PRIMARY KEY) ",
        ),
        (
            "CREATE TABLE t (id INT PRIMARY KEY, u INT UNIQUE UNCHECKED, UNIQUE UNCHECKED k (u)) SHARD BY HASH(id) ENGINE=InnoDB",
            "CREATE TABLE t (id INT PRIMARY KEY, u INT UNIQUE , UNIQUE  k (u))  ENGINE=InnoDB",
        ),
        ("CREATE TABLE t (id INT) ENGINE=InnoDB /*weir: global */", "CREATE TABLE t (id INT) ENGINE=InnoDB "),
        (
            "CREATE TABLE t (id INT PRIMARY KEY) PARTITION BY HASH(id + 1) PARTITIONS 4",
            "CREATE TABLE t (id INT PRIMARY KEY) PARTITION BY HASH(id + 1) PARTITIONS 4",
        ),
        ("CREATE TABLE t (id INT) GLOBAL PARTITION BY HASH(id)", "CREATE TABLE t (id INT)  PARTITION BY HASH(id)"),
        (
            "CREATE TABLE t (id INT) /*!50100 PARTITION BY HASH(id) */",
            "CREATE TABLE t (id INT) /*!50100 PARTITION BY HASH(id) */",
        ),
    ];
    for (sql, left) in cases {
        let found = with(&catalog(), sql, |_, create| server_text(sql.as_bytes(), create));
        assert_eq!(String::from_utf8_lossy(&found), left);
    }
}

#[test]
fn foreign_keys_stay_on_their_shard() {
    let mut catalog = catalog();
    for sql in [
        "CREATE TABLE users (id INT PRIMARY KEY)",
        "CREATE TABLE pairs (a INT, b INT, PRIMARY KEY (a, b)) SHARD BY HASH(a, b)",
        "CREATE TABLE kinds (id INT PRIMARY KEY) GLOBAL",
        "CREATE TABLE lone (id INT PRIMARY KEY) SINGLE ON SHARD 's2'",
        "CREATE TABLE texts (id VARCHAR(9) COLLATE latin1_bin PRIMARY KEY)",
    ] {
        add(&mut catalog, sql);
    }
    let fine = [
        "(u BIGINT, n INT, PRIMARY KEY (u, n), FOREIGN KEY (u) REFERENCES users (id) ON DELETE CASCADE)",
        "(y INT, x INT, PRIMARY KEY (x, y), FOREIGN KEY (y, x) REFERENCES pairs (b, a)) SHARD BY HASH(x, y)",
        "(id INT PRIMARY KEY, k INT, FOREIGN KEY (k) REFERENCES kinds (id) ON DELETE SET NULL)",
        "(id INT PRIMARY KEY, k INT REFERENCES kinds (id)) GLOBAL",
        "(k INT, FOREIGN KEY (k) REFERENCES lone (id)) SINGLE ON SHARD 's2'",
        "(id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES later (id))",
        "(id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES t (id)) SINGLE",
    ];
    for body in fine {
        assert!(place(&catalog, &format!("CREATE TABLE t {body}")).is_ok(), "{body}");
    }
    let bad = [
        "(id INT PRIMARY KEY, u INT, FOREIGN KEY (u) REFERENCES users (id))",
        "(x INT, y INT, FOREIGN KEY (x, y) REFERENCES pairs (b, a)) SHARD BY HASH(x, y)",
        "(id INT PRIMARY KEY, u INT, FOREIGN KEY (u) REFERENCES users (id)) GLOBAL",
        "(u INT, FOREIGN KEY (u) REFERENCES users (id)) SINGLE",
        "(u INT, FOREIGN KEY (u) REFERENCES lone (id)) SINGLE ON SHARD 's1'",
        "(id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES t (id)) SHARD BY HASH(id)",
        "(id INT PRIMARY KEY, u INT, FOREIGN KEY (u) REFERENCES elsewhere.users (id))",
        "(id VARCHAR(9) COLLATE utf8mb4_bin PRIMARY KEY, FOREIGN KEY (id) REFERENCES texts (id))",
        "(u INT NULL, n INT, FOREIGN KEY (u) REFERENCES users (id) ON DELETE SET NULL) SHARD BY HASH(u)",
        "(k INT PRIMARY KEY, FOREIGN KEY (k) REFERENCES kinds (id) ON UPDATE CASCADE) SHARD BY HASH(k)",
    ];
    for body in bad {
        let found = place(&catalog, &format!("CREATE TABLE t {body}"));
        assert!(matches!(&found, Err(Unplaced::Refused(failure)) if failure.code == 1235), "{body}: {found:?}");
    }
    let single = [
        "(id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES t (id))",
        "(id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES later (id))",
        "(k INT PRIMARY KEY, FOREIGN KEY (k) REFERENCES kinds (id) ON UPDATE CASCADE)",
    ];
    for body in single {
        let placed = place(&catalog, &format!("CREATE TABLE t {body}")).expect(body);
        assert!(placed.placement == Placement::Single(ShardId(0)) && placed.note.is_some(), "{body}: {placed:?}");
    }
}

#[test]
fn databases_say_what_tables_without_a_clause_are() {
    let mut catalog = catalog();
    let body = "(id INT PRIMARY KEY, u INT)";
    assert!(place(&catalog, &format!("CREATE TABLE t {body}")).expect("placed").by_default);
    let mut database = Database::clone(&catalog.databases["d"]);
    database.default_single = true;
    catalog.databases.insert("d".into(), database.clone().into());
    let placed = place(&catalog, &format!("CREATE TABLE t {body}")).expect("placed");
    assert_eq!((placed.clause.as_str(), placed.note), ("single on shard 's1'", None));
    assert_eq!(place(&catalog, &format!("CREATE TABLE t {body} GLOBAL")).expect("placed").clause, "global");
    database.default_single = false;
    database.shards.truncate(1);
    catalog.databases.insert("d".into(), database.into());
    let placed = place(&catalog, "CREATE TABLE t (id INT PRIMARY KEY, u INT UNIQUE)").expect("placed");
    assert_eq!((placed.clause.as_str(), placed.note), ("single on shard 's1'", None), "one shard needs no key rules");
}

/// As in a dump, which has tables by name.
#[test]
fn a_table_that_comes_after_those_that_refer_to_it_goes_where_they_are() {
    let mut catalog = catalog();
    add(&mut catalog, "CREATE TABLE child (p INT, n INT, PRIMARY KEY (p, n))");
    let mut database = Database::clone(&catalog.databases["d"]);
    let mut child = Table::clone(&database.tables["child"]);
    child.foreign_keys.push(crate::table::ForeignKey {
        name: "f".into(),
        columns: vec![0],
        table: ("d".into(), "parent".into()),
        references: vec!["id".into()],
    });
    database.tables.insert("child".into(), child.into());
    catalog.databases.insert("d".into(), database.into());
    for body in ["(id INT PRIMARY KEY)", "(id BIGINT PRIMARY KEY) GLOBAL"] {
        assert!(place(&catalog, &format!("CREATE TABLE parent {body}")).is_ok(), "{body}");
    }
    for body in [
        "(id INT PRIMARY KEY) SINGLE",
        "(id INT, x INT, PRIMARY KEY (x, id))",
        "(id CHAR(3) COLLATE utf8mb4_bin PRIMARY KEY)",
    ] {
        let found = place(&catalog, &format!("CREATE TABLE parent {body}"));
        assert!(
            matches!(&found, Err(Unplaced::Refused(failure)) if failure.message.contains("'f'")),
            "{body}: {found:?}"
        );
    }
    assert!(place(&catalog, "CREATE TABLE other (id INT PRIMARY KEY) SINGLE").is_ok());
}
