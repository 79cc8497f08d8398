//! Who holds the memory, as a table that can be sorted by any column.

use std::ops::RangeInclusive;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::super::action::Action;
use super::super::columns::{COLUMNS, Column};
use super::super::grown::{Grown, signed};
use super::super::look::{Focus, Look, RowKey};
use super::super::rows::{Row, RowKind};
use super::super::theme::Role;
use super::super::widgets::list;
use super::super::widgets::text::{Rule, fit, put, put_right, say, width};
use super::super::world::{World, gib, short_name};
use super::devices::encode;
use super::{Panel, host};
use crate::domain::Grower;

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
        let table = world.table(look);
        let rows = &table.rows;
        self.order.clear();
        self.order.extend(rows.iter().map(Row::key));

        let columns = layout(world, look, area);
        let y = area.y + 1;
        for (column, from, to) in &columns {
            let info = &COLUMNS[*column];
            let sorted = look.sort == *column;
            let mark = if sorted { world.glyphs.sorted[usize::from(!look.descending)].to_string() } else { String::new() };
            let title = format!("{}{mark}", info.heading(world));
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
        title(world, look, shown, by_hidden, Rect { height: 1, ..area }, buf);
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

fn title(world: &World<'_>, look: &Look, shown: Option<RangeInclusive<usize>>, by_hidden: bool, area: Rect, buf: &mut Buffer) {
    let table = world.table(look);
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
    let filtered = !look.filter.text().is_empty();
    let many = match (table.processes, table.shown) {
        (0, _) if blank => "processes not known".to_owned(),
        (0, _) => "no process".to_owned(),
        (all, shown) if filtered => format!("{shown} of {all} processes"),
        (1, _) => "1 process".to_owned(),
        (all, _) => format!("{all} processes"),
    };
    let rows = shown.map_or(String::new(), |rows| format!(", rows {} to {}", rows.start(), rows.end()));
    // A column that has no place here can't show the arrow.
    let info = &COLUMNS[look.sort.min(COLUMNS.len() - 1)];
    let by = if by_hidden {
        format!(", by {}{}", info.heading(world), world.glyphs.sorted[usize::from(!look.descending)])
    } else {
        String::new()
    };
    let mut title = format!("{many} on {place}{when}");
    if filtered {
        say(&mut title, format_args!(", filter {}", fit(look.filter.text(), 30)));
    }
    if table.hidden > 0 {
        say(&mut title, format_args!(", {} of graphics hidden", table.hidden));
    }
    if !look.tags.is_empty() {
        say(&mut title, format_args!(", {} tagged", look.tags.len()));
    }
    title += &rows;
    title += &by;
    let room = area.width.saturating_sub(width(&title) + 9);
    let host = world.snapshot.host.filter(|_| !world.has_host_row).map(host::short);
    // What grew is news; who holds what and the host's memory are there otherwise.
    let right = grew(world, look, room).or_else(|| users(world, look, room)).or(host.filter(|text| width(text) <= room));
    let right = right.unwrap_or_default();
    Rule {
        title: &title,
        right: &right,
        line: world.glyphs.rule,
        style: world.style(Role::Rule),
        title_style: world.style(if world.past.is_some() || filtered { Role::Notice } else { Role::Strong }),
    }
    .render(area, buf);
}

/// `+3.1 GiB in 5 min: train.py (812, user2) +2.9`, where the selected card changed over the time in sight; shorter where
/// there is less room.
fn grew(world: &World<'_>, look: &Look, room: u16) -> Option<String> {
    let grown = world.grown(world.selected(look)?.gpu())?;
    let total = grown.total.filter(|total| total.unsigned_abs() >= Grown::NOTABLE)?;
    // Those that changed in the same direction are the answer to who it was.
    let (who, delta) = grown.notable().find(|(_, delta)| (*delta > 0) == (total > 0))?;
    let (total, delta) = (signed(total, world.glyphs.minus), signed(delta, world.glyphs.minus));
    let time = grown.to.since(grown.from);
    let forms = match who {
        Grower::Holder(holder) => {
            let user = holder.process.as_ref().and_then(|process| process.user.as_deref().ok()).unwrap_or("?");
            let (name, pid) = (short_name(holder), holder.pid());
            [
                format!("{total} GiB in {time}: {name} ({pid}, {user}) {delta}"),
                format!("{total} GiB in {time}: {pid} ({user}) {delta}"),
                format!("{total} GiB: {pid} {delta}"),
            ]
        }
        Grower::Others | Grower::Unattributed => {
            let name = if matches!(who, Grower::Others) { "small processes" } else { "unattributed" };
            let long = format!("{total} GiB in {time}: {name} {delta}");
            [long.clone(), long, format!("{total} GiB: {name}")]
        }
    };
    forms.into_iter().find(|text| width(text) <= room)
}

/// What each user holds on all cards, where all are shown.
fn users(world: &World<'_>, look: &Look, room: u16) -> Option<String> {
    if world.selected(look).is_some() || world.past.is_some() {
        return None;
    }
    let me = world.snapshot.header.as_ref().and_then(|header| header.me.clone());
    let totals = world.snapshot.users();
    let mut out = String::new();
    for (at, total) in totals.iter().enumerate() {
        let name = match &total.user {
            Some(user) if Some(user) == me.as_ref() => "you",
            Some(user) => user,
            None => "unknown",
        };
        let more = if total.partial { "+" } else { "" };
        let text = format!("{}{name} {}{more}", if at > 0 { ", " } else { "" }, gib(Some(total.used)));
        let rest = totals.len() - at;
        if width(&out) + width(&text) + 4 + if rest > 1 { 9 } else { 0 } > room {
            return (at > 0).then(|| format!("{out} GiB, {rest} more"));
        }
        out += &text;
    }
    (!out.is_empty()).then(|| out + " GiB")
}

/// Why there is no row.
fn empty(world: &World<'_>, look: &Look) -> String {
    let missing = world.selected(look).and_then(|card| card.view.holders.as_ref().err());
    if let Some(card) = world.selected(look).filter(|card| card.is_blank(world.past)) {
        return format!("Nothing is known of this moment: {}.", world.why_blank(card));
    }
    match missing {
        Some(missing) if world.past.is_none() => format!("The processes of this card can't be listed: {missing}."),
        _ if world.table(look).processes > 0 && !look.filter.text().is_empty() => {
            "No process fits the filter; Esc clears it, / changes it.".to_owned()
        }
        _ if world.cards.is_empty() => "Processes that hold memory on a card will stand here.".to_owned(),
        _ => "Nobody holds memory here. Processes appear as soon as they open the card.".to_owned(),
    }
}

/// Columns of this rank and above give way to a command of that width.
const NICE: u8 = 3;
const COMMAND: u16 = 36;

/// Where the columns stand: as many as leave the command its least width.
fn layout(world: &World<'_>, look: &Look, area: Rect) -> Vec<(usize, u16, u16)> {
    let with_gpu = world.selected(look).is_none() && world.cards.len() > 1;
    let marked = !world.snapshot.marks.is_empty() && world.past.is_none();
    let has_place = |id| match id {
        "gpu" => with_gpu,
        "marked" => marked,
        _ => true,
    };
    let mut chosen: Vec<usize> = (0..COLUMNS.len()).filter(|at| has_place(COLUMNS[*at].id)).collect();
    // What is nice to know gives way to a command that can be read, the rest only to its least width.
    for (rank, command) in [(NICE, COMMAND), (1, 0)] {
        let needed = |chosen: &[usize]| {
            let of = |at: &usize| COLUMNS[*at].width.max(if COLUMNS[*at].id == "command" { command } else { 0 }) + 1;
            chosen.iter().map(of).sum::<u16>() + 3
        };
        while needed(&chosen) > area.width {
            let worst = chosen.iter().copied().max_by_key(|at| COLUMNS[*at].rank);
            let Some(worst) = worst.filter(|at| COLUMNS[*at].rank >= rank) else { break };
            chosen.retain(|at| *at != worst);
        }
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
    let slice = row.slice();
    let hue = world.style(slice.role());
    let selected_here = selected && look.focus == Focus::Processes;
    let old = world.past.is_none() && world.card(row.gpu).is_some_and(|card| !card.is_fresh());
    let text = match &row.kind {
        _ if selected_here => world.style(Role::Text),
        RowKind::Holder(_) | RowKind::Job(_) if !old => world.style(Role::Text),
        _ => world.style(Role::Dim),
    };
    if selected {
        put(buf, area.x, area.y, 1, encode(world.glyphs.marker, &mut [0; 4]), world.style(Role::Strong));
    }
    put(buf, area.x + 1, area.y, 1, encode(world.glyphs.slices[slice as usize], &mut [0; 4]), hue);
    if row.holders().next().is_some() && row.holders().all(|holder| look.tags.contains(holder.key)) {
        put(buf, area.x + 2, area.y, 1, encode(world.glyphs.tag, &mut [0; 4]), world.style(Role::Notice));
    }
    let last = columns.len().saturating_sub(1);
    for (n, (at, from, to)) in columns.iter().enumerate() {
        let column: &Column = &COLUMNS[*at];
        let cell = (column.text)(row, world);
        let style = match column.id {
            _ if old || selected_here => text,
            "user" => hue,
            "memory" if matches!(row.kind, RowKind::Holder(_) | RowKind::Job(_)) => world.style(Role::Strong),
            _ => text,
        };
        if column.right {
            put_right(buf, *to, area.y, to - from, &cell, style);
        } else {
            let from = if n == last { branch(row, world, *from, *to, area.y, buf) } else { *from };
            let room = to.saturating_sub(from);
            put(buf, from, area.y, room, &fit(&cell, room), style);
        }
    }
    if selected_here {
        // The glyph keeps its hue.
        buf.set_style(Rect { x: area.x + 2, width: area.width.saturating_sub(2), ..area }, world.style(Role::Selected));
    }
}

/// The fold of a job or the branch of what stands below another; gives the column after it.
fn branch(row: &Row<'_>, world: &World<'_>, from: u16, to: u16, y: u16, buf: &mut Buffer) -> u16 {
    let sign = match &row.kind {
        RowKind::Job(job) => Some(world.glyphs.folds[usize::from(job.open)]),
        _ if row.depth > 0 => Some(world.glyphs.branches[usize::from(row.last)]),
        _ => None,
    };
    let Some(sign) = sign else { return from };
    // As deep as leaves room for the name.
    let x = from + (u16::from(row.depth.saturating_sub(1)) * 2).min((to - from) / 3);
    put(buf, x, y, 1, encode(sign, &mut [0; 4]), world.style(Role::Dim));
    (x + 2).min(to)
}
