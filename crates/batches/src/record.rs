//! What is kept of a batch on the home shard, in `weir.batches`.
//!
//! What must always hold: `done_key` and `parts` are written by the transactions of the parts alone, through the procedure; the rest by
//! Weir's own account. Whoever knows no token of a run can't record a part.

use weir_backend::OwnReply;
use weir_shards::own::{number, quoted, text};
use weir_wire::error::codes;

/// How long the record of a batch that has ended stays, in days.
const KEEP_DAYS: u32 = 7;

/// The table and the procedure, each with the statement that makes it.
pub(crate) const OBJECTS: [&str; 3] = [
    "CREATE DATABASE IF NOT EXISTS weir DEFAULT CHARACTER SET utf8mb4",
    "CREATE TABLE IF NOT EXISTS weir.batches (
        id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
        user VARCHAR(255) COLLATE utf8mb4_bin NOT NULL,
        statement LONGBLOB NOT NULL COMMENT 'As its client has sent it',
        settings TEXT COLLATE utf8mb4_bin NOT NULL COMMENT 'The session settings that it runs with',
        table_name VARCHAR(255) COLLATE utf8mb4_bin NOT NULL,
        column_name VARCHAR(64) COLLATE utf8mb4_bin NOT NULL,
        clock VARCHAR(32) NOT NULL COMMENT 'NOW() for all parts, as a timestamp',
        last_key VARCHAR(64) NOT NULL COMMENT 'The last key of all',
        done_key VARCHAR(64) NULL COMMENT 'The last key that is done',
        parts BIGINT UNSIGNED NOT NULL DEFAULT 0,
        changed BIGINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'While it runs: before the latest part',
        token VARCHAR(32) NOT NULL COMMENT 'Whoever records a part knows it',
        state ENUM('running', 'failed', 'finished', 'cancelled') NOT NULL DEFAULT 'running',
        error TEXT NULL,
        begun DATETIME NOT NULL COMMENT 'UTC'
    ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COMMENT='Large writes in parts'",
    "CREATE PROCEDURE IF NOT EXISTS weir.batch_done (IN batch BIGINT UNSIGNED, IN run VARCHAR(32), IN upto VARCHAR(64), IN total BIGINT UNSIGNED)
        MODIFIES SQL DATA SQL SECURITY DEFINER
        COMMENT 'Called by the transactions of a batch'
        BEGIN
            UPDATE weir.batches SET done_key = upto, parts = parts + 1, changed = total
                WHERE id = batch AND token = run AND state = 'running';
            IF ROW_COUNT() = 0 THEN
                SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'Another session runs this batch, or it was cancelled';
            END IF;
        END",
];

/// Where a batch stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// A session runs it, or has died while it did.
    Running,
    /// A part has failed.
    Failed,
    /// All parts are done.
    Finished,
    /// It was given up.
    Cancelled,
}

impl State {
    fn of(word: &str) -> State {
        match word {
            "failed" => State::Failed,
            "finished" => State::Finished,
            "cancelled" => State::Cancelled,
            _ => State::Running,
        }
    }
}

/// A batch that begins.
#[derive(Debug, Clone)]
pub struct NewBatch {
    /// Whose it is.
    pub user: String,
    /// The whole text, BATCH included.
    pub statement: Vec<u8>,
    /// The session's settings that it runs with.
    pub settings: String,
    /// The table whose rows are split.
    pub table: String,
    /// The column along which they are.
    pub column: String,
    /// The time for all parts, as a `timestamp`.
    pub clock: String,
    /// The last key of all.
    pub last: String,
}

/// What is known of a batch.
#[derive(Debug, Clone)]
pub struct Record {
    /// Its number.
    pub id: u64,
    /// As it began.
    pub batch: NewBatch,
    /// The last key that is done.
    pub done: Option<String>,
    /// Parts that are done.
    pub parts: u64,
    /// Rows that they have changed, as the server counts them; without those of the latest part, if a session died behind it.
    pub changed: u64,
    /// Where it stands.
    pub state: State,
    /// Why it has failed.
    pub error: Option<String>,
    /// When it began.
    pub begun: String,
}

/// The statement that a part's transaction begins with. `changed`: the rows that the parts before have changed.
pub(crate) fn done(id: u64, token: &str, key: &str, changed: u64) -> String {
    format!("CALL weir.batch_done({id}, {}, {}, {changed})", quoted(token), quoted(key))
}

pub(crate) fn insert(batch: &NewBatch, token: &str) -> String {
    let NewBatch { user, statement, settings, table, column, clock, last } = batch;
    let hex: String = statement.iter().map(|byte| format!("{byte:02x}")).collect();
    let values = [user, settings, table, column, clock, last].map(|value| quoted(value));
    let [user, settings, table, column, clock, last] = values;
    format!(
        "INSERT INTO weir.batches (user, statement, settings, table_name, column_name, clock, last_key, token, begun) \
         VALUES ({user}, x'{hex}', {settings}, {table}, {column}, {clock}, {last}, {}, UTC_TIMESTAMP())",
        quoted(token)
    )
}

const COLUMNS: &str = "id, user, statement, settings, table_name, column_name, clock, last_key, done_key, parts, changed, state, error, begun";

/// All, or one.
pub(crate) fn select(id: Option<u64>) -> String {
    let one = id.map(|id| format!(" WHERE id = {id}")).unwrap_or_default();
    format!("SELECT {COLUMNS} FROM weir.batches{one} ORDER BY id")
}

pub(crate) fn read(reply: OwnReply) -> Vec<Record> {
    let record = |row: Vec<Option<Vec<u8>>>| {
        let column = |at: usize| text(row.get(at));
        let some = |at: usize| row.get(at).and_then(Option::as_ref).map(|_| column(at));
        Some(Record {
            id: number(row.first())?,
            batch: NewBatch {
                user: column(1),
                statement: row.get(2).cloned().flatten().unwrap_or_default(),
                settings: column(3),
                table: column(4),
                column: column(5),
                clock: column(6),
                last: column(7),
            },
            done: some(8),
            parts: number(row.get(9)).unwrap_or(0),
            changed: number(row.get(10)).unwrap_or(0),
            state: State::of(&column(11)),
            error: some(12),
            begun: column(13),
        })
    };
    reply.rows.into_iter().filter_map(record).collect()
}

/// Gives a batch to a new run. A part that is still being done is waited for.
pub(crate) fn take(id: u64, token: &str) -> String {
    format!(
        "UPDATE weir.batches SET token = {}, state = 'running', error = NULL WHERE id = {id} AND state IN ('running', 'failed')",
        quoted(token)
    )
}

/// The run with this token has ended. `changed`: the rows that all parts have changed.
pub(crate) fn end(id: u64, token: &str, changed: u64, state: &str, error: Option<&str>) -> String {
    let error = error.map_or("NULL".to_owned(), quoted);
    let token = quoted(token);
    format!(
        "UPDATE weir.batches SET state = '{state}', changed = {changed}, error = {error} WHERE id = {id} AND state = 'running' AND token = {token}"
    )
}

/// A batch that no session runs is given up.
pub(crate) fn cancel(id: u64) -> String {
    format!("UPDATE weir.batches SET state = 'cancelled' WHERE id = {id} AND state IN ('running', 'failed')")
}

/// Removes records of batches that have ended long ago.
pub(crate) fn clean() -> String {
    format!(
        "DELETE FROM weir.batches WHERE state IN ('finished', 'cancelled') AND begun < UTC_TIMESTAMP() - INTERVAL {KEEP_DAYS} DAY"
    )
}

/// Lets an account record parts. `current_user` as `CURRENT_USER()` says it.
pub(crate) fn allow(current_user: &str) -> String {
    let (user, host) = current_user.rsplit_once('@').unwrap_or((current_user, "%"));
    format!("GRANT EXECUTE ON PROCEDURE weir.batch_done TO {}@{}", quoted(user), quoted(host))
}

/// Whether a server's error is that the table is not there.
pub(crate) fn is_missing(code: u16) -> bool {
    code == codes::ER_NO_SUCH_TABLE || code == codes::ER_BAD_DB_ERROR
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_literals() {
        assert_eq!(done(3, "ab", "-5", 7), "CALL weir.batch_done(3, 'ab', '-5', 7)");
        assert_eq!(allow("o'neil@10.0.0.1"), "GRANT EXECUTE ON PROCEDURE weir.batch_done TO 'o''neil'@'10.0.0.1'");
        assert_eq!(
            end(3, "ab", 9, "failed", Some("it's")),
            "UPDATE weir.batches SET state = 'failed', changed = 9, error = 'it''s' WHERE id = 3 AND state = 'running' AND token = 'ab'"
        );
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let cell = |text: &str| Some(text.as_bytes().to_vec());
        let row = ["7", "app", "BATCH", "db=d", "t", "id", "1.5", "99"].map(cell);
        let rest = [None, cell("2"), cell("20"), cell("failed"), cell("no"), cell("2026-01-01")];
        let reply = OwnReply { rows: vec![row.into_iter().chain(rest).collect()], ..OwnReply::default() };
        let [record] = &read(reply)[..] else { panic!("one") };
        assert_eq!((record.id, record.parts, record.changed, record.state), (7, 2, 20, State::Failed));
        assert_eq!((record.done.as_deref(), record.batch.last.as_str()), (None, "99"));
    }
}
