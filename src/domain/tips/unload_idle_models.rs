//! Unload idle models sooner.

use super::{Code, Effort, Side, Tip, Topic};
use crate::domain::advice::{Case, Party, Proposal, range};
use crate::domain::{Bytes, FindingKind, Framework};

/// The entry.
pub const TIP: Tip = Tip {
    id: "unload_idle_models",
    title: "Unload idle models sooner",
    topic: Topic::Serving,
    sides: &[Side::Serving, Side::Operator],
    effort: Effort::Flag,
    does: "Ollama keeps a model for 5 minutes after its last request, and several at once where they fit.",
    code: &[
        Code { of: "Ollama", lines: &["OLLAMA_KEEP_ALIVE=30s OLLAMA_MAX_LOADED_MODELS=1 ollama serve", "ollama stop MODEL"] },
        Code { of: "llama.cpp", lines: &["llama-server --models-max 1"] },
    ],
    cost: "The next request waits for the model to load.",
    not_when: &["one model alone fills the card"],
    frameworks: &[Framework::Ollama, Framework::LlamaCpp],
    sources: &["https://docs.ollama.com/faq"],
    applies: Some(applies),
};

fn applies(case: &Case) -> Option<Proposal> {
    if !case.is(&[FindingKind::Churn]) || !case.tight() {
        return None;
    }
    let loads = |party: &&Party| matches!(party.workload.framework, Some(Framework::Ollama | Framework::LlamaCpp));
    let party = case.mine().filter(loads).max_by_key(|party| party.used)?;
    let (held, pid) = (party.used?, party.pid);
    let back = range(Bytes::ZERO, held);
    Proposal::saving(
        Bytes::ZERO,
        held,
        format!("pid {pid} loads and unloads models, and holds {held} now: idle ones give back {back}"),
    )
}
