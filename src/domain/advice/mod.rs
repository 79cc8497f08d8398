//! Tips applied to findings: the evidence, and the bytes a tip should save by what was measured. No evidence, no advice.

mod case;
mod evidence;
mod facts;

use std::borrow::Cow;
use std::cmp::Reverse;
use std::sync::Arc;

pub use case::{Case, Proposal, Swing, range, share};
pub use evidence::{HEADROOM, Leak, SIZE, evaluation, highs, pile, pool_in_the_way, states};
pub use facts::{Facts, Party};

use super::tips::{TIPS, Tip};
use super::{Advice, Finding, FindingKind, Quantity};

/// No finding gets more pieces of advice than this: who has read five does not read a sixth.
pub const MOST: usize = 5;

/// A finding as it stood when the card was full: growth has taken by then what was left when it was said last.
fn at_failure(finding: &Finding) -> Finding {
    let mut failed = Finding { to: Some(finding.to.unwrap_or(finding.t)), ..finding.clone() };
    let left = finding.bytes("headroom").filter(|_| finding.to.is_none()).unwrap_or_default();
    for (name, quantity) in &mut failed.evidence {
        if let ("grown", Quantity::Bytes(grown)) = (&**name, quantity) {
            *grown = grown.saturating_add(left);
        }
    }
    failed
}

/// What nothing has to be done about once it is over. Other findings are told of when they end, or come again in the next run.
const LASTING: &[FindingKind] = &[
    FindingKind::ForeignArrival,
    FindingKind::Preallocated,
    FindingKind::ContextPileup,
    FindingKind::Rank0Pileup,
    FindingKind::Imbalance,
    FindingKind::Orphan,
    FindingKind::Unattributed,
    FindingKind::Stall,
    FindingKind::Lost,
];

/// The tip that ends the cause where others only shrink what it costs: it comes first.
fn cure(kind: FindingKind) -> Option<&'static str> {
    match kind {
        FindingKind::EvalJump => Some("inference_mode"),
        FindingKind::LeakStep | FindingKind::LeakEpoch => Some("detach_logged_tensors"),
        _ => None,
    }
}

/// What to do about a finding, most bytes per effort first; nothing where nothing known calls for a tip.
///
/// A tip that ends the cause comes before those that shrink what it costs. Where the bytes can't be told, a tip comes after those that name theirs, in the order of the catalogue.
pub fn advise(finding: &Finding, facts: &Facts) -> Arc<[Advice]> {
    if finding.to.is_some() && LASTING.contains(&finding.kind) {
        return Arc::from([]);
    }
    let own = Case { finding, facts };
    // What made a process fail is what to change.
    let cause = facts.cause.as_deref().filter(|_| own.is(&[FindingKind::Oom, FindingKind::ProbableOom])).map(at_failure);
    let cause = cause.as_ref().map(|finding| Case { finding, facts });
    let propose = |tip: &Tip| tip.applies.and_then(|applies| applies(&own).or_else(|| applies(cause.as_ref()?)));
    let mut proposed: Vec<(&Tip, Proposal)> = TIPS.iter().filter_map(|tip| Some((tip, propose(tip)?))).collect();
    let worth = |tip: &Tip, proposal: &Proposal| proposal.middle().map(|bytes| bytes / tip.effort.weight());
    proposed.sort_by_key(|(tip, proposal)| (Some(tip.id) != cure(finding.kind), Reverse(worth(tip, proposal))));
    proposed
        .into_iter()
        .take(MOST)
        .map(|(tip, Proposal { saves, why })| Advice { tip: Cow::Borrowed(tip.id), saves, why: why.into() })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use proptest::prelude::*;
    use strum::IntoEnumIterator;

    use super::*;
    use crate::domain::fixture::{GPU, Stream};
    use crate::domain::{
        Anatomy, Bytes, Certainty, FindingKind, Framework, Gpu, MemoryKind, Period, Pid, Quantity, Relation, RiskLevel, Role,
        Timestamp, Workload,
    };

    fn finding(kind: FindingKind, evidence: &[(&'static str, Quantity)]) -> Finding {
        Finding {
            t: Timestamp::secs(100),
            n: 1,
            gpu: Gpu(0),
            kind,
            certainty: Certainty::Likely,
            pid: Some(Pid(4242)),
            from: Timestamp::secs(90),
            to: None,
            evidence: evidence.iter().map(|(name, quantity)| (Cow::Borrowed(*name), quantity.clone())).collect(),
            advice: Arc::new([]),
        }
    }

    fn bytes(tenths: u64) -> Quantity {
        Quantity::Bytes(gib(tenths))
    }

    /// Tenths of a GiB.
    fn gib(tenths: u64) -> Bytes {
        Bytes::mib(tenths * 1024 / 10)
    }

    fn party(pid: u32, relation: Relation, used: u64, workload: Workload) -> Party {
        let user = (relation == Relation::Foreign).then(|| Arc::from("user2"));
        Party { pid: Pid(pid), relation, user, workload, used: Some(gib(used)), age: Some(Period::secs(3600)), kin: false }
    }

    fn training() -> Workload {
        Workload { framework: None, role: Role::Training }
    }

    fn serves(framework: Framework) -> Workload {
        Workload { framework: Some(framework), role: Role::Serving }
    }

    /// A training process of mine of 40 GiB alone on one of four cards of 80 GiB, half of which is free.
    fn calm() -> Facts {
        Facts {
            process: Some(party(4242, Relation::Mine, 400, training())),
            total: Some(gib(800)),
            headroom: Some(gib(400)),
            cards: Some(4),
            risk: Some(RiskLevel::Ok),
            busy: Some(true),
            ..Facts::default()
        }
    }

    /// The same with next to nothing left.
    fn full() -> Facts {
        Facts { headroom: Some(gib(30)), risk: Some(RiskLevel::High), ..calm() }
    }

    /// The process runs something else.
    fn run(facts: Facts, workload: Workload) -> Facts {
        let process = facts.process.map(|process| Party { workload, ..process });
        Facts { process, ..facts }
    }

    /// What is said, in order: the tip, and the bytes it saves in tenths of a GiB, rounded.
    fn said(finding: &Finding, facts: &Facts) -> Vec<(String, Option<(u64, u64)>)> {
        let tenths = |bytes: Bytes| (bytes.as_gib() * 10.0).round() as u64;
        let advice = advise(finding, facts);
        for Advice { tip, saves, why } in advice.iter() {
            assert!(Tip::named(tip).is_some() && why.len() > 20, "{tip}: {why}");
            assert!(saves.is_none_or(|(from, to)| from <= to), "{tip}: {saves:?}");
        }
        advice.iter().map(|advice| (advice.tip.to_string(), advice.saves.map(|(from, to)| (tenths(from), tenths(to))))).collect()
    }

    /// The tips in order, and what each saves in tenths of a GiB.
    type Expected = &'static [(&'static str, Option<(u64, u64)>)];

    #[test]
    fn each_finding_gets_what_its_evidence_calls_for() {
        use FindingKind as K;
        let anatomy = |weights, optimizer, swing| {
            let some = |tenths| (tenths > 0).then(|| gib(tenths));
            Some(Anatomy { weights: some(weights), optimizer: some(optimizer), swing: some(swing), ..Anatomy::default() })
        };
        let newcomer = party(777, Relation::Foreign, 120, Workload::default());
        let beside = |facts: Facts, other: Party| Facts { others: vec![other], ..facts };
        let cases: Vec<(&str, Finding, Facts, Expected)> = vec![
            (
                "a spike of a training process",
                finding(K::Spike, &[("height", bytes(214))]),
                calm(),
                &[
                    ("reduce_batch_accumulate", Some((53, 107))),
                    ("gradient_checkpointing", Some((53, 171))),
                    ("mixed_precision", Some((27, 96))),
                ],
            ),
            ("a spike too small to matter", finding(K::Spike, &[("height", bytes(10))]), calm(), &[]),
            (
                "a spike while the card is idle",
                finding(K::Spike, &[("height", bytes(214))]),
                Facts { busy: Some(false), ..calm() },
                &[],
            ),
            (
                "a spike as high as the weights",
                finding(K::Spike, &[("height", bytes(130))]),
                Facts { anatomy: anatomy(130, 0, 0), busy: Some(false), ..calm() },
                &[("load_on_cpu", Some((98, 130)))],
            ),
            (
                "steps that swing on a card that gets full",
                finding(K::Sawtooth, &[("amplitude", bytes(214))]),
                full(),
                &[
                    ("reduce_batch_accumulate", Some((86, 107))),
                    ("gradient_checkpointing", Some((86, 171))),
                    ("mixed_precision", Some((43, 96))),
                ],
            ),
            ("steps that swing where there is room", finding(K::Sawtooth, &[("amplitude", bytes(214))]), calm(), &[]),
            (
                "steps that swing where the states fill the card",
                finding(K::Sawtooth, &[("amplitude", bytes(80))]),
                Facts { anatomy: anatomy(200, 400, 80), ..full() },
                &[
                    ("optimizer_8bit", Some((200, 300))),
                    ("cpu_offload", Some((360, 400))),
                    ("lora", Some((360, 400))),
                    ("shard_states", Some((200, 450))),
                ],
            ),
            (
                "an evaluation",
                finding(K::EvalJump, &[("rise", bytes(64)), ("before", bytes(300))]),
                calm(),
                &[
                    ("inference_mode", Some((32, 64))),
                    ("reduce_batch_accumulate", Some((26, 32))),
                    ("detach_logged_tensors", Some((0, 64))),
                ],
            ),
            (
                "an evaluation in JAX",
                finding(K::EvalJump, &[("rise", bytes(64))]),
                run(calm(), Workload { framework: Some(Framework::Jax), role: Role::Training }),
                &[("reduce_batch_accumulate", Some((26, 32)))],
            ),
            (
                "a leak",
                finding(K::LeakStep, &[("rate", Quantity::Rate(30e6)), ("grown", bytes(50))]),
                calm(),
                &[("detach_logged_tensors", Some((50, 450))), ("del_and_gc", Some((50, 450))), ("memory_profiler", None)],
            ),
            (
                "a leak once an epoch",
                finding(K::LeakEpoch, &[("step", bytes(10)), ("grown", bytes(50))]),
                Facts { headroom: None, risk: None, ..calm() },
                &[
                    ("detach_logged_tensors", Some((50, 50))),
                    ("del_and_gc", Some((50, 50))),
                    ("inference_mode", Some((5, 10))),
                    ("memory_profiler", None),
                ],
            ),
            (
                "optimizer states that leave nothing",
                finding(K::OptimizerStep, &[("rise", bytes(240)), ("weights", bytes(120))]),
                Facts { anatomy: anatomy(120, 240, 0), ..full() },
                &[
                    ("optimizer_8bit", Some((120, 180))),
                    ("cpu_offload", Some((216, 240))),
                    ("lora", Some((216, 240))),
                    ("shard_states", Some((120, 270))),
                ],
            ),
            ("optimizer states that fit", finding(K::OptimizerStep, &[("rise", bytes(240))]), calm(), &[]),
            (
                "irregular highs",
                finding(K::Staircase, &[("grown", bytes(90))]),
                run(calm(), Workload { framework: Some(Framework::PyTorch), role: Role::Training }),
                &[
                    ("shorter_sequence", Some((0, 90))),
                    ("expandable_segments", Some((0, 90))),
                    ("bucket_lengths", Some((0, 90))),
                    ("longest_batch_first", None),
                ],
            ),
            (
                "irregular highs on Windows",
                finding(K::Staircase, &[("grown", bytes(90))]),
                Facts { wddm: true, ..full() },
                &[
                    ("shorter_sequence", Some((0, 90))),
                    ("max_split_size", Some((0, 90))),
                    ("bucket_lengths", Some((0, 90))),
                    ("longest_batch_first", None),
                    ("sysmem_fallback_off", None),
                ],
            ),
            (
                "a newcomer beside mine, with another card free",
                finding(K::ForeignArrival, &[("size", bytes(120))]),
                Facts {
                    process: Some(newcomer.clone()),
                    others: vec![party(4242, Relation::Mine, 400, training())],
                    headroom: Some(gib(270)),
                    roomiest: Some((Gpu(3), gib(780))),
                    ..calm()
                },
                &[("free_other_process", Some((120, 120))), ("pick_other_gpu", Some((110, 110)))],
            ),
            (
                "a newcomer on a card that I don't use",
                finding(K::ForeignArrival, &[("size", bytes(120))]),
                Facts { process: Some(newcomer.clone()), roomiest: Some((Gpu(3), gib(780))), ..calm() },
                &[],
            ),
            (
                "a pool that is in nobody's way",
                finding(K::Preallocated, &[("size", bytes(720))]),
                run(full(), serves(Framework::Vllm)),
                &[],
            ),
            (
                "a pool of vLLM in a newcomer's way",
                finding(K::Preallocated, &[("size", bytes(720))]),
                beside(run(full(), serves(Framework::Vllm)), newcomer.clone()),
                &[("lower_gpu_memory_utilization", Some((40, 40)))],
            ),
            (
                "a pool of JAX in a newcomer's way",
                finding(K::Preallocated, &[("size", bytes(600))]),
                beside(run(full(), Workload { framework: Some(Framework::Jax), role: Role::Training }), newcomer.clone()),
                &[("preallocate_fraction", Some((200, 200))), ("preallocate_off", None)],
            ),
            (
                "a stranger's pool in my way",
                finding(K::Preallocated, &[("size", bytes(600))]),
                Facts {
                    process: Some(party(777, Relation::Foreign, 600, serves(Framework::Vllm))),
                    others: vec![party(4242, Relation::Mine, 150, training())],
                    ..full()
                },
                &[("free_other_process", Some((600, 600)))],
            ),
            (
                "graphs of an engine that has room",
                finding(K::GraphCapture, &[("rise", bytes(20))]),
                Facts { headroom: Some(gib(50)), ..run(calm(), serves(Framework::Vllm)) },
                &[],
            ),
            (
                "graphs that leave nothing",
                finding(K::GraphCapture, &[("rise", bytes(20))]),
                run(full(), serves(Framework::Vllm)),
                &[("lower_gpu_memory_utilization", Some((40, 40))), ("disable_cuda_graphs", Some((10, 20)))],
            ),
            (
                "an orphan",
                finding(K::Orphan, &[("size", bytes(90)), ("holders", Quantity::Count(0))]),
                Facts { process: None, ..calm() },
                &[("clean_orphan", Some((0, 90)))],
            ),
            (
                "memory that a Grace system keeps",
                finding(K::Unattributed, &[("size", bytes(90))]),
                Facts { process: None, memory: MemoryKind::Numa, ..calm() },
                &[],
            ),
            (
                "workers with contexts",
                finding(K::ContextPileup, &[("contexts", Quantity::Count(24)), ("total", Quantity::Bytes(Bytes::mib(24 * 520)))]),
                calm(),
                &[("workers_without_cuda", Some((110, 122)))],
            ),
            (
                "ranks on the first card",
                finding(K::Rank0Pileup, &[("ranks", Quantity::Count(2)), ("total", Quantity::Bytes(Bytes::mib(1200)))]),
                Facts { process: None, others: (0..3).map(|pid| party(pid, Relation::Mine, 6, training())).collect(), ..calm() },
                &[("set_device_per_rank", Some((11, 12))), ("load_on_cpu", None)],
            ),
            (
                "cards filled unevenly",
                finding(K::Imbalance, &[("most", bytes(700)), ("least", bytes(300))]),
                calm(),
                &[("balance_devices", Some((100, 200)))],
            ),
            (
                "ranks of someone else on the first card",
                finding(K::Rank0Pileup, &[("ranks", Quantity::Count(2)), ("total", Quantity::Bytes(Bytes::mib(1200)))]),
                Facts {
                    process: None,
                    others: (0..3).map(|pid| party(pid, Relation::Foreign, 6, training())).collect(),
                    ..calm()
                },
                &[],
            ),
            (
                "children that a trainer left behind",
                finding(K::Orphan, &[("size", bytes(90)), ("holders", Quantity::Count(3))]),
                Facts { process: None, ..calm() },
                &[("clean_orphan", Some((90, 90)))],
            ),
            (
                "an orphan that is gone",
                Finding { to: Some(Timestamp::secs(99)), ..finding(K::Orphan, &[("size", bytes(90))]) },
                Facts { process: None, ..calm() },
                &[],
            ),
            (
                "a spike above steps that swing",
                finding(K::Spike, &[("height", bytes(50)), ("spare", bytes(20)), ("swing", bytes(214))]),
                calm(),
                &[
                    ("reduce_batch_accumulate", Some((86, 107))),
                    ("gradient_checkpointing", Some((86, 171))),
                    ("mixed_precision", Some((43, 96))),
                    ("load_on_cpu", Some((0, 50))),
                ],
            ),
            (
                "a leak that ended",
                Finding {
                    to: Some(Timestamp::secs(99)),
                    ..finding(K::LeakStep, &[("grown", bytes(50)), ("headroom", bytes(70))])
                },
                calm(),
                &[("detach_logged_tensors", Some((50, 50))), ("del_and_gc", Some((50, 50))), ("memory_profiler", None)],
            ),
            (
                "models that come and go",
                finding(K::Churn, &[]),
                run(full(), serves(Framework::Ollama)),
                &[("unload_idle_models", Some((0, 400)))],
            ),
            ("a lost device", finding(K::Lost, &[]), Facts::default(), &[("restart_process", None)]),
            (
                "an OOM beside a stranger, with another card free",
                finding(K::ProbableOom, &[]),
                Facts {
                    others: vec![newcomer.clone()],
                    roomiest: Some((Gpu(2), gib(790))),
                    anatomy: anatomy(120, 240, 200),
                    headroom: Some(gib(280)),
                    ..calm()
                },
                &[
                    ("free_other_process", Some((120, 120))),
                    ("pick_other_gpu", Some((110, 110))),
                    ("reduce_batch_accumulate", Some((80, 100))),
                    ("optimizer_8bit", Some((120, 180))),
                    ("gradient_checkpointing", Some((80, 160))),
                ],
            ),
            (
                "an OOM that a leak made",
                finding(K::ProbableOom, &[("headroom", bytes(1))]),
                Facts {
                    cause: Some(Arc::new(finding(K::LeakStep, &[("grown", bytes(130)), ("headroom", bytes(90))]))),
                    anatomy: anatomy(120, 0, 200),
                    ..full()
                },
                &[("detach_logged_tensors", Some((220, 220))), ("del_and_gc", Some((220, 220))), ("memory_profiler", None)],
            ),
            (
                "an OOM beside another rank of the same job",
                finding(K::ProbableOom, &[]),
                beside(full(), Party { kin: true, ..party(4243, Relation::Mine, 300, training()) }),
                &[("memory_profiler", None)],
            ),
            (
                "an OOM of an engine",
                finding(K::ProbableOom, &[]),
                run(full(), serves(Framework::Sglang)),
                &[("lower_gpu_memory_utilization", Some((40, 40)))],
            ),
            (
                "memory kept in a cache while a newcomer comes",
                finding(K::ForeignArrival, &[("size", bytes(60))]),
                Facts { process: Some(newcomer.clone()), others: vec![party(4242, Relation::Mine, 600, training())], ..full() },
                &[("free_other_process", Some((60, 60)))],
            ),
            (
                "a cache after an evaluation on a full card",
                finding(K::Release, &[]),
                Facts { anatomy: Some(Anatomy { cached: Some(gib(60)), ..Anatomy::default() }), ..full() },
                &[("empty_cache", Some((30, 60)))],
            ),
            (
                "a cache that nobody waits for",
                finding(K::Release, &[]),
                Facts { anatomy: Some(Anatomy { cached: Some(gib(60)), ..Anatomy::default() }), ..calm() },
                &[],
            ),
        ];
        let mut wrong = String::new();
        for (what, finding, facts, expected) in cases {
            let expected: Vec<(String, Option<(u64, u64)>)> =
                expected.iter().map(|(tip, saves)| ((*tip).to_owned(), *saves)).collect();
            let said = said(&finding, &facts);
            if said != expected {
                let _ = write!(wrong, "{what}:\n  said     {said:?}\n  expected {expected:?}\n");
            }
        }
        assert!(wrong.is_empty(), "\n{wrong}");
    }

    #[test]
    fn a_snapshot_is_enough_for_advice() {
        let mut stream = Stream::new(MemoryKind::Dedicated);
        stream.process(4242, 111, 1000).holders(1_000, &[(4242, Some(40_000))]).memory(1_001, 40_600);
        let facts = Facts::of(&stream.snapshot(), GPU, Some(Pid(4242))).expect("the card is there");
        let advice = said(&finding(FindingKind::EvalJump, &[("rise", bytes(64))]), &facts);
        assert!(advice.iter().any(|(tip, _)| tip == "inference_mode"), "{advice:?}");
    }

    #[test]
    fn a_reason_names_evidence_and_bytes() {
        let why = |finding: &Finding, facts: &Facts| advise(finding, facts)[0].why.to_string();
        let swing = finding(FindingKind::Sawtooth, &[("amplitude", bytes(214))]);
        assert_eq!(
            why(&swing, &full()),
            "its steps swing 21.4 GiB: half the batch should lower the peak of a step by 8.56 to 10.7 GiB"
        );
        let leak = finding(FindingKind::LeakStep, &[("rate", Quantity::Rate(17_895_697.0)), ("grown", bytes(50))]);
        assert_eq!(
            why(&leak, &full()),
            "it has grown by 5.00 GiB, 1.00 GiB a minute: usually a loss or an output that is kept with its graph; \
             that is 5.00 GiB now, 8.00 GiB by the time the card is full"
        );
        let eval = finding(FindingKind::EvalJump, &[("rise", bytes(64))]);
        let inference = advise(&eval, &calm()).iter().find(|advice| advice.tip == "inference_mode").cloned().expect("it applies");
        assert!(inference.why.contains("if it runs PyTorch"), "{}", inference.why);
    }

    /// Every figure that some detector may give, at once.
    fn everything() -> Vec<(&'static str, Quantity)> {
        let sizes = [
            "height",
            "peak",
            "swing",
            "amplitude",
            "rise",
            "before",
            "weights",
            "grown",
            "step",
            "size",
            "held",
            "total",
            "each",
            "most",
            "least",
            "headroom",
            "spare",
        ];
        let mut all: Vec<(&'static str, Quantity)> = sizes.into_iter().map(|name| (name, bytes(200))).collect();
        let counts = ["count", "contexts", "ranks", "holders"];
        all.extend(counts.into_iter().map(|name| (name, Quantity::Count(2))));
        all.push(("rate", Quantity::Rate(1e9)));
        all
    }

    #[test]
    fn what_is_harmless_gets_no_advice() {
        let harmless = [
            FindingKind::ContextStart,
            FindingKind::Loading,
            FindingKind::Warmup,
            FindingKind::Plateau,
            FindingKind::Saturating,
            FindingKind::FastSwing,
        ];
        for kind in harmless {
            for facts in [calm(), full(), run(full(), serves(Framework::Vllm))] {
                assert_eq!(said(&finding(kind, &everything()), &facts), [], "{kind}");
            }
        }
    }

    #[test]
    fn without_evidence_or_facts_there_is_no_advice_that_names_bytes() {
        for kind in FindingKind::iter() {
            for (evidence, facts) in [(vec![], calm()), (everything(), Facts::default())] {
                let advice = said(&finding(kind, &evidence), &facts);
                let sure = [FindingKind::Orphan, FindingKind::Unattributed];
                assert!(advice.iter().all(|(_, saves)| saves.is_none()) || sure.contains(&kind), "{kind}: {advice:?}");
            }
        }
    }

    fn any_facts() -> impl Strategy<Value = Facts> {
        let relation = proptest::sample::select(vec![Relation::Foreign, Relation::System, Relation::Unknown]);
        let workload = proptest::sample::select(vec![
            Workload::default(),
            training(),
            Workload { framework: Some(Framework::PyTorch), role: Role::Training },
            Workload { framework: Some(Framework::Jax), role: Role::Training },
            serves(Framework::Vllm),
            serves(Framework::Ollama),
        ]);
        let size = proptest::option::of(0..=u64::MAX);
        (relation, workload, size.clone(), size.clone(), size, any::<bool>(), any::<bool>()).prop_map(
            |(relation, workload, used, total, headroom, mine, wddm)| {
                let named = Party { used: used.map(Bytes), ..party(4242, relation, 0, workload) };
                let part = Some(Bytes(used.unwrap_or(1 << 34)));
                Facts {
                    process: Some(named),
                    others: if mine { vec![party(7, Relation::Mine, 100, training())] } else { Vec::new() },
                    total: total.map(Bytes),
                    headroom: headroom.map(Bytes),
                    roomiest: Some((Gpu(1), gib(790))),
                    anatomy: Some(Anatomy {
                        context: part,
                        weights: part,
                        gradients: part,
                        optimizer: part,
                        swing: part,
                        cached: part,
                    }),
                    risk: Some(RiskLevel::Critical),
                    cards: Some(8),
                    busy: Some(true),
                    wddm,
                    ..Facts::default()
                }
            },
        )
    }

    proptest! {
        /// Whose process it is not, gets told nothing about training or serving: at most how to come by its memory.
        #[test]
        fn nobody_is_told_how_to_run_the_process_of_another(facts in any_facts(), size in 0..=u64::MAX) {
            let mut evidence = everything();
            for (_, quantity) in &mut evidence {
                if let Quantity::Bytes(bytes) = quantity {
                    *bytes = Bytes(size);
                }
            }
            for kind in FindingKind::iter() {
                for advice in advise(&finding(kind, &evidence), &facts).iter() {
                    let allowed = ["free_other_process", "pick_other_gpu", "clean_orphan", "restart_process"];
                    prop_assert!(allowed.contains(&&*advice.tip), "{kind}: {advice:?}");
                }
            }
        }

        /// Whatever is measured, savings are a range, within what there is to save, and few.
        #[test]
        fn savings_are_ranges(facts in any_facts(), size in 0..=u64::MAX, own in any::<bool>()) {
            let mut facts = facts;
            if own && let Some(process) = &mut facts.process {
                process.relation = Relation::Job;
            }
            for kind in FindingKind::iter() {
                let advice = advise(&finding(kind, &[("height", Quantity::Bytes(Bytes(size))), ("rise", Quantity::Bytes(Bytes(size)))]), &facts);
                prop_assert!(advice.len() <= MOST);
                for one in advice.iter() {
                    prop_assert!(one.saves.is_none_or(|(from, to)| from <= to), "{kind}: {one:?}");
                }
            }
        }
    }
}
