//! The compressed protocol's framing: the stream of ordinary packets, cut into frames that are compressed one by one.
//!
//! A frame is a 3-byte length of what follows the header, a sequence number, a 3-byte length before compression (0: the
//! bytes are stored as they are), and the bytes. Each zlib or zstd frame stands alone, so the costly [`Contexts`] are
//! shared by all connections of a worker, and a connection keeps a few bytes only.
//!
//! Sequence numbers are those of frames, not of packets: 0 for a command's first frame, then counting on through both
//! directions; libmysqlclient refuses a reply that doesn't go on from its request. One side's number is handed to the
//! other with [`Decompressor::next_seq`] and [`Compressor::set_next_seq`], and the other way round. The numbers of the packets within
//! follow those of frames ([`ReplyFrames`]).
//!
//! What must always hold: a frame's claimed size is checked before memory is taken for it, and is what it really
//! inflates to; a peer can make Weir hold no more than two whole frames (32 MB) of plain bytes that it hasn't fetched.
//!
//! Source: source documentation, "Compression"; `sql-common/net_serv.cc` for the limits.

mod contexts;
mod replies;

#[cfg(test)]
mod tests;

pub use contexts::Contexts;
pub use replies::ReplyFrames;

use bytes::{Buf, BufMut, BytesMut};

/// Bytes of a compressed frame's header.
pub const HEADER: usize = 7;
/// The most bytes of one frame, before and after compression.
pub const MAX_FRAME: usize = 0xff_ffff;
/// Shorter runs of bytes are stored, as MySQL does: compressing them doesn't pay.
pub const MIN_COMPRESS_LENGTH: usize = 50;

/// A frame's compression. What is negotiated is the client's choice among `CLIENT_COMPRESS` (zlib) and
/// `CLIENT_ZSTD_COMPRESSION_ALGORITHM`; MariaDB 10.11 knows only zlib.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// zlib streams (RFC 1950).
    Zlib,
    /// zstd frames (RFC 8878).
    Zstd,
}

impl Algorithm {
    /// The highest compression level; the lowest is 1.
    pub fn highest_level(self) -> u8 {
        match self {
            Self::Zlib => 9,
            Self::Zstd => 22,
        }
    }

    /// The level that MySQL uses when nothing else is said.
    pub fn default_level(self) -> u8 {
        match self {
            Self::Zlib => 6,
            Self::Zstd => 3,
        }
    }

    /// How many bytes one compressed byte can stand for at most. zlib: 258 bytes in 2 bits. zstd: a block of 128 KiB
    /// that repeats one byte takes 4 bytes.
    fn highest_ratio(self) -> usize {
        match self {
            Self::Zlib => 258 * 4,
            Self::Zstd => 128 * 1024 / 4,
        }
    }
}

/// Why a compressed stream can't be read on, or a [`Compressor`] not be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CompressError {
    /// A frame is, or claims to be, larger than the limit.
    #[error("a compressed frame of {claimed} bytes is over the limit of {limit}")]
    TooLarge {
        /// Bytes before compression, or of the frame itself.
        claimed: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// A frame is missing or comes twice (MySQL error 1156).
    #[error("compressed frames out of order: got number {got}, expected {expected}")]
    OutOfOrder {
        /// The number that had to come.
        expected: u8,
        /// The number that came.
        got: u8,
    },
    /// A frame's bytes don't inflate to just the length that its header claims (MySQL error 1157).
    #[error("a compressed frame does not inflate to the {claimed} bytes that it claims")]
    Corrupt {
        /// The claimed length in bytes.
        claimed: usize,
    },
    /// A level outside the algorithm's range.
    #[error("compression level {level} is not in the range 1 to {}", algorithm.highest_level())]
    Level {
        /// The algorithm.
        algorithm: Algorithm,
        /// The level asked for.
        level: u8,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FrameHeader {
    frame_len: usize,
    seq: u8,
    /// 0 when the frame is stored.
    plain_len: usize,
}

impl FrameHeader {
    fn peek(input: &[u8]) -> Option<Self> {
        let [a, b, c, seq, d, e, f] = *input.first_chunk::<HEADER>()?;
        Some(Self {
            frame_len: u32::from_le_bytes([a, b, c, 0]) as usize,
            seq,
            plain_len: u32::from_le_bytes([d, e, f, 0]) as usize,
        })
    }

    fn put(self, out: &mut BytesMut) {
        out.put_uint_le(self.frame_len as u64, 3);
        out.put_u8(self.seq);
        out.put_uint_le(self.plain_len as u64, 3);
    }

    fn is_stored(self) -> bool {
        self.plain_len == 0
    }
}

/// Why [`Decompressor::push`] stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The next frame isn't whole: at least so many bytes are missing.
    NeedInput(usize),
    /// A frame number 0 where another was due: the peer's next command. It stays in the input until
    /// [`Decompressor::set_next_seq`]`(0)`. In the middle of a command it is an error, which only the caller can tell.
    NextCommand,
    /// The output holds at least one whole packet frame (16 MB): take it before pushing on.
    OutputFull,
}

/// Reads one direction of a compressed connection.
#[derive(Debug, Clone)]
pub struct Decompressor {
    algorithm: Algorithm,
    limit: usize,
    next_seq: u8,
}

impl Decompressor {
    /// Expects frame number 0. `limit`: the most plain bytes that a frame may hold; peers that may fill their frames
    /// need [`MAX_FRAME`].
    pub fn new(algorithm: Algorithm, limit: usize) -> Self {
        Self { algorithm, limit: limit.min(MAX_FRAME), next_seq: 0 }
    }

    /// The number of the frame that must come next; also that of the next frame to be sent in answer.
    pub fn next_seq(&self) -> u8 {
        self.next_seq
    }

    /// Sets the number of the frame that must come next.
    pub fn set_next_seq(&mut self, seq: u8) {
        self.next_seq = seq;
    }

    /// Takes whole frames off the front of `input` and appends their plain bytes to `output`, which is a stream of
    /// ordinary packets whose borders need not be those of frames.
    ///
    /// # Errors
    /// The stream is broken for good. `output` keeps what came before the broken frame.
    pub fn push(
        &mut self,
        contexts: &mut Contexts,
        input: &mut BytesMut,
        output: &mut BytesMut,
    ) -> Result<Progress, CompressError> {
        loop {
            if output.len() > MAX_FRAME + crate::frame::HEADER {
                return Ok(Progress::OutputFull);
            }
            match FrameHeader::peek(input) {
                Some(header) if header.seq == 0 && self.next_seq != 0 => {
                    return Ok(Progress::NextCommand);
                }
                _ => {}
            }
            if let Some(missing) = self.push_frame(contexts, input, output)? {
                return Ok(Progress::NeedInput(missing));
            }
        }
    }

    /// The same for one frame: `None` when it was taken, else the least number of bytes that are missing. For
    /// pipelined replies, each of which starts its own numbering when the one before has ended.
    ///
    /// # Errors
    /// As for [`Decompressor::push`].
    pub fn push_frame(
        &mut self,
        contexts: &mut Contexts,
        input: &mut BytesMut,
        output: &mut BytesMut,
    ) -> Result<Option<usize>, CompressError> {
        let Some(header) = FrameHeader::peek(input) else {
            return Ok(Some(HEADER - input.len()));
        };
        self.check(header)?;
        let frame_end = HEADER + header.frame_len;
        if input.len() < frame_end {
            return Ok(Some(frame_end - input.len()));
        }
        let body = &input[HEADER..frame_end];
        if header.is_stored() {
            output.extend_from_slice(body);
        } else {
            self.inflate(contexts, header.plain_len, body, output)?;
        }
        input.advance(frame_end);
        self.next_seq = self.next_seq.wrapping_add(1);
        Ok(None)
    }

    /// Judges a frame by its header, before anything of it is kept or memory taken for it.
    fn check(&self, header: FrameHeader) -> Result<(), CompressError> {
        if header.seq != self.next_seq {
            return Err(CompressError::OutOfOrder { expected: self.next_seq, got: header.seq });
        }
        // Bytes that can't be compressed grow by less than 1% when a peer compresses them nevertheless.
        let frame_limit = match header.is_stored() {
            true => self.limit,
            false => self.limit + self.limit / 100 + 64,
        };
        for (claimed, limit) in [(header.plain_len, self.limit), (header.frame_len, frame_limit)] {
            if claimed > limit {
                return Err(CompressError::TooLarge { claimed, limit });
            }
        }
        let most_possible = header.frame_len * self.algorithm.highest_ratio();
        match header.plain_len > most_possible {
            true => Err(CompressError::Corrupt { claimed: header.plain_len }),
            false => Ok(()),
        }
    }

    fn inflate(
        &self,
        contexts: &mut Contexts,
        plain_len: usize,
        body: &[u8],
        output: &mut BytesMut,
    ) -> Result<(), CompressError> {
        let start = output.len();
        output.resize(start + plain_len, 0);
        if contexts.inflate(self.algorithm, body, &mut output[start..]) {
            return Ok(());
        }
        output.truncate(start);
        Err(CompressError::Corrupt { claimed: plain_len })
    }
}

/// Writes one direction of a compressed connection.
#[derive(Debug, Clone)]
pub struct Compressor {
    algorithm: Algorithm,
    level: u8,
    next_seq: u8,
}

impl Compressor {
    /// Starts with frame number 0. Levels: zlib 1 to 9, zstd 1 to 22. The highest zstd levels take hundreds of
    /// megabytes for a full frame, held by the [`Contexts`].
    ///
    /// # Errors
    /// [`CompressError::Level`].
    pub fn new(algorithm: Algorithm, level: u8) -> Result<Self, CompressError> {
        if !(1..=algorithm.highest_level()).contains(&level) {
            return Err(CompressError::Level { algorithm, level });
        }
        Ok(Self { algorithm, level, next_seq: 0 })
    }

    /// The number of the next frame; also that of the frame that the peer answers with.
    pub fn next_seq(&self) -> u8 {
        self.next_seq
    }

    /// Sets the number of the next frame: 0 for a command, the request's following number for a reply.
    pub fn set_next_seq(&mut self, seq: u8) {
        self.next_seq = seq;
    }

    /// Appends `plain`, whole packets or parts of them, to `out` as one or more frames. Short pieces, and those that
    /// compression doesn't make smaller, are stored. Give it all that is to be sent at once: a frame costs 7 bytes.
    pub fn push(&mut self, contexts: &mut Contexts, plain: &[u8], out: &mut BytesMut) {
        for piece in plain.chunks(MAX_FRAME) {
            let compressed = match piece.len() < MIN_COMPRESS_LENGTH {
                true => None,
                false => contexts.compress(self.algorithm, self.level, piece),
            };
            let (body, plain_len) = match compressed {
                Some(body) => (body, piece.len()),
                None => (piece, 0),
            };
            out.reserve(HEADER + body.len());
            FrameHeader { frame_len: body.len(), seq: self.next_seq, plain_len }.put(out);
            out.extend_from_slice(body);
            self.next_seq = self.next_seq.wrapping_add(1);
        }
    }
}
