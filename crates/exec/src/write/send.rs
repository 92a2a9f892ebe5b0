//! Sends statements to all shards of a write, and reads their replies.
//!
//! What must always hold: all shards have been sent their text before any reply is read, but that of the shard where GLOBAL tables are locked
//! first; every reply is read to its end, also after an error.

use std::collections::{BTreeSet, VecDeque};
use std::task::Poll;

use bytes::Buf;
use weir_plan::{Returns, SharedValues};
use weir_wire::packets::ErrPacket;
use weir_wire::reply::{Ending, Event, ReplyKind, ReplyTracker};
use weir_wire::resultset::parse_text_row;
use weir_wire::stmt::query_payload;
use weir_wire::{Command, Failure, Fault, StatusFlags};

use super::returned::{self, Keeper, Returned};
use super::{WriteContext, worst};
use crate::ShardLease;
use crate::hot_rows::member::WarningRow;

/// The savepoint before a statement. Setting it again moves it. It has a space, so that it is none of the client's.
const SAVEPOINT: &str = "`weir statement`";

/// A text for a part.
#[derive(Debug, Clone, Copy)]
pub(super) struct Order<'w> {
    /// The place of the part.
    pub(super) part: usize,
    /// What it runs.
    pub(super) text: &'w [u8],
}

/// What a server said to a statement that succeeded.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Done {
    pub(super) affected: u64,
    pub(super) insert_id: u64,
    pub(super) warnings: u16,
    pub(super) status: StatusFlags,
    pub(super) info: Vec<u8>,
    pub(super) returned: Returned,
    /// What it warns of, if that was asked behind it.
    pub(super) conditions: Option<Vec<WarningRow>>,
}

/// Which rows of the replies are kept.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Wanted<'w> {
    pub(super) returns: Option<&'w Returns>,
    /// In the binary format.
    pub(super) binary: bool,
    /// Another copy has returned the rows.
    pub(super) returned: bool,
}

impl Wanted<'_> {
    /// Rows come in the binary format only for a statement that was prepared.
    fn prepares(self) -> bool {
        self.returns.is_some() && self.binary
    }
}

/// A server's reply: its OK or its error.
pub(super) type Replied = Result<Done, Failure>;

/// What is sent around a statement.
#[derive(Debug, Clone, Default)]
pub(super) struct Surroundings {
    /// A savepoint is set before.
    savepoint: bool,
    /// The time of the statement, in seconds.
    time: Option<String>,
    insert_id: Option<u64>,
    /// What a statement warns of is asked behind it: another statement follows that clears it away.
    asks: bool,
}

impl Surroundings {
    pub(super) async fn of(
        parts: &mut [ShardLease],
        alike: SharedValues,
        session: &WriteContext<'_>,
        orders: usize,
    ) -> Result<Surroundings, Failure> {
        let time = match parts.first_mut() {
            Some(part) if alike.time && orders > 1 && part.lease.profile().variable("timestamp").is_none() => {
                confirm(part).await?;
                Some(weir_txn::clock::now(&mut part.lease).await?)
            }
            _ => None,
        };
        // MariaDB's SET leaves it alone.
        let asks = time.is_some() && parts.iter().any(|part| !part.lease.is_mariadb());
        Ok(Surroundings { savepoint: session.in_transaction, time, insert_id: session.insert_id, asks })
    }

    /// With the savepoint alone.
    pub(super) fn of_savepoint() -> Surroundings {
        Surroundings { savepoint: true, ..Surroundings::default() }
    }

    /// The same behind the savepoint.
    pub(super) fn without_savepoint(&self) -> Surroundings {
        Surroundings { savepoint: false, ..self.clone() }
    }

    pub(super) fn before(&self) -> impl Iterator<Item = String> {
        let savepoint = self.savepoint.then(|| format!("SAVEPOINT {SAVEPOINT}"));
        let time = self.time.as_ref().map(|time| format!("SET timestamp={time}"));
        savepoint.into_iter().chain(time)
    }

    /// Queues what follows a statement.
    pub(super) fn queue_after(&self, part: &mut ShardLease) {
        if self.asks {
            queue(part, b"SHOW WARNINGS");
        }
        if self.time.is_some() {
            queue(part, b"SET timestamp=DEFAULT");
        }
    }

    /// Reads the replies to that. Returns the statement's own with what it warns of, and what a server has refused.
    ///
    /// # Errors
    /// The loss of the connection.
    pub(super) async fn read_after(
        &self,
        part: &mut ShardLease,
        mut replied: Replied,
    ) -> Result<(Replied, Option<Failure>), Failure> {
        let mut failed = None;
        if self.asks {
            match conditions(part).await? {
                Ok(shown) => replied = replied.map(|done| Done { conditions: Some(shown), ..done }),
                Err(failure) => failed = Some(failure),
            }
        }
        if self.time.is_some() {
            failed = failed.or(reply(part).await?.err());
        }
        Ok((replied, failed))
    }
}

/// Runs all texts: those of `lead` first if there is such a part, then those of the others at once; those of one part one after another, up to an
/// error. Replies are in that order, without those that were not run; the parts that have run something are among `begun`.
///
/// # Errors
/// As [`everywhere`].
pub(super) async fn in_turn(
    parts: &mut [ShardLease],
    orders: &[Order<'_>],
    (lead, begun): (Option<usize>, &mut BTreeSet<usize>),
    around: &Surroundings,
    wanted: Wanted<'_>,
) -> Result<Vec<Replied>, Failure> {
    let (first, rest): (Vec<Order<'_>>, Vec<Order<'_>>) = orders.iter().partition(|order| Some(order.part) == lead);
    let mut replies = Vec::new();
    if !first.is_empty() {
        begun.extend(lead);
        replies = at_once(parts, &first, around, wanted).await?;
    }
    if !rest.is_empty() && worst(&replies).is_none() {
        begun.extend(rest.iter().map(|order| order.part));
        let wanted = Wanted { returned: !replies.is_empty(), ..wanted };
        replies.extend(at_once(parts, &rest, around, wanted).await?);
    }
    Ok(replies)
}

/// Runs the texts of different parts at once, as [`in_turn`] does.
async fn at_once(
    parts: &mut [ShardLease],
    orders: &[Order<'_>],
    around: &Surroundings,
    wanted: Wanted<'_>,
) -> Result<Vec<Replied>, Failure> {
    let mut queues: Vec<VecDeque<usize>> = vec![VecDeque::new(); parts.len()];
    for (nth, order) in orders.iter().enumerate() {
        queues[order.part].push_back(nth);
    }
    let mut replies: Vec<(usize, Replied)> = Vec::with_capacity(orders.len());
    let (mut around, mut kept) = (around.clone(), 0);
    around.asks |= queues.iter().any(|queue| queue.len() > 1);
    loop {
        let next: Vec<usize> = queues.iter_mut().filter_map(VecDeque::pop_front).collect();
        let round: Vec<Order<'_>> = next.iter().map(|nth| orders[*nth]).collect();
        if round.is_empty() {
            break;
        }
        let replied = everywhere(parts, &round, &around, wanted).await?;
        kept += replied.iter().flatten().flat_map(|done| &done.returned.rows).map(|row| row.len()).sum::<usize>();
        let failed = worst(&replied).is_some();
        replies.extend(next.into_iter().zip(replied));
        if failed {
            break;
        }
        if kept > returned::MOST {
            replies.push((orders.len(), Err(returned::too_many())));
            break;
        }
        // Setting the savepoint again would move it.
        around = around.without_savepoint();
    }
    replies.sort_by_key(|(nth, _)| *nth);
    Ok(replies.into_iter().map(|(_, reply)| reply).collect())
}

/// Runs the statement on all parts at once.
///
/// # Errors
/// The loss of a part, or one that could not be prepared for the statement: the transaction has to be rolled back.
pub(super) async fn everywhere(
    parts: &mut [ShardLease],
    orders: &[Order<'_>],
    around: &Surroundings,
    wanted: Wanted<'_>,
) -> Result<Vec<Replied>, Failure> {
    for order in orders {
        let part = &mut parts[order.part];
        if let Some(id) = around.insert_id
            && part.lease.insert_id != Some(id)
        {
            part.lease.queue_insert_id(id);
        }
        confirm(part).await?;
        for text in around.before() {
            queue(part, text.as_bytes());
        }
        match wanted.prepares() {
            true => queue_prepared(part, order.text),
            false => queue(part, order.text),
        }
        around.queue_after(part);
    }
    flush(parts).await?;
    let mut replies = Vec::with_capacity(orders.len());
    let (mut failed, mut room) = (None, returned::MOST);
    for (nth, order) in orders.iter().enumerate() {
        let part = &mut parts[order.part];
        for _ in around.before() {
            failed = failed.or(reply(part).await?.err());
        }
        let mut keeper = match wanted.returns {
            None => Keeper::of_nothing(),
            Some(Returns::OfOne) if nth > 0 || wanted.returned => Keeper::of_nothing(),
            Some(_) => Keeper::of(room),
        };
        let replied = returning_reply(part, wanted, &mut keeper).await?;
        room = keeper.room(room);
        let (replied, not_after) = around.read_after(part, replied).await?;
        replies.push(replied);
        failed = failed.or(not_after);
    }
    match failed {
        // A deadlock on one part is what the client should hear of.
        Some(failure) => Err(worst(&replies).unwrap_or(failure)),
        None => Ok(replies),
    }
}

/// Goes back to where the parts that have begun the statement were before it.
///
/// # Errors
/// When one can't.
pub(super) async fn undo(parts: &mut [ShardLease], begun: &BTreeSet<usize>, around: &Surroundings) -> Result<(), ()> {
    if !around.savepoint {
        return Ok(());
    }
    let text = format!("ROLLBACK TO SAVEPOINT {SAVEPOINT}");
    for part in begun {
        queue(&mut parts[*part], text.as_bytes());
    }
    flush(parts).await.map_err(drop)?;
    let mut undone = Ok(());
    for part in begun {
        if reply(&mut parts[*part]).await.map_err(drop)?.is_err() {
            undone = Err(());
        }
    }
    undone
}

/// A write must not run under another profile than its session's: what is queued for that is confirmed first.
pub(super) async fn confirm(part: &mut ShardLease) -> Result<(), Failure> {
    part.lease.flush().await?;
    part.lease.confirm_state().await
}

pub(super) fn queue(part: &mut ShardLease, text: &[u8]) {
    let payload = query_payload(text, part.lease.capabilities);
    part.lease.queue(&payload, true);
}

/// Sends what is queued on all parts, to each as fast as it takes it.
pub(super) async fn flush(parts: &mut [ShardLease]) -> Result<(), Failure> {
    std::future::poll_fn(|cx| {
        let mut left = false;
        for part in parts.iter_mut() {
            match part.lease.poll_send(cx) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(error)) => {
                    part.lease.retired = true;
                    return Poll::Ready(Err(part.lease.lost(&error).maybe_done()));
                }
                Poll::Pending => left = true,
            }
        }
        if left { Poll::Pending } else { Poll::Ready(Ok(())) }
    })
    .await
}

/// Queues a statement as one that is prepared, executed and forgotten.
fn queue_prepared(part: &mut ShardLease, text: &[u8]) {
    /// The statement that was prepared last. Source: MariaDB, "COM_STMT_EXECUTE"; only MariaDB returns rows.
    const LAST: [u8; 4] = [0xff; 4];
    part.lease.queue_prepare(text);
    // No cursor; one iteration.
    let execute = [&[Command::StmtExecute as u8][..], &LAST, &[0], &1_u32.to_le_bytes()].concat();
    part.lease.queue(&execute, true);
    part.lease.queue(&[&[Command::StmtClose as u8][..], &LAST].concat(), false);
}

/// Reads the reply to a statement whose rows are wanted, if there are any.
async fn returning_reply(part: &mut ShardLease, wanted: Wanted<'_>, keeper: &mut Keeper) -> Result<Replied, Failure> {
    let capabilities = part.lease.capabilities;
    let mut prepared = Ok(Done::default());
    if wanted.prepares() {
        let mut tracker = ReplyTracker::new(part.lease.prepare_kind(), capabilities);
        prepared = rest_of_reply(part, &mut tracker, &mut Keeper::of_nothing()).await?.unwrap_or(prepared);
    }
    let mut tracker = ReplyTracker::new(ReplyKind::Results, capabilities);
    let Some(replied) = rest_of_reply(part, &mut tracker, keeper).await? else {
        return Err(lost(part, "a file was asked for that nobody has"));
    };
    Ok(match (prepared, replied) {
        // What was not prepared could not be executed.
        (Err(failure), _) | (Ok(_), Err(failure)) => Err(failure),
        (Ok(_), Ok(done)) if wanted.returns.is_none() => Ok(done),
        (Ok(_), Ok(done)) => {
            keeper.result(capabilities).map(|returned| Done { affected: tracker.rows(), returned, ..done })
        }
    })
}

/// Reads what SHOW WARNINGS shows; a server's refusal.
///
/// # Errors
/// The loss of the connection.
async fn conditions(part: &mut ShardLease) -> Result<Result<Vec<WarningRow>, Failure>, Failure> {
    let mut keeper = Keeper::of(returned::MOST);
    let shown = returning_reply(part, Wanted::default(), &mut keeper).await?;
    let shown = match shown.and_then(|_| keeper.result(part.lease.capabilities)) {
        Ok(shown) => shown,
        Err(failure) => return Ok(Err(failure)),
    };
    let rows: Result<Vec<WarningRow>, _> = shown.rows.iter().map(|row| parse_text_row(row)).collect();
    rows.map(Ok).map_err(|error| lost(part, &error.to_string()))
}

/// Reads a reply to its end.
///
/// # Errors
/// The loss of the connection.
pub(super) async fn reply(part: &mut ShardLease) -> Result<Replied, Failure> {
    returning_reply(part, Wanted::default(), &mut Keeper::of_nothing()).await
}

/// Reads a reply to its end, and keeps what comes before it; `None` where the server asks for a file, which is to be sent then, and the rest of the reply to be read.
///
/// # Errors
/// The loss of the connection.
pub(super) async fn rest_of_reply(
    part: &mut ShardLease,
    tracker: &mut ReplyTracker,
    keeper: &mut Keeper,
) -> Result<Option<Replied>, Failure> {
    let mut replied = Ok(Done::default());
    let (mut wants_file, mut tells_id) = (false, false);
    while !tracker.is_done() {
        let taken = match tracker.advance(&part.lease.input) {
            Err(error) => return Err(lost(part, &error.to_string())),
            Ok(Event::NeedMore) => {
                part.lease.fill().await.map_err(Failure::maybe_done)?;
                continue;
            }
            Ok(Event::Pass(taken)) => {
                keeper.keep(&part.lease.input[..taken]);
                taken
            }
            Ok(Event::Packet(taken, ending)) => {
                match ending {
                    Ending::Ok(ok) => {
                        tells_id = ok.last_insert_id != 0;
                        replied = Ok(Done {
                            affected: ok.affected_rows,
                            insert_id: ok.last_insert_id,
                            warnings: ok.warnings,
                            status: ok.status,
                            info: ok.info.to_vec(),
                            ..Done::default()
                        });
                    }
                    Ending::Err(error) => replied = Err(of_server(&error)),
                    Ending::LocalInfile => wants_file = true,
                    Ending::Eof(eof) => {
                        replied = Ok(Done { warnings: eof.warnings, status: eof.status, ..Done::default() });
                    }
                    Ending::Prepared(_) => {}
                }
                taken
            }
        };
        part.lease.input.advance(taken);
        if tells_id {
            // Generated, or set by `LAST_INSERT_ID(expr)`; or only reported, of an explicit value.
            part.lease.insert_id = None;
        }
        if wants_file {
            return Ok(None);
        }
    }
    part.lease.reply_done();
    Ok(Some(replied))
}

pub(super) fn lost(part: &mut ShardLease, why: &str) -> Failure {
    part.lease.retired = true;
    part.lease.server.lost(why).maybe_done()
}

/// A server's error, as the client gets it.
fn of_server(error: &ErrPacket<'_>) -> Failure {
    let message = String::from_utf8_lossy(error.message).into_owned();
    Failure::new(Fault::Server, error.code, &error.sqlstate, message).maybe_done()
}
