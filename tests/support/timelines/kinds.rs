//! The kinds of timelines: signatures, their mixtures, and what looks like them and is harmless.

use vramscope::domain::{HolderKind, Relation, Shape};

use super::Plan;
use super::dice::Dice;
use super::growth::{Growth, Pace, fragments, records, tooth};
use super::program::{Role, Script, attached, pages, training};
use super::settle::Card;

/// A kind of timeline.
#[derive(Debug)]
pub struct Kind {
    pub name: &'static str,
    /// How many of it are in a set, relative to the others.
    pub weight: u64,
    /// Whether it looks dangerous and is not.
    pub frightening: bool,
    pub(super) plan: fn(&Dice, &mut Plan),
}

const LEAK: &[Shape] = &[Shape::Leak, Shape::Growing];
const EPOCHS: &[Shape] = &[Shape::Leak, Shape::Steps, Shape::Growing];
const GROWING: &[Shape] = &[Shape::Growing, Shape::Leak];
const FRAGMENTS: &[Shape] = &[Shape::Staircase, Shape::Growing, Shape::Leak];
const STAIRCASE: &[Shape] = &[Shape::Staircase, Shape::Steady];
const SATURATED: &[Shape] = &[Shape::Growing, Shape::Steady, Shape::Staircase];
const STEADY: &[Shape] = &[Shape::Steady];
const POOL: &[Shape] = &[Shape::Preallocated, Shape::Steady];
const SAWTOOTH: &[Shape] = &[Shape::Sawtooth];
const TEETH_LEAK: &[Shape] = &[Shape::Leak, Shape::Growing, Shape::Sawtooth];
const STEPS: &[Shape] = &[Shape::Steps];
/// Somebody came or went.
const ARRIVAL: &[Shape] = &[Shape::Steps, Shape::Steady];
const CHURN: &[Shape] = &[Shape::Churn, Shape::Steps];
const IDLE: &[Shape] = &[Shape::Idle];
const LOADED: &[Shape] = &[Shape::Steady, Shape::Steps, Shape::Preallocated];
const WANDER: &[Shape] = &[Shape::Steady, Shape::Steps, Shape::Spiky];
const UNJUDGED: &[Shape] = &[];

const fn kind(name: &'static str, weight: u64, plan: fn(&Dice, &mut Plan)) -> Kind {
    Kind { name, weight, frightening: false, plan }
}

const fn frightening(name: &'static str, weight: u64, plan: fn(&Dice, &mut Plan)) -> Kind {
    Kind { name, weight, frightening: true, plan }
}

/// Every kind there is.
pub const KINDS: &[Kind] = &[
    // Growth that ends in an OOM.
    kind("leak of 2 MiB segments", 4, |dice, plan| leak(dice, plan, |_, _| 2.0)),
    kind("leak of 20 MiB segments", 4, |dice, plan| leak(dice, plan, |_, room| (room / 10.0).min(20.0))),
    kind("leak of big blocks", 3, |dice, plan| leak(dice, plan, |dice, room| room / dice.range(4.0, 25.0))),
    kind("growing requests", 2, growing_requests),
    kind("leak with evaluations", 2, leak_with_rests),
    kind("leak per epoch", 3, leak_per_epoch),
    kind("accelerating growth", 3, accelerating),
    kind("slowing growth into the limit", 2, slowing),
    kind("leak after a long plateau", 3, leak_after_plateau),
    kind("leak with partial resets", 2, leak_with_resets),
    kind("sawtooth and leak", 4, sawtooth_and_leak),
    kind("leak under spikes", 3, leak_under_spikes),
    kind("evaluation jump, then leak", 2, steps_and_leak),
    kind("staircase of fragmentation", 3, fragmentation),
    kind("KV cache of one long context", 3, kv_cache),
    kind("foreign grower, mine flat", 3, foreign_grower),
    kind("two growers", 2, two_growers),
    kind("leak beside a pool", 2, leak_beside_pool),
    kind("leak on all cards of a job", 2, leak_of_job),
    kind("leak in a MIG instance", 2, leak_in_instance),
    kind("leak in unified memory", 2, leak_in_unified),
    kind("fast growth", 3, fast_growth),
    kind("leak cut before its end", 2, leak_cut),
    kind("leak stopped by hand", 1, leak_stopped),
    // Failures that nothing announces.
    kind("one big request", 2, one_shot),
    kind("evaluation jump that fails", 1, eval_fails),
    kind("weights too large", 1, load_fails),
    kind("optimizer states that fail", 1, optimizer_fails),
    // Harmless, and looks it.
    kind("steady training", 3, steady_training),
    kind("idle", 1, idle),
    kind("slow leak, far from full", 2, slow_leak),
    kind("workers with contexts", 1, workers),
    kind("rank 0 pile-up", 1, rank0),
    kind("imbalance", 1, imbalance),
    kind("orphan", 1, orphan),
    kind("spikes", 2, spikes),
    kind("stages of a pipeline", 2, stages),
    kind("desktop", 1, desktop),
    kind("foreign arrival", 2, foreign_arrival),
    kind("short jobs one after another", 1, short_jobs),
    kind("small pool in unified memory", 1, unified_pool),
    kind("steady MIG instances", 1, steady_instances),
    // Harmless, and frightening.
    frightening("pool at 95 %", 3, pool_95),
    frightening("TensorFlow takes it all", 2, tensorflow),
    frightening("sawtooth to 94 %", 3, sawtooth_94),
    frightening("stages to 94 %", 2, stages_94),
    frightening("loading ramp to 90 %", 3, loading_90),
    frightening("saturating growth", 5, saturating),
    frightening("graph capture at 93 %", 3, graph_capture),
    frightening("staircase under the limit", 4, staircase),
    frightening("churn of models", 2, churn),
    frightening("evaluation jumps that fit", 3, eval_fits),
    frightening("allocator warm-up near the limit", 2, warmup),
    frightening("full card, flat owner", 2, full_flat),
    frightening("slow wander", 2, wander),
    frightening("spikes to 97 %", 2, spikes_97),
    frightening("training at 95 %", 2, training_95),
    frightening("requests of a server, to 92 %", 2, requests),
    frightening("arrival on a full card", 2, arrival_full),
    frightening("few lasting steps", 2, few_steps),
];

const CARDS: &[(&str, f64)] = &[
    ("NVIDIA GeForce RTX 3070", 8_192.0),
    ("NVIDIA GeForce RTX 3080", 10_240.0),
    ("NVIDIA GeForce RTX 2080 Ti", 11_264.0),
    ("NVIDIA GeForce RTX 3060", 12_288.0),
    ("Tesla T4", 15_360.0),
    ("NVIDIA GeForce RTX 4090", 24_564.0),
    ("NVIDIA A100-SXM4-40GB", 40_960.0),
    ("NVIDIA L40S", 46_068.0),
    ("NVIDIA H100 80GB HBM3", 81_559.0),
    ("NVIDIA A100-SXM4-80GB", 81_920.0),
    ("NVIDIA RTX PRO 6000", 97_887.0),
    ("NVIDIA H200", 143_771.0),
    ("NVIDIA B200", 183_359.0),
];

impl Plan {
    /// Adds a card; all of a plan are alike.
    fn card(&mut self, dice: &Dice) -> usize {
        let card = if let Some(card) = self.cards.first() {
            card.clone()
        } else {
            let (name, total) = dice.pick(CARDS);
            let reserved = pages(total * 0.005 + dice.range(60.0, 200.0));
            Card { name, total, reserved, base: dice.range(1.0, 14.0).round(), parent: None, unified: false }
        };
        self.cards.push(card);
        self.cards.len() - 1
    }

    /// What programs can have of a card.
    fn usable(&self, gpu: usize) -> f64 {
        let card = &self.cards[gpu];
        card.total - card.reserved - card.base
    }

    /// Adds a program; the first is the one that matters.
    fn run(&mut self, script: Script) -> usize {
        self.programs.push(script.end());
        self.programs.len() - 1
    }

    fn judge(&mut self, card: &'static [Shape], main: usize, shapes: &'static [Shape]) {
        (self.shapes, self.main, self.main_shapes) = (card, Some(main), shapes);
    }

    /// How long it goes on after a failure.
    fn tail(&mut self, dice: &Dice) {
        self.tail = dice.log(1.0, 60.0);
    }
}

/// A training at a level, seen from its start or while it runs, that has been steady for a while.
fn steady(dice: &Dice, gpu: usize, level: f64, plateau: f64) -> Script {
    let role = Role::training(dice);
    let mut script = if dice.chance(0.5) {
        attached(dice, role, gpu, level)
    } else {
        let t = dice.range(0.0, 10.0);
        training(dice, role, gpu, t, level)
    };
    let until = script.t + plateau;
    script.work(dice, until, 93.0);
    script
}

/// How long a growth lasts: half a minute as often as a quarter of an hour.
fn long(dice: &Dice) -> f64 {
    dice.log(20.0, 1_500.0)
}

fn step(dice: &Dice, seconds: f64) -> f64 {
    dice.log(0.08, 3.0).min(seconds / 40.0)
}

/// The forever of a script that grows until it fails.
const END: f64 = 4_000.0;

fn leak_on(dice: &Dice, plan: &mut Plan, gpu: usize, shape: fn(&Dice, f64) -> f64, change: impl Fn(&Dice, &mut Growth)) {
    let usable = plan.usable(gpu);
    let level = usable * dice.range(0.15, 0.85);
    let plateau = dice.log(3.0, 240.0);
    let mut script = steady(dice, gpu, level, plateau);
    let (room, seconds) = (usable - script.level, long(dice));
    let segment = shape(dice, room);
    let step = step(dice, seconds);
    let mut growth = Growth { noise: dice.pick(&[0.0, 0.2, 0.5]), ..Growth::leak(room, seconds, step, segment) };
    change(dice, &mut growth);
    growth.write(dice, &mut script, END);
    script.program.catches = dice.chance(0.1);
    if dice.chance(0.25) {
        script.program.slack = usable * dice.range(0.003, 0.04);
    }
    let main = plan.run(script);
    plan.judge(LEAK, main, LEAK);
    plan.end = END;
    plan.tail(dice);
}

fn leak(dice: &Dice, plan: &mut Plan, segment: fn(&Dice, f64) -> f64) {
    let gpu = plan.card(dice);
    leak_on(dice, plan, gpu, segment, |_, _| ());
}

fn small(dice: &Dice, room: f64) -> f64 {
    dice.pick(&[2.0_f64, 20.0, 64.0]).min(room / 12.0)
}

fn leak_with_rests(dice: &Dice, plan: &mut Plan) {
    let gpu = plan.card(dice);
    leak_on(dice, plan, gpu, small, |dice, growth| {
        let every = growth.seconds / dice.range(4.0, 12.0);
        growth.rests = Some((every, (every * dice.range(0.05, 0.3)).min(30.0)));
    });
}

fn leak_per_epoch(dice: &Dice, plan: &mut Plan) {
    let gpu = plan.card(dice);
    leak_on(
        dice,
        plan,
        gpu,
        |_, _| 2.0,
        |dice, growth| {
            growth.seconds = growth.seconds.max(60.0);
            growth.step = growth.seconds / dice.range(4.5, 14.0);
            growth.noise = dice.pick(&[0.0, 0.05]);
        },
    );
    plan.judge(EPOCHS, 0, EPOCHS);
}

fn accelerating(dice: &Dice, plan: &mut Plan) {
    let gpu = plan.card(dice);
    leak_on(dice, plan, gpu, small, |dice, growth| growth.pace = Pace::Accelerating(dice.log(2.0, 8.0)));
    plan.judge(GROWING, 0, GROWING);
}

fn slowing(dice: &Dice, plan: &mut Plan) {
    let gpu = plan.card(dice);
    leak_on(dice, plan, gpu, small, |dice, growth| growth.pace = Pace::Slowing(dice.range(0.45, 0.8)));
    plan.judge(GROWING, 0, GROWING);
}

fn leak_after_plateau(dice: &Dice, plan: &mut Plan) {
    let gpu = plan.card(dice);
    let usable = plan.usable(gpu);
    let level = usable * dice.range(0.3, 0.9);
    let plateau = dice.log(240.0, 1_000.0);
    let mut script = steady(dice, gpu, level, plateau);
    let (room, seconds) = (usable - script.level, dice.log(20.0, 700.0));
    let (segment, step) = (small(dice, room), step(dice, seconds));
    Growth::leak(room, seconds, step, segment).write(dice, &mut script, END);
    let main = plan.run(script);
    plan.judge(LEAK, main, LEAK);
    plan.end = END;
    plan.tail(dice);
}

fn leak_with_resets(dice: &Dice, plan: &mut Plan) {
    let gpu = plan.card(dice);
    leak_on(dice, plan, gpu, small, |dice, growth| {
        // With what comes back it takes up to two and a half times as long.
        growth.seconds = growth.seconds.min(600.0);
        let every = growth.seconds / dice.range(4.0, 10.0);
        growth.resets = Some((every, dice.range(0.1, 0.6)));
    });
    plan.judge(TEETH_LEAK, 0, TEETH_LEAK);
}

fn sawtooth_and_leak(dice: &Dice, plan: &mut Plan) {
    let gpu = plan.card(dice);
    let usable = plan.usable(gpu);
    let floor = usable * dice.range(0.15, 0.5);
    let height = (usable - floor) * dice.range(0.2, 0.7);
    let seconds = dice.log(40.0, 1_500.0);
    let period = dice.log(0.5, 40.0).min(seconds / 12.0);
    let role = Role::training(dice);
    let mut script = attached(dice, role, gpu, floor);
    let quiet = dice.int(3, 20);
    for _ in 0..quiet {
        let top = script.level + height;
        tooth(dice, &mut script, top, period * dice.range(0.95, 1.05));
    }
    script.program.grows = Some(script.t);
    let per_cycle = (usable - floor - height) * period / seconds;
    let (base, begin) = (script.level, script.t);
    while script.t - begin < seconds * 1.5 {
        let top = script.level + height * dice.range(0.97, 1.0);
        tooth(dice, &mut script, top, period * dice.range(0.95, 1.05));
        let leaked = per_cycle * (script.t - begin) / period;
        script.to(base + (leaked / 2.0).floor() * 2.0);
    }
    let main = plan.run(script);
    plan.judge(TEETH_LEAK, main, TEETH_LEAK);
    plan.end = END;
    plan.tail(dice);
}

/// The floor leaks; what fails is the peak of a checkpoint or an evaluation that gives its memory back.
fn leak_under_spikes(dice: &Dice, plan: &mut Plan) {
    let gpu = plan.card(dice);
    let usable = plan.usable(gpu);
    let floor = usable * dice.range(0.2, 0.5);
    let height = (usable - floor) * dice.range(0.15, 0.5);
    let seconds = dice.log(60.0, 1_200.0);
    let every = seconds / dice.range(8.0, 40.0);
    let role = Role::training(dice);
    let mut script = attached(dice, role, gpu, floor);
    let (begin, base) = (script.t + dice.log(5.0, 100.0), script.level);
    script.t = begin;
    script.program.grows = Some(begin);
    let rate = (usable - floor - height) / seconds;
    let (mut spike, step) = (begin + every, step(dice, seconds));
    while script.t - begin < seconds * 1.5 {
        script.pass(step);
        let level = base + rate * (script.t - begin);
        if pages(level) > script.level {
            script.to(level);
        }
        if script.t >= spike {
            spike += every * dice.range(0.9, 1.1);
            let floor = script.level;
            let (up, pieces) = (dice.log(0.05, 2.0).min(every / 5.0), dice.int(1, 5));
            let top = floor + height * dice.range(0.95, 1.0);
            script.ramp(dice, top, up, pieces);
            script.pass(dice.log(0.05, 5.0).min(every / 5.0)).to(floor);
        }
    }
    let main = plan.run(script);
    plan.judge(TEETH_LEAK, main, TEETH_LEAK);
    plan.end = END;
    plan.tail(dice);
}

fn steps_and_leak(dice: &Dice, plan: &mut Plan) {
    let gpu = plan.card(dice);
    let usable = plan.usable(gpu);
    let level = usable * dice.range(0.2, 0.5);
    let plateau = dice.log(30.0, 200.0);
    let mut script = steady(dice, gpu, level, plateau);
    evaluate(dice, &mut script, usable * 0.15);
    let until = script.t + dice.log(20.0, 200.0);
    script.work(dice, until, 93.0);
    let (room, seconds) = (usable - script.level, long(dice));
    let (segment, step) = (small(dice, room), step(dice, seconds));
    Growth { noise: 0.3, ..Growth::leak(room, seconds, step, segment) }.write(dice, &mut script, END);
    let main = plan.run(script);
    plan.judge(LEAK, main, LEAK);
    plan.end = END;
    plan.tail(dice);
}

/// An evaluation whose peak passes the level by so much.
fn evaluate(dice: &Dice, script: &mut Script, mib: f64) {
    script.busy(dice.range(15.0, 60.0)).pass(dice.range(0.2, 2.0));
    let (level, seconds, pieces) = (script.level + mib, dice.log(0.5, 10.0), dice.int(1, 12));
    script.ramp(dice, level, seconds, pieces);
    script.pass(dice.log(2.0, 30.0)).busy(93.0);
}

fn fragmentation(dice: &Dice, plan: &mut Plan) {
    let gpu = plan.card(dice);
    let usable = plan.usable(gpu);
    let level = usable * dice.range(0.3, 0.8);
    let plateau = dice.log(5.0, 120.0);
    let mut script = steady(dice, gpu, level, plateau);
    let (room, seconds) = (usable - script.level, dice.log(60.0, 1_500.0));
    fragments(dice, &mut script, room, seconds, END);
    let main = plan.run(script);
    plan.judge(FRAGMENTS, main, FRAGMENTS);
    plan.end = END;
    plan.tail(dice);
}

fn kv_cache(dice: &Dice, plan: &mut Plan) {
    let gpu = plan.card(dice);
    let usable = plan.usable(gpu);
    let role = Role::mine(dice.pick(&["python generate.py --max-new-tokens 200000", "python chat.py", "text-generation-server"]));
    let mut script = Script::new(dice, role, gpu, 0.0);
    let weights = usable * dice.range(0.3, 0.8);
    if dice.chance(0.5) {
        script.to(weights);
    } else {
        script.context(dice);
        let seconds = dice.log(3.0, 60.0);
        script.load(dice, weights, seconds);
    }
    script.pass(dice.log(2.0, 60.0)).busy(88.0);
    let (room, seconds) = (usable - script.level, dice.log(20.0, 600.0));
    let segment = dice.log(8.0, 256.0).min(room / 10.0);
    let pace = if dice.chance(0.5) { Pace::Constant } else { Pace::Slowing(dice.range(0.6, 0.9)) };
    let step = step(dice, seconds);
    Growth { pace, ..Growth::leak(room, seconds, step, segment) }.write(dice, &mut script, END);
    let main = plan.run(script);
    plan.judge(LEAK, main, LEAK);
    plan.end = END;
    plan.tail(dice);
}

fn foreign_grower(dice: &Dice, plan: &mut Plan) {
    let gpu = plan.card(dice);
    let usable = plan.usable(gpu);
    let own = usable * dice.range(0.3, 0.6);
    let mut mine = steady(dice, gpu, own, 0.0);
    mine.work(dice, END, 93.0);
    let start = mine.t.min(60.0) + dice.range(5.0, 200.0);
    plan.run(mine);
    let role = Role::foreign(dice.pick(&["python experiment.py", "python -m ipykernel_launcher", "python sample.py"]));
    let mut other = training(dice, role, gpu, start, (usable - own) * 0.3);
    let until = other.t + dice.log(5.0, 60.0);
    other.work(dice, until, 80.0);
    let (room, seconds) = (usable - own - other.level, long(dice));
    let (segment, step) = (small(dice, room), step(dice, seconds));
    Growth { noise: 0.3, ..Growth::leak(room, seconds, step, segment) }.write(dice, &mut other, END);
    let main = plan.run(other);
    plan.judge(LEAK, main, LEAK);
    plan.end = END;
    plan.tail(dice);
}

fn two_growers(dice: &Dice, plan: &mut Plan) {
    let gpu = plan.card(dice);
    let usable = plan.usable(gpu);
    let seconds = dice.log(60.0, 1_200.0);
    let level = usable * dice.range(0.15, 0.35);
    let room = usable - 2.0 * level;
    let part = dice.range(0.3, 0.7);
    for share in [part, 1.0 - part] {
        let role = Role::training(dice);
        let mut script = attached(dice, role, gpu, level);
        script.pass(dice.range(5.0, 60.0));
        let step = step(dice, seconds);
        let segment = small(dice, room * share);
        Growth { noise: 0.2, ..Growth::leak(room * share, seconds, step, segment) }.write(dice, &mut script, END);
        plan.run(script);
    }
    plan.judge(LEAK, 0, LEAK);
    plan.end = END;
    plan.tail(dice);
}

fn leak_beside_pool(dice: &Dice, plan: &mut Plan) {
    let gpu = plan.card(dice);
    let usable = plan.usable(gpu);
    let pool = usable * dice.range(0.3, 0.6);
    let role = Role::server(dice);
    let mut server = attached(dice, role, gpu, pool);
    server.work(dice, END, 50.0);
    let role = Role::training(dice);
    let mut script = attached(dice, role, gpu, (usable - pool) * dice.range(0.3, 0.7));
    let until = dice.log(5.0, 120.0);
    script.work(dice, until, 90.0);
    let (room, seconds) = (usable - pool - script.level, long(dice));
    let (segment, step) = (small(dice, room), step(dice, seconds));
    Growth::leak(room, seconds, step, segment).write(dice, &mut script, END);
    plan.run(server);
    let main = plan.run(script);
    plan.judge(LEAK, main, LEAK);
    plan.end = END;
    plan.tail(dice);
}

fn leak_of_job(dice: &Dice, plan: &mut Plan) {
    let cards = dice.pick(&[2, 4, 8]);
    let gpu = plan.card(dice);
    let usable = plan.usable(gpu);
    let (level, seconds, wait) = (usable * dice.range(0.3, 0.8), dice.log(40.0, 1_000.0), dice.log(5.0, 120.0));
    let step = step(dice, seconds);
    for rank in 0..cards {
        let gpu = if rank == 0 { gpu } else { plan.card(dice) };
        let role = Role::mine("torchrun --nproc-per-node 8 train_ddp.py");
        let mut script = attached(dice, role, gpu, level * dice.range(0.98, 1.0));
        script.work(dice, wait, 97.0);
        // Rank 0 logs, and so it is the one that leaks most.
        let own = if rank == 0 { 1.0 } else { dice.range(1.1, 1.3) };
        Growth::leak(usable - script.level, seconds * own, step, 2.0).write(dice, &mut script, END);
        script.program.job = Some(1);
        script.program.ppid = 900;
        plan.run(script);
    }
    plan.judge(LEAK, 0, LEAK);
    plan.end = END;
    plan.tail(dice);
}

/// A card split into instances; how many.
fn instances(dice: &Dice, plan: &mut Plan) -> usize {
    let (name, total, profile, size) = dice.pick(&[
        ("NVIDIA A100-SXM4-40GB", 40_960.0, "1g.5gb", 4_864.0),
        ("NVIDIA A100-SXM4-80GB", 81_920.0, "2g.20gb", 19_968.0),
        ("NVIDIA H100 80GB HBM3", 81_559.0, "1g.10gb", 9_984.0),
        ("NVIDIA H100 80GB HBM3", 81_559.0, "3g.40gb", 40_448.0),
    ]);
    plan.cards.push(Card { name, total, reserved: pages(total * 0.0065), base: 0.0, parent: None, unified: false });
    let parts = ((total * 0.98 / size) as u64).min(dice.int(2, 4));
    for _ in 0..parts {
        plan.cards.push(Card { name: profile, total: size, reserved: 16.0, base: 9.0, parent: Some(0), unified: false });
    }
    parts as usize
}

/// Some instances run something steady.
fn fill(dice: &Dice, plan: &mut Plan, from: usize, parts: usize, end: f64) {
    for part in from..=parts {
        if part == 1 || dice.chance(0.7) {
            let (role, level) = (Role::training(dice), plan.usable(part) * dice.range(0.2, 0.95));
            let mut script = attached(dice, role, part, level);
            script.work(dice, end, 60.0);
            plan.run(script);
        }
    }
}

fn leak_in_instance(dice: &Dice, plan: &mut Plan) {
    let parts = instances(dice, plan);
    leak_on(dice, plan, 1, small, |_, _| ());
    fill(dice, plan, 2, parts, END);
}

fn steady_instances(dice: &Dice, plan: &mut Plan) {
    let parts = instances(dice, plan);
    plan.end = dice.log(90.0, 600.0);
    let end = plan.end;
    fill(dice, plan, 1, parts, end);
    plan.judge(STEADY, 0, STEADY);
}

fn unified(dice: &Dice, plan: &mut Plan) -> usize {
    let (name, total) = dice.pick(&[("NVIDIA GB10", 122_572.0), ("Jetson AGX Orin", 62_841.0)]);
    plan.cards.push(Card { name, total, reserved: 0.0, base: dice.range(3_000.0, 12_000.0), parent: None, unified: true });
    0
}

fn leak_in_unified(dice: &Dice, plan: &mut Plan) {
    let gpu = unified(dice, plan);
    leak_on(dice, plan, gpu, small, |_, _| ());
}

/// Results are joined into one tensor again and again: each time a larger block is asked for, and the last is much larger than
/// what is free.
fn growing_requests(dice: &Dice, plan: &mut Plan) {
    let gpu = plan.card(dice);
    let usable = plan.usable(gpu);
    let level = usable * dice.range(0.1, 0.5);
    let plateau = dice.log(10.0, 200.0);
    let mut script = steady(dice, gpu, level, plateau);
    script.program.grows = Some(script.t);
    let (ratio, rises) = (dice.range(1.1, 1.5), dice.int(6, 14));
    let every = dice.log(3.0, 90.0);
    let mut size = (usable - level) * (ratio - 1.0) / (ratio.powi(rises as i32) - 1.0);
    while script.level < usable * 2.0 {
        script.pass(every * dice.range(0.9, 1.1)).add(size);
        size = (size * ratio).max(2.0);
    }
    let main = plan.run(script);
    plan.judge(GROWING, main, GROWING);
    plan.end = END;
    plan.tail(dice);
}

fn fast_growth(dice: &Dice, plan: &mut Plan) {
    let gpu = plan.card(dice);
    let usable = plan.usable(gpu);
    let level = usable * dice.range(0.1, 0.5);
    let plateau = dice.log(10.0, 200.0);
    let mut script = steady(dice, gpu, level, plateau);
    let (room, seconds) = (usable - script.level, dice.range(18.0, 60.0));
    let segment = dice.log(20.0, 512.0).min(room / 15.0);
    let step = dice.log(0.1, 1.0);
    Growth { noise: 0.3, ..Growth::leak(room, seconds, step, segment) }.write(dice, &mut script, END);
    let main = plan.run(script);
    plan.judge(GROWING, main, GROWING);
    plan.end = END;
    plan.tail(dice);
}

fn leak_cut(dice: &Dice, plan: &mut Plan) {
    let gpu = plan.card(dice);
    leak_on(dice, plan, gpu, small, |_, _| ());
    plan.cut = Some(dice.range(0.3, 0.95));
}

fn leak_stopped(dice: &Dice, plan: &mut Plan) {
    let gpu = plan.card(dice);
    leak_on(dice, plan, gpu, small, |_, _| ());
    let program = &mut plan.programs[0];
    let from = program.grows.unwrap_or_default();
    let room = program.events.last().map_or(from, |event| event.t) - from;
    // The script goes half again beyond the room.
    let at = from + room / 1.5 * dice.range(0.2, 0.9);
    program.killed = Some(at);
    plan.end = at + dice.log(20.0, 200.0);
}

fn one_shot(dice: &Dice, plan: &mut Plan) {
    let gpu = plan.card(dice);
    let usable = plan.usable(gpu);
    let (level, plateau) = (usable * dice.range(0.3, 0.95), dice.log(30.0, 600.0));
    let mut script = steady(dice, gpu, level, plateau);
    script.to(usable * 1.2);
    let main = plan.run(script);
    plan.judge(STEADY, main, UNJUDGED);
    plan.end = END;
    plan.tail(dice);
}

fn eval_fails(dice: &Dice, plan: &mut Plan) {
    let gpu = plan.card(dice);
    let usable = plan.usable(gpu);
    let (level, plateau) = (usable * dice.range(0.5, 0.8), dice.log(60.0, 600.0));
    let mut script = steady(dice, gpu, level, plateau);
    evaluate(dice, &mut script, usable - level + 500.0);
    plan.run(script);
    plan.end = END;
    plan.tail(dice);
}

fn load_fails(dice: &Dice, plan: &mut Plan) {
    let gpu = plan.card(dice);
    let usable = plan.usable(gpu);
    let (role, start) = (Role::training(dice), dice.range(0.5, 20.0));
    let mut script = Script::new(dice, role, gpu, start);
    script.context(dice);
    let seconds = dice.log(5.0, 90.0);
    script.load(dice, usable * 1.15, seconds);
    plan.run(script);
    plan.end = END;
    plan.tail(dice);
}

fn optimizer_fails(dice: &Dice, plan: &mut Plan) {
    let gpu = plan.card(dice);
    let usable = plan.usable(gpu);
    let (role, start) = (Role::training(dice), dice.range(0.5, 20.0));
    let mut script = Script::new(dice, role, gpu, start);
    script.context(dice);
    let seconds = dice.log(3.0, 60.0);
    script.load(dice, usable * 0.4, seconds);
    script.busy(93.0).pass(1.0);
    let first = dice.range(0.5, 3.0);
    script.ramp(dice, usable * 0.75, first, 12);
    script.ramp(dice, usable * 1.1, 0.3, 3);
    plan.run(script);
    plan.end = END;
    plan.tail(dice);
}

fn steady_training(dice: &Dice, plan: &mut Plan) {
    let gpu = plan.card(dice);
    let (level, plateau) = (plan.usable(gpu) * dice.range(0.1, 0.8), dice.log(90.0, 900.0));
    let script = steady(dice, gpu, level, plateau);
    plan.end = script.t;
    let main = plan.run(script);
    plan.judge(STEADY, main, STEADY);
}

fn idle(dice: &Dice, plan: &mut Plan) {
    plan.card(dice);
    plan.shapes = IDLE;
    plan.end = dice.log(90.0, 600.0);
}

fn slow_leak(dice: &Dice, plan: &mut Plan) {
    let gpu = plan.card(dice);
    let usable = plan.usable(gpu);
    let level = usable * dice.range(0.1, 0.6);
    let mut script = steady(dice, gpu, level, 30.0);
    let (room, seconds) = (usable - script.level, dice.log(5_000.0, 40_000.0));
    plan.end = script.t + dice.range(300.0, 1_500.0);
    let step = dice.log(0.2, 2.0);
    Growth::leak(room, seconds, step, segment_of(room)).write(dice, &mut script, plan.end + 10.0);
    let main = plan.run(script);
    plan.judge(LEAK, main, LEAK);
}

fn segment_of(room: f64) -> f64 {
    if room > 40_000.0 { 20.0 } else { 2.0 }
}

fn workers(dice: &Dice, plan: &mut Plan) {
    let gpu = plan.card(dice);
    let usable = plan.usable(gpu);
    let (level, context) = (usable * dice.range(0.2, 0.5), dice.range(300.0, 540.0));
    let mut script = steady(dice, gpu, level, 40.0);
    plan.end = script.t + dice.log(120.0, 900.0);
    script.work(dice, plan.end, 93.0);
    let start = dice.range(10.0, 60.0);
    let parent = script.program.pid;
    let main = plan.run(script);
    let count = ((usable - level) / context * 0.8).clamp(2.0, 24.0) as u64;
    for _ in 0..count {
        let mut worker = Script::new(dice, Role::mine("python train.py --config base.yaml"), gpu, start);
        worker.program.ppid = parent;
        worker.pass(dice.range(0.0, 4.0)).busy(0.0).to(context);
        plan.run(worker);
    }
    plan.judge(ARRIVAL, main, STEADY);
}

fn rank0(dice: &Dice, plan: &mut Plan) {
    let ranks = dice.pick(&[2_usize, 4, 8]);
    plan.end = dice.log(90.0, 600.0);
    let block = dice.range(400.0, 900.0);
    for _ in 0..ranks {
        plan.card(dice);
    }
    let level = plan.usable(0) * dice.range(0.2, 0.4);
    for rank in 0..ranks {
        let role = Role::mine("torchrun train_ddp.py");
        let mut script = attached(dice, role, rank, level);
        script.work(dice, plan.end, 97.0);
        script.program.ppid = 900;
        if rank > 0 {
            script.program.events.push(super::program::Event { t: 0.5, gpu: 0, level: pages(block) });
        }
        plan.run(script);
    }
    plan.judge(STEADY, 0, STEADY);
}

fn imbalance(dice: &Dice, plan: &mut Plan) {
    plan.end = dice.log(90.0, 600.0);
    for n in 0..dice.pick(&[2, 4]) {
        let gpu = plan.card(dice);
        let share = if n == 0 { dice.range(0.7, 0.9) } else { dice.range(0.05, 0.4) };
        let (role, level) = (Role::mine("python train_dp.py"), plan.usable(gpu) * share);
        let mut script = attached(dice, role, gpu, level);
        script.program.ppid = 900;
        script.work(dice, plan.end, 80.0);
        plan.run(script);
    }
    plan.judge(STEADY, 0, STEADY);
}

fn orphan(dice: &Dice, plan: &mut Plan) {
    let gpu = plan.card(dice);
    let usable = plan.usable(gpu);
    let (level, plateau) = (usable * dice.range(0.2, 0.5), dice.log(30.0, 200.0));
    let mut script = steady(dice, gpu, level, plateau);
    let mut child = Script::new(dice, Role::mine("python train.py --config base.yaml"), gpu, 0.0);
    child.program.ppid = script.program.pid;
    child.to(usable * dice.range(0.1, 0.3)).busy(0.0);
    script.exit(dice);
    plan.end = script.t + dice.log(60.0, 300.0);
    plan.run(script);
    plan.run(child);
    plan.shapes = ARRIVAL;
}

fn spikes_to(dice: &Dice, plan: &mut Plan, low: f64, top: f64) {
    let gpu = plan.card(dice);
    let usable = plan.usable(gpu);
    let mut script = steady(dice, gpu, usable * low, 20.0);
    plan.end = script.t + dice.log(150.0, 900.0);
    while script.t < plan.end - 40.0 {
        let floor = script.level;
        script.pass(20.0 + dice.wait(40.0));
        let (level, up, pieces) = (usable * (low + (top - low) * dice.range(0.5, 1.0)), dice.log(0.02, 2.0), dice.int(1, 5));
        script.ramp(dice, level, up, pieces);
        script.pass(dice.log(0.05, 10.0)).to(floor);
    }
    let main = plan.run(script);
    // The short ones fall between two readings.
    plan.judge(SPIKY_OR_STEADY, main, SPIKY_OR_STEADY);
}

const SPIKY_OR_STEADY: &[Shape] = &[Shape::Spiky, Shape::Steady, Shape::Sawtooth];

fn spikes(dice: &Dice, plan: &mut Plan) {
    let low = dice.range(0.2, 0.5);
    spikes_to(dice, plan, low, low + 0.3);
}

fn spikes_97(dice: &Dice, plan: &mut Plan) {
    let (low, top) = (dice.range(0.5, 0.8), dice.range(0.93, 0.97));
    spikes_to(dice, plan, low, top);
}

fn stages_to(dice: &Dice, plan: &mut Plan, top: f64) {
    let gpu = plan.card(dice);
    let usable = plan.usable(gpu);
    let role = Role::mine("python pipeline.py --offload");
    let mut script = attached(dice, role, gpu, usable * 0.02);
    let period = dice.log(8.0, 60.0);
    plan.end = (period * dice.range(8.0, 25.0)).clamp(120.0, 1_500.0);
    let tops: Vec<f64> = (0..dice.int(2, 4)).map(|n| if n == 0 { top } else { dice.range(0.1, 0.7) * top }).collect();
    while script.t < plan.end {
        for share in &tops {
            let height = usable * share * dice.range(0.985, 1.0);
            tooth(dice, &mut script, height, period / tops.len() as f64 * dice.range(0.9, 1.1));
        }
    }
    let main = plan.run(script);
    plan.judge(SAWTOOTH, main, SAWTOOTH);
}

fn stages(dice: &Dice, plan: &mut Plan) {
    let top = dice.range(0.3, 0.7);
    stages_to(dice, plan, top);
}

fn stages_94(dice: &Dice, plan: &mut Plan) {
    let top = dice.range(0.88, 0.95);
    stages_to(dice, plan, top);
}

fn desktop(dice: &Dice, plan: &mut Plan) {
    let gpu = plan.card(dice);
    let role = Role { command: "/usr/lib/xorg/Xorg :0", relation: Relation::System, kind: HolderKind::G };
    let mut script = Script::new(dice, role, gpu, 0.0);
    let (low, high) = (200.0, dice.range(500.0, 1_500.0));
    script.to(dice.range(low, high)).busy(5.0);
    plan.end = dice.log(200.0, 900.0);
    while script.t < plan.end {
        script.pass(dice.wait(6.0));
        let level = (script.level + dice.range(-60.0, 60.0)).clamp(low, high);
        script.to(level);
    }
    plan.run(script);
}

fn foreign_arrival(dice: &Dice, plan: &mut Plan) {
    arrival_to(dice, plan, 0.3, 0.75);
}

fn arrival_full(dice: &Dice, plan: &mut Plan) {
    let all = dice.range(0.88, 0.96);
    arrival_to(dice, plan, 0.6, all);
}

fn arrival_to(dice: &Dice, plan: &mut Plan, own: f64, all: f64) {
    let gpu = plan.card(dice);
    let usable = plan.usable(gpu);
    plan.end = dice.log(200.0, 1_200.0);
    let mut mine = steady(dice, gpu, usable * own, 20.0);
    let start = mine.t + dice.range(5.0, 40.0);
    mine.work(dice, plan.end.max(start + 60.0), 93.0);
    plan.end = mine.t;
    let main = plan.run(mine);
    let mut other = training(dice, Role::foreign("python experiment.py"), gpu, start, usable * (all - own));
    other.work(dice, plan.end, 90.0);
    plan.end = plan.end.max(other.t);
    plan.run(other);
    plan.judge(ARRIVAL, main, STEADY);
}

fn short_jobs(dice: &Dice, plan: &mut Plan) {
    let gpu = plan.card(dice);
    let usable = plan.usable(gpu);
    let mut t = dice.range(1.0, 20.0);
    for _ in 0..dice.int(4, 9) {
        let (role, level) = (Role::training(dice), usable * dice.range(0.15, 0.7));
        let mut script = training(dice, role, gpu, t, level);
        let until = script.t + dice.log(15.0, 120.0);
        script.work(dice, until, 90.0).exit(dice);
        t = script.t + dice.log(3.0, 40.0);
        plan.run(script);
    }
    plan.end = t;
    plan.shapes = CHURN;
}

fn unified_pool(dice: &Dice, plan: &mut Plan) {
    let gpu = unified(dice, plan);
    plan.end = dice.log(90.0, 600.0);
    let (role, level) = (Role::server(dice), plan.usable(gpu) * dice.range(0.3, 0.8));
    let mut script = attached(dice, role, gpu, level);
    script.work(dice, plan.end, 40.0);
    let main = plan.run(script);
    plan.judge(POOL, main, POOL);
}

/// A server with a pool of a round share, from its start or seen while it runs.
fn server(dice: &Dice, plan: &mut Plan, share: f64, starts: bool) -> (Script, f64) {
    let gpu = plan.card(dice);
    let (total, usable) = (plan.cards[gpu].total, plan.usable(gpu));
    let pool = (total * share).min(usable - 60.0);
    let role = Role::server(dice);
    let start = if starts { dice.range(1.0, 15.0) } else { 0.0 };
    let mut script = Script::new(dice, role, gpu, start);
    if start > 0.0 {
        script.context(dice);
        let (weights, seconds) = (pool * dice.range(0.2, 0.6), dice.log(2.0, 90.0));
        script.load(dice, weights, seconds);
        let from = script.t;
        script.busy(30.0).pass(dice.range(0.5, 6.0));
        let (seconds, pieces) = (dice.log(0.05, 3.0), dice.int(1, 4));
        script.ramp(dice, pool, seconds, pieces);
        script.program.loading.push((from, script.t));
    } else {
        script.to(pool);
    }
    (script, usable)
}

/// Requests come and go, the memory stays.
fn serve(dice: &Dice, script: &mut Script, until: f64) {
    while script.t < until {
        script.busy(dice.pick(&[0.0, 20.0, 60.0, 99.0])).pass(dice.log(1.0, 60.0));
    }
}

fn pool_95(dice: &Dice, plan: &mut Plan) {
    let share = dice.pick(&[0.9, 0.9, 0.92, 0.95]);
    let (mut script, _) = server(dice, plan, share, dice.chance(0.6));
    plan.end = script.t + dice.log(60.0, 500.0);
    serve(dice, &mut script, plan.end);
    let main = plan.run(script);
    plan.judge(POOL, main, POOL);
}

fn tensorflow(dice: &Dice, plan: &mut Plan) {
    let gpu = plan.card(dice);
    let usable = plan.usable(gpu);
    let start = dice.range(3.0, 60.0);
    let mut script = Script::new(dice, Role::mine("python tf_train.py"), gpu, start);
    script.context(dice);
    script.to(usable * dice.range(0.945, 0.99));
    let until = script.t + dice.log(60.0, 500.0);
    script.work(dice, until, 60.0);
    plan.end = script.t;
    let main = plan.run(script);
    plan.judge(POOL, main, POOL);
}

fn sawtooth_94(dice: &Dice, plan: &mut Plan) {
    let gpu = plan.card(dice);
    let usable = plan.usable(gpu);
    let floor = usable * dice.range(0.1, 0.6);
    let top = usable * dice.range(0.88, 0.95);
    let period = dice.log(0.3, 60.0);
    plan.end = (period * 20.0).clamp(120.0, 1_500.0);
    let (role, uneven) = (Role::training(dice), dice.pick(&[0.0, 0.02, 0.1]));
    let mut script = attached(dice, role, gpu, floor);
    while script.t < plan.end {
        let height = top - (top - floor) * uneven * dice.unit();
        tooth(dice, &mut script, height, period * dice.range(0.93, 1.07));
    }
    let main = plan.run(script);
    plan.judge(SAWTOOTH, main, SAWTOOTH);
}

fn loading_90(dice: &Dice, plan: &mut Plan) {
    let gpu = plan.card(dice);
    let usable = plan.usable(gpu);
    let (role, start) = (Role::server(dice), dice.range(0.5, 20.0));
    let mut script = Script::new(dice, role, gpu, start);
    script.context(dice);
    let (level, seconds) = (usable * dice.range(0.86, 0.95), dice.log(5.0, 120.0));
    script.load(dice, level, seconds);
    plan.end = script.t + dice.log(60.0, 600.0);
    serve(dice, &mut script, plan.end);
    let main = plan.run(script);
    plan.judge(LOADED, main, LOADED);
}

fn saturating(dice: &Dice, plan: &mut Plan) {
    let gpu = plan.card(dice);
    let usable = plan.usable(gpu);
    let (low, top) = (usable * dice.range(0.2, 0.7), usable * dice.range(0.85, 0.97));
    let plateau = dice.log(5.0, 100.0);
    let mut script = steady(dice, gpu, low, plateau);
    let (begin, tau) = (script.t, dice.log(8.0, 240.0));
    let segment = dice.pick(&[2.0, 20.0, 64.0]);
    plan.end = begin + tau * dice.range(4.0, 8.0) + 60.0;
    let step = (tau / 60.0).clamp(0.1, 2.0);
    while script.t < plan.end {
        script.pass(step * dice.range(0.8, 1.2));
        let reached = (top - low) * (1.0 - (-(script.t - begin) / tau).exp());
        let level = low + (reached / segment).floor() * segment;
        if pages(level) > script.level {
            script.to(level);
        }
    }
    let main = plan.run(script);
    plan.judge(SATURATED, main, SATURATED);
}

fn graph_capture(dice: &Dice, plan: &mut Plan) {
    let share = dice.range(0.86, 0.9);
    let (mut script, usable) = server(dice, plan, share, true);
    let top = usable * dice.range(0.93, 0.97);
    script.pass(dice.log(1.0, 20.0)).busy(60.0);
    let (seconds, steps) = (dice.log(4.0, 45.0), dice.int(10, 70));
    script.ramp(dice, top, seconds, steps);
    plan.end = script.t + dice.log(60.0, 500.0);
    serve(dice, &mut script, plan.end);
    let main = plan.run(script);
    plan.judge(POOL, main, POOL);
}

fn staircase(dice: &Dice, plan: &mut Plan) {
    let gpu = plan.card(dice);
    let usable = plan.usable(gpu);
    let (low, top) = (usable * dice.range(0.3, 0.7), usable * dice.range(0.85, 0.97));
    let mut script = steady(dice, gpu, low, 3.0);
    plan.end = script.t + dice.log(120.0, 1_200.0);
    let step = dice.log(0.2, 3.0);
    records(dice, &mut script, top, step, plan.end);
    let main = plan.run(script);
    plan.judge(STAIRCASE, main, STAIRCASE);
}

fn churn(dice: &Dice, plan: &mut Plan) {
    let gpu = plan.card(dice);
    let usable = plan.usable(gpu);
    let mut t = dice.range(1.0, 20.0);
    for _ in 0..dice.int(3, 8) {
        let mut script = Script::new(dice, Role::mine("ollama runner --model m --port 40123"), gpu, t);
        script.context(dice);
        let (level, seconds) = (usable * dice.range(0.4, 0.94), dice.log(2.0, 25.0));
        script.load(dice, level, seconds);
        let until = script.t + dice.log(20.0, 200.0);
        serve(dice, &mut script, until);
        script.exit(dice);
        t = script.t + dice.log(2.0, 60.0);
        plan.run(script);
    }
    plan.end = t;
    plan.shapes = CHURN;
}

fn eval_fits(dice: &Dice, plan: &mut Plan) {
    let gpu = plan.card(dice);
    let usable = plan.usable(gpu);
    let (low, top) = (usable * dice.range(0.5, 0.75), usable * dice.range(0.88, 0.96));
    let plateau = dice.log(30.0, 200.0);
    let mut script = steady(dice, gpu, low, plateau);
    let mut share = dice.range(0.7, 1.0);
    for _ in 0..dice.int(2, 5) {
        // A later evaluation adds little or nothing: the cache holds the peak of the first.
        let room = (top - script.level).max(0.0);
        evaluate(dice, &mut script, room * share);
        share *= dice.pick(&[0.0, 0.0, 0.5]);
        let until = script.t + plateau.max(40.0);
        script.work(dice, until, 93.0);
    }
    plan.end = script.t;
    let main = plan.run(script);
    plan.judge(STEPS, main, STEPS);
}

fn warmup(dice: &Dice, plan: &mut Plan) {
    let gpu = plan.card(dice);
    let usable = plan.usable(gpu);
    let (low, grow) = (usable * dice.range(0.86, 0.92), usable * dice.range(0.01, 0.03));
    let (role, start) = (Role::training(dice), dice.range(0.5, 15.0));
    let mut script = training(dice, role, gpu, start, low);
    let step = dice.log(0.1, 2.0);
    let (segments, mut wait) = (dice.int(6, 14), step);
    for _ in 0..segments {
        script.pass(wait).add((grow / segments as f64 / 20.0).ceil() * 20.0);
        wait *= dice.range(1.05, 1.5);
    }
    let until = script.t + dice.log(60.0, 500.0);
    script.work(dice, until, 93.0);
    plan.end = script.t;
    let main = plan.run(script);
    plan.judge(STEADY, main, STEADY);
}

fn full_flat(dice: &Dice, plan: &mut Plan) {
    let gpu = plan.card(dice);
    let (role, level) = (Role::training(dice), plan.usable(gpu) * dice.range(0.97, 0.997));
    let mut script = attached(dice, role, gpu, level);
    plan.end = dice.log(90.0, 600.0);
    script.work(dice, plan.end, 96.0);
    let main = plan.run(script);
    plan.judge(LOADED, main, LOADED);
}

fn wander(dice: &Dice, plan: &mut Plan) {
    let gpu = plan.card(dice);
    let usable = plan.usable(gpu);
    let (low, high) = (usable * dice.range(0.82, 0.86), usable * dice.range(0.89, 0.93));
    let role = Role::mine("python serve_vlm.py");
    let mut script = attached(dice, role, gpu, low + (high - low) * dice.unit());
    plan.end = dice.log(150.0, 900.0);
    let (every, size) = (dice.log(0.5, 20.0), (high - low) * dice.range(0.1, 0.4));
    while script.t < plan.end {
        script.pass(dice.wait(every)).busy(dice.range(30.0, 95.0));
        let level = (script.level + size * dice.normal() * 0.6).clamp(low, high);
        script.to(level);
    }
    let main = plan.run(script);
    plan.judge(WANDER, main, WANDER);
}

fn training_95(dice: &Dice, plan: &mut Plan) {
    let gpu = plan.card(dice);
    let (role, start) = (Role::training(dice), dice.range(0.5, 20.0));
    let level = plan.usable(gpu) * dice.range(0.92, 0.97);
    let mut script = training(dice, role, gpu, start, level);
    let until = script.t + dice.log(60.0, 500.0);
    script.work(dice, until, 96.0);
    plan.end = script.t;
    let main = plan.run(script);
    plan.judge(STEADY, main, STEADY);
}

fn requests(dice: &Dice, plan: &mut Plan) {
    let gpu = plan.card(dice);
    let usable = plan.usable(gpu);
    let (weights, top) = (usable * dice.range(0.3, 0.7), usable * dice.range(0.86, 0.93));
    let role = Role::mine("python chat_server.py");
    let mut script = attached(dice, role, gpu, weights);
    plan.end = dice.log(150.0, 900.0);
    let length = dice.log(8.0, 70.0);
    while script.t < plan.end {
        script.busy(0.0).pass(dice.wait(3.0)).busy(90.0);
        // A context grows token by token and is dropped at its end.
        let share = dice.range(0.4, 1.0);
        let (level, seconds) = (weights + (top - weights) * share, length * share);
        let (pieces, begin) = ((seconds * 2.0).max(8.0) as u64, script.t);
        script.ramp(dice, level, seconds, pieces);
        if script.program.loading.is_empty() {
            // Nobody can know of the first that it will end.
            script.program.loading.push((begin, script.t));
        }
        script.to(weights);
    }
    let main = plan.run(script);
    plan.judge(SAWTOOTH, main, SAWTOOTH);
}

fn few_steps(dice: &Dice, plan: &mut Plan) {
    let gpu = plan.card(dice);
    let usable = plan.usable(gpu);
    let (low, top) = (usable * dice.range(0.3, 0.6), usable * dice.range(0.88, 0.95));
    let mut script = steady(dice, gpu, low, 30.0);
    let steps = dice.int(2, 3);
    let weights: Vec<f64> = (0..steps).map(|_| dice.range(0.3, 1.5)).collect();
    let sum: f64 = weights.iter().sum();
    for weight in &weights {
        let level = script.level + (top - low) * weight / sum;
        let (seconds, pieces) = (dice.log(0.3, 4.0), dice.int(1, 6));
        script.ramp(dice, level, seconds, pieces);
        let until = script.t + dice.log(60.0, 300.0);
        script.work(dice, until, 93.0);
    }
    plan.end = script.t;
    let main = plan.run(script);
    plan.judge(STEPS, main, STEPS);
}
