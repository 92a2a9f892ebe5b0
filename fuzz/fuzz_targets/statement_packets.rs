//! Prepared statements' packets: an execution that is put together again reads the same, but for its statement id.
//!
//! Input: parameters of the statement (2 bytes), capabilities (8 bytes), payload.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_fuzz::Input;
use weir_wire::stmt::{Execute, PrepareOk, statement_id};

fuzz_target!(|data: &[u8]| {
    let mut input = Input(data);
    let params = u16::from_le_bytes([input.byte(), input.byte()]);
    let capabilities = input.capabilities();
    let payload = input.0;

    if let Ok(prepared) = PrepareOk::parse(payload) {
        assert_eq!(PrepareOk::parse(&prepared.encode()), Ok(prepared));
    }
    let Ok(execute) = Execute::parse(payload, params, capabilities) else {
        return;
    };
    assert_eq!(statement_id(payload), Ok(execute.id));
    let encoded = execute.encode(0x0102_0304, execute.types);
    assert!(encoded.len() <= payload.len() + 16);
    let mut expected = execute;
    expected.id = 0x0102_0304;
    assert_eq!(Execute::parse(&encoded, params, capabilities), Ok(expected));
});
