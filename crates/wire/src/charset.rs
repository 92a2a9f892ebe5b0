//! What the bytes of a text are by its character set, as far as the protocol's two sides have to agree on it.
//!
//! What must always hold: names are as servers write them, in lower case.

/// Whether a character set, or that of a collation, has two or four bytes for a character of ASCII.
pub fn is_wide(name: &str) -> bool {
    matches!(name.split('_').next(), Some("ucs2" | "utf16" | "utf16le" | "utf32"))
}
