//! Weir as a server: from the client's handshake response to the decision.
//!
//! ```text
//! begin ── another plugin than the account's: switch ▶ AwaitSwitchResponse ── response ▶ decision, or AwaitPassword
//! begin ── the account's plugin ─────────────────────▶ decision, or AwaitPassword
//! AwaitPassword ── public key request: key ──────────▶ AwaitPassword
//! AwaitPassword ── password ─────────────────────────▶ decision
//! ```
//!
//! A response is looked at without a switch only when it answers the plugin that the greeting announced: mysql 9's client,
//! greeted with `mysql_native_password` that it no longer has, offers `caching_sha2_password` with an *empty* response,
//! whatever the password is.
//!
//! As in MySQL, a `caching_sha2_password` response that can't be verified is followed by the full exchange: it is the
//! same for a wrong password, an account whose password isn't known yet, and a user that doesn't exist.

use std::fmt;
use std::sync::Arc;

use super::caching_sha2::{FAST_OK, FULL_REQUIRED, LONGEST_PASSWORD, PUBLIC_KEY_REQUEST, is_empty_response};
use super::password::same_secret;
use super::{
    AuthError, AuthPlugin, Channel, MORE_DATA, Password, RsaKeyPair, Scramble, caching_sha2, ed25519, native,
    switch_request,
};

/// What is known of an account's password.
#[derive(Clone)]
pub enum Credential {
    /// The password.
    Password(Password),
    /// `SHA256(SHA256(password))`, learnt at an earlier full authentication. It may be out of date: a response that
    /// doesn't match leads to the full exchange, and the new password to a check against a server.
    Sha2Stage2([u8; caching_sha2::HASH_LEN]),
    /// Nothing: the password is learnt, and the caller checks it against a server.
    Unknown,
    /// There is no such account: the exchange looks like any other, and is refused at its end.
    NoAccount,
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Password(_) => "Password(***)",
            Self::Sha2Stage2(_) => "Sha2Stage2(***)",
            Self::Unknown => "Unknown",
            Self::NoAccount => "NoAccount",
        })
    }
}

/// How a user is authenticated.
#[derive(Debug, Clone)]
pub struct Account {
    /// The plugin that the client must use. Native and ed25519 responses can't be verified without the password, and
    /// don't tell it: unless it is known, `caching_sha2_password` is used in their place; and always in that of
    /// `sha256_password`.
    pub plugin: AuthPlugin,
    /// What the client's response is verified against.
    pub credential: Credential,
}

impl Account {
    fn effective_plugin(&self) -> AuthPlugin {
        match (self.plugin, &self.credential) {
            (AuthPlugin::ClearPassword, _) => AuthPlugin::ClearPassword,
            (AuthPlugin::CachingSha2 | AuthPlugin::Sha256, _)
            | (_, Credential::Sha2Stage2(_) | Credential::Unknown) => AuthPlugin::CachingSha2,
            (plugin, Credential::Password(_) | Credential::NoAccount) => plugin,
        }
    }
}

/// What the client was asked.
#[derive(Debug, Clone, Copy)]
pub struct Greeted {
    /// The challenge: the greeting's, or for COM_CHANGE_USER a new one (unless the client has no
    /// `CLIENT_PLUGIN_AUTH`: such clients can only answer the greeting's).
    pub nonce: Scramble,
    /// The plugin that the greeting named. `None` for COM_CHANGE_USER: its response answers no challenge that can be
    /// relied on, and the client is switched to the account's plugin in any case.
    pub plugin: Option<AuthPlugin>,
}

/// What a client's handshake response (or COM_CHANGE_USER) said.
#[derive(Debug, Clone, Copy)]
pub struct Offer<'a> {
    /// The plugin's name; `None` from clients without `CLIENT_PLUGIN_AUTH`, whose responses are native.
    pub plugin: Option<&'a [u8]>,
    /// The authentication response.
    pub response: &'a [u8],
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerStep {
    /// Send this payload and read the client's answer.
    Send(Vec<u8>),
    /// The client may be let in.
    Accept {
        /// A packet that comes before the OK packet.
        send_first: Option<Vec<u8>>,
        /// The password, when the client had to tell it and it wasn't known.
        password: Option<Password>,
        /// When false, nothing has proved the password: try it on a server before sending OK.
        verified: bool,
    },
    /// Send error 1045 and close.
    Reject {
        /// For the error's "using password: YES" or "NO".
        using_password: bool,
    },
}

impl ServerStep {
    fn verdict(proved: bool, using_password: bool) -> Self {
        match proved {
            true => Self::Accept { send_first: None, password: None, verified: true },
            false => Self::Reject { using_password },
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    AwaitSwitchResponse,
    AwaitPassword { key_sent: bool },
    Finished,
}

/// The exchange in which Weir authenticates a client. After an accept or a reject it is over: any further packet is
/// rejected.
#[derive(Debug)]
pub struct ServerAuth {
    plugin: AuthPlugin,
    credential: Credential,
    nonce: Scramble,
    ed25519_nonce: ed25519::Nonce,
    channel: Channel,
    rsa: Option<Arc<RsaKeyPair>>,
    state: State,
}

impl ServerAuth {
    /// Takes the client's handshake response. Without `rsa`, clients on insecure channels can't tell their password, and
    /// are rejected when they would have to.
    ///
    /// # Errors
    /// [`AuthError::ClientTooOld`], [`AuthError::InsecureChannel`] for an account with `mysql_clear_password`, and
    /// [`AuthError::Random`].
    pub fn begin(
        account: Account,
        greeted: Greeted,
        channel: Channel,
        rsa: Option<Arc<RsaKeyPair>>,
        offer: Offer<'_>,
    ) -> Result<(Self, ServerStep), AuthError> {
        let plugin = account.effective_plugin();
        if plugin == AuthPlugin::ClearPassword && !channel.is_secure() {
            return Err(AuthError::InsecureChannel(plugin));
        }
        let mut exchange = Self {
            plugin,
            credential: account.credential,
            nonce: greeted.nonce,
            ed25519_nonce: [0; ed25519::NONCE_LEN],
            channel,
            rsa,
            state: State::AwaitSwitchResponse,
        };
        let step = match offer.plugin {
            None if plugin == AuthPlugin::NativePassword => exchange.check_response(offer.response),
            None => return Err(AuthError::ClientTooOld(plugin)),
            // An ed25519 challenge never fits into a greeting.
            Some(offered)
                if offered == plugin.name().as_bytes()
                    && greeted.plugin == Some(plugin)
                    && plugin != AuthPlugin::Ed25519 =>
            {
                exchange.check_response(offer.response)
            }
            Some(_) => exchange.switch()?,
        };
        Ok((exchange, step))
    }

    /// Takes the payload of the client's next packet.
    pub fn on_packet(&mut self, payload: &[u8]) -> ServerStep {
        match self.state {
            State::AwaitSwitchResponse => self.check_response(payload),
            State::AwaitPassword { key_sent } => self.on_password_packet(payload, key_sent),
            State::Finished => ServerStep::Reject { using_password: true },
        }
    }

    fn switch(&mut self) -> Result<ServerStep, AuthError> {
        let request = match self.plugin {
            AuthPlugin::Ed25519 => {
                self.ed25519_nonce = ed25519::generate_nonce()?;
                switch_request(self.plugin, &self.ed25519_nonce)
            }
            plugin => switch_request(plugin, &self.nonce.0),
        };
        Ok(ServerStep::Send(request))
    }

    fn check_response(&mut self, response: &[u8]) -> ServerStep {
        self.state = State::Finished;
        match self.plugin {
            AuthPlugin::NativePassword => ServerStep::verdict(self.proves_native(response), !response.is_empty()),
            AuthPlugin::Ed25519 => ServerStep::verdict(self.proves_ed25519(response), !response.is_empty()),
            AuthPlugin::ClearPassword => {
                let password = response.strip_suffix(&[0]).unwrap_or(response);
                self.settle(Password::new(password), !password.is_empty())
            }
            AuthPlugin::CachingSha2 | AuthPlugin::Sha256 => self.check_sha2_response(response),
        }
    }

    fn proves_native(&self, response: &[u8]) -> bool {
        match &self.credential {
            Credential::Password(password) if password.is_empty() => response.is_empty(),
            Credential::Password(password) => native::verify(&native::stage2(password), &self.nonce, response),
            _ => false,
        }
    }

    fn proves_ed25519(&self, response: &[u8]) -> bool {
        let Credential::Password(password) = &self.credential else {
            return false;
        };
        ed25519::verify(&ed25519::public_key(password), &self.ed25519_nonce, response)
    }

    fn check_sha2_response(&mut self, response: &[u8]) -> ServerStep {
        if is_empty_response(response) {
            return self.settle(Password::default(), false);
        }
        if response.len() != caching_sha2::HASH_LEN {
            return ServerStep::Reject { using_password: true };
        }
        let stage2 = match &self.credential {
            Credential::Password(password) if !password.is_empty() => Some(caching_sha2::stage2(password)),
            Credential::Sha2Stage2(stage2) => Some(*stage2),
            _ => None,
        };
        if stage2.is_some_and(|stage2| caching_sha2::verify(&stage2, &self.nonce, response)) {
            return ServerStep::Accept { send_first: Some(vec![MORE_DATA, FAST_OK]), password: None, verified: true };
        }
        self.state = State::AwaitPassword { key_sent: false };
        ServerStep::Send(vec![MORE_DATA, FULL_REQUIRED])
    }

    fn on_password_packet(&mut self, payload: &[u8], key_sent: bool) -> ServerStep {
        self.state = State::Finished;
        let password = match (&self.rsa, payload) {
            _ if self.channel.is_secure() => payload.strip_suffix(&[0]).map(Password::new),
            (None, _) => None,
            (Some(rsa), [PUBLIC_KEY_REQUEST]) if !key_sent => {
                self.state = State::AwaitPassword { key_sent: true };
                let mut packet = vec![MORE_DATA];
                packet.extend_from_slice(rsa.public_pem().as_bytes());
                return ServerStep::Send(packet);
            }
            (Some(rsa), ciphertext) => rsa.decrypt_password(ciphertext, &self.nonce).ok(),
        };
        match password {
            Some(password) => self.settle(password, true),
            None => ServerStep::Reject { using_password: true },
        }
    }

    /// Decides about a password that the client told.
    fn settle(&self, told: Password, using_password: bool) -> ServerStep {
        let verified = match &self.credential {
            _ if told.as_bytes().len() > LONGEST_PASSWORD => {
                return ServerStep::Reject { using_password };
            }
            Credential::Password(known) => {
                return ServerStep::verdict(*known == told, using_password);
            }
            Credential::NoAccount => return ServerStep::Reject { using_password },
            Credential::Sha2Stage2(stage2) => same_secret(&caching_sha2::stage2(&told), stage2),
            Credential::Unknown => false,
        };
        ServerStep::Accept { send_first: None, password: Some(told), verified }
    }
}
