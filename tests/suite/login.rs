//! The connection phase of the test client: greeting, handshake response, authentication, COM_CHANGE_USER.
//!
//! Over TCP without TLS the full exchange of `caching_sha2_password` is not done (it needs RSA): the lab logs each
//! account in once by the unix socket, after which the server's cache allows the short exchange.

use std::io::Result;

use sha1::Sha1;
use sha2::{Digest, Sha256};

use crate::client::{Address, Fields, Packets, Stream, broken, put_lenenc_bytes};
use crate::reply::{Set, decode_error, decode_ok};

/// Capability flags, by their names in the protocol's documentation.
pub(crate) mod caps {
    pub(crate) const LONG_PASSWORD: u32 = 1;
    pub(crate) const FOUND_ROWS: u32 = 1 << 1;
    pub(crate) const LONG_FLAG: u32 = 1 << 2;
    pub(crate) const CONNECT_WITH_DB: u32 = 1 << 3;
    pub(crate) const LOCAL_FILES: u32 = 1 << 7;
    pub(crate) const IGNORE_SPACE: u32 = 1 << 8;
    pub(crate) const PROTOCOL_41: u32 = 1 << 9;
    pub(crate) const INTERACTIVE: u32 = 1 << 10;
    pub(crate) const TRANSACTIONS: u32 = 1 << 13;
    pub(crate) const SECURE_CONNECTION: u32 = 1 << 15;
    pub(crate) const MULTI_STATEMENTS: u32 = 1 << 16;
    pub(crate) const MULTI_RESULTS: u32 = 1 << 17;
    pub(crate) const PS_MULTI_RESULTS: u32 = 1 << 18;
    pub(crate) const PLUGIN_AUTH: u32 = 1 << 19;
    pub(crate) const SESSION_TRACK: u32 = 1 << 23;
    pub(crate) const DEPRECATE_EOF: u32 = 1 << 24;
    /// What every session of the suite asks for.
    pub(crate) const BASE: u32 = LONG_PASSWORD
        | LONG_FLAG
        | LOCAL_FILES
        | PROTOCOL_41
        | TRANSACTIONS
        | SECURE_CONNECTION
        | MULTI_STATEMENTS
        | MULTI_RESULTS
        | PS_MULTI_RESULTS
        | PLUGIN_AUTH;
}

/// Who logs in, and how.
#[derive(Clone, Debug)]
pub(crate) struct Login {
    pub(crate) user: String,
    pub(crate) password: String,
    pub(crate) database: Option<String>,
    /// Wanted capabilities; those that the server doesn't offer are left out.
    pub(crate) capabilities: u32,
    /// The collation id of the handshake.
    pub(crate) collation: u8,
}

impl Login {
    pub(crate) fn new(user: &str, password: &str) -> Self {
        Self {
            user: user.into(),
            password: password.into(),
            database: None,
            capabilities: caps::BASE | caps::DEPRECATE_EOF,
            collation: 45,
        }
    }

    pub(crate) fn database(mut self, name: &str) -> Self {
        self.database = Some(name.into());
        self
    }
}

/// What a server says first.
#[derive(Clone, Debug)]
pub(crate) struct Greeting {
    pub(crate) version: String,
    pub(crate) connection_id: u32,
    pub(crate) capabilities: u32,
    pub(crate) collation: u8,
    pub(crate) status: u16,
    pub(crate) plugin: String,
    pub(crate) challenge: Vec<u8>,
}

impl Greeting {
    /// Reads protocol version 10; an error packet in its place becomes an [`Opening::Refused`] in [`open`].
    pub(crate) fn decode(packet: &[u8]) -> Result<Self> {
        let mut fields = Fields(packet);
        if fields.int(1)? != 10 {
            return Err(broken("not protocol version 10"));
        }
        let version = String::from_utf8_lossy(fields.until_nul()?).into_owned();
        let connection_id = fields.int(4)? as u32;
        let mut challenge = fields.bytes(8)?.to_vec();
        fields.bytes(1)?;
        let low = fields.int(2)? as u32;
        let collation = fields.int(1)? as u8;
        let status = fields.int(2)? as u16;
        let high = fields.int(2)? as u32;
        let length = fields.int(1)? as usize;
        fields.bytes(10)?;
        challenge.extend_from_slice(&fields.bytes(length.max(21) - 8)?[..12]);
        let plugin = String::from_utf8_lossy(fields.until_nul()?).into_owned();
        Ok(Self { version, connection_id, capabilities: low | high << 16, collation, status, plugin, challenge })
    }
}

/// How a login ended.
pub(crate) enum Opening {
    /// Logged in: the greeting, the agreed capabilities, and the final OK.
    Done(Box<Greeting>, u32, Set),
    /// The server's error packet, in place of the greeting or at the end.
    Refused(Set),
}

/// Connects and logs in.
pub(crate) fn open(address: &Address, login: &Login) -> Result<(Packets, Opening)> {
    open_over(Stream::connect(address)?, login)
}

/// Logs in.
pub(crate) fn open_over(stream: Stream, login: &Login) -> Result<(Packets, Opening)> {
    let clear_text = matches!(stream, Stream::Unix(_));
    let mut packets = Packets::new(stream);
    let first = packets.read()?;
    if first.first() == Some(&0xff) {
        let refused = Opening::Refused(decode_error(&first)?);
        return Ok((packets, refused));
    }
    let greeting = Greeting::decode(&first)?;
    let capabilities = agreed(login, greeting.capabilities);
    packets.write(&handshake_response(login, &greeting, capabilities))?;
    let opening = match authenticate(&mut packets, login, capabilities, clear_text)? {
        ok @ Set::Ok(_) => Opening::Done(Box::new(greeting), capabilities, ok),
        refused => Opening::Refused(refused),
    };
    Ok((packets, opening))
}

fn agreed(login: &Login, offered: u32) -> u32 {
    let with_database = if login.database.is_some() { caps::CONNECT_WITH_DB } else { 0 };
    // Servers of MariaDB clear the first bit to say that they know its extensions; a client sets it in any case.
    (login.capabilities | with_database) & (offered | caps::LONG_PASSWORD)
}

/// The handshake response packet that a driver would send.
pub(crate) fn handshake_response(login: &Login, greeting: &Greeting, capabilities: u32) -> Vec<u8> {
    let mut body = capabilities.to_le_bytes().to_vec();
    body.extend_from_slice(&(1_u32 << 30).to_le_bytes());
    body.push(login.collation);
    body.extend_from_slice(&[0; 23]);
    body.extend_from_slice(login.user.as_bytes());
    body.push(0);
    let answer = scramble(&greeting.plugin, &login.password, &greeting.challenge);
    put_lenenc_bytes(&mut body, &answer);
    if let Some(database) = &login.database {
        body.extend_from_slice(database.as_bytes());
        body.push(0);
    }
    body.extend_from_slice(greeting.plugin.as_bytes());
    body.push(0);
    body
}

/// The payload of COM_CHANGE_USER.
pub(crate) fn change_user(login: &Login, greeting: &Greeting) -> Vec<u8> {
    let mut body = login.user.as_bytes().to_vec();
    body.push(0);
    let answer = scramble(&greeting.plugin, &login.password, &greeting.challenge);
    put_lenenc_bytes(&mut body, &answer);
    body.extend_from_slice(login.database.as_deref().unwrap_or("").as_bytes());
    body.push(0);
    body.extend_from_slice(&u16::from(login.collation).to_le_bytes());
    body.extend_from_slice(greeting.plugin.as_bytes());
    body.push(0);
    body
}

/// Goes through the authentication exchange up to the OK or the error.
pub(crate) fn authenticate(packets: &mut Packets, login: &Login, capabilities: u32, clear_text: bool) -> Result<Set> {
    loop {
        let packet = packets.read()?;
        match packet.as_slice() {
            [0x00, ..] => return decode_ok(&packet, capabilities).map(Set::Ok),
            [0xff, ..] => return decode_error(&packet),
            [0xfe, rest @ ..] => {
                let mut fields = Fields(rest);
                let plugin = String::from_utf8_lossy(fields.until_nul()?).into_owned();
                let challenge = fields.rest();
                let challenge = &challenge[..challenge.len().min(20)];
                packets.write(&scramble(&plugin, &login.password, challenge))?;
            }
            [0x01, 0x03] => {}
            [0x01, 0x04] if clear_text => {
                let mut secret = login.password.as_bytes().to_vec();
                secret.push(0);
                packets.write(&secret)?;
            }
            [0x01, ..] => return Err(broken("full authentication of caching_sha2_password over plain TCP")),
            _ => return Err(broken("unknown packet in authentication")),
        }
    }
}

fn scramble(plugin: &str, password: &str, challenge: &[u8]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    if plugin == "caching_sha2_password" {
        let once = Sha256::digest(password);
        let twice = Sha256::digest(once);
        let mask = Sha256::new().chain_update(twice).chain_update(challenge).finalize();
        once.iter().zip(mask).map(|(byte, mask)| byte ^ mask).collect()
    } else {
        let once = Sha1::digest(password);
        let twice = Sha1::digest(once);
        let mask = Sha1::new().chain_update(challenge).chain_update(twice).finalize();
        once.iter().zip(mask).map(|(byte, mask)| byte ^ mask).collect()
    }
}
