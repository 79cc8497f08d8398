//! The columns of the process table: one entry holds id, title, width, text, order and what the help says.

use std::borrow::Cow;

use super::rows::{Row, RowKind};
use super::world::World;
use crate::domain::bytes::three_digits;
use crate::domain::{Bytes, HolderView, Reading, Relation};

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
        text: |row, _| row.gpu.to_string().into(),
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
        text: |row, _| row.holder().map_or(Cow::Borrowed(""), |holder| holder.pid().to_string().into()),
        key: |row, _| row.holder().map_or(SortKey::Missing, |holder| SortKey::Number(f64::from(holder.pid().0))),
    },
    Column {
        id: "user",
        title: "user",
        width: 9,
        right: false,
        rank: 0,
        descending: false,
        help: "Its owner",
        text: |row, _| process_text(row, |process| process.user.as_deref().map_err(Clone::clone)),
        key: |row, _| process_key(row, |process| process.user.as_deref().map_err(Clone::clone)),
    },
    Column {
        id: "kind",
        title: "kind",
        width: 5,
        right: false,
        rank: 6,
        descending: false,
        help: "C compute, G graphics, M client of MPS",
        text: |row, _| row.holder().map_or(Cow::Borrowed(""), |holder| holder.kind().to_string().into()),
        key: |row, _| row.holder().map_or(SortKey::Missing, |holder| SortKey::Text(holder.kind().to_string())),
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
        id: "gpu%",
        title: "GPU%",
        width: 6,
        right: true,
        rank: 3,
        descending: true,
        help: "Percent of the card's time, over the last process interval",
        text: |row, world| usage(row, world, |usage| &usage.gpu, |gpu| format!("{gpu:.0}")),
        key: |row, world| usage_key(row, world, |usage| usage.gpu.as_ref().ok().map(|gpu| f64::from(*gpu))),
    },
    Column {
        id: "cpu%",
        title: "CPU%",
        width: 6,
        right: true,
        rank: 5,
        descending: true,
        help: "Percent of one core of the host",
        text: |row, world| usage(row, world, |usage| &usage.cpu, |cpu| format!("{cpu:.0}")),
        key: |row, world| usage_key(row, world, |usage| usage.cpu.as_ref().ok().map(|cpu| f64::from(*cpu))),
    },
    Column {
        id: "rss",
        title: "RSS",
        width: 6,
        right: true,
        rank: 7,
        descending: true,
        help: "Memory of the host that is resident, in GiB",
        text: |row, world| usage(row, world, |usage| &usage.rss, |rss| three_digits(rss.as_gib())),
        key: |row, world| usage_key(row, world, |usage| usage.rss.as_ref().ok().map(|rss| as_shown(*rss))),
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

/// The colour and the glyph that say whose a row is.
pub fn relation(row: &Row<'_>) -> super::cards::Slice {
    match row.kind {
        RowKind::Holder(holder) => super::cards::Slice::of(holder.relation()),
        RowKind::Unattributed => super::cards::Slice::Unattributed,
        RowKind::Others => super::cards::Slice::of(Relation::Unknown),
    }
}

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

fn reading<'r, T>(reading: &Reading<T>, text: impl Fn(&T) -> String) -> Cow<'r, str> {
    reading.as_ref().map_or_else(|missing| Cow::Borrowed(missing.word()), |value| Cow::Owned(text(value)))
}

fn process_of<'r>(row: &'r Row<'_>) -> Option<&'r crate::domain::Process> {
    row.holder().and_then(|holder| holder.process.as_deref())
}

fn process_text<'r>(row: &'r Row<'_>, get: impl Fn(&'r crate::domain::Process) -> Reading<&'r str>) -> Cow<'r, str> {
    match (process_of(row), row.holder()) {
        (Some(process), _) => get(process).map_or_else(|missing| Cow::Borrowed(missing.word()), Cow::Borrowed),
        (None, Some(_)) => Cow::Borrowed("?"),
        (None, None) => Cow::Borrowed(""),
    }
}

fn process_key<'r>(row: &'r Row<'_>, get: impl Fn(&'r crate::domain::Process) -> Reading<&'r str>) -> SortKey {
    process_of(row).and_then(|process| get(process).ok()).map_or(SortKey::Missing, |text| SortKey::Text(text.to_owned()))
}

/// Usage is known of now alone: the past keeps memory.
fn usage_of<'r>(row: &'r Row<'_>, world: &World<'_>) -> Option<&'r crate::domain::ProcessUsage> {
    row.holder().filter(|_| world.past.is_none()).and_then(|holder| holder.usage.as_ref())
}

fn usage<'r, T: 'r>(
    row: &'r Row<'_>,
    world: &World<'_>,
    get: impl Fn(&'r crate::domain::ProcessUsage) -> &'r Reading<T>,
    text: impl Fn(&T) -> String,
) -> Cow<'r, str> {
    // A process has them, but the past does not keep them.
    let none = if world.past.is_some() && row.holder().is_some() { "-" } else { "" };
    usage_of(row, world).map_or(Cow::Borrowed(none), |usage| reading(get(usage), text))
}

fn usage_key(row: &Row<'_>, world: &World<'_>, get: impl Fn(&crate::domain::ProcessUsage) -> Option<f64>) -> SortKey {
    usage_of(row, world).and_then(get).map_or(SortKey::Missing, SortKey::Number)
}

fn share(row: &Row<'_>) -> Option<f64> {
    let (used, total) = (row.used.as_ref().ok()?, row.total.filter(|total| total.0 > 0)?);
    Some(used.0 as f64 / total.0 as f64 * 100.0)
}

fn running(row: &Row<'_>, world: &World<'_>) -> Option<crate::domain::Period> {
    process_of(row)?.running(world.clock?.wall(world.moment()))
}

fn command<'r>(row: &'r Row<'_>, world: &World<'_>) -> Cow<'r, str> {
    match row.kind {
        RowKind::Unattributed => Cow::Borrowed("unattributed: used, but by no process of the list"),
        RowKind::Others => Cow::Borrowed("others: processes too small for a history of their own"),
        RowKind::Holder(holder) => holder_command(holder, world),
    }
}

fn holder_command<'r>(holder: &'r HolderView, world: &World<'_>) -> Cow<'r, str> {
    let text = match holder.process.as_ref().map(|process| &process.command) {
        Some(Ok(command)) => without_path(command),
        Some(Err(missing)) => missing.word(),
        None => "not visible from here",
    };
    match holder.gone_at.filter(|_| world.past.is_some()) {
        Some(gone) => format!("{text} (ended {})", world.time(gone)).into(),
        None => Cow::Borrowed(text),
    }
}

/// The command line without the folder of the program.
fn without_path(command: &str) -> &str {
    let end = command.find(' ').unwrap_or(command.len());
    let (program, _) = command.split_at(end);
    match program.rfind('/') {
        Some(slash) if slash + 1 < end && !program.starts_with('[') => command.split_at(slash + 1).1,
        _ => command,
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
        assert_eq!(without_path("/usr/bin/python3 /home/x/train.py"), "python3 /home/x/train.py");
        assert_eq!(without_path("[kworker/0:1]"), "[kworker/0:1]");
        assert_eq!(without_path("train /a/b"), "train /a/b");
    }
}
