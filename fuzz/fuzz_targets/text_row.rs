//! Text rows: what is read, written again, reads the same; a cell costs at least one byte.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_wire::codec::put_lenenc_bytes;
use weir_wire::resultset::parse_text_row;

fuzz_target!(|data: &[u8]| {
    let Ok(row) = parse_text_row(data) else {
        return;
    };
    assert!(row.len() <= data.len());
    let mut encoded = Vec::new();
    for cell in &row {
        match cell {
            Some(bytes) => put_lenenc_bytes(&mut encoded, bytes),
            None => encoded.push(0xfb),
        }
    }
    assert!(encoded.len() <= data.len());
    assert_eq!(parse_text_row(&encoded), Ok(row));
});
