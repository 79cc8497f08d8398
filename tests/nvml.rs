//! The real driver path against the fake library.

use std::collections::BTreeSet;
use std::fs;

use vramscope::domain::{
    Bytes, DeviceState, Gpu, Health, HolderKind, MemoryKind, Missing, ProbeKind, Relation, Sample, SampleBody,
};
use vramscope::source::SourceErrorKind;
use vramscope::source::nvml::NvmlOptions;

use crate::support::nvml::{Fake, Stream};

/// Some cards with one process each, whose memory stands still; `more` is added.
fn cards(count: u32, more: &str) -> String {
    let devices: Vec<String> = (0..count).map(|n| n.to_string()).collect();
    format!(
        r#"
title = "Cards with one process each"
[[device]]
name = "NVIDIA H100 80GB HBM3"
copies = {count}
total = "81559MiB"
reserved = "479MiB"
overhead = "9MiB"
[[process]]
pid = 61000
command = "python train.py"
age = "1h"
on = [{{ devices = [{}], phases = [{{ load = {{ to = "20000MiB", in = "0s" }} }}] }}]
{more}"#,
        devices.join(", ")
    )
}

/// Every device has all it needs for a first frame.
fn complete(stream: &mut Stream, count: u32) {
    let mut missing: BTreeSet<(u32, u8)> = (0..count).flat_map(|gpu| (0..3).map(move |kind| (gpu, kind))).collect();
    stream.wait("a complete first frame", |sample| {
        match &sample.body {
            SampleBody::Device(device) => missing.remove(&(device.gpu.0, 0)),
            SampleBody::Memory { gpu, figures: Ok(_) } => missing.remove(&(gpu.0, 1)),
            SampleBody::Holders { gpu, list: Ok(_) } => missing.remove(&(gpu.0, 2)),
            _ => false,
        };
        missing.is_empty()
    });
}

#[test]
fn sixteen_cards_come_with_facts_memory_and_owners() {
    let fake = Fake::stage(&cards(16, ""));
    let mut stream = Stream::start(&fake.path);
    complete(&mut stream, 16);
    stream.opened().expect("a usable driver");
    assert!(matches!(stream.seen.first(), Some(Sample { body: SampleBody::Header(_), .. })), "the header comes first");
    let device = stream.seen.iter().find_map(|sample| match &sample.body {
        SampleBody::Device(device) if device.gpu == Gpu(3) => Some(device.clone()),
        _ => None,
    });
    let device = device.expect("card 3");
    assert_eq!(
        (device.index, device.memory, device.name.as_deref()),
        (Some(3), MemoryKind::Dedicated, Ok("NVIDIA H100 80GB HBM3"))
    );
    assert!(device.id.0.starts_with("GPU-"), "{}", device.id);
    assert!(device.pci.as_ref().is_ok_and(|pci| pci.len() == 12), "{:?}", device.pci);
    let figures = stream.memory(3).expect("figures");
    assert_eq!(figures.reserved, Some(Bytes::mib(479)));
    let held: Bytes = stream.holders(3).expect("a list").iter().map(|holder| holder.used.clone().expect("a size")).sum();
    assert_eq!(figures.used(), held.saturating_add(Bytes::mib(9)), "the driver's own 9 MiB belong to nobody");
    let header = stream.seen.iter().rev().find_map(|sample| match &sample.body {
        SampleBody::Header(header) => Some(header.clone()),
        _ => None,
    });
    assert!(header.expect("a header").driver.is_ok());
}

#[test]
fn the_list_is_followed_by_the_memory_that_belongs_to_it() {
    let fake = Fake::stage("eight");
    let mut stream = Stream::start(&fake.path);
    for n in 0..12_u32 {
        fake.at(f64::from(n) * 0.37 + 1.0);
        stream.holders(n % 8).expect("a list");
    }
    let mut paired = 0;
    let mut waiting = [false; 8];
    for sample in &stream.seen {
        match &sample.body {
            SampleBody::Holders { gpu, .. } => waiting[gpu.0 as usize] = true,
            SampleBody::Memory { gpu, figures } => {
                assert!(figures.is_ok());
                paired += u32::from(std::mem::take(&mut waiting[gpu.0 as usize]));
            }
            _ => {}
        }
    }
    assert!(paired >= 11, "{paired}");
}

#[test]
fn times_of_a_device_never_go_back() {
    let fake = Fake::stage("eight");
    let mut stream = Stream::start(&fake.path);
    for n in 0..40_u32 {
        fake.at(f64::from(n) * 0.1);
        stream.memory(n % 8).expect("figures");
    }
    for gpu in 0..8 {
        let times: Vec<u64> = stream
            .seen
            .iter()
            .filter(|sample| match &sample.body {
                SampleBody::Memory { gpu: of, .. } | SampleBody::Holders { gpu: of, .. } => *of == Gpu(gpu),
                _ => false,
            })
            .map(|sample| sample.t.0)
            .collect();
        assert!(times.is_sorted(), "{times:?}");
    }
}

#[test]
fn an_old_driver_without_memory_v2_says_so_by_leaving_reserved_out() {
    let fake = Fake::stage("old-driver-v1");
    let mut stream = Stream::start(&fake.path);
    let figures = stream.memory(1).expect("figures");
    assert_eq!((figures.total, figures.reserved), (Bytes::mib(16160), None));
    assert!(figures.used() > Bytes::gib(7));
    assert_eq!(stream.holders(1).expect("the list of version 2").len(), 1);
}

#[test]
fn the_oldest_lists_are_read_too() {
    let fake = Fake::stage("old-lists");
    let mut stream = Stream::start(&fake.path);
    let holders = stream.holders(0).expect("the list of version 1");
    assert_eq!(holders.len(), 2);
    assert!(holders.iter().all(|holder| holder.used.as_ref().is_ok_and(|used| *used > Bytes::gib(4))), "{holders:?}");
}

#[test]
fn rows_of_five_fields_give_the_right_numbers() {
    let fake = Fake::stage("five-field");
    let mut stream = Stream::start(&fake.path);
    let holders = stream.holders(0).expect("a list");
    assert_eq!(holders.len(), 40);
    let pids: BTreeSet<u32> = holders.iter().map(|holder| holder.pid.0).collect();
    assert_eq!(pids.len(), 40);
    assert!(pids.iter().all(|pid| (61_000..61_100).contains(pid)), "{pids:?}");
    let used = stream.memory(0).expect("figures").used();
    let held: Bytes = holders.iter().map(|holder| holder.used.clone().expect("a size")).sum();
    assert_eq!(used, held.saturating_add(Bytes::mib(9)));
}

#[test]
fn five_hundred_processes_fit_after_the_list_grew() {
    let fake = Fake::stage(&cards(
        1,
        r#"
[driver]
list_growth = 7
[[process]]
pid = 70000
copies = 511
command = "python worker.py"
on = [{ phases = [{ load = { to = "100MiB", in = "0s" } }] }]
"#,
    ));
    let mut stream = Stream::start(&fake.path);
    assert_eq!(stream.holders(0).expect("a list").len(), 512);
    let before = fake.calls(c"nvmlDeviceGetComputeRunningProcesses_v3");
    stream.holders(0).expect("a list");
    let after = fake.calls(c"nvmlDeviceGetComputeRunningProcesses_v3");
    assert!(after - before <= 3, "one call a list once there is room: {before} to {after}");
}

#[test]
fn sizes_that_the_driver_keeps_to_itself_are_missing_and_not_zero() {
    let fake = Fake::stage("wsl");
    let mut stream = Stream::start(&fake.path);
    let holders = stream.holders(0).expect("a list");
    assert!(!holders.is_empty());
    assert!(holders.iter().all(|holder| matches!(holder.used, Err(Missing::Unsupported(_)))), "{holders:?}");
}

#[test]
fn processes_for_others_eyes_alone_do_not_stop_the_rest() {
    let fake = Fake::stage(&cards(
        1,
        r#"
[[fault]]
call = "nvmlDeviceGetComputeRunningProcesses_v3"
error = "no_permission"
"#,
    ));
    let mut stream = Stream::start(&fake.path);
    let denied = stream.holders(0).expect_err("not permitted");
    assert!(matches!(&denied, Missing::Denied(why) if why.contains("nvmlDeviceGetComputeRunningProcesses_v3")), "{denied:?}");
    assert!(stream.memory(0).is_ok());
    stream.opened().expect("usable all the same");
}

#[test]
fn unified_memory_has_holders_but_no_figures() {
    let fake = Fake::stage("unified");
    let mut stream = Stream::start(&fake.path);
    let device = stream.device(0);
    assert_eq!(device.memory, MemoryKind::Unified);
    assert!(device.total.is_err());
    assert!(matches!(stream.memory(0), Err(Missing::Unsupported(_))));
    let holders = stream.holders(0).expect("a list");
    assert!(holders.iter().any(|holder| holder.kind == HolderKind::G));
    assert!(holders.iter().any(|holder| holder.kind == HolderKind::C && holder.used.is_ok()));
}

#[test]
fn a_hung_card_says_so_and_leaves_the_others_alive() {
    let fake = Fake::stage("hang");
    // At a fixed interval: on a busy machine the default backs off, and the next reading may come after the hang.
    let options = NvmlOptions {
        lib: Some(fake.path.clone()),
        memory_interval: Some(vramscope::domain::Period::millis(20)),
        ..NvmlOptions::default()
    };
    let mut stream = Stream::with(options);
    complete(&mut stream, 3);
    fake.at(5.5);
    assert_eq!(stream.state(Some(1), DeviceState::Stalled), Some("nvmlDeviceGetMemoryInfo_v2"));
    assert_eq!(stream.state(Some(1), DeviceState::Stalled), Some("nvmlDeviceGetMemoryInfo_v2"), "told again");
    for step in 0..5 {
        fake.at(6.0 + f64::from(step) * 0.1);
        for gpu in [0, 2] {
            assert!(stream.memory(gpu).is_ok());
            assert!(stream.holders(gpu).is_ok());
        }
    }
    drop(fake);
    assert_eq!(stream.state(Some(1), DeviceState::Ok), None);
    let gap = stream.seen.iter().any(|sample| matches!(sample.body, SampleBody::Gap { gpu: Gpu(1), .. }));
    assert!(gap || stream.next("a gap", |body| matches!(body, SampleBody::Gap { gpu: Gpu(1), .. }).then_some(true)));
}

#[test]
fn a_hung_list_leaves_memory_alive_and_no_gap() {
    let fake = Fake::stage(&cards(
        1,
        r#"
[[fault]]
call = "nvmlDeviceGetComputeRunningProcesses_v3"
from = "5s"
hang = true
"#,
    ));
    let mut stream = Stream::start(&fake.path);
    complete(&mut stream, 1);
    fake.at(5.5);
    assert_eq!(stream.state(Some(0), DeviceState::Stalled), Some("nvmlDeviceGetComputeRunningProcesses_v3"));
    assert!(stream.memory(0).is_ok());
    drop(fake);
    assert_eq!(stream.state(Some(0), DeviceState::Ok), None);
    assert!(stream.holders(0).is_ok());
    assert!(stream.seen.iter().all(|sample| !matches!(sample.body, SampleBody::Gap { .. })), "memory was known all the time");
}

#[test]
fn a_card_that_hangs_at_the_start_has_a_row_and_the_others_go_on() {
    let fake = Fake::stage(&cards(
        2,
        r#"
[[fault]]
call = "nvmlDeviceGetUUID"
device = 1
hang = true
"#,
    ));
    let mut stream = Stream::start(&fake.path);
    stream.opened().expect("card 0 is usable");
    assert!(stream.device(1).name.is_err());
    assert_eq!(stream.state(Some(1), DeviceState::Stalled), Some("nvmlDeviceGetUUID"));
    assert!(stream.memory(0).is_ok() && stream.holders(0).is_ok());
    drop(fake);
    assert!(stream.device(1).name.is_ok());
    assert!(stream.memory(1).is_ok() && stream.holders(1).is_ok());
}

#[test]
fn a_hang_in_init_is_seen_while_host_memory_goes_on() {
    let fake = Fake::stage("hang-init");
    let mut stream = Stream::start(&fake.path);
    assert_eq!(stream.state(None, DeviceState::Stalled), Some("nvmlInit_v2"));
    stream.next("host memory", |body| matches!(body, SampleBody::Host(_)).then_some(()));
    drop(fake);
    assert_eq!(stream.state(None, DeviceState::Ok), None);
    assert!(stream.memory(0).is_ok());
}

#[test]
fn a_lost_card_comes_back_under_another_index_with_its_key() {
    let scenario = cards(
        3,
        r#"
[[lost]]
device = 0
from = "5s"
to = "20s"
index = 2
"#,
    );
    let fake = Fake::stage(&scenario);
    let mut stream = Stream::start(&fake.path);
    complete(&mut stream, 3);
    let id = stream.seen.iter().find_map(|sample| match &sample.body {
        SampleBody::Device(device) if device.gpu == Gpu(0) => Some(device.id.clone()),
        _ => None,
    });
    fake.at(6.0);
    assert!(stream.state(Some(0), DeviceState::Lost).is_some());
    assert!(matches!(stream.memory(0), Err(Missing::Lost(_))));
    assert!(stream.memory(1).is_ok() && stream.memory(2).is_ok());
    fake.at(21.0);
    let back = stream.seen.len();
    while stream.memory(0).is_err() {}
    // Its two threads come back each in its own time, and a slow call may be told in between: the order is not fixed.
    let from = stream.since(back, "a gap", |body| match body {
        SampleBody::Gap { gpu: Gpu(0), from, .. } => Some(*from),
        _ => None,
    });
    assert!(from.0 > 0);
    let device = stream.since(back, "the record with the new index", |body| match body {
        SampleBody::Device(device) if device.gpu == Gpu(0) => Some(device.clone()),
        _ => None,
    });
    assert_eq!((Some(&device.id), device.index), (id.as_ref(), Some(2)));
    assert!(stream.holders(0).is_ok());
}

#[test]
fn a_card_that_is_lost_at_the_start_is_introduced_before_that_is_told() {
    let fake = Fake::stage(&cards(
        2,
        r#"
[[lost]]
device = 1
from = "0s"
"#,
    ));
    let mut stream = Stream::start(&fake.path);
    stream.opened().expect("card 0 is usable");
    stream.since(0, "the loss", |body| match body {
        SampleBody::State { gpu: Some(Gpu(1)), state: DeviceState::Lost, .. } => Some(()),
        _ => None,
    });
    stream.since(0, "why there is no list", |body| match body {
        SampleBody::Holders { gpu: Gpu(1), list: Err(Missing::Lost(_)) } => Some(()),
        _ => None,
    });
    let first = stream.seen.iter().find(|sample| match &sample.body {
        SampleBody::Device(device) => device.gpu == Gpu(1),
        SampleBody::State { gpu, .. } => *gpu == Some(Gpu(1)),
        SampleBody::Memory { gpu, .. } | SampleBody::Holders { gpu, .. } => *gpu == Gpu(1),
        _ => false,
    });
    assert!(matches!(first, Some(Sample { body: SampleBody::Device(_), .. })), "{first:?}");
}

#[test]
fn instances_are_devices_under_their_parent_and_change() {
    let fake = Fake::stage("mig");
    let mut stream = Stream::start(&fake.path);
    stream.opened().expect("a usable driver");
    let instances = |stream: &Stream| -> Vec<(u32, String)> {
        let mut found: Vec<(u32, String)> = stream
            .seen
            .iter()
            .filter_map(|sample| match &sample.body {
                SampleBody::Device(device) if device.parent.is_some() => {
                    Some((device.gpu.0, device.name.as_deref().unwrap_or("?").to_owned()))
                }
                _ => None,
            })
            .collect();
        found.sort();
        found.dedup();
        found
    };
    stream.memory(4).expect("the third instance");
    let three = [(2, "3g.40gb".to_owned()), (3, "1g.10gb".into()), (4, "1g.10gb".into())];
    assert_eq!(instances(&stream), three);
    // The parent lists who is in which instance, from its first list on.
    let of = stream.since(0, "a parent's list", |body| match body {
        SampleBody::Holders { gpu: Gpu(0), list: Ok(list) } if !list.is_empty() => {
            Some(list.iter().map(|holder| (holder.pid.0, holder.instance)).collect::<Vec<_>>())
        }
        _ => None,
    });
    assert!(of.contains(&(8101, Some(Gpu(2)))) && of.contains(&(8133, Some(Gpu(3)))), "{of:?}");
    assert!(stream.holders(2).expect("a list").iter().all(|holder| holder.pid.0 == 8101));
    let before = stream.seen.len();
    fake.at(75.0);
    assert!(stream.state(Some(3), DeviceState::Lost).is_some());
    let device = stream.since(before, "the new instance", |body| match body {
        SampleBody::Device(device) if device.gpu == Gpu(5) => Some(device.clone()),
        _ => None,
    });
    assert_eq!((device.name.as_deref(), device.parent.is_some(), device.index), (Ok("2g.20gb"), true, None));
    assert_eq!(stream.holders(5).expect("a list").first().map(|holder| holder.pid.0), Some(8207));
    assert!(stream.memory(2).is_ok(), "the instance that stayed is read on");
}

#[test]
fn a_jump_gets_its_owner_at_once() {
    let fake = Fake::stage(&cards(
        1,
        r#"
[[process]]
pid = 62000
command = "python other.py"
at = "10s"
on = [{ phases = [{ load = { to = "30000MiB", in = "0s" } }] }]
"#,
    ));
    let options = NvmlOptions {
        lib: Some(fake.path.clone()),
        process_interval: vramscope::domain::Period::secs(3600),
        ..NvmlOptions::default()
    };
    let mut stream = Stream::with(options);
    assert_eq!(stream.holders(0).expect("a list").len(), 1);
    fake.at(11.0);
    // The next regular list is an hour away.
    stream.next("the newcomer", |body| match body {
        SampleBody::Holders { list: Ok(list), .. } if list.len() == 2 => Some(()),
        _ => None,
    });
}

#[test]
fn pace_is_told_for_both_kinds() {
    let fake = Fake::stage(&cards(1, ""));
    let mut stream = Stream::start(&fake.path);
    for wanted in [ProbeKind::Memory, ProbeKind::Processes] {
        stream.next("a pace", |body| match body {
            SampleBody::Health(Health::Pace { kind, backed_off: false, .. }) if *kind == wanted => Some(()),
            _ => None,
        });
    }
}

#[test]
fn a_slow_driver_is_asked_less_often_and_that_is_told() {
    let fake = Fake::stage(&cards(
        1,
        r#"
[driver]
latency = "20ms"
"#,
    ));
    let mut stream = Stream::start(&fake.path);
    let asked = stream.next("backing off", |body| match body {
        SampleBody::Health(Health::Pace { kind: ProbeKind::Memory, backed_off: true, asked, .. }) => Some(*asked),
        _ => None,
    });
    assert!(asked.0 >= 50 * 20_000, "{asked}");
}

#[test]
fn an_idle_card_is_left_alone() {
    let fake = Fake::stage(
        r#"
title = "Nobody here"
[[device]]
name = "NVIDIA H100 80GB HBM3"
total = "81559MiB"
reserved = "479MiB"
overhead = "9MiB"
"#,
    );
    let mut stream = Stream::start(&fake.path);
    stream.next("easing", |body| match body {
        SampleBody::Health(Health::Pace { kind: ProbeKind::Memory, asked, .. }) if asked.0 == 1_000_000 => Some(()),
        _ => None,
    });
    assert_eq!(stream.holders(0), Ok(Vec::new()), "an empty list, not a missing one");
}

#[test]
fn invisible_processes_are_unknown_and_not_mine() {
    let fake = Fake::stage(&cards(1, ""));
    let mut stream = Stream::start(&fake.path);
    let process = stream.next("a process", |body| match body {
        SampleBody::Process(process) => Some(process.clone()),
        _ => None,
    });
    assert_eq!((process.key.pid.0, process.relation), (61_000, Relation::Unknown));
    assert!(process.command.is_err() && process.key.start.is_none());
}

#[test]
fn load_of_processes_is_read_and_nothing_running_is_no_error() {
    let fake = Fake::stage("eight");
    let mut stream = Stream::start(&fake.path);
    let usage = stream.next("load", |body| match body {
        SampleBody::Usage(usage) if !usage.processes.is_empty() => Some(usage.clone()),
        _ => None,
    });
    assert!(usage.utilization.is_ok() && usage.temperature.is_ok() && usage.power.is_ok(), "{usage:?}");
    assert!(usage.processes.iter().all(|process| process.gpu.is_ok()), "{usage:?}");
    let fake = Fake::stage(&cards(
        1,
        r#"
[[fault]]
call = "nvmlDeviceGetProcessUtilization"
error = "not_found"
"#,
    ));
    let mut stream = Stream::start(&fake.path);
    let usage = stream.next("load", |body| match body {
        SampleBody::Usage(usage) => Some(usage.clone()),
        _ => None,
    });
    assert_eq!(usage.processes.first().map(|process| process.gpu.clone()), Some(Ok(0.0)));
}

#[test]
fn gpus_are_chosen_by_index_and_uuid_and_unknown_ones_are_the_users_error() {
    let fake = Fake::stage(&cards(3, ""));
    let start = |gpus: &[&str]| {
        let gpus = gpus.iter().map(|name| (*name).to_owned()).collect();
        Stream::with(NvmlOptions { lib: Some(fake.path.clone()), gpus, ..NvmlOptions::default() })
    };
    let mut stream = start(&["2"]);
    stream.opened().expect("card 2");
    let id = stream.device(2).id.clone();
    let mut stream = start(&[&id.0]);
    stream.opened().expect("card 2 by its UUID");
    assert_eq!(stream.device(2).id, id);
    assert!(stream.seen.iter().all(|sample| !matches!(&sample.body, SampleBody::Device(device) if device.gpu != Gpu(2))));
    for name in ["7", "GPU-ffffffff", "x"] {
        let error = start(&[name]).opened().expect_err(name);
        assert_eq!(error.kind, SourceErrorKind::Setting("gpus"));
        assert!(error.to_string().contains(name), "{error}");
    }
}

#[test]
fn what_is_no_driver_is_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let text = dir.path().join("libtext.so");
    fs::write(&text, "not a library").unwrap();
    let missing = dir.path().join("nowhere.so");
    let mut told = Vec::new();
    for (path, words) in [(missing.as_path(), "no file"), (text.as_path(), "is no library"), (dir.path(), "directory")] {
        told.push((words.to_owned(), Stream::start(path).opened()));
    }
    let without_init = Fake::stage(&cards(1, "[driver]\nmissing_symbols = [\"nvmlInit_v2\"]\n"));
    told.push(("no NVML library".into(), Stream::start(&without_init.path).opened()));
    for (error, words) in
        [("driver_not_loaded", "not loaded"), ("lib_rm_version_mismatch", "version mismatch"), ("no_permission", "permission")]
    {
        let fake = Fake::stage(&cards(1, &format!("[driver]\ninit_error = \"{error}\"\n")));
        told.push((words.into(), Stream::start(&fake.path).opened()));
    }
    let closed = Fake::stage(&cards(2, "[[fault]]\ncall = \"nvmlDeviceGetHandleByIndex_v2\"\nerror = \"no_permission\"\n"));
    told.push(("Insufficient Permissions".into(), Stream::start(&closed.path).opened()));
    for (words, opened) in told {
        let error = opened.expect_err(&words);
        assert_eq!(error.kind, SourceErrorKind::Driver);
        assert!(error.why.contains(&words), "{words}: {error}");
        assert!(error.fix.contains("vramscope demo"), "{error}");
    }
}

#[test]
fn one_card_that_is_not_for_me_leaves_the_others() {
    let scenario = cards(2, "[[fault]]\ncall = \"nvmlDeviceGetHandleByIndex_v2\"\ndevice = 1\nerror = \"no_permission\"\n");
    let fake = Fake::stage(&scenario);
    let mut stream = Stream::start(&fake.path);
    stream.opened().expect("card 0 is usable");
    assert!(stream.device(1).name.is_err(), "it has a row all the same");
    assert!(stream.memory(0).is_ok());
    assert!(
        stream
            .seen
            .iter()
            .any(|sample| { matches!(sample.body, SampleBody::State { gpu: Some(Gpu(1)), state: DeviceState::Failed, .. }) })
    );
}
