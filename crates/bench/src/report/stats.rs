//! Medians, spreads and ratios of rounds.
//!
//! Must always hold: a ratio is the median of the rounds' ratios, never a ratio of medians: the rounds of two targets ran one
//! after another, so that what slows the machine down for a while slows both sides of a round's ratio. Values that are not
//! finite are left out, as if that round had not run.

use crate::record::Run;

/// From this spread on, a figure is marked as uncertain.
///
/// Above it, rounds differ by more than most of the differences between targets that a reader would draw conclusions from.
pub const WIDE_SPREAD: f64 = 0.15;

/// A figure over rounds: the median, and how far apart the rounds are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figure {
    /// The median over the rounds.
    pub median: f64,
    /// The smallest round.
    pub low: f64,
    /// The largest round.
    pub high: f64,
    /// How many rounds it is made of, at least one.
    pub rounds: usize,
}

impl Figure {
    /// The figure of these rounds, in any order; `None` if no value is finite.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        let (low, high) = (*values.first()?, *values.last()?);
        Some(Self { median: median_of_sorted(&values), low, high, rounds: values.len() })
    }

    /// (largest - smallest) / median; `None` for a single round, and for a median of 0 with rounds that differ.
    pub fn spread(&self) -> Option<f64> {
        if self.rounds < 2 {
            return None;
        }
        let width = self.high - self.low;
        if width == 0.0 {
            return Some(0.0);
        }
        (self.median != 0.0).then(|| width / self.median.abs())
    }

    /// Whether the rounds are further apart than [`WIDE_SPREAD`]. A single round is not: nothing is known about it.
    pub fn is_wide(&self) -> bool {
        match self.spread() {
            Some(spread) => spread > WIDE_SPREAD,
            None => self.rounds > 1,
        }
    }
}

/// The median; `None` if no value is finite.
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    Figure::of(values).map(|figure| figure.median)
}

fn median_of_sorted(values: &[f64]) -> f64 {
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
}

/// One value of each round.
pub fn over_rounds(runs: &[Run], value: impl Fn(&Run) -> Option<f64>) -> Option<Figure> {
    Figure::of(runs.iter().filter_map(value))
}

/// The ratio `of` / `against`, round by round. Rounds that only one side ran, and rounds whose divisor is 0, are left out.
pub fn ratio(
    of: &[Run],
    value: impl Fn(&Run) -> Option<f64>,
    against: &[Run],
    divisor: impl Fn(&Run) -> Option<f64>,
) -> Option<Figure> {
    Figure::of(of.iter().filter_map(|run| {
        let other = against.iter().find(|other| other.round == run.round)?;
        let divisor = divisor(other).filter(|divisor| *divisor != 0.0)?;
        Some(value(run)? / divisor)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(qps: &[(u32, f64)]) -> Vec<Run> {
        qps.iter().map(|&(round, qps)| Run { round, qps, ..Run::default() }).collect()
    }

    fn qps(run: &Run) -> Option<f64> {
        Some(run.qps)
    }

    #[test]
    fn the_median_of_an_odd_number_is_the_middle_one_and_of_an_even_number_the_mean_of_two() {
        assert_eq!(median([3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median([4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median([7.0]), Some(7.0));
        assert_eq!(median([]), None);
    }

    #[test]
    fn values_that_are_not_finite_are_left_out() {
        let figure = Figure::of([1.0, f64::NAN, f64::INFINITY, 3.0]).expect("two values are finite");
        assert_eq!((figure.median, figure.rounds), (2.0, 2));
        assert_eq!(median([f64::NAN]), None);
    }

    #[test]
    fn the_spread_is_the_width_over_the_median() {
        let figure = Figure::of([90.0, 100.0, 110.0]).expect("three values");
        assert_eq!(figure.spread(), Some(0.2));
        assert!(figure.is_wide());
        assert!(!Figure::of([95.0, 100.0, 110.0]).expect("three values").is_wide(), "just at the threshold");
    }

    #[test]
    fn a_single_round_has_no_spread_and_is_not_wide() {
        let figure = Figure::of([5.0]).expect("one value");
        assert_eq!(figure.spread(), None);
        assert!(!figure.is_wide());
    }

    #[test]
    fn a_median_of_zero_has_a_spread_only_if_all_rounds_are_zero() {
        assert_eq!(Figure::of([0.0, 0.0]).and_then(|figure| figure.spread()), Some(0.0));
        let figure = Figure::of([0.0, 0.0, 9.0]).expect("three values");
        assert_eq!(figure.spread(), None);
        assert!(figure.is_wide());
    }

    #[test]
    fn a_ratio_is_the_median_of_the_rounds_ratios() {
        // The medians are 20 and 20: their ratio would be 1. The rounds' ratios are 2, 0.5 and 3.
        let of = runs(&[(0, 10.0), (1, 20.0), (2, 90.0)]);
        let against = runs(&[(0, 5.0), (1, 40.0), (2, 30.0)]);
        let figure = ratio(&of, qps, &against, qps).expect("three rounds");
        assert_eq!((figure.median, figure.low, figure.high), (2.0, 0.5, 3.0));
    }

    #[test]
    fn rounds_are_matched_by_number_not_by_place() {
        let of = runs(&[(1, 20.0), (2, 90.0)]);
        let against = runs(&[(0, 1.0), (2, 30.0), (1, 20.0)]);
        let figure = ratio(&of, qps, &against, qps).expect("two rounds in common");
        assert_eq!((figure.median, figure.rounds), (2.0, 2));
    }

    #[test]
    fn a_round_that_only_one_side_ran_or_that_divides_by_zero_is_left_out() {
        let of = runs(&[(0, 10.0), (1, 10.0), (2, 10.0)]);
        let against = runs(&[(0, 0.0), (1, 5.0)]);
        assert_eq!(ratio(&of, qps, &against, qps), Figure::of([2.0]));
        assert_eq!(ratio(&of, qps, &runs(&[(9, 1.0)]), qps), None);
    }
}
