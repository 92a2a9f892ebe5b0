//! OK, ERR and EOF packets: decoding an encoding gives the same again.
//!
//! Input: capabilities (8 bytes), payload.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_fuzz::Input;
use weir_wire::caps::{Capabilities, StatusFlags};
use weir_wire::packets::{EofPacket, ErrPacket, OkPacket};

fuzz_target!(|data: &[u8]| {
    let mut input = Input(data);
    let capabilities = input.capabilities();
    let payload = input.0;
    if let Ok(ok) = OkPacket::parse(payload, capabilities) {
        assert!(ok.info.len() + ok.changes.len() <= payload.len());
        let mut expected = ok;
        let has_changes = capabilities.contains(Capabilities::SESSION_TRACK) && !ok.changes.is_empty();
        expected.status.set(StatusFlags::SESSION_STATE_CHANGED, has_changes);
        assert_eq!(OkPacket::parse(&ok.encode(capabilities), capabilities), Ok(expected));
    }
    if let Ok(error) = ErrPacket::parse(payload) {
        assert_eq!(ErrPacket::parse(&error.encode()), Ok(error));
    }
    if let Ok(eof) = EofPacket::parse(payload) {
        assert_eq!(EofPacket::parse(&eof.encode()), Ok(eof));
    }
});
