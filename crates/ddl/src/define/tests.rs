//! Small parts of definitions.

use super::tables::next_value;

#[test]
fn the_number_of_auto_increment_is_read_as_servers_read_it() {
    let cases = [
        (&b"19"[..], 19),
        (b"19.9", 19),
        (b"1e2", 1),
        (b".5", 0),
        (b"0x20", 32),
        (b"18446744073709551615", u64::MAX),
        (b"99999999999999999999", u64::MAX),
    ];
    for (number, expected) in cases {
        assert_eq!(next_value(number), expected, "{}", String::from_utf8_lossy(number));
    }
}
