//! `once`: one snapshot as a table for people. Plain text without escape codes, at any width.
//!
//! ```text
//! node17   nvml   driver 570.86.15   CUDA 12.8   2026-11-30 14:00:03
//!
//!  GPU  sizes in GiB             used   free reserved  total   peak   util   temp   power
//!    0  NVIDIA H100 80GB HBM3    59.5   20.0     0.47   80.0   59.5    97%   61°C   512 W
//!            pid  user       whose   kind    used   peak  command
//!           4242  user1      mine    C       43.0   43.0  python train.py --batch-size 64
//!              -  unattributed               16.5
//! ```

use std::fmt::Write;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::figures::Figures;
use super::problems::{Problem, problems};
use super::prose::wrap;
use crate::domain::bytes::three_digits;
use crate::domain::{
    Bytes, DeviceState, DeviceView, HolderView, JobView, Missing, Reading, Relation, Snapshot, Timestamp, UserTotal, Wall,
};

/// How the table is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Columns at hand; none where nothing has to fit, such as a pipe: then nothing is cut.
    pub width: Option<u16>,
    /// Only ASCII characters.
    pub ascii: bool,
    /// The wall clock in UTC instead of the local time zone.
    pub utc: bool,
}

/// Columns taken by the figures that every device has, right of its name.
const FIGURES: usize = 4 * 7 + 6 + 7 + 8;
/// Columns of what the driver keeps, where some device tells it.
const RESERVED: usize = 9;
/// Columns of what a new allocation can have, where that is not what is free.
const AVAILABLE: usize = 10;
/// Columns of a state, where some device is not well.
const STATE: usize = 2 + "stalled".len();
/// Columns left of a name.
const INDEX: usize = 6;

/// The columns that this table has.
#[derive(Clone, Copy)]
struct Columns {
    /// The width of a line; none for any.
    line: Option<usize>,
    /// The width of a device's name.
    name: usize,
    /// Whether some device tells what is reserved.
    reserved: bool,
    /// Whether some device has headroom that is not what is free.
    available: bool,
}

impl Columns {
    fn of(snapshot: &Snapshot, look: Look) -> Self {
        let any = |test: fn(&Figures) -> bool| snapshot.devices.iter().any(|view| test(&Figures::of(view)));
        let reserved = any(|figures| figures.reserved.is_some_and(|bytes| bytes > Bytes::ZERO));
        let available = any(|figures| figures.headroom.is_some() && figures.headroom != figures.free);
        let well = snapshot.devices.iter().all(|view| view.state == DeviceState::Ok);
        let optional = [(reserved, RESERVED), (available, AVAILABLE), (!well, STATE)];
        let taken = INDEX + FIGURES + optional.iter().filter(|(on, _)| *on).map(|(_, width)| width).sum::<usize>();
        let line = look.width.map(usize::from);
        let longest = snapshot.devices.iter().map(|view| name(view).width()).max().unwrap_or(0);
        let name = match line {
            Some(line) => line.saturating_sub(taken).clamp(8, 32),
            None => longest.max(32),
        };
        Self { line, name, reserved, available }
    }

    /// The cells right of a name.
    fn cells(self, reserved: &str, available: &str, [used, free, total, peak, util, temp, power]: [&str; 7]) -> String {
        let reserved = if self.reserved { format!("{reserved:>RESERVED$}") } else { String::new() };
        let available = if self.available { format!("{available:>AVAILABLE$}") } else { String::new() };
        format!("{used:>7}{free:>7}{reserved}{total:>7}{available}{peak:>7}{util:>6}{temp:>7}{power:>8}")
    }
}

/// The table. `now` is the stream's clock at this moment.
pub fn table(snapshot: &Snapshot, now: Timestamp, look: Look) -> String {
    let mut out = String::new();
    title(&mut out, snapshot, now, look);
    let columns = Columns::of(snapshot, look);
    if snapshot.devices.is_empty() {
        out.push_str("\nNo device.\n");
    } else {
        let head = columns.cells("reserved", "available", ["used", "free", "total", "peak", "util", "temp", "power"]);
        let _ = writeln!(out, "\n {:>3}  {}{head}", "GPU", fit("sizes in GiB", columns.name));
    }
    for view in &snapshot.devices {
        device(&mut out, snapshot, view, columns, look);
    }
    jobs(&mut out, snapshot, columns.line);
    users(&mut out, snapshot, columns.line);
    if let Some(host) = snapshot.host {
        let (available, total) = (digits(host.available), digits(host.total));
        let (swap, swap_total) = (digits(host.swap_used), digits(host.swap_total));
        let _ = writeln!(out, "\nhost memory: {available} of {total} GiB available, {swap} of {swap_total} GiB swap used");
    }
    notes(&mut out, &problems(snapshot, now), columns.line);
    if look.ascii { plain(&out) } else { out }
}

fn title(out: &mut String, snapshot: &Snapshot, now: Timestamp, look: Look) {
    let Some(header) = snapshot.header.as_deref() else { return };
    let mut parts: Vec<String> = Vec::new();
    if header.simulated {
        parts.push("SIMULATED".to_owned());
    }
    parts.extend(header.host.as_ref().map(ToString::to_string));
    parts.push(header.source.to_string());
    parts.extend(header.driver.as_ref().ok().map(|version| format!("driver {version}")));
    parts.extend(header.cuda.as_ref().ok().map(|version| format!("CUDA {version}")));
    parts.extend(clock(header.created.after(now), look.utc));
    let _ = writeln!(out, "{}", within(&parts.join("   "), look.width.map(usize::from)));
}

/// Date and time of day, with the zone where it is not the local one.
fn clock(wall: Wall, utc: bool) -> Option<String> {
    let time = jiff::Timestamp::from_microsecond(wall.0).ok()?;
    Some(if utc {
        time.to_zoned_datetime(jiff::tz::TimeZone::UTC).strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
    } else {
        time.to_zoned_datetime(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()
    })
}

/// What a device is called; instances are indented under their GPU.
fn name(view: &DeviceView) -> String {
    match (&view.device.name, &view.device.parent) {
        (Ok(title), None) => title.to_string(),
        (Err(_), None) => view.device.id.to_string(),
        (title, Some(_)) => format!("  MIG {}", title.as_deref().unwrap_or(&view.device.id.0)),
    }
}

fn device(out: &mut String, snapshot: &Snapshot, view: &DeviceView, columns: Columns, look: Look) {
    let figures = Figures::of(view);
    let missing = view.memory.as_ref().err();
    let row = columns.cells(
        &gib(figures.reserved, missing),
        &gib(figures.headroom, missing),
        [
            &gib(figures.used, missing),
            &gib(figures.free, missing),
            &gib(figures.total, missing),
            &gib(view.peak.map(|(_, peak)| peak), missing),
            &number(&view.utilization, "%"),
            &number(&view.temperature, if look.ascii { " C" } else { "°C" }),
            &number(&view.power, " W"),
        ],
    );
    let state = if view.state == DeviceState::Ok { String::new() } else { format!("  {}", view.state) };
    let _ = writeln!(out, " {:>3}  {}{row}{state}", view.gpu(), fit(&name(view), columns.name));
    holders(out, snapshot, view, &figures, columns.line);
}

fn holders(out: &mut String, snapshot: &Snapshot, view: &DeviceView, figures: &Figures, width: Option<usize>) {
    let list = match &view.holders {
        Ok(list) => list,
        Err(missing) => {
            let _ = writeln!(out, "        processes: {}", missing.word());
            return;
        }
    };
    if !list.is_empty() {
        let _ =
            writeln!(out, "      {:>8}  {:<10} {:<8}{:<5}{:>7}{:>7}  command", "pid", "user", "whose", "kind", "used", "peak");
    }
    for holder in list.iter() {
        let row = format!(
            "      {:>8}  {} {:<8}{:<5}{:>7}{:>7}  {}",
            holder.pid().0,
            fit(&user(holder), 10),
            whose(holder),
            holder.kind().to_string(),
            gib(holder.used(), holder.holder.used.as_ref().err()),
            gib(holder.peak.map(|(_, peak)| peak), None),
            command(snapshot, view, holder),
        );
        let _ = writeln!(out, "{}", within(&row, width).trim_end());
    }
    for (what, bytes) in [
        ("unattributed", figures.unattributed),
        ("unexplained", figures.unexplained),
        ("listed beyond what is used", figures.excess),
    ] {
        if let Some(bytes) = bytes.filter(|&bytes| bytes > Bytes::ZERO) {
            let _ = writeln!(out, "      {:>8}  {:<24}{:>7}", "-", cut(what, 24), digits(bytes));
        }
    }
}

/// The jobs of several processes, each in a sentence.
fn jobs(out: &mut String, snapshot: &Snapshot, width: Option<usize>) {
    let jobs: Vec<JobView> = snapshot.jobs().into_iter().filter(|job| job.members.len() > 1).collect();
    if !jobs.is_empty() {
        out.push('\n');
    }
    for view in jobs {
        let job = &view.job;
        let gpus: Vec<String> = view.on.keys().map(ToString::to_string).collect();
        let tightest = view.tightest.filter(|_| gpus.len() > 1);
        let tightest =
            tightest.map_or_else(String::new, |(gpu, left)| format!("; tightest GPU {gpu}, {} GiB left", digits(left)));
        let line = format!(
            "job {} (pid {}): {} processes hold {} GiB on GPU {}{tightest}",
            job.title(),
            job.leader.pid,
            view.processes(),
            gib(view.used(), None),
            gpus.join(", ")
        );
        wrap(out, &line, ["", "  "], width.unwrap_or(usize::MAX));
    }
}

/// What each user holds on all cards, where there are several.
fn users(out: &mut String, snapshot: &Snapshot, width: Option<usize>) {
    let totals = snapshot.users();
    if totals.len() < 2 {
        return;
    }
    let one = |total: &UserTotal| {
        let name = total.user.as_deref().unwrap_or("unknown");
        let more = if total.partial { " and more" } else { "" };
        let many = if total.processes == 1 { "1 process" } else { &format!("{} processes", total.processes) };
        format!("{name} {} GiB{more} in {many}", digits(total.used))
    };
    let line = totals.iter().map(one).collect::<Vec<_>>().join("; ");
    out.push('\n');
    wrap(out, &format!("users: {line}"), ["", "  "], width.unwrap_or(usize::MAX));
}

fn user(holder: &HolderView) -> String {
    holder.process.as_ref().and_then(|process| process.user.as_ref().ok()).map_or_else(|| "?".to_owned(), ToString::to_string)
}

fn whose(holder: &HolderView) -> &'static str {
    match holder.relation() {
        Relation::Job => "job",
        Relation::Mine => "mine",
        Relation::Foreign => "foreign",
        Relation::System => "system",
        Relation::Unknown => "unknown",
    }
}

/// What runs, and on a MIG parent in which instance.
fn command(snapshot: &Snapshot, view: &DeviceView, holder: &HolderView) -> String {
    let command = match holder.process.as_ref().map(|process| &process.command) {
        Some(Ok(command)) => command.to_string(),
        Some(Err(missing)) => missing.word().to_owned(),
        None => "not visible from here".to_owned(),
    };
    match holder.holder.instance.and_then(|gpu| snapshot.device(gpu)) {
        Some(instance) if instance.gpu() != view.gpu() => format!("[GPU {}] {command}", instance.gpu()),
        _ => command,
    }
}

/// Everything that is N/A above, with its reason; one that several devices have stands once.
fn notes(out: &mut String, problems: &[Problem], width: Option<usize>) {
    if !problems.is_empty() {
        out.push('\n');
    }
    let mut lines: Vec<(Vec<String>, String)> = Vec::new();
    for problem in problems {
        let line = problem.line();
        match lines.iter_mut().find(|(gpus, known)| *known == line && gpus.is_empty() == problem.gpu.is_none()) {
            Some((gpus, _)) => gpus.extend(problem.gpu.map(|gpu| gpu.to_string())),
            None => lines.push((problem.gpu.iter().map(ToString::to_string).collect(), line)),
        }
    }
    for (gpus, line) in lines {
        let at = if gpus.is_empty() { String::new() } else { format!("GPU {}: ", gpus.join(", ")) };
        wrap(out, &format!("{at}{line}"), ["", "  "], width.unwrap_or(usize::MAX));
    }
}

fn gib(bytes: Option<Bytes>, missing: Option<&Missing>) -> String {
    bytes.map_or_else(|| missing.map_or("N/A", Missing::word).to_owned(), digits)
}

/// A size in GiB; little is not nothing.
fn digits(bytes: Bytes) -> String {
    if bytes > Bytes::ZERO && bytes < Bytes::mib(5) { "<0.01".to_owned() } else { three_digits(bytes.as_gib()) }
}

fn number(reading: &Reading<f32>, unit: &str) -> String {
    reading.as_ref().map_or_else(|missing| missing.word().to_owned(), |value| format!("{value:.0}{unit}"))
}

/// A text in exactly `width` columns.
fn fit(text: &str, width: usize) -> String {
    let mut out = cut(text, width);
    let have = out.width();
    out.extend(std::iter::repeat_n(' ', width.saturating_sub(have)));
    out
}

/// A text cut to a width where there is one.
fn within(text: &str, width: Option<usize>) -> String {
    width.map_or_else(|| text.to_owned(), |width| cut(text, width))
}

/// A text in at most `width` columns; one that is cut ends in `…`.
fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut column = 0;
    for c in text.chars() {
        column += c.width().unwrap_or(0);
        if column >= width {
            break;
        }
        out.push(c);
    }
    out.push('…');
    out
}

/// The same in ASCII: what has no ASCII form shows as `?`.
fn plain(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '…' => '~',
            'µ' => 'u',
            '·' => '.',
            '–' | '−' => '-',
            c if c.is_ascii() => c,
            _ => '?',
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::fixture;

    fn drawn(width: u16, ascii: bool) -> String {
        table(&fixture::snapshot(), fixture::NOW, Look { width: Some(width), ascii, utc: true })
    }

    #[test]
    fn what_is_missing_says_why() {
        insta::assert_snapshot!("table_100", drawn(100, false));
    }

    #[test]
    fn it_fits_any_width() {
        for width in [40, 60, 80, 100, 160] {
            for line in drawn(width, false).lines() {
                let least = INDEX + 8 + FIGURES + RESERVED + STATE;
                assert!(line.width() <= usize::from(width).max(least), "{width}: {line}");
            }
        }
        let whole = table(&fixture::snapshot(), fixture::NOW, Look { width: None, ascii: false, utc: true });
        assert!(whole.contains("a-name-that-goes-on-and-on --epochs 100\n") && !whole.contains("\n  or"), "{whole}");
        assert!(drawn(100, true).is_ascii());
    }

    #[test]
    fn one_reason_of_several_devices_stands_once() {
        let problem = |gpu: Option<u32>, what: &str, reason: &'static str| Problem {
            gpu: gpu.map(crate::domain::Gpu),
            what: what.to_owned(),
            why: String::new(),
            missing: Some(Missing::Unsupported(reason.into())),
            fix: None,
        };
        let mut out = String::new();
        let several = [(1, "utilization", "MIG"), (2, "power", "MIG"), (3, "utilization", "MIG")];
        let several: Vec<Problem> = several.into_iter().map(|(gpu, what, why)| problem(Some(gpu), what, why)).collect();
        notes(&mut out, &several, Some(80));
        assert_eq!(out, "\nGPU 1, 3: utilization N/A: MIG\nGPU 2: power N/A: MIG\n");
    }

    #[test]
    fn texts_are_cut_by_columns() {
        for (text, width, cut_text) in [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("日本語", 5, "日本…"), ("日本語", 4, "日…")]
        {
            assert_eq!(cut(text, width), cut_text);
            assert!(cut(text, width).width() <= width);
        }
        assert_eq!(fit("日", 4), "日  ");
    }
}
