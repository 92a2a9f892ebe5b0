//! A relay between Weir and a server: a test has what is on its way lost, or the connection cut, exactly where it means to.

use std::io::{ErrorKind, Result};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use libtest_mimic::Failed;
use socket2::SockRef;

/// Starts a relay to the server at this port, and returns its own port; it ends with the process. `carry` gets each connection: Weir's side and
/// the server's.
pub(crate) fn start(
    server: u16,
    carry: impl Fn(TcpStream, TcpStream) -> Result<()> + Send + 'static,
) -> std::result::Result<u16, Failed> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    std::thread::spawn(move || {
        for weir in listener.incoming().flatten() {
            // A server that is not there: so it seems to Weir, too.
            let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else { continue };
            let _lost = carry(weir, server);
        }
    });
    Ok(port)
}

/// Carries both ways, in threads of their own; when one has ended, the connection does: it is reset if that was by the error
/// `ConnectionReset`. `forth` gets Weir's side and the server's, `back` the server's and Weir's.
pub(crate) fn both_ways(
    weir: TcpStream,
    server: TcpStream,
    forth: impl FnOnce(&TcpStream, &TcpStream) -> Result<()> + Send + 'static,
    back: impl FnOnce(&TcpStream, &TcpStream) -> Result<()> + Send + 'static,
) -> Result<()> {
    weir.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (back_from, back_to) = (server.try_clone()?, weir.try_clone()?);
    let is_reset = Arc::new(AtomicBool::new(false));
    let resets = is_reset.clone();
    std::thread::spawn(move || {
        let ended = back(&back_from, &back_to);
        end(ended, &resets, [&back_from, &back_to]);
    });
    std::thread::spawn(move || {
        let ended = forth(&weir, &server);
        end(ended, &is_reset, [&weir, &server]);
    });
    Ok(())
}

/// The other thread may have been first.
fn end(how: Result<()>, is_reset: &AtomicBool, ends: [&TcpStream; 2]) {
    if how.is_err_and(|error| error.kind() == ErrorKind::ConnectionReset) {
        is_reset.store(true, Ordering::SeqCst);
    }
    for stream in ends {
        // A socket that doesn't linger is reset when it is closed, unless it has said its end.
        let _ = match is_reset.load(Ordering::SeqCst) {
            true => SockRef::from(stream).set_linger(Some(Duration::ZERO)).and(stream.shutdown(Shutdown::Read)),
            false => stream.shutdown(Shutdown::Both),
        };
    }
}

/// Whether bytes contain others.
pub(crate) fn has(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}
