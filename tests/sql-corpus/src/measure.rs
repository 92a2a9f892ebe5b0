//! How much of what the servers read the parser reads, and what stops it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use weir_sql::ast::StatementKind;
use weir_sql::{Bump, Dialect, LexMode, Lexer, TokenKind, parse};

use crate::class::{self, Class, first_words};
use crate::corpus::Statement;

/// What the parser made of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// A tree.
    Read,
    /// A tree with a node that says no more than the verb.
    Opaque,
    /// An error.
    Failed(Cause),
    /// A panic, which is a mistake of the parser's.
    Panicked,
}

/// Why a statement could not be read; statements that fail for one reason have equal causes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cause {
    verb: String,
    expected: String,
    found: String,
}

/// Counts of one class.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    kept: usize,
    read: usize,
    opaque: usize,
    panicked: usize,
}

/// What was found for one kind of server.
pub(crate) struct Measure<'a> {
    counts: BTreeMap<Class, Counts>,
    causes: BTreeMap<Cause, Vec<&'a Statement>>,
    /// Statements that were not read or were opaque, with their class.
    pub(crate) unread: Vec<(Class, &'a Statement, Outcome)>,
}

impl<'a> Measure<'a> {
    /// Parses statements of the server's grammar.
    pub(crate) fn of(statements: impl Iterator<Item = &'a Statement>, dialect: Dialect, only: Option<&str>) -> Self {
        let mut measure = Self { counts: BTreeMap::new(), causes: BTreeMap::new(), unread: Vec::new() };
        let mut arena = Bump::new();
        for statement in statements {
            let mode = statement.setting.lex_mode(dialect);
            let class = Class::of(&statement.text, mode);
            if only.is_some_and(|only| !class.name().to_ascii_lowercase().contains(&only.to_ascii_lowercase())) {
                continue;
            }
            let outcome = outcome_of(&arena, &statement.text, mode);
            arena.reset();
            measure.count(statement, class, outcome);
        }
        measure
    }

    fn count(&mut self, statement: &'a Statement, class: Class, outcome: Outcome) {
        let counts = self.counts.entry(class).or_default();
        counts.kept += 1;
        match &outcome {
            Outcome::Read => counts.read += 1,
            Outcome::Opaque => counts.opaque += 1,
            Outcome::Panicked => counts.panicked += 1,
            Outcome::Failed(cause) => self.causes.entry(cause.clone()).or_default().push(statement),
        }
        if outcome != Outcome::Read {
            self.unread.push((class, statement, outcome));
        }
    }

    /// The classes that are below what is wanted, each with a message.
    pub(crate) fn below(&self) -> Vec<String> {
        let percent = |counts: &Counts| 100.0 * counts.read as f64 / counts.kept as f64;
        let low = |(class, counts): (&Class, &Counts)| {
            let threshold = class.threshold()?;
            let wanted = percent(counts) < threshold;
            wanted.then(|| format!("{}: {:.2}% instead of {threshold}%", class.name(), percent(counts)))
        };
        let panicked: usize = self.counts.values().map(|counts| counts.panicked).sum();
        let mut all: Vec<String> = self.counts.iter().filter_map(low).collect();
        if panicked > 0 {
            all.push(format!("{panicked} panics"));
        }
        all
    }

    /// The table.
    pub(crate) fn table(&self, name: &str) -> String {
        let mut out = String::new();
        let _ = writeln!(
            out,
            "{:<30} {:>8} {:>8} {:>8} {:>12} {:>8}",
            name, "kept", "parsed", "%", "% not opaque", "failed"
        );
        let mut total = Counts::default();
        for class in class::ALL {
            let Some(counts) = self.counts.get(&class) else { continue };
            put_row(&mut out, class.name(), *counts);
            total.kept += counts.kept;
            total.read += counts.read;
            total.opaque += counts.opaque;
            total.panicked += counts.panicked;
        }
        put_row(&mut out, "all", total);
        if total.panicked > 0 {
            let _ = writeln!(out, "of the failed, {} are panics", total.panicked);
        }
        out
    }

    /// The most frequent causes of failure, each with the shortest statement that has it.
    pub(crate) fn causes(&self, most: usize) -> String {
        let mut causes: Vec<_> = self.causes.iter().collect();
        causes.sort_by_key(|(_, statements)| std::cmp::Reverse(statements.len()));
        let mut out = String::new();
        for (cause, statements) in causes.iter().take(most) {
            let Some(shortest) = statements.iter().min_by_key(|statement| statement.text.len()) else { continue };
            let text = String::from_utf8_lossy(&shortest.text).split_whitespace().collect::<Vec<_>>().join(" ");
            let text: String = text.chars().take(240).collect();
            let _ = writeln!(
                out,
                "{:>6}  {}: at {} where {} was expected\n        {text}",
                statements.len(),
                cause.verb,
                cause.found,
                cause.expected
            );
        }
        out
    }
}

fn put_row(out: &mut String, name: &str, counts: Counts) {
    let percent = |part: usize| 100.0 * part as f64 / counts.kept.max(1) as f64;
    let parsed = counts.read + counts.opaque;
    let _ = writeln!(
        out,
        "{:<30} {:>8} {:>8} {:>8.2} {:>12.2} {:>8}",
        name,
        counts.kept,
        parsed,
        percent(parsed),
        percent(counts.read),
        counts.kept - parsed
    );
}

fn outcome_of(arena: &Bump, sql: &[u8], mode: LexMode) -> Outcome {
    let parsed = catch_unwind(AssertUnwindSafe(|| {
        parse(arena, sql, mode)
            .map(|parsed| parsed.statements.iter().any(|statement| matches!(statement.kind, StatementKind::Opaque(_))))
    }));
    match parsed {
        Ok(Ok(true)) => Outcome::Opaque,
        Ok(Ok(false)) => Outcome::Read,
        Ok(Err(error)) => {
            let verb: Vec<String> = first_words(sql, mode).into_iter().take(1).collect();
            let found = token_at(sql, mode, error.span.start);
            Outcome::Failed(Cause { verb: verb.concat(), expected: error.expected(), found })
        }
        Err(_) => Outcome::Panicked,
    }
}

/// The token that begins there: a word or punctuation itself, of others the kind.
fn token_at(sql: &[u8], mode: LexMode, at: u32) -> String {
    let mut lexer = Lexer::new(sql, mode);
    loop {
        let token = lexer.next_token();
        if token.start < at && token.kind != TokenKind::End {
            continue;
        }
        let text = String::from_utf8_lossy(token.text(sql)).to_ascii_uppercase();
        return match token.kind {
            TokenKind::CodeStart | TokenKind::CodeEnd | TokenKind::HintEnd => continue,
            TokenKind::End => "the end".to_owned(),
            TokenKind::Word if text.len() < 4 || text.bytes().any(|byte| byte.is_ascii_digit()) => {
                "a short word".to_owned()
            }
            TokenKind::Word | TokenKind::Operator | TokenKind::Assign => text,
            TokenKind::Punct(byte) => format!("'{}'", char::from(byte)),
            kind => format!("{kind:?}"),
        };
    }
}
