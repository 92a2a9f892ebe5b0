//! Characters of texts in the character sets that Weir reads.
//!
//! What must always hold: a text is decoded as the servers do it, or not at all.

use std::borrow::Cow;
use weir_wire::charset::has_ascii;

/// A character set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Charset {
    /// utf8mb4.
    Utf8mb4,
    /// utf8mb3, utf8: no characters beyond U+FFFF.
    Utf8mb3,
    /// latin1, which is Windows' code page 1252.
    Latin1,
    /// ascii.
    Ascii,
    /// binary.
    Binary,
}

/// The characters of 0x80 to 0x9F in latin1; the holes of the code page stand for themselves.
const HIGH: [u16; 32] = [
    0x20AC, 0x81, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8D, 0x017D,
    0x8F, 0x90, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D,
    0x017E, 0x0178,
];

impl Charset {
    /// The character set of a collation, if it is one of these.
    pub fn of_collation(collation: &str) -> Option<Charset> {
        match collation.split('_').next()? {
            "utf8mb4" => Some(Charset::Utf8mb4),
            "utf8mb3" | "utf8" => Some(Charset::Utf8mb3),
            "latin1" => Some(Charset::Latin1),
            "ascii" => Some(Charset::Ascii),
            "binary" if collation == "binary" => Some(Charset::Binary),
            _ => None,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Charset::Utf8mb4 => "utf8mb4",
            Charset::Utf8mb3 => "utf8mb3",
            Charset::Latin1 => "latin1",
            Charset::Ascii => "ascii",
            Charset::Binary => "binary",
        }
    }

    /// The characters of these bytes. `None`: they are not of this character set, or it has none.
    pub(crate) fn decode(self, bytes: &[u8]) -> Option<Cow<'_, str>> {
        let text = match self {
            Charset::Binary => return None,
            Charset::Latin1 if !bytes.is_ascii() => return Some(bytes.iter().map(|byte| latin1(*byte)).collect()),
            _ => std::str::from_utf8(bytes).ok()?,
        };
        self.can_hold(text).then_some(Cow::Borrowed(text))
    }

    /// All of these characters are in it.
    pub(crate) fn can_hold(self, text: &str) -> bool {
        match self {
            Charset::Utf8mb4 => true,
            Charset::Utf8mb3 => text.chars().all(|char| u32::from(char) <= 0xFFFF),
            Charset::Latin1 => text.is_ascii() || text.chars().all(in_latin1),
            Charset::Ascii => text.is_ascii(),
            Charset::Binary => false,
        }
    }
}

/// The bytes of a client's text in the character set (or that of the collation) to which its server converts literals and parameters.
/// `None`: how is not known here, or a character is not in it.
pub fn converted(bytes: &[u8], from: &str, to: &str) -> Option<Vec<u8>> {
    let text = match Charset::of_collation(from).filter(|from| *from != Charset::Binary) {
        Some(from) => from.decode(bytes)?,
        None if bytes.is_ascii() && has_ascii(from) => Cow::Borrowed(std::str::from_utf8(bytes).ok()?),
        None => return None,
    };
    let units = |bytes_of: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(bytes_of).collect();
    match to.split('_').next()? {
        "ucs2" if text.chars().any(|char| u32::from(char) > 0xFFFF) => None,
        "ucs2" | "utf16" => Some(units(u16::to_be_bytes)),
        "utf16le" => Some(units(u16::to_le_bytes)),
        "utf32" => Some(text.chars().flat_map(|char| u32::from(char).to_be_bytes()).collect()),
        _ => match Charset::of_collation(to)? {
            Charset::Binary => None,
            Charset::Latin1 if !text.is_ascii() => text.chars().map(to_latin1).collect(),
            to => to.can_hold(&text).then(|| text.into_owned().into_bytes()),
        },
    }
}

/// The characters of bytes in a wide character set.
pub(crate) fn narrowed(bytes: &[u8], collation: &str) -> Option<String> {
    let units = |unit: fn([u8; 2]) -> u16| {
        let pairs = bytes.chunks(2).map(|pair| pair.try_into().ok().map(unit)).collect::<Option<Vec<u16>>>()?;
        String::from_utf16(&pairs).ok()
    };
    match collation.split('_').next()? {
        "ucs2" | "utf16" => units(u16::from_be_bytes),
        "utf16le" => units(u16::from_le_bytes),
        "utf32" => {
            let char = |four: &[u8]| char::from_u32(u32::from_be_bytes(four.try_into().ok()?));
            bytes.chunks(4).map(char).collect()
        }
        _ => None,
    }
}

fn to_latin1(char: char) -> Option<u8> {
    match u32::from(char) {
        code @ (0..=0x7F | 0xA0..=0xFF) => u8::try_from(code).ok(),
        code => HIGH.iter().position(|high| u32::from(*high) == code).and_then(|at| u8::try_from(0x80 + at).ok()),
    }
}

fn latin1(byte: u8) -> char {
    match byte {
        0x80..=0x9F => char::from_u32(u32::from(HIGH[usize::from(byte - 0x80)])).unwrap_or('\u{FFFD}'),
        _ => char::from(byte),
    }
}

fn in_latin1(char: char) -> bool {
    match u32::from(char) {
        0..=0x7F | 0xA0..=0xFF => true,
        other => HIGH.iter().any(|high| u32::from(*high) == other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_converted_as_servers_do() {
        let convert = |text: &str, to| converted(text.as_bytes(), "utf8mb4", to);
        assert_eq!(convert("aÄ", "utf16_general_ci"), Some(vec![0, 0x61, 0, 0xC4]));
        assert_eq!(convert("a", "utf16le_general_ci"), Some(vec![0x61, 0]));
        assert_eq!(convert("😀", "utf16_bin"), Some(vec![0xD8, 0x3D, 0xDE, 0x00]));
        assert_eq!(convert("😀", "ucs2_bin"), None);
        assert_eq!(convert("😀", "utf32_bin"), Some(vec![0, 1, 0xF6, 0]));
        assert_eq!(convert("Ä€", "latin1_bin"), Some(vec![0xC4, 0x80]));
        assert_eq!(convert("日", "latin1_bin"), None);
        assert_eq!(converted(b"\xc4", "latin1", "utf8mb4_bin"), Some("Ä".into()));
        assert_eq!(converted(b"\x81\x40", "sjis", "utf16_bin"), None);
        assert_eq!(converted(b"[", "swe7", "utf8mb4_bin"), None);
        for to in ["utf16_bin", "utf16le_bin", "utf32_bin"] {
            assert_eq!(narrowed(&convert("aÄ😀", to).unwrap_or_default(), to).as_deref(), Some("aÄ😀"), "{to}");
        }
        assert_eq!(narrowed(&[0x61], "utf16_bin"), None);
    }
}
