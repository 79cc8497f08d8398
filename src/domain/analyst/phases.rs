//! The phases of a young process, and what they say of where its memory goes.
//!
//! They are read off the device's series, which is dense, and belong to the process that came last. All of it is likely at
//! best: weights are the level that the load ended at, within what the loader itself kept; optimizer states are one rise that
//! stayed on the floor; the rest of the floor after the first steps is gradients and what the allocator keeps.

use super::card::Card;
use super::{Jump, size};
use crate::domain::Pid;

/// How long after the load the first `step()` is looked for.
const FIRST_STEPS: f64 = 90.0;
/// How long a rise must have stayed.
const STAYED: f64 = 6.0;
/// After so long the first steps are over.
const OVER: f64 = 30.0;

/// What was seen of the youngest process.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Phases {
    pid: Option<Pid>,
    /// The load that it is about: when it began, and what others held.
    from: f64,
    base: f64,
    on: bool,
    pub(crate) weights: Option<f64>,
    pub(crate) optimizer: Option<Jump>,
    candidate: Option<(Jump, f64)>,
    gradients: Option<f64>,
    pub(crate) swing: Option<f64>,
}

impl Phases {
    pub(crate) fn beat(&mut self, card: &mut Card) {
        let signal = &card.signal;
        let Some(now) = signal.last().map(|last| last.t) else { return };
        let (from, base) = card.loading.began();
        let on = card.loading.is_on();
        // A load that goes on after a pause is the same one.
        if on && !self.on && (self.weights.is_none() || now - card.loading.settled() > FIRST_STEPS || from - self.from > 300.0) {
            let newest = card.held.iter().filter(|held| held.born_here && now - held.first < 300.0);
            let pid = newest.max_by(|a, b| a.first.total_cmp(&b.first)).map(|held| held.pid);
            *self = Self { pid, from, base, on, ..Self::default() };
        }
        if self.pid.is_none() && on {
            let newest = card.held.iter().filter(|held| held.born_here && now - held.first < 300.0);
            self.pid = newest.max_by(|a, b| a.first.total_cmp(&b.first)).map(|held| held.pid);
        }
        let settled = card.loading.settled();
        if self.on && !on {
            let context = self.pid.and_then(|pid| card.held_by(pid)).and_then(|held| held.context);
            self.weights =
                card.loading.level().map(|level| level - self.base - context.unwrap_or(0.0)).filter(|weights| *weights > 0.0);
        }
        self.on = on;
        if let Some(weights) = self.weights.filter(|_| !on && now - settled <= FIRST_STEPS) {
            if self.optimizer.is_none() {
                let large = (0.25 * weights).max(64.0)..=3.2 * weights;
                let jump = signal.jumps().rfind(|jump| jump.t > settled && now - jump.t < STAYED && large.contains(&jump.size));
                if let Some(jump) = jump
                    && self.candidate.is_none_or(|(old, _)| jump.size > old.size)
                {
                    self.candidate = Some((*jump, jump.from));
                }
                if let Some((jump, before)) = self.candidate.filter(|(jump, _)| now - jump.t >= STAYED) {
                    let floor = signal.low().at(jump.t).unwrap_or(0.0);
                    if floor >= before + 0.7 * jump.size {
                        self.optimizer = Some(jump);
                    }
                    self.candidate = None;
                }
            }
            if now - settled >= OVER && self.gradients.is_none() {
                let context = self.pid.and_then(|pid| card.held_by(pid)).and_then(|held| held.context).unwrap_or(0.0);
                let floor = signal.low().at(now - 10.0).unwrap_or(0.0) - self.base;
                let rest = floor - weights - context - self.optimizer.map_or(0.0, |jump| jump.size);
                self.gradients = Some(rest.max(0.0));
            }
        }
        if let Some(rhythm) = signal.rhythm().filter(|rhythm| rhythm.cycles >= 5 && rhythm.period >= 2.5 * signal.interval()) {
            let floor = signal.low().at(now - 3.0 * rhythm.period);
            self.swing = floor.map(|floor| (signal.ceiling() - floor).min(1.5 * rhythm.amplitude)).filter(|swing| *swing > 0.0);
        }
        // What a lasting step of a running process left there.
        let kept = signal.steps().next_back().filter(|step| step.from - settled > 60.0).map(|step| step.after - step.before);
        let worker = self.pid.or_else(|| sole_worker(card));
        let Some(held) = worker.and_then(|pid| card.held_mut(pid)) else { return };
        let anatomy = &mut held.anatomy;
        anatomy.context = held.context.map(size);
        if self.pid == Some(held.pid) {
            anatomy.weights = self.weights.filter(|_| !on).map(size);
            anatomy.optimizer = self.optimizer.map(|jump| size(jump.size));
            anatomy.gradients = self.gradients.map(size);
        }
        anatomy.swing = self.swing.map(size);
        anatomy.cached = kept.map(size).or(anatomy.cached);
    }
}

/// The one process that the device's series is about, where there is one.
fn sole_worker(card: &Card) -> Option<Pid> {
    let all: f64 = card.held.iter().filter_map(|held| held.used).sum();
    let largest = card.held.iter().max_by(|a, b| a.used.unwrap_or(0.0).total_cmp(&b.used.unwrap_or(0.0)))?;
    (largest.used? >= 0.8 * all).then_some(largest.pid)
}
