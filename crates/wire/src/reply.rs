//! Where a reply ends, and how it ended: a state machine over the bytes that a server sends.
//!
//! The bytes between are not decoded: [`ReplyTracker::advance`] says how many of them belong to the reply, so that
//! they can be forwarded as they are, also in the middle of a row. Only the packets that end a result (OK, EOF,
//! ERR) and those that ask for something (LOCAL INFILE) are shown whole. What the tracker says does not depend on
//! how the bytes were cut into chunks.

use crate::caps::{Capabilities, StatusFlags};
use crate::codec::{Malformed, Reader};
use crate::frame::{HEADER, Header, MAX_FRAME};
use crate::packets::{EofPacket, ErrPacket, OkPacket};

/// What kind of reply a command gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyKind {
    /// OK, ERR, LOCAL INFILE or result sets: COM_QUERY, COM_STMT_EXECUTE, and all that only get OK or ERR.
    Results,
    /// The same for a COM_STMT_EXECUTE that asks for a cursor: columns may come without rows.
    Cursor,
    /// COM_STMT_PREPARE.
    Prepare,
    /// COM_STMT_PREPARE of MySQL, which counts parameters that it then does not define, as it has optimized them away
    /// (`GROUP_CONCAT(a ORDER BY ?)`). It names each parameter `?`; MariaDB gives one its column's name.
    MysqlPrepare,
    /// Rows and their end: COM_STMT_FETCH; column definitions and their end: COM_FIELD_LIST.
    Rows,
    /// One packet of text: COM_STATISTICS.
    Text,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The first packet of a result.
    First,
    /// Column definitions, `left` of them, then `after`.
    Columns { left: u64, after: AfterColumns },
    /// The EOF packet after the column definitions.
    ColumnsEof { after: AfterColumns },
    /// Rows, until their end.
    Rows,
    /// The answer to COM_STMT_PREPARE.
    PrepareFirst,
    /// Any packet, which ends the reply.
    LastText,
    /// The client must send the file now; then OK or ERR comes.
    Infile,
    /// The reply has ended.
    Done,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AfterColumns {
    Rows,
    /// COM_STMT_PREPARE: the parameters were first, these many columns follow.
    PreparedColumns(u64),
    End,
}

/// What the next bytes are.
#[derive(Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// So many bytes belong to the reply, and may be forwarded unseen.
    Pass(usize),
    /// One whole packet of so many bytes, header and all.
    Packet(usize, Ending<'a>),
    /// More bytes are needed.
    NeedMore,
}

/// A packet that has to be looked at.
#[derive(Debug, PartialEq, Eq)]
pub enum Ending<'a> {
    /// A statement's OK, or a result set's end from a server that deprecates EOF.
    Ok(OkPacket<'a>),
    /// A result set's end.
    Eof(EofPacket),
    /// An error ends the reply.
    Err(ErrPacket<'a>),
    /// COM_STMT_PREPARE's OK.
    Prepared(crate::stmt::PrepareOk),
    /// The server asks for a file.
    LocalInfile,
}

/// Follows one reply.
#[derive(Debug, Clone)]
pub struct ReplyTracker {
    state: State,
    capabilities: Capabilities,
    /// Payload bytes of the current frame that are still to pass, header already passed.
    skip: usize,
    /// The current frame is continued by the next one, whose payload passes too.
    continued: bool,
    rows: u64,
    status: StatusFlags,
    /// The rows are OUT parameters: MySQL says before them that a result follows, and not after them.
    out_params: bool,
    /// The command asked for a cursor.
    cursor: bool,
    /// Parameters may be fewer than are counted.
    undefined_parameters: bool,
}

impl ReplyTracker {
    /// Expects a reply of `kind` from a server with which `capabilities` were negotiated.
    pub fn new(kind: ReplyKind, capabilities: Capabilities) -> Self {
        let state = match kind {
            ReplyKind::Results | ReplyKind::Cursor => State::First,
            ReplyKind::Prepare | ReplyKind::MysqlPrepare => State::PrepareFirst,
            ReplyKind::Rows => State::Rows,
            ReplyKind::Text => State::LastText,
        };
        ReplyTracker {
            state,
            capabilities,
            skip: 0,
            continued: false,
            rows: 0,
            status: StatusFlags::empty(),
            out_params: false,
            cursor: kind == ReplyKind::Cursor,
            undefined_parameters: kind == ReplyKind::MysqlPrepare,
        }
    }

    /// Whether the whole reply has been seen.
    pub fn is_done(&self) -> bool {
        self.state == State::Done && self.skip == 0 && !self.continued
    }

    /// Rows of the latest result set.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The status flags that came last.
    pub fn status(&self) -> StatusFlags {
        self.status
    }

    fn deprecates_eof(&self) -> bool {
        self.capabilities.contains(Capabilities::DEPRECATE_EOF)
    }

    /// Looks at the next bytes of the reply. The caller takes the bytes that an event names off the front before
    /// it calls again. Errors mean that the server does not speak the protocol: the connection is of no more use.
    pub fn advance<'a>(&mut self, input: &'a [u8]) -> Result<Event<'a>, Malformed> {
        let mut passed = 0;
        loop {
            if self.state == State::Rows && self.skip == 0 && !self.continued {
                passed += self.pass_whole_rows(&input[passed..]);
            }
            let rest = &input[passed..];
            if self.skip > 0 {
                let n = self.skip.min(rest.len());
                self.skip -= n;
                passed += n;
                if n == 0 || self.skip > 0 {
                    break;
                }
                continue;
            }
            let Some(header) = Header::peek(rest) else { break };
            if self.continued {
                self.skip = header.len;
                self.continued = header.len == MAX_FRAME;
                passed += HEADER;
                continue;
            }
            if self.state == State::Done {
                break;
            }
            if header.len == 0 {
                return Err(Malformed("an empty packet in a reply"));
            }
            let Some(&first) = rest.get(HEADER) else { break };
            if self.is_whole_packet(header, first) {
                if passed > 0 {
                    break;
                }
                return self.whole_packet(header, rest);
            }
            self.pass_packet();
            self.skip = header.len;
            self.continued = header.len == MAX_FRAME;
            passed += HEADER;
        }
        Ok(if passed > 0 { Event::Pass(passed) } else { Event::NeedMore })
    }

    /// The length of the rows that the input begins with, as far as each is whole and one packet. What has many rows spends its time here.
    fn pass_whole_rows(&mut self, input: &[u8]) -> usize {
        let mut rest = input;
        while let [low, middle, high, _, first, ..] = *rest {
            let len = usize::from(low) | usize::from(middle) << 8 | usize::from(high) << 16;
            let Some(after) = rest.get(HEADER + len..) else { break };
            if len == 0 || len == MAX_FRAME || first >= 0xfe {
                break;
            }
            self.rows += 1;
            rest = after;
        }
        input.len() - rest.len()
    }

    /// Whether this packet has to be seen whole before the state can change.
    fn is_whole_packet(&self, header: Header, first: u8) -> bool {
        match self.state {
            State::First | State::PrepareFirst | State::ColumnsEof { .. } => true,
            State::Rows => (first == 0xfe || first == 0xff) && header.len < MAX_FRAME,
            State::Columns { .. } if first == 0xff => true,
            State::Columns { after: AfterColumns::PreparedColumns(_), .. } if self.undefined_parameters => {
                self.deprecates_eof() || is_eof(header, first)
            }
            State::LastText => first == 0xff,
            State::Columns { .. } | State::Infile | State::Done => false,
        }
    }

    /// One packet that passes unseen.
    fn pass_packet(&mut self) {
        match &mut self.state {
            State::Rows => self.rows += 1,
            State::Columns { left, after } => {
                *left -= 1;
                if *left == 0 {
                    let after = *after;
                    self.state =
                        if self.deprecates_eof() { self.after_columns(after) } else { State::ColumnsEof { after } };
                }
            }
            State::LastText => self.state = State::Done,
            _ => {}
        }
    }

    fn after_columns(&self, after: AfterColumns) -> State {
        match after {
            AfterColumns::Rows => State::Rows,
            AfterColumns::PreparedColumns(0) | AfterColumns::End => State::Done,
            AfterColumns::PreparedColumns(left) => State::Columns { left, after: AfterColumns::End },
        }
    }

    fn whole_packet<'a>(&mut self, header: Header, rest: &'a [u8]) -> Result<Event<'a>, Malformed> {
        if header.len == MAX_FRAME {
            return Err(Malformed("a packet that ends a result is too long"));
        }
        let len = HEADER + header.len;
        let Some(payload) = rest.get(HEADER..len) else { return Ok(Event::NeedMore) };
        if payload[0] == 0xff {
            let err = ErrPacket::parse(payload)?;
            self.state = State::Done;
            return Ok(Event::Packet(len, Ending::Err(err)));
        }
        match self.state {
            State::First => self.first_packet(len, payload),
            State::PrepareFirst => self.prepare_packet(len, payload),
            // The count of a prepared statement's columns has 16 bits, and both servers prepare a SELECT with more.
            State::ColumnsEof { after: AfterColumns::End } if !is_eof(header, payload[0]) => Ok(Event::Pass(len)),
            State::ColumnsEof { after } => {
                let eof = EofPacket::parse(payload)?;
                self.status = eof.status;
                self.out_params = eof.status.contains(StatusFlags::PS_OUT_PARAMS | StatusFlags::MORE_RESULTS_EXISTS);
                self.state = self.after_columns(after);
                if after == AfterColumns::Rows && self.is_cursor(eof.status) {
                    self.state = State::Done;
                    return Ok(Event::Packet(len, Ending::Eof(eof)));
                }
                Ok(Event::Pass(len))
            }
            State::Columns { after, .. } if is_eof(header, payload[0]) => {
                self.state = self.after_columns(after);
                Ok(Event::Pass(len))
            }
            State::Columns { after: AfterColumns::PreparedColumns(columns), .. } => {
                if columns > 0 && !is_of_parameter(payload)? {
                    self.state = State::Columns { left: columns, after: AfterColumns::End };
                }
                self.pass_packet();
                Ok(Event::Pass(len))
            }
            _ => self.end_of_rows(len, payload),
        }
    }

    fn first_packet<'a>(&mut self, len: usize, payload: &'a [u8]) -> Result<Event<'a>, Malformed> {
        match payload[0] {
            0x00 => {
                let ok = OkPacket::parse(payload, self.capabilities)?;
                self.end_result(ok.status);
                Ok(Event::Packet(len, Ending::Ok(ok)))
            }
            0xfb => {
                self.state = State::Infile;
                Ok(Event::Packet(len, Ending::LocalInfile))
            }
            _ => {
                let left = Reader::new(payload).lenenc("column count")?;
                // MariaDB answers a SELECT without a table with more than 65,535 columns. The count only counts down.
                if left == 0 || left > u64::from(u32::MAX) {
                    return Err(Malformed("column count"));
                }
                self.rows = 0;
                self.state = State::Columns { left, after: AfterColumns::Rows };
                Ok(Event::Pass(len))
            }
        }
    }

    /// Whether the end of the columns is the end of the reply, because the rows wait for COM_STMT_FETCH. The flag alone
    /// doesn't say so: a routine's own open cursor raises it on each result that the routine sends, rows and all. Those are
    /// followed by the routine's OK, and what has a cursor is the only result of its command.
    fn is_cursor(&self, status: StatusFlags) -> bool {
        self.cursor
            && status & (StatusFlags::CURSOR_EXISTS | StatusFlags::MORE_RESULTS_EXISTS) == StatusFlags::CURSOR_EXISTS
    }

    fn prepare_packet<'a>(&mut self, len: usize, payload: &'a [u8]) -> Result<Event<'a>, Malformed> {
        if payload.len() < crate::stmt::PrepareOk::SHORTEST {
            // MySQL 9 answers so to the PREPARE of some statements (SET GLOBAL max_connections): nothing is prepared.
            let ok = OkPacket::parse(payload, self.capabilities)?;
            self.end_result(ok.status);
            return Ok(Event::Packet(len, Ending::Ok(ok)));
        }
        let ok = crate::stmt::PrepareOk::parse(payload)?;
        self.state = match (u64::from(ok.params), u64::from(ok.columns)) {
            (0, 0) => State::Done,
            (0, left) => State::Columns { left, after: AfterColumns::End },
            (left, columns) => State::Columns { left, after: AfterColumns::PreparedColumns(columns) },
        };
        Ok(Event::Packet(len, Ending::Prepared(ok)))
    }

    fn end_of_rows<'a>(&mut self, len: usize, payload: &'a [u8]) -> Result<Event<'a>, Malformed> {
        // Also a server that deprecates EOF may send one: after rows that an error has cut off and a handler has caught.
        let ending = if self.deprecates_eof() && payload.len() != EofPacket::LENGTH {
            let ok = OkPacket::parse(payload, self.capabilities)?;
            self.end_result(ok.status);
            Ending::Ok(ok)
        } else {
            let eof = EofPacket::parse(payload)?;
            self.end_result(eof.status);
            if std::mem::take(&mut self.out_params) {
                self.state = State::First;
            }
            Ending::Eof(eof)
        };
        Ok(Event::Packet(len, ending))
    }

    fn end_result(&mut self, status: StatusFlags) {
        self.status = status;
        self.state = if status.contains(StatusFlags::MORE_RESULTS_EXISTS) { State::First } else { State::Done };
    }

    /// The file has been sent: OK or ERR comes next. Has an effect only after [`Ending::LocalInfile`].
    pub fn infile_sent(&mut self) {
        if self.state == State::Infile {
            self.state = State::First;
        }
    }
}

fn is_eof(header: Header, first: u8) -> bool {
    first == 0xfe && header.len == EofPacket::LENGTH
}

/// Whether a definition is a parameter's, and not a column's, on MySQL.
fn is_of_parameter(definition: &[u8]) -> Result<bool, Malformed> {
    let mut reader = Reader::new(definition);
    for part in ["catalog", "database", "table", "original table"] {
        reader.lenenc_bytes(part)?;
    }
    Ok(reader.lenenc_bytes("name")? == b"?")
}

#[cfg(test)]
mod tests;
