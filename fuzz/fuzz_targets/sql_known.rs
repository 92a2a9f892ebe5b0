//! Known texts: a text that is taken for another has its shape, its class and its kinds of tokens.
//!
//! Input: mode, number of changes, for each its place and the byte that is put there, text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_fuzz::Input;
use weir_sql::{KnownTexts, Lexer, LexMode, TokenKind, classify, shape};

fn kinds(sql: &[u8], mode: LexMode) -> Vec<TokenKind> {
    Lexer::new(sql, mode).map(|token| token.kind).collect()
}

fuzz_target!(|data: &[u8]| {
    let mut input = Input(data);
    let mode = input.lex_mode();
    let changes: Vec<_> = (0..input.byte() % 8).map(|_| (usize::from(input.byte()), input.byte())).collect();
    let kept = input.0;
    let mut asked = kept.to_vec();
    for (place, byte) in changes {
        match asked.get_mut(place) {
            Some(old) if byte < 0x80 => *old = byte,
            _ => asked.insert(place.min(asked.len()), byte & 0x7f),
        }
    }

    let mut texts = KnownTexts::default();
    texts.keep(kept, mode, ());
    if texts.get(&asked, mode).is_some() {
        assert_eq!(kinds(&asked, mode), kinds(kept, mode));
        // What looks like a comment in a string is reason enough for a text to have no shape.
        if let (Some(asked), Some(kept)) = (shape(&asked, mode), shape(kept, mode)) {
            assert_eq!(asked, kept);
        }
        let (asked, kept) = (classify(&asked, mode), classify(kept, mode));
        assert_eq!((asked.effects, asked.pins, asked.releases), (kept.effects, kept.pins, kept.releases));
        assert_eq!(asked.assigned, kept.assigned);
        assert!(!kept.follows_from_shape() || asked.kind == kept.kind);
    }
});
