//! A server's greeting: decoding an encoding gives the same again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_wire::handshake::Greeting;

fuzz_target!(|data: &[u8]| {
    let Ok(greeting) = Greeting::parse(data) else {
        return;
    };
    assert!(greeting.version.len() + greeting.auth_plugin.len() <= data.len() + 21);
    assert_eq!(Greeting::parse(&greeting.encode()), Ok(greeting));
});
