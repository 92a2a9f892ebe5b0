use std::collections::BTreeMap;
use std::sync::Arc;

use weir_catalog::{Catalog, Change, Method, Object, Placement, ShardId, ShardKey, Table};
use weir_exec::read::ColumnKind;
use weir_shards::ask::{Reply, Row};
use weir_sql::ast::UpkeepVerb;
use weir_sql::{Bump, LexMode};

use super::create::completed;
use super::plan::{Care, Telling, plan};
use super::{binary, merge};
use crate::define::Asked;

fn table(placement: Placement, clause: &str) -> Table {
    Table {
        placement,
        columns: Vec::new(),
        primary_key: Vec::new(),
        unique_keys: Vec::new(),
        odd_unique: Vec::new(),
        unchecked: Vec::new(),
        foreign_keys: Vec::new(),
        triggers: false,
        auto_increment: None,
        clause: clause.to_owned(),
        hot_merge: false,
        by_default: false,
    }
}

fn sharded() -> Table {
    table(Placement::Sharded(ShardKey { columns: vec![0], method: Method::Hash }), "shard by hash(id)")
}

/// `shop` on two shards with the sharded table `t`, `g` on both, and `one` on the second.
fn catalog() -> Catalog {
    let mut catalog = Catalog { shards: vec!["s1".into(), "s2".into()], ..Catalog::default() };
    let add = Change::AddDatabase("shop".into(), vec![ShardId(0), ShardId(1)]);
    catalog.apply_changes(&[add], &weir_catalog::Told::default()).expect("it needs nothing");
    let shop = Arc::make_mut(catalog.databases.get_mut("shop").expect("it was added"));
    for (name, table) in [
        ("t", sharded()),
        ("g", table(Placement::Global, "global")),
        ("one", table(Placement::Single(ShardId(1)), "single on shard 's2'")),
    ] {
        shop.tables.insert(name.into(), Arc::new(table));
    }
    catalog
}

fn planned(text: &str) -> Result<Telling, u16> {
    let (arena, catalog, settings) = (Bump::new(), catalog(), BTreeMap::new());
    let parsed = weir_sql::parse(&arena, text.as_bytes(), LexMode::default()).expect("it can be read");
    let asked = Asked {
        text: text.as_bytes(),
        statement: &parsed.statements[0],
        database: Some(b"shop"),
        mode: LexMode::default(),
        settings: &settings,
        under_locks: false,
    };
    plan(&asked, &catalog).map_err(|failure| failure.code)
}

#[test]
fn one_shard_answers_where_all_say_the_same_and_all_where_they_differ() {
    let both = vec![ShardId(0), ShardId(1)];
    for (text, expected) in [
        ("SHOW COLUMNS FROM t", Telling::One(ShardId(0))),
        ("SHOW INDEX FROM one", Telling::One(ShardId(1))),
        ("SHOW COLUMNS FROM one FROM shop", Telling::One(ShardId(1))),
        ("DESCRIBE one", Telling::One(ShardId(1))),
        ("SHOW CREATE TABLE one", Telling::CreateTable(ShardId(1), Object::within("shop", "one"))),
        ("SHOW CREATE TABLE nothing", Telling::One(ShardId(0))),
        ("SHOW TABLES", Telling::Names(both.clone())),
        ("SHOW TABLE STATUS LIKE 't'", Telling::Status(both.clone(), "shop".into())),
        ("SHOW CREATE DATABASE shop", Telling::CreateDatabase(both.clone(), "shop".into())),
        ("SHOW DATABASES LIKE 's%'", Telling::Databases(both.clone())),
        ("SHOW GRANTS", Telling::Grants(both.clone())),
    ] {
        assert_eq!(planned(text), Ok(expected), "{text}");
    }
    assert_eq!(planned("SHOW TABLE STATUS WHERE Name = 't'"), Ok(Telling::Status(both, "shop".into())));
    assert_eq!(planned("SHOW TABLE STATUS WHERE `Rows` > 10"), Err(1235));
}

#[test]
fn tables_are_looked_after_one_by_one_where_they_are() {
    let both = vec![ShardId(0), ShardId(1)];
    let care = |text: &str, shards: &[ShardId], verb, adds| Care {
        text: text.as_bytes().to_vec(),
        shards: shards.to_vec(),
        verb,
        adds,
    };
    assert_eq!(
        planned("CHECKSUM TABLE t, g, one EXTENDED"),
        Ok(Telling::Upkeep(vec![
            care("CHECKSUM TABLE t EXTENDED", &both, UpkeepVerb::Checksum, true),
            care("CHECKSUM TABLE g EXTENDED", &both[..1], UpkeepVerb::Checksum, true),
            care("CHECKSUM TABLE one EXTENDED", &both[1..], UpkeepVerb::Checksum, true),
        ]))
    );
    assert_eq!(
        planned("OPTIMIZE TABLE g"),
        Ok(Telling::Upkeep(vec![care("OPTIMIZE TABLE g", &both, UpkeepVerb::Optimize, false)]))
    );
    for (text, shards, verb) in [
        ("ALTER TABLE t CHECK PARTITION ALL", &both[..], UpkeepVerb::Check),
        ("ALTER TABLE shop.one REPAIR PARTITION p", &both[1..], UpkeepVerb::Repair),
        ("ALTER TABLE nothing ANALYZE PARTITION p", &both[..1], UpkeepVerb::Analyze),
    ] {
        assert_eq!(planned(text), Ok(Telling::Upkeep(vec![care(text, shards, verb, false)])), "{text}");
    }
    for text in ["ANALYZE TABLE t, g, t", "CHECKSUM TABLE one, shop.one", "FLUSH TABLES g, t, g"] {
        assert_eq!(planned(text), Err(1066), "{text}");
    }
}

#[test]
fn what_is_kept_of_tables_is_told_of_all_of_them() {
    let texts = |text: &str| match planned(text) {
        Ok(Telling::Upkeep(cares)) => {
            cares.iter().map(|care| String::from_utf8_lossy(&care.text).into_owned()).collect()
        }
        other => vec![format!("{other:?}")],
    };
    let all = "PERSISTENT FOR COLUMNS ALL INDEXES ALL";
    assert_eq!(
        texts("ANALYZE TABLE t, g PERSISTENT FOR ALL"),
        [format!("ANALYZE TABLE t {all}"), format!("ANALYZE TABLE g {all}")]
    );
    let lists = "PERSISTENT FOR COLUMNS (`a`, b) INDEXES (PRIMARY)";
    assert_eq!(
        texts(
            "ANALYZE TABLE t PERSISTENT FOR COLUMNS (c) INDEXES (PRIMARY), \
             g PERSISTENT FOR COLUMNS (`a`, b) INDEXES ALL, one PERSISTENT FOR ALL"
        ),
        [format!("ANALYZE TABLE t {lists}"), format!("ANALYZE TABLE g {lists}"), format!("ANALYZE TABLE one {lists}")]
    );
}

fn rows(rows: &[&[&str]]) -> Reply {
    let cell = |text: &&str| (*text != "NULL").then(|| text.as_bytes().to_vec());
    let rows: Vec<Row> = rows.iter().map(|row| row.iter().map(cell).collect()).collect();
    Reply { rows, ..Reply::default() }
}

#[test]
fn each_name_is_told_once() {
    let merged =
        merge::names(vec![rows(&[&["g", "1"], &["t", "1"]]), rows(&[&["g", "2"], &["one", "2"], &["t", "2"]])]);
    assert_eq!(merged.rows, rows(&[&["g", "1"], &["one", "2"], &["t", "1"]]).rows);
}

#[test]
fn checksums_are_added_and_of_messages_the_worst_is_told() {
    let checksum = Care { text: Vec::new(), shards: Vec::new(), verb: UpkeepVerb::Checksum, adds: true };
    let sum = merge::upkeep(vec![rows(&[&["shop.t", "4294967295"]]), rows(&[&["shop.t", "3"]])], &checksum);
    assert_eq!(sum.rows, rows(&[&["shop.t", "2"]]).rows);
    let none = merge::upkeep(vec![rows(&[&["shop.t", "NULL"]]), rows(&[&["shop.t", "3"]])], &checksum);
    assert_eq!(none.rows, rows(&[&["shop.t", "NULL"]]).rows);
    let check = Care { text: Vec::new(), shards: Vec::new(), verb: UpkeepVerb::Check, adds: false };
    let good = rows(&[&["shop.t", "check", "status", "OK"]]);
    let bad = rows(&[&["shop.t", "check", "error", "broken"], &["shop.t", "check", "status", "Corrupt"]]);
    assert_eq!(merge::upkeep(vec![good.clone(), bad.clone(), good], &check), bad);
}

#[test]
fn the_clause_and_the_sequence_are_in_the_table_shown() {
    let plain = "CREATE TABLE `t` (\n  `id` int NOT NULL AUTO_INCREMENT\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4";
    let own = "CREATE TABLE `t` (\n  `id` int NOT NULL AUTO_INCREMENT\n) ENGINE=InnoDB AUTO_INCREMENT=5 DEFAULT CHARSET=utf8mb4";
    for (create, next, options) in [
        (plain, Some(9), "ENGINE=InnoDB AUTO_INCREMENT=9 DEFAULT CHARSET=utf8mb4"),
        (own, Some(9), "ENGINE=InnoDB AUTO_INCREMENT=9 DEFAULT CHARSET=utf8mb4"),
        (own, Some(1), "ENGINE=InnoDB DEFAULT CHARSET=utf8mb4"),
        (own, None, "ENGINE=InnoDB AUTO_INCREMENT=5 DEFAULT CHARSET=utf8mb4"),
    ] {
        let text = completed(create.as_bytes(), &sharded(), next);
        let expected =
            format!("CREATE TABLE `t` (\n  `id` int NOT NULL AUTO_INCREMENT\n) {options} /*weir: shard by hash(id) */");
        assert_eq!(String::from_utf8_lossy(&text), expected);
    }
}

#[test]
fn text_becomes_binary_by_the_columns_kinds() {
    let kinds = [
        ColumnKind::Bytes,
        ColumnKind::Integer { width: 8, unsigned: true },
        ColumnKind::Date,
        ColumnKind::Integer { width: 4, unsigned: false },
        ColumnKind::Bytes,
    ];
    let row = rows(&[&["t", "18446744073709551615", "2026-01-31 12:30:05", "-1", "NULL"]]).rows.remove(0);
    let expected = [&[0, 0b100_0000][..], &[1, b't'], &[0xff; 8], &[7, 0xea, 0x07, 1, 31, 12, 30, 5], &[0xff; 4]];
    assert_eq!(binary::row(&row, &kinds), Ok(expected.concat()));
}

#[test]
fn rights_to_an_object_are_those_where_it_is() {
    let line = |object: &str| format!("GRANT SELECT ON {object} TO `u`@`%`");
    let own = [line("*.*"), line("`shop`.`t`"), line("`shop`.`one`"), line("`other`.`one`")];
    let of_second = [line("*.*"), line("`shop`.`t`"), line("`shop`.`one`").replace("SELECT", "SELECT, INSERT")];
    let reply = |lines: &[String]| Reply {
        rows: lines.iter().map(|line| vec![Some(line.clone().into_bytes())]).collect(),
        ..Reply::default()
    };
    let whole = merge::grants(vec![(ShardId(0), reply(&own)), (ShardId(1), reply(&of_second))], &catalog());
    let expected = [&own[0], &own[1], &own[3], &of_second[2]].map(Clone::clone);
    assert_eq!(whole.rows, reply(&expected).rows);
}
