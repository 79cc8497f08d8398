//! What was seen and what to do, newest first.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::super::action::Action;
use super::super::look::{Focus, Layer, Look};
use super::super::seen::{self, bytes_saved, label, role};
use super::super::theme::Role;
use super::super::widgets::list;
use super::super::widgets::text::{Rule, fit, fit_clauses, put, put_right, width};
use super::super::world::World;
use super::Panel;
use crate::domain::{Certainty, Finding};

/// The list.
#[derive(Default)]
pub struct Findings {
    offset: usize,
    height: usize,
    first: u16,
}

/// Rows of one finding: what was seen, and what to do.
const ROWS: usize = 2;

impl Panel for Findings {
    fn act(&mut self, action: Action, look: &mut Look, world: &World<'_>) -> bool {
        let all = seen::notable(world);
        if action == Action::Open {
            if let Some(finding) = look.finding.and_then(|n| all.iter().find(|finding| finding.n == n)) {
                seen::jump(finding, look, world);
                look.layer = Some(Layer::Finding);
            }
            return true;
        }
        let at = look.finding.and_then(|n| all.iter().position(|finding| finding.n == n));
        let Some(to) = action.moved(at, all.len().saturating_sub(1), (self.height / ROWS).max(1)) else { return false };
        look.finding = all.get(to).map(|finding| finding.n);
        true
    }

    fn click(&mut self, _x: u16, y: u16, look: &mut Look, world: &World<'_>) {
        let all = seen::notable(world);
        let row = usize::from(y.saturating_sub(self.first)) / ROWS;
        if y >= self.first
            && let Some(finding) = all.get(self.offset + row)
        {
            look.finding = Some(finding.n);
            look.focus = Focus::Findings;
            seen::jump(finding, look, world);
        }
    }

    fn render(&mut self, world: &World<'_>, look: &Look, area: Rect, buf: &mut Buffer) {
        let all = seen::notable(world);
        let focused = look.focus == Focus::Findings;
        let keys = world.keymap.shown(&[Action::PreviousFinding, Action::NextFinding]);
        let rule = Rule {
            title: "What was seen, and what to do",
            right: &format!("{keys} jump"),
            line: world.glyphs.rule,
            style: world.style(Role::Rule),
            title_style: world.style(Role::Strong),
        };
        rule.render(Rect { height: 1, ..area }, buf);
        let place = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
        if all.is_empty() {
            let text = "Nothing yet: leaks, spikes, jumps and newcomers will be listed here.";
            put(buf, place.x, place.y, place.width, &fit_clauses(text, place.width), world.style(Role::Dim));
            return;
        }
        self.first = place.y;
        self.height = usize::from(place.height);
        let shown = self.height.div_ceil(ROWS);
        let at = look.finding.and_then(|n| all.iter().position(|finding| finding.n == n)).filter(|_| focused);
        self.offset = list::scroll(self.offset, at.or(Some(0).filter(|_| !focused)), all.len(), (self.height / ROWS).max(1));
        for (n, finding) in all.iter().skip(self.offset).take(shown).enumerate() {
            let y = place.y + (n * ROWS) as u16;
            let row = Rect { y, height: ROWS.min(usize::from(place.bottom() - y)) as u16, ..place };
            entry(world, finding, row, buf);
            if focused && look.finding == Some(finding.n) {
                buf.set_style(Rect { height: 1, ..row }, world.style(Role::Selected));
            }
        }
        let below = all.len().saturating_sub(self.offset + self.height / ROWS);
        if below > 0 {
            let more = format!(" {below} more ");
            put_right(buf, area.right(), area.y, width(&more), &more, world.style(Role::Notice));
        }
    }
}

fn entry(world: &World<'_>, finding: &Finding, area: Rect, buf: &mut Buffer) {
    let likely = if finding.certainty == Certainty::Likely { "likely" } else { "" };
    let room = area.width.saturating_sub(if likely.is_empty() { 0 } else { 8 });
    let mut x = put(buf, area.x, area.y, 4, &label(finding, world.glyphs), world.style(role(finding))) + 1;
    x = put(buf, x, area.y, 8, &world.time(finding.from), world.style(Role::Dim)) + 1;
    // The first figure says how much; the others are told where there is room for all.
    let text = format!("GPU {} {}", finding.gpu, seen::headline(finding));
    let room = (area.x + room).saturating_sub(x);
    put(buf, x, area.y, room, &fit(&text, room), world.style(role(finding)));
    put_right(buf, area.right(), area.y, 6, likely, world.style(Role::Dim));
    if area.height < 2 {
        return;
    }
    let Some(first) = finding.advice.first() else { return };
    let saved = first.saves.map_or(String::new(), |saves| format!("{}: ", bytes_saved(saves)));
    let text = format!("{saved}{}", seen::title_of(first));
    let more = finding.advice.len() - 1;
    let rest = if more > 0 { format!("  +{more}") } else { String::new() };
    let room = area.width.saturating_sub(3 + width(&rest));
    let end = put(buf, area.x + 3, area.y + 1, room, &fit(&text, room), world.style(Role::Text));
    put(buf, end, area.y + 1, width(&rest), &rest, world.style(Role::Dim));
}
