//! RSA for `caching_sha2_password` on channels that others can read.
//!
//! The password and its NUL are XORed with the nonce, repeated, and encrypted with RSA-OAEP (SHA-1, MGF1 with SHA-1).
//! The key travels as a SubjectPublicKeyInfo in PEM, as MySQL sends it. That proves nothing about who sent the key: it
//! protects against listeners, not against someone in the middle, which only TLS does.

use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::rsa::{
    KeySize, OAEP_SHA1_MGF1SHA1, OaepPrivateDecryptingKey, OaepPublicEncryptingKey, PrivateDecryptingKey,
    PublicEncryptingKey,
};
use zeroize::Zeroizing;

use super::{AuthError, Password, Scramble};

const PEM_BEGIN: &str = "-----BEGIN PUBLIC KEY-----";
const PEM_END: &str = "-----END PUBLIC KEY-----";
/// An 8192-bit key, the largest supported, takes 1,455 bytes of PEM.
const LONGEST_PEM: usize = 4096;

/// The key pair with which Weir, as a server, receives passwords. Made once per process: it takes about 0.1 s.
pub struct RsaKeyPair {
    private: OaepPrivateDecryptingKey,
    public_pem: String,
}

impl RsaKeyPair {
    /// Makes a 2048-bit key pair, the size that MySQL makes.
    ///
    /// # Errors
    /// [`AuthError::KeyGeneration`] when the system can't (no random numbers, say).
    pub fn generate() -> Result<Self, AuthError> {
        let key = PrivateDecryptingKey::generate(KeySize::Rsa2048).map_err(|_| AuthError::KeyGeneration)?;
        let public: PublicKeyX509Der<'_> = key.public_key().as_der().map_err(|_| AuthError::KeyGeneration)?;
        let public_pem = encode_pem(public.as_ref());
        let private = OaepPrivateDecryptingKey::new(key).map_err(|_| AuthError::KeyGeneration)?;
        Ok(Self { private, public_pem })
    }

    /// The public half as PEM, with a newline at its end.
    pub fn public_pem(&self) -> &str {
        &self.public_pem
    }

    /// Undoes [`encrypt_password`].
    ///
    /// # Errors
    /// [`AuthError::Decryption`] for everything that isn't the encryption of a NUL-terminated string.
    pub fn decrypt_password(&self, ciphertext: &[u8], nonce: &Scramble) -> Result<Password, AuthError> {
        if ciphertext.len() != self.private.key_size_bytes() {
            return Err(AuthError::Decryption);
        }
        let mut buffer = Zeroizing::new(vec![0; self.private.min_output_size()]);
        let plain = self
            .private
            .decrypt(&OAEP_SHA1_MGF1SHA1, ciphertext, &mut buffer, None)
            .map_err(|_| AuthError::Decryption)?;
        super::xor_repeating(plain, &nonce.0);
        match plain {
            [password @ .., 0] => Ok(Password::new(&*password)),
            _ => Err(AuthError::Decryption),
        }
    }
}

impl std::fmt::Debug for RsaKeyPair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RsaKeyPair").finish_non_exhaustive()
    }
}

/// Encrypts a password for the server that sent its key.
///
/// # Errors
/// [`AuthError::PublicKey`] when the PEM isn't an RSA key of 2048 to 8192 bits, [`AuthError::PasswordTooLong`] when the
/// password doesn't fit (213 bytes for 2048 bits).
pub fn encrypt_password(server_public_pem: &[u8], password: &Password, nonce: &Scramble) -> Result<Vec<u8>, AuthError> {
    let der = decode_pem(server_public_pem).ok_or(AuthError::PublicKey)?;
    let key = PublicEncryptingKey::from_der(&der)
        .and_then(|key| Ok(OaepPublicEncryptingKey::new(key)?))
        .map_err(|_| AuthError::PublicKey)?;
    let mut plain = password.nul_terminated();
    if plain.len() > key.max_plaintext_size(&OAEP_SHA1_MGF1SHA1) {
        return Err(AuthError::PasswordTooLong);
    }
    super::xor_repeating(&mut plain, &nonce.0);
    let mut ciphertext = vec![0; key.ciphertext_size()];
    let written =
        key.encrypt(&OAEP_SHA1_MGF1SHA1, &plain, &mut ciphertext, None).map_err(|_| AuthError::PublicKey)?.len();
    ciphertext.truncate(written);
    Ok(ciphertext)
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// RFC 7468: base64 in lines of 64 characters between the two marker lines.
fn encode_pem(der: &[u8]) -> String {
    let mut pem = format!("{PEM_BEGIN}\n");
    for line in der.chunks(48) {
        for group in line.chunks(3) {
            let bits = group.iter().enumerate().fold(0u32, |bits, (i, &byte)| bits | u32::from(byte) << (16 - 8 * i));
            for i in 0..4 {
                let digit = (bits >> (18 - 6 * i)) & 0x3f;
                pem.push(match i <= group.len() {
                    true => char::from(BASE64[digit as usize]),
                    false => '=',
                });
            }
        }
        pem.push('\n');
    }
    pem + PEM_END + "\n"
}

/// The DER between the marker lines; text around them is ignored, as RFC 7468 allows.
fn decode_pem(pem: &[u8]) -> Option<Vec<u8>> {
    let pem = std::str::from_utf8(pem.get(..pem.len().min(LONGEST_PEM))?).ok()?;
    let (_, rest) = pem.split_once(PEM_BEGIN)?;
    let (body, _) = rest.split_once(PEM_END)?;

    let mut der = Vec::with_capacity(body.len() * 3 / 4);
    let mut bits = 0u32;
    let mut digits = 0usize;
    let body = body.bytes().filter(|byte| !byte.is_ascii_whitespace());
    for digit in body.take_while(|&byte| byte != b'=') {
        let value = BASE64.iter().position(|&candidate| candidate == digit)?;
        bits = bits << 6 | u32::try_from(value).ok()?;
        digits += 1;
        if digits.is_multiple_of(4) {
            der.extend_from_slice(&bits.to_be_bytes()[1..]);
        }
    }
    match digits % 4 {
        0 => {}
        2 => der.push((bits >> 4) as u8),
        3 => der.extend_from_slice(&((bits >> 2) as u16).to_be_bytes()),
        _ => return None,
    }
    Some(der)
}
