//! The line that is typed: the filter, or the text of a mark. It stands where the status line does.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;

use super::super::look::Look;
use super::super::prompt::Asked;
use super::super::theme::Role;
use super::super::widgets::text::{fill, fit, put, put_right, width};
use super::super::world::World;
use super::Panel;

/// The line.
pub struct Line;

impl Panel for Line {
    fn render(&mut self, world: &World<'_>, look: &Look, area: Rect, buf: &mut Buffer) {
        let Some(prompt) = &look.prompt else { return };
        fill(buf, area.x, area.y, area.width, ' ', world.style(Role::Text));
        let (label, help) = match prompt.asked {
            Asked::Filter => ("filter:", "Enter keeps it, Esc clears"),
            Asked::Mark => ("mark:", "Enter marks, Esc leaves"),
        };
        let x = put(buf, area.x + 1, area.y, area.width.saturating_sub(1), label, world.style(Role::Strong)) + 1;
        let mut room = area.right().saturating_sub(x + 1);
        // What is wrong is told where the typing goes on.
        let told = look.filter.mistake().filter(|_| prompt.asked == Asked::Filter);
        let (told, role) = told.map_or((help, Role::Dim), |mistake| (mistake, Role::Notice));
        let told = fit(told, room.saturating_sub(12).max(room / 2));
        if room > 30 {
            put_right(buf, area.right().saturating_sub(1), area.y, width(&told), &told, world.style(role));
            room = room.saturating_sub(width(&told) + 2);
        }
        // The end that is typed at stays in sight.
        let skip = (prompt.cursor() + 1).saturating_sub(room);
        let mut left = 0;
        let shown: String = prompt
            .text()
            .chars()
            .skip_while(|c| {
                let before = left < skip;
                left += u16::from(before) * unicode_width::UnicodeWidthChar::width(*c).unwrap_or(0) as u16;
                before
            })
            .collect();
        put(buf, x, area.y, room, &shown, world.style(Role::Text));
        let at = x + prompt.cursor().saturating_sub(left);
        if at < x + room {
            buf[(at, area.y)].modifier.insert(Modifier::REVERSED);
        }
    }
}
