//! Authentication in both directions: the plugins' arithmetic, and the exchanges as named-state machines.
//!
//! [`ClientAuth`] is Weir logging in to a server, [`ServerAuth`] is Weir letting a client in. Both take packet
//! payloads (without the 4-byte packet header) and answer with what to send or with a decision; they never touch a
//! socket.
//!
//! What must always hold:
//! - secrets are compared in constant time, and [`Password`] never prints itself;
//! - a password goes in clear over a secure channel only (TLS or a unix socket);
//! - nothing in a packet can cause a panic, and nothing is allocated for a length that a packet merely claims;
//! - the packets that a client sees don't tell whether the account exists.

pub mod caching_sha2;
mod client;
pub mod ed25519;
pub mod native;
mod password;
mod rsa;
mod server;

#[cfg(test)]
mod tests;

pub use client::{ClientAuth, ClientStep};
pub use password::Password;
pub use rsa::{RsaKeyPair, encrypt_password};
pub use server::{Account, Credential, Greeted, Offer, ServerAuth, ServerStep};

use aws_lc_rs::{digest, rand};

/// First byte of an AuthMoreData packet, and of an AuthSwitchRequest.
const MORE_DATA: u8 = 0x01;
const SWITCH_REQUEST: u8 = 0xfe;

/// An authentication plugin that Weir speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AuthPlugin {
    /// `mysql_native_password`: SHA-1 challenge and response.
    NativePassword,
    /// `caching_sha2_password`: SHA-256 challenge and response, or the password itself when the server has no cache.
    CachingSha2,
    /// `mysql_clear_password`: the password itself; secure channels only.
    ClearPassword,
    /// `client_ed25519`: MariaDB's signature of the challenge.
    Ed25519,
    /// `sha256_password`: the password, RSA-encrypted on insecure channels. For Weir as a client only: MySQL also asks
    /// users that don't exist for it, who must get the server's own error.
    Sha256,
}

impl AuthPlugin {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::NativePassword, Self::CachingSha2, Self::ClearPassword, Self::Ed25519, Self::Sha256];

    /// The client-side plugin name, as it travels in packets.
    pub fn name(self) -> &'static str {
        match self {
            Self::NativePassword => "mysql_native_password",
            Self::CachingSha2 => "caching_sha2_password",
            Self::ClearPassword => "mysql_clear_password",
            Self::Ed25519 => "client_ed25519",
            Self::Sha256 => "sha256_password",
        }
    }

    /// The plugin of that name, without its terminating NUL; `None` when Weir doesn't speak it.
    pub fn from_name(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|plugin| plugin.name().as_bytes() == name)
    }
}

/// Whether what is sent on a connection can be read by others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// TLS: passwords may be sent in clear.
    Secure,
    /// A unix socket: the same for all plugins but `sha256_password`, which wants RSA on it.
    UnixSocket,
    /// Plain TCP.
    Insecure,
}

impl Channel {
    /// Whether passwords may be sent in clear.
    pub fn is_secure(self) -> bool {
        self != Self::Insecure
    }
}

/// The 20-byte challenge of a greeting or of an AuthSwitchRequest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scramble(pub [u8; 20]);

impl Scramble {
    /// Length in bytes, without the NUL that follows it in packets.
    pub const LEN: usize = 20;

    /// A random challenge in MySQL's alphabet: 7-bit, without NUL (it ends the challenge in packets) and `$` (it
    /// separates the fields of a stored caching_sha2_password hash).
    ///
    /// # Errors
    /// [`AuthError::Random`] when the system has no random numbers.
    pub fn generate() -> Result<Self, AuthError> {
        // 7 bits of each byte are used; a forbidden one is replaced from the spare bytes. 44 spare bytes with 2 of
        // 128 values forbidden: running out would take a broken generator.
        let mut pool = [0u8; 64];
        rand::fill(&mut pool).map_err(|_| AuthError::Random)?;
        let mut allowed = pool.iter().map(|byte| byte & 0x7f).filter(|&byte| byte != 0 && byte != b'$');
        let mut nonce = [0u8; Self::LEN];
        for byte in &mut nonce {
            *byte = allowed.next().ok_or(AuthError::Random)?;
        }
        Ok(Self(nonce))
    }

    /// Reads the challenge from a packet's plugin data: 20 bytes, and then nothing or one NUL.
    ///
    /// # Errors
    /// [`AuthError::Malformed`] for any other length.
    pub fn from_plugin_data(data: &[u8]) -> Result<Self, AuthError> {
        let nonce = match data {
            [nonce @ .., 0] if nonce.len() == Self::LEN => nonce,
            nonce => nonce,
        };
        nonce.try_into().map(Self).map_err(|_| AuthError::Malformed("the challenge is not 20 bytes long"))
    }
}

/// Why an authentication exchange can't go on. A refused password is not an error but an outcome.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    /// The peer asks for a plugin that Weir doesn't speak.
    #[error("authentication plugin '{0}' is not supported")]
    UnsupportedPlugin(String),
    /// The server asks for the 16-byte hashes that MySQL gave up in version 5.7.
    #[error(
        "the server asks for the pre-4.1 password protocol, which is not supported: give the account a new password"
    )]
    OldPassword,
    /// The server asks for another authentication factor.
    #[error("the account needs multi-factor authentication, which is not supported")]
    MultiFactor,
    /// The plugin would send the password in clear over a channel that others can read.
    #[error("authentication plugin '{}' needs TLS or a unix socket", .0.name())]
    InsecureChannel(AuthPlugin),
    /// The client can't be asked to use the account's plugin, for it knows no plugins (MySQL error 1251).
    #[error("the client does not support authentication plugin '{}'", .0.name())]
    ClientTooOld(AuthPlugin),
    /// A packet that breaks the protocol.
    #[error("malformed authentication packet: {0}")]
    Malformed(&'static str),
    /// A packet that has no place in this state of the exchange.
    #[error("unexpected authentication packet, first byte {first_byte:#04x}, while {state}")]
    Unexpected {
        /// The packet's first byte.
        first_byte: u8,
        /// What the exchange was doing.
        state: &'static str,
    },
    /// The server's RSA public key can't be read, or has a size that isn't supported.
    #[error("the server's RSA public key can't be used")]
    PublicKey,
    /// The password is longer than the server's RSA key can encrypt.
    #[error("the password is too long for the server's RSA key: use TLS")]
    PasswordTooLong,
    /// An RSA-encrypted password that doesn't decrypt to a NUL-terminated string.
    #[error("the encrypted password can't be decrypted")]
    Decryption,
    /// The system has no random numbers.
    #[error("the system's random number generator failed")]
    Random,
    /// Key generation failed.
    #[error("generating an RSA key pair failed")]
    KeyGeneration,
}

impl AuthError {
    /// An unsupported plugin's name for an error message: bounded, and printable whatever the peer sent.
    fn unsupported_plugin(name: &[u8]) -> Self {
        const LONGEST_SHOWN: usize = 64;
        let shown = &name[..name.len().min(LONGEST_SHOWN)];
        Self::UnsupportedPlugin(shown.escape_ascii().to_string())
    }
}

/// `plugin NUL data [NUL]` behind an AuthSwitchRequest's first byte. The nonce of `client_ed25519` is binary and has
/// no terminator.
fn switch_request(plugin: AuthPlugin, nonce: &[u8]) -> Vec<u8> {
    let mut packet = vec![SWITCH_REQUEST];
    packet.extend_from_slice(plugin.name().as_bytes());
    packet.push(0);
    packet.extend_from_slice(nonce);
    if plugin != AuthPlugin::Ed25519 {
        packet.push(0);
    }
    packet
}

/// The hash of `parts`, one after the other. `N` is the algorithm's output length.
fn hash<const N: usize>(algorithm: &'static digest::Algorithm, parts: &[&[u8]]) -> [u8; N] {
    let mut context = digest::Context::new(algorithm);
    parts.iter().for_each(|part| context.update(part));
    context.finish().as_ref().try_into().expect("each algorithm has one output length")
}

/// XORs `data` with `key`, repeated as often as needed.
fn xor_repeating(data: &mut [u8], key: &[u8]) {
    for (byte, key_byte) in data.iter_mut().zip(key.iter().cycle()) {
        *byte ^= key_byte;
    }
}
