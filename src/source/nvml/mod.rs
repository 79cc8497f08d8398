//! Live NVIDIA devices through `libnvidia-ml`.
//!
//! One thread opens the library (`open`; its init can hang), then each device has two: `mem:N` attaches and reads memory,
//! `proc:N` reads lists and load. None is ever joined, and the library is never shut down: a call may not return.

mod accounting;
mod calls;
mod card;
mod facts;
mod fault;
mod fleet;
mod lists;
mod load;
mod memory;
mod mig;
mod processes;
mod raw;
mod rows;
mod select;
mod usage;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;

use nvml_wrapper::Nvml;

use crate::domain::cuda::Visible;
use crate::domain::{Device, DeviceId, Gpu, Header, MemoryKind, Missing, Period, Pid, Reading, SampleBody, Timestamp, text};
use crate::sampler::{Beat, Caller, Clock, Condition, Pacing, SampleSender, Studio, Watchdog, worker};
use crate::source::host::people::People;
use crate::source::host::root::Root;
use crate::source::host::signals::Pidfds;
use crate::source::host::watch::Watch;
use crate::source::host::who::{self, Cards, WhoProbe};
use crate::source::host::{self, HostProbe};
use crate::source::{Source, SourceError, SourceHandle};
use calls::{Call, NAMES};
use card::Card;
use fault::Fault;
use fleet::Fleet;

/// A device that has not answered after this long is introduced without its facts, and the source counts as open.
const PATIENCE: Period = Period::secs(1);

/// Whether a library may have been opened in this process.
static STARTED: AtomicBool = AtomicBool::new(false);

/// Ends the process at once with this exit code if a library may have been opened; does nothing otherwise.
///
/// Returning from `main` runs the destructors of every loaded library. Those of the driver's library may wait for a lock that a
/// thread within a call holds, and a call may never return; one that does return would find the library torn down.
pub fn leave(code: u8) {
    if STARTED.load(Ordering::Acquire) {
        raw::end_process(code);
    }
}

/// What the user asked for.
#[derive(Clone, Debug)]
pub struct NvmlOptions {
    /// The library; none for the installed one.
    pub lib: Option<PathBuf>,
    /// Indices, UUIDs or beginnings of UUIDs; all devices where empty.
    pub gpus: Vec<String>,
    /// What CUDA is shown, where that alone is wanted.
    pub visible: Option<Visible>,
    /// How often memory is read; none adapts it to what goes on.
    pub memory_interval: Option<Period>,
    /// How often process lists are read.
    pub process_interval: Period,
    /// The heads of the process trees that are watched as the job.
    pub watched: Vec<Pid>,
    /// Where the system's files are; tests bring their own.
    pub root: Root,
}

impl Default for NvmlOptions {
    fn default() -> Self {
        Self {
            lib: None,
            gpus: Vec::new(),
            visible: None,
            memory_interval: None,
            process_interval: Period::secs(1),
            watched: Vec::new(),
            root: Root::default(),
        }
    }
}

/// The live source.
#[derive(Clone, Debug, Default)]
pub struct NvmlSource {
    /// What to read.
    pub options: NvmlOptions,
}

impl Source for NvmlSource {
    fn start(self: Box<Self>, samples: SampleSender) -> SourceHandle {
        STARTED.store(true, Ordering::Release);
        let clock = Clock::start();
        let stop = Arc::new(AtomicBool::new(false));
        let studio = Studio { clock, samples, stop: Arc::clone(&stop) };
        let root = self.options.root.clone();
        let pids: Vec<u32> = self.options.watched.iter().map(|pid| pid.0).collect();
        let (watch, missing) = match Watch::new(&root, &pids) {
            Ok(watch) => (watch, None),
            Err(pid) => (Watch::default(), Some(pid)),
        };
        let people = Arc::new(People::new(clock, root, watch));
        let header = Header {
            created: clock.created(),
            source: "nvml".into(),
            simulated: false,
            host: host::name(),
            driver: Err(Missing::Pending),
            cuda: Err(Missing::Pending),
            me: Some(people.me()),
            foreign_pids: people.has_foreign_pids(),
        };
        studio.send(Timestamp::ZERO, SampleBody::Header(Arc::new(header.clone())));
        let (opened, receiver) = channel();
        if let Some(pid) = missing {
            // Nobody may wait for it any more.
            let _ = opened.send(Err(SourceError::unwatchable(Pid(pid))));
            return SourceHandle {
                opened: receiver,
                stop,
                now: Arc::new(move || clock.now()),
                signaller: Box::new(Pidfds::default()),
            };
        }
        let opening = Opening { options: self.options, studio, people, header };
        let failed = opened.clone();
        if let Err(error) = thread::Builder::new().name("open".into()).spawn(move || opening.run(&opened)) {
            let _ = failed.send(Err(load::no_device(format!("no thread can be started: {error}"), false)));
        }
        SourceHandle { opened: receiver, stop, now: Arc::new(move || clock.now()), signaller: Box::new(Pidfds::default()) }
    }
}

/// The work of the thread `open`.
struct Opening {
    options: NvmlOptions,
    studio: Studio,
    people: Arc<People>,
    header: Header,
}

impl Opening {
    fn run(mut self, opened: &Sender<Result<(), SourceError>>) {
        let result = self.open();
        // Nobody may wait for it any more.
        let _ = opened.send(result);
    }

    fn open(&mut self) -> Result<(), SourceError> {
        let watchdog = Watchdog::default();
        let no_thread = |error: std::io::Error| load::no_device(format!("no thread can be started: {error}"), false);
        watchdog.start(self.studio.clock, Arc::clone(&self.studio.stop)).map_err(no_thread)?;
        let cards_known = Arc::new(Cards::default());
        self.start_host(&cards_known).map_err(no_thread)?;
        let driver = Arc::new(Condition::new(None, self.studio.samples.clone()));
        let mut caller = Caller::new(self.studio.clock, driver, &watchdog, NAMES, false);
        let nvml = load::open(self.options.lib.as_deref(), &mut caller)?;
        let count = caller.call(Call::Count as u8, || nvml.device_count()).map_err(|error| {
            let fault = Fault::of(Call::Count)(error);
            load::no_device(fault.words(), fault.is_denied())
        })?;
        if count == 0 {
            return Err(load::no_device("the driver is loaded, but has no device".into(), false));
        }
        let wanted = select::indices(&mut caller, nvml, count, &self.options.gpus)?;
        let (wanted, seen) = select::visible(&mut caller, nvml, count, wanted, self.options.visible.as_ref())?;
        let (attached, answers) = channel();
        let intervals = (self.options.memory_interval, self.options.process_interval);
        let fleet = Arc::new(
            Fleet::new(nvml, self.studio.clone(), watchdog, (Arc::clone(&self.people), cards_known), intervals, count, attached)
                .showing(seen),
        );
        let cards: Vec<Arc<Card>> =
            wanted.iter().map(|index| Arc::new(Card::new(self.studio.clone(), unknown(*index)))).collect();
        for card in &cards {
            fleet.start_memory(card);
        }
        self.tell_versions(&mut caller, nvml, &fleet);
        self.wait(&answers, &cards)?;
        // In the order of their GPUs, so that the keys of instances are the same at every start.
        for card in cards.iter().filter(|card| card.mig.load(Ordering::Acquire)) {
            if let Some(handle) = card.handle()
                && let Err(fault) = mig::refresh(&mut caller, &fleet, card, &handle)
            {
                card.fail(&handle, fault, caller.now());
            }
        }
        fleet.finish_opening();
        // Those that waited for their instances, and what was attached since.
        for card in cards.iter().filter(|card| card.is_attached()) {
            fleet.start_processes(card);
        }
        if fleet.cards.open() {
            self.people.poke().poke();
        }
        Ok(())
    }

    /// Host memory and processes have nothing to do with the driver: they are there while the driver hangs.
    fn start_host(&self, cards: &Arc<Cards>) -> std::io::Result<()> {
        let beat = |interval, spacing, poke| Beat {
            pacing: Pacing::fixed(interval),
            offset: Period::ZERO,
            spacing,
            poke,
            told_as: None,
        };
        let (studio, people) = (self.studio.clone(), Arc::clone(&self.people));
        let host = move || HostProbe::new(studio.clone(), Arc::clone(&people));
        worker::spawn("host", self.studio.clone(), beat(host::INTERVAL, Period::ZERO, Arc::default()), host)?;
        let (studio, people, cards) = (self.studio.clone(), Arc::clone(&self.people), Arc::clone(cards));
        let who = move || WhoProbe::new(studio.clone(), Arc::clone(&people), Arc::clone(&cards));
        worker::spawn("who", self.studio.clone(), beat(who::TURN, who::SPACING, self.people.poke()), who)
    }

    fn tell_versions(&mut self, caller: &mut Caller, nvml: &'static Nvml, fleet: &Fleet) {
        let driver: Reading<Arc<str>> = caller
            .call(Call::DriverVersion as u8, || nvml.sys_driver_version())
            .map(|version| text::clean(&version, 80).into())
            .map_err(|error| Fault::of(Call::DriverVersion)(error).missing());
        if let Ok(version) = &driver {
            fleet.set_driver(Arc::clone(version));
        }
        self.header.driver = driver;
        self.header.cuda = caller
            .call(Call::CudaVersion as u8, || nvml.sys_cuda_driver_version())
            .map(|version| {
                let (major, minor) =
                    (nvml_wrapper::cuda_driver_version_major(version), nvml_wrapper::cuda_driver_version_minor(version));
                format!("{major}.{minor}").into()
            })
            .map_err(|error| Fault::of(Call::CudaVersion)(error).missing());
        self.studio.send(caller.now(), SampleBody::Header(Arc::new(self.header.clone())));
    }

    /// Waits until each device has answered or had its time. Those that did not are introduced by their index.
    fn wait(
        &self,
        answers: &std::sync::mpsc::Receiver<(Gpu, Result<(), Fault>)>,
        cards: &[Arc<Card>],
    ) -> Result<(), SourceError> {
        let until = self.studio.clock.now() + PATIENCE;
        let mut silent: Vec<&Arc<Card>> = cards.iter().collect();
        let mut failed = Vec::new();
        while !silent.is_empty() {
            let left = until.since(self.studio.clock.now());
            let Ok((gpu, found)) = answers.recv_timeout(left.std()) else { break };
            silent.retain(|card| card.gpu != gpu);
            if let Err(fault) = found {
                failed.push((gpu, fault));
            }
        }
        if let Some((_, fault)) = failed.iter().find(|_| failed.len() == cards.len()) {
            return Err(load::no_device(fault.words(), fault.is_denied()));
        }
        for card in cards.iter().filter(|card| !card.is_attached()) {
            card.introduce();
        }
        Ok(())
    }
}

/// A device of which only the index is known.
fn unknown(index: u32) -> Device {
    Device {
        gpu: Gpu(index),
        id: DeviceId(format!("unknown-{index}").into()),
        index: Some(index),
        pci: Err(Missing::Pending),
        name: Err(Missing::Pending),
        memory: MemoryKind::Dedicated,
        total: Err(Missing::Pending),
        parent: None,
    }
}
