//! Why a client is lost.

use std::io;

use tokio::time::error::Elapsed;
use weir_wire::frame::FrameError;

/// Why a session's client can't be served on.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// It has closed the connection.
    #[error("the client closed the connection")]
    Gone,
    /// The connection broke.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It does not read what is sent.
    #[error("the client did not read for the bound of clients.write_timeout")]
    Stalled,
    /// Its host has vanished.
    #[error("the client's host acknowledged nothing of a reply for the bound of clients.write_timeout")]
    Vanished,
    /// It has stopped in the middle of what it sends.
    #[error("the client did not go on with a packet or a file for the bound of clients.write_timeout")]
    Halted,
    /// It does not speak the protocol.
    #[error("{0}")]
    Frame(#[from] FrameError),
    /// Its compressed stream is broken.
    #[error("{0}")]
    Compress(#[from] weir_wire::compress::CompressError),
}

impl From<Elapsed> for ClientError {
    fn from(_: Elapsed) -> Self {
        ClientError::Stalled
    }
}
