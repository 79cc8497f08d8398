//! The simulated node as a source: plays a scenario's stream by the wall clock, faster or slower.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::selection::{Seen, Selection, gpu_of};
use super::{Source, SourceError, SourceErrorKind, SourceHandle};
use crate::domain::cuda::{Unit, Visible};
use crate::domain::{Gpu, Period, Pid, ProcessKey, Refusal, Sample, Sent, Signal, Signaller, Timestamp, Wall};
use crate::sampler::{Clock, SampleSender};
use crate::scenario::{Place, Scenario, ScenarioError, Stream, StreamOptions, World};

/// The longest sleep: a source that is stopped ends its thread within this.
const NAP: Period = Period::millis(100);

/// Plays a scenario.
#[derive(Debug)]
pub struct DemoSource {
    world: Arc<World>,
    speed: f64,
    options: StreamOptions,
    /// The devices that are played; none for all.
    chosen: Option<HashSet<Gpu>>,
    /// The heads of the process trees that are watched.
    watched: Vec<Pid>,
}

impl DemoSource {
    /// A source for a scenario; `speed` is how much faster than real it runs, held within 1/1000 and 1000. The
    /// stream's origin is set when it starts.
    pub fn new(scenario: &Scenario, speed: f64, options: StreamOptions) -> Result<Self, ScenarioError> {
        // NaN counts as real time.
        let speed = if speed.is_nan() { 1.0 } else { speed.clamp(1e-3, 1e3) };
        Ok(Self { world: Arc::new(World::new(scenario)?), speed, options, chosen: None, watched: Vec::new() })
    }

    /// Plays the chosen devices alone, and of these those that `visible` shows to CUDA.
    ///
    /// # Errors
    /// The scenario has no such device, or CUDA would see none.
    pub fn choose(mut self, selection: &Selection, visible: Option<&Visible>) -> Result<Self, SourceError> {
        let places = self.world.places();
        let units = units(places);
        let seen = Seen::new(visible, &units)?;
        selection.check(places.iter().map(|place| &*place.device))?;
        let whole = |card: u32| places.iter().find(|place| place.card == card && place.device.parent.is_none());
        let chosen = places.iter().filter(|place| {
            let (id, parent) = (&place.device.id, place.device.parent.as_ref());
            let card = whole(place.card).and_then(|card| card.device.index);
            let is_seen = match parent {
                Some(parent) => seen.has_instance(id, parent),
                None => units.iter().any(|unit| unit.id == *id && seen.has_gpu(unit)),
            };
            is_seen && selection.takes(card, id, parent)
        });
        let chosen: HashSet<Gpu> = chosen.map(|place| place.device.gpu).collect();
        if chosen.is_empty() {
            return Err(Seen::none_left());
        }
        self.chosen = Some(chosen);
        Ok(self)
    }

    /// Watches the trees of these processes as the job.
    ///
    /// # Errors
    /// The scenario has no such process when the viewer comes.
    pub fn watch(mut self, pids: &[Pid]) -> Result<Self, SourceError> {
        let now = Timestamp(self.world.scenario().preroll().0);
        if let Some(pid) = pids.iter().find(|pid| !self.world.has(**pid, now)) {
            return Err(SourceError::unwatchable(*pid));
        }
        self.watched = pids.to_vec();
        Ok(self)
    }
}

/// The cards of a scenario as CUDA sees them.
fn units(places: &[Place]) -> Vec<Unit> {
    let of = |card: &Place| Unit {
        id: card.device.id.clone(),
        index: card.device.index.unwrap_or(card.card),
        model: card.device.name.as_ref().ok().cloned(),
        instances: places
            .iter()
            .filter(|place| place.device.parent.as_ref() == Some(&card.device.id))
            .map(|place| (place.device.id.clone(), place.instance))
            .collect(),
    };
    places.iter().filter(|place| place.device.parent.is_none()).map(of).collect()
}

impl Source for DemoSource {
    fn start(self: Box<Self>, samples: SampleSender) -> SourceHandle {
        let clock = Clock::start();
        let (opened_tx, opened) = sync_channel(1);
        let stop = Arc::new(AtomicBool::new(false));
        let preroll = self.world.scenario().preroll();
        let speed = self.speed;
        let now = move || Timestamp(preroll.0.saturating_add((clock.now().0 as f64 * speed) as u64));
        let created = Wall(clock.created().0.saturating_sub_unsigned(preroll.0));
        let stream = Stream::new(Arc::clone(&self.world), StreamOptions { created, ..self.options }).watching(&self.watched);
        let kills = Kills::default();
        let signaller =
            Simulated { world: Arc::clone(&self.world), now: Box::new(now), kills: Arc::clone(&kills), held: Vec::new() };
        // A driver that hangs while it is opened never says that it is open.
        let opened_tx = (!self.world.driver().init_hang).then_some(opened_tx);
        let stage = Stage { stream, kills, chosen: self.chosen };
        let stopped = Arc::clone(&stop);
        let failed = opened_tx.clone();
        let play = move || play(stage, &samples, &now, speed, &stopped, opened_tx);
        if let Err(error) = thread::Builder::new().name("demo".to_owned()).spawn(play)
            && let Some(failed) = failed
        {
            let what = "the simulated node does not start".to_owned();
            let fix = "free some memory or raise the limit on threads (ulimit -u), then run `vramscope demo` again".to_owned();
            // Nobody may listen any more; then nobody wants to know.
            drop(failed.send(Err(SourceError { kind: SourceErrorKind::Driver, what, why: error.to_string(), fix })));
        }
        SourceHandle { opened, stop, now: Arc::new(now), signaller: Box::new(signaller) }
    }
}

/// Processes that the viewer ended and when; the stream has still to learn of them.
type Kills = Arc<Mutex<Vec<(ProcessKey, Timestamp)>>>;

/// The stream of what is played.
struct Stage {
    stream: Stream,
    kills: Kills,
    chosen: Option<HashSet<Gpu>>,
}

impl Iterator for Stage {
    type Item = Sample;

    fn next(&mut self) -> Option<Sample> {
        let kills = std::mem::take(&mut *self.kills.lock().unwrap_or_else(PoisonError::into_inner));
        for (key, t) in kills {
            self.stream.kill(key, t);
        }
        let chosen = self.chosen.as_ref();
        self.stream.find(|sample| chosen.is_none_or(|chosen| gpu_of(&sample.body).is_none_or(|gpu| chosen.contains(&gpu))))
    }
}

/// Signals the processes of the story, which has no others: no pid of it ever reaches the system.
struct Simulated {
    world: Arc<World>,
    now: Box<dyn Fn() -> Timestamp + Send>,
    kills: Kills,
    held: Vec<ProcessKey>,
}

impl Signaller for Simulated {
    fn hold(&mut self, targets: &[ProcessKey]) -> Vec<Result<(), Refusal>> {
        self.held = targets.to_vec();
        let now = (self.now)();
        targets.iter().map(|target| if self.world.lives(*target, now) { Ok(()) } else { Err(Refusal::Ended) }).collect()
    }

    fn signal(&mut self, signal: Signal) -> Vec<Result<Sent, Refusal>> {
        let now = (self.now)();
        let mut send = |target: ProcessKey| {
            if !self.world.lives(target, now) {
                return Err(Refusal::Ended);
            }
            if !signal.ends() {
                return Ok(Sent::SimulatedNothing);
            }
            // Both know of it from here on: the stream, and what is asked for later.
            Arc::make_mut(&mut self.world).kill(target, now);
            self.kills.lock().unwrap_or_else(PoisonError::into_inner).push((target, now));
            Ok(Sent::SimulatedEnd)
        };
        self.held.clone().into_iter().map(&mut send).collect()
    }
}

/// Pushes the stream's samples when their time has come; those of before the start at once.
fn play(
    stage: Stage,
    samples: &SampleSender,
    now: &dyn Fn() -> Timestamp,
    speed: f64,
    stopped: &AtomicBool,
    mut opened: Option<SyncSender<Result<(), SourceError>>>,
) {
    for sample in stage {
        if sample.t > Timestamp::ZERO
            && let Some(opened) = opened.take()
        {
            drop(opened.send(Ok(())));
        }
        loop {
            if stopped.load(Ordering::Relaxed) {
                return;
            }
            let early = sample.t.since(now());
            if early == Period::ZERO {
                break;
            }
            let real = Period((early.0 as f64 / speed).ceil() as u64);
            thread::sleep(real.min(NAP).std());
        }
        if !samples.send_waiting(sample) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::domain::SampleBody;
    use crate::sampler::channel;

    fn start(name: &str, speed: f64) -> (SourceHandle, crate::sampler::SampleReceiver) {
        let scenario = Scenario::load(name).expect("it is built in");
        let source = DemoSource::new(&scenario, speed, StreamOptions::default()).expect("it compiles");
        let (tx, rx) = channel(100_000);
        (Box::new(source).start(tx), rx)
    }

    #[test]
    fn what_has_happened_comes_at_once_and_the_rest_in_its_time() {
        let (handle, rx) = start("default", 1e-3);
        assert_eq!(handle.opened.recv_timeout(Duration::from_secs(20)), Ok(Ok(())));
        let first = rx.queue.recv().expect("a header");
        assert!(matches!(&first.body, SampleBody::Header(header) if header.simulated && &*header.source == "demo:default"));
        let preroll = Timestamp::secs(90);
        let mut last = Timestamp::ZERO;
        while last < Timestamp::millis(89_950) {
            last = rx.queue.recv_timeout(Duration::from_secs(20)).expect("the preroll comes").t;
        }
        assert!(last <= (handle.now)() && last <= preroll + Period::secs(1));
        handle.stop.store(true, Ordering::Relaxed);
    }

    #[test]
    fn a_stopped_or_unheard_source_ends() {
        let (handle, rx) = start("idle", 1.0);
        handle.stop.store(true, Ordering::Relaxed);
        while rx.queue.recv_timeout(Duration::from_secs(20)).is_ok() {}
        let (handle, rx) = start("idle", 1000.0);
        drop(rx);
        let ended = handle.opened.recv_timeout(Duration::from_secs(20));
        assert!(ended == Ok(Ok(())) || ended.is_err());
    }

    #[test]
    fn speeds_that_are_none_are_made_usable() {
        let scenario = Scenario::load("idle").expect("it is built in");
        for (asked, got) in [(f64::NAN, 1.0), (0.0, 1e-3), (-1.0, 1e-3), (f64::INFINITY, 1e3), (2.0, 2.0)] {
            let source = DemoSource::new(&scenario, asked, StreamOptions::default()).expect("it compiles");
            assert!((source.speed - got).abs() < 1e-9);
        }
    }
}
