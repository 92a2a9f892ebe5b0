//! OK, ERR and EOF packets, and the session state changes that an OK packet carries; both directions.

use crate::caps::{Capabilities, StatusFlags};
use crate::codec::{Malformed, Reader, put_lenenc, put_lenenc_bytes};
use crate::error::Failure;

/// An OK packet (first byte 0x00), or the OK packet that ends a result set (0xFE).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OkPacket<'a> {
    /// 0x00 or 0xFE.
    pub header: u8,
    /// Rows changed (or found).
    pub affected_rows: u64,
    /// The id of `mysql_insert_id()`.
    pub last_insert_id: u64,
    /// Server status.
    pub status: StatusFlags,
    /// Number of warnings.
    pub warnings: u16,
    /// The information text, as `Rows matched: 1 …`.
    pub info: &'a [u8],
    /// The session state changes, undecoded; see [`SessionChanges`].
    pub changes: &'a [u8],
}

impl<'a> OkPacket<'a> {
    /// An OK packet with nothing to say but the status.
    pub fn plain(status: StatusFlags) -> OkPacket<'static> {
        OkPacket { header: 0, affected_rows: 0, last_insert_id: 0, status, warnings: 0, info: b"", changes: b"" }
    }

    /// Reads a payload from a peer with which `capabilities` were negotiated.
    pub fn parse(payload: &'a [u8], capabilities: Capabilities) -> Result<OkPacket<'a>, Malformed> {
        let mut r = Reader::new(payload);
        let header = r.u8("OK header")?;
        let affected_rows = r.lenenc("affected rows")?;
        let last_insert_id = r.lenenc("last insert id")?;
        let status = StatusFlags::from_bits_retain(r.u16("status")?);
        let warnings = r.u16("warnings")?;
        let (mut info, mut changes): (&[u8], &[u8]) = (b"", b"");
        if !r.is_empty() {
            info = r.lenenc_bytes("info")?;
        }
        let tracks = capabilities.contains(Capabilities::SESSION_TRACK);
        if tracks && status.contains(StatusFlags::SESSION_STATE_CHANGED) && !r.is_empty() {
            changes = r.lenenc_bytes("session state changes")?;
        }
        Ok(OkPacket { header, affected_rows, last_insert_id, status, warnings, info, changes })
    }

    /// The payload for a peer with which `capabilities` were negotiated. Session state changes go only to a peer
    /// that tracks them.
    pub fn encode(&self, capabilities: Capabilities) -> Vec<u8> {
        let mut status = self.status;
        let tracks = capabilities.contains(Capabilities::SESSION_TRACK);
        status.set(StatusFlags::SESSION_STATE_CHANGED, tracks && !self.changes.is_empty());
        let mut out = Vec::with_capacity(16 + self.info.len() + self.changes.len());
        out.push(self.header);
        put_lenenc(&mut out, self.affected_rows);
        put_lenenc(&mut out, self.last_insert_id);
        out.extend_from_slice(&status.bits().to_le_bytes());
        out.extend_from_slice(&self.warnings.to_le_bytes());
        // The manual has the text at the packet's end without its length; both servers send the length all the same.
        let tells_changes = tracks && !self.changes.is_empty();
        if !self.info.is_empty() || tells_changes {
            put_lenenc_bytes(&mut out, self.info);
        }
        if tells_changes {
            put_lenenc_bytes(&mut out, self.changes);
        }
        out
    }
}

/// One session state change. Source: MySQL manual, "Server Tracking of Client Session State".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionChange<'a> {
    /// A session system variable and its new value.
    Variable {
        /// Its name, in lower case.
        name: &'a [u8],
        /// Its value as text.
        value: &'a [u8],
    },
    /// The default database; empty when there is none now.
    Schema(&'a [u8]),
    /// Something of the session's state has changed.
    State,
    /// The GTIDs of what was committed, as MySQL writes a set of them.
    Gtids(&'a [u8]),
    /// Anything else (transaction state), undecoded.
    Other {
        /// The type byte.
        kind: u8,
        /// Its data.
        data: &'a [u8],
    },
}

/// Reads the session state changes of an OK packet, each with its own encoded bytes, so that a subset of them can
/// be passed on unchanged.
#[derive(Debug, Clone)]
pub struct SessionChanges<'a> {
    entries: Reader<'a>,
    /// MariaDB may send several variables in one entry.
    variables: Reader<'a>,
}

impl<'a> SessionChanges<'a> {
    /// Reads `changes` of an [`OkPacket`].
    pub fn new(changes: &'a [u8]) -> Self {
        SessionChanges { entries: Reader::new(changes), variables: Reader::new(b"") }
    }

    fn variable(&mut self) -> Result<SessionChange<'a>, Malformed> {
        let name = self.variables.lenenc_bytes("variable name")?;
        Ok(SessionChange::Variable { name, value: self.variables.lenenc_bytes("variable value")? })
    }

    fn entry(&mut self) -> Result<SessionChange<'a>, Malformed> {
        let kind = self.entries.u8("session change type")?;
        let data = self.entries.lenenc_bytes("session change")?;
        match kind {
            0 => {
                self.variables = Reader::new(data);
                self.variable()
            }
            1 => Ok(SessionChange::Schema(Reader::new(data).lenenc_bytes("schema")?)),
            2 => Ok(SessionChange::State),
            3 => {
                let mut data = Reader::new(data);
                // Of the set's encoding there is one: text.
                data.u8("encoding of GTIDs")?;
                Ok(SessionChange::Gtids(data.lenenc_bytes("GTIDs")?))
            }
            _ => Ok(SessionChange::Other { kind, data }),
        }
    }
}

impl<'a> Iterator for SessionChanges<'a> {
    type Item = Result<SessionChange<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = if !self.variables.is_empty() {
            self.variable()
        } else if !self.entries.is_empty() {
            self.entry()
        } else {
            return None;
        };
        if item.is_err() {
            *self = SessionChanges::new(b"");
        }
        Some(item)
    }
}

/// Appends one session state change, encoded.
pub fn put_session_change(out: &mut Vec<u8>, change: &SessionChange<'_>) {
    let mut inner = Vec::new();
    let kind = match change {
        SessionChange::Variable { name, value } => {
            put_lenenc_bytes(&mut inner, name);
            put_lenenc_bytes(&mut inner, value);
            0
        }
        SessionChange::Schema(name) => {
            put_lenenc_bytes(&mut inner, name);
            1
        }
        SessionChange::State => {
            put_lenenc_bytes(&mut inner, b"1");
            2
        }
        SessionChange::Gtids(set) => {
            inner.push(0);
            put_lenenc_bytes(&mut inner, set);
            3
        }
        SessionChange::Other { kind, data } => {
            inner.extend_from_slice(data);
            *kind
        }
    };
    out.push(kind);
    put_lenenc_bytes(out, &inner);
}

/// An ERR packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrPacket<'a> {
    /// The error's code.
    pub code: u16,
    /// The SQLSTATE; `HY000` where the packet has none (before the handshake is over).
    pub sqlstate: [u8; 5],
    /// The message.
    pub message: &'a [u8],
}

impl<'a> ErrPacket<'a> {
    /// Reads a payload that begins with 0xFF.
    pub fn parse(payload: &'a [u8]) -> Result<ErrPacket<'a>, Malformed> {
        let mut r = Reader::new(payload);
        if r.u8("ERR header")? != 0xff {
            return Err(Malformed("ERR header"));
        }
        let code = r.u16("error code")?;
        let mut sqlstate = *b"HY000";
        if r.rest().first() == Some(&b'#') && r.rest().len() >= 6 {
            sqlstate.copy_from_slice(&r.bytes(6, "SQLSTATE")?[1..]);
        }
        Ok(ErrPacket { code, sqlstate, message: r.take_rest() })
    }

    /// The payload.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(9 + self.message.len());
        out.push(0xff);
        out.extend_from_slice(&self.code.to_le_bytes());
        out.push(b'#');
        out.extend_from_slice(&self.sqlstate);
        out.extend_from_slice(self.message);
        out
    }
}

/// The ERR payload of a failure.
pub fn encode_failure(failure: &Failure) -> Vec<u8> {
    ErrPacket { code: failure.code, sqlstate: failure.sqlstate, message: failure.message.as_bytes() }.encode()
}

/// An EOF packet, of a peer without DEPRECATE_EOF.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EofPacket {
    /// Number of warnings.
    pub warnings: u16,
    /// Server status.
    pub status: StatusFlags,
}

impl EofPacket {
    /// The length of its payload. An OK packet in its place is longer.
    pub const LENGTH: usize = 5;

    /// Reads a payload that begins with 0xFE.
    pub fn parse(payload: &[u8]) -> Result<EofPacket, Malformed> {
        let mut r = Reader::new(payload);
        if r.u8("EOF header")? != 0xfe {
            return Err(Malformed("EOF header"));
        }
        let warnings = r.u16("warnings")?;
        Ok(EofPacket { warnings, status: StatusFlags::from_bits_retain(r.u16("status")?) })
    }

    /// The payload.
    pub fn encode(self) -> [u8; Self::LENGTH] {
        let [w0, w1] = self.warnings.to_le_bytes();
        let [s0, s1] = self.status.bits().to_le_bytes();
        [0xfe, w0, w1, s0, s1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACKS: Capabilities = Capabilities::SESSION_TRACK;

    #[test]
    fn an_ok_comes_back_from_peers_that_track_and_those_that_do_not() {
        let mut changes = Vec::new();
        put_session_change(&mut changes, &SessionChange::Variable { name: b"autocommit", value: b"OFF" });
        put_session_change(&mut changes, &SessionChange::Schema(b"shop"));
        put_session_change(&mut changes, &SessionChange::State);
        put_session_change(&mut changes, &SessionChange::Gtids(b"3e11fa47-71ca-11e1-9e33-c80aa9429562:7"));
        put_session_change(&mut changes, &SessionChange::Other { kind: 5, data: b"\x08T_______" });
        let ok = OkPacket {
            header: 0,
            affected_rows: 70_000,
            last_insert_id: 1 << 40,
            status: StatusFlags::AUTOCOMMIT | StatusFlags::SESSION_STATE_CHANGED,
            warnings: 2,
            info: b"Rows matched: 1",
            changes: &changes,
        };
        let payload = ok.encode(TRACKS);
        assert_eq!(OkPacket::parse(&payload, TRACKS), Ok(ok));
        let read: Result<Vec<_>, _> = SessionChanges::new(ok.changes).collect();
        let read = read.expect("the changes are well formed");
        assert_eq!(read[0], SessionChange::Variable { name: b"autocommit", value: b"OFF" });
        let gtids = SessionChange::Gtids(b"3e11fa47-71ca-11e1-9e33-c80aa9429562:7");
        assert_eq!(read[1..4], [SessionChange::Schema(b"shop"), SessionChange::State, gtids]);
        let payload = ok.encode(Capabilities::empty());
        let without = OkPacket { changes: b"", status: StatusFlags::AUTOCOMMIT, ..ok };
        assert_eq!(OkPacket::parse(&payload, Capabilities::empty()), Ok(without));
    }

    #[test]
    fn several_variables_in_one_entry_are_read_one_by_one() {
        // MariaDB's form: one entry of type 0 with two pairs.
        let changes = b"\x00\x08\x01a\x01b\x01c\x01d";
        let names: Vec<_> = SessionChanges::new(changes)
            .map(|change| match change {
                Ok(SessionChange::Variable { name, value }) => (name.to_vec(), value.to_vec()),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(names, [(b"a".to_vec(), b"b".to_vec()), (b"c".to_vec(), b"d".to_vec())]);
    }

    #[test]
    fn broken_changes_end_with_an_error() {
        let outcomes: Vec<_> = SessionChanges::new(b"\x02\x01\x31\x00\xff").collect();
        assert_eq!(outcomes.len(), 2);
        assert!(outcomes[1].is_err());
    }

    #[test]
    fn an_error_comes_back_with_and_without_its_sqlstate() {
        let err = ErrPacket { code: 1045, sqlstate: *b"28000", message: b"Access denied" };
        assert_eq!(ErrPacket::parse(&err.encode()), Ok(err));
        let early = ErrPacket::parse(b"\xff\x10\x04Too many connections").expect("it is an ERR packet");
        assert_eq!((early.code, early.sqlstate, early.message), (1040, *b"HY000", &b"Too many connections"[..]));
    }
}
