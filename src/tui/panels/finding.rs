//! One finding in full: its evidence, and each piece of advice with its code, its cost and when it does not help.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::{Clear, Widget};

use super::super::action::Action;
use super::super::look::Look;
use super::super::seen::{self, bytes_saved, label, role};
use super::super::theme::Role;
use super::super::widgets::text::{Rule, put, put_right, width, wrap};
use super::super::world::{World, short_name};
use super::Panel;
use crate::domain::tips::TIPS;
use crate::domain::{Advice, Finding};

/// The finding.
#[derive(Default)]
pub struct FindingPanel {
    offset: usize,
    /// Lines and rows as drawn last.
    drawn: (usize, usize),
}

impl Panel for FindingPanel {
    fn act(&mut self, action: Action, look: &mut Look, world: &World<'_>) -> bool {
        let (lines, rows) = self.drawn;
        let last = lines.saturating_sub(rows);
        if let Some(finding) = match action {
            Action::PreviousFinding => seen::neighbour(look, world, false),
            Action::NextFinding => seen::neighbour(look, world, true),
            _ => None,
        } {
            seen::jump(finding, look, world);
            self.offset = 0;
            return true;
        }
        match action {
            Action::Open => look.layer = None,
            _ => match action.moved(Some(self.offset), last, rows.max(1)) {
                Some(to) => self.offset = to,
                None => return false,
            },
        }
        true
    }

    fn render(&mut self, world: &World<'_>, look: &Look, area: Rect, buf: &mut Buffer) {
        Clear.render(area, buf);
        buf.set_style(area, world.style(Role::Ground));
        let Some(finding) = look.finding.and_then(|n| world.snapshot.findings.iter().find(|finding| finding.n == n)) else {
            put(buf, area.x + 1, area.y, area.width, "This finding is not kept any more.", world.style(Role::Dim));
            return;
        };
        let title = format!("{} GPU {}: {}", label(finding, world.glyphs), finding.gpu, finding.kind.title());
        let keys = world.keymap.shown(&[Action::PreviousFinding, Action::NextFinding]);
        let rule = Rule {
            title: &title,
            right: &format!("{keys} other findings  Esc closes"),
            line: world.glyphs.rule,
            style: world.style(Role::Rule),
            title_style: world.style(role(finding)),
        };
        rule.render(Rect { height: 1, ..area }, buf);
        let place =
            Rect { x: area.x + 2, y: area.y + 1, width: area.width.saturating_sub(4), height: area.height.saturating_sub(1) };
        let lines = lines(world, finding, place.width);
        let rows = usize::from(place.height);
        self.offset = self.offset.min(lines.len().saturating_sub(rows));
        self.drawn = (lines.len(), rows);
        for (y, (indent, text, style)) in (place.y..place.bottom()).zip(lines.iter().skip(self.offset)) {
            put(buf, place.x + indent, y, place.width.saturating_sub(*indent), text, *style);
        }
        let below = lines.len().saturating_sub(self.offset + rows);
        if below > 0 {
            let more = format!(" {below} more lines ");
            put_right(buf, area.right(), area.bottom() - 1, width(&more), &more, world.style(Role::Notice));
        }
    }
}

type Line = (u16, String, Style);

fn lines(world: &World<'_>, finding: &Finding, columns: u16) -> Vec<Line> {
    let mut out = Vec::new();
    let text = world.style(Role::Text);
    let dim = world.style(Role::Dim);
    let mut say = |out: &mut Vec<Line>, indent: u16, text: &str, style: Style| {
        out.extend(wrap(text, columns.saturating_sub(indent)).into_iter().map(|line| (indent, line, style)));
    };
    let span = match finding.to {
        Some(to) if to > finding.from => format!("{} to {}", world.time(finding.from), world.time(to)),
        Some(_) => world.time(finding.from),
        None => format!("since {}", world.time(finding.from)),
    };
    let who = who(world, finding).map_or(String::new(), |who| format!(", {who}"));
    say(&mut out, 0, &format!("{span}{who}. {}.", certainty(finding)), text);
    let evidence = finding.evidence_text();
    if !evidence.is_empty() {
        say(&mut out, 0, &format!("Evidence: {evidence}."), text);
    }
    if finding.advice.is_empty() {
        say(&mut out, 0, "Nothing has to be done about it.", dim);
    }
    for (n, advice) in finding.advice.iter().enumerate() {
        out.push((0, String::new(), dim));
        tell(&mut out, n + 1, advice, world, &mut say);
    }
    out
}

fn tell(
    out: &mut Vec<Line>,
    n: usize,
    advice: &Advice,
    world: &World<'_>,
    say: &mut impl FnMut(&mut Vec<Line>, u16, &str, Style),
) {
    let text = world.style(Role::Text);
    let dim = world.style(Role::Dim);
    let saves = advice.saves.map_or(String::new(), |saves| format!(": {}", bytes_saved(saves)));
    say(out, 0, &format!("{n}. {}{saves}", seen::title_of(advice)), world.style(Role::Strong));
    say(out, 3, &advice.why, text);
    let Some(tip) = TIPS.iter().find(|tip| tip.id == advice.tip) else { return };
    for code in tip.code {
        say(out, 3, &format!("{}:", code.of), dim);
        // Code is cut at the edge, not wrapped: a wrapped line would not run.
        out.extend(code.lines.iter().map(|line| (5, (*line).to_owned(), text)));
    }
    say(out, 3, &format!("Costs: {}", tip.cost), dim);
    for not in tip.not_when {
        say(out, 3, &format!("Does not help: {not}"), dim);
    }
}

fn certainty(finding: &Finding) -> &'static str {
    match finding.certainty {
        crate::domain::Certainty::Fact => "The figures say so themselves",
        crate::domain::Certainty::Likely => "Inferred from the figures, so likely",
    }
}

/// The process that caused it.
fn who(world: &World<'_>, finding: &Finding) -> Option<String> {
    let pid = finding.pid?;
    let view = world.snapshot.device(finding.gpu)?;
    let holders = view.holders.iter().flat_map(|list| list.iter()).chain(view.gone.iter());
    let name = holders.into_iter().find(|holder| holder.pid() == pid).map(|holder| short_name(holder).into_owned());
    Some(name.map_or_else(|| format!("pid {pid}"), |name| format!("{name} ({pid})")))
}
