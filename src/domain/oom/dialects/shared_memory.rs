//! On-chip shared memory as compilers and other kernel languages speak of it: ptxas, Pallas, TVM, Numba.

use super::passage::group;
use super::{Dialect, Passage};
use crate::domain::oom::event::{Cause, Event, Kind};
use crate::domain::oom::size::{Pattern, number};
use crate::domain::{Bytes, Framework};

/// The dialect.
pub const DIALECT: Dialect =
    Dialect { id: "shared_memory", marks: &["shared data", "hared memory size limit", "shared memory per block", "too much shared memory"], read };

static PTXAS: Pattern = Pattern::new(r"uses too much shared (?:data|memory) \((0x[0-9a-f]+|\d+) bytes, (0x[0-9a-f]+|\d+)(?: bytes)? max\)");
static PALLAS: Pattern = Pattern::new(r"Shared memory size limit exceeded: requested INT, available: INT");
static BLOCK: Pattern = Pattern::new(r"(?i)(?:requested|required|needs?|used)[^\n]{0,40}?INT (?:bytes )?(?:of )?shared memory per block[^\n]{0,80}?(?:limit|max(?:imum)?|available)[^\n\d]{0,20}INT");

fn read(passage: &Passage) -> Option<Event> {
    let (found, framework) = match passage.find(&PTXAS) {
        Some(found) => (found, Framework::Cuda),
        None => match passage.find(&PALLAS) {
            Some(found) => (found, Framework::Jax),
            None => (passage.find(&BLOCK)?, Framework::Cuda),
        },
    };
    let figure = |n: usize| {
        let text = group(&found, n);
        text.strip_prefix("0x").map_or_else(|| number(text), |digits| u64::from_str_radix(digits, 16).ok()).map(Bytes)
    };
    let mut event = Event::new(Kind::SharedMemoryLimit, DIALECT.id, framework);
    event.cause = Some(Cause::KernelLimit);
    event.figures.requested = figure(1);
    event.figures.allowed = figure(2);
    Some(event)
}

#[cfg(test)]
mod tests {
    use super::super::passage::read_text;
    use super::*;

    #[test]
    fn compilers_say_it_in_many_ways() {
        for text in [
            "ptxas error   : Entry function 'conv' uses too much shared data (0x18000 bytes, 0xc000 max)",
            "XlaRuntimeError: RESOURCE_EXHAUSTED: Shared memory size limit exceeded: requested 98304, available: 49152",
        ] {
            let event = read_text(&DIALECT, text).expect(text);
            assert_eq!((event.kind, event.figures.requested, event.figures.allowed), (Kind::SharedMemoryLimit, Some(Bytes(98_304)), Some(Bytes(49_152))), "{text}");
        }
    }
}
