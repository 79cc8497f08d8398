//! The first row: who and where, how often and at what cost, and the clock.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::super::look::Look;
use super::super::theme::Role;
use super::super::widgets::text::{Pen, put, width};
use super::super::world::World;
use super::Panel;
use crate::domain::snapshot::Pace;

/// The header.
pub struct Header;

impl Panel for Header {
    fn render(&mut self, world: &World<'_>, look: &Look, area: Rect, buf: &mut Buffer) {
        let right = right_end(world, look);
        // From the right: what matters most keeps its place when the screen gets narrow.
        let mut x = area.right().saturating_sub(1);
        let host =
            world.snapshot.header.as_ref().and_then(|header| header.host.as_deref()).map_or(0, |host| width(host).min(20) + 2);
        let least = area.x + 11 + if area.width < 60 { 0 } else { host };
        let mut kept = Vec::with_capacity(right.len());
        for (text, role) in right {
            let columns = width(&text);
            if x < least + columns {
                break;
            }
            x -= columns;
            kept.push((x, text, role));
            x = x.saturating_sub(2);
        }
        for (x, text, role) in &kept {
            put(buf, *x, area.y, area.right() - *x, text, world.style(*role));
        }
        let room = Rect { width: x.saturating_sub(area.x), ..area };
        let mut pen = Pen::new(buf, room);
        pen.skip(1).put("vramscope", world.style(Role::Strong));
        for (text, role) in left_end(world) {
            pen.skip(2);
            if !pen.put_whole(&text, world.style(role)) {
                break;
            }
        }
    }
}

/// What identifies the machine.
fn left_end(world: &World<'_>) -> Vec<(String, Role)> {
    let Some(header) = &world.snapshot.header else { return vec![("waiting for the driver".into(), Role::Dim)] };
    let mut facts = Vec::with_capacity(4);
    if let Some(host) = &header.host {
        facts.push((host.to_string(), Role::Text));
    }
    if let Ok(driver) = &header.driver {
        facts.push((format!("driver {driver}"), Role::Dim));
    }
    if let Ok(cuda) = &header.cuda {
        facts.push((format!("CUDA {cuda}"), Role::Dim));
    }
    if &*header.source != "nvml" {
        facts.push((header.source.to_string(), Role::Dim));
    }
    facts
}

/// From the right end inwards, most important first.
fn right_end(world: &World<'_>, look: &Look) -> Vec<(String, Role)> {
    let mut facts = Vec::with_capacity(8);
    facts.push((world.time(world.clock_now), Role::Text));
    if world.snapshot.simulated() {
        facts.push(("SIMULATED".into(), Role::Notice));
    }
    if let Some(cursor) = look.cursor {
        facts.push((format!("FROZEN at {}", world.time(cursor)), Role::Strong));
    }
    if world.snapshot.dropped > 0 {
        facts.push((format!("{} dropped", world.snapshot.dropped), Role::Notice));
    }
    if let Some(pace) = pace(world, look) {
        let role = if pace.backed_off { Role::Notice } else { Role::Dim };
        let got = pace.achieved.map_or(String::new(), |got| format!(", got {got}"));
        let why = if pace.backed_off { " (eased: calls are slow)" } else { "" };
        // Of a fixed width, so that nothing to its left moves when a digit more is needed.
        facts.push((format!("{:>24}", format!("every {}{got}{why}", pace.asked)), role));
        facts.push((format!("{:>19}", format!("driver call {}", pace.call)), role));
    }
    facts
}

/// The pace of the selected card, or of the one read most often.
fn pace(world: &World<'_>, look: &Look) -> Option<Pace> {
    let selected = world.selected(look).and_then(|card| card.view.memory_pace);
    selected.or_else(|| world.cards.iter().filter_map(|card| card.view.memory_pace).min_by_key(|pace| pace.asked))
}
