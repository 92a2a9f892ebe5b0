//! The reply tracker: how a reply's bytes are cut doesn't change where it ends or what it says.
//!
//! Input: kind of reply, capabilities (8 bytes), chunk lengths (counted), stream.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_fuzz::{Input, chunks};
use weir_wire::caps::{Capabilities, StatusFlags};
use weir_wire::reply::{Ending, Event, ReplyKind, ReplyTracker};

#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    /// Where each shown packet began, and what it was.
    shown: Vec<(usize, String)>,
    /// Bytes of the reply, unless it is broken: then they depend on how many came at once.
    len: Option<usize>,
    rows: u64,
    status: StatusFlags,
    is_done: bool,
}

fn track(kind: ReplyKind, capabilities: Capabilities, stream: &[u8], cuts: &[u8]) -> Outcome {
    let mut tracker = ReplyTracker::new(kind, capabilities);
    let mut buffer = Vec::new();
    let mut taken = 0;
    let mut shown = Vec::new();
    let mut is_broken = false;
    'stream: for chunk in chunks(stream, cuts) {
        buffer.extend_from_slice(chunk);
        loop {
            let len = match tracker.advance(&buffer) {
                Ok(Event::Pass(len)) => len,
                Ok(Event::Packet(len, ending)) => {
                    shown.push((taken, format!("{ending:?}")));
                    if ending == Ending::LocalInfile {
                        tracker.infile_sent();
                    }
                    len
                }
                Ok(Event::NeedMore) => break,
                Err(_) => {
                    is_broken = true;
                    break 'stream;
                }
            };
            assert!((1..=buffer.len()).contains(&len), "an event of {len} bytes");
            buffer.drain(..len);
            taken += len;
        }
    }
    Outcome {
        shown,
        len: (!is_broken).then_some(taken),
        rows: tracker.rows(),
        status: tracker.status(),
        is_done: tracker.is_done(),
    }
}

fuzz_target!(|data: &[u8]| {
    let mut input = Input(data);
    let kinds = [ReplyKind::Results, ReplyKind::Prepare, ReplyKind::MysqlPrepare, ReplyKind::Rows, ReplyKind::Text];
    let kind = input.pick(&kinds);
    let capabilities = input.capabilities();
    let cuts = input.short_block();
    let stream = input.0;

    let whole = track(kind, capabilities, stream, &[]);
    assert_eq!(track(kind, capabilities, stream, cuts), whole);
    if whole.is_done {
        let len = whole.len.expect("a reply that has ended is not broken");
        assert_eq!(track(kind, capabilities, &stream[..len], &[0]), whole, "what follows matters");
    }
});
