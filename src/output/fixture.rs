//! A node on which much is missing, for the tests of both documents.

use std::sync::Arc;

use crate::domain::{
    Bytes, Device, DeviceId, DeviceState, Gpu, Header, Health, Holder, HolderKind, HostMemory, MemoryFigures, MemoryKind,
    Missing, Monitor, Pid, Process, ProcessKey, Relation, Sample, SampleBody, Snapshot, Timestamp, Usage, Wall,
};

/// The stream's clock when the documents are made.
pub(super) const NOW: Timestamp = Timestamp::millis(3_250);

fn device(gpu: u32, parent: Option<&str>, name: &str) -> SampleBody {
    SampleBody::Device(Arc::new(Device {
        gpu: Gpu(gpu),
        id: DeviceId(format!("{}-{gpu}", if parent.is_some() { "MIG" } else { "GPU" }).into()),
        index: parent.is_none().then_some(gpu),
        pci: Ok(format!("0000:0{gpu}:00.0").into()),
        name: Ok(name.into()),
        memory: MemoryKind::Dedicated,
        total: Ok(Bytes::gib(80)),
        parent: parent.map(|id| DeviceId(id.into())),
    }))
}

fn memory(gpu: u32, free_mib: u64, reserved_mib: Option<u64>) -> SampleBody {
    let figures = MemoryFigures { total: Bytes::gib(80), free: Bytes::mib(free_mib), reserved: reserved_mib.map(Bytes::mib) };
    SampleBody::Memory { gpu: Gpu(gpu), figures: Ok(figures) }
}

fn holder(pid: u32, mib: u64, instance: Option<u32>) -> Holder {
    Holder { pid: Pid(pid), used: Ok(Bytes::mib(mib)), kind: HolderKind::C, instance: instance.map(Gpu) }
}

fn process(pid: u32, user: &str, relation: Relation, command: &str) -> SampleBody {
    SampleBody::Process(Arc::new(Process {
        key: ProcessKey { pid: Pid(pid), start: Some(u64::from(pid) * 100) },
        started: Ok(Wall(1_796_047_100_000_000)),
        ppid: Ok(Pid(1)),
        user: Ok(user.into()),
        uid: Ok(1000),
        relation,
        command: Ok(command.into()),
        container: None,
        job: None,
        details: None,
    }))
}

fn usage(gpu: u32, power: Result<f32, Missing>) -> SampleBody {
    let usage = Usage { gpu: Gpu(gpu), utilization: Ok(97.0), temperature: Ok(61.0), power, processes: vec![] };
    SampleBody::Usage(Arc::new(usage))
}

/// Card 0 is well, card 1 lost, card 2 an old driver's with an unreadable list, card 3 has MIG, instance 4 is its.
pub(super) fn snapshot() -> Snapshot {
    let header = Header {
        created: Wall(1_796_047_200_000_000),
        source: "nvml".into(),
        simulated: true,
        host: Some("node17".into()),
        driver: Ok("570.86.15".into()),
        cuda: Ok("12.8".into()),
        me: Some("user1".into()),
        foreign_pids: false,
    };
    let host =
        HostMemory { total: Bytes::gib(1000), available: Bytes::gib(900), swap_used: Bytes::mib(512), swap_total: Bytes::gib(8) };
    let card = "NVIDIA H100 80GB HBM3";
    let list = |gpu, holders: Vec<Holder>| SampleBody::Holders { gpu: Gpu(gpu), list: Ok(holders.into()) };
    let command = "python train.py --batch-size 64 --model /data/models/a-name-that-goes-on-and-on --epochs 100";
    let samples = [
        SampleBody::Header(Arc::new(header)),
        SampleBody::Host(host),
        device(0, None, card),
        device(1, None, card),
        device(2, None, "Tesla K80"),
        device(3, None, "NVIDIA A100"),
        device(4, Some("GPU-3"), "1g.10gb"),
        process(4242, "user1", Relation::Mine, command),
        process(812, "a-very-long-user-name", Relation::Foreign, "python -m Übung"),
        list(0, vec![holder(4242, 44_000, None), holder(812, 12_300, None), holder(77, 3, None)]),
        memory(0, 20_480, Some(479)),
        usage(0, Ok(512.5)),
        memory(1, 4096, Some(479)),
        SampleBody::Memory { gpu: Gpu(1), figures: Err(Missing::Lost("nvmlDeviceGetMemoryInfo_v2: GPU is lost".into())) },
        SampleBody::State { gpu: Some(Gpu(1)), state: DeviceState::Lost, call: Some("nvmlDeviceGetMemoryInfo_v2"), since: NOW },
        SampleBody::Holders { gpu: Gpu(2), list: Err(Missing::Denied("nvmlDeviceGetComputeRunningProcesses".into())) },
        memory(2, 1024, None),
        usage(2, Err(Missing::Unsupported("nvmlDeviceGetPowerUsage".into()))),
        list(3, vec![holder(812, 600, Some(4))]),
        memory(3, 80_000, Some(479)),
        usage(3, Ok(70.0)),
        list(4, vec![holder(812, 600, None)]),
        memory(4, 81_300, Some(0)),
        usage(4, Err(Missing::Unsupported("MIG".into()))),
        SampleBody::Health(Health::Problem {
            gpu: Some(Gpu(2)),
            what: "process names".into(),
            why: "this is a container without the host's PIDs".into(),
            fix: "run it with --pid=host".into(),
        }),
    ];
    let mut monitor = Monitor::new();
    for (n, body) in samples.into_iter().enumerate() {
        monitor.ingest(&Sample { t: Timestamp::millis(3_000 + n as u64), body });
    }
    monitor.snapshot()
}
