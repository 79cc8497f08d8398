//! Who the processes of a story are: owners, parents, jobs and origins, by the rules that hold for live processes.

use std::collections::HashSet;
use std::sync::Arc;

use super::file::{Bystander, Facts};
use super::world::{BOOTED, Moment, Performer, World};
use crate::domain::command::Invocation;
use crate::domain::launcher::{self, Link, MAX_CHAIN};
use crate::domain::owner::{FOREIGN_PID, Place, Subject};
use crate::domain::text::clean;
use crate::domain::{
    Ancestor, Details, Gpu, HolderKind, Job, Missing, OpenHandle, Pid, Process, ProcessKey, Reading, Relation, Timestamp, Wall,
};

/// The kernel cuts names at this many bytes.
const NAME: usize = 15;

/// A process as the system has it, before anybody looks.
struct Role<'a> {
    pid: Pid,
    ppid: Pid,
    /// When it started on the story's clock, and how long it had run then.
    began: u64,
    age: u64,
    user: &'a str,
    uid: u32,
    name: String,
    command: &'a str,
    container: Option<&'a str>,
    facts: &'a Facts,
    kind: HolderKind,
    zombie: bool,
}

impl Role<'_> {
    fn key(&self) -> ProcessKey {
        let start = (BOOTED * 10_000 + self.began).saturating_sub(self.age) / 10_000;
        ProcessKey { pid: self.pid, start: Some(start) }
    }

    fn link(&self) -> Link<'_> {
        Link { uid: Some(self.uid), name: &self.name, command: if self.zombie { "" } else { self.command } }
    }

    fn command(&self) -> Arc<str> {
        if self.zombie { format!("[{}]", self.name).into() } else { clean(self.command, 4096).into() }
    }
}

impl World {
    /// The facts of a process that a list named at `t`; `created` is the wall clock at the stream's origin.
    pub fn process(&self, pid: Pid, t: Timestamp, created: Wall) -> Option<Process> {
        self.process_watched(pid, t, created, &[])
    }

    /// The same for a viewer who watches the trees of these processes.
    pub fn process_watched(&self, pid: Pid, t: Timestamp, created: Wall, watched: &[Pid]) -> Option<Process> {
        let moment = self.moment(t);
        let role = self.role(pid, moment)?;
        if self.scenario.file.node.foreign_pids {
            return Some(unseen(pid));
        }
        let chain = self.chain(&role, moment);
        let me = self.scenario.file.node.uid;
        let head = std::iter::once(&role).chain(&chain).find(|role| watched.contains(&role.pid));
        let place = if role.container.is_some() { Place::Elsewhere } else { Place::Here };
        let command = role.command();
        let subject = Subject { uid: Some(role.uid), watched: head.is_some(), place, kind: role.kind, command: &command };
        let started = created.after(Timestamp(role.began)).0.saturating_sub_unsigned(role.age);
        Some(Process {
            key: role.key(),
            started: Ok(Wall(started)),
            ppid: Ok(role.ppid),
            user: Ok(clean(role.user, 64).into()),
            uid: Ok(role.uid),
            relation: Relation::of(&subject, me),
            command: Ok(command),
            container: role.container.map(|name| clean(name, 200).into()),
            job: self.job(&role, &chain, head),
            details: Some(Arc::new(details(&role, &chain, role.uid == me))),
        })
    }

    /// Who a pid is at a time; without a start where the viewer can't see it.
    pub fn key(&self, pid: Pid, t: Timestamp) -> Option<ProcessKey> {
        let key = self.role(pid, self.moment(t))?.key();
        Some(ProcessKey { start: key.start.filter(|_| !self.has_foreign_pids()), ..key })
    }

    /// Whether the story has a process of this number at a time.
    pub fn has(&self, pid: Pid, t: Timestamp) -> bool {
        self.role(pid, self.moment(t)).is_some()
    }

    /// Whether the viewer lives in a PID namespace of its own.
    pub fn has_foreign_pids(&self) -> bool {
        self.scenario.file.node.foreign_pids
    }

    /// The processes that have a node open without standing in a list, sorted.
    pub fn handles(&self, t: Timestamp) -> Vec<OpenHandle> {
        let moment = self.moment(t);
        let others =
            self.bystanders().filter(|one| !one.opens.is_empty() && self.is_there(one, moment) && !is_zombie(one, moment));
        let others = others.map(|one| (Pid(one.pid), one.opens.iter().map(|card| Gpu(*card)).collect::<Vec<_>>()));
        let hidden = self.actors.iter().enumerate().filter(|(n, actor)| self.entry(actor).hidden && self.is_alive(*n, moment));
        let hidden = hidden.map(|(n, actor)| {
            let places = self.places.iter().filter(|place| place.held.iter().any(|held| held.actor == n));
            (self.pid(actor, moment.round), places.map(|place| Gpu(place.card)).collect())
        });
        let mut found: Vec<OpenHandle> = others
            .chain(hidden)
            .filter_map(|(pid, gpus)| Some(OpenHandle { key: self.role(pid, moment)?.key(), gpus: gpus.into(), state: Ok('S') }))
            .collect();
        found.sort_by_key(|handle| handle.key.pid);
        found
    }

    /// How many parents ended or became zombies until a time: facts of their children change with each.
    pub fn turns(&self, t: Timestamp) -> usize {
        let moment = self.moment(t);
        let others = self.bystanders().flat_map(|one| [one.zombie, one.until]).flatten();
        let parent = |pid: u32| {
            let actors = self.scenario.file.process.iter().map(|actor| actor.get_ref().ppid);
            actors.chain(self.bystanders().map(|one| one.ppid)).any(|ppid| ppid == pid)
        };
        let gone =
            |(n, actor): &(usize, &Performer)| moment.local >= actor.begin && !self.is_alive(*n, moment) && parent(actor.pid);
        let dismissed = self.dismissed.iter().filter(|(_, at)| moment.t >= *at).count();
        others.filter(|at| at.us() <= moment.local).count() + dismissed + self.actors.iter().enumerate().filter(gone).count()
    }

    fn bystanders(&self) -> impl Iterator<Item = &Bystander> {
        self.scenario.file.bystander.iter().map(toml::Spanned::get_ref)
    }

    fn is_there(&self, one: &Bystander, moment: Moment) -> bool {
        let dismissed = || self.dismissed.iter().any(|(pid, at)| *pid == one.pid && moment.t >= *at);
        moment.local >= one.at.us() && one.until.is_none_or(|until| moment.local < until.us()) && !dismissed()
    }

    /// Whether a bystander of this identity is there at a time.
    pub(super) fn stands_by(&self, key: ProcessKey, t: Timestamp) -> bool {
        let moment = self.moment(t);
        let one = self.bystanders().find(|one| one.pid == key.pid.0 && self.is_there(one, moment));
        !self.has_foreign_pids() && one.is_some_and(|one| self.bystander(one, moment).key() == key)
    }

    /// Whether nobody keeps any more what a process left behind. What nobody was ever to keep stays.
    pub(super) fn is_let_go(&self, actor: usize, moment: Moment) -> bool {
        let Some(actor) =
            self.actors.get(actor).filter(|actor| actor.end.is_some_and(|end| end.orphan && end.at <= moment.local))
        else {
            return false;
        };
        let mut keepers = self.bystanders().filter(|one| one.keeps == Some(actor.pid)).peekable();
        keepers.peek().is_some() && !keepers.any(|one| self.is_there(one, moment))
    }

    /// A process by its number at a moment, whether a list names it or not.
    fn role(&self, pid: Pid, moment: Moment) -> Option<Role<'_>> {
        if let Some(one) = self.bystanders().find(|one| one.pid == pid.0 && self.is_there(one, moment)) {
            return Some(self.bystander(one, moment));
        }
        let actor = self.performer(pid)?;
        let entry = self.entry(actor);
        let node = &self.scenario.file.node;
        Some(Role {
            pid,
            ppid: self.parent(entry.ppid, moment),
            began: actor.begin + self.renewed(actor).unwrap_or(0) * moment.round,
            age: entry.age.us(),
            user: entry.user.as_deref().unwrap_or(&node.me),
            uid: entry.uid.unwrap_or(if entry.user.is_some() { 0 } else { node.uid }),
            name: name_of(&entry.command),
            command: &entry.command,
            container: entry.container.as_deref(),
            facts: &entry.details,
            kind: entry.kind.0,
            zombie: false,
        })
    }

    fn bystander<'a>(&'a self, one: &'a Bystander, moment: Moment) -> Role<'a> {
        let node = &self.scenario.file.node;
        Role {
            pid: Pid(one.pid),
            ppid: self.parent(one.ppid, moment),
            began: one.at.us(),
            age: one.age.us(),
            user: one.user.as_deref().unwrap_or(&node.me),
            uid: one.uid.unwrap_or(if one.user.is_some() { 0 } else { node.uid }),
            name: one.name.as_deref().map_or_else(|| name_of(&one.command), |name| clean(name, NAME)),
            command: &one.command,
            container: one.container.as_deref(),
            facts: &one.details,
            kind: HolderKind::default(),
            zombie: is_zombie(one, moment),
        }
    }

    /// The parent's number at a moment: that of the round for a process of the story, and 1 where the parent is gone. A
    /// number that is not in the file stays.
    fn parent(&self, ppid: u32, moment: Moment) -> Pid {
        if let Some(one) = self.bystanders().find(|one| one.pid == ppid) {
            return if self.is_there(one, moment) { Pid(ppid) } else { Pid(1) };
        }
        match self.by_pid.get(&ppid).and_then(|&n| Some((n, self.actors.get(n)?))) {
            Some((n, actor)) if self.is_alive(n, moment) => self.pid(actor, moment.round),
            Some(_) => Pid(1),
            None => Pid(ppid),
        }
    }

    /// The parents of a process, the nearest first.
    fn chain(&self, role: &Role<'_>, moment: Moment) -> Vec<Role<'_>> {
        let mut chain: Vec<Role<'_>> = Vec::new();
        let mut next = role.ppid;
        while next != role.pid && chain.len() < MAX_CHAIN && chain.iter().all(|kin| kin.pid != next) {
            let Some(kin) = self.role(next, moment) else { break };
            next = kin.ppid;
            chain.push(kin);
        }
        chain
    }

    fn job(&self, role: &Role<'_>, chain: &[Role<'_>], watched: Option<&Role<'_>>) -> Option<Arc<Job>> {
        let (launcher, leader) = if let Some(head) = watched {
            (launcher::name(&head.link()).unwrap_or(launcher::TREE), head)
        } else {
            let links: Vec<Link<'_>> = std::iter::once(role).chain(chain).map(Role::link).collect();
            match launcher::head(&links) {
                Some(head) => (head.launcher, chain.get(head.at.checked_sub(1)?)?),
                None if self.heads.contains(&self.base(role.pid)) => {
                    (launcher::name(&role.link()).unwrap_or(launcher::FORK), role)
                }
                None => return None,
            }
        };
        Some(Arc::new(Job { leader: leader.key(), launcher: launcher.into(), command: Ok(leader.command()) }))
    }

    /// The number that the file gives a process.
    fn base(&self, pid: Pid) -> u32 {
        self.performer(pid).map_or(pid.0, |actor| actor.pid)
    }

    /// The processes that head a job, by the numbers in the file.
    pub(super) fn find_heads(&self) -> HashSet<u32> {
        let head = |actor: &Performer| {
            let moment = self.moment(Timestamp(actor.begin));
            let role = self.role(Pid(actor.pid), moment)?;
            let chain = self.chain(&role, moment);
            let links: Vec<Link<'_>> = std::iter::once(&role).chain(&chain).map(Role::link).collect();
            let head = launcher::head(&links)?;
            Some(self.base(chain.get(head.at.checked_sub(1)?)?.pid))
        };
        self.actors.iter().filter_map(head).collect()
    }
}

fn is_zombie(one: &Bystander, moment: Moment) -> bool {
    one.zombie.is_some_and(|zombie| moment.local >= zombie.us())
}

/// The kernel's name of a program.
fn name_of(command: &str) -> String {
    let program = Invocation::parse(command).program;
    let end = program.floor_char_boundary(NAME);
    clean(program.get(..end).unwrap_or_default(), NAME)
}

fn details(role: &Role<'_>, chain: &[Role<'_>], mine: bool) -> Details {
    let text = |text: &Option<String>| text.as_deref().map(|text| Arc::<str>::from(clean(text, 200)));
    let cwd: Reading<Arc<str>> = match text(&role.facts.cwd) {
        Some(cwd) if mine => Ok(cwd),
        _ if mine => Ok(format!("/home/{}", clean(role.user, 64)).into()),
        _ => Err(Missing::Denied("it is another user's process".into())),
    };
    let environment = match text(&role.facts.environment) {
        Some(name) => Ok(Some(name)),
        None if mine => Ok(None),
        None => Err(Missing::Denied("another user's environment is not read".into())),
    };
    let parents = chain.iter().take_while(|kin| kin.pid != Pid(1)).take(Details::MAX_PARENTS).map(|kin| {
        let name = if kin.zombie { format!("{} (zombie)", kin.name) } else { kin.name.clone() };
        Ancestor { key: kin.key(), name: name.into() }
    });
    Details {
        cwd,
        parents: parents.collect(),
        batch: Ok(text(&role.facts.batch)),
        environment,
        session: Ok(text(&role.facts.session)),
    }
}

/// What is known of a pid of another namespace.
fn unseen(pid: Pid) -> Process {
    Process {
        key: ProcessKey { pid, start: None },
        started: Err(FOREIGN_PID),
        ppid: Err(FOREIGN_PID),
        user: Err(FOREIGN_PID),
        uid: Err(FOREIGN_PID),
        relation: Relation::Unknown,
        command: Err(FOREIGN_PID),
        container: None,
        job: None,
        details: None,
    }
}
