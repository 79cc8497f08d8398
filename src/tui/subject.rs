//! What the details tell of the selected row: facts in words, and its memory over time.

use std::sync::Arc;

use super::cards::{Slice, holders_at, peak_until};
use super::grown::{Grown, signed};
use super::look::{Look, RowKey};
use super::widgets::text::say;
use super::world::{World, gib, short_name};
use crate::domain::unattributed::PERSISTENT;
use crate::domain::{
    Bytes, Cause, DeviceView, Gpu, HolderView, Missing, Period, Process, ProcessKey, Reading, Relation, Series, Timestamp,
};

/// One fact.
#[derive(Clone, Debug)]
pub struct Fact {
    /// What it is about; empty where it goes on with the one before.
    pub label: String,
    /// The fact.
    pub text: String,
    /// Something to know or to do, not only a fact.
    pub notable: bool,
}

/// Memory over time.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Where.
    pub title: String,
    /// Their sum is drawn.
    pub series: Vec<Arc<Series>>,
    /// The value at the upper edge.
    pub top: Bytes,
}

/// Everything about a row.
#[derive(Clone, Debug)]
pub struct Subject {
    /// What it is called.
    pub title: String,
    /// Its colour and glyph.
    pub slice: Slice,
    /// What is known of it.
    pub facts: Vec<Fact>,
    /// Its memory on each card.
    pub curves: Vec<Curve>,
}

/// Collects facts.
#[derive(Default)]
struct Facts(Vec<Fact>);

impl Facts {
    fn say(&mut self, label: &str, text: impl Into<String>) {
        self.0.push(Fact { label: label.to_owned(), text: text.into(), notable: false });
    }

    fn note(&mut self, label: &str, text: impl Into<String>) {
        self.0.push(Fact { label: label.to_owned(), text: text.into(), notable: true });
    }

    fn read<T>(&mut self, label: &str, reading: &Reading<T>, text: impl FnOnce(&T) -> String) {
        match reading {
            Ok(value) => self.say(label, text(value)),
            Err(missing) => self.say(label, missing.to_string()),
        }
    }

    /// Says only what is there: a fact that was read and is none needs no line.
    fn read_if(&mut self, label: &str, reading: &Reading<Option<Arc<str>>>) {
        match reading {
            Ok(None) => {}
            Ok(Some(text)) => self.say(label, text.to_string()),
            Err(missing) => self.say(label, missing.to_string()),
        }
    }
}

/// What there is to tell of the selected row; none where nothing is selected.
pub fn subject(world: &World<'_>, look: &Look) -> Option<Subject> {
    match look.row.as_ref()? {
        RowKey::Holder(_, key) => process(world, *key),
        RowKey::Job(leader) => job(world, *leader),
        RowKey::Unattributed(gpu) => unattributed(world, *gpu),
        RowKey::Others(gpu) => others(world, *gpu),
    }
}

/// Where a process holds memory or held some, on whole GPUs: these list the processes of their instances too.
fn places<'a>(world: &World<'a>, is: impl Fn(&HolderView) -> bool + 'a) -> Vec<(&'a Arc<DeviceView>, &'a Arc<HolderView>)> {
    let whole = world.snapshot.devices.iter().filter(|view| view.device.parent.is_none());
    whole
        .flat_map(|view| {
            let present = view.holders.iter().flat_map(|list| list.iter());
            present.chain(view.gone.iter()).map(move |holder| (view, holder))
        })
        .filter(|(_, holder)| is(holder))
        .collect()
}

fn process(world: &World<'_>, key: ProcessKey) -> Option<Subject> {
    let places = places(world, move |holder| holder.key == key);
    // The newest knows most.
    let holder = places.iter().map(|(_, holder)| *holder).max_by_key(|holder| (holder.gone_at.is_none(), holder.gone_at))?;
    let mut facts = Facts::default();
    if let Some(process) = &holder.process {
        about_process(world, process, holder, &mut facts);
    } else {
        let why = if world.snapshot.header.as_ref().is_some_and(|header| header.foreign_pids) {
            "not visible from here: this is a container with process numbers of its own"
        } else {
            "not visible from here: it lives in another PID namespace, or ended before it was looked at"
        };
        facts.say("who", why);
        facts.note("to see it", "start this in the host's PID namespace: --pid=host, in Kubernetes hostPID: true");
    }
    for (view, holder) in &places {
        about_place(world, view, holder, &mut facts);
    }
    about_peak(world, &places, &mut facts);
    let title = format!("{} ({})", short_name(holder), holder.pid());
    let curves = places.iter().filter_map(|(view, holder)| curve(world, view, &[holder])).collect();
    Some(Subject { title, slice: Slice::of(holder.relation()), facts: facts.0, curves })
}

fn about_process(world: &World<'_>, process: &Process, holder: &HolderView, facts: &mut Facts) {
    facts.read("command", &process.command, ToString::to_string);
    let relation = match process.relation {
        Relation::Job => "job: in the process tree that is watched",
        Relation::Mine => "mine: of your user",
        Relation::Foreign => "foreign: another user's",
        Relation::System => "system: of the display or a known daemon",
        Relation::Unknown => "unknown: whose it is can't be told from here",
    };
    let uid = process.uid.as_ref().map_or_else(|_| String::new(), |uid| format!(" (uid {uid})"));
    facts.read("owner", &process.user, |user| format!("{user}{uid}; {relation}"));
    let now = world.clock.map(|clock| clock.wall(world.moment()));
    let running = now.and_then(|now| process.running(now)).map_or_else(String::new, |time| format!(", runs for {time}"));
    facts.read("started", &process.started, |at| {
        let at = world.clock.map_or_else(String::new, |clock| clock.date_and_time(*at, world.moment()));
        if holder.gone_at.is_some() { at } else { format!("{at}{running}") }
    });
    if let Some(gone) = holder.gone_at {
        facts.note("ended", format!("{}: it holds nothing any more", world.time(gone)));
    } else if world.past.is_some() {
        facts.say("load", "kept for now only");
    } else {
        about_load(holder, facts);
    }
    match &process.details {
        None => facts.say("origin", "not told: parents, folder and surroundings were not read"),
        Some(details) => {
            let parents: Vec<String> =
                details.parents.iter().map(|parent| format!("{} ({})", parent.name, parent.key.pid)).collect();
            match (parents.is_empty(), &process.ppid) {
                (false, _) => facts.say("parents", parents.join(", ")),
                (true, Ok(ppid)) => facts.say("parent", ppid.to_string()),
                (true, Err(missing)) => facts.say("parent", missing.to_string()),
            }
            facts.read("folder", &details.cwd, ToString::to_string);
            facts.read_if("batch job", &details.batch);
            facts.read_if("environment", &details.environment);
            facts.read_if("session", &details.session);
        }
    }
    if let Some(container) = &process.container {
        facts.say("container", container.to_string());
    }
    if let Some(job) = &process.job {
        let whole = world.jobs().get(&job.leader).map_or_else(String::new, |whole| {
            let tightest = whole
                .tightest
                .map_or_else(String::new, |(gpu, left)| format!("; tightest GPU {gpu}, {} GiB left", gib(Some(left))));
            format!(": {} processes, {} GiB on {} cards{tightest}", whole.processes(), gib(whole.used()), whole.on.len())
        });
        facts.say("job", format!("{} ({}){whole}", job.title(), job.leader.pid));
    }
}

/// What it does right now.
fn about_load(holder: &HolderView, facts: &mut Facts) {
    let Some(usage) = &holder.usage else { return };
    let state = usage.state.as_ref().map(|state| match state {
        'R' => "running",
        'S' => "sleeping: waits for something to happen",
        'D' => "waits for the disk or the driver, and can't be interrupted",
        'Z' => "zombie: it has ended, and its parent has not taken note",
        'T' => "stopped by a signal: SIGCONT lets it go on",
        't' => "stopped by a debugger",
        'I' => "idle",
        'X' | 'x' => "dead",
        _ => "in a state unknown here",
    });
    let percent = |what: &str, reading: &Reading<f32>| match reading {
        Ok(value) => format!("{value:.0}% of {what}"),
        Err(missing) => format!("{what}: {missing}"),
    };
    let (cpu, gpu) = (percent("a CPU core", &usage.cpu), percent("the card's time", &usage.gpu));
    let state = state.map_or_else(|missing| format!("state {missing}"), str::to_owned);
    facts.say("load", format!("{state}; {cpu}; {gpu}"));
    facts.read("host memory", &usage.rss, |rss| format!("{} GiB resident", gib(Some(*rss))));
}

/// What it holds on one card.
fn about_place(world: &World<'_>, view: &DeviceView, holder: &Arc<HolderView>, facts: &mut Facts) {
    let now = match (world.past, holder.gone_at) {
        (Some(t), _) => holder.used_at(t).ok_or(Missing::Unsupported("not known of that moment".into())),
        (None, Some(_)) => Ok(Bytes::ZERO),
        (None, None) => holder.holder.used.clone(),
    };
    let mut text = match &now {
        Ok(used) => {
            let share = view.total().ok().filter(|total| total.0 > 0);
            let share = share.map_or_else(String::new, |total| format!(" ({:.0}%)", used.0 as f64 / total.0 as f64 * 100.0));
            format!("{} GiB{share}", gib(Some(*used)))
        }
        Err(missing) => missing.to_string(),
    };
    let peak = match (world.past, &holder.series) {
        (Some(t), Some(series)) => peak_until(holder.peak, series, t),
        _ => holder.peak.map(|(at, peak)| (Some(at), peak)),
    };
    match peak {
        Some((Some(at), peak)) => say(&mut text, format_args!("; peak {} at {}", gib(Some(peak)), world.time(at))),
        Some((None, peak)) => say(&mut text, format_args!("; peak so far {}", gib(Some(peak)))),
        None => {}
    }
    if let (Some((_, mark)), Some((_, peak)), None) = (world.snapshot.marks.last(), holder.peak_since_mark, world.past) {
        say(&mut text, format_args!("; {} at most since {mark}", gib(Some(peak))));
    }
    let grown = world.grown(view.gpu());
    if let Some(change) = grown.and_then(|grown| grown.holder(holder)) {
        say(&mut text, format_args!("; {}", over_time(world, grown, change)));
    }
    if let Some(instance) = holder.holder.instance {
        say(&mut text, format_args!("; in the MIG instance GPU {instance}"));
    }
    let kind = holder.kind().to_string();
    if !kind.is_empty() {
        say(&mut text, format_args!("; {kind}"));
    }
    facts.say(&format!("GPU {}", view.gpu()), text);
}

/// `+2.90 in 2m00s`.
fn over_time(world: &World<'_>, grown: Option<&Grown>, change: i64) -> String {
    let time = grown.map_or(Period::ZERO, |grown| grown.to.since(grown.from));
    format!("{} in {time}", signed(change, world.glyphs.minus))
}

/// What the driver's own accounting adds to the peaks that were seen, or what may have been missed without it.
fn about_peak(world: &World<'_>, places: &[(&Arc<DeviceView>, &Arc<HolderView>)], facts: &mut Facts) {
    let Some((view, holder)) = places.iter().find(|(_, holder)| holder.gone_at.is_none()) else { return };
    if world.past.is_some() {
        return;
    }
    let interval = view.process_pace.map(|pace| pace.achieved.unwrap_or(pace.asked));
    match holder.usage.as_ref().map(|usage| &usage.accounted) {
        Some(Ok(accounted)) => {
            let seen = holder.peak.map_or(Bytes::ZERO, |(_, peak)| peak);
            let beyond = accounted.saturating_sub(seen);
            let than = if beyond.0 > 0 { format!(", {beyond} more than was sampled") } else { ", as was sampled".to_owned() };
            facts.say("accounted", format!("the driver counts {} GiB at most since its start{than}", gib(Some(*accounted))));
        }
        why => {
            let every = interval.map_or_else(String::new, |every| format!(", every {every}"));
            facts.say(
                "blind spot",
                format!(
                    "its peak is sampled with the process lists{every}: a shorter spike is missed here, though not in the card's own \
                     line"
                ),
            );
            match why {
                Some(Err(missing)) if !missing.to_string().contains("accounting is off") => {
                    facts.say("accounted", missing.to_string());
                }
                _ => facts.say("accounted", "no: with nvidia-smi --accounting-mode=1, as root, the driver would count it"),
            }
        }
    }
}

fn job(world: &World<'_>, leader: ProcessKey) -> Option<Subject> {
    let of_job = move |holder: &HolderView| {
        holder.process.as_ref().and_then(|process| process.job.as_ref()).is_some_and(|job| job.leader == leader)
    };
    let places = places(world, of_job);
    let (_, first) = places.first()?;
    let job = first.process.as_ref()?.job.as_ref()?;
    let mut facts = Facts::default();
    facts.read("command", &job.command, ToString::to_string);
    let how = match &*job.launcher {
        "fork" => "a program and the children that it forked".to_owned(),
        "tree" => "the process tree that is watched".to_owned(),
        launcher => format!("{launcher} and what it started"),
    };
    facts.say("job", format!("{how}; led by pid {}", leader.pid));
    let whole = world.jobs().get(&leader);
    if let Some(whole) = whole {
        let user = whole.user.as_deref().unwrap_or("of several users");
        facts.say("owner", format!("{user}; {}", whole.relation));
        let cards = if whole.on.len() == 1 { "1 card".to_owned() } else { format!("{} cards", whole.on.len()) };
        facts.say("memory", format!("{} GiB of {} processes on {cards}", gib(whole.used()), whole.processes()));
        for (gpu, used) in &whole.on {
            let left = world.card(*gpu).and_then(|card| card.figures.free).filter(|_| world.past.is_none());
            let left = left.map_or_else(String::new, |left| format!("; {} GiB left there", gib(Some(left))));
            let tight = if whole.tightest.is_some_and(|(tightest, _)| tightest == *gpu) && whole.on.len() > 1 {
                ", the tightest"
            } else {
                ""
            };
            facts.say(&format!("GPU {gpu}"), format!("{} GiB{left}{tight}", gib(*used)));
        }
    } else {
        facts.note("memory", "none of its processes holds memory at this moment");
    }
    for (at, (view, holder)) in places.iter().enumerate() {
        let used = match world.past {
            Some(t) => holder.used_at(t),
            None => holder.used().filter(|_| holder.gone_at.is_none()),
        };
        let peak = holder
            .peak
            .filter(|_| world.past.is_none())
            .map_or_else(String::new, |(_, peak)| format!(", peak {}", gib(Some(peak))));
        let grew =
            world.grown(view.gpu()).and_then(|grown| grown.holder(holder)).filter(|change| change.unsigned_abs() >= 16 << 20);
        let grew = grew.map_or_else(String::new, |change| format!(", {}", signed(change, world.glyphs.minus)));
        let ended = holder.gone_at.map_or_else(String::new, |gone| format!(", ended {}", world.time(gone)));
        let size = if holder.gone_at.is_some() && world.past.is_none() { String::new() } else { format!(": {} GiB", gib(used)) };
        let label = if at == 0 { "processes" } else { "" };
        facts.say(label, format!("{} ({}) on GPU {}{size}{peak}{grew}{ended}", short_name(holder), holder.pid(), view.gpu()));
    }
    let mut curves: Vec<Curve> = Vec::new();
    let mut gpus: Vec<Gpu> = places.iter().map(|(view, _)| view.gpu()).collect();
    gpus.dedup();
    for gpu in gpus {
        let here: Vec<_> = places.iter().filter(|(view, _)| view.gpu() == gpu).collect();
        let holders: Vec<&Arc<HolderView>> = here.iter().map(|(_, holder)| *holder).collect();
        curves.extend(here.first().and_then(|(view, _)| curve(world, view, &holders)));
    }
    let slice = whole.map_or(Slice::of(first.relation()), |whole| Slice::of(whole.relation));
    Some(Subject { title: format!("job {} ({})", job.title(), leader.pid), slice, facts: facts.0, curves })
}

/// The memory of processes on a card over time.
fn curve(world: &World<'_>, view: &DeviceView, holders: &[&Arc<HolderView>]) -> Option<Curve> {
    let series: Vec<Arc<Series>> = holders.iter().filter_map(|holder| holder.series.clone()).collect();
    over(world, view, series)
}

fn over(world: &World<'_>, view: &DeviceView, series: Vec<Arc<Series>>) -> Option<Curve> {
    let (from, to) = (world.window.0, world.now);
    let width = to.since(from);
    let top = series.iter().filter_map(|series| series.span(from, width, to).max()).sum::<Bytes>();
    (top.0 > 0).then(|| Curve { title: format!("GPU {}", view.gpu()), series, top })
}

fn unattributed(world: &World<'_>, gpu: Gpu) -> Option<Subject> {
    let card = world.card(gpu)?;
    let view = card.view;
    let mut facts = Facts::default();
    let figures = &card.figures;
    match figures.unattributed {
        Some(amount) => facts.say(
            "what",
            format!("{} GiB of GPU {gpu} are in use, and no process of the driver's list holds them", gib(Some(amount))),
        ),
        None => facts
            .say("what", format!("{} GiB of GPU {gpu} are in use; which process holds how much is not told", gib(figures.used))),
    }
    if let Some(beyond) = figures.beyond {
        facts.say("beyond", format!("the processes add up to {beyond} more than is used: list and memory are two readings"));
    }
    if world.past.is_none() {
        match view.unattributed_since {
            Some((since, least)) if world.now.since(since) >= PERSISTENT => facts.note(
                "since",
                format!("{}, for {}, and never less than {} GiB", world.time(since), world.now.since(since), gib(Some(least))),
            ),
            Some((since, _)) => {
                let age = world.now.since(since);
                facts.say("since", format!("{age}: contexts being made or torn down look like this for a moment"));
            }
            None if figures.unattributed.is_some() => {
                facts.say("size", "as much as drivers and libraries keep on any busy card");
            }
            None => {}
        }
    }
    let grown = world.grown(gpu);
    if let Some(change) = grown.and_then(Grown::unattributed) {
        facts.say("change", format!("{} GiB", over_time(world, grown, change)));
    }
    if world.past.is_some() {
        facts.say("why", "causes are looked for in the present only");
    } else {
        for (at, cause) in Cause::of(view, world.snapshot).iter().enumerate() {
            facts.say(if at == 0 { "may be" } else { "" }, cause.text());
            if let Some(remedy) = remedy(cause) {
                facts.note("", remedy);
            }
        }
        if let Err(missing) = &world.snapshot.handles {
            facts.say("open nodes", format!("who has the device open without standing in a list: {missing}"));
        }
    }
    let curves = over(world, view, vec![Arc::clone(&view.unattributed)]).into_iter().collect();
    let slice = if figures.unattributed.is_some() { Slice::Unattributed } else { Slice::InUse };
    Some(Subject { title: format!("{} on GPU {gpu}", slice.name()), slice, facts: facts.0, curves })
}

/// What can be done about a cause.
fn remedy(cause: &Cause) -> Option<&'static str> {
    Some(match cause {
        Cause::Left(_) => {
            "wait some seconds; if it stays, look for a child or a parent that still has the device open (fuser -v /dev/nvidia*)"
        }
        Cause::Open(_) => "end them if they are yours, or ask their owner; a zombie goes when its parent ends",
        Cause::OtherNamespace => "in Kubernetes: hostPID: true",
        Cause::Mps => "echo get_server_list | nvidia-cuda-mps-control names its servers",
        Cause::NoHolders => "as root: fuser -v /dev/nvidia*; where nobody has it open, nvidia-smi --gpu-reset frees it",
        Cause::NotSearched(_) | Cause::SizesNotTold | Cause::NoList | Cause::Numa | Cause::ManagedOrDriver => return None,
    })
}

fn others(world: &World<'_>, gpu: Gpu) -> Option<Subject> {
    let view = world.card(gpu)?.view;
    let mut facts = Facts::default();
    facts.say("what", "processes beyond the 16 largest of the card: their memory is kept as one sum");
    let now = world.past.map_or_else(|| view.others.newest().map(|(_, size)| size), |t| view.others.at(t));
    facts.say("memory", format!("{} GiB", gib(now)));
    let known = world.past.map_or(0, |t| holders_at(view, t).count());
    if known > 0 {
        facts.say("beside", format!("{known} processes with a history of their own"));
    }
    let curves = over(world, view, vec![Arc::clone(&view.others)]).into_iter().collect();
    Some(Subject { title: format!("others on GPU {gpu}"), slice: Slice::Unknown, facts: facts.0, curves })
}

/// Whether memory of nobody on a card is more than a moment's, and since when.
pub fn persistent(view: &DeviceView, now: Timestamp) -> Option<(Timestamp, Bytes)> {
    view.unattributed_since.filter(|(since, _)| now.since(*since) >= PERSISTENT)
}
