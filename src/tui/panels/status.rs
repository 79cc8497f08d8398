//! The selected thing in a sentence, and the keys that matter most.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use strum::IntoEnumIterator;

use super::super::action::{ACTIONS, Action, ActionInfo};
use super::super::cards::{Card, Slice};
use super::super::look::{Focus, Layer, Look, Selection};
use super::super::rows::{JobRow, Row, RowKind};
use super::super::subject::persistent;
use super::super::theme::Role;
use super::super::widgets::text::{Pen, fit_clauses, put, put_right, say, width};
use super::super::world::{World, gib, short_name};
use super::Panel;
use crate::domain::{Bytes, Cause, Certainty, Finding, Gpu, HolderView, MemoryKind, Missing, Reading};

/// The status line.
pub struct Status;

impl Panel for Status {
    fn render(&mut self, world: &World<'_>, look: &Look, area: Rect, buf: &mut Buffer) {
        let sentence = look.note.clone().unwrap_or_else(|| sentence(world, look));
        let mut room = area.width.saturating_sub(2);
        if area.height == 1 {
            let help = hint(world, Action::Help, "help");
            let columns = width(&help);
            if room > columns + 20 {
                put_right(buf, area.right().saturating_sub(1), area.y, columns, &help, world.style(Role::Dim));
                room -= columns + 2;
            }
        } else {
            let mut pen = Pen::new(buf, Rect { y: area.y + 1, height: 1, ..area });
            pen.skip(1);
            // How to get help and how to leave are shown before all others.
            let last = |action| matches!(action, Action::Help | Action::Quit);
            let columns = |keys: &str, hint: &str| width(keys) + hint.len() as u16 + 3;
            let hints = || {
                ACTIONS.iter().map(|info| (info, hint_of(info, look))).filter(|(info, hint)| {
                    !hint.is_empty() && (info.action != Action::Signal || world.options.read_only.is_none())
                })
            };
            let kept: u16 = hints()
                .filter(|(info, _)| last(info.action))
                .map(|(info, hint)| columns(&keys(world, info.action).unwrap_or_default(), hint))
                .sum();
            for (info, hint) in hints() {
                let Some(keys) = keys(world, info.action) else { continue };
                let others = if last(info.action) { 0 } else { kept };
                if pen.left() + 2 >= columns(&keys, hint) + others {
                    pen.put(&keys, world.style(Role::Strong)).skip(1).put(hint, world.style(Role::Dim)).skip(2);
                }
            }
        }
        put(buf, area.x + 1, area.y, room, &fit_clauses(&sentence, room), world.style(Role::Text));
    }
}

/// The word for what a key does now; empty where it does nothing worth the room.
fn hint_of(info: &ActionInfo, look: &Look) -> &'static str {
    match (look.layer, info.action) {
        (Some(Layer::Sort | Layer::Signal), Action::Up) => "choose",
        (Some(Layer::Sort), Action::Open) => "sort by it",
        (Some(Layer::Sort), Action::Reverse) => "turn round",
        (Some(Layer::Signal), Action::Open) => "go on",
        (Some(_), Action::Back) => "close",
        (Some(_), Action::Quit) => info.hint,
        (Some(_), _) => "",
        (None, Action::Freeze) if look.cursor.is_some() => "go on",
        (None, Action::Earlier) if look.cursor.is_some() => "cursor",
        (None, Action::Back) if look.end.is_some() && look.cursor.is_none() => "to now",
        (None, Action::All) if look.selection == Selection::All => "one card",
        (None, Action::Back) if look.details => "close",
        (None, Action::Back) if !look.filter.text().is_empty() => "clear filter",
        (None, Action::Open) if look.details => "",
        (None, Action::Open) if look.large => "small",
        (None, Action::Open) if look.focus == Focus::Processes => "details",
        (None, Action::Tag) if look.focus == Focus::Processes => "tag",
        (None, Action::Tree) if look.focus == Focus::Processes => "tree",
        (None, Action::Signal) if look.focus == Focus::Devices => "",
        _ => info.hint,
    }
}

/// The keys to show for an action; those of a pair stand together.
fn keys(world: &World<'_>, action: Action) -> Option<String> {
    let first = |action| world.keymap.keys(action).next();
    let other = match action {
        Action::Up => Some(Action::Down),
        Action::Earlier => Some(Action::Later),
        Action::ZoomIn => Some(Action::ZoomOut),
        _ => None,
    };
    let key = first(action)?;
    Some(match other.and_then(first) {
        Some(other) => format!("{key}{other}"),
        None => key.to_string(),
    })
}

fn hint(world: &World<'_>, action: Action, word: &str) -> String {
    keys(world, action).map_or(String::new(), |keys| format!("{keys} {word}"))
}

/// What is selected, and why something of it is missing.
fn sentence(world: &World<'_>, look: &Look) -> String {
    if look.focus == Focus::Processes {
        let rows = &world.table(look).rows;
        if let Some(row) = look.row.as_ref().and_then(|key| rows.iter().find(|row| row.key() == *key)) {
            return about_row(world, row);
        }
        if let Some(card) = world.selected(look).filter(|card| card.is_blank(world.past)) {
            return about_card(world, card);
        }
        if look.row.is_some() && !look.filter.text().is_empty() {
            return "The filter hides the selected row; Esc clears it.".into();
        }
        if look.row.is_some() {
            return "The selected process holds no memory at this moment.".into();
        }
        return if rows.is_empty() {
            "No process to select here.".into()
        } else {
            "Select a process: its part of the timeline gets its colour.".into()
        };
    }
    if look.focus == Focus::Findings {
        let finding = look.finding.and_then(|n| world.snapshot.findings.iter().find(|finding| finding.n == n));
        return finding.map_or_else(|| "No finding to select yet.".into(), |finding| about_finding(world, finding));
    }
    match world.selected(look) {
        Some(card) => about_card(world, card),
        None if world.cards.is_empty() => "Cards will be listed above as soon as the driver names them.".into(),
        None => "All cards. Select one to see it alone with its processes.".into(),
    }
}

/// What was seen, when, and what it rests on.
fn about_finding(world: &World<'_>, finding: &Finding) -> String {
    let sure = if finding.certainty == Certainty::Likely { " (likely)" } else { "" };
    let evidence = finding.evidence_text();
    format!("{} GPU {}: {}{sure}; {evidence}.", world.time(finding.from), finding.gpu, finding.kind.title())
}

/// The identity in words: used is the sum of its parts. What is missing, and why, comes before what is nice to know.
fn about_card(world: &World<'_>, card: &Card<'_>) -> String {
    let figures = &card.figures;
    let gpu = card.gpu();
    if let Some(t) = world.past.filter(|_| card.is_blank(world.past)) {
        return format!("GPU {gpu} at {}: nothing is known of this moment; {}.", world.time(t), world.why_blank(card));
    }
    let mut out = match world.past {
        Some(t) => format!("GPU {gpu} at {}", world.time(t)),
        None => format!("GPU {gpu}"),
    };
    let trouble = card.trouble(world.now).filter(|_| world.past.is_none());
    if let Some(trouble) = &trouble {
        let call = card.view.call.map_or(String::new(), |call| format!(" in {call}"));
        say(&mut out, format_args!(": {trouble}{call}"));
    }
    match (figures.used, card.stale) {
        // The trouble carries the age already.
        (Some(used), Some(_)) if trouble.is_some() => say(&mut out, format_args!("; last known: {} GiB used", gib(Some(used)))),
        (Some(used), Some(age)) => say(&mut out, format_args!("; {age} ago: {} GiB used", gib(Some(used)))),
        (Some(used), None) => say(&mut out, format_args!(": {} GiB used", gib(Some(used)))),
        (None, _) => {}
    }
    let parts: Vec<String> = Slice::iter()
        .filter(|slice| !matches!(slice, Slice::InUse | Slice::Reserved | Slice::Free))
        .filter(|slice| figures.slices[*slice as usize] > 0)
        .map(|slice| format!("{} {}", gib(Some(Bytes(figures.slices[slice as usize]))), slice.name()))
        .collect();
    if !parts.is_empty() {
        say(&mut out, format_args!(" = {}", parts.join(" + ")));
    } else if figures.slices[Slice::InUse as usize] > 0 && card.view.holders.is_ok() && world.past.is_none() {
        out += " (by whom is not told)";
    }
    if world.past.is_some() {
        out += "; util: kept for now only";
    }
    if let Some(free) = figures.free {
        say(&mut out, format_args!("; {} free", gib(Some(free))));
    }
    match figures.reserved {
        Some(reserved) => say(&mut out, format_args!(", {} reserved", gib(Some(reserved)))),
        None if card.view.device.memory == MemoryKind::Unified && figures.free.is_none() => {}
        None if card.view.device.memory == MemoryKind::Unified => out += " on the host, whose memory it is",
        None if figures.used.is_some() => out += ", used includes what the driver keeps",
        None => {}
    }
    if let Some(beyond) = figures.beyond {
        say(&mut out, format_args!("; its processes, read at another moment, add up to {} more", gib(Some(beyond))));
    }
    let fresh = world.past.is_none() && card.is_fresh();
    if fresh {
        if let Err(missing) = &card.view.utilization {
            say(&mut out, format_args!("; util: {missing}"));
        }
        if let Err(missing) = &card.view.holders {
            say(&mut out, format_args!("; processes: {missing}"));
        }
    }
    match card.peak {
        Some((Some(t), peak)) => say(&mut out, format_args!("; peak {} at {}", gib(Some(peak)), world.time(t))),
        Some((None, peak)) => say(&mut out, format_args!("; peak so far {}", gib(Some(peak)))),
        None => {}
    }
    if fresh {
        let reading = |reading: &Reading<f32>, unit: &str| reading.as_ref().ok().map(|value| format!("; {value:.0} {unit}"));
        out.extend(reading(&card.view.temperature, if world.options.ascii { "C" } else { "°C" }));
        out.extend(reading(&card.view.power, "W"));
    }
    out + "."
}

fn about_row(world: &World<'_>, row: &Row<'_>) -> String {
    match &row.kind {
        RowKind::Holder(holder) => about_holder(world, row, holder),
        RowKind::Job(job) => about_job(world, row, job),
        RowKind::InUse => format!(
            "In use on GPU {}: {} GiB; the driver does not tell what single processes hold here (WDDM, WSL2).",
            row.gpu,
            gib(row.used.as_ref().ok().copied())
        ),
        RowKind::Others => format!(
            "Others on GPU {}: processes beyond the 16 largest held {} GiB together at that time.",
            row.gpu,
            gib(row.used.as_ref().ok().copied())
        ),
        RowKind::Unattributed => match &row.used {
            Ok(used) => {
                let mut out = format!("Unattributed on GPU {}: {} GiB are used, but by no process", row.gpu, gib(Some(*used)));
                let card = world.card(row.gpu).filter(|_| world.past.is_none());
                if let Some((since, _)) = card.and_then(|card| persistent(card.view, world.now)) {
                    say(&mut out, format_args!(" since {}", world.time(since)));
                }
                let causes = card.map_or_else(Vec::new, |card| Cause::of(card.view, world.snapshot));
                if let Some(cause) = causes.first() {
                    say(&mut out, format_args!("; {}", cause.text()));
                }
                out + "."
            }
            Err(missing) => format!("Unattributed on GPU {} can't be told: {missing}.", row.gpu),
        },
    }
}

fn about_job(world: &World<'_>, row: &Row<'_>, job: &JobRow<'_>) -> String {
    let whole = &job.whole;
    let list = |gpus: &mut dyn Iterator<Item = Gpu>| gpus.map(|gpu| gpu.to_string()).collect::<Vec<_>>().join(", ");
    let cards =
        |gpus: &[Gpu]| if let [one] = gpus { format!("GPU {one}") } else { format!("GPUs {}", list(&mut gpus.iter().copied())) };
    let mut out = format!("Job {}, {}", whole.job.title(), row.slice().name());
    let many = |n: usize| if n == 1 { "1 process".to_owned() } else { format!("{n} processes") };
    let here = job.here.len();
    let used = row.used.as_ref().ok().copied();
    say(&mut out, format_args!(": {} with {} GiB on {}", many(here), gib(used), cards(&job.gpus)));
    if whole.on.len() > job.gpus.len() {
        let all: Vec<Gpu> = whole.on.keys().copied().collect();
        say(&mut out, format_args!("; in all {} with {} GiB on {}", many(whole.processes()), gib(whole.used()), cards(&all)));
    }
    if let Some((gpu, left)) = whole.tightest.filter(|_| world.past.is_none()) {
        say(&mut out, format_args!("; tightest GPU {gpu}, {} GiB left", gib(Some(left))));
    }
    if row.used.is_err() {
        out += "; the size of one of its processes is not told";
    }
    let verb = if job.open { "folds" } else { "unfolds" };
    if let Some(key) = keys(world, Action::Fold) {
        say(&mut out, format_args!("; {key} {verb} it"));
    }
    out + "."
}

fn about_holder(world: &World<'_>, row: &Row<'_>, holder: &HolderView) -> String {
    let mut out = format!("{} ({}), {}", short_name(holder), holder.pid(), row.slice().name());
    match &row.used {
        Ok(used) => say(&mut out, format_args!(": {} GiB on GPU {}", gib(Some(*used)), row.gpu)),
        Err(missing) => say(&mut out, format_args!(": its memory on GPU {} is missing: {missing}", row.gpu)),
    }
    if world.snapshot.header.as_ref().is_some_and(|header| header.foreign_pids) && row.slice() == Slice::Unknown {
        out += "; who it is can't be seen from this container: start it with --pid=host (Kubernetes: hostPID: true)";
    } else if holder.process.is_none() {
        out += "; nothing else is known of it: it lives in another PID namespace or is gone";
    }
    match row.peak {
        Some((Some(t), peak)) => say(&mut out, format_args!(", peak {} at {}", gib(Some(peak)), world.time(t))),
        Some((None, peak)) => say(&mut out, format_args!(", peak so far {}", gib(Some(peak)))),
        None => {}
    }
    if world.past.is_some() {
        out += "; GPU%, CPU%, RSS: kept for now only";
    }
    if let (Some(clock), Some(process)) = (world.clock, &holder.process)
        && let Some(running) = process.running(clock.wall(world.moment()))
    {
        say(&mut out, format_args!("; runs for {running}"));
    }
    if let Some(container) = holder.process.as_ref().and_then(|process| process.container.as_deref()) {
        say(&mut out, format_args!("; in {container}"));
    }
    let mut missing = |what: &str, why: Option<&Missing>| {
        if let Some(why) = why {
            say(&mut out, format_args!("; {what}: {why}"));
        }
    };
    if world.past.is_some() {
        return out + ".";
    }
    if let Some(usage) = &holder.usage {
        missing("GPU%", usage.gpu.as_ref().err());
        missing("CPU%", usage.cpu.as_ref().err());
        missing("RSS", usage.rss.as_ref().err());
    }
    if let Some(process) = &holder.process {
        missing("user", process.user.as_ref().err());
        missing("command", process.command.as_ref().err());
    }
    out + "."
}
