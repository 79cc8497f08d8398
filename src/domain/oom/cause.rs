//! Why it failed: the first rule that holds, with its evidence.

use super::clues::{Clue, Clues};
use super::dialects::left_for_cache;
use super::event::{Allocator, Cause, Event, Kind, Stage};
use crate::domain::Bytes;
use crate::domain::bytes::GIB;

/// No memory is as large: a size like this is garbage.
const ABSURD: u64 = GIB << 20;

/// What the program was doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// It trains.
    Training,
    /// It evaluates between training.
    Evaluation,
    /// It runs a model once.
    Inference,
    /// It is a ready application, whose code its user does not write.
    Application,
    /// It answers requests.
    Serving,
    /// It answers requests with a language model.
    LanguageServing,
    /// The text does not tell.
    Unknown,
}

/// A cause, what tells it, and what the program was doing.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The word for it.
    pub cause: Cause,
    /// What tells it, as sentences.
    pub evidence: Vec<String>,
    /// What the program was doing.
    pub activity: Activity,
}

/// What the program was doing, by what stands nearest to the failure.
pub fn activity(clues: &Clues) -> Activity {
    let stack = |clue| clues.in_stack(clue).is_some();
    if stack(Clue::Backward) || stack(Clue::Optimizer) {
        return Activity::Training;
    }
    if stack(Clue::Evaluation) && (clues.has(Clue::Training) || clues.evaluated.is_some()) {
        return Activity::Evaluation;
    }
    if clues.has(Clue::Application) {
        return Activity::Application;
    }
    let training = clues.back(Clue::Training).min(clues.back(Clue::Backward));
    let serving = clues.back(Clue::Serving);
    if clues.has(Clue::Serving) && (serving <= training || clues.has(Clue::LanguageEngine) && !stack(Clue::Training)) {
        return if clues.has(Clue::LanguageEngine) { Activity::LanguageServing } else { Activity::Serving };
    }
    if clues.has(Clue::Evaluation) && clues.evaluated.is_some() && clues.back(Clue::Evaluation) < training {
        return Activity::Evaluation;
    }
    if stack(Clue::Training) || clues.has(Clue::Training) && training <= clues.back(Clue::Inference).saturating_add(40) {
        return Activity::Training;
    }
    if clues.has(Clue::Inference) { Activity::Inference } else { Activity::Unknown }
}

/// The cause of a failure.
pub fn verdict(event: &Event, clues: &Clues) -> Verdict {
    let activity = activity(clues);
    let (cause, evidence) = rule(event, clues, activity);
    Verdict { cause, evidence, activity }
}

fn quoted(text: &str) -> String {
    format!("the log says \"{text}\"")
}

/// The rules, in their order.
fn rule(event: &Event, clues: &Clues, activity: Activity) -> (Cause, Vec<String>) {
    let f = &event.figures;
    match event.kind {
        Kind::HostOom | Kind::HostShm => return (Cause::HostMemory, Vec::new()),
        Kind::SharedMemoryLimit => return (Cause::KernelLimit, Vec::new()),
        Kind::ResourceLimit => return (event.cause.unwrap_or(Cause::SessionLimit), Vec::new()),
        Kind::Recovered | Kind::NotOom => return (Cause::None, Vec::new()),
        Kind::DeviceOom => {}
    }
    if event.cause == Some(Cause::CorruptSize) || f.requested.is_some_and(|asked| asked.0 >= ABSURD) {
        let size = f.requested.map_or_else(|| "more than 1 EB".to_owned(), |asked| asked.to_string());
        return (
            Cause::CorruptSize,
            vec![format!("{size} is no size that anything can have: a wrong shape or an overflow asked for it")],
        );
    }
    if let Some(found) = cap(event) {
        return found;
    }
    let asked = f.requested;
    if let (Some(asked), Some(capacity)) = (asked, f.capacity.filter(|capacity| *capacity > Bytes::ZERO))
        && asked > capacity
        && event.cause.is_none()
    {
        return (Cause::OversizedTensor, vec![format!("one request of {asked} is larger than the whole card of {capacity}")]);
    }
    if let Some(found) = contradiction(event) {
        return found;
    }
    if event.cause == Some(Cause::ForeignProcess)
        && let Some(found) = foreign(event)
    {
        return found;
    }
    if let Some(cause) = event.cause {
        return (cause, by_message(event, cause, clues));
    }
    if let Some(found) = place(event, clues, activity) {
        return found;
    }
    if let Some(found) = fragmentation(event, clues) {
        return found;
    }
    if let Some(found) = foreign(event) {
        return found;
    }
    step(event, clues, activity)
}

/// The evidence where the message itself leaves no other cause.
fn by_message(event: &Event, cause: Cause, clues: &Clues) -> Vec<String> {
    let mut evidence = Vec::new();
    if let (Some(asked), Some(allowed)) = (event.figures.requested, event.figures.allowed) {
        evidence.push(format!("{asked} are needed and {allowed} are available"));
    }
    match left_for_cache(&clues.near) {
        Some((true, bytes)) => evidence.push(format!("weights and the profiled peak exceed the engine's budget by {bytes}")),
        Some((false, bytes)) if evidence.is_empty() => evidence.push(format!("{bytes} are left for the KV cache")),
        _ => {}
    }
    if evidence.is_empty() {
        evidence.push(match (event.stage, cause) {
            (_, Cause::Unknown) => {
                "the runtime itself refused, without figures: that does not even prove that the card is full".to_owned()
            }
            (Some(Stage::Loading), _) => "the message is that of weights or data being loaded".to_owned(),
            (Some(Stage::KvCache), _) => "the message is that of the KV cache being made".to_owned(),
            (Some(Stage::Compute), _) => "weights and cache fit, the buffers of the computation do not".to_owned(),
            (Some(Stage::Running), _) => "it failed while answering requests".to_owned(),
            (Some(Stage::StartCheck), _) => "the engine's check before its start refuses".to_owned(),
            (Some(Stage::GraphCapture), _) => "graphs were being captured".to_owned(),
            _ => "the message itself says so".to_owned(),
        });
    }
    evidence
}

/// A limit refuses although the device has room.
fn cap(event: &Event) -> Option<(Cause, Vec<String>)> {
    let f = &event.figures;
    if event.cause == Some(Cause::MemoryCap) {
        let text = f.allowed.map_or_else(
            || "the message names a configured limit".to_owned(),
            |allowed| format!("the configured limit is {allowed}"),
        );
        return Some((Cause::MemoryCap, vec![text]));
    }
    // Where the watermark of unified memory is the message itself, or the limit is the size of the pool, it explains nothing.
    if event.allocator == Allocator::Mps || !matches!(event.dialect, "pytorch" | "pytorch_async") {
        return None;
    }
    let (allowed, free, asked) = (f.allowed?, f.free?, f.requested?);
    (free >= asked).then(|| {
        (
            Cause::MemoryCap,
            vec![format!("{free} is free on the card, more than the {asked} that was asked for; the process may use {allowed}")],
        )
    })
}

/// Less is asked for than is free, and nothing explains it.
fn contradiction(event: &Event) -> Option<(Cause, Vec<String>)> {
    let f = &event.figures;
    if event.stage == Some(Stage::StartCheck)
        || !matches!(event.dialect, "pytorch" | "pytorch_async" | "paddle" | "xgboost" | "tensorflow")
    {
        return None;
    }
    if f.capacity == Some(Bytes::ZERO) {
        return Some((Cause::DriverState, vec!["the driver says that the card has no memory at all".to_owned()]));
    }
    let (asked, free) = (f.requested?, f.free?);
    (asked < free).then(|| {
        (
            Cause::DriverState,
            vec![format!("{asked} was asked for and {free} is free, with no limit printed: the card was not full")],
        )
    })
}

/// The place of the failure, or the log's own numbers.
fn place(event: &Event, clues: &Clues, activity: Activity) -> Option<(Cause, Vec<String>)> {
    if let Some(said) = clues.in_stack(Clue::OptimizerInit) {
        return Some((Cause::OptimizerState, vec![quoted(&said.text)]));
    }
    let stepping = clues.in_stack(Clue::Optimizer).filter(|_| clues.in_stack(Clue::Backward).is_none());
    if let Some(said) = stepping
        && event.dialect.starts_with("pytorch")
        && event.figures.known() > 0
    {
        return Some((Cause::OptimizerState, vec![quoted(&said.text)]));
    }
    let backs = clues.in_stack(Clue::Backward).is_some();
    let evaluates =
        !backs && (activity == Activity::Evaluation || clues.in_stack(Clue::Evaluation).is_some() && clues.has(Clue::Training));
    if evaluates {
        let mut evidence = Vec::new();
        if let Some(trend) = &clues.trends.rising_in_evaluation {
            evidence.push(format!("while evaluating, {} rose from {} to {}", trend.name, trend.first, trend.last));
        }
        let held = event.figures.process.or(event.figures.allocated);
        if let (Some(peak), Some(held)) = (clues.trends.training_peak, held)
            && held.0 > peak.0 + peak.0 / 2
        {
            evidence.push(format!("training peaked at {peak}, evaluation holds {held}"));
        }
        if let Some(said) = clues.in_stack(Clue::Collecting) {
            evidence.push(quoted(&said.text));
        }
        if let Some(batches) = clues.evaluated.filter(|batches| *batches >= 3) {
            evidence.push(format!("it failed after {batches} batches of evaluation, not at the first"));
        }
        if !evidence.is_empty() {
            return Some((Cause::EvalWithoutNoGrad, evidence));
        }
    }
    if activity != Activity::Serving
        && activity != Activity::LanguageServing
        && let Some(trend) = clues.trends.rising.as_ref().filter(|_| !clues.trends.work_varies)
        && event
            .figures
            .allocated
            .or(event.figures.process)
            .is_none_or(|held| trend.last.0 <= held.0 + held.0 / 10 && trend.last.0 >= held.0 / 2)
    {
        let mut text =
            format!("{} rose steadily from {} to {} over {} printed figures", trend.name, trend.first, trend.last, trend.points);
        if let (Some((from, to)), Some(each)) = (trend.steps, trend.per_step()) {
            text = format!(
                "{} rose steadily from {} at step {from} to {} at step {to}, {each} a step",
                trend.name, trend.first, trend.last
            );
        }
        return Some((Cause::LeakOverSteps, vec![text]));
    }
    if let Some(said) =
        clues.in_stack(Clue::GraphCapture).or_else(|| clues.said(Clue::GraphCapture).filter(|said| said.back <= 12))
    {
        return Some((
            Cause::KvCache,
            vec![format!("graphs were being captured beside the engine's pool: {}", quoted(&said.text))],
        ));
    }
    if let Some(said) = clues.in_stack(Clue::KvCache).filter(|_| activity != Activity::Training) {
        return Some((Cause::KvCache, vec![quoted(&said.text)]));
    }
    if let Some(found) = loading(event, clues, activity) {
        return Some(found);
    }
    if activity == Activity::LanguageServing && event.pools.is_some() && !clues.has(Clue::Prefill) {
        return Some((Cause::KvCache, vec!["a language model is served, and its graphs and cache fill the card".to_owned()]));
    }
    None
}

/// Weights are on their way to the card.
fn loading(event: &Event, clues: &Clues, activity: Activity) -> Option<(Cause, Vec<String>)> {
    if event.stage == Some(Stage::Context) || event.cause.is_some() {
        return None;
    }
    let said = clues.said(Clue::Loading)?;
    let stepped = clues.back(Clue::Progress).min(clues.back(Clue::Backward)) < said.back;
    let computes = clues.in_stack(Clue::Attention).is_some()
        || clues.in_stack(Clue::Backward).is_some()
        || clues.in_stack(Clue::Logits).is_some();
    let loads = said.in_stack && !computes
        || !clues.has_stack
            && !stepped
            && said.back <= 12
            && matches!(activity, Activity::Unknown | Activity::Inference)
            && !computes;
    loads.then(|| (Cause::ModelTooLarge, vec![format!("it failed while weights were loaded: {}", quoted(&said.text))]))
}

/// What the allocator holds and does not use would cover the request.
fn fragmentation(event: &Event, clues: &Clues) -> Option<(Cause, Vec<String>)> {
    let f = &event.figures;
    let (asked, unused, capacity) = (f.requested?, f.unallocated?, f.capacity?);
    if asked > unused || unused.0 < capacity.0 / 20 || clues.has(Clue::ExpandableOn) || event.allocator == Allocator::Async {
        return None;
    }
    let times = unused.0 as f64 / asked.0.max(1) as f64;
    Some((
        Cause::Fragmentation,
        vec![format!("{unused} is reserved and not used, {times:.1} times the {asked} that was asked for, but in pieces")],
    ))
}

/// Without the other processes the request would fit.
fn foreign(event: &Event) -> Option<(Cause, Vec<String>)> {
    let f = &event.figures;
    if event.cause == Some(Cause::ForeignProcess) {
        let text = match (f.capacity, f.free) {
            (Some(capacity), Some(free)) => {
                format!("{} of {capacity} was taken before anything of its own was on the card", capacity.saturating_sub(free))
            }
            _ if event.soft || event.stage == Some(Stage::Context) => {
                "the framework takes its share at its start, and the driver had less to give".to_owned()
            }
            _ => "the check before the start finds the card taken".to_owned(),
        };
        return Some((Cause::ForeignProcess, vec![text]));
    }
    let (asked, capacity) = (f.requested?, f.capacity?);
    let others: Bytes = event.others.iter().filter_map(|other| other.bytes).sum();
    let free = f.free.unwrap_or_default();
    (others.0 >= capacity.0 / 10 && free.saturating_add(others) >= asked).then(|| {
        (Cause::ForeignProcess, vec![format!("other processes hold {others} of {capacity}; without them the {asked} would fit")])
    })
}

/// A step's working set, or nothing to go by.
fn step(event: &Event, clues: &Clues, activity: Activity) -> (Cause, Vec<String>) {
    let library = event.stage == Some(Stage::Context);
    let told = event.figures.requested.is_some() && !library && event.dialect != "nccl";
    if !told {
        return (Cause::Unknown, vec!["the message has no figures, and the log does not tell what filled the card".to_owned()]);
    }
    let doing = match activity {
        Activity::Training if clues.in_stack(Clue::Backward).is_some() => "it failed in the backward pass of a training step",
        Activity::Training => "it failed in a training step",
        Activity::Evaluation => "it failed while evaluating",
        Activity::Serving | Activity::LanguageServing => "it failed while answering requests",
        Activity::Inference | Activity::Application => "it failed while running the model",
        Activity::Unknown => "nothing else in the log explains it",
    };
    (Cause::BatchTooLarge, vec![doing.to_owned()])
}
