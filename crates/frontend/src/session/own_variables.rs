//! The session variables that are Weir's own: `weir_consistency`, `weir_shard` and `weir_lock_tables`, set by SET and read by SELECT.
//!
//! What must always hold: no server hears of them; a text that sets one of them together with others is refused whole.

use weir_sql::{Class, Effects, LexMode, Lexer, TextKind, Token, TokenKind};
use weir_topology::Level;
use weir_wire::resultset::{Column, ResultSet};
use weir_wire::{Failure, error::codes};

use super::Session;

const PREFIX: &str = "weir_";
/// Values of `weir_lock_tables`.
const TAKE: &str = "take";
const IGNORE: &str = "ignore";

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Own {
    /// How fresh reads have to be.
    Consistency,
    /// The shard that all statements run on, whatever they are about.
    Shard,
    /// What becomes of LOCK TABLES that no server can do for several shards.
    LockTables,
}

impl Own {
    const ALL: [Own; 3] = [Own::Consistency, Own::Shard, Own::LockTables];

    fn name(self) -> &'static str {
        match self {
            Own::Consistency => "weir_consistency",
            Own::Shard => "weir_shard",
            Own::LockTables => "weir_lock_tables",
        }
    }

    /// A value for the texts of errors.
    fn example(self) -> &'static str {
        match self {
            Own::Consistency => "session",
            Own::Shard => "s1",
            Own::LockTables => IGNORE,
        }
    }

    fn named(name: &[u8]) -> Option<Own> {
        Own::ALL.into_iter().find(|own| name.eq_ignore_ascii_case(own.name().as_bytes()))
    }

    fn refused(self, value: &str, words: &[&str]) -> Failure {
        let words = words.join(", ");
        let message = format!("Variable '{}' can't be set to the value of '{value}' (it can be {words})", self.name());
        Failure::client(codes::ER_WRONG_VALUE_FOR_VAR, message)
    }
}

/// What a text does with one of them.
#[derive(Debug)]
pub(super) enum OwnVariable {
    /// Sets it, to its default if there is no value; or can't.
    Set(Result<(Own, Option<String>), Failure>),
    /// Reads it, into a column of this name.
    Read(Own, String),
}

/// What a text does with one of Weir's own variables, if it is about one.
pub(super) fn read(class: &Class, text: &[u8], lex: LexMode) -> Option<OwnVariable> {
    match class.kind {
        TextKind::Set if class.assigned.iter().any(|name| name.starts_with(PREFIX)) => {
            Some(OwnVariable::Set(set_value(class, text, lex)))
        }
        TextKind::Select if class.effects == Effects::SERVER_STATE => {
            asked_column(text, lex).map(|(own, name)| OwnVariable::Read(own, name))
        }
        _ => None,
    }
}

impl Session {
    /// Answers a text that sets or reads one of Weir's own variables.
    pub(super) fn answer_own_variable(&mut self, asked: OwnVariable) -> Result<(), Failure> {
        let (own, name) = match asked {
            OwnVariable::Set(set) => {
                let (own, value) = set?;
                self.set_own(own, value.as_deref())?;
                self.endpoint.metrics.answered_here.inc();
                self.done_here();
                return Ok(());
            }
            OwnVariable::Read(own, name) => (own, name),
        };
        let cell = match own {
            Own::Consistency => Some(self.level.name().as_bytes().to_vec()),
            Own::Shard => self.chosen_shard.map(|shard| self.name_of_shard(shard).into_bytes()),
            Own::LockTables => Some(if self.ignores_locks { IGNORE } else { TAKE }.as_bytes().to_vec()),
        };
        self.result_here(&ResultSet { columns: vec![Column::text(&name)], rows: vec![vec![cell]] });
        Ok(())
    }

    /// `value`: `None` for the default.
    fn set_own(&mut self, own: Own, value: Option<&str>) -> Result<(), Failure> {
        match (own, value) {
            (Own::Consistency, None) => self.set_level(self.endpoint.level_of(&self.user)),
            (Own::Consistency, Some(word)) => {
                self.set_level(word.parse().map_err(|()| own.refused(word, &Level::ALL.map(Level::name)))?);
            }
            (Own::LockTables, None) => self.ignores_locks = false,
            (Own::LockTables, Some(word)) => {
                let found = [TAKE, IGNORE].into_iter().find(|known| word.eq_ignore_ascii_case(known));
                let found = found.ok_or_else(|| own.refused(word, &[TAKE, IGNORE]))?;
                self.ignores_locks = found == IGNORE;
            }
            (Own::Shard, None) => self.chosen_shard = None,
            (Own::Shard, Some(name)) => {
                let names: Vec<_> = (0..self.shared.shards.len()).map(|shard| self.name_of_shard(shard)).collect();
                let shard = names.iter().position(|known| known.eq_ignore_ascii_case(name));
                let words: Vec<_> = names.iter().map(String::as_str).collect();
                self.choose_shard(shard.ok_or_else(|| own.refused(name, &words))?)?;
            }
        }
        Ok(())
    }

    /// From now on, reads are as fresh as this.
    pub(super) fn set_level(&mut self, level: Level) {
        self.level = level;
        self.handle.info().consistency = level.name();
    }

    /// A session begins anew: its variables have their defaults.
    pub(super) fn reset_own_variables(&mut self) {
        self.set_level(self.endpoint.level_of(&self.user));
        self.chosen_shard = None;
        self.ignores_locks = false;
    }
}

/// Which variable a SET sets, and the value; `None` for the default.
fn set_value(class: &Class, text: &[u8], lex: LexMode) -> Result<(Own, Option<String>), Failure> {
    let own = class.assigned.iter().filter(|name| name.starts_with(PREFIX));
    let mut found = Own::Consistency;
    for name in own {
        found = Own::named(name.as_bytes()).ok_or_else(|| {
            let message = format!("Unknown system variable '{name}'");
            Failure::client(codes::ER_UNKNOWN_SYSTEM_VARIABLE, message)
        })?;
    }
    let (own, value) = only_value(text, lex).ok_or_else(|| {
        let (name, example) = (found.name(), found.example());
        let message = format!("{name} is set in a statement of its own, to a word: SET {name} = '{example}'");
        Failure::client(codes::ER_NOT_SUPPORTED_YET, message)
    })?;
    Ok((own, Some(value).filter(|value| !value.eq_ignore_ascii_case("DEFAULT"))))
}

/// Variable and value in `SET [SESSION | LOCAL | @@[SESSION.]]weir_… {= | :=} value`.
fn only_value(text: &[u8], lex: LexMode) -> Option<(Own, String)> {
    let mut tokens = Lexer::new(text, lex).filter(|token| token.kind != TokenKind::Semicolon).peekable();
    let is = |token: Token, word: &str| token.text(text).eq_ignore_ascii_case(word.as_bytes());
    tokens.next().filter(|token| is(*token, "SET"))?;
    let mut name = tokens.next()?;
    if is(name, "SESSION") || is(name, "LOCAL") {
        name = tokens.next()?;
    } else if is(name, "@@SESSION") || is(name, "@@LOCAL") {
        tokens.next().filter(|token| token.kind == TokenKind::Punct(b'.'))?;
        name = tokens.next()?;
    }
    let named = name.text(text);
    let own = Own::named(named.strip_prefix(b"@@").unwrap_or(named))?;
    tokens.next().filter(|token| matches!(token.kind, TokenKind::Punct(b'=') | TokenKind::Assign))?;
    let value = tokens.next()?;
    let ends = tokens.next().is_none_or(|token| token.kind == TokenKind::End);
    let text = std::str::from_utf8(value.text(text)).ok()?;
    match value.kind {
        _ if !ends => None,
        TokenKind::Word => Some((own, text.to_owned())),
        TokenKind::String | TokenKind::QuotedIdent => Some((own, text[1..text.len() - 1].to_owned())),
        _ => None,
    }
}

/// Variable and column name of `SELECT @@[session.]weir_… [[AS] name]`.
fn asked_column(text: &[u8], lex: LexMode) -> Option<(Own, String)> {
    let mut tokens = Lexer::new(text, lex).filter(|token| !matches!(token.kind, TokenKind::Semicolon | TokenKind::End));
    tokens.next()?;
    let first = tokens.next().filter(|token| token.kind == TokenKind::SystemVariable)?;
    let is = |token: Token, word: &str| token.text(text).eq_ignore_ascii_case(word.as_bytes());
    let mut last = first;
    let own = if is(first, "@@session") || is(first, "@@local") {
        tokens.next().filter(|token| token.kind == TokenKind::Punct(b'.'))?;
        last = tokens.next()?;
        Own::named(last.text(text))?
    } else {
        Own::named(first.text(text).strip_prefix(b"@@")?)?
    };
    let written = &text[first.range().start..last.range().end];
    let alias = match tokens.next() {
        Some(token) if is(token, "AS") => Some(tokens.next()?),
        other => other,
    };
    let name = alias.map_or(written, |alias| alias.text(text));
    tokens.next().is_none().then(|| (own, String::from_utf8_lossy(name).trim_matches(['`', '\'', '"']).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_references_examples_set_what_they_name() {
        let page = include_str!("../../../../docs/reference.md");
        let examples: Vec<_> =
            page.lines().filter(|line| line.starts_with("SET weir_") && line.ends_with(';')).collect();
        assert!(examples.len() > 3, "{examples:?}");
        for text in examples {
            let (own, value) = only_value(text.as_bytes(), LexMode::default()).expect(text);
            assert!(text.contains(own.name()), "{text}");
            if let ("DEFAULT", _) | (_, Own::Shard) = (&value[..], own) {
                continue;
            }
            let known = value.parse::<Level>().is_ok() || [TAKE, IGNORE].contains(&&value[..]);
            assert!(known, "{text}");
        }
    }

    #[test]
    fn a_value_is_found_in_all_forms_of_set() {
        let cases = [
            ("SET weir_consistency = 'strong'", Some("strong")),
            ("set session weir_consistency := eventual;", Some("eventual")),
            ("SET LOCAL WEIR_CONSISTENCY=\"primary\"", Some("primary")),
            ("SET @@weir_consistency = DEFAULT", Some("DEFAULT")),
            ("SET @@session.weir_consistency = session", Some("session")),
            ("SET weir_consistency = 'a', autocommit = 1", None),
            ("SET autocommit = 1, weir_consistency = 'a'", None),
            ("SET weir_consistency = CONCAT('a')", None),
            ("SET weir_consistency", None),
        ];
        for (text, value) in cases {
            let expected = value.map(|value| (Own::Consistency, value.to_owned()));
            assert_eq!(only_value(text.as_bytes(), LexMode::default()), expected, "{text}");
            let text = text.replace("weir_consistency", "weir_shard").replace("WEIR_CONSISTENCY", "WEIR_SHARD");
            let expected = value.map(|value| (Own::Shard, value.to_owned()));
            assert_eq!(only_value(text.as_bytes(), LexMode::default()), expected, "{text}");
        }
    }

    #[test]
    fn a_question_is_found_in_its_forms() {
        let cases = [
            ("SELECT @@weir_consistency", Some((Own::Consistency, "@@weir_consistency"))),
            ("SELECT @@session.weir_consistency AS level;", Some((Own::Consistency, "level"))),
            ("SELECT @@weir_consistency `the level`", Some((Own::Consistency, "the level"))),
            ("select @@SESSION.weir_shard", Some((Own::Shard, "@@SESSION.weir_shard"))),
            ("SELECT @@weir_consistency, 1", None),
            ("SELECT @@version", None),
            ("SELECT 1", None),
        ];
        for (text, asked) in cases {
            let asked = asked.map(|(own, name)| (own, name.to_owned()));
            assert_eq!(asked_column(text.as_bytes(), LexMode::default()), asked, "{text}");
        }
    }
}
