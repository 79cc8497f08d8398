//! XGBoost.

use super::{Dialect, Passage};
use crate::domain::Framework;
use crate::domain::oom::event::Event;
use crate::domain::oom::size::Pattern;

/// The dialect.
pub const DIALECT: Dialect = Dialect { id: "xgboost", marks: &["llocation error on worker", "MemoryAllocation", "out of memory", "bad_alloc"], read };

static HEAD: Pattern = Pattern::new(r"Memory allocation error on worker (\d+):");
static FREE: Pattern = Pattern::new(r"- Free memory: SIZE");
static FREE_BYTES: Pattern = Pattern::new(r"- Free memory: INT(?:\s|$|\\)");
static ASKED: Pattern = Pattern::new(r"- Requested memory: SIZE");
static ASKED_BYTES: Pattern = Pattern::new(r"- Requested memory: INT(?:\s|$|\\|'|\x22)");
static PLAIN: Pattern = Pattern::new(r"(?:XGBoostError|xgboost)[^\n]{0,300}?(?:cudaErrorMemoryAllocation|out of memory|bad_alloc)");

fn read(passage: &Passage) -> Option<Event> {
    let Some(found) = passage.find(&HEAD) else {
        passage.find(&PLAIN)?;
        return Some(Event::device(DIALECT.id, Framework::Xgboost));
    };
    let text = passage.from(&found);
    let bytes = |pattern: &Pattern| pattern.number(text).map(crate::domain::Bytes);
    let mut event = Event::device(DIALECT.id, Framework::Xgboost);
    event.figures.free = FREE.size(text).or_else(|| bytes(&FREE_BYTES));
    event.figures.requested = ASKED.size(text).or_else(|| bytes(&ASKED_BYTES));
    // A run of one process calls itself worker 0.
    event.rank = found.get(1).and_then(|group| group.as_str().parse().ok());
    event.sole = true;
    Some(event)
}

#[cfg(test)]
mod tests {
    use super::super::passage::read_text;
    use super::*;
    use crate::domain::Bytes;
    use crate::domain::bytes::GIB;

    #[test]
    fn sizes_are_read_with_and_without_units() {
        for (free, asked) in [("2147483648", "4294967296"), ("2GB", "4GB"), ("2.0GB", "4.00GB")] {
            let text = format!("xgboost.core.XGBoostError: [10:34:24] /src/common/device_helpers.cu:25: Memory allocation error on worker 3: bad_alloc: cudaErrorMemoryAllocation: out of memory\n- Free memory: {free}\n- Requested memory: {asked}\n");
            let event = read_text(&DIALECT, &text).expect("read");
            assert_eq!((event.figures.free, event.figures.requested, event.rank), (Some(Bytes(2 * GIB)), Some(Bytes(4 * GIB)), Some(3)), "{text}");
        }
    }
}
