//! Members that a group knows of itself (`discover = true`): they are used as configured ones are, and what can't be used is told.

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use weir_local::{Flavor, Server, ServerSpec, failover_grants};

use super::follow::prepare;
use crate::Collector;
use crate::driver::{connect, expect_equal, run, value};
use crate::lab::{APP, Endpoint, Lab, MONITOR, Site, eventually};
use crate::reads::{BOUND, DATABASE, GroupSite};
use crate::signals::unblocked;
use crate::weir::Weir;

/// Adds this module's tests.
pub(super) fn collect(tests: &mut Collector) {
    tests.add_for_weir("groups::members_that_are_not_in_the_configuration_are_found", replicas);
}

pub(super) const DISCOVERS: super::follow::Settings = &[
    ("pool.connect_timeout", "\"5s\""),
    ("monitor.timeout", "\"1s\""),
    ("monitor.hang_timeout", "\"20s\""),
    ("groups.position_interval", "\"50ms\""),
    ("groups.writer_wait", "\"60s\""),
    ("groups.discover", "true"),
];

/// A column of `WEIR SHOW SERVERS` about a server; NULL is empty. `None`: there is no such server.
pub(super) fn shown(endpoint: &Endpoint, server: &str, column: &str) -> Result<Option<String>, Failed> {
    let mut admin = connect(endpoint.port, APP, None)?;
    let rows: Vec<mysql::Row> = admin.query("WEIR SHOW SERVERS")?;
    let row = rows.iter().find(|row| row.get::<String, _>("server").as_deref() == Some(server));
    Ok(row.map(|row| row.get::<Option<String>, _>(column).flatten().unwrap_or_default()))
}

/// As Weir names a server that nobody has named.
pub(super) fn address(server: &Server) -> String {
    format!("127.0.0.1:{}", server.port())
}

/// Has a server be the writer, which it may be already: groups that elect theirs choose among all members.
pub(super) fn becomes_writer(endpoint: &Endpoint, server: &str) -> Result<(), Failed> {
    let mut admin = connect(endpoint.port, APP, None)?;
    let mut last = String::new();
    eventually(BOUND, &format!("{server} becomes the writer"), || {
        if shown(endpoint, server, "role").is_ok_and(|role| role.as_deref() == Some("writer")) {
            return true;
        }
        // A transaction that stays open on a machine that is slow just then makes it wait for the next try.
        run(&mut admin, &format!("WEIR SWITCHOVER TO '{server}'")).map_err(|error| last = error.to_string()).is_ok()
    })
    .map_err(|late| format!("{}: {last}", late.message().unwrap_or_default()).into())
}

/// A found server takes reads, becomes the writer, and gives that back.
pub(super) fn is_used(endpoint: &Endpoint, found: &str, first: &str) -> Result<(), Failed> {
    let port = found.rsplit(':').next().unwrap_or_default().to_owned();
    let session = &mut connect(endpoint.port, APP, Some(DATABASE))?;
    eventually(BOUND, "the found server is up", || {
        shown(endpoint, found, "health").is_ok_and(|health| health.as_deref() == Some("up"))
    })?;
    becomes_writer(endpoint, found)?;
    run(session, "UPDATE counters SET v = v + 1 WHERE id = 1")?;
    expect_equal("it writes", shown(endpoint, found, "role")?.as_deref(), Some("writer"))?;
    expect_equal("where it is written", value(session, "SELECT @@port FROM counters WHERE id = 1 FOR UPDATE")?, port)?;
    becomes_writer(endpoint, first)
}

/// Replicas of a writer: one of them is found, one tells no address that leads to it, one is of another group.
fn replicas(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let site = GroupSite::start(flavor, &lab.directory()?)?;
    prepare(&site)?;
    let parent = lab.directory()?;
    let stranger = Site::start(flavor, &parent, "stranger", &[])?;
    stranger.server.execute(&format!("GRANT {} TO '{}'@'%'", failover_grants(flavor), MONITOR.0))?;
    let _lost = replica_that_tells(&site, &parent, "lost", stranger.server.port())?;
    let _gone = replica_that_tells(&site, &parent, "gone", 1)?;
    let writer = &site.writer.server;
    let listed = if flavor == Flavor::MariaDb { "SHOW SLAVE HOSTS" } else { "SHOW REPLICAS" };
    eventually(BOUND, "the writer lists its replicas", || {
        let rows = writer.admin().map(|mut root| root.query::<mysql::Row, _>(listed));
        rows.is_ok_and(|rows| rows.is_ok_and(|rows| rows.len() == 4))
    })?;

    let named = [writer, &site.replicas[0]];
    let weir = Weir::start_before(&lab.directory()?, &named, DISCOVERS)?;
    lab.judge(Endpoint::of(weir), |endpoint| {
        let found = address(&site.replicas[1]);
        eventually(BOUND, "it takes reads", || {
            shown(endpoint, &found, "reads").is_ok_and(|reads| reads.as_deref() == Some("yes"))
        })?;
        expect_equal("its weight", shown(endpoint, &found, "weight")?.as_deref(), Some("1"))?;
        for (lost, why) in [("127.0.0.1:1", "refused"), (&*address(&stranger.server), "another server")] {
            eventually(BOUND, &format!("{lost} is told"), || {
                shown(endpoint, lost, "notice").is_ok_and(|notice| notice.is_some_and(|notice| notice.contains(why)))
            })?;
            expect_equal(lost, shown(endpoint, lost, "role")?.as_deref(), Some("unused"))?;
        }
        for name in ["writer", "replica1", &found] {
            expect_equal(name, shown(endpoint, name, "notice")?.as_deref(), Some(""))?;
        }
        is_used(endpoint, &found, "writer")?;
        later(&site, &parent, endpoint)
    })?;

    let named = [writer, &site.replicas[0], &stranger.server];
    let weir = Weir::start_before(&lab.directory()?, &named, DISCOVERS)?;
    lab.judge(Endpoint::of(weir), |endpoint| {
        eventually(BOUND, "a server of the configuration that is in another group is told", || {
            let notice = shown(endpoint, "replica2", "notice");
            notice.is_ok_and(|notice| notice.is_some_and(|notice| notice.contains("do not know it")))
        })
    })
}

/// A replica that comes while Weir runs is told.
fn later(site: &GroupSite, parent: &std::path::Path, endpoint: &Endpoint) -> Result<(), Failed> {
    let late = site.writer.start_replica(parent, "late")?;
    eventually(BOUND, "it is told", || {
        shown(endpoint, &address(&late), "notice").is_ok_and(|notice| notice.is_some_and(|n| n.contains("takeover")))
    })
}

fn replica_that_tells(site: &GroupSite, parent: &std::path::Path, name: &str, port: u16) -> Result<Server, Failed> {
    let mut spec = ServerSpec::new(name);
    spec.die_with_parent = true;
    spec.options = vec![format!("report-port={port}")];
    let replica = unblocked(|| Server::start(site.writer.server.installation(), parent, &spec))?;
    weir_local::replicate(&site.writer.server, &replica)?;
    Ok(replica)
}
