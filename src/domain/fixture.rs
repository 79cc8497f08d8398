//! A stream about cards of 80 GiB, for tests.

use std::sync::Arc;

use super::{
    Bytes, Device, DeviceId, DeviceView, Gpu, Holder, HolderKind, Job, MemoryFigures, MemoryKind, Missing, Monitor, Pid, Process,
    ProcessKey, Relation, Sample, SampleBody, Snapshot, Timestamp, Wall,
};

/// The card that the short methods are about.
pub(super) const GPU: Gpu = Gpu(0);

/// Pushes samples into a monitor.
pub(super) struct Stream {
    /// What they made of it.
    pub(super) monitor: Monitor,
}

impl Stream {
    /// One card.
    pub(super) fn new(memory: MemoryKind) -> Self {
        let mut stream = Self { monitor: Monitor::new() };
        stream.device("GPU-a", memory);
        stream
    }

    pub(super) fn at(&mut self, ms: u64, body: SampleBody) -> &mut Self {
        self.monitor.ingest(&Sample { t: Timestamp::millis(ms), body });
        self
    }

    pub(super) fn device(&mut self, id: &str, memory: MemoryKind) -> &mut Self {
        self.bind(GPU, id, memory)
    }

    /// One more card.
    pub(super) fn card(&mut self, gpu: u32, id: &str) -> &mut Self {
        self.bind(Gpu(gpu), id, MemoryKind::Dedicated)
    }

    fn bind(&mut self, gpu: Gpu, id: &str, memory: MemoryKind) -> &mut Self {
        self.at(
            0,
            SampleBody::Device(Arc::new(Device {
                gpu,
                id: DeviceId(Arc::from(id)),
                index: Some(gpu.0),
                pci: Err(Missing::Pending),
                name: Ok(Arc::from("H100")),
                memory,
                total: Ok(Bytes::gib(80)),
                parent: None,
            })),
        )
    }

    pub(super) fn process(&mut self, pid: u32, start: u64, uid: u32) -> &mut Self {
        self.person(pid, start, uid, None)
    }

    /// A process of the job that `leader` leads.
    pub(super) fn member(&mut self, pid: u32, leader: u32, launcher: &str) -> &mut Self {
        let job = Job {
            leader: ProcessKey { pid: Pid(leader), start: Some(1) },
            launcher: launcher.into(),
            command: Ok("torchrun train.py".into()),
        };
        self.person(pid, 1, 1000, Some(Arc::new(job)))
    }

    fn person(&mut self, pid: u32, start: u64, uid: u32, job: Option<Arc<Job>>) -> &mut Self {
        self.at(
            0,
            SampleBody::Process(Arc::new(Process {
                key: ProcessKey { pid: Pid(pid), start: Some(start) },
                started: Ok(Wall(0)),
                ppid: Err(Missing::Pending),
                user: Ok(Arc::from("user1")),
                uid: Ok(uid),
                relation: Relation::by_owner(1000, Some(uid)),
                command: Ok(Arc::from("python train.py")),
                container: None,
                job,
                details: None,
            })),
        )
    }

    pub(super) fn memory(&mut self, ms: u64, used_mib: u64) -> &mut Self {
        self.memory_of(GPU.0, ms, used_mib)
    }

    pub(super) fn memory_of(&mut self, gpu: u32, ms: u64, used_mib: u64) -> &mut Self {
        let total = Bytes::gib(80);
        let free = total.saturating_sub(Bytes::mib(used_mib + 479));
        let figures = Ok(MemoryFigures { total, free, reserved: Some(Bytes::mib(479)) });
        self.at(ms, SampleBody::Memory { gpu: Gpu(gpu), figures })
    }

    pub(super) fn holders(&mut self, ms: u64, list: &[(u32, Option<u64>)]) -> &mut Self {
        self.holders_of(GPU.0, ms, list)
    }

    pub(super) fn holders_of(&mut self, gpu: u32, ms: u64, list: &[(u32, Option<u64>)]) -> &mut Self {
        let list = list.iter().map(|(pid, mib)| Holder {
            pid: Pid(*pid),
            used: mib.map(Bytes::mib).ok_or(Missing::Unsupported("WDDM".into())),
            kind: HolderKind::C,
            instance: None,
        });
        self.at(ms, SampleBody::Holders { gpu: Gpu(gpu), list: Ok(list.collect()) })
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        self.monitor.snapshot()
    }

    pub(super) fn view(&self) -> Arc<DeviceView> {
        Arc::clone(self.snapshot().device(GPU).expect("the card"))
    }
}
