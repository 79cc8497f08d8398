//! The app: what the user looks at, and what every message changes about it.

use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::action::{Action, Scope};
use super::aim::{self, Aim};
use super::cards::{Card, Slice};
use super::filter::Filter;
use super::keymap::{Key, Keymap};
use super::layout::Layout;
use super::look::{Focus, Grouping, Layer, Look, RowKey, Selection};
use super::msg::{Effect, Msg};
use super::options::DashboardOptions;
use super::panels::{PANELS, Panel, PanelId};
use super::prompt::{Asked, Prompt};
use super::seen::{jump, neighbour};
use super::tags::{job_of, processes_of};
use super::theme::{Role, Styles, THEMES, Theme};
use super::world::World;
use crate::domain::{DeviceView, Missing, Period, Snapshot, Timestamp};

/// The dashboard's state.
pub struct App {
    options: DashboardOptions,
    styles: Styles,
    keymap: Keymap,
    /// Index into [`THEMES`] once `T` was pressed.
    theme: Option<usize>,
    look: Look,
    snapshot: Arc<Snapshot>,
    now: Timestamp,
    /// The picture of the freeze and its time: pausing means to keep it.
    frozen: Option<(Arc<Snapshot>, Timestamp)>,
    panels: Vec<Box<dyn Panel>>,
    layout: Layout,
    /// The most rows the process table ever had for any card: it grows and never shrinks, so that nothing jumps.
    table_rows: usize,
    /// When the first card was seen.
    first_cards: Option<Timestamp>,
}

/// How long to wait for the first reading of every card before one is selected: a card may hang from the start.
const PATIENCE: Period = Period::secs(1);

/// How long after the first card others are expected: they are opened one after the other.
const FOLLOWERS: Period = Period::millis(250);

impl App {
    /// A dashboard that has seen nothing yet.
    pub fn new(options: DashboardOptions) -> Self {
        let styles = Styles::new(&options.theme, options.palette);
        let mut look = Look::new();
        look.graphics = options.graphics;
        Self {
            options,
            styles,
            keymap: Keymap::new(),
            theme: None,
            look,
            snapshot: Arc::default(),
            now: Timestamp::ZERO,
            frozen: None,
            panels: PANELS.iter().map(|panel| (panel.new)()).collect(),
            layout: Layout::default(),
            table_rows: 0,
            first_cards: None,
        }
    }

    /// What the user looks at.
    pub fn look(&self) -> &Look {
        &self.look
    }

    /// Whether the first readings are still coming in: no card yet, one that was neither read nor given up, or further
    /// cards that may follow the first.
    pub fn is_opening(&self) -> bool {
        let since_first = self.first_cards.map(|first| self.now.since(first));
        if since_first.is_some_and(|since| since < FOLLOWERS) {
            return true;
        }
        let waited = since_first.is_some_and(|since| since >= PATIENCE);
        let pending = |card: &Arc<DeviceView>| {
            card.memory.as_ref().is_err_and(|missing| *missing == Missing::Pending)
                || card.holders.as_ref().is_err_and(|missing| *missing == Missing::Pending)
        };
        !waited && (self.snapshot.devices.is_empty() || self.snapshot.devices.iter().any(pending))
    }

    /// Whether the picture stands still whatever comes in.
    pub fn is_frozen(&self) -> bool {
        self.frozen.is_some()
    }

    /// Takes a message; the answer is for the event loop.
    pub fn update(&mut self, msg: Msg) -> Option<Effect> {
        match msg {
            Msg::Snapshot(snapshot) => {
                self.now = self.now.max(snapshot.at);
                self.snapshot = snapshot;
                self.look.tags.prune(&self.snapshot);
                self.settle();
                None
            }
            Msg::Tick(now) => {
                self.now = self.now.max(now);
                None
            }
            Msg::Key(key) => self.press(key),
            Msg::Paste(text) => {
                // Only where a text is typed: elsewhere its letters would be keys.
                if let Some(prompt) = &mut self.look.prompt {
                    prompt.insert(&text);
                    self.typed();
                }
                None
            }
            Msg::Click(x, y) => {
                self.click(x, y);
                self.look.wish.take()
            }
            Msg::Wheel(x, y, down) => {
                self.wheel(x, y, if down { Action::Down } else { Action::Up });
                None
            }
            Msg::Held(answers) => {
                if let Some(aim) = &mut self.look.aim {
                    aim.held(answers);
                }
                None
            }
            Msg::Signalled(signal, answers) => {
                if let Some(aim) = &mut self.look.aim {
                    aim.signalled(signal, answers);
                }
                None
            }
        }
    }

    /// Draws the whole screen.
    pub fn render(&mut self, area: Rect, buf: &mut Buffer) {
        if area.is_empty() {
            return;
        }
        // The terminal's own ground is there already.
        if self.styles[Role::Ground].bg.is_some() {
            buf.set_style(area, self.styles[Role::Ground]);
        }
        let (snapshot, frozen) = self.picture();
        let mut world = World::new(&snapshot, self.now, frozen, &self.look, (&self.options, &self.styles, &self.keymap));
        self.table_rows = self.table_rows.max(world.table_rows(&self.look));
        let rows = if world.selected(&self.look).is_some() { self.table_rows } else { world.table(&self.look).rows.len() };
        self.layout = Layout::new(area, &self.look, world.cards.len(), rows);
        if let Some(row) = &self.look.row
            && !self.layout.place(PanelId::Processes).is_empty()
            && let Some(job) = world.table(&self.look).folded_in(row)
        {
            self.look.row = Some(job);
        }
        world.has_host_row = !self.layout.place(PanelId::Host).is_empty();
        for (info, panel) in PANELS.iter().zip(&mut self.panels) {
            let place = self.layout.place(info.id);
            if !place.is_empty() {
                panel.render(&world, &self.look, place, buf);
            }
        }
        if self.options.ascii {
            to_ascii(buf);
        }
    }

    /// The snapshot to show, and the time of the freeze.
    fn picture(&self) -> (Arc<Snapshot>, Option<Timestamp>) {
        match &self.frozen {
            Some((snapshot, at)) => (Arc::clone(snapshot), Some(*at)),
            None => (Arc::clone(&self.snapshot), None),
        }
    }

    /// Selects the fullest card with memory of mine that is busy, or else the fullest, once every card has answered or had its time, unless the user was faster. Later on the selection is the
    /// user's: a screen that jumps to another card by itself can't be read.
    fn settle(&mut self) {
        let devices = &self.snapshot.devices;
        if devices.is_empty() {
            return;
        }
        let since = *self.first_cards.get_or_insert(self.now);
        let pending = |missing: &Missing| *missing == Missing::Pending && self.now.since(since) < PATIENCE;
        if self.look.selection != Selection::Pending
            || devices.iter().any(|view| view.memory.as_ref().is_err_and(pending) || view.holders.as_ref().is_err_and(pending))
        {
            return;
        }
        let cards = Card::all(&self.snapshot, None, self.now);
        // What goes on at my own work is asked first; where nothing does, what is fullest.
        let is_mine = |card: &&Card<'_>| {
            let held = |slice: Slice| card.figures.slices[slice as usize] > 0;
            (held(Slice::Job) || held(Slice::Mine)) && !card.view.utilization.as_ref().is_ok_and(|percent| *percent < 1.0)
        };
        let fullest =
            |a: &&Card<'_>, b: &&Card<'_>| a.recent_fullness().total_cmp(&b.recent_fullness()).then(b.gpu().cmp(&a.gpu()));
        let whole = || cards.iter().filter(|card| !card.is_instance);
        if let Some(card) = whole().filter(is_mine).max_by(fullest).or_else(|| whole().max_by(fullest)) {
            self.look.selection = Selection::One(card.view.device.id.clone());
        }
    }

    fn press(&mut self, key: Key) -> Option<Effect> {
        self.look.note = None;
        if self.look.prompt.is_some() {
            return self.press_in_prompt(key);
        }
        let scope = if self.look.layer == Some(Layer::Help) { Scope::Everywhere } else { Scope::Dashboard };
        let action = self.keymap.action(scope, key);
        if self.look.layer == Some(Layer::Help) {
            // A letter is searched for, what leaves by control or function key still leaves.
            let closes = self.keymap.action(Scope::Dashboard, key) == Some(Action::Help) && key.typed().is_none_or(|c| c == '?');
            if closes {
                self.look.layer = None;
                return None;
            }
            if self.panels[PanelId::Help as usize].key(key) {
                return None;
            }
        }
        if self.look.layer == Some(Layer::Signal) && self.panels[PanelId::Signal as usize].key(key) {
            return None;
        }
        self.act(action?)
    }

    /// A key while a line is typed: it edits, chooses a row, or ends the line.
    fn press_in_prompt(&mut self, key: Key) -> Option<Effect> {
        let prompt = self.look.prompt.as_mut()?;
        let action = self.keymap.action(Scope::Everywhere, key).filter(|_| key.typed().is_none());
        match action {
            Some(Action::Open) => {
                let prompt = self.look.prompt.take()?;
                let text = prompt.text().trim();
                return match prompt.asked {
                    Asked::Mark if !text.is_empty() => Some(self.mark(text)),
                    _ => None,
                };
            }
            Some(Action::Back) => {
                if prompt.asked == Asked::Filter {
                    self.look.filter = Filter::default();
                }
                self.look.prompt = None;
            }
            Some(Action::Quit | Action::Suspend | Action::Redraw) => return self.act(action?),
            _ if prompt.edit(key) => self.typed(),
            // The rows that are left can be walked while the filter is typed.
            Some(action) if prompt.asked == Asked::Filter => {
                self.ask(PanelId::Processes, action);
            }
            _ => {}
        }
        None
    }

    /// The line has another text: a filter holds at once.
    fn typed(&mut self) {
        if let Some(prompt) = self.look.prompt.as_ref().filter(|prompt| prompt.asked == Asked::Filter) {
            self.look.filter = Filter::parse(prompt.text());
        }
    }

    /// Marks this moment.
    fn mark(&mut self, text: &str) -> Effect {
        self.look.note = Some(format!("Marked: {text}. Peaks are counted from here on as well."));
        Effect::Mark(text.into())
    }

    fn act(&mut self, action: Action) -> Option<Effect> {
        match action {
            Action::Quit => return Some(Effect::Quit),
            Action::Suspend => return Some(Effect::Suspend),
            Action::Redraw => return Some(Effect::Redraw),
            _ => {}
        }
        let layer = match self.look.layer {
            Some(Layer::Help) => Some(PanelId::Help),
            Some(Layer::Sort) => Some(PanelId::Sort),
            Some(Layer::Signal) => Some(PanelId::Signal),
            Some(Layer::Finding) => Some(PanelId::Finding),
            None => None,
        };
        if let Some(panel) = layer {
            if !self.ask(panel, action) && matches!(action, Action::Back | Action::Open) {
                self.close_layer();
            }
            return self.look.wish.take();
        }
        match action {
            Action::Back => self.back(),
            Action::Help => self.look.layer = Some(Layer::Help),
            Action::Sort => self.look.layer = Some(Layer::Sort),
            Action::Reverse => self.look.descending = !self.look.descending,
            Action::Signal => self.aim(),
            Action::Theme => self.next_theme(),
            Action::Freeze => self.toggle_freeze(),
            Action::All => self.toggle_all(),
            Action::Open if self.look.focus == Focus::Findings => {
                self.ask(PanelId::Findings, action);
            }
            Action::PreviousFinding | Action::NextFinding => self.step_finding(action == Action::NextFinding),
            Action::Open => self.open(),
            Action::Filter => {
                let text =
                    if self.look.filter.text().is_empty() { String::new() } else { format!("{} ", self.look.filter.text()) };
                self.look.prompt = Some(Prompt::new(Asked::Filter, &text));
            }
            Action::Fold => self.fold(),
            Action::Tree => self.regroup(),
            Action::Graphics => {
                self.look.graphics = !self.look.graphics;
                let now = if self.look.graphics { "shown" } else { "hidden; their memory still counts" };
                self.look.note = Some(format!("Processes that use a card for graphics alone are {now}."));
            }
            Action::Mark => {
                let text = format!("mark {}", self.snapshot.marks.len() + 1);
                return Some(self.mark(&text));
            }
            Action::MarkText => self.look.prompt = Some(Prompt::new(Asked::Mark, "")),
            Action::Tag => self.tag(),
            Action::Focus => {
                self.look.focus = match self.look.focus {
                    Focus::Devices => Focus::Processes,
                    Focus::Processes if !self.layout.place(PanelId::Findings).is_empty() => Focus::Findings,
                    Focus::Processes | Focus::Findings => Focus::Devices,
                };
                if self.look.focus == Focus::Findings {
                    self.ask(PanelId::Findings, Action::First);
                }
                if self.look.focus == Focus::Processes && self.look.row.is_none() {
                    self.ask(PanelId::Processes, Action::First);
                }
            }
            _ => {
                if self.look.details && self.ask(PanelId::Details, action) {
                    return self.look.wish.take();
                }
                let list = match self.look.focus {
                    Focus::Devices => PanelId::Devices,
                    Focus::Processes => PanelId::Processes,
                    Focus::Findings => PanelId::Findings,
                };
                let _ = self.ask(list, action) || self.ask(self.timeline(), action);
            }
        }
        self.look.wish.take()
    }

    /// Opens the signal menu on the processes that are meant right now.
    fn aim(&mut self) {
        if let Some(by) = &self.options.read_only {
            self.look.note = Some(format!("Signals are off: {by}."));
            return;
        }
        let (picture, _) = self.picture();
        let keys = aim::meant(&self.look, &self.snapshot);
        let aim = Aim::at(&keys, &self.snapshot, &picture);
        if aim.targets.is_empty() {
            self.look.note = Some("No process is selected: Tab, then up and down.".to_owned());
        } else if aim.targets.len() > aim::MOST {
            self.look.note = Some(format!("{} processes are too many: at most {} at once.", aim.targets.len(), aim::MOST));
        } else {
            self.look.wish = Some(Effect::Hold(aim.asked()));
            self.look.aim = Some(aim);
            self.look.layer = Some(Layer::Signal);
        }
    }

    /// Tells all about the selected row, or makes the timeline large.
    fn open(&mut self) {
        if self.look.details {
            self.look.details = false;
        } else if self.look.focus == Focus::Processes && self.look.row.is_some() && !self.look.large {
            self.look.details = true;
        } else {
            self.look.large = !self.look.large;
        }
    }

    /// Folds the job of the selected row or unfolds it; without a selected one all.
    fn fold(&mut self) {
        let leader = match self.look.row.as_ref().filter(|_| self.look.focus == Focus::Processes) {
            Some(RowKey::Job(leader)) => Some(*leader),
            Some(row @ RowKey::Holder(..)) => job_of(row, &self.snapshot),
            _ => None,
        };
        match leader {
            Some(leader) => {
                if self.look.unfolded.remove(&leader) {
                    self.look.row = Some(RowKey::Job(leader));
                } else {
                    self.look.unfolded.insert(leader);
                }
            }
            None if self.look.unfolded.is_empty() => {
                self.look.unfolded = self.snapshot.jobs().into_iter().map(|job| job.job.leader).collect();
                if self.look.unfolded.is_empty() {
                    self.look.note = Some("No job to unfold: a launcher with its workers would be one.".to_owned());
                }
            }
            None => self.look.unfolded.clear(),
        }
    }

    /// The next way in which rows hang together.
    fn regroup(&mut self) {
        let (grouping, told) = match self.look.grouping {
            Grouping::Jobs => (Grouping::Tree, "Tree: jobs unfolded, processes below their parents."),
            Grouping::Tree => (Grouping::None, "Every process by itself."),
            Grouping::None => (Grouping::Jobs, "The processes of a job in one row."),
        };
        self.look.grouping = grouping;
        self.look.note = Some(told.to_owned());
    }

    /// Goes to the finding before or after, and says which it is.
    fn step_finding(&mut self, later: bool) {
        let (snapshot, frozen) = self.picture();
        let world = World::new(&snapshot, self.now, frozen, &self.look, (&self.options, &self.styles, &self.keymap));
        let Some(finding) = neighbour(&self.look, &world, later) else {
            let which = if later { "later" } else { "earlier" };
            self.look.note = Some(format!("No {which} finding."));
            return;
        };
        jump(finding, &mut self.look, &world);
        let time = world.time(finding.from);
        self.look.note = Some(format!("{time} GPU {} {}: {}.", finding.gpu, finding.kind.title(), finding.evidence_text()));
        self.frozen.get_or_insert_with(|| (Arc::clone(&snapshot), self.now));
    }

    /// Tags what is selected and goes on to the next row, so that several are tagged by one key.
    fn tag(&mut self) {
        let keys = self.look.row.as_ref().map_or_else(Vec::new, |row| processes_of(row, &self.snapshot));
        if self.look.focus == Focus::Processes && !keys.is_empty() {
            self.look.tags.toggle(&keys);
            self.ask(PanelId::Processes, Action::Down);
        } else {
            self.look.note = Some("Select a process first (Tab), then tag it.".to_owned());
        }
    }

    fn timeline(&self) -> PanelId {
        if matches!(self.look.selection, Selection::One(_)) { PanelId::Timeline } else { PanelId::Multiples }
    }

    /// Offers an action to a panel.
    fn ask(&mut self, panel: PanelId, action: Action) -> bool {
        self.with_panel(panel, |panel, look, world| panel.act(action, look, world))
    }

    fn with_panel<T>(&mut self, id: PanelId, ask: impl FnOnce(&mut dyn Panel, &mut Look, &World<'_>) -> T) -> T {
        let (snapshot, frozen) = self.picture();
        let world = World::new(&snapshot, self.now, frozen, &self.look, (&self.options, &self.styles, &self.keymap));
        let answer = ask(self.panels[id as usize].as_mut(), &mut self.look, &world);
        // A click into the timeline freezes: keep that picture.
        if self.look.cursor.is_some() && self.frozen.is_none() {
            self.frozen = Some((snapshot, self.now));
        }
        answer
    }

    fn close_layer(&mut self) {
        self.look.layer = None;
        if self.look.aim.take().is_some() {
            self.look.wish = Some(Effect::Hold(Vec::new()));
        }
        for id in [PanelId::Help, PanelId::Signal] {
            self.panels[id as usize] = (PANELS[id as usize].new)();
        }
    }

    /// Closes what is on top: details, filter, freeze, past, large timeline, all cards.
    fn back(&mut self) {
        if self.look.details {
            self.look.details = false;
        } else if !self.look.filter.text().is_empty() {
            self.look.filter = Filter::default();
        } else if self.look.cursor.is_some() || self.look.end.is_some() {
            self.thaw();
        } else if self.look.large {
            self.look.large = false;
        } else if self.look.focus != Focus::Devices {
            self.look.focus = Focus::Devices;
        } else if self.look.selection == Selection::All {
            self.toggle_all();
        }
    }

    /// All cards at once, or back to the one before.
    fn toggle_all(&mut self) {
        let before = match std::mem::take(&mut self.look.selection) {
            Selection::All => self.look.single.take().map_or(Selection::Pending, Selection::One),
            Selection::One(id) => {
                self.look.single = Some(id);
                Selection::All
            }
            Selection::Pending => Selection::All,
        };
        self.look.selection = before;
        self.settle();
    }

    fn toggle_freeze(&mut self) {
        if self.look.cursor.is_some() {
            self.thaw();
        } else {
            // Panned into the past: at the end of what is in sight.
            self.look.freeze(self.look.end.unwrap_or(self.now), self.now);
            self.frozen = Some((Arc::clone(&self.snapshot), self.now));
        }
    }

    fn thaw(&mut self) {
        self.look.thaw();
        self.frozen = None;
    }

    fn next_theme(&mut self) {
        let next = self.theme.map_or_else(
            || {
                THEMES
                    .iter()
                    .position(|theme| Theme::parse(theme.text).is_ok_and(|theme| theme == self.options.theme))
                    .map_or(0, |at| at + 1)
            },
            |at| at + 1,
        ) % THEMES.len();
        if let Ok(theme) = Theme::parse(THEMES[next].text) {
            self.styles = Styles::new(&theme, self.options.palette);
            self.theme = Some(next);
            self.look.note = Some(format!("Theme {}: {}.", THEMES[next].name, theme.title()));
        }
    }

    /// The panel at a cell, the topmost first.
    fn panel_at(&self, x: u16, y: u16) -> Option<PanelId> {
        PANELS.iter().rev().map(|info| info.id).find(|id| self.layout.place(*id).contains((x, y).into()))
    }

    fn click(&mut self, x: u16, y: u16) {
        let at = self.panel_at(x, y);
        match (self.look.layer, at) {
            (Some(_), Some(PanelId::Help | PanelId::Sort | PanelId::Signal | PanelId::Finding)) | (None, Some(_)) => {
                if let Some(id) = at {
                    self.with_panel(id, |panel, look, world| panel.click(x, y, look, world));
                }
            }
            (Some(_), _) => self.close_layer(),
            (None, None) => {}
        }
    }

    fn wheel(&mut self, x: u16, y: u16, action: Action) {
        let Some(panel) = self.panel_at(x, y) else { return };
        let zoom = if action == Action::Up { Action::ZoomIn } else { Action::ZoomOut };
        match panel {
            PanelId::Timeline | PanelId::Multiples => self.ask(panel, zoom),
            _ => self.ask(panel, action),
        };
    }
}

/// Replaces what is left of other characters where the terminal shows ASCII alone.
fn to_ascii(buf: &mut Buffer) {
    for cell in &mut buf.content {
        if !cell.symbol().is_ascii() {
            let symbol = match cell.symbol() {
                "↑" => "^",
                "↓" => "v",
                "←" => "<",
                "→" => ">",
                "…" => "~",
                "µ" => "u",
                "×" => "x",
                "−" | "–" => "-",
                _ => "?",
            };
            cell.set_symbol(symbol);
        }
    }
}
