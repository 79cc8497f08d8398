//! The real binary in a pseudo terminal: it starts, follows the size, and leaves the terminal as it was, however it ends.
//!
//! Every wait is for a text or an end, with a deadline that only a failure reaches. No test asserts a time.

use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::scenario::staged;

/// Only a failure waits this long.
const DEADLINE: Duration = Duration::from_mins(1);

/// What came out of the terminal so far.
pub struct Output {
    pub parser: vt100::Parser,
    /// The bytes themselves.
    pub raw: Vec<u8>,
    closed: bool,
}

/// A program in a terminal.
pub struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    master: Box<dyn MasterPty + Send>,
    keys: Box<dyn Write + Send>,
    output: Arc<(Mutex<Output>, Condvar)>,
    before: String,
}

fn size(cols: u16, rows: u16) -> PtySize {
    PtySize { rows, cols, pixel_width: 0, pixel_height: 0 }
}

/// The binary with these arguments, in an environment of its own.
pub fn vramscope(args: &[&str]) -> CommandBuilder {
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_vramscope"));
    command.args(args);
    surroundings(&mut command);
    command
}

pub fn surroundings(command: &mut CommandBuilder) {
    command.env_clear();
    command.cwd(env!("CARGO_MANIFEST_DIR"));
    for (name, value) in [("TERM", "xterm-256color"), ("LANG", "C.UTF-8"), ("PATH", "/usr/bin:/bin"), ("HOME", "/nonexistent")] {
        command.env(name, value);
    }
}

impl Terminal {
    pub fn start(command: CommandBuilder, cols: u16, rows: u16) -> Self {
        let pair = native_pty_system().openpty(size(cols, rows)).unwrap();
        let before = modes(&*pair.master);
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let parser = vt100::Parser::default();
        let output = Arc::new((Mutex::new(Output { parser, raw: Vec::new(), closed: false }), Condvar::new()));
        let mut reader = pair.master.try_clone_reader().unwrap();
        let shared = Arc::clone(&output);
        let read = move || {
            let mut buffer = [0; 8192];
            loop {
                let count = reader.read(&mut buffer).unwrap_or(0);
                let mut output = shared.0.lock().unwrap();
                output.parser.process(&buffer[..count]);
                output.raw.extend_from_slice(&buffer[..count]);
                output.closed = count == 0;
                shared.1.notify_all();
                if count == 0 {
                    return;
                }
            }
        };
        thread::Builder::new().name("pty reader".to_owned()).spawn(read).unwrap();
        let keys = pair.master.take_writer().unwrap();
        let terminal = Self { child, master: pair.master, keys, output, before };
        terminal.resize_screen(cols, rows);
        terminal
    }

    fn resize_screen(&self, cols: u16, rows: u16) {
        let mut output = self.output.0.lock().unwrap();
        output.parser.screen_mut().set_size(rows.try_into().unwrap(), cols.try_into().unwrap());
    }

    fn resize(&self, cols: u16, rows: u16) {
        self.resize_screen(cols, rows);
        self.master.resize(size(cols, rows)).unwrap();
    }

    pub fn send(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// Waits until the output fits.
    pub fn wait(&self, what: &str, fits: impl Fn(&Output) -> bool) {
        let guard = self.output.0.lock().unwrap();
        let (output, timeout) =
            self.output.1.wait_timeout_while(guard, DEADLINE, |output| !fits(output) && !output.closed).unwrap();
        let good = fits(&output);
        assert!(
            good,
            "waited for {what}, {}; the screen is\n{}",
            if timeout.timed_out() { "in vain" } else { "but it ended" },
            output.parser.screen().contents()
        );
    }

    /// Waits until the screen shows a text.
    pub fn wait_for(&self, text: &str) {
        self.wait(text, |output| output.parser.screen().contents().contains(text));
    }

    /// Waits until the dashboard stands.
    pub fn wait_for_dashboard(&self) {
        self.wait("the dashboard", |output| {
            let screen = output.parser.screen();
            screen.alternate_screen() && screen.hide_cursor() && screen.contents().contains("SIMULATED")
        });
    }

    fn signal(&self, signal: Signal) {
        let pid = self.child.process_id().and_then(|pid| Pid::from_raw(pid as i32)).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Waits for the end and gives the exit code, having seen that the terminal is as before.
    pub fn end(mut self) -> (u32, String) {
        self.wait("the end of the output", |output| output.closed);
        let status = self.child.wait().unwrap();
        let output = self.output.0.lock().unwrap();
        let screen = output.parser.screen();
        assert!(!screen.alternate_screen(), "the alternate screen was not left");
        assert!(!screen.hide_cursor(), "the cursor is hidden");
        assert!(screen.mouse_protocol_mode() == vt100::MouseProtocolMode::None, "the mouse is still taken");
        assert!(!screen.bracketed_paste(), "pastes are still bracketed");
        assert_eq!(modes(&*self.master), self.before, "the modes of the terminal are not as before");
        (status.exit_code(), screen.contents())
    }
}

/// The modes of a terminal, as text.
fn modes(master: &dyn MasterPty) -> String {
    format!("{:?}", master.get_termios().expect("a terminal has modes"))
}

#[test]
fn q_leaves_and_restores() {
    let mut terminal = Terminal::start(vramscope(&["demo"]), 120, 40);
    terminal.wait_for_dashboard();
    terminal.send("q");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn ctrl_c_leaves_and_restores() {
    let mut terminal = Terminal::start(vramscope(&["demo"]), 80, 24);
    terminal.wait_for_dashboard();
    terminal.send("\x03");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn ctrl_c_leaves_after_keys_that_never_end() {
    // Alt-[ and ?, the beginning of a mouse report, and a paste whose end was lost.
    for torn in ["\x1b[?", "\x1b[<", "\x1b[200~", "\x1b[<0;0;0M"] {
        let mut terminal = Terminal::start(vramscope(&["demo"]), 80, 24);
        terminal.wait_for_dashboard();
        terminal.send(torn);
        terminal.send("\x03");
        assert_eq!(terminal.end().0, 0, "{torn:?}");
    }
}

#[test]
fn signals_leave_and_restore() {
    for signal in [Signal::TERM, Signal::HUP, Signal::QUIT] {
        let terminal = Terminal::start(vramscope(&["demo"]), 80, 24);
        terminal.wait_for_dashboard();
        terminal.signal(signal);
        terminal.end();
    }
}

#[test]
fn a_terminal_that_goes_away_ends_the_dashboard() {
    // The reader is asked as long as the terminal is there, so it stands in this thread and goes with it.
    let pair = native_pty_system().openpty(size(80, 24)).unwrap();
    let mut child = pair.slave.spawn_command(vramscope(&["demo"])).unwrap();
    drop(pair.slave);
    let mut reader = pair.master.try_clone_reader().unwrap();
    let mut parser = vt100::Parser::default();
    let mut buffer = [0; 8192];
    while !parser.screen().contents().contains("SIMULATED") {
        let count = reader.read(&mut buffer).unwrap();
        assert!(count > 0, "it ended");
        parser.process(&buffer[..count]);
    }
    drop(reader);
    drop(pair.master);
    let mut killer = child.clone_killer();
    let (ended, wait) = std::sync::mpsc::channel();
    let watch = move || {
        let _ = child.wait();
        let _ = ended.send(());
    };
    thread::Builder::new().name("end".to_owned()).spawn(watch).unwrap();
    if wait.recv_timeout(DEADLINE).is_err() {
        killer.kill().unwrap();
        panic!("it lives on without a terminal");
    }
}

#[test]
fn a_new_size_is_filled() {
    let mut terminal = Terminal::start(vramscope(&["demo"]), 80, 24);
    terminal.wait_for_dashboard();
    for (cols, rows) in [(160, 50), (40, 12), (100, 30)] {
        terminal.resize(cols, rows);
        terminal.wait("a frame of the new size", |output| {
            let screen = output.parser.screen();
            let last = screen.rows(0, cols).last().unwrap_or_default();
            screen.contents().contains("SIM") && (!last.trim().is_empty() || rows < 24)
        });
    }
    terminal.send("q");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn ctrl_z_gives_the_terminal_to_the_shell_and_fg_takes_it_back() {
    if !Path::new("/bin/bash").exists() {
        eprintln!("skipped: no bash to have job control with");
        return;
    }
    let mut shell = CommandBuilder::new("/bin/bash");
    shell.args(["--norc", "--noprofile", "--noediting", "-i"]);
    surroundings(&mut shell);
    shell.env("PS1", "shell> ");
    let mut terminal = Terminal::start(shell, 100, 30);
    terminal.wait_for("shell> ");
    terminal.send(&format!("'{}' demo\n", env!("CARGO_BIN_EXE_vramscope")));
    terminal.wait_for_dashboard();
    terminal.send("\x1a");
    terminal.wait("the shell", |output| {
        let screen = output.parser.screen();
        !screen.alternate_screen() && screen.contents().contains("Stopped") && !screen.hide_cursor()
    });
    terminal.send("fg\n");
    terminal.wait_for_dashboard();
    terminal.send("q");
    terminal.wait("the shell again", |output| !output.parser.screen().alternate_screen());
    terminal.send("echo code $?; exit\n");
    terminal.wait_for("code 0");
    terminal.end();
}

#[test]
fn an_error_before_the_first_frame_is_plain_text() {
    let terminal = Terminal::start(vramscope(&["--nvml-lib", "/nonexistent/libnvidia-ml.so.1"]), 100, 30);
    terminal.wait_for("vramscope demo");
    let (code, screen) = terminal.end();
    assert_eq!(code, 3, "{screen}");
}

/// Three cards; the memory call of the second never returns.
const HANGING_CARD: &str = "
[[device]]
name = 'card'
total = '8GiB'
copies = 3

[[fault]]
call = 'nvmlDeviceGetMemoryInfo_v2'
device = 1
hang = true
";

#[test]
fn a_driver_that_hangs_is_told_and_keeps_nobody() {
    for scenario in [HANGING_CARD, "hang-init"] {
        let folder = tempfile::tempdir().unwrap();
        let library = staged(folder.path(), scenario);
        let mut terminal = Terminal::start(vramscope(&["--nvml-lib", library.to_str().unwrap()]), 120, 40);
        terminal.wait_for("answer");
        terminal.send("q");
        assert_eq!(terminal.end().0, 0);
    }
}

/// A driver that takes its time to say that it does not work.
const LATE_FAILURE: &str = "
[[device]]
name = 'card'
total = '8GiB'

[[fault]]
call = 'nvmlDeviceGetCount_v2'
latency = '1s'
error = 'driver_not_loaded'
";

#[test]
fn a_late_error_leaves_the_screen_and_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let library = staged(folder.path(), LATE_FAILURE);
    let terminal = Terminal::start(vramscope(&["--nvml-lib", library.to_str().unwrap()]), 120, 40);
    terminal.wait("the screen", |output| output.parser.screen().alternate_screen());
    terminal.wait_for("vramscope demo");
    let (code, screen) = terminal.end();
    assert_eq!(code, 3, "{screen}");
}

#[cfg(debug_assertions)]
mod panics {
    //! Panics on purpose, by a hook that release builds do not have.

    use super::{Terminal, vramscope};

    #[test]
    fn a_panic_of_the_screen_restores_and_is_told() {
        let mut command = vramscope(&["demo"]);
        command.env("VRAMSCOPE_TEST_PANIC", "screen");
        let terminal = Terminal::start(command, 100, 30);
        let (code, screen) = terminal.end();
        assert_ne!(code, 0);
        assert!(screen.contains("panicked") && screen.contains("on purpose"), "{screen}");
    }

    #[test]
    fn a_panic_of_a_worker_is_shown_and_nothing_else_happens() {
        let mut command = vramscope(&["demo"]);
        command.env("VRAMSCOPE_TEST_PANIC", "worker");
        let mut terminal = Terminal::start(command, 120, 40);
        terminal.wait_for_dashboard();
        terminal.wait_for("panicked");
        terminal.send("q");
        assert_eq!(terminal.end().0, 0);
    }
}
