//! One card over time: the instrument.

use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use super::super::action::Action;
use super::super::cards::{Card, Slice};
use super::super::look::{Focus, Look, RowKey};
use super::super::seen;
use super::super::theme::Role;
use super::super::widgets::plot::{Dots, Plot, PlotStyle, Share};
use super::super::widgets::text::{Rule, fill, fit, plain, put, put_right, width};
use super::super::world::{World, gib};
use super::Panel;
use super::devices::{encode, round_step};
use crate::domain::bytes::GIB;
use crate::domain::{Bucket, Bytes, Finding, FullIn, HolderView, Period, Series, Timestamp};

/// The timeline.
#[derive(Default)]
pub struct Timeline {
    /// The plot as drawn last.
    plot: Rect,
    window: Option<Window>,
}

/// Which time the columns of a plot show. Columns lie on multiples of their width, so the picture moves by whole
/// columns and a spike never changes its height.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Time of one column; two buckets.
    pub column: Period,
    /// The number of the first column, counted from the origin of the stream; negative before it.
    first: i64,
    columns: u16,
    until: Timestamp,
}

impl Window {
    /// The window of `columns` columns that the look asks for.
    pub fn new(world: &World<'_>, look: &Look, columns: u16) -> Self {
        Self::with_future(world, look, columns, 0)
    }

    /// The same with `future` of the columns after now.
    fn with_future(world: &World<'_>, look: &Look, columns: u16, future: u16) -> Self {
        let end = look.end.unwrap_or(world.now);
        let column = Period((look.span().0 / u64::from((columns - future.min(columns)).max(1))).max(2) / 2 * 2);
        let first = (end.0 / column.0) as i64 + 1 - i64::from(columns) + i64::from(future);
        Self { column, first, columns, until: world.now }
    }

    /// Two buckets per column of a series.
    pub fn buckets(&self, series: &Series) -> Vec<Bucket> {
        let before = usize::try_from(-self.first).unwrap_or(0).min(usize::from(self.columns));
        let half = Period(self.column.0 / 2);
        let from = Timestamp(self.first.max(0) as u64 * self.column.0);
        let mut buckets = vec![Bucket::EMPTY; before * 2];
        buckets.extend(series.buckets(from, half, (usize::from(self.columns) - before) * 2, self.until));
        buckets
    }

    /// The column of a moment, if it is in sight.
    pub fn column_of(&self, t: Timestamp) -> Option<u16> {
        let at = (t.0 / self.column.0) as i64 - self.first;
        u16::try_from(at).ok().filter(|at| *at < self.columns)
    }

    /// The end of a column's time: what the cursor shows when it stands there.
    fn moment(&self, column: u16) -> Timestamp {
        Timestamp((self.first + i64::from(column) + 1).max(0) as u64 * self.column.0)
    }

    /// The first and the last moment.
    fn range(&self) -> (Timestamp, Timestamp) {
        let at = |column: i64| Timestamp(column.max(0) as u64 * self.column.0);
        (at(self.first), at(self.first + i64::from(self.columns)))
    }
}

/// The colours of every plot.
pub fn plot_style(world: &World<'_>) -> PlotStyle {
    PlotStyle { line: world.style(Role::Line), fill: world.style(Role::Fill), band: world.style(Role::Band) }
}

/// Takes what moves through time; the same for one card and for all.
pub fn act(action: Action, window: Option<Window>, look: &mut Look, world: &World<'_>) -> bool {
    let span = look.span();
    let column = window.map_or(Period::secs(1), |window| window.column);
    let step = if look.cursor.is_some() { column } else { Period(column.0.max(span.0 / 10) / column.0.max(1) * column.0) };
    match action {
        Action::Earlier => look.pan(false, step, world.now),
        Action::Later => look.pan(true, step, world.now),
        Action::MuchEarlier => look.pan(false, span, world.now),
        Action::MuchLater => look.pan(true, span, world.now),
        Action::ZoomIn => look.zoom_in(),
        Action::ZoomOut => look.zoom_out(),
        _ => return false,
    }
    true
}

impl Panel for Timeline {
    fn act(&mut self, action: Action, look: &mut Look, world: &World<'_>) -> bool {
        act(action, self.window, look, world)
    }

    fn click(&mut self, x: u16, y: u16, look: &mut Look, world: &World<'_>) {
        if let Some(window) = self.window.filter(|_| self.plot.contains((x, y).into())) {
            look.freeze(window.moment(x - self.plot.x), world.now);
        }
    }

    fn render(&mut self, world: &World<'_>, look: &Look, area: Rect, buf: &mut Buffer) {
        let Some(card) = world.selected(look) else { return };
        title(world, look, card, Rect { height: 1, ..area }, buf);
        let right = match area.width {
            0..60 => 0,
            60..100 => 6,
            _ => 15,
        };
        let seen: Vec<&Finding> =
            seen::notable(world).into_iter().map(|finding| &**finding).filter(|finding| finding.gpu == card.gpu()).collect();
        // The lane stays once there was something to mark: the picture does not jump.
        let marks = u16::from((!world.snapshot.marks.is_empty() || !world.snapshot.findings.is_empty()) && area.height > 8);
        let plot = Rect {
            x: area.x + 6,
            y: area.y + 1 + marks,
            width: area.width.saturating_sub(7 + right),
            height: area.height.saturating_sub(2 + marks),
        };
        self.plot = plot;
        self.window = None;
        if plot.is_empty() {
            return;
        }
        let forecast = forecast(world, look, card);
        let future = forecast.as_ref().map_or(0, |_| plot.width / 5);
        let window = Window::with_future(world, look, plot.width, future);
        self.window = Some(window);
        let total = card.figures.total.filter(|total| total.0 > 0);
        let peak = card.view.peak.map(|(_, peak)| peak);
        let extent = Some(card.figures.extent()).filter(|extent| extent.0 > 0);
        let Some(top) = total.or(extent.max(peak)).filter(|top| top.0 > 0) else {
            put(
                buf,
                plot.x,
                plot.y + plot.height / 2,
                plot.width,
                "Nothing read yet; used memory will be drawn here.",
                world.style(Role::Dim),
            );
            return;
        };
        value_axis(world, top, plot, buf);
        if total.is_some() {
            fill(buf, plot.x, plot.y, plot.width, world.glyphs.capacity, world.style(Role::Rule));
        }
        let buckets = window.buckets(&card.view.series);
        let share = selected_share(look, card, window);
        let plot_of = Plot {
            buckets: &buckets,
            share: share.as_ref().map(|(buckets, slice)| Share { buckets, style: world.style(slice.role()) }),
            top,
            style: plot_style(world),
            glyphs: world.glyphs,
        };
        plot_of.render(plot, buf);
        beginning(world, card, window, plot, buf);
        if right > 0 {
            levels(world, look, card, top, total.is_some(), right, plot, buf);
        }
        if let Some(forecast) = forecast {
            cone(world, &forecast, top, window, plot, buf);
        }
        if marks > 0 {
            lane(world, &seen, window, plot, buf);
        }
        time_axis(world, look, window, plot, buf);
        if let Some(at) = look.cursor.and_then(|cursor| window.column_of(Timestamp(cursor.0.saturating_sub(1)))) {
            for y in plot.y..plot.bottom() {
                let cell = &mut buf[(plot.x + at, y)];
                // Over the data: without colours a cell of dots would not be seen to be another.
                cell.set_char(world.glyphs.cursor).set_style(plain(world.style(Role::Notice)));
            }
        }
    }
}

fn title(world: &World<'_>, look: &Look, card: &Card<'_>, area: Rect, buf: &mut Buffer) {
    // A number of CUDA's stands beside that of the driver where somebody has chosen what CUDA sees.
    let cuda = world.options.cuda.as_ref().and_then(|cuda| cuda.ordinal(card.gpu(), world.snapshot));
    let cuda = cuda.map_or_else(String::new, |number| format!(", cuda:{number}"));
    let name = format!("GPU {}{cuda}  {}", card.gpu(), card.name());
    let mut title = format!("{name}  last {}", look.span_name());
    if let Some(end) = look.end.filter(|_| look.cursor.is_none()) {
        let ago = world.now.since(end);
        title = format!("{name}  {} up to {}, {ago} ago", look.span_name(), world.time(end));
    } else if let Some(cursor) = look.cursor {
        let what = if card.is_blank(world.past) {
            format!("nothing known, {}", world.why_blank(card))
        } else {
            format!("{} GiB used", gib(card.figures.used))
        };
        title = format!("{name}  at {}: {what}", world.time(cursor));
    }
    let keys = |action| world.keymap.keys(action).next().map(|key| key.to_string()).unwrap_or_default();
    let freeze = if look.cursor.is_some() { "go on" } else { "freeze" };
    let pan = if look.cursor.is_some() { "cursor" } else { "pan" };
    let right = format!(
        "{}{} zoom  {}{} {pan}  {} {freeze}",
        keys(Action::ZoomIn),
        keys(Action::ZoomOut),
        keys(Action::Earlier),
        keys(Action::Later),
        keys(Action::Freeze)
    );
    let title_style = world.style(if look.cursor.is_some() { Role::Notice } else { Role::Strong });
    Rule { title: &title, right: &right, line: world.glyphs.rule, style: world.style(Role::Rule), title_style }.render(area, buf);
}

/// Round GiB at the left.
fn value_axis(world: &World<'_>, top: Bytes, plot: Rect, buf: &mut Buffer) {
    let step = round_step(top.0, (plot.height / 2).max(1));
    let mut value = 0;
    while value <= top.0 {
        let y = plot.bottom() - 1 - row_of(Bytes(value), top, plot.height);
        let label = (value / GIB).to_string();
        put_right(buf, plot.x - 1, y, 5, &label, world.style(Role::Dim));
        value += step;
    }
}

/// The row of a value, counted from the lowest.
fn row_of(value: Bytes, top: Bytes, rows: u16) -> u16 {
    let dots = f64::from(rows) * 4.0;
    let dot = (value.0 as f64 / top.0 as f64 * dots).round().clamp(1.0, dots);
    ((dot - 1.0) / 4.0) as u16
}

/// What the levels at the right edge are: the capacity, the newest value, the peak.
#[expect(clippy::too_many_arguments)]
fn levels(world: &World<'_>, look: &Look, card: &Card<'_>, top: Bytes, capacity: bool, room: u16, plot: Rect, buf: &mut Buffer) {
    let mut taken = Vec::with_capacity(3);
    let old = !card.is_fresh() && world.past.is_none();
    let word = match (world.past.is_some(), old) {
        (true, _) => "then",
        (false, true) => "last known",
        (false, false) => "now",
    };
    // Panned, the right edge is not now.
    let panned = look.end.is_some() && look.cursor.is_none();
    let labels = [
        (Some(top).filter(|_| capacity), "capacity", Role::Capacity),
        (card.figures.used.filter(|_| !panned), word, if old { Role::Dim } else { Role::Line }),
        (card.peak.map(|(_, peak)| peak), "peak", Role::Dim),
    ];
    for (value, word, role) in labels {
        let Some(value) = value else { continue };
        let row = row_of(value, top, plot.height);
        // Where two are near, the later one gives way by a row.
        let near = [Some(row), row.checked_sub(1), Some(row + 1).filter(|row| *row < plot.height)];
        let Some(row) = near.into_iter().flatten().find(|row| !taken.contains(row)) else { continue };
        taken.push(row);
        let text = if room > 8 { format!("{} {word}", gib(Some(value))) } else { gib(Some(value)) };
        put(buf, plot.right() + 1, plot.bottom() - 1 - row, room, &text, world.style(role));
    }
}

/// Says why the left of the picture is blank when the history does not go back that far.
fn beginning(world: &World<'_>, card: &Card<'_>, window: Window, plot: Rect, buf: &mut Buffer) {
    let blank = match card.view.series.first() {
        Some(first) if first >= window.range().1 => plot.width,
        Some(first) => window.column_of(first).unwrap_or(0),
        None => plot.width,
    };
    let text =
        card.view.series.first().map_or("nothing read yet".to_owned(), |first| format!("watched since {}", world.time(first)));
    let columns = width(&text);
    if blank >= columns + 4 && plot.height > 2 {
        put(buf, plot.x + (blank - columns) / 2, plot.y + plot.height / 2, columns, &text, world.style(Role::Dim));
    }
}

/// Where used memory is expected to go: from the peak of now to the level at which a request fails.
struct Forecast {
    now: Timestamp,
    full_in: FullIn,
    level: Bytes,
    limit: Bytes,
    style: Style,
}

/// The forecast of a card, where the picture follows now and growth is real.
fn forecast(world: &World<'_>, look: &Look, card: &Card<'_>) -> Option<Forecast> {
    if look.end.is_some() || look.cursor.is_some() {
        return None;
    }
    let risk = card.view.risk.as_ref()?;
    let full_in = risk.full_in?;
    let top = card.figures.total?.saturating_sub(card.figures.reserved.unwrap_or_default());
    let limit = top.saturating_sub(risk.request.unwrap_or_default());
    // Requests fail at the peaks: the forecast begins at that of the last half minute, not at the moment's swing.
    let level = card.recent.map(|recent| recent.max).or(card.figures.used)?.min(limit);
    // Dots on a reversed ground would be a block.
    let style = world.style(seen::risk_role(risk.level)).remove_modifier(Modifier::REVERSED);
    Some(Forecast { now: world.now, full_in, level, limit, style })
}

/// The cone of the forecast: its early edge, its median and its late edge, dotted, up to the level where a request fails.
fn cone(world: &World<'_>, forecast: &Forecast, top: Bytes, window: Window, plot: Rect, buf: &mut Buffer) {
    let Forecast { now, full_in, level, limit, style } = forecast;
    let rise = limit.saturating_sub(*level).0 as f64;
    let half = Period(window.column.0 / 2);
    let steps = window.range().1.since(*now).0 / half.0.max(1);
    let dots = Dots::new(plot, top, world.glyphs);
    for step in 1..=steps {
        let ahead = Period(half.0 * step);
        let Some(column) = window.column_of(*now + ahead) else { continue };
        let at = |span: Period| ahead.0 as f64 / span.0.max(1) as f64;
        // The edges are dotted apart, the median is closer.
        for (share, every) in [(at(full_in.lo), 3), (at(full_in.mid), 2), (at(full_in.hi), 3)] {
            if share <= 1.0 && step % every == 0 {
                let value = Bytes(level.0 + (rise * share) as u64);
                dots.put(buf, column, step % 2 == 1, value, *style);
            }
        }
    }
}

/// What was seen and what the user marked, in a row of its own.
fn lane(world: &World<'_>, seen: &[&Finding], window: Window, plot: Rect, buf: &mut Buffer) {
    let mut taken = vec![false; usize::from(plot.width)];
    // The newest finding keeps its number where two would stand in one place.
    for finding in seen {
        let Some(at) = window.column_of(finding.from) else { continue };
        let label = seen::label(finding, world.glyphs);
        let columns = usize::from(width(&label));
        let from = usize::from(at).min(taken.len().saturating_sub(columns));
        if taken[from..from + columns].iter().any(|taken| *taken) {
            continue;
        }
        taken[from..from + columns].fill(true);
        put(buf, plot.x + from as u16, plot.y - 1, columns as u16, &label, world.style(seen::role(finding)));
    }
    let mut free = plot.x;
    for (t, text) in world.snapshot.marks.iter() {
        let Some(at) = window.column_of(*t) else { continue };
        let x = plot.x + at;
        if x >= free && !taken[usize::from(at)] {
            let end = put(buf, x, plot.y - 1, 1, encode(world.glyphs.mark, &mut [0; 4]), world.style(Role::Notice));
            let next = taken[usize::from(at)..].iter().position(|taken| *taken).unwrap_or(usize::MAX);
            let room = plot.right().saturating_sub(end).min(20).min(u16::try_from(next.saturating_sub(1)).unwrap_or(u16::MAX));
            free = put(buf, end, plot.y - 1, room, &fit(text, room), world.style(Role::Dim)) + 1;
        }
    }
}

/// The wall clock below the plot.
pub fn time_axis(world: &World<'_>, look: &Look, window: Window, plot: Rect, buf: &mut Buffer) {
    let Some(clock) = world.clock else { return };
    let y = plot.bottom();
    let dim = world.style(Role::Dim);
    let (from, to) = window.range();
    let step = super::super::wallclock::WallClock::step(Period(window.column.0 * 16));
    // The forecast goes on beyond it.
    let now = window.column_of(world.now).filter(|_| look.end.is_none() && look.cursor.is_none());
    let now = now.map(|at| (plot.x + at + 1).max(plot.x + 3));
    let end = now.map_or(plot.right(), |now| now.saturating_sub(4));
    let cursor = look.cursor.and_then(|cursor| {
        let at = window.column_of(Timestamp(cursor.0.saturating_sub(1)))?;
        let label = clock.time(cursor);
        let columns = width(&label);
        let start = (plot.x + at).saturating_sub(columns / 2).clamp(plot.x, plot.right().saturating_sub(columns).max(plot.x));
        Some((start, columns, label))
    });
    // A tick that the cursor's time would cut is left out.
    let is_covered =
        |from: u16, to: u16| cursor.as_ref().is_some_and(|(start, columns, _)| from <= start + columns && *start <= to);
    let mut free = plot.x;
    for (t, label) in clock.ticks(from, to, step) {
        let Some(at) = window.column_of(t) else { continue };
        let columns = width(&label);
        let start = (plot.x + at).saturating_sub(columns / 2);
        if start >= free && start + columns <= end && !is_covered(start, start + columns) {
            free = put(buf, start, y, columns, &label, dim) + 1;
        }
    }
    if let Some(now) = now {
        put_right(buf, now, y, 3, "now", world.style(Role::Text));
    }
    if let Some((start, columns, label)) = cursor {
        put(buf, start, y, columns, &label, world.style(Role::Notice));
    }
}

/// The selected row's part of the card, where the process list has the focus: of a process, a job or what nobody holds.
pub fn selected_share(look: &Look, card: &Card<'_>, window: Window) -> Option<(Vec<Bucket>, Slice)> {
    let row = look.row.as_ref().filter(|_| look.focus == Focus::Processes)?;
    let view = card.view;
    let holders = || view.holders.iter().flat_map(|list| list.iter()).chain(view.gone.iter());
    match row {
        RowKey::Holder(gpu, key) if *gpu == card.gpu() => {
            let holder = holders().find(|holder| holder.key == *key)?;
            Some((window.buckets(holder.series.as_ref()?), Slice::of(holder.relation())))
        }
        RowKey::Job(leader) => {
            let of_job = |holder: &&Arc<HolderView>| {
                holder.process.as_ref().and_then(|process| process.job.as_ref()).is_some_and(|job| job.leader == *leader)
            };
            let mut sum: Option<(Vec<Bucket>, Slice)> = None;
            for holder in holders().filter(of_job) {
                let Some(series) = &holder.series else { continue };
                let buckets = window.buckets(series);
                match &mut sum {
                    None => sum = Some((buckets, Slice::of(holder.relation()))),
                    Some((sum, _)) => sum.iter_mut().zip(buckets).for_each(|(sum, bucket)| *sum = sum.plus(bucket)),
                }
            }
            sum
        }
        RowKey::Unattributed(gpu) if *gpu == card.gpu() && !view.unattributed.is_empty() => {
            Some((window.buckets(&view.unattributed), Slice::Unattributed))
        }
        RowKey::Others(gpu) if *gpu == card.gpu() => Some((window.buckets(&view.others), Slice::Unknown)),
        _ => None,
    }
}
