//! Memory figures that a log printed before its failure: how they moved from step to step.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use aho_corasick::AhoCorasick;
use memchr::memchr;

use super::scanner::Piece;
use super::size::Pattern;
use crate::domain::Bytes;
use crate::domain::bytes::{GIB, MIB};

/// No more series are kept.
const MOST_SERIES: usize = 32;
/// A series keeps no more points: then every other one goes.
const MOST_POINTS: usize = 256;
/// No line is looked at farther, in bytes.
const LONGEST: usize = 4 << 10;
/// A log is read in pieces of this size.
const PIECE: u64 = 128 << 10;
/// So many of them, spread evenly.
const MOST_PIECES: u64 = 24;
/// And so many at its end.
const LAST_PIECES: u64 = 8;
/// A rise is no noise from this size on.
const LEAST_RISE: u64 = 192 * MIB;

/// A printed figure that rises.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trend {
    /// What the log calls it.
    pub name: String,
    /// The first figure.
    pub first: Bytes,
    /// The last one.
    pub last: Bytes,
    /// How many figures there are.
    pub points: usize,
    /// The step or batch of the first and of the last figure.
    pub steps: Option<(u64, u64)>,
    /// Whether it was printed while evaluating.
    pub evaluating: bool,
}

/// What the printed figures tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trends {
    /// Steady growth while training or at no told phase.
    pub rising: Option<Trend>,
    /// Growth while evaluating.
    pub rising_in_evaluation: Option<Trend>,
    /// The highest figure that was printed while training.
    pub training_peak: Option<Bytes>,
    /// The highest figure that was printed while evaluating.
    pub evaluation_peak: Option<Bytes>,
    /// Whether the work of a step, as printed, was not the same from step to step.
    pub work_varies: bool,
}

#[derive(Clone, Debug, Default)]
struct Series {
    points: Vec<(u64, u64)>,
    every: usize,
    passed: usize,
    stepped: bool,
}

/// Collects the figures.
#[derive(Debug, Default)]
pub struct Growth {
    series: BTreeMap<(String, bool), Series>,
    read_to: u64,
    work: Option<(u64, u64)>,
}

static FIGURE: Pattern = Pattern::new(
    r#"(?i)\b([a-z_./-]*(?:mem|alloc|vram|reserved)[a-z_./-]*)(?:[\s_]?[(\[]?(GiB|GB|MiB|MB)[)\]]?)?["']?[\s]?[:=]?[\s]{0,4}["']?(\d{1,6}(?:\.\d+)?)\s?(GiB|GB|G|MiB|MB|M)?(?:\b|i?[Bb/,;\s"'\]})]|$)"#,
);
static COLUMN: Pattern = Pattern::new(r"^\s{0,8}\d+/\d+\s+(\d{1,3}(?:\.\d+)?)G\s");
static DEEPSPEED: Pattern = Pattern::new(r"\bMA (\d+(?:\.\d+)?) GB");
static STEP: Pattern =
    Pattern::new(r#"(?i)\b(?:global_?step|step|iter(?:ation)?|it|batch|update)s?\b["']?[\s:=#\[]{1,4}(\d{1,9})\b"#);
static BAR: Pattern = Pattern::new(r"\b(\d{1,9})/\d{1,9}(?:[\s\],|]|$)");
static EPOCH: Pattern = Pattern::new(r#"(?i)\bepoch\b["']?[\s:=#\[]{1,4}(\d{1,9})"#);
static WORK: Pattern = Pattern::new(
    r"(?i)\b(?:seq(?:_?len(?:gth)?)?|max_?len(?:gth)?|tokens(?:/batch)?|longest|frames|batch_size|bs)\b[\s:=]{1,3}(\d{2,8})\b",
);
static EVALUATING: Pattern = Pattern::new(r"(?i)\b(?:valid\w*|val|eval\w*|test(?:ing)?|infer\w*|predict\w*)\b");

/// Whether a line may have a figure; cheap, since every line of a log is asked.
fn has_word(line: &[u8]) -> bool {
    static WORDS: OnceLock<AhoCorasick> = OnceLock::new();
    WORDS
        .get_or_init(|| {
            AhoCorasick::new(["mem", "Mem", "MEM", "alloc", "Alloc", "vram", "VRAM", "reserved", "MA ", "G  "])
                .expect("a few short words")
        })
        .is_match(line)
}

impl Growth {
    /// Which parts of a log to read up to a place, from where they have been read or from another place on: all of it, or of a long
    /// one so many that are spread evenly, and its end.
    pub fn pieces(&self, from: u64, to: u64) -> Vec<Piece> {
        let from = from.max(self.read_to);
        let pieces = to.saturating_sub(from).div_ceil(PIECE);
        let every = pieces.div_ceil(MOST_PIECES).max(1);
        (0..pieces)
            .filter(|n| n % every == 0 || pieces - n <= LAST_PIECES)
            .map(|n| Piece { start: from + n * PIECE, length: PIECE.min(to - from - n * PIECE) })
            .collect()
    }

    /// Reads a part of the log that begins at a place, without the lines that are cut at its ends.
    pub fn read(&mut self, start: u64, bytes: &[u8]) {
        let joins = start == self.read_to;
        self.read_to = start + bytes.len() as u64;
        let cut = |from: usize| bytes.get(from..).unwrap_or_default();
        let bytes = if joins { bytes } else { memchr(b'\n', bytes).map_or(&[][..], |at| cut(at + 1)) };
        for line in bytes.split(|byte| matches!(byte, b'\n' | b'\r')) {
            let line = line.get(..LONGEST).unwrap_or(line);
            if has_word(line) {
                self.line(&String::from_utf8_lossy(line));
            }
        }
    }

    fn line(&mut self, line: &str) {
        // The messages themselves are no series.
        if line.contains("Tried to allocate") || line.contains("trying to allocate") || line.contains("bfc_allocator") {
            return;
        }
        let evaluating = EVALUATING.is_match(line);
        let step = step(line);
        if let Some(work) = WORK.number(line) {
            let (low, high) = self.work.unwrap_or((work, work));
            self.work = Some((low.min(work), high.max(work)));
        }
        let mut figures: Vec<(String, u64)> = Vec::new();
        for found in FIGURE.regex().captures_iter(line).take(4) {
            let group = |n: usize| found.get(n).map_or("", |group| group.as_str());
            let name = group(1).to_ascii_lowercase();
            let unit = if group(4).is_empty() { group(2) } else { group(4) };
            if let Some(bytes) = bytes(group(3), unit, &name) {
                figures.push((name, bytes));
            }
        }
        for column in [&COLUMN, &DEEPSPEED] {
            if let Some(found) = column.captures(line)
                && let Some(bytes) = found.get(1).and_then(|group| bytes(group.as_str(), "G", ""))
            {
                figures.push(("gpu_mem".to_owned(), bytes));
            }
        }
        for (name, bytes) in figures {
            let key = (name, evaluating);
            if self.series.len() >= MOST_SERIES && !self.series.contains_key(&key) {
                continue;
            }
            self.series.entry(key).or_default().push(step, bytes);
        }
    }

    /// What the figures so far tell.
    pub fn trends(&self) -> Trends {
        let mut trends = Trends {
            // A tenth more or less is the same work.
            work_varies: self.work.is_some_and(|(low, high)| high > low + low / 5),
            ..Trends::default()
        };
        for ((name, evaluating), series) in &self.series {
            let peak = series.points.iter().map(|(_, bytes)| Bytes(*bytes)).max();
            let slot = if *evaluating { &mut trends.evaluation_peak } else { &mut trends.training_peak };
            *slot = peak.max(*slot);
            // What an allocator reserves only ever grows, and a peak may.
            let lasting =
                !["reserved", "cached", "max", "peak", "limit", "total", "free", "avail"].iter().any(|word| name.contains(word));
            let Some(trend) = series.trend(name, *evaluating) else { continue };
            let slot = if *evaluating { &mut trends.rising_in_evaluation } else { &mut trends.rising };
            if lasting && slot.as_ref().is_none_or(|best| trend.points > best.points) {
                *slot = Some(trend);
            }
        }
        trends
    }
}

impl Series {
    fn push(&mut self, step: Option<u64>, bytes: u64) {
        self.every = self.every.max(1);
        self.passed += 1;
        if !self.passed.is_multiple_of(self.every) && self.every > 1 {
            return;
        }
        self.stepped |= step.is_some();
        self.points.push((step.unwrap_or(self.passed as u64), bytes));
        if self.points.len() > MOST_POINTS {
            let mut keep = false;
            self.points.retain(|_| {
                keep = !keep;
                keep
            });
            self.every *= 2;
        }
    }

    /// The steady growth of a series, if it grows: nearly every figure is higher than the one before, and both halves rise alike.
    fn trend(&self, name: &str, evaluating: bool) -> Option<Trend> {
        let least = if evaluating { 2 } else { 4 };
        let ((first_step, first), (last_step, last)) = (*self.points.first()?, *self.points.last()?);
        let n = self.points.len();
        if n < least || last < first + LEAST_RISE || last < first + first / 5 {
            return None;
        }
        let pairs = || self.points.windows(2).filter_map(|pair| Some((pair.first()?.1, pair.get(1)?.1)));
        let falls = pairs().filter(|(a, b)| b < a).count();
        let rises = pairs().filter(|(a, b)| b > a).count();
        if falls * 10 > n || rises * 10 < (n - 1) * 6 {
            return None;
        }
        if n >= 4 {
            let middle = self.points.get(n / 2)?.1;
            let (early, late) = (middle.saturating_sub(first), last.saturating_sub(middle));
            // Growth that dies away is a warm-up.
            if late * 4 < early {
                return None;
            }
        }
        Some(Trend {
            name: name.to_owned(),
            first: Bytes(first),
            last: Bytes(last),
            points: n,
            steps: (self.stepped && last_step > first_step).then_some((first_step, last_step)),
            evaluating,
        })
    }
}

impl Trend {
    /// The growth from one step to the next.
    pub fn per_step(&self) -> Option<Bytes> {
        let (first, last) = self.steps?;
        Some(Bytes(self.last.saturating_sub(self.first).0 / (last - first).max(1)))
    }
}

/// The step that a line names, else the fraction of its progress bar, else its epoch.
pub fn step(line: &str) -> Option<u64> {
    STEP.number(line).or_else(|| BAR.number(line)).or_else(|| EPOCH.number(line))
}

/// A figure in bytes; a unit may be part of its name, and where there is none the size tells: no card has 512 GiB.
fn bytes(number: &str, unit: &str, name: &str) -> Option<u64> {
    let value: f64 = number.parse().ok()?;
    let unit = if unit.is_empty() { name } else { unit }.to_ascii_lowercase();
    let factor = if unit.contains("mib") || unit.contains("mb") || unit == "m" {
        MIB
    } else if unit.contains("gib") || unit.contains("gb") || unit == "g" || value < 512.0 {
        GIB
    } else {
        MIB
    };
    let bytes = value * factor as f64;
    (bytes >= MIB as f64 && bytes < 16_384.0 * GIB as f64).then_some(bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trends(text: &str) -> Trends {
        let mut growth = Growth::default();
        growth.read(0, text.as_bytes());
        growth.trends()
    }

    #[test]
    fn steady_growth_is_seen_in_many_forms() {
        for form in [
            "it {step}  loss 0.921  cuda_alloc {gib} GiB",
            "step={step} loss=0.9 mem={gib}G",
            "{\"step\": {step}, \"gpu_mem_mb\": {mib}}",
            "Epoch [1][{step}/5000] lr: 1e-4, memory: {mib}, loss: 0.3",
            "[{step}/9000] allocated: {gib} GB",
        ] {
            let text: String = (0..8_u32)
                .map(|n| {
                    let gib = 3.0 + f64::from(n) * 1.5;
                    form.replace("{step}", &(n * 400 + 200).to_string())
                        .replace("{gib}", &format!("{gib:.2}"))
                        .replace("{mib}", &format!("{:.0}", gib * 1024.0))
                        + "\n"
                })
                .collect();
            let trend = trends(&text).rising.unwrap_or_else(|| panic!("no trend: {text}"));
            assert_eq!((trend.first, trend.steps), (Bytes(3 * GIB), Some((200, 3000))), "{text}");
        }
    }

    #[test]
    fn warm_up_levels_and_reserved_memory_are_no_leak() {
        for figures in [&[3.0, 8.0, 8.1, 8.1, 8.1, 8.1][..], &[3.0, 3.0, 3.0, 3.0, 3.0], &[3.0, 9.0, 4.0, 8.0, 3.0, 9.0]] {
            let lines: Vec<String> = figures.iter().enumerate().map(|(n, gib)| format!("step {n} mem {gib:.2} GiB\n")).collect();
            let text = lines.concat();
            assert_eq!(trends(&text).rising, None, "{text}");
        }
        let reserved: Vec<String> = (0..8).map(|n| format!("step {n} reserved {}.0G\n", 10 + n)).collect();
        assert_eq!(trends(&reserved.concat()).rising, None);
    }

    #[test]
    fn evaluation_is_told_from_training() {
        let found =
            trends("epoch 1 train done: peak_mem 19.4 GiB\nvalidating: 3%| 4/131 mem=23.1G\nvalidating: 11%| 14/131 mem=32.7G\n");
        assert_eq!(found.training_peak, Some(Bytes((19.4 * GIB as f64) as u64)));
        assert!(found.rising_in_evaluation.is_some() && found.rising.is_none());
    }

    #[test]
    fn a_long_series_stays_small() {
        let mut growth = Growth::default();
        for n in 0..100_000 {
            growth.line(&format!("step {n} mem {:.3} GiB", 1.0 + f64::from(n) / 2_000.0));
        }
        assert!(growth.series.values().all(|series| series.points.len() <= MOST_POINTS));
        assert!(growth.trends().rising.is_some());
    }
}
