//! Signals: what is meant stays what is meant, nobody else is hit, and every answer is on the screen.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use portable_pty::CommandBuilder;
use rustix::process::getuid;
use vramscope::domain::{
    Gpu, Job, Monitor, Pid, ProcessKey, Refusal, Relation, SampleBody, Sent, Signal, Snapshot, Timestamp, Wall,
};
use vramscope::sampler::channel;
use vramscope::scenario::{Scenario, Stream, StreamOptions};
use vramscope::source::Source;
use vramscope::source::demo::DemoSource;
use vramscope::tui::{DashboardOptions, Effect, Msg};

use crate::support::frames::Screen;
use crate::support::scenario::{staged, world};
use crate::terminal::{Terminal, surroundings, vramscope};

/// Only a failure waits this long.
const DEADLINE: Duration = Duration::from_mins(1);

/// Keys as a terminal sends them.
const DOWN: &str = "\x1b[B";
const ENTER: &str = "\r";

/// One card, on which these processes hold memory: pid, whose, GiB. Where one can't be seen none can.
fn card(holders: &[(u32, &str, u32)]) -> String {
    let foreign_pids = holders.iter().any(|(_, relation, _)| *relation == "unknown");
    let mut text = format!("[node]\nuid = 1000\nforeign_pids = {foreign_pids}\n[[device]]\nname = 'card'\ntotal = '80GiB'\n");
    for (pid, relation, size) in holders {
        let (uid, command, kind) = match *relation {
            "mine" => (1000, format!("python train-{pid}.py"), "C"),
            "system" => (0, "/usr/lib/xorg/Xorg vt2".to_owned(), "G"),
            _ => (1000 + pid, format!("python train-{pid}.py"), "C"),
        };
        let phases = format!("{{ context = {{ size = '{size}GiB', in = '0s' }} }}, {{ plateau = {{ until = '10h' }} }}");
        let process = [
            "[[process]]".to_owned(),
            format!("pid = {pid}\ncommand = '{command}'\nkind = '{kind}'\nuser = 'user-{pid}'\nuid = {uid}"),
            format!("on = [{{ phases = [{phases}] }}]\n"),
        ];
        text += &process.join("\n");
    }
    text
}

fn screen(scenario: &str, size: (u16, u16)) -> Screen {
    let mut screen = Screen::new(scenario, size, DashboardOptions::default());
    screen.run_to(5);
    screen
}

/// Presses a key and answers what it asks for: every process can be held, and takes the signal.
fn press(screen: &mut Screen, key: &str) -> Option<Effect> {
    let effect = screen.press(key);
    match &effect {
        Some(Effect::Hold(keys)) => screen.app.update(Msg::Held(vec![Ok(()); keys.len()])),
        Some(Effect::Signal(signal)) => screen.app.update(Msg::Signalled(*signal, vec![Ok(Sent::Delivered)])),
        _ => None,
    };
    effect
}

fn has(screen: &mut Screen, words: &[&str]) {
    let text = screen.text();
    for word in words {
        assert!(text.contains(word), "no {word:?} in\n{text}");
    }
}

#[test]
fn the_question_names_its_target_and_no_is_the_default() {
    let mut screen = screen("default", (120, 40));
    screen.run_to(120);
    assert_eq!(press(&mut screen, "K"), None, "no process is selected");
    has(&mut screen, &["No process is selected"]);
    screen.press("home down tab");
    let held = press(&mut screen, "K");
    let Some(Effect::Hold(keys)) = &held else { panic!("{held:?}") };
    let [ProcessKey { pid, start: Some(_) }] = keys.as_slice() else { panic!("{keys:?}") };
    let (pid, of) = (*pid, format!("({pid}) of "));
    has(&mut screen, &["Which signal?", &of, "started ", "runs for", " GiB on GPU 1", "TERM", "KILL"]);
    // The processes move on, and end: the target stays.
    screen.run_to(300);
    for key in ["down", "down", "enter"] {
        assert_eq!(press(&mut screen, key), None, "{key}");
    }
    has(&mut screen, &["Send KILL?", &of, "started ", "No, go back", "Yes, send KILL"]);
    assert_eq!(press(&mut screen, "enter"), None, "No is the default");
    has(&mut screen, &["Which signal?"]);
    for key in ["enter", "down"] {
        assert_eq!(press(&mut screen, key), None, "{key}");
    }
    assert_eq!(press(&mut screen, "enter"), Some(Effect::Signal(Signal::Kill)));
    has(&mut screen, &[&format!("({pid}): sent")]);
    assert_eq!(press(&mut screen, "enter"), Some(Effect::Hold(Vec::new())), "what was held is let go");
    assert!(!screen.text().contains("sent"), "{}", screen.text());
}

#[test]
fn escape_goes_back_and_keys_of_the_dashboard_do_nothing_in_the_menu() {
    let mut screen = screen("default", (120, 40));
    screen.press("home tab");
    press(&mut screen, "f9");
    for key in ["s", "f", "r", "a", "K", "tab", "T", "enter"] {
        assert_eq!(press(&mut screen, key), None, "{key}");
    }
    has(&mut screen, &["Send TERM?"]);
    press(&mut screen, "esc");
    has(&mut screen, &["Which signal?"]);
    assert_eq!(press(&mut screen, "esc"), Some(Effect::Hold(Vec::new())));
    assert!(!screen.text().contains("signal?"));
    press(&mut screen, "K");
    assert_eq!(press(&mut screen, "q"), Some(Effect::Quit), "q leaves where nothing is typed");
}

#[test]
fn a_process_of_the_system_needs_a_word() {
    let mut screen = screen(&card(&[(7001, "system", 4)]), (80, 24));
    screen.press("tab");
    press(&mut screen, "K");
    press(&mut screen, "enter");
    has(&mut screen, &["A process of the system", "Type the word system to send TERM: _"]);
    assert_eq!(press(&mut screen, "down"), None);
    for letter in ["s", "q", "s"] {
        assert_eq!(press(&mut screen, letter), None, "letters are typed: {letter}");
    }
    assert_eq!(press(&mut screen, "enter"), None);
    has(&mut screen, &["send TERM: sqs_", "Not sent"]);
    for key in ["backspace", "backspace", "y", "s", "t", "e", "m"] {
        assert_eq!(press(&mut screen, key), None, "{key}");
    }
    assert_eq!(press(&mut screen, "enter"), Some(Effect::Signal(Signal::Term)));
    has(&mut screen, &["(7001): sent"]);
}

#[test]
fn what_cannot_be_seen_is_never_held() {
    let mut screen = screen(&card(&[(7001, "unknown", 4)]), (100, 30));
    screen.press("tab");
    assert_eq!(press(&mut screen, "K"), Some(Effect::Hold(Vec::new())));
    has(&mut screen, &["It can't be signalled", "(7001): its pid may mean another process here"]);
    assert_eq!(press(&mut screen, "down"), None);
    assert_eq!(press(&mut screen, "enter"), Some(Effect::Hold(Vec::new())), "there is nothing to confirm");
}

/// A dashboard on which the holders of a card are the workers of a launcher that holds nothing itself.
fn job(holders: &[(u32, &str, u32)], launcher: &str) -> Screen {
    let scenario = card(holders);
    let mut screen = screen(&scenario, (120, 40));
    let leader = ProcessKey { pid: Pid(6_000), start: Some(77) };
    let command = Ok("torchrun --nproc-per-node 2 train.py".into());
    let job = Arc::new(Job { leader, launcher: launcher.into(), command });
    let mut monitor = Monitor::new();
    let stream = Stream::new(world(&scenario), StreamOptions::default());
    for mut sample in stream.take_while(|sample| sample.t <= Timestamp::secs(6)) {
        if let SampleBody::Process(process) = &mut sample.body {
            let process = Arc::make_mut(process);
            process.job = Some(Arc::clone(&job));
            if process.key.pid == Pid(7_003) {
                process.relation = Relation::Unknown;
            }
        }
        monitor.ingest(&sample);
    }
    screen.app.update(Msg::Snapshot(Arc::new(monitor.snapshot())));
    screen
}

#[test]
fn a_job_is_signalled_as_a_whole_with_its_head() {
    let workers = [(7001, "mine", 4), (7002, "mine", 8), (7003, "mine", 1)];
    let mut screen = job(&workers, "torchrun");
    screen.press("tab home");
    let held = press(&mut screen, "K");
    let Some(Effect::Hold(keys)) = held else { panic!("{held:?}\n{}", screen.text()) };
    let pids: Vec<u32> = keys.iter().map(|key| key.pid.0).collect();
    assert_eq!(pids, [6_000, 7_001, 7_002], "the unknown one is not even held");
    has(
        &mut screen,
        &[
            "3 processes of user-7001, user-7002: 12.0 GiB on GPU 0",
            "6000  train.py: holds no memory itself",
            "7001  user-7001",
            "7003  train-7003.py: its pid may mean",
        ],
    );
    for key in ["enter", "down"] {
        press(&mut screen, key);
    }
    assert_eq!(screen.press("enter"), Some(Effect::Signal(Signal::Term)));
    let answers = vec![Ok(Sent::Delivered), Err(Refusal::Denied), Ok(Sent::Delivered)];
    screen.app.update(Msg::Signalled(Signal::Term, answers));
    has(
        &mut screen,
        &[
            "TERM to 2 of 4",
            "(6000): sent",
            "train-7001.py (7001): not permitted: process of user-7001",
            "train-7002.py (7002): sent",
            "train-7003.py (7003): its pid may mean another process here",
        ],
    );
    // The head of a tree that is only watched may be the user's own shell.
    let mut screen = job(&workers[..2], "tree");
    screen.press("tab home");
    let Some(Effect::Hold(keys)) = press(&mut screen, "K") else { panic!("{}", screen.text()) };
    assert_eq!(keys.len(), 2);
}

#[test]
fn tagged_processes_are_signalled_together() {
    let holders = [(7001, "foreign", 4), (7002, "foreign", 8), (7003, "foreign", 1)];
    let mut screen = screen(&card(&holders), (80, 24));
    screen.press("tab home space space");
    let Some(Effect::Hold(keys)) = press(&mut screen, "K") else { panic!("{}", screen.text()) };
    assert_eq!(keys.iter().map(|key| key.pid.0).collect::<Vec<_>>(), [7_001, 7_002]);
    has(&mut screen, &["2 processes of user-7001, user-7002: 12.0 GiB on GPU 0"]);
}

#[test]
fn more_processes_than_anybody_can_read_are_refused() {
    let holders: Vec<(u32, &str, u32)> = (0..300).map(|n| (7_000 + n, "foreign", 0)).collect();
    let scenario = card(&holders).replace("'0GiB'", "'10MiB'");
    let mut screen = screen(&scenario, (120, 24));
    screen.press("tab home");
    for _ in 0..300 {
        screen.press("space");
    }
    assert_eq!(press(&mut screen, "K"), None);
    has(&mut screen, &["300 processes are too many: at most 256 at once."]);
}

#[test]
fn refusals_are_told_in_words() {
    for (refusal, words) in [
        (Refusal::Ended, "(7001): it has already ended"),
        (Refusal::Reused, "(7001): it has ended, and its pid is another process now"),
        (Refusal::Denied, "(7001): not permitted: process of user-7001"),
        (Refusal::NoPidfd, "Linux 5.3"),
        (Refusal::Init, "process 1"),
    ] {
        let mut screen = screen(&card(&[(7001, "foreign", 4)]), (120, 24));
        screen.press("tab K");
        screen.app.update(Msg::Held(vec![Err(refusal)]));
        has(&mut screen, &[words]);
    }
}

#[test]
fn the_menu_fits_the_smallest_screen_and_ascii() {
    let options = DashboardOptions { ascii: true, ..DashboardOptions::default() };
    let open = |size| {
        let mut screen = Screen::new(&card(&[(7001, "foreign", 4)]), size, options.clone());
        screen.run_to(5);
        screen.press("tab home");
        press(&mut screen, "K");
        screen
    };
    for size in [(60, 16), (80, 24)] {
        let mut screen = open(size);
        has(&mut screen, &["train-7001.py (7001) of user-7001", "holds 4.00 GiB on GPU 0", "TERM", "CONT"]);
        press(&mut screen, "enter");
        has(&mut screen, &["No, go back", "Yes, send TERM"]);
        assert!(screen.text().is_ascii());
    }
    // Where the question can't be seen it can't be answered.
    let mut screen = open((80, 24));
    press(&mut screen, "enter");
    screen.resize(80, 3);
    for key in ["down", "enter"] {
        assert_eq!(press(&mut screen, key), None);
    }
    screen.resize(80, 24);
    has(&mut screen, &["Send TERM?", "Not sent: the screen is too small"]);
}

#[test]
fn a_read_only_dashboard_has_no_menu_and_its_help_says_so() {
    let options = DashboardOptions { read_only: Some("--read-only".to_owned()), ..DashboardOptions::default() };
    let mut screen = Screen::new("default", (120, 60), options);
    screen.run_to(120);
    screen.press("home tab");
    for key in ["K", "f9"] {
        assert_eq!(press(&mut screen, key), None);
        has(&mut screen, &["Signals are off: --read-only."]);
        assert!(!screen.text().contains("Which signal?"));
    }
    screen.press("?");
    has(&mut screen, &["Off: this dashboard is read-only"]);
}

#[test]
fn a_killed_process_of_a_story_frees_what_it_held_and_nothing_else_changes() {
    for name in ["default", "eight", "mig", "unified", "crowd"] {
        let (before, mut after) = (world(name), (*world(name)).clone());
        let t = Timestamp::secs(100);
        let mut rows = Vec::new();
        before.rows(Gpu(0), t, &mut rows);
        let victim = rows.first().expect("somebody holds memory").pid;
        let key = before.process(victim, t, Wall::default()).expect("it is known").key;
        let other = ProcessKey { start: key.start.map(|start| start + 1), ..key };
        assert!(!after.kill(other, t), "{name}: another process of that pid");
        assert!(after.kill(key, t) && !after.kill(key, t), "{name}: it is gone after the first time");
        for place in before.places() {
            for ms in (90_000..110_000).step_by(500) {
                let t = Timestamp::millis(ms);
                let list = |world: &vramscope::scenario::World| {
                    let mut rows = Vec::new();
                    world.rows(place.device.gpu, t, &mut rows);
                    rows
                };
                let gone = |pid: Pid| ms >= 100_000 && pid == victim;
                let (old, new) = (list(&before), list(&after));
                let freed: u64 = old.iter().filter(|row| gone(row.pid)).map(|row| row.used.0).sum();
                let kept: Vec<_> = old.into_iter().filter(|row| !gone(row.pid)).collect();
                assert_eq!(kept, new, "{name} at {ms}");
                let used = |world: &vramscope::scenario::World| world.used(place.device.gpu, t).0;
                assert_eq!(used(&before) - freed, used(&after), "{name} at {ms}");
            }
        }
        assert!(after.host(t).available >= before.host(t).available);
    }
}

#[test]
fn a_story_told_anew_has_its_processes_again() {
    let world = world("default");
    let span = world.repeats().expect("it repeats");
    let t = Timestamp::secs(100);
    let mut killed = (*world).clone();
    let mut rows = Vec::new();
    world.rows(Gpu(1), t, &mut rows);
    let victims: Vec<ProcessKey> =
        rows.iter().map(|row| world.process(row.pid, t, Wall::default()).expect("known").key).collect();
    assert!(victims.iter().all(|key| killed.kill(*key, t)));
    let mut rows = Vec::new();
    killed.rows(Gpu(1), t, &mut rows);
    assert!(rows.is_empty());
    let (mut again, mut expected) = (Vec::new(), Vec::new());
    killed.rows(Gpu(1), t + span, &mut again);
    world.rows(Gpu(1), t + span, &mut expected);
    expected.retain(|row| !victims.iter().any(|key| key.pid == row.pid));
    assert_eq!(again, expected, "those that are new in each round live, those of all rounds stay dead");
}

/// The identity of every device, to the byte.
fn assert_sums(snapshot: &Snapshot) {
    for view in &snapshot.devices {
        if let Some(balance) = view.accounts() {
            let (used, unattributed) = (balance.used.unwrap().0, balance.unattributed.unwrap().0);
            assert_eq!(used + balance.excess.unwrap().0, balance.attributed.0 + unattributed);
        }
    }
}

#[test]
fn a_signal_in_the_demo_ends_the_process_of_the_story() {
    let scenario = Scenario::parse("text", &card(&[(7001, "mine", 4), (7002, "foreign", 8)])).unwrap();
    let source = DemoSource::new(&scenario, 10.0, StreamOptions::default()).unwrap();
    let (samples, received) = channel(100_000);
    let mut handle = Box::new(source).start(samples);
    let mut monitor = Monitor::new();
    let mut exits = Vec::new();
    // Until a complete list has so many holders, and so many processes have ended.
    let mut until = |holders: usize, ended: usize| {
        loop {
            let sample = received.queue.recv_timeout(DEADLINE).expect("the story goes on");
            monitor.ingest(&sample);
            if let SampleBody::Exit { pid, status } = sample.body {
                exits.push((pid, status));
            }
            let snapshot = monitor.snapshot();
            if let Some(view) = snapshot.devices.first().filter(|view| view.accounts().is_some()) {
                assert_sums(&snapshot);
                let balanced = view.balance.is_some_and(|balance| view.holders_at.is_some_and(|list| list <= balance.t));
                if balanced && view.holders.as_ref().is_ok_and(|list| list.len() == holders) && exits.len() == ended {
                    return (snapshot, exits.clone());
                }
            }
        }
    };
    let (snapshot, _) = until(2, 0);
    let keys: Vec<ProcessKey> = snapshot.devices[0].holders.as_ref().unwrap().iter().map(|holder| holder.key).collect();
    assert_eq!(keys[0].pid, Pid(7002), "the largest first");
    let used = snapshot.devices[0].used().unwrap();
    let stranger = ProcessKey { pid: Pid(std::process::id()), start: Some(1) };
    assert_eq!(handle.signaller.hold(&[keys[0], stranger]), [Ok(()), Err(Refusal::Ended)]);
    assert_eq!(handle.signaller.signal(Signal::Stop), [Ok(Sent::SimulatedNothing), Err(Refusal::Ended)]);
    assert_eq!(handle.signaller.signal(Signal::Term), [Ok(Sent::SimulatedEnd), Err(Refusal::Ended)]);
    assert_eq!(handle.signaller.signal(Signal::Kill), [Err(Refusal::Ended), Err(Refusal::Ended)]);
    let (snapshot, _) = until(1, 1);
    assert_eq!(snapshot.devices[0].used().unwrap().0, used.0 - (8 << 30), "to the byte");
    assert_eq!(snapshot.devices[0].holders.as_ref().unwrap()[0].relation(), Relation::Mine);
    assert_eq!(handle.signaller.hold(&[keys[0], keys[1]]), [Err(Refusal::Ended), Ok(())]);
    handle.signaller.signal(Signal::Kill);
    let (_, exits) = until(0, 2);
    assert_eq!(exits, [(Pid(7002), None), (Pid(7001), None)]);
    handle.stop.store(true, Ordering::Relaxed);
}

/// A process of this test that waits to be signalled; it does not outlive the test.
struct Victim(Child);

impl Victim {
    fn new() -> Self {
        Self(Command::new("sleep").arg("1000").spawn().unwrap())
    }

    fn lives(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }

    /// Ends it and takes its status, so that its pid is free.
    fn end(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A driver that says of a living process that it holds memory.
fn driver(folder: &Path, pid: u32) -> String {
    staged(folder, &card(&[(pid, "mine", 4)])).to_str().unwrap().to_owned()
}

/// The dashboard, with the only process selected and the question whether to send TERM on the screen.
fn asked(command: CommandBuilder, pid: u32) -> Terminal {
    let mut terminal = Terminal::start(command, 120, 40);
    terminal.wait_for(&format!("{pid} "));
    terminal.send("\t");
    terminal.wait_for(&format!("({pid})"));
    terminal.send("K");
    terminal.wait_for("Which signal?");
    terminal.send(ENTER);
    terminal.wait_for("Send TERM?");
    terminal
}

fn leave(mut terminal: Terminal) {
    terminal.send("q");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn a_live_process_gets_the_signal() {
    let (folder, mut victim) = (tempfile::tempdir().unwrap(), Victim::new());
    let pid = victim.0.id();
    let library = driver(folder.path(), pid);
    let mut terminal = asked(vramscope(&["--nvml-lib", &library]), pid);
    terminal.send(ENTER);
    terminal.wait_for("Which signal?");
    assert!(victim.lives(), "No was the default");
    terminal.send(ENTER);
    terminal.wait_for("Send TERM?");
    terminal.send(DOWN);
    terminal.send(ENTER);
    terminal.wait_for(&format!("({pid}): sent"));
    assert_eq!(victim.0.wait().unwrap().signal(), Some(15));
    leave(terminal);
}

/// A new process with a pid that was used before; none where the system does not let a test choose.
fn reuse(pid: u32) -> Option<Victim> {
    for _ in 0..200 {
        // Others may take it in between.
        fs::write("/proc/sys/kernel/ns_last_pid", (pid - 1).to_string()).ok()?;
        let other = Victim::new();
        if other.0.id() == pid {
            return Some(other);
        }
    }
    None
}

#[test]
fn a_pid_that_was_given_to_another_process_is_not_hit() {
    let (folder, mut victim) = (tempfile::tempdir().unwrap(), Victim::new());
    let pid = victim.0.id();
    let library = driver(folder.path(), pid);
    let mut terminal = asked(vramscope(&["--nvml-lib", &library]), pid);
    victim.end();
    let mut other = reuse(pid);
    terminal.send(DOWN);
    terminal.send(ENTER);
    terminal.wait_for(&format!("({pid}): it has already ended"));
    match &mut other {
        Some(other) => assert!(other.lives(), "the newcomer was hit"),
        None => eprintln!("no newcomer got the pid: this user may not choose pids here"),
    }
    leave(terminal);
}

#[test]
fn no_menu_opens_where_signals_are_off() {
    let (folder, mut victim) = (tempfile::tempdir().unwrap(), Victim::new());
    let pid = victim.0.id();
    let library = driver(folder.path(), pid);
    let config = folder.path().join("config.toml");
    fs::write(&config, "read-only = true\n").unwrap();
    let config = config.to_str().unwrap();
    for (args, by) in [(&["--read-only"][..], "--read-only."), (&["--config", config], "config.toml:1: read-only.")] {
        let mut terminal = Terminal::start(vramscope(&[&["--nvml-lib", &library], args].concat()), 120, 40);
        terminal.wait_for(&format!("{pid} "));
        terminal.send("\t");
        terminal.wait_for(&format!("({pid})"));
        terminal.send("K");
        terminal.wait_for("Signals are off");
        terminal.wait_for(by);
        leave(terminal);
    }
    assert!(victim.lives());
}

#[test]
fn what_the_system_forbids_is_told() {
    if !getuid().is_root() || !Path::new("/usr/bin/setpriv").exists() {
        eprintln!("skipped: needs root and setpriv, to have a process of root and a viewer who is not");
        return;
    }
    let (folder, mut victim) = (tempfile::tempdir().unwrap(), Victim::new());
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let pid = victim.0.id();
    let library = driver(folder.path(), pid);
    let mut command = CommandBuilder::new("/usr/bin/setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", env!("CARGO_BIN_EXE_vramscope"), "--nvml-lib", &library]);
    surroundings(&mut command);
    let mut terminal = asked(command, pid);
    terminal.wait_for("of root, foreign");
    terminal.send(DOWN);
    terminal.send(ENTER);
    terminal.wait_for(&format!("({pid}): not permitted: process of root"));
    assert!(victim.lives());
    leave(terminal);
}

#[test]
fn the_demo_never_signals_a_real_process() {
    let (folder, mut victim) = (tempfile::tempdir().unwrap(), Victim::new());
    let pid = victim.0.id();
    let scenario = folder.path().join("mine.toml");
    fs::write(&scenario, card(&[(pid, "mine", 4)])).unwrap();
    let mut terminal = asked(vramscope(&["demo", scenario.to_str().unwrap()]), pid);
    terminal.send(DOWN);
    terminal.send(ENTER);
    terminal.wait_for(&format!("({pid}): simulated: it has ended"));
    terminal.send("\x1b");
    terminal.wait("the process to go", |output| {
        let text = output.parser.screen().contents();
        !text.contains("simulated: it has ended") && text.contains("holds no memory at this moment")
    });
    assert!(victim.lives(), "the real process of that pid was hit");
    leave(terminal);
}
