//! Prepared statements with cursors.

use libtest_mimic::Failed;

use super::kills::packets;
use super::{JOIN, Settings, Shards, SharedCase};
use crate::client::Packets;
use crate::driver::expect_equal;
use crate::lab::Endpoint;

pub(super) const CASES: &[(&str, Settings, SharedCase)] =
    &[("cursors_are_answered_with_all_rows_as_other_reads_of_several_shards", &[], cursors)];

/// `CURSOR_TYPE_READ_ONLY`.
const READ_ONLY: u8 = 1;
/// `SERVER_STATUS_CURSOR_EXISTS`.
const CURSOR_EXISTS: u16 = 0x40;

/// Prepares a statement without parameters: its id, and how many columns it has.
fn prepare(client: &mut Packets, text: &str) -> Result<(u32, u16), Failed> {
    client.command(0x16, text.as_bytes())?;
    let said = client.read()?;
    let [0, i1, i2, i3, i4, c1, c2, ..] = said[..] else { return Err(format!("{text}: {said:?}").into()) };
    let columns = u16::from_le_bytes([c1, c2]);
    for _ in 0..columns {
        client.read()?;
    }
    Ok((u32::from_le_bytes([i1, i2, i3, i4]), columns))
}

/// Opens a cursor: how many rows come with the answer, and whether there is a cursor then.
fn execute(client: &mut Packets, id: u32, columns: u16) -> Result<(usize, bool), Failed> {
    let payload = [&id.to_le_bytes()[..], &[READ_ONLY], &1_u32.to_le_bytes()].concat();
    client.command(0x17, &payload)?;
    let first = client.read()?;
    expect_equal("columns", first, vec![u8::try_from(columns)?])?;
    for _ in 0..columns {
        client.read()?;
    }
    let mut rows = 0;
    loop {
        let packet = client.read()?;
        match packet[..] {
            [0, ..] => rows += 1,
            // An OK: no rows affected, no id, the status. The client has asked for no EOF packets.
            [0xfe, 0, 0, low, high, ..] => return Ok((rows, u16::from_le_bytes([low, high]) & CURSOR_EXISTS != 0)),
            _ => return Err(format!("{packet:?}").into()),
        }
    }
}

fn cursors(shards: &Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut client = packets(endpoint)?;
    let scattered = "SELECT id, v FROM orders ORDER BY id";
    let joined = "SELECT o.id, p.name FROM orders o JOIN people p ON o.person = p.id";
    let mut met = Vec::new();
    for text in [scattered, joined, JOIN] {
        let (id, columns) = prepare(&mut client, text)?;
        for _ in 0..3 {
            let (rows, cursor) = execute(&mut client, id, columns)?;
            expect_equal(text, (rows, cursor), (if text == JOIN { 1 } else { 200 }, false))?;
        }
        // COM_STMT_FETCH: there is no cursor to fetch from.
        client.command(0x1c, &[&id.to_le_bytes()[..], &10_u32.to_le_bytes()].concat())?;
        let said = client.read()?;
        met.push((said[0], u16::from_le_bytes([said[1], said[2]])));
    }
    expect_equal("fetching is the same error for all", met, vec![(0xff, 1421); 3])?;
    shards.clean(endpoint)
}
