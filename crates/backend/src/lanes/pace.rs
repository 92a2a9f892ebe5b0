//! How many lanes: few while batches pay, more while the server does more work for them.
//!
//! A pure state machine, told what each window of time has seen. The number of a server's cores is not known and is not
//! asked: another lane is tried while statements queue on those that are there, and kept only if the replies per second
//! rise. What must always hold: the number stays between one and the bound; a try that did not pay is not repeated soon.

/// Statements in flight per lane below which another lane is not worth trying.
const DEEP: f64 = 4.0;
/// Below this depth a lane is given up, after [`QUIET_WINDOWS`].
const SHALLOW: f64 = 1.2;
/// See [`SHALLOW`].
const QUIET_WINDOWS: u32 = 30;
/// By how much replies per second have to rise for a further lane to stay.
const PAYS: f64 = 1.06;
/// Windows that a number of lanes is measured for; one more before them lets it settle.
const MEASURED: u32 = 4;
/// Windows without a try after one that did not pay; doubled each time.
const FIRST_REST: u32 = 20;
/// The longest rest.
const LONGEST_REST: u32 = 1200;

/// What a window of time has seen of a group of lanes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Window {
    /// Replies per second.
    pub rate: f64,
    /// Statements in flight per lane, on average over the writes.
    pub depth: f64,
    /// Statements were turned away because all lanes were at their depth limit.
    pub full: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    /// Collecting the rate with the present number; then trying another if it is deep.
    Measuring { windows: u32, sum: f64 },
    /// Trying more lanes than `before`, which had `rate`.
    Trying { before: usize, rate: f64, windows: u32, sum: f64 },
    /// A try did not pay.
    Resting { windows: u32 },
}

/// The wanted number of lanes of one group.
#[derive(Debug, Clone, PartialEq)]
pub struct Pace {
    wanted: usize,
    state: State,
    rest: u32,
    quiet: u32,
}

const MEASURE: State = State::Measuring { windows: 0, sum: 0.0 };

impl Default for Pace {
    fn default() -> Self {
        Pace { wanted: 1, state: MEASURE, rest: FIRST_REST, quiet: 0 }
    }
}

impl Pace {
    /// The number of lanes that should be there.
    pub fn wanted(&self) -> usize {
        self.wanted
    }

    /// A window has passed. `most`: the bound on lanes.
    pub fn observe(&mut self, window: Window, most: usize) {
        let most = most.max(1);
        self.wanted = self.wanted.min(most);
        if window.full {
            self.grow(most);
            self.state = MEASURE;
            return;
        }
        if window.depth < SHALLOW {
            self.quiet += 1;
            if self.quiet >= QUIET_WINDOWS {
                self.quiet = 0;
                self.wanted = (self.wanted - 1).max(1);
            }
            self.state = MEASURE;
            return;
        }
        self.quiet = 0;
        self.state = match self.state {
            State::Resting { windows: 0 } => MEASURE,
            State::Resting { windows } => State::Resting { windows: windows - 1 },
            State::Measuring { windows, sum } if windows < MEASURED => {
                State::Measuring { windows: windows + 1, sum: sum + window.rate }
            }
            State::Measuring { windows, sum } => self.measured(sum / f64::from(windows), window.depth, most),
            // The first window lets the new number settle.
            State::Trying { windows: 0, before, rate, sum } => State::Trying { windows: 1, before, rate, sum },
            State::Trying { windows, before, rate, sum } if windows <= MEASURED => {
                State::Trying { windows: windows + 1, before, rate, sum: sum + window.rate }
            }
            State::Trying { before, rate, windows, sum } => self.tried(before, rate, sum / f64::from(windows - 1)),
        };
    }

    fn grow(&mut self, most: usize) {
        self.wanted = (self.wanted + self.wanted.div_ceil(2)).min(most);
    }

    fn measured(&mut self, rate: f64, depth: f64, most: usize) -> State {
        if depth < DEEP || self.wanted >= most {
            return MEASURE;
        }
        let before = self.wanted;
        self.grow(most);
        State::Trying { before, rate, windows: 0, sum: 0.0 }
    }

    fn tried(&mut self, before: usize, rate_before: f64, rate: f64) -> State {
        if rate >= rate_before * PAYS {
            self.rest = FIRST_REST;
            return MEASURE;
        }
        self.wanted = before;
        let windows = self.rest;
        self.rest = (self.rest * 2).min(LONGEST_REST);
        State::Resting { windows }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server whose cores each do 10,000 statements a second, asked by `clients` that wait for their replies.
    fn run(pace: &mut Pace, cores: usize, clients: usize, most: usize, windows: usize) -> Vec<usize> {
        (0..windows)
            .map(|_| {
                let lanes = pace.wanted();
                let rate = 10_000.0 * lanes.min(cores).min(clients) as f64;
                pace.observe(Window { rate, depth: clients as f64 / lanes as f64, full: false }, most);
                pace.wanted()
            })
            .collect()
    }

    #[test]
    fn lanes_grow_to_what_the_server_can_use_and_tries_become_rare() {
        let mut pace = Pace::default();
        let numbers = run(&mut pace, 8, 256, 32, 2000);
        let settled = &numbers[500..];
        let most = settled.iter().copied().max();
        assert!(most <= Some(18), "{most:?}");
        assert!(settled.iter().all(|n| *n >= 8), "all cores are used");
        let higher = settled.iter().filter(|n| **n > 12).count();
        assert!(higher < settled.len() / 10, "tries are rare: {higher}");
    }

    #[test]
    fn one_core_keeps_one_lane_most_of_the_time() {
        let mut pace = Pace::default();
        let numbers = run(&mut pace, 1, 256, 32, 2000);
        let more = numbers.iter().filter(|n| **n > 1).count();
        assert!(more < numbers.len() / 10, "{more}");
    }

    #[test]
    fn shallow_lanes_are_not_multiplied_and_are_given_up() {
        let mut pace = Pace::default();
        assert!(run(&mut pace, 8, 3, 32, 1000).iter().all(|n| *n == 1));
        run(&mut pace, 8, 256, 32, 500);
        let many = pace.wanted();
        assert!(many > 1);
        assert_eq!(run(&mut pace, 8, 1, 32, 1000).last(), Some(&1));
    }

    #[test]
    fn full_lanes_are_joined_by_others_at_once_up_to_the_bound() {
        let mut pace = Pace::default();
        let window = Window { rate: 1.0, depth: 500.0, full: true };
        let numbers: Vec<_> = (0..5)
            .map(|_| {
                pace.observe(window, 5);
                pace.wanted()
            })
            .collect();
        assert_eq!(numbers, [2, 3, 5, 5, 5]);
    }

    #[test]
    fn a_lower_bound_takes_lanes_away() {
        let mut pace = Pace::default();
        run(&mut pace, 8, 256, 32, 500);
        pace.observe(Window { rate: 1.0, depth: 9.0, full: false }, 2);
        assert_eq!(pace.wanted(), 2);
    }
}
