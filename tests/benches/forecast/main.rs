//! How well OOMs are foretold: the analyst and three baselines on timelines that were never seen before.
//!
//! `cargo bench --bench forecast`. A fresh seed each run, printed. `FORECAST_SEED` and `FORECAST_CASES` fix the set,
//! `FORECAST_ONLY=N` takes one of it, `FORECAST_VERBOSE=1` lists where the analyst failed, `FORECAST_DUMP=DIR` writes those
//! cases as timeline files.
#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a benchmark prints, fails loudly and reads the clock"
)]

mod dump;
mod examine;
mod forecaster;
mod table;
#[path = "../../support/timelines/mod.rs"]
mod timelines;

use std::collections::BTreeMap;
use std::env;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use examine::{Verdict, examine};
use forecaster::{FiveSamples, Forecaster, Line, Ours, Threshold};
use table::Figures;
use timelines::Case;

/// How many timelines a run has.
const CASES: u64 = 800;

const NAMES: [&str; 4] = ["vramscope", "90 %", "line 60 s", "5 samples"];

/// A case without its samples, and what each forecaster did on it.
struct Examined {
    number: u64,
    kind: &'static str,
    what: String,
    verdicts: [Vec<Verdict>; 4],
}

fn number(name: &str) -> Option<u64> {
    env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")))
}

/// Where the analyst failed, in words.
fn failures(verdict: &Verdict) -> Vec<String> {
    let mut out = Vec::new();
    match verdict.announced {
        Some((None, _)) => out.push("missed".to_owned()),
        Some((Some(lead), false)) => out.push(format!("only {lead:.1} s ahead")),
        _ => {}
    }
    if !verdict.false_alarms.is_empty() {
        let times: Vec<String> = verdict.false_alarms.iter().map(|t| format!("{t:.1}")).collect();
        out.push(format!("false alarm at {}", times.join(", ")));
    }
    for asked in verdict.asked.iter().filter(|asked| asked.part == 1) {
        match asked.error {
            Some(error) if error.abs() > 0.3 => out.push(format!("time off by {:+.0} %", error * 100.0)),
            None => out.push("no time".to_owned()),
            Some(_) => {}
        }
    }
    if let Some((said, fit)) = &verdict.shape
        && let ([best, ..], false) = (*fit, fit.contains(said))
    {
        out.push(format!("shape {said}, not {best}"));
    }
    out
}

fn run(case: &Case, number: u64) -> Examined {
    let mut forecasters: [Box<dyn Forecaster>; 4] =
        [Box::new(Ours::default()), Box::new(Threshold::default()), Box::new(Line::default()), Box::new(FiveSamples::default())];
    let verdicts = forecasters.each_mut().map(|forecaster| examine(case, &mut **forecaster));
    let sees = match (case.lists, case.usage) {
        (true, true) => "lists, load",
        (true, false) => "lists",
        (false, true) => "load",
        (false, false) => "memory alone",
    };
    let what = format!("{number:>4} {} ({} Hz, {sees}, {:.0} s)", case.kind.name, case.hz, case.seconds);
    Examined { number, kind: case.kind.name, what, verdicts }
}

fn main() {
    let fresh = || SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970").as_nanos() as u64 % 1_000_000_007;
    let seed = number("FORECAST_SEED").unwrap_or_else(fresh);
    let only = number("FORECAST_ONLY");
    let cases = number("FORECAST_CASES").unwrap_or(CASES);
    let dump_to = env::var_os("FORECAST_DUMP").map(PathBuf::from);
    let verbose = env::var_os("FORECAST_VERBOSE").is_some();
    let begun = Instant::now();
    println!("FORECAST_SEED={seed} FORECAST_CASES={cases}");
    let next = AtomicU64::new(only.unwrap_or(0));
    let end = only.map_or(cases, |only| only + 1);
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= end {
                        return;
                    }
                    let case = Case::of_set(seed, number);
                    let examined = run(&case, number);
                    let failed = examined.verdicts[0].iter().any(|verdict| !failures(verdict).is_empty());
                    if let Some(folder) = dump_to.as_ref().filter(|_| failed || only.is_some()) {
                        dump::dump(folder, number, &case).expect("a folder to write to");
                    }
                    done.lock().expect("no panic").push(examined);
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no panic");
    done.sort_by_key(|examined| examined.number);
    let columns: Vec<(&str, Figures)> = NAMES
        .iter()
        .enumerate()
        .map(|(n, name)| {
            let mut figures = Figures::default();
            done.iter().flat_map(|examined| &examined.verdicts[n]).for_each(|verdict| figures.add(verdict));
            (*name, figures)
        })
        .collect();
    table::print(&columns);
    let mut kinds: BTreeMap<&str, Vec<&Verdict>> = BTreeMap::new();
    for examined in &done {
        kinds.entry(examined.kind).or_default().extend(&examined.verdicts[0]);
    }
    table::print_kinds(&kinds);
    if verbose {
        println!();
        for examined in &done {
            for (gpu, verdict) in examined.verdicts[0].iter().enumerate() {
                let failures = failures(verdict);
                if !failures.is_empty() {
                    println!("{}: gpu {gpu}: {}", examined.what, failures.join("; "));
                }
            }
        }
    }
    println!("\n{:.0} s", begun.elapsed().as_secs_f64());
}
