//! The answer in words: what is wrong, which card is fullest, who holds it. Facts alone.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::super::cards::{Card, Slice};
use super::super::look::Look;
use super::super::theme::Role;
use super::super::widgets::text::{Pen, put, width};
use super::super::world::{World, gib, short_name};
use super::Panel;
use crate::domain::{Bytes, Relation};

/// The answer.
pub struct Answer;

impl Panel for Answer {
    fn render(&mut self, world: &World<'_>, _look: &Look, area: Rect, buf: &mut Buffer) {
        let sentences = sentences(world);
        if area.height == 1 {
            in_one_row(world, &sentences, area, buf);
        } else {
            in_rows(world, &sentences, area, buf);
        }
    }
}

/// The first sentence, cut if need be, and as many whole ones as fit.
fn in_one_row(world: &World<'_>, sentences: &[(String, Role)], area: Rect, buf: &mut Buffer) {
    let mut pen = Pen::new(buf, area);
    pen.skip(1);
    for (at, (text, role)) in sentences.iter().enumerate() {
        if at == 0 {
            pen.put(text, world.style(*role));
        } else if at == 1 && sentences[0].1 == Role::Alert && pen.left() > 40 {
            // Bad news does not hide how full the others are.
            pen.skip(2).put(text, world.style(*role));
        } else if !pen.skip(2).put_whole(text, world.style(*role)) {
            break;
        }
    }
}

/// Sentences that flow over several rows, broken between words.
fn in_rows(world: &World<'_>, sentences: &[(String, Role)], area: Rect, buf: &mut Buffer) {
    let (left, right) = (area.x + 1, area.right().saturating_sub(1));
    let (mut x, mut y) = (left, area.y);
    for (text, role) in sentences {
        // A number and its unit stay together.
        let text = text.replace(" GiB", "\u{a0}GiB");
        for word in text.split(' ') {
            let word = word.replace('\u{a0}', " ");
            let word = word.as_str();
            let columns = width(word);
            if x > left && x + columns > right {
                (x, y) = (left, y + 1);
                if y >= area.bottom() {
                    put(buf, right.saturating_sub(1), y - 1, 1, "…", world.style(*role));
                    return;
                }
            }
            x = put(buf, x, y, right.saturating_sub(x), word, world.style(*role)) + 1;
        }
        x += 1;
    }
}

/// What there is to say, most urgent first.
pub fn sentences(world: &World<'_>) -> Vec<(String, Role)> {
    let mut out = Vec::new();
    if let Some((call, since)) = world.snapshot.driver_stall {
        out.push((format!("The driver does not answer: {} in {call}.", world.now.since(since)), Role::Alert));
    }
    if world.past.is_none() {
        for card in &world.cards {
            if let Some(trouble) = card.trouble(world.now).filter(|_| !card.is_fresh()) {
                out.push((format!("GPU {}: {trouble}.", card.gpu()), Role::Alert));
            }
        }
    }
    if let Some(problem) = world.snapshot.problems.last().filter(|_| world.past.is_none()) {
        out.push((format!("{}: {}; {}.", problem.what, problem.why, problem.fix), Role::Notice));
    }
    if world.cards.is_empty() {
        if out.is_empty() {
            out.push(("No card yet: waiting for the driver to list them.".into(), Role::Text));
        }
        return out;
    }
    if world.past.is_none() && world.cards.len() > 1 && world.cards.iter().all(is_idle) {
        out.push(("All cards are free: nobody holds memory on them.".into(), Role::Text));
        return out;
    }
    if let Some(t) = world.past.filter(|_| world.cards.iter().all(|card| card.is_blank(world.past))) {
        let which = if world.cards.len() > 1 { "any card" } else { "the card" };
        out.push((format!("At {}: nothing is known of {which}; {}.", world.time(t), world.cards[0].why_blank(t)), Role::Text));
        return out;
    }
    let fullest = fullest(world);
    if let Some(card) = fullest {
        out.push((about_fullest(world, card), Role::Text));
    }
    out.extend(foreign(world, fullest));
    out
}

/// Whether nobody holds memory on a card, and little else does.
fn is_idle(card: &Card<'_>) -> bool {
    card.is_fresh()
        && card.view.holders.as_ref().is_ok_and(|list| list.is_empty())
        && card.fullness().is_some_and(|fullness| fullness < 0.02)
}

/// The fullest card that answers; MIG parents are spoken for by their instances.
fn fullest<'b, 'a>(world: &'b World<'a>) -> Option<&'b Card<'a>> {
    let answers = |card: &&Card<'_>| world.past.is_some() || card.is_fresh();
    world
        .cards
        .iter()
        .filter(answers)
        .filter(|card| card.figures.used.is_some())
        .max_by(|a, b| a.fullness().unwrap_or(0.0).total_cmp(&b.fullness().unwrap_or(0.0)).then(b.gpu().cmp(&a.gpu())))
}

fn about_fullest(world: &World<'_>, card: &Card<'_>) -> String {
    let figures = &card.figures;
    let name = if world.cards.len() > 1 { format!("GPU {} is fullest", card.gpu()) } else { format!("GPU {}", card.gpu()) };
    let when = world.past.map_or(String::new(), |t| format!("At {}: ", world.time(t)));
    let left = match (figures.free, figures.total) {
        (Some(free), Some(total)) => format!("{} of {} GiB left", gib(Some(free)), gib(Some(total))),
        (Some(free), None) => format!("{} GiB in use, {} left on the host", gib(figures.used), gib(Some(free))),
        _ => format!("{} GiB in use", gib(figures.used)),
    };
    let Some((holder, used)) = card.largest(world.past) else {
        let why = if card.view.holders.as_ref().is_ok_and(|list| list.is_empty()) { "; nobody holds memory there" } else { "" };
        return format!("{when}{name}: {left}{why}.");
    };
    let owner = match holder.relation() {
        Relation::Job => "job".to_owned(),
        Relation::Mine => "yours".to_owned(),
        Relation::Unknown => "not visible from here".to_owned(),
        Relation::Foreign | Relation::System => holder
            .process
            .as_ref()
            .and_then(|process| process.user.as_ref().ok())
            .map_or("another user's".to_owned(), std::string::ToString::to_string),
    };
    let who = short_name(holder);
    format!("{when}{name}: {left}; {who} ({}, {owner}) holds {} GiB.", holder.pid(), gib(Some(used)))
}

/// Other users' memory on each card.
fn foreign(world: &World<'_>, fullest: Option<&Card<'_>>) -> Option<(String, Role)> {
    let held: Vec<(&Card<'_>, u64)> = world
        .cards
        .iter()
        .filter(|card| !card.is_instance)
        .map(|card| (card, card.figures.slices[Slice::Foreign as usize]))
        .filter(|(_, size)| *size > 0)
        .collect();
    let (card, size) = match held.as_slice() {
        [] => return None,
        [one] => *one,
        many => {
            let total: u64 = many.iter().map(|(_, size)| size).sum();
            return Some((format!("Other users hold {} GiB on {} cards.", gib(Some(Bytes(total))), many.len()), Role::Foreign));
        }
    };
    let mut users: Vec<&str> = card
        .view
        .holders
        .iter()
        .flat_map(|list| list.iter())
        .filter(|holder| holder.relation() == Relation::Foreign)
        .filter_map(|holder| holder.process.as_ref()?.user.as_deref().ok())
        .collect();
    users.sort_unstable();
    users.dedup();
    let (who, verb) = match users.as_slice() {
        [one] if world.past.is_none() => (*one, "holds"),
        _ => ("Other users", "hold"),
    };
    let place = if fullest.is_some_and(|fullest| fullest.gpu() == card.gpu()) {
        "there".to_owned()
    } else {
        format!("on GPU {}", card.gpu())
    };
    Some((format!("{who} {verb} {} GiB {place}.", gib(Some(Bytes(size)))), Role::Foreign))
}
