//! A second opinion: the tables that the crate `sqlparser` finds in the statements that both read.
//!
//! It misreads some statements itself (`UPDATE IGNORE t` as a table IGNORE with the alias t), so that differences are
//! listed by cause, and only one that has none of the known causes is a mistake.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::{ObjectName, Statement as TheirStatement, visit_relations};
use sqlparser::dialect::MySqlDialect;
use sqlparser::parser::Parser;
use weir_sql::ast::StatementKind;
use weir_sql::visit::{Flow, NameRole, Node, walk};
use weir_sql::{Bump, Parsed, parse};

use crate::class::{Class, first_words};
use crate::corpus::Statement;
use crate::judge::Judge;
use crate::report::{Report, shown};

/// Looks at all queries and changes of rows.
pub(crate) fn check(judge: &Judge, kept: &[&Statement], show: usize) -> Report {
    let mut report = Report::new(format!("{}: tables that sqlparser finds, too", judge.name()), show);
    let mut arena = Bump::new();
    for statement in kept {
        let mode = statement.setting.lex_mode(judge.dialect);
        let classes = [Class::Select, Class::Insert, Class::Update, Class::Delete];
        let Ok(text) = std::str::from_utf8(&statement.text) else { continue };
        // It has one way of reading strings, and reads no executable comments.
        if mode.ansi_quotes
            || mode.no_backslash_escapes
            || text.contains("/*")
            || !classes.contains(&Class::of(&statement.text, mode))
        {
            continue;
        }
        if let Ok(parsed) = parse(&arena, &statement.text, mode) {
            match Parser::new(&MySqlDialect {}).try_with_sql(text).and_then(|mut parser| parser.parse_statements()) {
                Ok(theirs) => compare(statement, &parsed, &theirs, &first_words(&statement.text, mode), &mut report),
                Err(_) => report.good("not read by sqlparser"),
            }
        }
        arena.reset();
    }
    report
}

fn compare(
    statement: &Statement,
    parsed: &Parsed<'_>,
    theirs: &[TheirStatement],
    words: &[String],
    report: &mut Report,
) {
    let (ours, common) = ours(parsed);
    let theirs = their_tables(theirs);
    // What is the name of a common table expression anywhere in the statement says nothing.
    let without = |names: &BTreeSet<String>| names.difference(&common).cloned().collect::<BTreeSet<_>>();
    let (ours, theirs) = (without(&ours), without(&theirs));
    if ours == theirs {
        return report.good("the same");
    }
    match cause(parsed, words, &ours, &theirs) {
        Some(cause) => report.good(&format!("explained: {cause}")),
        None => report.bad("other tables", || {
            let only =
                |one: &BTreeSet<String>, other: &BTreeSet<String>| one.difference(other).cloned().collect::<Vec<_>>();
            format!(
                "only ours {:?}, only its {:?}: {}",
                only(&ours, &theirs),
                only(&theirs, &ours),
                shown(&statement.text)
            )
        }),
    }
}

/// A mistake of sqlparser's that is known, or something that it counts as tables and we don't.
fn cause(
    parsed: &Parsed<'_>,
    words: &[String],
    ours: &BTreeSet<String>,
    theirs: &BTreeSet<String>,
) -> Option<&'static str> {
    let second = words.get(1).map_or("", String::as_str);
    let only_theirs: Vec<&str> = theirs.difference(ours).map(String::as_str).collect();
    let has_targets =
        |kind: &StatementKind<'_>| matches!(kind, StatementKind::Delete(delete) if !delete.targets.is_empty());
    if matches!(second, "IGNORE" | "LOW_PRIORITY" | "QUICK" | "DELAYED" | "HIGH_PRIORITY") {
        return Some("a modifier that it takes for a table");
    }
    if words.iter().any(|word| matches!(word.as_str(), "SQL_CACHE" | "SQL_NO_CACHE")) {
        return Some("SQL_CACHE, which it takes for a column to be multiplied");
    }
    if only_theirs == ["DUAL"] || only_theirs == ["dual"] || only_theirs == ["Dual"] {
        return Some("DUAL, which is no table");
    }
    if parsed.statements.iter().any(|statement| has_targets(&statement.kind)) {
        return Some("targets of DELETE, which may be aliases");
    }
    None
}

/// The tables that our tree names, and the names of its common table expressions.
fn ours(parsed: &Parsed<'_>) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut names, mut common) = (BTreeSet::new(), BTreeSet::new());
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    for statement in parsed.statements {
        walk(Node::Statement(statement), &mut |node: Node<'_>| {
            match node {
                Node::CommonTable(table) => {
                    common.insert(text(table.name.name));
                }
                Node::Name(name, NameRole::Read | NameRole::Changed | NameRole::Written) => {
                    let database = name.database.map(|database| text(database.name) + ".").unwrap_or_default();
                    names.insert(database + &text(name.name.name));
                }
                _ => {}
            }
            Flow::Descend
        });
    }
    (names, common)
}

fn their_tables(statements: &[TheirStatement]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for statement in statements {
        let _: ControlFlow<()> = visit_relations(statement, |name: &ObjectName| {
            let parts: Vec<String> =
                name.0.iter().filter_map(|part| part.as_ident()).map(|ident| ident.value.clone()).collect();
            names.insert(parts.join("."));
            ControlFlow::Continue(())
        });
    }
    names
}
