//! Facts in, decisions out.

use std::collections::BTreeSet;

use super::clean::removable;
use super::*;

#[test]
fn a_branch_is_left_alone_for_the_grace_unless_this_weir_has_left_it() {
    let grace = Duration::from_secs(10);
    let cases = [(0, false, false), (9, false, false), (10, false, true), (60, false, true), (0, true, true)];
    for (seen, left, due) in cases {
        assert_eq!(is_due(Duration::from_secs(seen), left, grace), due, "{seen} {left}");
    }
}

#[test]
fn nothing_is_done_without_a_decision_and_none_is_rolled_back_before_one_is_written() {
    let cases = [
        (KnownDecision::Nothing, Action::Wait),
        (KnownDecision::Absent, Action::Settle),
        (KnownDecision::Commit, Action::Commit),
        (KnownDecision::Abort, Action::RollBack),
    ];
    for (known, then) in cases {
        assert_eq!(action(known), then, "{known:?}");
    }
}

#[test]
fn a_decision_stays_while_a_branch_of_it_is_prepared_anywhere() {
    let old = vec!["a".to_owned(), "b".to_owned(), "c".to_owned()];
    assert_eq!(removable(old, &BTreeSet::from(["b".to_owned()])), ["a", "c"]);
}
