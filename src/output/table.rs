//! `once`: one snapshot as a table for people. Plain text without escape codes, at any width.
//!
//! ```text
//! node17   nvml   driver 570.86.15   CUDA 12.8   2026-11-30 14:00:03
//!
//!  GPU  sizes in GiB                       used   free  total   peak   util   temp   power
//!    0  NVIDIA H100 80GB HBM3              59.5   20.0   80.0   59.5    97%   61°C   512 W
//!            pid  user       whose   kind    used   peak  command
//!           4242  user1      mine    C       43.0   43.0  python train.py --batch-size 64
//!              -  unattributed               16.5
//! ```

use std::fmt::Write;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::figures::Figures;
use super::problems::{Problem, problems};
use crate::domain::bytes::three_digits;
use crate::domain::{Bytes, DeviceState, DeviceView, HolderView, Missing, Reading, Relation, Snapshot, Timestamp, Wall};

/// How the table is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Columns at hand.
    pub width: u16,
    /// Only ASCII characters.
    pub ascii: bool,
    /// The wall clock in UTC instead of the local time zone.
    pub utc: bool,
}

/// Columns taken by the figures of a device, right of its name.
const FIGURES: usize = 4 * 7 + 6 + 7 + 8;
/// Columns of a state, where some device is not well.
const STATE: usize = 2 + "stalled".len();
/// Columns left of a name.
const INDEX: usize = 6;

/// The table. `now` is the stream's clock at this moment.
pub fn table(snapshot: &Snapshot, now: Timestamp, look: Look) -> String {
    let mut out = String::new();
    title(&mut out, snapshot, now, look);
    let well = snapshot.devices.iter().all(|view| view.state == DeviceState::Ok);
    let state = if well { 0 } else { STATE };
    let name = usize::from(look.width).saturating_sub(INDEX + FIGURES + state).clamp(8, 32);
    if snapshot.devices.is_empty() {
        out.push_str("\nNo device.\n");
    } else {
        let head = format!("{:>7}{:>7}{:>7}{:>7}{:>6}{:>7}{:>8}", "used", "free", "total", "peak", "util", "temp", "power");
        let _ = writeln!(out, "\n {:>3}  {}{head}", "GPU", fit("sizes in GiB", name));
    }
    for view in &snapshot.devices {
        device(&mut out, snapshot, view, name, look);
    }
    if let Some(host) = snapshot.host {
        let (available, total) = (digits(host.available), digits(host.total));
        let (swap, swap_total) = (digits(host.swap_used), digits(host.swap_total));
        let _ = writeln!(out, "\nhost memory: {available} of {total} GiB available, {swap} of {swap_total} GiB swap used");
    }
    notes(&mut out, &problems(snapshot, now), usize::from(look.width));
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
    let _ = writeln!(out, "{}", cut(&parts.join("   "), usize::from(look.width)));
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

fn device(out: &mut String, snapshot: &Snapshot, view: &DeviceView, name: usize, look: Look) {
    let figures = Figures::of(view);
    let title = match (&view.device.name, &view.device.parent) {
        (Ok(title), None) => title.to_string(),
        (Err(_), None) => view.device.id.to_string(),
        (title, Some(_)) => format!("  MIG {}", title.as_deref().unwrap_or(&view.device.id.0)),
    };
    let missing = view.memory.as_ref().err();
    let row = format!(
        "{:>7}{:>7}{:>7}{:>7}{:>6}{:>7}{:>8}",
        gib(figures.used, missing),
        gib(figures.free, missing),
        gib(figures.total, missing),
        gib(view.peak.map(|(_, peak)| peak), missing),
        number(&view.utilization, "%"),
        number(&view.temperature, if look.ascii { " C" } else { "°C" }),
        number(&view.power, " W"),
    );
    let state = if view.state == DeviceState::Ok { String::new() } else { format!("  {}", view.state) };
    let _ = writeln!(out, " {:>3}  {}{row}{state}", view.gpu(), fit(&title, name));
    holders(out, snapshot, view, &figures, usize::from(look.width));
}

fn holders(out: &mut String, snapshot: &Snapshot, view: &DeviceView, figures: &Figures, width: usize) {
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
        let _ = writeln!(out, "{}", cut(&row, width).trim_end());
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

/// Everything that is N/A above, with its reason.
fn notes(out: &mut String, problems: &[Problem], width: usize) {
    if !problems.is_empty() {
        out.push('\n');
    }
    for problem in problems {
        let at = problem.gpu.map_or_else(String::new, |gpu| format!("GPU {gpu}: "));
        let fix = problem.fix.as_ref().map_or_else(String::new, |fix| format!(" ({fix})"));
        wrap(out, &format!("{at}{}: {}{fix}", problem.what, problem.why), width);
    }
}

/// Breaks a text at spaces; what follows the first line is indented.
fn wrap(out: &mut String, text: &str, width: usize) {
    let mut column = 0;
    for word in text.split_whitespace() {
        let wide = word.width();
        if column > 0 && column + 1 + wide > width {
            out.push_str("\n  ");
            column = 2;
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += wide;
    }
    out.push('\n');
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
        table(&fixture::snapshot(), fixture::NOW, Look { width, ascii, utc: true })
    }

    #[test]
    fn what_is_missing_says_why() {
        insta::assert_snapshot!("table_100", drawn(100, false));
    }

    #[test]
    fn it_fits_any_width() {
        for width in [40, 60, 80, 100, 160] {
            for line in drawn(width, false).lines() {
                assert!(line.width() <= usize::from(width).max(INDEX + 8 + FIGURES + STATE), "{width}: {line}");
            }
        }
        assert!(drawn(100, true).is_ascii());
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
