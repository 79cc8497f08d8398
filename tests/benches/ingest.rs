//! What one sample costs: the analyst with all detectors, and the fold, on streams of 50 Hz; and the memory of a series.
//!
//! `cargo bench --bench ingest`. criterion's figures are means over runs of thousands of samples, with the comparison to the
//! run before; the table after them has the median of single samples beside its limit, less what reading the clock costs.
#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a benchmark prints, fails loudly and reads the clock"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use criterion::Criterion;
use vramscope::domain::{Analyst, Monitor, Period, Said, Sample, SampleBody};
use vramscope::scenario::{Scenario, Stream, StreamOptions, World};

/// Streams that are measured: one that shows everything, and one where all of 48 processes move all the time.
const SCENARIOS: [&str; 2] = ["default", "eight"];

/// The median of one sample may cost this much, in µs.
const LIMIT: f64 = 1.0;

/// How long a stream runs before anything is measured: windows are full by then.
const WARM: u64 = 300;

/// Counts what lives on the heap.
struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[expect(unsafe_code, reason = "an allocator is unsafe by its interface; this one hands all to the system's")]
// SAFETY: every call goes to the system's allocator as it came; the counter is no part of it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the pointer came from `alloc` above, and so from the system's.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// The endless stream of a scenario at 50 Hz.
fn stream(scenario: &str) -> Stream {
    let scenario = Scenario::load(scenario).expect("a built-in scenario");
    let world = Arc::new(World::new(&scenario).expect("a sound scenario"));
    Stream::new(world, StreamOptions { memory_interval: Period::millis(20), ..StreamOptions::default() })
}

/// A consumer of samples.
trait Fold {
    fn take(&mut self, sample: &Sample);
}

#[derive(Default)]
struct Analysing(Analyst, Vec<Said>);

impl Fold for Analysing {
    fn take(&mut self, sample: &Sample) {
        self.1.clear();
        self.0.observe(sample, &mut self.1);
        black_box(&self.1);
    }
}

impl Fold for Monitor {
    fn take(&mut self, sample: &Sample) {
        self.ingest(sample);
    }
}

/// A stream and a fold that has seen its first minutes.
fn warm<F: Fold + Default>(scenario: &str) -> (Stream, F) {
    let (mut stream, mut fold) = (stream(scenario), F::default());
    for sample in stream.by_ref().take_while(|sample| sample.t.as_secs_f64() < WARM as f64) {
        fold.take(&sample);
    }
    (stream, fold)
}

fn measure<F: Fold + Default>(criterion: &mut Criterion, name: &str, scenario: &str) {
    let (mut stream, mut fold) = warm::<F>(scenario);
    criterion.bench_function(&format!("{name}, {scenario}"), |bencher| {
        bencher.iter_custom(|iterations| {
            let (mut left, mut spent) = (iterations, Duration::ZERO);
            while left > 0 {
                // The samples are made outside of the time.
                let samples: Vec<Sample> = stream.by_ref().take(left.min(10_000) as usize).collect();
                let begun = Instant::now();
                for sample in &samples {
                    fold.take(black_box(sample));
                }
                spent += begun.elapsed();
                left -= samples.len() as u64;
            }
            spent
        });
    });
}

/// The number below which a share of the sorted ones lie.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    sorted.get(((sorted.len() as f64 * share) as usize).min(sorted.len().saturating_sub(1))).copied().unwrap_or_default()
}

/// What two looks at the clock cost, in µs.
fn clock() -> f64 {
    let mut costs: Vec<f64> = (0..10_000).map(|_| Instant::now().elapsed().as_secs_f64() * 1e6).collect();
    costs.sort_by(f64::total_cmp);
    quantile(&costs, 0.5)
}

/// Single samples: median and tail, and those of memory and of lists apart.
fn singles<F: Fold + Default>(name: &str, scenario: &str, limit: Option<f64>) {
    let (stream, mut fold) = warm::<F>(scenario);
    let clock = clock();
    let (mut all, mut memory, mut lists) = (Vec::new(), Vec::new(), Vec::new());
    for sample in stream.take(200_000) {
        let begun = Instant::now();
        fold.take(black_box(&sample));
        let cost = (begun.elapsed().as_secs_f64() * 1e6 - clock).max(0.0);
        all.push(cost);
        match sample.body {
            SampleBody::Memory { .. } => memory.push(cost),
            SampleBody::Holders { .. } => lists.push(cost),
            _ => {}
        }
    }
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    for costs in [&mut all, &mut memory, &mut lists] {
        costs.sort_by(f64::total_cmp);
    }
    let median = quantile(&all, 0.5);
    let verdict =
        limit.map_or(String::new(), |limit| format!("limit {limit:.1}  {}", if median <= limit { "ok" } else { "MISSED" }));
    println!(
        "{:<24} {median:>8.3} {mean:>8.3} {:>8.3} {:>8.3} {:>8.3}   {verdict}",
        format!("{name}, {scenario}"),
        quantile(&all, 0.99),
        quantile(&memory, 0.5),
        quantile(&lists, 0.5),
    );
}

/// What a fold keeps of a stream after ten minutes, in KiB, in all and for each series: cards and processes on them.
fn memory<F: Fold + Default>(name: &str, scenario: &str) {
    let before = LIVE.load(Ordering::Relaxed);
    let mut fold = F::default();
    let mut series = 0;
    let mut stream = stream(scenario);
    let mut lists = std::collections::BTreeMap::new();
    for sample in stream.by_ref().take_while(|sample| sample.t.as_secs_f64() < 600.0) {
        if let SampleBody::Holders { gpu, list: Ok(list) } = &sample.body {
            lists.insert(*gpu, list.len());
            series = lists.len() + lists.values().sum::<usize>();
        }
        fold.take(&sample);
    }
    drop((stream, lists));
    let kept = LIVE.load(Ordering::Relaxed).saturating_sub(before) as f64 / 1024.0;
    println!(
        "{:<24} {kept:>9.0} KiB of {series} series, {:.1} KiB each",
        format!("{name}, {scenario}"),
        kept / f64::from(series as u32)
    );
    drop(fold);
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    for scenario in SCENARIOS {
        measure::<Analysing>(&mut criterion, "Analyst::observe", scenario);
        measure::<Monitor>(&mut criterion, "Monitor::ingest", scenario);
    }
    criterion.final_summary();
    println!("\n{:<24} {:>8} {:>8} {:>8} {:>8} {:>8}   µs per sample", "", "median", "mean", "99 %", "memory", "lists");
    for scenario in SCENARIOS {
        singles::<Analysing>("Analyst", scenario, Some(LIMIT));
        singles::<Monitor>("Monitor", scenario, None);
    }
    println!("\nkept after ten minutes");
    for scenario in SCENARIOS {
        memory::<Analysing>("Analyst", scenario);
        memory::<Monitor>("Monitor", scenario);
    }
}
