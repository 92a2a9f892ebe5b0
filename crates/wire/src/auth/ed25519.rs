//! `client_ed25519`, MariaDB's signature plugin.
//!
//! Plain Ed25519 (RFC 8032) with one difference: the secret that SHA-512 expands is the password itself, of any
//! length, instead of a 32-byte seed. The client signs the server's 32-byte nonce; the server knows the public key.
//! (MariaDB knowledge base, "Authentication Plugin - ed25519".)

use curve25519_dalek::edwards::{CompressedEdwardsY, EdwardsPoint};
use curve25519_dalek::scalar::{Scalar, clamp_integer};
use sha2::{Digest, Sha512};
use zeroize::Zeroizing;

use super::{AuthError, Password};

/// Length of the server's nonce in bytes; it is binary and has no terminator.
pub const NONCE_LEN: usize = 32;
/// Length of a public key in bytes.
pub const PUBLIC_KEY_LEN: usize = 32;
/// Length of a signature, the client's response, in bytes.
pub const SIGNATURE_LEN: usize = 64;

/// The server's challenge.
pub type Nonce = [u8; NONCE_LEN];

/// A random challenge.
///
/// # Errors
/// [`AuthError::Random`] when the system has no random numbers.
pub fn generate_nonce() -> Result<Nonce, AuthError> {
    let mut nonce = [0; NONCE_LEN];
    aws_lc_rs::rand::fill(&mut nonce).map_err(|_| AuthError::Random)?;
    Ok(nonce)
}

/// The public key that belongs to a password: what MariaDB stores (in base64, without padding).
pub fn public_key(password: &Password) -> [u8; PUBLIC_KEY_LEN] {
    ExpandedSecret::of(password).public_key()
}

/// The response to a challenge.
pub fn sign(password: &Password, nonce: &Nonce) -> [u8; SIGNATURE_LEN] {
    let secret = ExpandedSecret::of(password);
    let commitment_scalar = hash_to_scalar(&[&secret.prefix[..], nonce]);
    let commitment = EdwardsPoint::mul_base(&commitment_scalar).compress();
    let challenge = hash_to_scalar(&[commitment.as_bytes(), &secret.public_key(), nonce]);
    let proof = challenge * secret.scalar + commitment_scalar;

    let mut signature = [0; SIGNATURE_LEN];
    signature[..32].copy_from_slice(commitment.as_bytes());
    signature[32..].copy_from_slice(proof.as_bytes());
    signature
}

/// Whether a client's response proves that it knows the password behind a public key.
pub fn verify(public_key: &[u8; PUBLIC_KEY_LEN], nonce: &Nonce, response: &[u8]) -> bool {
    let Some((commitment, proof)) = response.split_first_chunk::<32>() else {
        return false;
    };
    let Ok(proof) = <[u8; 32]>::try_from(proof) else {
        return false;
    };
    // A proof that is not reduced is a second spelling of the same signature: RFC 8032 refuses it.
    let Some(proof) = Option::<Scalar>::from(Scalar::from_canonical_bytes(proof)) else {
        return false;
    };
    let Some(key_point) = CompressedEdwardsY(*public_key).decompress() else {
        return false;
    };
    let challenge = hash_to_scalar(&[commitment, public_key, nonce]);
    let expected = EdwardsPoint::vartime_double_scalar_mul_basepoint(&challenge, &-key_point, &proof);
    expected.compress().as_bytes() == commitment
}

/// SHA-512 of the password, split as RFC 8032, section 5.1.5 says.
struct ExpandedSecret {
    scalar: Scalar,
    prefix: Zeroizing<[u8; 32]>,
}

impl ExpandedSecret {
    fn of(password: &Password) -> Self {
        let hash: Zeroizing<[u8; 64]> = Zeroizing::new(Sha512::digest(password.as_bytes()).into());
        let (low, high) = hash.split_at(32);
        let low: [u8; 32] = low.try_into().expect("half of a SHA-512 hash has 32 bytes");
        let high: [u8; 32] = high.try_into().expect("half of a SHA-512 hash has 32 bytes");
        Self { scalar: Scalar::from_bytes_mod_order(clamp_integer(low)), prefix: Zeroizing::new(high) }
    }

    fn public_key(&self) -> [u8; PUBLIC_KEY_LEN] {
        EdwardsPoint::mul_base(&self.scalar).compress().to_bytes()
    }
}

fn hash_to_scalar(parts: &[&[u8]]) -> Scalar {
    let mut hasher = Sha512::new();
    parts.iter().for_each(|part| hasher.update(part));
    Scalar::from_bytes_mod_order_wide(&hasher.finalize().into())
}
