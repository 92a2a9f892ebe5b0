//! The client machine against packets that a server sends, right and wrong.

use super::*;

fn client(channel: Channel) -> ClientAuth {
    ClientAuth::new(AuthPlugin::CachingSha2.name().as_bytes(), &NONCE.0, vector_password(), channel)
        .expect("the challenge is whole")
}

fn switch_to(name: &str, data: &[u8]) -> Vec<u8> {
    [&[0xfe], name.as_bytes(), &[0], data].concat()
}

#[test]
fn a_password_never_goes_in_clear_over_an_insecure_channel() {
    let mut client = client(Channel::Insecure);
    assert_eq!(
        client.on_packet(&switch_to("mysql_clear_password", b"")),
        Err(AuthError::InsecureChannel(AuthPlugin::ClearPassword))
    );
    let clear_greeting = ClientAuth::new(b"mysql_clear_password", &NONCE.0, vector_password(), Channel::Insecure)
        .expect("another plugin is tried");
    assert_eq!(clear_greeting.initial_response().0, "caching_sha2_password");
}

#[test]
fn on_a_secure_channel_full_authentication_sends_the_password_and_a_nul() {
    let mut client = client(Channel::Secure);
    assert_eq!(client.on_packet(&[1, 4]), Ok(ClientStep::Send("s3cret-Ü\0".into())));
    assert_eq!(client.on_packet(&[0, 0, 0]), Ok(ClientStep::Done));
}

#[test]
fn on_an_insecure_channel_the_key_is_asked_for_unless_it_is_known() {
    let mut asking = client(Channel::Insecure);
    assert_eq!(asking.on_packet(&[1, 4]), Ok(ClientStep::Send(vec![2])));

    let mut knowing = client(Channel::Insecure).with_server_key(RSA.public_pem());
    let Ok(ClientStep::Send(ciphertext)) = knowing.on_packet(&[1, 4]) else {
        panic!("the password must be sent");
    };
    assert_eq!(RSA.decrypt_password(&ciphertext, &NONCE), Ok(vector_password()));
}

#[test]
fn sha256_password_sends_the_password_without_a_scramble() {
    let switch = switch_to("sha256_password", &[&NONCE.0[..], &[0]].concat());
    assert_eq!(client(Channel::Secure).on_packet(&switch), Ok(ClientStep::Send("s3cret-Ü\0".into())));
    // MySQL 9.7 refuses it in clear even over a unix socket.
    for channel in [Channel::UnixSocket, Channel::Insecure] {
        let mut asking = client(channel);
        assert_eq!(asking.on_packet(&switch), Ok(ClientStep::Send(vec![1])));
        let key = [&[1], RSA.public_pem().as_bytes()].concat();
        let Ok(ClientStep::Send(ciphertext)) = asking.on_packet(&key) else {
            panic!("the password must be sent");
        };
        assert_eq!(RSA.decrypt_password(&ciphertext, &NONCE), Ok(vector_password()));
    }
    let greeted = ClientAuth::new(b"sha256_password", &NONCE.0, vector_password(), Channel::Insecure)
        .expect("the challenge is whole");
    assert_eq!(greeted.initial_response().0, "caching_sha2_password");
}

#[test]
fn each_switch_answers_its_own_challenge() {
    let mut client = client(Channel::Insecure);
    let second = Scramble([7; 20]);
    let native = native::scramble(&vector_password(), &second).expect("not empty");
    let switch = switch_to("mysql_native_password", &[&second.0[..], &[0]].concat());
    assert_eq!(client.on_packet(&switch), Ok(ClientStep::Send(native.to_vec())));
    // A nonce that ends with a NUL byte: it is binary, and must not be shortened.
    let nonce: ed25519::Nonce = std::array::from_fn(|i| 31 - i as u8);
    assert_eq!(
        client.on_packet(&switch_to("client_ed25519", &nonce)),
        Ok(ClientStep::Send(ed25519::sign(&vector_password(), &nonce).to_vec()))
    );
    assert_eq!(client.on_packet(b"\xff\x15\x04"), Ok(ClientStep::Done));
}

#[test]
fn a_server_cannot_keep_the_client_switching() {
    let mut client = client(Channel::Insecure);
    let switch = switch_to("mysql_native_password", &NONCE.0);
    let answered = (0..100).take_while(|_| client.on_packet(&switch).is_ok()).count();
    assert_eq!(answered, 8);
}

#[test]
fn packets_out_of_place_are_refused_by_name() {
    assert_eq!(client(Channel::Secure).on_packet(&[0xfe]), Err(AuthError::OldPassword));
    assert_eq!(client(Channel::Secure).on_packet(b"\x02webauthn\0"), Err(AuthError::MultiFactor));
    assert_eq!(
        client(Channel::Secure).on_packet(&switch_to("auth_gssapi\n", &NONCE.0)),
        Err(AuthError::UnsupportedPlugin("auth_gssapi\\n".into()))
    );
    for malformed in [&b""[..], b"\xfename without end", b"\xfeclient_ed25519\0short"] {
        assert!(matches!(client(Channel::Secure).on_packet(malformed), Err(AuthError::Malformed(_))));
    }
    for out_of_place in [&[1][..], &[1, 5], &[1, 3, 3], &[7]] {
        assert!(matches!(client(Channel::Secure).on_packet(out_of_place), Err(AuthError::Unexpected { .. })));
    }
}

#[test]
fn nothing_is_answered_after_the_verdict_or_while_waiting_for_it() {
    let mut finished = client(Channel::Secure);
    assert_eq!(finished.on_packet(&[0, 0, 0]), Ok(ClientStep::Done));
    let mut fast = client(Channel::Secure);
    assert_eq!(fast.on_packet(&[1, 3]), Ok(ClientStep::Wait));
    for mut client in [finished, fast] {
        assert!(client.on_packet(&[1, 4]).is_err());
        assert!(client.on_packet(&switch_to("mysql_clear_password", b"")).is_err());
    }
}

#[test]
fn a_greeting_without_a_usable_challenge_is_an_error() {
    assert!(ClientAuth::new(b"", b"short", vector_password(), Channel::Secure).is_err());
    let unknown =
        ClientAuth::new(b"future", &NONCE.0, vector_password(), Channel::Secure).expect("the server is left to switch");
    assert_eq!(unknown.initial_response().0, "caching_sha2_password");
}

#[test]
fn garbage_gets_no_password() {
    for seed in 0..2000 {
        let mut client = client(Channel::Insecure);
        for packet in [&[1, 4][..], &garbage(seed), &garbage(seed + 5000)] {
            if let Ok(ClientStep::Send(sent)) = client.on_packet(packet) {
                assert!(sent.len() <= 32, "seed {seed}: {} bytes", sent.len());
            }
        }
    }
}
