//! Replies of every shape, whole and cut at every byte: what the tracker says must not depend on the cuts.

use bytes::BytesMut;

use super::*;
use crate::frame::put_packet;
use crate::stmt::PrepareOk;

const CLASSIC: Capabilities = Capabilities::PROTOCOL_41;
const MODERN: Capabilities =
    Capabilities::PROTOCOL_41.union(Capabilities::DEPRECATE_EOF).union(Capabilities::SESSION_TRACK);

fn packets(payloads: &[&[u8]]) -> BytesMut {
    let mut out = BytesMut::new();
    let mut seq = 1;
    for payload in payloads {
        seq = put_packet(&mut out, seq, payload);
    }
    out
}

fn ok(header: u8, status: StatusFlags) -> Vec<u8> {
    OkPacket { header, ..OkPacket::plain(status) }.encode(MODERN)
}

fn eof(status: StatusFlags) -> Vec<u8> {
    EofPacket { warnings: 3, status }.encode().to_vec()
}

/// Feeds `bytes` in chunks of `chunk`, and tells the passed bytes and the endings.
fn follow(
    kind: ReplyKind,
    capabilities: Capabilities,
    bytes: &[u8],
    chunk: usize,
) -> (usize, Vec<String>, ReplyTracker) {
    let mut tracker = ReplyTracker::new(kind, capabilities);
    let (mut passed, mut endings, mut seen, mut taken) = (0, Vec::new(), 0, 0);
    while !tracker.is_done() {
        match tracker.advance(&bytes[taken..seen]).expect("the reply is well formed") {
            Event::Pass(n) => {
                passed += n;
                taken += n;
            }
            Event::Packet(n, ending) => {
                endings.push(format!("{ending:?}"));
                let infile = ending == Ending::LocalInfile;
                taken += n;
                if infile {
                    tracker.infile_sent();
                }
            }
            Event::NeedMore => {
                assert!(seen < bytes.len(), "the tracker wants more than the whole reply");
                seen = (seen + chunk).min(bytes.len());
            }
        }
    }
    assert_eq!(taken, bytes.len(), "the reply ends where its bytes end");
    (passed, endings, tracker)
}

fn same_for_all_cuts(kind: ReplyKind, capabilities: Capabilities, bytes: &[u8]) -> (Vec<String>, ReplyTracker) {
    let (passed, endings, tracker) = follow(kind, capabilities, bytes, bytes.len());
    for chunk in 1..bytes.len().min(64) {
        let (p, e, t) = follow(kind, capabilities, bytes, chunk);
        assert_eq!(
            (p, &e, t.rows(), t.status()),
            (passed, &endings, tracker.rows(), tracker.status()),
            "chunks of {chunk}"
        );
    }
    (endings, tracker)
}

#[test]
fn an_ok_and_an_error_end_a_reply() {
    let (endings, tracker) =
        same_for_all_cuts(ReplyKind::Results, MODERN, &packets(&[&ok(0, StatusFlags::AUTOCOMMIT)]));
    assert_eq!(endings.len(), 1);
    assert_eq!(tracker.status(), StatusFlags::AUTOCOMMIT);
    let err = ErrPacket { code: 1064, sqlstate: *b"42000", message: b"no" }.encode();
    let (endings, _) = same_for_all_cuts(ReplyKind::Results, CLASSIC, &packets(&[&err]));
    assert!(endings[0].contains("1064"), "{endings:?}");
}

#[test]
fn a_result_set_ends_with_eof_or_with_ok_as_was_negotiated() {
    let column: &[u8] = b"\x03def column";
    let none = StatusFlags::empty();
    let classic = packets(&[b"\x01", column, &eof(none), b"\x01a", b"\xfb", b"\x01b", &eof(StatusFlags::IN_TRANS)]);
    let (endings, tracker) = same_for_all_cuts(ReplyKind::Results, CLASSIC, &classic);
    assert_eq!((endings.len(), tracker.rows(), tracker.status()), (1, 3, StatusFlags::IN_TRANS));
    let modern = packets(&[b"\x01", column, b"\x01a", b"\x00\x00binary", &ok(0xfe, StatusFlags::IN_TRANS)]);
    let (endings, tracker) = same_for_all_cuts(ReplyKind::Results, MODERN, &modern);
    assert_eq!((endings.len(), tracker.rows(), tracker.status()), (1, 2, StatusFlags::IN_TRANS));
}

#[test]
fn several_results_are_one_reply() {
    let more = StatusFlags::MORE_RESULTS_EXISTS;
    let reply = packets(&[&ok(0, more), b"\x01", b"\x03def", b"\x01x", &ok(0xfe, more), &ok(0, StatusFlags::empty())]);
    let (endings, tracker) = same_for_all_cuts(ReplyKind::Results, MODERN, &reply);
    assert_eq!((endings.len(), tracker.rows()), (3, 1));
}

#[test]
fn out_parameters_are_followed_by_an_ok_even_if_only_their_columns_say_so() {
    let before = StatusFlags::PS_OUT_PARAMS | StatusFlags::MORE_RESULTS_EXISTS;
    let after = StatusFlags::IN_TRANS;
    let reply = packets(&[b"\x01", b"\x03def", &eof(before), b"\x00\x00x", &eof(after), &ok(0, after)]);
    let (endings, tracker) = same_for_all_cuts(ReplyKind::Results, CLASSIC, &reply);
    assert_eq!((endings.len(), tracker.rows()), (2, 1));
}

#[test]
fn an_error_ends_rows_and_column_definitions() {
    let err = ErrPacket { code: 1317, sqlstate: *b"70100", message: b"stop" }.encode();
    let (endings, _) = same_for_all_cuts(ReplyKind::Results, MODERN, &packets(&[b"\x01", b"\x03def", b"\x01x", &err]));
    assert_eq!(endings.len(), 1);
    let (endings, _) = same_for_all_cuts(ReplyKind::Rows, CLASSIC, &packets(&[&err]));
    assert_eq!(endings.len(), 1);
}

#[test]
fn an_open_cursor_has_no_rows() {
    let reply = packets(&[b"\x01", b"\x03def", &eof(StatusFlags::CURSOR_EXISTS)]);
    let (endings, tracker) = same_for_all_cuts(ReplyKind::Cursor, CLASSIC, &reply);
    assert_eq!((endings.len(), tracker.rows(), tracker.status()), (1, 0, StatusFlags::CURSOR_EXISTS));
    let reply = packets(&[b"\x01", b"\x03def", &ok(0xfe, StatusFlags::CURSOR_EXISTS)]);
    let (endings, tracker) = same_for_all_cuts(ReplyKind::Cursor, MODERN, &reply);
    assert_eq!((endings.len(), tracker.rows(), tracker.status()), (1, 0, StatusFlags::CURSOR_EXISTS));
}

/// Which flags a packet has decides nothing but whether more results come, and with a cursor that was asked for, rows.
#[test]
fn no_other_flag_ends_a_reply() {
    let ends = StatusFlags::MORE_RESULTS_EXISTS;
    for bit in 0..16 {
        let flag = StatusFlags::from_bits_retain(1 << bit);
        if flag == ends {
            continue;
        }
        // An OK that tells of no changes has no flag for them.
        let last = flag - StatusFlags::SESSION_STATE_CHANGED;
        for kind in [ReplyKind::Results, ReplyKind::Cursor] {
            let columns = if kind == ReplyKind::Cursor { flag | ends } else { flag };
            // OUT parameters: an OK follows, whatever the rows' end says.
            let classic = packets(&[
                b"\x01",
                b"\x03def",
                &eof(columns),
                b"\x01a",
                &eof(flag | ends),
                &OkPacket::plain(last).encode(CLASSIC),
            ]);
            let (endings, tracker) = same_for_all_cuts(kind, CLASSIC, &classic);
            assert_eq!((endings.len(), tracker.rows(), tracker.status()), (2, 1, last), "{flag:?} {kind:?}");
            let modern = packets(&[b"\x01", b"\x03def", b"\x01a", &ok(0xfe, last | ends), &ok(0, last)]);
            let (endings, tracker) = same_for_all_cuts(kind, MODERN, &modern);
            assert_eq!((endings.len(), tracker.rows(), tracker.status()), (2, 1, last), "{flag:?} {kind:?}");
        }
    }
}

/// MySQL ends rows that an error has cut off, and a handler caught, by an EOF also where it has promised none.
#[test]
fn rows_that_were_cut_off_end_in_an_eof_always() {
    let more = StatusFlags::MORE_RESULTS_EXISTS;
    let cut_off = EofPacket { warnings: 0, status: more }.encode();
    for rows in 0..2 {
        let mut parts: Vec<&[u8]> = vec![b"\x01", b"\x03def"];
        parts.extend((0..rows).map(|_| &b"\x01x"[..]));
        let end = ok(0, StatusFlags::empty());
        parts.extend([&cut_off[..], &end]);
        let (endings, tracker) = same_for_all_cuts(ReplyKind::Results, MODERN, &packets(&parts));
        assert_eq!((endings.len(), tracker.rows()), (2, rows));
    }
}

#[test]
fn a_prepared_statement_has_parameters_and_columns_or_either_or_none() {
    let none = StatusFlags::empty();
    for (params, columns) in [(0_u16, 0_u16), (2, 0), (0, 2), (2, 1)] {
        let head = PrepareOk { id: 7, columns, params, warnings: 0 }.encode();
        for capabilities in [CLASSIC, MODERN] {
            let end = eof(none);
            let mut parts: Vec<&[u8]> = vec![&head];
            for count in [params, columns] {
                parts.extend((0..count).map(|_| &b"\x03def\0\0\0\x01?\0\x0c"[..]));
                if count > 0 && capabilities == CLASSIC {
                    parts.push(&end);
                }
            }
            let (endings, _) = same_for_all_cuts(ReplyKind::Prepare, capabilities, &packets(&parts));
            assert_eq!(endings.len(), 1, "{params} parameters, {columns} columns");
        }
    }
}

#[test]
fn columns_of_a_prepared_statement_beyond_their_count_are_read_to_the_end() {
    let head = PrepareOk { id: 7, columns: 1, params: 0, warnings: 0 }.encode();
    let (end, column) = (eof(StatusFlags::empty()), &b"\x03def\0\0\0\x011\0\x0c"[..]);
    let mut parts: Vec<&[u8]> = vec![&head];
    parts.extend(std::iter::repeat_n(column, 65_537));
    parts.push(&end);
    let mut tracker = ReplyTracker::new(ReplyKind::Prepare, CLASSIC);
    let (bytes, mut at) = (packets(&parts), 0);
    while !tracker.is_done() {
        match tracker.advance(&bytes[at..]).expect("readable") {
            Event::Pass(passed) | Event::Packet(passed, _) => at += passed,
            Event::NeedMore => panic!("the end was not seen"),
        }
    }
    assert_eq!(at, bytes.len());
}

#[test]
fn parameters_that_are_counted_but_not_defined_are_not_waited_for() {
    let head = PrepareOk { id: 7, columns: 2, params: 2, warnings: 0 }.encode();
    let end = eof(StatusFlags::empty());
    let (parameter, column) = (&b"\x03def\0\0\0\x01?\0\x0c"[..], &b"\x03def\0\x01t\x01t\x01a\x01a\x0c"[..]);
    for (capabilities, parts) in [
        (CLASSIC, vec![&head[..], &end, column, column, &end]),
        (CLASSIC, vec![&head, parameter, &end, column, column, &end]),
        (CLASSIC, vec![&head, parameter, parameter, &end, column, column, &end]),
        (MODERN, vec![&head, column, column]),
        (MODERN, vec![&head, parameter, column, column]),
        (MODERN, vec![&head, parameter, parameter, column, parameter]),
    ] {
        let (endings, _) = same_for_all_cuts(ReplyKind::MysqlPrepare, capabilities, &packets(&parts));
        assert_eq!(endings.len(), 1, "{parts:?}");
    }
}

#[test]
fn a_parameter_may_have_a_columns_name() {
    let head = PrepareOk { id: 7, columns: 1, params: 2, warnings: 0 }.encode();
    let named = b"\x03def\0\0\0\x04told\0\x0c";
    let (endings, _) = same_for_all_cuts(ReplyKind::Prepare, MODERN, &packets(&[&head, named, named, named]));
    assert_eq!(endings.len(), 1);
}

#[test]
fn a_file_is_asked_for_and_then_the_statement_ends() {
    let reply = packets(&[b"\xfbfile.csv", &ok(0, StatusFlags::empty())]);
    let (endings, _) = same_for_all_cuts(ReplyKind::Results, MODERN, &reply);
    assert_eq!(endings[0], "LocalInfile");
    assert_eq!(endings.len(), 2);
}

#[test]
fn fetched_rows_and_a_text_reply_end() {
    let (_, tracker) =
        same_for_all_cuts(ReplyKind::Rows, CLASSIC, &packets(&[b"\x00\x00a", &eof(StatusFlags::LAST_ROW_SENT)]));
    assert_eq!((tracker.rows(), tracker.status()), (1, StatusFlags::LAST_ROW_SENT));
    let (endings, _) = same_for_all_cuts(ReplyKind::Text, CLASSIC, &packets(&[b"Uptime: 5"]));
    assert!(endings.is_empty());
}

#[test]
fn a_row_of_several_frames_is_one_row_whatever_its_bytes_look_like() {
    let mut row = vec![0xfe; MAX_FRAME];
    row.extend_from_slice(b"\xfe\x00\x00\x02\x00");
    let end = ok(0xfe, StatusFlags::empty());
    let reply = packets(&[b"\x01", b"\x03def", &row, b"\x01a", &end]);
    for chunk in [reply.len(), 1 << 20, 65_537] {
        let (_, endings, tracker) = follow(ReplyKind::Results, MODERN, &reply, chunk);
        assert_eq!((endings.len(), tracker.rows()), (1, 2), "chunks of {chunk}");
    }
}

#[test]
fn nonsense_is_an_error() {
    for bytes in [packets(&[b""]), packets(&[b"\xff"]), packets(&[b"\xfe\xff\xff\xff"]), packets(&[b"\xfc\x00\x00"])] {
        let mut tracker = ReplyTracker::new(ReplyKind::Results, MODERN);
        assert!(tracker.advance(&bytes).is_err(), "{bytes:?}");
    }
}

#[test]
fn a_result_may_have_more_columns_than_fit_in_two_bytes() {
    let mut tracker = ReplyTracker::new(ReplyKind::Results, MODERN);
    let bytes = packets(&[&[0xfd, 0x70, 0x11, 0x01]]);
    assert!(matches!(tracker.advance(&bytes), Ok(Event::Pass(n)) if n == bytes.len()));
}
