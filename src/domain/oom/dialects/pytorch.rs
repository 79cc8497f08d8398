//! PyTorch's own caching allocator, on CUDA, ROCm, Intel and other devices: from 1.0 to today.

use super::passage::group;
use super::{Dialect, Passage};
use crate::domain::oom::event::{Allocator, Cause, Event, OtherProcess};
use crate::domain::oom::size::{Pattern, size};
use crate::domain::{Bytes, Framework};

/// The dialect.
pub const DIALECT: Dialect = Dialect {
    id: "pytorch",
    marks: &["out of memory", "Tried to allocate "],
    read,
};

static HEAD: Pattern = Pattern::new(r"\b([A-Z][A-Z0-9]{1,11}) out of memory\. (?:Tried to allocate (?:SIZE|(more than 1EB)|\d)|Allocation was preemptively)");
static REJECTED: Pattern = Pattern::new(r"Allocation was preemptively rejected because it would exceed per_process_memory_fraction limit\.");
static REJECTED_SIZE: Pattern = Pattern::new(r"Requested size:? SIZE");
static ASKED: Pattern = Pattern::new(r"Tried to allocate SIZE");
static NEXT: Pattern = Pattern::new(r"out of memory\. Tried to allocate");
static DEVICE: Pattern = Pattern::new(r"\b(?:GPU|NPU|XPU|MLU|MUSA|device) (\d{1,5})(?:;| has a total)");
static CAPACITY: Pattern = Pattern::new(r"has a total capaci?ty of SIZE");
static MISSPELT: Pattern = Pattern::new(r"total capacty of");
static FREE: Pattern = Pattern::new(r"of which SIZE is free");
static OWN: Pattern = Pattern::new(r"this process has SIZE memory in use");
static PROCESS: Pattern = Pattern::new(r"\bProcess (\d{1,10}) has SIZE memory in use");
static ALLOWED: Pattern = Pattern::new(r"SIZE allowed;");
static ALLOCATED: Pattern = Pattern::new(r"Of the allocated memory SIZE is a");
static POOLS: Pattern = Pattern::new(r"with SIZE allocated in private pools");
static UNALLOCATED: Pattern = Pattern::new(r"SIZE is reserved by PyTorch but unallocated");
static OLD_CAPACITY: Pattern = Pattern::new(r"SIZE total capacity");
static OLD_ALLOCATED: Pattern = Pattern::new(r"SIZE already allocated");
static OLD_FREE: Pattern = Pattern::new(r"SIZE free;");
static RESERVED: Pattern = Pattern::new(r"SIZE reserved in total by PyTorch");
static CACHED: Pattern = Pattern::new(r"SIZE cached");
static OLD_HINT: Pattern = Pattern::new(r"If reserved memory is >> allocated memory");
static SPLIT_HINT: Pattern = Pattern::new(r"try setting max_split_size_mb");
static HINT: Pattern = Pattern::new(r"try setting (PYTORCH_\w+)=expandable");
static NEW_PAGE: Pattern = Pattern::new(r"docs\.pytorch\.org");
static OLD_PAGE: Pattern = Pattern::new(r"//pytorch\.org");
static XPU_HINT: Pattern = Pattern::new(r"Please use `?empty_cache");
static NO_HINT: Pattern = Pattern::new(r"but unallocated\.\s*$");

fn read(passage: &Passage) -> Option<Event> {
    let found = passage.find(&HEAD).or_else(|| passage.find(&REJECTED))?;
    let text = passage.from(&found);
    // The next message is another one.
    let end = NEXT.regex().find_iter(text).nth(1).map_or(text.len(), |next| next.start());
    let text = text.get(..end).unwrap_or(text);
    let mut event = Event::device(DIALECT.id, Framework::PyTorch);
    event.allocator = match group(&found, 1) {
        "HIP" => Allocator::Hip,
        "XPU" => Allocator::Xpu,
        "CUDA" | "" => Allocator::Native,
        _ => Allocator::Other,
    };
    event.device = DEVICE.number(text).and_then(|device| device.try_into().ok());
    if found.get(3).is_some() {
        event.cause = Some(Cause::CorruptSize);
    }
    let figures = &mut event.figures;
    figures.requested = ASKED.size(text).or_else(|| REJECTED_SIZE.size(text));
    figures.capacity = CAPACITY.size(text).or_else(|| OLD_CAPACITY.size(text));
    figures.free = FREE.size(text).or_else(|| OLD_FREE.size(text));
    figures.allowed = ALLOWED.size(text);
    figures.allocated = ALLOCATED.size(text).or_else(|| OLD_ALLOCATED.size(text));
    // Since 1.4 `reserved` contains what is allocated; `cached` before it does not.
    figures.unallocated = UNALLOCATED
        .size(text)
        .or_else(|| Some(RESERVED.size(text)?.saturating_sub(figures.allocated?)))
        .or_else(|| CACHED.size(text));
    event.pools = POOLS.size(text);
    processes(text, &mut event);
    // The table is that of CUDA and ROCm; of the others one form is known.
    let known = matches!(event.allocator, Allocator::Native | Allocator::Hip) || XPU_HINT.is_match(text);
    event.versions = versions(passage.head(&found), text, event.pools.is_some()).filter(|_| known);
    if REJECTED.is_match(text) {
        event.cause = Some(Cause::MemoryCap);
    }
    Some(event)
}

/// Tells this process from the others. In a container its own number is not known to PyTorch: then the entry with the smallest size
/// that holds what the allocator holds is its own.
fn processes(text: &str, event: &mut Event) {
    let printed = OWN.captures(text);
    let mut others: Vec<OtherProcess> = PROCESS
        .regex()
        .captures_iter(text)
        .filter_map(|found| Some(OtherProcess { pid: group(&found, 1).parse().ok()?, bytes: size(group(&found, 2)) }))
        .collect();
    if let Some(own) = printed {
        // A process that runs here holds something: 0 is "not known".
        event.figures.process = size(group(&own, 1)).filter(|bytes| *bytes > Bytes::ZERO);
    } else if let Some(allocated) = event.figures.allocated {
        let held = allocated.saturating_add(event.figures.unallocated.unwrap_or_default());
        // Each of the figures is rounded to two decimals.
        let least = held.0 - held.0 / 1_000;
        let own = others
            .iter()
            .enumerate()
            .filter_map(|(n, other)| Some((other.bytes?, n)))
            .filter(|(bytes, _)| bytes.0 >= least)
            .min();
        if let Some((bytes, n)) = own {
            event.figures.process = Some(bytes);
            others.remove(n);
        }
    }
    event.others = others;
}

/// Releases whose message has exactly this form, as read from the released wheels.
fn versions(head: &str, text: &str, pools: bool) -> Option<&'static str> {
    let cuda_error = head.contains("torch.cuda.OutOfMemoryError");
    let new_error = head.contains("torch.OutOfMemoryError") || pools;
    if REJECTED.is_match(text) {
        return Some(">=2.12");
    }
    if CACHED.is_match(text) && OLD_CAPACITY.is_match(text) {
        return Some(">=1.0,<1.4");
    }
    if OLD_CAPACITY.is_match(text) {
        return match (OLD_HINT.is_match(text), cuda_error) {
            (true, true) => Some(">=1.13,<2.1"),
            (true, false) => Some(">=1.10,<1.13"),
            (false, _) if RESERVED.is_match(text) => Some(">=1.4,<1.10"),
            (false, _) => Some("<2.1"),
        };
    }
    if MISSPELT.is_match(text) || SPLIT_HINT.is_match(text) {
        return Some(">=2.1,<2.2");
    }
    if XPU_HINT.is_match(text) {
        return Some(">=2.4");
    }
    if let Some(hint) = HINT.captures(text) {
        return match group(&hint, 1) {
            "PYTORCH_ALLOC_CONF" => Some(">=2.10,<2.11"),
            _ if NEW_PAGE.is_match(text) => Some(">=2.11,<2.14"),
            _ if cuda_error => Some(">=2.2,<2.4"),
            _ if new_error && OLD_PAGE.is_match(text) => Some(">=2.4,<2.10"),
            _ if OLD_PAGE.is_match(text) => Some(">=2.2,<2.10"),
            _ if new_error => Some(">=2.4"),
            _ => Some(">=2.2"),
        };
    }
    if NO_HINT.is_match(text) && UNALLOCATED.is_match(text) {
        return Some(">=2.14");
    }
    match (CAPACITY.is_match(text), cuda_error, new_error) {
        (true, true, _) => Some(">=2.2,<2.4"),
        (_, _, true) => Some(">=2.4"),
        (true, ..) => Some(">=2.2"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::passage::read_text;
    use super::*;
    use crate::domain::bytes::{GIB, MIB};

    fn event(text: &str) -> Event {
        read_text(&DIALECT, text).unwrap_or_else(|| panic!("not read: {text}"))
    }

    #[test]
    fn every_release_is_told_by_its_form() {
        let old = "CUDA out of memory. Tried to allocate 84.00 MiB (GPU 0; 10.92 GiB total capacity; 9.61 GiB already allocated; 21.50 MiB free; ";
        let new = "CUDA out of memory. Tried to allocate 1.34 GiB. GPU 2 has a total capacity of 79.25 GiB of which 130.50 MiB is free. Including non-PyTorch memory, this process has 78.75 GiB memory in use. Of the allocated memory 76.08 GiB is allocated by PyTorch, and 629.20 MiB is reserved by PyTorch but unallocated.";
        let hint = " If reserved but unallocated memory is large try setting ";
        let page = "  See documentation for Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)";
        let docs = "  See documentation (https://docs.pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-cuda-alloc-conf)";
        let conf = "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.";
        for (text, versions) in [
            (format!("RuntimeError: {old}178.39 MiB cached)"), ">=1.0,<1.4"),
            (format!("RuntimeError: {old}9.90 GiB reserved in total by PyTorch)"), ">=1.4,<1.10"),
            (format!("RuntimeError: {old}9.90 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb"), ">=1.10,<1.13"),
            (format!("torch.cuda.OutOfMemoryError: {old}9.90 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb"), ">=1.13,<2.1"),
            (format!("torch.cuda.OutOfMemoryError: {}{hint}max_split_size_mb to avoid", new.replace("capacity", "capacty")), ">=2.1,<2.2"),
            (format!("torch.cuda.OutOfMemoryError: {new}{hint}{conf}{page}"), ">=2.2,<2.4"),
            (format!("torch.OutOfMemoryError: {new}{hint}{conf}{page}"), ">=2.4,<2.10"),
            (format!("torch.OutOfMemoryError: {new}{hint}PYTORCH_ALLOC_CONF=expandable_segments:True{page}"), ">=2.10,<2.11"),
            (format!("torch.OutOfMemoryError: {new}{hint}{conf}{docs}"), ">=2.11,<2.14"),
            (format!("torch.OutOfMemoryError: {new}"), ">=2.14"),
        ] {
            assert_eq!(event(&text).versions, Some(versions), "{text}");
        }
    }

    #[test]
    fn figures_stand_where_each_form_has_them() {
        let found = event("RuntimeError: HIP out of memory. Tried to allocate 2.00 GiB (GPU 3; 4.00 GiB total capacity; 1.00 GiB already allocated; 512.00 MiB free; 3.00 GiB allowed; 1.50 GiB reserved in total by PyTorch)");
        assert_eq!(found.device, Some(3));
        assert_eq!(found.allocator, Allocator::Hip);
        let figures = [2 * GIB, 4 * GIB, 512 * MIB, 0, GIB, 512 * MIB, 3 * GIB];
        assert_eq!(found.figures.all().map(|figure| figure.map_or(0, |bytes| bytes.0)), figures);
        let npu = event("RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB (NPU 1; 60.97 GiB total capacity; 55.00 GiB already allocated; 55.00 GiB current active; 1.20 GiB free; 58.00 GiB reserved in total by PyTorch)");
        assert_eq!((npu.device, npu.figures.unallocated), (Some(1), Some(Bytes(3 * GIB))));
    }

    #[test]
    fn this_process_is_told_from_the_others() {
        let body = |processes: &str| {
            format!("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 24.00 GiB of which 0 bytes is free. {processes} Of the allocated memory 10.00 GiB is allocated by PyTorch, and 1.00 GiB is reserved by PyTorch but unallocated.")
        };
        let other = |pid, gib: Option<u64>| OtherProcess { pid, bytes: gib.map(Bytes::gib) };
        for (processes, own, others) in [
            ("Process 7 has 12.00 GiB memory in use. Including non-PyTorch memory, this process has 11.00 GiB memory in use. Process 8 has 1.00 GiB memory in use.", Some(11), vec![other(7, Some(12)), other(8, Some(1))]),
            ("Process 7 has 12.00 GiB memory in use. Process 8 has 11.00 GiB memory in use.", Some(11), vec![other(7, Some(12))]),
            ("Process 7 has 2.00 GiB memory in use.", None, vec![other(7, Some(2))]),
            ("Including non-PyTorch memory, this process has 17179869184.00 GiB memory in use. Process 8 has 17179869184.00 GiB memory in use.", None, vec![other(8, None)]),
            ("Including non-PyTorch memory, this process has 0 bytes memory in use.", None, vec![]),
        ] {
            let found = event(&body(processes));
            assert_eq!((found.figures.process, found.others), (own.map(Bytes::gib), others), "{processes}");
        }
    }

    #[test]
    fn a_message_cut_anywhere_gives_what_was_printed() {
        let whole = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 456.00 MiB. GPU 0 has a total capacity of 47.54 GiB of which 318.75 MiB is free. Including non-PyTorch memory, this process has 46.82 GiB memory in use. Of the allocated memory 44.88 GiB is allocated by PyTorch";
        for cut in 0..whole.len() {
            let Some(found) = read_text(&DIALECT, whole.get(..cut).expect("ASCII")) else { continue };
            let full = event(whole).figures;
            for (part, all) in found.figures.all().into_iter().zip(full.all()) {
                assert!(part.is_none() || part == all, "cut at {cut}: {part:?} {all:?}");
            }
        }
        assert_eq!(event(whole).figures.known(), 5);
    }

    #[test]
    fn what_is_only_supposed_is_no_failure() {
        for text in [
            "If you see CUDA out of memory. Tried to allocate 2.00 GiB then lower the batch",
            "--max-memory GIB   stop before CUDA out of memory would happen (default: no limit)",
            "with pytest.raises(RuntimeError, match='CUDA out of memory. Tried to allocate 1.00 GiB'):",
        ] {
            assert_eq!(read_text(&DIALECT, text), None, "{text}");
        }
    }
}
