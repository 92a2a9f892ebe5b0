//! What a server takes no more of: packets, prepared statements. What it says of them reaches the client, a limit that was set too low can
//! be raised again, and what Weir itself sends or keeps for sessions stays below it. Statements here lock rows, so that they run on the
//! writer, whose limits are set, and on no replica.

use libtest_mimic::Failed;
use mysql::prelude::Queryable;

use crate::driver::{connect, expect_equal, expect_error, run, value};
use crate::lab::{APP, Endpoint};
use crate::login::{self, Login, Opening};

/// COM_QUERY.
const QUERY: u8 = 0x03;

/// To be run where nobody else uses the servers. What it sets it sets back.
pub(crate) fn limits_of_servers(endpoint: &Endpoint) -> Result<(), Failed> {
    let mut admin = connect(endpoint.port, APP, None)?;
    let before = value(&mut admin, "SELECT @@GLOBAL.max_allowed_packet")?;
    admin.query_drop("SET GLOBAL max_allowed_packet = 16777216")?;
    for length in [17_000_000, 40_000_000] {
        expect_equal("a text that is too long", refusal(endpoint, length)?, 1153)?;
        expect_equal("after it", value(&mut admin, "SELECT 'served'")?, "served".into())?;
    }
    long_variables(endpoint)?;
    admin.query_drop("SET GLOBAL max_allowed_packet = 1024")?;
    let mut other = connect(endpoint.port, APP, None)?;
    expect_equal("a short text", value(&mut other, "SELECT 'short'")?, "short".into())?;
    other.query_drop("SET sort_buffer_size = 262144")?;
    expect_equal("its settings", value(&mut other, "SELECT @@sort_buffer_size")?, "262144".into())?;
    other.query_drop(format!("SET GLOBAL max_allowed_packet = {before}"))?;
    few_statements(endpoint)
}

/// The code of the error that a text of so many bytes gets.
fn refusal(endpoint: &Endpoint, length: usize) -> Result<u16, Failed> {
    let (mut packets, Opening::Done(..)) = login::open(&endpoint.address, &Login::new(APP.0, APP.1))? else {
        return Err("not let in".into());
    };
    let text = format!("SELECT LENGTH('{}') FROM t_shards.own FOR UPDATE", "x".repeat(length));
    packets.command(QUERY, text.as_bytes())?;
    match packets.read()?[..] {
        [0xff, low, high, ..] => Ok(u16::from_le_bytes([low, high])),
        ref other => Err(format!("no error, but {:?}", &other[..other.len().min(20)]).into()),
    }
}

/// More than a server takes in one text, of literals and of values that only the server knows.
fn long_variables(endpoint: &Endpoint) -> Result<(), Failed> {
    let mut session = connect(endpoint.port, APP, None)?;
    let mut other = connect(endpoint.port, APP, None)?;
    for n in 0..17 {
        session.query_drop(format!("SET @v{n} = '{}'", "x".repeat(1_000_000)))?;
        run(&mut other, "SET @other = 1")?;
        expect_equal(
            "between",
            value(&mut session, "SELECT COUNT(*) > 0 FROM information_schema.SCHEMATA")?,
            "1".into(),
        )?;
    }
    session.query_drop("SET @t = (SELECT REPEAT('a', 70000)), @u = REPEAT('b', 9000000)")?;
    for (variable, length) in [("@v0", "1000000"), ("@v16", "1000000"), ("@t", "70000"), ("@u", "9000000")] {
        expect_equal(variable, value(&mut session, &format!("SELECT LENGTH({variable})"))?, length.into())?;
    }
    Ok(())
}

/// Statements that connections keep for nobody make room for those that somebody wants.
fn few_statements(endpoint: &Endpoint) -> Result<(), Failed> {
    let mut admin = connect(endpoint.port, APP, None)?;
    let before = value(&mut admin, "SELECT @@GLOBAL.max_prepared_stmt_count")?;
    admin.query_drop("SET GLOBAL max_prepared_stmt_count = 20")?;
    let mut session = connect(endpoint.port, APP, None)?;
    for n in 0..60 {
        let prepared = session.prep(format!("SELECT {n} + ? FROM t_shards.own FOR UPDATE"))?;
        expect_equal("executed", session.exec_first::<u32, _, _>(&prepared, (1,))?, Some(n + 1))?;
        session.close(prepared)?;
    }
    admin.query_drop("SET GLOBAL max_prepared_stmt_count = 0")?;
    expect_error(
        "none at all",
        &session.prep("SELECT 'no room' FROM t_shards.own FOR UPDATE").map(drop),
        1461,
        "42000",
    )?;
    admin.query_drop(format!("SET GLOBAL max_prepared_stmt_count = {before}"))?;
    Ok(())
}
