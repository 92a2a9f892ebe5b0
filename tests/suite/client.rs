//! A blocking MySQL client that shows everything a server said: all fields of every packet, status flags and
//! session-state records included, which drivers keep to themselves.
//!
//! It shares no code with Weir, so that both can't be wrong in the same way. Reads are bounded by a timeout: a server
//! that doesn't answer is an error here, never a hang.

use std::io::{BufReader, Error, ErrorKind, Read, Result, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use socket2::{Domain, SockFilter, SockRef, Socket, Type};

/// How long one read may wait before the answer counts as missing.
pub(crate) const READ_TIMEOUT: Duration = Duration::from_secs(60);

/// The longest body of one physical packet.
pub(crate) const MAX_BODY: usize = 0xff_ffff;

/// Where a server, or Weir, listens.
#[derive(Clone, Debug)]
pub(crate) enum Address {
    Tcp(u16),
    Socket(PathBuf),
}

/// A byte stream to a server.
pub(crate) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    pub(crate) fn connect(address: &Address) -> Result<Self> {
        let stream = match address {
            Address::Tcp(port) => {
                let stream = TcpStream::connect(("127.0.0.1", *port))?;
                stream.set_nodelay(true)?;
                Self::Tcp(stream)
            }
            Address::Socket(path) => Self::Unix(UnixStream::connect::<&Path>(path)?),
        };
        stream.set_read_timeout(READ_TIMEOUT)?;
        Ok(stream)
    }

    pub(crate) fn set_read_timeout(&self, timeout: Duration) -> Result<()> {
        match self {
            Self::Tcp(stream) => stream.set_read_timeout(Some(timeout)),
            Self::Unix(stream) => stream.set_read_timeout(Some(timeout)),
        }
    }

    /// A connection of which no more than so many bytes are received before they are read.
    pub(crate) fn connect_narrow(port: u16, bytes: usize) -> Result<Self> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        socket.set_recv_buffer_size(bytes)?;
        socket.connect(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)).into())?;
        let stream = Self::Tcp(socket.into());
        stream.set_read_timeout(READ_TIMEOUT)?;
        Ok(stream)
    }

    /// From now on nothing that is sent to it arrives, nor is it acknowledged, as if its host had vanished.
    pub(crate) fn hear_nothing(&self) -> Result<()> {
        const DROP_ALL: u16 = 0x06;
        match self {
            Self::Tcp(stream) => SockRef::from(stream).attach_filter(&[SockFilter::new(DROP_ALL, 0, 0, 0)]),
            Self::Unix(_) => Err(ErrorKind::Unsupported.into()),
        }
    }

    pub(crate) fn shutdown(&self, how: Shutdown) -> Result<()> {
        match self {
            Self::Tcp(stream) => stream.shutdown(how),
            Self::Unix(stream) => stream.shutdown(how),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Packets over a stream, with sequence ids checked.
pub(crate) struct Packets {
    stream: BufReader<Stream>,
    /// The sequence id that the next packet must have, in either direction.
    pub(crate) sequence: u8,
    /// The packets that were read since they were taken last, as they are to be compared; none are kept if this is `None`.
    pub(crate) kept: Option<Vec<Vec<u8>>>,
}

impl Packets {
    pub(crate) fn new(stream: Stream) -> Self {
        Self { stream: BufReader::with_capacity(1 << 16, stream), sequence: 0, kept: None }
    }

    pub(crate) fn stream(&self) -> &Stream {
        self.stream.get_ref()
    }

    /// Sends bytes as they are, with no framing.
    pub(crate) fn write_raw(&mut self, bytes: &[u8]) -> Result<()> {
        self.stream.get_mut().write_all(bytes)
    }

    /// Reads whatever comes until the peer closes, at most `limit` bytes.
    pub(crate) fn read_to_close(&mut self, limit: usize) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        self.stream.by_ref().take(limit as u64).read_to_end(&mut all)?;
        Ok(all)
    }

    pub(crate) fn write(&mut self, body: &[u8]) -> Result<()> {
        let mut framed = Vec::with_capacity(body.len() + 8);
        let mut rest = body;
        loop {
            let (part, after) = rest.split_at(rest.len().min(MAX_BODY));
            framed.extend_from_slice(&(part.len() as u32).to_le_bytes()[..3]);
            framed.push(self.sequence);
            framed.extend_from_slice(part);
            self.sequence = self.sequence.wrapping_add(1);
            rest = after;
            if part.len() < MAX_BODY {
                break;
            }
        }
        self.write_raw(&framed)
    }

    pub(crate) fn read(&mut self) -> Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let mut header = [0; 4];
            self.stream.read_exact(&mut header)?;
            if header[3] != self.sequence {
                return Err(broken(format!("sequence id {} where {} is due", header[3], self.sequence)));
            }
            self.sequence = self.sequence.wrapping_add(1);
            let length = u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
            let start = body.len();
            body.resize(start + length, 0);
            self.stream.read_exact(&mut body[start..])?;
            if length < MAX_BODY {
                if let Some(kept) = &mut self.kept {
                    kept.push(body.clone());
                }
                return Ok(body);
            }
        }
    }

    /// Changes as what the packet read last is kept.
    pub(crate) fn keep_as(&mut self, change: impl FnOnce(&[u8]) -> Vec<u8>) {
        if let Some(last) = self.kept.as_mut().and_then(|kept| kept.last_mut()) {
            *last = change(last);
        }
    }

    /// Sends a command: sequence ids begin again at 0.
    pub(crate) fn command(&mut self, command: u8, payload: &[u8]) -> Result<()> {
        self.sequence = 0;
        let mut body = Vec::with_capacity(payload.len() + 1);
        body.push(command);
        body.extend_from_slice(payload);
        self.write(&body)
    }
}

/// An answer that breaks the protocol.
pub(crate) fn broken(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidData, what.into())
}

/// Takes fields from the front of a packet; every read checks the length.
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl<'a> Fields<'a> {
    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'a [u8]> {
        if count > self.0.len() {
            return Err(broken(format!("{count} bytes wanted, {} left", self.0.len())));
        }
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        Ok(taken)
    }

    /// A little-endian integer of `width` bytes, at most 8.
    pub(crate) fn int(&mut self, width: usize) -> Result<u64> {
        let mut wide = [0; 8];
        wide[..width].copy_from_slice(self.bytes(width)?);
        Ok(u64::from_le_bytes(wide))
    }

    pub(crate) fn lenenc(&mut self) -> Result<u64> {
        match self.int(1)? {
            0xfc => self.int(2),
            0xfd => self.int(3),
            0xfe => self.int(8),
            small @ 0..=0xfa => Ok(small),
            other => Err(broken(format!("length byte {other:#x}"))),
        }
    }

    pub(crate) fn lenenc_bytes(&mut self) -> Result<&'a [u8]> {
        let length = self.lenenc()?;
        self.bytes(usize::try_from(length).map_err(|_| broken("length beyond memory"))?)
    }

    pub(crate) fn until_nul(&mut self) -> Result<&'a [u8]> {
        let end = self.0.iter().position(|&byte| byte == 0).ok_or_else(|| broken("no NUL"))?;
        let text = self.bytes(end)?;
        self.bytes(1)?;
        Ok(text)
    }

    pub(crate) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }
}

/// Appends a length-encoded integer.
pub(crate) fn put_lenenc(out: &mut Vec<u8>, value: u64) {
    match value {
        0..=0xfa => out.push(value as u8),
        0xfb..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&(value as u16).to_le_bytes());
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&(value as u32).to_le_bytes()[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&value.to_le_bytes());
        }
    }
}

/// Appends a length-encoded string.
pub(crate) fn put_lenenc_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_lenenc(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}
