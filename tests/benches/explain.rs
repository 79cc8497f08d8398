//! Throughput of `explain` beside `rg -c 'out of memory'` on the same file, and a long fuzz of all dialects.
//!
//! `cargo bench --bench explain`; `EXPLAIN_MIB` sets the size of the log (2048), `EXPLAIN_FUZZ` the seconds of the fuzz (10).
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a benchmark prints, fails loudly and reads the clock"
)]

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use vramscope::domain::oom::Scanner;
use vramscope::output::explain::{Look, document, page};

const OOM: &str = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 23.64 GiB of which 11.25 MiB is free. Including non-PyTorch memory, this process has 23.54 GiB memory in use. Of the allocated memory 23.01 GiB is allocated by PyTorch, and 81.53 MiB is reserved by PyTorch but unallocated.";

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Numbers that look random, the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % (n as u64).max(1)) as usize
    }
}

/// A log of a training run with one failure at its end.
fn write_log(path: &Path, mib: u64) {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path).unwrap());
    let (mut written, mut step) = (0_u64, 0_u64);
    while written < mib << 20 {
        let line = format!(
            "2026-02-03 04:{:02}:{:02},{:03} INFO trainer: step {step} loss {}.{:04} lr 1.0e-04 tok/s {} mem 2{}.{:02} GiB\n",
            step / 60 % 60,
            step % 60,
            random.below(1000),
            random.below(4),
            random.below(10_000),
            10_000 + random.below(9_999),
            random.below(3),
            random.below(100),
        );
        written += line.len() as u64;
        step += 1;
        out.write_all(line.as_bytes()).unwrap();
    }
    writeln!(out, "{OOM}").unwrap();
    out.flush().unwrap();
}

/// Wall time of a command, best and median of five; its file is in the page cache by then.
fn time(command: &mut Command) -> (Duration, Duration) {
    let mut times: Vec<Duration> = (0..5)
        .map(|_| {
            let from = Instant::now();
            command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
            from.elapsed()
        })
        .collect();
    times.sort();
    (times[0], times[2])
}

fn throughput() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("train.log");
    write_log(&path, setting("EXPLAIN_MIB", 2048));
    let size = fs::metadata(&path).unwrap().len() as f64 / 1e9;
    let report = |name: &str, (best, median): (Duration, Duration)| {
        println!(
            "{name:<28} best {:>6.2} s, median {:>6.2} s: {:>5.2} GB/s",
            best.as_secs_f64(),
            median.as_secs_f64(),
            size / median.as_secs_f64()
        );
    };
    println!("log of {size:.2} GB with one failure at its end");
    let rg = || {
        let mut command = Command::new("rg");
        command.args(["-c", "out of memory"]).arg(&path);
        command
    };
    let found = rg().stdout(Stdio::null()).status().is_ok_and(|status| status.success());
    let theirs = found.then(|| time(&mut rg()));
    let mut own = Command::new(env!("CARGO_BIN_EXE_vramscope"));
    own.arg("explain").arg(&path);
    let ours = time(&mut own);
    report("vramscope explain", ours);
    match theirs {
        Some(theirs) => {
            report("rg -c 'out of memory'", theirs);
            println!("{:.1} times as long, by the medians; the limit is 5", ours.1.as_secs_f64() / theirs.1.as_secs_f64());
        }
        None => println!("rg is not installed: nothing to compare with"),
    }
}

/// Resident memory at its highest, in MiB.
fn peak() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
}

/// Cases and variants, cut, spliced, repeated, with bytes put in, in blocks of any size.
fn fuzz() {
    let seconds = setting("EXPLAIN_FUZZ", 10);
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut seeds: Vec<Vec<u8>> = fs::read_dir(folder.join("oom"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "log"))
        .map(|path| fs::read(path).unwrap())
        .collect();
    let variants = fs::read_to_string(folder.join("oom-variants.txt")).unwrap();
    seeds.extend(variants.split("\n=== ").map(|part| part.as_bytes().to_vec()));
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let (from, mut runs, mut bytes, mut slowest) = (Instant::now(), 0_u64, 0_u64, (Duration::ZERO, 0));
    while from.elapsed() < Duration::from_secs(seconds) {
        let mut log = Vec::new();
        for _ in 0..=random.below(6) {
            let seed = &seeds[random.below(seeds.len())];
            let (a, b) = (random.below(seed.len() + 1), random.below(seed.len() + 1));
            let part = &seed[a.min(b)..a.max(b)];
            for _ in 0..=if random.below(40) == 0 { random.below(200) } else { 0 } {
                log.extend_from_slice(part);
            }
        }
        for _ in 0..random.below(32) {
            let at = random.below(log.len() + 1);
            match random.below(5) {
                0 if at < log.len() => log[at] = random.next() as u8,
                1 if at < log.len() => drop(log.remove(at)),
                2 => log.insert(at, b"\n\r\x1b{\"\\\0 9.:"[random.below(11)]),
                3 => drop(log.splice(at..at, b"17179869184.00 GiB -1 99999999999999999999 bytes".iter().copied())),
                _ => log.insert(at, random.next() as u8),
            }
        }
        let start = Instant::now();
        let mut scanner = Scanner::new();
        let mut rest = &log[..];
        while !rest.is_empty() {
            let most = 1 << random.below(20);
            let (now, later) = rest.split_at((1 + random.below(most)).min(rest.len()));
            scanner.push_bytes(now);
            rest = later;
        }
        let found = scanner.finish().explain();
        let text = page(&found, &[], Look { width: Some(80), ascii: false }) + &document(&found, &[]);
        assert!(!text.contains('\u{1b}'), "an escape code came through");
        slowest = slowest.max((start.elapsed(), log.len()));
        runs += 1;
        bytes += log.len() as u64;
    }
    println!(
        "fuzz: {runs} logs, {:.1} MiB in {seconds} s without a panic; slowest {:.3} s for {} KiB; peak memory {:.0} MiB",
        bytes as f64 / f64::from(1 << 20),
        slowest.0.as_secs_f64(),
        slowest.1 >> 10,
        peak()
    );
}

fn main() {
    throughput();
    fuzz();
}
