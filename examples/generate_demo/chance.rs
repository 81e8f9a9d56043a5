//! Chance without a dependency, the same on every machine.

/// `SplitMix64` (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number
/// Generators", OOPSLA 2014): a counter and a mixing function. Good enough for
/// noise in a demo, and short enough to read.
#[derive(Debug, Clone)]
pub struct Chance(u64);

impl Chance {
    /// Chance that depends only on a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A whole number from `low` to `high`, both included. The remainder of 64
    /// bits favours small numbers by less than one in 2^50 here.
    pub fn between(&mut self, low: i32, high: i32) -> i32 {
        let count = u64::from(high.abs_diff(low)) + 1;
        let offset = self.bits() % count;
        low + i32::try_from(offset).expect("the span of two i32 in use here fits an i32")
    }

    /// A whole number from `-reach` to `reach`, most often near zero: the sum
    /// of two dice.
    pub fn spread(&mut self, reach: i32) -> i32 {
        let left = self.between(0, reach);
        let right = self.between(0, reach);
        left + right - reach
    }
}
