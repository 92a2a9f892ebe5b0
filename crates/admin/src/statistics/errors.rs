//! Errors that clients were told, by code.
//!
//! What must always hold: a bounded number of codes have a count of their own, the first ones that come; counting takes no
//! lock, however many workers do it at once.

use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};

/// The most codes with a count of their own.
const MOST: usize = 64;

#[derive(Debug, Default)]
struct Slot {
    /// 0 while it is free: no error has this code.
    code: AtomicU16,
    count: AtomicU64,
}

/// See the module.
#[derive(Debug)]
pub struct ErrorCounts {
    slots: [Slot; MOST],
    other: AtomicU64,
}

impl Default for ErrorCounts {
    fn default() -> ErrorCounts {
        ErrorCounts { slots: std::array::from_fn(|_| Slot::default()), other: AtomicU64::new(0) }
    }
}

impl ErrorCounts {
    /// Counts an error.
    pub fn note(&self, code: u16) {
        for at in 0..MOST {
            let slot = &self.slots[(usize::from(code) + at) % MOST];
            let mut held = slot.code.load(Ordering::Relaxed);
            if held == 0 {
                held = match slot.code.compare_exchange(0, code, Ordering::Relaxed, Ordering::Relaxed) {
                    Ok(_) => code,
                    Err(others) => others,
                };
            }
            if held == code {
                slot.count.fetch_add(1, Ordering::Relaxed);
                return;
            }
        }
        self.other.fetch_add(1, Ordering::Relaxed);
    }

    /// The counts by code, and that of all other codes.
    pub fn counts(&self) -> (Vec<(u16, u64)>, u64) {
        let counted = |slot: &Slot| (slot.code.load(Ordering::Relaxed), slot.count.load(Ordering::Relaxed));
        let mut counts: Vec<_> = self.slots.iter().map(counted).filter(|(_, count)| *count > 0).collect();
        counts.sort_unstable();
        (counts, self.other.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_beyond_the_bound_share_a_count() {
        let counts = ErrorCounts::default();
        for code in 1000..1100 {
            counts.note(code);
            counts.note(1000);
        }
        let (own, other) = counts.counts();
        assert_eq!((own.len(), own[0], other), (64, (1000, 101), 36));
    }
}
