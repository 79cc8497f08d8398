//! What a signal is aimed at: frozen when its menu opens, wherever the selection and the processes go meanwhile.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::look::{Look, RowKey};
use super::world::short_name;
use crate::domain::command::title;
use crate::domain::launcher;
use crate::domain::{
    Bytes, DeviceView, Gpu, HolderView, JobView, Missing, Process, ProcessKey, Reading, Refusal, Relation, Sent, Signal, Snapshot,
};

/// At most so many processes at once: each needs an open file, and a list that nobody can read is not confirmed.
pub const MOST: usize = 256;

/// One process that is aimed at, as it was when the menu opened.
#[derive(Clone, Debug)]
pub struct Target {
    /// Which.
    pub key: ProcessKey,
    /// Its short name.
    pub name: String,
    /// Who it is; none for the head of a job that holds nothing itself.
    pub process: Option<Arc<Process>>,
    /// Its owner; for the head of a job that of the others.
    user: Option<Arc<str>>,
    /// Whose it is.
    pub relation: Relation,
    /// What it holds, by card.
    pub on: Vec<(Gpu, Reading<Bytes>)>,
    /// Whether somebody was asked to take hold of it.
    pub asked: bool,
    /// How far it got.
    pub answer: Answer,
}

/// How far a signal got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Nobody has taken hold of the process yet.
    Asked,
    /// It is held.
    Held,
    /// It was signalled.
    Sent(Sent),
    /// It was not, or can't be.
    Refused(Refusal),
}

/// Everything that is aimed at, and what was sent.
#[derive(Clone, Debug, Default)]
pub struct Aim {
    /// In the order of the card's holders; never empty.
    pub targets: Vec<Target>,
    /// What was sent.
    pub sent: Option<Signal>,
}

/// The processes that the user means: those that are tagged, or else the selected one, or all of the selected job and its
/// head: left alone it may start its workers anew.
pub fn meant(look: &Look, snapshot: &Snapshot) -> Vec<ProcessKey> {
    let mut keys = look.picked(snapshot);
    if let Some(RowKey::Job(leader)) = look.row.as_ref().filter(|_| look.tags.is_empty())
        && !keys.contains(leader)
        && job(*leader, snapshot).is_some()
    {
        keys.insert(0, *leader);
    }
    keys
}

/// A job by its head; none where that is only watched, as a shell may be.
fn job(leader: ProcessKey, snapshot: &Snapshot) -> Option<JobView> {
    snapshot.jobs().into_iter().find(|view| view.job.leader == leader && &*view.job.launcher != launcher::TREE)
}

impl Aim {
    /// Aims at processes of the newest picture; those that are not in it any more are described by an older one.
    pub fn at(keys: &[ProcessKey], newest: &Snapshot, older: &Snapshot) -> Self {
        let head = |key| job(key, newest).map(|view| Target::head(key, &view));
        let target = |key: &ProcessKey| Target::of(*key, newest).or_else(|| head(*key)).or_else(|| Target::of(*key, older));
        Self { targets: keys.iter().filter_map(target).collect(), sent: None }
    }

    /// The processes that somebody has to take hold of.
    pub fn asked(&self) -> Vec<ProcessKey> {
        self.targets.iter().filter(|target| target.asked).map(|target| target.key).collect()
    }

    /// Takes the answers for [`Aim::asked`].
    pub fn held(&mut self, answers: Vec<Result<(), Refusal>>) {
        let asked = self.targets.iter_mut().filter(|target| target.asked);
        for (target, answer) in asked.zip(answers) {
            target.answer = answer.map_or_else(Answer::Refused, |()| Answer::Held);
        }
    }

    /// Takes what became of a signal, for the same processes in the same order.
    pub fn signalled(&mut self, signal: Signal, answers: Vec<Result<Sent, Refusal>>) {
        self.sent = Some(signal);
        let asked = self.targets.iter_mut().filter(|target| target.asked);
        for (target, answer) in asked.zip(answers) {
            target.answer = answer.map_or_else(Answer::Refused, Answer::Sent);
        }
    }

    /// Whether not one of them can be signalled.
    pub fn is_hopeless(&self) -> bool {
        self.targets.iter().all(|target| matches!(target.answer, Answer::Refused(_)))
    }

    /// Whether a process of the system is among them.
    pub fn has_system(&self) -> bool {
        self.targets.iter().any(|target| target.relation == Relation::System && !matches!(target.answer, Answer::Refused(_)))
    }

    /// Those that a signal would reach.
    pub fn reachable(&self) -> impl Iterator<Item = &Target> {
        self.targets.iter().filter(|target| !matches!(target.answer, Answer::Refused(_)))
    }

    /// Their users, without repetition; the head of a job whose processes have several is left out.
    pub fn users(&self) -> BTreeSet<&str> {
        self.reachable().filter(|target| target.process.is_some() || target.user.is_some()).map(Target::user).collect()
    }

    /// The cards they hold memory on.
    pub fn cards(&self) -> BTreeSet<Gpu> {
        self.reachable().flat_map(|target| target.on.iter().map(|(gpu, _)| *gpu)).collect()
    }

    /// What they hold together; none where some size is missing.
    pub fn bytes(&self) -> Option<Bytes> {
        self.reachable().map(Target::bytes).sum()
    }
}

impl Target {
    /// A process of a picture; none where it holds nothing and has no history there.
    fn of(key: ProcessKey, snapshot: &Snapshot) -> Option<Self> {
        // Whole GPUs list the processes of their instances too.
        let cards = || snapshot.devices.iter().filter(|view| view.device.parent.is_none());
        let is_it = |holder: &&Arc<HolderView>| holder.key == key;
        let held = |view: &Arc<DeviceView>| {
            // One that runs in several instances of a card has a row for each.
            let sizes: Vec<_> = view.holders.as_ref().ok()?.iter().filter(is_it).map(|row| row.holder.used.clone()).collect();
            let sum = |sum: Bytes, size: Result<Bytes, Missing>| size.map(|size| sum.saturating_add(size));
            (!sizes.is_empty()).then(|| (view.gpu(), sizes.into_iter().try_fold(Bytes::ZERO, sum)))
        };
        let holder = cards()
            .find_map(|view| view.holders.as_ref().ok()?.iter().find(is_it))
            .or_else(|| cards().find_map(|view| view.gone.iter().find(is_it)))?;
        let relation = holder.relation();
        let unseen = relation == Relation::Unknown || key.start.is_none();
        Some(Self {
            key,
            name: short_name(holder).into_owned(),
            process: holder.process.clone(),
            user: holder.process.as_ref().and_then(|process| process.user.as_ref().ok()).cloned(),
            relation,
            on: cards().filter_map(held).collect(),
            asked: !unseen,
            answer: if unseen { Answer::Refused(Refusal::Unknown) } else { Answer::Asked },
        })
    }

    /// The head of a job, which holds nothing itself.
    fn head(key: ProcessKey, view: &JobView) -> Self {
        let command = view.job.command.as_deref();
        Self {
            key,
            name: command.map_or_else(|_| view.job.launcher.to_string(), |command| title(command).into_owned()),
            process: None,
            user: view.user.clone(),
            relation: view.relation,
            on: Vec::new(),
            asked: key.start.is_some(),
            answer: if key.start.is_some() { Answer::Asked } else { Answer::Refused(Refusal::Unknown) },
        }
    }

    /// Its owner.
    pub fn user(&self) -> &str {
        self.user.as_deref().unwrap_or("an unknown user")
    }

    /// What it holds on all cards; none where some size is missing.
    pub fn bytes(&self) -> Option<Bytes> {
        self.on.iter().map(|(_, size)| size.as_ref().ok().copied()).sum()
    }

    /// How far it got, in words that follow its name.
    pub fn word(&self) -> String {
        match &self.answer {
            Answer::Asked => "asked for".to_owned(),
            Answer::Held => "ready".to_owned(),
            Answer::Sent(sent) => sent.to_string(),
            Answer::Refused(Refusal::Denied) => format!("not permitted: process of {}", self.user()),
            Answer::Refused(refusal) => refusal.to_string(),
        }
    }
}
