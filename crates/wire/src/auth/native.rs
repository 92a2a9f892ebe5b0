//! `mysql_native_password`: SHA-1 challenge and response.
//!
//! The server stores `SHA1(SHA1(password))` (stage 2). The client sends `SHA1(password) XOR SHA1(nonce ‖ stage2)`, from
//! which a server that knows stage 2 recovers `SHA1(password)` and hashes it once more. The empty password is an empty
//! response.

use aws_lc_rs::digest::SHA1_FOR_LEGACY_USE_ONLY;

use super::password::same_secret;
use super::{Password, Scramble};

/// Length of a response and of a stage-2 hash in bytes.
pub const HASH_LEN: usize = 20;

/// The response to a challenge; `None` (send an empty response) for the empty password.
pub fn scramble(password: &Password, nonce: &Scramble) -> Option<[u8; HASH_LEN]> {
    if password.is_empty() {
        return None;
    }
    let stage1 = sha1(&[password.as_bytes()]);
    let mut response = sha1(&[&nonce.0, &sha1(&[&stage1])]);
    super::xor_repeating(&mut response, &stage1);
    Some(response)
}

/// What a server stores of a password: `SHA1(SHA1(password))`.
pub fn stage2(password: &Password) -> [u8; HASH_LEN] {
    sha1(&[&sha1(&[password.as_bytes()])])
}

/// Whether a client's response proves that it knows the (not empty) password behind `stage2`.
pub fn verify(stage2: &[u8; HASH_LEN], nonce: &Scramble, response: &[u8]) -> bool {
    let Ok(mut stage1) = <[u8; HASH_LEN]>::try_from(response) else {
        return false;
    };
    super::xor_repeating(&mut stage1, &sha1(&[&nonce.0, stage2]));
    same_secret(&sha1(&[&stage1]), stage2)
}

fn sha1(parts: &[&[u8]]) -> [u8; HASH_LEN] {
    super::hash(&SHA1_FOR_LEGACY_USE_ONLY, parts)
}
