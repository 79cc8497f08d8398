//! The answer in words: what is wrong, which card is fullest, who holds it. Facts alone.

use std::cmp::Reverse;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::super::cards::{Card, Recent, Slice};
use super::super::look::Look;
use super::super::seen;
use super::super::subject::persistent;
use super::super::theme::Role;
use super::super::widgets::text::{Pen, fit_clauses, put, width};
use super::super::world::{World, gib, short_name};
use super::Panel;
use crate::domain::{Bytes, Cause, DeviceState, Gpu, Relation, Risk, RiskLevel};

/// The answer.
#[derive(Default)]
pub struct Answer {
    /// The card that is called the fullest, until another is so by more than a step.
    named: Named,
}

/// The card named last.
pub type Named = Option<Gpu>;

/// By how much of its memory another card must be fuller before it is named instead.
const STEP: f64 = 0.02;

impl Panel for Answer {
    fn render(&mut self, world: &World<'_>, _look: &Look, area: Rect, buf: &mut Buffer) {
        let sentences = sentences(world, &mut self.named);
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
            let text = fit_clauses(text, pen.left());
            pen.put(&text, world.style(*role));
        } else if at == 1 && sentences[0].1 == Role::Alert && pen.left() > 40 {
            // Bad news does not hide how full the others are.
            pen.skip(2);
            let text = fit_clauses(text, pen.left());
            pen.put(&text, world.style(*role));
        } else if !pen.skip(2).put_whole(text, world.style(*role)) {
            // Names may be left out where there is no room for them.
            let short = text.rsplit_once(": ").map(|(short, _)| format!("{short}."));
            if !short.is_some_and(|short| pen.put_whole(&short, world.style(*role))) {
                break;
            }
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
pub fn sentences(world: &World<'_>, named: &mut Named) -> Vec<(String, Role)> {
    let mut out = Vec::new();
    if let Some((call, since)) = world.snapshot.driver_stall {
        out.push((format!("The driver does not answer: {} in {call}.", world.now.since(since)), Role::Alert));
    }
    if world.past.is_none() {
        for card in &world.cards {
            // One age for one event.
            let told = world.snapshot.driver_stall.is_some() && card.view.state == DeviceState::Stalled;
            if let Some(trouble) = card.trouble(world.now).filter(|_| !card.is_fresh() && !told) {
                out.push((format!("GPU {}: {trouble}.", card.gpu()), Role::Alert));
            }
        }
    }
    out.extend(at_risk(world));
    if let Some(problem) = world.snapshot.problems.last().filter(|_| world.past.is_none()) {
        // What to do comes before the why: where there is no room for both, it is what helps.
        out.push((format!("{}: {}; {}.", sentence_case(&problem.what), problem.fix, problem.why), Role::Notice));
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
        out.push((
            format!("At {}: nothing is known of {which}; {}.", world.time(t), world.why_blank(&world.cards[0])),
            Role::Text,
        ));
        return out;
    }
    let fullest = fullest(world, *named);
    if world.past.is_none() {
        *named = fullest.map(Card::gpu);
    }
    if let Some(card) = fullest {
        out.push((about_fullest(world, card), Role::Text));
    }
    out.extend(ownerless(world));
    out.extend(foreign(world, fullest));
    out
}

/// Memory that no visible process has held for a while, on the card with most of it. The momentary is not worth a word.
fn ownerless(world: &World<'_>) -> Option<(String, Role)> {
    if world.past.is_some() {
        return None;
    }
    let notable = |card: &&Card<'_>| {
        // Before drivers told it apart, what they keep was part of what is used.
        let kept = card.figures.reserved.is_none();
        persistent(card.view, world.now).filter(|(_, least)| !kept || *least >= Bytes::gib(1))
    };
    let cards = || world.cards.iter().filter(|card| card.is_fresh() && !card.is_instance);
    let (card, (since, least)) = cards()
        .filter_map(|card| Some((card, notable(&card)?)))
        .max_by_key(|(card, (_, least))| (*least, Reverse(card.gpu())))?;
    let amount = card.figures.unattributed.unwrap_or(least);
    let why = match Cause::of(card.view, world.snapshot).first() {
        Some(Cause::Left(holder)) => format!(": {} ({}) ended and left it", short_name(holder), holder.pid()),
        Some(Cause::Open(handles)) => {
            let pids: Vec<String> = handles.iter().take(3).map(|handle| handle.open.key.pid.to_string()).collect();
            format!(": pid {} has the card open", pids.join(", "))
        }
        _ => String::new(),
    };
    let text = format!("{} GiB on GPU {} belong to no process since {}{why}.", gib(Some(amount)), card.gpu(), world.time(since));
    Some((text, Role::Notice))
}

/// The cards that are at risk, the worst first.
fn at_risk(world: &World<'_>) -> Vec<(String, Role)> {
    let mut risks: Vec<&Risk> = world
        .cards
        .iter()
        .filter(|card| world.past.is_none() && card.is_fresh())
        .filter_map(|card| card.view.risk.as_deref())
        // One to watch whose end is not in sight has its word beside the card: the answer is for what comes.
        .filter(|risk| risk.level.is_alarm() || (risk.level > RiskLevel::Ok && risk.full_in.is_some()))
        .collect();
    let soon = |risk: &Risk| risk.full_in.map_or(u64::MAX, |full_in| full_in.mid.0);
    risks.sort_by_key(|risk| (std::cmp::Reverse(risk.level), soon(risk), risk.gpu));
    risks.iter().map(|risk| (format!("GPU {}: {}.", risk.gpu, risk.reason), seen::risk_role(risk.level))).collect()
}

/// With a capital letter.
fn sentence_case(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Whether nobody holds memory on a card, and little else does.
fn is_idle(card: &Card<'_>) -> bool {
    card.is_fresh()
        && card.view.holders.as_ref().is_ok_and(|list| list.is_empty())
        && card.fullness().is_some_and(|fullness| fullness < 0.02)
}

/// The card that answers and was fullest in the last half minute; MIG parents are spoken for by their instances. The one
/// `named` before stays as long as no other is fuller by a step.
fn fullest<'b, 'a>(world: &'b World<'a>, named: Named) -> Option<&'b Card<'a>> {
    let answers = |card: &&Card<'_>| world.past.is_some() || card.is_fresh();
    let cards = || world.cards.iter().filter(answers).filter(|card| card.figures.used.is_some() && !card.has_instances);
    let fullest = cards().max_by(|a, b| a.recent_fullness().total_cmp(&b.recent_fullness()).then(b.gpu().cmp(&a.gpu())))?;
    let before = named.filter(|_| world.past.is_none()).and_then(|gpu| cards().find(|card| card.gpu() == gpu));
    Some(before.filter(|before| before.recent_fullness() + STEP >= fullest.recent_fullness()).unwrap_or(fullest))
}

/// Numbers of the last half minute: those of the moment swing with every step of a training run.
fn about_fullest(world: &World<'_>, card: &Card<'_>) -> String {
    let figures = &card.figures;
    let name = if world.cards.len() > 1 { format!("GPU {} is fullest", card.gpu()) } else { format!("GPU {}", card.gpu()) };
    let when = world.past.map_or(String::new(), |t| format!("At {}: ", world.time(t)));
    // In the past the numbers are those of the moment, as everywhere on the screen.
    let recent = card.recent.filter(|_| world.past.is_none());
    let peak = recent.filter(|recent| !recent.is_steady()).map(|recent| recent.max);
    let left = match (figures.free, figures.total, peak, figures.used) {
        (Some(free), Some(total), Some(peak), Some(used)) => {
            let least = Bytes((free.0 + used.0).saturating_sub(peak.0));
            format!("peaks at {} of {} GiB ({} left)", gib(Some(peak)), gib(Some(total)), gib(Some(least)))
        }
        (Some(free), Some(total), ..) => format!("{} of {} GiB left", gib(Some(free)), gib(Some(total))),
        (Some(free), None, Some(peak), _) => {
            format!("peaks at {} GiB, {} left now on the host", gib(Some(peak)), gib(Some(free)))
        }
        (Some(free), None, ..) => format!("{} GiB in use, {} left on the host", gib(figures.used), gib(Some(free))),
        _ => format!("{} GiB in use", gib(peak.or(figures.used))),
    };
    let largest = match world.past {
        Some(_) => card.largest(world.past).map(|(holder, used)| (holder, Recent { min: used, max: used })),
        None => card.largest_recently(None, world.now),
    };
    let Some((holder, held)) = largest else {
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
    let holds = if held.is_steady() { "holds" } else { "up to" };
    format!("{when}{name}: {left}; {who} ({}, {owner}) {holds} {} GiB.", holder.pid(), gib(Some(held.max)))
}

/// Other users' memory on each card, unless the first sentence has said it all.
fn foreign(world: &World<'_>, fullest: Option<&Card<'_>>) -> Option<(String, Role)> {
    let held: Vec<(&Card<'_>, Recent)> = world
        .cards
        .iter()
        .filter(|card| !card.has_instances)
        .filter_map(|card| Some((card, held_by_others(world, card)?)))
        .collect();
    let (card, size) = match held.as_slice() {
        [] => return None,
        [one] => *one,
        many => {
            let sum = |get: fn(&Recent) -> Bytes| many.iter().map(|(_, held)| get(held)).sum::<Bytes>();
            let total = Recent { min: sum(|held| held.min), max: sum(|held| held.max) };
            let upto = if total.is_steady() { "" } else { "up to " };
            let who = names(world);
            return Some((
                format!("Other users hold {upto}{} GiB on {} cards{who}.", gib(Some(total.max)), many.len()),
                Role::Foreign,
            ));
        }
    };
    let is_fullest = fullest.is_some_and(|fullest| fullest.gpu() == card.gpu());
    let foreigners = || {
        let list = card.view.holders.iter().flat_map(|list| list.iter());
        list.filter(|holder| holder.relation() == Relation::Foreign)
    };
    if is_fullest
        && world.past.is_none()
        && foreigners().count() == 1
        && card.largest_recently(None, world.now).is_some_and(|(holder, _)| holder.relation() == Relation::Foreign)
    {
        return None;
    }
    let mut users: Vec<&str> = foreigners().filter_map(|holder| holder.process.as_ref()?.user.as_deref().ok()).collect();
    users.sort_unstable();
    users.dedup();
    let (who, verb) = match users.as_slice() {
        [one] if world.past.is_none() => (*one, "holds"),
        _ => ("Other users", "hold"),
    };
    let place = if is_fullest { "there".to_owned() } else { format!("on GPU {}", card.gpu()) };
    let upto = if size.is_steady() { "" } else { "up to " };
    Some((format!("{who} {verb} {upto}{} GiB {place}.", gib(Some(size.max))), Role::Foreign))
}

/// The other users by name, those with most first; nothing in the past, and for one whose name is not known.
fn names(world: &World<'_>) -> String {
    if world.past.is_some() {
        return String::new();
    }
    let totals = world.snapshot.users();
    let names: Vec<&str> =
        totals.iter().filter(|total| total.relation == Relation::Foreign).filter_map(|total| total.user.as_deref()).collect();
    match names.as_slice() {
        [] => String::new(),
        [first, second, _, rest @ ..] if !rest.is_empty() => format!(": {first}, {second} and {} more", rest.len() + 1),
        some => format!(": {}", some.join(", ")),
    }
}

/// What other users hold of a card: of the last half minute, or at the moment of the past.
fn held_by_others(world: &World<'_>, card: &Card<'_>) -> Option<Recent> {
    let slice = Bytes(card.figures.slices[Slice::Foreign as usize]);
    if slice == Bytes::ZERO {
        return None;
    }
    let Some(list) = card.view.holders.as_ref().ok().filter(|_| world.past.is_none()) else {
        return Some(Recent { min: slice, max: slice });
    };
    let mut all = Recent { min: Bytes::ZERO, max: Bytes::ZERO };
    for holder in list.iter().filter(|holder| holder.relation() == Relation::Foreign) {
        let used = holder.used().unwrap_or_default();
        let one = holder.series.as_ref().and_then(|series| Recent::of(series, world.now, Some(used)));
        let one = one.unwrap_or(Recent { min: used, max: used });
        all = Recent { min: all.min.saturating_add(one.min), max: all.max.saturating_add(one.max) };
    }
    Some(all)
}
