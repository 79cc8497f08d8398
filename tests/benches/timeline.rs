//! How fast recordings are written, read and analysed, in records per second of one core: by the thread's own CPU time, so that
//! what else runs on the machine does not count.
//!
//! `cargo bench --bench timeline`; `TIMELINE_SECONDS` sets how long a recording of eight cards is made (1200).
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a benchmark prints, fails loudly and reads the clock"
)]

use std::io::Cursor;
use std::sync::Arc;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use vramscope::domain::{Analyst, Period, Sample, Timestamp};
use vramscope::output::report::{Basis, Report};
use vramscope::scenario::{Scenario, Stream, StreamOptions, World};
use vramscope::timeline::{Reader, Writer};

/// Runs of which the best is told.
const RUNS: usize = 5;

fn main() {
    let seconds = std::env::var("TIMELINE_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1_200);
    let world = Arc::new(World::new(&Scenario::load("eight").unwrap()).unwrap());
    let options = StreamOptions { memory_interval: Period::millis(50), ..StreamOptions::default() };
    let end = Timestamp::secs(seconds);
    let samples: Vec<Sample> = Stream::new(world, options).take_while(|sample| sample.t < end).collect();
    let mut file = Vec::new();
    let count = samples.len();
    best("write", count, || {
        let mut writer = Writer::new(Vec::with_capacity(file.len()));
        for sample in &samples {
            writer.sample(sample).unwrap();
        }
        file = writer.into_inner();
    });
    let packed = zstd::encode_all(&*file, 3).unwrap();
    println!(
        "{count} records of 8 cards, 48 processes, 20 Hz for {seconds} s: {:.1} MB, {:.1} MB in zstd",
        file.len() as f64 / 1e6,
        packed.len() as f64 / 1e6
    );
    best("read .jsonl", count, || assert_eq!(read(file.clone()).count(), count));
    best("read .jsonl.zst", count, || assert_eq!(read(packed.clone()).count(), count));
    let memory = samples.iter().filter(|sample| matches!(sample.body, vramscope::domain::SampleBody::Memory { .. }));
    let mut writer = Writer::new(Vec::new());
    let header = samples.iter().take(1).chain(memory);
    let mut lines = 0;
    for sample in header {
        lines += 1;
        writer.sample(sample).unwrap();
    }
    let memory = writer.into_inner();
    best("read .jsonl, memory records alone", lines, || assert_eq!(read(memory.clone()).count(), lines));
    best("report of .jsonl, all detectors", count, || {
        let mut reader = read(file.clone());
        Report::of(&mut reader, Basis::Samples).unwrap();
        assert_eq!(reader.records(), count as u64);
    });
    best("the detectors alone", count, || {
        let (mut analyst, mut said) = (Analyst::new(), Vec::new());
        for sample in &samples {
            analyst.observe(sample, &mut said);
        }
    });
}

fn read(file: Vec<u8>) -> Reader {
    Reader::new("the recording".to_owned(), Box::new(Cursor::new(file))).unwrap()
}

fn best(what: &str, records: usize, mut run: impl FnMut()) {
    let mut least = f64::INFINITY;
    for _ in 0..RUNS {
        let begun = spent();
        run();
        least = least.min(spent().saturating_sub(begun).as_secs_f64());
    }
    println!("{what:<36} {:>6.2} M records/s", records as f64 / least / 1e6);
}

/// The CPU time of this thread.
fn spent() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.cast_unsigned(), u32::try_from(time.tv_nsec).unwrap())
}
