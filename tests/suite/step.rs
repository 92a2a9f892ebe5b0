//! A small language for what a session does, one line per step, and the session that does it.
//!
//! A step is the text of a statement, or one of these:
//!
//! ```text
//! !prepare NAME STATEMENT   COM_STMT_PREPARE
//! !exec NAME [VALUE, …]     COM_STMT_EXECUTE; values: NULL, 5, -5, 1.5, d'1.50' (a decimal), 'text', x'00ff', t'00ff' (the
//!                           bytes of a text)
//! !exec latest              the statement that was prepared last, by MariaDB's id for it
//! !cursor NAME [VALUE, …]   the same, asking for a cursor
//! !fetch NAME COUNT         COM_STMT_FETCH
//! !long NAME INDEX TEXT     COM_STMT_SEND_LONG_DATA (has no answer)
//! !unlong NAME              COM_STMT_RESET
//! !close NAME               COM_STMT_CLOSE (has no answer)
//! !bin STATEMENT            prepared, executed and closed
//! !init DATABASE            COM_INIT_DB
//! !reset                    COM_RESET_CONNECTION
//! !user DATABASE            COM_CHANGE_USER to the same user
//! !option 0|1               COM_SET_OPTION: multi-statements on (0) or off (1)
//! !fields TABLE             COM_FIELD_LIST
//! !ping                     COM_PING
//! !infile TEXT              what LOAD DATA LOCAL gets from now on (\n and \t are escapes)
//! !reconnect                the connection is dropped as it is, another takes its place
//! ```
//!
//! `{db}` stands for the name of the side's database and `{cid}` for the session's connection id; `{x:N}` is N times
//! the letter x, `{cols:N}` the numbers 1 to N with commas, and `{b:e9}` one byte.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use memchr::memmem;

use crate::client::{Address, Packets, put_lenenc_bytes};
use crate::login::{self, Greeting, Login, Opening, caps};
use crate::raw;
use crate::reply::{Column, Rows, Set, read_prepared, read_reply, read_rows};

/// COM_STMT_EXECUTE's flag for a read-only cursor.
const READ_ONLY_CURSOR: u8 = 1;
/// "This command is not supported in the prepared statement protocol yet".
const NOT_PREPARABLE: u16 = 1295;

/// A statement's name that stands for the one prepared last, to MariaDB.
const LATEST: &str = "latest";

/// A statement that the session prepared.
struct Statement {
    id: u32,
    parameters: usize,
    columns: Vec<Column>,
    /// Parameters that were sent as long data.
    long: Vec<usize>,
}

/// What logging in gave.
struct Connected {
    packets: Packets,
    greeting: Greeting,
    capabilities: u32,
}

/// A client session on one side of a comparison.
pub(crate) struct Session {
    address: Address,
    login: Login,
    database: String,
    /// Statements go by the binary protocol where the server can prepare them.
    pub(crate) binary: bool,
    /// The bytes of packets are kept for [`Session::take_packets`].
    pub(crate) raw: bool,
    connected: Option<Connected>,
    statements: HashMap<String, Statement>,
    infile: Vec<u8>,
    /// Names of user locks that it has asked for.
    locks: BTreeSet<String>,
}

impl Session {
    /// A session that will connect at its first step.
    pub(crate) fn new(address: &Address, login: &Login, database: &str) -> Self {
        let login = login.clone().database(database);
        Self {
            address: address.clone(),
            login,
            database: database.into(),
            binary: false,
            raw: false,
            connected: None,
            statements: HashMap::new(),
            infile: Vec::new(),
            locks: BTreeSet::new(),
        }
    }

    /// The packets of the last step's answers, to be compared.
    pub(crate) fn take_packets(&mut self) -> Vec<Vec<u8>> {
        let placeholder = "#".repeat(self.database.len());
        let kept = self.connected.as_mut().and_then(|connected| connected.packets.kept.replace(Vec::new()));
        raw::taken(kept.unwrap_or_default(), self.database.as_bytes(), placeholder.as_bytes())
    }

    /// The connection id of the handshake, 0 before it.
    pub(crate) fn connection_id(&self) -> u32 {
        self.connected.as_ref().map_or(0, |connected| connected.greeting.connection_id)
    }

    /// Runs a step and returns all that came back, the database's name taken out.
    pub(crate) fn run(&mut self, step: &str) -> Vec<Set> {
        let mut sets = Vec::new();
        if self.connected.is_none() {
            sets.extend(self.connect());
        }
        if self.connected.is_some() {
            let text = self.expand(step);
            self.connected().packets.kept = self.raw.then(Vec::new);
            self.note_locks(&text);
            match self.dispatch(&text) {
                Ok(more) => sets.extend(more),
                Err(error) => {
                    self.connected = None;
                    sets.push(Set::Lost(error.to_string()));
                }
            }
        }
        let placeholder: String = "#".repeat(self.database.len());
        sets.iter_mut().for_each(|set| set.rename(self.database.as_bytes(), placeholder.as_bytes()));
        sets
    }

    fn connect(&mut self) -> Option<Set> {
        self.statements.clear();
        match login::open(&self.address, &self.login) {
            Ok((packets, Opening::Done(greeting, capabilities, set))) => {
                let mariadb = greeting.version.contains("MariaDB");
                self.connected = Some(Connected { packets, greeting: *greeting, capabilities });
                // A new connection to MariaDB has the FOUND_ROWS() of an earlier one, whose thread it got. This rides no lane.
                if mariadb && let Err(error) = self.query("SELECT CONNECTION_ID()") {
                    self.connected = None;
                    return Some(Set::Lost(error.to_string()));
                }
                Some(set)
            }
            Ok((_, Opening::Refused(set))) => Some(set),
            Err(error) => Some(Set::Lost(error.to_string())),
        }
    }

    fn expand(&self, step: &str) -> String {
        let text = step.replace("{db}", &self.database).replace("{cid}", &self.connection_id().to_string());
        let text = expand_counted(&text, "{cols:", |count| {
            let numbers: Vec<String> = (1..=count).map(|number| number.to_string()).collect();
            numbers.join(",")
        });
        // Last: what is many megabytes long is not looked through.
        expand_counted(&text, "{x:", |count| "x".repeat(count))
    }

    fn dispatch(&mut self, step: &str) -> std::io::Result<Vec<Set>> {
        let Some(command) = step.strip_prefix('!') else {
            return if self.binary { self.prepared_once(step) } else { self.query(step) };
        };
        let (verb, rest) = command.split_once(' ').unwrap_or((command, ""));
        let (name, more) = rest.split_once(' ').unwrap_or((rest, ""));
        match verb {
            "prepare" => self.prepare(name, more).map(|set| vec![set]),
            "exec" | "cursor" | "fetch" | "unlong" => {
                let id = self.statement_id(name);
                let mut sets = self.use_statement(verb, name, more)?;
                sets.iter_mut().for_each(|set| set.forget_statement_id(id));
                Ok(sets)
            }
            "long" => self.long_data(name, more),
            "close" => self.close(name).map(|()| Vec::new()),
            "bin" => self.prepared_once(rest),
            "init" => self.command(0x02, rest.as_bytes()),
            "reset" => {
                self.statements.clear();
                self.command(0x1f, &[])
            }
            "user" => self.change_user(rest),
            "option" => self.set_option(rest.parse().expect("0 or 1")),
            "fields" => self.field_list(rest),
            "ping" => self.command(0x0e, &[]),
            "infile" => {
                self.infile = rest.replace("\\n", "\n").replace("\\t", "\t").into_bytes();
                Ok(Vec::new())
            }
            "reconnect" => {
                let held = self.held_locks();
                self.connected = None;
                // Nothing is kept: how often is asked for locks is chance.
                let set = self.connect();
                self.wait_until_free(&held);
                Ok(set.into_iter().collect())
            }
            _ => panic!("unknown step {step:?}"),
        }
    }

    fn use_statement(&mut self, verb: &str, name: &str, more: &str) -> std::io::Result<Vec<Set>> {
        match verb {
            "exec" => self.execute(name, more, 0),
            "cursor" => self.execute(name, more, READ_ONLY_CURSOR),
            "fetch" => self.fetch(name, more.parse().expect("a number of rows")),
            _ => {
                let payload = self.statement_id(name).to_le_bytes();
                self.statements.entry(name.into()).and_modify(|statement| statement.long.clear());
                self.command(0x1a, &payload)
            }
        }
    }

    fn note_locks(&mut self, text: &str) {
        const CALL: &str = "GET_LOCK('";
        for at in memmem::find_iter(text.as_bytes(), CALL) {
            self.locks.extend(text[at + CALL.len()..].split_once('\'').map(|(name, _)| name.to_owned()));
        }
    }

    /// The user locks that the session has.
    fn held_locks(&mut self) -> Vec<String> {
        let names = std::mem::take(&mut self.locks);
        names
            .into_iter()
            .filter(|name| self.says_yes(&format!("SELECT IS_USED_LOCK('{name}') = CONNECTION_ID()")))
            .collect()
    }

    /// A server notices a little later that a client has gone: only then can it be said who gets its locks.
    fn wait_until_free(&mut self, locks: &[String]) {
        let start = Instant::now();
        for name in locks {
            while self.connected.is_some()
                && !self.says_yes(&format!("SELECT IS_FREE_LOCK('{name}')"))
                && start.elapsed() < Duration::from_secs(30)
            {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }

    fn says_yes(&mut self, query: &str) -> bool {
        let yes = |set: &Set| matches!(set, Set::Rows(_, rows, _) if rows.iter().flatten().any(|cell| cell.as_deref() == Some(b"1")));
        self.query(query).is_ok_and(|sets| sets.iter().any(yes))
    }

    fn connected(&mut self) -> &mut Connected {
        self.connected.as_mut().expect("run() connects first")
    }

    fn command(&mut self, command: u8, payload: &[u8]) -> std::io::Result<Vec<Set>> {
        self.command_with(command, payload, Rows::Text)
    }

    fn command_with(&mut self, command: u8, payload: &[u8], rows: Rows) -> std::io::Result<Vec<Set>> {
        let infile = self.infile.clone();
        let Connected { packets, capabilities, .. } = self.connected();
        packets.command(command, payload)?;
        read_reply(packets, *capabilities, rows, &infile)
    }

    fn query(&mut self, text: &str) -> std::io::Result<Vec<Set>> {
        self.command(0x03, &statement_bytes(text))
    }

    fn prepared_once(&mut self, text: &str) -> std::io::Result<Vec<Set>> {
        const NAME: &str = "(once)";
        match self.prepare(NAME, text)? {
            set @ Set::Prepared(..) => {
                let mut sets = vec![set];
                sets.extend(self.execute(NAME, "", 0)?);
                self.close(NAME)?;
                Ok(sets)
            }
            // Several statements at once can't be prepared either.
            set if set.error_code() == Some(NOT_PREPARABLE) || text.contains(';') => {
                let mut sets = vec![set];
                sets.extend(self.query(text)?);
                Ok(sets)
            }
            set => Ok(vec![set]),
        }
    }

    fn prepare(&mut self, name: &str, text: &str) -> std::io::Result<Set> {
        let Connected { packets, capabilities, .. } = self.connected();
        packets.command(0x16, &statement_bytes(text))?;
        let (id, set) = read_prepared(packets, *capabilities)?;
        if let Set::Prepared(parameters, columns, _) = &set {
            let statement = Statement { id, parameters: parameters.len(), columns: columns.clone(), long: Vec::new() };
            self.statements.insert(name.into(), statement);
        }
        Ok(set)
    }

    /// The id of a statement; one that was never prepared has an id that no server gives out so early.
    fn statement_id(&self, name: &str) -> u32 {
        let unknown = if name == LATEST { u32::MAX } else { 0x00ff_fff0 };
        self.statements.get(name).map_or(unknown, |statement| statement.id)
    }

    fn execute(&mut self, name: &str, values: &str, flags: u8) -> std::io::Result<Vec<Set>> {
        let values = parse_values(values);
        let (wanted, long) =
            self.statements.get(name).map_or((0, Vec::new()), |known| (known.parameters, known.long.clone()));
        // A server reads as many values as the statement has: a client that sends others breaks the protocol.
        let values: Vec<Value> = values.into_iter().chain(std::iter::repeat(Value::Null)).take(wanted).collect();
        let mut payload = self.statement_id(name).to_le_bytes().to_vec();
        payload.push(flags);
        payload.extend_from_slice(&1_u32.to_le_bytes());
        encode_values(&mut payload, &values, &long);
        let rows = if flags == READ_ONLY_CURSOR { Rows::OfCursor } else { Rows::Binary };
        let sets = self.command_with(0x17, &payload, rows)?;
        if let (Some(Set::Rows(columns, ..)), Some(statement)) = (sets.first(), self.statements.get_mut(name)) {
            statement.columns.clone_from(columns);
        }
        if let Some(statement) = self.statements.get_mut(name) {
            statement.long.clear();
        }
        Ok(sets)
    }

    fn fetch(&mut self, name: &str, count: u32) -> std::io::Result<Vec<Set>> {
        let mut payload = self.statement_id(name).to_le_bytes().to_vec();
        payload.extend_from_slice(&count.to_le_bytes());
        let columns = self.statements.get(name).map(|known| known.columns.clone()).unwrap_or_default();
        let Connected { packets, capabilities, .. } = self.connected();
        packets.command(0x1c, &payload)?;
        let (rows, end) = read_rows(packets, *capabilities, Rows::Binary, &columns)?;
        Ok(vec![Set::Rows(Vec::new(), rows, Box::new(end))])
    }

    fn long_data(&mut self, name: &str, more: &str) -> std::io::Result<Vec<Set>> {
        let (index, text) = more.split_once(' ').unwrap_or((more, ""));
        let index: u16 = index.parse().expect("an index");
        let mut payload = self.statement_id(name).to_le_bytes().to_vec();
        payload.extend_from_slice(&index.to_le_bytes());
        payload.extend_from_slice(text.as_bytes());
        self.connected().packets.command(0x18, &payload)?;
        if let Some(statement) = self.statements.get_mut(name) {
            statement.long.push(index.into());
        }
        Ok(Vec::new())
    }

    fn close(&mut self, name: &str) -> std::io::Result<()> {
        let payload = self.statement_id(name).to_le_bytes();
        self.statements.remove(name);
        self.connected().packets.command(0x19, &payload)
    }

    fn change_user(&mut self, database: &str) -> std::io::Result<Vec<Set>> {
        let login = Login { database: Some(database.into()), ..self.login.clone() };
        self.statements.clear();
        let clear_text = matches!(self.address, Address::Socket(_));
        let Connected { packets, greeting, capabilities } = self.connected();
        packets.command(0x11, &login::change_user(&login, greeting))?;
        let set = login::authenticate(packets, &login, *capabilities, clear_text)?;
        // Scrambles differ.
        packets.kept = None;
        Ok(vec![set])
    }

    fn set_option(&mut self, option: u16) -> std::io::Result<Vec<Set>> {
        let Connected { packets, capabilities, .. } = self.connected();
        packets.command(0x1b, &option.to_le_bytes())?;
        let (_, end) = read_rows(packets, *capabilities, Rows::Text, &[])?;
        Ok(vec![end])
    }

    fn field_list(&mut self, table: &str) -> std::io::Result<Vec<Set>> {
        let mut payload = table.as_bytes().to_vec();
        payload.push(0);
        let Connected { packets, capabilities, .. } = self.connected();
        packets.command(0x04, &payload)?;
        crate::reply::read_field_list(packets, *capabilities).map(|set| vec![set])
    }
}

/// Replaces each `{word:NUMBER}` (`opening` is `{word:`).
fn expand_counted(text: &str, opening: &str, make: impl Fn(usize) -> String) -> String {
    let mut parts = text.split(opening);
    let mut expanded = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (count, rest) = part.split_once('}').expect("a closing brace");
        expanded.push_str(&make(count.parse().expect("a number")));
        expanded.push_str(rest);
    }
    expanded
}

/// The bytes of a statement, with each `{b:e9}` replaced by its byte.
fn statement_bytes(text: &str) -> Vec<u8> {
    const OPENING: &str = "{b:";
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = 0;
    for at in memmem::find_iter(text.as_bytes(), OPENING) {
        bytes.extend_from_slice(&text.as_bytes()[rest..at]);
        let digits = at + OPENING.len();
        bytes.push(u8::from_str_radix(&text[digits..digits + 2], 16).expect("two hex digits"));
        rest = digits + 3;
    }
    bytes.extend_from_slice(&text.as_bytes()[rest..]);
    bytes
}

/// A value of a parameter.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Null,
    Int(i64),
    Double(f64),
    Decimal(Vec<u8>),
    Text(Vec<u8>),
    Blob(Vec<u8>),
}

/// Reads values separated by commas that are outside quotes.
fn parse_values(text: &str) -> Vec<Value> {
    let (mut quoted, mut begin, mut parts) = (false, 0, Vec::new());
    for at in memchr::memchr2_iter(b'\'', b',', text.as_bytes()) {
        match text.as_bytes()[at] {
            b'\'' => quoted = !quoted,
            _ if quoted => {}
            _ => {
                parts.push(&text[begin..at]);
                begin = at + 1;
            }
        }
    }
    parts.push(&text[begin..]);
    parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).map(parse_value).collect()
}

fn parse_value(text: &str) -> Value {
    let inside = |prefix| text.strip_prefix(prefix).and_then(|rest| rest.strip_suffix('\''));
    let bytes = |hex: &str| {
        let byte = |pair| u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16).expect("hex digits");
        hex.as_bytes().chunks(2).map(byte).collect()
    };
    if let Some(hex) = inside("x'") {
        return Value::Blob(bytes(hex));
    }
    if let Some(hex) = inside("t'") {
        return Value::Text(bytes(hex));
    }
    if let Some(digits) = inside("d'") {
        return Value::Decimal(digits.as_bytes().to_vec());
    }
    if let Some(text) = inside("'") {
        return Value::Text(text.as_bytes().to_vec());
    }
    match text.parse() {
        _ if text == "NULL" => Value::Null,
        Ok(number) => Value::Int(number),
        Err(_) => Value::Double(text.parse().expect("a number")),
    }
}

/// NULL bitmap, types and values of COM_STMT_EXECUTE.
fn encode_values(payload: &mut Vec<u8>, values: &[Value], long: &[usize]) {
    if values.is_empty() {
        return;
    }
    let mut nulls = vec![0_u8; values.len().div_ceil(8)];
    for (index, _) in values.iter().enumerate().filter(|(_, value)| **value == Value::Null) {
        nulls[index / 8] |= 1 << (index % 8);
    }
    payload.extend_from_slice(&nulls);
    payload.push(1);
    for value in values {
        let kind = match value {
            Value::Null => 6,
            Value::Int(_) => 8,
            Value::Double(_) => 5,
            Value::Decimal(_) => 0xf6,
            Value::Text(_) => 0xfd,
            Value::Blob(_) => 0xfb,
        };
        payload.extend_from_slice(&[kind, 0]);
    }
    for (_, value) in values.iter().enumerate().filter(|(index, _)| !long.contains(index)) {
        match value {
            Value::Null => {}
            Value::Int(number) => payload.extend_from_slice(&number.to_le_bytes()),
            Value::Double(number) => payload.extend_from_slice(&number.to_le_bytes()),
            Value::Decimal(bytes) | Value::Text(bytes) | Value::Blob(bytes) => put_lenenc_bytes(payload, bytes),
        }
    }
}

/// The ways in which drivers log in that change what the server says later.
pub(crate) const HABITS: [u32; 6] = [
    caps::BASE | caps::DEPRECATE_EOF | caps::SESSION_TRACK,
    caps::BASE,
    caps::BASE | caps::DEPRECATE_EOF | caps::FOUND_ROWS,
    caps::BASE | caps::SESSION_TRACK | caps::INTERACTIVE,
    caps::BASE | caps::DEPRECATE_EOF | caps::IGNORE_SPACE,
    caps::BASE | caps::DEPRECATE_EOF,
];
