//! `transaction_replay`: transactions that are open when their writer dies run again on the new one.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use mysql::{ChangeUserOpts, Conn};
use weir_local::Server;

use super::follow::{Settings, be_lossless, of_server, writer};
use crate::driver::{connect, expect_equal, expect_error, run, server_error, value};
use crate::lab::{APP, Endpoint, PLAIN, eventually};
use crate::reads::{BOUND, DATABASE, GroupSite};

pub(super) const REPLAYING: Settings = &[
    ("pool.connect_timeout", "\"2s\""),
    ("monitor.timeout", "\"500ms\""),
    ("monitor.hang_timeout", "\"1s\""),
    ("groups.position_interval", "\"50ms\""),
    ("groups.writer_wait", "\"40s\""),
    ("groups.failover_after", "\"300ms\""),
    ("groups.failover_interval", "\"0s\""),
    ("groups.transaction_replay", "true"),
    ("groups.transaction_replay_size", "\"64KiB\""),
];

/// The same for one user, of a group whose writer stays.
pub(super) const STAYING: Settings = &[
    ("monitor.timeout", "\"500ms\""),
    ("groups.position_interval", "\"50ms\""),
    ("groups.writer_wait", "\"40s\""),
    ("groups.failover", "\"manual\""),
    ("users.app.transaction_replay", "true"),
];

/// What it is, what is run, the statement that comes next, and what a row holds after the COMMIT.
type Case = (&'static str, &'static [&'static str], &'static str, (u32, &'static str));

/// A transaction that is open, the statement that comes next, and what its row holds after the COMMIT.
struct Open {
    what: &'static str,
    client: Conn,
    next: &'static str,
    row: (u32, &'static str),
}

/// Clients in the middle of transactions that can be run again, in all the ways in which they may have come there.
pub(super) struct Opened(Vec<Open>);

impl Opened {
    /// Begins them, on the present writer.
    pub(super) fn begin(endpoint: &Endpoint) -> Result<Opened, Failed> {
        let cases: [Case; 5] = [
            (
                "texts, the session's variable, a savepoint, a duplicate key",
                &[
                    "SET @mine = 5",
                    "BEGIN",
                    "INSERT INTO counters VALUES (200, @mine)",
                    "SELECT v FROM counters WHERE id = 200 FOR UPDATE",
                    "SAVEPOINT s",
                    "UPDATE counters SET v = 77 WHERE id = 200",
                    "ROLLBACK TO SAVEPOINT s",
                    "UPDATE counters SET v = v + 1 WHERE id = 200",
                ],
                "UPDATE counters SET v = v * 10 WHERE id = 200",
                (200, "60"),
            ),
            (
                "without autocommit, in settings of its own",
                &[
                    "SET autocommit = 0",
                    "SET SESSION sql_mode = 'ANSI_QUOTES'",
                    "INSERT INTO \"counters\" VALUES (201, 1)",
                ],
                "UPDATE \"counters\" SET v = v + 1 WHERE id = 201",
                (201, "2"),
            ),
            (
                "its COMMIT comes next",
                &["START TRANSACTION READ WRITE", "INSERT INTO counters VALUES (202, 3)"],
                "SELECT 1",
                (202, "3"),
            ),
            (
                "a snapshot",
                &["START TRANSACTION WITH CONSISTENT SNAPSHOT", "INSERT INTO counters VALUES (203, 4)"],
                "UPDATE counters SET v = v + 1 WHERE id = 203",
                (203, "5"),
            ),
            ("nothing has run yet", &["BEGIN"], "INSERT INTO counters VALUES (204, 6)", (204, "6")),
        ];
        let mut opened = Vec::new();
        for (what, statements, next, row) in cases {
            let mut client = connect(endpoint.port, APP, Some(DATABASE))?;
            for statement in statements {
                run(&mut client, statement).map_err(|error| format!("{what}: {statement}: {error}"))?;
            }
            opened.push(Open { what, client, next, row });
        }
        opened.push(Self::prepared(endpoint)?);
        opened.extend(Self::prepared_within(endpoint)?);
        expect_error(
            "a duplicate key",
            &run(&mut opened[0].client, "INSERT INTO counters VALUES (200, 9)"),
            1062,
            "23000",
        )?;
        Ok(Opened(opened))
    }

    /// The same by prepared statements. The session was another user's before, to whom other settings apply.
    fn prepared(endpoint: &Endpoint) -> Result<Open, Failed> {
        let mut client = connect(endpoint.port, PLAIN, None)?;
        let user = ChangeUserOpts::new().with_user(Some(APP.0.to_owned())).with_pass(Some(APP.1.to_owned()));
        client.change_user(user.with_db_name(Some(DATABASE.to_owned())))?;
        let insert = client.prep("INSERT INTO counters VALUES (?, ?)")?;
        let select = client.prep("SELECT v, CAST(? AS CHAR) FROM counters WHERE id = ?")?;
        client.query_drop("BEGIN")?;
        client.exec_drop(&insert, (205, 7))?;
        for word in ["one", "two"] {
            let read: Option<(i64, String)> = client.exec_first(&select, (word, 205))?;
            expect_equal("a row", read, Some((7, word.to_owned())))?;
        }
        Ok(Open {
            what: "prepared statements",
            client,
            next: "UPDATE counters SET v = v + 1 WHERE id = 205",
            row: (205, "8"),
        })
    }

    /// The transaction's start goes to the server with a statement that is prepared, as many drivers do it.
    fn prepared_within(endpoint: &Endpoint) -> Result<[Open; 2], Failed> {
        let mut client = connect(endpoint.port, APP, Some(DATABASE))?;
        client.query_drop("BEGIN")?;
        client.exec_drop("INSERT INTO counters VALUES (?, ?)", (206, 7))?;
        let _prepared = client.prep("UPDATE counters SET v = v + ? WHERE id = ?")?;
        let next = "UPDATE counters SET v = v + 1 WHERE id = 206";
        let used = Open { what: "prepared within", client, next, row: (206, "8") };
        let mut client = connect(endpoint.port, APP, Some(DATABASE))?;
        client.query_drop("BEGIN")?;
        let _prepared = client.prep("UPDATE counters SET v = v - ? WHERE id = ?")?;
        let next = "INSERT INTO counters VALUES (207, 9)";
        Ok([used, Open { what: "nothing but prepared", client, next, row: (207, "9") }])
    }

    /// The writer has died: they go on, and end.
    pub(super) fn expect_continued(self, endpoint: &Endpoint) -> Result<(), Failed> {
        for Open { what, mut client, next, row: (id, v) } in self.0 {
            if next != "SELECT 1" {
                run(&mut client, next).map_err(|error| format!("{what}: {next}: {error}"))?;
            }
            run(&mut client, "COMMIT").map_err(|error| format!("{what}: COMMIT: {error}"))?;
            expect_equal(what, value(&mut client, &format!("SELECT v FROM counters WHERE id = {id}"))?, v.to_owned())?;
        }
        let mut client = connect(endpoint.port, APP, Some(DATABASE))?;
        client.query_drop("DELETE FROM counters WHERE id >= 200")?;
        Ok(())
    }
}

/// The session's column in `WEIR SHOW SESSIONS`.
fn shown(endpoint: &Endpoint, client: &Conn) -> Result<String, Failed> {
    let mut admin = connect(endpoint.port, APP, None)?;
    let rows: Vec<mysql::Row> = admin.query("WEIR SHOW SESSIONS")?;
    let row = rows.iter().find(|row| row.get::<u32, _>("id") == Some(client.connection_id()));
    Ok(row.and_then(|row| row.get::<Option<String>, _>("replay").flatten()).unwrap_or_default())
}

pub(super) fn continued(site: &mut GroupSite, endpoint: &Endpoint) -> Result<(), Failed> {
    site.all_take_reads(endpoint)?;
    let opened = Opened::begin(endpoint)?;
    let mut keyed = connect(endpoint.port, APP, Some(DATABASE))?;
    run(&mut keyed, "BEGIN")?;
    run(&mut keyed, "INSERT INTO log (who) VALUES (1), (2)")?;
    let id = keyed.last_insert_id();
    run(&mut keyed, "INSERT INTO counters VALUES (210, LAST_INSERT_ID())")?;
    let mut reads = connect(endpoint.port, APP, Some(DATABASE))?;
    run(&mut reads, "START TRANSACTION READ ONLY")?;
    expect_equal("a read", value(&mut reads, "SELECT SUM(v) FROM counters WHERE id < 64")?, "0".into())?;
    expect_equal("a session", shown(endpoint, &keyed)?, "yes".into())?;
    // Replicas go on from a position that all of them have.
    site.catch_up()?;
    site.writer.server.kill()?;
    opened.expect_continued(endpoint)?;
    expect_equal("its key", value(&mut keyed, "SELECT LAST_INSERT_ID()")?, id.to_string())?;
    run(&mut keyed, "COMMIT")?;
    expect_equal("the key in a row", value(&mut keyed, "SELECT v FROM counters WHERE id = 210")?, id.to_string())?;
    expect_equal("the same read", value(&mut reads, "SELECT SUM(v) FROM counters WHERE id < 64")?, "0".into())?;
    expect_error("it is READ ONLY", &run(&mut reads, "UPDATE counters SET v = 1 WHERE id = 1"), 1792, "25006")?;
    expect_equal("nothing is kept of what is over", shown(endpoint, &keyed)?, String::new())
}

/// Nobody replaces the writer: it comes back.
pub(super) fn after_a_restart(site: &mut GroupSite, endpoint: &Endpoint) -> Result<(), Failed> {
    site.all_take_reads(endpoint)?;
    let opened = Opened::begin(endpoint)?;
    site.writer.server.kill()?;
    site.writer.server.restart()?;
    opened.expect_continued(endpoint)?;
    expect_equal("the writer", of_server(endpoint, "writer", "role")?, "writer".into())
}

/// A transaction that is not run again, and a part of the reason.
struct Refused {
    client: Conn,
    reason: &'static str,
}

fn refused(endpoint: &Endpoint, statements: &[&str], reason: &'static str) -> Result<Refused, Failed> {
    let mut client = connect(endpoint.port, APP, Some(DATABASE))?;
    for statement in ["BEGIN"].iter().chain(statements) {
        run(&mut client, statement).map_err(|error| format!("{statement}: {error}"))?;
    }
    Ok(Refused { client, reason })
}

impl Refused {
    fn expect(mut self) -> Result<(), Failed> {
        let reason = self.reason;
        let told = run(&mut self.client, "SELECT v FROM counters WHERE id = 1");
        expect_error(reason, &told, 1213, "40001")?;
        let text = told.err().map(|error| error.to_string()).unwrap_or_default();
        expect_equal(&format!("{text}: {reason}"), text.contains("not replayed") && text.contains(reason), true)?;
        // It goes on as a session without a transaction.
        for statement in ["BEGIN", "UPDATE counters SET v = v + 1 WHERE id = 60", "COMMIT"] {
            run(&mut self.client, statement).map_err(|error| format!("{reason}: again: {statement}: {error}"))?;
        }
        Ok(())
    }
}

/// Without autocommit a savepoint behind BEGIN is Weir's to remember until a statement runs; here that is one to be prepared.
fn behind_savepoint(endpoint: &Endpoint) -> Result<Refused, Failed> {
    let mut client = connect(endpoint.port, APP, Some(DATABASE))?;
    for statement in ["SET autocommit = 0", "BEGIN", "SAVEPOINT a"] {
        run(&mut client, statement)?;
    }
    client.exec_drop("UPDATE counters SET v = v WHERE id = ?", (42,))?;
    Ok(Refused { client, reason: "more to its beginning" })
}

pub(super) fn not_continued(site: &mut GroupSite, endpoint: &Endpoint) -> Result<(), Failed> {
    site.all_take_reads(endpoint)?;
    let long = format!("INSERT INTO counters VALUES (220, 1) /* {} */", "x".repeat(70_000));
    let all = [
        refused(endpoint, &["SELECT v FROM counters WHERE id = 2"], "gives another result")?,
        refused(endpoint, &["INSERT INTO counters VALUES (221, UNIX_TIMESTAMP())"], "depends on the time")?,
        refused(endpoint, &["INSERT INTO counters VALUES (222, RAND() * 10)"], "depends on chance")?,
        refused(endpoint, &["UPDATE counters SET v = v + 0 LIMIT 1"], "LIMIT without ORDER BY")?,
        refused(endpoint, &[&long], "transaction_replay_size")?,
        behind_savepoint(endpoint)?,
        refused(endpoint, &["SET @x = 1", "UPDATE counters SET v = v WHERE id = 40"], "settings, user variables")?,
        refused(endpoint, &["COMMIT AND CHAIN", "UPDATE counters SET v = v WHERE id = 41"], "may end a transaction")?,
    ];
    let (last, others) = (all.len() - 1, all);
    expect_equal("why not", shown(endpoint, &others[last].client)?.starts_with("no: "), true)?;
    let mut bound = connect(endpoint.port, APP, Some(DATABASE))?;
    for statement in ["CREATE TEMPORARY TABLE scratch (id INT)", "BEGIN", "INSERT INTO scratch VALUES (1)"] {
        run(&mut bound, statement)?;
    }
    site.catch_up()?;
    site.writer.server.kill()?;
    let mut other = connect(endpoint.port, APP, Some(DATABASE))?;
    run(&mut other, "UPDATE counters SET v = 99 WHERE id = 2")?;
    for one in others {
        one.expect()?;
    }
    expect_equal("a temporary table is lost", run(&mut bound, "INSERT INTO scratch VALUES (2)").is_err(), true)?;
    expect_equal("nothing is half done", value(&mut other, "SELECT COUNT(*) FROM counters WHERE id > 219")?, "0".into())
}

/// What no server rolls back may have lasted; and a connection that is ended on a server that lives has been ended on purpose.
pub(super) fn ended_on_purpose(site: &mut GroupSite, endpoint: &Endpoint) -> Result<(), Failed> {
    site.all_take_reads(endpoint)?;
    let ended = refused(endpoint, &["UPDATE counters SET v = v + 1 WHERE id = 5"], "its server goes on")?;
    let thread = of_session(endpoint, &ended.client)?;
    site.writer.server.execute(&format!("KILL {thread}"))?;
    ended.expect()?;
    site.writer.server.execute(&format!("CREATE TABLE {DATABASE}.lasting (id INT) ENGINE=MyISAM"))?;
    let lasting = refused(endpoint, &["INSERT INTO lasting VALUES (1)"], "lasting has no transactions")?;
    site.catch_up()?;
    site.writer.server.kill()?;
    lasting.expect()
}

/// The id of the session's connection on its server.
fn of_session(endpoint: &Endpoint, client: &Conn) -> Result<String, Failed> {
    let mut admin = connect(endpoint.port, APP, None)?;
    let rows: Vec<mysql::Row> = admin.query("WEIR SHOW SESSIONS")?;
    let row = rows.iter().find(|row| row.get::<u32, _>("id") == Some(client.connection_id()));
    let server = row.and_then(|row| row.get::<Option<String>, _>("server").flatten()).ok_or("it has no connection")?;
    Ok(server.rsplit('/').next().unwrap_or_default().to_owned())
}

const CLIENTS: u64 = 6;

/// What clients have transferred, all of them in transactions of several statements.
#[derive(Default)]
struct Bank {
    done: AtomicU64,
    /// COMMITs that were in flight when the writer died.
    unknown: AtomicU64,
    stop: AtomicBool,
}

impl Bank {
    /// Transfers between two accounts, one unit at a time, until told to stop: by texts, or by prepared statements. Only a COMMIT may fail, and
    /// only so that its fate is unknown.
    fn transfer(&self, endpoint: &Endpoint, client: u64) -> Result<(), Failed> {
        let (from, to) = (client * 2, client * 2 + 1);
        let mut connection = connect(endpoint.port, APP, Some(DATABASE))?;
        while !self.stop.load(Ordering::Relaxed) {
            let begun = self.transfer_once(&mut connection, from, to, client.is_multiple_of(2));
            begun.map_err(|error| format!("in a transaction: {error}"))?;
            let committed = run(&mut connection, "COMMIT");
            match server_error(&committed) {
                None if committed.is_ok() => drop(self.done.fetch_add(1, Ordering::Relaxed)),
                Some((2013, _)) => {
                    self.unknown.fetch_add(1, Ordering::Relaxed);
                    connection = connect(endpoint.port, APP, Some(DATABASE))?;
                }
                _ => return Err(format!("a COMMIT: {committed:?}").into()),
            }
        }
        Ok(())
    }

    fn transfer_once(&self, connection: &mut Conn, from: u64, to: u64, as_text: bool) -> mysql::Result<()> {
        run(connection, "BEGIN")?;
        if as_text {
            run(connection, &format!("SELECT v FROM counters WHERE id IN ({from}, {to}) ORDER BY id FOR UPDATE"))?;
            run(connection, &format!("UPDATE counters SET v = v - 1 WHERE id = {from}"))?;
            match run(connection, "INSERT INTO kept VALUES (1000000)") {
                Err(mysql::Error::MySqlError(error)) if error.code == 1062 => {}
                other => other?,
            }
            return run(connection, &format!("UPDATE counters SET v = v + 1 WHERE id = {to}"));
        }
        let _rows: Vec<i64> =
            connection.exec("SELECT v FROM counters WHERE id IN (?, ?) ORDER BY id FOR UPDATE", (from, to))?;
        connection.exec_drop("UPDATE counters SET v = v - 1 WHERE id = ?", (from,))?;
        connection.exec_drop("UPDATE counters SET v = v + 1 WHERE id = ?", (to,))
    }

    fn go_on(&self, more: u64) -> Result<(), Failed> {
        let goal = self.done.load(Ordering::Relaxed) + more;
        eventually(BOUND, "transfers go on", || self.done.load(Ordering::Relaxed) >= goal)
    }
}

/// Runs `harm` to the writer in the middle of transfers: no client has an error in a transaction, and no unit is lost or made.
fn bank(
    site: &mut GroupSite,
    endpoint: &Endpoint,
    harm: impl Fn(&mut Server) -> Result<(), Failed>,
) -> Result<(), Failed> {
    be_lossless(site)?;
    site.all_take_reads(endpoint)?;
    eventually(BOUND, "replicas acknowledge", || {
        of_server(endpoint, "writer", "commits_wait_for").is_ok_and(|waits| waits == "lossless semi-sync")
    })?;
    site.writer.server.execute(&format!("INSERT INTO {DATABASE}.kept VALUES (1000000)"))?;
    let bank = Bank::default();
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                scope.spawn({
                    let bank = &bank;
                    move || bank.transfer(endpoint, client)
                })
            })
            .collect();
        let result = bank.go_on(30).and_then(|()| harm(&mut site.writer.server)).and_then(|()| bank.go_on(60));
        bank.stop.store(true, Ordering::Relaxed);
        for client in clients {
            client.join().map_err(|_| "a client panicked")??;
        }
        result
    })?;
    let (done, unknown) = (bank.done.load(Ordering::Relaxed), bank.unknown.load(Ordering::Relaxed));
    let new = writer(site, endpoint)?;
    let sum = new.query_value(&format!("SELECT SUM(v) FROM {DATABASE}.counters WHERE id < 12"))?;
    expect_equal("the bank's total", sum, Some("0".into()))?;
    let moved = new.query_value(&format!("SELECT SUM(v) FROM {DATABASE}.counters WHERE id < 12 AND id % 2 = 1"))?;
    let moved: u64 = moved.and_then(|sum| sum.parse().ok()).ok_or("no sum")?;
    let fits = (done..=done + unknown).contains(&moved);
    expect_equal(&format!("{moved} transfers, {done} acknowledged, {unknown} of unknown fate"), fits, true)?;
    let weir = endpoint.weir.as_ref().ok_or("there is no Weir")?;
    expect_equal("transactions were replayed", weir.counter("weir_client_transactions_replayed")? > 0, true)
}

pub(super) fn under_load(site: &mut GroupSite, endpoint: &Endpoint) -> Result<(), Failed> {
    bank(site, endpoint, |writer| Ok(writer.kill()?))
}

/// The writer hangs, and comes to itself when another one has its place: nothing of what it had open is left.
pub(super) fn from_a_hanging_writer(site: &mut GroupSite, endpoint: &Endpoint) -> Result<(), Failed> {
    bank(site, endpoint, |writer| expect_equal("it was running", writer.pause(), true))?;
    site.writer.server.resume();
    // A commit that no replica acknowledges stays.
    let open = "SELECT COUNT(*) FROM information_schema.INNODB_TRX JOIN information_schema.PROCESSLIST ON ID = trx_mysql_thread_id \
                WHERE INFO IS NULL OR INFO <> 'COMMIT'";
    eventually(BOUND, "nothing is open there", || {
        site.writer.server.query_value(open).is_ok_and(|count| count == Some("0".into()))
    })
}
