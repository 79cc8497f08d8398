//! The curve of one phase as a function of time: exact, piecewise constant, in whole pages, with no state.

use super::hash::{PAGE, pages_down, unit};

/// A curve over the time since its start, in microseconds and bytes.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    /// One value.
    Hold(u64),
    /// From one level to another in jumps of uneven size and even pace.
    Ramp { from: u64, to: u64, span: u64, pieces: u64, seed: u64, eased: bool },
    /// Up and down, for ever.
    Cycle {
        base: u64,
        amplitude: u64,
        period: u64,
        offset: u64,
        jitter: f64,
        seed: u64,
        profile: Profile,
        growth: Option<Growth>,
    },
    /// A new value between `base` and `base + amplitude` now and then.
    Wander { base: u64, amplitude: u64, every: u64, offset: u64, seed: u64 },
}

/// What one cycle looks like.
#[derive(Clone, Copy, Debug)]
pub(super) enum Profile {
    /// A training step.
    Step,
    /// Full height for this long, then nothing.
    Pulse(u64),
}

/// Equal jumps that stay.
#[derive(Clone, Copy, Debug)]
pub(super) struct Growth {
    /// Bytes.
    pub segment: u64,
    /// The mean time from one to the next.
    pub every: u64,
}

/// A training step in thousandths: of its period, of its height. Activations pile up in the forward pass and go in the
/// backward pass, which takes twice as long.
const STEP: [(u64, u64); 16] = [
    (0, 0),
    (30, 130),
    (70, 270),
    (110, 400),
    (150, 530),
    (190, 660),
    (230, 790),
    (270, 900),
    (310, 1000),
    (440, 880),
    (520, 730),
    (600, 570),
    (680, 410),
    (760, 250),
    (840, 110),
    (900, 0),
];

impl Shape {
    /// The value at `u` after the start.
    pub(super) fn value(&self, u: u64) -> u64 {
        match *self {
            Self::Hold(value) => value,
            Self::Ramp { from, to, span, pieces, seed, eased } => {
                let done = if span == 0 { pieces } else { (wide(u, pieces) / u128::from(span)) as u64 + 1 };
                if done >= pieces {
                    return to;
                }
                // Tensors differ in size: each jump is moved by up to 0.8 of an even one, and the order stays.
                let mut part = (done as f64 - 0.8 * unit(seed, done)) / pieces as f64;
                if eased {
                    part = 1.0 - (1.0 - part) * (1.0 - part);
                }
                let way = pages_down((from.abs_diff(to) as f64 * part) as u64);
                if to > from { from + way } else { from - way }
            }
            Self::Cycle { base, amplitude, period, offset, jitter, seed, profile, growth } => {
                let (cycle, into) = ((u + offset) / period, (u + offset) % period);
                let height = match profile {
                    Profile::Step => {
                        let knot = STEP.partition_point(|&(at, _)| knot_at(at, period) <= into);
                        STEP.get(knot.saturating_sub(1)).map_or(0, |&(_, height)| height)
                    }
                    Profile::Pulse(width) => {
                        if into < width {
                            1000
                        } else {
                            0
                        }
                    }
                };
                let full = if jitter > 0.0 { (amplitude as f64 * (1.0 - jitter * unit(seed, cycle))) as u64 } else { amplitude };
                let swing = pages_down((wide(full, height) / 1000) as u64);
                base.saturating_add(swing).saturating_add(growth.map_or(0, |growth| growth.value(u, seed)))
            }
            Self::Wander { base, amplitude, every, offset, seed } => {
                base + pages_down((amplitude as f64 * unit(seed, (u + offset) / every)) as u64)
            }
        }
    }

    /// The first moment after `u` at which the value may differ; none if it never does.
    pub(super) fn next_change(&self, u: u64) -> Option<u64> {
        match *self {
            Self::Hold(_) => None,
            Self::Ramp { span, pieces, .. } => {
                let done = if span == 0 { pieces } else { (wide(u, pieces) / u128::from(span)) as u64 + 1 };
                // The smallest u with u * pieces / span >= done.
                (done < pieces).then(|| wide(done, span).div_ceil(u128::from(pieces)) as u64)
            }
            Self::Cycle { period, offset, seed, profile, growth, .. } => {
                let (start, into) = ((u + offset) / period * period, (u + offset) % period);
                let next = match profile {
                    Profile::Step => STEP.iter().map(|&(at, _)| knot_at(at, period)).find(|&at| at > into),
                    Profile::Pulse(width) => Some(width).filter(|&width| width > into),
                };
                let swing = start + next.unwrap_or(period) - offset;
                Some(growth.map_or(swing, |growth| swing.min(growth.next(u, seed))))
            }
            Self::Wander { every, offset, .. } => Some(((u + offset) / every + 1) * every - offset),
        }
    }

    /// No value is above this.
    pub(super) fn max(&self) -> u64 {
        match *self {
            Self::Hold(value) => value,
            Self::Ramp { from, to, .. } => from.max(to),
            Self::Cycle { growth: Some(_), .. } => u64::MAX,
            Self::Cycle { base, amplitude, .. } | Self::Wander { base, amplitude, .. } => base.saturating_add(amplitude),
        }
    }
}

impl Growth {
    /// When the `k`-th jump comes; rhythms of programs are even, but not to the microsecond.
    fn at(self, k: u64, seed: u64) -> u64 {
        k.saturating_mul(self.every).saturating_add((0.4 * self.every as f64 * unit(seed, k)) as u64)
    }

    fn count(self, u: u64, seed: u64) -> u64 {
        let k = u / self.every;
        if k > 0 && self.at(k, seed) > u { k - 1 } else { k }
    }

    pub(super) fn value(self, u: u64, seed: u64) -> u64 {
        self.count(u, seed).saturating_mul(self.segment)
    }

    fn next(self, u: u64, seed: u64) -> u64 {
        self.at(self.count(u, seed) + 1, seed)
    }
}

fn knot_at(thousandths: u64, period: u64) -> u64 {
    period * thousandths / 1000
}

fn wide(a: u64, b: u64) -> u128 {
    u128::from(a) * u128::from(b)
}

/// Pieces for a ramp: as many as asked for, but none smaller than a page.
pub(super) fn pieces(size: u64, wanted: u64) -> u64 {
    wanted.min(size / PAGE).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shapes() -> Vec<Shape> {
        let growth = Some(Growth { segment: 10 * PAGE, every: 70_001 });
        let cycle = |profile, growth, jitter| Shape::Cycle {
            base: 50 * PAGE,
            amplitude: 1000 * PAGE,
            period: 400_003,
            offset: 17_000,
            jitter,
            seed: 9,
            profile,
            growth,
        };
        vec![
            Shape::Hold(7),
            Shape::Ramp { from: 0, to: 900 * PAGE, span: 1_000_000, pieces: 37, seed: 1, eased: false },
            Shape::Ramp { from: 900 * PAGE, to: 2 * PAGE, span: 1_000_000, pieces: 11, seed: 1, eased: true },
            Shape::Ramp { from: 0, to: 5 * PAGE, span: 0, pieces: 1, seed: 1, eased: true },
            cycle(Profile::Step, None, 0.0),
            cycle(Profile::Step, growth, 0.3),
            cycle(Profile::Pulse(5_000), None, 0.0),
            Shape::Wander { base: PAGE, amplitude: 30 * PAGE, every: 90_000, offset: 5, seed: 4 },
        ]
    }

    #[test]
    fn no_value_changes_between_two_announced_changes() {
        for shape in shapes() {
            let mut next = shape.next_change(0);
            let mut value = shape.value(0);
            for u in (1..2_000_000).step_by(1) {
                let now = shape.value(u);
                if next == Some(u) {
                    next = shape.next_change(u);
                } else {
                    assert_eq!(now, value, "{shape:?} at {u}");
                }
                assert!(now <= shape.max(), "{shape:?} at {u}");
                value = now;
            }
        }
    }

    #[test]
    fn ramps_go_one_way_and_arrive() {
        for shape in shapes() {
            if let Shape::Ramp { from, to, span, .. } = shape {
                let values: Vec<u64> = (0..=span + 10).step_by(97).map(|u| shape.value(u)).collect();
                assert_eq!(shape.value(span), to);
                assert!(values.is_sorted_by(|a, b| if to > from { a <= b } else { a >= b }), "{shape:?}");
            }
        }
    }
}
