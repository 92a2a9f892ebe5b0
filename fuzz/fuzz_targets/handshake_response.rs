//! A client's handshake response and its TLS request: decoding an encoding gives the same again, and what is kept is no
//! longer than what came.
//!
//! Input: whether the greeting was MariaDB's, payload.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_fuzz::Input;
use weir_wire::caps::Capabilities;
use weir_wire::handshake::{HandshakeResponse, is_ssl_request};

fuzz_target!(|data: &[u8]| {
    let mut input = Input(data);
    let mariadb = input.pick(&[false, true]);
    let payload = input.0;
    let tls = is_ssl_request(payload);
    let Ok(response) = HandshakeResponse::parse(payload, mariadb) else {
        return;
    };
    assert!(!tls, "a TLS request is a whole response");

    let kept = response.user.len()
        + response.auth.len()
        + response.auth_plugin.len()
        + response.database.as_ref().map_or(0, Vec::len)
        + response.attributes.iter().map(|(name, value)| 2 + name.len() + value.len()).sum::<usize>();
    assert!(kept <= payload.len());

    assert_eq!(is_ssl_request(&response.encode_ssl_request()), response.capabilities.contains(Capabilities::SSL));
    // Without this capability the response's end is a NUL, which is read but never written.
    if response.capabilities.contains(Capabilities::SECURE_CONNECTION) {
        assert_eq!(HandshakeResponse::parse(&response.encode(), mariadb), Ok(response));
    }
});
