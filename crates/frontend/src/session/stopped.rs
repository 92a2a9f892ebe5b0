//! Why a statement was not run to its end, and why a session ends.
//!
//! What must always hold: whoever stops a statement says whether the client still has to be told.

use weir_wire::error::codes;
use weir_wire::{Failure, Malformed};

use super::Session;
use crate::client::ClientError;

/// Why a session ends.
#[derive(Debug)]
pub(crate) enum SessionEnd {
    /// The client said goodbye, or has gone.
    Quit,
    /// Its connection can't be served on.
    Client(ClientError),
    /// The client is told this, and the connection is closed.
    Told(Failure),
    /// The client has been told why already, and the connection is closed.
    Said,
    /// Killed.
    Killed,
}

impl From<ClientError> for SessionEnd {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Gone => SessionEnd::Quit,
            ClientError::Frame(weir_wire::frame::FrameError::TooLarge { .. }) => SessionEnd::Told(Failure::client(
                codes::ER_NET_PACKET_TOO_LARGE,
                "Got a packet bigger than 'max_allowed_packet' bytes",
            )),
            ClientError::Frame(weir_wire::frame::FrameError::OutOfOrder { .. }) => {
                SessionEnd::Told(Failure::client(codes::ER_NET_PACKETS_OUT_OF_ORDER, "Got packets out of order"))
            }
            other => SessionEnd::Client(other),
        }
    }
}

/// Why a statement was not run, or not to its end.
pub(super) enum Stopped {
    /// The reader has not reached the session's position in time; the client has been told nothing.
    Late,
    /// The server takes no writes; the client has been told nothing, and the statement has done nothing.
    ReadOnly(Failure),
    /// Its open transaction is lost, and kept to be run again; the client has been told nothing. If it is not: it is told this.
    Lost(Failure),
    /// The client is told, and the session goes on.
    Refused(Failure),
    /// The session ends.
    Ended(SessionEnd),
}

impl Stopped {
    /// What the client is told, if it is an error.
    pub(super) fn failure(&self) -> Option<Failure> {
        match self {
            Stopped::ReadOnly(failure)
            | Stopped::Lost(failure)
            | Stopped::Refused(failure)
            | Stopped::Ended(SessionEnd::Told(failure)) => Some(failure.clone()),
            Stopped::Late | Stopped::Ended(_) => None,
        }
    }
}

impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Self {
        Stopped::Refused(failure)
    }
}

impl Session {
    /// A command was stopped: tells the client, or ends the session.
    pub(super) fn stopped(&mut self, stopped: Stopped) -> Result<(), SessionEnd> {
        match stopped {
            Stopped::Ended(end) => Err(end),
            Stopped::Late => self.stopped(Stopped::Refused(self.behind())),
            // The client goes by the answer that it has, and would take this for the next one.
            Stopped::Refused(failure) | Stopped::ReadOnly(failure) | Stopped::Lost(failure)
                if self.client.has_answer() =>
            {
                Err(SessionEnd::Told(failure))
            }
            Stopped::Refused(failure) | Stopped::ReadOnly(failure) | Stopped::Lost(failure) => {
                // A statement may be refused before it is sent: what was queued before it is settled afterwards.
                let broken =
                    self.current.lease.as_ref().is_some_and(|lease| !lease.is_clean() && !lease.only_awaits_state());
                if broken {
                    self.lose_lease();
                    if self.state.is_bound() {
                        return Err(SessionEnd::Told(failure));
                    }
                }
                self.refuse(&failure);
                Ok(())
            }
        }
    }
}

pub(in crate::session) fn malformed(error: Malformed) -> Failure {
    Failure::client(codes::ER_MALFORMED_PACKET, error.to_string())
}
