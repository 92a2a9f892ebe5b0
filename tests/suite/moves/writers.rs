//! Groups change their writers while a move runs: it goes on with the new ones, and nothing is lost.

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use mysql::{Conn, Row};
use weir_local::{Flavor, Server, failover_grants, wait_for_replica};

use super::servers::{Holds, Ledger, finish, order};
use super::{BOUND, Shards, all, reaches};
use crate::Collector;
use crate::driver::run;
use crate::groups::{AUTOMATIC, lossless_between};
use crate::lab::{Lab, MONITOR, eventually};
use crate::weir::Weir;

pub(super) fn collect(tests: &mut Collector) {
    tests.add_for_weir("moves::groups_change_their_writers_meanwhile", change);
}

/// What becomes of the writer.
#[derive(Debug, Clone, Copy, PartialEq)]
enum How {
    /// It is killed, and comes back as a replica.
    Killed,
    /// Another one takes its place, and it stays there as a replica.
    Switched,
}

/// Where, of which side's group, and how. Each group loses a server once, as the last that happens to it.
const CASES: [(&str, bool, How); 4] = [
    ("copied", true, How::Switched),
    ("copied", false, How::Switched),
    ("copied", true, How::Killed),
    ("recorded", true, How::Killed),
];

/// Has a server acknowledge what it will receive as a replica, which it forgets when it ends. There is no other one in its group.
fn acknowledges(server: &Server) -> Result<(), Failed> {
    let side = match server.installation().flavor() {
        Flavor::MariaDb => "slave",
        Flavor::MySql => "replica",
    };
    Ok(server.execute(&format!("SET GLOBAL rpl_semi_sync_{side}_enabled = ON"))?)
}

/// Has a writer that is left alone wait for no replica: one that comes back with a transaction that nobody else has stays away.
fn waits_for_nobody(server: &Server) -> Result<(), Failed> {
    let side = match server.installation().flavor() {
        Flavor::MariaDb => "master",
        Flavor::MySql => "source",
    };
    Ok(server.execute(&format!("SET GLOBAL rpl_semi_sync_{side}_enabled = OFF"))?)
}

/// A column of a server of a group.
fn shown(session: &mut Conn, server: &str, column: &str) -> Option<String> {
    let rows: Vec<Row> = session.query("WEIR SHOW GROUPS").ok()?;
    let row = rows.into_iter().find(|row| row.get::<String, _>("server").as_deref() == Some(server))?;
    row.get::<Option<String>, _>(column).flatten()
}

fn is_writer(session: &mut Conn, server: &str) -> bool {
    shown(session, server, "role").is_some_and(|role| role == "writer")
}

fn change(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let parent = lab.directory()?;
    let sites = Shards::sites(flavor, &parent)?;
    let mut replicas: Vec<Server> = Vec::new();
    for (site, name) in sites.iter().zip(["r1", "r2"]) {
        site.server.execute(&format!("GRANT {} TO '{}'@'%'", failover_grants(flavor), MONITOR.0))?;
        let replica = site.start_replica(&parent, name)?;
        wait_for_replica(&site.server, &replica, BOUND)?;
        lossless_between(flavor, &site.server, std::slice::from_ref(&replica))?;
        acknowledges(&site.server)?;
        replicas.push(replica);
    }
    let servers = [("s1", vec![&sites[0].server, &replicas[0]]), ("s2", vec![&sites[1].server, &replicas[1]])];
    let weir = Weir::start_shards(&lab.directory()?, &servers, AUTOMATIC)?;
    let mut shards = Shards::with_database(sites, weir)?;
    let holds = Holds::start(lab, &mut shards)?;
    let session = &mut shards.app()?;
    for server in ["s1-writer", "s2-writer"] {
        eventually(BOUND, "replicas acknowledge", || {
            shown(session, server, "commits_wait_for").is_some_and(|waits| waits == "lossless semi-sync")
        })?;
    }
    Ledger::make(session)?;
    let (ledger, port, mut at) = (Ledger::default(), shards.weir.port, 0);
    for case in CASES {
        let done = ledger.during(port, || changed_at(&mut shards, &mut replicas, &holds, &ledger, case, at));
        let judged = done.and_then(|()| {
            let writers = [0, 1].map(|group| {
                let first = is_writer(session, &format!("s{}-writer", group + 1));
                if first { &shards.sites[group].server } else { &replicas[group] }
            });
            ledger.judge(&shards, &writers, "single")
        });
        judged.map_err(|failed| {
            format!("{case:?}: {}\n{}", failed.message().unwrap_or_default(), shards.weir.log_tail())
        })?;
        at = 1 - at;
    }
    Ok(())
}

/// A move from shard `at` during which the writer of a group changes.
fn changed_at(
    shards: &mut Shards,
    replicas: &mut [Server],
    holds: &Holds,
    ledger: &Ledger,
    (point, of_source, how): (&str, bool, How),
    at: usize,
) -> Result<(), Failed> {
    let session = &mut shards.app()?;
    let group = if of_source { at } else { 1 - at };
    let of_group = ["writer", "replica1"].map(|name| format!("s{}-{name}", group + 1));
    let is_first = is_writer(session, &of_group[0]);
    let [old, new] = if is_first { [&of_group[0], &of_group[1]] } else { [&of_group[1], &of_group[0]] };
    holds.at(point)?;
    all(session, &[&format!("WEIR MOVE TABLES t TO SINGLE ON SHARD 's{}'", 2 - at)])?;
    holds.reached(point)?;
    if point == "copied" {
        order(session, "PAUSE")?;
        holds.go_on(point)?;
        reaches(session, "follow")?;
        ledger.go_on()?;
    }
    if how == How::Switched {
        let mut last = String::new();
        let switched = eventually(BOUND, "the writer changes", || {
            let done = run(session, &format!("WEIR SWITCHOVER TO '{new}'"));
            last = done.as_ref().map_or_else(ToString::to_string, |()| String::new());
            done.is_ok()
        });
        switched.map_err(|_| format!("the writer does not change: {last}"))?;
    } else {
        let server = if is_first { &mut shards.sites[group].server } else { &mut replicas[group] };
        server.kill()?;
        if point != "copied" {
            holds.go_on(point)?;
        }
        eventually(BOUND, &format!("{new} is the writer"), || is_writer(session, new))?;
        let writer = if is_first { &replicas[group] } else { &shards.sites[group].server };
        waits_for_nobody(writer)?;
        let server = if is_first { &mut shards.sites[group].server } else { &mut replicas[group] };
        server.restart()?;
        eventually(BOUND, &format!("{old} is a replica"), || {
            shown(session, old, "state").is_some_and(|state| ["replicating", "quarantined"].contains(&state.as_str()))
        })?;
    }
    if point == "copied" {
        ledger.go_on()?;
        order(session, "RESUME")?;
    }
    finish(session)?;
    ledger.go_on()
}
