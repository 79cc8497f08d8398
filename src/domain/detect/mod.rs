//! What is seen: one detector a file, each for one kind of finding, listed in [`DETECTORS`].
//!
//! A detector looks at a device about once a second, at what the analyst keeps of its series: whatever came and went in
//! between is in there. It says a finding once, renews it when it has doubled, and once more when it is over. The names of
//! its evidence are told at the top of its file; advice and readers of files rest on them.

mod churn;
mod context_pileup;
mod context_start;
mod eval_jump;
mod fast_swing;
mod foreign_arrival;
mod graph_capture;
mod imbalance;
mod leak_epoch;
mod leak_step;
mod loading;
mod lost;
mod optimizer_step;
mod orphan;
mod plateau;
mod preallocated;
mod probable_oom;
mod rank0_pileup;
mod release;
mod saturating;
mod sawtooth;
mod scene;
mod spike;
mod staircase;
mod stall;
mod unattributed;
mod warmup;

use std::fmt;

use super::FindingKind;
pub(crate) use preallocated::pool_program;
pub(crate) use scene::{Draft, Open, Say, Scene, evidence};

/// Sees one kind of finding on one device.
pub(crate) trait Detector: fmt::Debug + Send + Sync {
    /// Looks, after about a second or a change of the device's state.
    fn look(&mut self, scene: &Scene<'_>, say: &mut Say<'_>);
}

/// A detector as it is listed.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// What it sees; its id.
    pub kind: FindingKind,
    /// A line for people.
    pub title: &'static str,
    /// What it concludes from.
    pub rests_on: &'static str,
    make: fn() -> Box<dyn Detector>,
}

impl Entry {
    /// A detector for one device.
    pub(crate) fn make(&self) -> Box<dyn Detector> {
        (self.make)()
    }
}

/// All detectors, in the order in which they look.
pub static DETECTORS: &[Entry] = &[
    stall::ENTRY,
    lost::ENTRY,
    probable_oom::ENTRY,
    release::ENTRY,
    foreign_arrival::ENTRY,
    context_start::ENTRY,
    loading::ENTRY,
    preallocated::ENTRY,
    graph_capture::ENTRY,
    warmup::ENTRY,
    optimizer_step::ENTRY,
    eval_jump::ENTRY,
    spike::ENTRY,
    sawtooth::ENTRY,
    fast_swing::ENTRY,
    plateau::ENTRY,
    churn::ENTRY,
    leak_step::ENTRY,
    leak_epoch::ENTRY,
    saturating::ENTRY,
    staircase::ENTRY,
    orphan::ENTRY,
    unattributed::ENTRY,
    context_pileup::ENTRY,
    rank0_pileup::ENTRY,
    imbalance::ENTRY,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::analyst::fixture::{Play, TOTAL, actor, alone, device, finding, findings, listed, memory, state, tooth};
    use crate::domain::{Analyst, DeviceState, Gpu, Pid, Relation, Sample, Timestamp};

    #[test]
    fn every_file_is_listed_once() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/domain/detect");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .expect("the folder")
            .map(|entry| entry.expect("a file").file_name().to_string_lossy().trim_end_matches(".rs").to_owned())
            .filter(|name| name != "mod" && name != "scene")
            .collect();
        files.sort();
        let mut ids: Vec<String> = DETECTORS.iter().map(|entry| entry.kind.to_string()).collect();
        ids.sort();
        assert_eq!(files, ids);
        assert!(DETECTORS.iter().all(|entry| !entry.title.is_empty() && !entry.rests_on.is_empty()));
    }

    fn ramp(t: f64, from: f64, takes: f64) -> f64 {
        ((t - from) / takes).clamp(0.0, 1.0)
    }

    /// Of some curve, only after a moment.
    fn after(from: f64, curve: impl Fn(f64) -> f64 + 'static) -> impl Fn(f64) -> f64 + 'static {
        move |t| if t < from { 0.0 } else { curve(t) }
    }

    fn before(to: f64, curve: impl Fn(f64) -> f64 + 'static) -> impl Fn(f64) -> f64 + 'static {
        move |t| if t >= to { 0.0 } else { curve(t) }
    }

    fn with_load(mut play: Play, load: impl Fn(f64) -> f64 + 'static) -> Play {
        play.load = Some(Box::new(load));
        play
    }

    /// For each kind a recording in which it must be seen, the pid that it must name (0: any), and a figure of its evidence.
    fn cases() -> Vec<(FindingKind, Play, u32, &'static str)> {
        let training = |t: f64| 20_000.0 + 10_000.0 * tooth(t, 0.6);
        let mut foreign = actor(66, after(30.0, |t| 500.0 + 12_000.0 * ramp(t, 31.0, 6.0)));
        foreign.relation = Relation::Foreign;
        let mut server = actor(8, |_| 0.9 * TOTAL);
        server.command = "python -m vllm.entrypoints.openai.api_server";
        let mut capturing = actor(
            8,
            after(3.0, |t| {
                500.0
                    + 30_000.0 * ramp(t, 4.0, 8.0)
                    + 40_000.0 * ramp(t, 14.0, 0.3)
                    + (4_000.0 * ramp(t, 22.0, 20.0) / 100.0).floor() * 100.0
            }),
        );
        capturing.command = "VLLM::EngineCore";
        let worker = |pid| actor(pid, after(10.0, |_| 520.0));
        let rank = |pid: u32, card: u32| {
            let mut rank = actor(pid, |_| 20_000.0);
            rank.cards = if card == 0 { vec![(0, 1.0)] } else { vec![(0, 0.03), (card, 1.0)] };
            rank
        };
        let mut ranks = listed(10.0, 40.0, vec![rank(20, 0), rank(21, 1), rank(22, 2)]);
        ranks.cards = 3;
        let mut uneven = actor(30, |_| 60_000.0);
        uneven.cards = vec![(0, 1.0), (1, 0.2)];
        let mut uneven = listed(10.0, 60.0, vec![uneven]);
        uneven.cards = 2;
        let mut orphan = listed(10.0, 80.0, vec![actor(40, before(30.0, |_| 9_000.0)), actor(41, |_| 3_000.0)]);
        orphan.base = Box::new(|t| if t < 30.0 { 4.0 } else { 9_000.0 });
        let mut nobody = listed(10.0, 60.0, vec![actor(41, |_| 3_000.0)]);
        nobody.base = Box::new(|_| 6_000.0);
        let steps = |t: f64| 30_000.0 + (t / 40.0).floor() * 4_000.0;
        let stairs = |t: f64| {
            let rises = [(30.0, 900.0), (41.0, 2_600.0), (95.0, 700.0), (118.0, 4_000.0), (190.0, 1_500.0), (320.0, 800.0)];
            40_000.0 + rises.iter().filter(|(at, _)| t >= *at).map(|(_, rise)| rise).sum::<f64>()
        };
        vec![
            (FindingKind::ContextStart, listed(10.0, 40.0, vec![actor(5, after(20.0, |_| 520.0))]), 5, "size"),
            (
                FindingKind::Loading,
                listed(10.0, 60.0, vec![actor(5, after(20.0, |t| 500.0 + 20_000.0 * ramp(t, 21.0, 15.0)))]),
                5,
                "rate",
            ),
            (
                FindingKind::Warmup,
                with_load(
                    listed(
                        20.0,
                        90.0,
                        vec![actor(
                            5,
                            after(10.0, |t| {
                                500.0
                                    + 15_000.0 * ramp(t, 11.0, 8.0)
                                    + (900.0 * (1.0 - (-(t - 20.0).max(0.0) / 4.0).exp()) / 20.0).floor() * 20.0
                            }),
                        )],
                    ),
                    |t| if t < 20.0 { 1.0 } else { 96.0 },
                ),
                5,
                "weights",
            ),
            (
                FindingKind::OptimizerStep,
                with_load(
                    listed(
                        20.0,
                        60.0,
                        vec![actor(
                            5,
                            after(10.0, |t| 500.0 + 12_000.0 * ramp(t, 11.0, 8.0) + if t >= 24.0 { 24_000.0 } else { 0.0 }),
                        )],
                    ),
                    |t| if t < 20.0 { 1.0 } else { 96.0 },
                ),
                5,
                "rise",
            ),
            (
                FindingKind::EvalJump,
                listed(20.0, 140.0, vec![actor(5, move |t| training(t) + 6_000.0 * ramp(t, 90.0, 2.0))]),
                5,
                "rise",
            ),
            (
                FindingKind::LeakStep,
                listed(10.0, 200.0, vec![actor(5, |t| 20_000.0 + ((t - 20.0).max(0.0) * 5.0).floor() * 40.0)]),
                5,
                "rate",
            ),
            (FindingKind::LeakEpoch, listed(10.0, 260.0, vec![actor(5, steps)]), 5, "step"),
            (FindingKind::Staircase, listed(10.0, 400.0, vec![actor(5, stairs)]), 5, "records"),
            (
                FindingKind::Spike,
                listed(20.0, 60.0, vec![actor(5, move |t| training(t) + if (40.0..42.0).contains(&t) { 20_000.0 } else { 0.0 })]),
                5,
                "height",
            ),
            (FindingKind::Sawtooth, listed(20.0, 60.0, vec![actor(5, training)]), 5, "amplitude"),
            (FindingKind::Plateau, alone(10.0, 90.0, |_| 30_000.0), 0, "level"),
            (FindingKind::Preallocated, listed(10.0, 40.0, vec![server]), 8, "newcomer"),
            (FindingKind::Preallocated, alone(10.0, 60.0, |t| if t < 20.0 { 300.0 } else { 0.95 * TOTAL }), 0, "share"),
            (FindingKind::GraphCapture, listed(10.0, 90.0, vec![capturing]), 8, "jumps"),
            (FindingKind::Release, alone(10.0, 200.0, |t| if t < 100.0 { 40_000.0 } else { 12_000.0 }), 0, "size"),
            (FindingKind::Churn, alone(10.0, 400.0, |t| if (t / 50.0) as u64 % 2 == 1 { 50_000.0 } else { 300.0 }), 0, "pulses"),
            (FindingKind::ForeignArrival, listed(10.0, 60.0, vec![actor(5, |_| 9_000.0), foreign]), 66, "beside"),
            (FindingKind::Orphan, orphan, 40, "held"),
            (FindingKind::Unattributed, nobody, 0, "size"),
            (FindingKind::ContextPileup, listed(10.0, 40.0, (100..108).map(worker).collect()), 1_000, "contexts"),
            (FindingKind::Rank0Pileup, ranks, 0, "ranks"),
            (FindingKind::Imbalance, uneven, 30, "spread"),
            (
                FindingKind::Saturating,
                alone(10.0, 400.0, |t| 30_000.0 + (43_000.0 * (1.0 - (-(t - 30.0).max(0.0) / 60.0).exp()) / 20.0).floor() * 20.0),
                0,
                "towards",
            ),
            (FindingKind::FastSwing, alone(1.0, 90.0, |t| 10_000.0 + 40_000.0 * ((t * 2.9).sin() * 0.5 + 0.5)), 0, "interval"),
            (
                FindingKind::ProbableOom,
                listed(
                    20.0,
                    120.0,
                    vec![
                        actor(5, before(100.0, |t| (30_000.0 + (t * 10.0).floor() * 52.0).min(TOTAL - 60.0))),
                        actor(6, |_| 20.0),
                    ],
                ),
                5,
                "held",
            ),
        ]
    }

    #[test]
    fn each_kind_is_seen_where_it_is() {
        for (kind, play, pid, figure) in cases() {
            let said = play.said();
            let kinds: Vec<FindingKind> = findings(&said).iter().map(|finding| finding.kind).collect();
            let found = finding(&said, kind).unwrap_or_else(|| panic!("no {kind} among {kinds:?}"));
            if pid > 0 {
                assert_eq!(found.pid, Some(Pid(pid)), "{kind}");
            }
            assert!(found.figure(figure).is_some(), "{kind}: {:?}", found.evidence);
            assert!(found.from <= found.t && found.to.is_none_or(|to| to <= found.t), "{kind}: {found:?}");
            assert!(kinds.len() <= 8, "{kind} is drowned: {kinds:?}");
        }
    }

    #[test]
    fn no_kind_is_seen_where_nothing_happens() {
        for play in [alone(20.0, 50.0, |_| 30_000.0), listed(10.0, 50.0, vec![actor(5, |_| 30_000.0)])] {
            assert_eq!(play.said(), [], "a flat minute is no news");
        }
    }

    #[test]
    fn stalls_and_losses_are_told_with_their_ends() {
        for (of, kind) in [(DeviceState::Stalled, FindingKind::Stall), (DeviceState::Lost, FindingKind::Lost)] {
            let (mut analyst, mut said) = (Analyst::new(), Vec::new());
            let bodies = [
                (0, device(0)),
                (1, memory(0, 5_000.0)),
                (2, memory(0, 5_000.0)),
                (6, state(of, Some("nvmlDeviceGetMemoryInfo_v2"), 2.5)),
                (9, state(DeviceState::Ok, None, 9.0)),
                (10, memory(0, 5_000.0)),
                (11, memory(0, 5_000.0)),
            ];
            for (t, body) in bodies {
                analyst.observe(&Sample { t: Timestamp::secs(t), body }, &mut said);
            }
            let first = finding(&said, kind).expect("it is told");
            assert_eq!((first.from, first.to, first.gpu), (Timestamp::millis(2_500), None, Gpu(0)));
            let last = said.iter().rev().find_map(|said| match said {
                crate::domain::Said::Finding(finding) => Some(finding),
                crate::domain::Said::Risk(_) => None,
            });
            assert_eq!(last.map(|last| (last.n, last.to)), Some((first.n, Some(Timestamp::secs(9)))), "{kind}");
        }
    }
}
