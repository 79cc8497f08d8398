//! Scenario files and the streams they give.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use vramscope::domain::{DeviceState, Gpu, HolderKind, MemoryFigures, Period, SampleBody, Timestamp};
use vramscope::scenario::{Row, SCENARIOS, Scenario, Stream, StreamOptions, World};

use crate::support::scenario::{FAULTY, world};

/// All scenarios that come with the program and its tests, by name.
fn all() -> Vec<(&'static str, Arc<World>)> {
    SCENARIOS.iter().map(|builtin| builtin.id).chain(FAULTY.iter().map(|(id, _)| *id)).map(|id| (id, world(id))).collect()
}

#[test]
fn every_scenario_compiles_and_says_the_same_title() {
    for builtin in SCENARIOS {
        let scenario = Scenario::load(builtin.id).unwrap();
        assert_eq!(scenario.title(), builtin.title, "{}", builtin.id);
    }
    assert!(all().len() >= SCENARIOS.len());
}

#[test]
fn every_file_is_listed() {
    let names = |dir: &str| -> Vec<String> {
        let files = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(dir)).unwrap();
        let mut names: Vec<String> =
            files.map(|file| file.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned()).collect();
        names.sort_unstable();
        names
    };
    let mut builtin: Vec<&str> = SCENARIOS.iter().map(|builtin| builtin.id).collect();
    builtin.sort_unstable();
    assert_eq!(names("assets/scenarios"), builtin);
    let mut faulty: Vec<&str> = FAULTY.iter().map(|(id, _)| *id).collect();
    faulty.sort_unstable();
    assert_eq!(names("tests/fixtures/scenarios"), faulty);
    assert_eq!(SCENARIOS.first().map(|builtin| builtin.id), Some("default"));
}

/// used = driver's own + holders + what no list names, and never more than there is room for.
fn check_sums(name: &str, world: &World, t: Timestamp) {
    let mut rows: Vec<Row> = Vec::new();
    for place in world.places() {
        let gpu = place.device.gpu;
        rows.clear();
        world.rows(gpu, t, &mut rows);
        let used = world.used(gpu, t);
        let held: u64 = rows.iter().map(|row| row.used.0).sum();
        assert!(held <= used.0, "{name}: {t:?} {gpu:?}: holders {held}, used {used:?}");
        assert!(used.0 + place.reserved.0 <= place.size.0, "{name}: {t:?} {gpu:?} is overfull: {used:?}");
        if let Some(figures) = world.figures(gpu, t) {
            let MemoryFigures { total, free, reserved } = figures;
            assert_eq!(total.0, free.0 + reserved.unwrap_or_default().0 + figures.used().0, "{name}: {t:?} {gpu:?}");
            assert_eq!(figures.used(), used, "{name}: {t:?} {gpu:?}");
        }
        assert!(rows.iter().all(|row| row.used.0 > 0 && row.kind != HolderKind::default()));
        if place.instance.is_none() {
            let inner: u64 = world.instances(place.card, t).map(|instance| world.used(instance.device.gpu, t).0).sum();
            assert!(inner <= used.0, "{name}: {t:?} {gpu:?}: instances {inner}, used {used:?}");
        }
    }
}

#[test]
fn sums_hold_to_the_byte_at_any_time() {
    for (name, world) in all() {
        for n in 0..400_u64 {
            check_sums(name, &world, Timestamp(n * 961_007 + n * n % 7919));
        }
        for hours in [1, 5, 40, 1000, 1_000_000] {
            check_sums(name, &world, Timestamp::secs(hours * 3600 + 17));
        }
        check_sums(name, &world, Timestamp(u64::MAX / 4));
    }
}

#[test]
fn streams_are_deterministic_and_in_order() {
    for (name, world) in all() {
        let options = StreamOptions::default();
        let mut last = Timestamp::ZERO;
        let first = Stream::new(Arc::clone(&world), options);
        let second = Stream::new(Arc::clone(&world), options);
        for (n, (a, b)) in first.zip(second).take(2500).enumerate() {
            assert_eq!(a, b, "{name}");
            assert!(a.t >= last, "{name}: {a:?} after {last:?}");
            assert_eq!(n == 0, matches!(a.body, SampleBody::Header(_)), "{name}");
            last = a.t;
        }
    }
}

#[test]
fn a_list_is_followed_by_memory_of_the_same_moment_and_its_processes_are_known() {
    for (name, world) in all() {
        let mut open: BTreeMap<Gpu, Timestamp> = BTreeMap::new();
        let mut known = std::collections::HashSet::new();
        for sample in
            Stream::new(Arc::clone(&world), StreamOptions::default()).take_while(|sample| sample.t < Timestamp::secs(60))
        {
            match sample.body {
                SampleBody::Process(process) => {
                    known.insert(process.key.pid);
                }
                SampleBody::Holders { gpu, list } => {
                    assert!(open.insert(gpu, sample.t).is_none(), "{name}: two lists without memory");
                    for holder in list.into_iter().flat_map(|list| list.to_vec()) {
                        assert!(known.contains(&holder.pid), "{name}: {} is unknown", holder.pid);
                    }
                }
                SampleBody::Memory { gpu, .. } => {
                    if let Some(at) = open.remove(&gpu) {
                        assert_eq!(at, sample.t, "{name}");
                    }
                }
                SampleBody::Exit { pid, .. } => assert!(known.remove(&pid), "{name}: exit of {pid}"),
                _ => {}
            }
        }
        assert!(open.is_empty(), "{name}");
    }
}

#[test]
fn the_default_tells_its_story_within_two_minutes_of_watching() {
    let world = world("default");
    let watched = world.scenario().preroll();
    let dies = world.endings().into_iter().find(|ending| ending.out_of_memory).expect("one process dies of OOM");
    let after = dies.t.since(Timestamp(watched.0));
    assert!((Period::secs(100)..Period::secs(120)).contains(&after), "{after}");
    let last = (0..400).map(|n| world.figures(Gpu(1), dies.t.back(Period::millis(1200 + n * 10))).unwrap().free);
    let least = last.min().unwrap();
    assert!(least.0 < 1 << 30, "{least}");
    let healthy: Vec<u64> = (0..400).map(|n| world.used(Gpu(0), Timestamp(20_000_000 + n * 37_000)).0).collect();
    let swing = healthy.iter().max().unwrap() - healthy.iter().min().unwrap();
    assert!((20 << 30..22 << 30).contains(&swing), "{swing}");
}

#[test]
fn bad_files_say_where_and_what_was_expected() {
    let card = "[[device]]\nname = \"X\"\ntotal = \"80GiB\"\n";
    let process = |phases: &str| format!("{card}[[process]]\npid = 5\ncommand = \"x\"\non = [{{ phases = [{phases}] }}]\n");
    let cases: Vec<(String, &str)> = vec![
        (String::new(), "f.toml:1:1: missing field `device`"),
        ("colour = 1\n".to_owned() + card, "f.toml:1:1: unknown field `colour`, expected one of"),
        ("seed = -1\n".to_owned() + card, "f.toml:1:8: invalid value"),
        ("[[device]]\nname = \"X\"\ntotal = \"lots\"\n".to_owned(), "f.toml:3:9: `lots` is not a size: write"),
        (
            "[[device]]\nname = \"X\"\ntotal = \"999TiB\"\n".to_owned(),
            "f.toml:3:9: this size is too large; expected at most 16TiB",
        ),
        ("[[device]]\nname = \"X\"\ntotal = \"1GiB\"\ncopies = 1000000000\n".to_owned(), "expected 1 to 64"),
        ("duration = \"1x\"\n".to_owned() + card, "f.toml:1:12: `1x` is not a duration"),
        ("preroll = \"9h\"\n".to_owned() + card, "f.toml:1:11: the preroll is too long; expected at most 1h"),
        ("duration = \"9000h\"\n".to_owned() + card, "f.toml:1:12: this time is too long; expected at most 20d"),
        ("x = [[[[".to_owned(), "f.toml:1:"),
        (process(""), "expected at least one device and one phase"),
        (process("{ steps = { amplitude = \"1G\", period = \"0ms\" } }"), "f.toml:7:19: this repeats too fast"),
        (process("{ plateau = {} }, { exit = {} }"), "f.toml:7:19: this phase never ends"),
        (process("{ exit = {} }, { plateau = {} }"), "f.toml:7:19: the process ends here"),
        (process("{ explode = {} }"), "unknown variant `explode`, expected one of"),
        (process("{ pool = { to = \"NaN%\" } }"), "not a share of the device"),
        (process("{ pool = { to = \"101%\" } }"), "not a share of the device"),
        (
            process("{ load = { to = \"1G\", in = \"1s\", height = \"1G\" } }"),
            "unexpected keys in table: height, available keys: to, in",
        ),
        (process("{ plateau = { utilization = nan } }"), "out of range; expected 0 to 100"),
        (process("{ leak = { rate = \"1G\" } }"), "this is not a rate"),
        (process("{ load = { to = \"1G\", in = \"1s\", pieces = 99999 } }"), "expected 1 to 4096"),
        (process("{ plateau = {} }") + "copies = 5000\n", "f.toml:"),
        (process("{ plateau = {} }").replace("pid = 5", "pid = 0"), "pid 0 is out of range"),
        (process("{ plateau = {} }").replace("phases", "devices = [7], phases"), "there is no device 7; expected 0 to 0"),
        (process("{ plateau = {} }").replace("pid = 5", "pid = 5\ncopies = 5000"), "expected 1 to 4096"),
        (card.to_owned() + "[[fault]]\ncall = \"x\"\n", "this fault does nothing"),
        (card.to_owned() + "[[fault]]\ncall = \"x\"\nerror = \"bad_luck\"\n", "unknown variant `bad_luck`, expected one of"),
    ];
    for (text, expected) in cases {
        let error = Scenario::parse("f.toml", &text).expect_err(&text).to_string();
        assert!(error.contains(expected) && error.starts_with("f.toml:"), "{text}\n{error}\nexpected {expected}");
    }
}

#[test]
fn what_is_no_file_is_refused_with_the_known_names() {
    let unknown = Scenario::load("nope").unwrap_err().to_string();
    assert!(unknown.contains("no scenario `nope`") && unknown.contains("default"), "{unknown}");
    assert!(Scenario::load("/nonexistent/x.toml").unwrap_err().to_string().starts_with("/nonexistent/x.toml: "));
    assert!(Scenario::load("/dev/zero.toml").is_err());
}

#[test]
fn a_lost_card_comes_back_with_a_gap() {
    let states: Vec<(u64, DeviceState)> = Stream::new(world("lost"), StreamOptions::default())
        .take_while(|sample| sample.t < Timestamp::secs(25))
        .filter_map(|sample| match sample.body {
            SampleBody::State { state, .. } => Some((sample.t.0 / 1_000_000, state)),
            _ => None,
        })
        .collect();
    assert_eq!(states, [(5, DeviceState::Lost), (20, DeviceState::Ok)]);
}

#[test]
fn a_hang_is_seen_within_two_seconds_and_stops_no_other_card() {
    let mut last = BTreeMap::new();
    let mut stalled = None;
    for sample in Stream::new(world("hang"), StreamOptions::default()).take_while(|sample| sample.t < Timestamp::secs(30)) {
        match sample.body {
            SampleBody::State { gpu, state: DeviceState::Stalled, .. } => stalled = Some((gpu, sample.t)),
            SampleBody::Memory { gpu, .. } => {
                last.insert(gpu.0, sample.t);
            }
            _ => {}
        }
    }
    let (gpu, at) = stalled.expect("card 1 stalls");
    assert_eq!(gpu, Some(Gpu(1)));
    assert!(at <= Timestamp::secs(7));
    assert!(last[&1] <= Timestamp::secs(5));
    assert!(last[&0] > Timestamp::secs(28) && last[&2] > Timestamp::secs(28));
}

#[test]
fn hostile_but_valid_files_end_soon() {
    let text = |phases: &str| {
        format!(
            "duration = \"48h\"\n[[device]]\nname = \"X\"\ntotal = \"1GiB\"\n[[process]]\npid = 5\ncopies = 4\ncommand = \"x\"\n\
             on = [{{ phases = [{phases}] }}]\n"
        )
    };
    let phases = [
        "{ leak = { rate = \"1TiB/s\", segment = \"2MiB\" } }",
        "{ leak = { rate = \"1B/s\", segment = \"2MiB\" } }",
        "{ load = { to = \"16TiB\", in = \"48h\", pieces = 4096 } }",
        "{ steps = { amplitude = \"300MiB\", period = \"1ms\" } }",
        "{ orphan = {} }",
        "{ oom = {} }",
        "{ context = { size = \"16TiB\", in = \"0s\" } }, { exit = {} }",
    ];
    for phases in phases {
        let scenario = Scenario::parse("hostile.toml", &text(phases)).unwrap();
        match World::new(&scenario) {
            Ok(world) => (0..500).for_each(|n| check_sums(phases, &world, Timestamp(n * 345_600_013))),
            Err(error) => assert!(error.to_string().contains("changes too often"), "{error}"),
        }
    }
}

/// One random phase as text.
fn phase() -> impl Strategy<Value = String> {
    let (size, time) = (1..9000_u32, 0..9000_u32);
    prop_oneof![
        (size.clone(), time.clone()).prop_map(|(s, t)| format!("{{ context = {{ size = \"{s}MiB\", in = \"{t}ms\" }} }}")),
        (size.clone(), time.clone()).prop_map(|(s, t)| format!("{{ load = {{ to = \"{s}MiB\", in = \"{t}ms\" }} }}")),
        (size.clone(), time.clone()).prop_map(|(s, t)| format!("{{ warmup = {{ size = \"{s}MiB\", in = \"{t}ms\" }} }}")),
        (size.clone(), 1..900_u32, time.clone(), 0..=10_u32).prop_map(|(s, p, t, j)| format!(
            "{{ steps = {{ amplitude = \"{s}MiB\", period = \"{p}ms\", for = \"{t}ms\", jitter = {} }} }}",
            f64::from(j) / 10.0
        )),
        (size.clone(), time.clone()).prop_map(|(s, t)| format!("{{ leak = {{ rate = \"{s}MiB/s\", for = \"{t}ms\" }} }}")),
        (size.clone(), time.clone()).prop_map(|(s, t)| format!("{{ eval = {{ size = \"{s}MiB\", for = \"{t}ms\" }} }}")),
        (size.clone(), time.clone()).prop_map(|(s, t)| format!("{{ spike = {{ height = \"{s}MiB\", for = \"{t}ms\" }} }}")),
        (size.clone(), 1..900_u32, time.clone())
            .prop_map(|(s, p, t)| format!("{{ wander = {{ amplitude = \"{s}MiB\", every = \"{p}ms\", for = \"{t}ms\" }} }}")),
        (0..=100_u32).prop_map(|s| format!("{{ pool = {{ to = \"{s}%\" }} }}")),
        (size, time).prop_map(|(s, t)| format!("{{ release = {{ to = \"{s}MiB\", in = \"{t}ms\" }} }}")),
    ]
}

fn ending() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just("{ exit = {} }"),
        Just("{ oom = {} }"),
        Just("{ orphan = { for = \"4s\" } }"),
        Just("{ orphan = {} }"),
        Just("{ plateau = {} }"),
        Just("{ leak = { rate = \"700MiB/s\" } }"),
        Just("{ steps = { amplitude = \"2GiB\", period = \"333ms\" } }"),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_damaged_file_does_harm(
        which in 0..SCENARIOS.len(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), 0..5_u8, any::<char>()), 1..4),
    ) {
        let mut text: Vec<char> = SCENARIOS[which].text.chars().collect();
        for (at, how, letter) in damage {
            let at = at.index(text.len());
            match how {
                0 => text[at] = letter,
                1 => text[at] = '9',
                2 => text.insert(at, '0'),
                3 => drop(text.remove(at)),
                _ => text.truncate(at.max(1)),
            }
        }
        let text: String = text.into_iter().collect();
        match Scenario::parse("damaged.toml", &text).and_then(|scenario| World::new(&scenario)) {
            Ok(world) => check_sums(&text, &world, Timestamp::secs(77)),
            Err(error) => prop_assert!(error.to_string().starts_with("damaged.toml:"), "{}", error),
        }
    }

    #[test]
    fn no_story_breaks_the_sums(
        seed in 0..1000_u32,
        actors in prop::collection::vec((0..8000_u32, 0..3_u32, prop::collection::vec(phase(), 1..5), ending()), 1..6),
        times in prop::collection::vec(0..60_000_000_u64, 60),
    ) {
        let mut text = format!(
            "seed = {seed}\nduration = \"30s\"\n[[device]]\nname = \"X\"\ncopies = 2\ntotal = \"16GiB\"\n\
             reserved = \"300MiB\"\noverhead = \"7MiB\"\n"
        );
        for (n, (at, which, phases, ending)) in actors.iter().enumerate() {
            let devices = ["[0]", "[1]", "[0, 1]"][*which as usize];
            let (pid, phases) = (n + 1, phases.join(", "));
            writeln!(text, "[[process]]\npid = {pid}\nat = \"{at}ms\"\ncommand = \"x\"").unwrap();
            writeln!(text, "on = [{{ devices = {devices}, phases = [{phases}, {ending}] }}]").unwrap();
        }
        let world = World::new(&Scenario::parse("random", &text).unwrap()).unwrap();
        for ending in world.endings() {
            for offset in [0, 1, 119_999, 120_000, 900_000, 1_249_999, 1_250_000] {
                check_sums(&text, &world, ending.t.back(Period(offset)));
            }
        }
        for &t in &times {
            check_sums(&text, &world, Timestamp(t));
        }
    }
}

/// A story whose last part repeats.
const REPEATING: &str = "duration = \"20s\"\nrepeat_from = \"10s\"\n[[device]]\nname = \"X\"\ntotal = \"16GiB\"\n\
    [[process]]\npid = 7\ncommand = \"stays\"\non = [{ phases = [{ context = { size = \"1GiB\" } }] }]\n\
    [[process]]\npid = 8\nat = \"12s\"\ncommand = \"comes\"\n\
    on = [{ phases = [{ context = { size = \"2GiB\" } }, { plateau = { for = \"3s\" } }, { exit = {} }] }]\n";

#[test]
fn a_repeated_part_brings_new_processes_and_keeps_the_old() {
    let world = Arc::new(World::new(&Scenario::parse("again", REPEATING).unwrap()).unwrap());
    let mut starts = Vec::new();
    let mut exits = 0;
    for sample in Stream::new(Arc::clone(&world), StreamOptions::default()).take_while(|sample| sample.t < Timestamp::secs(50)) {
        match sample.body {
            SampleBody::Process(process) => starts.push((process.key.pid.0, process.key.start.unwrap())),
            SampleBody::Exit { .. } => exits += 1,
            _ => {}
        }
    }
    assert_eq!(starts.iter().map(|(pid, _)| *pid).collect::<Vec<_>>(), [7, 8, 100_008, 200_008, 300_008]);
    assert!(starts.is_sorted_by_key(|(_, start)| *start), "{starts:?}");
    assert_eq!(exits, 4);
    let lasting = REPEATING.replace(", { plateau = { for = \"3s\" } }, { exit = {} }", "");
    let error = World::new(&Scenario::parse("again", &lasting).unwrap()).unwrap_err().to_string();
    assert!(error.contains("again:2:15: process 8 comes after `repeat_from` and outlasts"), "{error}");
    let dying = REPEATING.replace("{ context = { size = \"1GiB\" } }", "{ plateau = { for = \"15s\" } }, { exit = {} }");
    let error = World::new(&Scenario::parse("again", &dying).unwrap()).unwrap_err().to_string();
    assert!(error.contains("again:2:15: process 7 runs at `repeat_from` and ends later"), "{error}");
}

#[test]
fn spikes_are_as_long_as_the_file_says() {
    let world = world("spikes");
    let flat = world.used(Gpu(0), Timestamp::secs(10)).0;
    let high = |us: u64| world.used(Gpu(0), Timestamp(us)).0 > flat;
    for (start, length) in [(12_013_000, 5_000), (15_021_000, 20_000), (18_007_000, 100_000), (21_003_000, 500_000)] {
        assert_eq!([start - 1, start, start + length - 1, start + length].map(high), [false, true, true, false], "{start}");
    }
}

#[test]
fn sizes_that_the_driver_keeps_are_missing_not_zero() {
    let list = Stream::new(world("wsl"), StreamOptions::default()).find_map(|sample| match sample.body {
        SampleBody::Holders { list, .. } => Some(list.unwrap()),
        _ => None,
    });
    assert!(list.unwrap().iter().all(|holder| holder.used.is_err()));
    let memory = Stream::new(world("unified"), StreamOptions::default()).find_map(|sample| match sample.body {
        SampleBody::Memory { figures, .. } => Some(figures),
        _ => None,
    });
    assert!(memory.unwrap().is_err());
}
