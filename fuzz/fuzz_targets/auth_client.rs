//! Weir as a client of a hostile server: the password never goes out in clear on an insecure channel, the exchange is
//! bounded, and nothing happens after the verdict.
//!
//! Input: channel, greeting's plugin (counted), plugin data (counted), packets.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_fuzz::Input;
use weir_wire::auth::{Channel, ClientAuth, ClientStep, Password};

const SECRET: &[u8] = b"correct horse battery staple";

fuzz_target!(|data: &[u8]| {
    let mut input = Input(data);
    let channel = input.pick(&[Channel::Insecure, Channel::Secure, Channel::UnixSocket]);
    let plugin = input.short_block();
    let plugin_data = input.short_block();
    let Ok(mut client) = ClientAuth::new(plugin, plugin_data, Password::new(SECRET), channel) else {
        return;
    };
    let tells = |sent: &[u8]| sent.windows(SECRET.len()).any(|window| window == SECRET);
    let (_, response) = client.initial_response();
    assert!(channel.is_secure() || !tells(&response));

    let (mut sent, mut is_done) = (0, false);
    for packet in input.packets() {
        match client.on_packet(packet) {
            Ok(ClientStep::Send(answer)) => {
                assert!(!is_done, "an answer after the verdict");
                assert!(answer.len() <= 1024);
                assert!(channel.is_secure() || !tells(&answer), "the password in clear");
                sent += 1;
            }
            Ok(ClientStep::Wait) => assert!(!is_done),
            Ok(ClientStep::Done) => {
                assert!(!is_done, "two verdicts");
                is_done = true;
            }
            Err(_) => {}
        }
    }
    assert!(sent <= 10, "the exchange has no end");
});
