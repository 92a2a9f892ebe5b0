//! `SET @@name = …` with its scope written out.
//!
//! What must hold: the text means the same. Where no scope means the next transaction only, none is written.

use crate::Bump;
use crate::ast::{SetItemKind, StatementKind};
use crate::mode::LexMode;
use crate::parse::parse;
use crate::splice::splice;

/// The text with `session.` before names of system variables that it assigns as `@@name`; `None` if there are none.
pub fn with_session_scopes(text: &[u8], mode: LexMode) -> Option<Vec<u8>> {
    const NEXT_ONLY: [&str; 4] = ["transaction_isolation", "tx_isolation", "transaction_read_only", "tx_read_only"];
    memchr::memmem::find(text, b"@@")?;
    let arena = Bump::new();
    let parsed = parse(&arena, text, mode).ok()?;
    let mut edits = Vec::new();
    for statement in parsed.statements {
        let StatementKind::Set(set) = statement.kind else { continue };
        for item in set.items {
            let SetItemKind::Variable(assigned) = &item.kind else { continue };
            let variable = &assigned.variable;
            let plain = assigned.at_signs && variable.scope.is_none() && variable.base.is_none();
            if plain && !NEXT_ONLY.iter().any(|name| variable.name.is(name)) {
                let start = variable.name.span.range().start;
                edits.push((start..start, &b"session."[..]));
            }
        }
    }
    (!edits.is_empty()).then(|| splice(text, &edits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_written_where_none_is() {
        let scoped = |text: &str| with_session_scopes(text.as_bytes(), LexMode::default()).map(String::from_utf8);
        let to = |text: &str| Some(Ok(text.to_owned()));
        assert_eq!(scoped("SET @@sql_mode = ''"), to("SET @@session.sql_mode = ''"));
        assert_eq!(scoped("/*!40100 SET @@SQL_MODE='' */"), to("/*!40100 SET @@session.SQL_MODE='' */"));
        assert_eq!(scoped("SET a = 1, @@b = 2, @@global.c = 3"), to("SET a = 1, @@session.b = 2, @@global.c = 3"));
        assert_eq!(scoped("SET @@transaction_isolation = 'SERIALIZABLE'"), None);
        assert_eq!(scoped("SET sql_mode = @@sql_mode"), None);
        assert_eq!(scoped("SELECT @@sql_mode"), None);
    }
}
