//! Values as literals of a statement's text.
//!
//! What must always hold: what a server reads from the literal is the value, with nothing lost: numbers keep their digits and their
//! kind (exact or approximate), strings their bytes and character set. A literal is safe in every `sql_mode` and client character
//! set: what is not plain ASCII is written in hexadecimal.

use weir_catalog::Constant;
use weir_sql::LexMode;
use weir_wire::charset::{has_ascii, is_well_formed};

/// Writes a constant as a literal.
pub fn literal(constant: &Constant) -> Vec<u8> {
    let mut out = Vec::new();
    put_literal(&mut out, constant);
    out
}

/// A parameter's value as a literal. A text of which it is not told how the server converts it has no collation, and is given in the client's own
/// bytes: servers convert literals as they do parameters.
pub fn parameter(value: &Constant, mode: LexMode) -> Vec<u8> {
    match value {
        Constant::Text { bytes, collation, .. } if collation.is_empty() => weir_sql::quoted(bytes, mode),
        value => literal(value),
    }
}

/// As [`literal`], to the end of a text.
pub fn put_literal(out: &mut Vec<u8>, constant: &Constant) {
    match constant {
        Constant::Null => out.extend_from_slice(b"NULL"),
        Constant::Integer(value) => put_number(out, &value.to_string()),
        Constant::Decimal(digits) => put_number(out, digits),
        Constant::Float(value) => put_number(out, &format!("{value:e}")),
        Constant::Text { bytes, collation, .. } => put_text(out, bytes, charset(collation)),
        Constant::Binary(bytes) => put_binary(out, bytes),
        Constant::Temporal(text) => put_temporal(out, text),
    }
}

/// A negative number in parentheses: what stands before it may be a minus.
fn put_number(out: &mut Vec<u8>, digits: &str) {
    if digits.starts_with('-') {
        out.push(b'(');
        out.extend_from_slice(digits.as_bytes());
        out.push(b')');
    } else {
        out.extend_from_slice(digits.as_bytes());
    }
}

/// Whether a text is written in quotes, as a literal of the connection's character set.
pub fn is_quoted(text: &[u8]) -> bool {
    text.iter().all(|byte| (b' '..=b'~').contains(byte) && !matches!(byte, b'\'' | b'\\'))
}

/// A string in a character set: in quotes if it is plain. Bytes that are no characters, as clients send them for a BLOB, are the same bytes without one:
/// servers take them as such, and refuse them behind an introducer (1300).
pub fn put_text(out: &mut Vec<u8>, bytes: &[u8], charset: &str) {
    // In these, ASCII bytes are not ASCII characters.
    if has_ascii(charset) && is_quoted(bytes) {
        out.push(b'\'');
        out.extend_from_slice(bytes);
        out.push(b'\'');
        return;
    }
    if !is_well_formed(bytes, charset) {
        return put_binary(out, bytes);
    }
    out.push(b'_');
    out.extend_from_slice(charset.as_bytes());
    out.push(b' ');
    put_hex(out, bytes);
}

/// A binary string. With the introducer it is a string also where a number is expected.
pub fn put_binary(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(b"_binary ");
    put_hex(out, bytes);
}

/// A string in a character set, whose bytes are given as hexadecimal digits.
pub fn put_text_hex(out: &mut Vec<u8>, digits: &[u8], charset: &str) {
    out.push(b'_');
    out.extend_from_slice(charset.as_bytes());
    put_digits(out, digits);
}

/// A binary string, whose bytes are given as hexadecimal digits.
pub fn put_binary_hex(out: &mut Vec<u8>, digits: &[u8]) {
    out.extend_from_slice(b"_binary");
    put_digits(out, digits);
}

fn put_digits(out: &mut Vec<u8>, digits: &[u8]) {
    out.extend_from_slice(b" x'");
    out.extend_from_slice(digits);
    out.push(b'\'');
}

/// The bits of a BIT value: a number where one is expected, bytes elsewhere.
pub fn put_bits(out: &mut Vec<u8>, bytes: &[u8]) {
    put_hex(out, bytes);
}

/// Bytes as `x'…'`.
pub fn put_hex(out: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.reserve(2 * bytes.len() + 3);
    out.extend_from_slice(b"x'");
    for byte in bytes {
        out.push(DIGITS[usize::from(byte >> 4)]);
        out.push(DIGITS[usize::from(byte & 15)]);
    }
    out.push(b'\'');
}

/// A date, a time, or both. Those with zeros in the date have no literal of their own on either server: they are strings.
fn put_temporal(out: &mut Vec<u8>, text: &str) {
    let date = text.as_bytes().get(4) == Some(&b'-');
    let zeros = date && (text.starts_with("0000") || text.get(5..7) == Some("00") || text.get(8..10) == Some("00"));
    let word = match (date, text.contains(' ')) {
        _ if zeros => "",
        (true, true) => "TIMESTAMP",
        (true, false) => "DATE",
        (false, _) => "TIME",
    };
    out.extend_from_slice(word.as_bytes());
    out.push(b'\'');
    out.extend_from_slice(text.as_bytes());
    out.push(b'\'');
}

/// The character set of a collation, by its name.
pub fn charset(collation: &str) -> &str {
    collation.split('_').next().unwrap_or(collation)
}

/// A name in backquotes.
pub fn quoted_name(name: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(name.len() + 2);
    put_name(&mut out, name);
    out
}

/// As [`quoted_name`], to the end of a text.
pub fn put_name(out: &mut Vec<u8>, name: &[u8]) {
    out.push(b'`');
    for byte in name {
        out.push(*byte);
        if *byte == b'`' {
            out.push(b'`');
        }
    }
    out.push(b'`');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8], collation: &str) -> Constant {
        Constant::Text { bytes: bytes.to_vec(), collation: collation.to_owned(), explicit: false }
    }

    #[test]
    fn every_kind_of_constant_has_an_exact_literal() {
        for (constant, expected) in [
            (Constant::Null, "NULL"),
            (Constant::Integer(5), "5"),
            (Constant::Integer(-5), "(-5)"),
            (Constant::Integer(i128::from(u64::MAX)), "18446744073709551615"),
            (Constant::Decimal("-12.340".into()), "(-12.340)"),
            (Constant::Float(0.1), "1e-1"),
            (Constant::Float(f64::MAX), "1.7976931348623157e308"),
            (text(b"abc", "latin1_swedish_ci"), "'abc'"),
            (text(b"", "latin1_swedish_ci"), "''"),
            (text(b"a'b\\", "utf8mb4_bin"), "_utf8mb4 x'6127625C'"),
            (text("\u{e4}".as_bytes(), "utf8mb4_0900_ai_ci"), "_utf8mb4 x'C3A4'"),
            (text(b"\0a", "utf16_general_ci"), "_utf16 x'0061'"),
            (Constant::Binary(b"\x00\xff".to_vec()), "_binary x'00FF'"),
            (Constant::Binary(Vec::new()), "_binary x''"),
            (Constant::Temporal("2020-02-03".into()), "DATE'2020-02-03'"),
            (Constant::Temporal("2020-02-03 04:05:06.7".into()), "TIMESTAMP'2020-02-03 04:05:06.7'"),
            (Constant::Temporal("-04:05:06".into()), "TIME'-04:05:06'"),
            (Constant::Temporal("0000-00-00".into()), "'0000-00-00'"),
            (Constant::Temporal("2020-00-00 00:00:00".into()), "'2020-00-00 00:00:00'"),
        ] {
            assert_eq!(String::from_utf8_lossy(&literal(&constant)), expected, "{constant:?}");
        }
    }

    #[test]
    fn names_keep_their_quotes() {
        let mut out = Vec::new();
        put_name(&mut out, b"a`b");
        assert_eq!(out, b"`a``b`");
    }
}
