//! Texts that have been seen before, but for the values of their literals: found again without being read token by token.
//!
//! What must hold: a text is taken for a known one only if both have the same tokens, but for the values of plain integers,
//! plain decimals and plain strings, and the same bytes between them; so they have one [`shape`](crate::shape) if they have any, and whatever follows
//! from a shape follows for both. That is decided by comparing bytes, never by a hash.
//!
//! Plain is a literal whose end does not depend on what it holds: at most 18 digits, with digits on both sides of a point if
//! there is one, or single quotes around anything but quotes and backslashes. All other parts of a text, odd literals and comments included, are compared as they are.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;

use crate::lexer::{Lexer, Token, TokenKind};
use crate::mode::LexMode;

/// Longer texts are not kept.
const LONGEST: usize = 2048;
/// More digits might be another kind of number.
const MOST_DIGITS: usize = 18;
/// Texts that begin alike and are kept.
const ALIKE: usize = 8;
/// Texts that are kept. When there are more, all are forgotten: those still in use come back at once.
const MOST: usize = 1024;

/// A text, and where its plain literals stand.
#[derive(Debug)]
pub(crate) struct Template {
    mode: LexMode,
    text: Box<[u8]>,
    literals: Box<[Plain]>,
}

#[derive(Debug, Clone, Copy)]
struct Plain {
    start: usize,
    end: usize,
    kind: PlainKind,
}

#[derive(Debug, Clone, Copy)]
enum PlainKind {
    Integer,
    Decimal,
    String,
}

impl PlainKind {
    /// The length of the plain literal of this kind that the text begins with.
    fn len(self, text: &[u8]) -> Option<usize> {
        match self {
            Self::Integer => plain_integer(text),
            Self::Decimal => plain_decimal(text),
            Self::String => plain_string(text),
        }
    }
}

impl Template {
    /// `None` for a text that is too long, or whose bytes are not all characters of their own.
    pub(crate) fn of(text: &[u8], mode: LexMode) -> Option<Template> {
        if text.len() > LONGEST || mode.lead_bytes.has_pairs() {
            return None;
        }
        let mut literals: Vec<Plain> = Vec::new();
        for token in Lexer::new(text, mode) {
            let after = literals.last().map_or(0, |literal| literal.end);
            literals.extend(Plain::of(text, token).filter(|literal| literal.start > after));
        }
        Some(Template { mode, text: text.into(), literals: literals.into() })
    }

    /// Where its plain literals stand.
    pub(crate) fn literals(&self) -> impl Iterator<Item = Range<usize>> {
        self.literals.iter().map(|literal| literal.start..literal.end)
    }

    /// Whether a text is like this one; `found` hears of each of its plain literals until it turns out that it is not.
    pub(crate) fn matches(&self, text: &[u8], mode: LexMode, mut found: impl FnMut(Range<usize>)) -> bool {
        let (mut rest, mut from) = (text, 0);
        for literal in &self.literals {
            let Some(after) = rest.strip_prefix(&self.text[from..literal.start]) else { return false };
            let Some(len) = literal.kind.len(after) else { return false };
            rest = &after[len..];
            from = literal.end;
            let end = text.len() - rest.len();
            found(end - len..end);
        }
        rest == &self.text[from..] && self.mode == mode
    }
}

impl Plain {
    fn of(text: &[u8], token: Token) -> Option<Plain> {
        let (start, end) = (token.start as usize, token.end as usize);
        let kind = match token.kind {
            TokenKind::Integer => PlainKind::Integer,
            TokenKind::Decimal => PlainKind::Decimal,
            TokenKind::String => PlainKind::String,
            _ => return None,
        };
        // With these around it, a literal of any length is a token of its own, and the same kind of token.
        let stands_alone =
            matches!(text[..start].last(), Some(b' ' | b'\n' | b'\t' | b'(' | b',' | b'=' | b'<' | b'>' | b'-' | b'+'))
                && matches!(
                    text.get(end),
                    None | Some(b' ' | b'\n' | b'\t' | b')' | b',' | b';' | b'<' | b'>' | b'=' | b'-' | b'+')
                );
        (stands_alone && kind.len(&text[start..]) == Some(end - start)).then_some(Plain { start, end, kind })
    }
}

/// The length of the plain integer that the text begins with.
fn plain_integer(text: &[u8]) -> Option<usize> {
    let digits = text.iter().take(MOST_DIGITS + 1).take_while(|byte| byte.is_ascii_digit()).count();
    (1..=MOST_DIGITS).contains(&digits).then_some(digits)
}

/// The length of the plain decimal that the text begins with: it is one in all modes, and never an integer.
fn plain_decimal(text: &[u8]) -> Option<usize> {
    let whole = plain_integer(text)?;
    let fraction = plain_integer(text[whole..].strip_prefix(b".")?)?;
    (whole + fraction <= MOST_DIGITS).then_some(whole + 1 + fraction)
}

/// The length of the plain string that the text begins with, its quotes included.
fn plain_string(text: &[u8]) -> Option<usize> {
    let inner = text.strip_prefix(b"'")?;
    let end = memchr::memchr2(b'\'', b'\\', inner)?;
    (inner[end] == b'\'').then_some(end + 2)
}

/// What was found out about texts, by their shape.
#[derive(Debug)]
pub struct KnownTexts<T> {
    texts: HashMap<u64, Vec<(Template, T)>, BuildHasherDefault<AsItIs>>,
    kept: usize,
}

impl<T> Default for KnownTexts<T> {
    fn default() -> Self {
        KnownTexts { texts: HashMap::default(), kept: 0 }
    }
}

impl<T> KnownTexts<T> {
    /// What is known of texts that differ from this one at most in the values of literals.
    pub fn get(&mut self, text: &[u8], mode: LexMode) -> Option<&T> {
        let alike = self.texts.get_mut(&beginning(text))?;
        let at = alike.iter().position(|(template, _)| template.matches(text, mode, |_| ()))?;
        Some(Self::used(alike, at))
    }

    /// The same, and where the literals stand that may differ.
    pub fn get_with(&mut self, text: &[u8], mode: LexMode, literals: &mut Vec<Range<usize>>) -> Option<&mut T> {
        let alike = self.texts.get_mut(&beginning(text))?;
        let at = alike.iter().position(|(template, _)| {
            literals.clear();
            template.matches(text, mode, |literal| literals.push(literal))
        })?;
        Some(Self::used(alike, at))
    }

    fn used(alike: &mut [(Template, T)], at: usize) -> &mut T {
        // Towards the front, where what comes often is found at once.
        let at = if at > 0 {
            alike.swap(at, at - 1);
            at - 1
        } else {
            at
        };
        &mut alike[at].1
    }

    /// All that is known, of whatever text.
    pub fn known_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.texts.values_mut().flatten().map(|(_, known)| known)
    }

    /// Forgets all texts.
    pub fn clear(&mut self) {
        self.texts.clear();
        self.kept = 0;
    }

    /// Keeps what was found out about a text, which must follow from its shape alone. Not every text is kept.
    pub fn keep(&mut self, text: &[u8], mode: LexMode, known: T) {
        let Some(template) = Template::of(text, mode) else { return };
        if self.kept >= MOST {
            self.texts.clear();
            self.kept = 0;
        }
        let alike = self.texts.entry(beginning(text)).or_default();
        if alike.len() >= ALIKE {
            alike.pop();
            self.kept -= 1;
        }
        alike.push((template, known));
        self.kept += 1;
    }
}

/// Bits of [`KINDS`].
const OF_NAMES: u8 = 1;
const DIGIT: u8 = 2;
const QUOTE: u8 = 4;

/// What each byte may be: every text that is looked for is read by this.
const KINDS: [u8; 256] = {
    let mut kinds = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        kinds[byte] = match byte as u8 {
            b'\'' => QUOTE,
            b'0'..=b'9' => DIGIT | OF_NAMES,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => OF_NAMES,
            _ => 0,
        };
        byte += 1;
    }
    kinds
};

/// A hash of the text up to its first literal: up to the first quote, and the first digit that does not end a name.
fn beginning(text: &[u8]) -> u64 {
    let mut before = 0;
    let literal = |byte: &u8| {
        let kind = KINDS[usize::from(*byte)];
        let begins = kind & QUOTE != 0 || kind & DIGIT != 0 && before & OF_NAMES == 0;
        before = kind;
        begins
    };
    let end = text.iter().position(literal).unwrap_or(text.len());
    let mix = |hash: u64, word: u64| (hash.rotate_left(5) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut words = text[..end].chunks_exact(8);
    let mut hash = end as u64;
    for word in &mut words {
        hash = mix(hash, u64::from_le_bytes(word.try_into().expect("a chunk has eight bytes")));
    }
    let tail = words.remainder().iter().fold(0, |tail, byte| tail << 8 | u64::from(*byte));
    let hash = mix(hash, tail);
    hash ^ hash >> 32
}

/// Keys that are hashes already. Texts of one beginning only share a short list, so that clients who make collisions make
/// their own texts slow to find, and nothing else.
#[derive(Debug, Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        debug_assert!(false, "keys are u64");
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

#[cfg(test)]
mod tests;
