//! The server machine against clients that don't keep to the protocol.

use super::*;

const GREETED: Greeted = Greeted { nonce: NONCE, plugin: Some(AuthPlugin::CachingSha2) };

fn begin(
    credential: Credential,
    channel: Channel,
    rsa: Option<Arc<RsaKeyPair>>,
    response: &[u8],
) -> (ServerAuth, ServerStep) {
    let account = Account { plugin: AuthPlugin::CachingSha2, credential };
    let offer = Offer { plugin: Some(b"caching_sha2_password"), response };
    ServerAuth::begin(account, GREETED, channel, rsa, offer).expect("the plugin is right")
}

const FULL: &[u8] = &[1, 4];
const REJECT: ServerStep = ServerStep::Reject { using_password: true };

#[test]
fn the_switch_names_the_plugin_and_gives_the_challenge() {
    let offer = Offer { plugin: Some(b"sha256_password"), response: b"whatever" };
    let account = Account { plugin: AuthPlugin::NativePassword, credential: Credential::NoAccount };
    let (_, step) = ServerAuth::begin(account, GREETED, Channel::Insecure, None, offer).expect("a switch is possible");
    let expected = [b"\xfemysql_native_password\0", &NONCE.0[..], &[0]].concat();
    assert_eq!(step, ServerStep::Send(expected));
}

#[test]
fn a_response_that_answers_another_plugins_greeting_is_not_looked_at() {
    let offer = Offer { plugin: Some(b"caching_sha2_password"), response: b"" };
    let account = Account { plugin: AuthPlugin::CachingSha2, credential: Credential::Unknown };
    for plugin in [Some(AuthPlugin::NativePassword), None] {
        let greeted = Greeted { plugin, ..GREETED };
        let (mut server, step) =
            ServerAuth::begin(account.clone(), greeted, Channel::Secure, None, offer).expect("a switch is possible");
        assert!(matches!(step, ServerStep::Send(request) if request[0] == 0xfe));
        let step = server.on_packet(&[1; 32]);
        assert_eq!(step, ServerStep::Send(FULL.to_vec()));
    }
}

#[test]
fn a_client_without_plugins_can_use_native_only() {
    let response = native::scramble(&vector_password(), &NONCE).expect("not empty");
    let offer = Offer { plugin: None, response: &response };
    let begin = |plugin| {
        let credential = Credential::Password(vector_password());
        let account = Account { plugin, credential };
        ServerAuth::begin(account, GREETED, Channel::Secure, None, offer).map(|(_, step)| step)
    };
    assert!(matches!(begin(AuthPlugin::NativePassword), Ok(ServerStep::Accept { verified: true, .. })));
    for plugin in [AuthPlugin::CachingSha2, AuthPlugin::Ed25519] {
        assert_eq!(begin(plugin), Err(AuthError::ClientTooOld(plugin)));
    }
}

#[test]
fn a_clear_password_is_never_asked_for_on_an_insecure_channel() {
    let account = Account { plugin: AuthPlugin::ClearPassword, credential: Credential::Unknown };
    let offer = Offer { plugin: Some(b"mysql_clear_password"), response: b"s3cret\0" };
    assert_eq!(
        ServerAuth::begin(account, GREETED, Channel::Insecure, None, offer)
            .map(|(_, step)| step)
            .expect_err("insecure"),
        AuthError::InsecureChannel(AuthPlugin::ClearPassword)
    );
}

#[test]
fn without_a_key_an_insecure_client_is_rejected_when_it_must_tell_its_password() {
    for answer in [&[2][..], b"s3cret\0", &[0; 256], b""] {
        let (mut server, step) = begin(Credential::Unknown, Channel::Insecure, None, &[1; 32]);
        assert_eq!(step, ServerStep::Send(FULL.to_vec()));
        assert_eq!(server.on_packet(answer), REJECT);
    }
}

#[test]
fn a_password_in_clear_on_an_insecure_channel_is_not_taken() {
    let known = Credential::Password(Password::new("s3cret"));
    let (mut server, _) = begin(known, Channel::Insecure, Some(RSA.clone()), &[1; 32]);
    assert_eq!(server.on_packet(b"s3cret\0"), REJECT);
}

#[test]
fn the_key_is_sent_once() {
    let (mut server, _) = begin(Credential::Unknown, Channel::Insecure, Some(RSA.clone()), &[1; 32]);
    let key = [&[1], RSA.public_pem().as_bytes()].concat();
    assert_eq!(server.on_packet(&[2]), ServerStep::Send(key));
    assert_eq!(server.on_packet(&[2]), REJECT);
}

#[test]
fn passwords_are_bounded_and_need_their_nul() {
    for (packet, accepted) in [
        ([vec![b'p'; 256], vec![0]].concat(), true),
        ([vec![b'p'; 257], vec![0]].concat(), false),
        (vec![b'p'; 8], false),
        (vec![], false),
    ] {
        let (mut server, _) = begin(Credential::Unknown, Channel::Secure, None, &[1; 32]);
        let step = server.on_packet(&packet);
        assert_eq!(matches!(step, ServerStep::Accept { .. }), accepted);
    }
}

#[test]
fn responses_of_a_wrong_length_are_rejected_at_once() {
    for response in [&[1][..], &[1; 20], &[1; 31], &[1; 33], &[0; 2]] {
        let (_, step) = begin(Credential::Unknown, Channel::Secure, None, response);
        assert_eq!(step, REJECT, "{} bytes", response.len());
    }
    for empty in [&[][..], &[0]] {
        let known = Credential::Password(Password::default());
        let (_, step) = begin(known, Channel::Secure, None, empty);
        assert!(matches!(step, ServerStep::Accept { verified: true, .. }));
    }
}

#[test]
fn after_the_decision_everything_is_rejected() {
    let known = Credential::Password(vector_password());
    let response = caching_sha2::scramble(&vector_password(), &NONCE).expect("not empty");
    let (mut server, step) = begin(known, Channel::Secure, None, &response);
    assert!(matches!(step, ServerStep::Accept { .. }));
    assert_eq!(server.on_packet("s3cret-Ü\0".as_bytes()), REJECT);
}

#[test]
fn garbage_lets_nobody_in() {
    for seed in 0..2000 {
        for channel in [Channel::Secure, Channel::Insecure] {
            let known = Credential::Password(vector_password());
            let (mut server, first) = begin(known, channel, Some(RSA.clone()), &garbage(seed));
            let second = server.on_packet(&garbage(seed + 5000));
            for step in [first, second] {
                assert!(!matches!(step, ServerStep::Accept { .. }), "seed {seed}");
            }
        }
    }
}
