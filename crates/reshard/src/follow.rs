//! Reading a source's binary log: which keys each transaction has changed.
//!
//! What must always hold: groups are told in the order of the log, each once it has committed. Rows of a prepared branch are told when it
//! commits, however much later. Memory is bounded: by what waits in the channel, and by [`KeyLog`].

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use weir_catalog::ShardId;
use weir_wire::Failure;

use crate::definition::{Touch, touches};
use crate::form::Form;
use crate::keylog::KeyLog;
use crate::link::Link;
use crate::position::Position;
use crate::{MoveError, Trouble};
use weir_wire::binlog::{BinlogError, Decoder, Event, Gtid, Header, Rows, Watched, Xid};

/// Groups that wait to be applied.
const GROUPS: usize = 512;
/// Bytes of their keys that are in memory.
const BYTES: usize = 8 * 1024 * 1024;

/// A transaction, or something else that the position goes over.
#[derive(Debug)]
pub(crate) struct Group {
    /// The keys of rows that it changed.
    pub(crate) keys: KeyLog,
    /// Where it ends.
    pub(crate) file: Arc<str>,
    /// See `file`.
    pub(crate) offset: u64,
    /// Its GTID.
    pub(crate) gtid: Option<String>,
    /// When it was made; 0 if nothing waits behind it.
    pub(crate) timestamp: u32,
    /// What it is for a distributed transaction.
    pub(crate) branch: Branch,
    _room: Option<OwnedSemaphorePermit>,
}

/// What a group is for a branch of a distributed transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Branch {
    /// Nothing.
    None,
    /// It is prepared: its keys come later.
    Prepared(Xid),
    /// It has committed.
    Committed(Xid),
    /// It has been rolled back.
    RolledBack(Xid),
}

/// What is followed.
#[derive(Debug, Clone)]
pub(crate) struct Followed {
    pub(crate) shard: ShardId,
    /// The tables, as the log names them.
    pub(crate) watched: Vec<Watched>,
    /// Their forms, in the same order.
    pub(crate) forms: Vec<Arc<Form>>,
    pub(crate) ignore_case: bool,
    pub(crate) checksums: bool,
}

/// A stream that is being read.
pub(crate) struct Follower {
    link: Link,
    decoder: Decoder,
    state: State,
    room: Arc<Semaphore>,
}

/// What is known between two events.
struct State {
    followed: Followed,
    file: Arc<str>,
    offset: u64,
    open: Option<Open>,
    prepared: HashMap<Xid, KeyLog>,
    /// What the event at hand has ended.
    ended: Vec<Group>,
}

/// A group that has begun.
struct Open {
    gtid: Gtid,
    /// A commit will follow.
    transaction: bool,
    keys: KeyLog,
}

impl Follower {
    /// Begins to read behind a position, on a connection that is used for nothing else.
    pub(crate) async fn begin(
        mut link: Link,
        from: &Position,
        server: &str,
        followed: Followed,
    ) -> Result<Follower, MoveError> {
        let shard = followed.shard;
        let failed = |failure: Failure| MoveError::of_source(shard, failure);
        for text in settings(&followed) {
            link.run(text.as_bytes()).await.map_err(failed)?;
        }
        // A server ends an older stream of the same id. That of a connection is no other's on this server.
        let id = 0x8000_0000 | link.thread_id;
        let by_file = from.server == server;
        let command = match (by_file, link.mariadb) {
            (true, _) => dump(&from.file, from.offset, id),
            (false, _) if from.gtids.is_empty() => return Err(other_server(shard)),
            (false, true) => {
                for (name, value) in [("slave_connect_state", &*from.gtids), ("slave_gtid_strict_mode", "0")] {
                    link.run(format!("SET @{name}='{value}'").as_bytes()).await.map_err(failed)?;
                }
                dump("", 4, id)
            }
            (false, false) => dump_gtids(&from.gtids, id).ok_or_else(|| other_server(shard))?,
        };
        link.send_command(&command).await.map_err(failed)?;
        link.expect_reply();
        let decoder = Decoder::new(followed.watched.clone(), followed.ignore_case, followed.checksums);
        let (file, offset) = if by_file { (&*from.file, from.offset) } else { ("", 0) };
        let (open, prepared, ended) = (None, HashMap::new(), Vec::new());
        let state = State { followed, file: file.into(), offset, open, prepared, ended };
        Ok(Follower { link, decoder, state, room: Arc::new(Semaphore::new(BYTES)) })
    }

    /// The channel for its groups.
    pub(crate) fn channel() -> (mpsc::Sender<Group>, mpsc::Receiver<Group>) {
        mpsc::channel(GROUPS)
    }

    /// Reads, until nobody wants groups any more.
    ///
    /// # Errors
    /// What ends the stream.
    pub(crate) async fn run(mut self, groups: mpsc::Sender<Group>) -> Result<(), MoveError> {
        let shard = self.state.followed.shard;
        loop {
            let event = self.link.next_event().await.map_err(|failure| MoveError::of_source(shard, failure))?;
            let State { offset, .. } = &mut self.state;
            let header = Header::parse(event).map_err(|error| unreadable(shard, &error))?;
            if header.is_logged() {
                *offset = u64::from(header.end);
            }
            let state = &mut self.state;
            self.decoder
                .decode(event, &mut |header, event| state.take(header, event))
                .map_err(|stop| stop.error(shard))?;
            for mut group in std::mem::take(&mut self.state.ended) {
                let bytes = u32::try_from(group.keys.bytes().min(BYTES)).unwrap_or(0);
                let room = self.room.clone().acquire_many_owned(bytes).await;
                group._room = room.ok().filter(|_| bytes > 0);
                if groups.send(group).await.is_err() {
                    return Ok(());
                }
            }
        }
    }
}

impl State {
    /// Takes an event.
    fn take(&mut self, header: &Header, event: Event<'_>) -> Result<(), Stop> {
        match event {
            Event::Rotate { file, position } => {
                self.file = String::from_utf8_lossy(file).into();
                self.offset = position;
                self.pass(0);
            }
            Event::Heartbeat => {
                // It says where the log ends, all of which was sent.
                if self.open.is_none() {
                    self.offset = self.offset.max(u64::from(header.end));
                }
                self.pass(0);
            }
            Event::Gtid(gtid) => {
                // One that has had no end of its own has ended.
                self.end(header, Branch::None);
                let transaction = gtid.standalone == Some(false);
                self.open = Some(Open { gtid, transaction, keys: KeyLog::default() });
            }
            Event::Query { database, text } => self.query(header, database, text)?,
            Event::Rows(rows) => self.rows(&rows)?,
            Event::Commit => self.end(header, Branch::None),
            Event::Prepare { one_phase: true, .. } => self.end(header, Branch::None),
            Event::Prepare { xid, .. } => {
                let keys = self.open.as_mut().map(|open| std::mem::take(&mut open.keys)).unwrap_or_default();
                self.prepared.insert(xid.clone(), keys);
                self.end(header, Branch::Prepared(xid));
            }
            Event::Other if self.open.is_none() && header.is_logged() => self.pass(header.timestamp),
            Event::Other => {}
        }
        Ok(())
    }

    fn query(&mut self, header: &Header, database: &[u8], text: &[u8]) -> Result<(), Stop> {
        let begins =
            |words: &str| text.len() >= words.len() && text[..words.len()].eq_ignore_ascii_case(words.as_bytes());
        if begins("BEGIN") || begins("XA START") || begins("XA BEGIN") {
            self.open.get_or_insert_with(Open::anonymous).transaction = true;
        } else if begins("COMMIT") {
            self.end(header, Branch::None);
        } else if begins("SAVEPOINT") || begins("ROLLBACK TO") || begins("RELEASE") || begins("XA END") {
            // It goes on.
        } else if begins("ROLLBACK") {
            // What could not be rolled back was logged.
            self.end(header, Branch::None);
        } else if begins("XA COMMIT") || begins("XA ROLLBACK") {
            let name = String::from_utf8_lossy(text);
            let name = name.split_once(' ').and_then(|(_, rest)| rest.split_once(' ')).map_or("", |(_, name)| name);
            let xid = Xid::parse(name.split(" ONE").next().unwrap_or(name));
            let xid = xid.ok_or(Stop::Unreadable(BinlogError::Malformed("name of a branch")))?;
            let keys = self.prepared.remove(&xid).unwrap_or_default();
            let committed = begins("XA COMMIT");
            if committed {
                self.open.get_or_insert_with(Open::anonymous).keys = keys;
            }
            self.end(header, if committed { Branch::Committed(xid) } else { Branch::RolledBack(xid) });
        } else {
            if let Some((table, touch)) = touches(text, database, &self.followed.watched) {
                let Watched { schema, table } = &self.followed.watched[table];
                return Err(Stop::Touched(touch, format!("{schema}.{table}")));
            }
            if self.open.as_ref().is_none_or(|open| !open.transaction) {
                self.end(header, Branch::None);
            }
        }
        Ok(())
    }

    fn rows(&mut self, rows: &Rows<'_>) -> Result<(), Stop> {
        let form = &self.followed.forms[rows.watched];
        let table = rows.watched as u16;
        let keys = &mut self.open.get_or_insert_with(Open::anonymous).keys;
        let mut key = Vec::new();
        rows.keys(&form.key_places, |image| {
            key.clear();
            for (column, (field, value)) in form.key_columns.iter().zip(image) {
                if !key.is_empty() {
                    key.push(b',');
                }
                let value = value.ok_or(Stop::Unreadable(BinlogError::Malformed("NULL in a key")))?;
                crate::logged::put(&mut key, column, field, value).map_err(Stop::Unreadable)?;
            }
            keys.push(table, &key).map_err(Stop::NoRoom)
        })
    }

    /// The group at hand ends with this event.
    fn end(&mut self, header: &Header, branch: Branch) {
        if let Some(open) = self.open.take() {
            self.tell(open.keys, open.gtid.text, header.timestamp, branch);
        } else if branch != Branch::None {
            self.tell(KeyLog::default(), None, header.timestamp, branch);
        }
    }

    /// The position has gone on, outside of groups.
    fn pass(&mut self, timestamp: u32) {
        if self.open.is_none() {
            self.tell(KeyLog::default(), None, timestamp, Branch::None);
        }
    }

    fn tell(&mut self, keys: KeyLog, gtid: Option<String>, timestamp: u32, branch: Branch) {
        let (file, offset) = (self.file.clone(), self.offset);
        self.ended.push(Group { keys, file, offset, gtid, timestamp, branch, _room: None });
    }
}

impl Open {
    fn anonymous() -> Open {
        Open { gtid: Gtid { text: None, standalone: None }, transaction: false, keys: KeyLog::default() }
    }
}

/// What ends the reading of events.
enum Stop {
    Unreadable(BinlogError),
    NoRoom(std::io::Error),
    Touched(Touch, String),
}

impl From<BinlogError> for Stop {
    fn from(error: BinlogError) -> Stop {
        Stop::Unreadable(error)
    }
}

impl Stop {
    fn error(self, shard: ShardId) -> MoveError {
        match self {
            Stop::Unreadable(error) => unreadable(shard, &error),
            Stop::NoRoom(error) => no_room(&error),
            Stop::Touched(Touch::Definition, table) => MoveError::new(
                Trouble::TableChanged(shard),
                format!(
                    "Table {table} was changed by a definition while its rows were moved: cancel the move and begin it anew"
                ),
            ),
            Stop::Touched(Touch::Rows, table) => MoveError::new(
                Trouble::NotLoggedAsRows(shard),
                format!(
                    "A statement on table {table} was not logged as rows, by a session with another binlog_format: cancel the move and begin \
                     it anew"
                ),
            ),
        }
    }
}

/// A large transaction's keys can't be kept.
pub(crate) fn no_room(error: &std::io::Error) -> MoveError {
    let message =
        format!("The keys of a large transaction can't be kept in a temporary file: {error}; make room for it");
    MoveError { resumable: true, ..MoveError::internal(message) }
}

fn unreadable(shard: ShardId, error: &BinlogError) -> MoveError {
    let trouble = match error {
        BinlogError::OtherColumns => Trouble::TableChanged(shard),
        BinlogError::KeyMissing => Trouble::NotLoggedAsRows(shard),
        _ => Trouble::Internal,
    };
    MoveError::new(trouble, error.to_string())
}

fn other_server(shard: ShardId) -> MoveError {
    let message = "The source is another server now, and without GTIDs there is no way to find the position in its binary log: cancel the \
                   move and begin it anew";
    MoveError::new(Trouble::LogsPurged(shard), message)
}

/// What a server must know of who reads its log. Each kind takes the variables of the other for user variables without a meaning.
fn settings(followed: &Followed) -> Vec<String> {
    let checksum = if followed.checksums { "CRC32" } else { "NONE" };
    // Nanoseconds.
    let heartbeat = 250_000_000_u64;
    vec![
        format!("SET @master_binlog_checksum='{checksum}', @source_binlog_checksum='{checksum}'"),
        format!("SET @master_heartbeat_period={heartbeat}, @source_heartbeat_period={heartbeat}"),
        // MariaDB: GTIDs and annotated rows are understood.
        "SET @mariadb_slave_capability=4".to_owned(),
    ]
}

/// COM_BINLOG_DUMP.
fn dump(file: &str, offset: u64, server_id: u32) -> Vec<u8> {
    let mut out = vec![0x12];
    out.extend_from_slice(&u32::try_from(offset).unwrap_or(u32::MAX).to_le_bytes());
    out.extend_from_slice(&[0, 0]);
    out.extend_from_slice(&server_id.to_le_bytes());
    out.extend_from_slice(file.as_bytes());
    out
}

/// COM_BINLOG_DUMP_GTID: everything but this set. `None` for a set with tags, whose form is another.
fn dump_gtids(gtids: &str, server_id: u32) -> Option<Vec<u8>> {
    /// BINLOG_THROUGH_GTID
    const THROUGH_GTID: u16 = 0x04;
    let mut set = Vec::new();
    let sources: Vec<&str> = gtids.split(',').map(str::trim).filter(|source| !source.is_empty()).collect();
    set.extend_from_slice(&(sources.len() as u64).to_le_bytes());
    for source in sources {
        let mut parts = source.split(':');
        let uuid = weir_wire::binlog::unhex(&parts.next()?.replace('-', "")).filter(|uuid| uuid.len() == 16)?;
        set.extend_from_slice(&uuid);
        let intervals: Vec<&str> = parts.collect();
        set.extend_from_slice(&(intervals.len() as u64).to_le_bytes());
        for interval in intervals {
            let (first, last) = interval.split_once('-').unwrap_or((interval, interval));
            set.extend_from_slice(&first.parse::<u64>().ok()?.to_le_bytes());
            set.extend_from_slice(&last.parse::<u64>().ok()?.checked_add(1)?.to_le_bytes());
        }
    }
    let mut out = vec![0x1e];
    out.extend_from_slice(&THROUGH_GTID.to_le_bytes());
    out.extend_from_slice(&server_id.to_le_bytes());
    out.extend_from_slice(&0_u32.to_le_bytes());
    out.extend_from_slice(&4_u64.to_le_bytes());
    out.extend_from_slice(&u32::try_from(set.len()).ok()?.to_le_bytes());
    out.extend_from_slice(&set);
    Some(out)
}
