//! AUTO_INCREMENT of sharded tables: no value twice, whatever dies.
//!
//! The takers are processes of their own (this program, told so by its environment), so that they can be killed at any time; each tells
//! what it was given after it was given.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use libtest_mimic::Failed;
use weir_backend::monitor::MonitorSettings;
use weir_backend::server::Tls;
use weir_backend::{Address, ConnectSettings, Server, ServerSettings};
use weir_catalog::ShardId;
use weir_shards::{Own, SequenceName, Sequences, schema};
use weir_topology::{Group, GroupSettings, MemberSettings, Promotion, Role};
use weir_wire::auth::Password;

use crate::Collector;
use crate::driver::expect_equal;
use crate::lab::{Lab, MONITOR, Site};
use crate::signals;

/// A process with this in its environment takes values from the server at this socket.
const TAKER: &str = "WEIR_TEST_TAKER";
/// How many ask at the same time.
const TAKERS: usize = 8;
/// How long one asks again.
const PATIENCE: Duration = Duration::from_secs(60);

/// Adds this module's tests.
pub(crate) fn collect(tests: &mut Collector) {
    tests.add_for_weir("sequences::no_value_twice_across_kills", no_value_twice);
    tests.add_for_weir("sequences::values_are_passed_set_moved_and_removed", told);
}

fn name(table: &str) -> SequenceName {
    SequenceName { shard: ShardId(0), database: "t_seq".to_owned(), table: table.to_owned() }
}

fn own(socket: &Path, control: tokio::runtime::Handle) -> Own {
    let settings = ServerSettings {
        name: "s1".to_owned(),
        address: Address::Unix(socket.to_owned()),
        max_connections: 10,
        max_user_connections: 0,
        track_gtids: false,
    };
    let reach = ConnectSettings { tls: Tls::Off, connect_timeout: Duration::from_secs(10) };
    let server = Arc::new(Server::new(settings, reach, 1));
    let writer = MemberSettings { role: Role::Writer, weight: None, promotion: Promotion::Neutral };
    let group = Group::new(GroupSettings::default(), vec![server], vec![writer]);
    let account = MonitorSettings {
        user: MONITOR.0.as_bytes().into(),
        password: Password::new(MONITOR.1.as_bytes()),
        interval: Duration::from_secs(1),
        timeout: Duration::from_secs(1),
        hang_timeout: Duration::from_secs(10),
    };
    Own::new(vec![Arc::new(group)], Arc::new(ArcSwap::from_pointee(account)), control)
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()
}

/// What this process is if its environment says so.
pub(crate) fn taker() -> Option<ExitCode> {
    let socket = PathBuf::from(std::env::var_os(TAKER)?);
    let runtime = runtime().expect("a runtime");
    let sequences = Arc::new(Sequences::new(own(&socket, runtime.handle().clone())));
    let takers: Vec<_> = (0..TAKERS).map(|taker| runtime.spawn(take_forever(sequences.clone(), taker))).collect();
    for taker in takers {
        runtime.block_on(taker).expect("takers go on until they are killed");
    }
    Some(ExitCode::SUCCESS)
}

async fn take_forever(sequences: Arc<Sequences>, taker: usize) {
    let tables = [name("one"), name("two")];
    for round in 0_u64.. {
        let (at, count) = ((taker + round as usize) % tables.len(), [1, 1, 7, 400][(round % 4) as usize]);
        let first = take_patiently(&sequences, &tables[at], count).await;
        tell_parent(at, first, count);
        tokio::task::yield_now().await;
    }
}

/// A machine that is busy makes others wait for their turn at the row, longer than Weir waits: nothing was taken then.
async fn take_patiently(sequences: &Sequences, name: &SequenceName, count: u64) -> u64 {
    let start = Instant::now();
    loop {
        match sequences.take(name, count).await {
            Ok(first) => return first,
            Err(failure) => assert!(start.elapsed() < PATIENCE, "no values: {failure}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn tell_parent(table: usize, first: u64, count: u64) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{table} {first} {count}").expect("the parent reads");
    out.flush().expect("the parent reads");
}

fn spawn(site: &Site) -> Result<Child, Failed> {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL"]).arg(std::env::current_exe()?);
    command.env(TAKER, site.server.socket()).stdin(Stdio::null()).stdout(Stdio::piped());
    Ok(signals::unblocked(|| command.spawn())?)
}

fn no_value_twice(lab: &Lab, flavor: weir_local::Flavor) -> Result<(), Failed> {
    let site = Site::start(flavor, &lab.directory()?, "s1", &[])?;
    let runtime = runtime()?;
    let own = own(site.server.socket(), runtime.handle().clone());
    runtime.block_on(schema::ensure(&own, ShardId(0)))?;
    let mut taken: [BTreeMap<u64, u64>; 2] = Default::default();
    let mut runs = 0;
    for round in 0..6 {
        // Two at the same time, as during an upgrade.
        let mut children = [spawn(&site)?, spawn(&site)?];
        let mut outputs = Vec::new();
        for child in &mut children {
            outputs.push(BufReader::new(child.stdout.take().ok_or("a pipe")?).lines());
        }
        for lines in &mut outputs {
            for line in lines.by_ref().take(200 + 150 * round) {
                runs += take_down(&mut taken, &line?)?;
            }
        }
        for (child, lines) in children.iter_mut().zip(outputs) {
            child.kill()?;
            child.wait()?;
            // What was told before the end counts; the last line may be half a line.
            for line in lines.map_while(Result::ok) {
                runs += take_down(&mut taken, &line).unwrap_or(0);
            }
        }
    }
    if runs < 2_000 {
        return Err(format!("only {runs} runs were taken").into());
    }
    Ok(())
}

/// Notes a run of values; one that overlaps another is the bug that this is about.
fn take_down(taken: &mut [BTreeMap<u64, u64>; 2], line: &str) -> Result<usize, Failed> {
    let numbers: Option<Vec<u64>> = line.split(' ').map(|word| word.parse().ok()).collect();
    let Some([table, first, count]) = numbers.as_deref() else { return Ok(0) };
    let runs = taken.get_mut(*table as usize).ok_or("a table")?;
    let end = first + count;
    let before = runs.range(..end).next_back();
    if let Some((other, other_end)) = before.filter(|(_, other_end)| **other_end > *first) {
        return Err(format!("values {first} to {end} and {other} to {other_end} overlap").into());
    }
    runs.insert(*first, end);
    Ok(1)
}

fn told(lab: &Lab, flavor: weir_local::Flavor) -> Result<(), Failed> {
    let site = Site::start(flavor, &lab.directory()?, "s1", &[])?;
    let runtime = runtime()?;
    let own = own(site.server.socket(), runtime.handle().clone());
    runtime.block_on(schema::ensure(&own, ShardId(0)))?;
    // Once more: nothing is missing.
    runtime.block_on(schema::ensure(&own, ShardId(0)))?;
    runtime.block_on(tell(&own))?;
    runtime.block_on(decide(&own, &site))
}

async fn tell(own: &Own) -> Result<(), Failed> {
    let (sequences, one, two) = (Sequences::new(own.clone()), name("one"), name("two"));
    expect_equal("the first", sequences.take(&one, 3).await?, 1)?;
    expect_equal("the next", sequences.take(&one, 1).await?, 4)?;
    // A written value within the block, and one far beyond it.
    sequences.at_least(&one, 10).await?;
    expect_equal("after 10", sequences.take(&one, 1).await?, 11)?;
    sequences.at_least(&one, 1_000_000).await?;
    expect_equal("after 1000000", sequences.take(&one, 1).await?, 1_000_001)?;
    let another = Sequences::new(own.clone());
    let elsewhere = another.take(&one, 1).await?;
    expect_equal("another process is behind", elsewhere > 1_000_001, true)?;
    // A clean end leaves no gap.
    let position = another.position(&one).await?;
    another.give_back().await;
    expect_equal("given back", Sequences::new(own.clone()).take(&one, 1).await?, position)?;
    sequences.set(&one, 50).await?;
    expect_equal("set", sequences.take(&one, 1).await?, 50)?;
    sequences.rename(&one, &two).await?;
    expect_equal("moved", sequences.take(&two, 1).await?, 51)?;
    expect_equal("a new one", sequences.take(&one, 1).await?, 1)?;
    sequences.remove(&two).await?;
    expect_equal("gone", sequences.take(&two, 1).await?, 1)?;
    sequences.at_least(&two, u64::MAX - 3).await?;
    expect_equal("the last ones", sequences.take(&two, 1).await?, u64::MAX - 2)?;
    sequences.at_least(&two, u64::MAX).await?;
    let code = sequences.take(&two, 1).await.map_err(|failure| failure.code);
    expect_equal("no values left", code, Err(1467))
}

/// A user's own transaction decides, once it was let.
async fn decide(own: &Own, site: &Site) -> Result<(), Failed> {
    let mut session = crate::driver::connect(site.server.port(), crate::lab::APP, None)?;
    let call = schema::decide("weir,test,1");
    let refused = crate::driver::run(&mut session, &call);
    let code = crate::driver::server_error(&refused).map(|(code, _)| code);
    expect_equal("not yet", code, Some(weir_wire::error::codes::ER_PROCACCESS_DENIED_ERROR))?;
    let account = crate::driver::value(&mut session, "SELECT CURRENT_USER()")?;
    schema::allow_to_decide(own, ShardId(0), &account).await?;
    for statement in ["BEGIN", &call, "COMMIT"] {
        crate::driver::run(&mut session, statement)?;
    }
    let row = own.run(ShardId(0), "SELECT outcome, connection FROM weir.decisions WHERE gid = 'weir,test,1'").await?;
    let outcome = row.rows.first().map(|row| weir_shards::own::text(row.first()));
    expect_equal("decided", outcome, Some("commit".to_owned()))?;
    let again = crate::driver::run(&mut session, &call);
    let code = crate::driver::server_error(&again).map(|(code, _)| code);
    expect_equal("once", code, Some(1062))
}
