//! Most of the card taken in advance, then flat: a pool. Evidence: `share` (of the card), `size`, `headroom`, `newcomer` (what
//! a new process could use beside its context), `program` (where its name tells).

use super::{Detector, Draft, Entry, Open, Say, Scene, evidence};
use crate::domain::{FindingKind, Pid};

pub(super) const ENTRY: Entry = Entry {
    kind: FindingKind::Preallocated,
    title: "a pool was taken in advance",
    rests_on: "a round share of the card or a known server, flat to the page since",
    make: || Box::new(Preallocated::default()),
};

/// Programs that are known to take a pool.
pub(crate) const POOLS: [&str; 8] = ["vllm", "sglang", "triton", "tensorflow", "tf_", "jax", "lmdeploy", "trtllm"];
/// Shares that people and defaults ask for.
const ROUND: [f64; 6] = [0.75, 0.8, 0.85, 0.9, 0.92, 0.95];

#[derive(Debug, Default)]
struct Preallocated {
    open: Option<(Open, f64, Option<Pid>)>,
}

/// The name of a known program in a command.
pub(crate) fn pool_program(command: &str) -> Option<&'static str> {
    let command = command.to_ascii_lowercase();
    POOLS.into_iter().find(|name| command.contains(name))
}

impl Detector for Preallocated {
    fn look(&mut self, scene: &Scene<'_>, say: &mut Say<'_>) {
        let signal = &scene.card.signal;
        let (flat, level) = (signal.flat_since(), signal.level());
        let rest = scene.now - flat.t;
        if let Some((open, size, pid)) = self.open {
            if (level - size).abs() > 0.1 * size {
                self.open = None;
                say.close(open, draft(scene, pid, open.from, Some(scene.now), size));
            }
            return;
        }
        if rest < 10.0 || scene.card.loading.is_on() || signal.turns().count() > 3 {
            return;
        }
        // A list knows whose it is; without one the device stands for it.
        let total = scene.card.scale.total;
        let owner = scene.card.held.iter().max_by(|a, b| a.used.unwrap_or(0.0).total_cmp(&b.used.unwrap_or(0.0)));
        let size = owner.and_then(|held| held.used).unwrap_or(level);
        let share = size / total;
        let command = owner.and_then(|held| held.process.as_ref()).and_then(|process| process.command.as_deref().ok());
        let known = command.and_then(pool_program).is_some();
        let round = ROUND.iter().any(|of| (level / total - of).abs() <= 0.01 || (share - of).abs() <= 0.01);
        // A pool is taken at once: most of it in a few jumps, unless all of it was there before.
        let sudden = scene.card.loading.level().is_none_or(|_| signal.jumps().any(|jump| jump.size >= 0.15 * total));
        let long = rest >= 45.0;
        if (known && share >= 0.3) || (share >= 0.7 && round && sudden) || (share >= 0.8 && long && sudden) {
            let pid = owner.map(|held| held.pid);
            let open = say.open(draft(scene, pid, flat.t, None, size), f64::INFINITY);
            self.open = Some((open, level, pid));
        }
    }
}

fn draft(scene: &Scene<'_>, pid: Option<Pid>, from: f64, to: Option<f64>, size: f64) -> Draft {
    let headroom = scene.headroom();
    let proof = evidence().share("share", size / scene.card.scale.total).mib("size", size).maybe_mib("headroom", headroom);
    let proof = proof.maybe_mib("newcomer", headroom.map(|headroom| (headroom - 512.0).max(0.0)));
    let process = pid.and_then(|pid| scene.people.get(&pid));
    let program = process.and_then(|process| process.command.as_deref().ok()).and_then(pool_program);
    let proof = match program {
        Some(program) => proof.text("program", program),
        None => proof,
    };
    Draft::likely(FindingKind::Preallocated, pid, from, to, proof.done())
}
