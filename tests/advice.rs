//! What the demo is advised to do: who watches it for a while has to be told this much, and no more.

use std::sync::Arc;

use vramscope::domain::tips::Tip;
use vramscope::domain::{Advice, Bytes, Finding, FindingKind, Monitor, Relation, Said};
use vramscope::scenario::{Scenario, Stream, StreamOptions, World};

/// What is found within the story of a scenario, with the advice that it was given, and how a process is related to the viewer.
fn found(scenario: &str, seconds: f64) -> Vec<(Arc<Finding>, Option<Relation>)> {
    let world = World::new(&Scenario::load(scenario).unwrap()).unwrap();
    let mut monitor = Monitor::new();
    let mut found = Vec::new();
    for sample in Stream::new(Arc::new(world), StreamOptions::default()).take_while(|sample| sample.t.as_secs_f64() < seconds) {
        monitor.ingest(&sample);
        for said in monitor.take_said() {
            if let Said::Finding(finding) = said {
                let snapshot = monitor.snapshot();
                let view = snapshot.device(finding.gpu).unwrap();
                let holders = view.holders.iter().flat_map(|list| list.iter()).chain(view.gone.iter());
                let relation = holders.filter(|holder| Some(holder.pid()) == finding.pid).map(|holder| holder.relation()).next();
                found.push((finding, relation));
            }
        }
    }
    found
}

fn advice<'a>(finding: &'a Finding, tip: &str) -> Option<&'a Advice> {
    finding.advice.iter().find(|advice| advice.tip == tip)
}

#[test]
fn the_default_demo_is_advised_with_bytes() {
    let found = found("default", 240.0);
    let of = |kind: FindingKind, pid: u32| {
        let all = found.iter().map(|(finding, _)| finding);
        let mut of = all.filter(|finding| finding.kind == kind && finding.pid.is_some_and(|own| own.0 == pid));
        of.next().unwrap_or_else(|| panic!("no {kind} of {pid}"))
    };
    // Steps that swing by 21 GiB: half the batch is worth some 10.
    let (from, to) = advice(of(FindingKind::Spike, 41207), "reduce_batch_accumulate").unwrap().saves.unwrap();
    assert!((Bytes::gib(7)..Bytes::gib(10)).contains(&from) && (Bytes::gib(10)..Bytes::gib(12)).contains(&to), "{from} to {to}");
    let evaluation = advice(of(FindingKind::EvalJump, 43119), "inference_mode").unwrap();
    assert!(evaluation.saves.unwrap().1 > Bytes::gib(3), "{evaluation:?}");
    assert_eq!(of(FindingKind::LeakStep, 43119).advice[0].tip, "detach_logged_tensors");
    let failure = of(FindingKind::ProbableOom, 43119);
    assert!(advice(failure, "detach_logged_tensors").is_some() && advice(failure, "free_other_process").is_some(), "{failure:?}");
    assert!(advice(failure, "reduce_batch_accumulate").is_none(), "a leak made it fail: {failure:?}");
    assert_eq!(of(FindingKind::ForeignArrival, 43655).advice[0].tip, "free_other_process");
    assert!(advice(of(FindingKind::Orphan, 43402), "clean_orphan").is_some());
    // A pool that is in nobody's way.
    assert!(of(FindingKind::Preallocated, 39650).advice.is_empty());
}

#[test]
fn no_demo_tells_anyone_how_to_run_the_process_of_another() {
    for scenario in ["default", "eight", "crowd"] {
        for (finding, relation) in found(scenario, 60.0) {
            for advice in finding.advice.iter() {
                assert!(Tip::named(&advice.tip).is_some(), "{advice:?}");
                let anyone = ["free_other_process", "pick_other_gpu", "clean_orphan", "restart_process"].contains(&&*advice.tip);
                let own = matches!(relation, Some(Relation::Job | Relation::Mine));
                assert!(anyone || own || finding.pid.is_none(), "{scenario}: {finding:?}");
            }
        }
    }
}
