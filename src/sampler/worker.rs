//! A named thread that reads by its schedule, outlives a panic of its probe, and tells its pace.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, Thread};

use super::clock::Clock;
use super::meter::Meter;
use super::probe::{Look, Probe};
use super::schedule::{Pacing, Ticks};
use super::sender::SampleSender;
use crate::domain::{Gpu, Health, Period, ProbeKind, Sample, SampleBody, Timestamp, text};

/// With fewer readings than this the median of the call's time says nothing.
const ENOUGH: usize = 4;
/// A probe that panicked rests this long; twice as long after each further panic.
const REST: Period = Period::secs(1);
/// The longest such rest.
const LONGEST_REST: Period = Period::secs(60);

/// Lets another thread ask a worker for a reading at once.
#[derive(Debug, Default)]
pub struct Poke {
    asked: AtomicBool,
    thread: OnceLock<Thread>,
}

impl Poke {
    /// Asks. Asking twice before the worker got to it is asking once.
    pub fn poke(&self) {
        if !self.asked.swap(true, Ordering::AcqRel)
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }

    fn asked(&self) -> bool {
        self.asked.load(Ordering::Acquire)
    }

    fn take(&self) {
        self.asked.store(false, Ordering::Release);
    }
}

/// What all threads of a source share.
#[derive(Clone, Debug)]
pub struct Studio {
    /// The stream's clock.
    pub clock: Clock,
    /// Where samples go.
    pub samples: SampleSender,
    /// Set to end all threads at their next turn.
    pub stop: Arc<AtomicBool>,
}

impl Studio {
    /// Sends a sample. False once nobody listens.
    pub fn send(&self, t: Timestamp, body: SampleBody) -> bool {
        self.samples.send(Sample { t, body })
    }
}

/// How a worker is paced.
#[derive(Clone, Debug)]
pub struct Beat {
    /// The interval.
    pub pacing: Pacing,
    /// Moves its ticks against those of others.
    pub offset: Period,
    /// The shortest time between readings that were asked for by [`Poke`].
    pub spacing: Period,
    /// Asks for readings.
    pub poke: Arc<Poke>,
    /// What its pace is told as; none where nobody needs it.
    pub told_as: Option<(Gpu, ProbeKind)>,
}

/// Starts a worker. `make` builds its probe within the thread, and again after a panic.
pub fn spawn<P: Probe>(name: &str, studio: Studio, beat: Beat, mut make: impl FnMut() -> P + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.into()).spawn(move || run(&studio, beat, &mut make))?;
    Ok(())
}

/// The loop of a worker, in the thread that calls it. Returns once stopped or once nobody listens.
pub fn run<P: Probe>(studio: &Studio, mut beat: Beat, make: &mut dyn FnMut() -> P) {
    let thread = thread::current();
    // A poke that came before this is seen by the loop, which looks at the flag before it sleeps.
    let _ = beat.poke.thread.set(thread.clone());
    let now = studio.clock.now();
    let (mut ticks, mut meter) = (Ticks::new(now, beat.offset), Meter::new(now));
    let (mut probe, mut panics) = (None, 0_u32);
    let mut last = Timestamp::ZERO;
    // A rest ends early where a reading is asked for, the one after a panic does not.
    let (mut rest_until, mut barred_until) = (Timestamp::ZERO, Timestamp::ZERO);
    while !studio.stop.load(Ordering::Relaxed) {
        let now = studio.clock.now();
        let asked = beat.poke.asked();
        let regular = ticks.due().max(rest_until);
        let wake = if asked { regular.min(last + beat.pacing.spacing(beat.spacing)) } else { regular }.max(barred_until);
        if now < wake {
            thread::park_timeout(wake.since(now).std());
            continue;
        }
        if asked {
            beat.poke.take();
        }
        if now < ticks.due() {
            ticks.restart(now);
        }
        last = now;
        let look = catch_unwind(AssertUnwindSafe(|| probe.get_or_insert_with(&mut *make).read(now)));
        let done = studio.clock.now();
        let Look { spent, busy, rest, listened } = look.unwrap_or_else(|panic| {
            probe = None;
            let pause = Period((REST.0 << panics.min(6)).min(LONGEST_REST.0));
            panics += 1;
            barred_until = done + pause;
            tell_panic(studio, done, thread.name().unwrap_or_default(), &*panic);
            Look { spent: None, busy: false, rest: None, listened: true }
        });
        if !listened {
            return;
        }
        let interval = beat.pacing.next(busy);
        let missed = ticks.advance(done, interval);
        rest_until = rest.map_or(Timestamp::ZERO, |rest| now + rest);
        let Some(spent) = spent else {
            meter.pause();
            continue;
        };
        meter.note(now, spent, if rest.is_some() { 0 } else { missed });
        if meter.due(done) {
            if meter.readings() >= ENOUGH {
                let median = meter.median();
                beat.pacing.review(median);
            }
            if let Some((gpu, kind)) = beat.told_as {
                let asked = rest.map_or(beat.pacing.current(), |rest| rest.max(beat.pacing.current()));
                let pace = meter.take(done, gpu, kind, asked, beat.pacing.backed_off());
                studio.send(done, SampleBody::Health(pace));
            }
        }
    }
}

fn tell_panic(studio: &Studio, now: Timestamp, thread: &str, panic: &(dyn Any + Send)) {
    let message = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without a text");
    let health = Health::Panicked { thread: thread.into(), message: text::clean(message, 200).into() };
    studio.send(now, SampleBody::Health(health));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampler::channel;

    /// Panics at its first look, is well after that.
    struct Shaky(Arc<AtomicBool>);

    impl Probe for Shaky {
        fn read(&mut self, _now: Timestamp) -> Look {
            assert!(self.0.swap(true, Ordering::Relaxed), "a bad\u{1b} day");
            Look { spent: None, busy: false, rest: None, listened: false }
        }
    }

    #[test]
    fn a_panic_is_told_and_the_worker_goes_on() {
        let (samples, receiver) = channel(8);
        let studio = Studio { clock: Clock::start(), samples, stop: Arc::default() };
        let beat = Beat {
            pacing: Pacing::fixed(Period::millis(1)),
            offset: Period::ZERO,
            spacing: Period::ZERO,
            poke: Arc::default(),
            told_as: None,
        };
        let once = Arc::new(AtomicBool::new(false));
        spawn("shaky", studio, beat, move || Shaky(Arc::clone(&once))).expect("a thread");
        let samples: Vec<Sample> = receiver.queue.iter().collect();
        let [Sample { body: SampleBody::Health(Health::Panicked { thread, message }), .. }] = samples.as_slice() else {
            panic!("{samples:?}")
        };
        assert_eq!((&**thread, &**message), ("shaky", "a bad· day"));
    }
}
