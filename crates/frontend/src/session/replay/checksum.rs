//! What a client has been told by a reply, as one number: two replies with the same one have told it the same.
//!
//! What must always hold: all that a client sees of the data and of its transaction counts: columns, rows, counts, insert ids, errors with
//! their texts. What depends on the server that answered, or on how it found the rows, does not: positions, changes of the session that it
//! tells Weir, slowness.

use sha2::{Digest as _, Sha256};
use weir_wire::StatusFlags;
use weir_wire::reply::Ending;

/// A running checksum of one reply.
#[derive(Debug, Clone, Default)]
pub(in crate::session) struct Checksum {
    hash: Sha256,
    /// The reply asked for what is not kept, a client's file.
    is_open: bool,
}

/// The flags that tell a client something of its transaction or of what follows.
const TOLD: StatusFlags = StatusFlags::IN_TRANS
    .union(StatusFlags::AUTOCOMMIT)
    .union(StatusFlags::IN_TRANS_READONLY)
    .union(StatusFlags::MORE_RESULTS_EXISTS)
    .union(StatusFlags::NO_BACKSLASH_ESCAPES)
    .union(StatusFlags::ANSI_QUOTES);

impl Checksum {
    /// Bytes that go to the client as they are.
    pub(in crate::session) fn pass(&mut self, bytes: &[u8]) {
        self.hash.update(bytes);
    }

    /// A packet that ends a result.
    pub(in crate::session) fn end(&mut self, ending: &Ending<'_>) {
        match ending {
            Ending::Ok(ok) => {
                self.hash.update([0, ok.header]);
                self.number(ok.affected_rows);
                self.number(ok.last_insert_id);
                self.number(u64::from((ok.status & TOLD).bits()));
                self.number(u64::from(ok.warnings));
                self.text(ok.info);
            }
            Ending::Eof(eof) => {
                self.hash.update([1]);
                self.number(u64::from((eof.status & TOLD).bits()));
                self.number(u64::from(eof.warnings));
            }
            Ending::Err(err) => {
                self.hash.update([2]);
                self.number(u64::from(err.code));
                self.text(&err.sqlstate);
                self.text(err.message);
            }
            Ending::Prepared(_) | Ending::LocalInfile => self.is_open = true,
        }
    }

    fn number(&mut self, number: u64) {
        self.hash.update(number.to_le_bytes());
    }

    fn text(&mut self, text: &[u8]) {
        self.number(text.len() as u64);
        self.hash.update(text);
    }

    /// The checksum, if the reply is one that can come again.
    pub(in crate::session) fn finish(self) -> Option<[u8; 32]> {
        (!self.is_open).then(|| self.hash.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use weir_wire::packets::{ErrPacket, OkPacket};

    use super::*;

    fn of(ending: &Ending<'_>) -> Option<[u8; 32]> {
        let mut checksum = Checksum::default();
        checksum.end(ending);
        checksum.finish()
    }

    #[test]
    fn what_a_client_sees_counts_and_what_only_weir_sees_does_not() {
        let plain = OkPacket::plain(StatusFlags::IN_TRANS);
        let ok = |ok| of(&Ending::Ok(ok));
        let same = [
            OkPacket { changes: b"a position", ..plain },
            OkPacket { status: plain.status | StatusFlags::SESSION_STATE_CHANGED, ..plain },
            OkPacket { status: plain.status | StatusFlags::QUERY_WAS_SLOW | StatusFlags::NO_INDEX_USED, ..plain },
        ];
        for one in same {
            assert_eq!(ok(one), ok(plain), "{one:?}");
        }
        let others = [
            OkPacket { affected_rows: 1, ..plain },
            OkPacket { last_insert_id: 1, ..plain },
            OkPacket { warnings: 1, ..plain },
            OkPacket { info: b"Rows matched: 1", ..plain },
            OkPacket { status: StatusFlags::AUTOCOMMIT, ..plain },
        ];
        for one in others {
            assert_ne!(ok(one), ok(plain), "{one:?}");
        }
        let error = |message| of(&Ending::Err(ErrPacket { code: 1062, sqlstate: *b"23000", message }));
        assert_ne!(error(b"Duplicate entry '1'"), error(b"Duplicate entry '2'"));
    }

    #[test]
    fn bytes_count_however_they_are_cut() {
        let of = |parts: &[&[u8]]| {
            let mut checksum = Checksum::default();
            parts.iter().for_each(|part| checksum.pass(part));
            checksum.finish()
        };
        assert_eq!(of(&[b"abc"]), of(&[b"a", b"bc"]));
        assert_ne!(of(&[b"abc"]), of(&[b"abd"]));
    }

    #[test]
    fn a_reply_that_asks_for_a_file_has_none() {
        assert_eq!(of(&Ending::LocalInfile), None);
    }
}
