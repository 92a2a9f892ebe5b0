//! LOAD DATA LOCAL: Weir reads the client's file, and sends each shard its own lines, as that server's client.
//!
//! What must always hold: Weir keeps a line and some buffers in memory at most. It reads the client's file and each shard's reply to their
//! ends, whatever happens. A line goes to one shard (of a GLOBAL table: to all), unchanged or with its AUTO_INCREMENT value inserted.

use bytes::{BytesMut, buf::Buf};
use weir_catalog::{Charset, Constant, Located, ShardId, locate_stored, no_part};
use weir_plan::{FileKey, LoadFile, Write, WriteKind};
use weir_wire::Failure;
use weir_wire::frame::put_packet;
use weir_wire::reply::{ReplyKind, ReplyTracker};

use super::counts::total;
use super::lines::{Field, Lines, NextLine};
use super::returned::Keeper;
use super::send::{self, Done, Replied, Surroundings};
use super::{WriteContext, internal, worst};
use crate::turns::Turns;
use crate::{MultiShardResult, ShardLease};
use weir_shards::Sharding;
use weir_shards::ask::ask;
use weir_shards::sequence::SequenceName;
use weir_wire::error::not_supported;

/// So many bytes go into one packet.
const PACKET: usize = 64 * 1024;
/// The longest line that is read.
const LONGEST: usize = 64 * 1024 * 1024;

/// The client, which has the file.
pub trait Source {
    /// Asks for the file of this name.
    ///
    /// # Errors
    /// When the client is gone.
    fn open(&mut self, name: &[u8]) -> impl Future<Output = Result<(), Failure>>;

    /// The next bytes; none at the end.
    ///
    /// # Errors
    /// When the client is gone.
    fn read(&mut self) -> impl Future<Output = Result<Option<BytesMut>, Failure>>;
}

/// Loads a file. `parts`: those of all shards of the table, in their transaction.
///
/// A server's error is in the outcome.
///
/// # Errors
/// As [`super::run`]; or when the client is gone.
pub async fn load(
    parts: &mut [ShardLease],
    write: &Write,
    session: &WriteContext<'_>,
    sharding: &Sharding,
    source: &mut impl Source,
) -> Result<MultiShardResult, Failure> {
    let WriteKind::Load(file) = &write.kind else {
        return Err(internal("a file was to be loaded by another statement"));
    };
    let charset = charset(parts, file).await?;
    let around = Surroundings::of(parts, write.alike, session, parts.len()).await?;
    let mut loading = Loading::begin(parts, file, &around).await?;
    if !loading.is_wanted() {
        return loading.end(&around, (None, file.copies), None).await;
    }
    source.open(&file.name).await?;
    let name = SequenceName::new(&file.database_name, &file.database, &file.table_name);
    let mut router =
        Router { file, charset, sharding, name, first: None, greatest: 0, raised: 0, line: 0, out: Vec::new() };
    let (refused, ended) = loading.stream(&mut router, source).await;
    if !ended {
        while source.read().await?.is_some() {}
    }
    let refused = match refused {
        None => router.raise().await.err(),
        refused => refused,
    };
    loading.end(&around, (router.first, file.copies), refused).await
}

/// The file's character set.
async fn charset(parts: &mut [ShardLease], file: &LoadFile) -> Result<Charset, Failure> {
    let named = match (&file.charset, parts.first_mut()) {
        (Some(named), _) => named.clone(),
        (None, Some(part)) => {
            send::confirm(part).await?;
            let reply = ask(&mut part.lease, b"SELECT @@character_set_database").await.ok()?;
            let told = reply.rows.into_iter().flatten().next().flatten().unwrap_or_default();
            String::from_utf8_lossy(&told).into_owned()
        }
        (None, None) => return Err(internal("a write had no part")),
    };
    // Any collation of it will do.
    let collation =
        if named == "binary" { "binary".to_owned() } else { format!("{}_bin", named.replace("utf8mb3", "utf8")) };
    Charset::of_collation(&collation).or_else(|| Charset::of_collation(&format!("{named}_bin"))).ok_or_else(|| {
        not_supported(format!(
            "LOAD DATA of a file in {named}, for a table of several shards: Weir reads utf8mb4, utf8mb3, latin1, ascii and binary. Convert \
             the file and say CHARACTER SET"
        ))
    })
}

/// The shards, which take their lines.
struct Loading<'p> {
    parts: &'p mut [ShardLease],
    /// How each of them answers; `Some` if it has already.
    replies: Vec<(ReplyTracker, Option<Replied>)>,
    /// Lines that are not sent yet, and the number of the next packet.
    pending: Vec<(Vec<u8>, u8)>,
    /// The shard that has the latest line.
    latest: Option<ShardId>,
    /// A part was lost.
    lost: Option<Failure>,
    /// A client that sends without end leaves the worker to others between lines.
    turns: Turns,
}

impl<'p> Loading<'p> {
    /// Tells all shards to ask for a file.
    async fn begin(
        parts: &'p mut [ShardLease],
        file: &LoadFile,
        around: &Surroundings,
    ) -> Result<Loading<'p>, Failure> {
        for part in parts.iter_mut() {
            send::confirm(part).await?;
            for text in around.before() {
                send::queue(part, text.as_bytes());
            }
            send::queue(part, &file.text);
        }
        send::flush(parts).await?;
        let mut replies = Vec::with_capacity(parts.len());
        for part in parts.iter_mut() {
            for _ in around.before() {
                send::reply(part).await?.map(drop)?;
            }
            let mut tracker = ReplyTracker::new(ReplyKind::Results, part.lease.capabilities);
            let replied = send::rest_of_reply(part, &mut tracker, &mut Keeper::of_nothing()).await?;
            replies.push((tracker, replied));
        }
        // The server's question was the packet with number 1.
        let pending = parts.iter().map(|_| (Vec::new(), 2)).collect();
        Ok(Loading { parts, replies, pending, latest: None, lost: None, turns: Turns::default() })
    }

    /// Whether all of them want the file.
    fn is_wanted(&self) -> bool {
        self.replies.iter().all(|(_, replied)| replied.is_none())
    }

    /// Sends the client's lines on. Returns why it has stopped before the end, and whether the client's file has been read to its end.
    async fn stream(&mut self, router: &mut Router<'_>, source: &mut impl Source) -> (Option<Failure>, bool) {
        let file = router.file;
        let wanted = file.key.iter().filter_map(|key| match key {
            FileKey::Field(field) => Some(*field),
            FileKey::Generated => None,
        });
        let lines = Lines::new(&file.format, file.fields, wanted.chain(file.generated.flatten()));
        let (mut bytes, mut skip, mut ended) = (BytesMut::new(), file.format.skip, false);
        // Of bytes that no line ends in, only new ones are worth another look once there are twice as many.
        let mut enough = 0;
        while !ended {
            match source.read().await {
                Ok(Some(more)) => bytes.extend_from_slice(&more),
                Ok(None) => ended = true,
                Err(failure) => return (Some(failure), true),
            }
            if bytes.len() < enough && !ended {
                continue;
            }
            let read = self.lines(router, &lines, &mut bytes, &mut skip, ended).await;
            let sent = match read {
                Ok(()) if bytes.len() > LONGEST => Err(not_supported("LOAD DATA: a line of the file is too long")),
                Ok(()) => self.send(false).await,
                Err(failure) => Err(failure),
            };
            if let Err(failure) = sent {
                return (Some(failure), ended);
            }
            enough = bytes.len() * 2;
        }
        (self.send(true).await.err(), true)
    }

    /// Takes all whole lines from the beginning of these bytes.
    async fn lines(
        &mut self,
        router: &mut Router<'_>,
        lines: &Lines<'_>,
        bytes: &mut BytesMut,
        skip: &mut u64,
        last: bool,
    ) -> Result<(), Failure> {
        let mut at = 0;
        loop {
            let rest = &bytes[at..];
            if *skip > 0 {
                let NextLine::Whole(end, _) = lines.skip(rest, last) else { break };
                (at, *skip) = (at + end, *skip - 1);
                self.turns.took(end).await;
                continue;
            }
            let Some(start) = lines.start(rest) else { break };
            let rest = &rest[start..];
            let NextLine::Whole(end, fields) = lines.next(rest, last) else { break };
            let shard = router.route(&rest[..end], &fields).await?;
            self.latest = shard.or(self.parts.first().map(|part| part.shard));
            for (part, (pending, _)) in self.parts.iter().zip(&mut self.pending) {
                if shard.is_none_or(|shard| part.shard == shard) {
                    pending.extend_from_slice(&router.out);
                }
            }
            at += start + end;
            self.turns.took(start + end).await;
            if self.pending.iter().any(|(pending, _)| pending.len() > 16 * PACKET) {
                self.send(false).await?;
            }
        }
        bytes.advance(at);
        Ok(())
    }

    /// Sends what is worth a packet; `all`: everything.
    async fn send(&mut self, all: bool) -> Result<(), Failure> {
        for (part, (pending, number)) in self.parts.iter_mut().zip(&mut self.pending) {
            let mut packets = BytesMut::new();
            let whole = if all { pending.len() } else { pending.len() / PACKET * PACKET };
            for packet in pending[..whole].chunks(PACKET) {
                *number = put_packet(&mut packets, *number, packet);
            }
            pending.drain(..whole);
            part.lease.queue_raw(&packets);
        }
        send::flush(self.parts).await.inspect_err(|failure| self.lost = Some(failure.clone()))
    }

    /// Tells the shards that this was all, and reads what they say.
    async fn end(
        mut self,
        around: &Surroundings,
        (generated, copies): (Option<u64>, bool),
        refused: Option<Failure>,
    ) -> Result<MultiShardResult, Failure> {
        if let Some(failure) = self.lost {
            return Err(failure);
        }
        let wanted = self.parts.iter_mut().zip(&self.pending).zip(&self.replies);
        for ((part, (_, number)), _) in wanted.filter(|(_, (_, replied))| replied.is_none()) {
            let mut end = BytesMut::new();
            put_packet(&mut end, *number, b"");
            part.lease.queue_raw(&end);
        }
        send::flush(self.parts).await?;
        let mut replies: Vec<Replied> = Vec::with_capacity(self.parts.len());
        for (part, (tracker, replied)) in self.parts.iter_mut().zip(&mut self.replies) {
            replies.push(match replied.take() {
                Some(replied) => replied,
                None => {
                    tracker.infile_sent();
                    let replied = send::rest_of_reply(part, tracker, &mut Keeper::of_nothing()).await?;
                    replied.ok_or_else(|| send::lost(part, "two files were asked for"))?
                }
            });
            around.queue_after(part);
        }
        send::flush(self.parts).await?;
        let mut not_after = None;
        for (part, replied) in self.parts.iter_mut().zip(&mut replies) {
            let (told, failed) = around.read_after(part, std::mem::replace(replied, Ok(Done::default()))).await?;
            *replied = told;
            not_after = not_after.or(failed);
        }
        if let Some(failure) = not_after {
            return Err(failure);
        }
        if let Some(failure) = worst(&replies).or(refused) {
            let all = (0..self.parts.len()).collect();
            send::undo(self.parts, &all, around).await.map_err(|()| failure.clone())?;
            return Ok(MultiShardResult { error: Some(failure), ..MultiShardResult::default() });
        }
        let done: Vec<&Done> = replies.iter().flatten().collect();
        // All copies of a GLOBAL table have taken the same lines; the OK of a LOAD DATA names no generated value.
        let counted = if copies { &done[..done.len().min(1)] } else { &done[..] };
        let mut outcome = total(counted, None);
        outcome.left_id = generated.map_or(crate::LeftId::Unchanged, crate::LeftId::Known);
        outcome.assigned_on = self.latest;
        outcome.status = done.last().map(|done| done.status).unwrap_or_default();
        Ok(outcome)
    }
}

/// Says where lines go.
struct Router<'a> {
    file: &'a LoadFile,
    charset: Charset,
    sharding: &'a Sharding,
    name: SequenceName,
    /// The first value that was generated.
    first: Option<u64>,
    /// The greatest value that the file has itself, and the one behind which the sequence is.
    greatest: u64,
    raised: u64,
    /// The number of the line at hand.
    line: u64,
    /// The line as it is sent.
    out: Vec<u8>,
}

impl Router<'_> {
    /// The shard of a line; `None`: all of them.
    async fn route(&mut self, line: &[u8], fields: &[Field]) -> Result<Option<ShardId>, Failure> {
        self.line += 1;
        if matches!(self.charset, Charset::Utf8mb4 | Charset::Utf8mb3) && std::str::from_utf8(line).is_err() {
            return Err(self.refused("it is not UTF-8, the file's declared character set"));
        }
        let generated = self.generate(fields).await?;
        self.out.clear();
        self.out.extend_from_slice(&self.file.format.starting);
        match (generated, self.file.generated) {
            (Some(value), Some(Some(field))) => {
                let range = &fields.get(field).ok_or_else(|| internal("a generated value has no field"))?.range;
                self.out.extend_from_slice(&line[..range.start]);
                self.out.extend_from_slice(value.to_string().as_bytes());
                self.out.extend_from_slice(&line[range.end..]);
            }
            (Some(value), _) => {
                self.out.extend_from_slice(value.to_string().as_bytes());
                self.out.extend_from_slice(&self.file.format.fields);
                self.out.extend_from_slice(line);
            }
            (None, _) => self.out.extend_from_slice(line),
        }
        if self.file.copies {
            return Ok(None);
        }
        let key: Vec<Constant> =
            self.file.key.iter().map(|key| self.value(*key, fields, generated)).collect::<Result<_, _>>()?;
        self.locate(&key).await.map(Some)
    }

    async fn locate(&mut self, key: &[Constant]) -> Result<ShardId, Failure> {
        // A text's characters are learnt at once, each only once.
        for _ in 0..8 {
            let weights = self.sharding.weights().clone();
            match locate_stored(&self.file.database, &self.file.table, key, &weights) {
                Located::Shard(shard) => return Ok(shard),
                Located::Nowhere => return Err(no_part(&format!("of line {}", self.line))),
                Located::Unsure => {
                    return Err(self.refused("the server's conversion of its shard key can't be predicted"));
                }
                Located::NeedsWeights(collation, chars) => {
                    self.sharding.learn(&collation, &chars).await?;
                }
            }
        }
        Err(self.refused("its shard key has too many collations"))
    }

    fn value(&self, key: FileKey, fields: &[Field], generated: Option<u64>) -> Result<Constant, Failure> {
        let field = match key {
            FileKey::Generated => None,
            FileKey::Field(field) if self.file.generated == Some(Some(field)) && generated.is_some() => None,
            FileKey::Field(field) => Some(field),
        };
        let Some(field) = field else {
            return Ok(Constant::Integer(i128::from(generated.ok_or_else(|| internal("a key was not generated"))?)));
        };
        let field = fields.get(field).ok_or_else(|| self.refused("it has no field for the shard key"))?;
        let Some(bytes) = field.value.clone() else { return Ok(Constant::Null) };
        let collation = match self.charset {
            // Bytes that mean the same in all of them.
            Charset::Binary if bytes.is_ascii() => "ascii_bin".to_owned(),
            Charset::Binary => return Ok(Constant::Binary(bytes)),
            charset => format!("{}_bin", charset.name()),
        };
        Ok(Constant::Text { bytes, collation, explicit: false })
    }

    /// The AUTO_INCREMENT value that the line gets, if it does not have one itself.
    async fn generate(&mut self, fields: &[Field]) -> Result<Option<u64>, Failure> {
        let Some(place) = self.file.generated else { return Ok(None) };
        if let Some(place) = place {
            let field =
                fields.get(place).ok_or_else(|| self.refused("it has no field for the AUTO_INCREMENT column"))?;
            if let Some(text) = &field.value {
                let number = std::str::from_utf8(text).ok().and_then(|text| text.parse::<i128>().ok());
                match number.ok_or_else(|| self.refused("its AUTO_INCREMENT value is not an integer"))? {
                    0 if !self.file.keeps_zero => {}
                    number => {
                        self.greatest = self.greatest.max(u64::try_from(number).unwrap_or(0));
                        return Ok(None);
                    }
                }
            }
        }
        self.raise().await?;
        let value = self.sharding.sequences.take(&self.name, 1).await?;
        self.first = self.first.or(Some(value));
        Ok(Some(value))
    }

    /// The sequence goes on behind the values of the file.
    async fn raise(&mut self) -> Result<(), Failure> {
        if self.greatest > self.raised {
            self.sharding.sequences.at_least(&self.name, self.greatest).await?;
            self.raised = self.greatest;
        }
        Ok(())
    }

    fn refused(&self, why: &str) -> Failure {
        let line = self.line.saturating_add(self.file.format.skip);
        not_supported(format!(
            "LOAD DATA: line {line} of the file can't be sent to its shard: {why}. Nothing was loaded"
        ))
    }
}
