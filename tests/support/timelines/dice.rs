//! Random numbers from a seed: the same on every machine.

use std::cell::Cell;

/// `SplitMix64`.
#[derive(Debug)]
pub struct Dice(Cell<u64>);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(Cell::new(seed))
    }

    pub fn next(&self) -> u64 {
        let mut z = self.0.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.0.set(z);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to below 1.
    pub fn unit(&self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Evenly between two numbers.
    pub fn range(&self, from: f64, to: f64) -> f64 {
        from + (to - from) * self.unit()
    }

    /// Evenly between the logarithms of two numbers: as often from 1 to 10 as from 10 to 100.
    pub fn log(&self, from: f64, to: f64) -> f64 {
        self.range(from.ln(), to.ln()).exp()
    }

    /// A whole number, both ends included.
    pub fn int(&self, from: u64, to: u64) -> u64 {
        from + self.next() % (to - from + 1)
    }

    pub fn chance(&self, p: f64) -> bool {
        self.unit() < p
    }

    pub fn pick<T: Copy>(&self, from: &[T]) -> T {
        from[self.next() as usize % from.len()]
    }

    /// Around 0 with a standard deviation of 1 (Irwin-Hall, so never beyond 6).
    pub fn normal(&self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }

    /// The wait for something that happens by chance, with this mean.
    pub fn wait(&self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }
}
