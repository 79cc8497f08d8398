//! Frames without a terminal: a scenario runs to a moment, keys are pressed, and the screen is read as text and colours.

use std::fmt::Write as _;
use std::iter::Peekable;
use std::sync::Arc;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier};
use vramscope::domain::{Monitor, Sample, SampleBody, Snapshot, Timestamp};
use vramscope::scenario::{Stream, StreamOptions};
use vramscope::tui::keymap::Key;
use vramscope::tui::{App, DashboardOptions, Effect, Msg};

/// A dashboard over a scenario.
pub struct Screen {
    pub app: App,
    monitor: Monitor,
    stream: Peekable<Box<dyn Iterator<Item = Sample>>>,
    size: (u16, u16),
}

impl Screen {
    /// Before the first sample.
    pub fn new(scenario: &str, size: (u16, u16), options: DashboardOptions) -> Self {
        Self::of(Stream::new(super::scenario::world(scenario), StreamOptions::default()), size, options)
    }

    /// A dashboard over samples in the order of their times.
    pub fn of(samples: impl IntoIterator<Item = Sample> + 'static, size: (u16, u16), options: DashboardOptions) -> Self {
        let stream: Box<dyn Iterator<Item = Sample>> = Box::new(samples.into_iter());
        Self { app: App::new(options), monitor: Monitor::new(), stream: stream.peekable(), size }
    }

    /// What the dashboard puts into the stream comes back out of it.
    pub fn tell(&mut self, body: SampleBody) {
        self.monitor.ingest(&Sample { t: self.monitor.now(), body });
        self.app.update(Msg::Snapshot(Arc::new(self.monitor.snapshot())));
    }

    /// Lets time go on to `seconds` after the stream's origin.
    pub fn run_to(&mut self, seconds: u64) -> &mut Self {
        let now = Timestamp::secs(seconds);
        while let Some(sample) = self.stream.next_if(|sample| sample.t <= now) {
            self.monitor.ingest(&sample);
        }
        self.app.update(Msg::Snapshot(Arc::new(self.monitor.snapshot())));
        self.app.update(Msg::Tick(now));
        self
    }

    /// Gives the screen another size.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        self.size = (columns, rows);
    }

    /// The picture that the screen shows.
    pub fn snapshot(&self) -> Snapshot {
        self.monitor.snapshot()
    }

    /// Presses keys, written as in the key table with blanks between, drawing after each as the event loop does.
    pub fn press(&mut self, keys: &str) -> Option<Effect> {
        let mut effect = None;
        for text in keys.split_whitespace() {
            self.draw();
            let key = Key::parse(text).unwrap_or_else(|| panic!("{text} is no key"));
            effect = effect.or(self.app.update(Msg::Key(key)));
        }
        effect
    }

    /// Clicks into the first cell of a text on the screen.
    pub fn click(&mut self, text: &str) {
        let lines = text_of(&self.draw());
        let (y, line) =
            lines.lines().enumerate().find(|(_, line)| line.contains(text)).unwrap_or_else(|| panic!("no {text} in\n{lines}"));
        let x = line.split(text).next().unwrap().chars().count();
        self.app.update(Msg::Click(u16::try_from(x).unwrap(), u16::try_from(y).unwrap()));
    }

    /// The next frame.
    pub fn draw(&mut self) -> Buffer {
        let mut terminal = Terminal::new(TestBackend::new(self.size.0, self.size.1)).unwrap();
        terminal.draw(|frame| self.app.render(frame.area(), frame.buffer_mut())).unwrap();
        terminal.backend().buffer().clone()
    }

    /// The next frame's text.
    pub fn text(&mut self) -> String {
        text_of(&self.draw())
    }
}

/// The characters, without blanks at the ends of lines.
pub fn text_of(buffer: &Buffer) -> String {
    let width = usize::from(buffer.area.width);
    let mut out = String::new();
    for row in buffer.content().chunks(width) {
        let mut line = String::new();
        let mut hidden = 0;
        for cell in row {
            if hidden == 0 {
                line.push_str(cell.symbol());
                hidden = unicode_width::UnicodeWidthStr::width(cell.symbol()).saturating_sub(1);
            } else {
                hidden -= 1;
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// The runs of cells that do not look as the terminal's default: `row: columns text-colour on background, attributes`.
pub fn colours_of(buffer: &Buffer) -> String {
    let width = usize::from(buffer.area.width);
    let mut out = String::new();
    for (y, row) in buffer.content().chunks(width).enumerate() {
        let mut runs = Vec::new();
        let mut x = 0;
        while x < width {
            let look = |x: usize| (row[x].fg, row[x].bg, row[x].modifier);
            let from = x;
            while x < width && look(x) == look(from) {
                x += 1;
            }
            if look(from) != (Color::Reset, Color::Reset, Modifier::empty()) {
                let (fg, bg, modifier) = look(from);
                let mut words = Vec::new();
                if fg != Color::Reset {
                    words.push(fg.to_string());
                }
                if bg != Color::Reset {
                    words.push(format!("on {bg}"));
                }
                words.extend(modifier.iter_names().map(|(name, _)| name.to_lowercase()));
                runs.push(format!("{from}-{} {}", x - 1, words.join(" ")));
            }
        }
        if !runs.is_empty() {
            let _ = writeln!(out, "{y}: {}", runs.join(", "));
        }
    }
    out
}
