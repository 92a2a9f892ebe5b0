//! Transactions with parts on several shards: they end alike everywhere, whoever dies, and otherwise are what they are on one server.

mod bank;
mod bound;
mod copies;
mod crowded;
mod deadlocks;
mod lost;
mod names;
mod semantics;
mod statements;

use std::time::Duration;

use libtest_mimic::Failed;
use mysql::Conn;
use mysql::prelude::Queryable;
use weir_local::{Flavor, Server};

use crate::Collector;
use crate::driver::connect;
use crate::lab::{APP, Lab, Site, eventually};
use crate::weir::Weir;

const BOUND: Duration = Duration::from_secs(90);
const DATABASE: &str = "t_transactions";

/// Weir looks soon, and finds servers gone soon.
const QUICK: &[(&str, &str)] = &[
    ("monitor.interval", "\"200ms\""),
    ("monitor.timeout", "\"500ms\""),
    // No server hangs in these tests: a slow machine is not to look like that.
    ("monitor.hang_timeout", "\"20s\""),
    ("pool.connect_timeout", "\"2s\""),
    ("transactions.recovery_interval", "\"200ms\""),
    ("transactions.recovery_grace", "\"1s\""),
    ("transactions.outcome_timeout", "\"5s\""),
];

/// Adds this module's tests.
pub(crate) fn collect(tests: &mut Collector) {
    bank::collect(tests);
    bound::collect(tests);
    copies::collect(tests);
    crowded::collect(tests);
    deadlocks::collect(tests);
    lost::collect(tests);
    names::collect(tests);
    semantics::collect(tests);
    statements::collect(tests);
}

/// Shards of one server each, with tables of their own under the same names.
struct Shards {
    sites: Vec<Site>,
}

impl Shards {
    /// Starts them and runs `fill` on each; `{s}` is the shard's number.
    fn start(lab: &Lab, flavor: Flavor, count: usize, fill: &[&str]) -> Result<Shards, Failed> {
        Shards::start_with(lab, flavor, count, fill, &[])
    }

    /// The same, with options of the servers.
    fn start_with(lab: &Lab, flavor: Flavor, count: usize, fill: &[&str], options: &[&str]) -> Result<Shards, Failed> {
        let parent = lab.directory()?;
        let mut sites = Vec::new();
        for shard in 0..count {
            let site = Site::start(flavor, &parent, &format!("s{shard}"), options)?;
            let mut root = site.server.admin()?;
            root.query_drop(format!("CREATE DATABASE {DATABASE}"))?;
            root.query_drop(format!("USE {DATABASE}"))?;
            for statement in fill {
                root.query_drop(statement.replace("{s}", &shard.to_string()))?;
            }
            sites.push(site);
        }
        Ok(Shards { sites })
    }

    fn weir(&self, lab: &Lab) -> Result<Weir, Failed> {
        self.weir_with(lab, QUICK)
    }

    fn weir_with(&self, lab: &Lab, settings: &[(&str, &str)]) -> Result<Weir, Failed> {
        let names: Vec<String> = (0..self.sites.len()).map(|shard| format!("s{shard}")).collect();
        let shards: Vec<(&str, Vec<&Server>)> =
            names.iter().zip(&self.sites).map(|(name, site)| (&name[..], vec![&site.server])).collect();
        let weir = Weir::start_shards(&lab.directory()?, &shards, settings)?;
        self.all_answer(&weir)?;
        Ok(weir)
    }

    /// Waits until Weir has found all of them.
    fn all_answer(&self, weir: &Weir) -> Result<(), Failed> {
        eventually(BOUND, "all shards answer", || {
            (0..self.sites.len())
                .all(|shard| on(weir.port, shard).and_then(|mut c| c.query_drop("SELECT 1 FROM dual")).is_ok())
        })
    }

    /// The branches that are prepared, of anybody.
    fn prepared(&self) -> Result<usize, Failed> {
        self.sites.iter().map(|site| Ok(site.server.query("XA RECOVER")?.len())).sum()
    }

    /// Waits until all branches have ended. One that is on its way to its end is prepared no more for MariaDB's XA RECOVER, but its rows may not
    /// be there yet.
    fn all_ended(&self, what: &str) -> Result<(), Failed> {
        const ENDING: &str = "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'XA %'";
        let has_none = |shard: usize| self.value(shard, ENDING).is_ok_and(|count| count == "0");
        eventually(BOUND, what, || self.prepared().is_ok_and(|left| left == 0) && (0..self.sites.len()).all(has_none))
    }

    /// A value as the shard itself has it.
    fn value(&self, shard: usize, query: &str) -> Result<String, Failed> {
        let mut root = self.sites[shard].server.admin()?;
        root.query_drop(format!("USE {DATABASE}"))?;
        crate::driver::value(&mut root, query)
    }

    fn decisions(&self, shard: usize) -> Result<String, Failed> {
        self.value(shard, "SELECT COUNT(*) FROM weir.decisions")
    }
}

fn app(port: u16) -> mysql::Result<Conn> {
    connect(port, APP, Some(DATABASE))
}

/// What the session runs next is for this shard.
fn choose(session: &mut Conn, shard: usize) -> mysql::Result<()> {
    session.query_drop(format!("SET weir_shard = 's{shard}'"))
}

fn on(port: u16, shard: usize) -> mysql::Result<Conn> {
    let mut session = app(port)?;
    choose(&mut session, shard)?;
    Ok(session)
}
