//! Which panel stands where, for every size of the screen.
//!
//! ```text
//! full                      small (below 60 columns        strip (below 6 rows)
//!                           or 16 rows)
//! header                    header                         answer
//! answer                    answer                         sparklines
//! devices                   devices
//! host                      timeline, where there is room
//! timeline                  status
//! processes | findings
//! status
//! ```

use ratatui::layout::Rect;
use strum::EnumCount;

use super::look::{Layer, Look, Selection};
use super::panels::PanelId;

/// From this width on the findings stand beside the processes.
const BESIDE: u16 = 110;

/// The place of each panel; an empty one is not shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Layout([Rect; PanelId::COUNT]);

impl Layout {
    /// Arranges the panels for `cards` rows of cards and a process table that has at most `rows` rows to show.
    pub fn new(area: Rect, look: &Look, cards: usize, rows: usize) -> Self {
        let mut layout = Self::default();
        if area.height < 6 {
            layout.0[PanelId::Strip as usize] = area;
        } else if area.width < 60 || area.height < 16 {
            layout.small(area, look, cards);
        } else {
            layout.full(area, look, cards, rows);
        }
        if look.details {
            layout.details(area);
        }
        if look.prompt.is_some() {
            let status = layout.0[PanelId::Status as usize];
            let last = Rect { y: area.bottom() - 1, height: 1, ..area };
            layout.0[PanelId::Prompt as usize] = if status.is_empty() { last } else { Rect { height: 1, ..status } };
        }
        match look.layer {
            Some(Layer::Help) => layout.0[PanelId::Help as usize] = area,
            Some(Layer::Sort) => layout.0[PanelId::Sort as usize] = centred(area, 64, super::columns::COLUMNS.len() as u16 + 2),
            Some(Layer::Signal) => {
                let height = look.aim.as_ref().map_or(0, super::panels::signal::height);
                layout.0[PanelId::Signal as usize] = centred(area, 78, height);
            }
            Some(Layer::Finding) => layout.0[PanelId::Finding as usize] = layout.below_the_timeline(area),
            None => {}
        }
        layout
    }

    /// Where a panel stands.
    pub fn place(&self, id: PanelId) -> Rect {
        self.0[id as usize]
    }

    /// What lies below the timeline, so that it stays in sight, or the whole screen where that is too little.
    fn below_the_timeline(&self, area: Rect) -> Rect {
        let timeline = self.place(PanelId::Timeline);
        let status = self.place(PanelId::Status);
        let below = Rect { y: timeline.bottom(), height: status.y.saturating_sub(timeline.bottom()), ..area };
        if !timeline.is_empty() && below.height >= 12 { below } else { area }
    }

    fn full(&mut self, area: Rect, look: &Look, cards: usize, rows_of_table: usize) {
        let mut rows = Rows { area, y: area.y };
        let roomy = area.height >= 30;
        self.0[PanelId::Header as usize] = rows.take(1);
        self.0[PanelId::Answer as usize] = rows.take(if area.width < 110 && area.height >= 20 { 2 } else { 1 });
        rows.take(u16::from(roomy));
        // Titles and legend; at most a third of the screen, of a small one a quarter: more cards scroll.
        let most = if roomy { area.height / 3 } else { area.height / 4 };
        let legend = u16::from(area.height >= 24);
        let devices = 1 + (cards as u16).clamp(1, most) + legend;
        self.0[PanelId::Devices as usize] = rows.take(if look.large { devices.min(6) } else { devices });
        let status = rows.take_last(if roomy { 2 } else { 1 });
        self.0[PanelId::Status as usize] = status;
        if area.height >= 40 {
            self.0[PanelId::Host as usize] = rows.take(1);
        }
        rows.take(u16::from(roomy));
        let rest = rows.left();
        // The timeline is the instrument and gets most, and all that the table (with its title, its heads and a row to
        // breathe) does not need; a title, an axis and six rows in between are the least.
        // Findings beside the table need room for five or so, also where the table is short.
        let beside = area.width >= BESIDE;
        let least = if beside && roomy { 10 } else { 0 };
        let table = u16::try_from(rows_of_table).unwrap_or(u16::MAX).max(least).saturating_add(3 + u16::from(roomy));
        let timeline = if look.large {
            rest
        } else {
            (rest * 3 / 5).max(rest.saturating_sub(table)).clamp(8.min(rest.saturating_sub(5)), rest)
        };
        let place = rows.take(timeline);
        self.0[timeline_panel(look) as usize] = place;
        if roomy && !look.large {
            rows.take(1);
        }
        let lower = rows.take(rows.left());
        // The table's last column is free text: it gives room, and the findings stand beside their timeline's holders.
        let beside = if beside { (area.width * 9 / 20).min(90) } else { 0 };
        self.0[PanelId::Processes as usize] = Rect { width: lower.width.saturating_sub(beside), ..lower };
        if beside > 0 {
            self.0[PanelId::Findings as usize] = Rect { x: lower.right() - beside + 2, width: beside - 2, ..lower };
        }
    }

    /// The details take what lies between the answer and the status; where there is room, the cards stay above.
    fn details(&mut self, area: Rect) {
        let (cards, status) = (self.place(PanelId::Devices), self.place(PanelId::Status));
        let answer = self.place(PanelId::Answer);
        let bottom = if status.is_empty() { area.bottom() } else { status.y };
        let top = if cards.is_empty() {
            area.y
        } else if area.height >= 36 {
            cards.bottom()
        } else {
            answer.bottom()
        };
        if bottom <= top {
            return;
        }
        for id in [PanelId::Timeline, PanelId::Multiples, PanelId::Processes, PanelId::Findings, PanelId::Host] {
            self.0[id as usize] = Rect::default();
        }
        if top < cards.bottom() {
            self.0[PanelId::Devices as usize] = Rect::default();
        }
        self.0[PanelId::Details as usize] = Rect { y: top, height: bottom - top, ..area };
    }

    fn small(&mut self, area: Rect, look: &Look, cards: usize) {
        let mut rows = Rows { area, y: area.y };
        self.0[PanelId::Header as usize] = rows.take(1);
        let answer = match (area.width, area.height) {
            (0..60, 12..) => 3,
            (0..100, 10..) => 2,
            _ => 1,
        };
        // Rows that are too few for a timeline: one is the legend's, the others are the answer's.
        let spare = area.height.saturating_sub(3 + answer + (cards as u16).max(1));
        let spare = if spare < 4 && !look.large { spare.saturating_sub(1) } else { 0 };
        self.0[PanelId::Answer as usize] = rows.take(answer + spare);
        self.0[PanelId::Status as usize] = rows.take_last(1);
        let devices = (cards as u16).max(1) + 1;
        let rest = rows.left();
        let devices = if look.large { devices.min(3) } else { devices.min(rest) };
        self.0[PanelId::Devices as usize] = rows.take(devices);
        if rows.left() >= 4 {
            self.0[timeline_panel(look) as usize] = rows.take(rows.left());
        } else {
            // What is too little for a timeline goes to the cards, whose legend fits there.
            self.0[PanelId::Devices as usize].height += u16::from(rows.left() > 0);
        }
    }
}

fn timeline_panel(look: &Look) -> PanelId {
    if matches!(look.selection, Selection::One(_)) { PanelId::Timeline } else { PanelId::Multiples }
}

/// A place in the middle, within the screen.
fn centred(area: Rect, width: u16, height: u16) -> Rect {
    let (width, height) = (width.min(area.width), height.min(area.height));
    Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height }
}

/// Hands out rows from the top and from the bottom.
struct Rows {
    area: Rect,
    y: u16,
}

impl Rows {
    fn left(&self) -> u16 {
        self.area.bottom().saturating_sub(self.y)
    }

    fn take(&mut self, rows: u16) -> Rect {
        let height = rows.min(self.left());
        let place = Rect { y: self.y, height, ..self.area };
        self.y += height;
        place
    }

    fn take_last(&mut self, rows: u16) -> Rect {
        let height = rows.min(self.left());
        self.area.height -= height;
        Rect { y: self.area.bottom(), height, ..self.area }
    }
}
