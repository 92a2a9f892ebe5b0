//! A hostile compressed stream: chunking doesn't change what comes out, and no more comes out than the format can hold.
//!
//! Input: algorithm, limit selector, chunk lengths (counted), stream.
#![no_main]

use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;
use weir_fuzz::{Input, chunks};
use weir_wire::compress::{Algorithm, CompressError, Contexts, Decompressor, MAX_FRAME, Progress};

/// Everything that comes out, and how it ended.
fn decompress(
    algorithm: Algorithm,
    limit: usize,
    stream: &[u8],
    cuts: &[u8],
) -> (Vec<u8>, u8, Result<Progress, CompressError>) {
    let mut contexts = Contexts::new();
    let mut decompressor = Decompressor::new(algorithm, limit);
    let (mut input, mut output) = (BytesMut::new(), BytesMut::new());
    let mut all = Vec::new();
    let mut last = Ok(Progress::NeedInput(7));
    for chunk in chunks(stream, cuts) {
        input.extend_from_slice(chunk);
        loop {
            last = decompressor.push(&mut contexts, &mut input, &mut output);
            assert!(output.len() <= 2 * MAX_FRAME + 4);
            all.extend_from_slice(&output);
            output.clear();
            match last {
                Ok(Progress::OutputFull) => {}
                Ok(Progress::NextCommand) => decompressor.set_next_seq(0),
                Ok(Progress::NeedInput(missing)) => {
                    assert!(missing > 0);
                    break;
                }
                Err(_) => return (all, decompressor.next_seq(), last),
            }
        }
    }
    (all, decompressor.next_seq(), last)
}

fuzz_target!(|data: &[u8]| {
    let mut input = Input(data);
    let algorithm = input.pick(&[Algorithm::Zlib, Algorithm::Zstd]);
    let limit = input.pick(&[1 << 16, 100, MAX_FRAME]);
    let cuts = input.short_block();
    let stream = input.0;

    let whole = decompress(algorithm, limit, stream, &[]);
    assert!(whole.0.len() <= stream.len() * 128 * 1024 / 4);
    assert_eq!(decompress(algorithm, limit, stream, cuts), whole);
});
