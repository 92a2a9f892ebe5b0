//! Clients that break the protocol: they get an error or are cut off, everyone else is served on, and memory stays
//! bounded. Where a server has a fixed answer, the endpoint must give the same.

use std::net::Shutdown;
use std::time::Duration;

use libtest_mimic::Failed;
use mysql::Conn;
use mysql::prelude::Queryable;
use weir_local::Flavor;

use crate::Collector;
use crate::client::{MAX_BODY, Packets, Stream, put_lenenc_bytes};
use crate::driver::{connect, expect_equal, resident, serves, value};
use crate::lab::{APP, Endpoint, Lab, Target, eventually};
use crate::login::{self, Greeting, Login, Opening, caps};

const BOUND: Duration = Duration::from_secs(30);
/// How much Weir may grow over all that a test does to it.
const GROWTH: u64 = 48 << 20;
/// How long a connection that never speaks may stay: Weir's is 2 s here, MySQL's and MariaDB's default is 10 s.
const SETTINGS: &[(&str, &str)] = &[("clients.handshake_timeout", "\"2s\"")];
/// How long a client may stop in the middle of what it sends.
const HASTY: &[(&str, &str)] = &[("clients.write_timeout", "\"1s\"")];
const HASTE: Duration = Duration::from_secs(1);
/// Connections that never speak.
const SILENT: usize = 1_000;

type Case = (&'static str, fn(&Endpoint) -> Result<(), Failed>);

const CASES: [Case; 12] = [
    ("garbage_before_login", garbage_before_login),
    ("large_packet_announced_before_login", announced_before_login),
    ("large_packet_sent_before_login", sent_before_login),
    ("short_handshake_responses", short_responses),
    ("wrong_lengths_in_the_handshake_response", wrong_lengths_in_response),
    ("wrong_sequence_ids", wrong_sequence_ids),
    ("unknown_commands_are_1047_and_the_session_goes_on", unknown_commands),
    ("empty_and_short_commands", short_commands),
    ("wrong_lengths_in_execute", wrong_lengths_in_execute),
    ("wrong_lengths_in_change_user", wrong_lengths_in_change_user),
    ("half_closed_connections", half_closed),
    ("1000_connections_that_never_speak", silent),
];

/// Adds this module's tests.
pub(crate) fn collect(tests: &mut Collector) {
    for (word, case) in CASES {
        tests.add(&format!("misuse::{word}"), move |lab: &Lab, flavor: Flavor| {
            let site = lab.site(flavor)?;
            lab.with_endpoint(site, SETTINGS, |endpoint| {
                let before = resident(endpoint.pid)?;
                case(endpoint)?;
                eventually(BOUND, "others are served", || serves(endpoint.port, APP))?;
                let now = resident(endpoint.pid)?;
                if lab.target == Target::Weir && now > before + GROWTH {
                    return Err(format!("{} MB resident, {} MB before", now >> 20, before >> 20).into());
                }
                Ok(())
            })
        });
    }
    tests.add_for_weir("misuse::parameters_that_are_no_values_over_shards", |lab: &Lab, flavor: Flavor| {
        lab.over_two_shards(flavor, no_values)
    });
    tests.add_for_weir("misuse::clients_that_stop_in_the_middle_are_cut_off", |lab: &Lab, flavor: Flavor| {
        lab.over_two_shards_with(flavor, HASTY, stops_in_the_middle)
    });
}

/// A connection that was greeted and hasn't answered yet.
fn greeted(endpoint: &Endpoint) -> Result<(Packets, Greeting), Failed> {
    let mut packets = Packets::new(Stream::connect(&endpoint.address)?);
    packets.stream().set_read_timeout(BOUND)?;
    let greeting = Greeting::decode(&packets.read()?)?;
    Ok((packets, greeting))
}

/// A connection that is logged in.
fn logged_in(endpoint: &Endpoint) -> Result<(Packets, Greeting), Failed> {
    match login::open(&endpoint.address, &Login::new(APP.0, APP.1))? {
        (packets, Opening::Done(greeting, ..)) => {
            packets.stream().set_read_timeout(BOUND)?;
            Ok((packets, *greeting))
        }
        (_, Opening::Refused(why)) => Err(format!("{why:?}").into()),
    }
}

/// Says that nothing more will be sent, to a peer that may have closed already.
fn half_close(packets: &Packets) {
    let _closed_already = packets.stream().shutdown(Shutdown::Write);
}

/// The peer must send an error or nothing, and close, within the bound.
fn expect_cut(what: &str, packets: &mut Packets) -> Result<(), Failed> {
    match packets.read_to_close(1 << 16) {
        Ok(last) if last.is_empty() || last.get(4) == Some(&0xff) => Ok(()),
        Ok(last) => Err(format!("{what}: answered with {}", last.escape_ascii()).into()),
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => Ok(()),
        Err(error) => Err(format!("{what}: neither error nor close: {error}").into()),
    }
}

fn garbage_before_login(endpoint: &Endpoint) -> Result<(), Failed> {
    let garbage: [&[u8]; 5] = [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        &[0xff; 4096],
        &[0; 64],
        b"\x01\x00\x00\x01\x01",
    ];
    for bytes in garbage {
        let (mut packets, _) = greeted(endpoint)?;
        packets.write_raw(bytes)?;
        half_close(&packets);
        expect_cut("garbage", &mut packets)?;
    }
    Ok(())
}

/// The header claims 16 MB, little follows: nobody may wait for it longer than a login may take, nor make room for it.
fn announced_before_login(endpoint: &Endpoint) -> Result<(), Failed> {
    let mut all = Vec::new();
    for _ in 0..50 {
        let (mut packets, _) = greeted(endpoint)?;
        packets.write_raw(&[0xff, 0xff, 0xff, 1])?;
        packets.write_raw(&[0; 100])?;
        all.push(packets);
    }
    all.iter_mut().try_for_each(|packets| expect_cut("16 MB announced", packets))
}

fn sent_before_login(endpoint: &Endpoint) -> Result<(), Failed> {
    for _ in 0..5 {
        let (mut packets, _) = greeted(endpoint)?;
        // The peer may close while this is being sent.
        let _reset = packets.write(&vec![0; MAX_BODY + 1000]);
        half_close(&packets);
        expect_cut("16 MB sent", &mut packets)?;
    }
    Ok(())
}

fn short_responses(endpoint: &Endpoint) -> Result<(), Failed> {
    let (_, greeting) = greeted(endpoint)?;
    let login = Login::new(APP.0, APP.1);
    let whole = login::handshake_response(&login, &greeting, login.capabilities & greeting.capabilities | 1);
    for length in [0, 1, 3, 4, 8, 31, 32, 33, 34, 36, 40] {
        let (mut packets, _) = greeted(endpoint)?;
        packets.write(&whole[..length])?;
        half_close(&packets);
        expect_cut(&format!("{length} bytes of a response"), &mut packets)?;
    }
    Ok(())
}

fn wrong_lengths_in_response(endpoint: &Endpoint) -> Result<(), Failed> {
    let flags = caps::BASE | caps::CONNECT_WITH_DB | 1 << 20 | 1 << 21;
    let head = |flags: u32| {
        let mut body = flags.to_le_bytes().to_vec();
        body.extend_from_slice(&[0, 0, 0, 1, 45]);
        body.extend_from_slice(&[0; 23]);
        body
    };
    let tails: [&[u8]; 7] = [
        b"user without end",
        b"app\0\xff",
        b"app\0\xfa short",
        b"app\0\xfd\xff\xff\xff short",
        b"app\0\xfe\xff\xff\xff\xff\xff\xff\xff\xff",
        b"app\0\x00db without end",
        b"app\0\x00db\0caching_sha2_password\0\xfe\xff\xff\xff\xff\xff\xff\xff\x7f",
    ];
    for tail in tails {
        let (mut packets, _) = greeted(endpoint)?;
        let mut body = head(flags);
        body.extend_from_slice(tail);
        packets.write(&body)?;
        half_close(&packets);
        let mut answer = packets.read_to_close(1 << 16).unwrap_or_default();
        // A server may ask for another authentication first; nobody is let in.
        answer.drain(..answer.len().min(4));
        if answer.first() == Some(&0) {
            return Err(format!("{} was let in", tail.escape_ascii()).into());
        }
    }
    Ok(())
}

fn wrong_sequence_ids(endpoint: &Endpoint) -> Result<(), Failed> {
    let (mut packets, greeting) = greeted(endpoint)?;
    let login = Login::new(APP.0, APP.1);
    packets.sequence = 7;
    packets.write(&login::handshake_response(&login, &greeting, login.capabilities & greeting.capabilities | 1))?;
    expect_cut("a response with a wrong sequence id", &mut packets)?;
    let (mut packets, _) = logged_in(endpoint)?;
    packets.sequence = 3;
    packets.write(b"\x03SELECT 1")?;
    expect_cut("a command with a wrong sequence id", &mut packets)
}

/// The packet is an error of this code.
fn expect_code(what: &str, packet: &[u8], code: u16) -> Result<(), Failed> {
    let got = (packet.first() == Some(&0xff)).then(|| u16::from_le_bytes([packet[1], packet[2]]));
    expect_equal(what, got, Some(code))
}

fn unknown_commands(endpoint: &Endpoint) -> Result<(), Failed> {
    let (mut packets, _) = logged_in(endpoint)?;
    // COM_SLEEP, COM_CONNECT, COM_TIME, COM_DELAYED_INSERT, COM_DAEMON, and numbers that never were commands.
    for command in [0x00, 0x0b, 0x0f, 0x10, 0x1d, 0x2f, 0x7f, 0xc8] {
        packets.command(command, b"")?;
        expect_code(&format!("command {command:#x}"), &packets.read()?, 1047)?;
    }
    packets.command(0x0e, &[])?;
    expect_equal("a ping", packets.read()?.first().copied(), Some(0))
}

fn short_commands(endpoint: &Endpoint) -> Result<(), Failed> {
    // COM_INIT_DB, COM_STMT_EXECUTE, SEND_LONG_DATA, CLOSE, RESET, FETCH, SET_OPTION, CHANGE_USER: no payload, or less
    // than they need.
    for command in [0x02_u8, 0x17, 0x18, 0x19, 0x1a, 0x1c, 0x1b, 0x11, 0x03, 0x16] {
        for payload in [&b""[..], b"\x01", b"\x01\x00\x00"] {
            let (mut packets, _) = logged_in(endpoint)?;
            packets.command(command, payload)?;
            packets.command(0x0e, &[])?;
            half_close(&packets);
            // Any error, an answer to the ping, or the end; never a hang.
            packets.read_to_close(1 << 20).map(drop).or_else(|error| match error.kind() {
                std::io::ErrorKind::ConnectionReset => Ok(()),
                _ => Err(format!("command {command:#x} with {}: {error}", payload.escape_ascii())),
            })?;
        }
    }
    let (mut packets, _) = logged_in(endpoint)?;
    // A packet with no command at all.
    packets.sequence = 0;
    packets.write(&[])?;
    half_close(&packets);
    packets.read_to_close(1 << 16).map(drop).or_else(|error| match error.kind() {
        std::io::ErrorKind::ConnectionReset => Ok(()),
        _ => Err(format!("an empty packet: {error}").into()),
    })
}

fn wrong_lengths_in_execute(endpoint: &Endpoint) -> Result<(), Failed> {
    let tails: [&[u8]; 7] = [
        b"",
        b"\x00",
        b"\x00\x01",
        b"\x00\x01\xfd\x00",
        b"\x00\x01\xfd\x00\xfd\x00",
        b"\x00\x01\xfd\x00\x03\x00\xfe\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\x00\x01\x0c\x00\x0b\x00\xff\xff",
    ];
    for tail in tails {
        let (mut packets, _) = logged_in(endpoint)?;
        packets.command(0x16, b"SELECT ?, ?")?;
        let prepared = packets.read()?;
        expect_equal("prepared", prepared.first().copied(), Some(0))?;
        // Two parameters and two columns, with no EOF after them.
        (0..4).try_for_each(|_| packets.read().map(drop))?;
        let mut payload = prepared[1..5].to_vec();
        payload.extend_from_slice(&[0, 1, 0, 0, 0]);
        payload.extend_from_slice(tail);
        packets.command(0x17, &payload)?;
        half_close(&packets);
        // MySQL refuses all of these, MariaDB makes values of some; neither may hang.
        packets.read_to_close(1 << 16).map(drop).or_else(|error| match error.kind() {
            std::io::ErrorKind::ConnectionReset => Ok(()),
            _ => Err(format!("{}: {error}", tail.escape_ascii())),
        })?;
    }
    Ok(())
}

/// Types of parameters, and values that are none. What a client sends as a number never becomes another part of a statement.
fn no_values(endpoint: &Endpoint) -> Result<(), Failed> {
    const TABLE: [&str; 3] = [
        "CREATE DATABASE t_misuse",
        "CREATE TABLE t_misuse.t (id INT PRIMARY KEY, v INT) SHARD BY HASH(id)",
        "INSERT INTO t_misuse.t VALUES (1, 1), (2, 2), (3, 3), (4, 4)",
    ];
    const DECIMAL: u8 = 0xf6;
    const DOUBLE: u8 = 5;
    const TIME: u8 = 0x0b;
    let mut session = connect(endpoint.port, APP, None)?;
    TABLE.iter().try_for_each(|text| session.query_drop(text))?;
    let decimals = ["9 OR 1=1", "9) OR (1=1", "9 OR v IN (1,2,3,4)", "v", "9 -- ", "9/*"];
    let decimals = decimals.map(|text| {
        let mut value = Vec::new();
        put_lenenc_bytes(&mut value, text.as_bytes());
        (DECIMAL, value)
    });
    let numbers = [f64::NAN, f64::INFINITY].map(|number| (DOUBLE, number.to_le_bytes().to_vec()));
    // 178,956,971 days are 8 hours more than 32 bits hold.
    let days = [&[8, 0][..], &178_956_971_u32.to_le_bytes(), &[0, 0, 0]].concat();
    let days = [(TIME, days), (TIME, [&[12][..], &[0xff; 12]].concat())];
    let (mut packets, _) = logged_in(endpoint)?;
    for text in ["DELETE FROM t_misuse.t WHERE id = ?", "DELETE FROM t_misuse.t WHERE v = ?"] {
        packets.command(0x16, text.as_bytes())?;
        let prepared = packets.read()?;
        packets.read()?;
        for (kind, value) in decimals.iter().chain(&numbers).chain(&days) {
            let payload = [&prepared[1..5], &[0, 1, 0, 0, 0, 0, 1, *kind, 0], value].concat();
            packets.command(0x17, &payload)?;
            // An error, or nothing is deleted.
            let answer = packets.read()?;
            let what = format!("{text}: {}", value.escape_ascii());
            expect_equal(&what, answer[0] == 0xff || answer.starts_with(&[0, 0]), true)?;
        }
    }
    expect_equal("the rows", value(&mut session, "SELECT COUNT(*) FROM t_misuse.t")?, "4".to_owned())
}

/// What such a client has changed is taken back, and its locks are free.
fn stops_in_the_middle(endpoint: &Endpoint) -> Result<(), Failed> {
    const TABLE: [&str; 3] = [
        "CREATE DATABASE t_misuse",
        "CREATE TABLE t_misuse.t (id INT PRIMARY KEY, v INT) SHARD BY HASH(id)",
        "INSERT INTO t_misuse.t VALUES (1, 1), (2, 2), (3, 3), (4, 4)",
    ];
    let mut session = connect(endpoint.port, APP, None)?;
    TABLE.iter().try_for_each(|text| session.query_drop(text))?;
    let begin = || -> Result<Packets, Failed> {
        let (mut packets, _) = logged_in(endpoint)?;
        for text in ["BEGIN", "UPDATE t_misuse.t SET v = 0"] {
            packets.command(0x03, text.as_bytes())?;
            expect_equal(text, packets.read()?.first().copied(), Some(0))?;
        }
        Ok(packets)
    };
    let is_undone = |session: &mut Conn| {
        eventually(BOUND, "the rows are free", || session.query_drop("UPDATE t_misuse.t SET v = v + 1").is_ok())?;
        let sum = value(session, "SELECT SUM(v) FROM t_misuse.t")?;
        session.query_drop("UPDATE t_misuse.t SET v = v - 1")?;
        expect_equal("the values", sum, "14".to_owned())
    };
    let mut packets = begin()?;
    packets.write_raw(b"\x09\x00\x00\x00\x03SELECT")?;
    expect_cut("half a packet", &mut packets)?;
    is_undone(&mut session)?;
    // One frame is whole, and the packet is not.
    let mut packets = begin()?;
    packets.write_raw(b"\xff\xff\xff\x00\x03SELECT 1 /*")?;
    let _cut_meanwhile = packets.write_raw(&vec![b'*'; MAX_BODY - 12]);
    expect_cut("the first frame of a packet", &mut packets)?;
    is_undone(&mut session)?;
    // A session may have more time.
    let mut packets = begin()?;
    packets.command(0x03, b"SET net_read_timeout = 3600")?;
    packets.read()?;
    packets.write_raw(b"\x09\x00\x00\x00\x03ROLL")?;
    std::thread::sleep(2 * HASTE);
    packets.write_raw(b"BACK")?;
    expect_equal("ROLLBACK", packets.read_to_close(5)?.get(4).copied(), Some(0))?;
    for sent in [&b""[..], b"\x05\x00\x00\x02", b"\x05\x00\x00\x025\t5\n6"] {
        let mut packets = begin()?;
        packets.command(0x03, b"LOAD DATA LOCAL INFILE 'f' INTO TABLE t_misuse.t")?;
        expect_equal("a request for a file", packets.read()?.first().copied(), Some(0xfb))?;
        packets.write_raw(sent)?;
        expect_cut("a part of a file", &mut packets)?;
        is_undone(&mut session)?;
    }
    Ok(())
}

fn wrong_lengths_in_change_user(endpoint: &Endpoint) -> Result<(), Failed> {
    let payloads: [&[u8]; 6] = [b"", b"app", b"app\0", b"app\0\xff", b"app\0\x14short", b"app\0\x00db without end"];
    for payload in payloads {
        let (mut packets, _) = logged_in(endpoint)?;
        packets.command(0x11, payload)?;
        half_close(&packets);
        let answer = packets.read().unwrap_or_default();
        if answer.first() == Some(&0) {
            return Err(format!("{} was let in", payload.escape_ascii()).into());
        }
    }
    Ok(())
}

fn half_closed(endpoint: &Endpoint) -> Result<(), Failed> {
    // Before and after the login, and behind a command whose answer must still come.
    let (mut before, _) = greeted(endpoint)?;
    half_close(&before);
    expect_cut("half closed before login", &mut before)?;
    let (mut idle, _) = logged_in(endpoint)?;
    half_close(&idle);
    expect_cut("half closed when idle", &mut idle)?;
    let (mut deaf, _) = logged_in(endpoint)?;
    deaf.stream().shutdown(Shutdown::Read)?;
    deaf.command(0x03, b"SELECT REPEAT('x', 1000000)")?;
    Ok(())
}

fn silent(endpoint: &Endpoint) -> Result<(), Failed> {
    let mut all = Vec::new();
    for _ in 0..SILENT {
        all.push(Packets::new(Stream::connect(&endpoint.address)?));
    }
    // While they are there, others are served.
    eventually(BOUND, "others are served meanwhile", || serves(endpoint.port, APP))?;
    for packets in &mut all {
        packets.stream().set_read_timeout(BOUND)?;
        let greeting = packets.read()?;
        expect_equal("a greeting", greeting.first().copied(), Some(10))?;
        expect_cut("a connection that never speaks", packets)?;
    }
    Ok(())
}
