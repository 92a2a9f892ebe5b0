//! What is known of a text doesn't depend on white space before it, and is no larger than the text.
//!
//! Input: mode, text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_fuzz::Input;
use weir_sql::{Class, TextKind, classify};

/// The same with its ranges one byte further on.
fn one_byte_on(mut class: Class) -> Class {
    match &mut class.kind {
        TextKind::SetUserVariables(variables) => {
            for variable in variables {
                variable.literal = variable.literal.start + 1..variable.literal.end + 1;
            }
        }
        TextKind::Weir(range) => *range = range.start + 1..range.end + 1,
        _ => {}
    }
    class
}

fuzz_target!(|data: &[u8]| {
    let mut input = Input(data);
    let mode = input.lex_mode();
    let sql = input.0;

    let class = classify(sql, mode);
    assert!(class.assigned.len() <= 4 * sql.len().max(1));
    let shifted = [b"\n", sql].concat();
    assert_eq!(classify(&shifted, mode), one_byte_on(class));
});
