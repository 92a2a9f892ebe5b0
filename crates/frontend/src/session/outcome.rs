//! What a reply has said.

use weir_wire::packets::{EofPacket, OkPacket, SessionChange, SessionChanges};
use weir_wire::stmt::PrepareOk;
use weir_wire::{Malformed, StatusFlags};

/// How a reply ended, and what it said of the session.
#[derive(Debug, Default)]
pub(crate) struct ReplyOutcome {
    /// The status flags that came last; an error alone brings none.
    pub(crate) status: Option<StatusFlags>,
    /// Warnings of the last result.
    pub(crate) warnings: u16,
    /// One of its results had some.
    pub(crate) warned: bool,
    /// `ROW_COUNT()` after it.
    pub(crate) row_count: i64,
    /// `FOUND_ROWS()` after it, if it was a result set.
    pub(crate) found_rows: Option<u64>,
    /// The insert id that was told last; 0 if there was none.
    pub(crate) insert_id: u64,
    /// The code and SQLSTATE of the error that ended it.
    pub(crate) error: Option<(u16, [u8; 5])>,
    /// Its message.
    pub(crate) message: Box<[u8]>,
    /// Session variables that changed.
    pub(crate) variables: Vec<(String, String)>,
    /// The default database changed.
    pub(crate) schema: Option<Vec<u8>>,
    /// The server says that something of the session's state changed.
    pub(crate) state_changed: bool,
    /// COM_STMT_PREPARE's answer.
    pub(crate) prepared: Option<PrepareOk>,
    /// Rows sent, over all results.
    pub(crate) rows_sent: u64,
    /// Rows changed, over all results.
    pub(crate) rows_affected: u64,
    /// Bytes of the reply.
    pub(crate) bytes: u64,
    /// A KILL QUERY was sent for it, which may arrive later than its end.
    pub(crate) killed: bool,
    /// The GTIDs of what it committed, as the server told them last.
    pub(crate) gtids: Option<String>,
}

impl ReplyOutcome {
    /// Whether it was a success that left nothing on its connection that the session could ask for.
    pub(crate) fn left_nothing(&self) -> bool {
        let quiet = self.error.is_none() && self.warnings == 0 && self.insert_id == 0;
        quiet && self.variables.is_empty() && self.schema.is_none() && !self.state_changed && self.found_rows.is_some()
    }

    pub(super) fn note_ok(&mut self, ok: &OkPacket<'_>, rows: u64) -> Result<(), Malformed> {
        self.warnings = ok.warnings;
        self.warned |= ok.warnings > 0;
        self.status = Some(ok.status);
        if ok.header == 0xfe {
            self.row_count = -1;
            self.found_rows = Some(rows);
            self.rows_sent += rows;
        } else {
            self.rows_affected = self.rows_affected.saturating_add(ok.affected_rows);
            self.row_count = i64::try_from(ok.affected_rows).unwrap_or(i64::MAX);
            self.found_rows = None;
        }
        if ok.last_insert_id != 0 {
            self.insert_id = ok.last_insert_id;
        }
        for change in SessionChanges::new(ok.changes) {
            match change? {
                SessionChange::Variable { name: b"last_gtid", value } => self.note_gtids(value),
                SessionChange::Gtids(gtids) => self.note_gtids(gtids),
                SessionChange::Variable { name, value } => {
                    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                    self.variables.push((text(name), text(value)));
                }
                SessionChange::Schema(name) => self.schema = Some(name.to_vec()),
                SessionChange::State => self.state_changed = true,
                SessionChange::Other { .. } => {}
            }
        }
        Ok(())
    }

    /// A result set has ended.
    pub(super) fn note_eof(&mut self, eof: &EofPacket, rows: u64) {
        self.warnings = eof.warnings;
        self.warned |= eof.warnings > 0;
        self.status = Some(eof.status);
        self.row_count = -1;
        self.found_rows = Some(rows);
        self.rows_sent += rows;
        self.state_changed |= eof.status.contains(StatusFlags::SESSION_STATE_CHANGED);
    }

    fn note_gtids(&mut self, gtids: &[u8]) {
        if !gtids.is_empty() {
            self.gtids = Some(String::from_utf8_lossy(gtids).into_owned());
        }
    }

    pub(super) fn note_error(&mut self, code: u16, sqlstate: [u8; 5]) {
        self.error = Some((code, sqlstate));
        self.row_count = -1;
        self.found_rows = None;
    }
}
