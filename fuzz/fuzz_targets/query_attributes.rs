//! COM_QUERY: the text begins within the payload, and a query that Weir writes is read back as its text.
//!
//! Input: capabilities (8 bytes), payload.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_fuzz::Input;
use weir_wire::stmt::{query_payload, query_text_at};

fuzz_target!(|data: &[u8]| {
    let mut input = Input(data);
    let capabilities = input.capabilities();
    let payload = input.0;
    if payload.is_empty() {
        return;
    }
    if let Ok(start) = query_text_at(payload, capabilities) {
        assert!((1..=payload.len()).contains(&start));
    }
    let encoded = query_payload(payload, capabilities);
    let start = query_text_at(&encoded, capabilities).expect("Weir's own query is readable");
    assert_eq!(&encoded[start..], payload);
});
