//! What riding statements read and leave: the same as on a connection of their own. And what never rides.

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use weir_local::Flavor;

use super::{Case, ONE_WORKER, app, counter, counter_reaches, until_it_rides};
use crate::compare::{Pair, Side};
use crate::driver::{connect, expect_equal, expect_error, run, value};
use crate::lab::{APP, Endpoint, PLAIN, Site};
use crate::login::Login;
use crate::script;
use crate::step::{HABITS, Session};

pub(super) const CASES: &[Case] = &[
    ("what_riding_statements_leave_is_what_they_leave_directly", ONE_WORKER, left_behind),
    ("sessions_with_different_settings_ride_apart", ONE_WORKER, profiles),
    ("users_with_different_grants_ride_apart", ONE_WORKER, grants),
    ("what_is_bound_to_its_session_never_rides", ONE_WORKER, never),
    ("a_table_that_was_made_anew_is_read_as_it_is", ONE_WORKER, made_anew),
];

/// Scripts, divided by empty lines. A line that begins with a number is that many times the step.
const LEAVES: &str = include_str!("../../lanes/leaves.steps");
const SETTINGS: &str = include_str!("../../lanes/settings.steps");
const NEVER: &str = include_str!("../../lanes/never.steps");

/// The scripts of a file.
fn scripts(file: &str, site: &Site) -> Vec<Vec<String>> {
    let times = |line: &str| match line.split_once(' ') {
        Some((count, step)) if count.parse::<usize>().is_ok() => {
            vec![step.to_owned(); count.parse().expect("just parsed")]
        }
        _ => vec![line.to_owned()],
    };
    script::scripts(file, site.flavor).into_iter().map(|group| group.into_iter().flat_map(times).collect()).collect()
}

/// The server itself and Weir, on the same database: the scripts write nothing that lasts.
fn sides(site: &Site, endpoint: &Endpoint, database: &str) -> [Side; 2] {
    let side = |address| Side { address, database: database.to_owned() };
    [side(site.tcp()), side(endpoint.address.clone())]
}

fn run_script(pair: &mut Pair, script: &[String]) -> Result<(), Failed> {
    for (index, step) in script.iter().enumerate() {
        pair.run(step).map_err(|difference| {
            let before = script[index.saturating_sub(15)..index].join("\n  ");
            format!("{difference}after:\n  {before}")
        })?;
    }
    Ok(())
}

fn left_behind(site: &Site, endpoint: &Endpoint, database: &str) -> Result<(), Failed> {
    let before = counter(endpoint, "lane_rides")?;
    let unfit = counter(endpoint, "lane_unfit")?;
    let sides = sides(site, endpoint, database);
    let mut texts = 0;
    for capabilities in [HABITS[0], HABITS[1]] {
        for binary in [false, true] {
            for script in scripts(LEAVES, site) {
                let login = Login { capabilities, ..Login::new(APP.0, APP.1) };
                let mut pair = Pair::new(&sides, &login, binary);
                run_script(&mut pair, &script).map_err(|failed| {
                    let message = failed.message().unwrap_or("failed");
                    format!("capabilities {capabilities:#x}, binary {binary}\n{message}")
                })?;
                texts += 1;
            }
        }
    }
    counter_reaches(endpoint, "lane_rides", before + texts * 2)?;
    counter_reaches(endpoint, "lane_unfit", unfit + 5)
}

fn profiles(site: &Site, endpoint: &Endpoint, database: &str) -> Result<(), Failed> {
    const ROUNDS: usize = 40;
    let before = counter(endpoint, "lane_rides")?;
    let sides = sides(site, endpoint, database);
    let scripts = scripts(SETTINGS, site);
    let (reads, settings) = scripts.split_first().ok_or("no scripts")?;
    let session = |setting: &Vec<String>, binary| {
        let mut pair = Pair::new(&sides, &Login::new(APP.0, APP.1), binary);
        run_script(&mut pair, setting)?;
        (0..ROUNDS).try_for_each(|_| run_script(&mut pair, reads))
    };
    std::thread::scope(|scope| {
        let session = &session;
        let ways = settings.iter().flat_map(|setting| [(setting, false), (setting, true)]);
        let threads: Vec<_> = ways.map(|(setting, binary)| scope.spawn(move || session(setting, binary))).collect();
        for thread in threads {
            thread.join().map_err(|_| Failed::from("a session panicked"))??;
        }
        Ok::<_, Failed>(())
    })?;
    let asked = 2 * settings.len() * ROUNDS * reads.len();
    counter_reaches(endpoint, "lane_rides", before + asked as u64 / 4)
}

fn grants(site: &Site, endpoint: &Endpoint, database: &str) -> Result<(), Failed> {
    const ROUNDS: u64 = 100;
    // A name that the accounts' common grants don't cover.
    let private = format!("only_{database}");
    let only_app = format!("GRANT SELECT ON {private}.* TO '{}'@'%'", APP.0);
    site.fill(
        &private,
        &[
            "DROP DATABASE IF EXISTS {db}",
            "CREATE DATABASE {db}",
            "CREATE TABLE {db}.secrets (id INT PRIMARY KEY, v INT)",
            "INSERT INTO {db}.secrets VALUES (1, 100), (2, 200)",
            &only_app,
        ],
    )?;
    let before = counter(endpoint, "lane_rides")?;
    let mut allowed = app(endpoint, database)?;
    let mut other = connect(endpoint.port, PLAIN, Some(database))?;
    for round in 0..ROUNDS {
        let id = 1 + round % 2;
        let text = format!("SELECT v FROM {private}.secrets WHERE id = {id}");
        let prepared = format!("SELECT v FROM {private}.secrets WHERE id = ?");
        expect_equal(&text, value(&mut allowed, &text)?, (100 * id).to_string())?;
        expect_equal(&prepared, allowed.exec_first(&prepared, (id,))?, Some(100 * id))?;
        expect_error(&text, &run(&mut other, &text), 1142, "42000")?;
        expect_error(&prepared, &other.prep(&prepared), 1142, "42000")?;
        expect_equal("the other user's own", value(&mut other, "SELECT v FROM numbers WHERE id = 1")?, "8".into())?;
    }
    counter_reaches(endpoint, "lane_rides", before + ROUNDS)
}

/// MySQL converts the values of a statement's first execution after that for the columns of the old table.
fn made_anew(site: &Site, endpoint: &Endpoint, database: &str) -> Result<(), Failed> {
    const READ: &str = "SELECT v FROM anew WHERE k = ?";
    for _ in 0..5 {
        let mut maker = app(endpoint, database)?;
        maker.query_drop("DROP TABLE IF EXISTS anew")?;
        maker.query_drop("CREATE TABLE anew (k INT PRIMARY KEY, v INT)")?;
        maker.query_drop("INSERT INTO anew VALUES (5, 1)")?;
        let mut read = || expect_equal(READ, maker.exec_first(READ, ("5",))?, Some(1));
        match site.flavor {
            Flavor::MySql => until_it_rides(endpoint, read)?,
            Flavor::MariaDb => (0..100).try_for_each(|_| read())?,
        }
        maker.query_drop("DROP TABLE anew")?;
        maker.query_drop("CREATE TABLE anew (k VARCHAR(20) CHARACTER SET latin1 PRIMARY KEY, v INT)")?;
        maker.query_drop("INSERT INTO anew VALUES ('zwölf', 2)")?;
        let mut reader = app(endpoint, database)?;
        for _ in 0..20 {
            expect_equal(READ, reader.exec_first(READ, ("zwölf",))?, Some(2))?;
        }
    }
    Ok(())
}

fn never(site: &Site, endpoint: &Endpoint, database: &str) -> Result<(), Failed> {
    let mut marker = app(endpoint, database)?;
    let mut marked = 0;
    let before = counter(endpoint, "lane_rides")?;
    let mark = || {
        marked += 1;
        expect_equal("a number", value(&mut marker, "SELECT v FROM numbers WHERE id = 1")?, "8".into())
    };
    // A lane is open, for whatever would ride it.
    until_it_rides(endpoint, mark)?;
    for binary in [false, true] {
        for script in scripts(NEVER, site) {
            let mut session = Session::new(&endpoint.address, &Login::new(APP.0, APP.1), database);
            session.binary = binary;
            for step in &script {
                let sets = session.run(step);
                // What can't be prepared is sent as text, after the error that says so.
                if sets.last().is_some_and(|set| set.error_code().is_some()) {
                    return Err(format!("{step}: {sets:?}").into());
                }
            }
        }
    }
    let carried = counter(endpoint, "lane_rides")? - before;
    if carried > marked {
        return Err(format!("{carried} statements rode, where {marked} may").into());
    }
    Ok(())
}
