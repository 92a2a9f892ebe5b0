//! Groups that say themselves who writes: Group Replication and Galera. Weir follows the view of the majority.
//!
//! The cases of a kind share its servers, one after another: each finds all members in operation, and leaves them so.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use weir_local::{Account, Cancel, Cluster, ClusterSpec, Flavor, Group, Installation, Kind, Quiet, Server};

use super::discovery;
use super::follow::{Settings, expect_kept, of_server, transact_until, while_inserting, while_inserting_despite};
use super::open::Open;
use super::replay::Opened;
use crate::driver::{connect, connect_for, expect_equal, expect_error, run, server_error, value};
use crate::lab::{APP, Endpoint, Lab, MONITOR, PLAIN, eventually};
use crate::reads::{BOUND, DATABASE};
use crate::signals::unblocked;
use crate::weir::Weir;

type Case = fn(&mut ElectedSite, &Endpoint) -> Result<(), Failed>;

const CASES: &[(&str, Settings, Case)] = &[
    ("a dead writer", PATIENT, dead_writer),
    ("a switchover", PATIENT, switchover),
    ("a minority", IMPATIENT, minority),
    ("an outage", PATIENT, outage),
    ("an expelled member", PATIENT, expelled),
    ("replay", REPLAYING, replay),
    ("advice", PATIENT, advice),
];

/// Statements wait. While a member joins, the others may take a second and more to tell of their group.
const PATIENT: Settings = &[
    ("pool.connect_timeout", "\"5s\""),
    ("monitor.timeout", "\"1s\""),
    ("monitor.hang_timeout", "\"20s\""),
    ("groups.position_interval", "\"50ms\""),
    ("groups.writer_wait", "\"60s\""),
];

/// How long members may take to join: MySQL gives each attempt 60 s, and a failed one is made again.
const JOIN_BOUND: Duration = Duration::from_secs(240);

/// And transactions run again.
const REPLAYING: Settings = &[
    ("pool.connect_timeout", "\"5s\""),
    ("monitor.timeout", "\"1s\""),
    ("monitor.hang_timeout", "\"20s\""),
    ("groups.position_interval", "\"50ms\""),
    ("groups.writer_wait", "\"60s\""),
    ("groups.transaction_replay", "true"),
];

/// Statements that can't run are told so soon.
const IMPATIENT: Settings = &[
    ("pool.connect_timeout", "\"5s\""),
    ("monitor.timeout", "\"1s\""),
    ("monitor.hang_timeout", "\"20s\""),
    ("groups.position_interval", "\"50ms\""),
    ("groups.writer_wait", "\"200ms\""),
];

/// What a Galera node says to statements until Weir has seen that it has lost the majority.
const WITHOUT_MAJORITY: &[u16] = &[1047, 1180];

/// As Weir is told of them.
const NAMES: [&str; 3] = ["writer", "replica1", "replica2"];

/// Three members of a group.
struct ElectedSite {
    kind: Kind,
    cluster: Cluster,
}

/// Runs all cases of the kind that this server can do.
pub(super) fn all(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let kind = if flavor == Flavor::MariaDb { Kind::Galera } else { Kind::GroupReplication };
    let mut site = ElectedSite::start(kind, flavor, &lab.directory()?)?;
    for (what, settings, case) in CASES {
        let servers: Vec<&Server> = site.cluster.servers().collect();
        let weir = Weir::start_before(&lab.directory()?, &servers, settings)?;
        let judged = lab.judge(Endpoint::of(weir), |endpoint| {
            site.until_whole(endpoint)?;
            case(&mut site, endpoint)
        });
        judged.map_err(|failed| format!("{what}: {}", failed.message().unwrap_or("failed")))?;
    }
    site.discovered(lab)
}

impl ElectedSite {
    fn start(kind: Kind, flavor: Flavor, parent: &Path) -> Result<ElectedSite, Failed> {
        let account = |(name, password): (&str, &str)| Account { name: name.to_owned(), password: password.to_owned() };
        let spec = ClusterSpec {
            kind,
            replicas: NAMES.len() - 1,
            options: ["innodb-flush-log-at-trx-commit=2", "sync-binlog=0"].map(str::to_owned).into(),
            die_with_parent: true,
            database: DATABASE.to_owned(),
            application: account(APP),
            monitor: account(MONITOR),
            ..ClusterSpec::new(&parent.join("group"), Installation::find(flavor, None)?)
        };
        let cluster = unblocked(|| Cluster::up(&spec, &mut Quiet))?;
        for sql in [
            "CREATE TABLE kept (id BIGINT PRIMARY KEY)",
            "CREATE TABLE counters (id INT PRIMARY KEY, v BIGINT NOT NULL)",
            "INSERT INTO counters VALUES (1, 0), (10, 0), (11, 0)",
        ] {
            let sql =
                sql.replace("TABLE ", &format!("TABLE {DATABASE}.")).replace("INTO ", &format!("INTO {DATABASE}."));
            cluster.groups[0].writer.execute(&sql)?;
        }
        // A session that becomes another user's begins as this one's.
        cluster.groups[0].writer.create_user(PLAIN.0, PLAIN.1, &[&format!("ALL ON `{DATABASE}`.*")], None)?;
        Ok(ElectedSite { kind, cluster })
    }

    /// A Weir that was told of one member only uses the others, too.
    fn discovered(&self, lab: &Lab) -> Result<(), Failed> {
        let servers: Vec<&Server> = self.cluster.servers().collect();
        let weir = Weir::start_before(&lab.directory()?, &servers[..1], discovery::DISCOVERS)?;
        lab.judge(Endpoint::of(weir), |endpoint| {
            for server in &servers[1..] {
                discovery::is_used(endpoint, &discovery::address(server), "writer")?;
            }
            Ok(())
        })
    }

    fn member(&mut self, index: usize) -> &mut Server {
        self.cluster.groups[0].servers_mut().nth(index).expect("there are three")
    }

    /// Starts servers that were killed, and has them join the group.
    fn revive(&mut self, members: &[usize]) -> Result<(), Failed> {
        Ok(unblocked(|| self.cluster.start_members(0, members, &Cancel::default(), &mut Quiet))?)
    }

    fn in_operation(&self) -> &'static str {
        if self.kind == Kind::Galera { "Synced" } else { "ONLINE" }
    }

    /// Waits until Weir sees all members in operation.
    fn until_whole(&self, endpoint: &Endpoint) -> Result<(), Failed> {
        let wanted = self.in_operation();
        NAMES.iter().try_for_each(|name| {
            let mut last = String::new();
            eventually(JOIN_BOUND, &format!("{name} is {wanted}"), || {
                last = of_server(endpoint, name, "state").unwrap_or_else(|error| format!("{error:?}"));
                last == wanted
            })
            .map_err(|late| format!("{}: it is {last}", late.message().unwrap_or_default()).into())
        })
    }

    /// Waits until all members have what was acknowledged, and nothing else.
    fn expect_kept_everywhere(&self, ledger: &super::follow::Ledger) -> Result<(), Failed> {
        for server in self.cluster.servers() {
            let mut last = None;
            eventually(BOUND, &format!("{} has all that was acknowledged", server.name()), || {
                last = expect_kept(server, ledger).err();
                last.is_none()
            })
            .map_err(|late| format!("{}: {last:?}", late.message().unwrap_or_default()))?;
        }
        // The next case begins anew.
        let mut client = self
            .cluster
            .groups
            .iter()
            .flat_map(Group::servers)
            .find_map(|server| server.execute(&format!("DELETE FROM {DATABASE}.kept")).ok());
        client.take().ok_or_else(|| "no member takes writes".into())
    }
}

/// The index of the present writer.
fn writer(endpoint: &Endpoint) -> Result<usize, Failed> {
    for (index, name) in NAMES.iter().enumerate() {
        if of_server(endpoint, name, "role")? == "writer" {
            return Ok(index);
        }
    }
    Err("there is no writer".into())
}

/// Runs `work` while a client reads, without an error.
fn while_reading<T>(endpoint: &Endpoint, work: impl FnOnce() -> Result<T, Failed>) -> Result<T, Failed> {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reading = scope.spawn(|| -> Result<(), Failed> {
            let mut client = connect(endpoint.port, APP, Some(DATABASE))?;
            while !done.load(Ordering::Relaxed) {
                run(&mut client, "SELECT v FROM counters WHERE id = 1").map_err(|error| format!("a read: {error}"))?;
            }
            Ok(())
        });
        let result = work();
        done.store(true, Ordering::Relaxed);
        reading.join().map_err(|_| "a client panicked")??;
        result
    })
}

fn dead_writer(site: &mut ElectedSite, endpoint: &Endpoint) -> Result<(), Failed> {
    expect_equal("the kind", of_server(endpoint, "writer", "kind")?, site.kind.name().into())?;
    let mut idle = connect(endpoint.port, APP, Some(DATABASE))?;
    idle.query_drop("SET @kept = 'across'")?;
    let prepared = idle.prep("SELECT v + ? FROM counters WHERE id = 1")?;
    let _first: Option<i64> = idle.exec_first(&prepared, (1,))?;
    let dead = writer(endpoint)?;
    let open = Open::begin(endpoint)?;
    let ledger = while_reading(endpoint, || {
        while_inserting(endpoint, |ledger| {
            site.member(dead).kill()?;
            // The inserts can only go on elsewhere.
            ledger.go_on(50)?;
            open.expect_lost()?;
            expect_equal("another one writes", writer(endpoint)? != dead, true)?;
            site.revive(&[dead])?;
            site.until_whole(endpoint)?;
            ledger.go_on(20)
        })
    })?;
    expect_equal("a variable", value(&mut idle, "SELECT @kept")?, "across".into())?;
    let sum: Option<i64> = idle.exec_first(&prepared, (40,))?;
    expect_equal("a prepared statement", sum, Some(40))?;
    site.expect_kept_everywhere(&ledger)
}

fn replay(site: &mut ElectedSite, endpoint: &Endpoint) -> Result<(), Failed> {
    let dead = writer(endpoint)?;
    let opened = Opened::begin(endpoint)?;
    site.member(dead).kill()?;
    opened.expect_continued(endpoint)?;
    site.revive(&[dead])?;
    site.until_whole(endpoint)
}

fn switchover(site: &mut ElectedSite, endpoint: &Endpoint) -> Result<(), Failed> {
    let done = AtomicBool::new(false);
    let (ledger, count) = std::thread::scope(|scope| {
        let transacting = scope.spawn(|| transact_until(endpoint, &done));
        let ledger = while_reading(endpoint, || {
            while_inserting(endpoint, |ledger| {
                let first = writer(endpoint)?;
                for turn in 1..=NAMES.len() {
                    let name = NAMES[(first + turn) % NAMES.len()];
                    discovery::becomes_writer(endpoint, name)?;
                    expect_equal("the role", of_server(endpoint, name, "role")?, "writer".into())?;
                    ledger.go_on(20)?;
                }
                Ok(())
            })
        });
        done.store(true, Ordering::Relaxed);
        let count = transacting.join().map_err(|_| "a client panicked")??;
        Ok::<_, Failed>((ledger?, count))
    })?;
    expect_equal("inserts of unknown fate", ledger.unknown(), 0)?;
    // A session of its own may read from a member that is behind.
    let mut client = connect(endpoint.port, APP, Some(DATABASE))?;
    client.query_drop("SET weir_consistency = 'strong'")?;
    for id in [10, 11] {
        let v = value(&mut client, &format!("SELECT v FROM counters WHERE id = {id}"))?;
        expect_equal("committed transactions", v, count.to_string())?;
    }
    site.expect_kept_everywhere(&ledger)
}

/// Two of three hang: what is left may neither read nor write.
fn minority(site: &mut ElectedSite, endpoint: &Endpoint) -> Result<(), Failed> {
    let writer = writer(endpoint)?;
    let others: Vec<usize> = (0..NAMES.len()).filter(|member| *member != writer).collect();
    for member in &others {
        expect_equal("it was running", site.member(*member).pause(), true)?;
    }
    let mut client = connect(endpoint.port, APP, Some(DATABASE))?;
    for statement in ["SELECT v FROM counters WHERE id = 1", "UPDATE counters SET v = v + 1 WHERE id = 1"] {
        let mut last = String::new();
        eventually(BOUND, "the minority takes no statements", || {
            let refused = run(&mut client, statement);
            last = format!("{refused:?}");
            let lost = server_error(&refused).is_some_and(|(code, _)| code == 2013)
                || refused.is_err() && server_error(&refused).is_none();
            if lost && let Ok(again) = connect(endpoint.port, APP, Some(DATABASE)) {
                client = again;
            }
            server_error(&refused).is_some_and(|(code, _)| code == 2003)
        })
        .map_err(|late| format!("{statement}: {}: {last}", late.message().unwrap_or_default()))?;
    }
    let refused = run(&mut client, "UPDATE counters SET v = v + 1 WHERE id = 1");
    expect_error("a write", &refused, 2003, "HY000")?;
    for member in &others {
        site.member(*member).resume();
    }
    site.until_whole(endpoint)?;
    eventually(BOUND, "writes go on", || run(&mut client, "UPDATE counters SET v = 8 WHERE id = 1").is_ok())?;
    eventually(BOUND, "reads go on", || {
        value(&mut client, "SELECT v FROM counters WHERE id = 1").is_ok_and(|v| v == "8")
    })
}

fn advice(site: &mut ElectedSite, endpoint: &Endpoint) -> Result<(), Failed> {
    let among = if site.kind == Kind::Galera { "wsrep_slave_threads" } else { "sync_binlog" };
    super::advice::follow(endpoint, NAMES.into_iter().zip(site.cluster.servers()), among)
}

/// A member that the others have put out, and that does not come back by itself, is told to join again.
fn expelled(site: &mut ElectedSite, endpoint: &Endpoint) -> Result<(), Failed> {
    if site.kind == Kind::Galera {
        return Ok(());
    }
    let out = (writer(endpoint)? + 1) % NAMES.len();
    let tries = |tries: u8| format!("SET GLOBAL group_replication_autorejoin_tries = {tries}");
    site.member(out).execute(&tries(0))?;
    expect_equal("it was running", site.member(out).pause(), true)?;
    eventually(BOUND, "the others put it out", || {
        let count = "SELECT COUNT(*) FROM performance_schema.replication_group_members";
        let others = (0..NAMES.len()).filter(|member| *member != out);
        let mut counts = others.map(|member| site.member(member).query_value(count));
        counts.all(|count| count.is_ok_and(|count| count.as_deref() == Some("2")))
    })?;
    site.member(out).resume();
    eventually(BOUND, "it has left the group", || {
        let state = "SELECT member_state FROM performance_schema.replication_group_members LIMIT 1";
        site.member(out).query_value(state).is_ok_and(|state| state.as_deref() == Some("ERROR"))
    })?;
    let mut admin = connect(endpoint.port, APP, None)?;
    let rejoined = format!("rejoin of {}: done", NAMES[out]);
    eventually(JOIN_BOUND, &rejoined, || {
        let done = admin.query_map("WEIR SHOW FAILOVERS", |mut row: mysql::Row| {
            let mut text = |column: &str| row.take::<String, _>(column).unwrap_or_default();
            format!("{} of {}: {}", text("action"), text("from"), text("outcome"))
        });
        done.is_ok_and(|done| done.contains(&rejoined))
    })?;
    site.until_whole(endpoint)?;
    expect_equal("offline_mode", site.member(out).query_value("SELECT @@offline_mode")?, Some("0".into()))?;
    site.member(out).execute(&tries(3))?;
    Ok(())
}

/// No majority is left, or nobody: a command starts the group again.
fn outage(site: &mut ElectedSite, endpoint: &Endpoint) -> Result<(), Failed> {
    // A member may take a minute to find that it has to be told to join once more.
    let mut admin = connect_for(JOIN_BOUND, endpoint.port, APP, None)?;
    expect_error("a group that works", &run(&mut admin, "WEIR GROUP BOOT"), 1235, "HY000")?;
    let all = 0..NAMES.len();
    let writer = writer(endpoint)?;
    let ledger = while_inserting_despite(WITHOUT_MAJORITY, endpoint, |ledger| {
        let dead: Vec<usize> = match site.kind {
            // A node that starts joins a cluster that is there: one of them has to live on.
            Kind::Galera => all.clone().filter(|member| *member != writer).collect(),
            _ => all.clone().collect(),
        };
        for member in &dead {
            site.member(*member).kill()?;
        }
        if site.kind != Kind::Galera {
            for member in &dead {
                unblocked(|| site.member(*member).restart())?;
            }
        }
        let mut last = String::new();
        eventually(BOUND, "the group is started", || {
            run(&mut admin, "WEIR GROUP BOOT").map_err(|error| last = error.to_string()).is_ok()
        })
        .map_err(|late| format!("{}: {last}", late.message().unwrap_or_default()))?;
        ledger.go_on(20)?;
        if site.kind == Kind::Galera {
            for member in dead {
                site.revive(&[member])?;
            }
        }
        site.until_whole(endpoint)?;
        ledger.go_on(20)
    })?;
    site.expect_kept_everywhere(&ledger)
}
