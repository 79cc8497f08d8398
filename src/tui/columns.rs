//! The columns of the process table: one entry holds id, title, width, text, order and what the help says.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::grown::signed;
use super::rows::{JobRow, Row, RowKind};
use super::widgets::text::say;
use super::world::World;
use crate::domain::bytes::three_digits;
use crate::domain::command::{Invocation, Target, base};
use crate::domain::{Bytes, HolderView, ProcessKey, Reading, Relation};

/// What rows are ordered by. Missing values come last, whichever way round.
#[derive(Clone, Debug, PartialEq, PartialOrd)]
pub enum SortKey {
    /// Nothing known.
    Missing,
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
}

/// One column.
pub struct Column {
    /// What the configuration calls it.
    pub id: &'static str,
    /// Its header.
    pub title: &'static str,
    /// Its width; the last column takes the rest.
    pub width: u16,
    /// Whether it is aligned to the right, as numbers are.
    pub right: bool,
    /// Columns of a high rank give way first where the screen is narrow.
    pub rank: u8,
    /// Whether the largest come first.
    pub descending: bool,
    /// What it says, for the menu.
    pub help: &'static str,
    /// The text of a cell.
    pub text: for<'r> fn(&'r Row<'_>, &World<'_>) -> Cow<'r, str>,
    /// What a row is ordered by.
    pub key: fn(&Row<'_>, &World<'_>) -> SortKey,
}

/// Index into [`COLUMNS`] of the column that the table is first sorted by.
pub const BY_MEMORY: usize = 4;

/// All columns, in the order of the screen.
pub static COLUMNS: &[Column] = &[
    Column {
        id: "gpu",
        title: "GPU",
        width: 3,
        right: true,
        rank: 1,
        descending: false,
        help: "The card",
        text: |row, _| cards(row),
        key: |row, _| SortKey::Number(f64::from(row.gpu.0)),
    },
    Column {
        id: "pid",
        title: "pid",
        width: 7,
        right: true,
        rank: 0,
        descending: false,
        help: "Process id as the driver gives it",
        text: |row, _| row.pid().map_or(Cow::Borrowed(""), |pid| pid.to_string().into()),
        key: |row, _| row.pid().map_or(SortKey::Missing, |pid| SortKey::Number(f64::from(pid.0))),
    },
    Column {
        id: "user",
        title: "user",
        width: 9,
        right: false,
        rank: 0,
        descending: false,
        help: "Its owner",
        text: |row, _| user(row),
        key: |row, _| match &*user(row) {
            "" | "?" => SortKey::Missing,
            user => SortKey::Text(user.to_owned()),
        },
    },
    Column {
        id: "kind",
        title: "kind",
        width: 5,
        right: false,
        rank: 6,
        descending: false,
        help: "C compute, G graphics, M client of MPS",
        text: |row, _| kind(row).into(),
        key: |row, _| Some(kind(row)).filter(|kind| !kind.is_empty()).map_or(SortKey::Missing, SortKey::Text),
    },
    Column {
        id: "memory",
        title: "GiB",
        width: 6,
        right: true,
        rank: 0,
        descending: true,
        help: "Memory on the card",
        text: |row, _| reading(&row.used, |used| three_digits(used.as_gib())),
        key: |row, _| row.used.as_ref().map_or(SortKey::Missing, |used| SortKey::Number(as_shown(*used))),
    },
    Column {
        id: "share",
        title: "share",
        width: 6,
        right: true,
        rank: 4,
        descending: true,
        help: "Percent of the card's memory",
        text: |row, _| {
            share(row).map_or(Cow::Borrowed(""), |share| {
                // Little is not nothing.
                if share > 0.0 && share < 0.5 { "<1%".into() } else { format!("{share:.0}%").into() }
            })
        },
        key: |row, _| share(row).map_or(SortKey::Missing, |share| SortKey::Number(share.round())),
    },
    Column {
        id: "peak",
        title: "peak",
        width: 6,
        right: true,
        rank: 2,
        descending: true,
        help: "The most memory it was seen with, in GiB",
        text: |row, _| row.peak.map_or(Cow::Borrowed(""), |(_, peak)| three_digits(peak.as_gib()).into()),
        key: |row, _| row.peak.map_or(SortKey::Missing, |(_, peak)| SortKey::Number(as_shown(peak))),
    },
    Column {
        id: "marked",
        title: "marked",
        width: 6,
        right: true,
        rank: 2,
        descending: true,
        help: "The most memory since the last mark (m), in GiB",
        text: |row, _| row.marked.map_or(Cow::Borrowed(""), |marked| three_digits(marked.as_gib()).into()),
        key: |row, _| row.marked.map_or(SortKey::Missing, |marked| SortKey::Number(as_shown(marked))),
    },
    Column {
        id: "grew",
        title: "grew",
        width: 6,
        right: true,
        rank: 1,
        descending: true,
        help: "By how many GiB it grew over the time in sight; by its peaks where it swings",
        text: |row, world| row.change.map_or(Cow::Borrowed(""), |change| signed(change, world.glyphs.minus).into()),
        key: |row, _| row.change.map_or(SortKey::Missing, |change| SortKey::Number((change >> 20) as f64)),
    },
    Column {
        id: "gpu%",
        title: "GPU%",
        width: 6,
        right: true,
        rank: 3,
        descending: true,
        help: "Percent of the card's time, over the last process interval",
        text: |row, world| usage(row, world, |usage| number(&usage.gpu), |gpu| format!("{gpu:.0}")),
        key: |row, world| usage_key(row, world, |usage| number(&usage.gpu)),
    },
    Column {
        id: "cpu%",
        title: "CPU%",
        width: 6,
        right: true,
        rank: 5,
        descending: true,
        help: "Percent of one core of the host",
        text: |row, world| usage(row, world, |usage| number(&usage.cpu), |cpu| format!("{cpu:.0}")),
        key: |row, world| usage_key(row, world, |usage| number(&usage.cpu)),
    },
    Column {
        id: "rss",
        title: "RSS",
        width: 6,
        right: true,
        rank: 7,
        descending: true,
        help: "Memory of the host that is resident, in GiB",
        text: |row, world| usage(row, world, |usage| gib(&usage.rss), three_digits),
        key: |row, world| usage_key(row, world, |usage| gib(&usage.rss)),
    },
    Column {
        id: "time",
        title: "time",
        width: 7,
        right: true,
        rank: 5,
        descending: true,
        help: "How long it runs",
        text: |row, world| running(row, world).map_or(Cow::Borrowed(""), |running| running.to_string().into()),
        key: |row, world| running(row, world).map_or(SortKey::Missing, |running| SortKey::Number(running.0 as f64)),
    },
    Column {
        id: "command",
        title: "command",
        width: 20,
        right: false,
        rank: 0,
        descending: false,
        help: "Its command line",
        text: command,
        key: |row, world| SortKey::Text(command(row, world).into_owned()),
    },
];

/// A size as it stands in its column: rows are ordered by what can be seen, and keep their order while allocators
/// breathe below the last digit.
fn as_shown(size: Bytes) -> f64 {
    let gib = size.as_gib();
    let steps = match gib {
        ..9.995 => 100.0,
        ..99.95 => 10.0,
        _ => 1.0,
    };
    (gib * steps).round() / steps
}

impl Column {
    /// Its header on a screen: that of growth names the time.
    pub fn heading(&self, world: &World<'_>) -> Cow<'static, str> {
        if self.id == "grew" { format!("+{}", world.window_name).into() } else { Cow::Borrowed(self.title) }
    }
}

fn reading<'r, T>(reading: &Reading<T>, text: impl Fn(&T) -> String) -> Cow<'r, str> {
    reading.as_ref().map_or_else(|missing| Cow::Borrowed(missing.word()), |value| Cow::Owned(text(value)))
}

/// The cards of a row: of a job all, or how many.
fn cards<'r>(row: &'r Row<'_>) -> Cow<'r, str> {
    match &row.kind {
        RowKind::Job(JobRow { gpus, .. }) if gpus.len() > 1 => {
            let list = gpus.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
            if list.len() <= 3 { list.into() } else { format!("{}×", gpus.len()).into() }
        }
        _ => row.gpu.to_string().into(),
    }
}

fn user<'r>(row: &'r Row<'_>) -> Cow<'r, str> {
    match &row.kind {
        RowKind::Holder(holder) => match &holder.process {
            Some(process) => process.user.as_deref().map_or_else(|missing| Cow::Borrowed(missing.word()), Cow::Borrowed),
            None => Cow::Borrowed("?"),
        },
        RowKind::Job(job) => job.whole.user.as_deref().map_or(Cow::Borrowed("several"), Cow::Borrowed),
        _ => Cow::Borrowed(""),
    }
}

fn kind(row: &Row<'_>) -> String {
    let kinds = row.holders().map(HolderView::kind);
    kinds.reduce(crate::domain::HolderKind::union).map_or_else(String::new, |kind| kind.to_string())
}

fn number(reading: &Reading<f32>) -> Reading<f64> {
    reading.as_ref().map(|value| f64::from(*value)).map_err(Clone::clone)
}

fn gib(reading: &Reading<Bytes>) -> Reading<f64> {
    reading.as_ref().map(|size| size.as_gib()).map_err(Clone::clone)
}

/// Load: of a job the sum over its processes, each once. It is known of now alone: the past keeps memory.
fn load(row: &Row<'_>, world: &World<'_>, get: impl Fn(&crate::domain::ProcessUsage) -> Reading<f64>) -> Option<Reading<f64>> {
    if world.past.is_some() {
        return None;
    }
    let mut seen: BTreeSet<ProcessKey> = BTreeSet::new();
    let mut sum: Option<Reading<f64>> = None;
    for holder in row.holders() {
        let Some(usage) = &holder.usage else { continue };
        if !seen.insert(holder.key) {
            continue;
        }
        sum = Some(match (sum, get(usage)) {
            (None, value) => value,
            (Some(Ok(sum)), Ok(value)) => Ok(sum + value),
            (Some(Err(missing)), _) | (Some(Ok(_)), Err(missing)) => Err(missing),
        });
    }
    sum
}

fn usage<'r>(
    row: &'r Row<'_>,
    world: &World<'_>,
    get: impl Fn(&crate::domain::ProcessUsage) -> Reading<f64>,
    text: impl Fn(f64) -> String,
) -> Cow<'r, str> {
    // A process has them, but the past does not keep them.
    let none = if world.past.is_some() && row.holders().next().is_some() { "-" } else { "" };
    match load(row, world, get) {
        None => Cow::Borrowed(none),
        Some(Ok(value)) => text(value).into(),
        Some(Err(missing)) => missing.word().into(),
    }
}

fn usage_key(row: &Row<'_>, world: &World<'_>, get: impl Fn(&crate::domain::ProcessUsage) -> Reading<f64>) -> SortKey {
    match load(row, world, get) {
        Some(Ok(value)) => SortKey::Number(value.round()),
        _ => SortKey::Missing,
    }
}

fn share(row: &Row<'_>) -> Option<f64> {
    let (used, total) = (row.used.as_ref().ok()?, row.total.filter(|total| total.0 > 0)?);
    Some(used.0 as f64 / total.0 as f64 * 100.0)
}

/// How long it runs; of a job the longest of its processes.
fn running(row: &Row<'_>, world: &World<'_>) -> Option<crate::domain::Period> {
    let now = world.clock?.wall(world.moment());
    row.holders().filter_map(|holder| holder.process.as_ref()?.running(now)).max()
}

fn command<'r>(row: &'r Row<'_>, world: &World<'_>) -> Cow<'r, str> {
    match &row.kind {
        RowKind::Unattributed => Cow::Borrowed("unattributed: used, but by no process of the list"),
        RowKind::InUse => Cow::Borrowed("in use: the driver does not tell by which process"),
        RowKind::Others => Cow::Borrowed("others: processes too small for a history of their own"),
        RowKind::Holder(holder) => holder_command(holder, world),
        RowKind::Job(job) => job_text(job, world).into(),
    }
}

/// `4× torchrun train.py; tightest GPU 1, 3.1 left`; where only a part of it is here, with the whole sum.
fn job_text(row: &JobRow<'_>, world: &World<'_>) -> String {
    let job = &row.whole;
    let here = row.here.iter().map(|holder| holder.key).collect::<BTreeSet<_>>().len();
    let all = job.processes();
    let many = if here < all { format!("{here} of {all}") } else { all.to_string() };
    let mut text = format!("{many}× {}", job.job.title());
    if row.gpus.len() < job.on.len() {
        say(&mut text, format_args!("; {} on {} cards", super::world::gib(job.used()), job.on.len()));
    }
    if let Some((gpu, left)) = job.tightest.filter(|_| world.past.is_none() && job.on.len() > 1) {
        say(&mut text, format_args!("; tightest GPU {gpu}, {} left", super::world::gib(Some(left))));
    }
    text
}

fn holder_command<'r>(holder: &'r HolderView, world: &World<'_>) -> Cow<'r, str> {
    let text = match holder.process.as_ref().map(|process| &process.command) {
        Some(Ok(command)) => without_path(command),
        Some(Err(_)) if holder.relation() == Relation::Unknown => "not visible from here".into(),
        Some(Err(missing)) => missing.word().into(),
        None => "not visible from here".into(),
    };
    match holder.gone_at.filter(|_| world.past.is_some()) {
        Some(gone) => format!("{text} (ended {})", world.time(gone)).into(),
        None => text,
    }
}

/// The command line without the folders of the program and of the script that it runs: the names should be seen.
fn without_path(command: &str) -> Cow<'_, str> {
    let end = command.find(' ').unwrap_or(command.len());
    let (program, _) = command.split_at(end);
    let short = match program.rfind('/') {
        Some(slash) if slash + 1 < end && !program.starts_with('[') => command.split_at(slash + 1).1,
        _ => command,
    };
    match Invocation::parse(command).target {
        Target::Script(path) if path.contains('/') => short.replacen(path, base(path), 1).into(),
        _ => Cow::Borrowed(short),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn columns_have_their_own_names() {
        let ids: HashSet<_> = COLUMNS.iter().map(|column| column.id).collect();
        assert_eq!(ids.len(), COLUMNS.len());
        assert_eq!(COLUMNS[BY_MEMORY].id, "memory");
    }

    #[test]
    fn commands_lose_the_folder_of_their_program() {
        assert_eq!(without_path("/usr/bin/python3 /home/x/train.py"), "python3 train.py");
        assert_eq!(without_path("python -u -X dev /data/x/train.py --bs 64"), "python -u -X dev train.py --bs 64");
        assert_eq!(without_path("[kworker/0:1]"), "[kworker/0:1]");
        assert_eq!(without_path("train /a/b"), "train /a/b");
    }
}
