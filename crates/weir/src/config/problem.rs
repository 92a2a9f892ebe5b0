//! What is wrong with a configuration file: all of it, each with its line.
//!
//! Must always hold: a problem never quotes the value of a password, nor a whole line of the file,
//! which could hold one.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a configuration can't be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    /// The file can't be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The configuration file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file was read, and some of it is wrong.
    #[error("{}", lines(path, problems))]
    Invalid {
        /// The configuration file.
        path: PathBuf,
        /// What is wrong, in the order of the file's lines.
        problems: Vec<Problem>,
    },
}

/// One line per problem, each beginning with the file's name.
fn lines(path: &std::path::Path, problems: &[Problem]) -> String {
    let line = |problem: &Problem| format!("{}: {problem}", path.display());
    problems.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    /// What it is about: a key in its section, a section, or the file.
    subject: String,
    /// The line in the file, from 1; None when it is about something that isn't there.
    line: Option<usize>,
    /// What is wrong, and where possible what to do.
    message: String,
}

impl Problem {
    /// A problem with `subject` on a line, or with something that has no line.
    pub(crate) fn new(subject: impl Into<String>, line: Option<usize>, message: impl Into<String>) -> Self {
        Self { subject: subject.into(), line, message: message.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = if self.subject.is_empty() { "" } else { ", " };
        match self.line {
            Some(line) => write!(f, "{}{separator}line {line}: ", self.subject)?,
            None if !self.subject.is_empty() => write!(f, "{}: ", self.subject)?,
            None => {}
        }
        f.write_str(&self.message)
    }
}

/// Which of the sections of one name is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Entry {
    /// The only one there can be, `[name]`.
    Only,
    /// One of several `[[name]]`, from 0.
    Number(usize),
    /// All of the `[[name]]` together.
    All,
}

/// A place in the file: a section, and a key in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct KeyPlace<'a> {
    section: &'a str,
    entry: Entry,
    /// Empty for the section itself.
    key: &'a str,
}

impl<'a> KeyPlace<'a> {
    /// A section that occurs once.
    pub(crate) fn section(section: &'a str) -> Self {
        Self { section, entry: Entry::Only, key: "" }
    }

    /// All sections of a name that may occur several times.
    pub(crate) fn all(section: &'a str) -> Self {
        Self { section, entry: Entry::All, key: "" }
    }

    /// The section number `entry` (from 0) of those with this name.
    pub(crate) fn entry(section: &'a str, entry: usize) -> Self {
        Self { section, entry: Entry::Number(entry), key: "" }
    }

    /// A key in this section.
    pub(crate) fn key(self, key: &'a str) -> Self {
        Self { key, ..self }
    }

    fn to_owned_place(self) -> OwnedPlace {
        (self.section.to_owned(), self.entry, self.key.to_owned())
    }

    /// The section's header as it is written in the file.
    fn header(self) -> String {
        match self.entry {
            Entry::Only => format!("[{}]", self.section),
            Entry::Number(_) | Entry::All => format!("[[{}]]", self.section),
        }
    }
}

impl fmt::Display for KeyPlace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.key.is_empty() { f.write_str(&self.header()) } else { write!(f, "`{}` in {}", self.key, self.header()) }
    }
}

/// A [`KeyPlace`] to keep: section, entry, key.
type OwnedPlace = (String, Entry, String);

/// The problems found so far, and the lines to report them with.
#[derive(Debug, Default)]
pub(crate) struct Report {
    problems: Vec<Problem>,
    lines: HashMap<OwnedPlace, usize>,
    /// Sections with a key that couldn't be read.
    unreadable: HashSet<String>,
}

impl Report {
    /// Remembers the line of a place.
    pub(crate) fn note_line(&mut self, place: KeyPlace<'_>, line: usize) {
        self.lines.insert(place.to_owned_place(), line);
    }

    /// Adds a problem of the file's form: a key that is unknown or has the wrong type. What is said
    /// about the meaning of its section from now on is ignored, as part of it is missing.
    pub(crate) fn add_unreadable(&mut self, section: &str, problem: Problem) {
        self.unreadable.insert(section.to_owned());
        self.problems.push(problem);
    }

    /// Adds a problem that is about no section.
    pub(crate) fn add_general(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// Adds a problem of meaning, unless its section couldn't be read whole. The line is the key's,
    /// or its section's when the key isn't there.
    pub(crate) fn add(&mut self, place: KeyPlace<'_>, message: impl Into<String>) {
        if self.unreadable.contains(place.section) {
            return;
        }
        let line = self.line(place).or_else(|| self.line(KeyPlace { key: "", ..place }));
        self.problems.push(Problem::new(place.to_string(), line, message));
    }

    /// True when nothing is wrong so far.
    pub(crate) fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }

    /// The problems by their lines; those without a line come last.
    pub(crate) fn into_problems(mut self) -> Vec<Problem> {
        self.problems.sort_by_key(|problem| problem.line.unwrap_or(usize::MAX));
        self.problems
    }

    fn line(&self, place: KeyPlace<'_>) -> Option<usize> {
        self.lines.get(&place.to_owned_place()).copied()
    }
}
