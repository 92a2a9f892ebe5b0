//! What the bytes of a text are by its character set, as far as the protocol's two sides have to agree on it.
//!
//! What must always hold: names are as servers write them, in lower case.

/// Whether a character set, or that of a collation, has two or four bytes for a character of ASCII.
pub fn is_wide(name: &str) -> bool {
    matches!(name.split('_').next(), Some("ucs2" | "utf16" | "utf16le" | "utf32"))
}

/// Whether bytes of ASCII are the characters of ASCII in a character set, or that of a collation. In swe7, `[` is a letter.
pub fn has_ascii(name: &str) -> bool {
    !is_wide(name) && name.split('_').next() != Some("swe7")
}

/// Whether bytes are characters of a character set, as far as its form says: servers refuse others behind an introducer.
pub fn is_well_formed(bytes: &[u8], charset: &str) -> bool {
    let tail = |byte: u8| (0xA1..0xFF).contains(&byte);
    match charset {
        "utf8mb4" => std::str::from_utf8(bytes).is_ok(),
        "utf8mb3" | "utf8" => std::str::from_utf8(bytes).is_ok_and(|text| text.chars().all(|char| char <= '\u{FFFF}')),
        "ascii" => bytes.is_ascii(),
        "ucs2" => bytes.len().is_multiple_of(2),
        "utf16" => is_utf16(bytes, u16::from_be_bytes),
        "utf16le" => is_utf16(bytes, u16::from_le_bytes),
        "utf32" => is_utf32(bytes),
        "big5" => has_form(bytes, |at| match at {
            [0xA1..=0xF9, 0x40..=0x7E | 0xA1..=0xFE, ..] => 2,
            _ => 0,
        }),
        "gbk" => has_form(bytes, |at| match at {
            [0x81..=0xFE, 0x40..=0x7E | 0x80..=0xFE, ..] => 2,
            _ => 0,
        }),
        "gb18030" => has_form(bytes, |at| match at {
            [0x81..=0xFE, 0x40..=0x7E | 0x80..=0xFE, ..] => 2,
            [0x81..=0xFE, 0x30..=0x39, 0x81..=0xFE, 0x30..=0x39, ..] => 4,
            _ => 0,
        }),
        "sjis" | "cp932" => has_form(bytes, |at| match at {
            [0x81..=0x9F | 0xE0..=0xFC, 0x40..=0x7E | 0x80..=0xFC, ..] => 2,
            [0xA1..=0xDF, ..] => 1,
            _ => 0,
        }),
        "euckr" => has_form(bytes, |at| match at {
            [0x81..=0xFE, 0x41..=0x5A | 0x61..=0x7A | 0x81..=0xFE, ..] => 2,
            _ => 0,
        }),
        "gb2312" => has_form(bytes, |at| match at {
            [0xA1..=0xF7, second, ..] if tail(*second) => 2,
            _ => 0,
        }),
        "ujis" | "eucjpms" => has_form(bytes, |at| match at {
            [0x8E, 0xA1..=0xDF, ..] => 2,
            [0x8F, second, third, ..] if tail(*second) && tail(*third) => 3,
            [0xA1..=0xFE, second, ..] if tail(*second) => 2,
            _ => 0,
        }),
        // A character for each byte.
        _ => true,
    }
}

/// `length`: of the character above ASCII that begins here, or 0.
fn has_form(bytes: &[u8], length: impl Fn(&[u8]) -> usize) -> bool {
    let mut rest = bytes;
    while let Some(byte) = rest.first() {
        match if byte.is_ascii() { 1 } else { length(rest) } {
            0 => return false,
            length => rest = &rest[length..],
        }
    }
    true
}

fn is_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> bool {
    let (pairs, rest) = bytes.as_chunks();
    rest.is_empty() && char::decode_utf16(pairs.iter().map(|pair| unit(*pair))).all(|char| char.is_ok())
}

fn is_utf32(bytes: &[u8]) -> bool {
    let (fours, rest) = bytes.as_chunks();
    rest.is_empty() && fours.iter().all(|four| char::from_u32(u32::from_be_bytes(*four)).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_characters_are_told() {
        let good: [(&[u8], &str); 11] = [
            ("aé表😀".as_bytes(), "utf8mb4"),
            ("aé表".as_bytes(), "utf8mb3"),
            (b"\xff\x80", "latin1"),
            (b"\x95\\\xb1", "sjis"),
            (b"\xbf\\", "gbk"),
            (b"\x81\x30\x81\x30\xbf\\", "gb18030"),
            (b"\x81a", "euckr"),
            (b"\x8f\xb0\xa1\x8e\xb1\xc9\xbd", "ujis"),
            (b"\xd8\x3d\xde\x00", "utf16"),
            (b"\0a", "ucs2"),
            (b"\0\x01\xf6\0", "utf32"),
        ];
        for (bytes, charset) in good {
            assert!(is_well_formed(bytes, charset), "{charset}");
        }
        let bad: [(&[u8], &str); 11] = [
            (b"a\xff", "utf8mb4"),
            ("😀".as_bytes(), "utf8mb3"),
            (b"\x80", "ascii"),
            (b"\x95'", "sjis"),
            (b"\xbf", "gbk"),
            (b"\x81\x30\x81", "gb18030"),
            (b"\x81\\", "euckr"),
            (b"\x8f\xb0", "ujis"),
            (b"\xd8\x3d", "utf16"),
            (b"\0", "ucs2"),
            (b"\0\x11\0\0", "utf32"),
        ];
        for (bytes, charset) in bad {
            assert!(!is_well_formed(bytes, charset), "{charset}");
        }
    }

    #[test]
    fn bytes_of_ascii_are_letters_in_swe7_and_halves_in_wide_sets() {
        for name in ["utf8mb4", "latin1_bin", "sjis", "gb18030_chinese_ci", "binary"] {
            assert!(has_ascii(name), "{name}");
        }
        for name in ["swe7", "swe7_swedish_ci", "utf16", "utf32_bin"] {
            assert!(!has_ascii(name), "{name}");
        }
    }
}
