//! Dumps and files of sharded tables: mysqldump and its restore, LOAD DATA LOCAL of much, and of a shard that dies meanwhile.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use mysql::{Conn, LocalInfileHandler, Row};
use weir_local::Flavor;

use crate::Collector;
use crate::clients::{companion, output_with};
use crate::driver::{connect, expect_equal, value};
use crate::lab::{APP, Endpoint, Lab, Site, eventually};
use crate::weir::Weir;

const BOUND: Duration = Duration::from_secs(90);
const TABLES: [&str; 8] = ["h", "u", "r", "l", "y", "g", "s", "c"];
const FILL: [&str; 20] = [
    "CREATE TABLE h (id BIGINT PRIMARY KEY AUTO_INCREMENT, a VARCHAR(20), d DATE, KEY ka (a)) SHARD BY HASH(id)",
    "CREATE TABLE u (id INT PRIMARY KEY, email VARCHAR(40), UNIQUE UNCHECKED KEY e (email)) SHARD BY HASH(id)",
    "CREATE TABLE r (id INT PRIMARY KEY, v BLOB) SHARD BY RANGE(id) (s1 VALUES LESS THAN (100), s2 VALUES LESS THAN MAXVALUE)",
    "CREATE TABLE l (region VARCHAR(10), id INT, PRIMARY KEY (region, id)) SHARD BY LIST(region) (s1 VALUES IN ('eu'), s2 DEFAULT)",
    "CREATE TABLE y (at DATE, id INT, v INT, PRIMARY KEY (at, id)) SHARD BY MONTH(at)",
    "CREATE TABLE g (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(10)) GLOBAL",
    "CREATE TABLE s (id INT PRIMARY KEY AUTO_INCREMENT, t TEXT) SINGLE ON SHARD 's2'",
    "CREATE TABLE c (a INT, b INT, v VARCHAR(10), PRIMARY KEY (a, b)) SHARD BY HASH(a, b)",
    "INSERT INTO h (a, d) VALUES ('a', '2024-01-01'), ('b', NULL), ('c', '2024-01-03'), ('it''s', '2024-01-04'), (NULL, NULL)",
    "INSERT INTO u VALUES (1, 'x'), (2, 'y'), (3, 'z'), (4, NULL)",
    "INSERT INTO r VALUES (1, 0x00ff27), (50, 'b'), (150, NULL), (1000, 'd')",
    "INSERT INTO l VALUES ('eu', 1), ('us', 2), ('as', 3)",
    "INSERT INTO y VALUES ('2024-01-15', 1, 1), ('2024-02-15', 2, 2), ('2024-03-15', 3, 3)",
    "INSERT INTO g (name) VALUES ('one'), ('two')",
    "INSERT INTO s (t) VALUES ('x'), ('line\nbreak')",
    "INSERT INTO c VALUES (1, 1, 'a'), (1, 2, 'b'), (2, 1, 'c')",
    "CREATE VIEW vh AS SELECT id, a FROM h",
    "CREATE VIEW vs AS SELECT id, t FROM s",
    "CREATE TRIGGER th BEFORE INSERT ON h FOR EACH ROW SET NEW.a = COALESCE(NEW.a, 'none')",
    "CREATE FUNCTION f(a INT) RETURNS INT DETERMINISTIC RETURN a + 1",
];

type Case = fn(&mut [Site], &Endpoint, &Path) -> Result<(), Failed>;

/// Adds this module's tests.
pub(crate) fn collect(tests: &mut Collector) {
    let cases: [(&str, Case); 4] = [
        ("a_plain_dump_is_restored_where_locks_are_ignored", locked),
        ("mysqldump_restores_a_sharded_database", dumped),
        ("a_large_file_is_loaded_in_little_memory", large),
        ("a_shard_that_dies_leaves_nothing_of_a_file", dying),
    ];
    for (word, case) in cases {
        tests.add_for_weir(&format!("dump::{word}"), move |lab: &Lab, flavor| {
            let parent = lab.directory()?;
            let mut sites = Vec::new();
            for name in ["s1", "s2"] {
                let site = Site::start(flavor, &parent, name, &[])?;
                site.server.execute(&format!("GRANT ALL ON *.* TO '{}'@'%' WITH GRANT OPTION", APP.0))?;
                sites.push(site);
            }
            let servers = [("s1", vec![&sites[0].server]), ("s2", vec![&sites[1].server])];
            let weir = Weir::start_shards(&lab.directory()?, &servers, &[("groups.s2.writer_wait", "\"0s\"")])?;
            let files = lab.directory()?;
            lab.judge(Endpoint::of(weir), |endpoint| {
                eventually(BOUND, "a sharded database can be made", || {
                    app(endpoint, None).is_ok_and(|mut session| session.query_drop("CREATE DATABASE t_src").is_ok())
                })?;
                case(&mut sites, endpoint, &files)
            })
        });
    }
}

fn app(endpoint: &Endpoint, database: Option<&str>) -> mysql::Result<Conn> {
    connect(endpoint.port, APP, database)
}

/// A program that comes with the servers, as the application's user.
fn program(flavor: Flavor, name: &str, port: u16) -> Result<Command, Failed> {
    let mut command = Command::new(companion(flavor, name)?);
    command.args(["--no-defaults", "--host=127.0.0.1"]).arg(format!("--port={port}"));
    command.arg(format!("--user={}", APP.0)).arg(format!("--password={}", APP.1));
    Ok(command)
}

/// The programs that dump and restore.
fn programs(flavor: Flavor) -> (&'static str, &'static str) {
    match flavor {
        Flavor::MariaDb => ("mariadb-dump", "mariadb"),
        Flavor::MySql => ("mysqldump", "mysql"),
    }
}

/// What mysqldump writes of one server without any option, LOCK TABLES included, goes over two shards.
fn locked(sites: &mut [Site], endpoint: &Endpoint, files: &Path) -> Result<(), Failed> {
    let flavor = sites[0].flavor;
    let (dump, shell) = programs(flavor);
    let mut plain = connect(sites[0].server.port(), APP, None)?;
    for statement in [
        "CREATE DATABASE t_plain",
        "CREATE TABLE t_plain.a (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(20))",
        "CREATE TABLE t_plain.b (name VARCHAR(10))",
        "INSERT INTO t_plain.a (v) VALUES ('x'), ('y'), ('z'), ('u'), ('v'), ('w')",
        "INSERT INTO t_plain.b VALUES ('one'), ('two')",
    ] {
        plain.query_drop(statement).map_err(|error| format!("{statement}: {error}"))?;
    }
    let mut command = program(flavor, dump, sites[0].server.port())?;
    if flavor == Flavor::MySql {
        command.arg("--set-gtid-purged=OFF");
    }
    let text = printed(dump, command.arg("t_plain"), Stdio::null())?;
    let has_locks = String::from_utf8_lossy(&text).contains("LOCK TABLES `a` WRITE");
    expect_equal("the dump locks tables", has_locks, true)?;
    let file = files.join("locked.sql");
    std::fs::write(&file, text)?;
    let mut session = app(endpoint, Some("t_src"))?;
    session.query_drop("CREATE DATABASE t_restored")?;
    let mut refused = program(flavor, shell, endpoint.port)?;
    let output = output_with(refused.arg("t_restored"), File::open(&file)?.into())?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    expect_equal(&format!("refused with the way out: {said}"), said.contains("weir_lock_tables = 'ignore'"), true)?;
    let mut command = program(flavor, shell, endpoint.port)?;
    command.arg("--init-command=SET weir_lock_tables = 'ignore'").arg("t_restored");
    printed(shell, &mut command, File::open(&file)?.into())?;
    expect_equal("rows", value(&mut session, "SELECT SUM(id) FROM t_restored.a")?, "21".to_owned())?;
    expect_equal("rows of b", value(&mut session, "SELECT COUNT(*) FROM t_restored.b")?, "2".to_owned())?;
    for site in &*sites {
        let rows = site.server.query("SELECT id FROM t_restored.a")?.len();
        expect_equal(&format!("{rows} rows are some of them"), (1..6).contains(&rows), true)?;
    }
    session.query_drop("INSERT INTO t_restored.a (v) VALUES ('next')")?;
    expect_equal("the sequence goes on", session.last_insert_id(), 7)?;
    warned(&mut session)
}

/// Who has locks ignored is told so each time, and can ask whether they are.
fn warned(session: &mut Conn) -> Result<(), Failed> {
    expect_equal("by default", value(session, "SELECT @@weir_lock_tables")?, "take".to_owned())?;
    session.query_drop("LOCK TABLES t_restored.a READ")?;
    expect_equal("locks are taken", session.query_drop("DELETE FROM t_restored.a").is_err(), true)?;
    session.query_drop("UNLOCK TABLES")?;
    session.query_drop("SET weir_lock_tables = 'ignore'")?;
    session.query_drop("LOCK TABLES t_restored.a WRITE, t_restored.b READ")?;
    expect_equal("a warning", session.warnings(), 1)?;
    let warnings: Vec<(String, u16, String)> = session.query("SHOW WARNINGS")?;
    let told = warnings.first().map(|(level, code, text)| (level.as_str(), *code, text.contains("No lock was taken")));
    expect_equal("it is told", told, Some(("Warning", 1235, true)))?;
    session.query_drop("INSERT INTO t_restored.b VALUES ('three')")?;
    session.query_drop("UNLOCK TABLES")?;
    // As on one server, it commits what is open.
    for text in ["BEGIN", "INSERT INTO t_restored.b VALUES ('four')", "LOCK TABLES t_restored.b WRITE", "ROLLBACK"] {
        session.query_drop(text)?;
    }
    expect_equal("rows that were committed", value(session, "SELECT COUNT(*) FROM t_restored.b")?, "4".to_owned())?;
    let wrong = session.query_drop("SET weir_lock_tables = 'maybe'");
    expect_equal(&format!("a wrong value: {wrong:?}"), wrong.is_err(), true)?;
    session.query_drop("SET weir_lock_tables = DEFAULT")?;
    expect_equal("back", value(session, "SELECT @@session.weir_lock_tables")?, "take".to_owned())
}

fn dumped(sites: &mut [Site], endpoint: &Endpoint, files: &Path) -> Result<(), Failed> {
    let flavor = sites[0].flavor;
    let (dump, shell) = programs(flavor);
    let mut session = app(endpoint, Some("t_src"))?;
    for statement in FILL {
        session.query_drop(statement).map_err(|error| format!("{statement}: {error}"))?;
    }
    let ways: [(&str, &[&str]); 4] = [
        ("snapshot", &["--single-transaction"]),
        ("locked", &["--lock-tables"]),
        ("plain", &["--skip-lock-tables"]),
        ("empty", &["--single-transaction", "--no-data"]),
    ];
    for (way, options) in ways {
        let mut command = program(flavor, dump, endpoint.port)?;
        command.args(options).args(["--skip-add-locks", "--routines", "--triggers", "--events"]);
        if flavor == Flavor::MySql {
            command.arg("--set-gtid-purged=OFF");
        }
        let text = printed(dump, command.arg("t_src"), Stdio::null())?;
        let file = files.join(format!("{way}.sql"));
        std::fs::write(&file, text)?;
        session.query_drop(format!("CREATE DATABASE t_{way}"))?;
        let mut command = program(flavor, shell, endpoint.port)?;
        command.arg("--comments").arg(format!("t_{way}"));
        printed(shell, &mut command, File::open(&file)?.into())?;
        restored(&mut session, way)?;
    }
    // The distribution's mydumper is too old for MySQL 9.
    if flavor == Flavor::MariaDb { dumped_in_threads(&mut session, endpoint, files) } else { Ok(()) }
}

/// mydumper in chunks, for which it asks EXPLAIN how many rows there are, and myloader.
fn dumped_in_threads(session: &mut Conn, endpoint: &Endpoint, files: &Path) -> Result<(), Failed> {
    let directory = files.join("threads");
    let program = |name: &str| -> Result<Command, Failed> {
        let mut command = Command::new(companion(Flavor::MariaDb, name)?);
        command.args(["--host=127.0.0.1", "--threads=3"]).arg(format!("--port={}", endpoint.port));
        command.arg(format!("--user={}", APP.0)).arg(format!("--password={}", APP.1));
        Ok(command)
    };
    let mut command = program("mydumper")?;
    command.args(["--database=t_src", "--no-locks", "--rows=2", "--triggers", "--routines"]).arg("--outputdir");
    printed("mydumper", command.arg(&directory), Stdio::null())?;
    let mut command = program("myloader")?;
    // Without the binary log, replicas would lack the rows, and a session is bound to one shard.
    command.args(["--enable-binlog", "--source-db=t_src", "--database=t_threads", "--directory"]);
    printed("myloader", command.arg(&directory), Stdio::null())?;
    restored(session, "threads")
}

/// Runs a program, and returns what it printed.
fn printed(what: &str, command: &mut Command, input: Stdio) -> Result<Vec<u8>, Failed> {
    let output = output_with(command, input)?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    expect_equal(&format!("{what}: {said}"), output.status.success(), true)?;
    Ok(output.stdout)
}

/// The tables of `t_src` are in another database as they were.
fn restored(session: &mut Conn, way: &str) -> Result<(), Failed> {
    for table in TABLES {
        let create = |session: &mut Conn, database: &str| -> Result<String, Failed> {
            let row: Option<Row> = session.query_first(format!("SHOW CREATE TABLE {database}.{table}"))?;
            Ok(row.and_then(|row| row.get::<String, _>(1)).unwrap_or_default())
        };
        let (wanted, got) = (create(session, "t_src")?, create(session, &format!("t_{way}"))?);
        expect_equal(&format!("{way}: the shard clause of {table} is told"), wanted.contains("/*weir: "), true)?;
        expect_equal(&format!("{way}: {table}"), got, wanted)?;
        let count =
            |session: &mut Conn, database: &str| value(session, &format!("SELECT COUNT(*) FROM {database}.{table}"));
        let wanted = if way == "empty" { "0".to_owned() } else { count(session, "t_src")? };
        expect_equal(&format!("{way}: rows of {table}"), count(session, &format!("t_{way}"))?, wanted)?;
        if way != "empty" {
            let mut sum = |database: &str| -> Result<Option<String>, Failed> {
                let row: Option<Row> = session.query_first(format!("CHECKSUM TABLE {database}.{table}"))?;
                Ok(row.and_then(|row| row.get(1)))
            };
            let (wanted, got) = (sum("t_src")?, sum(&format!("t_{way}"))?);
            expect_equal(&format!("{way}: checksum of {table}"), got, wanted)?;
        }
    }
    let shards = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema =";
    let count = |session: &mut Conn, database: &str| value(session, &format!("{shards} '{database}'"));
    expect_equal("tables and views", count(session, &format!("t_{way}"))?, count(session, "t_src")?)?;
    expect_equal("a function", value(session, &format!("SELECT t_{way}.f(1)"))?, "2".to_owned())?;
    let triggers: Vec<Row> = session.query(format!("SHOW TRIGGERS FROM t_{way}"))?;
    expect_equal("triggers", triggers.len(), 1)
}

/// So many lines of so many bytes: 100 MB.
const LINES: u32 = 10_000;
const LINE: usize = 10_000;

fn put_line(file: &mut impl Write, id: u32) -> std::io::Result<()> {
    let text = vec![b'a' + (id % 26) as u8; LINE];
    writeln!(file, "{id}\t{}", String::from_utf8_lossy(&text))
}

/// The most memory that a process has had, in bytes.
fn peak(pid: i32) -> Result<u64, Failed> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse::<u64>()? * 1024)
}

fn large(_: &mut [Site], endpoint: &Endpoint, _: &Path) -> Result<(), Failed> {
    let mut session = app(endpoint, Some("t_src"))?;
    session.query_drop("CREATE TABLE t (id INT PRIMARY KEY, v TEXT) SHARD BY HASH(id)")?;
    let before = peak(endpoint.pid)?;
    session.set_local_infile_handler(Some(LocalInfileHandler::new(|_, file| {
        (0..LINES).try_for_each(|id| put_line(file, id))
    })));
    session.query_drop("LOAD DATA LOCAL INFILE 'large' INTO TABLE t")?;
    let info = session.info_str().into_owned();
    expect_equal("info", info, format!("Records: {LINES}  Deleted: 0  Skipped: 0  Warnings: 0"))?;
    let grown = peak(endpoint.pid)?.saturating_sub(before);
    expect_equal(&format!("{grown} bytes more than before are less than 64 MB"), grown < 64 << 20, true)?;
    expect_equal("rows", value(&mut session, "SELECT COUNT(*) FROM t")?, LINES.to_string())?;
    let length = value(&mut session, "SELECT SUM(LENGTH(v)) FROM t")?;
    expect_equal("bytes", length, (LINES as usize * LINE).to_string())
}

fn dying(sites: &mut [Site], endpoint: &Endpoint, _: &Path) -> Result<(), Failed> {
    let mut session = app(endpoint, Some("t_src"))?;
    session.query_drop("CREATE TABLE t (id INT PRIMARY KEY, v TEXT) SHARD BY HASH(id)")?;
    let pid = sites[1].server.pid().ok_or("the server runs")?;
    session.set_local_infile_handler(Some(LocalInfileHandler::new(move |_, file| {
        for id in 0..LINES / 10 {
            if id == LINES / 20 {
                let killed = Command::new("kill").args(["-KILL", &pid.to_string()]).status()?;
                if !killed.success() {
                    return Err(ErrorKind::Other.into());
                }
            }
            put_line(file, id)?;
        }
        Ok(())
    })));
    let loaded = session.query_drop("LOAD DATA LOCAL INFILE 'large' INTO TABLE t");
    expect_equal(&format!("it fails: {loaded:?}"), loaded.is_err(), true)?;
    sites[1].server.kill()?;
    sites[1].server.restart()?;
    eventually(BOUND, "the shard is back, and nothing is there", || {
        let counted = || {
            let mut session = app(endpoint, Some("t_src"))?;
            session.query_first::<u64, _>("SELECT COUNT(*) FROM t")
        };
        counted().is_ok_and(|count| count == Some(0))
    })?;
    eventually(BOUND, "no branch stays prepared", || {
        sites.iter().all(|site| site.server.query("XA RECOVER").is_ok_and(|rows| rows.is_empty()))
    })
}
