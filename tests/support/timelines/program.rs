//! A program as a script: the level of memory that the driver sees of it, from moment to moment, in MiB and seconds.
//!
//! What the driver sees of a caching allocator are its segments: they are mapped when the peak passes what is there and stay.
//! So the steps of a training are not in a script unless their memory is really given back.

use vramscope::domain::{HolderKind, Relation};

use super::dice::Dice;

/// A change of level on a card. Whether it can be had is decided where all programs meet ([`super::settle`]).
#[derive(Clone, Copy, Debug)]
pub struct Event {
    pub t: f64,
    pub gpu: usize,
    pub level: f64,
}

/// What a person would know of a program.
#[derive(Clone, Debug)]
pub struct Role {
    pub command: &'static str,
    pub relation: Relation,
    pub kind: HolderKind,
}

/// One process.
#[derive(Clone, Debug)]
pub struct Program {
    pub pid: u32,
    pub ppid: u32,
    pub role: Role,
    /// When it started; negative if before the recording.
    pub born: f64,
    pub events: Vec<Event>,
    /// Utilisation of its card from a moment on.
    pub busy: Vec<(f64, f64)>,
    /// Loading ramps, and what nobody could tell from a growth without end: alarms there count neither way.
    pub loading: Vec<(f64, f64)>,
    /// Since when it grows without bound.
    pub grows: Option<f64>,
    /// It ends then, whatever it did.
    pub killed: Option<f64>,
    /// It catches the failure and keeps what it has.
    pub catches: bool,
    /// Cached blocks that its allocator gives back before a request fails for good.
    pub slack: f64,
    /// Programs of one job die together.
    pub job: Option<u32>,
}

/// Writes a script from its beginning to its end.
#[derive(Debug)]
pub struct Script {
    pub program: Program,
    pub t: f64,
    pub level: f64,
    gpu: usize,
}

/// A multiple of the driver's pages of 2 MiB.
pub fn pages(mib: f64) -> f64 {
    (mib / 2.0).round().max(0.0) * 2.0
}

impl Role {
    pub fn mine(command: &'static str) -> Self {
        Self { command, relation: Relation::Mine, kind: HolderKind::C }
    }

    pub fn foreign(command: &'static str) -> Self {
        Self { command, relation: Relation::Foreign, kind: HolderKind::C }
    }

    pub fn training(dice: &Dice) -> Self {
        Self::mine(dice.pick(&[
            "python train.py --config base.yaml",
            "python main.py",
            "torchrun --nproc-per-node 1 finetune.py --bf16",
            "python -m trainer.sft --batch 8",
            "python run_clm.py --do_train --do_eval",
            "python pretrain_jax.py",
        ]))
    }

    pub fn server(dice: &Dice) -> Self {
        Self::mine(dice.pick(&[
            "python -m vllm.entrypoints.openai.api_server --model m",
            "VLLM::EngineCore",
            "python -m sglang.launch_server --model-path m",
            "tritonserver --model-repository=/models",
            "python serve.py",
        ]))
    }
}

impl Script {
    pub fn new(dice: &Dice, role: Role, gpu: usize, t: f64) -> Self {
        let pid = 1_000 + dice.int(0, 3_000_000) as u32;
        let born = if t > 0.0 { t } else { -dice.log(30.0, 200_000.0) };
        let program = Program {
            pid,
            ppid: pid - dice.int(1, 60) as u32,
            role,
            born,
            events: Vec::new(),
            busy: Vec::new(),
            loading: Vec::new(),
            grows: None,
            killed: None,
            catches: false,
            slack: 0.0,
            job: None,
        };
        Self { program, t, level: 0.0, gpu }
    }

    /// The level is this, now.
    pub fn to(&mut self, level: f64) -> &mut Self {
        self.level = pages(level);
        self.program.events.push(Event { t: self.t, gpu: self.gpu, level: self.level });
        self
    }

    pub fn add(&mut self, mib: f64) -> &mut Self {
        self.to(self.level + mib)
    }

    pub fn pass(&mut self, seconds: f64) -> &mut Self {
        self.t += seconds;
        self
    }

    pub fn busy(&mut self, utilization: f64) -> &mut Self {
        self.program.busy.push((self.t, utilization));
        self
    }

    /// To a level within a time in so many uneven pieces.
    pub fn ramp(&mut self, dice: &Dice, level: f64, seconds: f64, pieces: u64) -> &mut Self {
        let weights: Vec<f64> = (0..pieces.max(1)).map(|_| dice.range(0.4, 1.6)).collect();
        let (sum, from, begin) = (weights.iter().sum::<f64>(), self.level, self.t);
        let mut done = 0.0;
        for weight in &weights {
            done += weight / sum;
            self.t = begin + seconds * (done - dice.unit() * 0.3 * weight / sum);
            self.to(from + (level - from) * done);
        }
        self.t = begin + seconds;
        self
    }

    /// The same as a load: the card computes nothing, and alarms count neither way.
    pub fn load(&mut self, dice: &Dice, level: f64, seconds: f64) -> &mut Self {
        let from = self.t;
        self.busy(dice.range(0.0, 6.0));
        let pieces = (seconds * dice.log(1.0, 20.0)).clamp(4.0, 400.0) as u64;
        self.ramp(dice, level, seconds, pieces);
        self.program.loading.push((from, self.t));
        self
    }

    /// The context and its libraries, in one or two jumps.
    pub fn context(&mut self, dice: &Dice) -> &mut Self {
        let size = dice.range(250.0, 560.0);
        self.busy(0.0);
        if dice.chance(0.5) {
            self.to(size * 0.6).pass(dice.range(0.1, 0.9));
        }
        self.to(size).pass(dice.range(0.2, 3.0))
    }

    /// Evaluation pauses and such: the load falters now and then until a moment, the memory does not move.
    pub fn work(&mut self, dice: &Dice, until: f64, full: f64) -> &mut Self {
        while self.t < until {
            self.busy(full);
            let (stretch, dip) = (dice.log(20.0, 300.0), dice.range(1.0, 8.0));
            self.t = (self.t + stretch).min(until);
            if self.t < until && dice.chance(0.5) {
                self.busy(full * dice.range(0.1, 0.6));
                self.t = (self.t + dip).min(until);
            }
        }
        self.busy(full)
    }

    pub fn exit(&mut self, dice: &Dice) -> &mut Self {
        self.busy(0.0);
        let left = self.level;
        self.to(left * dice.range(0.2, 0.9)).pass(dice.range(0.03, 0.5)).to(0.0)
    }

    pub fn end(self) -> Program {
        self.program
    }
}

/// A training from its start to its steady state, which holds `steady` MiB; or attached to one that runs already.
pub fn training(dice: &Dice, role: Role, gpu: usize, t: f64, steady: f64) -> Script {
    let mut script = Script::new(dice, role, gpu, t);
    script.context(dice);
    let room = (steady - script.level).max(100.0);
    let weights = room * dice.range(0.08, 0.35);
    let optimizer = weights * dice.pick(&[0.0, 0.25, 1.0, 2.0]) * dice.range(0.9, 1.0);
    let warm = room * dice.range(0.0, 0.02);
    let seconds = dice.log(2.0, 60.0);
    script.load(dice, script.level + weights, seconds);
    script.busy(4.0).pass(dice.log(0.3, 10.0));
    script.busy(92.0);
    // The first step rises piece by piece, the optimizer's states come at its end.
    let pieces = dice.int(4, 30);
    let first = dice.log(0.3, 4.0);
    script.ramp(dice, steady - optimizer - warm, first, pieces);
    if optimizer > 0.0 {
        let pieces = dice.int(1, 6);
        script.ramp(dice, steady - warm, dice.range(0.05, 0.6), pieces);
    }
    let step = dice.log(0.1, 2.0);
    let segments = dice.int(2, 8);
    for n in 0..segments {
        script.pass(step * dice.range(1.0, 2.0 + n as f64)).add(warm / segments as f64);
    }
    script.to(steady);
    script
}

/// A training that ran already when the recording began.
pub fn attached(dice: &Dice, role: Role, gpu: usize, steady: f64) -> Script {
    let mut script = Script::new(dice, role, gpu, 0.0);
    script.to(steady).busy(dice.range(70.0, 99.0));
    script
}
