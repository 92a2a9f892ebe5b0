//! What is compressed in any pieces comes back, whatever the level and the chunks.
//!
//! Input: algorithm, level, first sequence number, piece lengths (counted), chunk lengths (counted), plain bytes.
#![no_main]

use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;
use weir_fuzz::{Input, chunks};
use weir_wire::compress::{Algorithm, Compressor, Contexts, Decompressor, HEADER, MAX_FRAME, Progress};

fuzz_target!(|data: &[u8]| {
    let mut input = Input(data);
    let algorithm = input.pick(&[Algorithm::Zlib, Algorithm::Zstd]);
    // The highest zstd levels are too slow for this, and take the same paths here.
    let level = 1 + input.byte() % 9;
    let first_seq = input.byte();
    let pieces = input.short_block();
    let cuts = input.short_block();
    let plain = input.0;

    let mut contexts = Contexts::new();
    let mut compressor = Compressor::new(algorithm, level).expect("the level is in range");
    compressor.set_next_seq(first_seq);
    let mut stream = BytesMut::new();
    let mut frames = 0;
    for piece in chunks(plain, pieces) {
        compressor.push(&mut contexts, piece, &mut stream);
        frames += 1;
    }
    assert!(stream.len() <= plain.len() + frames * HEADER, "compression made it longer");

    let mut decompressor = Decompressor::new(algorithm, MAX_FRAME);
    decompressor.set_next_seq(first_seq);
    let (mut received, mut output) = (BytesMut::new(), BytesMut::new());
    for chunk in chunks(&stream, cuts) {
        received.extend_from_slice(chunk);
        // Frame number 0 after 255 is the next frame, not the next command.
        let progress = decompressor.push(&mut contexts, &mut received, &mut output);
        assert!(matches!(progress, Ok(Progress::NeedInput(_))), "{progress:?}");
    }
    assert_eq!(output, plain);
    assert_eq!(decompressor.next_seq(), compressor.next_seq());
});
