//! Random numbers as TPC-C wants them: uniform, and non-uniform ones that favour some values.
//!
//! Must always hold: a seed makes the same numbers on every machine.

/// SplitMix64: small, quick, and good enough for a load.
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

/// The constants of the non-uniform numbers. Those of last names at the load and in the run differ by one of the distances
/// that the specification allows (65 to 119, but 96 and 112).
const C_LAST_LOAD: u32 = 157;
const C_LAST_RUN: u32 = 223;
const C_CUSTOMER: u32 = 259;
const C_ITEM: u32 = 7_911;

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from `low` to `high`, both included.
    pub(super) fn uniform(&mut self, low: u32, high: u32) -> u32 {
        let width = u64::from(high - low) + 1;
        low + u32::try_from(self.next() % width).expect("less than a width of 32 bits")
    }

    /// True in `percent` of a hundred cases.
    pub(super) fn in_percent(&mut self, percent: u32) -> bool {
        self.uniform(1, 100) <= percent
    }

    /// The specification's NURand: bits of two uniform numbers together, moved by a constant.
    fn non_uniform(&mut self, a: u32, c: u32, low: u32, high: u32) -> u32 {
        ((self.uniform(0, a) | self.uniform(low, high)) + c) % (high - low + 1) + low
    }

    /// An item.
    pub(super) fn item(&mut self, items: u32) -> u32 {
        self.non_uniform(8_191, C_ITEM, 1, items)
    }

    /// A customer of a district.
    pub(super) fn customer(&mut self, customers: u32) -> u32 {
        self.non_uniform(1_023, C_CUSTOMER, 1, customers)
    }

    /// The number of a last name for a transaction; one that the district has.
    pub(super) fn last_name(&mut self, customers: u32) -> u32 {
        self.non_uniform(255, C_LAST_RUN, 0, customers.min(1_000) - 1)
    }

    /// The number of a last name for the population.
    pub(super) fn last_name_to_load(&mut self, customers: u32) -> u32 {
        self.non_uniform(255, C_LAST_LOAD, 0, customers.min(1_000) - 1)
    }

    /// Letters, so many as `low` to `high`.
    pub(super) fn letters(&mut self, low: u32, high: u32) -> String {
        const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
        let length = self.uniform(low, high);
        (0..length).map(|_| self.one_of(LETTERS)).collect()
    }

    /// Digits.
    pub(super) fn digits(&mut self, length: u32) -> String {
        (0..length).map(|_| self.one_of(b"0123456789")).collect()
    }

    fn one_of(&mut self, bytes: &[u8]) -> char {
        let last = u32::try_from(bytes.len()).expect("an alphabet") - 1;
        char::from(bytes[self.uniform(0, last) as usize])
    }

    /// The numbers from 1 to `last` in a random order.
    pub(super) fn permutation(&mut self, last: u32) -> Vec<u32> {
        let mut numbers: Vec<u32> = (1..=last).collect();
        for place in (1..last).rev() {
            let other = self.uniform(0, place);
            numbers.swap(place as usize, other as usize);
        }
        numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_in_their_range_and_reach_its_ends() {
        let mut random = Random::new(1);
        let seen: Vec<u32> = (0..2_000).map(|_| random.uniform(5, 15)).collect();
        assert_eq!((seen.iter().min(), seen.iter().max()), (Some(&5), Some(&15)));
        assert!((0..2_000).all(|_| (1..=100).contains(&random.item(100))));
        assert!((0..2_000).all(|_| (1..=30).contains(&random.customer(30))));
        assert!((0..2_000).all(|_| random.last_name(30) < 30));
        assert!((0..2_000).all(|_| random.last_name_to_load(3_000) < 1_000));
    }

    #[test]
    fn some_customers_are_asked_for_more_often() {
        let mut random = Random::new(2);
        let mut counts = vec![0_u32; 3_001];
        (0..300_000).for_each(|_| counts[random.customer(3_000) as usize] += 1);
        let most = counts.iter().max().copied().unwrap_or(0);
        assert!(most > 300, "a uniform choice would have about 100 of each: {most}");
    }

    #[test]
    fn a_permutation_has_each_number_once() {
        let mut numbers = Random::new(3).permutation(500);
        assert_ne!(numbers, (1..=500).collect::<Vec<_>>());
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=500).collect::<Vec<_>>());
    }
}
