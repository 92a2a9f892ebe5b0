//! The client machine against the server machine: every plugin, channel, credential and password.

use super::*;

const OK_PACKET: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
const ERR_PACKET: &[u8] = b"\xff\x15\x04#28000Access denied";

/// What an exchange led to, and the packets' shape: direction, first byte, length.
struct Outcome {
    decision: ServerStep,
    shape: Vec<(char, Option<u8>, usize)>,
}

impl Outcome {
    fn accepted(&self) -> bool {
        matches!(self.decision, ServerStep::Accept { .. })
    }
}

fn run(greeting: AuthPlugin, account: Account, channel: Channel, password: &Password) -> Result<Outcome, AuthError> {
    let mut client = ClientAuth::new(greeting.name().as_bytes(), &NONCE.0, password.clone(), channel)?;
    let (plugin, response) = client.initial_response();
    let offer = Offer { plugin: Some(plugin.as_bytes()), response: &response };
    let mut shape = vec![('c', None, response.len())];
    let greeted = Greeted { nonce: NONCE, plugin: Some(greeting) };
    let (mut server, mut step) = ServerAuth::begin(account, greeted, channel, Some(RSA.clone()), offer)?;
    loop {
        let packet = match &step {
            ServerStep::Send(packet) => packet.clone(),
            ServerStep::Accept { send_first, .. } => {
                if let Some(packet) = send_first {
                    assert_eq!(client.on_packet(packet)?, ClientStep::Wait);
                }
                OK_PACKET.to_vec()
            }
            ServerStep::Reject { .. } => ERR_PACKET.to_vec(),
        };
        shape.push(('s', packet.first().copied(), packet.len()));
        match client.on_packet(&packet)? {
            ClientStep::Send(answer) => {
                shape.push(('c', None, answer.len()));
                step = server.on_packet(&answer);
            }
            ClientStep::Wait => panic!("the client waits for a packet that will not come"),
            ClientStep::Done => {
                return Ok(Outcome { decision: step, shape });
            }
        }
    }
}

fn all_channels() -> [Channel; 3] {
    [Channel::Secure, Channel::UnixSocket, Channel::Insecure]
}

fn passwords() -> [Password; 3] {
    [Password::default(), vector_password(), Password::new("another one")]
}

/// `mysql_clear_password` has no exchange on an insecure channel.
fn possible(plugin: AuthPlugin, channel: Channel) -> bool {
    plugin != AuthPlugin::ClearPassword || channel.is_secure()
}

#[test]
fn only_the_right_password_is_accepted_for_every_plugin_channel_and_greeting() {
    for plugin in AuthPlugin::ALL {
        for channel in all_channels().into_iter().filter(|&c| possible(plugin, c)) {
            for greeting in AuthPlugin::ALL {
                for known in passwords() {
                    for given in passwords() {
                        let case = format!("{plugin:?} {channel:?} {greeting:?}");
                        let account = Account { plugin, credential: Credential::Password(known.clone()) };
                        let outcome = run(greeting, account, channel, &given).expect(&case);
                        assert_eq!(outcome.accepted(), known == given, "{case}");
                    }
                }
            }
        }
    }
}

#[test]
fn an_unknown_password_is_learnt_and_not_called_verified() {
    for plugin in AuthPlugin::ALL {
        for channel in all_channels().into_iter().filter(|&c| possible(plugin, c)) {
            for given in passwords() {
                let account = Account { plugin, credential: Credential::Unknown };
                let outcome = run(AuthPlugin::CachingSha2, account, channel, &given).expect("the exchange ends");
                assert_eq!(
                    outcome.decision,
                    ServerStep::Accept { send_first: None, password: Some(given), verified: false },
                    "{plugin:?} {channel:?}"
                );
            }
        }
    }
}

#[test]
fn a_learnt_hash_accepts_fast_and_a_changed_password_is_learnt_again() {
    for channel in all_channels() {
        for greeting in AuthPlugin::ALL {
            let account = Account {
                plugin: AuthPlugin::CachingSha2,
                credential: Credential::Sha2Stage2(caching_sha2::stage2(&vector_password())),
            };
            let fast = run(greeting, account.clone(), channel, &vector_password()).expect("the exchange ends");
            assert_eq!(
                fast.decision,
                ServerStep::Accept { send_first: Some(vec![1, 3]), password: None, verified: true }
            );
            let changed = Password::new("changed since");
            let full = run(greeting, account, channel, &changed).expect("the exchange ends");
            assert_eq!(
                full.decision,
                ServerStep::Accept { send_first: None, password: Some(changed), verified: false }
            );
        }
    }
}

#[test]
fn a_missing_account_looks_like_a_wrong_password() {
    for plugin in AuthPlugin::ALL {
        for channel in all_channels().into_iter().filter(|&c| possible(plugin, c)) {
            for given in [Password::default(), vector_password()] {
                let known = Credential::Password(Password::new("not what is given"));
                let [real, missing] = [known, Credential::NoAccount].map(|credential| {
                    let account = Account { plugin, credential };
                    run(AuthPlugin::CachingSha2, account, channel, &given).expect("the exchange ends")
                });
                assert_eq!(real.shape, missing.shape, "{plugin:?} {channel:?}");
                assert_eq!(real.decision, missing.decision);
                assert!(!missing.accepted());
            }
        }
    }
}

#[test]
fn an_error_tells_whether_a_password_was_used() {
    for (given, using_password) in [(Password::default(), false), (vector_password(), true)] {
        for plugin in [AuthPlugin::NativePassword, AuthPlugin::CachingSha2] {
            let account = Account { plugin, credential: Credential::Password(Password::new("right")) };
            let outcome = run(plugin, account, Channel::Insecure, &given).expect("the exchange ends");
            assert_eq!(outcome.decision, ServerStep::Reject { using_password });
        }
    }
}
