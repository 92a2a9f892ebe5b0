//! Cursors that Weir opens: the rows of a query of several shards, or of a text of Weir's own, wait here to be fetched.
//!
//! What must always hold: a client that asks for a cursor is told of one as its server would tell it, or gets all rows at once; the rows
//! that a session has waiting have no more bytes than the bound, and go with the cursor.

use weir_sql::ast::{Query, QueryBody, Show, ShowKind, StatementKind};
use weir_sql::{Diagnostics, TextKind};
use weir_wire::error::codes;
use weir_wire::kept::{KeptRows, Opened, open};
use weir_wire::packets::{EofPacket, OkPacket};
use weir_wire::{Capabilities, Failure, StatusFlags};

use super::super::super::Session;
use super::super::super::stopped::{Stopped, malformed};
use super::super::Statement;
use crate::client::{Excess, FLUSH_AT, Kept};

/// The most bytes of rows that a session has waiting, those of all its cursors.
const MOST_WAITING: usize = 64 << 20;

impl Session {
    /// Runs an execution that asks for a cursor. Its rows are kept if no server keeps them.
    pub(super) async fn run_for_cursor(&mut self, id: u32, statement: &Statement<'_>) -> Result<(), Stopped> {
        if !opens_on_servers(statement) {
            return self.run_statement(statement).await;
        }
        if self.has_sharded_databases() && has_into(statement) {
            let message = "Cursor SELECT must not have INTO";
            return Err(Failure::client(codes::ER_SP_BAD_CURSOR_SELECT, message).into());
        }
        let waiting: usize =
            self.state.statements.values().filter_map(|s| s.waiting.as_ref()).map(KeptRows::size).sum();
        let excess = if self.client.needs_cursors() { Excess::Lost } else { Excess::Sent };
        self.client.begin_capture(MOST_WAITING.saturating_sub(waiting), excess);
        let ran = self.run_statement(statement).await;
        let kept = self.client.end_capture();
        ran?;
        match kept {
            Some(kept) => self.open_cursor(id, &kept, MOST_WAITING.saturating_sub(waiting), excess),
            None if excess == Excess::Lost => Err(too_many_rows().into()),
            None => Ok(()),
        }
    }

    /// Opens a cursor for the rows of a reply, if it has some.
    fn open_cursor(&mut self, id: u32, kept: &Kept, most: usize, excess: Excess) -> Result<(), Stopped> {
        if kept.packets.is_empty() {
            return Ok(());
        }
        match open(&kept.packets, self.client.capabilities).map_err(malformed)? {
            Opened::AsItIs => self.client.put_kept(kept),
            Opened::Failed(error) => self.client.put(&error),
            // A capture looks at its bound only when it would send.
            Opened::Cursor { rows, .. } if rows.size() > most => match excess {
                Excess::Lost => return Err(too_many_rows().into()),
                Excess::Sent => self.client.put_kept(kept),
            },
            Opened::Cursor { head, rows } => {
                self.client.put_packets(&head);
                self.prepared_statement(id, "mysqld_stmt_execute")?.waiting = Some(rows);
            }
        }
        Ok(())
    }

    /// An execution closes the cursor of the one before, as it does on servers. Over shards it may run elsewhere than that did.
    pub(super) fn close_cursor_before(&mut self, id: u32) -> Result<(), Failure> {
        let sharded = self.has_sharded_databases();
        let statement = self.prepared_statement(id, "mysqld_stmt_execute")?;
        statement.waiting = None;
        if !sharded || !statement.cursor || statement.long_data {
            return Ok(());
        }
        statement.cursor = false;
        let key = statement.key.clone();
        if let Some(lease) = &mut self.current.lease {
            lease.close_statement(&key);
        }
        self.state.learn_busy_statements();
        Ok(())
    }

    /// Sends as many of the rows that wait as COM_STMT_FETCH asks for. As on servers the end shows when a row is missing.
    pub(super) async fn fetch_waiting(&mut self, id: u32, count: u32, mut rows: KeptRows) -> Result<(), Stopped> {
        let mut ended = false;
        for _ in 0..count {
            let Some(row) = rows.next_row() else {
                ended = true;
                break;
            };
            self.client.put_packets(row);
            if self.client.output.len() >= FLUSH_AT {
                self.client.flush().await.map_err(|error| Stopped::Ended(error.into()))?;
            }
        }
        let flag = if ended { StatusFlags::LAST_ROW_SENT } else { StatusFlags::CURSOR_EXISTS };
        let status = self.state.own_status() | flag;
        match self.client_has(Capabilities::DEPRECATE_EOF) {
            true => self.client.put_ok(&OkPacket { header: 0xfe, ..OkPacket::plain(status) }),
            false => self.client.put(&EofPacket { warnings: 0, status }.encode()),
        }
        self.state.latest.row_count = -1;
        if !ended {
            self.prepared_statement(id, "mysqld_stmt_fetch")?.waiting = Some(rows);
        }
        Ok(())
    }
}

/// Whether servers open cursors for such statements: for queries, and for what they make a query of `information_schema` of. To others they
/// answer with all rows at once.
fn opens_on_servers(statement: &Statement<'_>) -> bool {
    match statement.class.kind {
        TextKind::Select => return true,
        TextKind::ShowWarnings(asked) => {
            return matches!(asked, Diagnostics::CountWarnings | Diagnostics::CountErrors);
        }
        TextKind::Other => {}
        _ => return false,
    }
    match statement.only().map(|only| only.kind) {
        Some(StatementKind::Query(_) | StatementKind::DescribeTable(_)) => true,
        Some(StatementKind::Show(show)) => is_of_information_schema(show),
        _ => false,
    }
}

/// Tried on MariaDB 10.11 and MySQL 9.7.
fn is_of_information_schema(show: &Show<'_>) -> bool {
    matches!(
        show.kind,
        ShowKind::Tables(_)
            | ShowKind::TableStatus(_)
            | ShowKind::OpenTables(_)
            | ShowKind::Triggers(_)
            | ShowKind::Events(_)
            | ShowKind::Columns(_)
            | ShowKind::Index(_)
            | ShowKind::Databases
            | ShowKind::Variables(_)
            | ShowKind::Status(_)
            | ShowKind::Engines
            | ShowKind::Plugins
            | ShowKind::Profile(_)
            | ShowKind::RoutineStatus(_)
            | ShowKind::CharacterSets
            | ShowKind::Collations
            | ShowKind::Other(_)
    )
}

/// Whether a query puts its rows into variables or a file.
fn has_into(statement: &Statement<'_>) -> bool {
    match statement.only().map(|only| only.kind) {
        Some(StatementKind::Query(query)) => query_has_into(query),
        _ => false,
    }
}

fn query_has_into(query: &Query<'_>) -> bool {
    query.into.is_some()
        || match query.body {
            QueryBody::Select(select) => select.into.is_some(),
            QueryBody::Nested(query) => query_has_into(query),
            _ => false,
        }
}

fn too_many_rows() -> Failure {
    let message = format!(
        "The rows of this cursor, with those of the session's other cursors, are more than {} MiB: close cursors that are not needed, \
         execute the statement without a cursor, or read fewer rows at a time",
        MOST_WAITING >> 20
    );
    Failure::client(codes::ER_OUT_OF_SORTMEMORY, message)
}
