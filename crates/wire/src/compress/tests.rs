//! Round trips, and streams that lie about themselves.

use super::*;
use crate::caps::Capabilities;
use crate::frame::Header;
use crate::reply::{Event, ReplyKind, ReplyTracker};

const BOTH: [Algorithm; 2] = [Algorithm::Zlib, Algorithm::Zstd];

/// Bytes that no algorithm makes shorter (xorshift).
fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    })
    .take(len)
    .collect()
}

fn compressed(algorithm: Algorithm, plain: &[u8]) -> BytesMut {
    let mut out = BytesMut::new();
    Compressor::new(algorithm, algorithm.default_level()).expect("the default level is in range").push(
        &mut Contexts::new(),
        plain,
        &mut out,
    );
    out
}

/// Pushes all of `stream` at once.
fn decompress(algorithm: Algorithm, limit: usize, stream: &[u8]) -> Result<(Progress, Vec<u8>), CompressError> {
    let mut output = BytesMut::new();
    let progress =
        Decompressor::new(algorithm, limit).push(&mut Contexts::new(), &mut BytesMut::from(stream), &mut output)?;
    Ok((progress, output.to_vec()))
}

/// A frame with any header.
fn frame(seq: u8, plain_len: usize, body: &[u8]) -> Vec<u8> {
    let mut out = BytesMut::new();
    FrameHeader { frame_len: body.len(), seq, plain_len }.put(&mut out);
    out.extend_from_slice(body);
    out.to_vec()
}

#[test]
fn what_is_compressed_comes_back_however_it_is_cut() {
    for algorithm in BOTH {
        let mut plain = b"SELECT 'a' FROM t WHERE ".repeat(400);
        plain.extend_from_slice(&noise(300));
        let stream = compressed(algorithm, &plain);
        assert!(stream.len() < plain.len() / 4);
        for step in [1, 2, 7, 8, 100, stream.len()] {
            let mut contexts = Contexts::new();
            let mut decompressor = Decompressor::new(algorithm, MAX_FRAME);
            let (mut input, mut output) = (BytesMut::new(), BytesMut::new());
            for chunk in stream.chunks(step) {
                input.extend_from_slice(chunk);
                let progress = decompressor.push(&mut contexts, &mut input, &mut output);
                assert!(matches!(progress, Ok(Progress::NeedInput(1..))));
            }
            assert_eq!(output, plain, "{algorithm:?} in steps of {step}");
            assert_eq!(decompressor.next_seq(), 1);
        }
    }
}

#[test]
fn the_missing_length_is_told_so_that_a_reader_can_wait_for_it() {
    let stream = compressed(Algorithm::Zlib, &[b'a'; 1000]);
    for known in [0, 3, 7, 10] {
        let (progress, output) =
            decompress(Algorithm::Zlib, MAX_FRAME, &stream[..known]).expect("a prefix is not an error");
        let missing = match known < HEADER {
            true => HEADER - known,
            false => stream.len() - known,
        };
        assert_eq!(progress, Progress::NeedInput(missing));
        assert!(output.is_empty());
    }
}

#[test]
fn short_and_incompressible_bytes_are_stored() {
    for algorithm in BOTH {
        for plain in [vec![b'a'; MIN_COMPRESS_LENGTH - 1], noise(5000)] {
            assert_eq!(compressed(algorithm, &plain), frame(0, 0, &plain));
        }
        let long_enough = compressed(algorithm, &[b'a'; MIN_COMPRESS_LENGTH]);
        assert!(long_enough.len() < MIN_COMPRESS_LENGTH);
        assert!(compressed(algorithm, b"").is_empty());
    }
}

#[test]
fn every_level_is_readable_and_others_are_refused() {
    let mut contexts = Contexts::new();
    for algorithm in BOTH {
        let plain = b"level ".repeat(100);
        for level in 1..=algorithm.highest_level() {
            let mut stream = BytesMut::new();
            Compressor::new(algorithm, level).expect("the level is in range").push(&mut contexts, &plain, &mut stream);
            let (_, output) = decompress(algorithm, MAX_FRAME, &stream).expect("readable");
            assert_eq!(output, plain, "{algorithm:?} {level}");
        }
        for level in [0, algorithm.highest_level() + 1] {
            assert_eq!(
                Compressor::new(algorithm, level).expect_err("out of range"),
                CompressError::Level { algorithm, level }
            );
        }
    }
}

#[test]
fn one_set_of_contexts_serves_connections_in_turn() {
    let mut contexts = Contexts::new();
    for round in 0u8..20 {
        for algorithm in BOTH {
            let plain = vec![round; 100 + usize::from(round)];
            let mut stream = BytesMut::new();
            Compressor::new(algorithm, 1 + round % 9).expect("in range for both").push(
                &mut contexts,
                &plain,
                &mut stream,
            );
            let mut output = BytesMut::new();
            // A broken frame in between must leave nothing behind.
            let broken = frame(0, 100, &[0x78; 60]);
            Decompressor::new(algorithm, MAX_FRAME)
                .push(&mut contexts, &mut BytesMut::from(&broken[..]), &mut output)
                .expect_err("not a compressed stream");
            Decompressor::new(algorithm, MAX_FRAME)
                .push(&mut contexts, &mut stream, &mut output)
                .expect("a good frame after a broken one");
            assert_eq!(output, plain);
        }
    }
}

#[test]
fn large_payloads_are_split_and_numbered() {
    for algorithm in BOTH {
        let plain = vec![b'z'; MAX_FRAME * 2 + 10];
        let mut stream = compressed(algorithm, &plain);
        let mut contexts = Contexts::new();
        let mut decompressor = Decompressor::new(algorithm, MAX_FRAME);
        let mut output = BytesMut::new();
        // The first two frames together are more than may wait.
        assert_eq!(decompressor.push(&mut contexts, &mut stream, &mut output), Ok(Progress::OutputFull));
        assert_eq!(output.len(), MAX_FRAME * 2);
        output.clear();
        assert_eq!(decompressor.push(&mut contexts, &mut stream, &mut output), Ok(Progress::NeedInput(HEADER)));
        assert_eq!(output.len(), 10);
        assert_eq!(decompressor.next_seq(), 3);
    }
}

#[test]
fn numbers_go_on_through_a_reply_and_wrap() {
    let mut contexts = Contexts::new();
    let mut compressor = Compressor::new(Algorithm::Zlib, 6).expect("in range");
    let mut decompressor = Decompressor::new(Algorithm::Zlib, MAX_FRAME);
    compressor.set_next_seq(254);
    decompressor.set_next_seq(254);
    let (mut stream, mut output) = (BytesMut::new(), BytesMut::new());
    for _ in 0..4 {
        compressor.push(&mut contexts, b"row", &mut stream);
    }
    assert_eq!(compressor.next_seq(), 2);
    decompressor.push(&mut contexts, &mut stream, &mut output).expect("254, 255, 0, 1 follow each other");
    assert_eq!(output, b"rowrowrowrow"[..]);
    assert_eq!(decompressor.next_seq(), 2);
}

#[test]
fn a_missing_frame_is_an_error_and_a_new_command_is_not() {
    let out_of_order = [frame(0, 0, b"one"), frame(2, 0, b"three")].concat();
    assert_eq!(
        decompress(Algorithm::Zlib, MAX_FRAME, &out_of_order),
        Err(CompressError::OutOfOrder { expected: 1, got: 2 })
    );

    let two_commands = [frame(0, 0, b"one"), frame(0, 0, b"two")].concat();
    let mut contexts = Contexts::new();
    let mut decompressor = Decompressor::new(Algorithm::Zlib, MAX_FRAME);
    let mut input = BytesMut::from(&two_commands[..]);
    let mut output = BytesMut::new();
    let progress = decompressor.push(&mut contexts, &mut input, &mut output);
    assert_eq!(progress, Ok(Progress::NextCommand));
    assert_eq!(output, b"one"[..]);
    decompressor.set_next_seq(0);
    let progress = decompressor.push(&mut contexts, &mut input, &mut output);
    assert_eq!(progress, Ok(Progress::NeedInput(HEADER)));
    assert_eq!(output, b"onetwo"[..]);
}

#[test]
fn a_claim_over_the_limit_is_refused_from_the_header_alone() {
    let limit = 1000;
    let stored = frame(0, 0, &[0; 1001]);
    let inflated = frame(0, 1001, &[0; 100]);
    let swollen = frame(0, 1000, &[0; 1075]);
    for algorithm in BOTH {
        for stream in [&stored, &inflated, &swollen] {
            assert!(matches!(decompress(algorithm, limit, &stream[..HEADER]), Err(CompressError::TooLarge { .. })));
        }
    }
}

#[test]
fn an_impossible_ratio_is_refused_before_memory_is_taken() {
    for algorithm in BOTH {
        let stream = frame(0, MAX_FRAME, &[0x28; 40]);
        assert_eq!(
            decompress(algorithm, MAX_FRAME, &stream[..HEADER]),
            Err(CompressError::Corrupt { claimed: MAX_FRAME })
        );
    }
}

#[test]
fn the_highest_possible_ratio_is_accepted() {
    for algorithm in BOTH {
        let plain = vec![0; MAX_FRAME];
        let mut stream = BytesMut::new();
        Compressor::new(algorithm, 9).expect("in range for both").push(&mut Contexts::new(), &plain, &mut stream);
        let (_, output) = decompress(algorithm, MAX_FRAME, &stream).expect("readable");
        assert_eq!(output.len(), plain.len(), "{algorithm:?}");
    }
}

#[test]
fn a_frame_inflates_to_what_it_claims_and_no_further() {
    for algorithm in BOTH {
        let good = compressed(algorithm, &[b'b'; 2000]);
        let body = &good[HEADER..];
        for claimed in [1, 50, 1999, 2001, 4000] {
            assert_eq!(
                decompress(algorithm, MAX_FRAME, &frame(0, claimed, body)),
                Err(CompressError::Corrupt { claimed }),
                "{algorithm:?}"
            );
        }
        let cut = frame(0, 2000, &body[..body.len() - 1]);
        let trailing = frame(0, 2000, &[body, b"x"].concat());
        for broken in [cut, trailing] {
            assert_eq!(decompress(algorithm, MAX_FRAME, &broken), Err(CompressError::Corrupt { claimed: 2000 }));
        }
    }
}

#[test]
fn what_came_before_a_broken_frame_is_kept() {
    let stream = [frame(0, 0, b"good"), frame(1, 500, &[0; 20])].concat();
    let mut output = BytesMut::new();
    Decompressor::new(Algorithm::Zstd, MAX_FRAME)
        .push(&mut Contexts::new(), &mut BytesMut::from(&stream[..]), &mut output)
        .expect_err("twenty zeros are not a zstd frame");
    assert_eq!(output, b"good"[..]);
}

/// What a strict client does: each packet goes on from the one before, or has the number of its frame, which alone holds behind a result.
fn read_strictly(stream: &[u8], first: u8, caps: Capabilities) -> Vec<u8> {
    let (mut frames, mut contexts) = (BytesMut::from(stream), Contexts::new());
    let mut reader = Decompressor::new(Algorithm::Zlib, MAX_FRAME);
    reader.set_next_seq(first);
    let mut tracker = ReplyTracker::new(ReplyKind::Results, caps);
    let (mut plain, mut expected, mut numbers) = (BytesMut::new(), first, Vec::new());
    while reader.push_frame(&mut contexts, &mut frames, &mut plain).expect("whole frames").is_none() {
        while let Some(header) = Header::peek(&plain).filter(|header| plain.len() >= header.len + 4) {
            assert_eq!(header.seq, expected, "behind {numbers:?}");
            numbers.push(header.seq);
            expected = expected.wrapping_add(1);
            let packet = plain.split_to(header.len + 4);
            let ends = matches!(tracker.advance(&packet), Ok(Event::Packet(..)));
            if ends && !tracker.is_done() {
                assert!(plain.is_empty(), "the next result begins a frame");
                expected = reader.next_seq();
            }
        }
    }
    assert!(plain.is_empty() && tracker.is_done());
    numbers
}

#[test]
fn each_result_begins_a_frame_and_has_its_number() {
    let caps = Capabilities::PROTOCOL_41 | Capabilities::DEPRECATE_EOF;
    // SELECT 1; DO 1; SELECT a packet of two frames: as a server numbers them without compression.
    let column = [3, b'd', b'e', b'f', 0, 0, 0, 1, b'1', 0, 12, 63, 0, 1, 0, 0, 0, 3, 0, 0, 0, 0, 0];
    let long = vec![b'x'; MAX_FRAME + 10];
    let (more, last) = ([0, 0, 0, 0x0a, 0, 0, 0], [0, 0, 0, 0x02, 0, 0, 0]);
    let mut plain = BytesMut::new();
    let mut seq = 1;
    for packet in
        [&[1][..], &column, &[1, b'1'], &with_first(0xfe, &more), &more, &[1], &column, &long, &with_first(0xfe, &last)]
    {
        seq = crate::frame::put_packet(&mut plain, seq, packet);
    }
    // However rows and columns are cut, and however many frames the command had.
    for (cuts, first) in [(vec![], 1), (vec![30, 38], 1), (vec![5, 60, 1000], 2), (vec![70, 92, 16_000_000], 255)] {
        let mut frames = ReplyFrames::default();
        frames.begin_command();
        frames.heard(b"\x03SELECT 1; DO 1; SELECT 2", caps);
        let mut writer = Compressor::new(Algorithm::Zlib, 1).expect("the level is in range");
        writer.set_next_seq(first);
        let (mut contexts, mut out) = (Contexts::new(), BytesMut::new());
        let mut begin = 0;
        for end in cuts.into_iter().chain([plain.len()]) {
            frames.push(&mut writer, &mut contexts, &mut plain.clone()[begin..end], &mut out);
            begin = end;
        }
        assert_eq!(read_strictly(&out, first, caps).len(), 10);
    }
}

fn with_first(first: u8, packet: &[u8]) -> Vec<u8> {
    [&[first], &packet[1..]].concat()
}
