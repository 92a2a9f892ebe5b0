//! Replies of every shape, with and without EOF packets.

use super::*;
use crate::frame::put_packet;
use crate::packets::OkPacket;

const CLASSIC: Capabilities = Capabilities::PROTOCOL_41;
const MODERN: Capabilities = Capabilities::PROTOCOL_41.union(Capabilities::DEPRECATE_EOF);

/// A column that is the same in a temporary table.
const COLUMN: (&[u8; 3], u8, u16, u8) = (b"one", 3, 0x1001, 0);

fn packets(payloads: &[&[u8]]) -> Vec<u8> {
    let (mut out, mut seq) = (bytes::BytesMut::new(), 1);
    for payload in payloads {
        seq = put_packet(&mut out, seq, payload);
    }
    out.to_vec()
}

fn end(capabilities: Capabilities, status: StatusFlags) -> Vec<u8> {
    match capabilities.contains(Capabilities::DEPRECATE_EOF) {
        true => OkPacket { header: 0xfe, warnings: 3, ..OkPacket::plain(status) }.encode(capabilities),
        false => EofPacket { warnings: 3, status }.encode().to_vec(),
    }
}

/// A reply with these rows, which ends with this packet.
fn reply(capabilities: Capabilities, rows: &[&[u8]], last: &[u8]) -> Vec<u8> {
    let columns_end = end(capabilities, StatusFlags::AUTOCOMMIT);
    let column = definition(COLUMN);
    let mut payloads: Vec<&[u8]> = vec![b"\x02", &column, &column];
    if !capabilities.contains(Capabilities::DEPRECATE_EOF) {
        payloads.push(&columns_end);
    }
    payloads.extend_from_slice(rows);
    payloads.push(last);
    packets(&payloads)
}

fn opened(reply: &[u8], capabilities: Capabilities) -> Opened {
    open(reply, capabilities).expect("a whole reply")
}

#[test]
fn rows_are_kept_and_the_head_is_that_of_a_cursor() {
    let long = vec![0; MAX_FRAME + 5];
    for capabilities in [CLASSIC, MODERN] {
        let all: [&[&[u8]]; 3] = [&[], &[b"\0one"], &[b"\0one", b"\0two", &long, b"\0\xff"]];
        for rows in all {
            let said = reply(capabilities, rows, &end(capabilities, StatusFlags::AUTOCOMMIT));
            let Opened::Cursor { head, rows: mut kept } = opened(&said, capabilities) else { panic!("{rows:?}") };
            let open = end(capabilities, StatusFlags::AUTOCOMMIT | StatusFlags::CURSOR_EXISTS);
            assert_eq!(payloads(&head), [b"\x02".to_vec(), definition(COLUMN), definition(COLUMN), open]);
            let mut size = 0;
            for row in rows {
                let packet = kept.next_row().expect("a row").to_vec();
                size += packet.len();
                let payload: Vec<u8> =
                    packet.chunks(HEADER + MAX_FRAME).flat_map(|frame| &frame[HEADER..]).copied().collect();
                assert!(payload == *row, "the row is what it was");
            }
            assert_eq!(kept.next_row(), None);
            assert_eq!(kept.size(), size);
        }
    }
}

#[test]
fn an_error_is_told_alone() {
    let error = b"\xff\x01\x02#HY000why";
    let replies = [(CLASSIC, &[&b"\0one"[..]][..]), (CLASSIC, &[]), (MODERN, &[b"\0one"]), (MODERN, &[])];
    for (capabilities, rows) in replies {
        assert_eq!(opened(&reply(capabilities, rows, error), capabilities), Opened::Failed(error.to_vec()));
    }
    assert_eq!(opened(&packets(&[error]), CLASSIC), Opened::Failed(error.to_vec()));
    assert_eq!(opened(&packets(&[b"\x01", &definition(COLUMN), error]), CLASSIC), Opened::Failed(error.to_vec()));
}

#[test]
fn a_reply_without_rows_to_keep_is_left_as_it_is() {
    let (cursor, more) = (StatusFlags::CURSOR_EXISTS, StatusFlags::MORE_RESULTS_EXISTS);
    let classic = packets(&[b"\x01", &definition(COLUMN), &end(CLASSIC, cursor)]);
    let modern = packets(&[b"\x01", &definition(COLUMN), &end(MODERN, cursor)]);
    let ok = packets(&[&OkPacket::plain(StatusFlags::AUTOCOMMIT).encode(MODERN)]);
    let several = reply(MODERN, &[b"\0one"], &end(MODERN, more));
    for (reply, capabilities) in [(classic, CLASSIC), (modern, MODERN), (ok, MODERN), (several, MODERN)] {
        assert_eq!(opened(&reply, capabilities), Opened::AsItIs, "{reply:?}");
    }
}

#[test]
fn a_reply_that_is_cut_short_is_none() {
    for capabilities in [CLASSIC, MODERN] {
        let whole = reply(capabilities, &[], &end(capabilities, StatusFlags::AUTOCOMMIT));
        for length in 0..whole.len() {
            // Without EOF packets in between, columns and their end are the reply of a server that keeps the rows.
            let opened = open(&whole[..length], capabilities);
            assert!(matches!(opened, Err(_) | Ok(Opened::AsItIs)), "{length}: {opened:?}");
        }
    }
}

#[test]
fn columns_are_those_of_a_temporary_table() {
    let cases = [
        // A column of a key, one that is set when its row changes, an expression that is a number, and one that is a text.
        ((b"own", 3, 0x5003_u16, 0), (b"one", 3, 0x1001_u16, 0)),
        ((b"own", 7, 0x24a1, 0), (b"one", 7, 0x00a1, 0)),
        ((b"   ", 8, 0x0081, 0), (b"one", 8, 0x0001, 0)),
        ((b"   ", 253, 0x0001, 39), (b"one", 253, 0x0001, 0)),
    ];
    for (before, after) in cases {
        let head = head_of(&definition(before));
        let columns = packets(&[b"\x01", &definition(after)]);
        assert_eq!(payloads(&head)[..2], payloads(&columns)[..], "{before:?}");
    }
}

/// The definition of a column `one` with this name of its own, type, flags and decimals.
fn definition((own, kind, flags, decimals): (&[u8; 3], u8, u16, u8)) -> Vec<u8> {
    let mut out = b"\x03def\x01d\x01t\x01t\x03one\x03".to_vec();
    out.extend_from_slice(own);
    out.extend_from_slice(b"\x0c\x3f\x00\x0b\x00\x00\x00");
    out.push(kind);
    out.extend_from_slice(&flags.to_le_bytes());
    out.extend_from_slice(&[decimals, 0, 0]);
    out
}

fn head_of(definition: &[u8]) -> Vec<u8> {
    let end = end(MODERN, StatusFlags::AUTOCOMMIT);
    match opened(&packets(&[b"\x01", definition, b"\0one", &end]), MODERN) {
        Opened::Cursor { head, .. } => head.to_vec(),
        other => panic!("{other:?}"),
    }
}

/// The payloads of short packets.
fn payloads(packets: &[u8]) -> Vec<Vec<u8>> {
    let mut packets = Packets { rest: packets, at: 0 };
    std::iter::from_fn(|| packets.next().map(|(_, payload)| payload.to_vec())).collect()
}
