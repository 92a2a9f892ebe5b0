use weir_backend::Position;

use super::*;
use crate::fixtures;
use crate::level::Level;

const LAG: Duration = Duration::from_secs(10);

fn settings() -> GroupSettings {
    GroupSettings {
        name: "main".to_owned(),
        level: Level::Session,
        max_lag: LAG,
        read_wait: Duration::ZERO,
        writer_wait: Duration::ZERO,
        ..GroupSettings::default()
    }
}

fn fact(now: Instant, read_only: bool) -> Fact {
    let position = Position::parse(true, "0-1-5").expect("a position");
    fixtures::fact(Some(fixtures::observation(now, read_only, position)), None)
}

fn down(now: Instant, seconds: u64) -> Fact {
    let down_for = Duration::from_secs(seconds);
    Fact { up: false, why_down: "refused".to_owned(), down_for, silent_for: down_for, ..fact(now, false) }
}

/// What each member is used for: `w` writes, `W` is the writer but can't be used, `r` takes reads, `-` neither.
fn uses(view: &View) -> String {
    let letter = |index: usize| match (index == view.writer, view.members[index].unusable.is_none()) {
        (true, true) => 'w',
        (true, false) => 'W',
        (false, true) => 'r',
        (false, false) => '-',
    };
    (0..view.members.len()).map(letter).collect()
}

#[test]
fn readers_take_reads_while_nothing_speaks_against_them() {
    // Times lie before `now`: leave room.
    let now = Instant::now() + Duration::from_secs(100);
    let ago = |seconds| now.checked_sub(Duration::from_secs(seconds));
    let reader = fact(now, true);
    let without_gtids = || {
        let observation =
            Observation { has_gtids: false, ..reader.observation.as_deref().expect("it has one").clone() };
        Fact { observation: Some(Arc::new(observation)), ..reader.clone() }
    };
    let cases: [(&str, Fact, bool); 8] = [
        ("nothing", reader.clone(), true),
        ("down", down(now, 1), false),
        ("another kind", Fact { same_kind: false, ..reader.clone() }, false),
        ("no GTIDs", without_gtids(), false),
        ("never asked", Fact { observation: None, ..reader.clone() }, false),
        ("a little lag", Fact { as_of: ago(4), ..reader.clone() }, true),
        ("much lag", Fact { as_of: ago(11), ..reader.clone() }, false),
        ("unknown lag", Fact { as_of: None, ..reader.clone() }, false),
    ];
    for (what, fact_of_reader, takes) in cases {
        let mut state = State::new(0, 2);
        let view = decide(&[fact(now, false), fact_of_reader], &mut state, &settings(), now);
        assert_eq!(uses(&view), if takes { "wr" } else { "w-" }, "{what}");
        assert_eq!(view.has_readers, takes, "{what}");
    }
}

#[test]
fn a_reader_with_other_defaults_takes_no_reads_once_that_has_lasted() {
    let now = Instant::now();
    let with_mode = |read_only, mode: &str| {
        let mut standing = fixtures::standing(now);
        standing.defaults = [("sql_mode".to_owned(), mode.to_owned())].into();
        Fact { standing: Some(Arc::new(standing)), ..fact(now, read_only) }
    };
    let settings = GroupSettings { kind: Some(GroupKind::Static), max_lag: Duration::from_secs(60), ..settings() };
    let mut state = State::new(0, 2);
    let mut seen = |mode, seconds| {
        let facts = [with_mode(false, "ANSI"), with_mode(true, mode)];
        decide(&facts, &mut state, &settings, now + Duration::from_secs(seconds))
    };
    assert_eq!(uses(&seen("", 0)), "w-", "it was not in rotation");
    assert_eq!(uses(&seen("ANSI", 1)), "wr");
    assert_eq!(uses(&seen("", 2)), "wr", "SET GLOBAL may be on its way");
    assert_eq!(uses(&seen("ANSI", 3)), "wr");
    assert_eq!(uses(&seen("", 4)), "wr");
    let view = seen("", 7);
    assert_eq!(uses(&view), "w-");
    let why = "its sessions begin with sql_mode = '', those of the writer with 'ANSI'";
    assert_eq!(view.members[1].unusable.as_deref(), Some(why));
    assert_eq!(uses(&seen("ANSI", 8)), "wr");
}

#[test]
fn readers_take_reads_when_a_silent_writer_is_found_to_hang() {
    let now = Instant::now() + Duration::from_secs(100);
    let ago = |seconds| now.checked_sub(Duration::from_secs(seconds));
    let reader = Fact { as_of: ago(13), ..fact(now, true) };
    let silent = Fact { silent_for: Duration::from_secs(12), ..down(now, 1) };
    let uses_with = |writer| uses(&decide(&[writer, reader.clone()], &mut State::new(0, 2), &settings(), now));
    assert_eq!(uses_with(silent), "Wr");
    assert_eq!(uses_with(down(now, 1)), "W-");
}

#[test]
fn a_reader_that_lagged_comes_back_only_when_it_has_caught_up_well() {
    let now = Instant::now() + Duration::from_secs(100);
    let mut state = State::new(0, 2);
    let lags = [0, 9, 11, 9, 6, 4, 9];
    let uses_at = |seconds: &u64| {
        let reader = Fact { as_of: now.checked_sub(Duration::from_secs(*seconds)), ..fact(now, true) };
        uses(&decide(&[fact(now, false), reader], &mut state, &settings(), now))
    };
    assert_eq!(lags.iter().map(uses_at).collect::<Vec<_>>(), ["wr", "wr", "w-", "w-", "w-", "wr", "wr"]);
}

#[test]
fn a_dead_writer_does_not_age_its_readers() {
    let now = Instant::now() + Duration::from_secs(1000);
    let mut state = State::new(0, 2);
    let view = decide(&[fact(now, false), fact(now, true)], &mut state, &settings(), now);
    assert_eq!(uses(&view), "wr");
    let reader = Fact { as_of: now.checked_sub(Duration::from_secs(601)), ..fact(now, true) };
    let view = decide(&[down(now, 600), reader], &mut state, &settings(), now);
    assert_eq!(uses(&view), "Wr");
    assert_eq!(view.writer_unusable.as_deref(), Some("refused"));
}

#[test]
fn the_writer_changes_only_to_a_server_that_was_promoted() {
    let now = Instant::now() + Duration::from_secs(100);
    let (rw, ro, gone) = (|| fact(now, false), || fact(now, true), || down(now, 1));
    // Each case is a history of facts, and who writes at its end.
    let cases: [(&str, Vec<Vec<Fact>>, usize); 8] = [
        ("a writable replica is no reason", vec![vec![rw(), rw()]], 0),
        ("a dead writer is no reason", vec![vec![rw(), rw()], vec![gone(), rw()]], 0),
        ("a read-only writer and a replica that was always writable", vec![vec![rw(), rw()], vec![ro(), rw()]], 0),
        ("promoted by hand", vec![vec![rw(), ro()], vec![ro(), ro()], vec![ro(), rw()]], 1),
        ("promoted after the writer died", vec![vec![rw(), ro()], vec![gone(), ro()], vec![gone(), rw()]], 1),
        ("promoted while the writer still writes", vec![vec![rw(), ro()], vec![rw(), rw()]], 0),
        ("two promoted at once", vec![vec![rw(), ro(), ro()], vec![ro(), rw(), rw()]], 0),
        ("at the start, the only one that writes", vec![vec![ro(), rw(), ro()]], 1),
    ];
    for (what, history, writer) in cases {
        let mut state = State::new(0, history[0].len());
        let views: Vec<_> = history.iter().map(|facts| decide(facts, &mut state, &settings(), now)).collect();
        assert_eq!(views.last().map(|view| view.writer), Some(writer), "{what}");
    }
}

#[test]
fn who_took_writes_beside_the_writer_was_not_promoted() {
    let now = Instant::now() + Duration::from_secs(100);
    let later = now + Duration::from_secs(1);
    let mut state = State::new(0, 2);
    let mut step = |facts: &[Fact]| decide(facts, &mut state, &settings(), now).writer;
    assert_eq!(step(&[fact(now, false), fact(now, true)]), 0);
    // Seen read-only once, now both take writes, and the writer was asked after the other.
    assert_eq!(step(&[fact(later, false), fact(now, false)]), 0);
    assert_eq!(step(&[down(later, 1), fact(later, false)]), 0, "a blip of the writer");
    // Promoted between two looks: the writer was asked before.
    assert_eq!(step(&[fact(now, false), fact(now, true)]), 0);
    assert_eq!(step(&[fact(now, false), fact(later, false)]), 0);
    assert_eq!(step(&[fact(later, true), fact(later, false)]), 1);
}

#[test]
fn an_old_writer_that_comes_back_stays_what_it_has_become() {
    let now = Instant::now() + Duration::from_secs(100);
    let mut state = State::new(0, 2);
    let mut step = |facts: &[Fact]| decide(facts, &mut state, &settings(), now).writer;
    assert_eq!(step(&[fact(now, false), fact(now, true)]), 0);
    assert_eq!(step(&[down(now, 1), fact(now, false)]), 1);
    assert_eq!(step(&[fact(now, false), fact(now, false)]), 1, "two that take writes: it stays");
    assert_eq!(step(&[fact(now, false), fact(now, true)]), 1, "seen to take writes always since it came back");
}

#[test]
fn what_a_hand_says_holds() {
    let now = Instant::now() + Duration::from_secs(100);
    let mut state = State::new(0, 2);
    state.set_writer(1);
    let view = decide(&[fact(now, false), fact(now, false)], &mut state, &settings(), now);
    assert_eq!(uses(&view), "rw");
}

#[test]
fn who_is_remembered_stays_the_writer_though_the_old_one_is_back() {
    let now = Instant::now() + Duration::from_secs(100);
    let life = |fact: Fact, life: u64| {
        let observation = Observation { life, ..fact.observation.as_deref().expect("it has one").clone() };
        Fact { observation: Some(Arc::new(observation)), ..fact }
    };
    let follows = |fact: Fact, whom: Follows| Fact { follows: whom, ..fact };
    let step = |state: &mut State, facts: &[Fact]| decide(facts, state, &settings(), now).writer;
    // Not even as the only server that takes writes.
    let mut state = State::remembering(1, GroupKind::Async, 2);
    assert_eq!(step(&mut state, &[fact(now, false), down(now, 1)]), 1);
    assert_eq!(step(&mut state, &[fact(now, false), fact(now, true)]), 1);
    assert_eq!(
        step(&mut state, &[life(fact(now, false), 2), fact(now, true)]),
        1,
        "it was never seen to refuse writes"
    );
    // A tool that follows its own rules has promoted it.
    let mut state = State::remembering(1, GroupKind::Static, 2);
    assert_eq!(step(&mut state, &[fact(now, false), fact(now, true)]), 0);
    // Somebody has changed the writer meanwhile.
    let mut state = State::remembering(1, GroupKind::Async, 2);
    let promoted = follows(fact(now, false), Follows::Nobody);
    assert_eq!(step(&mut state, &[promoted, follows(fact(now, true), Follows::Member(0))]), 0);
}

#[test]
fn a_server_that_has_restarted_with_writes_allowed_was_not_promoted() {
    let now = Instant::now() + Duration::from_secs(100);
    let async_settings = GroupSettings { kind: Some(GroupKind::Async), ..settings() };
    let at = |fact: Fact, start: u64, sequence: u64| {
        let position = Arc::new(Position::parse(true, &format!("0-1-{sequence}")).expect("a position"));
        let observation = fact.observation.as_deref().expect("it has one").clone();
        let observation = Observation { life: 2, start, visible: position.clone(), applied: position, ..observation };
        Fact { observation: Some(Arc::new(observation)), ..fact }
    };
    let cases = [
        ("the same start, on a new connection", 1, 5, 1),
        ("restarted, and lacks data", 2, 5, 0),
        ("restarted, with all data", 2, 7, 1),
    ];
    for (what, start, sequence, writer) in cases {
        let mut state = State::new(0, 2);
        let writes = at(fact(now, false), 1, 7);
        let mut step = |facts: &[Fact]| decide(facts, &mut state, &async_settings, now).writer;
        assert_eq!(step(&[writes.clone(), at(fact(now, true), 1, 5)]), 0);
        let gone = Fact { up: false, down_for: Duration::from_secs(1), ..writes };
        assert_eq!(step(&[gone, at(fact(now, false), start, sequence)]), writer, "{what}");
    }
}
