//! The client's side of a session: packets in, bytes out, compression between.
//!
//! What must always hold: a payload is never longer than the limit that its reader names; bytes that a client sends
//! while its statement runs wait in a bounded buffer; a write that makes no progress for the bound ends the session, as does a client that
//! stops in the middle of what it sends; a command has one answer ([`answered`]).

mod answered;
mod capture;
mod errors;
mod lost;
mod replies;
mod waiting;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use bytes::{Buf, BytesMut};
pub use capture::{Excess, Kept};
pub use lost::ClientError;
use replies::Replies;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;
use waiting::at_once;
use weir_backend::Stream;
use weir_wire::compress::{Algorithm, Compressor, Contexts, Decompressor, MAX_FRAME, Progress, ReplyFrames};
use weir_wire::frame::{HEADER, Header, PacketReader, put_packet};
use weir_wire::packets::OkPacket;
use weir_wire::resultset::ResultSet;
use weir_wire::{Capabilities, StatusFlags};

/// Bytes that wait to be written before they are.
pub const FLUSH_AT: usize = 64 * 1024;
/// Bytes of further commands that a client may send while one runs; more stay in the socket.
const READ_AHEAD: usize = 256 * 1024;
/// The least that is read at once.
const READ_CHUNK: usize = 16 * 1024;
/// What an idle client's buffer holds.
const IDLE_BUFFER: usize = 1024;

/// The most bytes that [`Client::hold_output`] keeps.
const MOST_HELD: usize = 1024 * 1024;

/// Compression contexts of a worker, lent to whichever session needs them.
pub type SharedContexts = Rc<RefCell<Contexts>>;

#[derive(Debug)]
struct Compressed {
    contexts: SharedContexts,
    reader: Decompressor,
    writer: Compressor,
    frames: ReplyFrames,
    input: BytesMut,
    output: BytesMut,
}

impl Compressed {
    fn heard(&mut self, payload: &[u8], capabilities: Capabilities) {
        self.writer.set_next_seq(self.reader.next_seq());
        self.frames.heard(payload, capabilities);
    }
}

/// Where a client's output was.
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    /// So many bytes were in the output.
    pub(crate) length: usize,
    next_seq: u8,
    answered: bool,
}

/// A client's connection.
#[derive(Debug)]
pub struct Client {
    /// What was negotiated.
    pub capabilities: Capabilities,
    /// Bytes to be sent; [`Client::flush`] sends them.
    pub output: BytesMut,
    /// Nothing more is sent: the client has gone, and the rest of a reply is read for the server's sake only.
    pub discard: bool,
    stream: Stream,
    input: BytesMut,
    packets: PacketReader,
    /// A client that for so long neither reads, nor goes on with a packet or a file, is cut off.
    pub write_timeout: Duration,
    /// Until when it must go on with what it has begun to send, if that is waited for.
    goes_on_by: Option<Instant>,
    /// Bytes received and sent since they were last counted.
    traffic: (u64, u64),
    /// Bytes sent to it at all.
    sent: u64,
    compressed: Option<Box<Compressed>>,
    /// Replies to several statements are put.
    replies: Option<Replies>,
    /// What is put is not sent yet: it may be changed.
    held: bool,
    /// What is put is not the client's.
    capture: Option<Box<capture::Capture>>,
    /// It takes errors with codes of client libraries.
    takes_own_codes: bool,
    /// Its latest command has its whole answer.
    answered: bool,
}

impl Client {
    /// A connection on which nothing has been said yet.
    pub fn new(stream: Stream, write_timeout: Duration) -> Client {
        Client {
            capabilities: Capabilities::empty(),
            output: BytesMut::with_capacity(IDLE_BUFFER),
            discard: false,
            stream,
            input: BytesMut::with_capacity(IDLE_BUFFER),
            packets: PacketReader::new(),
            write_timeout,
            goes_on_by: None,
            traffic: (0, 0),
            sent: 0,
            compressed: None,
            replies: None,
            held: false,
            capture: None,
            takes_own_codes: true,
            answered: false,
        }
    }

    /// The stream.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Puts TLS around the connection. Nothing that came in clear is taken for a part of what comes encrypted: the
    /// packet before was read by [`Client::packet_alone`].
    ///
    /// # Errors
    /// When the handshake fails.
    pub async fn start_tls(&mut self, acceptor: &TlsAcceptor) -> Result<(), ClientError> {
        Ok(self.stream.accept_tls(acceptor).await?)
    }

    /// The next payload, and not a byte more: behind a request for TLS, clients begin with TLS without waiting.
    ///
    /// # Errors
    /// As [`Client::packet`].
    pub async fn packet_alone(&mut self, limit: usize) -> Result<BytesMut, ClientError> {
        loop {
            if let Some(payload) = self.packets.next(&mut self.input, limit)? {
                return Ok(payload);
            }
            let whole = Header::peek(&self.input).map_or(HEADER, |header| HEADER + header.len);
            let missing = whole.saturating_sub(self.input.len()).max(1);
            if (&mut self.stream).take(missing as u64).read_buf(&mut self.input).await? == 0 {
                return Err(ClientError::Gone);
            }
        }
    }

    /// Everything from now on is compressed.
    ///
    /// # Errors
    /// For a level that the algorithm does not have.
    pub fn compress(&mut self, algorithm: Algorithm, level: u8, contexts: &SharedContexts) -> Result<(), ClientError> {
        self.compressed = Some(Box::new(Compressed {
            contexts: contexts.clone(),
            reader: Decompressor::new(algorithm, MAX_FRAME),
            writer: Compressor::new(algorithm, level)?,
            frames: ReplyFrames::default(),
            input: std::mem::take(&mut self.input),
            output: BytesMut::new(),
        }));
        Ok(())
    }

    /// The sequence number of the next packet in either direction.
    pub fn seq(&self) -> u8 {
        self.packets.next_seq()
    }

    /// The bytes received and sent since this was last asked.
    pub fn take_traffic(&mut self) -> (u64, u64) {
        std::mem::take(&mut self.traffic)
    }

    /// Expects a new command.
    pub fn begin_command(&mut self) {
        self.packets.set_next_seq(0);
        if let Some(compressed) = &mut self.compressed {
            compressed.reader.set_next_seq(0);
            compressed.frames.begin_command();
        }
    }

    /// Gives the memory of large buffers back, between commands.
    pub fn shrink(&mut self) {
        if self.input.is_empty() && self.input.capacity() > 2 * READ_CHUNK {
            self.input = BytesMut::new();
        }
        if self.output.is_empty() && self.output.capacity() > 2 * FLUSH_AT {
            self.output = BytesMut::new();
        }
    }

    /// Frees the buffers: the client has been idle for a while.
    pub fn rest(&mut self) {
        if self.input.is_empty() {
            self.input = BytesMut::new();
        }
        self.output = BytesMut::new();
    }

    /// Whether a whole packet, or a part of one, has arrived already.
    pub fn has_input(&self) -> bool {
        !self.input.is_empty() || self.compressed.as_ref().is_some_and(|c| !c.input.is_empty())
    }

    /// The next payload. Cancel-safe: what has arrived stays.
    ///
    /// # Errors
    /// When the client goes, breaks the protocol, or claims more than `limit` bytes.
    pub async fn packet(&mut self, limit: usize) -> Result<BytesMut, ClientError> {
        loop {
            self.inflate()?;
            if let Some(payload) = self.packets.next(&mut self.input, limit)? {
                if let Some(compressed) = &mut self.compressed {
                    compressed.heard(&payload, self.capabilities);
                }
                return Ok(payload);
            }
            self.fill_packet().await?;
        }
    }

    /// As [`Client::packet`], into `payload`. Cancel-safe.
    ///
    /// # Errors
    /// As [`Client::packet`].
    pub async fn packet_into(&mut self, limit: usize, payload: &mut BytesMut) -> Result<(), ClientError> {
        loop {
            self.inflate()?;
            if self.packets.next_into(&mut self.input, limit, payload)? {
                if let Some(compressed) = &mut self.compressed {
                    compressed.heard(payload, self.capabilities);
                }
                return Ok(());
            }
            self.fill_packet().await?;
        }
    }

    /// The next frame as it is, header included; for a file that goes to a server. Cancel-safe.
    ///
    /// # Errors
    /// As [`Client::packet`].
    pub async fn frame(&mut self) -> Result<BytesMut, ClientError> {
        loop {
            self.inflate()?;
            if let Some(header) = Header::peek(&self.input)
                && self.input.len() >= HEADER + header.len
            {
                self.packets.set_next_seq(header.seq.wrapping_add(1));
                if let Some(replies) = &mut self.replies {
                    replies.go_on_at(header.seq.wrapping_add(1));
                }
                if let Some(compressed) = &mut self.compressed {
                    compressed.heard(&[], self.capabilities);
                }
                return Ok(self.input.split_to(HEADER + header.len));
            }
            self.fill_in_time().await?;
        }
    }

    fn inflate(&mut self) -> Result<(), ClientError> {
        let Some(compressed) = &mut self.compressed else { return Ok(()) };
        let mut contexts = compressed.contexts.borrow_mut();
        match compressed.reader.push(&mut contexts, &mut compressed.input, &mut self.input)? {
            Progress::NeedInput(_) | Progress::NextCommand | Progress::OutputFull => Ok(()),
        }
    }

    /// Reads what has arrived. Cancel-safe.
    async fn fill(&mut self) -> Result<(), ClientError> {
        let input = match &mut self.compressed {
            Some(compressed) => &mut compressed.input,
            None => &mut self.input,
        };
        let room = if input.is_empty() { IDLE_BUFFER } else { READ_CHUNK };
        if input.capacity() - input.len() < room {
            input.reserve(room);
        }
        match self.stream.read_buf(input).await? {
            0 => Err(ClientError::Gone),
            n => {
                self.traffic.0 += n as u64;
                self.goes_on_by = None;
                Ok(())
            }
        }
    }

    /// Resolves only when the client has gone, taking in what it sends meanwhile up to a bound. Cancel-safe.
    pub async fn gone(&mut self) -> ClientError {
        loop {
            let waiting = self.compressed.as_ref().map_or(self.input.len(), |c| c.input.len());
            if self.discard || waiting >= READ_AHEAD {
                return std::future::pending().await;
            }
            if let Err(error) = self.fill().await {
                return error;
            }
        }
    }

    /// Appends a packet with the next sequence number.
    pub fn put(&mut self, payload: &[u8]) {
        let instead = self.error_to_take(payload);
        let seq = put_packet(&mut self.output, self.packets.next_seq(), instead.as_deref().unwrap_or(payload));
        self.packets.set_next_seq(seq);
    }

    /// What has been put so far.
    pub fn mark(&self) -> Mark {
        Mark { length: self.output.len(), next_seq: self.packets.next_seq(), answered: self.answered }
    }

    /// Takes back what was put since `mark`. Nothing may have been sent since then.
    pub fn take_back(&mut self, mark: Mark) {
        self.output.truncate(mark.length);
        self.packets.set_next_seq(mark.next_seq);
        self.answered = mark.answered;
    }

    /// What is put from now on is not sent, until [`Client::let_output_go`] or until it is too much. Returns where it begins.
    pub fn hold_output(&mut self) -> usize {
        self.held = true;
        self.output.len()
    }

    /// Ends that. Returns whether nothing was sent meanwhile.
    pub fn let_output_go(&mut self) -> bool {
        std::mem::take(&mut self.held)
    }

    /// Appends an OK.
    pub fn put_ok(&mut self, ok: &OkPacket<'_>) {
        self.put(&ok.encode(self.capabilities));
    }

    /// Appends a result set.
    pub fn put_result(&mut self, result: &ResultSet, status: StatusFlags) {
        let seq = result.put(&mut self.output, self.packets.next_seq(), self.capabilities, status);
        self.packets.set_next_seq(seq);
    }

    /// The same for an execution of a prepared statement.
    pub fn put_binary_result(&mut self, result: &ResultSet, status: StatusFlags) {
        let seq = result.put_binary(&mut self.output, self.packets.next_seq(), self.capabilities, status);
        self.packets.set_next_seq(seq);
    }

    /// What is put from now on are replies to several statements, until [`Client::end_replies`]. Nothing has been put yet.
    pub fn begin_replies(&mut self) {
        self.replies = Some(Replies::new(self.packets.next_seq()));
    }

    /// One of several replies begins. `more`: another one will follow, as far as is known.
    pub fn begin_reply(&mut self, more: bool) {
        self.answered = false;
        if let Some(replies) = &mut self.replies {
            replies.begin(self.capabilities, more);
        }
    }

    /// A reply is at its end; `more`: another one follows. Returns whether it is no error.
    pub fn end_reply(&mut self, more: bool) -> bool {
        self.answered &= !more;
        let Some(replies) = &mut self.replies else { return false };
        replies.end(&mut self.output, self.capabilities, more)
    }

    /// Takes back the latest of several replies if it is nothing but an error. Returns whether it was.
    pub fn take_back_error(&mut self) -> bool {
        let taken = self.replies.as_mut().is_some_and(|replies| replies.take_back_error(&mut self.output));
        self.answered &= !taken;
        taken
    }

    /// The latest reply was the last.
    pub fn end_replies(&mut self) {
        if let Some(mut replies) = self.replies.take() {
            self.packets.set_next_seq(replies.finish(&mut self.output));
        }
    }

    /// Sends what is to be sent. Not cancel-safe: used where nothing else is waited for.
    ///
    /// # Errors
    /// When the connection breaks, or makes no progress for the bound.
    pub async fn flush(&mut self) -> Result<(), ClientError> {
        self.held &= self.output.len() < MOST_HELD;
        if self.captures() || self.held {
            return Ok(());
        }
        let held = self.replies.as_mut().map(|replies| replies.hold_back(&mut self.output));
        let sent = self.flush_output().await;
        if let Some(held) = held {
            self.output = held;
        }
        sent
    }

    /// Sends what is to be sent, the last packet of which asks for a file. Not cancel-safe.
    ///
    /// # Errors
    /// As [`Client::flush`].
    pub async fn flush_request(&mut self) -> Result<(), ClientError> {
        if let Some(replies) = &mut self.replies {
            replies.send_all(&mut self.output);
        }
        self.flush().await
    }

    async fn flush_output(&mut self) -> Result<(), ClientError> {
        if self.discard || self.output.is_empty() {
            self.output.clear();
            return Ok(());
        }
        let out = match &mut self.compressed {
            Some(compressed) => {
                let Compressed { contexts, writer, frames, output, .. } = &mut **compressed;
                frames.push(writer, &mut contexts.borrow_mut(), &mut self.output, output);
                self.output.clear();
                // If the client answers before the command's end (a password, a file), its frames go on from here.
                compressed.reader.set_next_seq(compressed.writer.next_seq());
                &mut compressed.output
            }
            None => &mut self.output,
        };
        while !out.is_empty() {
            // Mostly the socket takes it at once, and a timer need not be made.
            let n = match at_once(self.stream.write(out)).await {
                Some(written) => written?,
                // The bound is on progress, not on the whole: a slow reader may take its time.
                None => tokio::time::timeout(self.write_timeout, self.stream.write(out)).await??,
            };
            if n == 0 {
                return Err(ClientError::Gone);
            }
            out.advance(n);
            self.traffic.1 += n as u64;
            self.sent += n as u64;
        }
        match at_once(self.stream.flush()).await {
            Some(flushed) => flushed?,
            None => tokio::time::timeout(self.write_timeout, self.stream.flush()).await??,
        }
        Ok(())
    }

    /// Ends the connection, with what is still to be said if it can be said at once.
    pub async fn close(mut self) {
        let bound = Duration::from_secs(1);
        let _ = tokio::time::timeout(bound, async {
            let _ = self.flush().await;
            let _ = self.stream.shutdown().await;
            // What the client still sends would make the system take back what it has not read yet, an error say.
            while !self.input.is_empty() {
                self.input.clear();
                if self.stream.read_buf(&mut self.input).await.is_err() {
                    break;
                }
            }
        })
        .await;
    }
}
