//! For tests: texts cut from pieces that mean something to the classifier.

use crate::lexer::tests::Random;
use crate::{Effects, LexMode, Pins, classify};

const PIECES: &[&str] = &[
    "SELECT",
    "INSERT INTO",
    "SET",
    "c",
    "t",
    "FROM",
    "WHERE",
    "=",
    "(",
    ")",
    ",",
    ";",
    "FOR UPDATE",
    "INTO",
    "@v",
    "@@warning_count",
    "get_lock",
    "found_rows",
    "last_insert_id",
    "substr",
    "'x'",
    "'y z'",
    "1",
    "22",
    "0x1f",
    "1.5",
    "NULL",
    "AS",
    "UNION",
    "LIMIT",
    "SQL_CALC_FOUND_ROWS",
    "nextval",
    ".",
    "`q`",
    "sleep",
    "BEGIN",
    "KILL",
    "?",
    "-",
];

/// Endless, and the same in every run.
pub(crate) struct RandomTexts(Random);

impl RandomTexts {
    pub(crate) fn new() -> RandomTexts {
        RandomTexts(Random::new(7))
    }
}

impl Iterator for RandomTexts {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        let mut text = String::from("SELECT");
        for _ in 0..1 + self.0.below(4) {
            text.push_str([" ", "", "  "][self.0.below(3)]);
            text.push_str(PIECES[self.0.below(PIECES.len())]);
        }
        Some(text)
    }
}

/// What a session asks of a class.
pub(crate) fn what_counts(text: &str) -> (Effects, Pins, bool) {
    let class = classify(text.as_bytes(), LexMode::default());
    (class.effects, class.pins, class.is_plain_read())
}
