//! One row per card: a bar whose slices add up to the whole, on one scale for all cards.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use strum::IntoEnumIterator;

use super::super::action::Action;
use super::super::cards::{Card, Slice};
use super::super::look::{Focus, Look, Selection};
use super::super::seen;
use super::super::theme::Role;
use super::super::widgets::bar::{self, Part};
use super::super::widgets::list;
use super::super::widgets::text::{Pen, fit, fit_clauses, fit_words, put, put_right};
use super::super::world::{World, gib, short_name};
use super::Panel;
use crate::domain::bytes::GIB;
use crate::domain::{FullIn, Risk, RiskLevel};

/// The cards.
#[derive(Default)]
pub struct Devices {
    offset: usize,
    /// Rows of cards as drawn last: the first row and how many.
    rows: (u16, usize),
}

/// Where the parts of a row stand, for one width.
struct Columns {
    name: (u16, u16),
    util: u16,
    bar: (u16, u16),
    /// Right ends.
    used: u16,
    free: u16,
    peak: Option<u16>,
    /// Where the word of the risk begins.
    risk: Option<u16>,
    note: Option<(u16, u16)>,
}

impl Columns {
    fn new(area: Rect) -> Self {
        let width = area.width;
        let name = match width {
            0..60 => 0,
            60..100 => 12,
            100..150 => 15,
            _ => 22,
        };
        let note = match width {
            0..115 => 0,
            115..150 => 28,
            _ => width / 4,
        };
        let numbers = match width {
            0..60 => 13,
            60..72 => 20,
            _ => 26,
        };
        let x = area.x + 6;
        let util = x + name + u16::from(name > 0) + 4;
        let bar = util + 2;
        let right = area.right().saturating_sub(1 + if note > 0 { note + 2 } else { 0 });
        let columns = right.saturating_sub(numbers + bar);
        let used = bar + columns + 6;
        Self {
            name: (x, name),
            util,
            bar: (bar, columns),
            used,
            free: used + 7,
            peak: (width >= 60).then_some(used + 14),
            risk: (width >= 72).then_some(used + 15),
            note: (note > 0).then_some((right + 2, note)),
        }
    }
}

impl Panel for Devices {
    fn act(&mut self, action: Action, look: &mut Look, world: &World<'_>) -> bool {
        let at = world.selected(look).and_then(|card| world.cards.iter().position(|other| other.gpu() == card.gpu()));
        let last = world.cards.len().saturating_sub(1);
        let page = self.rows.1.max(1);
        let Some(to) = action.moved(at, last, page) else { return false };
        if let Some(card) = world.cards.get(to) {
            look.selection = Selection::One(card.view.device.id.clone());
        }
        true
    }

    fn click(&mut self, _x: u16, y: u16, look: &mut Look, world: &World<'_>) {
        look.focus = Focus::Devices;
        let (first, rows) = self.rows;
        let row = usize::from(y.saturating_sub(first));
        if y >= first
            && row < rows
            && let Some(card) = world.cards.get(self.offset + row)
        {
            look.selection = Selection::One(card.view.device.id.clone());
        }
    }

    fn render(&mut self, world: &World<'_>, look: &Look, area: Rect, buf: &mut Buffer) {
        let columns = Columns::new(area);
        header(world, &columns, area, buf);
        let legend = u16::from(area.height > world.cards.len() as u16 + 1 || area.height > 6);
        let height = usize::from(area.height.saturating_sub(1 + legend));
        let selected = world.selected(look).map(Card::gpu);
        let at = selected.and_then(|gpu| world.cards.iter().position(|card| card.gpu() == gpu));
        self.offset = list::scroll(self.offset, at, world.cards.len(), height);
        let shown = world.cards.iter().skip(self.offset).take(height);
        self.rows = (area.y + 1, shown.len());
        for (y, card) in (area.y + 1..).zip(shown) {
            row(world, look, card, selected == Some(card.gpu()), &columns, Rect { y, height: 1, ..area }, buf);
        }
        if legend > 0 {
            let y = area.y + 1 + self.rows.1 as u16;
            let hidden = world.cards.len() - self.offset.min(world.cards.len()) - self.rows.1;
            render_legend(world, hidden + self.offset, Rect { y, height: 1, ..area }, buf);
        }
    }
}

/// Titles, and the scale of the bars in round GiB.
fn header(world: &World<'_>, columns: &Columns, area: Rect, buf: &mut Buffer) {
    let dim = world.style(Role::Dim);
    put(buf, area.x + 2, area.y, 3, "GPU", dim);
    put_right(buf, columns.util, area.y, 4, "util", dim);
    put_right(buf, columns.used, area.y, 5, "used", dim);
    put_right(buf, columns.free, area.y, 5, "free", dim);
    if let Some(peak) = columns.peak {
        put_right(buf, peak, area.y, 5, "peak", dim);
    }
    if let Some(risk) = columns.risk {
        put(buf, risk, area.y, 5, "risk", dim);
    }
    if let Some((x, width)) = columns.note {
        put(buf, x, area.y, width, "why, or the largest holder", dim);
    }
    let scale = world.scale().0;
    let (x, width) = columns.bar;
    if scale == 0 || width < 12 {
        return;
    }
    let step = round_step(scale, width / 8);
    let mut value = 0;
    let mut free_from = x;
    while value <= scale {
        let label = (value / GIB).to_string();
        let at = x + (u128::from(value) * u128::from(width) / u128::from(scale)) as u16;
        let start = if value == 0 { at } else { at.saturating_sub(label.len() as u16 / 2) };
        // The last place is the unit's.
        if start >= free_from && start + label.len() as u16 + 4 <= x + width {
            free_from = put(buf, start, area.y, 5, &label, dim) + 1;
        }
        value += step;
    }
    put_right(buf, x + width, area.y, 3, "GiB", dim);
}

/// The smallest round number of GiB of which at most `most` fit into `scale`.
pub fn round_step(scale: u64, most: u16) -> u64 {
    let least = scale / u64::from(most.max(1));
    let rounds = [1, 2, 5, 10, 20, 40, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000];
    rounds.into_iter().map(|gib| gib * GIB).find(|step| *step >= least).unwrap_or(100_000 * GIB)
}

fn row(world: &World<'_>, look: &Look, card: &Card<'_>, selected: bool, columns: &Columns, area: Rect, buf: &mut Buffer) {
    let trouble = card.trouble(world.now).filter(|_| world.past.is_none());
    let old = !card.is_fresh() && world.past.is_none();
    let text = world.style(if old { Role::Dim } else { Role::Text });
    let gpu = card.gpu().to_string();
    if selected {
        put(buf, area.x, area.y, 1, encode(world.glyphs.marker, &mut [0; 4]), world.style(Role::Strong));
    }
    if card.is_instance {
        put(
            buf,
            area.x + 2,
            area.y,
            1,
            encode(world.glyphs.branches[usize::from(card.is_last)], &mut [0; 4]),
            world.style(Role::Rule),
        );
    }
    put_right(buf, area.x + 5, area.y, 3, &gpu, if selected { world.style(Role::Strong) } else { text });
    put(buf, columns.name.0, area.y, columns.name.1, &fit_words(card.name(), columns.name.1), text);
    let util = match (&card.view.utilization, world.past) {
        (_, Some(_)) => "-".to_owned(),
        (Ok(percent), None) if !old => format!("{percent:.0}%"),
        (Err(missing), None) if !old => missing.word().to_owned(),
        _ => "N/A".to_owned(),
    };
    put_right(buf, columns.util, area.y, 5, &util, text);

    let bar_area = Rect { x: columns.bar.0, width: columns.bar.1, ..area };
    match &trouble {
        Some(trouble) if columns.note.is_none() || card.figures.used.is_none() => {
            put(buf, bar_area.x, area.y, bar_area.width, &fit(trouble, bar_area.width), world.style(Role::Alert));
        }
        _ => bar::render(&parts(world, card, old), world.scale().0, bar_area, buf),
    }
    put_right(buf, columns.used, area.y, 5, &gib(card.figures.used), text);
    put_right(buf, columns.free, area.y, 5, &gib(card.figures.free), if old { text } else { world.style(Role::Strong) });
    if let Some(peak) = columns.peak {
        put_right(buf, peak, area.y, 5, &gib(card.peak.map(|(_, peak)| peak)), text);
    }
    let risk = card.view.risk.as_ref().filter(|_| world.past.is_none() && !old);
    if let (Some(x), Some(risk)) = (columns.risk, risk) {
        put(buf, x, area.y, 5, seen::risk_word(risk.level), world.style(seen::risk_role(risk.level)));
    }
    if let Some((x, width)) = columns.note {
        let mut pen = Pen::new(buf, Rect { x, width, ..area });
        match trouble {
            Some(trouble) if card.figures.used.is_some() => {
                pen.put(&trouble, world.style(Role::Alert));
            }
            Some(_) => {}
            None => match risk.and_then(|risk| why(risk, width)) {
                Some((text, role)) => {
                    pen.put(&text, world.style(role));
                }
                None => note(world, card, &mut pen),
            },
        }
    }
    if selected && look.focus == Focus::Devices {
        buf.set_style(
            Rect { x: area.x, width: columns.util.saturating_sub(area.x) + 1, ..area },
            world.style(Role::Selected).remove_modifier(Modifier::DIM),
        );
    }
}

/// Why a card is at risk, or what is worth knowing of one that is not.
fn why(risk: &Risk, room: u16) -> Option<(String, Role)> {
    let role = if risk.level == RiskLevel::Ok { Role::Dim } else { seen::risk_role(risk.level) };
    if let Some(full_in) = risk.full_in.filter(|_| risk.level > RiskLevel::Ok) {
        return Some((format!("full in {}", span(&full_in)), role));
    }
    (!risk.reason.is_empty()).then(|| (fit_clauses(&risk.reason, room).into_owned(), role))
}

/// From when to when a card is expected to be full.
pub fn span(full_in: &FullIn) -> String {
    format!("{} to {}", full_in.lo, full_in.hi)
}

/// Who holds most.
fn note(world: &World<'_>, card: &Card<'_>, pen: &mut Pen<'_>) {
    let dim = world.style(Role::Dim);
    if card.is_blank(world.past) {
        pen.put("nothing known then", dim);
        return;
    }
    if let Some((holder, used)) = card.largest(world.past) {
        let slice = Slice::of(holder.relation());
        let user = holder.process.as_ref().and_then(|process| process.user.as_deref().ok()).unwrap_or("?");
        pen.put(&format!("{:>5} ", gib(Some(used))), world.style(Role::Text));
        pen.put(encode(world.glyphs.slices[slice as usize], &mut [0; 4]), world.style(slice.role())).skip(1);
        pen.put(&short_name(holder), world.style(Role::Text)).put(" ", dim).put(user, dim);
        return;
    }
    let text = match &card.view.holders {
        Ok(list) if list.is_empty() => "nobody".to_owned(),
        Ok(_) => "sizes are not told".to_owned(),
        Err(missing) => format!("processes {missing}"),
    };
    pen.put(&text, dim);
}

/// The slices of a card.
fn parts(world: &World<'_>, card: &Card<'_>, old: bool) -> [Part; 9] {
    let mut parts = Slice::iter();
    std::array::from_fn(|at| {
        let slice = parts.next().unwrap_or(Slice::Free);
        let style = world.style(slice.role());
        Part {
            size: card.figures.slices[at],
            glyph: world.glyphs.slices[at],
            style: if old { style.add_modifier(Modifier::DIM) } else { style },
            elastic: matches!(slice, Slice::Free | Slice::Reserved | Slice::Unattributed),
        }
    })
}

/// What the glyphs mean, of those that are on the screen.
fn render_legend(world: &World<'_>, hidden: usize, area: Rect, buf: &mut Buffer) {
    let dim = world.style(Role::Dim);
    // Not below the bars: there it would look like one more.
    let start = area.x + if hidden > 0 { 12 } else { 3 };
    let mut pen = Pen::new(buf, Rect { x: start, width: area.right().saturating_sub(start), ..area });
    for slice in Slice::iter() {
        if world.cards.iter().any(|card| card.figures.slices[slice as usize] > 0) {
            if pen.left() < slice.name().len() as u16 + 4 {
                break;
            }
            pen.put(encode(world.glyphs.slices[slice as usize], &mut [0; 4]), world.style(slice.role()));
            pen.skip(1).put(slice.name(), dim).skip(2);
        }
    }
    if hidden > 0 {
        put(buf, area.x + 3, area.y, 8, &format!("{hidden} more"), world.style(Role::Notice));
    }
}

/// A character as a text.
pub fn encode(c: char, buffer: &mut [u8; 4]) -> &str {
    c.encode_utf8(buffer)
}
