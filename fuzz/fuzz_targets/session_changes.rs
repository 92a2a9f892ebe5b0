//! The session state changes of an OK packet: those that are read can be put together again, and are no more than the
//! bytes allow.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_wire::packets::{SessionChange, SessionChanges, put_session_change};

fuzz_target!(|data: &[u8]| {
    let changes: Vec<SessionChange<'_>> = SessionChanges::new(data).map_while(Result::ok).collect();
    assert!(changes.len() <= data.len());
    let mut encoded = Vec::new();
    for change in &changes {
        put_session_change(&mut encoded, change);
    }
    let again: Result<Vec<_>, _> = SessionChanges::new(&encoded).collect();
    assert_eq!(again, Ok(changes));
});
