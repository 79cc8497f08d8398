//! Memory and swap of the host in one row.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::super::cards::Slice;
use super::super::look::Look;
use super::super::theme::Role;
use super::super::widgets::bar::{self, Part};
use super::super::widgets::text::Pen;
use super::super::world::{World, gib};
use super::Panel;
use crate::domain::HostMemory;

/// The host.
pub struct Host;

impl Panel for Host {
    fn render(&mut self, world: &World<'_>, _look: &Look, area: Rect, buf: &mut Buffer) {
        let mut pen = Pen::new(buf, area);
        pen.skip(3).put("host", world.style(Role::Dim)).skip(2);
        let Some(host) = world.snapshot.host else {
            pen.put("memory not read yet", world.style(Role::Dim));
            return;
        };
        let columns = (area.width / 6).clamp(10, 24);
        let used = host.total.saturating_sub(host.available);
        let parts = [
            Part { size: used.0, glyph: world.glyphs.full, style: world.style(Role::InUse), elastic: false },
            Part {
                size: host.available.0,
                glyph: world.glyphs.slices[Slice::Free as usize],
                style: world.style(Role::Free),
                elastic: true,
            },
        ];
        let place = Rect { x: area.x + 9, width: columns.min(area.width.saturating_sub(9)), ..area };
        pen.skip(columns + 2).put(&line(host), world.style(Role::Dim));
        bar::render(&parts, host.total.0, place, buf);
    }
}

/// `143 of 512 GiB used, 369 available   swap 0.20 of 8.00`.
fn line(host: HostMemory) -> String {
    let used = host.total.saturating_sub(host.available);
    format!("{} of {} GiB used, {} available   {}", gib(Some(used)), gib(Some(host.total)), gib(Some(host.available)), swap(host))
}

/// The short form, for a rule.
pub fn short(host: HostMemory) -> String {
    format!("host {} of {} GiB, {}", gib(Some(host.total.saturating_sub(host.available))), gib(Some(host.total)), swap(host))
}

fn swap(host: HostMemory) -> String {
    if host.swap_total.0 == 0 {
        "no swap".to_owned()
    } else {
        format!("swap {} of {}", gib(Some(host.swap_used)), gib(Some(host.swap_total)))
    }
}
