//! The session variables that are Weir's own: `SET weir_consistency = …`, `SELECT @@weir_consistency`.
//!
//! What must always hold: no server hears of them; a text that sets one of them together with others is refused whole.

use weir_sql::{Class, Effects, Kind, LexMode, Lexer, Token, TokenKind};
use weir_topology::Level;
use weir_wire::resultset::{Column, ResultSet};
use weir_wire::{Failure, Fault, error::codes};

use super::Session;

const PREFIX: &str = "weir_";
const CONSISTENCY: &str = "weir_consistency";

impl Session {
    /// Answers a text that sets or reads one of Weir's own variables. Returns whether it did.
    pub(super) fn answer_own_variable(&mut self, class: &Class, text: &[u8]) -> bool {
        if matches!(class.kind, Kind::Set) && class.assigned.iter().any(|name| name.starts_with(PREFIX)) {
            match set_value(class, text, self.state.lex) {
                Ok(level) => {
                    self.set_level(level.unwrap_or_else(|| self.endpoint.level_of(&self.user)));
                    self.endpoint.metrics.answered_here.inc();
                    self.done_here();
                }
                Err(failure) => self.refuse(&failure),
            }
            return true;
        }
        let may_ask = class.kind == Kind::Select && class.effects == Effects::SERVER_STATE;
        if let Some(name) = may_ask.then(|| asked_column(text, self.state.lex)).flatten() {
            let cell = Some(self.level.name().as_bytes().to_vec());
            self.result_here(&ResultSet { columns: vec![Column::text(&name)], rows: vec![vec![cell]] });
            return true;
        }
        false
    }

    /// From now on, reads are as fresh as this.
    pub(super) fn set_level(&mut self, level: Level) {
        self.level = level;
        self.handle.info().consistency = level.name();
    }
}

/// The level that a SET asks for; `None` for the default.
fn set_value(class: &Class, text: &[u8], lex: LexMode) -> Result<Option<Level>, Failure> {
    if let Some(unknown) = class.assigned.iter().find(|name| name.starts_with(PREFIX) && ***name != *CONSISTENCY) {
        let message = format!("Unknown system variable '{unknown}'");
        return Err(Failure::new(Fault::Client, codes::ER_UNKNOWN_SYSTEM_VARIABLE, b"HY000", message));
    }
    let value = only_value(text, lex).ok_or_else(|| {
        let message = "weir_consistency is set in a statement of its own, to a word: SET weir_consistency = 'session'";
        Failure::new(Fault::Client, codes::ER_NOT_SUPPORTED_YET, b"42000", message)
    })?;
    if value.eq_ignore_ascii_case("DEFAULT") {
        return Ok(None);
    }
    value.parse().map(Some).map_err(|()| {
        let words = Level::ALL.map(Level::name).join(", ");
        let message = format!("Variable 'weir_consistency' can't be set to the value of '{value}' (it can be {words})");
        Failure::new(Fault::Client, codes::ER_WRONG_VALUE_FOR_VAR, b"42000", message)
    })
}

/// The value in `SET [SESSION | LOCAL | @@[SESSION.]]weir_consistency {= | :=} value`.
fn only_value(text: &[u8], lex: LexMode) -> Option<String> {
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
    let bare = named.strip_prefix(b"@@").unwrap_or(named);
    let assigns = |token: &Token| matches!(token.kind, TokenKind::Punct(b'=') | TokenKind::Assign);
    (bare.eq_ignore_ascii_case(CONSISTENCY.as_bytes()) && tokens.next().is_some_and(|token| assigns(&token)))
        .then_some(())?;
    let value = tokens.next()?;
    let ends = tokens.next().is_none_or(|token| token.kind == TokenKind::End);
    let text = std::str::from_utf8(value.text(text)).ok()?;
    match value.kind {
        _ if !ends => None,
        TokenKind::Word => Some(text.to_owned()),
        TokenKind::String | TokenKind::QuotedIdent => Some(text[1..text.len() - 1].to_owned()),
        _ => None,
    }
}

/// The name of the column of `SELECT @@[session.]weir_consistency [[AS] name]`.
fn asked_column(text: &[u8], lex: LexMode) -> Option<String> {
    let mut tokens = Lexer::new(text, lex).filter(|token| !matches!(token.kind, TokenKind::Semicolon | TokenKind::End));
    tokens.next()?;
    let first = tokens.next().filter(|token| token.kind == TokenKind::SystemVariable)?;
    let is = |token: Token, word: &str| token.text(text).eq_ignore_ascii_case(word.as_bytes());
    let mut last = first;
    if is(first, "@@session") || is(first, "@@local") {
        tokens.next().filter(|token| token.kind == TokenKind::Punct(b'.'))?;
        last = tokens.next().filter(|token| is(*token, CONSISTENCY))?;
    } else if !is(first, "@@weir_consistency") {
        return None;
    }
    let written = &text[first.range().start..last.range().end];
    let alias = match tokens.next() {
        Some(token) if is(token, "AS") => Some(tokens.next()?),
        other => other,
    };
    let name = alias.map_or(written, |alias| alias.text(text));
    tokens.next().is_none().then(|| String::from_utf8_lossy(name).trim_matches(['`', '\'', '"']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(only_value(text.as_bytes(), LexMode::default()).as_deref(), value, "{text}");
        }
    }

    #[test]
    fn a_question_is_found_in_its_forms() {
        let cases = [
            ("SELECT @@weir_consistency", Some("@@weir_consistency")),
            ("SELECT @@session.weir_consistency AS level;", Some("level")),
            ("SELECT @@weir_consistency `the level`", Some("the level")),
            ("SELECT @@weir_consistency, 1", None),
            ("SELECT @@version", None),
            ("SELECT 1", None),
        ];
        for (text, name) in cases {
            assert_eq!(asked_column(text.as_bytes(), LexMode::default()).as_deref(), name, "{text}");
        }
    }
}
