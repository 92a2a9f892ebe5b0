//! The catalog of a Weir with several shards: where it is, what becomes of it when its file or a shard is gone, and how databases that
//! are there already come into it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use libtest_mimic::Failed;
use mysql::Row;
use mysql::prelude::Queryable;
use nix::sys::signal::Signal;
use weir_local::{Flavor, Server};

use crate::Collector;
use crate::driver::{connect, expect_equal, expect_error, run};
use crate::lab::{APP, Endpoint, Lab, MONITOR, Site, eventually};
use crate::takeover::take_over;
use crate::weir::{Weir, command, serve_refused, servers_of_shard, text_with};

const BOUND: Duration = Duration::from_secs(60);

/// Two shards of one server each, and where Weir's files are.
struct Two {
    first: Site,
    second: Site,
    home: PathBuf,
}

type Case = fn(&Lab, Two) -> Result<(), Failed>;

/// Adds this module's tests.
pub(crate) fn collect(tests: &mut Collector) {
    let cases: [(&str, Case); 8] = [
        ("a_lost_file_is_rebuilt_from_the_shards", rebuilt),
        ("an_exported_document_is_imported", imported),
        ("a_takeover_hands_the_file_over", handed_over),
        ("a_shard_that_was_gone_gets_its_copy", late),
        ("rights_that_are_missing_are_named", rights),
        ("a_database_is_attached_as_it_is", attached),
        ("a_check_finds_what_differs", checked),
        ("a_change_writes_little_and_what_is_lost_is_noticed", kept),
    ];
    for (word, case) in cases {
        tests.add_for_weir(&format!("catalog::{word}"), move |lab: &Lab, flavor| {
            let parent = lab.directory()?;
            let first = Site::start(flavor, &parent, "s1", &[])?;
            let second = Site::start(flavor, &parent, "s2", &[])?;
            case(lab, Two { first, second, home: lab.directory()? })
        });
    }
}

impl Two {
    fn servers(&self) -> [(&'static str, Vec<&Server>); 2] {
        [("s1", vec![&self.first.server]), ("s2", vec![&self.second.server])]
    }

    fn weir(&self) -> Result<Weir, Failed> {
        Weir::start_shards(&self.home, &self.servers(), &[])
    }

    /// A configuration that no Weir runs with.
    fn text(&self) -> String {
        let shards = self.servers();
        let servers: Vec<_> = shards.iter().flat_map(|(group, servers)| servers_of_shard(group, servers)).collect();
        text_with(1, 2, &self.home.join("refused.sock"), &servers, &[])
    }

    fn config(&self) -> String {
        self.home.join("weir.toml").to_string_lossy().into_owned()
    }

    fn file(&self) -> PathBuf {
        self.home.join("weir-catalog/catalog")
    }

    /// `weir catalog …` with the configuration.
    fn command(&self, word: &str, more: &[&str]) -> Result<(Option<i32>, String, String), Failed> {
        let config = self.config();
        let mut args = vec!["catalog", word, "--config", &config];
        args.extend(more);
        command(&args, &[])
    }

    /// A database with a table on each shard, and one of no shard but the second.
    fn fill(&self) -> Result<(), Failed> {
        self.first.fill("t_cat", &["CREATE DATABASE {db}", "CREATE TABLE {db}.here (id INT PRIMARY KEY, v TEXT)"])?;
        let there = "CREATE TABLE {db}.there (a INT NOT NULL, b VARCHAR(20), PRIMARY KEY (a))";
        self.second.fill("t_cat", &["CREATE DATABASE {db}", there, "CREATE VIEW {db}.seen AS SELECT a FROM {db}.there"])
    }
}

fn copies(site: &Site) -> Result<String, Failed> {
    Ok(site.server.query_value("SELECT MAX(version) FROM weir.catalog")?.unwrap_or_default())
}

fn tables(port: u16) -> Result<Vec<String>, Failed> {
    let rows: Vec<Row> = connect(port, APP, None)?.query("WEIR SHOW TABLES")?;
    let cell = |row: &Row, at: usize| row.get::<Option<String>, _>(at).flatten().unwrap_or_default();
    Ok(rows.iter().map(|row| format!("{}.{} {} {}", cell(row, 0), cell(row, 1), cell(row, 2), cell(row, 4))).collect())
}

const TABLES: [&str; 2] = ["t_cat.here single s1", "t_cat.there single s2"];

fn killed(mut weir: Weir) -> Result<(), Failed> {
    weir.signal(Signal::SIGKILL)?;
    weir.wait_end(BOUND).map(drop)
}

fn contains(what: &str, text: &str, part: &str) -> Result<(), Failed> {
    match text.contains(part) {
        true => Ok(()),
        false => Err(format!("{what}: {part:?} is not in {text:?}").into()),
    }
}

fn rebuilt(_lab: &Lab, two: Two) -> Result<(), Failed> {
    two.fill()?;
    let weir = two.weir()?;
    connect(weir.port, APP, None)?.query_drop("WEIR ATTACH DATABASE t_cat")?;
    expect_equal("tables", tables(weir.port)?, TABLES.map(str::to_owned).into())?;
    expect_equal("copies", (copies(&two.first)?, copies(&two.second)?), ("2".into(), "2".into()))?;
    killed(weir)?;
    let refused = two.command("rebuild", &[])?;
    contains("nothing is lost", &refused.2, "nothing is lost")?;
    std::fs::remove_file(two.file())?;
    let (_, said) = serve_refused(&two.home, &two.text())?;
    contains("a lost file", &said, "weir catalog rebuild")?;
    let rebuilt = two.command("rebuild", &[])?;
    expect_equal("exit code", rebuilt.0, Some(0))?;
    contains("what was found", &rebuilt.1, "shard 's2': version 2")?;
    let weir = two.weir()?;
    expect_equal("tables, rebuilt", tables(weir.port)?, TABLES.map(str::to_owned).into())?;
    expect_equal("in use", two.command("rebuild", &[])?.2.contains("in use by another process"), true)?;
    killed(weir)?;
    damage(&two.file())?;
    let (_, said) = serve_refused(&two.home, &two.text())?;
    contains("a damaged file", &said, "weir catalog rebuild")
}

fn damage(file: &Path) -> Result<(), Failed> {
    let mut bytes = std::fs::read(file)?;
    let length = bytes.len();
    bytes[length / 4..].fill(0xa5);
    Ok(std::fs::write(file, bytes)?)
}

fn imported(_lab: &Lab, two: Two) -> Result<(), Failed> {
    two.fill()?;
    let weir = two.weir()?;
    connect(weir.port, APP, None)?.query_drop("WEIR ATTACH DATABASE t_cat")?;
    let (code, document, _) = two.command("export", &[])?;
    expect_equal("exported while Weir runs", code, Some(0))?;
    connect(weir.port, APP, None)?.query_drop("WEIR DETACH DATABASE t_cat")?;
    expect_equal("detached", tables(weir.port)?, vec![])?;
    let file = two.home.join("catalog.json");
    std::fs::write(&file, document)?;
    let file = file.to_string_lossy().into_owned();
    contains("in use", &two.command("import", &[&file])?.2, "in use by another process")?;
    killed(weir)?;
    contains("stored", &two.command("import", &[&file])?.1, "stored as version 4")?;
    let weir = two.weir()?;
    expect_equal("imported", tables(weir.port)?, TABLES.map(str::to_owned).into())?;
    eventually(BOUND, "both shards have the copy", || {
        [&two.first, &two.second].iter().all(|site| copies(site).is_ok_and(|version| version == "4"))
    })
}

fn handed_over(_lab: &Lab, two: Two) -> Result<(), Failed> {
    two.fill()?;
    let old = Weir::start_shards(&two.home, &two.servers(), &[("takeover.idle", "\"60s\"")])?;
    let mut before = connect(old.port, APP, None)?;
    let new = take_over(&old)?;
    connect(new.port, APP, None)?.query_drop("WEIR ATTACH DATABASE t_cat")?;
    expect_equal("the new process", tables(new.port)?, TABLES.map(str::to_owned).into())?;
    eventually(BOUND, "the old process follows", || {
        before.query::<Row, _>("WEIR SHOW TABLES").is_ok_and(|rows| rows.len() == 2)
    })?;
    expect_error("the old process", &run(&mut before, "WEIR DETACH DATABASE t_cat"), 1290, "HY000")
}

fn late(_lab: &Lab, mut two: Two) -> Result<(), Failed> {
    two.fill()?;
    let weir = two.weir()?;
    two.second.server.stop()?;
    let mut session = connect(weir.port, APP, None)?;
    // Its tables can't be read, so nothing can be said of them.
    let down = run(&mut session, "WEIR ATTACH DATABASE t_cat");
    if down.is_ok() {
        return Err("a database was attached although a shard is gone".into());
    }
    two.second.server.restart()?;
    eventually(BOUND, "the shard is back", || run(&mut session, "WEIR ATTACH DATABASE t_cat").is_ok())?;
    two.second.server.stop()?;
    session.query_drop("WEIR DETACH DATABASE t_cat")?;
    expect_equal("the shard that is there", copies(&two.first)?, "3".to_owned())?;
    two.second.server.restart()?;
    eventually(BOUND, "the copy comes later", || copies(&two.second).is_ok_and(|version| version == "3"))?;
    let rows: Vec<Row> = session.query("WEIR SHOW SHARDS")?;
    expect_equal("shards", rows.len(), 2)
}

fn rights(_lab: &Lab, two: Two) -> Result<(), Failed> {
    let own = format!("'{}'@'%'", MONITOR.0);
    for site in [&two.first, &two.second] {
        site.server.execute(&format!("REVOKE ALL PRIVILEGES, GRANT OPTION FROM {own}"))?;
    }
    let (_, said) = serve_refused(&two.home, &two.text())?;
    contains("the account", &said, &format!("account {own} lacks rights on shard 's1'"))?;
    let grants: Vec<&str> = said.lines().filter_map(|line| line.find("GRANT ").map(|at| &line[at..])).collect();
    expect_equal("statements", grants.len(), 2)?;
    for site in [&two.first, &two.second] {
        for grant in &grants {
            site.server.execute(grant.trim_end_matches(';'))?;
        }
    }
    // What it takes to watch servers, which any Weir needs.
    for site in [&two.first, &two.second] {
        let watch = match site.flavor {
            Flavor::MariaDb => "REPLICATION CLIENT, SLAVE MONITOR ON *.*",
            Flavor::MySql => "REPLICATION CLIENT ON *.*",
        };
        site.server.execute(&format!("GRANT {watch} TO {own}"))?;
    }
    two.weir().map(drop)
}

fn attached(lab: &Lab, two: Two) -> Result<(), Failed> {
    two.fill()?;
    two.first.fill("t_both", &["CREATE DATABASE {db}", "CREATE TABLE {db}.t (id INT)"])?;
    two.second.fill("t_both", &["CREATE DATABASE {db}", "CREATE TABLE {db}.t (id INT)"])?;
    let weir = two.weir()?;
    lab.judge(Endpoint::of(weir), |endpoint| {
        let mut session = connect(endpoint.port, APP, None)?;
        session.query_drop("WEIR ATTACH DATABASE t_cat")?;
        expect_equal("tables", tables(endpoint.port)?, TABLES.map(str::to_owned).into())?;
        expect_error("again", &run(&mut session, "WEIR ATTACH DATABASE t_cat"), 1007, "HY000")?;
        expect_error("unknown", &run(&mut session, "WEIR ATTACH DATABASE t_nowhere"), 1049, "42000")?;
        expect_error("the servers'", &run(&mut session, "WEIR ATTACH DATABASE mysql"), 1235, "42000")?;
        let both = run(&mut session, "WEIR ATTACH DATABASE t_both");
        expect_error("on both", &both, 1235, "42000")?;
        contains("on both", &format!("{both:?}"), "'t_both.t' is on shard 's1' and on shard 's2'")?;
        session.query_drop("WEIR DETACH DATABASE t_cat")?;
        expect_error("twice", &run(&mut session, "WEIR DETACH DATABASE t_cat"), 1049, "42000")?;
        expect_equal("no tables", tables(endpoint.port)?, vec![])
    })
}

fn checked(lab: &Lab, two: Two) -> Result<(), Failed> {
    two.fill()?;
    let weir = two.weir()?;
    lab.judge(Endpoint::of(weir), |endpoint| {
        let mut session = connect(endpoint.port, APP, None)?;
        session.query_drop("WEIR ATTACH DATABASE t_cat")?;
        let rows: Vec<Row> = session.query("WEIR CATALOG CHECK")?;
        expect_equal("no difference", rows, vec![])?;
        expect_equal("exit code", two.command("check", &[])?.0, Some(0))?;
        two.first.server.execute("ALTER TABLE t_cat.here MODIFY v VARCHAR(10)")?;
        two.first.server.execute("CREATE TABLE t_cat.more (id INT)")?;
        two.second.server.execute("DROP TABLE t_cat.there")?;
        let rows: Vec<(String, String, String)> = session.query("WEIR CATALOG CHECK")?;
        let short: Vec<_> = rows.iter().map(|(shard, object, _)| format!("{shard} {object}")).collect();
        expect_equal(
            "differences",
            short,
            ["s1 t_cat.here", "s1 t_cat.more", "s2 t_cat.there"].map(str::to_owned).into(),
        )?;
        contains("the column", &rows[0].2, "column v is varchar(10)")?;
        let (code, text, _) = two.command("check", &[])?;
        expect_equal("exit code", code, Some(1))?;
        contains("told", &text, "shard 's2': t_cat.there: is in the catalog, but missing there")
    })
}

/// Tables beside the one that is changed.
const BESIDE: [usize; 2] = [10, 150];
/// The most that a definition may add to a shard's binary log, the definition itself included.
const MOST_BYTES: u64 = 4096;
/// Definitions that are measured.
const DEFINITIONS: u64 = 20;

fn log_size(server: &Server) -> Result<u64, Failed> {
    let rows: Vec<Row> = server.admin()?.query("SHOW BINARY LOGS")?;
    Ok(rows.iter().filter_map(|row| row.get::<u64, _>(1)).sum())
}

/// What definitions cost, with few tables and with many; then what becomes of a file and of a shard that go away while Weir runs.
fn kept(_lab: &Lab, two: Two) -> Result<(), Failed> {
    let weir = two.weir()?;
    let mut session = connect(weir.port, APP, None)?;
    session.query_drop("CREATE DATABASE t_kept")?;
    session
        .query_drop("CREATE TABLE t_kept.t (id INT PRIMARY KEY, a VARCHAR(20), b DECIMAL(9,2)) SHARD BY HASH(id)")?;
    let mut there = 0;
    for (nth, beside) in BESIDE.into_iter().enumerate() {
        let tables: Vec<String> = (there..beside)
            .map(|table| format!("CREATE TABLE {{db}}.t{table} (id INT PRIMARY KEY, a INT, b INT)"))
            .collect();
        let mut lines = vec!["CREATE DATABASE {db}"];
        lines.extend(tables.iter().map(String::as_str));
        let database = format!("t_beside{nth}");
        two.first.fill(&database, &lines)?;
        session.query_drop(format!("WEIR ATTACH DATABASE {database}"))?;
        there = beside;
        let before = [log_size(&two.first.server)?, log_size(&two.second.server)?];
        for _ in 0..DEFINITIONS / 2 {
            session.query_drop("DROP TABLE t_kept.t")?;
            session.query_drop(
                "CREATE TABLE t_kept.t (id INT PRIMARY KEY, a VARCHAR(20), b DECIMAL(9,2)) SHARD BY HASH(id)",
            )?;
        }
        for (shard, before) in [&two.first, &two.second].iter().zip(before) {
            let bytes = (log_size(&shard.server)? - before) / DEFINITIONS;
            println!("{} bytes of binary log per definition beside {beside} tables on {:?}", bytes, shard.flavor);
            if bytes > MOST_BYTES {
                return Err(format!("a definition beside {beside} tables writes {bytes} bytes of binary log").into());
            }
        }
    }
    expect_equal("no difference", session.query::<Row, _>("WEIR CATALOG CHECK")?, vec![])?;
    std::fs::remove_file(two.file())?;
    let mut told = String::new();
    let made = eventually(BOUND, "the file is made anew", || {
        let checked = two.command("check", &[]);
        told = format!("{checked:?}");
        checked.is_ok_and(|(code, ..)| code == Some(0))
    });
    made.map_err(|failed| format!("{}: {told}", failed.message().unwrap_or_default()))?;
    let shown = |session: &mut mysql::Conn| -> Result<Option<String>, Failed> {
        let rows: Vec<Row> = session.query("WEIR SHOW SHARDS")?;
        Ok(rows.get(1).and_then(|row| row.get(4)))
    };
    expect_equal("the second shard", shown(&mut session)?.as_deref(), Some("ready"))?;
    for database in ["weir", "t_kept"] {
        two.second.server.execute(&format!("DROP DATABASE {database}"))?;
    }
    eventually(BOUND, "the shard is not ready", || {
        shown(&mut session)
            .is_ok_and(|state| state.is_some_and(|state| state.contains("it was emptied, or is another server")))
    })?;
    // The other copy and the file hold all of it.
    killed(weir)?;
    std::fs::remove_file(two.file())?;
    contains("rebuilt", &two.command("rebuild", &[])?.1, "shard 's1': version")?;
    let weir = two.weir()?;
    let rows = tables(weir.port)?;
    expect_equal("tables, rebuilt", rows.len(), BESIDE[1] + 1)?;
    let mut session = connect(weir.port, APP, None)?;
    eventually(BOUND, "the shard is not ready", || {
        shown(&mut session)
            .is_ok_and(|state| state.is_some_and(|state| state.contains("it was emptied, or is another server")))
    })?;
    two.second.server.execute("CREATE DATABASE t_kept")?;
    eventually(BOUND, "the shard is ready", || {
        shown(&mut session).is_ok_and(|state| state.as_deref() == Some("ready"))
    })?;
    eventually(
        BOUND,
        "it has its copy",
        || matches!((copies(&two.first), copies(&two.second)), (Ok(one), Ok(other)) if one == other),
    )
}
