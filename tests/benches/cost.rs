//! What the dashboard costs: time to the first complete frame, CPU and memory, each beside its limit.
//!
//! The real binary runs in a pseudo terminal of 160x50 on the fake driver library (scenario `eight`: 8 cards, 48
//! processes that all move a little), and in one of 80x24 on scenario `crowd` (512 processes on one card). `cargo bench --bench cost`; `COST_SECONDS` sets how long CPU is measured (60).
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a benchmark prints, fails loudly and reads the clock"
)]

use std::fmt::Write as _;
use std::io::Read;
use std::num::NonZeroU16;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use vramscope::domain::{Gpu, Timestamp};
use vramscope::scenario::{Scenario, World};

const ROWS: u16 = 50;
const COLUMNS: u16 = 160;

/// What a refresh of others costs with 512 processes on one card, in ms of CPU.
const NVTOP: f64 = 5.2;
const NVITOP: f64 = 138.0;

/// Begins every frame: a synchronized update.
const FRAME: &[u8] = b"\x1b[?2026h";

/// A running dashboard and what it writes.
struct Dashboard {
    child: Box<dyn portable_pty::Child + Send + Sync>,
    output: Receiver<Vec<u8>>,
    _master: Box<dyn portable_pty::MasterPty + Send>,
    started: Instant,
}

/// Live processes that stand for those of the scenario, so that the cost of looking at `/proc` is in the figures.
struct StandIns {
    children: Vec<Child>,
    /// For `FAKE_NVML_PIDS`.
    map: String,
}

impl StandIns {
    fn start(scenario: &str) -> Self {
        let world = World::new(&Scenario::load(scenario).unwrap()).unwrap();
        let (mut rows, mut children, mut map) = (Vec::new(), Vec::new(), String::new());
        for gpu in 0..8 {
            rows.clear();
            world.rows(Gpu(gpu), Timestamp::secs(1), &mut rows);
            for row in &rows {
                let child = Command::new("sleep").arg("86400").stdin(Stdio::null()).spawn().unwrap();
                write!(map, "{}={},", row.pid, child.id()).unwrap();
                children.push(child);
            }
        }
        map.pop();
        Self { children, map }
    }
}

impl Drop for StandIns {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn start(library: &std::path::Path, pids: &str, (cols, rows): (u16, u16), arguments: &[&str]) -> Dashboard {
    let pty = native_pty_system();
    let pair = pty.openpty(PtySize { rows, cols, pixel_width: 0, pixel_height: 0 }).unwrap();
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_vramscope"));
    command.env("TERM", "xterm-256color");
    command.env("LANG", "C.UTF-8");
    command.env("FAKE_NVML_PIDS", pids);
    command.arg("--nvml-lib");
    command.arg(library);
    command.args(arguments);
    let mut reader = pair.master.try_clone_reader().unwrap();
    let (tx, output) = channel();
    thread::Builder::new()
        .spawn(move || {
            let mut buffer = vec![0; 65_536];
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
            let bytes = self.output.recv_timeout(Duration::from_secs(5)).expect("output");
            assert!(self.started.elapsed() < Duration::from_secs(20), "no complete frame:\n{}", screen.screen().contents());
            screen.process(&bytes);
            let text = screen.screen().contents();
            let cards = text.matches("H100").count();
            // A value that was not read yet stands as a lone ellipsis; that a process's CPU time needs two readings is no
            // matter of the first frame.
            let rows = text.lines().filter(|line| line.contains("H100"));
            let pending = rows.flat_map(str::split_whitespace).any(|word| word == "…");
            if cards >= 8 && text.contains("sleep 86400") && !pending {
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

    /// Frames that came since the last call, or since the start.
    fn frames(&self) -> usize {
        let mut tail: Vec<u8> = Vec::new();
        let mut count = 0;
        while let Ok(bytes) = self.output.try_recv() {
            tail.extend(bytes);
            count += tail.windows(FRAME.len()).filter(|window| *window == FRAME).count();
            // A beginning that is torn by the end of a read is seen with the next one.
            tail.drain(..tail.len().saturating_sub(FRAME.len() - 1));
        }
        count
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
    let stand_ins = StandIns::start("eight");
    let pids = stand_ins.map.as_str();
    println!("pty {COLUMNS}x{ROWS}, scenario eight ({} processes), {seconds} s", stand_ins.children.len());
    let mut firsts: Vec<f64> = (0..11)
        .map(|_| {
            let dashboard = start(&library, pids, (COLUMNS, ROWS), &[]);
            let first = dashboard.first_complete_frame();
            dashboard.stop();
            first.as_secs_f64() * 1e3
        })
        .collect();
    firsts.sort_by(f64::total_cmp);
    print("first complete frame, median of 11", firsts[5], 50.0, "ms");
    print("first complete frame, slowest of 11", firsts[10], 50.0, "ms");
    for (name, arguments, limit) in [("default cadence", vec![], 1.5), ("--interval 1s", vec!["--interval", "1s"], 0.5)] {
        let dashboard = start(&library, pids, (COLUMNS, ROWS), &arguments);
        dashboard.first_complete_frame();
        let (before, from) = (dashboard.cpu(), Instant::now());
        thread::sleep(Duration::from_secs(seconds));
        let used = dashboard.cpu().saturating_sub(before).as_secs_f64() / from.elapsed().as_secs_f64();
        print(&format!("CPU of one core, {name}"), used * 100.0, limit, "%");
        print(&format!("resident memory, {name}"), dashboard.rss(), 24.0, "MiB");
        dashboard.stop();
    }
    drop(stand_ins);
    crowd(folder.path(), seconds);
}

/// 512 processes on one card, on a small screen: the CPU time of a refresh beside that of others.
fn crowd(folder: &std::path::Path, seconds: u64) {
    let library = fake_nvml::stage(folder, "crowd").unwrap();
    let stand_ins = StandIns::start("crowd");
    let dashboard = start(&library, &stand_ins.map, (80, 24), &["--interval", "1s"]);
    // Names and first lists are read once.
    thread::sleep(Duration::from_secs(5));
    dashboard.frames();
    let (before, from) = (dashboard.cpu(), Instant::now());
    thread::sleep(Duration::from_secs(seconds));
    let used = dashboard.cpu().saturating_sub(before).as_secs_f64();
    let frames = dashboard.frames();
    println!("pty 80x24, scenario crowd ({} processes on one card), --interval 1s, {seconds} s", stand_ins.children.len());
    println!(
        "CPU per second {:.2} ms, {:.1} frames",
        used * 1e3 / from.elapsed().as_secs_f64(),
        frames as f64 / from.elapsed().as_secs_f64()
    );
    let each = used * 1e3 / frames.max(1) as f64;
    print(&format!("CPU per frame of {frames}, beside nvtop's"), each, NVTOP, "ms");
    print(&format!("CPU per frame of {frames}, beside nvitop's"), each, NVITOP, "ms");
    dashboard.stop();
}
