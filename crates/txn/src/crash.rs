//! Ends the process between two steps of a commit, so that tests can check what is left. Release builds do not contain it.
//!
//! `WEIR_CRASH_AT=POINT` or `POINT:N` (the N-th time that the point is reached).

/// Places between two steps of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Point {
    BeforePrepare,
    /// One branch is prepared; others perhaps.
    MidPrepare,
    /// The decision is written, and not committed.
    AfterDecisionRow,
    /// All is ready to be decided.
    AfterPrepare,
    /// It is decided.
    AfterDecision,
    /// One branch is committed; others perhaps.
    MidFinish,
    /// All is done, and the client has not heard of it.
    AfterFinish,
}

#[cfg(debug_assertions)]
mod armed {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::Point;

    /// Where the process ends, if anywhere.
    #[derive(Debug, Default)]
    pub(crate) struct Crash {
        at: Option<Point>,
        left: AtomicU32,
    }

    impl Crash {
        pub(crate) fn from_environment() -> Crash {
            let Ok(text) = std::env::var("WEIR_CRASH_AT") else { return Crash::default() };
            let (point, count) = text.split_once(':').unwrap_or((&text, "1"));
            let at = match point {
                "before-prepare" => Point::BeforePrepare,
                "mid-prepare" => Point::MidPrepare,
                "after-decision-row" => Point::AfterDecisionRow,
                "after-prepare" => Point::AfterPrepare,
                "after-decision" => Point::AfterDecision,
                "mid-finish" => Point::MidFinish,
                "after-finish" => Point::AfterFinish,
                _ => return Crash::default(),
            };
            Crash { at: Some(at), left: AtomicU32::new(count.parse().unwrap_or(1)) }
        }

        pub(crate) fn here(&self, point: Point) {
            if self.at == Some(point) && self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
                let _ = nix::sys::signal::kill(nix::unistd::Pid::this(), nix::sys::signal::Signal::SIGKILL);
            }
        }
    }
}

#[cfg(not(debug_assertions))]
mod armed {
    /// Nothing.
    #[derive(Debug, Default)]
    pub(crate) struct Crash;

    impl Crash {
        pub(crate) fn from_environment() -> Crash {
            Crash
        }

        pub(crate) fn here(&self, _: super::Point) {}
    }
}

pub(crate) use armed::Crash;
