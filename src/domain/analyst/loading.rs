//! Whether a device is being loaded: a context, weights, a pool, graphs. Growth that ends by itself.

use super::card::Card;

/// A load that rests this long is over.
const QUIET: f64 = 4.0;
/// A pause between two parts of one load.
const PAUSE: f64 = 30.0;
/// No load takes longer.
const LONGEST: f64 = 240.0;
/// Nor this long where no list bears it out.
const UNLISTED: f64 = 45.0;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Phase {
    /// Nobody knows yet.
    #[default]
    Fresh,
    /// Next to nothing is held: the next rise is a load.
    Empty,
    /// A load goes on.
    On,
    /// It is over.
    Over,
}

/// The loading of a device, with or without process lists.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Loading {
    phase: Phase,
    /// When the load began, and the level then.
    from: f64,
    base: f64,
    /// When it rose last, and the level then.
    moved: f64,
    level: f64,
    /// When the last load was over; nothing before it counts as growth.
    settled: f64,
    /// The level at which it settled; none where no load was seen.
    at: Option<f64>,
    /// When a context-like jump was seen.
    arrival: f64,
    /// Its size.
    context: f64,
    /// The ceiling at the last look.
    top: f64,
    /// The last look at which nothing was computed, and the level then.
    idle: (f64, f64),
    /// Somebody else computed when it began.
    beside: bool,
}

impl Loading {
    pub(crate) fn is_on(&self) -> bool {
        self.phase == Phase::On
    }

    /// When the last load was over.
    pub(crate) fn settled(&self) -> f64 {
        self.settled
    }

    /// The level that the last load ended at.
    pub(crate) fn level(&self) -> Option<f64> {
        self.at
    }

    /// The load that goes on or was the last: when it began and from which level.
    pub(crate) fn began(&self) -> (f64, f64) {
        (self.from, self.base)
    }

    pub(crate) fn beat(&mut self, card: &Card) {
        let signal = card.filling();
        let Some(last) = signal.last() else { return };
        let (now, level) = (last.t, last.v);
        let scale = &card.scale;
        let empty = 0.03 * scale.total + 600.0;
        let rose = level > self.level + scale.flat;
        let newcomer =
            card.held.iter().any(|held| held.born_here && now - held.first < 60.0 && held.used.is_some_and(|used| used > 64.0));
        match self.phase {
            Phase::Fresh => {
                (self.level, self.moved) = (level, now);
                self.phase = if level <= empty { Phase::Empty } else { Phase::Over };
                // What was there before may have been loaded just now.
                self.settled = now;
                self.at = Some(level).filter(|level| *level > empty);
            }
            Phase::Empty | Phase::Over => {
                let step = level - self.level;
                // What swings within its ceiling is nothing new.
                let lift = signal.ceiling() - self.top;
                let context = (150.0..=900.0).contains(&lift) && now - self.moved >= QUIET && now - self.moved < 1e6;
                // Lists tell who is new. Without them a jump of the size of a context does, if it rests, and then a fast rise
                // comes under little load.
                let fast = lift > (0.02 * scale.total).max(1.5 * self.context);
                let rested = now - self.moved >= 1.5;
                let arrived = self.arrival > 0.0 && now - self.arrival < 15.0 && fast && rested && !card.is_busy(now);
                if context && card.listed.is_none() {
                    self.arrival = now;
                    self.context = lift;
                } else if rose {
                    self.arrival = 0.0;
                }
                let again = self.from > 0.0 && !card.is_busy(now) && now - self.settled < PAUSE && lift > 0.1 * scale.total;
                let fresh = newcomer && self.settled < Self::newest(card);
                if rose && (self.phase == Phase::Empty && step > 0.5 * scale.step || arrived || again || (fresh && step > 0.0)) {
                    self.phase = Phase::On;
                    (self.from, self.base) = (now, self.level);
                    self.idle = (now, level);
                    self.beside = card.is_busy(now);
                }
                if (level - self.level).abs() > scale.flat {
                    (self.level, self.moved) = (level, now);
                }
                if self.phase == Phase::Over && level <= empty && signal.ceiling() <= empty {
                    self.phase = Phase::Empty;
                }
            }
            Phase::On => {
                if rose {
                    (self.level, self.moved) = (level, now);
                }
                // It computes, or gives back what it took: the load is over. What it had come to by the last look is its end.
                let gave_back = signal.turns().newest().next().filter(|(turn, peak)| *peak && turn.t > self.from);
                // The device's load tells only where nobody computed before.
                let newest = card.held.iter().filter(|held| held.born_here).max_by(|a, b| a.first.total_cmp(&b.first));
                let own = newest.and_then(|held| held.busy).map(f64::from);
                let whole = card.load.filter(|(t, _)| *t >= self.from + 1.0 && now - t < 2.0 && !self.beside);
                let computes = own.or(whole.map(|(_, load)| f64::from(load))).is_some_and(|load| load >= 30.0);
                if !computes {
                    self.idle = (now, level);
                }
                // Most of it came, and now hardly more.
                let before = signal.high().at(now - 6.0).unwrap_or(level);
                let slowed = now - self.from > 12.0 && level - before < 0.03 * (level - self.base);
                let longest = if card.listed.is_none() && self.base > empty { UNLISTED } else { LONGEST };
                if now - self.moved > QUIET || slowed || gave_back.is_some() || computes || now - self.from > longest {
                    self.phase = Phase::Over;
                    self.settled = if computes { self.idle.0.max(self.from) } else { self.moved };
                    let before = if computes { self.idle.1 } else { self.level };
                    self.at = Some(gave_back.map_or(before, |(turn, _)| turn.v.min(before)));
                    self.level = level;
                }
            }
        }
        self.top = signal.ceiling();
    }

    /// When the newest process came.
    fn newest(card: &Card) -> f64 {
        card.held.iter().filter(|held| held.born_here).map(|held| held.first).fold(0.0, f64::max)
    }
}
