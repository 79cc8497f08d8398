//! Blender's Cycles.

use super::{Dialect, Passage};
use crate::domain::Framework;
use crate::domain::oom::event::{Cause, Event, Stage};
use crate::domain::oom::size::Pattern;

/// The dialect.
pub const DIALECT: Dialect = Dialect { id: "blender", marks: &["out of GPU", "ut of memory in", "OUT_OF_MEMORY", "out of memory"], read };

static SYSTEM: Pattern = Pattern::new(r"System is out of GPU(?: and shared host)? memory");
static CALL: Pattern = Pattern::new(r"(?:(?:CUDA|OptiX|HIP|oneAPI|Metal) error: |Error: |^)Out of memory in (?:cu|hip|optix|CUDA|HIP|OptiX|Metal)\w*");
static OPTIX: Pattern = Pattern::new(r"(?:OPTIX_ERROR_(?:DEVICE_)?OUT_OF_MEMORY|OPTIX_ERROR_HOST_OUT_OF_MEMORY|Failed to build OptiX acceleration structure)");
static OPTIX_OWN: Pattern = Pattern::new(r"(?i)OUT_OF_MEMORY|out of memory");

fn read(passage: &Passage) -> Option<Event> {
    let found = passage.find(&SYSTEM).or_else(|| passage.find(&CALL)).or_else(|| {
        passage.find(&OPTIX).filter(|_| OPTIX_OWN.is_match(passage.line()))
    })?;
    if passage.from(&found).starts_with("OPTIX_ERROR_HOST") {
        return Some(Event::host(DIALECT.id, Framework::Blender));
    }
    let mut event = Event::device(DIALECT.id, Framework::Blender);
    event.stage = Some(Stage::Loading);
    event.cause = Some(Cause::ModelTooLarge);
    Some(event)
}

#[cfg(test)]
mod tests {
    use super::super::passage::read_text;
    use super::*;

    #[test]
    fn cycles_says_it_in_many_ways() {
        for text in [
            "CUDA error: Out of memory in cuMemAlloc(&device_pointer, size) (intern/cycles/device/cuda/device_impl.cpp:561)",
            "Error: System is out of GPU memory",
            "Error: System is out of GPU and shared host memory",
            "Out of memory in CUDA queue enqueue (integrator_shade_surface)",
            "Error: Out of memory in optixAccelBuild",
        ] {
            assert!(read_text(&DIALECT, text).is_some(), "{text}");
        }
    }
}
