//! Prepared statements with cursors: as one server answers, where the rows come from several.

use libtest_mimic::Failed;
use mysql::prelude::Queryable;

use super::{DATABASE, Settings, Shards, SharedCase, app};
use crate::compare::{Pair, Side};
use crate::driver::expect_equal;
use crate::lab::{APP, Endpoint};
use crate::login::{Login, caps};
use crate::reply::Set;
use crate::script;
use crate::step::Session;

pub(super) const CASES: &[(&str, Settings, SharedCase)] = &[
    ("cursors_are_those_of_one_server", &[], as_on_one_server),
    ("a_cursor_whose_rows_end_with_an_error_is_answered_with_it_alone", &[], failing),
    ("show_opens_cursors_where_servers_do", &[], shown),
    ("a_cursor_with_more_rows_than_may_wait_is_answered_with_all_of_them", &[], too_many_rows),
];

/// The database on one server that is compared; its name is as long as that of the sharded one.
const PLAIN: &str = "t_plain";

/// What both sides do. Each fetch may end a cursor, be behind its end, or ask for one that is gone.
const STEPS: &str = include_str!("../../same/cursors_over_shards.steps");

fn as_on_one_server(shards: &Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let [site, _] = &shards.sites;
    let mut session = app(endpoint)?;
    let rows = |name: &str, rows: &str| format!("INSERT INTO {name} VALUES {rows}");
    let pairs = (1..=12).map(|id| format!("({id}, {})", id % 5)).collect::<Vec<_>>().join(",");
    let tables = [("cursed", "id INT PRIMARY KEY, k INT NOT NULL"), ("others", "id INT PRIMARY KEY, k INT NOT NULL")];
    let mut plain = vec!["DROP DATABASE IF EXISTS {db}".to_owned(), "CREATE DATABASE {db}".to_owned()];
    for (name, columns) in tables {
        session.query_drop(format!("DROP TABLE IF EXISTS {name}"))?;
        session.query_drop(format!("CREATE TABLE {name} ({columns}) SHARD BY HASH(id)"))?;
        session.query_drop(rows(name, &pairs))?;
        let plain_name = format!("{{db}}.{name}");
        plain.extend([format!("CREATE TABLE {plain_name} ({columns})"), rows(&plain_name, &pairs)]);
    }
    let plain: Vec<&str> = plain.iter().map(String::as_str).collect();
    site.fill(PLAIN, &plain)?;
    let sides = [
        Side { address: site.tcp(), database: PLAIN.into() },
        Side { address: endpoint.address.clone(), database: DATABASE.into() },
    ];
    for capabilities in [0, caps::DEPRECATE_EOF, caps::SESSION_TRACK, caps::DEPRECATE_EOF | caps::SESSION_TRACK] {
        let login = Login { capabilities: caps::BASE | capabilities, ..Login::new(APP.0, APP.1) };
        let mut pair = Pair::new(&sides, &login, false).decoded();
        for step in script::steps(STEPS, site.flavor) {
            pair.run(step).map_err(|difference| format!("capabilities {capabilities:#x}\n{difference}"))?;
        }
    }
    site.fill(PLAIN, &["DROP DATABASE {db}"])?;
    shards.clean(endpoint)
}

/// Rows of 5 MB, 20 of them.
const LONG: &str = "SELECT id, REPEAT('x', 5000000) FROM few ORDER BY id";

fn too_many_rows(shards: &Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let steps = [
        (format!("!prepare long {LONG}"), Vec::new()),
        // All rows, and no cursor.
        ("!cursor long".into(), vec![20]),
        ("!fetch long 1".into(), vec![0]),
        // Two cursors share the bound.
        (format!("!prepare some {LONG} LIMIT 10"), Vec::new()),
        (format!("!prepare more {LONG} LIMIT 10"), Vec::new()),
        ("!cursor some".into(), vec![0]),
        ("!cursor more".into(), vec![10]),
        ("!fetch some 2".into(), vec![2]),
        // What a cursor took is given back with it.
        ("!unlong some".into(), vec![]),
        ("!cursor more".into(), vec![0]),
        ("!fetch more 11".into(), vec![10]),
    ];
    run_all(endpoint, &steps)?;
    shards.clean(endpoint)
}

fn failing(shards: &Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let twice = "(SELECT id FROM people WHERE people.id = few.id OR few.id = 7)";
    let steps = [
        (format!("!prepare fails SELECT id, {twice} FROM few ORDER BY id"), Vec::new()),
        ("!cursor fails".into(), vec![]),
        ("!fetch fails 1".into(), vec![0]),
        ("SELECT id FROM few WHERE id < 3".into(), vec![3]),
    ];
    run_all(endpoint, &steps)?;
    shards.clean(endpoint)
}

fn shown(shards: &Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let steps = [
        ("!prepare tables SHOW TABLES LIKE 'peop%'".to_owned(), Vec::new()),
        ("!cursor tables".into(), vec![0]),
        ("!fetch tables 2".into(), vec![1]),
        ("!prepare columns DESCRIBE people".into(), Vec::new()),
        ("!cursor columns".into(), vec![0]),
        ("!fetch columns 2".into(), vec![2]),
        ("!fetch columns 2".into(), vec![1]),
        // No server opens one.
        ("!prepare created SHOW CREATE TABLE people".into(), Vec::new()),
        ("!cursor created".into(), vec![1]),
    ];
    run_all(endpoint, &steps)?;
    shards.clean(endpoint)
}

/// Runs steps, each of which answers with so many rows in each result.
fn run_all(endpoint: &Endpoint, steps: &[(String, Vec<usize>)]) -> Result<(), Failed> {
    let mut session = Session::new(&endpoint.address, &Login::new(APP.0, APP.1), DATABASE);
    for (step, rows) in steps {
        let sets = session.run(step);
        if sets.iter().any(|set| matches!(set, Set::Lost(_))) {
            return Err(format!("{step}: the session was lost").into());
        }
        let got: Vec<usize> =
            sets.iter().filter(|set| matches!(set, Set::Rows(..))).map(|set| set.rows().len()).collect();
        expect_equal(step, &got, rows)?;
    }
    Ok(())
}
