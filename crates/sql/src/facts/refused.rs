//! Whether a server's error proves that nothing of a text was run.
//!
//! What must hold: yes is said only where no statement, routine or function of the text can have begun. An error of a statement that
//! another one has run (in a routine, in a block) looks like one of the text: it is told apart by what the message names.

use bumpalo::Bump;

use super::finder::may_be_stored;
use crate::ast::{Call, Expr, ExprKind, ObjectName, Statement, StatementKind};
use crate::classify::{Class, Effects, Pins, TextKind};
use crate::lexer::{Lexer, TokenKind};
use crate::mode::LexMode;
use crate::parse::parse;
use crate::visit::{Flow, Node, walk};

/// "You have an error in your SQL syntax".
const ER_PARSE_ERROR: u16 = 1064;
/// "FUNCTION d.f does not exist".
const ER_SP_DOES_NOT_EXIST: u16 = 1305;
/// "execute command denied to user 'u'@'h' for routine 'd.p'".
const ER_PROCACCESS_DENIED_ERROR: u16 = 1370;
/// A function's name with a space before its parenthesis, where there is none of that name.
const ER_FUNC_INEXISTENT_NAME_COLLISION: u16 = 1630;
/// "Incorrect parameter count in the call to native function": found as the text is read.
const ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT: u16 = 1582;
/// Servers quote so many characters of a text.
const QUOTED: usize = 80;

/// Whether a text that ended with this error has run nothing. `class`: the text's.
pub fn nothing_ran(text: &[u8], mode: LexMode, class: &Class, code: u16, message: &[u8]) -> bool {
    let runs_others = class.kind == TextKind::Multiple || class.effects.contains(Effects::RUNS_OTHERS);
    match code {
        ER_PARSE_ERROR | ER_FUNC_INEXISTENT_NAME_COLLISION | ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT if !runs_others => true,
        ER_PARSE_ERROR => is_quoted_from_its_beginning(text, mode, message),
        ER_SP_DOES_NOT_EXIST => match runs_others {
            false => {
                unknown(message, b"FUNCTION ").is_some_and(|named| is_only_stored_function(text, mode, class, named))
            }
            true => unknown(message, b"PROCEDURE ").is_some_and(|named| is_called_procedure(text, mode, named)),
        },
        ER_PROCACCESS_DENIED_ERROR => denied(message).is_some_and(|named| match runs_others {
            false => is_only_stored_function(text, mode, class, named),
            true => is_called_procedure(text, mode, named),
        }),
        _ => false,
    }
}

/// The routine that does not exist.
fn unknown<'a>(message: &'a [u8], kind: &[u8]) -> Option<&'a [u8]> {
    message.strip_prefix(kind)?.strip_suffix(b" does not exist")
}

/// The routine that the user may not run.
fn denied(message: &[u8]) -> Option<&[u8]> {
    const BEFORE: &[u8] = b" for routine '";
    let rest = message.strip_prefix(b"execute command denied to user ")?.strip_suffix(b"'")?;
    Some(&rest[find(rest, BEFORE)? + BEFORE.len()..])
}

/// Whether a syntax error is one at a text's first word: whatever runs others has a beginning that the server can read.
fn is_quoted_from_its_beginning(text: &[u8], mode: LexMode, message: &[u8]) -> bool {
    let Some(first) = Lexer::new(text, mode).next() else { return false };
    let text = end_trimmed(&text[first.start as usize..]);
    let Some(start) = find(message, b"near '") else { return false };
    let quoted = &message[start + b"near '".len()..];
    let Some(end) = quoted.windows(b"' at line ".len()).rposition(|part| part == b"' at line ") else { return false };
    let quoted = &quoted[..end];
    // Text of several bytes for a character may be cut earlier: it is not judged.
    let whole = end_trimmed(quoted) == text || quoted.len() == QUOTED && text.starts_with(quoted);
    first.kind != TokenKind::Semicolon && !quoted.is_empty() && whole
}

/// Without what servers may leave out at the end of a text.
fn end_trimmed(text: &[u8]) -> &[u8] {
    let kept = text.iter().rposition(|byte| !byte.is_ascii_whitespace() && *byte != b';');
    kept.map_or(&[], |last| &text[..=last])
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

/// Whether a function, which was not run, is the only one of the text that could be a stored one: then no other has run.
fn is_only_stored_function(text: &[u8], mode: LexMode, class: &Class, named: &[u8]) -> bool {
    if class.pins.intersects(Pins::UNKNOWN_STATEMENT | Pins::CALL | Pins::SEQUENCE) {
        return false;
    }
    let arena = Bump::new();
    let Ok(parsed) = parse(&arena, text, mode) else { return false };
    let (mut found, mut others) = (false, false);
    for statement in parsed.statements {
        walk(Node::Statement(statement), &mut |node: Node<'_>| {
            match node {
                Node::Expr(Expr { kind: ExprKind::Call(call), span }) if may_be_stored(call, *span, text, mode) => {
                    let is_it = is_name_of(named, call);
                    found |= is_it;
                    others |= !is_it;
                }
                Node::Query(query) => others |= query.procedure.is_some(),
                _ => {}
            }
            Flow::Descend
        });
    }
    found && !others
}

/// Whether a procedure, which was not run, is the one that the text's only statement calls: its arguments are not computed then.
fn is_called_procedure(text: &[u8], mode: LexMode, named: &[u8]) -> bool {
    let arena = Bump::new();
    let Ok(parsed) = parse(&arena, text, mode) else { return false };
    match parsed.statements {
        [Statement { kind: StatementKind::Call(call), .. }] if parsed.parts == 1 => {
            call.package_database.is_none() && is_name(named, &call.name)
        }
        _ => false,
    }
}

/// Whether an error's `database.name` is that of a call.
fn is_name_of(named: &[u8], call: &Call<'_>) -> bool {
    is_name(named, &call.name)
}

fn is_name(named: &[u8], wanted: &ObjectName<'_>) -> bool {
    let name = wanted.name.name;
    let Some(split) = named.len().checked_sub(name.len()) else { return false };
    let (before, last) = named.split_at(split);
    if !last.eq_ignore_ascii_case(name) {
        return false;
    }
    match (before.strip_suffix(b"."), wanted.database) {
        (Some(database), Some(wanted)) => database.eq_ignore_ascii_case(wanted.name),
        (Some(database), None) => !database.is_empty(),
        (None, wanted) => before.is_empty() && wanted.is_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify;

    fn syntax(near: &str) -> String {
        format!(
            "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the right \
             syntax to use near '{near}' at line 1"
        )
    }

    #[test]
    fn what_was_refused_as_a_whole_has_run_nothing() {
        let long = format!("FROBNICATE {}", "x".repeat(100));
        let none = |name: &str| format!("FUNCTION {name} does not exist");
        let denied = |name: &str| format!("execute command denied to user 'u'@'%' for routine '{name}'");
        let cases = [
            ("SELECT FROM", 1064, syntax("FROM"), true),
            ("SELEC 1", 1064, syntax("SELEC 1"), true),
            (" /* c */ SELEC 'a' ; ", 1064, syntax("SELEC 'a'"), true),
            (&long, 1064, syntax(&long[..80]), true),
            (&long, 1064, syntax(&long[..70]), false),
            ("BEGIN NOT ATOMIC EXECUTE IMMEDIATE 'B'; END", 1064, syntax("B"), false),
            ("BEGIN NOT ATOMIC EXECUTE IMMEDIATE 'x'; END", 1064, syntax("x"), false),
            ("CALL p()", 1064, syntax("()"), false),
            ("SELECT 1; SELEC 1", 1064, syntax("SELEC 1"), false),
            ("SELEC 1", 1064, "Syntaxfehler bei 'SELEC 1' in Zeile 1".to_owned(), false),
            ("SELECT f (1)", 1630, none("d.f"), true),
            (
                "SELECT GET_LOCK()",
                1582,
                "Incorrect parameter count in the call to native function 'GET_LOCK'".to_owned(),
                true,
            ),
            ("SELECT f(1)", 1305, none("d.f"), true),
            ("SELECT F(1) + f(2)", 1305, none("d.f"), true),
            ("SELECT d.f(1)", 1305, none("d.f"), true),
            ("SELECT e.f(1)", 1305, none("d.f"), false),
            ("SELECT f(1), ABS(1)", 1305, none("d.f"), true),
            ("SELECT f(1), g(1)", 1305, none("d.f"), false),
            ("SELECT f(1)", 1305, none("d.inner"), false),
            ("SELECT f(1)", 1305, "PROCEDURE d.f does not exist".to_owned(), false),
            ("SELECT of(1)", 1305, none("d.f"), false),
            ("SELECT f(1)", 1305, none("d.of"), false),
            ("INSERT INTO t SELECT a FROM u WHERE f(a)", 1305, none("d.f"), true),
            ("SET @a = f(1)", 1305, none("d.f"), true),
            ("CALL p(f(1))", 1305, none("d.f"), false),
            ("CALL p(1)", 1305, "PROCEDURE d.p does not exist".to_owned(), true),
            ("/*s1*/ CALL d.p(f(1));", 1305, "PROCEDURE d.p does not exist".to_owned(), true),
            ("CALL p(1)", 1305, "PROCEDURE d.q does not exist".to_owned(), false),
            ("CALL e.p(1)", 1305, "PROCEDURE d.p does not exist".to_owned(), false),
            ("CALL p(1); CALL p(2)", 1305, "PROCEDURE d.p does not exist".to_owned(), false),
            ("EXECUTE s", 1305, none("d.f"), false),
            ("CALL p(f(1))", 1370, denied("d.p"), true),
            ("CALL p(f(1))", 1370, denied("d.f"), false),
            ("CALL p(1)", 1370, denied("d.inner"), false),
            ("CALL p(1); CALL p(2)", 1370, denied("d.p"), false),
            ("SELECT f(1)", 1370, denied("d.f"), true),
            ("SELECT f(1), g(1)", 1370, denied("d.g"), false),
            ("SELECT f(1)", 1146, none("d.f"), false),
        ];
        for (text, code, message, expected) in cases {
            let mode = LexMode::default();
            let class = classify(text.as_bytes(), mode);
            let ran = nothing_ran(text.as_bytes(), mode, &class, code, message.as_bytes());
            assert_eq!(ran, expected, "{text}: {message}");
        }
    }
}
