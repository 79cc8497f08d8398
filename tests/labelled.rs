//! The labelled timelines that the analyst is examined on: what they promise holds.

use std::collections::{BTreeMap, BTreeSet};

use vramscope::domain::{Gpu, SampleBody, Timestamp};

use crate::support::timelines::{Case, KINDS};

/// As many cases as the weights of all kinds: each comes as often as its weight says.
fn set(seed: u64) -> impl Iterator<Item = Case> {
    let weights: u64 = KINDS.iter().map(|kind| kind.weight).sum();
    (0..weights).map(move |n| Case::of_set(seed, n))
}

#[test]
fn a_seed_makes_the_same_timelines() {
    for n in 0..12 {
        let (one, other) = (Case::of_set(9, n), Case::of_set(9, n));
        assert_eq!(one.kind.name, other.kind.name);
        assert!(one.samples == other.samples);
        assert!(Case::of_set(10, n).samples != one.samples);
    }
}

#[test]
fn every_kind_is_there_and_enough_are_frightening() {
    let mut kinds = BTreeSet::new();
    let (mut cases, mut frightening) = (0, 0);
    let (mut paces, mut sights) = (BTreeSet::new(), BTreeSet::new());
    for case in set(3) {
        kinds.insert(case.kind.name);
        paces.insert(case.hz as u64);
        sights.insert((case.lists, case.usage));
        cases += 1;
        frightening += usize::from(case.truths.iter().any(|truth| truth.frightening));
        assert!(case.seconds > 20.0 && case.seconds < 5_000.0, "{}: {} s", case.kind.name, case.seconds);
    }
    assert_eq!(kinds.len(), KINDS.len());
    assert_eq!(paces.into_iter().collect::<Vec<_>>(), [1, 10, 50]);
    assert_eq!(sights.len(), 4);
    assert!(frightening * 5 >= cases, "{frightening} of {cases}");
}

#[test]
fn labels_fit_what_happens() {
    let mut announced: BTreeMap<&str, usize> = BTreeMap::new();
    for case in set(4) {
        let name = case.kind.name;
        for truth in &case.truths {
            assert!(!(truth.frightening && truth.oom.is_some()), "{name}: harmless, and fails");
            if let Some(oom) = truth.oom {
                assert!(oom > 0.0 && oom < case.seconds, "{name}");
            }
            if let Some((from, to)) = truth.growth {
                *announced.entry(name).or_default() += 1;
                assert_eq!(Some(to), truth.oom, "{name}");
                assert!(to - from >= 15.0, "{name}");
            }
            assert!(truth.neutral.iter().all(|(from, to)| from <= to), "{name}");
            if let Some((_, fit)) = truth.main {
                let distinct: BTreeSet<String> = fit.iter().map(ToString::to_string).collect();
                assert_eq!(distinct.len(), fit.len(), "{name}");
            }
            assert!(!case.kind.frightening || truth.growth.is_none(), "{name}");
        }
        if case.kind.frightening {
            assert!(case.truths.iter().any(|truth| truth.frightening && !truth.shapes.is_empty()), "{name}");
        }
    }
    assert!(announced.len() >= 20, "kinds with growth that ends in an OOM: {announced:?}");
}

#[test]
fn samples_are_such_as_a_monitor_records() {
    for n in 0..60 {
        let case = Case::of_set(5, n);
        let name = case.kind.name;
        let mut last = Timestamp::ZERO;
        let mut awaiting: BTreeMap<Gpu, Timestamp> = BTreeMap::new();
        let mut heard: BTreeMap<Gpu, Timestamp> = BTreeMap::new();
        for sample in &case.samples {
            assert!(sample.t >= last, "{name}: {:?} after {last:?}", sample.t);
            last = sample.t;
            match &sample.body {
                SampleBody::Holders { gpu, list } => {
                    assert!(case.lists && list.is_ok(), "{name}");
                    awaiting.insert(*gpu, sample.t);
                }
                SampleBody::Memory { gpu, figures } => {
                    if let Ok(figures) = figures {
                        let sum = figures.used().0 + figures.free.0 + figures.reserved.map_or(0, |reserved| reserved.0);
                        assert_eq!(sum, figures.total.0, "{name}");
                    }
                    // Memory is read right after a list.
                    assert!(awaiting.remove(gpu).is_none_or(|listed| listed == sample.t), "{name}");
                    heard.insert(*gpu, sample.t);
                }
                SampleBody::Usage(_) => assert!(case.usage, "{name}"),
                _ => {}
            }
        }
        assert!(heard.into_keys().eq(case.truths.iter().map(|truth| truth.gpu)), "{name}: every card is heard of");
        assert!(awaiting.is_empty(), "{name}");
    }
}
