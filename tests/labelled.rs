//! The labelled timelines that the analyst is examined on: what they promise holds.

use std::collections::{BTreeMap, BTreeSet};

use vramscope::domain::{Gpu, SampleBody, Timestamp};

use crate::support::timelines::{Case, KINDS};

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
fn every_kind_is_there_and_its_labels_fit() {
    let weights: u64 = KINDS.iter().map(|kind| kind.weight).sum();
    let (mut kinds, mut announced) = (BTreeSet::new(), BTreeSet::new());
    let (mut paces, mut sights) = (BTreeSet::new(), BTreeSet::new());
    let mut frightening = 0;
    // Each kind comes as often as its weight says.
    for case in (0..weights).map(|n| Case::of_set(3, n)) {
        let name = case.kind.name;
        kinds.insert(name);
        paces.insert(case.hz as u64);
        sights.insert((case.lists, case.usage));
        frightening += u64::from(case.kind.frightening);
        assert!(case.seconds > 10.0 && case.seconds < 5_000.0, "{name}: {} s", case.seconds);
        for truth in &case.truths {
            assert!(!(truth.frightening && truth.oom.is_some()), "{name}: harmless, and fails");
            assert!(truth.oom.is_none_or(|oom| oom > 0.0 && oom < case.seconds), "{name}");
            if let Some((from, to)) = truth.growth {
                announced.insert(name);
                assert!(Some(to) == truth.oom && to - from >= 15.0, "{name}: {from} to {to}");
            }
            assert!(truth.neutral.iter().all(|(from, to)| from <= to), "{name}");
            if let Some((_, fit)) = truth.main {
                let distinct: BTreeSet<String> = fit.iter().map(ToString::to_string).collect();
                assert_eq!(distinct.len(), fit.len(), "{name}");
            }
        }
        if case.kind.frightening {
            assert!(case.truths.iter().any(|truth| truth.frightening && !truth.shapes.is_empty()), "{name}");
        }
    }
    assert_eq!(kinds.len(), KINDS.len());
    assert!(announced.len() >= 20, "kinds whose growth ends in an OOM: {announced:?}");
    assert_eq!(paces.into_iter().collect::<Vec<_>>(), [1, 10, 50]);
    assert_eq!(sights.len(), 4);
    assert!(frightening * 5 >= weights, "{frightening} of {weights}");
}

#[test]
fn samples_are_such_as_a_monitor_records() {
    for n in 0..40 {
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
