//! Finding the command that some words give, or the best advice if they give none.

use weir_wire::Failure;
use weir_wire::error::codes;

use super::form::{self, Group, Part};
use super::tokens::Token;
use super::{ArgumentKind, Arguments, CATALOGUE, Spec};

/// How similar (0 to 1, Jaro-Winkler) a keyword must be to a word to be suggested.
const SIMILAR_ENOUGH: f64 = 0.75;

/// What was expected where no form went on.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Miss {
    /// The number of the word that did not fit; beyond the last one when something was missing.
    at: usize,
    /// The word, and where it begins.
    found: Option<(String, usize)>,
    /// What could have stood there.
    expected: Vec<String>,
}

/// The command whose form, one of those that `forms` gives, the words have.
pub(super) fn find(
    tokens: &[Token],
    forms: fn(&'static Spec) -> &'static [&'static str],
) -> Result<(&'static Spec, Arguments), Miss> {
    let mut miss = Miss::default();
    for spec in CATALOGUE {
        for form in forms(spec) {
            let mut reader = Reader { spec, tokens, at: 0, arguments: Arguments::default(), skipped: Vec::new() };
            match reader.read(&form::read(form)) {
                Ok(()) => return Ok((spec, reader.arguments)),
                Err(expected) => miss.note(reader.at, expected),
            }
        }
    }
    miss.found = tokens.get(miss.at).map(|token| (token.text.clone(), token.start));
    Err(miss)
}

struct Reader<'t> {
    spec: &'static Spec,
    tokens: &'t [Token],
    at: usize,
    arguments: Arguments,
    /// Optional keywords that could have stood here.
    skipped: Vec<String>,
}

impl Reader<'_> {
    /// Reads all groups and the end. The error is what could have stood at `at`.
    fn read(&mut self, groups: &[Group]) -> Result<(), Vec<String>> {
        for group in groups {
            if group.optional && !self.could_begin(&group.parts) {
                self.skipped.extend(group.parts.first().map(shown));
                continue;
            }
            for part in &group.parts {
                self.part(*part)?;
            }
        }
        if self.at == self.tokens.len() { Ok(()) } else { Err(std::mem::take(&mut self.skipped)) }
    }

    fn could_begin(&self, parts: &[Part]) -> bool {
        match (self.tokens.get(self.at), parts.first()) {
            (Some(token), Some(Part::Keyword(keyword))) => token.is(keyword),
            (Some(_), Some(Part::Argument(_) | Part::Words(_))) => true,
            _ => false,
        }
    }

    /// Whether a word can be the argument: numbers have digits only.
    fn suits(&self, name: &str, token: &Token) -> bool {
        let argument = self.spec.arguments.iter().find(|argument| argument.name == name);
        let is_integer = argument.is_some_and(|argument| argument.kind == ArgumentKind::Integer);
        !is_integer || (!token.text.is_empty() && token.text.bytes().all(|byte| byte.is_ascii_digit()))
    }

    fn part(&mut self, part: Part) -> Result<(), Vec<String>> {
        let Some(token) = self.tokens.get(self.at) else { return Err(self.expected(&part)) };
        match part {
            Part::Keyword(keyword) if !token.is(keyword) => return Err(self.expected(&part)),
            Part::Keyword(_) => {}
            Part::Argument(name) if !self.suits(name, token) => return Err(self.expected(&part)),
            Part::Argument(name) => self.arguments.set(name, token.text.clone()),
            Part::Words(name) => {
                let words: Vec<_> = self.tokens[self.at..].iter().map(|token| token.raw.as_str()).collect();
                self.arguments.set(name, words.join(" "));
                self.at = self.tokens.len();
                return Ok(());
            }
        }
        self.at += 1;
        self.skipped.clear();
        Ok(())
    }

    fn expected(&mut self, part: &Part) -> Vec<String> {
        let mut expected = std::mem::take(&mut self.skipped);
        expected.push(shown(part));
        expected
    }
}

fn shown(part: &Part) -> String {
    match part {
        Part::Keyword(keyword) => (*keyword).to_owned(),
        Part::Argument(name) | Part::Words(name) => format!("<{name}>"),
    }
}

impl Miss {
    /// Another form went on to word number `at`: the one that went furthest knows best.
    fn note(&mut self, at: usize, expected: Vec<String>) {
        if at > self.at {
            *self = Miss { at, ..Miss::default() };
        }
        if at == self.at {
            self.expected.extend(expected);
            self.expected.sort();
            self.expected.dedup();
        }
    }

    fn advice(&self) -> String {
        let mut text = match self.expected.split_last() {
            None => "nothing more was expected".to_owned(),
            Some((only, [])) => format!("expected {only}"),
            Some((last, others)) => format!("expected {} or {last}", others.join(", ")),
        };
        let wanted = self.found.as_ref().map(|(word, _)| word.to_ascii_uppercase()).unwrap_or_default();
        let keywords = self.expected.iter().filter(|word| !word.starts_with('<'));
        let similar = keywords
            .map(|keyword| (strsim::jaro_winkler(&wanted, keyword), keyword))
            .filter(|(similarity, _)| *similarity >= SIMILAR_ENOUGH)
            .max_by(|(a, _), (b, _)| a.total_cmp(b));
        if let Some((_, keyword)) = similar {
            text.push_str(&format!("; did you mean {keyword}?"));
        }
        text
    }

    /// In the format of MySQL's syntax errors.
    pub(super) fn in_sql(&self, text: &str) -> Failure {
        let near = self.found.as_ref().and_then(|(_, start)| text.get(*start..)).unwrap_or_default();
        let message = format!(
            "You have an error in your WEIR statement near '{}': {} (WEIR HELP lists the statements)",
            near.trim_end(),
            self.advice()
        );
        Failure::client(codes::ER_PARSE_ERROR, message)
    }

    /// For a command line.
    pub(super) fn in_words(&self) -> String {
        let word = self
            .found
            .as_ref()
            .map_or("the command is not complete".to_owned(), |(word, _)| format!("`{word}` is not a command here"));
        format!("{word}: {}", self.advice().to_ascii_lowercase())
    }
}
