//! Weir as a server: only a proof of the password lets anyone in, and nothing that is sent tells whether the account
//! exists.
//!
//! Input: plugin, announced plugin, channel, key, offered plugin, response (counted), packets.
#![no_main]

use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use weir_fuzz::Input;
use weir_wire::auth::{
    Account, AuthError, AuthPlugin, Channel, Credential, Greeted, Offer, Password, RsaKeyPair, Scramble, ServerAuth,
    ServerStep, caching_sha2,
};

static RSA: LazyLock<Arc<RsaKeyPair>> =
    LazyLock::new(|| Arc::new(RsaKeyPair::generate().expect("key generation works")));

const SECRET: &[u8] = b"s3";

struct Scene<'a> {
    plugin: AuthPlugin,
    greeted: Greeted,
    channel: Channel,
    rsa: Option<Arc<RsaKeyPair>>,
    offer: Offer<'a>,
    packets: Vec<&'a [u8]>,
}

/// All steps; sent packets by first byte and length only, since ed25519 challenges are random.
fn run(scene: &Scene<'_>, credential: Credential) -> Result<Vec<ServerStep>, AuthError> {
    let account = Account { plugin: scene.plugin, credential };
    let (mut server, first) = ServerAuth::begin(account, scene.greeted, scene.channel, scene.rsa.clone(), scene.offer)?;
    let rest = scene.packets.iter().map(|packet| server.on_packet(packet));
    let steps: Vec<ServerStep> = std::iter::once(first).chain(rest).collect();
    let is_send = |step: &ServerStep| matches!(step, ServerStep::Send(_));
    let exchange = steps.iter().take_while(|step| is_send(step)).count();
    assert!(exchange <= 3, "the exchange has no end");
    let after = steps.iter().skip(exchange + 1);
    assert!(
        after.clone().all(|step| matches!(step, ServerStep::Reject { .. })),
        "something happens after the decision"
    );
    Ok(steps
        .into_iter()
        .map(|step| match step {
            ServerStep::Send(packet) => {
                assert!(packet.len() < 1024);
                ServerStep::Send(vec![packet[0], (packet.len() >> 8) as u8, packet.len() as u8])
            }
            step => step,
        })
        .collect())
}

fn accepted(steps: &[ServerStep]) -> Option<(&Option<Password>, bool)> {
    steps.iter().find_map(|step| match step {
        ServerStep::Accept { password, verified, .. } => Some((password, *verified)),
        _ => None,
    })
}

fuzz_target!(|data: &[u8]| {
    let mut input = Input(data);
    let nonce = Scramble(*b"abcdefghijklmnopqrst");
    let plugin = input.pick(&AuthPlugin::ALL);
    let announced = input.byte();
    let greeted = Greeted { nonce, plugin: AuthPlugin::ALL.get(usize::from(announced)).copied() };
    let channel = input.pick(&[Channel::Secure, Channel::Insecure, Channel::UnixSocket]);
    let rsa = input.pick(&[true, false]).then(|| RSA.clone());
    let offered = input.byte();
    let offer = Offer {
        plugin: match offered {
            0xff => None,
            offered => Some(AuthPlugin::ALL.get(usize::from(offered)).map_or(b"other", |p| p.name().as_bytes())),
        },
        response: input.short_block(),
    };
    let scene = Scene { plugin, greeted, channel, rsa, offer, packets: input.packets() };

    let told = |secret: &[u8]| {
        let contains = |bytes: &[u8]| bytes.windows(secret.len()).any(|window| window == secret);
        contains(scene.offer.response) || scene.packets.iter().any(|packet| contains(packet))
    };
    let known = Password::new(SECRET);
    if let Ok(steps) = run(&scene, Credential::Password(known.clone())) {
        if let Some((_, verified)) = accepted(&steps) {
            assert!(verified && channel.is_secure() && told(SECRET), "accepted without the password");
        }
    }
    let stage2 = caching_sha2::stage2(&known);
    for credential in [Credential::Sha2Stage2(stage2), Credential::Unknown] {
        if let Ok(steps) = run(&scene, credential) {
            if let Some((password, verified)) = accepted(&steps) {
                let password = password.as_ref().expect("learnt");
                assert!(!verified || *password == known, "verified by nothing");
            }
        }
    }
    let missing = run(&scene, Credential::NoAccount);
    assert!(missing.as_ref().map_or(true, |steps| accepted(steps).is_none()));
    let unguessable = Credential::Password(Password::new([0xa7; 40]));
    assert_eq!(run(&scene, unguessable), missing, "the exchange tells whether the account exists");
});
