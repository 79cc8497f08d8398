//! Whether a device is being loaded: a context, weights, a pool, graphs. Growth that ends by itself.

use super::card::Card;

/// A load that rests this long is over.
const QUIET: f64 = 5.0;
/// A pause between two parts of one load.
const PAUSE: f64 = 30.0;
/// No load takes longer.
const LONGEST: f64 = 240.0;

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
    /// The ceiling at the last look.
    top: f64,
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
                let fast = lift > 0.01 * scale.total;
                let rested = now - self.moved >= 1.5;
                let arrived = self.arrival > 0.0 && now - self.arrival < 15.0 && fast && rested && !card.is_busy(now);
                if context && card.listed.is_none() {
                    self.arrival = now;
                } else if rose {
                    self.arrival = 0.0;
                }
                let again = self.from > 0.0 && now - self.settled < PAUSE && lift > 0.1 * scale.total;
                let fresh = newcomer && self.settled < self.newest(card);
                if rose && (self.phase == Phase::Empty && step > 0.5 * scale.step || arrived || again || (fresh && step > 0.0)) {
                    self.phase = Phase::On;
                    (self.from, self.base) = (now, self.level);
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
                let fell = level < self.level - scale.turn;
                if now - self.moved > QUIET || fell || now - self.from > LONGEST {
                    self.phase = Phase::Over;
                    self.settled = if fell { now } else { self.moved };
                    self.at = Some(self.level);
                    self.level = level;
                }
            }
        }
        self.top = signal.ceiling();
    }

    /// When the newest process came.
    fn newest(&self, card: &Card) -> f64 {
        card.held.iter().filter(|held| held.born_here).map(|held| held.first).fold(0.0, f64::max)
    }
}
