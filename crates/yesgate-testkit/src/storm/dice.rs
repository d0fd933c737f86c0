//! Dice that fall the same way again for the same seed.

/// A source of numbers (SplitMix64).
#[derive(Clone, Debug)]
pub(super) struct Dice(u64);

impl Dice {
    /// Dice of this seed, for one of several uses of it.
    pub(super) const fn new(seed: u64, of: u64) -> Self {
        Self(seed ^ of.wrapping_mul(0xA24B_AED4_963E_E407))
    }

    /// The next number.
    pub(super) const fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below this one.
    pub(super) const fn below(&mut self, end: u64) -> u64 {
        self.roll() % if end == 0 { 1 } else { end }
    }

    /// One of these.
    ///
    /// # Panics
    /// When there is none.
    pub(super) const fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}
