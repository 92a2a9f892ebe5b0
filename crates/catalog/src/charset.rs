//! Characters of texts in the character sets that Weir reads.
//!
//! What must always hold: a text is decoded as the servers do it, or not at all.

use std::borrow::Cow;

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
