//! Everything in a few rows: the answer, and one sparkline per card.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::super::look::Look;
use super::super::theme::Role;
use super::super::widgets::plot::sparkline;
use super::super::widgets::text::{fit_clauses, put, put_right, width};
use super::super::world::{World, gib};
use super::timeline::Window;
use super::{Panel, answer};

/// The strip.
#[derive(Default)]
pub struct Strip {
    named: answer::Named,
}

impl Panel for Strip {
    fn render(&mut self, world: &World<'_>, look: &Look, area: Rect, buf: &mut Buffer) {
        let mut room = area.width.saturating_sub(1);
        let label = match (world.snapshot.simulated(), look.cursor) {
            (true, Some(_)) => "SIMULATED FROZEN",
            (true, None) => "SIMULATED",
            (false, Some(_)) => "FROZEN",
            (false, None) => "",
        };
        if !label.is_empty() {
            put_right(buf, area.right(), area.y, width(label), label, world.style(Role::Notice));
            room = room.saturating_sub(width(label) + 1);
        }
        if let Some((text, role)) = answer::sentences(world, &mut self.named).first() {
            put(buf, area.x, area.y, room, &fit_clauses(text, room), world.style(*role));
        }
        let rows = area.height.saturating_sub(1);
        if rows == 0 || world.cards.is_empty() {
            return;
        }
        let cards = world.cards.len() as u16;
        let per_row = cards.div_ceil(rows).min((area.width / 20).max(1));
        let columns = area.width / per_row;
        for (at, card) in (0..rows * per_row).zip(&world.cards) {
            let place = Rect {
                x: area.x + at % per_row * columns,
                y: area.y + 1 + at / per_row,
                width: columns.saturating_sub(1),
                height: 1,
            };
            let fresh = card.is_fresh() || world.past.is_some();
            let text = world.style(if fresh { Role::Text } else { Role::Alert });
            let x = put(buf, place.x, place.y, 3, &card.gpu().to_string(), text) + 1;
            let numbers = format!("{}/{}", gib(card.figures.used), gib(Some(card.figures.extent())));
            let numbers = if fresh { numbers } else { format!("{} ago", card.stale.unwrap_or_default()) };
            put_right(buf, place.right(), place.y, 10, &numbers, text);
            let line = Rect { x, width: place.right().saturating_sub(x + 11), ..place };
            let window = Window::new(world, look, line.width);
            let pairs = window.buckets(&card.view.series);
            let merged: Vec<_> =
                pairs.chunks(2).map(|pair| pair.iter().copied().max_by_key(|bucket| bucket.max()).unwrap_or(pair[0])).collect();
            sparkline(&merged, card.figures.extent(), world.glyphs, world.style(Role::Line), line, buf);
        }
    }
}
