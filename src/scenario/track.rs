//! What one process holds on one device over the whole story: its phases, compiled to curves.

use toml::Spanned;

use super::hash::{mix, pages_down, unit};
use super::phase::Phase;
use super::shape::{Growth, Profile, Shape, pieces};
use super::values::{Amount, Percent, Size, Time};

/// A curve and when it begins; it lasts until the next one.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    pub start: u64,
    pub utilization: f32,
    pub shape: Shape,
}

/// The curves in order of their start. Before the first, the process holds nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct Track {
    pub segments: Vec<Segment>,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    /// Its row is gone from here on.
    pub at: u64,
    /// None where it was killed.
    pub status: Option<i32>,
    /// A request failed.
    pub oom: bool,
    /// Its memory stays.
    pub orphan: bool,
}

/// What compiling needs to know beside the phases.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    /// When the process starts.
    pub begin: u64,
    /// The device's total.
    pub total: u64,
    pub seed: u64,
    /// By what sizes are multiplied.
    pub scale: f64,
    /// Whether cycles begin at any point: copies must not move in step.
    pub scatter: bool,
}

/// How long PyTorch looks for a block after it gave back its cache, before it gives up.
const RETRY: u64 = 120_000;
/// From the failed request to the first byte given back: the interpreter prints its traceback.
const TRACEBACK: u64 = 900_000;
/// From then until all is gone.
const TEARDOWN: u64 = 350_000;

impl Track {
    fn segment(&self, t: u64) -> Option<&Segment> {
        let after = self.segments.partition_point(|segment| segment.start <= t);
        self.segments.get(after.checked_sub(1)?)
    }

    /// The memory held at a time.
    pub(super) fn value(&self, t: u64) -> u64 {
        self.segment(t).map_or(0, |segment| segment.shape.value(t - segment.start))
    }

    /// The load of the device by this process at a time.
    pub(super) fn utilization(&self, t: u64) -> f32 {
        self.segment(t).map_or(0.0, |segment| segment.utilization)
    }

    /// The first moment after `t` at which the value may differ.
    pub(super) fn next_change(&self, t: u64) -> Option<u64> {
        let after = self.segments.partition_point(|segment| segment.start <= t);
        let next = self.segments.get(after).map(|segment| segment.start);
        let within = after.checked_sub(1).and_then(|n| {
            let segment = self.segments.get(n)?;
            Some(segment.start.saturating_add(segment.shape.next_change(t - segment.start)?))
        });
        match (next, within) {
            (Some(next), Some(within)) => Some(next.min(within)),
            (next, within) => next.or(within),
        }
    }

    /// No value from `from` on is above this.
    pub(super) fn max_from(&self, from: u64) -> u64 {
        let after = self.segments.partition_point(|segment| segment.start <= from).saturating_sub(1);
        self.segments.iter().skip(after).map(|segment| segment.shape.max()).max().unwrap_or(0)
    }

    /// The largest value after `from` up to `to`.
    pub(super) fn max_between(&self, from: u64, to: u64) -> u64 {
        let mut at = from;
        let mut most = self.value(to);
        while let Some(next) = self.next_change(at).filter(|&next| next <= to) {
            most = most.max(self.value(next));
            at = next;
        }
        most
    }

    /// Nothing from `t` on.
    pub(super) fn cut(&mut self, t: u64) {
        self.segments.retain(|segment| segment.start < t);
        self.push(t, 0.0, Shape::Hold(0));
    }

    fn push(&mut self, start: u64, utilization: f32, shape: Shape) {
        self.segments.push(Segment { start, utilization, shape });
    }

    /// A request at `t` failed, here or on another device of the process: the allocator gives back what it has cached
    /// and tries again, then the process dies. Returns when it is gone.
    pub(super) fn die(&mut self, t: u64, here: bool) -> u64 {
        let before = if here { t.checked_sub(1).map_or(0, |before| self.value(before)) } else { self.value(t) };
        self.segments.retain(|segment| segment.start < t);
        // The curve of before must not go on, even where it gave nothing yet.
        let retry = if here { before - pages_down(before / 25) } else { before };
        self.push(t, if here { 40.0 } else { 0.0 }, Shape::Hold(retry));
        self.push(t + RETRY, 0.0, Shape::Hold(before));
        let teardown = Shape::Ramp { from: before, to: 0, span: TEARDOWN, pieces: pieces(before, 4), seed: t, eased: true };
        self.push(t + TRACEBACK, 0.0, teardown);
        self.push(t + TRACEBACK + TEARDOWN, 0.0, Shape::Hold(0));
        t + TRACEBACK + TEARDOWN
    }

    /// Compiles phases. The end is the process's own; other devices may end it earlier.
    pub(super) fn compile(phases: &[Spanned<Phase>], setting: &Setting) -> (Self, Option<End>) {
        let mut compiler =
            Compiler { track: Self::default(), now: setting.begin, level: 0, rhythm: None, setting: *setting, draw: 0 };
        let mut end = None;
        for phase in phases {
            end = compiler.add(phase.get_ref());
        }
        (compiler.track, end)
    }
}

struct Compiler {
    track: Track,
    now: u64,
    level: u64,
    /// Amplitude, period, jitter and load of the last steps: a leak goes on with them.
    rhythm: Option<(u64, u64, f64, f32)>,
    setting: Setting,
    draw: u64,
}

impl Compiler {
    fn size(&self, size: Size) -> u64 {
        if self.setting.scale < 1.0 { pages_down((size.pages() as f64 * self.setting.scale) as u64) } else { size.pages() }
    }

    fn seed(&mut self) -> u64 {
        self.draw += 1;
        mix(self.setting.seed, self.draw)
    }

    /// A shape for a fixed time.
    fn span(&mut self, time: u64, utilization: f32, shape: Shape) {
        if time > 0 {
            self.track.push(self.now, utilization, shape);
            self.now = self.now.saturating_add(time);
        }
    }

    /// A ramp to a level, and the level itself.
    fn ramp(&mut self, to: u64, within: Time, wanted: u64, eased: bool, utilization: f32) {
        let seed = self.seed();
        let pieces = pieces(self.level.abs_diff(to), wanted);
        let shape = Shape::Ramp { from: self.level, to, span: within.us(), pieces, seed, eased };
        self.span(within.us(), utilization, shape);
        self.level = to;
        self.rest(utilization);
    }

    /// The level alone, until the next phase begins.
    fn rest(&mut self, utilization: f32) {
        self.track.push(self.now, utilization, Shape::Hold(self.level));
    }

    /// A shape for as long as the phase says; for ever if it does not say.
    fn lasting(&mut self, phase: &Phase, utilization: f32, shape: Shape) -> u64 {
        let begin = self.now;
        match phase.lasting() {
            Some((Some(lasts), _)) => self.span(lasts.us(), utilization, shape),
            Some((None, Some(until))) => self.span(until.us().saturating_sub(begin), utilization, shape),
            _ => self.track.push(begin, utilization, shape),
        }
        self.now - begin
    }

    fn offset(&self, period: u64, seed: u64) -> u64 {
        if self.setting.scatter { (period as f64 * unit(seed, 0)) as u64 } else { 0 }
    }

    fn add(&mut self, phase: &Phase) -> Option<End> {
        match *phase {
            Phase::Context { size, within } => {
                let to = self.level.saturating_add(self.size(size));
                self.ramp(to, within, 2, false, 0.0);
            }
            Phase::Load { to, within, pieces, utilization } => {
                let wanted = pieces.map_or_else(|| (within.us() / 100_000).clamp(4, 1000), u64::from);
                let to = self.size(to).max(self.level);
                self.ramp(to, within, wanted, false, load(utilization, 3.0));
            }
            Phase::Warmup { size, within } => {
                let to = self.level.saturating_add(self.size(size));
                self.ramp(to, within, 9, true, 61.0);
            }
            Phase::Steps { amplitude, period, jitter, utilization, .. } => {
                let rhythm = (self.size(amplitude), period.us(), jitter.0, load(utilization, 97.0));
                self.rhythm = Some(rhythm);
                self.cycle(phase, rhythm, Profile::Step, None);
            }
            Phase::Leak { rate, segment, .. } => {
                let rhythm = self.rhythm.unwrap_or((0, 400_000, 0.0, 97.0));
                let segment = segment.pages();
                let every = (u128::from(segment) * 1_000_000 / u128::from(rate.0.0)).max(1) as u64;
                let growth = Growth { segment, every };
                let (lasted, seed) = self.cycle(phase, rhythm, Profile::Step, Some(growth));
                self.level = self.level.saturating_add(growth.value(lasted, seed));
                self.rest_if_bounded(phase);
            }
            Phase::Eval { size, within, lasts } => {
                let to = self.level.saturating_add(self.size(size));
                let rise = Time(within.0.min(lasts.0));
                self.ramp(to, rise, 5, false, 34.0);
                self.span(lasts.us() - rise.us(), 34.0, Shape::Hold(to));
            }
            Phase::OptimizerStep { size } => {
                self.level = self.level.saturating_add(self.size(size));
                self.rest(90.0);
            }
            Phase::Plateau { utilization, .. } => {
                let level = self.level;
                self.lasting(phase, load(utilization, 0.0), Shape::Hold(level));
            }
            Phase::Pool { to, within } => {
                let to = match to {
                    Amount::Size(size) => self.size(Size(size)),
                    Amount::Share(share) => pages_down((self.setting.total as f64 * share) as u64),
                };
                let to = to.max(self.level);
                self.ramp(to, within, 3, false, 8.0);
            }
            Phase::GraphCapture { size, within, pieces } => {
                let to = self.level.saturating_add(self.size(size));
                self.ramp(to, within, u64::from(pieces), false, 22.0);
            }
            Phase::CheckpointSave { height, lasts } | Phase::Spike { height, lasts } => {
                let high = self.level.saturating_add(self.size(height));
                self.span(lasts.us(), 12.0, Shape::Hold(high));
                self.rest(12.0);
            }
            Phase::Spikes { height, width, every, utilization, .. } => {
                let rhythm = (self.size(height), every.us(), 0.0, load(utilization, 20.0));
                self.cycle(phase, rhythm, Profile::Pulse(width.us()), None);
            }
            Phase::Wander { amplitude, every, utilization, .. } => {
                let (seed, amplitude) = (self.seed(), self.size(amplitude));
                let (base, every) = (self.level, every.us());
                let shape = Shape::Wander { base, amplitude, every, offset: self.offset(every, seed), seed };
                self.lasting(phase, load(utilization, 4.0), shape);
                self.rest_if_bounded(phase);
            }
            Phase::Release { to, within } => {
                let to = self.size(to).min(self.level);
                self.ramp(to, within, 4, false, 1.0);
            }
            Phase::Exit { status, within } => {
                self.ramp(0, within, 3, false, 0.0);
                return Some(End { at: self.now, status: Some(status), oom: false, orphan: false });
            }
            Phase::Oom {} => {
                let at = self.track.die(self.now, true);
                return Some(End { at, status: Some(1), oom: true, orphan: false });
            }
            Phase::Orphan { lasts } => {
                let at = self.now;
                self.rest(0.0);
                if let Some(lasts) = lasts {
                    self.track.push(at + lasts.us(), 0.0, Shape::Hold(0));
                }
                return Some(End { at, status: None, oom: false, orphan: true });
            }
        }
        None
    }

    /// The cycles of a phase; returns how long they last and their seed.
    fn cycle(
        &mut self,
        phase: &Phase,
        (amplitude, period, jitter, utilization): (u64, u64, f64, f32),
        profile: Profile,
        growth: Option<Growth>,
    ) -> (u64, u64) {
        let seed = self.seed();
        let (base, offset) = (self.level, self.offset(period, seed));
        let shape = Shape::Cycle { base, amplitude, period, offset, jitter, seed, profile, growth };
        let lasted = self.lasting(phase, utilization, shape);
        if growth.is_none() {
            self.rest_if_bounded(phase);
        }
        (lasted, seed)
    }

    fn rest_if_bounded(&mut self, phase: &Phase) {
        if phase.lasting() != Some((None, None)) {
            self.rest(0.0);
        }
    }
}

fn load(given: Option<Percent>, usual: f32) -> f32 {
    given.map_or(usual, |percent| percent.0)
}
