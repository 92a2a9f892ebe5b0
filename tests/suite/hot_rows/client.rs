//! A client of the tests with many clients: a text or an execution at a time, every wait bounded.

use std::collections::HashMap;
use std::io;
use std::time::Duration;

use crate::client::{Address, Packets};
use crate::login::{self, Login, Opening};
use crate::reply::{Rows, Set, read_prepared, read_reply};

/// How long a reply may take, whatever happens to servers and Weir: more is a hang.
pub(super) const PATIENCE: Duration = Duration::from_secs(40);

/// A connection.
pub(super) struct Client {
    packets: Packets,
    capabilities: u32,
    /// Statements that it has prepared.
    statements: HashMap<&'static str, u32>,
    pub(super) id: u32,
}

impl Client {
    pub(super) fn open(address: &Address, login: &Login) -> io::Result<Self> {
        match login::open(address, login)? {
            (packets, Opening::Done(greeting, capabilities, _)) => {
                packets.stream().set_read_timeout(PATIENCE)?;
                Ok(Self { packets, capabilities, statements: HashMap::new(), id: greeting.connection_id })
            }
            (_, Opening::Refused(why)) => Err(io::Error::other(format!("{why:?}"))),
        }
    }

    /// Sends a text whose reply is not read.
    pub(super) fn say(&mut self, text: &str) -> io::Result<()> {
        self.packets.command(0x03, text.as_bytes())
    }

    pub(super) fn ask(&mut self, text: &str) -> io::Result<Vec<Set>> {
        self.packets.command(0x03, text.as_bytes())?;
        read_reply(&mut self.packets, self.capabilities, Rows::Text, &[])
    }

    /// Prepares the statement if it isn't, and executes it. `Ok` with an error in it if it can't be prepared.
    pub(super) fn execute(&mut self, statement: &'static str, values: &[i64]) -> io::Result<Vec<Set>> {
        let id = match self.statements.get(statement) {
            Some(id) => *id,
            None => {
                self.packets.command(0x16, statement.as_bytes())?;
                match read_prepared(&mut self.packets, self.capabilities)? {
                    (id, Set::Prepared(..)) => {
                        self.statements.insert(statement, id);
                        id
                    }
                    (_, refused) => return Ok(vec![refused]),
                }
            }
        };
        self.packets.command(0x17, &execution(id, values))?;
        read_reply(&mut self.packets, self.capabilities, Rows::Binary, &[])
    }
}

/// COM_STMT_EXECUTE with BIGINTs.
fn execution(id: u32, values: &[i64]) -> Vec<u8> {
    let mut payload = id.to_le_bytes().to_vec();
    payload.push(0);
    payload.extend_from_slice(&1_u32.to_le_bytes());
    if !values.is_empty() {
        payload.extend(std::iter::repeat_n(0, values.len().div_ceil(8)));
        payload.push(1);
        values.iter().for_each(|_| payload.extend_from_slice(&[8, 0]));
        values.iter().for_each(|value| payload.extend_from_slice(&value.to_le_bytes()));
    }
    payload
}

/// Whether a wait was given up.
pub(super) fn is_hang(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// The statement as a text: each `?` replaced by its value.
pub(super) fn with_values(statement: &str, values: &[i64]) -> String {
    let mut text = String::new();
    let mut values = values.iter();
    for part in statement.split_inclusive('?') {
        match part.strip_suffix('?') {
            Some(before) => {
                text.push_str(before);
                text.push_str(&values.next().expect("a value for each parameter").to_string());
            }
            None => text.push_str(part),
        }
    }
    text
}

/// An UPDATE with the hints that commit it, or undo it if it doesn't affect one row. None for others. `before`: they stand in a comment before
/// it, else behind its first word.
pub(super) fn hinted(text: &str, before: bool) -> Option<String> {
    const HINTS: &str = "COMMIT_ON_SUCCESS ROLLBACK_ON_FAIL TARGET_AFFECT_ROW(1)";
    let rest = text.strip_prefix("UPDATE ")?;
    Some(if before { format!("/* {HINTS} */ {text}") } else { format!("UPDATE /*+ {HINTS} */ {rest}") })
}
