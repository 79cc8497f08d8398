//! Who holds the memory, as a table that can be sorted by any column.

use std::cmp::Ordering;
use std::ops::RangeInclusive;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::super::action::Action;
use super::super::columns::{COLUMNS, Column, SortKey, relation};
use super::super::look::{Focus, Look, RowKey};
use super::super::rows::{Row, RowKind, rows};
use super::super::theme::Role;
use super::super::widgets::list;
use super::super::widgets::text::{Rule, fit, put, put_right};
use super::super::world::World;
use super::devices::encode;
use super::{Panel, host};

/// The process table.
#[derive(Default)]
pub struct Processes {
    offset: usize,
    height: usize,
    /// Keys of the rows in the order of the screen, for moving the selection.
    order: Vec<RowKey>,
    /// The row of the titles, and where each column begins and ends.
    titles: (u16, Vec<(usize, u16, u16)>),
}

impl Panel for Processes {
    fn act(&mut self, action: Action, look: &mut Look, _world: &World<'_>) -> bool {
        if self.order.is_empty() {
            return matches!(
                action,
                Action::Up | Action::Down | Action::PageUp | Action::PageDown | Action::First | Action::Last
            );
        }
        let at = look.row.as_ref().and_then(|row| self.order.iter().position(|key| key == row));
        let last = self.order.len() - 1;
        let page = self.height.max(1);
        let Some(to) = action.moved(at, last, page) else { return false };
        look.row = self.order.get(to).cloned();
        true
    }

    fn click(&mut self, x: u16, y: u16, look: &mut Look, _world: &World<'_>) {
        let (titles, columns) = &self.titles;
        if y == *titles {
            if let Some((column, ..)) = columns.iter().find(|(_, from, to)| (*from..=*to).contains(&x)) {
                look.sort_by(*column);
            }
        } else if y > *titles
            && let Some(key) = self.order.get(self.offset + usize::from(y - titles - 1))
        {
            look.row = Some(key.clone());
            look.focus = Focus::Processes;
        }
    }

    fn render(&mut self, world: &World<'_>, look: &Look, area: Rect, buf: &mut Buffer) {
        let mut rows = rows(world, look);
        sort(&mut rows, world, look);
        self.order.clear();
        self.order.extend(rows.iter().map(Row::key));
        let holders = rows.iter().filter(|row| matches!(row.kind, RowKind::Holder(_))).count();

        let columns = layout(world, look, area);
        let y = area.y + 1;
        for (column, from, to) in &columns {
            let info = &COLUMNS[*column];
            let sorted = look.sort == *column;
            let mark = if sorted { world.glyphs.sorted[usize::from(!look.descending)].to_string() } else { String::new() };
            let title = format!("{}{mark}", info.title);
            let style = world.style(if sorted { Role::Strong } else { Role::Dim });
            if info.right {
                put_right(buf, *to, y, 9, &title, style);
            } else {
                put(buf, *from, y, to - from, &title, style);
            }
        }
        self.titles = (y, columns);

        self.height = usize::from(area.height.saturating_sub(2));
        let at = look.row.as_ref().and_then(|row| self.order.iter().position(|key| key == row));
        self.offset = list::scroll(self.offset, at, rows.len(), self.height);
        let shown = self.offset + 1..=(self.offset + self.height).min(rows.len());
        let shown = (rows.len() > self.height && self.height > 0).then_some(shown);
        let by_hidden = self.titles.1.iter().all(|(column, ..)| *column != look.sort);
        title(world, look, holders, shown, by_hidden, Rect { height: 1, ..area }, buf);
        for (y, row) in (y + 1..).zip(rows.iter().skip(self.offset).take(self.height)) {
            let selected = look.row.as_ref() == Some(&row.key());
            render_row(row, selected, world, look, &self.titles.1, Rect { y, height: 1, ..area }, buf);
        }
        if rows.is_empty() && self.height > 0 {
            let text = empty(world, look);
            put(
                buf,
                area.x + 3,
                y + 1,
                area.width.saturating_sub(4),
                &fit(&text, area.width.saturating_sub(4)),
                world.style(Role::Dim),
            );
        }
    }
}

fn title(
    world: &World<'_>,
    look: &Look,
    holders: usize,
    shown: Option<RangeInclusive<usize>>,
    by_hidden: bool,
    area: Rect,
    buf: &mut Buffer,
) {
    let place = world.selected(look).map_or("all cards".to_owned(), |card| format!("GPU {}", card.gpu()));
    let when = match look.cursor {
        Some(_) if world.past.is_some() => format!(" at {}", world.time(world.moment())),
        _ => world.selected(look).filter(|card| !card.is_fresh()).and_then(|card| Some((card, card.view.holders_at?))).map_or(
            String::new(),
            |(card, t)| {
                // The card's row has the age of what happened to it.
                if card.trouble(world.now).is_some() {
                    ", last known".to_owned()
                } else {
                    format!(", as of {} ago", world.now.since(t))
                }
            },
        ),
    };
    let blank = world.selected(look).is_some_and(|card| card.is_blank(world.past));
    let many = match holders {
        0 if blank => "processes not known".to_owned(),
        0 => "no process".to_owned(),
        1 => "1 process".to_owned(),
        _ => format!("{holders} processes"),
    };
    let rows = shown.map_or(String::new(), |rows| format!(", rows {} to {}", rows.start(), rows.end()));
    // A column that has no place here can't show the arrow.
    let info = &COLUMNS[look.sort.min(COLUMNS.len() - 1)];
    let by = if by_hidden {
        format!(", by {}{}", info.title, world.glyphs.sorted[usize::from(!look.descending)])
    } else {
        String::new()
    };
    let title = format!("{many} on {place}{when}{rows}{by}");
    let right = world.snapshot.host.filter(|_| !world.has_host_row).map_or_else(String::new, host::short);
    Rule {
        title: &title,
        right: &right,
        line: world.glyphs.rule,
        style: world.style(Role::Rule),
        title_style: world.style(if world.past.is_some() { Role::Notice } else { Role::Strong }),
    }
    .render(area, buf);
}

/// Why there is no row.
fn empty(world: &World<'_>, look: &Look) -> String {
    let missing = world.selected(look).and_then(|card| card.view.holders.as_ref().err());
    if let Some(card) = world.selected(look).filter(|card| card.is_blank(world.past)) {
        return format!("Nothing is known of this moment: {}.", world.why_blank(card));
    }
    match missing {
        Some(missing) if world.past.is_none() => format!("The processes of this card can't be listed: {missing}."),
        _ if world.cards.is_empty() => "Processes that hold memory on a card will stand here.".to_owned(),
        _ => "Nobody holds memory here. Processes appear as soon as they open the card.".to_owned(),
    }
}

/// Where the columns stand: as many as leave the command its least width.
fn layout(world: &World<'_>, look: &Look, area: Rect) -> Vec<(usize, u16, u16)> {
    let with_gpu = world.selected(look).is_none() && world.cards.len() > 1;
    let mut chosen: Vec<usize> = (0..COLUMNS.len()).filter(|at| with_gpu || COLUMNS[*at].id != "gpu").collect();
    let needed = |chosen: &[usize]| chosen.iter().map(|at| COLUMNS[*at].width + 1).sum::<u16>() + 3;
    while needed(&chosen) > area.width {
        let Some(worst) = chosen.iter().copied().max_by_key(|at| COLUMNS[*at].rank).filter(|at| COLUMNS[*at].rank > 0) else {
            break;
        };
        chosen.retain(|at| *at != worst);
    }
    let mut x = area.x + 3;
    let last = chosen.len().saturating_sub(1);
    chosen
        .into_iter()
        .enumerate()
        .map(|(n, at)| {
            let from = x;
            let to = if n == last { area.right().saturating_sub(1).max(from) } else { from + COLUMNS[at].width };
            x = to + 1;
            (at, from, to)
        })
        .collect()
}

fn render_row(
    row: &Row<'_>,
    selected: bool,
    world: &World<'_>,
    look: &Look,
    columns: &[(usize, u16, u16)],
    area: Rect,
    buf: &mut Buffer,
) {
    let slice = relation(row);
    let hue = world.style(slice.role());
    let selected_here = selected && look.focus == Focus::Processes;
    let old = world.past.is_none() && world.card(row.gpu).is_some_and(|card| !card.is_fresh());
    let text = match row.kind {
        _ if selected_here => world.style(Role::Text),
        RowKind::Holder(_) if !old => world.style(Role::Text),
        _ => world.style(Role::Dim),
    };
    if selected {
        put(buf, area.x, area.y, 1, encode(world.glyphs.marker, &mut [0; 4]), world.style(Role::Strong));
    }
    put(buf, area.x + 1, area.y, 1, encode(world.glyphs.slices[slice as usize], &mut [0; 4]), hue);
    for (at, from, to) in columns {
        let column: &Column = &COLUMNS[*at];
        let cell = (column.text)(row, world);
        let style = match column.id {
            _ if old || selected_here => text,
            "user" => hue,
            "memory" if matches!(row.kind, RowKind::Holder(_)) => world.style(Role::Strong),
            _ => text,
        };
        if column.right {
            put_right(buf, *to, area.y, to - from, &cell, style);
        } else {
            put(buf, *from, area.y, to - from, &fit(&cell, to - from), style);
        }
    }
    if selected_here {
        // The glyph keeps its hue.
        buf.set_style(Rect { x: area.x + 2, width: area.width.saturating_sub(2), ..area }, world.style(Role::Selected));
    }
}

/// Rows of missing values come last; rows of equal value keep the order of card and pid, so that nothing jumps.
fn sort(rows: &mut [Row<'_>], world: &World<'_>, look: &Look) {
    let column = &COLUMNS[look.sort.min(COLUMNS.len() - 1)];
    let order = |a: &SortKey, b: &SortKey| match (a, b) {
        (SortKey::Missing, SortKey::Missing) => Ordering::Equal,
        (SortKey::Missing, _) => Ordering::Greater,
        (_, SortKey::Missing) => Ordering::Less,
        _ => {
            let order = a.partial_cmp(b).unwrap_or(Ordering::Equal);
            if look.descending { order.reverse() } else { order }
        }
    };
    rows.sort_by_cached_key(|row| {
        // `sort_by_cached_key` needs a total order: the key carries its own.
        Ordered { key: (column.key)(row, world), tie: (row.gpu.0, row.holder().map_or(u32::MAX, |holder| holder.pid().0)), order }
    });
}

/// A key with the order to compare it by.
struct Ordered<F> {
    key: SortKey,
    tie: (u32, u32),
    order: F,
}

impl<F: Fn(&SortKey, &SortKey) -> Ordering> Ord for Ordered<F> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.order)(&self.key, &other.key).then(self.tie.cmp(&other.tie))
    }
}

impl<F: Fn(&SortKey, &SortKey) -> Ordering> PartialOrd for Ordered<F> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<F: Fn(&SortKey, &SortKey) -> Ordering> PartialEq for Ordered<F> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<F: Fn(&SortKey, &SortKey) -> Ordering> Eq for Ordered<F> {}
