//! How many lanes: few while batches pay, more while the server does more work for them.
//!
//! A pure state machine, told what each window of time has seen. The number of a server's cores is not known and is not
//! asked: when statements queue on the lanes that are there, another number is tried, in turn with the present one (A B A
//! B), and kept if the replies per second rise; a smaller number is kept if they do not fall. What must always hold: the
//! number stays between one and the bound; a try that did not pay is not repeated soon.

/// Statements in flight per lane below which another lane is not worth trying.
const DEEP: f64 = 4.0;
/// Below this depth a lane is given up, after [`QUIET_WINDOWS`].
const SHALLOW: f64 = 1.2;
/// See [`SHALLOW`].
const QUIET_WINDOWS: u32 = 30;
/// By how much replies per second have to rise for more lanes to stay.
const MORE_PAY: f64 = 1.06;
/// The share of the replies per second that must remain for a smaller number of lanes to be kept.
const FEWER_SUFFICE: f64 = 0.98;
/// Pairs of rates that a trial compares.
const PAIRS: usize = 4;
/// Windows without a trial after one that did not pay; doubled each time.
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

/// Another number of lanes, in turn with the present one.
#[derive(Debug, Clone, PartialEq)]
struct Trial {
    other: usize,
    /// Measured rates, of the present number and the other by turns.
    rates: Vec<f64>,
    /// The first window with a number lets it settle.
    settled: bool,
}

impl Trial {
    /// The middle of the pairs' ratios.
    fn ratio(&self) -> f64 {
        let mut ratios: Vec<f64> = self.rates.chunks_exact(2).map(|pair| pair[1] / pair[0].max(1.0)).collect();
        ratios.sort_by(f64::total_cmp);
        (ratios[(PAIRS - 1) / 2] + ratios[PAIRS / 2]) / 2.0
    }
}

/// The wanted number of lanes of one group.
#[derive(Debug, Clone, PartialEq)]
pub struct Pace {
    lanes: usize,
    trial: Option<Trial>,
    /// Windows until the next trial.
    wait: u32,
    rest: u32,
    /// The next trial is of fewer lanes.
    fewer: bool,
    quiet: u32,
}

impl Default for Pace {
    fn default() -> Self {
        Pace { lanes: 1, trial: None, wait: FIRST_REST, rest: FIRST_REST, fewer: false, quiet: 0 }
    }
}

impl Pace {
    /// The number of lanes to use now.
    pub fn wanted(&self) -> usize {
        match &self.trial {
            Some(trial) if trial.rates.len() % 2 == 1 => trial.other,
            _ => self.lanes,
        }
    }

    /// A window has passed. `most`: the bound on lanes.
    pub fn observe(&mut self, window: Window, most: usize) {
        let most = most.max(1);
        self.lanes = self.lanes.min(most);
        if window.full {
            self.lanes = more(self.lanes).min(most);
            self.trial = None;
        } else if window.depth < SHALLOW {
            self.observe_quiet();
        } else if let Some(trial) = self.trial.take() {
            self.quiet = 0;
            self.go_on(trial, window.rate);
        } else {
            self.quiet = 0;
            self.wait = self.wait.saturating_sub(1);
            if self.wait == 0 && window.depth >= DEEP {
                self.begin_trial(most);
            }
        }
    }

    fn observe_quiet(&mut self) {
        self.trial = None;
        self.quiet += 1;
        if self.quiet >= QUIET_WINDOWS {
            self.quiet = 0;
            self.lanes = (self.lanes - 1).max(1);
        }
    }

    fn begin_trial(&mut self, most: usize) {
        let other = if self.fewer { fewer(self.lanes) } else { more(self.lanes).min(most) };
        self.fewer = !self.fewer;
        if other != self.lanes {
            self.trial = Some(Trial { other, rates: Vec::with_capacity(2 * PAIRS), settled: false });
        }
    }

    fn go_on(&mut self, mut trial: Trial, rate: f64) {
        if !trial.settled {
            trial.settled = true;
            self.trial = Some(trial);
            return;
        }
        trial.settled = false;
        trial.rates.push(rate);
        if trial.rates.len() < 2 * PAIRS {
            self.trial = Some(trial);
            return;
        }
        let wanted = if trial.other > self.lanes { MORE_PAY } else { FEWER_SUFFICE };
        if trial.ratio() >= wanted {
            self.fewer = trial.other < self.lanes;
            self.lanes = trial.other;
            self.rest = FIRST_REST;
            self.wait = 1;
        } else {
            self.wait = self.rest;
            self.rest = (self.rest * 2).min(LONGEST_REST);
        }
    }
}

fn more(lanes: usize) -> usize {
    lanes + lanes.div_ceil(2)
}

fn fewer(lanes: usize) -> usize {
    (lanes * 2 / 3).max(1)
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
        let numbers = run(&mut pace, 8, 256, 32, 4000);
        let settled = &numbers[1000..];
        let used = settled.iter().filter(|n| (8..=12).contains(*n)).count();
        assert!(used > settled.len() * 9 / 10, "{used} of {}", settled.len());
    }

    #[test]
    fn one_core_keeps_one_lane_most_of_the_time() {
        let mut pace = Pace::default();
        let numbers = run(&mut pace, 1, 256, 32, 4000);
        let more = numbers.iter().filter(|n| **n > 1).count();
        assert!(more < numbers.len() / 10, "{more}");
    }

    #[test]
    fn lanes_that_came_without_need_go_again_under_load() {
        let mut pace = Pace::default();
        (0..4).for_each(|_| pace.observe(Window { rate: 1.0, depth: 500.0, full: true }, 32));
        assert_eq!(pace.wanted(), 8);
        let numbers = run(&mut pace, 2, 256, 32, 4000);
        let few = numbers[1000..].iter().filter(|n| **n <= 3).count();
        assert!(few > 2700, "{few}");
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
