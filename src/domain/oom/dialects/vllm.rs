//! vLLM's checks before it serves.

use super::passage::group;
use super::{Dialect, Passage};
use crate::domain::oom::event::{Cause, Event, Kind, Stage};
use crate::domain::oom::size::{Pattern, size};
use crate::domain::{Bytes, Framework};

/// The dialect.
pub const DIALECT: Dialect = Dialect {
    id: "vllm",
    marks: &["KV cache is needed", "gpu_memory_utilization", "available memory for the cache blocks", "Free memory on device", "out of memory occurred", "enough KV cache", "Based on the available memory"],
    read,
};

static NEEDED: Pattern = Pattern::new(r"To serve at least one request with the models?'?s? max(?:imum)? seq(?:uence)? len(?:gth)? \(INT\),? \(?SIZE KV cache is needed, which is larger than the available KV cache memory \(SIZE\)");
static NEEDED_SHORT: Pattern = Pattern::new(r"\(?SIZE KV cache is needed, which is larger than the available KV cache memory \(SIZE\)");
static BLOCKS: Pattern = Pattern::new(r"No available memory for the cache blocks");
static START: Pattern = Pattern::new(r"Free memory on device ?(?:cuda:(\d+) ?)?\(([\d.]+)/([\d.]+) GiB\) on startup is less than desired GPU memory utilization \([\d.]+, ([\d.]+) GiB\)");
static TOKENS: Pattern = Pattern::new(r"max seq len \(INT\) is larger than the maximum number of tokens that can be stored in (?:the )?KV cache \(INT\)");
static WARMING: Pattern = Pattern::new(r"CUDA out of memory occurred when warming up");
static PREEMPTED: Pattern = Pattern::new(r"is preempted by PreemptionMode\.\w+ mode because there is not enough KV cache space");

fn read(passage: &Passage) -> Option<Event> {
    let mut event = Event::device(DIALECT.id, Framework::Vllm);
    event.stage = Some(Stage::StartCheck);
    event.cause = Some(Cause::KvCache);
    if let Some(found) = passage.find(&NEEDED) {
        event.figures.requested = size(group(&found, 2));
        event.figures.allowed = size(group(&found, 3));
    } else if let Some(found) = passage.find(&NEEDED_SHORT) {
        event.figures.requested = size(group(&found, 1));
        event.figures.allowed = size(group(&found, 2));
    } else if passage.find(&BLOCKS).is_some() {
        event.cause = Some(Cause::ModelTooLarge);
    } else if let Some(found) = passage.find(&START) {
        let gib = |n: usize| size(&format!("{} GiB", group(&found, n)));
        event.device = group(&found, 1).parse().ok();
        event.figures.free = gib(2);
        event.figures.capacity = gib(3);
        event.figures.requested = gib(4);
        // The check comes before anything of its own is on the card.
        event.cause = Some(Cause::ForeignProcess);
    } else if passage.find(&TOKENS).is_some() {
    } else if passage.find(&WARMING).is_some() {
        event.stage = Some(Stage::GraphCapture);
        event.echo = true;
    } else if passage.find(&PREEMPTED).is_some() {
        event.kind = Kind::Recovered;
    } else {
        return None;
    }
    Some(event)
}

/// The longest model length that the message says would fit.
pub fn fitting_length(text: &str) -> Option<u64> {
    static LENGTH: Pattern = Pattern::new(r"estimated maximum model length is INT");
    static TOKENS: Pattern = Pattern::new(r"can be stored in (?:the )?KV cache \(INT\)");
    LENGTH.number(text).or_else(|| TOKENS.number(text)).filter(|length| *length > 0)
}

/// The memory that was left for the KV cache, as printed: negative where weights and the profiled peak exceed the budget.
pub fn left_for_cache(text: &str) -> Option<(bool, Bytes)> {
    static LEFT: Pattern = Pattern::new(r"Available KV cache memory: (-)?([\d.]+) GiB");
    let found = LEFT.regex().captures_iter(text).last()?;
    Some((found.get(1).is_some(), size(&format!("{} GiB", group(&found, 2)))?))
}

#[cfg(test)]
mod tests {
    use super::super::passage::read_text;
    use super::*;
    use crate::domain::bytes::GIB;

    #[test]
    fn each_check_is_read_in_its_forms() {
        let b = |gib: u64| Some(Bytes(gib * GIB));
        for (text, cause, device, asked, allowed, free) in [
            ("ValueError: To serve at least one request with the models's max seq len (196608), (18.0 GiB KV cache is needed, which is larger than the available KV cache memory (5.00 GiB). Based on the available memory, the estimated maximum model length is 54832.", Cause::KvCache, None, b(18), b(5), None),
            ("ValueError: To serve at least one request with the model's max seq len (4096), 18.00 GiB KV cache is needed, which is larger than the available KV cache memory (5.00 GiB).", Cause::KvCache, None, b(18), b(5), None),
            ("ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`", Cause::ModelTooLarge, None, None, None, None),
            ("ValueError: Free memory on device cuda:1 (9.00/44.00 GiB) on startup is less than desired GPU memory utilization (0.9, 39.00 GiB).", Cause::ForeignProcess, Some(1), b(39), None, b(9)),
            ("ValueError: Free memory on device (9.00/44.00 GiB) on startup is less than desired GPU memory utilization (0.92, 39.00 GiB).", Cause::ForeignProcess, None, b(39), None, b(9)),
            ("ValueError: The model's max seq len (131072) is larger than the maximum number of tokens that can be stored in KV cache (37824). Try increasing `gpu_memory_utilization`", Cause::KvCache, None, None, None, None),
        ] {
            let event = read_text(&DIALECT, text).expect(text);
            assert_eq!((event.cause, event.device), (Some(cause), device), "{text}");
            assert_eq!((event.figures.requested, event.figures.allowed, event.figures.free), (asked, allowed, free), "{text}");
        }
        assert_eq!(fitting_length("the estimated maximum model length is 54832."), Some(54832));
        assert_eq!(left_for_cache("Available KV cache memory: -0.50 GiB"), Some((true, Bytes(GIB / 2))));
        assert_eq!(read_text(&DIALECT, "Available KV cache memory: 5.02 GiB"), None);
    }
}
