//! PROXY headers: a header is found as soon as it is whole and not before, and its addresses survive both encodings.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_wire::proxy_protocol::{Decoded, LONGEST_HEADER, decode, encode_v1, encode_v2};

fuzz_target!(|data: &[u8]| {
    match decode(data) {
        Ok(Decoded::Header { len, source, destination }) => {
            assert!(len <= data.len() && len <= LONGEST_HEADER);
            assert_eq!(decode(&data[..len]), decode(data), "what follows matters");
            for prefix in 0..len {
                assert_eq!(decode(&data[..prefix]), Ok(Decoded::Incomplete));
            }
            let (Some(source), Some(destination)) = (source, destination) else {
                assert_eq!(source, destination, "one address without the other");
                return;
            };
            for encoded in [encode_v1(source, destination), encode_v2(Some((source, destination)))] {
                let expected =
                    Decoded::Header { len: encoded.len(), source: Some(source), destination: Some(destination) };
                assert_eq!(decode(&encoded), Ok(expected));
            }
        }
        Ok(Decoded::Incomplete) => assert!(data.len() < LONGEST_HEADER, "waits for ever"),
        Ok(Decoded::NotProxy) | Err(_) => {}
    }
});
