//! Weir starts again after the writer was replaced: the old writer may have come back meanwhile, and take writes.

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use nix::sys::signal::Signal;
use weir_local::{Flavor, Server};

use super::follow;
use crate::Collector;
use crate::driver::{connect, expect_equal, value};
use crate::lab::{self, APP, Endpoint, Lab, eventually};
use crate::reads::{BOUND, DATABASE, GroupSite};
use crate::weir::Weir;

/// Adds this module's tests.
pub(super) fn collect(tests: &mut Collector) {
    tests.add_for_weir("groups::a_weir_that_starts_again_knows_who_writes", knows_who_writes);
    tests.add_for_weir("groups::a_writer_that_refuses_writes_takes_them_by_command", takes_writes_by_command);
    tests.add_for_weir("groups::a_writer_made_read_only_stays_so_though_weir_connects_again", stays_read_only);
}

fn start(lab: &Lab, flavor: Flavor) -> Result<(GroupSite, Endpoint), Failed> {
    let site = GroupSite::start(flavor, &lab.directory()?)?;
    follow::prepare(&site)?;
    let weir = Weir::start_before(&lab.directory()?, &site.servers(), follow::AUTOMATIC)?;
    Ok((site, Endpoint::of(weir)))
}

fn weir(endpoint: &mut Endpoint) -> Result<&mut Weir, Failed> {
    endpoint.weir.as_mut().ok_or_else(|| "there is no Weir".into())
}

/// Kills Weir, has the old writer follow nobody and take writes, as after a restart with its own configuration, and starts Weir.
fn restart_beside(
    site: &mut GroupSite,
    endpoint: &mut Endpoint,
    meanwhile: impl FnOnce(&mut GroupSite) -> Result<(), Failed>,
) -> Result<(), Failed> {
    weir(endpoint)?.signal(Signal::SIGKILL)?;
    weir(endpoint)?.wait_end(BOUND)?;
    let alone: [&str; 3] = match site.flavor {
        Flavor::MariaDb => ["STOP SLAVE", "RESET SLAVE ALL", "SET GLOBAL read_only = OFF"],
        Flavor::MySql => ["STOP REPLICA", "RESET REPLICA ALL", "SET GLOBAL read_only = OFF"],
    };
    for sql in alone {
        site.writer.server.execute(sql)?;
    }
    meanwhile(site)?;
    weir(endpoint)?.start_again(&[])
}

fn insert(endpoint: &Endpoint, id: u64) -> Result<(), Failed> {
    let mut client = connect(endpoint.port, APP, Some(DATABASE))?;
    Ok(client.query_drop(format!("INSERT INTO kept VALUES ({id})"))?)
}

/// The rows that clients find, from the writer.
fn rows(endpoint: &Endpoint) -> Result<String, Failed> {
    let mut client = connect(endpoint.port, APP, Some(DATABASE))?;
    client.query_drop("SET SESSION TRANSACTION READ WRITE")?;
    value(&mut client, "SELECT GROUP_CONCAT(id ORDER BY id) FROM kept FOR UPDATE")
}

fn replica<'a>(site: &'a mut GroupSite, name: &str) -> Result<&'a mut Server, Failed> {
    let named = site.replicas.iter_mut().find(|server| server.name() == name);
    named.ok_or_else(|| format!("there is no {name}").into())
}

fn knows_who_writes(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let (mut site, endpoint) = start(lab, flavor)?;
    lab.judge(endpoint, |endpoint| {
        site.all_take_reads(endpoint)?;
        site.writer.server.kill()?;
        insert(endpoint, 1)?;
        let new = follow::writer(&site, endpoint)?.name().to_owned();
        let other = if new == "replica1" { "replica2" } else { "replica1" };
        follow::until_state(endpoint, other, "replicating")?;
        site.writer.server.restart()?;
        follow::until_state(endpoint, "writer", "replicating")?;

        restart_beside(&mut site, endpoint, |_| Ok(()))?;
        insert(endpoint, 2)?;
        expect_equal("who writes", follow::writer(&site, endpoint)?.name(), new.as_str())?;
        expect_equal("rows", rows(endpoint)?, "1,2".into())?;
        let fenced = || site.writer.server.query_value("SELECT @@GLOBAL.read_only").ok().flatten();
        eventually(BOUND, "the old writer refuses writes", || fenced().as_deref() == Some("1"))?;

        // What was kept is kept on.
        restart_beside(&mut site, endpoint, |_| Ok(()))?;
        expect_equal("rows", rows(endpoint)?, "1,2".into())?;

        // What Weir has kept is lost, as in a new container: whom the others follow tells.
        let kept = weir(endpoint)?.directory().join("weir-catalog").join("writers.json");
        restart_beside(&mut site, endpoint, |_| Ok(std::fs::remove_file(&kept)?))?;
        insert(endpoint, 3)?;
        expect_equal("who writes", follow::writer(&site, endpoint)?.name(), new.as_str())?;
        expect_equal("rows", rows(endpoint)?, "1,2,3".into())?;

        // The writer dies as well while there is no Weir.
        follow::until_state(endpoint, other, "replicating")?;
        eventually(BOUND, "the other one has all", || {
            let rows = replica(&mut site, other)
                .and_then(|server| Ok(server.query_value(&format!("SELECT COUNT(*) FROM {DATABASE}.kept"))?));
            rows.is_ok_and(|count| count.as_deref() == Some("3"))
        })?;
        restart_beside(&mut site, endpoint, |site| Ok(replica(site, &new)?.kill()?))?;
        insert(endpoint, 4)?;
        expect_equal("rows", rows(endpoint)?, "1,2,3,4".into())
    })
}

/// Has the writer refuse writes, and waits until Weir has seen it.
fn make_read_only(site: &GroupSite, endpoint: &Endpoint) -> Result<(), Failed> {
    site.writer.server.execute(match site.flavor {
        Flavor::MySql => "SET GLOBAL super_read_only = ON",
        Flavor::MariaDb => "SET GLOBAL read_only = ON",
    })?;
    let mut admin = connect(endpoint.port, APP, None)?;
    let mut said = String::new();
    eventually(BOUND, "Weir sees that it refuses writes", || {
        said =
            admin.query_drop("WEIR FAILOVER GROUP main").map_err(|error| error.to_string()).err().unwrap_or_default();
        said.contains("refuses writes: name the server")
    })
    .map_err(|_| Failed::from(format!("it said {said:?}")))
}

/// Somebody wants it to be read-only: Weir doesn't take it for restarted because its own connection was lost.
fn stays_read_only(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let (site, endpoint) = start(lab, flavor)?;
    lab.judge(endpoint, |endpoint| {
        site.all_take_reads(endpoint)?;
        let writer = &site.writer.server;
        make_read_only(&site, endpoint)?;
        let query = format!(
            "SELECT GROUP_CONCAT(id) FROM information_schema.processlist \
             WHERE user = '{}' AND command NOT LIKE 'Binlog Dump%'",
            lab::MONITOR.0
        );
        let mut root = writer.admin()?;
        let asked = |root: &mut weir_local::mysql::Conn| -> Result<u64, Failed> {
            let counted: Option<(String, u64)> = root.query_first("SHOW GLOBAL STATUS LIKE 'Com_select'")?;
            Ok(counted.ok_or("no count")?.1)
        };
        let connections = || -> Vec<u64> {
            let ids = writer.query_value(&query).ok().flatten().unwrap_or_default();
            ids.split(',').filter_map(|id| id.parse().ok()).collect()
        };
        for _ in 0..5 {
            let before = connections();
            let last = before.iter().max().copied().ok_or("Weir has no connection")?;
            for id in before {
                // It may have ended by itself.
                let _ = writer.execute(&format!("KILL {id}"));
            }
            eventually(BOUND, "Weir connects again", || connections().iter().any(|id| *id > last))?;
        }
        // More than it asks when it has connected.
        let until = asked(&mut root)? + 40;
        eventually(BOUND, "Weir has looked again and again", || asked(&mut root).is_ok_and(|count| count > until))?;
        expect_equal("it refuses writes", writer.query_value("SELECT @@GLOBAL.read_only")?, Some("1".into()))
    })
}

fn takes_writes_by_command(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let (site, endpoint) = start(lab, flavor)?;
    lab.judge(endpoint, |endpoint| {
        site.all_take_reads(endpoint)?;
        let old = &site.writer.server;
        make_read_only(&site, endpoint)?;
        connect(endpoint.port, APP, None)?.query_drop("WEIR FAILOVER GROUP main TO writer")?;
        insert(endpoint, 1)?;
        expect_equal("it takes writes", old.query_value("SELECT @@GLOBAL.read_only")?, Some("0".into()))
    })
}
