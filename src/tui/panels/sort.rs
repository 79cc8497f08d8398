//! The menu of columns to sort by.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::{Clear, Widget};

use super::super::action::Action;
use super::super::columns::COLUMNS;
use super::super::look::Look;
use super::super::theme::Role;
use super::super::widgets::list;
use super::super::widgets::text::{Pen, Rule, fill, put_right};
use super::super::world::World;
use super::Panel;

/// The menu.
#[derive(Default)]
pub struct Sort {
    /// The row under the cursor; none right after opening, when it is the column in use.
    at: Option<usize>,
    offset: usize,
    first: u16,
}

impl Panel for Sort {
    fn act(&mut self, action: Action, look: &mut Look, _world: &World<'_>) -> bool {
        let last = COLUMNS.len() - 1;
        let at = self.at.unwrap_or(look.sort);
        self.at = Some(match action {
            Action::Up | Action::PageUp => at.saturating_sub(1),
            Action::Down | Action::PageDown | Action::Sort => (at + 1).min(last),
            Action::First => 0,
            Action::Last => last,
            Action::Open => {
                look.sort_by(at);
                look.layer = None;
                self.at = None;
                return true;
            }
            Action::Reverse => {
                look.descending = !look.descending;
                at
            }
            _ => {
                if action == Action::Back {
                    self.at = None;
                }
                return false;
            }
        });
        true
    }

    fn click(&mut self, _x: u16, y: u16, look: &mut Look, _world: &World<'_>) {
        let at = self.offset + usize::from(y.saturating_sub(self.first));
        if y >= self.first && at < COLUMNS.len() {
            look.sort_by(at);
            look.layer = None;
            self.at = None;
        }
    }

    fn render(&mut self, world: &World<'_>, look: &Look, area: Rect, buf: &mut Buffer) {
        Clear.render(area, buf);
        buf.set_style(area, world.style(Role::Ground));
        let area = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
        let rule = Rule {
            title: "Sort processes by",
            right: "Enter chooses",
            line: world.glyphs.rule,
            style: world.style(Role::Rule),
            title_style: world.style(Role::Strong),
        };
        rule.render(Rect { height: 1, ..area }, buf);
        let at = self.at.unwrap_or(look.sort);
        let rows = usize::from(area.height.saturating_sub(2));
        self.offset = list::scroll(self.offset, Some(at), COLUMNS.len(), rows);
        self.first = area.y + 1;
        for (y, (n, column)) in (self.first..).zip(COLUMNS.iter().enumerate().skip(self.offset).take(rows)) {
            let place = Rect { y, height: 1, ..area };
            let mut pen = Pen::new(buf, place);
            let mark = if n == look.sort { world.glyphs.sorted[usize::from(!look.descending)] } else { ' ' };
            pen.skip(2).put(&format!("{mark} {:<9}", column.title), world.style(Role::Strong));
            pen.put(column.help, world.style(Role::Text));
            if n == at {
                buf.set_style(place, world.style(Role::Selected));
            }
        }
        fill(buf, area.x, area.bottom() - 1, area.width, world.glyphs.rule, world.style(Role::Rule));
        let below = COLUMNS.len().saturating_sub(self.offset + rows);
        if below > 0 {
            let more = format!(" {below} more ");
            put_right(buf, area.right().saturating_sub(2), area.bottom() - 1, 12, &more, world.style(Role::Notice));
        }
    }
}
