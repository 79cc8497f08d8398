//! Labelled timelines, made from a seed: programs as PyTorch, JAX, TensorFlow, vLLM, llama.cpp and Ollama behave, played
//! against cards of real sizes and recorded as a monitor records. A request fails where it is larger than what is free.
//!
//! The set is an examiner: it knows nothing of how the product detects.

mod camera;
mod dice;
mod growth;
mod kinds;
mod program;
mod settle;

use vramscope::domain::{Gpu, Pid, Sample, Shape};

use camera::Camera;
pub use dice::Dice;
pub use kinds::{KINDS, Kind};
use program::Program;
use settle::{Card, Settled, settle};

/// A growth shorter than this, or seen in fewer rises, announces nothing that one could act on.
const ANNOUNCED: (f64, usize) = (15.0, 4);

/// An alarm is right, if not useful for recall, where the memory would be full within this many seconds.
const SOON: f64 = 600.0;

/// What is true of a card; times in seconds.
#[derive(Clone, Debug)]
pub struct Truth {
    pub gpu: Gpu,
    /// When a request failed.
    pub oom: Option<f64>,
    /// The growth that announced it: from its first visible rise.
    pub growth: Option<(f64, f64)>,
    /// Alarms that begin here count neither way: loading ramps, the end of a growth that was cut off, the fall after an OOM.
    pub neutral: Vec<(f64, f64)>,
    /// Full, or on its way there, and harmless.
    pub frightening: bool,
    /// The word for the card's series, then words that a person could use as well. None: not judged.
    pub shapes: &'static [Shape],
    /// The same of the process that matters, where lists name it.
    pub main: Option<(Pid, &'static [Shape])>,
}

/// A labelled timeline.
#[derive(Clone, Debug)]
pub struct Case {
    pub kind: &'static Kind,
    pub hz: f64,
    pub lists: bool,
    pub usage: bool,
    pub seconds: f64,
    pub samples: Vec<Sample>,
    pub truths: Vec<Truth>,
}

/// What a kind plans; what comes of it is settled after.
#[derive(Debug)]
struct Plan {
    cards: Vec<Card>,
    programs: Vec<Program>,
    /// The recording ends here, or this long after a failure.
    end: f64,
    tail: f64,
    /// It ends at this share of the growth, before anything fails.
    cut: Option<f64>,
    frightening: bool,
    /// Of the first card.
    shapes: &'static [Shape],
    main: Option<usize>,
    main_shapes: &'static [Shape],
}

/// The kind that stands at a place of a set: all kinds come by their weights, in an order that repeats.
fn kind_at(n: u64) -> &'static Kind {
    let weights: u64 = KINDS.iter().map(|kind| kind.weight).sum();
    // Strides of a prime mix the kinds, so that the beginning of a set already holds of every sort.
    let mut place = (n * 37) % weights;
    for kind in KINDS {
        if place < kind.weight {
            return kind;
        }
        place -= kind.weight;
    }
    &KINDS[0]
}

impl Case {
    /// The `n`-th timeline of a set.
    pub fn of_set(seed: u64, n: u64) -> Self {
        let seed = Dice::new(seed ^ n.wrapping_mul(0x2545_f491_4f6c_dd1d)).next();
        Self::of_kind(kind_at(n), seed)
    }

    /// A timeline of a kind.
    pub fn of_kind(kind: &'static Kind, seed: u64) -> Self {
        let dice = Dice::new(seed);
        let mut plan = Plan::new(kind.frightening);
        (kind.plan)(&dice, &mut plan);
        let mut camera = Camera {
            hz: dice.pick(&[1.0, 1.0, 10.0, 10.0, 50.0]),
            lists: dice.chance(0.65),
            early: dice.chance(0.5),
            usage: dice.chance(0.6),
            dense: dice.chance(0.3),
            jitter: dice.pick(&[0.02, 0.05, 0.6]),
            lost: dice.pick(&[0.0, 0.0, 0.0, 0.05]),
            gaps: Vec::new(),
            sizeless: dice.chance(0.05),
            v1: dice.chance(0.15),
        };
        // The host's memory is told of only with lists; a recording of unified memory without it would say nothing at all.
        camera.lists |= plan.cards.iter().any(|card| card.unified);
        camera.sizeless &= !plan.cards.iter().any(|card| card.unified);
        // What chance does where programs meet is the same with and without kills.
        let unharmed = settle(&Dice::new(seed ^ 1), &plan.cards, &plan.programs, false);
        let settled = settle(&Dice::new(seed ^ 1), &plan.cards, &plan.programs, true);
        let seconds = plan.seconds(&settled);
        while dice.chance(0.12) {
            let from = dice.range(0.0, seconds);
            camera.gaps.push((from, from + dice.log(2.0, 15.0)));
        }
        let samples = camera.record(&dice, &plan.cards, &plan.programs, &settled, seconds);
        let mut truths: Vec<Truth> =
            (0..plan.cards.len()).map(|gpu| plan.truth(gpu, &settled, &unharmed, seconds, camera.hz)).collect();
        if camera.sizeless || !camera.lists {
            for truth in &mut truths {
                truth.main = None;
            }
        }
        Self { kind, hz: camera.hz, lists: camera.lists, usage: camera.usage, seconds, samples, truths }
    }
}

impl Plan {
    fn new(frightening: bool) -> Self {
        let (cards, programs) = (Vec::new(), Vec::new());
        let (shapes, main_shapes): (&[Shape], &[Shape]) = (&[], &[]);
        Self { cards, programs, end: 0.0, tail: 0.0, cut: None, frightening, shapes, main: None, main_shapes }
    }

    /// How long the recording is.
    fn seconds(&self, settled: &Settled) -> f64 {
        let Some(failure) = settled.failures.first() else { return self.end };
        match (self.cut, self.programs[failure.program].grows) {
            (Some(share), Some(from)) => from + (failure.t - from) * share,
            _ => failure.t + self.tail,
        }
    }

    /// When a growing program first shows more than it ever did, after a moment.
    fn first_rise(levels: &[(f64, f64)], from: f64) -> Option<f64> {
        let before = levels.iter().take_while(|(t, _)| *t < from).map(|(_, level)| *level).fold(0.0, f64::max);
        levels.iter().find(|(t, level)| *t >= from && *level > before).map(|(t, _)| *t)
    }

    fn truth(&self, gpu: usize, settled: &Settled, unharmed: &Settled, seconds: f64, hz: f64) -> Truth {
        let failure = settled.failures.iter().find(|failure| failure.gpu == gpu && failure.t < seconds);
        let oom = failure.map(|failure| failure.t);
        let growing = |settled: &Settled| {
            let grows = self.programs.iter().zip(&settled.levels);
            let froms = grows.filter_map(|(program, levels)| Self::first_rise(&levels[gpu], program.grows?));
            froms.min_by(f64::total_cmp)
        };
        let from = growing(settled).filter(|from| *from < oom.unwrap_or(seconds));
        let mut neutral: Vec<(f64, f64)> = Vec::new();
        for (program, levels) in self.programs.iter().zip(&settled.levels) {
            let here = !levels[gpu].is_empty() || self.parts(gpu).any(|part| !levels[part].is_empty());
            if here {
                neutral.extend(program.loading.iter().map(|(from, to)| (*from, to + 2.0)));
            }
        }
        let mut growth = None;
        if let Some(oom) = oom {
            neutral.push((oom, oom + 20.0));
            // Whoever warned of a failure that nothing announced was not wrong.
            neutral.push((oom - 30.0, oom));
        }
        if let (Some(from), Some(oom)) = (from, oom) {
            let mut ticks: Vec<u64> = Vec::new();
            for levels in &settled.levels {
                let (mut high, mut last) = (0.0_f64, 0.0_f64);
                for &(t, level) in &levels[gpu] {
                    if level > high && t >= from && t <= oom && last > 0.0 {
                        ticks.push((t * hz) as u64);
                    }
                    (high, last) = (high.max(level), level);
                }
            }
            ticks.sort_unstable();
            ticks.dedup();
            if oom - from >= ANNOUNCED.0 && ticks.len() >= ANNOUNCED.1 {
                growth = Some((from, oom));
            } else {
                neutral.push((from, oom));
            }
        } else if let Some(from) = from {
            // It would have failed had the recording or the program gone on: alarms shortly before that are right.
            let doom = unharmed.failures.iter().find(|failure| failure.gpu == gpu).map(|failure| failure.t);
            let others = settled.failures.first().filter(|failure| failure.gpu != gpu).map(|failure| failure.t + 30.0);
            if let Some(doom) = doom {
                neutral.push((from.max(doom - SOON), doom.max(seconds)));
            } else if let Some(others) = others {
                // Its job died of another card while it grew as well.
                neutral.push((from, others));
            }
        }
        // A whole card shows what its instances do.
        for part in self.parts(gpu) {
            let of = self.truth(part, settled, unharmed, seconds, hz);
            neutral.extend(of.growth);
            neutral.extend(of.neutral);
        }
        let whole = self.parts(gpu).next().is_some();
        // Of a card with instances the first instance.
        let judged = usize::from(self.parts(0).next().is_some());
        let shapes = if gpu == judged && !whole { self.shapes } else { &[] };
        let main = self.main.filter(|_| gpu == judged).map(|n| (Pid(self.programs[n].pid), self.main_shapes));
        let frightening = self.frightening && gpu == judged;
        Truth { gpu: Gpu(gpu as u32), oom, growth, neutral, frightening, shapes, main }
    }

    /// The instances of a card.
    fn parts(&self, gpu: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.cards.len()).filter(move |&part| self.cards[part].parent == Some(gpu))
    }
}
