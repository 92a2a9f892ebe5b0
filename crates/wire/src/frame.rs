//! Packet framing: a 3-byte length, a sequence number, the payload; a payload of 16 MB - 1 and more goes on in
//! further frames.
//!
//! One framer for all directions. [`PacketReader`] assembles a whole payload from the bytes that have arrived,
//! checks sequence numbers, and refuses what would exceed a limit as soon as the header says so, before any
//! memory is taken for it.

use bytes::{Buf, BytesMut};

/// Bytes of a frame header.
pub const HEADER: usize = 4;
/// The largest payload of one frame; a frame of just this size is continued.
pub const MAX_FRAME: usize = 0xff_ffff;

/// A frame header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Payload bytes of this frame.
    pub len: usize,
    /// Sequence number.
    pub seq: u8,
}

impl Header {
    /// The header at the start of `bytes`, if all four bytes have arrived.
    #[inline]
    pub fn peek(bytes: &[u8]) -> Option<Header> {
        match bytes {
            [a, b, c, seq, ..] => Some(Header { len: u32::from_le_bytes([*a, *b, *c, 0]) as usize, seq: *seq }),
            _ => None,
        }
    }

    /// The header's bytes.
    pub fn encode(self) -> [u8; HEADER] {
        let [a, b, c, _] = (self.len as u32).to_le_bytes();
        [a, b, c, self.seq]
    }
}

/// Why framing failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The payload would be longer than the limit.
    #[error("a packet of more than {limit} bytes")]
    TooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
    /// A sequence number that does not follow.
    #[error("packets out of order: expected {expected}, got {got}")]
    OutOfOrder {
        /// What would have followed.
        expected: u8,
        /// What came.
        got: u8,
    },
}

/// Follows the frames of a file that a client sends, which an empty packet ends.
#[derive(Debug, Default)]
pub struct FileFrames {
    /// The next frame belongs to the packet of the one before.
    continued: bool,
}

impl FileFrames {
    /// Whether the file ends with this frame, which has its header. An empty one may as well end a packet whose frames before it are full.
    pub fn ends_with(&mut self, frame: &[u8]) -> bool {
        let length = frame.len().saturating_sub(HEADER);
        let continues = std::mem::replace(&mut self.continued, length == MAX_FRAME);
        length == 0 && !continues
    }
}

/// Assembles payloads. The state between two calls is only what has arrived of an unfinished, continued payload.
#[derive(Debug, Default)]
pub struct PacketReader {
    partial: BytesMut,
    continued: bool,
    next_seq: u8,
}

impl PacketReader {
    /// Expects sequence number 0 next, as at the start of a command.
    pub fn new() -> Self {
        Self::default()
    }

    /// The sequence number that must come next; also that of the next packet to be sent in answer.
    pub fn next_seq(&self) -> u8 {
        self.next_seq
    }

    /// Sets the sequence number that must come next.
    pub fn set_next_seq(&mut self, seq: u8) {
        self.next_seq = seq;
    }

    /// Takes one whole payload off the front of `input`, or `None` until more has arrived. A payload of several
    /// frames is gathered here, and never exceeds `limit`.
    pub fn next(&mut self, input: &mut BytesMut, limit: usize) -> Result<Option<BytesMut>, FrameError> {
        loop {
            let Some(header) = Header::peek(input) else { return Ok(None) };
            if header.seq != self.next_seq {
                return Err(FrameError::OutOfOrder { expected: self.next_seq, got: header.seq });
            }
            if self.partial.len() + header.len > limit {
                // The refusal answers this frame.
                self.next_seq = self.next_seq.wrapping_add(1);
                return Err(FrameError::TooLarge { limit });
            }
            if input.len() < HEADER + header.len {
                return Ok(None);
            }
            input.advance(HEADER);
            let payload = input.split_to(header.len);
            self.next_seq = self.next_seq.wrapping_add(1);
            let last = header.len < MAX_FRAME;
            if !self.continued && last {
                return Ok(Some(payload));
            }
            self.partial.extend_from_slice(&payload);
            self.continued = !last;
            if last {
                return Ok(Some(std::mem::take(&mut self.partial)));
            }
        }
    }

    /// As [`PacketReader::next`], into `payload`: a short one is copied, so that neither buffer has to be allocated anew. Returns
    /// whether there was one.
    ///
    /// # Errors
    /// As [`PacketReader::next`].
    pub fn next_into(
        &mut self,
        input: &mut BytesMut,
        limit: usize,
        payload: &mut BytesMut,
    ) -> Result<bool, FrameError> {
        const SHORT: usize = 4096;
        payload.clear();
        if let Some(header) = Header::peek(input)
            && header.len <= SHORT.min(limit)
            && header.seq == self.next_seq
            && !self.continued
            && let Some(bytes) = input.get(HEADER..HEADER + header.len)
        {
            payload.extend_from_slice(bytes);
            input.advance(HEADER + header.len);
            self.next_seq = self.next_seq.wrapping_add(1);
            return Ok(true);
        }
        match self.next(input, limit)? {
            Some(whole) => *payload = whole,
            None => return Ok(false),
        }
        Ok(true)
    }

    /// Whether nothing of a payload has been taken in.
    pub fn is_idle(&self) -> bool {
        !self.continued
    }
}

/// Appends `payload` as one packet, split into frames as needed. Returns the sequence number that follows.
pub fn put_packet(out: &mut BytesMut, mut seq: u8, payload: &[u8]) -> u8 {
    let mut rest = payload;
    loop {
        let n = rest.len().min(MAX_FRAME);
        out.reserve(HEADER + n);
        out.extend_from_slice(&Header { len: n, seq }.encode());
        out.extend_from_slice(&rest[..n]);
        seq = seq.wrapping_add(1);
        rest = &rest[n..];
        if n < MAX_FRAME {
            return seq;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_ends_with_an_empty_packet_and_not_with_the_rest_of_a_full_one() {
        let mut frames = FileFrames::default();
        let full = vec![0; HEADER + MAX_FRAME];
        let ends =
            [&full[..9], &full, &full[..HEADER], &full, &full, &full[..HEADER], &full, &full[..5], &full[..HEADER]]
                .map(|frame| frames.ends_with(frame));
        assert_eq!(ends, [false, false, false, false, false, false, false, false, true]);
    }

    #[test]
    fn payloads_around_the_frame_limit_come_back_whole() {
        for len in [0, 1, 100, MAX_FRAME - 1, MAX_FRAME, MAX_FRAME + 1, 2 * MAX_FRAME] {
            let payload = vec![7; len];
            let mut bytes = BytesMut::new();
            let next = put_packet(&mut bytes, 0, &payload);
            let mut reader = PacketReader::new();
            let back = reader.next(&mut bytes, usize::MAX).expect("framing is right").expect("the packet is whole");
            assert_eq!((back.len(), bytes.len(), reader.next_seq()), (len, 0, next));
        }
    }

    #[test]
    fn a_claimed_length_over_the_limit_is_refused_before_the_bytes_arrive() {
        let mut bytes = BytesMut::from(&Header { len: 1000, seq: 0 }.encode()[..]);
        let mut reader = PacketReader::new();
        let refused = reader.next(&mut bytes, 999);
        assert_eq!((refused, reader.next_seq()), (Err(FrameError::TooLarge { limit: 999 }), 1));
        let mut bytes = BytesMut::new();
        put_packet(&mut bytes, 0, &vec![0; MAX_FRAME + 10]);
        assert_eq!(
            PacketReader::new().next(&mut bytes, MAX_FRAME + 9),
            Err(FrameError::TooLarge { limit: MAX_FRAME + 9 })
        );
    }

    #[test]
    fn a_wrong_sequence_number_is_refused() {
        let mut bytes = BytesMut::from(&b"\x01\x00\x00\x05x"[..]);
        assert_eq!(PacketReader::new().next(&mut bytes, 10), Err(FrameError::OutOfOrder { expected: 0, got: 5 }));
    }

    #[test]
    fn what_has_not_arrived_is_waited_for() {
        let mut whole = BytesMut::new();
        put_packet(&mut whole, 0, b"hello");
        for cut in 0..whole.len() {
            let mut bytes = BytesMut::from(&whole[..cut]);
            assert_eq!(PacketReader::new().next(&mut bytes, 10), Ok(None), "cut at {cut}");
        }
    }
}
