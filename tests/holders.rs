//! Who holds the memory, on the screen: jobs that fold, who grew, what nobody holds, marks, and many processes.

use std::fmt::Write as _;
use std::sync::Arc;

use vramscope::domain::{
    Ancestor, Bytes, Details, Device, DeviceId, Gpu, Header, Holder, HolderKind, Job, MemoryFigures, MemoryKind, Missing, Pid,
    Process, ProcessKey, ProcessUsage, Relation, Sample, SampleBody, Timestamp, Usage, Wall,
};
use vramscope::tui::{DashboardOptions, Effect};

use crate::support::frames::Screen;

/// A process of the node below.
struct Person {
    pid: u32,
    parent: u32,
    user: &'static str,
    command: &'static str,
    kind: HolderKind,
    job: bool,
}

const fn person(pid: u32, parent: u32, user: &'static str, command: &'static str) -> Person {
    Person { pid, parent, user, command, kind: HolderKind::C, job: false }
}

const fn worker(pid: u32) -> Person {
    Person { job: true, ..person(pid, 4200, "user1", "/opt/env/bin/python -u /home/user1/runs/train.py --bs 64") }
}

/// Four workers of one launcher, a notebook of another user with a child, and a display server.
static PEOPLE: [Person; 8] = [
    worker(4201),
    worker(4202),
    worker(4203),
    worker(4204),
    person(812, 800, "user2", "python -m ipykernel_launcher"),
    person(813, 812, "user2", "python loader.py"),
    person(900, 1, "user1", "python eval.py"),
    Person { kind: HolderKind::G, ..person(77, 1, "root", "/usr/lib/xorg/Xorg vt2") },
];

fn process(person: &Person) -> SampleBody {
    let leader = ProcessKey { pid: Pid(4200), start: Some(1) };
    let job = Job { leader, launcher: "torchrun".into(), command: Ok("torchrun --nproc-per-node 2 train.py".into()) };
    let parent = ProcessKey { pid: Pid(person.parent), start: Some(1) };
    let details = Details {
        cwd: Ok("/home/user1/runs".into()),
        parents: Arc::new([Ancestor { key: parent, name: "parent".into() }]),
        batch: Ok(Some("slurm 4711".into())),
        environment: Err(Missing::Denied("another user's".into())),
        session: Ok(None),
    };
    let relation = match person.user {
        "user1" => Relation::Mine,
        "root" => Relation::System,
        _ => Relation::Foreign,
    };
    SampleBody::Process(Arc::new(Process {
        key: ProcessKey { pid: Pid(person.pid), start: Some(u64::from(person.pid)) },
        started: Ok(Wall(1_796_047_200_000_000)),
        ppid: Ok(Pid(person.parent)),
        user: Ok(person.user.into()),
        uid: Ok(1000),
        relation,
        command: Ok(person.command.into()),
        container: Some("docker 3f2a9c1b04de".into()),
        job: person.job.then(|| Arc::new(job)),
        details: Some(Arc::new(details)),
    }))
}

/// Who holds what on a card, in MiB, at a second.
fn held(gpu: u32, second: u64) -> Vec<(u32, u64)> {
    match gpu {
        0 => vec![(4201, 10_000), (4202, 12_000), (812, 2_000), (813, 500), (77, 100)],
        // One of them grows by 50 MiB every second.
        _ => vec![(4203, 20_000), (4204, 30_000 + 50 * second.min(200)), (900, 5_000)],
    }
}

/// Two cards of 80 GiB, read every second; GPU 1 keeps what a process left that ended after 150 s.
fn node(seconds: u64) -> impl Iterator<Item = Sample> {
    let header = Header {
        created: Wall(1_796_047_200_000_000),
        source: "demo:test".into(),
        simulated: true,
        host: Some("node17".into()),
        driver: Ok("570.86.15".into()),
        cuda: Ok("12.8".into()),
        me: Some("user1".into()),
        foreign_pids: false,
    };
    let device = |gpu: u32| {
        SampleBody::Device(Arc::new(Device {
            gpu: Gpu(gpu),
            id: DeviceId(format!("GPU-{gpu}").into()),
            index: Some(gpu),
            pci: Err(Missing::Pending),
            name: Ok("NVIDIA H100 80GB HBM3".into()),
            memory: MemoryKind::Dedicated,
            total: Ok(Bytes::gib(80)),
            parent: None,
        }))
    };
    let first = [SampleBody::Header(Arc::new(header)), device(0), device(1)].into_iter().chain(PEOPLE.iter().map(process));
    let first = first.map(|body| Sample { t: Timestamp::ZERO, body });
    first.chain((0..=seconds).flat_map(|second| [0, 1].into_iter().flat_map(move |gpu| reading(gpu, second))))
}

fn reading(gpu: u32, second: u64) -> Vec<Sample> {
    let mut held = held(gpu, second);
    let left = if gpu == 1 && second > 150 { 5_000 } else { 0 };
    held.retain(|(pid, _)| *pid != 900 || second <= 150);
    let used = held.iter().map(|(_, mib)| mib).sum::<u64>() + left + 8;
    let kind = |pid: u32| PEOPLE.iter().find(|person| person.pid == pid).map_or(HolderKind::C, |person| person.kind);
    let list =
        held.iter().map(|(pid, mib)| Holder { pid: Pid(*pid), used: Ok(Bytes::mib(*mib)), kind: kind(*pid), instance: None });
    let total = Bytes::gib(80);
    let figures = MemoryFigures { total, free: Bytes(total.0 - Bytes::mib(used + 479).0), reserved: Some(Bytes::mib(479)) };
    let usage = |(pid, _): &(u32, u64)| ProcessUsage {
        pid: Pid(*pid),
        gpu: Ok(20.0),
        cpu: Ok(100.0),
        rss: Ok(Bytes::gib(2)),
        state: Ok(if *pid == 813 { 'Z' } else { 'R' }),
        accounted: if *pid == 4204 { Ok(Bytes::gib(60)) } else { Err(Missing::Unsupported("accounting is off".into())) },
    };
    let usage = Usage {
        gpu: Gpu(gpu),
        utilization: Ok(90.0),
        temperature: Ok(60.0),
        power: Ok(500.0),
        processes: held.iter().map(usage).collect(),
    };
    let gpu = Gpu(gpu);
    [
        SampleBody::Holders { gpu, list: Ok(list.collect()) },
        SampleBody::Memory { gpu, figures: Ok(figures) },
        SampleBody::Usage(Arc::new(usage)),
    ]
    .into_iter()
    .zip(0..)
    .map(|(body, ms)| Sample { t: Timestamp::millis(second * 1_000 + ms), body })
    .collect()
}

fn screen(size: (u16, u16)) -> Screen {
    let mut screen = Screen::of(node(200), size, DashboardOptions::default());
    screen.run_to(100);
    screen
}

#[test]
fn keys_lead_to_holders() {
    let mut wrong = String::new();
    for (keys, expected) in [
        ("a", "▸ 4× torchrun train.py; tightest"),
        ("a tab o", "▾ 4× torchrun train.py"),
        ("a tab o", "├ python -u train.py --bs 64"),
        ("a tab o down", "train.py (4204), mine: 34.1 GiB on GPU 1"),
        ("a tab o down o", "▸ 4× torchrun train.py"),
        ("a tab", "Job torchrun train.py, mine: 4 processes with 75.1 GiB on GPUs 0, 1; tightest GPU 1, 21.0 GiB left"),
        ("home tab", "2 processes with 21.5 GiB on GPU 0; in all 4 processes with 75.1 GiB on GPUs 0, 1"),
        ("a t", "└ python loader.py"),
        ("a t t", "Every process by itself"),
        ("a t t t", "▸ 4× torchrun train.py"),
        ("a / e v a l", "1 of 8 processes on all cards, filter eval"),
        ("a / e v a l esc", "8 processes on all cards"),
        ("a / e v a l enter esc", "8 processes on all cards"),
        ("a / u s e r : u s e r 2 enter", "2 of 8 processes on all cards, filter user:user2"),
        ("a / r e l : s y s", "1 of 8 processes"),
        ("a / m e m : > 2 9 G", "1 of 8 processes"),
        ("a / j o b : 4 2 0 0", "4 of 8 processes"),
        ("a / - p y t h o n", "1 of 8 processes"),
        ("a / m e m : x", "`mem:x`: a size is written"),
        ("a / m e m : x", "8 of 8 processes"),
        ("a / z z z", "No process fits the filter"),
        ("a / e v a l q", "filter: evalq"),
        ("a / e v a l backspace backspace", "filter: ev"),
        ("a v", "1 of graphics hidden"),
        ("a v", "their memory still counts"),
        ("a v v", "are shown"),
        ("a", "you 80.0, user2 2.44, root 0.10 GiB"),
        ("tab space space", "5 tagged"),
        ("home tab space", "●"),
        ("tab enter", "Esc closes"),
        ("tab enter", "torchrun and what it started; led by pid 4200"),
        ("tab enter", "the tightest"),
        ("tab enter esc", "processes on GPU"),
        ("a tab o down enter", "slurm 4711"),
        ("a tab o down enter", "not permitted: another user's"),
        ("a tab o down enter", "parent (4200)"),
        ("a tab o down enter", "docker 3f2a9c1b04de"),
        ("a tab o down enter", "the driver counts 60.0 GiB at most"),
        ("a tab o down down enter", "blind spot"),
        ("home a / l o a d e r enter tab enter", "zombie"),
        ("home tab end enter", "as much as drivers and libraries keep"),
        ("m", "Marked: mark 1"),
        ("M e p o c h space 2 enter", "Marked: epoch 2"),
        ("M x esc", "processes on GPU 1"),
        ("end", "+4.83 GiB in 1m40s: train.py (4204, user1) +4.83"),
        ("end +", "+2.88 GiB in 1m00s: train.py (4204, user1) +2.88"),
    ] {
        let mut screen = screen((160, 50));
        screen.press(keys);
        let text = screen.text();
        if !text.contains(expected) {
            let _ = writeln!(wrong, "{keys:?}: no {expected:?} in\n{text}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn a_mark_begins_a_new_epoch_of_peaks_and_stands_in_the_lane() {
    let mut screen = Screen::of(node(200), (200, 60), DashboardOptions::default());
    screen.run_to(160);
    let effect = screen.press("end M e p o c h space 2 enter");
    assert_eq!(effect, Some(Effect::Mark("epoch 2".into())));
    screen.tell(SampleBody::Mark("epoch 2".into()));
    screen.run_to(170);
    screen.press("o");
    let text = screen.text();
    assert!(text.contains("▾epoch 2") && text.contains("marked"), "{text}");
    // 900 ended before the mark: the peak since then is not its.
    let row = text.lines().find(|line| line.contains(" 4204 user1")).unwrap();
    assert!(row.matches("37.5").count() == 3, "size, peak and peak since the mark: {row}");
}

#[test]
fn memory_that_a_process_left_is_named_once_it_stays() {
    let mut screen = Screen::of(node(200), (200, 60), DashboardOptions::default());
    screen.run_to(156);
    assert!(!screen.text().contains("belong to no process"), "5 s may be a context being torn down:\n{}", screen.text());
    screen.run_to(170);
    let text = screen.text();
    assert!(text.contains("4.89 GiB on GPU 1 belong to no process since 14:02:31"), "{text}");
    screen.press("end a tab / r e l : u n a t t r enter down up enter");
    let text = screen.text();
    for words in ["14:02:31, for 19 s", "pid 900 (python eval.py) ended and had held 4.88 GiB", "wait some seconds", "+4.88 in"] {
        assert!(text.contains(words), "no {words:?} in\n{text}");
    }
    assert!(text.contains('⣿'), "its own history is drawn:\n{text}");
}

#[test]
fn the_selection_follows_a_process_through_folds_filters_and_orders() {
    let mut screen = screen((160, 50));
    screen.press("a tab o down down");
    let row = screen.app.look().row.clone();
    assert!(row.is_some());
    for keys in ["r", "s end enter", "t", "t", "t", "/ t r a i n enter", "esc"] {
        screen.press(keys);
        screen.run_to(110);
        screen.text();
        assert_eq!(screen.app.look().row, row, "after {keys:?}");
    }
}

#[test]
fn what_is_selected_is_what_is_seen() {
    // A worker selected on its own: folded away, the job is what keys act on.
    let mut screen = screen((160, 50));
    screen.press("a t t tab s home down enter end");
    let worker = screen.app.look().row.clone();
    screen.press("t");
    screen.text();
    let job = screen.app.look().row.clone();
    assert_ne!(worker, job);
    assert_eq!(screen.app.look().picked(&screen.snapshot()).len(), 4, "{job:?}");
    screen.press("/ e v a l enter");
    assert!(screen.text().contains("The filter hides the selected row"), "{}", screen.text());
}

#[test]
fn one_that_ended_is_told_in_the_past_and_not_in_the_present() {
    let mut screen = Screen::of(node(200), (160, 50), DashboardOptions::default());
    screen.run_to(180);
    screen.press("end a tab");
    assert!(!screen.text().contains("eval.py"), "it is gone");
    screen.press("f shift-left / e v a l enter down enter");
    let text = screen.text();
    assert!(text.contains("eval.py (900), mine at 14:01:00") && text.contains("4.88 GiB"), "{text}");
    assert!(text.contains("ended"), "{text}");
}

#[test]
fn sums_of_the_past_are_exact() {
    let mut screen = Screen::of(node(200), (160, 50), DashboardOptions::default());
    screen.run_to(200);
    let snapshot = screen.snapshot();
    for second in (2..199).filter(|second| !(150..=152).contains(second)) {
        let t = Timestamp::millis(second * 1_000 + 500);
        for card in vramscope::tui::cards::Card::all(&snapshot, Some(t), snapshot.at) {
            let left = if card.gpu() == Gpu(1) && second > 150 { 5_000 } else { 0 };
            assert_eq!(card.figures.unattributed, Some(Bytes::mib(left + 8)), "GPU {} at {second} s", card.gpu());
        }
    }
}

#[test]
fn a_paste_is_typed_into_the_filter_and_nowhere_else() {
    let mut screen = screen((120, 40));
    let paste = |screen: &mut Screen, text: &str| screen.app.update(vramscope::tui::Msg::Paste(text.to_owned()));
    assert_eq!(paste(&mut screen, "q\u{1b}q"), None);
    assert!(screen.text().contains("GPU"), "its letters are no keys");
    screen.press("/");
    paste(&mut screen, &format!("user:user2\n\u{1b}[2J{}", "x".repeat(100_000)));
    let text = screen.text();
    assert!(!text.contains('\u{1b}') && text.contains("filter:"), "{text}");
    assert!(screen.app.look().filter.text().chars().count() <= 200);
}

#[test]
fn holders_at_every_size() {
    for (width, height) in [(200, 60), (120, 40), (80, 24), (40, 12)] {
        for (name, keys) in [("jobs", "a tab o"), ("details", "a tab o down enter"), ("filter", "a / u s e r : u s e r 2")] {
            let mut screen = screen((width, height));
            screen.press(keys);
            insta::assert_snapshot!(format!("holders_{name}_{width}x{height}"), screen.text());
        }
    }
    let options = DashboardOptions { ascii: true, ..DashboardOptions::default() };
    let mut screen = Screen::of(node(200), (120, 40), options);
    screen.run_to(100);
    for keys in ["a tab o space", "down enter", "esc / x", "esc t"] {
        screen.press(keys);
        let text = screen.text();
        assert!(text.is_ascii(), "{keys}:\n{text}");
    }
}

/// `many` processes on one card.
fn crowd(many: u32) -> impl Iterator<Item = Sample> {
    let holders = move |second: u64| {
        let list = (0..many).map(|n| Holder {
            pid: Pid(10_000 + n),
            used: Ok(Bytes::mib(u64::from(n % 97) + second % 3)),
            kind: HolderKind::C,
            instance: None,
        });
        SampleBody::Holders { gpu: Gpu(0), list: Ok(list.collect()) }
    };
    let people = (0..many).map(|n| {
        let command = if n % 10 == 0 { "python loader.py" } else { "python worker.py" };
        process(&person(10_000 + n, 9_999, if n % 4 == 0 { "user2" } else { "user1" }, command))
    });
    let first = node(0).take(2).chain(people.map(|body| Sample { t: Timestamp::ZERO, body }));
    let memory = |used: u64| {
        let total = Bytes::gib(400);
        let free = Bytes(total.0.saturating_sub(Bytes::mib(used).0));
        SampleBody::Memory { gpu: Gpu(0), figures: Ok(MemoryFigures { total, free, reserved: Some(Bytes::ZERO) }) }
    };
    first.chain((1..=20).flat_map(move |second| {
        let at = |ms: u64, body| Sample { t: Timestamp::millis(second * 1_000 + ms), body };
        [at(0, holders(second)), at(1, memory((0..u64::from(many)).map(|n| n % 97).sum()))]
    }))
}

#[test]
fn thousands_of_processes_scroll_filter_and_sort() {
    for many in [512, 4_000] {
        let mut screen = Screen::of(crowd(many), (80, 24), DashboardOptions::default());
        screen.run_to(20);
        let quarter = many / 4;
        for (keys, expected) in [
            ("tab", format!("{many} processes on GPU 0, rows 1 to ")),
            ("end", format!("to {many}")),
            ("home pgdn pgdn", format!("{many} processes on GPU 0, rows ")),
            ("s home down enter", "pid▲".to_owned()),
            ("/ u s e r : u s e r 2 enter", format!("{quarter} of {many} processes")),
            ("end enter", "user2".to_owned()),
            ("esc esc t", format!("{many} processes on GPU 0")),
        ] {
            screen.press(keys);
            let text = screen.text();
            assert!(text.contains(&expected), "{many}, {keys}: no {expected:?} in\n{text}");
        }
    }
}
