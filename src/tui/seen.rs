//! Findings on the screen: which are shown, what they are called, and how to get to one.

use std::sync::Arc;

use super::look::{Look, Selection};
use super::theme::Role;
use super::widgets::glyphs::Glyphs;
use super::world::World;
use crate::domain::finding::Weight;
use crate::domain::tips::TIPS;
use crate::domain::{Advice, Bytes, Finding, Quantity, RiskLevel};

/// The findings worth a place beside others, newest first: those that do not just belong to a healthy run, and none of
/// after the moment looked at.
pub fn notable<'a>(world: &World<'a>) -> Vec<&'a Arc<Finding>> {
    all(world).into_iter().filter(|finding| finding.kind.weight() > Weight::Routine).collect()
}

/// All findings up to the moment of the picture, newest first. The cursor does not hide what came after it.
pub fn all<'a>(world: &World<'a>) -> Vec<&'a Arc<Finding>> {
    let mut all: Vec<&Arc<Finding>> = world.snapshot.findings.iter().filter(|finding| finding.from <= world.now).collect();
    all.sort_by_key(|finding| std::cmp::Reverse((finding.from, finding.n)));
    all
}

/// A finding's number as its mark: a circled one where there is one.
pub fn label(finding: &Finding, glyphs: &Glyphs) -> String {
    let circled = |first: u32, from: u32| char::from_u32(first + finding.n - from).map(String::from);
    let circled = match finding.n {
        1..=20 if glyphs.braille => circled(0x2460, 1),
        21..=35 if glyphs.braille => circled(0x3251, 21),
        36..=50 if glyphs.braille => circled(0x32b1, 36),
        _ => None,
    };
    circled.unwrap_or_else(|| finding.n.to_string())
}

/// How it is coloured.
pub fn role(finding: &Finding) -> Role {
    match finding.kind.weight() {
        Weight::Routine => Role::Dim,
        Weight::Notable => Role::Notice,
        Weight::Grave => Role::Alert,
    }
}

/// How a level of risk is coloured.
pub fn risk_role(level: RiskLevel) -> Role {
    match level {
        RiskLevel::Ok => Role::Dim,
        RiskLevel::Watch => Role::RiskWatch,
        RiskLevel::High => Role::RiskHigh,
        RiskLevel::Critical => Role::RiskCritical,
    }
}

/// The word for a level of risk in a narrow column.
pub fn risk_word(level: RiskLevel) -> &'static str {
    match level {
        RiskLevel::Ok => "ok",
        RiskLevel::Watch => "watch",
        RiskLevel::High => "HIGH",
        RiskLevel::Critical => "CRIT",
    }
}

/// What to do, as the catalogue orders it; the id of one that it does not have (from a newer file).
pub fn title_of(advice: &Advice) -> &str {
    TIPS.iter().find(|tip| tip.id == advice.tip).map_or(&advice.tip, |tip| tip.title)
}

/// What was seen and how much of it: `spike 5.67 GiB`.
pub fn headline(finding: &Finding) -> String {
    let much = finding.evidence.iter().find(|(_, quantity)| matches!(quantity, Quantity::Bytes(_) | Quantity::Rate(_)));
    much.map_or_else(|| finding.kind.title().to_owned(), |(_, quantity)| format!("{} {quantity}", finding.kind.title()))
}

/// What a tip should save: `saves 8.00 to 12.0 GiB`.
pub fn bytes_saved((lo, hi): (Bytes, Bytes)) -> String {
    if lo == hi {
        format!("saves {hi}")
    } else if lo == Bytes::ZERO {
        format!("saves up to {hi}")
    } else {
        format!("saves {lo} to {hi}")
    }
}

/// Shows the moment of a finding on its card.
pub fn jump(finding: &Finding, look: &mut Look, world: &World<'_>) {
    look.finding = Some(finding.n);
    if let Some(view) = world.snapshot.device(finding.gpu) {
        look.selection = Selection::One(view.device.id.clone());
    }
    let at = finding.to.unwrap_or(finding.t).min(world.clock_now);
    look.thaw();
    look.freeze(at, world.clock_now);
    look.show(at, world.clock_now);
}

/// The finding before or after the one that was jumped to last, in time.
pub fn neighbour<'a>(look: &Look, world: &World<'a>, later: bool) -> Option<&'a Arc<Finding>> {
    let all = notable(world);
    let at = look.finding.and_then(|n| all.iter().position(|finding| finding.n == n));
    // The list is newest first.
    match (at, later) {
        (None, true) => None,
        (None, false) => all.first().copied(),
        (Some(at), true) => at.checked_sub(1).and_then(|at| all.get(at)).copied(),
        (Some(at), false) => all.get(at + 1).copied(),
    }
}
