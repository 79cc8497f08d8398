//! The rows of the process table at the moment looked at.

use std::sync::Arc;

use super::cards::{Card, Peak, holders_at, peak_until};
use super::look::{Look, RowKey};
use super::world::World;
use crate::domain::{Bytes, Gpu, HolderView, Missing, Reading};

/// What a row is about.
#[derive(Clone, Debug)]
pub enum RowKind<'a> {
    /// A process.
    Holder(&'a Arc<HolderView>),
    /// Memory of no process.
    Unattributed,
    /// Processes that have no history of their own, in the past.
    Others,
}

/// One row.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// The device.
    pub gpu: Gpu,
    /// Whose row.
    pub kind: RowKind<'a>,
    /// Memory at the moment.
    pub used: Reading<Bytes>,
    /// The most memory up to the moment.
    pub peak: Option<Peak>,
    /// Total memory of the device, for the share.
    pub total: Option<Bytes>,
}

impl Row<'_> {
    /// What stays the same when the row moves.
    pub fn key(&self) -> RowKey {
        match self.kind {
            RowKind::Holder(holder) => RowKey::Holder(self.gpu, holder.key),
            RowKind::Unattributed => RowKey::Unattributed(self.gpu),
            RowKind::Others => RowKey::Others(self.gpu),
        }
    }

    /// The process, where it is one.
    pub fn holder(&self) -> Option<&HolderView> {
        match self.kind {
            RowKind::Holder(holder) => Some(holder),
            RowKind::Unattributed | RowKind::Others => None,
        }
    }
}

/// The rows of the selected card, or of all: of whole GPUs, since these list the processes of their instances too.
pub fn rows<'a>(world: &World<'a>, look: &Look) -> Vec<Row<'a>> {
    let mut rows = Vec::new();
    match world.selected(look) {
        Some(card) => card_rows(card, world, true, &mut rows),
        None => world.cards.iter().filter(|card| !card.is_instance).for_each(|card| card_rows(card, world, false, &mut rows)),
    }
    rows
}

fn card_rows<'a>(card: &Card<'a>, world: &World<'a>, alone: bool, rows: &mut Vec<Row<'a>>) {
    let (view, gpu, total) = (card.view, card.gpu(), card.figures.total);
    if card.is_blank(world.past) {
        return;
    }
    let mut row = |kind, used, peak| rows.push(Row { gpu, kind, used, peak, total });
    if let Some(t) = world.past {
        for (holder, used) in holders_at(view, t) {
            let peak = holder.series.as_ref().and_then(|series| peak_until(holder.peak, series, t));
            row(RowKind::Holder(holder), Ok(used), peak);
        }
        if let Some(others) = view.others.at(t).filter(|others| others.0 > 0) {
            row(RowKind::Others, Ok(others), None);
        }
    } else {
        for holder in view.holders.iter().flat_map(|list| list.iter()) {
            let peak = holder.peak.map(|(at, peak)| (Some(at), peak));
            row(RowKind::Holder(holder), holder.holder.used.clone(), peak);
        }
    }
    // Every card has a little of it: beside those of other cards only what is worth a row gets one.
    let least = if alone { 1 } else { 64 * crate::domain::bytes::MIB };
    match card.figures.unattributed {
        Some(unattributed) if unattributed.0 >= least => row(RowKind::Unattributed, Ok(unattributed), None),
        None if world.past.is_none() && view.holders.as_ref().is_ok_and(|list| !list.is_empty()) => {
            let why = "the driver does not tell the memory of every process";
            row(RowKind::Unattributed, Err(Missing::Unsupported(why.into())), None);
        }
        _ => {}
    }
}
