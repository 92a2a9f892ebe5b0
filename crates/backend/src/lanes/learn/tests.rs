use super::*;

mod machines;

const MS: Duration = Duration::from_millis(1);
const SHORT: Run = Run { time: Duration::from_micros(100), bytes: 200, clean: true };
const STALL: Duration = Duration::from_millis(100);

fn scale() -> Scale {
    Scale::new(Duration::from_micros(50), STALL)
}

fn runs_until_it_rides(learnt: &mut DigestRecord, now: Instant) -> u32 {
    (1..=LONGEST_PROOF)
        .find(|_| {
            learnt.ran(SHORT, scale(), now);
            learnt.rides()
        })
        .expect("it rides in the end")
}

fn rides(learnt: &mut DigestRecord, work: Duration, times: u32, now: Instant) {
    (0..times).for_each(|_| learnt.rode(Rode { work, bytes: 100 }, scale(), now));
}

#[test]
fn what_is_long_follows_what_a_trivial_statement_takes() {
    assert_eq!(scale().long, SHORT_TIME);
    assert_eq!(Scale::new(Duration::ZERO, STALL).long, SHORT_TIME);
    assert_eq!(Scale::new(MS / 4, STALL).long, 25 * MS);
    assert_eq!(Scale::new(5 * MS, STALL), Scale { long: 50 * MS, stall: STALL });
    assert_eq!(Scale::new(30 * MS, STALL), Scale { long: 120 * MS, stall: 120 * MS });
}

#[test]
fn a_digest_rides_after_a_few_clean_runs_of_which_one_was_short() {
    let now = Instant::now();
    let mut learnt = DigestRecord::default();
    learnt.ran(SHORT, scale(), now);
    learnt.ran(Run { time: SHORT_TIME * 20, ..SHORT }, scale(), now);
    assert!(!learnt.rides());
    learnt.ran(Run { time: SHORT_TIME * 20, ..SHORT }, scale(), now);
    assert!(learnt.rides());
}

#[test]
fn long_large_and_unclean_runs_prove_nothing() {
    for bad in
        [Run { time: SHORT_TIME * 2, ..SHORT }, Run { bytes: SHORT_BYTES + 1, ..SHORT }, Run { clean: false, ..SHORT }]
    {
        let mut learnt = DigestRecord::default();
        (0..100).for_each(|n| learnt.ran(bad, scale(), Instant::now() + n * 10 * MS));
        assert!(!learnt.rides(), "{bad:?}");
    }
}

#[test]
fn a_short_run_of_long_ago_proves_nothing() {
    let start = Instant::now();
    let mut learnt = DigestRecord::default();
    learnt.ran(SHORT, scale(), start);
    learnt.ran(Run { bytes: SHORT_BYTES + 1, ..SHORT }, scale(), start);
    for n in 0..100 {
        learnt.good = 0;
        learnt.ran(Run { time: SHORT_TIME * 2, ..SHORT }, scale(), start + n * 100 * MS);
    }
    (0..100).for_each(|_| learnt.ran(Run { time: SHORT_TIME * 2, ..SHORT }, scale(), start + 11_000 * MS));
    assert!(!learnt.rides());
}

#[test]
fn each_large_or_unclean_reply_asks_for_a_longer_proof_up_to_a_bound() {
    let now = Instant::now();
    let mut learnt = DigestRecord::default();
    let mut asked = Vec::new();
    for _ in 0..8 {
        asked.push(runs_until_it_rides(&mut learnt, now));
        learnt.unfit(Unfit::Large);
        assert!(!learnt.rides());
    }
    assert_eq!(asked, [3, 12, 48, 192, 768, 3072, LONGEST_PROOF, LONGEST_PROOF]);
}

#[test]
fn a_few_long_rides_among_many_short_ones_are_borne_and_several_close_together_are_not() {
    let now = Instant::now();
    let mut learnt = DigestRecord::default();
    runs_until_it_rides(&mut learnt, now);
    for _ in 0..20 {
        rides(&mut learnt, SHORT_TIME * 5, 1, now);
        rides(&mut learnt, SHORT.time, 64, now);
    }
    assert!(learnt.rides());
    rides(&mut learnt, SHORT_TIME * 5, 3, now);
    assert!(!learnt.rides());
}

#[test]
fn each_failure_doubles_the_rest_and_riding_well_halves_it() {
    let mut now = Instant::now();
    let mut learnt = DigestRecord::default();
    let mut rested = Vec::new();
    for _ in 0..10 {
        runs_until_it_rides(&mut learnt, now);
        rides(&mut learnt, SHORT_TIME * 5, 3, now);
        let left = now;
        while !learnt.rides() {
            now += 10 * MS;
            learnt.ran(SHORT, scale(), now);
        }
        rested.push(now.saturating_duration_since(left).as_millis());
    }
    assert_eq!(rested, [500, 1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 64_000, 64_000]);
    for _ in 0..600 {
        now += 1000 * MS;
        rides(&mut learnt, SHORT.time, 10, now);
    }
    assert_eq!(learnt.failures, 0);
}

#[test]
fn one_that_holds_its_lane_up_leaves_at_once() {
    let now = Instant::now();
    let mut learnt = DigestRecord::default();
    runs_until_it_rides(&mut learnt, now);
    rides(&mut learnt, STALL + MS, 1, now);
    assert!(!learnt.rides());
    (0..100).for_each(|_| learnt.ran(SHORT, scale(), now + 490 * MS));
    assert!(!learnt.rides());
    learnt.ran(SHORT, scale(), now + 500 * MS);
    assert!(learnt.rides());
}

#[test]
fn a_long_time_of_good_rides_is_rewarded() {
    let now = Instant::now();
    let mut learnt = DigestRecord::default();
    learnt.unfit(Unfit::Unclean);
    assert_eq!(runs_until_it_rides(&mut learnt, now), 24);
    rides(&mut learnt, SHORT.time, FORGIVEN_AFTER, now);
    learnt.unfit(Unfit::Large);
    assert_eq!(runs_until_it_rides(&mut learnt, now), 48);
}
