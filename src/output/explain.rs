//! `explain`: what a log says about its failure, as a page for people and as JSON (DESIGN.md section 8).
//!
//! ```text
//! card   ██████████████████████████████████████▓▒▒ 79.2 GiB
//! asked                                          ▲▲ 1.34 GiB
//! ```

use std::fmt::Write;

use serde::Serialize;

use super::prose::wrap;
use crate::domain::oom::{Cause, Explanation, Kind, Parts, Proposed};
use crate::domain::tips::{Code, Tip};
use crate::domain::{Bytes, Framework};

/// The version of the JSON. It rises only when an old reader would be wrong.
const VERSION: u32 = 1;
/// Text into a pipe is broken at this column.
const WIDTH: usize = 100;
/// No terminal is taken for narrower.
const NARROWEST: usize = 40;
/// What is read as running text gets tiring beyond it.
const WIDEST: usize = 120;
/// Characters of the message that are shown.
const MESSAGE: usize = 400;

/// How to draw.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Columns of the terminal; none into a pipe.
    pub width: Option<u16>,
    /// With ASCII alone.
    pub ascii: bool,
}

/// An input, by the name that the user gave it.
#[derive(Clone, Debug)]
pub struct Input {
    /// Its name, harmless.
    pub name: String,
    /// What it says by itself.
    pub kind: Kind,
    /// Its own failures.
    pub occurrences: u64,
    /// The line of its first message.
    pub line: Option<u64>,
}

/// The page for people.
pub fn page(found: &Explanation, inputs: &[Input], look: Look) -> String {
    let line = look.width.map_or(WIDTH, |width| usize::from(width).clamp(NARROWEST, WIDEST));
    let mut out = String::new();
    wrap(&mut out, &headline(found), ["", ""], line);
    if let Some(place) = place(found, inputs) {
        wrap(&mut out, &place, ["", ""], line);
    }
    if let Some(message) = &found.message {
        let shown: String = message.chars().take(MESSAGE).collect();
        let cut = if message.chars().count() > MESSAGE { " ..." } else { "" };
        wrap(&mut out, &format!("{shown}{cut}"), ["\n  ", "  "], line);
    }
    if !found.evidence.is_empty() || found.cause != Cause::None {
        wrap(&mut out, &format!("Why: {}", words(found.cause)), ["\n", ""], line);
        for evidence in &found.evidence {
            wrap(&mut out, evidence, ["- ", "  "], line);
        }
    }
    memory(&mut out, found, line, look.ascii);
    if !found.tips.is_empty() {
        out.push_str("\nWhat to do\n");
        for (n, proposed) in found.tips.iter().enumerate() {
            advice(&mut out, n + 1, proposed, found.framework, line);
        }
    }
    if !found.wont_help.is_empty() {
        out.push_str("\nWhat would not help\n");
        for unhelpful in &found.wont_help {
            wrap(&mut out, &format!("{} ({}): {}", title(unhelpful.tip), unhelpful.tip, unhelpful.why), ["- ", "  "], line);
        }
    }
    out
}

/// What failed, in one sentence.
fn headline(found: &Explanation) -> String {
    let who = found.framework.map(name);
    let asked = found.figures.requested;
    let on = found.device.map_or_else(String::new, |device| format!(" on GPU {device}"));
    match found.kind {
        Kind::DeviceOom => match (who, asked) {
            (Some(who), Some(asked)) => format!("GPU out of memory: {who} could not get {asked}{on}."),
            (Some(who), None) => format!("GPU out of memory: {who} could not get what it needs{on}."),
            (None, _) => format!("GPU out of memory{on}."),
        },
        Kind::HostOom => match asked {
            Some(asked) => format!("Not the GPU: the host's memory ran out when {asked} were asked for."),
            None => "Not the GPU: the host's memory, or the limit of the job or container, ran out.".to_owned(),
        },
        Kind::HostShm => "Not the GPU: /dev/shm, the shared memory of the container, ran out.".to_owned(),
        Kind::SharedMemoryLimit => match (asked, found.figures.allowed) {
            (Some(asked), Some(allowed)) => {
                format!("No GPU out of memory: a kernel wants {asked} of on-chip shared memory, the GPU has {allowed}.")
            }
            _ => "No GPU out of memory: a kernel wants more on-chip memory than the GPU has.".to_owned(),
        },
        Kind::ResourceLimit => "No GPU out of memory, most likely: the driver calls its limit of encode sessions so.".to_owned(),
        Kind::Recovered => format!(
            "No failure: {} could not get memory for something that it can do without, and the program went on.",
            who.unwrap_or("a library")
        ),
        Kind::NotOom => "No message of a memory failure was found.".to_owned(),
    }
}

/// Where it stands, and how often.
fn place(found: &Explanation, inputs: &[Input]) -> Option<String> {
    let mut parts = Vec::new();
    let file =
        found.input.filter(|_| inputs.len() > 1 || inputs.iter().any(|input| input.name != "-")).and_then(|n| inputs.get(n));
    match (found.line, file) {
        (Some(line), Some(file)) => parts.push(format!("line {line} of {}", file.name)),
        (Some(line), None) => parts.push(format!("line {line}")),
        (None, Some(file)) if found.message.is_some() => parts.push(format!("in {}", file.name)),
        _ => {}
    }
    if found.occurrences > 1 {
        parts.push(format!("{} failures", found.occurrences));
    }
    if !found.ranks.is_empty() {
        parts.push(format!("{} {}", if found.ranks.len() == 1 { "rank" } else { "ranks" }, ranges(&found.ranks)));
    }
    if let Some(versions) = found.versions {
        parts.push(format!("printed by releases {}", versions.replace(',', ", ")));
    }
    (!parts.is_empty()).then(|| format!("({})", parts.join("; ")))
}

/// `0-3, 5`.
fn ranges(ranks: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for rank in ranks {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*rank) => *last = *rank,
            _ => runs.push((*rank, *rank)),
        }
    }
    let runs: Vec<String> = runs.iter().map(|(a, b)| if a == b { a.to_string() } else { format!("{a}-{b}") }).collect();
    runs.join(", ")
}

/// A cause in words.
fn words(cause: Cause) -> &'static str {
    match cause {
        Cause::Fragmentation => "fragmentation. The allocator holds enough, in pieces that are too small",
        Cause::ForeignProcess => "other processes. Without them it would fit",
        Cause::BatchTooLarge => "the working set of one step does not fit",
        Cause::EvalWithoutNoGrad => "evaluation keeps graphs or outputs",
        Cause::OptimizerState => "optimizer states were being made",
        Cause::ModelTooLarge => "weights (or the scene, or the data) do not fit, or leave nothing for the rest",
        Cause::LeakOverSteps => "memory grows from step to step at constant work",
        Cause::KvCache => "the KV cache, or its share of the card",
        Cause::OversizedTensor => "one request is larger than the card",
        Cause::MemoryCap => "a configured limit, not the card",
        Cause::DriverState => "the numbers contradict a full card",
        Cause::HostMemory => "memory of the host",
        Cause::KernelLimit => "on-chip memory of a kernel",
        Cause::SessionLimit => "the driver's limit of sessions",
        Cause::CorruptSize => "the size that was asked for is garbage",
        Cause::Unknown => "the text does not tell",
        Cause::None => "nothing failed",
    }
}

/// One part of the bar: its size, its glyph with and without Unicode, and its name.
type Part = (Bytes, [char; 2], String);

/// The arithmetic, drawn.
fn memory(out: &mut String, found: &Explanation, line: usize, ascii: bool) {
    let f = &found.figures;
    if found.kind != Kind::DeviceOom || f.known() == 0 {
        return;
    }
    let (whole, name, parts) = divided(found);
    out.push('\n');
    let mut short = true;
    if let Some(whole) = whole.filter(|whole| *whole > Bytes::ZERO) {
        let label = 7;
        let cells = line.saturating_sub(label + 12).clamp(16, 80);
        let used: Bytes = parts.iter().filter(|(_, glyphs, _)| glyphs[1] != '.').map(|(bytes, ..)| *bytes).sum();
        let asked = f.requested.unwrap_or_default();
        // Where more is asked for than there is, the picture is that of all that would be needed.
        let scale = whole.max(used.saturating_add(asked)).0.max(1);
        let at = |bytes: u64| (u128::from(bytes) * cells as u128 / u128::from(scale)) as usize;
        let (mut bar, mut sum) = (String::new(), 0_u64);
        for (bytes, glyphs, _) in &parts {
            let from = at(sum);
            sum = sum.saturating_add(bytes.0).min(scale);
            bar.extend(std::iter::repeat_n(glyphs[usize::from(ascii)], at(sum) - from));
        }
        let _ = writeln!(out, "{name:<label$}{bar} {whole}");
        if asked > Bytes::ZERO {
            let from = at(used.0.min(scale));
            let to = at(used.saturating_add(asked).0.min(scale)).max(from + 1);
            let mark = if ascii { '^' } else { '\u{25b2}' };
            let marks: String = std::iter::repeat_n(mark, to - from).collect();
            let _ = writeln!(out, "{:<label$}{}{marks} {asked}", "asked", " ".repeat(from));
            short = false;
        }
        for (bytes, glyphs, name) in &parts {
            let glyph = glyphs[usize::from(ascii)];
            wrap(out, name, [&format!("  {glyph} {:>9}  ", bytes.to_string()), &" ".repeat(15)], line);
        }
    } else {
        for (bytes, _, name) in &parts {
            wrap(out, name, [&format!("    {:>9}  ", bytes.to_string()), &" ".repeat(15)], line);
        }
    }
    if short && let Some(asked) = f.requested {
        let _ = writeln!(out, "    {:>9}  asked for", asked.to_string());
    }
    for other in &found.others {
        let held = other.bytes.map_or_else(|| "N/A: the driver does not say".to_owned(), |bytes| bytes.to_string());
        let _ = writeln!(out, "    process {} holds {held}", other.pid);
    }
    if let Some(sum) = sums(found) {
        wrap(out, &sum, ["  ", "  "], line);
    }
}

/// The whole that is divided, its name, and its parts.
fn divided(found: &Explanation) -> (Option<Bytes>, &'static str, Vec<Part>) {
    let f = &found.figures;
    let part = |bytes: Bytes, glyphs: [char; 2], name: &str| (bytes, glyphs, name.to_owned());
    if let Some(Parts { capacity, allocated, unallocated, outside, others, free, rest, .. }) = found.parts() {
        let mut parts = vec![part(allocated, ['\u{2588}', '#'], "allocated: live in this process's framework")];
        if f.unallocated.is_some() {
            parts.push(part(unallocated, ['\u{2593}', '='], "reserved by it and not used"));
        }
        if let Some(outside) = outside {
            parts.push(part(outside, ['\u{2592}', '+'], "this process beside the framework's pool: CUDA context and libraries"));
        }
        if !found.others.is_empty() {
            parts.push(part(others, ['\u{2591}', 'o'], "other processes"));
        }
        if rest > Bytes(capacity.0 / 500) {
            let name = if outside.is_some() {
                "held by nobody that the message names"
            } else {
                "not told: context, libraries and other processes"
            };
            parts.push(part(rest, ['?', '?'], name));
        }
        if let Some(free) = free {
            parts.push(part(free, ['\u{b7}', '.'], "free"));
        }
        return (Some(capacity), "card", parts);
    }
    let mut parts = Vec::new();
    let whole = f.capacity.or(f.allowed);
    let name = if f.capacity.is_some() { "card" } else { "limit" };
    if let Some(allocated) = f.allocated {
        parts.push(part(allocated, ['\u{2588}', '#'], "allocated"));
    }
    if let Some(unused) = f.unallocated {
        parts.push(part(unused, ['\u{b7}', '.'], "free in the pool"));
    }
    if let (Some(capacity), Some(free), None) = (f.capacity, f.free, f.allocated) {
        parts.push(part(capacity.saturating_sub(free), ['?', '?'], "held, by whom is not told"));
    }
    if let Some(free) = f.free {
        parts.push(part(free, ['\u{b7}', '.'], "free on the card"));
    }
    if let (Some(allowed), true) = (f.allowed, parts.is_empty()) {
        parts.push(part(allowed, ['\u{b7}', '.'], "available"));
    }
    (whole, name, parts)
}

/// What the numbers add up to.
fn sums(found: &Explanation) -> Option<String> {
    let f = &found.figures;
    if let Some(parts) = found.parts()
        && parts.over > Bytes(parts.capacity.0 / 100)
    {
        return Some(format!(
            "More is held than the card has, by {}: the driver had moved memory to the host, and it ran at the speed of the bus already.",
            parts.over
        ));
    }
    let asked = f.requested?;
    let room = f.free.or_else(|| f.allowed.map(|allowed| allowed.saturating_sub(f.allocated.unwrap_or_default())))?;
    (asked > room).then(|| format!("Missing: {}.", asked.saturating_sub(room)))
}

/// One tip: its title, why, and how to write it.
fn advice(out: &mut String, n: usize, proposed: &Proposed, framework: Option<Framework>, line: usize) {
    let saves = proposed.saves.map_or_else(String::new, |(from, to)| {
        if from == to {
            format!(": {to}")
        } else if from == Bytes::ZERO {
            format!(": up to {to}")
        } else {
            format!(": {from} to {to}")
        }
    });
    wrap(out, &format!("{} ({}){saves}", title(proposed.tip), proposed.tip), [&format!("{n}. "), "   "], line);
    wrap(out, &proposed.why, ["   ", "   "], line);
    if let Some(code) = Tip::named(proposed.tip).and_then(|tip| code(tip, framework)) {
        let _ = writeln!(out, "   {}:", code.of);
        for text in code.lines {
            // Code is copied: it is never broken.
            let _ = writeln!(out, "       {text}");
        }
    }
}

/// The way to write it that fits a framework best.
fn code(tip: &'static Tip, framework: Option<Framework>) -> Option<&'static Code> {
    let fits = |code: &&Code| framework.is_some_and(|framework| code.of.contains(name(framework)));
    let general = |code: &&Code| code.of.starts_with("shell") || code.of == "PyTorch";
    let pytorch = framework.is_none_or(|framework| matches!(framework, Framework::PyTorch | Framework::Cuda | Framework::Nccl));
    tip.code
        .iter()
        .find(fits)
        .or_else(|| tip.code.iter().find(|code| if pytorch { general(code) } else { code.of.starts_with("shell") }))
}

fn title(id: &'static str) -> &'static str {
    Tip::named(id).map_or(id, |tip| tip.title)
}

/// A framework as its makers write it.
fn name(framework: Framework) -> &'static str {
    match framework {
        Framework::PyTorch => "PyTorch",
        Framework::TensorFlow => "TensorFlow",
        Framework::Jax => "JAX",
        Framework::Cuda => "CUDA",
        Framework::Nccl => "NCCL",
        Framework::Vllm => "vLLM",
        Framework::Sglang => "SGLang",
        Framework::LlamaCpp => "llama.cpp",
        Framework::Ollama => "Ollama",
        Framework::Cupy => "CuPy",
        Framework::Numba => "Numba",
        Framework::Rmm => "RMM",
        Framework::OnnxRuntime => "ONNX Runtime",
        Framework::TensorRt => "TensorRT",
        Framework::Paddle => "PaddlePaddle",
        Framework::Mxnet => "MXNet",
        Framework::Xgboost => "XGBoost",
        Framework::Triton => "Triton",
        Framework::Faiss => "Faiss",
        Framework::Blender => "Blender",
        Framework::Ffmpeg => "FFmpeg",
        Framework::CudaJl => "CUDA.jl",
        Framework::Candle => "Candle",
        Framework::DeepSpeed => "DeepSpeed",
        Framework::Linux => "Linux",
        Framework::Slurm => "Slurm",
        Framework::Kubernetes => "Kubernetes",
        Framework::Windows => "Windows",
    }
}

#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    kind: String,
    framework: Option<String>,
    framework_version_range: Option<&'a str>,
    device_index: Option<u32>,
    requested_bytes: Option<Bytes>,
    capacity_bytes: Option<Bytes>,
    free_bytes: Option<Bytes>,
    process_bytes: Option<Bytes>,
    allocated_bytes: Option<Bytes>,
    reserved_unallocated_bytes: Option<Bytes>,
    allowed_bytes: Option<Bytes>,
    other_processes: Vec<OtherEntry>,
    occurrences: u64,
    ranks: &'a [u32],
    primary_cause: String,
    tips: Vec<&'a str>,
    evidence: &'a [String],
    message: Option<&'a str>,
    line: Option<u64>,
    advice: Vec<AdviceEntry<'a>>,
    wont_help: Vec<UnhelpfulEntry<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inputs: Option<Vec<InputEntry<'a>>>,
}

#[derive(Serialize)]
struct OtherEntry {
    pid: u64,
    bytes: Option<Bytes>,
}

#[derive(Serialize)]
struct AdviceEntry<'a> {
    tip: &'a str,
    title: &'a str,
    why: &'a str,
    saves: Option<[Bytes; 2]>,
    code: Vec<CodeEntry>,
}

#[derive(Serialize)]
struct CodeEntry {
    r#for: &'static str,
    text: String,
}

#[derive(Serialize)]
struct UnhelpfulEntry<'a> {
    tip: &'a str,
    title: &'a str,
    why: &'a str,
}

#[derive(Serialize)]
struct InputEntry<'a> {
    name: &'a str,
    kind: String,
    occurrences: u64,
    line: Option<u64>,
}

impl<'a> InputEntry<'a> {
    fn of(input: &'a Input) -> Self {
        Self { name: &input.name, kind: input.kind.to_string(), occurrences: input.occurrences, line: input.line }
    }
}

/// The document for programs; `inputs` where there are several.
pub fn document(found: &Explanation, inputs: &[Input]) -> String {
    let f = &found.figures;
    let entries = |id: &'static str| {
        Tip::named(id)
            .map(|tip| tip.code)
            .unwrap_or_default()
            .iter()
            .map(|code| CodeEntry { r#for: code.of, text: code.lines.join("\n") })
            .collect()
    };
    let inputs = (inputs.len() > 1).then(|| inputs.iter().map(InputEntry::of).collect());
    let document = Document {
        version: VERSION,
        kind: found.kind.to_string(),
        framework: found.framework.map(|framework| framework.to_string()),
        framework_version_range: found.versions,
        device_index: found.device,
        requested_bytes: f.requested,
        capacity_bytes: f.capacity,
        free_bytes: f.free,
        process_bytes: f.process,
        allocated_bytes: f.allocated,
        reserved_unallocated_bytes: f.unallocated,
        allowed_bytes: f.allowed,
        other_processes: found.others.iter().map(|other| OtherEntry { pid: other.pid, bytes: other.bytes }).collect(),
        occurrences: found.occurrences,
        ranks: &found.ranks,
        primary_cause: found.cause.to_string(),
        tips: found.tips.iter().map(|proposed| proposed.tip).collect(),
        evidence: &found.evidence,
        message: found.message.as_deref(),
        line: found.line,
        advice: found
            .tips
            .iter()
            .map(|proposed| AdviceEntry {
                tip: proposed.tip,
                title: title(proposed.tip),
                why: &proposed.why,
                saves: proposed.saves.map(|(from, to)| [from, to]),
                code: entries(proposed.tip),
            })
            .collect(),
        wont_help: found
            .wont_help
            .iter()
            .map(|unhelpful| UnhelpfulEntry { tip: unhelpful.tip, title: title(unhelpful.tip), why: &unhelpful.why })
            .collect(),
        inputs,
    };
    let mut text = serde_json::to_string_pretty(&document).expect("strings, numbers and lists alone: nothing here can fail");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthStr;

    use super::*;
    use crate::domain::oom::Scanner;

    const FULL: &str = "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.88 GiB. GPU 1 has a total capacity of 79.15 GiB of which 1.21 GiB is free. Including non-PyTorch memory, this process has 65.88 GiB memory in use. Process 812 has 12.00 GiB memory in use. Of the allocated memory 55.41 GiB is allocated by PyTorch, and 9.93 GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)";

    fn explain(log: &str) -> Explanation {
        let mut scanner = Scanner::new();
        scanner.push_bytes(log.as_bytes());
        scanner.finish().explain()
    }

    #[test]
    fn a_page_reads_like_this() {
        let found = explain(&format!("step 1 loss 2.0\n{FULL}\n"));
        for width in [80, 120] {
            insta::assert_snapshot!(format!("explain_{width}"), page(&found, &[], Look { width: Some(width), ascii: false }));
        }
        insta::assert_snapshot!("explain_ascii", page(&found, &[], Look { width: None, ascii: true }));
        insta::assert_snapshot!("explain_json", document(&found, &[]));
    }

    #[test]
    fn pages_fit_but_for_code() {
        for log in [FULL, "RuntimeError: CUDA error: out of memory", "nothing", "Out of memory: Killed process 1 (python)"] {
            for width in [40, 80, 120, 200] {
                for text in page(&explain(log), &[], Look { width: Some(width), ascii: true }).lines() {
                    let code = text.starts_with("       ");
                    let word = text.split_whitespace().all(|word| word.width() < usize::from(width) / 2);
                    assert!(code || !word || text.width() <= usize::from(width).min(WIDEST), "{width}: {text}");
                    assert!(text.is_ascii(), "{text}");
                }
            }
        }
    }

    #[test]
    fn the_bar_is_as_long_as_the_card() {
        let found = explain(FULL);
        let text = page(&found, &[], Look { width: Some(100), ascii: true });
        let bar = text.lines().find(|line| line.starts_with("card")).expect("a bar");
        let glyphs = bar.split_whitespace().nth(1).expect("the bar");
        assert!((74..=80).contains(&glyphs.len()), "{bar}");
        for glyph in ['#', '=', '+', 'o', '.'] {
            assert!(glyphs.contains(glyph), "{glyph}: {bar}");
        }
        let huge = explain(
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 64.00 GiB. GPU 0 has a total capacity of 16.00 GiB of which 8.00 GiB is free. Including non-PyTorch memory, this process has 8.00 GiB memory in use. Of the allocated memory 7.00 GiB is allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated.",
        );
        let text = page(&huge, &[], Look { width: Some(100), ascii: true });
        let cells = |name: &str, glyphs: &str| {
            text.lines().find(|line| line.starts_with(name)).expect("a bar").chars().filter(|c| glyphs.contains(*c)).count()
        };
        assert!(cells("asked", "^") > 3 * cells("card", "#=+o."), "{text}");
    }

    #[test]
    fn ranks_are_told_in_runs() {
        assert_eq!(ranges(&[0, 1, 2, 3, 5, 7, 8]), "0-3, 5, 7-8");
    }
}
