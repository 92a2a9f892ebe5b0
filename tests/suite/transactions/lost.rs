//! The deciding COMMIT, or its answer, is lost on its way: the client hears the truth, or that it is not known, and all shards end alike. What
//! is lost is the XA COMMIT of a branch: the client hears of its commit when it can see what it wrote there.
//!
//! A relay stands between Weir and the shard, and cuts the connection exactly then.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use nix::sys::signal::Signal;
use weir_local::Flavor;

use super::{QUICK, Shards, app, choose};
use crate::Collector;
use crate::driver::{expect_equal, server_error};
use crate::lab::{APP, Endpoint, Lab};
use crate::login::{self, Login, Opening};
use crate::relay::{self, has};
use crate::weir::Weir;

/// For what happens at once, also on a slow machine.
const BOUND: Duration = Duration::from_secs(60);
const FILL: [&str; 1] = ["CREATE TABLE own (id INT PRIMARY KEY, v INT) ENGINE=InnoDB"];
const SHARDED: [&str; 2] = [
    "CREATE DATABASE t_lost /*weir: shards (s0, s1) */",
    "CREATE TABLE t_lost.pairs (id INT PRIMARY KEY, v INT) SHARD BY RANGE(id) (s0 VALUES LESS THAN (1000), s1 VALUES LESS THAN MAXVALUE)",
];

/// Adds this module's tests.
pub(super) fn collect(tests: &mut Collector) {
    tests.add_for_weir("transactions::a_deciding_commit_that_is_lost_ends_alike_everywhere", lost);
    tests.add_for_weir("transactions::what_is_lost_behind_a_whole_answer_is_no_answer_to_the_next_command", behind);
    tests.add_for_weir("transactions::a_commit_whose_answer_does_not_come_does_not_keep_weir_from_stopping", stopped);
    tests.add_for_weir("transactions::a_client_sees_what_it_committed_though_a_branch_is_ended_late", seen);
}

/// What becomes of a deciding COMMIT, or of a branch's.
enum Fate {
    /// The server never gets it: the connection ends before.
    NotSent,
    /// The server has done it, and its answer is lost.
    ReplyLost,
    /// Weir loses the connection; the server gets the COMMIT later (true), or never (false).
    Late(Receiver<bool>),
    /// The server gets it later; the test is told that it waits.
    Held(Sender<()>, Receiver<()>),
}

/// A relay to a server.
struct Relay {
    port: u16,
    fates: Fates,
}

/// One after the other.
type Fates = Arc<Mutex<VecDeque<Fate>>>;

impl Relay {
    /// Begins; it ends with the process.
    fn start(server: u16) -> Result<Relay, Failed> {
        let fates = Fates::default();
        let met = fates.clone();
        let port = relay::start(server, move |weir, server| carry(weir, server, met.clone()))?;
        Ok(Relay { port, fates })
    }

    /// The next deciding COMMIT, or the next one of a branch, meets this.
    fn arm(&self, fate: Fate) {
        self.fates.lock().expect("nobody panics with it").push_back(fate);
    }

    fn is_armed(&self) -> bool {
        !self.fates.lock().expect("nobody panics with it").is_empty()
    }
}

/// Carries bytes both ways.
fn carry(weir: TcpStream, server: TcpStream, fates: Fates) -> std::io::Result<()> {
    let swallow = Arc::new(AtomicBool::new(false));
    let swallows = swallow.clone();
    let back = move |mut server: &TcpStream, mut weir: &TcpStream| {
        let mut buffer = [0; 16 << 10];
        loop {
            let length = server.read(&mut buffer)?;
            if length == 0 || swallows.load(Ordering::SeqCst) {
                return Ok(());
            }
            weir.write_all(&buffer[..length])?;
        }
    };
    relay::both_ways(weir, server, move |weir, server| forth(weir, server, &fates, &swallow), back)
}

/// What Weir sends.
fn forth(
    mut weir: &TcpStream,
    mut server: &TcpStream,
    fates: &Mutex<VecDeque<Fate>>,
    swallow: &AtomicBool,
) -> std::io::Result<()> {
    let mut buffer = [0; 16 << 10];
    let mut decides = false;
    loop {
        let length = weir.read(&mut buffer)?;
        if length == 0 {
            return Ok(());
        }
        let sent = &buffer[..length];
        decides |= has(sent, b"decide(") || has(sent, b"decide`(");
        if decides && has(sent, b"\x03COMMIT") || has(sent, b"\x03XA COMMIT") {
            let met = fates.lock().expect("nobody panics with it").pop_front();
            match met {
                None => {}
                Some(Fate::Held(tell, told)) => {
                    let _released = tell.send(()).is_ok() && told.recv().is_ok();
                }
                Some(Fate::NotSent) => return Ok(()),
                Some(Fate::ReplyLost) => swallow.store(true, Ordering::SeqCst),
                Some(Fate::Late(told)) => {
                    // Only to Weir: the server's side stays open.
                    swallow.store(true, Ordering::SeqCst);
                    weir.shutdown(Shutdown::Both)?;
                    if !told.recv().unwrap_or(false) {
                        return Ok(());
                    }
                    server.write_all(sent)?;
                    let _until_it_has_answered = server.read(&mut buffer)?;
                    return Ok(());
                }
            }
        }
        server.write_all(sent)?;
    }
}

/// How a client writes on both shards.
type Writer = fn(&mut mysql::Conn, u32) -> mysql::Result<()>;

const WRITERS: [(&str, Writer); 3] =
    [("shards that are chosen", by_shard), ("keys in a transaction", by_key), ("one statement", at_once)];

fn by_shard(session: &mut mysql::Conn, id: u32) -> mysql::Result<()> {
    session.query_drop("BEGIN")?;
    for shard in 0..2 {
        choose(session, shard)?;
        session.query_drop(format!("INSERT INTO own VALUES ({id}, {shard})"))?;
    }
    session.query_drop("COMMIT")
}

fn by_key(session: &mut mysql::Conn, id: u32) -> mysql::Result<()> {
    session.query_drop("BEGIN")?;
    session.query_drop(format!("INSERT INTO t_lost.pairs VALUES ({id}, 1)"))?;
    session.query_drop(format!("INSERT INTO t_lost.pairs VALUES ({}, 2)", id + 1000))?;
    session.query_drop("COMMIT")
}

fn at_once(session: &mut mysql::Conn, id: u32) -> mysql::Result<()> {
    session.query_drop(format!("INSERT INTO t_lost.pairs VALUES ({id}, 1), ({}, 2)", id + 1000))
}

/// A Weir that reaches its shards at these ports, without TLS.
fn behind_relays(lab: &Lab, shards: &Shards, ports: &[(&str, u16)]) -> Result<Weir, Failed> {
    let settings = [QUICK, &[("server_tls.mode", "\"off\"")]].concat();
    let weir = Weir::start_shards_at(&lab.directory()?, ports, &settings)?;
    shards.all_answer(&weir)?;
    Ok(weir)
}

fn lost(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let shards = Shards::start(lab, flavor, 2, &FILL)?;
    let relay = Relay::start(shards.sites[0].server.port())?;
    let ports = [("s0", relay.port), ("s1", shards.sites[1].server.port())];
    let weir = behind_relays(lab, &shards, &ports)?;
    lab.judge(Endpoint::of(weir), |endpoint| {
        let mut session = app(endpoint.port)?;
        SHARDED.iter().try_for_each(|statement| session.query_drop(statement))?;
        let mut id = 0;
        for (what, write) in WRITERS {
            for fate in ["none", "not sent", "reply lost", "late", "never"] {
                id += 1;
                one(&shards, &relay, endpoint.port, &format!("{what}, {fate}"), fate, |session| write(session, id))
                    .and_then(|committed| ended(&shards, &format!("{what}, {fate}"), id, committed))?;
            }
        }
        Ok(())
    })
}

/// One write whose deciding COMMIT meets this fate: whether it is to be committed.
fn one(
    shards: &Shards,
    relay: &Relay,
    port: u16,
    what: &str,
    fate: &str,
    write: impl FnOnce(&mut mysql::Conn) -> mysql::Result<()>,
) -> Result<bool, Failed> {
    let (tell, told): (Sender<bool>, _) = channel();
    match fate {
        "none" => {}
        "not sent" => relay.arm(Fate::NotSent),
        "reply lost" => relay.arm(Fate::ReplyLost),
        _ => relay.arm(Fate::Late(told)),
    }
    let mut session = app(port)?;
    let outcome = write(&mut session);
    expect_equal(&format!("{what}: the COMMIT was met"), relay.is_armed(), false)?;
    match fate {
        "none" | "reply lost" => {
            expect_equal(&format!("{what}: {outcome:?}"), outcome.is_ok(), true)?;
            Ok(true)
        }
        "not sent" => {
            let code = server_error(&outcome).map(|(code, _)| code);
            expect_equal(&format!("{what}: {outcome:?}"), code.is_some_and(|code| code != 1180), true)?;
            Ok(false)
        }
        _ => {
            expect_equal(&format!("{what}: {outcome:?}"), server_error(&outcome).map(|(code, _)| code), Some(1180))?;
            let message = format!("{outcome:?}");
            expect_equal(&format!("its name is told: {message}"), message.contains("weir1-"), true)?;
            // Nobody knows yet: the branch waits.
            expect_equal(&format!("{what}: branches"), shards.prepared()?, 1)?;
            let commits = fate == "late";
            tell.send(commits).map_err(|_| "the relay has ended")?;
            Ok(commits)
        }
    }
}

/// Carries bytes until some come with which it is to end.
fn until(mut from: &TcpStream, mut to: &TcpStream, ends: impl Fn(&[u8]) -> bool) -> std::io::Result<()> {
    let mut buffer = [0; 16 << 10];
    loop {
        let length = from.read(&mut buffer)?;
        if length == 0 || ends(&buffer[..length]) {
            return Ok(());
        }
        to.write_all(&buffer[..length])?;
    }
}

/// The workbench is lost when the client has all rows, and only what FOUND_ROWS() would tell is missing: a command has one answer.
fn behind(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    const COUNTED: &[u8] =
        b"SELECT SQL_CALC_FOUND_ROWS a.id FROM pairs a JOIN pairs b ON a.v = b.v ORDER BY a.id LIMIT 1";
    let shards = Shards::start(lab, flavor, 2, &FILL)?;
    let armed = Arc::new(AtomicBool::new(false));
    let cut_off = |shard: usize| {
        let armed = armed.clone();
        relay::start(shards.sites[shard].server.port(), move |weir, server| {
            let armed = armed.clone();
            let ends = move |sent: &[u8]| has(sent, b"SELECT FOUND_ROWS()") && armed.swap(false, Ordering::SeqCst);
            let forth = move |weir: &TcpStream, server: &TcpStream| until(weir, server, ends);
            relay::both_ways(weir, server, forth, |server, weir| until(server, weir, |_| false))
        })
    };
    let ports = [("s0", cut_off(0)?), ("s1", cut_off(1)?)];
    let weir = behind_relays(lab, &shards, &ports)?;
    lab.judge(Endpoint::of(weir), |endpoint| {
        let mut session = app(endpoint.port)?;
        SHARDED.iter().try_for_each(|statement| session.query_drop(statement))?;
        session.query_drop("INSERT INTO t_lost.pairs VALUES (1, 1), (2, 2), (1001, 1)")?;
        let login = Login::new(APP.0, APP.1).database("t_lost");
        let (mut packets, Opening::Done(..)) = login::open(&endpoint.address, &login)? else {
            return Err("not let in".into());
        };
        armed.store(true, Ordering::SeqCst);
        packets.command(0x03, COUNTED)?;
        expect_equal("columns", packets.read()?, vec![1])?;
        packets.read()?;
        expect_equal("a row", packets.read()?, b"\x011".to_vec())?;
        expect_equal("the end of the rows", packets.read()?.first().copied(), Some(0xfe))?;
        // What is lost may end the session: then the client is told so in answer to its next command, or loses the connection.
        match packets.command(0x03, b"SELECT 'next'").and_then(|()| packets.read()) {
            Ok(answer) => expect_equal("the next answer", answer.first() == Some(&0xff) || answer == [1], true)?,
            Err(error) => expect_equal(&error.to_string(), error.kind() == ErrorKind::InvalidData, false)?,
        }
        expect_equal("the question was met", armed.load(Ordering::SeqCst), false)
    })
}

/// All is there, or nothing, on both shards, and no branch is left.
fn ended(shards: &Shards, what: &str, id: u32, committed: bool) -> Result<(), Failed> {
    shards.all_ended(&format!("{what}: no branch stays prepared"))?;
    let mut found = 0;
    for shard in 0..2 {
        let own = format!("SELECT COUNT(*) FROM own WHERE id = {id}");
        let pairs = format!("SELECT COUNT(*) FROM t_lost.pairs WHERE id IN ({id}, {id} + 1000)");
        found += shards.value(shard, &own)?.parse::<u32>()? + shards.value(shard, &pairs)?.parse::<u32>()?;
    }
    expect_equal(&format!("{what}: rows"), found, if committed { 2 } else { 0 })
}

/// The XA COMMIT of a branch is lost, and recovery's is held: the COMMIT is answered when that is through.
fn seen(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let shards = Shards::start(lab, flavor, 2, &FILL)?;
    let relay = Relay::start(shards.sites[1].server.port())?;
    let ports = [("s0", shards.sites[0].server.port()), ("s1", relay.port)];
    let quick = QUICK.iter().copied().filter(|(key, _)| *key != "transactions.outcome_timeout");
    let own = [("server_tls.mode", "\"off\""), ("transactions.outcome_timeout", "\"60s\"")];
    let weir = Weir::start_shards_at(&lab.directory()?, &ports, &quick.chain(own).collect::<Vec<_>>())?;
    shards.all_answer(&weir)?;
    lab.judge(Endpoint::of(weir), |endpoint| {
        let mut session = app(endpoint.port)?;
        SHARDED.iter().try_for_each(|statement| session.query_drop(statement))?;
        let mut id = 0;
        for (what, write) in WRITERS {
            // The server keeps the connection that prepared the branch while nobody tells it that Weir has none.
            let (_stays, told) = channel();
            let fates = [("not sent", Fate::NotSent), ("reply lost", Fate::ReplyLost), ("forgotten", Fate::Late(told))];
            for (fate, lost) in fates {
                id += 1;
                let rows = seen_after(&relay, lost, || {
                    write(&mut session, id)?;
                    let own = format!("SELECT COUNT(*) FROM own WHERE id = {id}");
                    let pairs = format!("SELECT COUNT(*) FROM t_lost.pairs WHERE id = {id} + 1000");
                    session.query_first(if what == WRITERS[0].0 { own } else { pairs })
                })?;
                expect_equal(&format!("{what}, {fate}: rows"), rows, Some(1))?;
                ended(&shards, &format!("{what}, {fate}"), id, true)?;
                session.query_drop("SET weir_shard = DEFAULT")?;
            }
        }
        Ok(())
    })
}

/// Nobody stops a COMMIT whose branches are being committed.
fn stopped(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let shards = Shards::start(lab, flavor, 2, &FILL)?;
    let relay = Relay::start(shards.sites[1].server.port())?;
    let ports = [("s0", shards.sites[0].server.port()), ("s1", relay.port)];
    let own = [("server_tls.mode", "\"off\""), ("shutdown.grace", "\"200ms\"")];
    let settings: Vec<_> = QUICK.iter().copied().chain(own).collect();
    let weir = Weir::start_shards_at(&lab.directory()?, &ports, &settings)?;
    shards.all_answer(&weir)?;
    lab.judge_stopped(Endpoint::of(weir), |endpoint| {
        let mut session = app(endpoint.port)?;
        SHARDED.iter().try_for_each(|statement| session.query_drop(statement))?;
        let ((tell, told), (release, released)) = (channel(), channel());
        relay.arm(Fate::Held(tell, released));
        let client = std::thread::spawn(move || by_key(&mut session, 1));
        told.recv_timeout(BOUND).map_err(|_| "the branch was not committed")?;
        let weir = endpoint.weir.as_mut().ok_or("no Weir")?;
        weir.signal(Signal::SIGTERM)?;
        let code = weir.wait_end(BOUND)?.code();
        drop(release);
        let committed = client.join().map_err(|_| "a client panicked")?;
        expect_equal("exit code", code, Some(0))?;
        expect_equal(&format!("the client hears no success: {committed:?}"), committed.is_err(), true)
    })
}

/// What a client sees after a write whose branch's commit is lost. Where its server has done it all the same, recovery has nothing to do.
fn seen_after(
    relay: &Relay,
    lost: Fate,
    client: impl FnOnce() -> mysql::Result<Option<u32>> + Send,
) -> Result<Option<u32>, Failed> {
    let is_left = matches!(lost, Fate::NotSent);
    let ((tell, told), (release, released)) = (channel(), channel());
    relay.arm(lost);
    if is_left {
        relay.arm(Fate::Held(tell, released));
    }
    std::thread::scope(|scope| {
        let client = scope.spawn(client);
        if is_left {
            told.recv_timeout(BOUND).map_err(|_| "recovery did not commit the branch")?;
            expect_equal("the client hears of its commit before it can see it", client.is_finished(), false)?;
            release.send(()).map_err(|_| "the relay has ended")?;
        }
        let rows = client.join().map_err(|_| "a client panicked")??;
        expect_equal("the commit of the branch was met", relay.is_armed(), false)?;
        Ok(rows)
    })
}
