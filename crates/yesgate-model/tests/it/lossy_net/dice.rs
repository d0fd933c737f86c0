//! Dice that fall the same way each time.

use std::time::Duration;

/// SplitMix64: small, and good enough to choose what breaks.
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    /// Dice of their own for one of the cast.
    pub(crate) fn new(seed: u64, whose: u64) -> Self {
        let mut dice =
            Self(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ whose.wrapping_mul(0x9e6c_63d0_876a_3f6b));
        dice.throw();
        dice
    }

    pub(crate) fn throw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below the given one.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.throw() % bound
    }

    /// Whether something happens that happens so often in a thousand times.
    pub(crate) fn happens(&mut self, in_a_thousand: u64) -> bool {
        self.below(1000) < in_a_thousand
    }

    /// Up to so many milliseconds.
    pub(crate) fn pause(&mut self, most: u64) -> Duration {
        Duration::from_millis(self.below(most))
    }

    /// Thirty-two bytes for an id.
    pub(crate) fn entropy(&mut self) -> [u8; 32] {
        let mut bytes = [0; 32];
        for part in bytes.chunks_mut(8) {
            part.copy_from_slice(&self.throw().to_be_bytes());
        }
        bytes
    }
}
