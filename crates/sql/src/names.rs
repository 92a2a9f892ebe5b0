//! Names that mean something by themselves.

use crate::lexer::{Lexer, TokenKind};
use crate::mode::LexMode;

/// Whether a database is one that each server has for itself.
pub fn is_servers_schema(name: &[u8]) -> bool {
    const OWN: [&str; 4] = ["information_schema", "performance_schema", "mysql", "sys"];
    OWN.iter().any(|own| name.eq_ignore_ascii_case(own.as_bytes()))
}

/// The names of a text's user variables, in lower case. Left out are those whose comparison with others is not that of ASCII.
pub fn user_variables(text: &[u8], mode: LexMode) -> impl Iterator<Item = String> {
    let variables = Lexer::new(text, mode).filter(|token| token.kind == TokenKind::UserVariable);
    variables.filter_map(|token| plain_name(token.text(text)).map(String::from))
}

/// A user variable's name, given with its sign, if its comparison with other names is that of ASCII.
pub(crate) fn plain_name(with_sign: &[u8]) -> Option<Box<str>> {
    let name = match with_sign.get(1..)? {
        [b'\'' | b'"' | b'`', name @ .., _] => name,
        name => name,
    };
    let plain = |byte: &u8| byte.is_ascii_graphic() && !matches!(byte, b'\'' | b'"' | b'`' | b'\\');
    if name.is_empty() || !name.iter().all(plain) {
        return None;
    }
    Some(std::str::from_utf8(name).ok()?.to_ascii_lowercase().into())
}
