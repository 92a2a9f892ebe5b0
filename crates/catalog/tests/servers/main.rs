//! Keys against the servers' own comparisons, on both kinds.
//!
//! Slots are shards here, so that a value's shard is its slot: what a server calls equal must have one.

mod written;

use std::collections::{BTreeMap, HashMap, HashSet};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use weir_catalog::collation::{self, Exactness, MOST_CHARS};
use weir_catalog::define::{self, Setting, Unplaced};
use weir_catalog::reading::{self, Rows};
use weir_catalog::{
    Catalog, Constant, Database, Located, Method, Placed, Placement, ShardId, ShardKey, SlotMap, Table, Weights,
    locate, locate_stored,
};
use weir_local::mysql::prelude::Queryable;
use weir_local::mysql::{Conn, Row, Value};
use weir_local::{Flavor, Installation, Server, ServerSpec};
use written::{Written, bytes_of, date_of, integer, letters_of, number_of, text, time_of};

const SLOTS: u16 = 4096;

struct Lab {
    connection: Conn,
    weights: Weights,
    database: Database,
    // Dropped last: the server's directory, and the server.
    _server: Server,
    _dir: tempfile::TempDir,
}

fn database() -> Database {
    let shards: Vec<ShardId> = (0..SLOTS).map(ShardId).collect();
    Database {
        slots: SlotMap(shards.clone()),
        shards,
        tables: BTreeMap::new(),
        views: BTreeMap::new(),
        default_single: false,
    }
}

fn bytes(value: Value) -> Option<Vec<u8>> {
    match value {
        Value::Bytes(bytes) => Some(bytes),
        Value::Int(value) => Some(value.to_string().into_bytes()),
        Value::UInt(value) => Some(value.to_string().into_bytes()),
        _ => None,
    }
}

impl Lab {
    fn start(flavor: Flavor) -> Lab {
        let dir = tempfile::tempdir().expect("dir");
        let installation =
            Installation::find(flavor, None).expect("the tests need both kinds of server (scripts/install-deps)");
        let spec = ServerSpec { die_with_parent: true, ..ServerSpec::new("one") };
        let server = Server::start(&installation, dir.path(), &spec).expect("start");
        let mut connection = server.admin().expect("connect");
        connection.query_drop("SET NAMES utf8mb4").expect("names");
        connection.query_drop("CREATE DATABASE d DEFAULT CHARACTER SET utf8mb4").expect("database");
        connection.query_drop("USE d").expect("use");
        Lab { connection, weights: Weights::default(), database: database(), _server: server, _dir: dir }
    }

    fn rows(&mut self, sql: &str) -> Vec<Vec<Option<Vec<u8>>>> {
        let rows: Vec<Row> = self.connection.query(sql).unwrap_or_else(|error| panic!("{error}: {sql}"));
        rows.into_iter().map(|row| row.unwrap().into_iter().map(bytes).collect()).collect()
    }

    fn learn(&mut self, collation: &str, chars: &[char]) {
        for chars in chars.chunks(MOST_CHARS).chain(chars.is_empty().then_some(&[][..])) {
            let row = self.rows(&collation::learn_query(collation, chars)).remove(0);
            let learnt = collation::learnt(chars, &row).expect("weights");
            self.weights = self.weights.with(collation, learnt);
        }
    }

    fn located(&mut self, table: &Table, constant: &Constant, stored: bool) -> Located {
        let find = if stored { locate_stored } else { locate };
        loop {
            match find(&self.database, table, std::slice::from_ref(constant), &self.weights) {
                Located::NeedsWeights(collation, chars) => self.learn(&collation, &chars),
                located => return located,
            }
        }
    }

    /// Whether a collation's weights concatenate on this server.
    fn is_exact(&mut self, collation: &str) -> bool {
        match (collation::exactness(collation), collation::check_query(collation)) {
            (Exactness::Known, _) => true,
            (Exactness::ToCheck, Some(query)) => self.rows(&query)[0][0].as_deref() == Some(b"0"),
            _ => false,
        }
    }

    fn table(&mut self, definition: &str) -> Table {
        self.connection.query_drop("DROP TABLE IF EXISTS t").expect("drop");
        self.connection.query_drop(format!("CREATE TABLE t (id INT PRIMARY KEY, k {definition})")).expect("create");
        let mut tables = self.read("t", &|_| {
            let key = ShardKey { columns: vec![1], method: Method::Hash };
            Some(Placed::new(Placement::Sharded(key), vec![], ""))
        });
        tables.remove("t").expect("the table")
    }

    fn read(&mut self, name: &str, placed: &dyn Fn(&str) -> Option<Placed>) -> BTreeMap<String, Table> {
        let mut rows = |query: &str| {
            let rows = self.rows(&reading::of_table(query, "d", name));
            let text = |value: Option<Vec<u8>>| value.map(|value| String::from_utf8(value).expect("UTF-8"));
            rows.into_iter().map(|row| row.into_iter().map(text).collect()).collect()
        };
        let rows = Rows {
            columns: rows(reading::COLUMNS),
            keys: rows(reading::KEYS),
            foreign_keys: rows(reading::FOREIGN_KEYS),
            triggers: rows(reading::TRIGGERS),
        };
        reading::tables(&rows, placed).expect("tables")
    }
}

/// Puts values of all spellings into a key's column, and looks for them with others.
fn check(lab: &mut Lab, definition: &str, write: fn(&mut StdRng) -> Written, seed: u64) {
    let mut random = StdRng::seed_from_u64(seed);
    let table = lab.table(definition);
    let mut slots: HashMap<String, ShardId> = HashMap::new();
    for id in 0..200 {
        let (sql, constant) = write(&mut random);
        let Located::Shard(shard) = lab.located(&table, &constant, true) else { continue };
        let statement = format!("INSERT INTO t VALUES ({id}, {sql})");
        match lab.connection.query_drop(&statement) {
            Ok(()) => slots.insert(id.to_string(), shard),
            // What the server refuses is nowhere, whatever we think of it.
            Err(_) => continue,
        };
        let kept = lab.rows(&format!("SELECT k FROM t WHERE id = {id}")).remove(0).remove(0).expect("not NULL");
        let collation = table.columns[1].kind.collation.clone().unwrap_or_else(|| "utf8mb4_bin".to_owned());
        let kept = match (&*table.columns[1].kind.base, collation.split('_').next()) {
            ("binary" | "varbinary", _) => Constant::Binary(kept),
            ("bit", _) => Constant::Integer(kept.iter().fold(0, |value, byte| value << 8 | i128::from(*byte))),
            _ => Constant::Text { bytes: kept, collation: "utf8mb4_bin".to_owned(), explicit: false },
        };
        let again = lab.located(&table, &kept, true);
        assert_eq!(again, Located::Shard(shard), "{definition}: {statement} keeps {kept:?}");
    }
    assert!(slots.len() > 10, "{definition}: only {} values", slots.len());
    let pairs = lab.rows("SELECT a.id, b.id FROM t a, t b WHERE a.k = b.k");
    for pair in &pairs {
        let [one, two] = [&pair[0], &pair[1]].map(|id| String::from_utf8_lossy(id.as_ref().expect("id")).into_owned());
        assert_eq!(
            slots[&one],
            slots[&two],
            "{definition}: rows {one} and {two} are equal: {:?}",
            lab.rows(&format!("SELECT HEX(k) FROM t WHERE id IN ({one}, {two})"))
        );
    }
    let mut decided = 0;
    for _ in 0..400 {
        let (sql, constant) = write(&mut random);
        let located = lab.located(&table, &constant, false);
        if located == Located::Unsure {
            continue;
        }
        decided += 1;
        let query = format!("SELECT id FROM t WHERE k = {sql}");
        let Ok(found) = lab.connection.query::<String, _>(&query) else { continue };
        for id in found {
            assert_eq!(located, Located::Shard(slots[&id]), "{definition}: {query} finds row {id}");
        }
    }
    assert!(decided > 10, "{definition}: only {decided} constants were decided");
}

fn keys_of_all_types(flavor: Flavor) {
    let mut lab = Lab::start(flavor);
    type Writer = fn(&mut StdRng) -> Written;
    let cases: [(&str, Writer); 22] = [
        ("TINYINT", number_of),
        ("TINYINT UNSIGNED", number_of),
        ("SMALLINT", number_of),
        ("MEDIUMINT", number_of),
        ("INT", number_of),
        ("INT UNSIGNED ZEROFILL", number_of),
        ("BIGINT", number_of),
        ("BIGINT UNSIGNED", number_of),
        ("BIT(8)", |random| {
            if random.random_range(0..9) == 0 { number_of(random) } else { integer(random.random_range(0..260)) }
        }),
        ("DECIMAL(10,2)", number_of),
        ("DECIMAL(15,0)", number_of),
        ("DECIMAL(40,20)", number_of),
        ("DECIMAL(10,2) UNSIGNED", number_of),
        ("DATE", date_of),
        ("DATETIME", date_of),
        ("DATETIME(3)", date_of),
        ("TIME", time_of),
        ("TIME(6)", time_of),
        ("BINARY(3)", bytes_of),
        ("VARBINARY(3)", bytes_of),
        ("VARCHAR(3) CHARACTER SET ascii COLLATE ascii_bin", bytes_of),
        ("YEAR", |random| {
            if random.random() {
                integer(random.random_range(1899..2160))
            } else {
                text(&random.random_range(1899..2160).to_string())
            }
        }),
    ];
    for mode in ["", "STRICT_TRANS_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE", "ALLOW_INVALID_DATES"] {
        lab.connection.query_drop(format!("SET sql_mode = '{mode}'")).expect("mode");
        for (seed, (definition, write)) in cases.iter().enumerate() {
            check(&mut lab, definition, *write, seed as u64);
        }
    }
}

fn keys_of_all_collations(flavor: Flavor) {
    let mut lab = Lab::start(flavor);
    let column = if flavor == Flavor::MariaDb { "full_collation_name" } else { "collation_name" };
    let all = lab.rows(&format!(
        "SELECT {column} FROM information_schema.collation_character_set_applicability \
         WHERE character_set_name IN ('utf8mb4', 'utf8mb3', 'latin1', 'ascii')"
    ));
    let (mut exact, mut refused) = (HashSet::new(), Vec::new());
    for row in all {
        let collation = String::from_utf8_lossy(row[0].as_ref().expect("name")).into_owned();
        if !lab.is_exact(&collation) {
            if collation::exactness(&collation) == Exactness::ToCheck {
                refused.push(collation);
            }
            continue;
        }
        let charset = weir_catalog::Charset::of_collation(&collation).expect("one of ours").name();
        for kind in ["VARCHAR", "CHAR"] {
            for seed in 0..3 {
                check(&mut lab, &format!("{kind}(4) CHARACTER SET {charset} COLLATE {collation}"), letters_of, seed);
            }
        }
        exact.insert(collation);
    }
    println!("{flavor:?}: exact {exact:?}; refused by their weights: {refused:?}");
    let expected: &[&str] = match flavor {
        Flavor::MariaDb => {
            &["utf8mb4_bin", "utf8mb4_general_ci", "utf8mb4_unicode_ci", "latin1_swedish_ci", "ascii_general_ci"]
        }
        Flavor::MySql => {
            &["utf8mb4_bin", "utf8mb4_general_ci", "utf8mb4_0900_ai_ci", "utf8mb4_0900_bin", "latin1_swedish_ci"]
        }
    };
    for collation in expected {
        assert!(exact.contains(*collation), "{collation}");
    }
}

#[test]
fn keys_meet_what_mariadb_calls_equal() {
    keys_of_all_types(Flavor::MariaDb);
}

#[test]
fn keys_meet_what_mysql_calls_equal() {
    keys_of_all_types(Flavor::MySql);
}

#[test]
fn texts_meet_what_mariadbs_collations_call_equal() {
    keys_of_all_collations(Flavor::MariaDb);
}

#[test]
fn texts_meet_what_mysqls_collations_call_equal() {
    keys_of_all_collations(Flavor::MySql);
}

/// What is declared is what the servers then say, and they accept the text that is left.
fn definitions(flavor: Flavor) {
    let mut lab = Lab::start(flavor);
    let database = Database { shards: vec![ShardId(0), ShardId(1)], ..lab.database.clone() };
    let mut catalog = Catalog { shards: vec!["s1".into(), "s2".into()], ..Catalog::default() };
    catalog.databases.insert("d".into(), database.into());
    let definitions = [
        "CREATE TABLE parent (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT, d DECIMAL(12,3) ZEROFILL, b BIT(3), PRIMARY KEY (id)) \
         ENGINE=InnoDB PARTITION BY HASH(id) PARTITIONS 16",
        "CREATE TABLE child (p BIGINT UNSIGNED, n INT, v VARCHAR(20) COLLATE utf8mb4_bin, PRIMARY KEY (p, n), \
         UNIQUE UNCHECKED u (v), UNIQUE (p, v), UNIQUE w (p, v(3)), \
         FOREIGN KEY f (p) REFERENCES parent (id) ON DELETE CASCADE) SHARD BY HASH(p) ENGINE=InnoDB",
        "CREATE TABLE texts (c CHAR(7) CHARACTER SET latin1 COLLATE latin1_bin, d DATETIME(3) NULL, t TIME(2), y YEAR, \
         i INTEGER AS (1+1) STORED, e INT DEFAULT 5, k NUMERIC(5) NOT NULL, UNIQUE (c)) /*weir: shard by hash(c) */",
        "CREATE TABLE days (d DATE NOT NULL, v VARBINARY(9), b BINARY(4)) SHARD BY MONTH(d)",
        "CREATE TABLE ranges (id INT PRIMARY KEY) SHARD BY RANGE(id) (s1 VALUES LESS THAN (-5), s2 VALUES LESS THAN MAXVALUE)",
        "CREATE TABLE everywhere (id SERIAL, PRIMARY KEY (id)) GLOBAL",
        "CREATE TABLE nokey (x FLOAT) ENGINE=InnoDB SINGLE ON SHARD 's2'",
    ];
    let mode = weir_sql::LexMode {
        dialect: if flavor == Flavor::MariaDb { weir_sql::Dialect::MariaDb } else { weir_sql::Dialect::MySql },
        ..weir_sql::LexMode::default()
    };
    let weights = lab.weights.clone();
    for sql in definitions {
        let bump = weir_sql::Bump::new();
        let parsed = weir_sql::parse(&bump, sql.as_bytes(), mode).expect(sql);
        let weir_sql::ast::StatementKind::CreateTable(create) = parsed.statements[0].kind else { panic!("{sql}") };
        let setting = Setting {
            catalog: &catalog,
            database: "d",
            collation: Some("utf8mb4_bin"),
            collation_of: &|_| None,
            weights: &weights,
            inexact: &[],
            text: sql.as_bytes(),
            mode,
        };
        let placed = define::declare(&setting, create).unwrap_or_else(|why| panic!("{sql}: {why:?}"));
        let left = String::from_utf8(define::server_text(sql.as_bytes(), create)).expect("UTF-8");
        lab.connection.query_drop(&left).unwrap_or_else(|error| panic!("{left}: {error}"));
        let name = String::from_utf8_lossy(create.name.name.name).into_owned();
        if name == "child" {
            lab.connection
                .query_drop("CREATE TRIGGER x BEFORE INSERT ON child FOR EACH ROW SET NEW.n = NEW.n + 1")
                .expect("trigger");
        }
        let table = lab.read(&name, &|_| Some(placed.clone())).remove(&name).expect("read");
        let declared = define::columns(&setting, create);
        for (declared, told) in declared.iter().zip(&table.columns) {
            assert_eq!(declared.name, told.name);
            assert_eq!(
                (
                    declared.nullable,
                    declared.generated,
                    declared.kind.unsigned,
                    &declared.kind.collation,
                    &declared.kind.base
                ),
                (told.nullable, told.generated, told.kind.unsigned, &told.kind.collation, &told.kind.base),
                "{name}.{}",
                told.name
            );
        }
        assert_eq!(declared.len(), table.columns.len());
        match &*name {
            "parent" => {
                assert_eq!(
                    (table.auto_increment, &*table.primary_key, &*table.clause),
                    (Some(0), &[0][..], "shard by hash(id)")
                );
                assert_eq!((table.columns[1].kind.length, table.columns[1].kind.scale), (Some(12), Some(3)));
            }
            "child" => {
                assert!(table.triggers);
                assert_eq!(table.unchecked, ["u"]);
                assert_eq!(table.unique_keys, [("p".to_owned(), vec![0, 2]), ("u".to_owned(), vec![2])]);
                assert_eq!(table.odd_unique, ["w"]);
                let key = &table.foreign_keys[0];
                assert_eq!(
                    (&*key.columns, &key.table, &*key.references),
                    (&[0][..], &("d".into(), "parent".into()), &["id".to_owned()][..])
                );
                let parent = &catalog.table(b"d", b"parent").expect("parent").1;
                assert!(weir_catalog::colocated(&lab.database, parent, &table));
            }
            "texts" => {
                let defaults: Vec<Option<&str>> =
                    table.columns.iter().map(|column| column.default.as_deref()).collect();
                assert_eq!(defaults, [None, None, None, None, None, Some("5"), None]);
                assert_eq!(table.columns[1].kind.scale, Some(3));
            }
            _ => assert_eq!(table.placement, placed.placement),
        }
        let mut changed = Database::clone(&catalog.databases["d"]);
        changed.tables.insert(name, table.into());
        catalog.databases.insert("d".into(), changed.into());
    }
    assert!(matches!(
        define_one(&catalog, "CREATE TABLE z (v VARCHAR(3) COLLATE utf8mb4_general_ci PRIMARY KEY)"),
        Err(Unplaced::NeedsCheck { collation, .. }) if collation == "utf8mb4_general_ci"
    ));
}

fn define_one(catalog: &Catalog, sql: &str) -> Result<Placed, Unplaced> {
    let bump = weir_sql::Bump::new();
    let mode = weir_sql::LexMode::default();
    let parsed = weir_sql::parse(&bump, sql.as_bytes(), mode).expect(sql);
    let weir_sql::ast::StatementKind::CreateTable(create) = parsed.statements[0].kind else { panic!("{sql}") };
    let weights = Weights::default();
    let collation_of = |_: &str| None;
    let text = sql.as_bytes();
    let setting = Setting {
        catalog,
        database: "d",
        collation: None,
        collation_of: &collation_of,
        weights: &weights,
        inexact: &[],
        text,
        mode,
    };
    define::declare(&setting, create)
}

/// Else a definition takes the longer the more tables there are, of whatever database.
#[test]
fn mariadb_opens_no_other_table_to_tell_of_one() {
    let mut lab = Lab::start(Flavor::MariaDb);
    for name in ["t", "tü"] {
        lab.rows(&format!("CREATE TABLE `{name}` (id INT PRIMARY KEY)"));
        for query in [reading::COLUMNS, reading::KEYS, reading::FOREIGN_KEYS, reading::TRIGGERS] {
            for (question, scanned) in [
                (reading::of_table(query, "d", name), "Scanned 0 databases"),
                (reading::of_database(query, "d"), "Scanned 1 database"),
            ] {
                for row in lab.rows(&format!("EXPLAIN {question}")) {
                    let extra = row.last().cloned().flatten().unwrap_or_default();
                    let extra = String::from_utf8_lossy(&extra).into_owned();
                    assert!(extra.contains(scanned), "{question}: {extra}");
                }
            }
        }
    }
}

#[test]
fn definitions_are_what_mariadb_makes_of_them() {
    definitions(Flavor::MariaDb);
}

#[test]
fn definitions_are_what_mysql_makes_of_them() {
    definitions(Flavor::MySql);
}
