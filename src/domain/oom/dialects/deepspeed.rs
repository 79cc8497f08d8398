//! `DeepSpeed`'s inference engine, which takes one workspace.

use super::{Dialect, Passage};
use crate::domain::oom::event::{Cause, Event};
use crate::domain::oom::size::{Pattern, number};
use crate::domain::{Bytes, Framework};

/// The dialect.
pub const DIALECT: Dialect =
    Dialect { id: "deepspeed", marks: &["no enough memory", "not enough memory"], read };

static HEAD: Pattern = Pattern::new(r"(?:Workspace can't be allocated, (?:no|not) enough memory|Workspace is null)");
static PLAIN: Pattern = Pattern::new(r"Requested: ?INT Free: ?INT Total: ?INT");
static REPORT: Pattern = Pattern::new(r"Free memory ?: ?([\d.]+) \(Giga[Bb]ytes\) Total memory ?: ?([\d.]+) \(Giga[Bb]ytes\) Requested memory ?: ?([\d.]+) \(Giga[Bb]ytes\)");

fn read(passage: &Passage) -> Option<Event> {
    passage.find(&HEAD)?;
    let mut event = Event::device(DIALECT.id, Framework::DeepSpeed);
    event.cause = Some(Cause::KvCache);
    // The figures are printed before the exception; the last ones count.
    if let Some(found) = PLAIN.regex().captures_iter(passage.before).last() {
        let at = |n: usize| found.get(n).and_then(|group| number(group.as_str())).map(Bytes);
        (event.figures.requested, event.figures.free, event.figures.capacity) = (at(1), at(2), at(3));
    } else if let Some(found) = REPORT.regex().captures_iter(passage.before).last() {
        let at = |n: usize| {
            let gib: f64 = found.get(n)?.as_str().parse().ok()?;
            Some(Bytes((gib * crate::domain::bytes::GIB as f64).round() as u64))
        };
        (event.figures.free, event.figures.capacity, event.figures.requested) = (at(1), at(2), at(3));
    }
    Some(event)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::bytes::GIB;

    #[test]
    fn figures_stand_before_the_exception() {
        let text = "RuntimeError: Workspace can't be allocated, no enough memory.";
        for before in ["Requested:\t2147483648\nFree:\t1073741824\nTotal:\t25769803776", "Free memory : 1.000000 (GigaBytes)\nTotal memory: 24.000000 (GigaBytes)\nRequested memory: 2.000000 (GigaBytes)"] {
            let event = read(&Passage { text, first: text.len(), before }).expect("read");
            assert_eq!((event.figures.requested, event.figures.free, event.figures.capacity), (Some(Bytes(2 * GIB)), Some(Bytes(GIB)), Some(Bytes(24 * GIB))), "{before}");
        }
    }
}
