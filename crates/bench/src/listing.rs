//! What `weir bench list` shows.

use crate::catalogue::Bench;
use crate::console::duration;
use crate::plan::Plan;
use crate::selection::{Length, Selection};

/// One line per bench, with how long it takes with all targets.
pub fn list() -> String {
    let duration = |bench, length| {
        let plan = Plan::make(bench, length, &Selection::default());
        plan.map_or_else(|_| "-".to_owned(), |plan| duration(plan.expected_seconds()))
    };
    let line = |bench: Bench| {
        let (full, quick) = (duration(bench, Length::Full), duration(bench, Length::Quick));
        format!("{:<10}  {full:>8}, --quick {quick:>7}  {}\n", bench.name(), bench.about())
    };
    Bench::ALL.into_iter().map(line).collect()
}
