//! Events of binary logs: no bytes make a decoder panic, and keys have no more values than were asked for. The input is a sequence of
//! events, each behind its length in two bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_wire::binlog::{BinlogError, Decoder, Event, Watched};

fuzz_target!(|data: &[u8]| {
    let watched = vec![Watched { schema: "d".to_owned(), table: "t".to_owned() }];
    let mut decoder = Decoder::new(watched, true, false);
    let mut rest = data;
    while let [low, high, more @ ..] = rest {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(more.len());
        let (event, after) = more.split_at(length);
        rest = after;
        let _ = decoder.decode(event, &mut |_, event| {
            if let Event::Rows(rows) = event {
                rows.keys(&[0, 1], |image| {
                    assert_eq!(image.len(), 2);
                    Ok::<_, BinlogError>(())
                })?;
            }
            Ok::<_, BinlogError>(())
        });
    }
});
