//! A connection to a server that takes any bytes as a statement, and sends several before it reads the answers.
//!
//! Drivers want statements in UTF-8 and one at a time; the corpus is neither UTF-8 nor small. What must hold: only
//! [`Client::prepare_all`] is used on statements of the corpus, and that runs none of them; but for queries that read no table
//! and do nothing, which are run for their values.

use std::fmt;
use std::io::{self, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

const COM_QUERY: u8 = 3;
const COM_INIT_DB: u8 = 2;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_CLOSE: u8 = 0x19;
/// PROTOCOL_41, SECURE_CONNECTION, PLUGIN_AUTH, LONG_PASSWORD, TRANSACTIONS.
const CAPABILITIES: u32 = 0x200 | 0x8000 | 0x8_0000 | 1 | 0x2000;
const UTF8MB4: u8 = 45;
const ANSWER_BOUND: Duration = Duration::from_secs(60);
/// Fits in a socket's buffer, so that writing ends even while the server waits for us to read.
const BATCH_BYTES: usize = 32 * 1024;
const BATCH_STATEMENTS: usize = 32;
const LARGEST_PACKET: usize = 0xFF_FFFF;

/// What a server says against a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: u16,
    pub(crate) message: Vec<u8>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, String::from_utf8_lossy(&self.message))
    }
}

/// Rows of a result, as the text protocol gives them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rows {
    pub(crate) rows: Vec<Vec<u8>>,
}

/// The answer to a statement: what it gave, or why the server refused.
pub(crate) type Answer<T> = Result<T, Refusal>;

/// See the module.
pub(crate) struct Client {
    stream: BufReader<UnixStream>,
    to_close: Vec<u32>,
}

impl Client {
    /// Logs in as root, who has no password on this socket.
    pub(crate) fn connect(socket: &Path) -> io::Result<Self> {
        let stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(ANSWER_BOUND))?;
        stream.set_write_timeout(Some(ANSWER_BOUND))?;
        let mut client = Self { stream: BufReader::new(stream), to_close: Vec::new() };
        client.log_in()?;
        Ok(client)
    }

    fn log_in(&mut self) -> io::Result<()> {
        let (_, greeting) = self.read_packet()?;
        if greeting.first() == Some(&0xFF) {
            return Err(io::Error::other(String::from_utf8_lossy(&greeting).into_owned()));
        }
        let mut response = Vec::new();
        response.extend(CAPABILITIES.to_le_bytes());
        response.extend((LARGEST_PACKET as u32).to_le_bytes());
        response.push(UTF8MB4);
        response.extend([0; 23]);
        response.extend(b"root\0\0mysql_native_password\0");
        self.write_packet(1, &response)?;
        loop {
            let (sequence, packet) = self.read_packet()?;
            match packet.first() {
                Some(0) => return Ok(()),
                // Another plugin: without a password, nothing is the answer to all of them.
                Some(0xFE) => self.write_packet(sequence.wrapping_add(1), b"")?,
                Some(1) => {}
                _ => return Err(io::Error::other(String::from_utf8_lossy(&packet).into_owned())),
            }
        }
    }

    /// Runs a statement of our own.
    pub(crate) fn execute(&mut self, sql: &[u8]) -> io::Result<Answer<()>> {
        Ok(self.query(sql)?.map(|_| ()))
    }

    /// Changes the default database.
    pub(crate) fn use_database(&mut self, name: &str) -> io::Result<Answer<()>> {
        self.write_command(COM_INIT_DB, name.as_bytes())?;
        let (_, packet) = self.read_packet()?;
        Ok(if packet.first() == Some(&0xFF) { Err(refusal(&packet)) } else { Ok(()) })
    }

    /// Runs a statement and reads its result; rows come as they are on the wire.
    pub(crate) fn query(&mut self, sql: &[u8]) -> io::Result<Answer<Rows>> {
        self.write_command(COM_QUERY, sql)?;
        self.read_result()
    }

    /// Runs queries, several of them before the first answer is read.
    pub(crate) fn query_all(&mut self, queries: &[Vec<u8>]) -> io::Result<Vec<Answer<Rows>>> {
        let mut answers = Vec::with_capacity(queries.len());
        while answers.len() < queries.len() {
            let rest = &queries[answers.len()..];
            let mut out = Vec::new();
            let mut count = 0;
            for query in rest.iter().take(BATCH_STATEMENTS) {
                if count > 0 && out.len() + query.len() > BATCH_BYTES {
                    break;
                }
                put_command(&mut out, COM_QUERY, query);
                count += 1;
            }
            self.stream.get_mut().write_all(&out)?;
            for _ in 0..count {
                answers.push(self.read_result()?);
            }
        }
        Ok(answers)
    }

    fn read_result(&mut self) -> io::Result<Answer<Rows>> {
        let (_, first) = self.read_packet()?;
        match first.first() {
            Some(0xFF) => return Ok(Err(refusal(&first))),
            Some(0) => return Ok(Ok(Rows { rows: Vec::new() })),
            _ => {}
        }
        while !is_eof(&self.read_packet()?.1) {}
        let mut rows = Vec::new();
        loop {
            let (_, packet) = self.read_packet()?;
            if packet.first() == Some(&0xFF) {
                return Ok(Err(refusal(&packet)));
            }
            if is_eof(&packet) {
                return Ok(Ok(Rows { rows }));
            }
            rows.push(packet);
        }
    }

    /// Prepares statements without running them: for each, `None` if it was prepared. What the answers say about
    /// columns and parameters is not kept. On an I/O error, the number of answers tells how far it got.
    pub(crate) fn prepare_all(
        &mut self,
        statements: &[&[u8]],
        mut answered: impl FnMut(usize, Option<Refusal>),
    ) -> io::Result<()> {
        let mut from = 0;
        while from < statements.len() {
            let mut bytes = 0;
            let batch = statements[from..].iter().take(BATCH_STATEMENTS).take_while(|statement| {
                bytes += statement.len();
                bytes <= BATCH_BYTES
            });
            let count = batch.count().max(1);
            let mut out = Vec::new();
            for id in std::mem::take(&mut self.to_close) {
                put_command(&mut out, COM_STMT_CLOSE, &id.to_le_bytes());
            }
            for statement in &statements[from..from + count] {
                put_command(&mut out, COM_STMT_PREPARE, statement);
            }
            self.stream.get_mut().write_all(&out)?;
            for at in from..from + count {
                let answer = self.read_prepared()?;
                answered(at, answer);
            }
            from += count;
        }
        Ok(())
    }

    fn read_prepared(&mut self) -> io::Result<Option<Refusal>> {
        let (_, first) = self.read_packet()?;
        if first.first() == Some(&0xFF) {
            return Ok(Some(refusal(&first)));
        }
        if first.len() < 9 {
            return Err(io::Error::other("not an answer to COM_STMT_PREPARE"));
        }
        self.to_close.push(u32::from_le_bytes([first[1], first[2], first[3], first[4]]));
        for count in [u16::from_le_bytes([first[7], first[8]]), u16::from_le_bytes([first[5], first[6]])] {
            if count > 0 {
                while !is_eof(&self.read_packet()?.1) {}
            }
        }
        Ok(None)
    }

    fn write_command(&mut self, command: u8, body: &[u8]) -> io::Result<()> {
        let mut out = Vec::with_capacity(body.len() + 5);
        put_command(&mut out, command, body);
        self.stream.get_mut().write_all(&out)
    }

    fn write_packet(&mut self, sequence: u8, body: &[u8]) -> io::Result<()> {
        let mut out = Vec::new();
        put_header(&mut out, sequence, body.len());
        out.extend(body);
        self.stream.get_mut().write_all(&out)
    }

    fn read_packet(&mut self) -> io::Result<(u8, Vec<u8>)> {
        let mut body = Vec::new();
        loop {
            let mut header = [0; 4];
            self.stream.read_exact(&mut header)?;
            let length = u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
            let start = body.len();
            body.resize(start + length, 0);
            self.stream.read_exact(&mut body[start..])?;
            if length < LARGEST_PACKET {
                return Ok((header[3], body));
            }
        }
    }
}

fn put_header(out: &mut Vec<u8>, sequence: u8, length: usize) {
    out.extend(&(length as u32).to_le_bytes()[..3]);
    out.push(sequence);
}

fn put_command(out: &mut Vec<u8>, command: u8, body: &[u8]) {
    put_header(out, 0, body.len() + 1);
    out.push(command);
    out.extend(body);
}

fn is_eof(packet: &[u8]) -> bool {
    packet.first() == Some(&0xFE) && packet.len() < 9
}

fn refusal(packet: &[u8]) -> Refusal {
    let code = match packet {
        [_, low, high, ..] => u16::from_le_bytes([*low, *high]),
        _ => 0,
    };
    let rest = packet.get(3..).unwrap_or_default();
    // After the SQLSTATE.
    let message = if rest.first() == Some(&b'#') { rest.get(6..).unwrap_or_default() } else { rest };
    Refusal { code, message: message.to_vec() }
}
