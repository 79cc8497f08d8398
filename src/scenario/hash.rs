//! Chance without a generator: numbers that depend on a seed and a counter alone, so that any moment can be asked for.

/// The unit in which the driver hands out memory.
pub(super) const PAGE: u64 = 2 << 20;

/// A well mixed number for the `n`-th draw of `seed` (splitmix64).
pub(super) const fn mix(seed: u64, n: u64) -> u64 {
    let mut z = seed ^ n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// From 0 to just below 1.
pub(super) fn unit(seed: u64, n: u64) -> f64 {
    (mix(seed, n) >> 11) as f64 / (1_u64 << 53) as f64
}

/// Whole pages, rounded down.
pub(super) const fn pages_down(bytes: u64) -> u64 {
    bytes / PAGE * PAGE
}
