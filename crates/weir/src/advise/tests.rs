//! The reports on whole dumps.

use super::*;

fn advice(text: &str, single: bool, dialect: Dialect) -> String {
    let mut out = Vec::new();
    Advice::of(text.as_bytes(), "app", single, dialect).write(&mut out).expect("a Vec takes it");
    String::from_utf8(out).expect("UTF-8")
}

#[test]
fn each_table_is_told_with_its_reason_and_its_keys() {
    let text = "CREATE TABLE users (id INT PRIMARY KEY, email VARCHAR(50));
CREATE UNIQUE INDEX mail ON users (email);
CREATE TABLE posts (id INT PRIMARY KEY, user_id INT NOT NULL);
ALTER TABLE posts ADD CONSTRAINT f FOREIGN KEY (user_id) REFERENCES users (id);
CREATE TABLE log (id BIGINT AUTO_INCREMENT PRIMARY KEY, t TEXT);
CREATE TABLE kinds (id INT PRIMARY KEY) /*weir: global */;";
    let told = advice(text, false, Dialect::MariaDb);
    for line in [
        "app.users (line 1): single on shard 's1'",
        "Key 'mail' does not hold the shard key (id)",
        "  key: /*weir: shard by hash(id) */, beside app.posts (user_id); unique keys without it: mail",
        "app.posts (line 3): single on shard 's1'",
        "  key: /*weir: shard by hash(user_id) */, beside app.users (id); unique keys without it: PRIMARY",
        "app.log (line 5): shard by hash(id)",
        "app.kinds (line 6): global",
        "4 tables: 1 GLOBAL, 2 SINGLE, 1 sharded; 0 refused",
    ] {
        assert!(told.contains(line), "{line}\n{told}");
    }
    let told = advice(text, true, Dialect::MySql);
    assert!(told.contains("1 GLOBAL, 3 SINGLE; 0 refused"), "{told}");
}

#[test]
fn all_that_will_be_refused_is_told_at_once() {
    let text = "CREATE DATABASE shop /*weir: default singel */;
CREATE TABLE a (id INT PRIMARY KEY, e INT UNIQUE) /*weir: shard by hash(id) */;
CREATE TABLE b (id INT PRIMARY KEY) /*weir: shard by hash(id) */;
CREATE TABLE c (id INT PRIMARY KEY, b INT, FOREIGN KEY (b) REFERENCES b (id)) /*weir: shard by hash(id) */;
DELIMITER ;;
CREATE TRIGGER t AFTER INSERT ON b FOR EACH ROW BEGIN INSERT INTO c VALUES (1, 1); END ;;
DELIMITER ;
CREATE TABLE broken (id INT,;
CREATE FUNCTION f() RETURNS INT RETURN (SELECT COUNT(*) FROM b);";
    let told = advice(text, false, Dialect::MariaDb);
    for line in ["line 1: CREATE DATABASE", "line 2: CREATE TABLE a", "line 4: a foreign key of app.c to app.b"] {
        assert!(told.contains(line), "{line}\n{told}");
    }
    for line in ["line 6: CREATE TRIGGER t", "line 8: CREATE TABLE broken", "line 9: CREATE FUNCTION f", "6 refused"] {
        assert!(told.contains(line), "{line}\n{told}");
    }
}

/// The same that the suite's test finds with real servers.
#[test]
fn whole_applications_are_told_as_they_install() {
    let zabbix = include_str!("../../../../tests/schemas/zabbix.sql");
    let told = advice(zabbix, false, Dialect::MySql);
    assert!(told.contains("17 tables: 12 SINGLE, 5 sharded; 0 refused"), "{told}");
    assert!(told.contains("why: line 38 needs it: create trigger hosts_insert"), "{told}");
    let way =
        "key: /*weir: shard by hash(hostid) */, beside app.hosts (hostid), app.hosts (templateid), app.items (hostid)";
    assert!(told.contains(way) && told.contains("GLOBAL would have to be: app.hstgrp"), "{told}");
    let powerdns = include_str!("../../../../tests/schemas/powerdns.sql");
    let told = advice(powerdns, false, Dialect::MariaDb);
    assert!(told.contains("7 tables: 6 SINGLE, 1 sharded; 0 refused"), "{told}");
    assert!(told.contains("/*weir: shard by hash(domain_id) */, beside app.comments (domain_id)"), "{told}");
}
