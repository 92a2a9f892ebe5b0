//! The specification's examples, and what it forbids.

use super::*;

fn v4(text: &str) -> SocketAddr {
    text.parse().expect("the test's addresses are right")
}

fn addresses() -> [(SocketAddr, SocketAddr); 2] {
    [(v4("192.0.2.7:51234"), v4("198.51.100.1:3306")), (v4("[2001:db8::1]:1"), v4("[2001:db8::2]:65535"))]
}

fn whole(encoded: &[u8], addresses: Option<(SocketAddr, SocketAddr)>) -> Decoded {
    super::header(encoded.len(), addresses)
}

#[test]
fn what_is_encoded_is_decoded_and_every_prefix_is_incomplete() {
    for (source, destination) in addresses() {
        for encoded in [encode_v1(source, destination), encode_v2(Some((source, destination)))] {
            let expected = whole(&encoded, Some((source, destination)));
            let with_more = [&encoded[..], b"\x01\x00\x00\x01more"].concat();
            assert_eq!(decode(&with_more), Ok(expected));
            for len in 0..encoded.len() {
                assert_eq!(decode(&encoded[..len]), Ok(Decoded::Incomplete), "{len}");
            }
        }
    }
}

#[test]
fn the_bytes_of_version_2_are_the_specifications() {
    let (source, destination) = addresses()[0];
    assert_eq!(
        encode_v2(Some((source, destination))),
        b"\r\n\r\n\0\r\nQUIT\n\x21\x11\x00\x0c\xc0\x00\x02\x07\xc6\x33\x64\x01\xc8\x22\x0c\xea"
    );
    assert_eq!(encode_v1(source, destination), b"PROXY TCP4 192.0.2.7 198.51.100.1 51234 3306\r\n");
}

#[test]
fn a_balancer_speaking_for_itself_has_no_addresses() {
    let local = encode_v2(None);
    assert_eq!(decode(&local), Ok(whole(&local, None)));
    for line in [&b"PROXY UNKNOWN\r\n"[..], b"PROXY UNKNOWN ffff:f...f:ffff ffff:f...f:ffff 65535 65535\r\n"] {
        assert_eq!(decode(line), Ok(whole(line, None)));
    }
    // LOCAL with a family, addresses and bytes that would be a broken extension: ignored.
    let mut local = V2_SIGNATURE.to_vec();
    local.extend_from_slice(&[0x20, 0x11, 0, 5, 1, 2, 3, 4, 5]);
    assert_eq!(decode(&local), Ok(whole(&local, None)));
}

#[test]
fn addresses_of_mixed_families_are_written_in_a_form_that_is_read() {
    let (source, destination) = (addresses()[0].0, addresses()[1].1);
    let line = encode_v1(source, destination);
    assert_eq!(decode(&line), Ok(whole(&line, None)));
    let block = encode_v2(Some((source, destination)));
    let mapped = v4("[::ffff:192.0.2.7]:51234");
    assert_eq!(decode(&block), Ok(whole(&block, Some((mapped, destination)))));
}

#[test]
fn what_is_no_header_is_left_alone() {
    for start in [&b"GET / HTTP/1.1\r\n"[..], b"\x4a\0\0\x01", b"PROXI", b"proxy TCP4", b"\r\n\r\nQ"] {
        assert_eq!(decode(start), Ok(Decoded::NotProxy));
    }
}

#[test]
fn broken_lines_are_refused() {
    for fields in [
        "TCP4 192.0.2.7 198.51.100.1 51234",
        "TCP4 192.0.2.7 198.51.100.1 51234 3306 1",
        "TCP4 192.0.2.7 198.51.100.1 51234 65536",
        "TCP4 192.0.2.7 198.51.100.1 051234 3306",
        "TCP4 192.0.2.7 198.51.100.1 +1 3306",
        "TCP4 192.0.2.7 198.51.100.1 -1 3306",
        "TCP4 192.0.2.7  198.51.100.1 1 3306",
        "TCP4 192.0.2.007 198.51.100.1 1 3306",
        "TCP4 2001:db8::1 2001:db8::2 1 3306",
        "TCP6 192.0.2.7 198.51.100.1 1 3306",
        "TCP5 192.0.2.7 198.51.100.1 1 3306",
        "TCP4",
        "",
        "UNKNOWNX",
    ] {
        let line = format!("PROXY {fields}\r\n");
        assert_eq!(decode(line.as_bytes()), Err(ProxyError::MalformedLine), "{line}");
    }
    assert_eq!(decode(b"PROXY TCP4 \xff\r\n"), Err(ProxyError::MalformedLine));
}

#[test]
fn a_line_ends_within_107_bytes() {
    let longest = [b"PROXY UNKNOWN ", &[b'x'; 91][..], b"\r\n"].concat();
    assert_eq!(longest.len(), LONGEST_V1);
    assert_eq!(decode(&longest), Ok(whole(&longest, None)));
    assert_eq!(decode(&longest[..LONGEST_V1 - 1]), Ok(Decoded::Incomplete));
    let longer = [b"PROXY UNKNOWN ", &[b'x'; 92][..], b"\r\n"].concat();
    assert_eq!(decode(&longer), Err(ProxyError::LineTooLong));
}

fn v2_block(version_command: u8, family: u8, body: &[u8]) -> Vec<u8> {
    let len = u16::try_from(body.len()).expect("test bodies are short");
    let mut block = V2_SIGNATURE.to_vec();
    block.extend_from_slice(&[version_command, family]);
    block.extend_from_slice(&len.to_be_bytes());
    block.extend_from_slice(body);
    block
}

#[test]
fn extensions_are_skipped_and_bounded() {
    let (source, destination) = addresses()[0];
    let fixed = encode_v2(Some((source, destination)));
    let with = |extensions: &[u8]| v2_block(0x21, 0x11, &[&fixed[V2_FIXED..], extensions].concat());

    let good = with(b"\x04\0\x03abc\x05\0\0");
    assert_eq!(decode(&good), Ok(whole(&good, Some((source, destination)))));
    for bad in [&b"\x04\0\x04abc"[..], b"\x04", b"\x04\0", b"\x04\xff\xff"] {
        assert_eq!(decode(&with(bad)), Err(ProxyError::MalformedExtension));
    }
    let full_size = LONGEST_HEADER - V2_FIXED - 12 - 3;
    let longest = with(&[&[4, 0x0f, 0xe1][..], &vec![0; full_size]].concat());
    assert_eq!(longest.len(), LONGEST_HEADER);
    assert_eq!(decode(&longest), Ok(whole(&longest, Some((source, destination)))));
    let longer = with(&[&[4, 0x0f, 0xe2][..], &vec![0; full_size + 1]].concat());
    assert_eq!(decode(&longer[..V2_FIXED]), Err(ProxyError::TooLong));
}

#[test]
fn version_2_families_have_room_for_their_addresses() {
    for (family, needed) in [(0x11, 12), (0x21, 36), (0x31, 216)] {
        let enough = v2_block(0x21, family, &vec![0; needed]);
        assert!(matches!(decode(&enough), Ok(Decoded::Header { len, .. }) if len == enough.len()));
        let short = v2_block(0x21, family, &vec![0; needed - 1]);
        assert_eq!(decode(&short), Err(ProxyError::TooShort));
    }
    let unspecified = v2_block(0x21, 0x00, b"anything");
    assert_eq!(decode(&unspecified), Ok(whole(&unspecified, None)));
    for (version_command, family) in [(0x11, 0x11), (0x22, 0x11), (0x21, 0x12), (0x21, 0x41)] {
        assert_eq!(decode(&v2_block(version_command, family, &[0; 216])), Err(ProxyError::Unsupported));
    }
}
