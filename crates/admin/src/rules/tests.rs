//! Which rule a statement gets.

use std::net::Ipv4Addr;

use weir_sql::LexMode;

use super::*;
use crate::digests::{Digested, Table};

fn entry(text: &str) -> std::rc::Rc<Digested> {
    let mode = LexMode::default();
    Table::default().entry(text.as_bytes(), mode, &weir_sql::classify(text.as_bytes(), mode))
}

fn rule(name: &str, matches: Matches) -> Rule {
    Rule::new(name.to_owned(), matches, Action::Block, None)
}

#[test]
fn the_first_rule_that_fits_counts() {
    let digest = entry("SELECT secret FROM t WHERE id = 7").digest;
    let network = |text: &str| vec![text.parse::<Network>().expect("a network")];
    let book = RuleBook::default();
    book.set(vec![
        rule("by digest", Matches { digest: Some(digest), ..Matches::default() }),
        rule(
            "by client",
            Matches { kinds: vec![KindMatch::Writes], clients: network("10.0.0.0/8"), ..Matches::default() },
        ),
        rule(
            "by pattern",
            Matches { pattern: Some(Regex::new("(?i)^delete from [a-z]+$").expect("a pattern")), ..Matches::default() },
        ),
        rule(
            "by user and database",
            Matches { users: vec!["app".into()], databases: vec!["shop".into()], ..Matches::default() },
        ),
        rule("by kind", Matches { kinds: vec![KindMatch::Is(StatementKind::Ddl)], ..Matches::default() }),
    ]);
    let ten = Some(Ipv4Addr::new(10, 1, 2, 3).into());
    let other = Some(Ipv4Addr::new(192, 168, 0, 1).into());
    let cases = [
        ("select secret from t where id = 'x'", "x", other, None, Some("by digest")),
        ("DELETE FROM t", "x", ten, None, Some("by client")),
        ("DELETE FROM t", "x", other, None, Some("by pattern")),
        ("DELETE FROM t", "x", None, None, Some("by pattern")),
        ("DELETE FROM t WHERE id = 1", "x", other, None, None),
        ("SELECT 1", "app", ten, Some("shop"), Some("by user and database")),
        ("SELECT 1", "app", ten, Some("blog"), None),
        ("SELECT 1", "ap", ten, Some("shop"), None),
        ("DROP TABLE t", "x", None, None, Some("by kind")),
    ];
    for (text, user, address, database, expected) in cases {
        let from = From { user, address, database: database.map(str::as_bytes) };
        let found = entry(text).rule_in(&book, from).inspect(|rule| rule.applied()).map(|rule| rule.name.clone());
        assert_eq!(found.as_deref(), expected, "{text} of {user} at {address:?} in {database:?}");
    }
    let hits: Vec<_> = book.rules().iter().map(|rule| rule.hits()).collect();
    assert_eq!(hits, [1, 1, 2, 1, 1]);
}

#[test]
fn new_rules_count_for_statements_that_are_known() {
    let (book, entry) = (RuleBook::default(), entry("SELECT 1"));
    let from = From { user: "x", address: None, database: None };
    assert!(entry.rule_in(&book, from).is_none());
    book.set(vec![rule("all", Matches::default())]);
    assert!(entry.rule_in(&book, from).is_some());
    book.set(Vec::new());
    assert!(entry.rule_in(&book, from).is_none());
}

#[test]
fn refusals_name_the_rule_and_its_reason() {
    let rule = Rule::new("no dumps".into(), Matches::default(), Action::Block, Some("use the replica".into()));
    let failure = rule.blocked();
    assert_eq!((failure.code, &failure.sqlstate), (1148, b"42000"));
    assert_eq!(failure.message, "The statement was blocked by rule 'no dumps' of Weir: use the replica");
    assert_eq!((rule.limited().code, rule.timed_out().code, rule.refusals()), (1226, 3024, 3));
}
