//! What the dashboard costs: time to the first complete frame, CPU and memory, each beside its limit.
//!
//! The real binary runs in a pseudo terminal of 160x50 on the fake driver library (scenario `eight`: 8 cards, 48
//! processes that all move a little). `cargo bench --bench cost`; `COST_SECONDS` sets how long CPU is measured (60).
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a benchmark prints, fails loudly and reads the clock"
)]

use std::io::Read;
use std::num::NonZeroU16;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use portable_pty::{CommandBuilder, PtySize, native_pty_system};

const ROWS: u16 = 50;
const COLUMNS: u16 = 160;

/// A running dashboard and what it writes.
struct Dashboard {
    child: Box<dyn portable_pty::Child + Send + Sync>,
    output: Receiver<Vec<u8>>,
    _master: Box<dyn portable_pty::MasterPty + Send>,
    started: Instant,
}

fn start(library: &std::path::Path, arguments: &[&str]) -> Dashboard {
    let pty = native_pty_system();
    let pair = pty.openpty(PtySize { rows: ROWS, cols: COLUMNS, pixel_width: 0, pixel_height: 0 }).unwrap();
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_vramscope"));
    command.env("TERM", "xterm-256color");
    command.env("LANG", "C.UTF-8");
    command.arg("--nvml-lib");
    command.arg(library);
    command.args(arguments);
    let mut reader = pair.master.try_clone_reader().unwrap();
    let (tx, output) = channel();
    thread::Builder::new()
        .spawn(move || {
            let mut buffer = [0; 65_536];
            while let Ok(n) = reader.read(&mut buffer) {
                if n == 0 || tx.send(buffer[..n].to_vec()).is_err() {
                    return;
                }
            }
        })
        .unwrap();
    let started = Instant::now();
    let child = pair.slave.spawn_command(command).unwrap();
    Dashboard { child, output, _master: pair.master, started }
}

impl Dashboard {
    /// Reads until all cards and their processes are on the screen.
    fn first_complete_frame(&self) -> Duration {
        let mut screen = vt100::Parser::new(NonZeroU16::new(ROWS).unwrap(), NonZeroU16::new(COLUMNS).unwrap(), 0);
        loop {
            let bytes = self.output.recv_timeout(Duration::from_secs(20)).expect("a frame within 20 s");
            screen.process(&bytes);
            let text = screen.screen().contents();
            let cards = text.matches("H100").count();
            if cards >= 8 && text.contains("python") && !text.contains('…') {
                return self.started.elapsed();
            }
        }
    }

    /// CPU time of all threads so far, user and system.
    fn cpu(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.process_id().unwrap())).unwrap();
        let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
        let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
        Duration::from_millis(ticks * 1_000 / rustix::param::clock_ticks_per_second())
    }

    /// Resident memory in MiB.
    fn rss(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.process_id().unwrap())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
    }

    fn stop(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One figure beside its limit.
fn print(what: &str, figure: f64, limit: f64, unit: &str) {
    println!("{what:<44} {figure:>8.2} {unit:<3} limit {limit:>6.2}   {:>5.2} of it", figure / limit);
}

fn main() {
    let seconds: u64 = std::env::var("COST_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(60);
    let folder = tempfile::tempdir().unwrap();
    let library = fake_nvml::stage(folder.path(), "eight").unwrap();
    println!("pty {COLUMNS}x{ROWS}, scenario eight, {seconds} s");
    let mut firsts: Vec<f64> = (0..11)
        .map(|_| {
            let dashboard = start(&library, &[]);
            let first = dashboard.first_complete_frame();
            dashboard.stop();
            first.as_secs_f64() * 1e3
        })
        .collect();
    firsts.sort_by(f64::total_cmp);
    print("first complete frame, median of 11", firsts[5], 50.0, "ms");
    print("first complete frame, slowest of 11", firsts[10], 50.0, "ms");
    for (name, arguments, limit) in [("default cadence", vec![], 1.5), ("--interval 1s", vec!["--interval", "1s"], 0.5)] {
        let dashboard = start(&library, &arguments);
        dashboard.first_complete_frame();
        let (before, from) = (dashboard.cpu(), Instant::now());
        thread::sleep(Duration::from_secs(seconds));
        let used = (dashboard.cpu() - before).as_secs_f64() / from.elapsed().as_secs_f64();
        print(&format!("CPU of one core, {name}"), used * 100.0, limit, "%");
        print(&format!("resident memory, {name}"), dashboard.rss(), 24.0, "MiB");
        dashboard.stop();
    }
}
