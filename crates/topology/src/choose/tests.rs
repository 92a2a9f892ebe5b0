use super::*;
use crate::view::{Member, WriterPosition};

/// What a worker knows, in a table.
#[derive(Default)]
struct Known {
    loads: Vec<usize>,
    late: Vec<usize>,
    excluded: Vec<usize>,
    reached: Option<(usize, u64)>,
    turn: usize,
    eager: bool,
}

impl Readers for Known {
    fn load(&self, index: usize) -> usize {
        self.loads.get(index).copied().unwrap_or_default()
    }
    fn is_late(&self, index: usize) -> bool {
        self.late.contains(&index)
    }
    fn is_excluded(&self, index: usize) -> bool {
        self.excluded.contains(&index)
    }
    fn has_reached(&self, index: usize, _: u64, position: &Position) -> bool {
        self.reached.is_some_and(|(of, sequence)| of == index && at(sequence).covers(position))
    }
    fn turn(&self) -> usize {
        self.turn
    }
    fn is_wanted(&self) -> bool {
        self.eager
    }
}

fn at(sequence: u64) -> Position {
    Position::parse(true, &format!("0-1-{sequence}")).expect("a position")
}

fn shared(sequence: u64) -> Option<Arc<Position>> {
    Some(Arc::new(at(sequence)))
}

/// A writer at 100, asked at `asked`, and readers at these positions.
fn view(asked: Instant, applied: &[u64]) -> View {
    let reader =
        |&sequence: &u64| Member { weight: 1, unusable: None, life: 1, applied: shared(sequence), as_of: Some(asked) };
    let writer = Member { weight: 0, ..reader(&100) };
    View {
        writer: 0,
        writer_unusable: None,
        writer_position: Some(WriterPosition { asked, position: Arc::new(at(100)) }),
        members: [writer].into_iter().chain(applied.iter().map(reader)).collect(),
        has_readers: !applied.is_empty(),
        max_lag: Duration::from_secs(10),
        writer_gone: None,
        kind: crate::GroupKind::Async,
    }
}

fn reader(index: usize, wait: Option<u64>) -> Choice {
    Choice::Reader { index, wait: wait.and_then(shared) }
}

const MS: Duration = Duration::from_millis(1);

/// How often each server is chosen in 10,000 turns, in percent.
fn shares(view: &View, seen: &Seen, level: Level, known: &mut Known, now: Instant) -> Vec<usize> {
    let mut counts = vec![0; view.members.len()];
    for turn in 0..10_000 {
        known.turn = turn;
        match choose(view, seen, level, known, now) {
            Choice::Reader { index, wait: None } => counts[index] += 1,
            Choice::Writer => counts[view.writer] += 1,
            other => panic!("{other:?}"),
        }
    }
    counts.into_iter().map(|count| (count + 50) / 100).collect()
}

#[test]
fn a_new_session_reads_anywhere_as_weights_and_loads_say() {
    let now = Instant::now();
    let mut view = view(now, &[90, 95]);
    let new = Seen::default();
    for level in [Level::Eventual, Level::Session] {
        assert_eq!(shares(&view, &new, level, &mut Known::default(), now), [0, 50, 50]);
        assert_eq!(
            shares(&view, &new, level, &mut Known { loads: vec![0, 3, 0], ..Known::default() }, now),
            [0, 20, 80]
        );
    }
    assert_eq!(choose(&view, &new, Level::Primary, &Known::default(), now), Choice::Writer);
    view.members[1].weight = 3;
    assert_eq!(shares(&view, &new, Level::Session, &mut Known::default(), now), [0, 75, 25]);
    assert_eq!(
        shares(&view, &new, Level::Session, &mut Known { excluded: vec![2], ..Known::default() }, now),
        [0, 100, 0]
    );
    assert_eq!(
        shares(&view, &new, Level::Session, &mut Known { excluded: vec![1, 2], ..Known::default() }, now),
        [100, 0, 0]
    );
}

#[test]
fn a_few_choices_in_a_row_are_spread_evenly_too() {
    let now = Instant::now();
    let view = view(now, &[100, 100, 100]);
    for first in 0..1_000 {
        let mut counts = [0; 3];
        for turn in first..first + 12 {
            match choose(&view, &Seen::default(), Level::Session, &Known { turn, ..Known::default() }, now) {
                Choice::Reader { index, .. } => counts[index - 1] += 1,
                other => panic!("{other:?}"),
            }
        }
        assert!(counts.iter().all(|count| (3..=5).contains(count)), "from turn {first}: {counts:?}");
    }
}

#[test]
fn an_eventual_read_is_within_the_bound_even_if_the_view_is_old() {
    let now = Instant::now();
    let (within, beyond) = (now + Duration::from_secs(10), now + Duration::from_secs(11));
    let mut view = view(now, &[90]);
    assert_eq!(choose(&view, &Seen::default(), Level::Eventual, &Known::default(), within), reader(1, None));
    assert_eq!(choose(&view, &Seen::default(), Level::Eventual, &Known::default(), beyond), Choice::Writer);
    view.writer_gone = Some(now + MS);
    assert_eq!(choose(&view, &Seen::default(), Level::Eventual, &Known::default(), beyond), reader(1, None));
}

#[test]
fn own_writes_are_waited_for_unless_a_reader_has_them() {
    let now = Instant::now();
    let mut seen = Seen::default();
    seen.wrote(at(93), true);
    let ahead = view(now, &[90, 95]);
    assert_eq!(choose(&ahead, &seen, Level::Session, &Known::default(), now), reader(2, None));
    assert_eq!(
        choose(&ahead, &seen, Level::Eventual, &Known { loads: vec![0, 0, 9], ..Known::default() }, now),
        reader(1, None)
    );
    let behind = view(now, &[90]);
    assert_eq!(choose(&behind, &seen, Level::Session, &Known::default(), now), reader(1, Some(93)));
    let reached = Known { reached: Some((1, 93)), ..Known::default() };
    assert_eq!(choose(&behind, &seen, Level::Session, &reached, now), reader(1, None));
    let late = Known { late: vec![1], ..Known::default() };
    assert_eq!(choose(&behind, &seen, Level::Session, &late, now), Choice::Writer);
}

#[test]
fn a_session_stays_with_its_reader_and_leaves_it_only_for_one_that_has_all_of_it() {
    let start = Instant::now();
    let mut seen = Seen::default();
    seen.read_on(1, 1, start + 10 * MS);
    let free = Known { loads: vec![0, usize::MAX / 2, 0], turn: 5, ..Known::default() };
    // Within the time, whatever the load.
    assert_eq!(
        choose(&view(start + 20 * MS, &[90, 100]), &seen, Level::Session, &free, start + 30 * MS),
        reader(1, None)
    );
    // Later, to a reader that has what the writer had after the read; not on older news.
    let later = start + 2 * STAY;
    assert_eq!(choose(&view(start + 20 * MS, &[90, 100]), &seen, Level::Session, &free, later), reader(2, None));
    assert_eq!(choose(&view(start + 5 * MS, &[90, 100]), &seen, Level::Session, &free, later), reader(1, None));
    // The reader is gone, or lives again: what it showed may be on no other yet.
    let gone = Known { excluded: vec![1], ..Known::default() };
    assert_eq!(choose(&view(start + 20 * MS, &[90, 95]), &seen, Level::Session, &gone, later), reader(2, Some(100)));
    assert_eq!(choose(&view(start + 5 * MS, &[90, 95]), &seen, Level::Session, &gone, later), Choice::Writer);
    let mut reborn = view(start + 20 * MS, &[90]);
    reborn.members[1].life = 2;
    assert_eq!(choose(&reborn, &seen, Level::Session, &Known::default(), start + 30 * MS), reader(1, Some(100)));
}

#[test]
fn what_was_seen_on_the_writer_is_not_unseen() {
    let start = Instant::now();
    let mut seen = Seen::default();
    seen.saw_writer(start + 10 * MS);
    let known = Known::default();
    assert_eq!(choose(&view(start + 20 * MS, &[100]), &seen, Level::Session, &known, start + 30 * MS), reader(1, None));
    assert_eq!(
        choose(&view(start + 20 * MS, &[95]), &seen, Level::Session, &known, start + 30 * MS),
        reader(1, Some(100))
    );
    assert_eq!(choose(&view(start + 5 * MS, &[100]), &seen, Level::Session, &known, start + 30 * MS), Choice::Writer);
    // A commit of its own after that covers it.
    seen.wrote(at(97), true);
    assert_eq!(choose(&view(start + 5 * MS, &[98]), &seen, Level::Session, &known, start + 30 * MS), reader(1, None));
    // Seen again, beyond its commit.
    seen.saw_writer(start + 15 * MS);
    assert_eq!(
        choose(&view(start + 20 * MS, &[98]), &seen, Level::Session, &known, start + 30 * MS),
        reader(1, Some(100))
    );
}

#[test]
fn a_session_that_the_writer_keeps_asks_for_a_position_after_a_while() {
    let start = Instant::now();
    let mut seen = Seen::default();
    seen.saw_writer(start + 10 * MS);
    seen.uncovered_since = Some(start + 10 * MS);
    let old = view(start + 5 * MS, &[95]);
    assert_eq!(choose(&old, &seen, Level::Session, &Known::default(), start + 20 * MS), Choice::Writer);
    assert_eq!(choose(&old, &seen, Level::Session, &Known::default(), start + 300 * MS), Choice::Ask);
    seen.uncovered_since = None;
    assert_eq!(
        choose(&old, &seen, Level::Session, &Known { eager: true, ..Known::default() }, start + 20 * MS),
        Choice::Ask
    );
    seen.covered_by(Arc::new(at(99)));
    assert_eq!(choose(&old, &seen, Level::Session, &Known::default(), start + 300 * MS), reader(1, Some(99)));
}

#[test]
fn the_writer_has_its_share_if_it_has_a_weight() {
    let now = Instant::now();
    let mut view = view(now, &[90]);
    view.members[0].weight = 1;
    for level in [Level::Eventual, Level::Session] {
        assert_eq!(shares(&view, &Seen::default(), level, &mut Known::default(), now), [50, 50]);
    }
}
