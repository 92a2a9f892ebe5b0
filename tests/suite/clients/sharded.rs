//! Applications' frameworks in a database over two shards: migrations, models, and what they ask of `information_schema`.

use std::process::Command;

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use weir_local::Flavor;

use super::passes;
use crate::Collector;
use crate::driver::{connect, expect_equal, server_error, value};
use crate::lab::{APP, Endpoint, Lab};

/// Adds this module's tests.
pub(super) fn collect(tests: &mut Collector) {
    // With MariaDB, Django reads the ids of new rows by INSERT … RETURNING.
    tests.add_for_weir("clients::django_and_sqlalchemy::over_shards", over_shards);
    tests.add_for_weir("clients::applications::in_a_database_with_default_single", unmodified);
}

fn over_shards(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let programs = [("sharded", lab.tools.python("sharded_client.py")?)];
    lab.over_two(flavor, ("t_app", ""), |endpoint| run_all(lab, endpoint, flavor, "t_app", &programs))
}

/// Applications that know nothing of shards, as they are.
fn unmodified(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let schemas = [
        ("mediawiki", include_str!("../../schemas/mediawiki.sql")),
        ("powerdns", include_str!("../../schemas/powerdns.sql")),
        ("zabbix", include_str!("../../schemas/zabbix.sql")),
    ];
    let programs =
        [("django", lab.tools.python("django_client.py")?), ("wordpress", super::programs::wordpress(&lab.tools)?)];
    lab.over_two(flavor, ("t_single", "/*weir: default single */"), |endpoint| {
        for (name, text) in schemas {
            install(endpoint, name, text).map_err(|error| format!("{name}: {error:?}"))?;
        }
        for (schema, largest) in schemas.iter().zip(&LARGEST) {
            largest.judge(endpoint, *schema).map_err(|error| format!("{}, largest tables: {error:?}", schema.0))?;
        }
        run_all(lab, endpoint, flavor, "t_single", &programs)
    })
}

/// Installs a schema in a database without a clause: all tables are there, and the catalog is what the servers have.
fn install(endpoint: &Endpoint, name: &str, text: &str) -> Result<(), Failed> {
    let mut session = connect(endpoint.port, APP, None)?;
    let database = format!("t_{name}");
    session.query_drop(format!("CREATE DATABASE {database}"))?;
    session.query_drop(format!("USE {database}"))?;
    for statement in text.split(";\n").filter(|statement| !statement.trim().is_empty()) {
        session.query_drop(statement).map_err(|error| format!("{statement}: {error}"))?;
    }
    let placed: Vec<mysql::Row> = session.query("WEIR SHOW TABLES")?;
    let here = placed.iter().filter(|row| row.get::<String, _>(0).as_deref() == Some(&database));
    let places: Vec<Option<String>> = here.map(|row| row.get(2)).collect();
    expect_equal("the tables", places.len(), text.matches("CREATE TABLE").count())?;
    for place in ["single", "sharded"] {
        expect_equal(place, places.iter().any(|of| of.as_deref() == Some(place)), true)?;
    }
    let differing: Vec<mysql::Row> = session.query("WEIR CATALOG CHECK")?;
    expect_equal("differences", differing.len(), 0)?;
    expect_equal("definitions that are open", session.query::<mysql::Row, _>("WEIR SHOW DDL")?.len(), 0)?;
    if name == "zabbix" {
        session.query_drop("INSERT INTO hosts (hostid, description) VALUES (7, '')")?;
        session.query_drop("INSERT INTO items (itemid, hostid) VALUES (8, 7)")?;
        let changes: Vec<(u32, u32)> = session.query("SELECT object, objectid FROM changelog ORDER BY object")?;
        expect_equal("what the triggers wrote", changes, vec![(1, 7), (3, 8)])?;
        let orphan = session.query_drop("INSERT INTO items (itemid, hostid) VALUES (9, 9)");
        expect_equal("a row without its host", server_error(&orphan).map(|(code, _)| code), Some(1452))?;
        session.query_drop("DELETE FROM hosts WHERE hostid = 7")?;
        expect_equal("its items", session.query::<u32, _>("SELECT itemid FROM items")?, vec![])?;
    }
    Ok(())
}

/// The largest tables of an application, by clauses that stand in comments of its dump, and what it asks of them.
struct Largest {
    clauses: &'static [(&'static str, &'static str)],
    writes: &'static [&'static str],
    reads: &'static [(&'static str, &'static str)],
}

const LARGEST: [Largest; 3] = [
    Largest {
        clauses: &[("revision", "shard by hash(rev_id)"), ("text", "shard by hash(old_id)")],
        writes: &[
            "INSERT INTO text (old_text, old_flags) VALUES ('one', ''), ('two', ''), ('three', ''), ('four', ''), ('five', ''), ('six', '')",
        ],
        reads: &[
            ("SELECT COUNT(*) FROM text", "6"),
            ("SELECT old_text FROM text WHERE old_id = 3 LIMIT 1", "three"),
            ("SELECT MAX(old_id) FROM text", "6"),
            ("SELECT COUNT(*) FROM revision WHERE rev_page = 1", "0"),
        ],
    },
    Largest {
        clauses: &[("domains", "global"), ("records", "shard by hash(id)")],
        writes: &[
            "INSERT INTO domains (name, type) VALUES ('example.org', 'NATIVE'), ('example.net', 'NATIVE')",
            "INSERT INTO records (domain_id, name, type, content, ttl) VALUES (1, 'example.org', 'SOA', 'ns', 60), \
             (1, 'www.example.org', 'A', '192.0.2.1', 60), (1, 'www.example.org', 'A', '192.0.2.2', 60), \
             (2, 'example.net', 'SOA', 'ns', 60), (2, 'www.example.net', 'A', '192.0.2.3', 60), (2, 'example.net', 'MX', 'mail', 60)",
        ],
        reads: &[
            (
                "SELECT GROUP_CONCAT(content ORDER BY content) FROM records \
                 WHERE disabled = 0 AND type = 'A' AND name = 'www.example.org'",
                "192.0.2.1,192.0.2.2",
            ),
            ("SELECT COUNT(*) FROM records WHERE domain_id = 2", "3"),
            ("SELECT name FROM domains WHERE id = 2", "example.net"),
        ],
    },
    Largest {
        clauses: &[
            ("history", "shard by hash(itemid)"),
            ("history_text", "shard by hash(itemid)"),
            ("trends", "shard by hash(itemid)"),
        ],
        writes: &[
            "INSERT INTO history (itemid, clock, value, ns) VALUES (1, 10, 1.5, 1), (2, 10, 2.5, 2), (3, 10, 3.5, 3), (4, 10, 4.5, 4), \
             (1, 20, 10, 1), (2, 20, 20, 2)",
            "INSERT INTO history_text (itemid, clock, value, ns) VALUES (1, 10, 'a', 1), (2, 10, 'b', 2), (3, 10, 'c', 3), (4, 10, 'd', 4)",
            "INSERT INTO trends (itemid, clock, num, value_avg) VALUES (1, 0, 2, 5.75), (2, 0, 2, 11.25), (3, 0, 1, 3.5), (4, 0, 1, 4.5)",
            "DELETE FROM history WHERE itemid = 3",
        ],
        reads: &[
            ("SELECT value FROM history WHERE itemid = 2 AND clock > 5 ORDER BY clock DESC LIMIT 1", "20"),
            ("SELECT COUNT(*) FROM history", "5"),
            ("SELECT MAX(clock) FROM history WHERE itemid IN (1, 2, 4)", "20"),
            ("SELECT SUM(num) FROM trends WHERE clock BETWEEN 0 AND 3600", "6"),
            ("SELECT h.value FROM history_text h JOIN trends t ON t.itemid = h.itemid WHERE h.itemid = 4", "d"),
        ],
    },
];

impl Largest {
    fn judge(&self, endpoint: &Endpoint, (name, text): (&str, &str)) -> Result<(), Failed> {
        let mut session = connect(endpoint.port, APP, None)?;
        let database = format!("t_{name}_large");
        session.query_drop(format!("CREATE DATABASE {database} /*weir: default single */"))?;
        session.query_drop(format!("USE {database}"))?;
        for statement in text.split(";\n").filter(|statement| !statement.trim().is_empty()) {
            let made = |table: &str| {
                let names = [format!("CREATE TABLE {table} "), format!("CREATE TABLE `{table}` ")];
                names.iter().any(|name| statement.contains(name))
            };
            let clause = self.clauses.iter().find(|(table, _)| made(table));
            let clause = clause.map(|(_, clause)| format!(" /*weir: {clause} */")).unwrap_or_default();
            session.query_drop(format!("{statement}{clause}")).map_err(|error| format!("{statement}: {error}"))?;
        }
        for statement in self.writes {
            session.query_drop(statement).map_err(|error| format!("{statement}: {error}"))?;
        }
        for (question, answer) in self.reads {
            expect_equal(question, value(&mut session, question)?, (*answer).into())?;
        }
        let written =
            |(table, _): &&(&str, &str)| self.writes.iter().any(|text| text.contains(&format!("INTO {table} ")));
        for (table, _) in self.clauses.iter().filter(written) {
            for shard in ["s1", "s2"] {
                session.query_drop(format!("SET weir_shard = '{shard}'"))?;
                let has = value(&mut session, &format!("SELECT COUNT(*) > 0 FROM {table}"))?;
                expect_equal(&format!("{table} has rows on {shard}"), has, "1".into())?;
            }
            session.query_drop("SET weir_shard = DEFAULT")?;
        }
        if name == "powerdns" {
            session.query_drop("DELETE FROM domains WHERE id = 1")?;
            expect_equal("its records", value(&mut session, "SELECT COUNT(*) FROM records")?, "3".into())?;
        }
        Ok(())
    }
}

/// Runs programs one after another.
fn run_all(
    lab: &Lab,
    endpoint: &Endpoint,
    flavor: Flavor,
    database: &str,
    programs: &[(&str, Command)],
) -> Result<(), Failed> {
    let mut each = programs.iter();
    each.try_for_each(|(name, program)| passes(lab, endpoint, database, flavor, false, name, program))
}
