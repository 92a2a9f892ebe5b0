//! COM_CHANGE_USER: decoding an encoding gives the same again, and what is kept is no longer than what came.
//!
//! Input: capabilities (8 bytes), payload after the command byte.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_fuzz::Input;
use weir_wire::caps::Capabilities;
use weir_wire::handshake::ChangeUser;

fuzz_target!(|data: &[u8]| {
    let mut input = Input(data);
    let capabilities = input.capabilities();
    let payload = input.0;
    let Ok(request) = ChangeUser::parse(payload, capabilities) else {
        return;
    };
    let kept = request.user.len()
        + request.auth.len()
        + request.auth_plugin.len()
        + request.database.as_ref().map_or(0, Vec::len)
        + request.attributes.iter().map(|(name, value)| 2 + name.len() + value.len()).sum::<usize>();
    assert!(kept <= payload.len());

    // Its length is one byte, also where the client ended it by a NUL.
    if request.auth.len() > 255 {
        return;
    }
    // The encoder is Weir's own, which always negotiates these.
    let expected = ChangeUser { collation: Some(request.collation.unwrap_or_default()), ..request.clone() };
    let ours = Capabilities::SECURE_CONNECTION | Capabilities::PLUGIN_AUTH | Capabilities::CONNECT_ATTRS;
    assert_eq!(ChangeUser::parse(&request.encode()[1..], ours), Ok(expected));
});
