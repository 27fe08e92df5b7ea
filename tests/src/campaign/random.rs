//! Numbers that follow from a seed, and look as if they did not.

use std::time::Duration;

/// `SplitMix64`: small, and the same on every machine and in every version.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// From a seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any number.
    pub const fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A place in something of a length, which is not nothing.
    pub fn place(&mut self, length: usize) -> usize {
        let length = u64::try_from(length.max(1)).unwrap_or(u64::MAX);
        usize::try_from(self.number() % length).unwrap_or_default()
    }

    /// One of several.
    pub fn one<T: Copy>(&mut self, of: &[T]) -> Option<T> {
        of.get(self.place(of.len())).copied()
    }

    /// A time between two, to the millisecond.
    pub fn between(&mut self, least: Duration, most: Duration) -> Duration {
        let range = u64::try_from(most.saturating_sub(least).as_millis()).unwrap_or(u64::MAX);
        least + Duration::from_millis(self.number() % range.max(1))
    }

    /// Several in an order of its own.
    pub fn shuffled<T: Copy>(&mut self, of: &[T]) -> Vec<T> {
        let mut left = of.to_vec();
        let mut shuffled = Vec::with_capacity(left.len());
        while !left.is_empty() {
            shuffled.push(left.swap_remove(self.place(left.len())));
        }
        shuffled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_follow_from_the_seed() {
        // As its authors give them for this seed.
        let mut random = Random::new(1_234_567);
        assert_eq!(random.number(), 6_457_827_717_110_365_317);
        assert_eq!(random.number(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn what_is_shuffled_is_all_there() {
        let mut shuffled = Random::new(1).shuffled(&[1, 2, 3, 4, 5, 6]);
        assert_ne!(shuffled, [1, 2, 3, 4, 5, 6]);
        shuffled.sort_unstable();
        assert_eq!(shuffled, [1, 2, 3, 4, 5, 6]);
        assert_eq!(Random::new(1).one::<u8>(&[]), None);
    }
}
