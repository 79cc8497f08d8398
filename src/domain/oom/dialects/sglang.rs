//! SGLang's memory pool.

use super::{Dialect, Passage};
use crate::domain::Framework;
use crate::domain::oom::event::{Cause, Event, Kind, Stage};
use crate::domain::oom::size::Pattern;

/// The dialect.
pub const DIALECT: Dialect = Dialect {
    id: "sglang",
    marks: &["Not enough memory", "out of memory", "runs out of memory", "capacity is unbalanced", "cache pool is full", "Out of memory"],
    read,
};

static POOL: Pattern = Pattern::new(r"Not enough memory[.;][^\n]{0,60}?mem-fraction-static");
static TOKENS: Pattern = Pattern::new(r"(Prefill|Decode)? ?[Oo]ut of memory\. Try to lower your batch size");
static SLOTS: Pattern = Pattern::new(r"alloc_req_slots runs out of memory");
static UNBALANCED: Pattern = Pattern::new(r"memory capacity is unbalanced\. Some GPUs may be occupied by other processes");
static FULL: Pattern = Pattern::new(r"KV cache pool is full\. Retract requests");
static CAPTURE: Pattern = Pattern::new(r"Capture cuda graph failed: (?:CUDA|HIP) (?:error: )?out of memory\.? *(?:$|\n|Possible)");

fn read(passage: &Passage) -> Option<Event> {
    let mut event = Event::device(DIALECT.id, Framework::Sglang);
    event.cause = Some(Cause::KvCache);
    if passage.find(&FULL).is_some() {
        event.kind = Kind::Recovered;
    } else if passage.find(&POOL).is_some() {
        event.stage = Some(Stage::StartCheck);
        event.cause = Some(Cause::ModelTooLarge);
    } else if passage.find(&UNBALANCED).is_some() {
        event.stage = Some(Stage::StartCheck);
        event.cause = Some(Cause::ForeignProcess);
    } else if passage.find(&TOKENS).is_some() || passage.find(&SLOTS).is_some() {
        event.stage = Some(Stage::Running);
    } else if passage.find(&CAPTURE).is_some() {
        event.stage = Some(Stage::GraphCapture);
        event.echo = true;
    } else {
        return None;
    }
    Some(event)
}

#[cfg(test)]
mod tests {
    use super::super::passage::read_text;
    use super::*;

    #[test]
    fn the_pool_and_the_cards_are_told_apart() {
        for (text, cause, stage) in [
            ("RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.", Cause::ModelTooLarge, Stage::StartCheck),
            ("RuntimeError: Not enough memory; increase --mem-fraction-static.", Cause::ModelTooLarge, Stage::StartCheck),
            ("[2026-01-01 10:00:00 TP0] Prefill out of memory. Try to lower your batch size.", Cause::KvCache, Stage::Running),
            ("RuntimeError: Out of memory. Try to lower your batch size.", Cause::KvCache, Stage::Running),
            ("ValueError: The memory capacity is unbalanced. Some GPUs may be occupied by other processes.", Cause::ForeignProcess, Stage::StartCheck),
        ] {
            let event = read_text(&DIALECT, text).expect(text);
            assert_eq!((event.cause, event.stage), (Some(cause), Some(stage)), "{text}");
        }
        assert_eq!(read_text(&DIALECT, "1. set --mem-fraction-static to a smaller value (e.g., 0.8 or 0.7)"), None);
    }
}
