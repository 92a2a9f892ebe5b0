//! A relay that cuts a connection between two packets: of what Weir sends in a batch, or of what the server answers.

use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use libtest_mimic::Failed;

use crate::lab::APP;
use crate::relay::{self, has};
use crate::script::Dice;

/// Where the next connection is cut on which a batch, or a statement of the test's, begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    /// On the way to the server; else back.
    forth: bool,
    /// So many packets of that way still pass.
    passes: u64,
    /// Directly behind the last one that passes; else when the next one comes: behind a batch's last reply, that is after its COMMIT.
    at_once: bool,
    /// By a reset; else as a peer ends that has closed.
    reset: bool,
}

impl Cut {
    pub(super) fn draw(dice: &mut Dice) -> Self {
        // The first positions are the beginnings of batches, which all batches have.
        let passes = if dice.percent(50) { dice.below(4) } else { dice.below(24) } as u64;
        Self { forth: dice.percent(50), passes, at_once: dice.percent(50), reset: dice.percent(60) }
    }
}

/// The relay.
pub(super) struct Cutter {
    pub(super) port: u16,
    next: Arc<Mutex<Option<Cut>>>,
    /// Connections cut so far.
    cut: Arc<AtomicU64>,
}

impl Cutter {
    pub(super) fn start(server: u16) -> std::result::Result<Self, Failed> {
        let (next, cut): (Arc<Mutex<Option<Cut>>>, Arc<AtomicU64>) = Default::default();
        let (armed, counted) = (next.clone(), cut.clone());
        let port = relay::start(server, move |weir, server| {
            let line = Arc::new(Line { armed: armed.clone(), counted: counted.clone(), met: Mutex::new(None) });
            let back = line.clone();
            relay::both_ways(
                weir,
                server,
                move |weir, server| line.forth(weir, server),
                move |server, weir| back.back(server, weir),
            )
        })?;
        Ok(Self { port, next, cut })
    }

    pub(super) fn arm(&self, cut: Cut) {
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = Some(cut);
    }

    pub(super) fn cut(&self) -> u64 {
        self.cut.load(Ordering::SeqCst)
    }
}

/// One connection.
struct Line {
    armed: Arc<Mutex<Option<Cut>>>,
    counted: Arc<AtomicU64>,
    /// The cut that this connection has met.
    met: Mutex<Option<Cut>>,
}

impl Line {
    fn forth(&self, mut weir: &TcpStream, mut server: &TcpStream) -> Result<()> {
        let mut packets = Packets::default();
        let mut of_client = None;
        while let Some(packet) = packets.next(&mut weir)? {
            // The first packet is the login: Weir's own account is not cut.
            let name = format!("{}\0", APP.0);
            let of_client = *of_client.get_or_insert_with(|| has(&packet, name.as_bytes()));
            if of_client && begins(&packet) {
                let mut met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
                if met.is_none() {
                    *met = self.armed.lock().unwrap_or_else(PoisonError::into_inner).take();
                }
            }
            let last = self.pass(true, weir, server)?;
            server.write_all(&packet)?;
            self.cut_behind(last, weir, server)?;
        }
        Ok(())
    }

    fn back(&self, mut server: &TcpStream, mut weir: &TcpStream) -> Result<()> {
        let mut packets = Packets::default();
        while let Some(packet) = packets.next(&mut server)? {
            let last = self.pass(false, server, weir)?;
            weir.write_all(&packet)?;
            self.cut_behind(last, server, weir)?;
        }
        Ok(())
    }

    /// Lets a packet of this way pass, or ends the connection. Returns the cut that comes directly behind it.
    fn pass(&self, forth: bool, one: &TcpStream, other: &TcpStream) -> Result<Option<Cut>> {
        let mut met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        match met.as_mut().filter(|cut| cut.forth == forth) {
            Some(cut) if cut.passes == 0 && !cut.at_once => {
                self.cut(*cut, one, other)?;
                Ok(None)
            }
            Some(cut) if cut.passes == 0 => Ok(Some(*cut)),
            Some(cut) => {
                cut.passes -= 1;
                Ok(None)
            }
            None => Ok(None),
        }
    }

    fn cut_behind(&self, last: Option<Cut>, one: &TcpStream, other: &TcpStream) -> Result<()> {
        last.map_or(Ok(()), |cut| self.cut(cut, one, other))
    }

    /// Ends the connection: always an error.
    fn cut(&self, cut: Cut, one: &TcpStream, other: &TcpStream) -> Result<()> {
        self.counted.fetch_add(1, Ordering::SeqCst);
        if cut.reset {
            return Err(Error::from(ErrorKind::ConnectionReset));
        }
        one.shutdown(Shutdown::Both)?;
        other.shutdown(Shutdown::Both)?;
        Err(Error::from(ErrorKind::ConnectionAborted))
    }
}

/// Whether a packet is a command that begins a batch, or a statement on the tests' table by itself.
fn begins(packet: &[u8]) -> bool {
    let command = packet.get(3) == Some(&0) && matches!(packet.get(4), Some(0x03 | 0x16 | 0x17));
    let text = packet.get(5..).unwrap_or_default();
    let word = text.get(..5).unwrap_or_default();
    command && (word.eq_ignore_ascii_case(b"begin") || word.eq_ignore_ascii_case(b"start") || has(text, b"tallied"))
}

/// Whole packets of a stream, with their headers.
#[derive(Default)]
struct Packets {
    read: Vec<u8>,
}

impl Packets {
    fn next(&mut self, from: &mut &TcpStream) -> Result<Option<Vec<u8>>> {
        let mut buffer = [0; 16 << 10];
        loop {
            if let [a, b, c, _, ..] = self.read[..] {
                let length = 4 + u32::from_le_bytes([a, b, c, 0]) as usize;
                if self.read.len() >= length {
                    let rest = self.read.split_off(length);
                    return Ok(Some(std::mem::replace(&mut self.read, rest)));
                }
            }
            let length = from.read(&mut buffer)?;
            if length == 0 {
                return Ok(None);
            }
            self.read.extend_from_slice(&buffer[..length]);
        }
    }
}
