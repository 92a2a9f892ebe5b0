//! State functions: once replaced there is nothing left to replace, and with nothing to put in nothing changes.
//!
//! Input: mode, which values are known, text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_fuzz::Input;
use weir_sql::{StateValues, replace_state_functions};

fuzz_target!(|data: &[u8]| {
    let mut input = Input(data);
    let mode = input.lex_mode();
    let known = input.byte();
    let sql = input.0;

    assert_eq!(replace_state_functions(sql, mode, &StateValues::default()), None);
    let values = StateValues {
        connection_id: (known & 1 != 0).then_some(u64::MAX),
        pseudo_thread_id: (known & 8 != 0).then_some(7),
        row_count: (known & 2 != 0).then_some(-1),
        found_rows: (known & 4 != 0).then_some(42),
        socket: (known & 16 != 0).then_some("/run/weir's.sock"),
    };
    if let Some(replaced) = replace_state_functions(sql, mode, &values) {
        // What is replaced has at least 8 bytes; its value, and the alias that names its column, are bounded.
        assert!(replaced.len() <= sql.len() * 64, "{} bytes from {}", replaced.len(), sql.len());
        // The call stays within its replacement: the new text is a text like others, and grows by as much again.
        let again = replace_state_functions(&replaced, mode, &values);
        assert!(again.is_none_or(|again| again.len() > replaced.len()), "{replaced:?}");
    }
});
