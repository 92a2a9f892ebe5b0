//! The replies to several statements of one command, each made as if it were alone.
//!
//! What must always hold: the packets that are sent have consecutive numbers, and the last one of each reply says whether another reply
//! follows. So that one stays unsent until that is known. The EOF behind column definitions says it too, where the protocol has one.

use bytes::BytesMut;
use weir_wire::{Capabilities, StatusFlags};

/// A packet's length and number.
const HEADER: usize = 4;
/// The length of a frame that the next one continues.
const MAX_FRAME: usize = 0xff_ffff;

/// See the module.
#[derive(Debug)]
pub(super) struct Replies {
    next_seq: u8,
    /// So much of the output has its numbers.
    done: usize,
    /// Where the last whole packet begins.
    last: usize,
    /// Where the next packet stands in its reply, if that matters: columns end with an EOF packet, and another reply follows.
    at: Option<At>,
    /// The next frame continues the packet of the one before.
    continued: bool,
}

/// Where in a result a packet stands.
#[derive(Debug, Clone, Copy)]
enum At {
    First,
    /// One of so many column definitions.
    Columns(u64),
    ColumnsEnd,
    Rows,
}

impl Replies {
    /// The output is empty; its first packet will have this number.
    pub(super) fn new(next_seq: u8) -> Replies {
        Replies { next_seq, done: 0, last: 0, at: None, continued: false }
    }

    /// A reply begins. `more`: as far as is known, another one follows.
    pub(super) fn begin(&mut self, capabilities: Capabilities, more: bool) {
        self.at = (more && !capabilities.contains(Capabilities::DEPRECATE_EOF)).then_some(At::First);
        self.continued = false;
    }

    /// Gives all whole packets their numbers.
    fn number(&mut self, output: &mut BytesMut) {
        while let Some(header) = output.get_mut(self.done..self.done + HEADER) {
            let length = usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
            header[3] = self.next_seq;
            let end = self.done + HEADER + length;
            if output.len() < end {
                return;
            }
            self.next_seq = self.next_seq.wrapping_add(1);
            (self.last, self.done) = (self.done, end);
            let continues = std::mem::replace(&mut self.continued, length == MAX_FRAME);
            if let (Some(at), false, Some(packet)) = (self.at, continues, output.get_mut(self.last + HEADER..end)) {
                self.at = Some(behind(at, packet));
            }
        }
    }

    /// The last packet asks the client for a file: it is sent, as nothing is to be said in it.
    pub(super) fn send_all(&mut self, output: &mut BytesMut) {
        self.number(output);
        self.last = self.done;
    }

    /// The client has sent a packet: the next one has this number.
    pub(super) fn go_on_at(&mut self, next_seq: u8) {
        self.next_seq = next_seq;
    }

    /// Takes away what may not be sent yet.
    pub(super) fn hold_back(&mut self, output: &mut BytesMut) -> BytesMut {
        self.number(output);
        let held = output.split_off(self.last);
        self.done -= self.last;
        self.last = 0;
        held
    }

    /// No other reply follows. Returns the number that the next packet has.
    pub(super) fn finish(&mut self, output: &mut BytesMut) -> u8 {
        self.number(output);
        self.next_seq
    }

    /// Takes back the latest reply if it is nothing but an error. Returns whether it was.
    pub(super) fn take_back_error(&mut self, output: &mut BytesMut) -> bool {
        self.number(output);
        let is_error = output.get(self.last + HEADER..self.done).is_some_and(|packet| packet.first() == Some(&0xff));
        if is_error {
            output.truncate(self.last);
            self.done = self.last;
            self.next_seq = self.next_seq.wrapping_sub(1);
        }
        is_error
    }

    /// Takes back the latest packet if it is the OK of a statement without rows, or an error.
    pub(super) fn take_back_last(&mut self, output: &mut BytesMut) -> Option<Vec<u8>> {
        self.number(output);
        let packet = output.get(self.last + HEADER..self.done)?;
        if !matches!(packet, [0x00 | 0xff, ..]) {
            return None;
        }
        let packet = packet.to_vec();
        output.truncate(self.last);
        self.done = self.last;
        self.next_seq = self.next_seq.wrapping_sub(1);
        Some(packet)
    }

    /// A reply is at its end. Returns whether it is no error; then it says that another one follows, if it does.
    pub(super) fn end(&mut self, output: &mut BytesMut, capabilities: Capabilities, more: bool) -> bool {
        self.number(output);
        let packet = output.get_mut(self.last + HEADER..self.done).unwrap_or_default();
        let status = match packet {
            [] | [0xff, ..] => return false,
            [0xfe, ..] if packet.len() < 9 && !capabilities.contains(Capabilities::DEPRECATE_EOF) => 3,
            [_, numbers @ ..] => {
                // Affected rows, and the insert id.
                let first = length_of_number(numbers);
                1 + first + length_of_number(numbers.get(first..).unwrap_or_default())
            }
        };
        let Some(flags) = packet.get_mut(status..status + 2) else { return false };
        if more {
            let set = u16::from_le_bytes([flags[0], flags[1]]) | StatusFlags::MORE_RESULTS_EXISTS.bits();
            flags.copy_from_slice(&set.to_le_bytes());
            // Nothing of it is open any more.
            self.last = self.done;
        }
        true
    }
}

/// Where the next packet stands behind this one. An EOF behind column definitions is told that another reply follows.
fn behind(at: At, packet: &mut [u8]) -> At {
    let length = packet.len();
    match (at, packet) {
        (_, [] | [0xff, ..]) | (At::First, [0x00 | 0xfb, ..]) => At::First,
        (At::First, count) => At::Columns(number(count)),
        (At::Columns(left @ 2..), _) => At::Columns(left - 1),
        (At::Columns(_), _) => At::ColumnsEnd,
        (At::ColumnsEnd, [0xfe, _, _, flags, ..]) => {
            *flags |= StatusFlags::MORE_RESULTS_EXISTS.bits().to_le_bytes()[0];
            At::Rows
        }
        (At::Rows, [0xfe, ..]) if length < 9 => At::First,
        (At::ColumnsEnd | At::Rows, _) => At::Rows,
    }
}

/// A length-encoded number, as far as numbers of columns go.
fn number(bytes: &[u8]) -> u64 {
    match bytes {
        [0xfc, low, high, ..] => u64::from(u16::from_le_bytes([*low, *high])),
        [byte, ..] => u64::from(*byte),
        [] => 0,
    }
}

/// How many bytes a length-encoded number takes.
fn length_of_number(bytes: &[u8]) -> usize {
    match bytes.first() {
        Some(0xfc) => 3,
        Some(0xfd) => 4,
        Some(0xfe) => 9,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OK: &[u8] = &[7, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0];
    const EOF: &[u8] = &[5, 0, 0, 9, 0xfe, 0, 0, 2, 0];
    const ERROR: &[u8] = &[3, 0, 0, 1, 0xff, 1, 2];

    #[test]
    fn replies_are_numbered_and_say_that_more_follow() {
        let mut output = BytesMut::from(OK);
        let mut replies = Replies::new(1);
        assert!(replies.end(&mut output, Capabilities::empty(), true));
        assert_eq!(output[3..9], [1, 0, 0, 0, 10, 0]);
        output.extend_from_slice(EOF);
        assert!(replies.end(&mut output, Capabilities::empty(), true));
        assert_eq!(output[11..], [5, 0, 0, 2, 0xfe, 0, 0, 10, 0]);
        output.extend_from_slice(ERROR);
        assert!(!replies.end(&mut output, Capabilities::empty(), false));
        assert_eq!(output[23], 3);
    }

    #[test]
    fn the_last_packet_waits_until_its_flags_are_known() {
        let mut output = BytesMut::from(ERROR);
        let mut replies = Replies::new(1);
        assert!(replies.take_back_error(&mut output) && output.is_empty());
        output.extend_from_slice(OK);
        assert!(!replies.take_back_error(&mut output));
        assert_eq!(output[3], 1);

        let mut output = BytesMut::from(&[OK, OK, &OK[..6]].concat()[..]);
        let mut replies = Replies::new(1);
        let mut held = replies.hold_back(&mut output);
        assert_eq!((output.len(), held.len()), (OK.len(), OK.len() + 6));
        held.extend_from_slice(&OK[6..]);
        assert!(replies.end(&mut held, Capabilities::empty(), false));
        assert_eq!((held[3], held[OK.len() + 3], held[OK.len() + 7]), (2, 3, 2));
    }

    #[test]
    fn the_end_of_columns_says_that_more_follow() {
        let column = [2, 0, 0, 0, 3, b'd'];
        let row = [2, 0, 0, 0, 1, b'x'];
        let result = [&[1, 0, 0, 1, 2][..], &column, &column, EOF, &row, EOF].concat();
        let eof_at = 5 + 6 + 6 + 7;
        for (capabilities, more, flags) in [
            (Capabilities::empty(), true, 10),
            (Capabilities::empty(), false, 2),
            (Capabilities::DEPRECATE_EOF, true, 2),
        ] {
            let mut replies = Replies::new(1);
            replies.begin(capabilities, more);
            let mut output = BytesMut::new();
            for byte in &result {
                output.extend_from_slice(&[*byte]);
                replies.number(&mut output);
            }
            assert_eq!(output[eof_at], flags, "{more}");
            assert_eq!(output[output.len() - 2], 2, "the end waits until it is known");
        }
    }

    #[test]
    fn a_request_for_a_file_is_sent_and_numbers_go_on_behind_the_file() {
        let mut replies = Replies::new(1);
        let mut output = BytesMut::from(&[OK, &[2, 0, 0, 9, 0xfb, b'f']].concat()[..]);
        replies.send_all(&mut output);
        assert!(replies.hold_back(&mut output).is_empty());
        assert_eq!(output[14], 2);
        let mut output = BytesMut::from(OK);
        replies.go_on_at(7);
        assert!(replies.end(&mut output, Capabilities::empty(), false));
        assert_eq!(output[3], 7);
    }

    #[test]
    fn an_ok_with_large_counts_is_read() {
        let packet = [11, 0, 0, 1, 0xfe, 0xfc, 1, 2, 0xfc, 3, 4, 2, 0, 0, 0];
        let mut output = BytesMut::from(&packet[..]);
        assert!(Replies::new(1).end(&mut output, Capabilities::DEPRECATE_EOF, true));
        assert_eq!(output[11], 10);
    }
}
