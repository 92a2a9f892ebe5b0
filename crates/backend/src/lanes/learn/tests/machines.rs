//! The learner on simulated machines of any speed: what rides, and what long statements cost the others.
//!
//! Time is simulated and chance is seeded. A machine works at a speed, may have a quota of its time and may stop; on it run
//! a lane (one statement after another) and statements on connections of their own, which wait for each other. Every
//! 25 ms a trivial statement is sent, as the monitor does.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::*;
use crate::pulse::{Pulse, SLOW_BEAT};

/// What a statement that reads one row works on a machine of speed 1.
const POINT: Duration = Duration::from_micros(200);
/// What a trivial statement works there.
const TRIVIAL: Duration = Duration::from_micros(50);
const SECOND: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy)]
struct Machine {
    /// How many times slower than speed 1.
    slow: u32,
    /// The part of each 100 ms that it works, in ms.
    quota: u32,
    /// It stops here for 2 s.
    stops: Option<Duration>,
    /// Now and then other processes take the processor for up to so long.
    noise: Duration,
}

const MACHINES: [Machine; 8] = {
    let plain = Machine { slow: 1, quota: 100, stops: None, noise: Duration::ZERO };
    let stops = Some(Duration::from_secs(6));
    let noise = Duration::from_millis(12);
    [
        plain,
        Machine { slow: 3, ..plain },
        Machine { slow: 10, ..plain },
        Machine { quota: 34, ..plain },
        Machine { slow: 3, quota: 20, ..plain },
        Machine { noise, ..plain },
        Machine { stops, ..plain },
        Machine { slow: 10, quota: 50, stops, noise },
    ]
};

/// A generator of chance: xorshift.
struct Chance(u64);

impl Chance {
    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % below
    }
}

impl Machine {
    /// When what begins at `at` is done that works for `work` on a machine of speed 1.
    fn done(&self, at: Duration, work: Duration) -> Duration {
        let mut left = work * self.slow;
        let mut now = at;
        let period = 100 * MS;
        loop {
            if let Some(stop) = self.stops.filter(|stop| (*stop..*stop + 2 * SECOND).contains(&now)) {
                now = stop + 2 * SECOND;
            }
            let into = Duration::from_nanos((now.as_nanos() % period.as_nanos()) as u64);
            let (open, begin) = (self.quota * MS, now - into);
            if into >= open {
                now = begin + period;
                continue;
            }
            let until = begin + if self.quota == 100 { period } else { open };
            let until = self.stops.filter(|stop| *stop > now).map_or(until, |stop| until.min(stop));
            if now + left <= until {
                return now + left;
            }
            left -= until - now;
            now = until;
        }
    }
}

/// Statements of one digest: what the next one works, and how many of ten statements are of it.
type Work = fn(&mut Chance) -> Duration;

struct Kind {
    work: Work,
    learnt: DigestRecord,
    rode: u64,
    ran: u64,
    /// When it last did not ride.
    last_run: Duration,
    /// What its long rides occupied the lane for.
    occupied: Duration,
}

struct World {
    machine: Machine,
    start: Instant,
    chance: Chance,
    now: Duration,
    pulse: Pulse,
    /// The next beat, or the end of the one that is awaited.
    beat: (Duration, Option<Duration>),
    kinds: Vec<Kind>,
    scale: (Instant, Scale),
    /// What runs on connections of its own: when it ends and began, of which kind it is, and among how many others.
    running: BinaryHeap<Reverse<(Duration, Duration, usize, usize)>>,
}

impl World {
    fn new(machine: Machine, works: &[Work]) -> World {
        let kind = |work: &Work| Kind {
            work: *work,
            learnt: DigestRecord::default(),
            rode: 0,
            ran: 0,
            last_run: Duration::ZERO,
            occupied: Duration::ZERO,
        };
        let start = Instant::now();
        World {
            machine,
            start,
            scale: (start, Scale::new(Duration::ZERO, STALL)),
            running: BinaryHeap::new(),
            chance: Chance(0x9e37_79b9_7f4a_7c15),
            now: Duration::ZERO,
            pulse: Pulse::default(),
            beat: (Duration::ZERO, None),
            kinds: works.iter().map(kind).collect(),
        }
    }

    fn beat_until(&mut self, now: Duration) {
        loop {
            match self.beat {
                (_, Some(end)) if end <= now => {
                    self.pulse.answered(self.start + end);
                    let pause = if end - self.beat.0 > SLOW_BEAT { Duration::ZERO } else { 25 * MS };
                    self.beat = (end + pause, None);
                }
                (next, None) if next <= now => {
                    self.pulse.sent(self.start + next);
                    self.beat = (next, Some(self.machine.done(next, TRIVIAL)));
                }
                _ => return,
            }
        }
    }

    /// One statement of a kind, while `others` statements run on connections of their own; few of them when the first
    /// kind rides.
    fn step(&mut self, kind: usize, others: u32) {
        let mut work = (self.kinds[kind].work)(&mut self.chance);
        let noise = self.machine.noise.as_micros() as u64;
        if noise > 0 && self.chance.next(30) == 0 {
            work += Duration::from_micros(self.chance.next(noise)) / self.machine.slow;
        }
        let rides = self.kinds[kind].learnt.rides();
        let begun = self.now;
        let others = if self.kinds[0].learnt.rides() { others / 20 } else { others };
        // On a connection of its own it waits for some of the others.
        let waits = if rides { 0 } else { self.chance.next(u64::from(others) * 2 + 1) as u32 };
        let end = self.machine.done(begun, work + POINT * waits);
        if !rides {
            self.running.push(Reverse((end, begun, kind, others as usize)));
            // The others run at the same time.
            self.now = self.machine.done(begun, POINT + TRIVIAL);
            return self.note_runs();
        }
        self.ride(kind, work > SHORT_TIME, end);
    }

    /// A statement of a kind is the head of the lane until `end`, or until it holds the lane up.
    fn ride(&mut self, kind: usize, long: bool, end: Duration) {
        let begun = self.now;
        let work = loop {
            self.now = (self.now + 25 * MS).min(end);
            let scale = self.scale_at(self.now);
            let (since, now) = (self.start + begun, self.start + self.now);
            let work = (self.now - begun).saturating_sub(self.pulse.waited(since, now));
            let learnt = &mut self.kinds[kind].learnt;
            if self.now == end {
                learnt.rode(Rode { work, bytes: 100 }, scale, now);
                break work;
            } else if work > scale.stall {
                learnt.held_up_others(now);
                break work;
            }
        };
        let state = &mut self.kinds[kind];
        state.rode += 1;
        state.occupied += if long { work } else { Duration::ZERO };
    }

    fn scale_at(&mut self, now: Duration) -> Scale {
        self.beat_until(now);
        let at = self.start + now;
        if at >= self.scale.0 + 20 * MS {
            self.scale = (at, Scale::new(self.pulse.least(), STALL));
        }
        self.scale.1
    }

    /// Tells the learner of what has ended by now on connections of its own.
    fn note_runs(&mut self) {
        while let Some(Reverse((end, begun, kind, others))) = self.running.peek().copied()
            && end <= self.now
        {
            self.running.pop();
            let scale = self.scale_at(end);
            let state = &mut self.kinds[kind];
            let run = Run { time: end - begun, ..SHORT };
            state.learnt.ran(run.among(others), scale, self.start + end);
            state.ran += 1;
            state.last_run = begun;
        }
    }

    fn run(&mut self, until: Duration, others: u32, mix: &[usize]) {
        while self.now < until {
            let kind = mix[self.chance.next(mix.len() as u64) as usize];
            self.step(kind, others);
        }
    }
}

fn point(_: &mut Chance) -> Duration {
    POINT
}

#[test]
fn short_statements_ride_on_every_machine_and_stay() {
    for machine in MACHINES {
        for others in [0, 16, 256, 1000] {
            let mut world = World::new(machine, &[point, point]);
            // The second is rare.
            let mix: Vec<usize> = (0..50).map(|n| usize::from(n == 0)).collect();
            world.run(20 * SECOND, others, &mix);
            for kind in &world.kinds {
                assert!(kind.last_run < 2 * SECOND, "{machine:?} {others}: last at {:?}", kind.last_run);
                assert!(kind.rode > kind.ran * 10, "{machine:?} {others}: {} of {}", kind.rode, kind.rode + kind.ran);
            }
        }
    }
}

#[test]
fn really_long_statements_hardly_ever_ride() {
    for machine in MACHINES {
        for others in [0, 256] {
            let mut world =
                World::new(machine, &[point, |_| 60 * MS, |chance| 200 * MS * chance.next(5) as u32 + 25 * MS]);
            world.run(60 * SECOND, others, &[0, 0, 0, 0, 1, 2]);
            for kind in &world.kinds[1..] {
                // Among many others it can't be told before it has tried.
                let bound = if others == 0 { Duration::ZERO } else { 1500 * MS };
                assert!(kind.occupied <= bound, "{machine:?} {others}: {} rode, {:?}", kind.rode, kind.occupied);
            }
            assert!(world.kinds[0].learnt.rides(), "{machine:?} {others}");
        }
    }
}

#[test]
fn what_is_long_by_its_values_costs_the_others_next_to_nothing() {
    let alternating: [Work; 3] = [
        |chance| if chance.next(2) == 0 { POINT } else { 60 * MS },
        |chance| if chance.next(50) == 0 { 90 * MS } else { POINT },
        |chance| if chance.next(1000) == 0 { SECOND } else { POINT },
    ];
    for machine in MACHINES {
        for work in alternating {
            let mut world = World::new(machine, &[point, work]);
            let all = 120 * SECOND;
            world.run(all, 64, &[0, 0, 0, 1]);
            let cost = world.kinds[1].occupied;
            assert!(cost < all / 40, "{machine:?}: {cost:?} of {all:?}");
            let short = &world.kinds[0];
            assert!(short.rode > short.ran * 10, "{machine:?}: {} rode, {} ran", short.rode, short.ran);
        }
    }
}

#[test]
fn a_server_that_stops_takes_nothing_off_its_lanes() {
    let stops = Some(3 * SECOND);
    for machine in MACHINES.map(|machine| Machine { stops, ..machine }) {
        let mut world = World::new(machine, &[point]);
        world.run(3 * SECOND, 1000, &[0]);
        assert!(world.kinds[0].learnt.rides(), "{machine:?}");
        let ran = world.kinds[0].ran;
        world.run(10 * SECOND, 1000, &[0]);
        assert_eq!(world.kinds[0].ran, ran, "{machine:?}");
    }
}
