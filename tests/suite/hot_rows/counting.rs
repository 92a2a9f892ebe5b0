//! Many clients count on one row by statements that are alike but for what must not matter: bound values, and comments.

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use weir_local::Flavor;

use super::durable_site;
use crate::driver::{connect, expect_equal};
use crate::lab::{APP, Endpoint, Lab, Site};
use crate::login::Login;
use crate::reply::Set;
use crate::step::Session;

const DATABASE: &str = "t_hot_counting";
const SETTINGS: &[(&str, &str)] = &[("hot_rows.threshold", "2"), ("hot_rows.merge", r#"["t_hot_counting.merged"]"#)];
const FILL: &[&str] = &[
    "DROP DATABASE IF EXISTS {db}",
    "CREATE DATABASE {db}",
    "CREATE TABLE {db}.merged (id INT PRIMARY KEY, word VARCHAR(9) NOT NULL, c BIGINT NOT NULL, d DECIMAL(10, 2) NOT NULL)",
    "CREATE TABLE {db}.grouped LIKE {db}.merged",
    "INSERT INTO {db}.merged VALUES (1, '1', 600, 0)",
    "INSERT INTO {db}.grouped VALUES (1, '1', 600, 0)",
];
const CLIENTS: usize = 12;
const EACH: usize = 30;
/// A server that is quick may have so few clients wait that no batch forms: then there is one more round.
const ROUNDS: usize = 20;

/// A statement that all clients execute, and how.
struct Execution {
    text: &'static str,
    values: &'static str,
    /// The column, and by how many hundredths one execution moves it.
    moves: (&'static str, i64),
    /// Its moves are made together.
    merged: bool,
}

const fn merged(text: &'static str, values: &'static str, moves: (&'static str, i64)) -> Execution {
    Execution { text, values, moves, merged: true }
}

/// What is bound is not certain to be what it would be in a text.
const fn grouped(text: &'static str, values: &'static str, moves: (&'static str, i64)) -> Execution {
    Execution { text, values, moves, merged: false }
}

const EXECUTIONS: &[Execution] = &[
    merged("UPDATE merged SET c = c - ? WHERE id = ? AND c >= ?", "1, 1, 1", ("c", -100)),
    merged("UPDATE merged SET c = c + ? WHERE word = '1' AND id = ? AND 5000000 > c", "3, 1", ("c", 300)),
    merged("UPDATE merged SET d = d + ? WHERE ? = id", "d'0.25', 1", ("d", 25)),
    merged("UPDATE merged SET d = d + ? WHERE id = ? AND d < ?", "2, 1, d'1000000.5'", ("d", 200)),
    grouped("UPDATE merged SET c = c + ? WHERE id = ?", "-1, 1", ("c", -100)),
    grouped("UPDATE merged SET c = c + ? WHERE id = ?", "'2', 1", ("c", 200)),
    grouped("UPDATE merged SET c = c + ? WHERE id = ?", "2.0, 1", ("c", 200)),
    grouped("UPDATE merged SET c = c + ? WHERE id = ?", "d'2', 1", ("c", 200)),
    grouped("UPDATE merged SET c = c + ? WHERE id = ?", "2, '1'", ("c", 200)),
    grouped("UPDATE merged SET c = c + ? WHERE id = ?", "2, d'1'", ("c", 200)),
    grouped("UPDATE merged SET c = c + ? WHERE word = ?", "2, 1", ("c", 200)),
    grouped("UPDATE merged SET d = d + ? WHERE id = ?", "d'0.255', 1", ("d", 26)),
];

/// Values are bound as in an execution of a client's own.
pub(super) fn executions(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let site = &durable_site(lab, flavor)?;
    lab.with_endpoint(site, SETTINGS, |endpoint| {
        for Execution { text, values, moves, merged } in EXECUTIONS {
            site.fill(DATABASE, FILL)?;
            let what = format!("{text} with {values}");
            let before = format!("!prepare hot {text}");
            let times = rounds(endpoint, &what, *merged, Some(&before), |_| format!("!exec hot {values}"))?;
            moved(site, &what, *moves, times)?;
        }
        // Nothing is left, and whoever finds nothing is told so.
        site.fill(DATABASE, FILL)?;
        let before = "!prepare hot UPDATE merged SET c = c - ? WHERE id = ? AND c >= ?";
        let sold = rounds(endpoint, "a sale", true, Some(before), |_| "!exec hot 7, 1, 7".to_owned())?;
        let left = site.server.query_value(&format!("SELECT c FROM {DATABASE}.merged"))?.ok_or("no row")?;
        expect_equal("what is left", left.parse()?, 600 - 7 * sold)?;
        expect_equal("all are sold", sold, 85)
    })
}

/// Ways to put a comment that is another one each time, `{c}`, into a text.
const COMMENTED: &[&str] = &[
    "/* {c} */ UPDATE {t} SET c = c + 1 WHERE id = 1",
    "UPDATE {t} SET c = c + 1 WHERE id = 1 /*{c}*/",
    "UPDATE {t} /* {c} */ SET c = c + 1 -- {c}\n WHERE id = 1",
    "begin; /* {c} */ UPDATE {t} SET c = c + 1 WHERE id = 1 /* {c} */; commit /* {c} */",
];

/// As applications and what watches them add them: who asks, and why.
pub(super) fn comments(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let site = &durable_site(lab, flavor)?;
    lab.with_endpoint(site, SETTINGS, |endpoint| {
        for table in ["merged", "grouped"] {
            for text in COMMENTED {
                site.fill(DATABASE, FILL)?;
                site.server.execute("TRUNCATE mysql.general_log")?;
                site.server.execute("SET GLOBAL log_output = 'TABLE'")?;
                site.server.execute("SET GLOBAL general_log = 1")?;
                let what = text.replace("{t}", table);
                let step = |number| what.replace("{c}", &format!("trace 'n{number}'"));
                let changed = rounds(endpoint, &what, table == "merged", None, step)?;
                site.server.execute("SET GLOBAL general_log = 0")?;
                let column = format!("SELECT c FROM {DATABASE}.{table}");
                expect_equal(&what, site.server.query_value(&column)?.ok_or("no row")?.parse()?, 600 + changed)?;
                // Each client's own text has been run, if it was not merged.
                let ran = "SELECT COUNT(DISTINCT REGEXP_SUBSTR(argument, 'trace .n[0-9]*')) FROM mysql.general_log \
                           WHERE argument LIKE '%UPDATE grouped%' AND argument LIKE '%trace %'";
                let ran: i64 = site.server.query_value(ran)?.ok_or("no count")?.parse()?;
                if table == "grouped" && ran < changed {
                    return Err(format!("{what}: {ran} texts were run for {changed} changes").into());
                }
            }
        }
        Ok(())
    })
}

/// A transaction in one text rides over shards as it does on one server, with a comment and without.
pub(super) fn texts_over_shards(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    lab.over_two_with(flavor, (DATABASE, "/*weir: shards (s1, s2) */"), SETTINGS, |endpoint| {
        let mut session = connect(endpoint.port, APP, Some(DATABASE))?;
        session.query_drop("CREATE TABLE grouped (id INT PRIMARY KEY, c BIGINT NOT NULL) SHARD BY HASH(id)")?;
        session.query_drop("INSERT INTO grouped VALUES (1, 0), (2, 0), (3, 0)")?;
        let texts = [
            "begin; UPDATE grouped SET c = c + 1 WHERE id = {id}; commit",
            "START TRANSACTION; UPDATE grouped /* {c} */ SET c = c + 1 WHERE id = {id}; COMMIT;",
        ];
        for (id, text) in (1..).zip(texts) {
            let what = text.replace("{id}", &id.to_string());
            let step = |number| what.replace("{c}", &format!("trace n{number}"));
            let changed = rounds(endpoint, &what, false, None, step)?;
            let found: Option<i64> = session.query_first(format!("SELECT c FROM grouped WHERE id = {id}"))?;
            expect_equal(&what, found, Some(changed))?;
        }
        Ok(())
    })
}

/// All clients do the same until enough has ridden or was merged, as it should. `before`: what each session does first; `step`: the
/// statement of a number that no other has. Returns how many changes clients were told of.
fn rounds(
    endpoint: &Endpoint,
    what: &str,
    merges: bool,
    before: Option<&str>,
    step: impl Fn(usize) -> String + Sync,
) -> Result<i64, Failed> {
    let weir = endpoint.weir.as_ref().ok_or("there is no Weir")?;
    let counted = |name: &str| weir.counter(&format!("weir_hot_row_{name}"));
    let (statements, merged) = (counted("statements")?, counted("merged")?);
    let mut changed = 0;
    for round in 0..ROUNDS {
        changed += std::thread::scope(|scope| {
            let running: Vec<_> = (0..CLIENTS)
                .map(|client| {
                    let first = (round * CLIENTS + client) * EACH;
                    let step = &step;
                    scope.spawn(move || count(endpoint, before, (first..first + EACH).map(step)))
                })
                .collect();
            let ended = running.into_iter().map(|client| client.join().unwrap_or_else(|_| Err("it panicked".into())));
            ended.sum::<Result<i64, String>>().map_err(|why| format!("{what}: {why}"))
        })?;
        let met = if merges { counted("merged")? > merged } else { counted("statements")? > statements + 20 };
        if met {
            break;
        }
    }
    expect_equal(&format!("{what}: merged"), counted("merged")? > merged, merges)?;
    expect_equal(&format!("{what}: in batches"), counted("statements")? > statements, true)?;
    Ok(changed)
}

/// A client's steps: how many have changed their row. Each is told what an UPDATE of one row is told.
fn count(endpoint: &Endpoint, before: Option<&str>, steps: impl Iterator<Item = String>) -> Result<i64, String> {
    let mut session = Session::new(&endpoint.address, &Login::new(APP.0, APP.1), DATABASE);
    if let Some(before) = before {
        session.run(before);
    }
    let mut changed = 0;
    for step in steps {
        let sets = session.run(&step);
        let told = sets.iter().find_map(|set| match set {
            Set::Ok(ok) if !ok.info.is_empty() => Some((ok.affected, String::from_utf8_lossy(&ok.info).into_owned())),
            _ => None,
        });
        match told.filter(|_| sets.iter().all(|set| set.error_code().is_none())) {
            Some((affected @ 0..=1, info)) if info.contains(&format!("matched: {affected}  Changed: {affected}")) => {
                changed += affected as i64;
            }
            _ => return Err(format!("{step}: {sets:?}")),
        }
    }
    Ok(changed)
}

/// The column has moved by what clients were told of.
fn moved(site: &Site, what: &str, (column, by): (&str, i64), times: i64) -> Result<(), Failed> {
    let mut root = site.server.admin()?;
    let hundredths = format!("SELECT CAST({column} * 100 AS SIGNED) FROM {DATABASE}.merged");
    let found: Option<i64> = root.query_first(hundredths)?;
    let start = if column == "c" { 60_000 } else { 0 };
    expect_equal(what, found, Some(start + by * times))
}
