//! Hot rows: statements of many clients on one row may ride to the server together, and nobody can tell, whatever happens in the middle.
//!
//! Must always hold: all tests here hold for any correct proxy, and for the servers themselves; only [`rode`] looks whether statements did
//! ride in batches, without which a test would pass with the feature turned off.
//!
//! `WEIR_HOT_SECONDS` is how long each round of clients goes on (3), `WEIR_SEED` chooses what they do.

mod client;
mod counting;
mod cuts;
mod exact;
mod faults;
mod ledger;
mod levels;
mod many;
mod model;
mod order;
mod order_tests;
mod shapes;

use std::cell::Cell;
use std::time::Duration;

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use weir_local::{Flavor, Server};

use self::many::{Mix, Round};
use crate::Collector;
use crate::driver::{connect, expect_equal};
use crate::lab::{APP, Endpoint, Lab, Site, number_from_environment};

/// A test of what judges the others, without a server.
type OwnCase = (&'static str, fn() -> Result<(), Failed>);

/// Settings of Weir with which few clients make a row hot.
const HOT: &[(&str, &str)] = &[("hot_rows.threshold", "2")];
/// The same, and counters of these tables may be moved by one statement for several clients.
const MERGED: &[(&str, &str)] = &[
    HOT[0],
    (
        "hot_rows.merge",
        r#"["t_hot_many.seckill", "t_hot_many.counters", "t_mhot_b.seckill", "t_mhot_b.counters", "t_yhot_b.seckill", "t_yhot_b.counters"]"#,
    ),
];
const BOUND: Duration = Duration::from_secs(60);
const DEFAULT_SEED: u64 = 20_261_124;

/// Adds this module's tests.
pub(crate) fn collect(tests: &mut Collector) {
    if tests.flavor == Flavor::MariaDb {
        for (word, test) in order_tests::CASES.iter().chain(ledger::CASES) {
            tests.add(&format!("hot_rows::{word}"), move |_, _| test());
        }
    }
    tests.add("hot_rows::a_watched_client_is_answered_as_on_a_server_of_its_own", exact::exact);
    tests.add("hot_rows::replies_of_many_clients_have_one_serial_order", one_group);
    tests.add_for_weir("hot_rows::replies_over_two_shards_have_one_serial_order", two_shards);
    tests.add_for_weir("hot_rows::replies_of_merged_statements_have_one_serial_order", merged);
    tests.add_for_weir(
        "hot_rows::a_watched_client_of_merged_statements_is_answered_as_on_a_server_of_its_own",
        |lab, flavor| exact::exact_with(lab, flavor, MERGED),
    );
    tests.add_for_weir("hot_rows::moves_of_counters_by_bound_numbers_are_merged", counting::executions);
    tests.add_for_weir("hot_rows::statements_with_comments_ride_as_they_are", counting::comments);
    tests.add_for_weir("hot_rows::transactions_in_one_text_ride_over_shards", counting::texts_over_shards);
    tests.add_for_weir("hot_rows::a_hinted_statement_leaves_its_own_warnings", hinted_warnings);
    faults::collect(tests);
    tests.add_for_weir("hot_rows::reads_on_replicas_see_what_rode_in_batches", levels::levels);
}

fn seed() -> u64 {
    number_from_environment("WEIR_SEED", DEFAULT_SEED)
}

/// Whether tests also ask for what Weir is known to get wrong: `WEIR_HOT_FAULTS`.
fn asks_for_faults() -> bool {
    std::env::var_os("WEIR_HOT_FAULTS").is_some()
}

fn seconds() -> Duration {
    Duration::from_secs(number_from_environment("WEIR_HOT_SECONDS", 3))
}

/// How many statements rode in batches since this Weir began; `None` if there is no Weir.
fn ridden(endpoint: &Endpoint) -> Result<Option<u64>, Failed> {
    endpoint.weir.as_ref().map(|weir| weir.counter("weir_hot_row_statements")).transpose()
}

/// At least so many statements rode in batches since this Weir began.
fn rode(endpoint: &Endpoint, least: u64) -> Result<(), Failed> {
    let Some(weir) = &endpoint.weir else { return Ok(()) };
    let counted = |what: &str| weir.counter(&format!("weir_hot_row_{what}"));
    let rode = counted("statements")?;
    println!(
        "hot rows: {rode} statements rode in {} batches, {} were run again, {} left to run alone",
        counted("batches")?,
        counted("replays")?,
        counted("alone")?
    );
    if rode < least {
        return Err(format!("{rode} statements rode in batches, fewer than {least}").into());
    }
    Ok(())
}

/// Has a server put every commit on the disk, as most do: that is what batches form behind.
fn make_durable(server: &Server) -> Result<(), Failed> {
    server.execute("SET GLOBAL innodb_flush_log_at_trx_commit = 1")?;
    Ok(server.execute("SET GLOBAL sync_binlog = 1")?)
}

/// A durable server of a test's own.
fn durable_site(lab: &Lab, flavor: Flavor) -> Result<Site, Failed> {
    let site = Site::start(flavor, &lab.directory()?, "server", &[])?;
    make_durable(&site.server)?;
    Ok(site)
}

/// Makes the database and the tables of the model anew.
fn fill(site: &Site, database: &str) -> Result<(), Failed> {
    site.fill(database, &["DROP DATABASE IF EXISTS {db}", "CREATE DATABASE {db}"])?;
    let mut root = site.server.admin()?;
    root.query_drop(format!("USE {database}"))?;
    Ok(model::TABLES.iter().chain(model::CONTENT).try_for_each(|statement| root.query_drop(statement))?)
}

fn one_group(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    many_clients(lab, flavor, HOT).map(drop)
}

/// The same where moves of counters may be made by one statement for several clients.
fn merged(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let merged = many_clients(lab, flavor, MERGED)?;
    if merged < 20 {
        return Err(format!("{merged} statements were merged").into());
    }
    Ok(())
}

/// Returns how many statements were merged.
fn many_clients(lab: &Lab, flavor: Flavor, settings: &[(&str, &str)]) -> Result<u64, Failed> {
    const DATABASE: &str = "t_hot_many";
    let site = &durable_site(lab, flavor)?;
    let merged = Cell::new(0);
    lab.with_endpoint(site, settings, |endpoint| {
        for (number, clients) in [16, 32, 64].into_iter().enumerate() {
            fill(site, DATABASE)?;
            let round = Round {
                address: &endpoint.address,
                flavor,
                database: DATABASE,
                mix: Mix::All,
                hints: endpoint.weir.is_some(),
                clients,
                bound: seconds(),
                seed: seed() + number as u64,
            };
            tell(&format!("hot rows on {flavor}"), clients, &many::run(round)?);
        }
        merged.set(endpoint.weir.as_ref().map_or(Ok(0), |weir| weir.counter("weir_hot_row_merged"))?);
        rode(endpoint, 200)
    })?;
    Ok(merged.get())
}

/// The commit that a hint asks for comes behind the statement, and clears the diagnostics on MySQL's connection.
fn hinted_warnings(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    const DATABASE: &str = "t_hot_hints";
    let site = &durable_site(lab, flavor)?;
    lab.with_endpoint(site, HOT, |endpoint| {
        fill(site, DATABASE)?;
        let mut session = connect(endpoint.port, APP, Some(DATABASE))?;
        session.query_drop("SET sql_mode = ''")?;
        for begin in ["BEGIN", "DO 0"] {
            session.query_drop(begin)?;
            session.query_drop(
                "UPDATE /*+ COMMIT_ON_SUCCESS TARGET_AFFECT_ROW(1) */ counters SET t = t + 300 WHERE id = 1",
            )?;
            let shown: Vec<(String, u16, String)> = session.query("SHOW WARNINGS")?;
            expect_equal(begin, shown.iter().map(|(_, code, _)| *code).collect::<Vec<_>>(), vec![1264])?;
            session.query_drop("COMMIT")?;
            session.query_drop("UPDATE counters SET t = 0 WHERE id = 1")?;
        }
        Ok(())
    })
}

fn tell(what: &str, clients: usize, shown: &many::Shown) {
    let many::Shown { explained, in_the_way } = shown;
    println!("{what}: {clients} clients, {explained} calls explained, {in_the_way} not done because of others");
}

/// How the tables are divided: each row of one table by itself, so that both shards have hot ones.
const CLAUSES: [(&str, &str); 3] = [
    ("seckill", "SHARD BY HASH(id)"),
    ("counters", "SHARD BY RANGE(id) (s1 VALUES LESS THAN (2), s2 VALUES LESS THAN MAXVALUE)"),
    ("hits", "SHARD BY RANGE(k) (s1 VALUES LESS THAN (2), s2 VALUES LESS THAN MAXVALUE)"),
];

fn two_shards(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    const DATABASE: &str = "t_hot_shards";
    lab.over_two_with(flavor, (DATABASE, "/*weir: shards (s1, s2) */"), HOT, |endpoint| {
        let mut session = connect(endpoint.port, APP, None)?;
        session.query_drop(format!("USE {DATABASE}"))?;
        for (number, clients) in [24, 48].into_iter().enumerate() {
            for (table, clause) in CLAUSES {
                let made = format!("CREATE TABLE {table} ");
                let statement =
                    model::TABLES.iter().find(|statement| statement.starts_with(&made)).ok_or("no table")?;
                session.query_drop(format!("DROP TABLE IF EXISTS {table}"))?;
                session.query_drop(format!("{statement} {clause}"))?;
                let into = format!("INSERT INTO {table} ");
                let content = model::CONTENT.iter().filter(|statement| statement.starts_with(&into));
                content.into_iter().try_for_each(|statement| session.query_drop(statement))?;
            }
            let round = Round {
                address: &endpoint.address,
                flavor,
                database: DATABASE,
                mix: Mix::Sharded,
                hints: true,
                clients,
                bound: seconds(),
                seed: seed() + number as u64,
            };
            tell(&format!("hot rows on two shards of {flavor}"), clients, &many::run(round)?);
        }
        rode(endpoint, 200)
    })
}
