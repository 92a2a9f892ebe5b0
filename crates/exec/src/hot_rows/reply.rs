//! Reading the replies of a batch.

use bytes::Buf;
use weir_backend::Lease;
use weir_wire::error::codes;
use weir_wire::packets::OkPacket;
use weir_wire::reply::{Ending, Event, ReplyKind, ReplyTracker};
use weir_wire::resultset::parse_text_row;
use weir_wire::{Failure, Fault, StatusFlags};

use super::member::{Said, WarningRow};

/// A reply, read to its end.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) said: Said,
    pub(super) rows: Vec<WarningRow>,
}

impl From<OkPacket<'_>> for Said {
    fn from(ok: OkPacket<'_>) -> Said {
        Said::Ok {
            affected: ok.affected_rows,
            insert_id: ok.last_insert_id,
            status: ok.status,
            warnings: ok.warnings,
            info: ok.info.to_vec(),
            changes: ok.changes.to_vec(),
        }
    }
}

/// Sends what is queued and takes what comes meanwhile: a server that waits until its replies are read takes no more statements.
///
/// # Errors
/// The loss of the connection.
pub(super) async fn send(lease: &mut Lease) -> Result<(), Failure> {
    std::future::poll_fn(|cx| {
        while let std::task::Poll::Ready(filled) = lease.poll_fill(cx) {
            filled?;
        }
        lease.poll_send(cx).map_err(|error| lease.lost(&error))
    })
    .await
}

/// Reads one reply to its end.
///
/// # Errors
/// The loss of the connection, or a reply that does not belong to a statement of a batch.
pub(super) async fn read(lease: &mut Lease) -> Result<Reply, Failure> {
    let mut tracker = ReplyTracker::new(ReplyKind::Results, lease.capabilities);
    let (mut bytes, mut said) = (Vec::new(), None);
    while !tracker.is_done() {
        let event = tracker.advance(&lease.input).map_err(|error| lease.server.lost(&error.to_string()))?;
        let taken = match event {
            Event::NeedMore => {
                lease.fill().await?;
                continue;
            }
            Event::Pass(taken) => {
                bytes.extend_from_slice(&lease.input[..taken]);
                taken
            }
            Event::Packet(taken, ending) => {
                said = Some(match ending {
                    Ending::Ok(ok) => Said::from(ok),
                    Ending::Err(err) => {
                        Said::Error { code: err.code, sqlstate: err.sqlstate, message: err.message.to_vec() }
                    }
                    Ending::Eof(eof) => Said::from(OkPacket { warnings: eof.warnings, ..OkPacket::plain(eof.status) }),
                    _ => return Err(unexpected(lease)),
                });
                taken
            }
        };
        lease.input.advance(taken);
    }
    lease.reply_done();
    let said = said.ok_or_else(|| unexpected(lease))?;
    Ok(Reply { said, rows: rows(&bytes).ok_or_else(|| unexpected(lease))? })
}

fn unexpected(lease: &mut Lease) -> Failure {
    lease.retired = true;
    let message =
        format!("Server '{}' has answered a change of a hot row with something else", lease.server.settings.name);
    Failure::server(codes::ER_UNKNOWN_ERROR, message).maybe_done()
}

/// The rows of a small text result set.
fn rows(mut bytes: &[u8]) -> Option<Vec<WarningRow>> {
    let mut packets = std::iter::from_fn(|| {
        let header = weir_wire::frame::Header::peek(bytes)?;
        let packet = bytes.get(weir_wire::frame::HEADER..weir_wire::frame::HEADER + header.len)?;
        bytes = &bytes[weir_wire::frame::HEADER + header.len..];
        Some(packet)
    });
    let Some(count) = packets.next() else { return Some(Vec::new()) };
    let columns = usize::from(*count.first()?);
    let rows = packets.skip(columns).filter(|packet| !(packet.first() == Some(&0xfe) && packet.len() < 9));
    rows.map(|packet| parse_text_row(packet).ok()).collect()
}

impl Said {
    /// Whether a transaction was open after it, if it says so.
    pub(super) fn in_transaction(&self) -> Option<bool> {
        match self {
            Said::Ok { status, .. } => Some(status.contains(StatusFlags::IN_TRANS)),
            Said::Error { .. } => None,
        }
    }

    /// Whether SHOW WARNINGS shows something behind it.
    pub(super) fn warns(&self) -> bool {
        match self {
            Said::Ok { warnings, .. } => *warnings > 0,
            Said::Error { .. } => true,
        }
    }

    /// The failure, if it is an error.
    pub(super) fn failure(&self) -> Option<Failure> {
        match self {
            Said::Ok { .. } => None,
            Said::Error { code, sqlstate, message } => {
                Some(Failure::new(Fault::Server, *code, sqlstate, String::from_utf8_lossy(message)))
            }
        }
    }
}
