use std::time::{Duration, Instant};

use weir_backend::Position;

use super::*;
use crate::fixtures;

/// A server that has so many of server 1's transactions and so many of server 2's.
fn server(now: Instant, (read_only, follows): (bool, Follows), (one, two): (u64, u64)) -> Fact {
    let sources = [("1", one), ("2", two)].into_iter().filter(|(_, count)| *count > 0);
    let sets = sources.map(|(source, count)| format!("3e11fa47-71ca-11e1-9e33-c80aa942956{source}:1-{count}"));
    let position = Position::parse(false, &sets.collect::<Vec<_>>().join(",")).expect("a position");
    let fact = fixtures::fact(Some(fixtures::observation(now, read_only, position)), Some(fixtures::standing(now)));
    Fact { follows, ..fact }
}

fn down(fact: Fact) -> Fact {
    Fact { up: false, down_for: Duration::from_secs(5), ..fact }
}

#[test]
fn the_named_writer_is_another_one_only_if_a_server_that_replicates_says_so() {
    use Follows::{Member, Nobody, Stranger};
    let now = Instant::now();
    let old = |writes: bool| server(now, (!writes, Nobody), (5, 0));
    let (new, follower) =
        (|writes: bool| server(now, (!writes, Nobody), (5, 3)), |head| server(now, (true, Member(head)), (5, 3)));
    let cases: Vec<(&str, Vec<Fact>, Option<usize>)> = vec![
        ("it is followed", vec![old(true), follower(0), follower(0)], None),
        ("nobody follows anybody", vec![old(true), new(false)], None),
        ("it has come back, and another one writes", vec![old(true), new(true), follower(1)], Some(1)),
        ("it is down, and another one writes", vec![down(old(true)), new(true), follower(1)], Some(1)),
        ("it is read-only, and another one writes", vec![old(false), new(true), follower(1)], Some(1)),
        ("it follows the other one", vec![follower(1), new(true)], Some(1)),
        (
            "it follows it, and does not refuse writes",
            vec![server(now, (false, Member(1)), (5, 3)), new(false)],
            Some(1),
        ),
        ("they follow each other", vec![server(now, (false, Member(1)), (5, 3)), follower(0)], None),
        ("both are down", vec![down(old(true)), down(new(true)), follower(1)], Some(1)),
        (
            "it has come back, the other one is down, and it lacks data",
            vec![old(true), down(new(true)), follower(1)],
            Some(1),
        ),
        (
            "a chain whose middle is down: it lacks nothing",
            vec![server(now, (false, Nobody), (9, 0)), down(follower(0)), server(now, (true, Member(1)), (8, 0))],
            None,
        ),
        ("they disagree", vec![old(true), new(true), follower(1), follower(2)], None),
        ("a third one writes", vec![old(false), new(false), follower(1), new(true)], None),
        ("one follows a stranger", vec![old(true), new(true), server(now, (true, Stranger), (5, 3))], None),
        ("one was not asked yet", vec![old(true), new(true), Fact { known: false, ..follower(1) }], None),
    ];
    for (what, facts, writer) in cases {
        assert_eq!(witnessed(&facts, 0), writer, "{what}");
    }
}

#[test]
fn the_named_writer_is_confirmed_by_a_replica_or_when_all_were_heard() {
    use Follows::{Member, Nobody};
    let now = Instant::now();
    let (writer, replica) = (|| server(now, (false, Nobody), (5, 0)), |head| server(now, (true, Member(head)), (5, 0)));
    assert!(confirmed(&[writer(), replica(0), down(replica(0))], 0), "one follows it");
    assert!(!confirmed(&[writer(), down(replica(0))], 0), "what it said is from before");
    assert!(confirmed(&[writer(), server(now, (true, Nobody), (5, 0))], 0), "all were heard");
}
