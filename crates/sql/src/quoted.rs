//! A string as a literal in the client's character set.
//!
//! What must always hold: the server reads exactly these bytes from it, and nothing of them as SQL, in the mode that is given.

use crate::LexMode;

/// The bytes in quotes.
pub fn quoted(bytes: &[u8], mode: LexMode) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() + 2);
    out.push(b'\'');
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let pair = bytes.get(at + 1).is_some_and(|trail| mode.lead_bytes.is_pair(byte, *trail));
        let special = byte == b'\'' || byte == b'\\' && !mode.no_backslash_escapes;
        if special {
            out.push(byte);
        }
        let next = at + if pair { 2 } else { 1 };
        out.extend_from_slice(&bytes[at..next]);
        at = next;
    }
    out.push(b'\'');
    out
}

#[cfg(test)]
mod tests {
    use super::quoted;
    use crate::{LeadBytes, LexMode, Lexer, TokenKind};

    #[test]
    fn a_literal_has_the_bytes_and_ends_where_they_end() {
        let mode =
            |lead_bytes, no_backslash_escapes| LexMode { lead_bytes, no_backslash_escapes, ..LexMode::default() };
        let cases: [(&[u8], LexMode, &[u8]); 7] = [
            (b"it's", mode(LeadBytes::None, false), b"'it''s'"),
            (b"a\\", mode(LeadBytes::None, false), b"'a\\\\'"),
            (b"a\\", mode(LeadBytes::None, true), b"'a\\'"),
            (b"\x95\\", mode(LeadBytes::Sjis, false), b"'\x95\\'"),
            (b"\x95\\\\", mode(LeadBytes::Sjis, false), b"'\x95\\\\\\'"),
            (b"\xbf'", mode(LeadBytes::Gbk, false), b"'\xbf'''"),
            (b"\xbf", mode(LeadBytes::Gbk, false), b"'\xbf'"),
        ];
        for (bytes, mode, literal) in cases {
            assert_eq!(quoted(bytes, mode), literal);
            let text = [literal, b" x"].concat();
            let mut lexer = Lexer::new(&text, mode);
            let token = lexer.next_token();
            assert_eq!((token.kind, token.range()), (TokenKind::String, 0..literal.len()), "{literal:?}");
        }
    }
}
