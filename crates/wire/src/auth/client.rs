//! Weir as a client: from the server's greeting to its verdict.
//!
//! ```text
//! AwaitReply ── AuthSwitchRequest: answer ──────────────────────▶ AwaitReply
//! AwaitReply ── switch to sha256_password, key asked for ───────▶ AwaitPublicKey
//! AwaitReply ── "full authentication", password sent ───────────▶ AwaitVerdict
//! AwaitReply ── "full authentication", key asked for ───────────▶ AwaitPublicKey ── key: password sent ▶ AwaitVerdict
//! AwaitReply ── "fast authentication worked" ───────────────────▶ AwaitVerdict
//! any of them ── OK or ERR ─────────────────────────────────────▶ Finished
//! ```

use super::caching_sha2::{FAST_OK, FULL_REQUIRED, PUBLIC_KEY_REQUEST};
use super::{
    AuthError, AuthPlugin, Channel, MORE_DATA, Password, SWITCH_REQUEST, Scramble, caching_sha2, ed25519,
    encrypt_password, native,
};

const OK: u8 = 0x00;
const NEXT_FACTOR: u8 = 0x02;
const ERR: u8 = 0xff;

/// One-byte packet with which `sha256_password` asks for the server's RSA public key.
const SHA256_PUBLIC_KEY_REQUEST: u8 = 0x01;

/// MariaDB tries an account's alternatives (`IDENTIFIED VIA a OR b`) one after the other, a switch for each.
const MOST_SWITCHES: u8 = 8;

/// What to do after a packet from the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientStep {
    /// Send this payload, with the next sequence number, and read on.
    Send(Vec<u8>),
    /// Read the next packet.
    Wait,
    /// The packet just given is the server's verdict, an OK or an ERR packet, for the caller to decode.
    Done,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    AwaitReply,
    AwaitPublicKey,
    AwaitVerdict,
    Finished,
}

impl State {
    fn describe(self) -> &'static str {
        match self {
            Self::AwaitReply => "waiting for the reply to the handshake",
            Self::AwaitPublicKey => "waiting for the server's public key",
            Self::AwaitVerdict => "waiting for the verdict",
            Self::Finished => "authentication is over",
        }
    }
}

/// A plugin with the challenge that it has to answer.
#[derive(Debug, Clone)]
enum Challenge {
    Native(Scramble),
    CachingSha2(Scramble),
    Clear,
    Ed25519(ed25519::Nonce),
}

impl Challenge {
    fn new(plugin: &[u8], data: &[u8], channel: Channel) -> Result<Self, AuthError> {
        match AuthPlugin::from_name(plugin) {
            Some(AuthPlugin::NativePassword) => Scramble::from_plugin_data(data).map(Self::Native),
            // sha256_password is caching_sha2_password without the fast path.
            Some(AuthPlugin::CachingSha2 | AuthPlugin::Sha256) => {
                Scramble::from_plugin_data(data).map(Self::CachingSha2)
            }
            Some(AuthPlugin::ClearPassword) if channel.is_secure() => Ok(Self::Clear),
            Some(AuthPlugin::ClearPassword) => Err(AuthError::InsecureChannel(AuthPlugin::ClearPassword)),
            Some(AuthPlugin::Ed25519) => data
                .try_into()
                .map(Self::Ed25519)
                .map_err(|_| AuthError::Malformed("the ed25519 challenge is not 32 bytes long")),
            None => Err(AuthError::unsupported_plugin(plugin)),
        }
    }

    fn plugin(&self) -> AuthPlugin {
        match self {
            Self::Native(_) => AuthPlugin::NativePassword,
            Self::CachingSha2(_) => AuthPlugin::CachingSha2,
            Self::Clear => AuthPlugin::ClearPassword,
            Self::Ed25519(_) => AuthPlugin::Ed25519,
        }
    }

    fn response(&self, password: &Password) -> Vec<u8> {
        match self {
            Self::Native(nonce) => {
                native::scramble(password, nonce).map_or_else(Vec::new, |response| response.to_vec())
            }
            // One NUL for the empty password, as libmysqlclient sends it.
            Self::CachingSha2(nonce) => {
                caching_sha2::scramble(password, nonce).map_or_else(|| vec![0], |response| response.to_vec())
            }
            Self::Clear => password.nul_terminated().to_vec(),
            Self::Ed25519(nonce) => ed25519::sign(password, nonce).to_vec(),
        }
    }
}

/// The exchange in which Weir logs in to a server; serves COM_CHANGE_USER too, with a new machine each time.
#[derive(Debug, Clone)]
pub struct ClientAuth {
    password: Password,
    channel: Channel,
    challenge: Challenge,
    server_key: Option<Vec<u8>>,
    switches: u8,
    state: State,
}

impl ClientAuth {
    /// Starts from the plugin name and the plugin data (challenge) of the server's greeting.
    ///
    /// The greeting names the server's default plugin, not the account's. When it is one that can't be used, the
    /// exchange starts with `caching_sha2_password`, and the server asks for the account's own plugin.
    ///
    /// # Errors
    /// [`AuthError::Malformed`] when the challenge has not the length that its plugin wants.
    pub fn new(
        greeting_plugin: &[u8],
        plugin_data: &[u8],
        password: Password,
        channel: Channel,
    ) -> Result<Self, AuthError> {
        let challenge = match Challenge::new(greeting_plugin, plugin_data, channel) {
            Ok(challenge) => challenge,
            Err(_) => Challenge::CachingSha2(Scramble::from_plugin_data(plugin_data)?),
        };
        Ok(Self { password, channel, challenge, server_key: None, switches: 0, state: State::AwaitReply })
    }

    /// Uses this RSA public key (PEM) instead of asking the server for one: a key known in advance also protects
    /// against someone in the middle.
    pub fn with_server_key(mut self, public_pem: impl Into<Vec<u8>>) -> Self {
        self.server_key = Some(public_pem.into());
        self
    }

    /// The plugin name and the authentication response for the handshake response (or COM_CHANGE_USER).
    pub fn initial_response(&self) -> (&'static str, Vec<u8>) {
        (self.challenge.plugin().name(), self.challenge.response(&self.password))
    }

    /// Takes the payload of the next packet that the server sent after the handshake response.
    ///
    /// # Errors
    /// The exchange can't go on: close the connection. No secret was sent in the step that failed.
    pub fn on_packet(&mut self, payload: &[u8]) -> Result<ClientStep, AuthError> {
        match *payload {
            [] => Err(AuthError::Malformed("empty packet")),
            [first, ..] if self.state == State::Finished => Err(self.unexpected(first)),
            [OK | ERR, ..] => {
                self.state = State::Finished;
                Ok(ClientStep::Done)
            }
            [SWITCH_REQUEST] => Err(AuthError::OldPassword),
            [SWITCH_REQUEST, ref request @ ..] => self.on_switch_request(request),
            [NEXT_FACTOR, ..] => Err(AuthError::MultiFactor),
            [MORE_DATA, ref data @ ..] => self.on_more_data(data),
            [first, ..] => Err(self.unexpected(first)),
        }
    }

    fn on_switch_request(&mut self, request: &[u8]) -> Result<ClientStep, AuthError> {
        if self.state != State::AwaitReply || self.switches == MOST_SWITCHES {
            return Err(self.unexpected(SWITCH_REQUEST));
        }
        let name_end = memchr::memchr(0, request).ok_or(AuthError::Malformed("plugin name without end"))?;
        let (name, data) = (&request[..name_end], &request[name_end + 1..]);
        self.challenge = Challenge::new(name, data, self.channel)?;
        self.switches += 1;
        match self.challenge {
            Challenge::CachingSha2(nonce) if name == AuthPlugin::Sha256.name().as_bytes() => {
                let in_clear = self.channel == Channel::Secure;
                self.send_password(&nonce, in_clear, SHA256_PUBLIC_KEY_REQUEST)
            }
            _ => Ok(ClientStep::Send(self.challenge.response(&self.password))),
        }
    }

    fn on_more_data(&mut self, data: &[u8]) -> Result<ClientStep, AuthError> {
        let Challenge::CachingSha2(nonce) = self.challenge else {
            return Err(self.unexpected(MORE_DATA));
        };
        match (self.state, data) {
            (State::AwaitReply, [FAST_OK]) => {
                self.state = State::AwaitVerdict;
                Ok(ClientStep::Wait)
            }
            (State::AwaitReply, [FULL_REQUIRED]) => {
                self.send_password(&nonce, self.channel.is_secure(), PUBLIC_KEY_REQUEST)
            }
            (State::AwaitPublicKey, public_pem) => {
                let encrypted = encrypt_password(public_pem, &self.password, &nonce)?;
                self.state = State::AwaitVerdict;
                Ok(ClientStep::Send(encrypted))
            }
            _ => Err(self.unexpected(MORE_DATA)),
        }
    }

    fn send_password(&mut self, nonce: &Scramble, in_clear: bool, key_request: u8) -> Result<ClientStep, AuthError> {
        let packet = match &self.server_key {
            _ if in_clear || self.password.is_empty() => self.password.nul_terminated().to_vec(),
            Some(key) => encrypt_password(key, &self.password, nonce)?,
            None => {
                self.state = State::AwaitPublicKey;
                return Ok(ClientStep::Send(vec![key_request]));
            }
        };
        self.state = State::AwaitVerdict;
        Ok(ClientStep::Send(packet))
    }

    fn unexpected(&self, first_byte: u8) -> AuthError {
        AuthError::Unexpected { first_byte, state: self.state.describe() }
    }
}
