//! The framer: chunking doesn't change which payloads come out, none is over the limit, and putting them back gives the
//! same bytes.
//!
//! Input: limit (in units of 16), chunk lengths (counted), stream.
#![no_main]

use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;
use weir_fuzz::{Input, chunks};
use weir_wire::frame::{FrameError, PacketReader, put_packet};

fn payloads(stream: &[u8], cuts: &[u8], limit: usize) -> (Vec<BytesMut>, u8, Option<FrameError>) {
    let mut reader = PacketReader::new();
    let mut buffer = BytesMut::new();
    let mut all = Vec::new();
    for chunk in chunks(stream, cuts) {
        buffer.extend_from_slice(chunk);
        loop {
            match reader.next(&mut buffer, limit) {
                Ok(Some(payload)) => all.push(payload),
                Ok(None) => break,
                Err(error) => return (all, reader.next_seq(), Some(error)),
            }
        }
    }
    (all, reader.next_seq(), None)
}

fuzz_target!(|data: &[u8]| {
    let mut input = Input(data);
    let limit = usize::from(input.byte()) * 16;
    let cuts = input.short_block();
    let stream = input.0;

    let whole = payloads(stream, &[], limit);
    assert_eq!(payloads(stream, cuts, limit), whole);
    let (all, _, _) = whole;
    assert!(all.iter().all(|payload| payload.len() <= limit));
    let mut again = BytesMut::new();
    let mut seq = 0;
    for payload in &all {
        seq = put_packet(&mut again, seq, payload);
    }
    assert!(stream.starts_with(&again));
});
