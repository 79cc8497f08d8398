//! All about the selected row: facts in words, and its memory over time.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::{Clear, Widget};

use super::super::action::Action;
use super::super::look::{Look, RowKey};
use super::super::subject::{Curve, Fact, Subject, subject};
use super::super::theme::Role;
use super::super::widgets::plot::{Plot, PlotStyle};
use super::super::widgets::text::{Rule, fit, put, put_right, width, wrap};
use super::super::world::{World, gib};
use super::Panel;
use super::devices::encode;
use super::timeline::{Window, time_axis};
use crate::domain::{Bucket, Bytes};

/// The details.
#[derive(Default)]
pub struct Details {
    offset: usize,
    /// Lines and rows as drawn last.
    extent: (usize, usize),
    /// What was told last: another subject is told from its beginning.
    row: Option<RowKey>,
}

/// Columns of the labels.
const LABEL: u16 = 12;

/// The screen from which facts and curves stand beside each other.
const WIDE: u16 = 110;

impl Panel for Details {
    fn act(&mut self, action: Action, _look: &mut Look, _world: &World<'_>) -> bool {
        let last = self.extent.0.saturating_sub(self.extent.1);
        let Some(to) = action.moved(Some(self.offset), last, self.extent.1.max(1)) else { return false };
        self.offset = to;
        true
    }

    fn render(&mut self, world: &World<'_>, look: &Look, area: Rect, buf: &mut Buffer) {
        Clear.render(area, buf);
        buf.set_style(area, world.style(Role::Ground));
        if self.row != look.row {
            self.row.clone_from(&look.row);
            self.offset = 0;
        }
        let subject = subject(world, look);
        let title = subject.as_ref().map_or("nothing selected".to_owned(), |subject| {
            let when = world.past.map_or_else(String::new, |t| format!(" at {}", world.time(t)));
            format!("{}, {}{when}", subject.title, subject.slice.name())
        });
        let title_role = if world.past.is_some() { Role::Notice } else { Role::Strong };
        let rule = Rule {
            title: &title,
            right: "Esc closes",
            line: world.glyphs.rule,
            style: world.style(Role::Rule),
            title_style: world.style(title_role),
        };
        rule.render(Rect { height: 1, ..area }, buf);
        let Some(subject) = subject else {
            let text = "The selected row is gone, and so is its history.";
            put(buf, area.x + 3, area.y + 1, area.width.saturating_sub(4), text, world.style(Role::Dim));
            return;
        };
        let hue = world.style(subject.slice.role());
        put(buf, area.x, area.y, 1, encode(world.glyphs.slices[subject.slice as usize], &mut [0; 4]), hue);
        let inner = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
        let (words, curves) = split(&subject, inner);
        self.facts(world, &subject.facts, words, buf);
        draw_curves(world, look, &subject, curves, buf);
    }
}

/// The places of the facts and of the curves.
fn split(subject: &Subject, area: Rect) -> (Rect, Rect) {
    let none = Rect { width: 0, height: 0, ..area };
    if subject.curves.is_empty() {
        return (area, none);
    }
    if area.width >= WIDE {
        let left = area.width * 11 / 20;
        return (Rect { width: left, ..area }, Rect { x: area.x + left, width: area.width - left, ..area });
    }
    // The facts come first; a curve needs a title, four rows and an axis.
    let rows = (area.height / 3).max(6);
    if area.height < rows + 6 {
        return (area, none);
    }
    let facts = area.height - rows;
    (Rect { height: facts, ..area }, Rect { y: area.y + facts, height: rows, ..area })
}

impl Details {
    fn facts(&mut self, world: &World<'_>, facts: &[Fact], area: Rect, buf: &mut Buffer) {
        let room = area.width.saturating_sub(LABEL + 5).max(8);
        let mut lines: Vec<(&str, String, bool)> = Vec::with_capacity(facts.len());
        for fact in facts {
            for (n, line) in wrap(&fact.text, room).into_iter().enumerate() {
                lines.push((if n == 0 { &fact.label } else { "" }, line, fact.notable));
            }
        }
        let rows = usize::from(area.height);
        self.extent = (lines.len(), rows);
        self.offset = self.offset.min(lines.len().saturating_sub(rows));
        let below = lines.len().saturating_sub(self.offset + rows);
        for (y, (label, text, notable)) in (area.y..).zip(lines.iter().skip(self.offset).take(rows)) {
            put(buf, area.x + 2, y, LABEL, label, world.style(Role::Dim));
            let style = world.style(if *notable { Role::Strong } else { Role::Text });
            let room = if below > 0 && y + 1 == area.bottom() { room.saturating_sub(9) } else { room };
            put(buf, area.x + 3 + LABEL, y, room, &fit(text, room), style);
        }
        if below > 0 {
            let more = format!(" {below} more ");
            let y = area.bottom().saturating_sub(1);
            put_right(buf, area.right().saturating_sub(1), y, width(&more), &more, world.style(Role::Notice));
        }
    }
}

/// As many curves as have room, each with its title, its scale and the time.
fn draw_curves(world: &World<'_>, look: &Look, subject: &Subject, area: Rect, buf: &mut Buffer) {
    let least = 6;
    let count = (area.height / least).min(subject.curves.len() as u16);
    if count == 0 || area.width < 24 {
        return;
    }
    let rows = (area.height / count).min(16);
    for (at, curve) in (0..count).zip(&subject.curves) {
        let place = Rect { y: area.y + at * rows, height: rows, ..area };
        let more = subject.curves.len() - usize::from(count);
        let more = if at + 1 == count && more > 0 { format!(", {more} more cards") } else { String::new() };
        let title = format!("{}, {}{more}", curve.title, look.span_name());
        put(buf, place.x + 6, place.y, place.width.saturating_sub(8), &title, world.style(Role::Dim));
        draw_curve(world, look, subject, curve, place, buf);
    }
}

fn draw_curve(world: &World<'_>, look: &Look, subject: &Subject, curve: &Curve, place: Rect, buf: &mut Buffer) {
    let plot =
        Rect { x: place.x + 6, y: place.y + 1, width: place.width.saturating_sub(8), height: place.height.saturating_sub(3) };
    if plot.is_empty() {
        return;
    }
    let window = Window::new(world, look, plot.width);
    let mut sum: Vec<Bucket> = Vec::new();
    for series in &curve.series {
        let buckets = window.buckets(series);
        if sum.is_empty() {
            sum = buckets;
        } else {
            sum.iter_mut().zip(buckets).for_each(|(sum, bucket)| *sum = sum.plus(bucket));
        }
    }
    let hue = world.style(subject.slice.role());
    let style = PlotStyle { line: world.style(Role::Line), fill: hue, band: hue };
    put_right(buf, plot.x - 1, plot.y, 5, &gib(Some(curve.top)), world.style(Role::Dim));
    put_right(buf, plot.x - 1, plot.bottom() - 1, 5, &gib(Some(Bytes::ZERO)).replace("0.00", "0"), world.style(Role::Dim));
    Plot { buckets: &sum, share: None, top: curve.top, style, glyphs: world.glyphs }.render(plot, buf);
    time_axis(world, look, window, plot, buf);
}
