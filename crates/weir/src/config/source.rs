//! From the text of a configuration file to the raw configuration, with a complaint for each key
//! that isn't understood.
//!
//! The parsed document is compared with the list of keys (`keys`) first, because a deserialiser
//! stops at its first error; what it can't read is reported and taken out, and the rest goes on.
//! Must always hold: a key that isn't in the list never gets past this module unreported, and what
//! the TOML parser says is used without its quotation of the source line.

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeArray, DeInteger, DeTable, DeValue};

use super::keys::{Key, KeyType, Section, sections};
use super::problem::{KeyPlace, Problem, Report};
use super::raw::RawConfig;
use super::units::{parse_duration, parse_size};

/// How similar (0 to 1, Jaro-Winkler) a known key must be to an unknown one to be suggested.
const SIMILAR_ENOUGH: f64 = 0.8;

/// Reads `text`, and reports what can't be read. None when nothing is left to go on with.
pub(crate) fn read(text: &str, report: &mut Report) -> Option<RawConfig> {
    let (mut document, syntax_errors) = DeTable::parse_recoverable(text);
    let lines = Lines::new(text);
    for error in &syntax_errors {
        let line = error.span().map(|span| lines.number(span.start));
        report.add_general(Problem::new("", line, syntax_message(error.message())));
    }
    if !syntax_errors.is_empty() {
        return None;
    }
    let mut reader = Reader { sections: sections(), lines, report };
    reader.prune_document(document.get_mut());
    match RawConfig::deserialize(toml::Deserializer::from(document)) {
        Ok(raw) => Some(raw),
        Err(error) => {
            // A key that `Reader` accepts but the raw types do not: kept as a safety net.
            if report.is_clean() {
                report.add_general(Problem::new("", None, syntax_message(error.message())));
            }
            None
        }
    }
}

/// The parser's message as one line.
fn syntax_message(message: &str) -> String {
    let parts: Vec<_> = message.lines().map(str::trim).collect();
    parts.join(", ")
}

/// Turns byte offsets into line numbers.
struct Lines {
    /// The offset of each line break.
    breaks: Vec<usize>,
}

impl Lines {
    fn new(text: &str) -> Self {
        Self { breaks: text.match_indices('\n').map(|(at, _)| at).collect() }
    }

    /// The number of the line, from 1, that has the byte at `offset`.
    fn number(&self, offset: usize) -> usize {
        self.breaks.partition_point(|at| *at < offset) + 1
    }
}

/// Takes out of a document what isn't in the list of keys, and reports it.
struct Reader<'r> {
    sections: Vec<Section>,
    lines: Lines,
    report: &'r mut Report,
}

impl Reader<'_> {
    fn prune_document(&mut self, document: &mut DeTable<'_>) {
        for (name, mut value) in std::mem::take(document) {
            let line = self.lines.number(name.span().start);
            let at = self.sections.iter().position(|s| s.name == **name.get_ref());
            let Some(at) = at else {
                self.report_unknown_section(name.get_ref(), value.get_ref(), line);
                continue;
            };
            // The list is small, and cloning a section keeps the borrows apart.
            let section = self.sections[at].clone();
            if self.prune_section(&section, &mut value, line) {
                document.insert(name, value);
            }
        }
    }

    fn report_unknown_section(&mut self, name: &str, value: &DeValue<'_>, line: usize) {
        let mut names = self.sections.iter().map(|section| section.name.as_str());
        let (subject, advice) = if value.is_table() || value.as_array().is_some_and(has_only_tables) {
            let advice = suggestion(name, names).unwrap_or_else(|| "no such section".to_owned());
            (format!("unknown section [{name}]"), advice)
        } else if names.any(|known| known == name) {
            (format!("`{name}`"), "this is a section".to_owned())
        } else {
            let advice = match self.section_of_key(name) {
                Some(header) => format!("it belongs in {header}"),
                None => "keys belong in a section, such as [listen]".to_owned(),
            };
            (format!("unknown key `{name}` outside a section"), advice)
        };
        let problem = Problem::new(subject, Some(line), advice);
        self.report.add_unreadable(name, problem);
    }

    /// The header of the first section that has a key of this name.
    fn section_of_key(&self, key: &str) -> Option<String> {
        let section = self.sections.iter().find(|section| section.key(key).is_some());
        section.map(Section::header)
    }

    /// Prunes the table or tables of a known section; false when it isn't even that.
    fn prune_section(&mut self, section: &Section, value: &mut Spanned<DeValue<'_>>, line: usize) -> bool {
        match value.get_mut() {
            DeValue::Table(table) if !section.repeated => {
                self.report.note_line(KeyPlace::section(&section.name), line);
                self.prune_table(section, KeyPlace::section(&section.name), table, line);
                true
            }
            DeValue::Array(array) if section.repeated && has_only_tables(array) => {
                for (number, mut element) in std::mem::replace(array, DeArray::new()).into_iter().enumerate() {
                    let line = self.lines.number(element.span().start);
                    let place = KeyPlace::entry(&section.name, number);
                    self.report.note_line(place, line);
                    if let DeValue::Table(table) = element.get_mut()
                        && self.prune_table(section, place, table, line)
                    {
                        array.push(element);
                    }
                }
                true
            }
            _ => {
                let how = if section.repeated { "once per entry" } else { "once" };
                let message = format!("this is a section: write {} {how}", section.header());
                let subject = format!("`{}`", section.name);
                self.report.add_unreadable(&section.name, Problem::new(subject, Some(line), message));
                false
            }
        }
    }

    /// Takes the keys out of `table` that can't be read; false when a required key is missing then.
    fn prune_table(
        &mut self,
        section: &Section,
        place: KeyPlace<'_>,
        table: &mut DeTable<'_>,
        section_line: usize,
    ) -> bool {
        let mut complete = true;
        for missing in section.keys.iter().filter(|key| key.required) {
            if !table.contains_key(missing.name.as_str()) {
                complete = false;
                let subject = place.key(&missing.name).to_string();
                let problem = Problem::new(subject, Some(section_line), "is missing");
                self.report.add_unreadable(&section.name, problem);
            }
        }
        for (name, value) in std::mem::take(table) {
            let line = self.lines.number(name.span().start);
            let problem = match section.key(name.get_ref()) {
                Some(key) => {
                    let place = place.key(&key.name);
                    self.report.note_line(place, line);
                    let Err(message) = check_value(&key.kind, value.get_ref()) else {
                        table.insert(name, value);
                        continue;
                    };
                    complete &= !key.required;
                    Problem::new(place.to_string(), Some(line), message)
                }
                None => {
                    let name = name.get_ref();
                    let subject = format!("unknown key {}", place.key(name));
                    Problem::new(subject, Some(line), self.advice_for_key(section, name))
                }
            };
            self.report.add_unreadable(&section.name, problem);
        }
        complete
    }

    /// What to do about a key that its section doesn't have.
    fn advice_for_key(&self, section: &Section, name: &str) -> String {
        let names = || section.keys.iter().map(|key: &Key| key.name.as_str());
        if let Some(advice) = suggestion(name, names()) {
            return advice;
        }
        match self.section_of_key(name) {
            Some(header) => format!("it belongs in {header}"),
            None => format!("its keys are {}", names().collect::<Vec<_>>().join(", ")),
        }
    }
}

/// True for the entries of a `[[section]]`, which may be none.
fn has_only_tables(array: &DeArray<'_>) -> bool {
    array.iter().all(|element| element.get_ref().is_table())
}

/// "did you mean …" for the candidate most similar to `name`, if one is similar at all.
pub(super) fn suggestion<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<String> {
    let wanted = name.to_lowercase().replace('-', "_");
    candidates
        .map(|candidate| (strsim::jaro_winkler(&wanted, candidate), candidate))
        .filter(|(similarity, _)| *similarity >= SIMILAR_ENOUGH)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| format!("did you mean `{candidate}`?"))
}

/// Checks that a value is of its key's kind; the error says what is wrong with it.
fn check_value(kind: &KeyType, value: &DeValue<'_>) -> Result<(), String> {
    let expected = |what: &str| Err(format!("expected {what}, found {}", found(value)));
    match (kind, value) {
        (KeyType::Text(_) | KeyType::Secret, DeValue::String(_)) => Ok(()),
        (KeyType::Boolean, DeValue::Boolean(_)) => Ok(()),
        (KeyType::Duration, DeValue::String(text)) => parse_duration(text).map(drop).map_err(|error| error.to_string()),
        (KeyType::Size, DeValue::String(text)) => parse_size(text).map(drop).map_err(|error| error.to_string()),
        (KeyType::Integer { min, max }, DeValue::Integer(number)) => check_integer(number, *min, *max),
        (KeyType::Choice(choices), DeValue::String(text)) => {
            let names = || choices.iter().map(|choice| choice.value.as_str());
            if names().any(|name| name == text) {
                return Ok(());
            }
            let advice = suggestion(text, names())
                .unwrap_or_else(|| format!("it is one of {}", names().collect::<Vec<_>>().join(", ")));
            Err(format!("`{text}` is unknown: {advice}"))
        }
        (KeyType::List(kind), DeValue::Array(array)) => {
            array.iter().try_for_each(|element| check_value(kind, element.get_ref()))
        }
        (KeyType::Text(_) | KeyType::Secret, _) => expected("a string"),
        (KeyType::Choice(_), _) => expected("a string"),
        (KeyType::Boolean, _) => expected("true or false"),
        (KeyType::Duration, _) => expected("a duration as a string, such as \"10s\""),
        (KeyType::Size, _) => expected("a size as a string, such as \"64MiB\""),
        (KeyType::Integer { .. }, _) => expected("a whole number"),
        (KeyType::List(_), _) => expected("an array, in [ and ]"),
    }
}

fn check_integer(number: &DeInteger<'_>, min: i64, max: Option<i64>) -> Result<(), String> {
    let in_range = i64::from_str_radix(number.as_str(), number.radix())
        .is_ok_and(|number| number >= min && max.is_none_or(|max| number <= max));
    match (in_range, max) {
        (true, _) => Ok(()),
        (false, Some(max)) => Err(format!("expected a whole number from {min} to {max}")),
        (false, None) => Err(format!("expected a whole number, at least {min}")),
    }
}

/// What sort of value this is, with its article. Never the value: it could be a password.
fn found(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}
