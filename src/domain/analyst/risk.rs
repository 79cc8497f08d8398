//! How close a device is to running out: levels with their entry and exit, and the one line that says why.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::card::Card;
use super::signal::Signal;
use super::trend::{Course, Trend};
use super::{size, span};
use crate::domain::{FullIn, Gpu, Period, Pid, Process, Risk, RiskLevel, Timestamp};

/// The smallest request that is reckoned with, MiB.
const LEAST_REQUEST: f64 = 64.0;
/// Jumps older than this say nothing of the next.
const RECENT: f64 = 120.0;
/// A rise this recent makes a full card critical.
const ROSE: f64 = 10.0;
/// No time beyond this is told.
const DAY: f64 = 86_400.0;
/// What a CUDA context needs before anything else, MiB.
const CONTEXT: f64 = 512.0;

/// What the trend says, in absolute times.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Outlook {
    lo: f64,
    mid: f64,
    hi: f64,
    /// It may still die away: no alarm yet.
    doubtful: bool,
}

/// A level's count of samples with or without its condition.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    with: u32,
    since: f64,
    without: u32,
    until: f64,
    entered: bool,
}

/// The risk of one device.
#[derive(Debug, Default)]
pub(crate) struct Judge {
    gpu: u32,
    runs: [Run; 3],
    risk: Option<Arc<Risk>>,
    /// The risk that was said last, and when.
    said: Option<Arc<Risk>>,
    outlook: Option<Outlook>,
    /// The trend that the outlook is of.
    of: f64,
    request: f64,
    sure_since: Option<f64>,
}

impl Run {
    /// Entered at the third sample in a row, at least 1 s after the first; left after three times that.
    fn take(&mut self, t: f64, holds: bool) -> bool {
        if holds {
            if self.with == 0 {
                self.since = t;
            }
            self.with = self.with.saturating_add(1);
            self.without = 0;
            self.entered |= self.with >= 3 && t - self.since >= 1.0;
        } else {
            if self.without == 0 {
                self.until = t;
            }
            self.without = self.without.saturating_add(1);
            self.with = 0;
            if self.without >= 9 && t - self.until >= 3.0 {
                self.entered = false;
            }
        }
        self.entered
    }
}

impl Judge {
    pub(crate) fn new(gpu: Gpu) -> Self {
        Self { gpu: gpu.0, ..Self::default() }
    }

    /// Whether the growth may still end by itself.
    pub(crate) fn is_doubtful(&self) -> bool {
        self.outlook.is_none_or(|outlook| outlook.doubtful)
    }

    pub(crate) fn risk(&self) -> Option<&Arc<Risk>> {
        self.risk.as_ref()
    }

    /// Judges at a reading; the risk where it is to be said.
    pub(crate) fn judge(&mut self, t: Timestamp, card: &Card, people: &BTreeMap<Pid, Arc<Process>>) -> Option<Arc<Risk>> {
        let at = t.as_secs_f64();
        let Some(limit) = card.limit.filter(|_| card.readable) else {
            self.risk = None;
            return None;
        };
        let signal = card.filling();
        let beat = card.trend.map_or(-1.0, |trend| trend.at);
        let fresh = signal.last().is_some_and(|last| (last.t - at).abs() < 1e-9);
        let mut anew = false;
        if (beat - self.of).abs() > 1e-9 || card.trend.is_none() {
            self.of = beat;
            anew = true;
            self.request = request(card);
            self.outlook = card.trend.as_ref().and_then(|trend| outlook(card, trend, limit));
        }
        if !fresh {
            return None;
        }
        let headroom = limit - signal.level();
        let least = limit - signal.ceiling();
        let moving = moving(card, at);
        // A load that comes to its end is no alarm unless it asks for far more than there is.
        let newest = signal.jumps().next_back().filter(|jump| at - jump.t <= signal.interval().max(0.3));
        let rising = card.loading.is_on() && newest.is_some_and(|jump| jump.size > 2.0 * least);
        let close = self.request > 0.0 && least < 2.0 * self.request;
        let outlook = self.outlook;
        let left = |of: fn(&Outlook) -> f64| outlook.map(|outlook| (of(&outlook) - at).max(0.0));
        let (mid, hi) = (left(|o| o.mid), left(|o| o.hi));
        // A single look that is sure of itself is not enough.
        let falls = signal.rhythm().is_none() && signal.level() < signal.ceiling() - card.scale.turn;
        if falls || outlook.is_none_or(|outlook| outlook.doubtful) {
            self.sure_since = None;
        } else if self.sure_since.is_none() {
            self.sure_since = Some(at);
        }
        let patience = card.trend.map_or(0.0, |trend| (0.04 * trend.window).min(8.0));
        let sure = self.sure_since.is_some_and(|since| at - since >= patience);
        let tight = self.request > 0.0 && least < self.request && ((sure && proven(card)) || rising);
        let rose = signal.jumps().next_back().is_some_and(|jump| at - jump.t <= ROSE);
        let watch = hi.is_some_and(|hi| hi < 3600.0) || (close && moving);
        let high = (sure && hi.is_some_and(|hi| hi < 300.0)) || (tight && moving);
        let critical = (sure && mid.is_some_and(|mid| mid < 30.0)) || (tight && rose);
        let holds = [watch || high || critical, high || critical, critical];
        let mut level = RiskLevel::Ok;
        for ((run, holds), of) in self.runs.iter_mut().zip(holds).zip([RiskLevel::Watch, RiskLevel::High, RiskLevel::Critical]) {
            if run.take(at, holds) {
                level = of;
            }
        }
        let old = self.risk.as_ref().map(|risk| risk.level);
        if old == Some(level) && !anew {
            return None;
        }
        let full_in =
            outlook.map(|outlook| FullIn { lo: span(outlook.lo - at), mid: span(outlook.mid - at), hi: span(outlook.hi - at) });
        let risk = Arc::new(Risk {
            t,
            gpu: Gpu(self.gpu),
            level,
            full_in,
            job: None,
            headroom: Some(size(headroom)),
            request: (self.request > 0.0).then(|| size(self.request)),
            reason: reason(card, level, full_in, headroom, people),
        });
        self.risk = Some(Arc::clone(&risk));
        let due = match &self.said {
            None => level != RiskLevel::Ok || full_in.is_some(),
            Some(said) => said.level != level || (t.since(said.t) >= Period::secs(1) && moved(said.full_in, full_in)),
        };
        if due {
            self.said = Some(Arc::clone(&risk));
            return Some(risk);
        }
        None
    }
}

/// Whether the time to full is another one by more than 5 %.
fn moved(old: Option<FullIn>, new: Option<FullIn>) -> bool {
    let off = |old: Period, new: Period| (old.as_secs_f64() - new.as_secs_f64()).abs() > 0.05 * old.as_secs_f64();
    match (old, new) {
        (None, None) => false,
        (Some(old), Some(new)) => off(old.lo, new.lo) || off(old.mid, new.mid) || off(old.hi, new.hi),
        _ => true,
    }
}

/// The trend's time to full, where its growth is real.
fn outlook(card: &Card, trend: &Trend, limit: f64) -> Option<Outlook> {
    if !trend.real || card.loading.is_on() {
        return None;
    }
    let room = limit - trend.end;
    // Beyond twenty times what was seen it is only "growing slowly".
    if trend.grown < 0.05 * room && trend.grown < 0.02 * card.scale.total {
        return None;
    }
    let passage = trend.reach(limit)?;
    if passage.hi > DAY {
        return None;
    }
    let part = trend.in_all / (trend.in_all + room.max(0.0));
    let age = trend.window;
    let urgent = passage.mid <= 8.0;
    // A burst of seconds is no growth yet, and nobody can act on a time that is known to a factor of eight.
    let vague = trend.window < 9.0 || passage.hi > 8.0 * passage.lo;
    let doubtful = vague
        || regrowth(card.filling(), trend, limit)
        || captured(card, trend, room)
        || trend.slows_below(limit)
        || (part < 0.62 && trend.may_end_below(limit))
        || (!urgent && part < 0.62 && age < 90.0)
        || matches!(trend.course, Course::Steps { count: ..4, .. });
    Some(Outlook { lo: trend.at + passage.lo, mid: trend.at + passage.mid, hi: trend.at + passage.hi, doubtful })
}

/// Whether it only grows again to where it was before, as every cycle of a slow sawtooth does.
fn regrowth(signal: &Signal, trend: &Trend, limit: f64) -> bool {
    let humps = signal.humps().filter(|hump| {
        let rate = (hump.peak - hump.base) / (hump.at - hump.from).max(0.5);
        trend.at - hump.until < 3600.0 && rate < 6.0 * trend.rate && limit - hump.peak > 0.01 * limit
    });
    let (mut count, mut whole, mut peak) = (0, 0, 0.0_f64);
    for hump in humps {
        count += 1;
        whole += usize::from(hump.whole);
        peak = peak.max(hump.peak);
    }
    let margin = if whole >= 2 {
        0.6
    } else if whole == 1 || count >= 2 {
        0.25
    } else {
        0.0
    };
    count > 0 && signal.ceiling() <= peak + margin * (limit - peak)
}

/// Whether it may be the capture of graphs after a pool, or the warm-up of an allocator on a card that is nearly full.
fn captured(card: &Card, trend: &Trend, room: f64) -> bool {
    let settled = card.loading.settled();
    card.loading.level().is_some_and(|level| level >= 0.75 * card.scale.total)
        && trend.since - settled < 45.0
        && trend.at - trend.since < 60.0
        && trend.at - settled < 100.0
        && trend.in_all < 0.12 * card.scale.total
        && trend.in_all < 6.0 * room
}

/// Whether the ceiling still rises.
fn moving(card: &Card, at: f64) -> bool {
    let signal = card.filling();
    let period = signal.rhythm().map_or(0.0, |rhythm| rhythm.period);
    let settled = card.loading.settled();
    let mut jumps = signal.jumps().rev().filter(|jump| jump.t > settled);
    let Some(newest) = jumps.next() else { return false };
    let gap = jumps.next().map_or(ROSE, |before| 2.0 * (newest.t - before.t));
    at - newest.t <= gap.clamp(ROSE, 60.0).max(3.0 * period)
}

/// Whether the jumps come of growth, and not of a load or of the first look at a swing.
fn proven(card: &Card) -> bool {
    !card.loading.is_on() && card.trend.is_some_and(|trend| trend.real && trend.at - card.loading.settled() > 20.0)
}

/// A high quantile of the recent rises of the ceiling; zero where there was none. Rises of a load count while it goes on.
/// What comes and goes within a cycle is no request beyond what every cycle gets.
fn request(card: &Card) -> f64 {
    let signal = card.filling();
    let now = signal.last().map_or(0.0, |last| last.t);
    let since = if card.loading.is_on() { card.loading.began().0 - 2.0 } else { card.loading.settled() };
    let since = since.max(now - RECENT);
    let mut sizes: Vec<f64> = signal.jumps().filter(|jump| jump.t > since).map(|jump| jump.size).collect();
    if sizes.is_empty() {
        return 0.0;
    }
    sizes.sort_unstable_by(f64::total_cmp);
    let rank = (0.9 * sizes.len() as f64).ceil() as usize;
    sizes.get(rank.saturating_sub(1)).copied().unwrap_or_default().max(LEAST_REQUEST)
}

/// One line: who, how fast, headroom, when, why.
fn reason(
    card: &Card,
    level: RiskLevel,
    full_in: Option<FullIn>,
    headroom: f64,
    people: &BTreeMap<Pid, Arc<Process>>,
) -> Arc<str> {
    let signal = card.filling();
    // What comes back within every cycle is no room for growth.
    let left = size(card.limit.map_or(headroom, |limit| (limit - signal.ceiling()).min(headroom)));
    let Some(trend) = card.trend.as_ref().filter(|_| level > RiskLevel::Ok || full_in.is_some()) else {
        if level > RiskLevel::Ok {
            return format!("{left} left, rises of late as large as {}", size(request(card))).into();
        }
        let full = card.limit.is_some_and(|limit| headroom < 0.15 * limit);
        let flat = signal.last().is_some_and(|last| last.t - signal.flat_since().t >= 10.0);
        if full && flat {
            let room = size((headroom - CONTEXT).max(0.0));
            return format!("full pool, safe for its owner; a new process has {room}").into();
        }
        return Arc::from("");
    };
    let who = match card.grower(trend.since).and_then(|(pid, _)| card.held_by(pid)) {
        Some(held) => {
            let relation = people.get(&held.pid).map(|process| process.relation);
            let whose = relation.map_or_else(String::new, |relation| format!(", {relation}"));
            format!("{} ({}{whose})", held.name(), held.pid)
        }
        None => "used memory".to_owned(),
    };
    let when = full_in.map_or_else(String::new, |full_in| format!(", full in {} to {}", full_in.lo, full_in.hi));
    let why = match trend.course {
        Course::Steps { count, period, .. } => format!("{count} equal steps, one every {}", span(period)),
        Course::Faster(_) => "ever faster".to_owned(),
        Course::Slower(_) => "slowing, but not enough".to_owned(),
        Course::Linear(_) if trend.lumpiness > 0.2 => "irregular rises, no end in sight".to_owned(),
        Course::Linear(_) if signal.rhythm().is_some() => "leak, step rhythm unchanged".to_owned(),
        Course::Linear(_) => "leak at an even rate".to_owned(),
    };
    format!("{who} grows {}/s, {left} left{when}: {why}", size(trend.rate)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds one condition at a pace; the samples at which it was entered and left.
    fn turns(hz: f64, holds: impl Fn(u32) -> bool) -> Vec<u32> {
        let (mut run, mut was, mut turns) = (Run::default(), false, Vec::new());
        for n in 0..1_000 {
            let is = run.take(f64::from(n) / hz, holds(n));
            if is != was {
                turns.push(n);
                was = is;
            }
        }
        turns
    }

    #[test]
    fn a_level_is_entered_at_the_third_sample_a_second_after_the_first_and_left_after_three_times_that() {
        // At 1 Hz three samples take two seconds; at 50 Hz a second takes 51.
        assert_eq!(turns(1.0, |n| n >= 10), [12]);
        assert_eq!(turns(50.0, |n| n >= 10), [60]);
        assert_eq!(turns(50.0, |n| (10..60).contains(&n)), [0_u32; 0], "50 samples are not yet a second");
        assert_eq!(turns(1.0, |n| (10..20).contains(&n)), [12, 28]);
        assert_eq!(turns(50.0, |n| (10..100).contains(&n)), [60, 250]);
        assert_eq!(turns(1.0, |n| n < 10 || n % 8 == 0), [2], "eight without it are not enough to leave");
    }

    #[test]
    fn a_time_that_moves_by_more_than_a_twentieth_is_told() {
        let of = |lo, mid, hi| Some(FullIn { lo: Period::secs(lo), mid: Period::secs(mid), hi: Period::secs(hi) });
        for (old, new, told) in [
            (None, None, false),
            (None, of(1, 2, 3), true),
            (of(1, 2, 3), None, true),
            (of(80, 100, 120), of(79, 97, 118), false),
            (of(80, 100, 120), of(79, 94, 118), true),
            (of(80, 100, 120), of(80, 100, 130), true),
        ] {
            assert_eq!(moved(old, new), told, "{old:?} {new:?}");
        }
    }
}
