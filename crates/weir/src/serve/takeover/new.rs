//! The new process: it asks the old one for its listening sockets, and tells it when it can serve.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use super::wire::{receive, send, unexpected};
use super::{Inherited, Message, PROTOCOL};

/// How long the old process may take for a step: to stop accepting, at most.
const STEP: Duration = Duration::from_secs(30);

/// The process that serves until this one does.
#[derive(Debug)]
pub(in crate::serve) struct Predecessor {
    stream: UnixStream,
    /// Its process id.
    pub(in crate::serve) pid: u32,
}

impl Predecessor {
    /// Asks the process behind the control socket at `path` for its sockets.
    pub(in crate::serve) fn ask(path: &Path) -> io::Result<(Predecessor, Inherited)> {
        let mut stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(STEP))?;
        stream.set_write_timeout(Some(STEP))?;
        let (pid, version) = (std::process::id(), env!("CARGO_PKG_VERSION").to_owned());
        send(&mut stream, &Message::Hello { protocol: PROTOCOL, pid, version })?;
        match receive(&mut stream)? {
            (Message::Sockets { pid, version, names }, sockets) if names.len() == sockets.len() => {
                tracing::info!(pid, version, ?names, "taking over");
                let inherited = names.into_iter().zip(sockets).collect();
                Ok((Predecessor { stream, pid }, Inherited(inherited)))
            }
            (other, _) => Err(unexpected(&other)),
        }
    }

    /// This process is ready: waits until the old one has stopped accepting. Returns the next connection id. Blocks.
    pub(in crate::serve) fn ready(&mut self) -> io::Result<u32> {
        send(&mut self.stream, &Message::Ready)?;
        match receive(&mut self.stream)?.0 {
            Message::Yours { next_id } => Ok(next_id),
            other => Err(unexpected(&other)),
        }
    }

    /// This process serves: the old one may let its sessions leave.
    pub(in crate::serve) fn serving(mut self) -> io::Result<()> {
        send(&mut self.stream, &Message::Serving)
    }
}
