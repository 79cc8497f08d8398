//! Which risks are worth an alert: once per episode and level, and not too often.

use std::collections::BTreeMap;

use super::{Gpu, Period, Pid, Risk, RiskLevel, Timestamp};

/// Decides which risks are told. The same risk may be shown to it any number of times.
#[derive(Clone, Debug)]
pub struct Alerter {
    /// The lowest level that is told.
    least: RiskLevel,
    /// The shortest time between two alerts of the same level about the same device or job.
    every: Period,
    episodes: BTreeMap<(Gpu, Option<Pid>), Episode>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Episode {
    /// The highest level told since it was last below the lowest one that is told.
    told: Option<RiskLevel>,
    /// When each level was told last.
    at: [Option<Timestamp>; 4],
}

/// Streams have few devices and jobs; more than this are not looked after.
const MOST: usize = 1_024;

impl Alerter {
    /// Tells risks from `least` on, each level at most once in `every` for the same device or job.
    pub fn new(least: RiskLevel, every: Period) -> Self {
        Self { least, every, episodes: BTreeMap::new() }
    }

    /// Whether this risk is to be told now.
    pub fn takes(&mut self, risk: &Risk) -> bool {
        let key = (risk.gpu, risk.job);
        if self.episodes.len() >= MOST && !self.episodes.contains_key(&key) {
            return false;
        }
        let episode = self.episodes.entry(key).or_default();
        if risk.level < self.least || risk.level == RiskLevel::Ok {
            episode.told = None;
            return false;
        }
        if episode.told.is_some_and(|told| told >= risk.level) {
            return false;
        }
        let at = &mut episode.at[risk.level as usize];
        if at.is_some_and(|at| risk.t.since(at) < self.every) {
            return false;
        }
        *at = Some(risk.t);
        episode.told = Some(risk.level);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn risk(s: u64, level: RiskLevel, job: Option<u32>) -> Risk {
        Risk {
            t: Timestamp::secs(s),
            gpu: Gpu(0),
            level,
            full_in: None,
            job: job.map(Pid),
            headroom: None,
            request: None,
            reason: "".into(),
        }
    }

    #[test]
    fn an_episode_is_told_once_per_level_and_not_too_often() {
        use RiskLevel::{Critical, High, Ok, Watch};
        let mut alerter = Alerter::new(High, Period::secs(60));
        for (s, level, told) in [
            (0, Watch, false),
            (1, High, true),
            (2, High, false),
            (5, Critical, true),
            (6, High, false),
            (7, Critical, false),
            (10, Ok, false),
            (20, High, false),
            (70, High, true),
            (80, Watch, false),
            (140, Critical, true),
        ] {
            assert_eq!(alerter.takes(&risk(s, level, None)), told, "{s} s, {level}");
        }
        assert!(alerter.takes(&risk(141, High, Some(7))), "a job has episodes of its own");
    }

    #[test]
    fn the_number_of_episodes_is_bounded() {
        let mut alerter = Alerter::new(RiskLevel::Watch, Period::secs(60));
        let told = (0..5_000).filter(|&pid| alerter.takes(&risk(1, RiskLevel::High, Some(pid)))).count();
        assert_eq!(told, MOST);
    }
}
