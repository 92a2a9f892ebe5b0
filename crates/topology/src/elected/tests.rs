use std::time::{Duration, Instant};

use weir_backend::Standing;
use weir_backend::standing::{Galera, GroupMember};

use super::*;
use crate::fixtures::{self, with};
use crate::settings::Promotion;

fn fact(uuid: &str, up: bool, asked: Instant) -> Fact {
    let standing = Standing { uuid: Some(uuid.to_owned()), ..fixtures::standing(asked) };
    Fact { up, ..fixtures::fact(None, Some(standing)) }
}

/// A view: each member's letter is its server, in upper case if it is a primary, behind `?` if it can't be heard and `!` if it is recovering.
fn view(text: &str) -> GroupReplication {
    let mut state = MemberState::Online;
    let mut members = Vec::new();
    for letter in text.chars() {
        match letter {
            '?' => state = MemberState::Unreachable,
            '!' => state = MemberState::Recovering,
            '-' => state = MemberState::Offline,
            letter => {
                let uuid = letter.to_ascii_lowercase().to_string();
                let primary = letter.is_ascii_uppercase();
                members.push(GroupMember { uuid, host: String::new(), port: 0, state, primary });
                state = MemberState::Online;
            }
        }
    }
    GroupReplication { members, ..GroupReplication::default() }
}

#[test]
fn only_the_view_of_a_majority_counts() {
    let now = Instant::now() + Duration::from_secs(10);
    // Each server's own view, in the order a, b, c; empty for one that is down. Then who writes, if anybody, when `a` did before.
    let cases: [(&str, [&str; 3], Option<usize>); 9] = [
        ("all is well", ["Abc", "Abc", "Abc"], Some(0)),
        ("another one was elected", ["aBc", "aBc", "aBc"], Some(1)),
        ("the primary has died", ["", "Bc", "Bc"], Some(1)),
        ("not expelled yet", ["", "?Abc", "?Abc"], None),
        ("the old primary is cut off, and still calls itself one", ["A?b?c", "Bc", "Bc"], Some(1)),
        ("nobody has a majority", ["A?b?c", "?Ab?c", ""], None),
        ("a member that has left sees itself only", ["-a", "Bc", "Bc"], Some(1)),
        ("a member that joins is no writer", ["!aBc", "!aBc", "!aBc"], Some(1)),
        ("all are primaries: the writer stays", ["ABC", "ABC", "ABC"], Some(0)),
    ];
    for (what, views, writes) in cases {
        let of = |(index, text): (usize, &&str)| {
            let fact = fact(["a", "b", "c"][index], !text.is_empty(), now);
            with(fact, |standing| standing.group_replication = Some(view(text)).filter(|_| !text.is_empty()))
        };
        let facts: Vec<_> = views.iter().enumerate().map(of).collect();
        let parts = parts(GroupKind::GroupReplication, &facts);
        assert_eq!(writer(&parts, 0, &facts), writes, "{what}: {parts:?}");
    }
}

#[test]
fn of_several_views_the_latest_counts() {
    let now = Instant::now();
    let saying = |uuid: &str, text: &str, asked| {
        with(fact(uuid, true, asked), |standing| standing.group_replication = Some(view(text)))
    };
    let earlier = now.checked_sub(Duration::from_millis(300)).expect("the machine runs for longer");
    // `b` was elected, and has said so; the others were asked before.
    let facts = [saying("a", "Abc", earlier), saying("b", "aBc", now), saying("c", "Abc", earlier)];
    assert_eq!(writer(&parts(GroupKind::GroupReplication, &facts), 0, &facts), Some(1));
    assert_eq!(writer(&parts(GroupKind::GroupReplication, &facts), 1, &facts), Some(1));
}

#[test]
fn a_node_takes_writes_only_if_it_is_synced_in_the_primary_component() {
    let now = Instant::now();
    let node = |primary_component: bool, ready: bool, state: &str| {
        let galera = Galera { primary_component, ready, state: state.to_owned(), size: 3, ..Galera::default() };
        with(fact("x", true, now), |standing| standing.galera = Some(galera))
    };
    let cases = [
        (node(true, true, "Synced"), Part::Primary),
        (node(true, true, "Donor/Desynced"), Part::Out),
        (node(true, false, "Joining"), Part::Out),
        (node(false, false, "Synced"), Part::Out),
        (Fact { up: false, ..node(true, true, "Synced") }, Part::Out),
    ];
    for (fact, part) in cases {
        let facts = [fact];
        assert_eq!(parts(GroupKind::Galera, &facts), [part], "{:?}", facts[0].standing);
    }
    // Who is preferred, then the configuration's order; never who must not.
    let synced = |promotion| Fact { promotion, ..node(true, true, "Synced") };
    let facts = [
        Fact { up: false, ..synced(Promotion::Neutral) },
        synced(Promotion::Never),
        synced(Promotion::Neutral),
        synced(Promotion::Prefer),
    ];
    assert_eq!(writer(&parts(GroupKind::Galera, &facts), 0, &facts), Some(3));
}
