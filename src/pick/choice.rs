//! Which devices fit, in which order, and which one nearly does.

use super::Settle;
use super::leases::Holders;
use crate::domain::{Bytes, DeviceId, DeviceState, DeviceView, Gpu, HolderView, MemoryKind, Missing, Period, Relation, Snapshot};

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Wish {
    /// What a new job needs on each.
    pub need: Bytes,
    /// What it takes beside that: the context of the driver.
    pub margin: Bytes,
    /// How many.
    pub count: usize,
}

impl Wish {
    /// The headroom that one device must have.
    pub fn headroom(&self) -> Bytes {
        self.need.saturating_add(self.margin)
    }
}

/// A device that answers.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Its identity: what goes into the variable.
    pub id: DeviceId,
    /// Its key.
    pub gpu: Gpu,
    /// The least headroom of the last seconds.
    pub lasted: Bytes,
    /// Whether no process of others holds memory there.
    pub free_of_others: bool,
    /// Whether what is used there has not moved lately.
    pub flat: bool,
    /// A MIG instance.
    pub is_instance: bool,
    /// The processes that hold memory there, where that is known.
    pub holders: Option<Holders>,
    /// Who holds most, in words.
    most: Option<String>,
}

/// All devices at one moment.
#[derive(Clone, Debug, Default)]
pub struct Board {
    /// Those that answer, the best first: free of other users' processes, then flat, then by headroom, then by their key.
    pub candidates: Vec<Candidate>,
    /// Those of which nothing can be said, and why.
    pub silent: Vec<(Gpu, String)>,
    /// Whether some device may still answer.
    pub pending: bool,
    /// Whether the driver does not return from a call.
    pub stalled: bool,
}

/// What moved less than this, within [`FLAT_FOR`], is flat.
const FLAT: Bytes = Bytes::mib(64);
/// How far back is looked for movement.
const FLAT_FOR: Period = Period::secs(30);

impl Board {
    /// The devices of a picture. GPUs that are cut into instances are none: CUDA sees their instances alone.
    pub fn of(snapshot: &Snapshot, settle: &Settle) -> Self {
        let mut board = Self { stalled: snapshot.driver_stall.is_some(), ..Self::default() };
        let is_parent =
            |view: &DeviceView| snapshot.devices.iter().any(|other| other.device.parent.as_ref() == Some(&view.device.id));
        for view in snapshot.devices.iter().filter(|view| !is_parent(view)) {
            let (gpu, state) = (view.gpu(), view.state);
            let unread = view.memory.as_ref().err().filter(|_| view.device.memory != MemoryKind::Unified);
            let unlisted = view.holders.as_ref().is_err_and(|missing| *missing == Missing::Pending);
            let lasted = settle.lasted(gpu).filter(|_| !unlisted);
            match (state, unread, lasted) {
                (DeviceState::Ok, None, Some(lasted)) if is_plain(&view.device.id) => {
                    board.candidates.push(Candidate::of(view, lasted, snapshot));
                }
                (DeviceState::Stalled, ..) => {
                    board.stalled = true;
                    let call =
                        view.call.map_or_else(|| "it does not answer".to_owned(), |call| format!("{call} has not returned"));
                    board.silent.push((gpu, call));
                }
                (DeviceState::Ok, None | Some(Missing::Pending), None) => {
                    board.pending = true;
                    board.silent.push((gpu, "not watched for long enough yet".to_owned()));
                }
                (_, Some(missing), _) => board.silent.push((gpu, missing.to_string())),
                (state, ..) => board.silent.push((gpu, state.to_string())),
            }
        }
        board.candidates.sort_by_key(|one| (!one.free_of_others, !one.flat, std::cmp::Reverse(one.lasted), one.gpu));
        board
    }

    /// Those that have what is asked for, the best first. CUDA sees one MIG instance and then nothing else, so that where
    /// several are asked for, instances are left out.
    pub fn fitting(&self, wish: &Wish) -> impl Iterator<Item = &Candidate> {
        let (headroom, alone) = (wish.headroom(), wish.count == 1);
        self.candidates.iter().filter(move |one| one.lasted >= headroom && (alone || !one.is_instance))
    }

    /// Why not, in words: the device that comes nearest, or how many there would be. `taken` are leased by others.
    pub fn miss(&self, wish: &Wish, taken: &[(Gpu, u32)]) -> String {
        let (needed, fitting) = (wish.headroom(), self.fitting(wish).count());
        let sum = format!("({} and a margin of {})", wish.need, wish.margin);
        let mut first = vec![match wish.count {
            1 => format!("no GPU has {needed} to spare {sum}"),
            count => format!("{fitting} of the {count} GPUs asked for have {needed} to spare {sum}"),
        }];
        first.extend(taken.iter().map(|(gpu, pid)| format!("GPU {gpu} has, but another pick (pid {pid}) took it")));
        let mut lines = vec![first.join("; ")];
        let nearest = self.candidates.iter().filter(|one| one.lasted < needed && (wish.count == 1 || !one.is_instance));
        if let Some(one) = nearest.max_by_key(|one| (one.lasted, std::cmp::Reverse(one.gpu))) {
            let most = one.most.as_ref().map_or_else(String::new, |most| format!("; {most} there"));
            lines.push(format!("nearest: GPU {} has {} of the {needed} needed{most}", one.gpu, one.lasted));
        } else if wish.count > 1 && self.candidates.iter().any(|one| one.is_instance) {
            lines.push(
                "MIG instances do not count: CUDA sees one of them alone, so that they can be picked with --count 1".to_owned(),
            );
        }
        lines.extend(self.silent.iter().map(|(gpu, why)| format!("GPU {gpu}: {why}")));
        lines.join("\n")
    }
}

impl Candidate {
    fn of(view: &DeviceView, lasted: Bytes, snapshot: &Snapshot) -> Self {
        let holders = view.holders.as_deref().unwrap_or_default();
        let is_foreign =
            |holder: &&std::sync::Arc<HolderView>| matches!(holder.relation(), Relation::Foreign | Relation::Unknown);
        let moved = view.series.span(snapshot.at.back(FLAT_FOR), FLAT_FOR, snapshot.at);
        Self {
            id: view.device.id.clone(),
            gpu: view.gpu(),
            lasted,
            // A list that can't be read may hide anybody.
            free_of_others: view.holders.is_ok() && !holders.iter().any(|holder| is_foreign(&holder)),
            flat: moved.max().zip(moved.min()).is_some_and(|(max, min)| max.saturating_sub(min) < FLAT),
            is_instance: view.device.parent.is_some(),
            holders: view
                .holders_at
                .filter(|_| view.holders.is_ok())
                .map(|at| Holders { pids: holders.iter().map(|holder| holder.pid().0).collect(), age: snapshot.at.since(at) }),
            // The list is sorted by size: those of others first, since they are who to ask.
            most: holders.iter().find(is_foreign).or_else(|| holders.first()).map(|holder| who(holder)),
        }
    }
}

/// `user2's pid 812 holds 12.3 GiB`.
fn who(holder: &HolderView) -> String {
    let user = holder.process.as_ref().and_then(|process| process.user.as_deref().ok());
    let whose = match (holder.relation(), user) {
        (Relation::Mine | Relation::Job, _) => "your ".to_owned(),
        (_, Some(user)) => format!("{user}'s "),
        (_, None) => String::new(),
    };
    let size = holder.used().map_or_else(|| "memory of unknown size".to_owned(), |used| used.to_string());
    format!("{whose}pid {} holds {size}", holder.pid())
}

/// Whether an identity is one that can stand in a variable of the shell as it is.
fn is_plain(id: &DeviceId) -> bool {
    (id.0.starts_with("GPU-") || id.0.starts_with("MIG-"))
        && id.0.bytes().all(|b| b.is_ascii_alphanumeric() || b"-/".contains(&b))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::domain::{
        Device, Holder, HolderKind, MemoryFigures, Monitor, Pid, Process, ProcessKey, Sample, SampleBody, Timestamp,
    };

    /// A device: its key, GiB free, whether its use moves, and whose processes hold memory there.
    type Case = (u32, u64, bool, &'static [Relation]);

    fn board(cases: &[Case], parents: &[(u32, u32)]) -> Board {
        let (mut monitor, mut settle) = (Monitor::new(), Settle::default());
        let mut send = |ms: u64, body: SampleBody| {
            let sample = Sample { t: Timestamp::millis(ms), body };
            settle.observe(&sample);
            monitor.ingest(&sample);
        };
        let id = |gpu: u32| DeviceId(format!("GPU-{gpu}").into());
        for &(gpu, free, moves, holders) in cases {
            let parent = parents.iter().find(|(of, _)| *of == gpu).map(|(_, parent)| id(*parent));
            let device = Device {
                gpu: Gpu(gpu),
                id: id(gpu),
                index: Some(gpu),
                pci: Err(Missing::Pending),
                name: Ok("card".into()),
                memory: MemoryKind::Dedicated,
                total: Ok(Bytes::gib(80)),
                parent,
            };
            send(0, SampleBody::Device(Arc::new(device)));
            for ms in (0..=3_000).step_by(500) {
                let list: Arc<[Holder]> = holders
                    .iter()
                    .zip(100 * gpu..)
                    .map(|(_, pid)| Holder { pid: Pid(pid), used: Ok(Bytes::gib(4)), kind: HolderKind::C, instance: None })
                    .collect();
                for (relation, holder) in holders.iter().zip(list.iter()) {
                    let process = Process {
                        key: ProcessKey { pid: holder.pid, start: Some(1) },
                        started: Err(Missing::Pending),
                        ppid: Err(Missing::Pending),
                        user: Ok("user2".into()),
                        uid: Ok(1001),
                        relation: *relation,
                        command: Err(Missing::Pending),
                        container: None,
                        job: None,
                        details: None,
                    };
                    send(ms, SampleBody::Process(Arc::new(process)));
                }
                send(ms, SampleBody::Holders { gpu: Gpu(gpu), list: Ok(list) });
                let free = Bytes::gib(free + u64::from(moves && ms % 1_000 == 0));
                let figures = MemoryFigures { total: Bytes::gib(80), free, reserved: None };
                send(ms, SampleBody::Memory { gpu: Gpu(gpu), figures: Ok(figures) });
            }
        }
        Board::of(&monitor.snapshot(), &settle)
    }

    #[test]
    fn those_free_of_others_come_first_then_the_flat_then_the_roomiest() {
        let (none, foreign, mine) = (&[][..], &[Relation::Foreign][..], &[Relation::Mine][..]);
        let cards =
            [(0, 70, false, foreign), (1, 40, true, none), (2, 30, false, mine), (3, 50, false, none), (4, 50, false, none)];
        let board = board(&cards, &[]);
        let order = |need: u64| -> Vec<u32> {
            let wish = Wish { need: Bytes::gib(need), margin: Bytes::ZERO, count: 1 };
            board.fitting(&wish).map(|one| one.gpu.0).collect()
        };
        assert_eq!(order(20), [3, 4, 2, 1, 0]);
        assert_eq!(order(50), [3, 4, 0]);
        assert_eq!(order(51), [0]);
        assert_eq!(order(71), [] as [u32; 0]);
    }

    #[test]
    fn the_margin_counts_and_the_nearest_miss_is_named() {
        let board = board(&[(0, 20, false, &[Relation::Foreign]), (3, 19, false, &[])], &[]);
        let wish = Wish { need: Bytes::gib(20), margin: Bytes::mib(512), count: 1 };
        assert_eq!(board.fitting(&wish).count(), 0);
        let miss = board.miss(&wish, &[]);
        assert!(miss.contains("20.5 GiB to spare (20.0 GiB and a margin of 512 MiB)"), "{miss}");
        assert!(
            miss.contains("nearest: GPU 0 has 20.0 GiB of the 20.5 GiB needed; user2's pid 0 holds 4.00 GiB there"),
            "{miss}"
        );
        let miss = board.miss(&wish, &[(Gpu(7), 4242)]);
        assert!(miss.contains("GPU 7 has, but another pick (pid 4242) took it"), "{miss}");
    }

    #[test]
    fn instances_stand_for_their_gpu_and_never_beside_others() {
        let board =
            board(&[(0, 70, false, &[]), (1, 60, false, &[]), (2, 30, false, &[]), (3, 20, false, &[])], &[(2, 1), (3, 1)]);
        let gpus = |need: u64, count| -> Vec<u32> {
            board.fitting(&Wish { need: Bytes::gib(need), margin: Bytes::ZERO, count }).map(|one| one.gpu.0).collect()
        };
        assert_eq!(gpus(10, 1), [0, 2, 3], "a GPU that is cut up is none");
        assert_eq!(gpus(10, 2), [0], "CUDA sees an instance alone");
        let miss = board.miss(&Wish { need: Bytes::gib(10), margin: Bytes::ZERO, count: 2 }, &[]);
        assert!(miss.contains("1 of the 2 GPUs") && miss.contains("MIG instances do not count"), "{miss}");
    }
}
