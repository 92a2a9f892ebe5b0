//! `caching_sha2_password`: SHA-256 challenge and response, with the password itself as the fallback.
//!
//! Fast path: the client sends `SHA256(password) XOR SHA256(stage2 ‖ nonce)` with `stage2 =
//! SHA256(SHA256(password))`; a server that has stage 2 in its cache answers [`FAST_OK`] and an OK packet. Otherwise it
//! asks with [`FULL_REQUIRED`] for the password: in clear on a secure channel, RSA-encrypted on others, for which the
//! client may first ask for the server's key with [`PUBLIC_KEY_REQUEST`]. (Server manual, "Caching SHA-2 Pluggable
//! Authentication"; source documentation, "Caching_sha2_password information".)

use aws_lc_rs::digest::SHA256;

use super::password::same_secret;
use super::{Password, Scramble};

/// Length of a response and of a stage-2 hash in bytes.
pub const HASH_LEN: usize = 32;
/// AuthMoreData content: the response was right, OK follows.
pub const FAST_OK: u8 = 0x03;
/// AuthMoreData content: the client must send its password.
pub const FULL_REQUIRED: u8 = 0x04;
/// One-byte client packet that asks for the server's RSA public key.
pub const PUBLIC_KEY_REQUEST: u8 = 0x02;
/// The longest password that MySQL accepts for this plugin, in bytes without the NUL.
pub const LONGEST_PASSWORD: usize = 256;

/// The response to a challenge; `None` for the empty password, which has none.
pub fn scramble(password: &Password, nonce: &Scramble) -> Option<[u8; HASH_LEN]> {
    if password.is_empty() {
        return None;
    }
    let stage1 = sha256(&[password.as_bytes()]);
    let mut response = sha256(&[&sha256(&[&stage1]), &nonce.0]);
    super::xor_repeating(&mut response, &stage1);
    Some(response)
}

/// What a server's cache keeps of a password: `SHA256(SHA256(password))`.
pub fn stage2(password: &Password) -> [u8; HASH_LEN] {
    sha256(&[&sha256(&[password.as_bytes()])])
}

/// Whether a client's response proves that it knows the (not empty) password behind `stage2`.
pub fn verify(stage2: &[u8; HASH_LEN], nonce: &Scramble, response: &[u8]) -> bool {
    let Ok(mut stage1) = <[u8; HASH_LEN]>::try_from(response) else {
        return false;
    };
    super::xor_repeating(&mut stage1, &sha256(&[stage2, &nonce.0]));
    same_secret(&sha256(&[&stage1]), stage2)
}

/// Whether a response says "I have no password": nothing, or (libmysqlclient) one NUL.
pub fn is_empty_response(response: &[u8]) -> bool {
    matches!(response, [] | [0])
}

fn sha256(parts: &[&[u8]]) -> [u8; HASH_LEN] {
    super::hash(&SHA256, parts)
}
