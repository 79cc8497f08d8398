//! Recordings of other tools as samples, as far as the tests of the analyst need them: `nvidia-smi` CSV and bare CSV, its
//! screens, and `gpustat`.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::civil::DateTime;
use vramscope::domain::{
    Bytes, Device, DeviceId, Gpu, Header, Holder, HolderKind, MemoryFigures, MemoryKind, Missing, Pid, Sample, SampleBody,
    Timestamp, Usage, Wall,
};

/// One row or screen of one card.
#[derive(Debug, Default)]
struct Row {
    time: Option<DateTime>,
    gpu: u32,
    /// MiB; none where the tool said that there is none.
    used: Option<u64>,
    total: Option<u64>,
    load: Option<f32>,
    /// pid and MiB; none where the form has no lists.
    holders: Option<Vec<(u32, u64)>>,
}

/// The samples of a recording. A total that it does not tell is given, in MiB; rows without a time are a second apart.
pub fn samples(bytes: &[u8], total: Option<u64>) -> Result<Vec<Sample>, &'static str> {
    let text = decode(bytes);
    let rows = if text.contains("| NVIDIA-SMI") {
        screens(&text)
    } else if text.lines().any(|line| line.starts_with('[') && line.contains(" MB |")) {
        gpustat(&text)
    } else {
        csv(&text)
    };
    if rows.is_empty() {
        return Err("none of the forms that this test reads");
    }
    if rows.iter().all(|row| row.used.is_none()) {
        return Err("no reading is usable");
    }
    if total.is_none() && rows.iter().any(|row| row.total.is_none()) {
        return Err("no total");
    }
    Ok(stream(&rows, total))
}

fn decode(bytes: &[u8]) -> String {
    match bytes {
        [0xff, 0xfe, rest @ ..] => {
            let units: Vec<u16> = rest.as_chunks().0.iter().map(|pair| u16::from_le_bytes(*pair)).collect();
            String::from_utf16_lossy(&units)
        }
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// The number that a text begins with: `1129 MiB`, `97`, `604.0`.
fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    text.get(..end)?.parse().ok()
}

/// `2026/02/11 12:32:29.713` and `2025-05-27 07:57:14`.
fn stamp(text: &str) -> Option<DateTime> {
    text.trim().replace('/', "-").replacen(' ', "T", 1).parse().ok()
}

/// `Thu Nov 10 12:43:38 2022`, anywhere in a line.
fn long_stamp(line: &str) -> Option<DateTime> {
    let words: Vec<&str> = line.split_whitespace().collect();
    words.windows(5).find_map(|words| DateTime::strptime("%a %b %d %H:%M:%S %Y", words.join(" ")).ok())
}

fn csv(text: &str) -> Vec<Row> {
    let mut header: Option<Vec<&str>> = None;
    let mut rows = Vec::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.trim_start_matches('\u{feff}').split(',').map(str::trim).collect();
        let is_header = |name: &&str| ["memory.used", "used_gpu_memory", "vram_mb"].iter().any(|known| name.starts_with(known));
        if fields.iter().any(is_header) {
            header = Some(fields);
            continue;
        }
        let Some(names) = &header else { continue };
        let field = |wanted: &[&str]| {
            let place = names.iter().position(|name| wanted.iter().any(|known| name.starts_with(known)))?;
            fields.get(place).copied()
        };
        // A line that was cut has no figure, and is no reading.
        let Some(used) = field(&["memory.used", "used_gpu_memory", "vram_mb"]).filter(|used| !used.is_empty()) else { continue };
        rows.push(Row {
            time: field(&["timestamp"]).and_then(stamp),
            gpu: field(&["index"]).and_then(number).unwrap_or(0.0) as u32,
            used: number(used).map(|used| used as u64),
            total: field(&["memory.total"]).and_then(number).map(|total| total as u64),
            load: field(&["utilization.gpu", "gpu_util"]).and_then(number).map(|load| load as f32),
            holders: None,
        });
    }
    rows
}

fn gpustat(text: &str) -> Vec<Row> {
    let mut time = None;
    let mut rows = Vec::new();
    for line in text.lines() {
        time = long_stamp(line).or(time);
        let parts: Vec<&str> = line.split('|').collect();
        let [card, state, .., memory, holders] = parts.as_slice() else { continue };
        let Some((used, total)) = memory.split_once('/') else { continue };
        // `user:command/pid(size M)`
        let holder = |word: &str| {
            let (pid, size) = word.rsplit_once('/')?.1.split_once('(')?;
            Some((pid.parse().ok()?, number(size)? as u64))
        };
        rows.push(Row {
            time,
            gpu: number(card.trim_start_matches('[')).unwrap_or(0.0) as u32,
            used: number(used).map(|used| used as u64),
            total: number(total).map(|total| total as u64),
            load: state.split(',').nth(2).and_then(number).map(|load| load as f32),
            holders: Some(holders.split_whitespace().filter_map(holder).collect()),
        });
    }
    rows
}

fn screens(text: &str) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let (mut time, mut card, mut of_screen, mut instances, mut processes) = (None, 0, 0, false, false);
    for line in text.lines() {
        if line.starts_with('|') && line.contains("NVIDIA-SMI") {
            (of_screen, instances, processes) = (rows.len(), false, false);
        } else if line.contains("MIG devices") {
            instances = true;
        } else if line.contains("Processes:") {
            (instances, processes) = (false, true);
            for row in rows.iter_mut().skip(of_screen) {
                row.holders = Some(Vec::new());
            }
        } else if !line.starts_with('|') {
            time = long_stamp(line).or(time);
        }
        let words: Vec<&str> = line.trim_matches('|').split_whitespace().collect();
        let parts: Vec<&str> = line.split('|').collect();
        if processes {
            // GPU GI CI PID Type Name Size, without the instance columns on old drivers; the size is last.
            let holder = words.first().and_then(|gpu| gpu.parse::<u32>().ok()).zip(words.last().and_then(|size| number(size)));
            let pid = words.iter().skip(1).filter_map(|word| word.parse::<u32>().ok()).next_back();
            let row = |gpu: u32| rows.iter().skip(of_screen).position(|row| row.gpu == gpu);
            if let (Some((gpu, size)), Some(pid)) = (holder, pid)
                && let Some(row) = row(gpu).and_then(|n| rows.get_mut(of_screen + n))
                && let Some(holders) = &mut row.holders
            {
                holders.push((pid, size as u64));
            }
        } else if !instances && let [_, _, memory, load, _] = parts.as_slice() {
            match memory.split_once('/').filter(|_| memory.contains("MiB")) {
                Some((used, total)) => rows.push(Row {
                    time,
                    gpu: card,
                    used: number(used).map(|used| used as u64),
                    total: number(total).map(|total| total as u64),
                    load: number(load).map(|load| load as f32),
                    holders: None,
                }),
                None => card = words.first().and_then(|word| word.parse().ok()).unwrap_or(card),
            }
        }
    }
    rows
}

/// Seconds of each row: those that share a stamp of a whole second are spread over it.
fn times(rows: &[Row]) -> Vec<f64> {
    let Some(first) = rows.iter().find_map(|row| row.time) else {
        let readings = rows.iter().scan(-1.0, |t, row| {
            *t += if row.gpu == rows[0].gpu { 1.0 } else { 0.0 };
            Some(*t)
        });
        return readings.collect();
    };
    let mut out = Vec::new();
    let mut rest = rows;
    while let Some(row) = rest.first() {
        let time = row.time.unwrap_or(first);
        let same = rest.iter().take_while(|other| other.time == row.time).count();
        let (group, later) = rest.split_at(same);
        let readings = group.iter().filter(|other| other.gpu == row.gpu).count().max(1);
        let mut n = 0;
        for other in group {
            n += usize::from(other.gpu == row.gpu);
            let begin = time.duration_since(first).as_secs_f64();
            out.push(begin + (n.max(1) - 1) as f64 / readings as f64);
        }
        rest = later;
    }
    out
}

fn stream(rows: &[Row], total: Option<u64>) -> Vec<Sample> {
    let mut out = Vec::new();
    let (mut cards, mut last) = (BTreeSet::new(), 0);
    let header = Header {
        created: Wall(0),
        source: "recording".into(),
        simulated: false,
        host: None,
        driver: Err(Missing::Unsupported("not in the log".into())),
        cuda: Err(Missing::Unsupported("not in the log".into())),
        me: None,
        foreign_pids: false,
    };
    out.push(Sample { t: Timestamp::ZERO, body: SampleBody::Header(Arc::new(header)) });
    for (row, seconds) in rows.iter().zip(times(rows)) {
        // A clock that was set back does not turn the stream around.
        last = last.max((seconds.max(0.0) * 1e6) as u64);
        let (t, gpu) = (Timestamp(last), Gpu(row.gpu));
        let total = row.total.or(total);
        if cards.insert(row.gpu) {
            let device = Device {
                gpu,
                id: DeviceId(format!("GPU-{}", row.gpu).into()),
                index: Some(row.gpu),
                pci: Err(Missing::Unsupported("not in the log".into())),
                name: Err(Missing::Unsupported("not in the log".into())),
                memory: MemoryKind::Dedicated,
                total: total.map(Bytes::mib).ok_or_else(|| Missing::Unsupported("not in the log".into())),
                parent: None,
            };
            out.push(Sample { t, body: SampleBody::Device(Arc::new(device)) });
        }
        if let Some(holders) = &row.holders {
            let list = holders.iter().map(|(pid, size)| Holder {
                pid: Pid(*pid),
                used: Ok(Bytes::mib(*size)),
                kind: HolderKind::C,
                instance: None,
            });
            out.push(Sample { t, body: SampleBody::Holders { gpu, list: Ok(list.collect()) } });
        }
        if let Some(load) = row.load {
            let usage = Usage {
                gpu,
                utilization: Ok(load),
                temperature: Err(Missing::Pending),
                power: Err(Missing::Pending),
                processes: vec![],
            };
            out.push(Sample { t, body: SampleBody::Usage(Arc::new(usage)) });
        }
        let figures = row.used.zip(total).map(|(used, total)| {
            let (total, used) = (Bytes::mib(total), Bytes::mib(used));
            MemoryFigures { total, free: total.saturating_sub(used), reserved: None }
        });
        let figures = figures.ok_or_else(|| Missing::Unsupported("not available, says the log".into()));
        out.push(Sample { t, body: SampleBody::Memory { gpu, figures } });
    }
    out
}
