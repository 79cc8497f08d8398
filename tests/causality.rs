//! What is said at a time depends on the samples up to it alone, however they come.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use vramscope::domain::{Analyst, Period, Said, Sample, SampleBody, Timestamp};
use vramscope::sampler::channel;
use vramscope::scenario::{SCENARIOS, Scenario, Stream, StreamOptions};
use vramscope::source::Source;
use vramscope::source::demo::DemoSource;

use crate::support::scenario::world;
use crate::support::timelines::Case;

/// The most samples of a stream that are looked at: a debug build is slow.
const MOST: usize = 5_000;

/// What is said, each with the number of the sample that it was said at.
fn said(samples: &[Sample]) -> Vec<(usize, Said)> {
    let (mut analyst, mut now, mut all) = (Analyst::new(), Vec::new(), Vec::new());
    let mut levels = BTreeMap::new();
    for (n, sample) in samples.iter().enumerate() {
        analyst.observe(sample, &mut now);
        for said in &now {
            if let Said::Risk(risk) = said
                && risk.job.is_none()
            {
                levels.insert(risk.gpu, risk.level);
            }
        }
        // Whoever asks hears what was said.
        for (gpu, level) in &levels {
            assert!(analyst.risk(*gpu).is_none_or(|risk| risk.level == *level), "gpu {gpu} at {:?}", sample.t);
        }
        all.extend(now.drain(..).map(|said| (n, said)));
    }
    all
}

/// Nothing that is said knows of a later time than that of the newest sample.
fn knows_no_later(what: &str, samples: &[Sample], all: &[(usize, Said)]) {
    let mut newest = Timestamp::ZERO;
    let times: Vec<Timestamp> = samples
        .iter()
        .map(|sample| {
            newest = newest.max(sample.t);
            newest
        })
        .collect();
    for (n, said) in all {
        let at = times[*n];
        match said {
            Said::Risk(risk) => assert!(risk.t <= at, "{what}: risk of {:?} said at {at:?}", risk.t),
            Said::Finding(finding) => {
                let within = finding.t <= at && finding.from <= finding.t && finding.to.is_none_or(|to| to <= finding.t);
                assert!(within, "{what}: said at {at:?}: {finding:?}");
            }
        }
    }
}

fn holds_for_cuts(what: &str, samples: &[Sample]) {
    let whole = said(samples);
    knows_no_later(what, samples, &whole);
    for part in [0.1, 0.35, 0.7, 0.95] {
        let cut = (samples.len() as f64 * part) as usize;
        let before: Vec<_> = whole.iter().take_while(|(n, _)| *n < cut).cloned().collect();
        let alone = said(&samples[..cut]);
        assert!(alone == before, "{what}: cut at {cut} of {} samples, other things are said", samples.len());
    }
}

#[test]
fn a_cut_stream_says_what_the_whole_one_said_by_then() {
    let options = StreamOptions { memory_interval: Period::millis(250), ..StreamOptions::default() };
    for scenario in SCENARIOS {
        let samples: Vec<Sample> =
            Stream::new(world(scenario.id), options).take_while(|sample| sample.t < Timestamp::secs(150)).take(MOST).collect();
        holds_for_cuts(scenario.id, &samples);
    }
    let cases = (0..).map(|n| Case::of_set(2, n)).filter(|case| case.samples.len() <= MOST);
    for case in cases.take(16) {
        holds_for_cuts(case.kind.name, &case.samples);
    }
}

/// The samples of the demo up to a moment, as its source sends them.
fn played(speed: f64, room: usize, until: Timestamp) -> Vec<Sample> {
    let scenario = Scenario::load("default").unwrap();
    let source = DemoSource::new(&scenario, speed, StreamOptions::default()).unwrap();
    let (tx, rx) = channel(room);
    let handle = Box::new(source).start(tx);
    let mut samples = Vec::new();
    while samples.last().is_none_or(|last: &Sample| last.t <= until) {
        samples.push(rx.queue.recv_timeout(Duration::from_secs(20)).unwrap());
    }
    handle.stop.store(true, Ordering::Relaxed);
    samples.retain(|sample| sample.t <= until);
    samples
}

#[test]
fn the_speed_of_the_demo_changes_nothing() {
    let until = Timestamp::secs(130);
    let runs = [(1000.0, 1), (400.0, 100_000)].map(|(speed, room)| played(speed, room, until));
    let [one, other] = &runs;
    let same = |(a, b): (&Sample, &Sample)| match (&a.body, &b.body) {
        // The wall clock of the origin is that of the run.
        (SampleBody::Header(_), SampleBody::Header(_)) => true,
        (SampleBody::Process(a), SampleBody::Process(b)) => a.key == b.key,
        _ => a == b,
    };
    assert!(one.len() == other.len() && one.iter().zip(other).all(same));
    assert_eq!(said(one), said(other));
    assert!(!said(one).is_empty(), "the demo shows something worth a word");
    // The stream itself, without a source, says the same.
    let direct: Vec<Sample> =
        Stream::new(Arc::clone(&world("default")), StreamOptions::default()).take_while(|sample| sample.t <= until).collect();
    assert_eq!(said(one), said(&direct));
}
