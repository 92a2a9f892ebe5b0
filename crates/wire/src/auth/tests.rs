//! Vectors made with Python's hashlib and a textbook RFC 8032; the password hashes among them were compared with what
//! MariaDB 10.11 stores. Then both machines against each other.

use std::sync::{Arc, LazyLock};

use super::*;

const NONCE: Scramble = Scramble([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]);

static RSA: LazyLock<Arc<RsaKeyPair>> =
    LazyLock::new(|| Arc::new(RsaKeyPair::generate().expect("key generation works")));

fn vector_password() -> Password {
    Password::new("s3cret-Ü")
}

/// Bytes that mean nothing, the same in every run (xorshift).
fn garbage(seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    // Most first bytes that a server sends mean something.
    let first = [0x01, 0xfe, next()][usize::from(next() % 3)];
    let len = next();
    std::iter::once(first).chain((0..len).map(|_| next())).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn native_agrees_with_the_vectors() {
    let password = vector_password();
    let response = native::scramble(&password, &NONCE).expect("the password is not empty");
    assert_eq!(hex(&response), "bc9061e5e7cb114508ed2fe799a1ff787bbf1afc");
    assert_eq!(hex(&native::stage2(&password)), "8483499f0624626b75aed8abf922b53723ed66c4");
    assert!(native::verify(&native::stage2(&password), &NONCE, &response));
    assert!(!native::verify(&[0; 20], &NONCE, &response));
    assert!(!native::verify(&native::stage2(&password), &NONCE, &response[1..]));
    assert_eq!(native::scramble(&Password::default(), &NONCE), None);
}

#[test]
fn caching_sha2_agrees_with_the_vectors() {
    let password = vector_password();
    let response = caching_sha2::scramble(&password, &NONCE).expect("the password is not empty");
    assert_eq!(hex(&response), "1fea74a4d4e1fe833af784fa9db4126d8fe837464cd4f4c066c5f9dc3bb467a4");
    let stage2 = caching_sha2::stage2(&password);
    assert_eq!(hex(&stage2), "91851ecf8e3a99373493375991d8b232e501e4b5ea7a3c212c1a443f02259956");
    assert!(caching_sha2::verify(&stage2, &NONCE, &response));
    assert!(!caching_sha2::verify(&stage2, &Scramble([9; 20]), &response));
    assert!(!caching_sha2::verify(&stage2, &NONCE, &[]));
    assert_eq!(caching_sha2::scramble(&Password::default(), &NONCE), None);
}

#[test]
fn ed25519_agrees_with_the_vectors() {
    let password = vector_password();
    let nonce: ed25519::Nonce = std::array::from_fn(|i| i as u8);
    let key = ed25519::public_key(&password);
    let signature = ed25519::sign(&password, &nonce);
    assert_eq!(hex(&key), "9a4a6dd3faf6311ed6949da234075ec07aef60bdae283262facabab069818c5c");
    assert_eq!(
        hex(&signature),
        "5e7f3c170bc8ab4e074e2ed5c320885b7007eee701d6dd6ab076fb3870c75e58\
         5531c9b9305a343f376187b6cb59e4a8f046d5ae673b932568cb270e60fced00"
    );
    assert!(ed25519::verify(&key, &nonce, &signature));
    for position in 0..signature.len() {
        let mut forged = signature;
        forged[position] ^= 1;
        assert!(!ed25519::verify(&key, &nonce, &forged), "byte {position}");
    }
    assert!(!ed25519::verify(&key, &nonce, &signature[1..]));
    assert!(!ed25519::verify(&[0xff; 32], &nonce, &signature));
}

#[test]
fn ed25519_with_a_32_byte_password_is_rfc_8032() {
    // RFC 8032, section 7.1, test 1.
    let seed = [
        0x9d, 0x61, 0xb1, 0x9d, 0xef, 0xfd, 0x5a, 0x60, 0xba, 0x84, 0x4a, 0xf4, 0x92, 0xec, 0x2c, 0xc4, 0x44, 0x49,
        0xc5, 0x69, 0x7b, 0x32, 0x69, 0x19, 0x70, 0x3b, 0xac, 0x03, 0x1c, 0xae, 0x7f, 0x60,
    ];
    assert_eq!(
        hex(&ed25519::public_key(&Password::new(seed))),
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    );
}

#[test]
fn an_encrypted_password_comes_back_with_the_right_nonce_only() {
    for length in [0, 1, 19, 20, 21, 213] {
        let password = Password::new(vec![b'p'; length]);
        let ciphertext =
            encrypt_password(RSA.public_pem().as_bytes(), &password, &NONCE).expect("it fits into 2048 bits");
        assert_eq!(RSA.decrypt_password(&ciphertext, &NONCE), Ok(password));
        assert_ne!(RSA.decrypt_password(&ciphertext, &Scramble([0x55; 20])), Ok(Password::new(vec![b'p'; length])),);
    }
}

#[test]
fn what_rsa_cannot_carry_is_an_error() {
    let pem = RSA.public_pem().as_bytes();
    let long = Password::new(vec![b'p'; 214]);
    assert_eq!(encrypt_password(pem, &long, &NONCE), Err(AuthError::PasswordTooLong));
    let no_key = b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n";
    for bad_pem in [&no_key[..], &pem[..100], b"", b"\xff\xfe"] {
        assert_eq!(encrypt_password(bad_pem, &vector_password(), &NONCE), Err(AuthError::PublicKey));
    }
    for bad_ciphertext in [vec![], vec![1; 255], vec![1; 256], vec![0xff; 256], vec![1; 512]] {
        assert_eq!(RSA.decrypt_password(&bad_ciphertext, &NONCE), Err(AuthError::Decryption));
    }
}

#[test]
fn a_pem_with_other_line_ends_and_text_around_it_is_read() {
    let pem = format!("a comment\r\n{}", RSA.public_pem().replace('\n', "\r\n"));
    let ciphertext =
        encrypt_password(pem.as_bytes(), &vector_password(), &NONCE).expect("the same key in another dress");
    assert_eq!(RSA.decrypt_password(&ciphertext, &NONCE), Ok(vector_password()));
    assert!(RSA.public_pem().lines().all(|line| line.len() <= 64));
}

#[test]
fn challenges_are_printable_in_packets_and_differ() {
    let challenges: Vec<Scramble> = (0..200).map(|_| Scramble::generate().expect("there are random numbers")).collect();
    for challenge in &challenges {
        assert!(challenge.0.iter().all(|&byte| byte != 0 && byte != b'$' && byte < 0x80), "{challenge:?}");
    }
    assert_ne!(challenges[0], challenges[1]);
    assert_eq!(Scramble::from_plugin_data(&[&NONCE.0[..], &[0]].concat()), Ok(NONCE));
    assert_eq!(Scramble::from_plugin_data(&NONCE.0), Ok(NONCE));
    for wrong in [&NONCE.0[..19], &[1; 21], &[0; 22], &[]] {
        assert!(Scramble::from_plugin_data(wrong).is_err());
    }
}

#[test]
fn secrets_do_not_print() {
    let password = vector_password();
    let shown = format!(
        "{password:?} {:?} {:?} {:?}",
        Credential::Password(password.clone()),
        Credential::Sha2Stage2(caching_sha2::stage2(&password)),
        ClientAuth::new(b"", &NONCE.0, password.clone(), Channel::Secure),
    );
    assert!(!shown.contains("s3cret"), "{shown}");
    assert!(!shown.contains("145, 133, 30"), "{shown}");
    assert_eq!(password, vector_password());
    assert_ne!(password, Password::default());
}

#[test]
fn plugin_names_go_both_ways() {
    for plugin in AuthPlugin::ALL {
        assert_eq!(AuthPlugin::from_name(plugin.name().as_bytes()), Some(plugin));
    }
    assert_eq!(AuthPlugin::from_name(b"mysql_old_password"), None);
    assert_eq!(AuthPlugin::from_name(b""), None);
}

mod client;
mod exchange;
mod server;
