//! Which collations a shard key may have, and how Weir asks a server for their weights.
//!
//! What must always hold: a collation passes only if the weights of a text are those of its characters in sequence, on the server that was
//! asked. For single-byte character sets all pairs are tried. Unicode collations are allowed by name, because no sample of pairs proves that
//! there are no contractions; the sample, which has all contractions of the default table, then shows that this server's collation has none.
//! This module writes the queries and reads their rows; its callers send them.

use std::collections::HashMap;

use weir_wire::Failure;
use weir_wire::error::codes;

use crate::charset::Charset;
use crate::weights::{CollationWeights, is_built_in};

/// The most characters that one query asks for.
pub const MOST_CHARS: usize = 500;

/// Families of Unicode's collations whose weights concatenate, if the server's answers don't say otherwise.
const FAMILIES: [&str; 11] = [
    "general_ci",
    "general_nopad_ci",
    "general_mysql500_ci",
    "unicode_ci",
    "unicode_nopad_ci",
    "unicode_520_ci",
    "unicode_520_nopad_ci",
    "0900_ai_ci",
    "uca1400_ai_ci",
    "uca1400_nopad_ai_ci",
    "uca1400_ai_nopad_ci",
];

/// What has to be known of a collation before a shard key may have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exactness {
    /// It compares code points: nothing.
    Known,
    /// That [`check_query`] finds nothing wrong.
    ToCheck,
    /// It can't be a shard key's.
    Never,
}

/// What has to be known of this collation.
pub fn exactness(collation: &str) -> Exactness {
    let Some(charset) = Charset::of_collation(collation) else {
        return Exactness::Never;
    };
    let family = collation.split_once('_').map_or("", |(_, family)| family);
    match charset {
        Charset::Binary => Exactness::Known,
        _ if is_built_in(collation) => Exactness::Known,
        Charset::Latin1 | Charset::Ascii => Exactness::ToCheck,
        Charset::Utf8mb4 | Charset::Utf8mb3 if FAMILIES.contains(&family) => Exactness::ToCheck,
        Charset::Utf8mb4 | Charset::Utf8mb3 => Exactness::Never,
    }
}

/// A query whose one value is the number of pairs of characters whose weight is not that of the first and that of the second in a row: if it
/// is 0, the collation is exact. `None` for collations that need no check, or are never exact.
pub fn check_query(collation: &str) -> Option<String> {
    if exactness(collation) != Exactness::ToCheck {
        return None;
    }
    let parts = match Charset::of_collation(collation)? {
        charset @ (Charset::Latin1 | Charset::Ascii) => {
            let last = if charset == Charset::Ascii { 127 } else { 255 };
            let bytes =
                (0..=last).map(|byte| format!("SELECT _{} x'{byte:02X}' COLLATE {collation} s", charset.name()));
            bytes.collect::<Vec<_>>().join(" UNION ALL ")
        }
        charset => {
            let chars = sample().filter(|char| charset.can_hold(char.encode_utf8(&mut [0; 4])));
            chars.map(|char| format!("SELECT {} s", text_of(char, collation))).collect::<Vec<_>>().join(" UNION ALL ")
        }
    };
    Some(format!(
        "SELECT COUNT(*) FROM ({parts}) a, ({parts}) b WHERE NOT (HEX(WEIGHT_STRING(CONCAT(a.s, b.s))) <=> \
         CONCAT(HEX(WEIGHT_STRING(a.s)), HEX(WEIGHT_STRING(b.s))))"
    ))
}

/// A query for the weights of these characters (at most [`MOST_CHARS`]), and for what else has to be known. One row.
pub fn learn_query(collation: &str, chars: &[char]) -> String {
    let a = text_of('a', collation);
    let padded = format!("CONCAT({a}, {})", text_of(' ', collation));
    let mut query = format!("SELECT {a} = {padded}, HEX(WEIGHT_STRING({}))", text_of(' ', collation));
    for char in chars.iter().take(MOST_CHARS) {
        query.push_str(&format!(", HEX(WEIGHT_STRING({}))", text_of(*char, collation)));
    }
    query
}

/// Reads the row of [`learn_query`] for the same characters. `None`: that is not its row.
pub fn learnt(chars: &[char], row: &[Option<Vec<u8>>]) -> Option<CollationWeights> {
    let [pad, space, weights @ ..] = row else {
        return None;
    };
    let chars = &chars[..chars.len().min(MOST_CHARS)];
    if weights.len() != chars.len() {
        return None;
    }
    let of =
        chars.iter().zip(weights).map(|(char, weight)| Some((*char, unhex(weight.as_deref()?)?.into_boxed_slice())));
    Some(CollationWeights {
        pad: pad.as_deref() == Some(b"1"),
        space: unhex(space.as_deref()?)?,
        of: of.collect::<Option<HashMap<_, _>>>()?,
    })
}

/// The refusal of a collation of a shard key's column.
pub fn refusal(column: &str, collation: &str) -> Failure {
    let instead = match Charset::of_collation(collation) {
        None | Some(Charset::Binary) => "utf8mb4_bin or utf8mb4_general_ci".to_owned(),
        Some(charset) => format!("{0}_bin or {0}_general_ci", charset.name()),
    };
    let message = format!(
        "Column '{column}' can't be in a shard key with collation {collation}: texts that it calls equal can't be told from their \
         characters alone; use {instead}"
    );
    Failure::client(codes::ER_NOT_SUPPORTED_YET, message)
}

fn text_of(char: char, collation: &str) -> String {
    let charset = Charset::of_collation(collation).map_or("utf8mb4", Charset::name);
    let hex: String = char.encode_utf8(&mut [0; 4]).bytes().map(|byte| format!("{byte:02X}")).collect();
    match charset {
        "utf8mb4" => format!("_utf8mb4 x'{hex}' COLLATE {collation}"),
        _ => format!("CONVERT(_utf8mb4 x'{hex}' USING {charset}) COLLATE {collation}"),
    }
}

fn unhex(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let (pairs, []) = text.as_chunks::<2>() else {
        return None;
    };
    pairs.iter().map(|[high, low]| Some((digit(*high)? * 16 + digit(*low)?) as u8)).collect()
}

/// Characters that contract somewhere: letters, marks, and what Unicode's default table contracts in Cyrillic, Arabic, and the scripts of India
/// and its neighbours.
const SAMPLE: &[(u32, u32)] = &[
    (0x20, 0x7E),
    (0xB7, 0xB7),
    (0xDF, 0xE6),
    (0x131, 0x131),
    (0x17E, 0x17E),
    (0x300, 0x308),
    (0x30B, 0x30C),
    (0x31B, 0x31B),
    (0x327, 0x328),
    (0x410, 0x418),
    (0x430, 0x438),
    (0x456, 0x456),
    (0x474, 0x475),
    (0x622, 0x627),
    (0x648, 0x64A),
    (0x653, 0x655),
    (0x9BE, 0x9BE),
    (0x9C7, 0x9C7),
    (0x9D7, 0x9D7),
    (0xB3E, 0xB3E),
    (0xB47, 0xB47),
    (0xB92, 0xB92),
    (0xBBE, 0xBBE),
    (0xBC6, 0xBC7),
    (0xBD7, 0xBD7),
    (0xC46, 0xC46),
    (0xC56, 0xC56),
    (0xCBF, 0xCC6),
    (0xCD5, 0xCD6),
    (0xD3E, 0xD3E),
    (0xD46, 0xD46),
    (0xD57, 0xD57),
    (0xDCA, 0xDCF),
    (0xDD9, 0xDDF),
    (0xE01, 0xE04),
    (0xE40, 0xE44),
    (0xE81, 0xE84),
    (0xEC0, 0xEC4),
    (0xF71, 0xF74),
    (0xF80, 0xF81),
    (0xFB2, 0xFB3),
    (0x1025, 0x1025),
    (0x102E, 0x102E),
    (0x1100, 0x1102),
    (0x1161, 0x1163),
    (0x11A8, 0x11A9),
    (0x1980, 0x1981),
    (0x19B5, 0x19B7),
    (0x1B05, 0x1B05),
    (0x1B35, 0x1B35),
    (0x200D, 0x200D),
    (0x3042, 0x3044),
    (0x3099, 0x309A),
    (0x30FC, 0x30FC),
    (0x4E00, 0x4E00),
    (0xAA80, 0xAA81),
    (0xAAB5, 0xAAB6),
    (0xAC00, 0xAC01),
    (0xFF9E, 0xFF9E),
    (0x11099, 0x110BA),
    (0x1F600, 0x1F600),
];

fn sample() -> impl Iterator<Item = char> {
    SAMPLE.iter().flat_map(|(first, last)| *first..=*last).filter_map(char::from_u32)
}
