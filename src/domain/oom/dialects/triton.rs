//! Triton, the kernel language: a kernel asks for more on-chip memory than there is.

use super::passage::group;
use super::{Dialect, Passage};
use crate::domain::oom::event::{Cause, Event, Kind};
use crate::domain::oom::size::{Pattern, number};
use crate::domain::{Bytes, Framework};

/// The dialect.
pub const DIALECT: Dialect = Dialect { id: "triton", marks: &["out of resource"], read };

static LIMIT: Pattern = Pattern::new(r"out of resources?: (shared memory|tensor memory|threads|registers), Required: INT,? Hardware limit: INT");

fn read(passage: &Passage) -> Option<Event> {
    let found = passage.find(&LIMIT)?;
    let mut event = Event::new(Kind::SharedMemoryLimit, DIALECT.id, Framework::Triton);
    event.cause = Some(Cause::KernelLimit);
    // Threads and columns of tensor memory are no bytes.
    if group(&found, 1) == "shared memory" {
        event.figures.requested = number(group(&found, 2)).map(Bytes);
        event.figures.allowed = number(group(&found, 3)).map(Bytes);
    }
    Some(event)
}

#[cfg(test)]
mod tests {
    use super::super::passage::read_text;
    use super::*;

    #[test]
    fn only_bytes_are_bytes() {
        let text = "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 163840, Hardware limit: 101376. Reducing block sizes or `num_stages` may help.";
        let event = read_text(&DIALECT, text).expect("read");
        assert_eq!((event.figures.requested, event.figures.allowed), (Some(Bytes(163_840)), Some(Bytes(101_376))));
        let threads = read_text(&DIALECT, &text.replace("shared memory", "threads")).expect("read");
        assert_eq!(threads.figures.known(), 0);
        assert_eq!(read_text(&DIALECT, "raise OutOfResources(self.metadata.shared, max_shared, \"shared memory\")"), None);
    }
}
