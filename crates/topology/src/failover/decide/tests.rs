use weir_backend::standing::{GroupMember, GroupReplication, SemiSync};
use weir_backend::{Observation, Standing};

use super::*;
use crate::fixtures::{self, with};
use crate::follows::Follows;

/// A time with room before it.
fn now() -> Instant {
    Instant::now() + Duration::from_secs(1000)
}

/// A server that follows `source`, or takes writes if there is none.
fn server(now: Instant, source: Option<usize>) -> Fact {
    let position = Position::parse(true, "0-1-5").expect("a position");
    let observation = fixtures::observation(now, source.is_some(), position);
    let source = source.map(|_| Source {
        host: String::new(),
        port: 0,
        receives: true,
        applies: true,
        by_gtid: true,
        error: None,
        received: observation.visible.clone(),
        heartbeats: 0,
    });
    let follows = source.as_ref().map_or(Follows::Nobody, |_| Follows::Member(0));
    let standing = Standing { source, ..fixtures::standing(now) };
    Fact { follows, ..fixtures::fact(Some(observation), Some(standing)) }
}

fn down(fact: Fact, seconds: u64) -> Fact {
    Fact { up: false, down_for: Duration::from_secs(seconds), ..fact }
}

/// It has lost the connection to its source.
fn lost(fact: Fact) -> Fact {
    with(fact, |standing| standing.source.as_mut().expect("it follows").receives = false)
}

fn acknowledging(fact: Fact, writes: bool) -> Fact {
    let semi_sync = SemiSync {
        enabled: writes,
        active: writes,
        after_sync: true,
        wait_count: 1,
        acknowledges: !writes,
        ..SemiSync::default()
    };
    with(fact, |standing| standing.semi_sync = semi_sync)
}

fn sight<'a>(facts: &'a [Fact], settings: &'a GroupSettings, now: Instant) -> Sight<'a> {
    Sight { quarantined: vec![false; facts.len()], facts, writer: 0, kind: GroupKind::Async, settings, now }
}

#[test]
fn a_writer_is_replaced_only_when_it_is_certainly_gone() {
    let now = now();
    let gone = || down(server(now, None), 5);
    let replica = || server(now, Some(0));
    let automatic = GroupSettings::default();
    let manual = GroupSettings { automatic_failover: false, ..GroupSettings::default() };
    let cases: Vec<(&str, Vec<Fact>, &GroupSettings, Option<&str>)> = vec![
        ("it is there", vec![server(now, None), replica()], &automatic, Some("")),
        ("all have lost it", vec![gone(), lost(replica()), lost(replica())], &automatic, None),
        ("one hears of it", vec![gone(), lost(replica()), replica()], &automatic, Some("still hears")),
        ("it has just gone", vec![down(server(now, None), 0), lost(replica())], &automatic, Some("stays away")),
        ("by hand only", vec![gone(), lost(replica())], &manual, Some("manual")),
        ("no replica is there", vec![gone(), down(replica(), 5)], &automatic, Some("can be reached")),
        (
            "most replicas are gone too: Weir may be cut off",
            vec![gone(), lost(replica()), down(replica(), 5), down(replica(), 5)],
            &automatic,
            Some("1 of 3 replicas"),
        ),
        ("half of them will do", vec![gone(), lost(replica()), down(replica(), 5)], &automatic, None),
        (
            "with semi-sync, what was acknowledged may be on the one that is gone",
            vec![
                acknowledging(gone(), true),
                acknowledging(lost(replica()), false),
                acknowledging(down(replica(), 5), false),
            ],
            &automatic,
            Some("2 are needed"),
        ),
        (
            "with semi-sync, all are there",
            vec![
                acknowledging(gone(), true),
                acknowledging(lost(replica()), false),
                acknowledging(lost(replica()), false),
            ],
            &automatic,
            None,
        ),
        (
            "asked before it went",
            vec![gone(), with(lost(replica()), |standing| standing.asked = now - Duration::from_secs(9))],
            &automatic,
            Some("not been asked"),
        ),
        (
            "not by GTIDs",
            vec![
                gone(),
                with(lost(replica()), |standing| standing.source.as_mut().expect("it follows").by_gtid = false),
            ],
            &automatic,
            Some("GTIDs"),
        ),
    ];
    for (what, facts, settings, watched) in cases {
        let next = decide(&sight(&facts, settings, now), &mut Memory::new(facts.len()));
        match (&next, watched) {
            (Next::Failover, None) | (Next::Nothing, Some("")) => {}
            (Next::Watch(why), Some(part)) if !part.is_empty() && why.contains(part) => {}
            _ => panic!("{what}: {next:?}"),
        }
    }
}

#[test]
fn a_replica_that_hears_nothing_has_lost_its_source() {
    let (begin, settings) = (now(), GroupSettings::default());
    let mut memory = Memory::new(2);
    for second in 0..6 {
        let now = begin + Duration::from_secs(second);
        let facts = [down(server(begin, None), second), server(now, Some(0))];
        let next = decide(&sight(&facts, &settings, now), &mut memory);
        let silent = Duration::from_secs(second) >= SILENT;
        assert_eq!(next == Next::Failover, silent, "after {second} s: {next:?}");
    }
    // Heartbeats are signs of life.
    let mut memory = Memory::new(2);
    for second in 0..6 {
        let now = begin + Duration::from_secs(second);
        let replica = with(server(now, Some(0)), |standing| {
            standing.source.as_mut().expect("it follows").heartbeats = second;
        });
        let facts = [down(server(begin, None), second), replica];
        assert!(matches!(decide(&sight(&facts, &settings, now), &mut memory), Next::Watch(_)), "after {second} s");
    }
}

#[test]
fn failovers_have_a_pause_between_them() {
    let (now, settings) = (now(), GroupSettings::default());
    let facts = [down(server(now, None), 5), lost(server(now, Some(0)))];
    let mut memory = Memory::new(2);
    memory.last_failover = now.checked_sub(Duration::from_secs(29));
    assert!(matches!(decide(&sight(&facts, &settings, now), &mut memory), Next::Watch(_)));
    memory.last_failover = now.checked_sub(Duration::from_secs(31));
    assert_eq!(decide(&sight(&facts, &settings, now), &mut memory), Next::Failover);
}

#[test]
fn servers_that_are_out_of_place_are_put_into_it() {
    let (now, settings) = (now(), GroupSettings::default());
    let writer = || server(now, None);
    let follower = || server(now, Some(0));
    let read_only = |fact: Fact| {
        let observation = Observation { read_only: true, ..fact.observation.as_deref().expect("it has one").clone() };
        Fact { observation: Some(Arc::new(observation)), ..fact }
    };
    let decide_for = |facts: &[Fact], follows: &[Follows], memory: &mut Memory| {
        let facts = facts.iter().zip(follows).map(|(fact, follows)| Fact { follows: *follows, ..fact.clone() });
        decide(&sight(&facts.collect::<Vec<_>>(), &settings, now), memory)
    };
    use Follows::{Member, Nobody, Stranger, Unknown};
    let cases: Vec<(&str, Vec<Fact>, Vec<Follows>, Next)> = vec![
        ("all is well", vec![writer(), follower()], vec![Nobody, Member(0)], Next::Nothing),
        ("it writes beside", vec![writer(), writer(), follower()], vec![Nobody, Nobody, Member(0)], Next::Fence(1)),
        ("it follows nobody", vec![writer(), read_only(writer())], vec![Nobody, Nobody], Next::Rejoin(1)),
        (
            "it follows another",
            vec![writer(), follower(), follower()],
            vec![Nobody, Member(0), Member(1)],
            Next::Rejoin(2),
        ),
        ("it follows a stranger", vec![writer(), follower()], vec![Nobody, Stranger], Next::Nothing),
        ("it can't be told", vec![writer(), read_only(writer())], vec![Nobody, Unknown], Next::Nothing),
        ("it came back read-only", vec![read_only(writer()), follower()], vec![Nobody, Member(0)], Next::Resume),
        ("all follow another", vec![follower(), read_only(writer())], vec![Member(1), Nobody], Next::Appoint(1)),
    ];
    for (what, facts, follows, next) in cases {
        assert_eq!(decide_for(&facts, &follows, &mut Memory::new(facts.len())), next, "{what}");
    }
    // Made read-only while it ran: somebody wants it so.
    let mut memory = Memory::new(2);
    decide_for(&[writer(), follower()], &[Nobody, Member(0)], &mut memory);
    let next = decide_for(&[read_only(writer()), follower()], &[Nobody, Member(0)], &mut memory);
    assert!(matches!(&next, Next::Watch(why) if why.contains("read_only")), "{next:?}");
}

/// A server that takes writes, or not, in a group that calls it so.
fn member(now: Instant, writes: bool, state: MemberState) -> Fact {
    let of_group = GroupMember { uuid: "m".to_owned(), host: String::new(), port: 0, state, primary: writes };
    with(server(now, (!writes).then_some(0)), |standing| {
        standing.uuid = Some(of_group.uuid.clone());
        standing.source = None;
        standing.group_replication = Some(GroupReplication { members: vec![of_group], ..GroupReplication::default() });
    })
}

#[test]
fn a_member_that_has_failed_joins_again_if_it_does_not_by_itself() {
    use MemberState::{Error, Offline, Online, Recovering};
    let (settings, start) = (GroupSettings::default(), now());
    let mut memory = Memory::new(2);
    let mut next = |seconds: u64, state: MemberState, edit: &dyn Fn(&mut Memory, &mut [Fact], &mut GroupSettings)| {
        let now = start + Duration::from_secs(seconds);
        let (mut facts, mut settings) = ([member(now, true, Online), member(now, false, state)], settings.clone());
        edit(&mut memory, &mut facts, &mut settings);
        let sight = Sight { kind: GroupKind::GroupReplication, ..sight(&facts, &settings, now) };
        decide(&sight, &mut memory)
    };
    let as_is = |_: &mut Memory, _: &mut [Fact], _: &mut GroupSettings| {};
    assert_eq!(next(0, Error, &as_is), Next::Nothing, "it may come back by itself");
    assert_eq!(next(14, Error, &as_is), Next::Nothing);
    assert_eq!(next(15, Error, &as_is), Next::Join(1));
    assert_eq!(next(16, Error, &|_, facts, _| facts[0].up = false), Next::Nothing, "there is no group to join");
    assert_eq!(next(16, Error, &|_, facts, _| facts[1].up = false), Next::Nothing, "it can't be told to");
    assert_eq!(next(16, Error, &|_, _, settings| settings.automatic_failover = false), Next::Nothing);
    let rests = |memory: &mut Memory, _: &mut [Fact], _: &mut GroupSettings| {
        memory.rests_until[1] = Some(start + Duration::from_secs(30));
    };
    assert_eq!(next(16, Error, &rests), Next::Nothing, "it has just been told to");
    assert_eq!(next(30, Offline, &as_is), Next::Nothing, "somebody has stopped it");
    let in_vain =
        |memory: &mut Memory, _: &mut [Fact], _: &mut GroupSettings| memory.not_joined[1] = Some("late".into());
    assert_eq!(next(31, Offline, &in_vain), Next::Join(1), "Weir has stopped it");
    assert_eq!(next(32, Recovering, &as_is), Next::Nothing);
    assert_eq!(next(33, Online, &as_is), Next::Nothing);
    assert_eq!(next(34, Offline, &as_is), Next::Nothing, "it was a member since");
}
