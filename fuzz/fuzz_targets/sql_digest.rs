//! Digests: white space before a text doesn't matter, and the text for display keeps to its bound.
//!
//! Input: mode, longest text for display, text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_fuzz::Input;
use weir_sql::{digest, digest_text};

fuzz_target!(|data: &[u8]| {
    let mut input = Input(data);
    let mode = input.lex_mode();
    let max_len = usize::from(input.byte());
    let sql = input.0;

    let shifted = [b"\n", sql].concat();
    assert_eq!(digest(sql, mode), digest(&shifted, mode));
    let shown = digest_text(sql, mode, max_len);
    assert!(shown.len() <= max_len.max(3), "{} bytes of {max_len}", shown.len());
    assert_eq!(digest_text(&shifted, mode, max_len), shown);
});
