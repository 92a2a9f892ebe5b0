//! Applications' frameworks in a database over two shards: migrations, models, and what they ask of `information_schema`.

use std::process::Command;
use std::time::Duration;

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use weir_local::Flavor;

use super::passes;
use crate::Collector;
use crate::driver::{connect, expect_equal, server_error};
use crate::lab::{APP, Endpoint, Lab, MONITOR, Site, eventually};
use crate::weir::Weir;

const BOUND: Duration = Duration::from_secs(60);

/// Adds this module's tests.
pub(super) fn collect(tests: &mut Collector) {
    // With MariaDB, Django reads the ids of new rows by INSERT … RETURNING.
    tests.add_for_weir("clients::django_and_sqlalchemy::over_shards", over_shards);
    tests.add_for_weir("clients::applications::in_a_database_with_default_single", unmodified);
}

fn over_shards(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let programs = [("sharded", lab.tools.python("sharded_client.py")?)];
    over_two(lab, flavor, ("t_app", ""), |endpoint| run_all(lab, endpoint, flavor, "t_app", &programs))
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
    over_two(lab, flavor, ("t_single", "/*weir: default single */"), |endpoint| {
        for (name, text) in schemas {
            install(endpoint, name, text).map_err(|error| format!("{name}: {error:?}"))?;
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

/// Works with a Weir over two shards that has a new database.
fn over_two(
    lab: &Lab,
    flavor: Flavor,
    (database, clause): (&str, &str),
    work: impl Fn(&Endpoint) -> Result<(), Failed>,
) -> Result<(), Failed> {
    let parent = lab.directory()?;
    let sites = [Site::start(flavor, &parent, "s1", &[])?, Site::start(flavor, &parent, "s2", &[])?];
    for site in &sites {
        site.server.execute(&format!("GRANT ALL ON *.* TO '{}'@'%' WITH GRANT OPTION", MONITOR.0))?;
    }
    let servers = [("s1", vec![&sites[0].server]), ("s2", vec![&sites[1].server])];
    let weir = Weir::start_shards(&lab.directory()?, &servers, &[])?;
    lab.judge(Endpoint::of(weir), |endpoint| {
        eventually(BOUND, "a sharded database can be made", || {
            connect(endpoint.port, APP, None)
                .is_ok_and(|mut session| session.query_drop(format!("CREATE DATABASE {database} {clause}")).is_ok())
        })?;
        work(endpoint)
    })
}
