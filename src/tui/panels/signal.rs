//! The menu that signals processes: which signal, then whether really, then what became of it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::{Clear, Widget};
use strum::IntoEnumIterator;

use super::super::action::Action;
use super::super::aim::{Aim, Answer, Target};
use super::super::keymap::Key;
use super::super::look::Look;
use super::super::msg::Effect;
use super::super::theme::Role;
use super::super::widgets::list;
use super::super::widgets::text::{Pen, Rule, fill, fit, put_right};
use super::super::world::{World, gib};
use super::Panel;
use crate::domain::{Gpu, Signal as Number};

/// The menu.
#[derive(Default)]
pub struct Signal {
    step: Step,
    /// The choice under the cursor.
    at: usize,
    /// The word that a process of the system asks for, as far as typed; none where none is asked for.
    typed: Option<String>,
    /// The first row of the list of results.
    offset: usize,
    /// Where the choices are drawn.
    choices: Rect,
}

/// How far the user is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Step {
    /// Which signal.
    #[default]
    Choose,
    /// Whether really.
    Confirm(Number),
    /// What became of it.
    Done,
}

/// What must be typed before a process of the system is signalled.
const WORD: &str = "system";

/// The widest name beside what matters more.
const NAME: u16 = 24;

/// Rows of processes at most, where there are several.
const MOST_ROWS: usize = 10;

/// Rows that the menu needs: rules, what it is about, a blank and the choices.
pub fn height(aim: &Aim) -> u16 {
    let about = if aim.targets.len() == 1 { 3 } else { 1 + aim.targets.len().min(MOST_ROWS) };
    (about + 3 + Number::iter().count()) as u16
}

impl Signal {
    /// The step to show: where nothing can be signalled, there is nothing to choose.
    fn step(&self, aim: &Aim) -> Step {
        if aim.is_hopeless() { Step::Done } else { self.step }
    }

    fn confirm(&mut self, signal: Number, aim: &Aim) {
        self.step = Step::Confirm(signal);
        self.at = 0;
        self.typed = aim.has_system().then(String::new);
    }

    fn back_to_choose(&mut self, signal: Number) {
        self.step = Step::Choose;
        self.at = Number::iter().position(|known| known == signal).unwrap_or(0);
        self.typed = None;
    }

    /// Enter on the question whether really: No unless said otherwise.
    fn decide(&mut self, signal: Number, look: &mut Look) {
        if self.choices.height < 2 {
            look.note = Some("Not sent: the screen is too small to show the question.".to_owned());
            return;
        }
        let yes = match self.typed.as_deref() {
            Some(typed) if typed != WORD && !typed.is_empty() => {
                look.note = Some(format!("Not sent: type the word {WORD}, or Esc goes back."));
                return;
            }
            Some(typed) => typed == WORD,
            None => self.at == 1,
        };
        if yes {
            look.wish = Some(Effect::Signal(signal));
            self.step = Step::Done;
            self.typed = None;
        } else {
            self.back_to_choose(signal);
        }
    }
}

impl Panel for Signal {
    fn act(&mut self, action: Action, look: &mut Look, _world: &World<'_>) -> bool {
        let Some(aim) = &look.aim else { return false };
        let step = self.step(aim);
        let last = match step {
            Step::Choose => Number::iter().count() - 1,
            Step::Confirm(_) if self.typed.is_some() => 0,
            Step::Confirm(_) => 1,
            Step::Done => aim.targets.len().saturating_sub(1),
        };
        if step == Step::Done {
            match action.moved(Some(self.offset), last, MOST_ROWS) {
                Some(offset) => self.offset = offset,
                None if action == Action::Open => return false,
                None => return action != Action::Back,
            }
            return true;
        }
        if let Some(at) = action.moved(Some(self.at), last, last) {
            self.at = at;
            return true;
        }
        match (action, step) {
            (Action::Open, Step::Choose) => {
                if let Some(signal) = Number::iter().nth(self.at) {
                    self.confirm(signal, aim);
                }
            }
            (Action::Open, Step::Confirm(signal)) => self.decide(signal, look),
            (Action::Back, Step::Confirm(signal)) => self.back_to_choose(signal),
            (Action::Back, _) => return false,
            _ => {}
        }
        true
    }

    fn key(&mut self, key: Key) -> bool {
        let Some(typed) = &mut self.typed else { return false };
        if key.is_backspace() {
            typed.pop();
        } else if let Some(c) = key.typed() {
            if typed.len() < 2 * WORD.len() {
                typed.push(c);
            }
        } else {
            return false;
        }
        true
    }

    /// A click moves the cursor and never chooses: the second one of a double click would answer a question not read.
    fn click(&mut self, x: u16, y: u16, _look: &mut Look, _world: &World<'_>) {
        if self.choices.contains((x, y).into()) {
            self.at = usize::from(y - self.choices.y);
        }
    }

    fn render(&mut self, world: &World<'_>, look: &Look, area: Rect, buf: &mut Buffer) {
        let Some(aim) = &look.aim else { return };
        Clear.render(area, buf);
        buf.set_style(area, world.style(Role::Ground));
        let area = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
        let step = self.step(aim);
        let (title, right) = match step {
            Step::Choose => ("Which signal?".to_owned(), "Enter chooses, Esc closes"),
            Step::Confirm(signal) => (format!("Send {signal}?"), "Esc goes back"),
            Step::Done => (summary(aim), "Esc closes"),
        };
        let rule = Rule {
            title: &title,
            right,
            line: world.glyphs.rule,
            style: world.style(Role::Rule),
            title_style: world.style(Role::Strong),
        };
        rule.render(Rect { height: 1, ..area }, buf);
        let bottom = area.bottom().saturating_sub(1);
        fill(buf, area.x, bottom, area.width, world.glyphs.rule, world.style(Role::Rule));
        let inside = Rect { y: area.y + 1, height: area.height.saturating_sub(2), ..area };
        if step == Step::Done {
            let rows = usize::from(inside.height);
            self.offset = list::scroll(self.offset, None, aim.targets.len(), rows).min(aim.targets.len().saturating_sub(rows));
            for (y, target) in (inside.y..).zip(aim.targets.iter().skip(self.offset).take(rows)) {
                result(world, target, Rect { y, height: 1, ..inside }, buf);
            }
            more(world, aim.targets.len().saturating_sub(self.offset + rows), Rect { y: bottom, ..area }, buf);
            return;
        }
        let choices: Vec<(String, &str)> = match step {
            Step::Confirm(signal) if self.typed.is_some() => {
                let typed = self.typed.as_deref().unwrap_or_default();
                vec![
                    ("A process of the system".to_owned(), "others may depend on it."),
                    (format!("Type the word {WORD} to send {signal}: {typed}_"), ""),
                ]
            }
            Step::Confirm(signal) => vec![("No, go back".to_owned(), ""), (format!("Yes, send {signal}"), signal.about())],
            _ => Number::iter().map(|signal| (signal.to_string(), signal.about())).collect(),
        };
        // The question is never pushed off the screen by what it is about.
        let about = inside.height.saturating_sub(choices.len() as u16 + 1);
        about_aim(world, aim, Rect { height: about, ..inside }, buf);
        let needed = if aim.targets.len() == 1 { 3 } else { 1 + aim.targets.len().min(MOST_ROWS) } as u16;
        self.choices = Rect { y: inside.y + about.min(needed) + 1, height: choices.len() as u16, ..inside }.intersection(inside);
        let wide = if step == Step::Choose { 7 } else { 0 };
        for (n, (y, (name, text))) in (self.choices.y..self.choices.bottom()).zip(&choices).enumerate() {
            let place = Rect { y, height: 1, ..area };
            let mut pen = Pen::new(buf, place);
            pen.skip(2).put(&format!("{name:<wide$}"), world.style(Role::Strong)).skip(1);
            pen.put(text, world.style(Role::Text));
            if n == self.at && self.typed.is_none() {
                buf.set_style(place, world.style(Role::Selected));
            }
        }
    }
}

/// The processes that are aimed at: one in full, several as a sum and a list.
fn about_aim(world: &World<'_>, aim: &Aim, area: Rect, buf: &mut Buffer) {
    let mut rows = (area.y..area.bottom()).map(|y| Rect { y, height: 1, ..area });
    let mut line = |text: &str, role: Role| {
        if let Some(row) = rows.next() {
            Pen::new(buf, row).skip(2).put(text, world.style(role));
        }
    };
    if let [target] = aim.targets.as_slice() {
        let name = fit(&target.name, NAME);
        line(&format!("{name} ({}) of {}, {}", target.key.pid, target.user(), target.relation), Role::Strong);
        line(&age(world, target), Role::Text);
        line(&format!("holds {}", holds(target)), Role::Text);
        return;
    }
    let count = aim.reachable().count();
    let users: Vec<&str> = aim.users().into_iter().collect();
    let bytes = aim.bytes().map_or_else(|| "memory of unknown size".to_owned(), |bytes| format!("{} GiB", gib(Some(bytes))));
    let cards = cards(aim.cards().into_iter());
    let processes = if count == 1 { "process" } else { "processes" };
    line(&format!("{count} {processes} of {}: {bytes} on {cards}", users.join(", ")), Role::Strong);
    let room = usize::from(area.height.saturating_sub(1)).min(MOST_ROWS);
    let shown = if aim.targets.len() > room { room.saturating_sub(1) } else { room };
    for target in aim.targets.iter().take(shown) {
        let text = if matches!(target.answer, Answer::Refused(_)) {
            format!("{:>7}  {}: {}", target.key.pid, target.name, target.word())
        } else if target.on.is_empty() {
            format!("{:>7}  {}: holds no memory itself", target.key.pid, target.name)
        } else {
            let size = target.bytes().map_or_else(|| "N/A".to_owned(), |size| format!("{} GiB", gib(Some(size))));
            format!("{:>7}  {:<9} {size:>8}  {}; {}", target.key.pid, target.user(), target.name, age(world, target))
        };
        line(&text, Role::Text);
    }
    let rest = aim.targets.len().saturating_sub(shown);
    if rest > 0 {
        line(&format!("and {rest} more"), Role::Dim);
    }
}

/// What a process holds on which cards.
fn holds(target: &Target) -> String {
    let on: Vec<String> = target
        .on
        .iter()
        .map(|(gpu, size)| match size {
            Ok(size) => format!("{} GiB on GPU {gpu}", gib(Some(*size))),
            Err(missing) => format!("memory on GPU {gpu} ({missing})"),
        })
        .collect();
    if on.is_empty() { "no memory any more".to_owned() } else { on.join(", ") }
}

/// When a process was started, and how long it runs.
fn age(world: &World<'_>, target: &Target) -> String {
    let Some((clock, process)) = world.clock.zip(target.process.as_ref()) else { return "started: not known".to_owned() };
    match &process.started {
        Ok(started) => {
            let running =
                process.running(clock.wall(world.clock_now)).map_or(String::new(), |running| format!(", runs for {running}"));
            format!("started {}{running}", clock.date_and_time(*started, world.clock_now))
        }
        Err(missing) => format!("started: {missing}"),
    }
}

/// `GPU 0, 1`.
fn cards(gpus: impl Iterator<Item = Gpu>) -> String {
    let gpus: Vec<String> = gpus.map(|gpu| gpu.to_string()).collect();
    if gpus.is_empty() { "no card".to_owned() } else { format!("GPU {}", gpus.join(", ")) }
}

/// How it went for all.
fn summary(aim: &Aim) -> String {
    let sent = aim.targets.iter().filter(|target| matches!(target.answer, Answer::Sent(_))).count();
    match (aim.sent, aim.targets.len()) {
        (None, 1) => "It can't be signalled".to_owned(),
        (None, _) => "None of them can be signalled".to_owned(),
        (Some(signal), 1) => signal.to_string(),
        (Some(signal), all) => format!("{signal} to {sent} of {all}"),
    }
}

/// What became of the signal for one process.
fn result(world: &World<'_>, target: &Target, area: Rect, buf: &mut Buffer) {
    let mut pen = Pen::new(buf, area);
    let bad = matches!(target.answer, Answer::Refused(_));
    // What became of it matters more than a long name.
    let name = fit(&target.name, NAME);
    pen.skip(2).put(&format!("{name} ({}): ", target.key.pid), world.style(Role::Strong));
    pen.put(&target.word(), world.style(if bad { Role::Notice } else { Role::Text }));
}

fn more(world: &World<'_>, below: usize, area: Rect, buf: &mut Buffer) {
    if below > 0 {
        put_right(buf, area.right().saturating_sub(2), area.y, 12, &format!(" {below} more "), world.style(Role::Notice));
    }
}
