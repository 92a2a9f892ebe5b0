//! Large replies and slow readers: the right reply for the one, and no wait for those beside it.

use libtest_mimic::Failed;
use mysql::Conn;
use mysql::prelude::Queryable;
use weir_local::Flavor;

use super::load::{Tally, under_load};
use super::{BOUND, Case, ONE_WORKER, Raw, Settings, app, counter, counter_reaches, until_it_rides};
use crate::driver::{connect, expect_equal, expect_error, run, value};
use crate::lab::{APP, Endpoint, Site, eventually};
use crate::reply::Set;

/// The largest reply that rides, headers of packets included.
const BOUND_OF_A_REPLY: usize = 65_536;
/// A lane that is held up stays as it is: what waits on it is the test's to end.
const PATIENT: Settings =
    &[("workers.threads", "1"), ("lanes.stall_timeout", "\"600s\""), ("monitor.hang_timeout", "\"600s\"")];

pub(super) const CASES: &[Case] = &[
    ("large_reply_of_a_digest_that_rides_is_right_and_disturbs_nobody", ONE_WORKER, large_replies),
    ("reply_around_the_bound_is_right_in_both_protocols", ONE_WORKER, around_the_bound),
    ("client_that_stops_reading_a_large_reply_disturbs_nobody", ONE_WORKER, stops_in_a_large_reply),
    ("client_that_reads_none_of_many_replies_disturbs_nobody", ONE_WORKER, reads_nothing),
    ("rest_of_a_large_reply_is_not_the_next_statements_reply", PATIENT, rest_of_a_large_reply),
];

/// Sessions beside the one that the test is about.
const BESIDE: usize = 8;

fn goes_on(tally: &Tally) -> Result<(), Failed> {
    let right = tally.right();
    eventually(BOUND, "others are answered", || tally.right() >= right.saturating_add(500))
}

/// The reply of a statement that repeats a letter, in either protocol.
fn letters(client: &mut Conn, prepared: bool, name: &str, count: usize) -> Result<(), Failed> {
    let row: Option<(String, usize)> = match prepared {
        true => client.exec_first(format!("SELECT REPEAT('x', ?) AS {name}, ? AS told"), (count, count))?,
        false => client.query_first(format!("SELECT REPEAT('x', {count}) AS {name}, {count} AS told"))?,
    };
    let (text, told) = row.ok_or("no row")?;
    expect_equal("the other column", told, count)?;
    expect_equal("length", text.len(), count)?;
    expect_equal("other letters", text.bytes().any(|letter| letter != b'x'), false)
}

fn large_replies(_: &Site, endpoint: &Endpoint, database: &str) -> Result<(), Failed> {
    under_load(endpoint, database, BESIDE, &[], |tally| {
        let mut client = app(endpoint, database)?;
        for (number, count) in [100_000, 900_000, 3_000_000, 10_000_000].into_iter().enumerate() {
            for prepared in [false, true] {
                let unfit = counter(endpoint, "lane_unfit")?;
                let mut round = 0;
                let mut asked = Ok(());
                // Each round has a digest of its own: one that was large has to show that it is short for long.
                eventually(BOUND, "a large reply comes on a lane", || {
                    round += 1;
                    let name = format!("large_{number}_{prepared}_{round}");
                    asked = (0..12)
                        .try_for_each(|count| letters(&mut client, prepared, &name, count))
                        .and_then(|()| letters(&mut client, prepared, &name, count))
                        .and_then(|()| letters(&mut client, prepared, &name, 5));
                    asked.is_err() || counter(endpoint, "lane_unfit").is_ok_and(|now| now > unfit)
                })?;
                asked?;
            }
        }
        goes_on(tally)
    })?;
    Ok(())
}

/// Bytes of a text reply with so many letters.
fn bytes_of(client: &mut Raw, name: &str, count: usize) -> Result<usize, Failed> {
    client.packets.command(0x03, format!("SELECT REPEAT('x', {count}) AS {name}, {count} AS told").as_bytes())?;
    let mut bytes = 0;
    for _ in 0.. {
        let packet = client.packets.read()?;
        bytes += 4 + packet.len();
        if packet.first() == Some(&0xfe) {
            break;
        }
    }
    Ok(bytes)
}

fn around_the_bound(_: &Site, endpoint: &Endpoint, database: &str) -> Result<(), Failed> {
    let mut client = app(endpoint, database)?;
    let mut measure = Raw::open(endpoint, database)?;
    let unfit = counter(endpoint, "lane_unfit")?;
    // Names of one length, and counts whose lengths are told in as many bytes.
    let overhead = bytes_of(&mut measure, "bound_000", 10_000)? - 10_000;
    // The other protocol's rows differ by some bytes, and this client's replies by an EOF: all sizes near the bound.
    for more in 0..48 {
        for prepared in [false, true] {
            let name = format!("bound_{prepared:.1}{more:02}");
            (0..8).try_for_each(|_| letters(&mut client, prepared, &name, 10_000))?;
            letters(&mut client, prepared, &name, BOUND_OF_A_REPLY - overhead - 24 + more)?;
            letters(&mut client, prepared, &name, 10_000)?;
        }
    }
    let large = counter(endpoint, "lane_unfit")? - unfit;
    if !(20..96).contains(&large) {
        return Err(format!("{large} of 96 replies around the bound were too large for lanes").into());
    }
    Ok(())
}

fn stops_in_a_large_reply(_: &Site, endpoint: &Endpoint, database: &str) -> Result<(), Failed> {
    const LARGE: usize = 10_000_000;
    let mut client = Raw::open(endpoint, database)?;
    let ask = |count: usize| format!("SELECT REPEAT('x', {count})");
    until_it_rides(endpoint, || client.ask(&ask(10)).map(drop))?;
    let unfit = counter(endpoint, "lane_unfit")?;
    client.packets.command(0x03, ask(LARGE).as_bytes())?;
    under_load(endpoint, database, BESIDE, &[], |tally| {
        counter_reaches(endpoint, "lane_unfit", unfit + 1)?;
        goes_on(tally)?;
        goes_on(tally)
    })?;
    let reply = client.answer()?;
    let [Set::Rows(_, rows, _)] = &reply[..] else { return Err(format!("{reply:?}").into()) };
    expect_equal("length", rows[0][0].as_ref().map(Vec::len), Some(LARGE))
}

fn reads_nothing(_: &Site, endpoint: &Endpoint, database: &str) -> Result<(), Failed> {
    const STATEMENTS: usize = 1_000;
    let mut client = Raw::open(endpoint, database)?;
    let ask = |number: usize| format!("SELECT REPEAT('x', 15000), {number}");
    until_it_rides(endpoint, || client.ask(&ask(0)).map(drop))?;
    for number in 0..STATEMENTS {
        client.packets.command(0x03, ask(number).as_bytes())?;
    }
    under_load(endpoint, database, BESIDE, &[], |tally| {
        goes_on(tally)?;
        goes_on(tally)
    })?;
    for number in 0..STATEMENTS {
        let reply = client.answer()?;
        let [Set::Rows(_, rows, _)] = &reply[..] else { return Err(format!("{reply:?}").into()) };
        expect_equal("length", rows[0][0].as_ref().map(Vec::len), Some(15_000))?;
        expect_equal("number", rows[0][1].clone(), Some(number.to_string().into_bytes()))?;
    }
    Ok(())
}

/// A statement leaves its lane because its reply is large, and is then killed: the lane still reads the reply's rest, by
/// itself not large, when the session's next statement rides.
fn rest_of_a_large_reply(site: &Site, endpoint: &Endpoint, database: &str) -> Result<(), Failed> {
    let large = |count: usize, seconds: u32| {
        format!("SELECT id, REPEAT('x', {count}), SLEEP({seconds} * (id = 9)) FROM ten ORDER BY id")
    };
    let mut victim = app(endpoint, database)?;
    until_it_rides(endpoint, || {
        run(&mut victim, &large(1, 0))?;
        expect_equal("a number", value(&mut victim, "SELECT v FROM numbers WHERE id = 1")?, "8".into())
    })?;
    let unfit = counter(endpoint, "lane_unfit")?;
    let id = victim.connection_id();
    let mut admin = connect(endpoint.port, APP, None)?;
    let running = format!(
        "SELECT COUNT(*) FROM information_schema.processlist \
         WHERE db = '{database}' AND info LIKE 'SELECT id, REPEAT(%'"
    );
    let running = |count: &str| site.server.query_value(&running).is_ok_and(|found| found.as_deref() == Some(count));
    let (ended, mut victim) = std::thread::scope(|scope| {
        let asking = scope.spawn(move || (run(&mut victim, &large(10_000, 2)), victim));
        let seen = counter_reaches(endpoint, "lane_unfit", unfit + 1)
            .and_then(|()| eventually(BOUND, "it runs on the lane and elsewhere", || running("2")));
        admin.query_drop(format!("KILL QUERY {id}"))?;
        let ended = asking.join().map_err(|_| Failed::from("the session panicked"))?;
        seen.map(|()| ended)
    })?;
    expect_error("the killed statement", &ended, 1317, "70100")?;
    if site.flavor == Flavor::MariaDb {
        // Else the session stays on the connection that has the error.
        victim.reset()?;
    }
    for number in 0..2_000 {
        let text = format!("SELECT v FROM numbers WHERE id = {}", number % 900);
        expect_equal(&text, value(&mut victim, &text)?, (7 * (number % 900) + 1).to_string())?;
    }
    eventually(BOUND, "the statement on the lane has ended", || running("0"))
}
