//! tmp
use crate::config::{Settings, SourceName};
use crate::sampler::clock::Clock;
use crate::scenario::*;
use crate::source::*;
use std::sync::Arc;
pub const QUEUE: usize = 65_536;
struct Tmp(Scenario);
impl Source for Tmp {
    fn start(self: Box<Self>, samples: crate::sampler::SampleSender) -> SourceHandle {
        let (tx, opened) = std::sync::mpsc::channel();
        let clock = Clock::start();
        let now: Arc<dyn Fn() -> crate::domain::Timestamp + Send + Sync> = Arc::new(move || clock.now());
        let world = Arc::new(World::new(&self.0).unwrap());
        let _ = tx.send(Ok(()));
        std::thread::Builder::new()
            .spawn(move || {
                let _tx = tx;
                let o = StreamOptions { created: clock.created(), ..Default::default() };
                for s in Stream::new(world, o) {
                    while clock.now() < s.t {
                        std::thread::sleep(std::time::Duration::from_millis(1));
                    }
                    if !samples.send_waiting(s) {
                        return;
                    }
                }
            })
            .unwrap();
        SourceHandle { opened, stop: Arc::default(), now }
    }
}
pub fn source(settings: &Settings) -> anyhow::Result<Box<dyn Source>> {
    match &settings.source {
        SourceName::Nvml => {
            Err(SourceError { kind: SourceErrorKind::Driver, what: "x".into(), why: "y".into(), fix: "vramscope demo".into() }
                .into())
        }
        SourceName::Demo(n) => Ok(Box::new(Tmp(Scenario::load(n.as_deref().unwrap_or(SCENARIOS[0].id))?))),
    }
}
