//! What a scenario file may not say, beside what its types refuse: each with its place and what was expected.

use std::collections::HashSet;
use std::ops::Range;

use toml::Spanned;

use super::file::{Card, Instance, Manager, Scenario};
use super::phase::Phase;
use super::values::Time;
use crate::domain::{Period, Pid};

/// Cards in one scenario.
const MAX_CARDS: u32 = 64;
/// Processes in one scenario, copies counted.
const MAX_PROCESSES: u32 = 4096;
/// Phases in one scenario, those of copies and of every card counted.
const MAX_PHASES: usize = 100_000;
/// Pids of a story that repeats leave room for later rounds ([`super::World`] adds this to them).
pub(super) const ROUND: u32 = 100_000;

/// Where a file is wrong, and how.
type Mistake = (Range<usize>, String);

impl Scenario {
    pub(super) fn check(&self) -> Result<(), Mistake> {
        let file = &self.file;
        if file.duration.get_ref().us() < 1_000_000 {
            return Err((file.duration.span(), "the duration is too short; expected at least 1s".into()));
        }
        if file.preroll.get_ref().0 > Period::secs(3600) {
            return Err((file.preroll.span(), "the preroll is too long; expected at most 1h".into()));
        }
        if let Some(from) = &file.repeat_from
            && from.get_ref().us() + 1_000_000 > file.duration.get_ref().us()
        {
            return Err((from.span(), "`repeat_from` is too late; expected at least 1s before the end of `duration`".into()));
        }
        let span = file.device.span();
        let mut cards = 0_u32;
        for card in file.device.get_ref() {
            cards = cards.saturating_add(card.copies);
            check_card(card, &span)?;
        }
        if !(1..=MAX_CARDS).contains(&cards) {
            return Err((span, format!("{cards} devices; expected 1 to {MAX_CARDS}")));
        }
        let instances: Vec<&Instance> = file.device.get_ref().iter().flat_map(|card| &card.mig).map(Spanned::get_ref).collect();
        for (n, instance) in instances.iter().enumerate() {
            if instances.iter().take(n).any(|other| other.id == instance.id) {
                return Err((span, format!("two MIG instances are called `{}`; expected ids that differ", instance.id)));
            }
        }
        self.check_processes(cards)?;
        for fault in &file.fault {
            let what = fault.get_ref();
            let parts = [what.error.is_some(), what.hang, what.latency.is_some(), what.panic];
            if !parts.contains(&true) {
                return Err((fault.span(), "this fault does nothing; expected `error`, `hang`, `latency` or `panic`".into()));
            }
            check_index(what.device, cards, fault.span())?;
        }
        for lost in &file.lost {
            check_index(Some(lost.get_ref().device), cards, lost.span())?;
            check_index(lost.get_ref().index, cards, lost.span())?;
        }
        Ok(())
    }

    fn check_processes(&self, cards: u32) -> Result<(), Mistake> {
        let file = &self.file;
        let (mut pids, mut processes, mut phases) = (HashSet::new(), 0_u32, 0_usize);
        let highest = if file.repeat_from.is_some() { ROUND - 1 } else { Pid::MAX };
        for actor in &file.process {
            let (span, actor) = (actor.span(), actor.get_ref());
            processes = processes.saturating_add(actor.copies);
            if actor.copies == 0 || processes > MAX_PROCESSES {
                return Err((span, format!("this makes {processes} processes; expected 1 to {MAX_PROCESSES}")));
            }
            let last = actor.pid.saturating_add(actor.copies - 1);
            if actor.pid == 0 || last > highest {
                return Err((span, format!("pid {last} is out of range; expected 1 to {highest}")));
            }
            if let Some(twice) = (actor.pid..=last).find(|&pid| !pids.insert(pid)) {
                return Err((span, format!("pid {twice} is taken by another process; expected one that is free")));
            }
            if actor.on.is_empty() {
                return Err((span, "this process holds nothing; expected at least one entry in `on`".into()));
            }
            for place in &actor.on {
                let (span, place) = (place.span(), place.get_ref());
                phases += (place.phases.len() + 1) * actor.copies as usize * place.devices.len().max(1);
                if phases > MAX_PHASES {
                    return Err((span, format!("too many phases in all; expected at most {MAX_PHASES}")));
                }
                if place.devices.is_empty() || place.phases.is_empty() {
                    return Err((span, "nothing happens here; expected at least one device and one phase".into()));
                }
                for device in &place.devices {
                    check_index(Some(*device), cards, span.clone())?;
                }
                check_phases(&place.phases)?;
            }
        }
        for one in &file.bystander {
            let (span, one) = (one.span(), one.get_ref());
            if one.pid == 0 || one.pid > highest {
                return Err((span, format!("pid {} is out of range; expected 1 to {highest}", one.pid)));
            }
            if !pids.insert(one.pid) {
                return Err((span, format!("pid {} is taken by another process; expected one that is free", one.pid)));
            }
            if file.bystander.len() > MAX_PROCESSES as usize {
                return Err((span, format!("too many bystanders; expected at most {MAX_PROCESSES}")));
            }
            let moves = one.zombie.is_some() || one.until.is_some() || one.at.us() > 0;
            if file.repeat_from.is_some() && moves {
                let what = "in a story that repeats a bystander is always there; expected no `at`, `zombie` and `until`";
                return Err((span, what.into()));
            }
            if let Some(kept) = one.keeps.filter(|kept| !file.process.iter().any(|actor| actor.get_ref().pid == *kept)) {
                return Err((
                    span,
                    format!("there is no process {kept} to keep anything of; expected the pid of one in this file"),
                ));
            }
            for device in &one.opens {
                check_index(Some(*device), cards, span.clone())?;
            }
        }
        Ok(())
    }
}

fn check_card(card: &Card, span: &Range<usize>) -> Result<(), Mistake> {
    if card.total.0.0 == 0 || card.reserved.0.0 + card.overhead.0.0 > card.total.0.0 {
        return Err((span.clone(), format!("`{}` has no room; expected reserved + overhead within total", card.name)));
    }
    if card.mig.len() > 64 {
        return Err((span.clone(), format!("`{}` has too many MIG instances; expected at most 64", card.name)));
    }
    if !card.mig.is_empty() && (card.copies != 1 || card.memory != Manager::Dedicated) {
        return Err((span.clone(), "a card with MIG instances can't be copied; expected dedicated memory and one card".into()));
    }
    for instance in &card.mig {
        let (place, instance) = (instance.span(), instance.get_ref());
        if instance.reserved.0.0 + instance.overhead.0.0 > instance.total.0.0 {
            return Err((place, "the instance has no room; expected reserved + overhead within total".into()));
        }
        let beside: u64 = card
            .mig
            .iter()
            .map(Spanned::get_ref)
            .filter(|other| other.from < instance.until.unwrap_or(Time(Period(u64::MAX))))
            .filter(|other| instance.from < other.until.unwrap_or(Time(Period(u64::MAX))))
            .map(|other| other.total.0.0 - other.reserved.0.0)
            .sum();
        if beside > card.total.0.0 - card.reserved.0.0 - card.overhead.0.0 {
            return Err((place, "the instances are larger than the card; expected their sum within its total".into()));
        }
    }
    Ok(())
}

fn check_index(device: Option<u32>, cards: u32, span: Range<usize>) -> Result<(), Mistake> {
    match device {
        Some(device) if device >= cards => Err((span, format!("there is no device {device}; expected 0 to {}", cards - 1))),
        _ => Ok(()),
    }
}

fn check_phases(phases: &[Spanned<Phase>]) -> Result<(), Mistake> {
    let last = phases.len().saturating_sub(1);
    for (n, phase) in phases.iter().enumerate() {
        let (span, phase) = (phase.span(), phase.get_ref());
        if let Some(fault) = phase.fault() {
            return Err((span, fault.to_owned()));
        }
        if n < last && phase.is_last() {
            return Err((span, "the process ends here, but more phases follow; expected this one last".into()));
        }
        if n < last && phase.lasting() == Some((None, None)) {
            return Err((span, "this phase never ends, but more follow; expected `for` or `until`".into()));
        }
    }
    Ok(())
}
