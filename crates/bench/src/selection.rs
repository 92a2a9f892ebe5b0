//! How much of a bench is measured, and which part of it.

use crate::plan::workload::Workload;
use crate::target::TargetKind;

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Length {
    /// All points, as the reports in the documentation.
    #[default]
    Full,
    /// Fewer points and shorter runs: under three minutes.
    Quick,
    /// The shortest form: shows that everything works; its figures mean nothing.
    Smoke,
}

/// Which of the two ways of sending statements are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prepared {
    /// With server-side prepared statements.
    Yes,
    /// As text.
    No,
    /// First the one, then the other.
    Both,
}

impl Prepared {
    pub(crate) fn modes(self) -> &'static [bool] {
        match self {
            Self::Yes => &[true],
            Self::No => &[false],
            Self::Both => &[false, true],
        }
    }
}

/// A part of a bench. `None` and empty lists stand for what the bench does by itself.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Only these targets.
    pub targets: Vec<TargetKind>,
    /// Only these workloads.
    pub workloads: Vec<Workload>,
    /// Only these numbers of clients; for churn, storm and idle only if they are named in `workloads`.
    pub clients: Vec<u32>,
    /// Prepared statements or text.
    pub prepared: Option<Prepared>,
    /// Length of a run.
    pub seconds: Option<u32>,
    /// Runs of each point.
    pub rounds: Option<u32>,
    /// Rows of the table.
    pub rows: Option<u32>,
    /// With busy processes beside the run, and a server that is slow or stops.
    pub contended: bool,
}
