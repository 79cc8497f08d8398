//! What keys do, and what colours and columns mean: made from the tables, searchable.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::{Clear, Widget};

use super::super::action::{ACTIONS, Action};
use super::super::columns::COLUMNS;
use super::super::filter::TERMS;
use super::super::keymap::Key;
use super::super::look::Look;
use super::super::theme::Role;
use super::super::widgets::text::{Pen, Rule, fill, fit, put, put_right};
use super::super::world::World;
use super::Panel;

/// The help.
#[derive(Default)]
pub struct Help {
    query: String,
    offset: usize,
    /// Lines found and rows shown, as drawn last.
    extent: (usize, usize),
}

/// The longest search: longer than every line.
const MAX_QUERY: usize = 40;

impl Panel for Help {
    fn act(&mut self, action: Action, look: &mut Look, _world: &World<'_>) -> bool {
        let last = self.extent.0.saturating_sub(self.extent.1);
        self.offset = match action {
            Action::Up => self.offset.saturating_sub(1),
            Action::Down => (self.offset + 1).min(last),
            Action::PageUp => self.offset.saturating_sub(self.extent.1),
            Action::PageDown => (self.offset + self.extent.1).min(last),
            Action::First => 0,
            Action::Last => last,
            Action::Open => {
                look.layer = None;
                0
            }
            _ => return false,
        };
        true
    }

    fn key(&mut self, key: Key) -> bool {
        if key.is_backspace() {
            self.query.pop();
        } else if let Some(c) = key.typed() {
            // The keys that open the help close it as long as nothing is typed: handled by the app.
            if self.query.chars().count() < MAX_QUERY {
                self.query.push(c);
            }
        } else {
            return false;
        }
        self.offset = 0;
        true
    }

    fn render(&mut self, world: &World<'_>, _look: &Look, area: Rect, buf: &mut Buffer) {
        Clear.render(area, buf);
        buf.set_style(area, world.style(Role::Ground));
        let lines = lines(world, &self.query);
        let title = if self.query.is_empty() { "Help: type to search".to_owned() } else { format!("Help: {}", self.query) };
        let rule = Rule {
            title: &title,
            right: "Esc closes",
            line: world.glyphs.rule,
            style: world.style(Role::Rule),
            title_style: world.style(Role::Strong),
        };
        rule.render(Rect { height: 1, ..area }, buf);
        let rows = usize::from(area.height.saturating_sub(2));
        self.extent = (lines.len(), rows);
        self.offset = self.offset.min(lines.len().saturating_sub(rows));
        for (y, line) in (area.y + 1..).zip(lines.iter().skip(self.offset).take(rows)) {
            line.render(world, Rect { y, height: 1, ..area }, buf);
        }
        if lines.is_empty() {
            put(
                buf,
                area.x + 3,
                area.y + 1,
                area.width.saturating_sub(4),
                "Nothing found; Backspace takes a letter back.",
                world.style(Role::Dim),
            );
        }
        let y = area.bottom() - 1;
        fill(buf, area.x, y, area.width, world.glyphs.rule, world.style(Role::Rule));
        let below = lines.len().saturating_sub(self.offset + rows);
        if below > 0 {
            put_right(buf, area.right().saturating_sub(2), y, 12, &format!(" {below} more "), world.style(Role::Notice));
        }
    }
}

/// One line of the help.
enum Line {
    Title(&'static str),
    Entry { left: String, text: &'static str, role: Role },
}

impl Line {
    fn render(&self, world: &World<'_>, area: Rect, buf: &mut Buffer) {
        let mut pen = Pen::new(buf, area);
        match self {
            Self::Title(title) => {
                pen.skip(2).put(title, world.style(Role::Dim));
            }
            Self::Entry { left, text, role } => {
                put(buf, area.x + 3, area.y, 16, &fit(left, 16), world.style(*role));
                let mut pen = Pen::new(buf, Rect { x: area.x + 20, width: area.width.saturating_sub(21), ..area });
                pen.put(text, world.style(Role::Text));
            }
        }
    }
}

/// All lines that contain what is searched for.
fn lines(world: &World<'_>, query: &str) -> Vec<Line> {
    let query = query.to_lowercase();
    let fits =
        |left: &str, text: &str| query.is_empty() || left.to_lowercase().contains(&query) || text.to_lowercase().contains(&query);
    let mut out = Vec::new();
    let mut section = |title: &'static str, entries: &mut dyn Iterator<Item = (String, &'static str, Role)>| {
        let mut entries = entries.filter(|(left, text, _)| fits(left, text)).peekable();
        if entries.peek().is_some() {
            out.push(Line::Title(title));
            out.extend(entries.map(|(left, text, role)| Line::Entry { left, text, role }));
        }
    };
    section(
        "Keys",
        &mut ACTIONS.iter().map(|info| {
            let keys: Vec<String> = world.keymap.keys(info.action).map(|key| key.to_string()).collect();
            let off = info.action == Action::Signal && world.options.read_only.is_some();
            let help = if off { "Off: this dashboard is read-only" } else { info.help };
            (keys.join(" "), help, if off { Role::Dim } else { Role::Strong })
        }),
    );
    let slice =
        |(name, text, role): (&str, &'static str, Role), at: usize| (format!("{} {name}", world.glyphs.slices[at]), text, role);
    section("Bars", &mut SLICES.iter().enumerate().map(|(at, entry)| slice(*entry, at)));
    let glyphs = world.glyphs;
    let drawn = |(name, text, role): (&str, &'static str, Role), unicode: char, ascii: char| {
        (format!("{} {name}", if glyphs.braille { unicode } else { ascii }), text, role)
    };
    let dots = [
        ('⣿', '#'),
        ('⡁', ':'),
        ('⠒', '*'),
        (glyphs.capacity, glyphs.capacity),
        (' ', ' '),
        ('⣿', '#'),
        (glyphs.cursor, glyphs.cursor),
    ];
    section("Timeline", &mut TIMELINE.iter().zip(dots).map(|(entry, (unicode, ascii))| drawn(*entry, unicode, ascii)));
    section("Header", &mut HEADER.iter().map(|(left, text)| ((*left).to_owned(), *text, Role::Strong)));
    section("Filter", &mut TERMS.iter().map(|(left, text)| ((*left).to_owned(), *text, Role::Strong)));
    section("Columns", &mut COLUMNS.iter().map(|column| (column.title.to_owned(), column.help, Role::Strong)));
    section("Mouse", &mut MOUSE.iter().map(|(left, text)| ((*left).to_owned(), *text, Role::Strong)));
    out
}

/// What the slices of a bar are, in their order.
const SLICES: [(&str, &str, Role); 9] = [
    ("job", "Held by the watched job", Role::Job),
    ("mine", "Held by your other processes", Role::Mine),
    ("foreign", "Held by other users", Role::Foreign),
    ("system", "Held by display servers and daemons", Role::System),
    ("unknown", "Held by processes that can't be seen from here", Role::Unknown),
    ("unattributed", "Used, but by no process of the list", Role::Unattributed),
    ("in use", "Used; the driver does not tell by whom", Role::InUse),
    ("reserved", "Kept by the driver", Role::Reserved),
    ("free", "What a new allocation can have", Role::Free),
];

/// What a timeline is made of.
const TIMELINE: [(&str, &str, Role); 7] = [
    ("fill", "Used memory: what was in use at every moment of the column", Role::Fill),
    ("band", "From the smallest to the largest use within a column; its upper edge is the peak", Role::Band),
    ("bright line", "The newest value of a column, where it moved little", Role::Line),
    ("capacity", "What the card has", Role::Capacity),
    ("gap", "Blank: nothing was read then, the card or its driver did not answer", Role::Text),
    ("in colour", "The part of the selected process (Tab, then up and down)", Role::Mine),
    ("cursor", "The moment that everything shows while frozen", Role::Notice),
];

/// What the first row says.
const HEADER: [(&str, &str); 2] = [
    ("driver call", "The median time that the driver takes for one reading of memory"),
    ("every, got", "How often memory is asked for, and how often that was achieved"),
];

/// What the mouse does.
const MOUSE: [(&str, &str); 5] = [
    ("click a row", "Select it"),
    ("click a title", "Sort by that column; again to turn the order round"),
    ("click the line", "Freeze at that moment"),
    ("wheel", "Move in the list under the pointer"),
    ("wheel on it", "Over the timeline: show less or more time"),
];
