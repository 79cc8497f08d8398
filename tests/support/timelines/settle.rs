//! Where programs meet: a request that is larger than what is free fails.

use std::collections::BTreeMap;

use super::dice::Dice;
use super::program::{Program, pages};

/// A card or an instance of one; MiB.
#[derive(Clone, Debug)]
pub struct Card {
    pub name: &'static str,
    pub total: f64,
    pub reserved: f64,
    /// What the driver holds beside all processes.
    pub base: f64,
    /// The card that this is an instance of.
    pub parent: Option<usize>,
    /// Its memory is the host's.
    pub unified: bool,
}

/// A failed request.
#[derive(Clone, Copy, Debug)]
pub struct Failure {
    pub t: f64,
    pub gpu: usize,
    pub program: usize,
}

/// What came of it: the level of each program on each card over time.
#[derive(Debug, Default)]
pub struct Settled {
    pub levels: Vec<Vec<Vec<(f64, f64)>>>,
    pub failures: Vec<Failure>,
    /// When each program was gone; infinite while it lives.
    pub gone: Vec<f64>,
}

#[derive(Clone, Copy)]
enum Change {
    Ask(f64),
    /// Memory given back, which cannot fail.
    Set(f64),
    Kill,
}

/// Plays all programs against the cards; `kills` false lets those live on that someone ends.
pub fn settle(dice: &Dice, cards: &[Card], programs: &[Program], kills: bool) -> Settled {
    let micros = |t: f64| (t.max(0.0) * 1e6) as u64;
    let mut queue: BTreeMap<(u64, usize), (usize, usize, Change)> = BTreeMap::new();
    let mut number = 0;
    let mut push = |queue: &mut BTreeMap<_, _>, t: f64, entry: (usize, usize, Change)| {
        queue.insert((micros(t), number), entry);
        number += 1;
    };
    for (n, program) in programs.iter().enumerate() {
        for event in &program.events {
            push(&mut queue, event.t, (n, event.gpu, Change::Ask(event.level)));
        }
        if let Some(t) = program.killed.filter(|_| kills) {
            push(&mut queue, t, (n, 0, Change::Kill));
        }
    }
    let mut now = vec![vec![0.0_f64; cards.len()]; programs.len()];
    let mut settled = Settled {
        levels: vec![vec![Vec::new(); cards.len()]; programs.len()],
        failures: Vec::new(),
        gone: vec![f64::INFINITY; programs.len()],
    };
    let mut slack: Vec<f64> = programs.iter().map(|program| program.slack).collect();
    // What an allocator has given back is missing from the levels of its script.
    let mut less = vec![0.0_f64; programs.len()];
    // A program that failed asks for nothing more.
    let mut ended = vec![false; programs.len()];
    while let Some(((us, _), (n, gpu, change))) = queue.pop_first() {
        let t = us as f64 / 1e6;
        let mut set = |n: usize, gpu: usize, level: f64, now: &mut Vec<Vec<f64>>| {
            if (now[n][gpu] - level).abs() > 0.5 {
                now[n][gpu] = level;
                settled.levels[n][gpu].push((t, level));
            }
        };
        let dies = match change {
            Change::Set(level) => {
                set(n, gpu, level, &mut now);
                false
            }
            Change::Kill => !ended[n],
            Change::Ask(_) if ended[n] => false,
            Change::Ask(asked) => {
                let level = (asked - less[n]).max(0.0);
                let held: f64 = now.iter().map(|levels| levels[gpu]).sum();
                let free = cards[gpu].total - cards[gpu].reserved - cards[gpu].base - held;
                let missing = level - now[n][gpu] - free;
                if missing <= 0.0 {
                    set(n, gpu, level, &mut now);
                    false
                } else if slack[n] >= missing {
                    // It flushes a part of its cache, asks again, and gets it.
                    let given = pages(slack[n] * dice.range(0.5, 1.0)).max(pages(missing + 2.0)).min(now[n][gpu]);
                    slack[n] -= given;
                    less[n] += given;
                    let before = now[n][gpu];
                    set(n, gpu, before - given, &mut now);
                    push(&mut queue, t + dice.range(0.01, 0.2), (n, gpu, Change::Ask(asked)));
                    false
                } else {
                    settled.failures.push(Failure { t, gpu, program: n });
                    true
                }
            }
        };
        if !dies {
            continue;
        }
        ended[n] = true;
        let failed = matches!(change, Change::Ask(_));
        if failed && programs[n].catches {
            continue;
        }
        // The allocator gives its cached blocks back and asks again; then the process goes.
        let mut at = t;
        if failed && dice.chance(0.7) {
            push(&mut queue, t, (n, gpu, Change::Set((now[n][gpu] * dice.range(0.94, 0.99)).round())));
            at += dice.range(0.01, 0.2);
        }
        let fall = dice.range(0.05, 2.0);
        let job = programs[n].job;
        for (other, program) in programs.iter().enumerate() {
            let same = other == n;
            if same || (job.is_some() && program.job == job && !ended[other]) {
                // The rest of a job notices some seconds later.
                let at = if same { at } else { at + dice.range(0.5, 8.0) };
                ended[other] = true;
                settled.gone[other] = at + fall;
                for (card, &level) in now[other].iter().enumerate() {
                    if level > 0.0 {
                        push(&mut queue, at + fall * 0.5, (other, card, Change::Set((level * 0.3).round())));
                        push(&mut queue, at + fall, (other, card, Change::Set(0.0)));
                    }
                }
            }
        }
    }
    // A program whose script ends at nothing is gone then.
    for (n, program) in programs.iter().enumerate() {
        if let (false, Some(last)) = (ended[n], program.events.last())
            && last.level == 0.0
        {
            settled.gone[n] = last.t;
        }
    }
    settled
}
