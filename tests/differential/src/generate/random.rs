//! Numbers that look random and are the same for the same seed.

/// A generator (SplitMix64).
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to below this.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    /// From the first to the second, both included.
    pub(crate) fn between(&mut self, least: i64, most: i64) -> i64 {
        least + self.below((most - least + 1) as usize) as i64
    }

    /// True in so many of a hundred.
    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of these, which are not none.
    pub(crate) fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }

    /// Some of these, at least one, each once.
    pub(crate) fn some<T: Clone>(&mut self, list: &[T], most: usize) -> Vec<T> {
        let mut left = list.to_vec();
        let count = 1 + self.below(most.min(left.len()));
        (0..count)
            .map(|_| {
                let at = self.below(left.len());
                left.swap_remove(at)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same() {
        let (mut one, mut other) = (Random::new(7), Random::new(7));
        assert_eq!((0..9).map(|_| one.next()).collect::<Vec<_>>(), (0..9).map(|_| other.next()).collect::<Vec<_>>());
        assert_ne!(Random::new(8).next(), Random::new(7).next());
        assert!((0..99).all(|_| (2..=4).contains(&one.between(2, 4))));
    }
}
