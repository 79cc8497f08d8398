//! All cards over time, small and on one scale of their own capacity.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::super::action::Action;
use super::super::look::{Look, Selection};
use super::super::theme::Role;
use super::super::widgets::plot::{Plot, Share};
use super::super::widgets::text::{Pen, Rule, fill, fit_words, put};
use super::super::world::{World, gib};
use super::Panel;
use super::timeline::{Window, act, plot_style, selected_share, time_axis};
use crate::domain::DeviceId;

/// The small multiples.
#[derive(Default)]
pub struct Multiples {
    window: Option<Window>,
    /// Where each card was drawn.
    places: Vec<(Rect, DeviceId)>,
}

impl Panel for Multiples {
    fn act(&mut self, action: Action, look: &mut Look, world: &World<'_>) -> bool {
        act(action, self.window, look, world)
    }

    fn click(&mut self, x: u16, y: u16, look: &mut Look, _world: &World<'_>) {
        if let Some((_, id)) = self.places.iter().find(|(place, _)| place.contains((x, y).into())) {
            look.selection = Selection::One(id.clone());
        }
    }

    fn render(&mut self, world: &World<'_>, look: &Look, area: Rect, buf: &mut Buffer) {
        self.places.clear();
        let title = format!("all cards  last {}", look.span_name());
        let inner =
            Rect { x: area.x + 1, y: area.y + 1, width: area.width.saturating_sub(2), height: area.height.saturating_sub(1) };
        let more = hidden(world.cards.len(), inner);
        let rule = Rule {
            title: &title,
            right: &more,
            line: world.glyphs.rule,
            style: world.style(Role::Rule),
            title_style: world.style(Role::Strong),
        };
        rule.render(Rect { height: 1, ..area }, buf);
        if world.cards.is_empty() {
            let text = "The memory of every card over time will be drawn here.";
            put(buf, inner.x + 2, inner.y + inner.height / 2, inner.width.saturating_sub(2), text, world.style(Role::Dim));
            return;
        }
        let (columns, rows) = grid(world.cards.len(), inner);
        if columns == 0 || rows == 0 {
            return;
        }
        let (width, height) = (inner.width / columns, inner.height / rows);
        for (at, card) in world.cards.iter().enumerate().take(usize::from(columns * rows)) {
            let (column, row) = (at as u16 % columns, at as u16 / columns);
            let place = Rect { x: inner.x + column * width, y: inner.y + row * height, width: width.saturating_sub(2), height };
            self.places.push((place, card.view.device.id.clone()));
            let mut pen = Pen::new(buf, Rect { height: 1, ..place });
            let old = !card.is_fresh() && world.past.is_none();
            pen.put(&format!("GPU {}", card.gpu()), world.style(if old { Role::Dim } else { Role::Strong })).skip(2);
            let of = if card.is_blank(world.past) {
                "nothing known then".to_owned()
            } else {
                format!("{} of {} GiB", gib(card.figures.used), gib(Some(card.figures.extent())))
            };
            pen.put(&of, world.style(Role::Dim)).skip(2);
            let room = pen.left();
            match card.trouble(world.now).filter(|_| world.past.is_none()) {
                Some(trouble) => pen.put(&trouble, world.style(Role::Alert)),
                None => pen.put(&fit_words(card.name(), room), world.style(Role::Dim)),
            };
            let axis = u16::from(height > 4);
            let plot = Rect { y: place.y + 1, height: height.saturating_sub(1 + axis), ..place };
            let window = Window::new(world, look, plot.width);
            self.window = Some(window);
            let top = card.figures.extent();
            if top.0 == 0 {
                continue;
            }
            fill(buf, plot.x, plot.y, plot.width, world.glyphs.capacity, world.style(Role::Rule));
            let buckets = window.buckets(&card.view.series);
            // A job is seen on all its cards.
            let share = selected_share(look, card, window);
            let share = share.as_ref().map(|(buckets, slice)| Share { buckets, style: world.style(slice.role()) });
            Plot { buckets: &buckets, share, top, style: plot_style(world), glyphs: world.glyphs }.render(plot, buf);
            if axis > 0 {
                time_axis(world, look, window, plot, buf);
            }
        }
    }
}

/// How many cards have no room.
fn hidden(cards: usize, area: Rect) -> String {
    let (columns, rows) = grid(cards, area);
    let shown = usize::from(columns * rows);
    if shown < cards { format!("{} more", cards - shown) } else { String::new() }
}

/// Columns and rows: each card at least 34 columns wide and 4 rows high, as near to 4:1 as it gets.
fn grid(cards: usize, area: Rect) -> (u16, u16) {
    let most_columns = (area.width / 34).max(1);
    let most_rows = (area.height / 4).max(1);
    let cards = cards.max(1) as u16;
    (1..=most_columns.min(cards))
        .map(|columns| (columns, cards.div_ceil(columns).min(most_rows)))
        .min_by_key(|(columns, rows)| {
            let hidden = cards.saturating_sub(columns * rows);
            let (width, height) = (u32::from(area.width / columns), u32::from(area.height / rows));
            (hidden, columns * rows - (cards - hidden), width.abs_diff(height * 6))
        })
        .unwrap_or((0, 0))
}
