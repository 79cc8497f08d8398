//! Log lines made plain: no colours, no frames of boxes, no prefixes of launchers and loggers; and what those prefixes tell.

use serde_json::Value;

use super::size::Pattern;

/// A plain line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    /// What is left of it.
    pub text: String,
    /// The rank that its prefix names.
    pub rank: Option<u32>,
    /// Whether that rank is a 0 that a run of one process prints too.
    pub sole: bool,
    /// When it was written, in seconds of whatever clock its prefix has.
    pub time: Option<f64>,
    /// How many characters it had before anything was taken away: full lines of one width were folded there.
    pub width: usize,
    /// Where it begins, in bytes from the start of the log.
    pub offset: u64,
    /// Its number, from 1; 0 where lines could not be counted.
    pub number: u64,
}

/// JSON deeper than this is taken as text.
const DEEPEST: usize = 6;
/// No more prefixes than this stand before a line.
const MOST_PREFIXES: usize = 8;

/// Makes plain lines of a raw one: several where it is JSON, or a text in quotes, that holds line breaks.
pub fn plain(raw: &[u8], offset: u64, number: u64, out: &mut Vec<Line>) {
    let text = String::from_utf8_lossy(raw);
    let text = without_escapes(&text);
    let width = text.chars().count();
    let line = |text: &str, time: Option<f64>, rank: Option<u32>| {
        let mut line = Line { text: text.to_owned(), rank, sole: false, time, width, offset, number };
        line.unwrap_prefixes();
        line
    };
    let outer = line(&text, None, None);
    if let Some(object) = object(&outer.text) {
        let mut fields = Fields { time: outer.time, rank: outer.rank, texts: Vec::new() };
        fields.collect("", &object, 0);
        for text in &fields.texts {
            for part in text.lines() {
                out.push(line(&without_escapes(part), fields.time, fields.rank));
            }
        }
        return;
    }
    let broken = with_breaks(&outer.text);
    match broken {
        None => out.push(outer),
        Some(broken) => out.extend(broken.lines().map(|part| line(part, outer.time, outer.rank))),
    }
}

/// A JSON object that fills the line, or the part of it after what a logger wrote before it.
fn object(text: &str) -> Option<Value> {
    let trimmed = text.trim();
    (trimmed.starts_with('{') && trimmed.ends_with('}')).then(|| serde_json::from_str(trimmed).ok()).flatten()
}

/// What a JSON log line holds.
struct Fields {
    time: Option<f64>,
    rank: Option<u32>,
    texts: Vec<String>,
}

impl Fields {
    fn collect(&mut self, key: &str, value: &Value, depth: usize) {
        match value {
            Value::Object(map) if depth < DEEPEST => map.iter().for_each(|(key, value)| self.collect(key, value, depth + 1)),
            Value::Array(list) if depth < DEEPEST => list.iter().for_each(|value| self.collect(key, value, depth + 1)),
            Value::String(text) => match key {
                "ts" | "time" | "timestamp" | "@timestamp" | "asctime" | "t" | "datetime" => {
                    self.time = self.time.or(clock(text));
                }
                "rank" | "local_rank" | "global_rank" => self.rank = self.rank.or(text.parse().ok()),
                _ => self.texts.push(text.clone()),
            },
            Value::Number(figure) => match key {
                "ts" | "time" | "timestamp" | "@timestamp" | "t" => {
                    let seconds = figure.as_f64().filter(|seconds| *seconds > 1e8);
                    // Milliseconds, microseconds and nanoseconds are told by their size.
                    self.time = self.time.or(seconds.map(|seconds| match seconds {
                        s if s > 1e17 => s / 1e9,
                        s if s > 1e14 => s / 1e6,
                        s if s > 1e11 => s / 1e3,
                        s => s,
                    }));
                }
                "rank" | "global_rank" => self.rank = figure.as_u64().and_then(|rank| rank.try_into().ok()),
                // A figure by its name: `{"step": 200, "mem_gib": 3.1}`.
                _ => self.texts.push(format!("{key}: {figure}")),
            },
            Value::Bool(_) | Value::Null | Value::Object(_) | Value::Array(_) => {}
        }
    }
}

/// The text with `\n` in letters made real line breaks, where it holds a message in quotes; none where it does not.
fn with_breaks(text: &str) -> Option<String> {
    let (mut out, mut rest, mut found) = (String::new(), text, false);
    while let Some((before, after)) = rest.split_once("\\n") {
        out.push_str(before);
        // `C:\new` is a path; a message goes on with a space, a capital, a dash, a quote or another break.
        let breaks = after.chars().next().is_none_or(|c| c.is_whitespace() || c.is_uppercase() || "\\-\"'#=[(".contains(c));
        out.push_str(if breaks { "\n" } else { "\\n" });
        found |= breaks;
        rest = after;
    }
    out.push_str(rest);
    found.then(|| out.replace("\\\"", "\"").replace("\\t", "\t"))
}

/// A line without escape sequences and control characters; tabs become spaces.
fn without_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => match chars.peek() {
                // CSI: parameters, then one final byte.
                Some('[') => {
                    chars.next();
                    while let Some(next) = chars.peek() {
                        let last = ('\u{40}'..='\u{7e}').contains(next);
                        if !last && !(' '..'\u{40}').contains(next) {
                            break;
                        }
                        chars.next();
                        if last {
                            break;
                        }
                    }
                }
                // OSC and other strings: to BEL or ST, of a length that such a string can have.
                Some(']' | 'P' | '_' | '^') => {
                    chars.next();
                    for _ in 0..1_024 {
                        match chars.next_if(|next| *next != '\u{1b}') {
                            Some('\u{7}') | None => break,
                            Some(_) => {}
                        }
                    }
                    if chars.peek() == Some(&'\u{1b}') {
                        chars.next();
                        chars.next_if_eq(&'\\');
                    }
                }
                Some('(' | ')' | '#') => {
                    chars.next();
                    chars.next();
                }
                Some(_) => {
                    chars.next();
                }
                None => {}
            },
            '\t' => out.push(' '),
            c if c.is_control() || c == '\u{feff}' => {}
            c => out.push(c),
        }
    }
    out
}

/// Characters that draw boxes around messages.
fn is_frame(c: char) -> bool {
    matches!(c, '\u{2500}'..='\u{257f}')
}

static ISO: Pattern = Pattern::new(
    r"^[\[(]?(\d{4}-\d\d-\d\d|\d\d/\d\d/\d{4}|\d{4}/\d\d/\d\d)[T\x20-](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?(?:\x20?(?:Z|UTC|[+-]\d\d:?\d\d))?",
);
static AFTER_TIME: Pattern =
    Pattern::new(r"^(?:\x20(?:stdout|stderr)\x20[FP])?(?:[,\x20][A-Z]{2,3}\d+(?:\x20[A-Z]{2,3}\d+)*)?[\]):,]?\x20?");
static ENGINE_LOG: Pattern = Pattern::new(
    r"^(?:\[?(?:ERROR|INFO|WARNING|CRITICAL|DEBUG|WARN|FATAL)\]?)\x20(\d\d-\d\d)\x20(\d\d:\d\d:\d\d)(?:\.\d+)?\x20(?:\[[^\]\x20]{1,60}\])?\x20?",
);
static GLOG: Pattern = Pattern::new(r"^[IWEFC](\d{4})\x20(\d\d:\d\d:\d\d)\.\d+\x20+\d+\x20[^\]\x20]{1,120}\]\x20?");
static TORCH_LOG: Pattern = Pattern::new(r"^\[[IWEFC](\d{3,4})\x20(\d\d:\d\d:\d\d)\.\d+\x20[^\]]{1,80}\]\x20?");
static SYSLOG: Pattern =
    Pattern::new(r"^(?:[A-Z][a-z]{2})\x20+(\d{1,2})\x20(\d\d:\d\d:\d\d)\x20[^\s]{1,120}\x20[^\s:\[]{1,80}(?:\[\d+\])?:\x20?");
static KERNEL: Pattern = Pattern::new(r"^\[\x20*(\d{1,9}\.\d{6})\]\x20?");
static LEVEL: Pattern = Pattern::new(
    r"^[\[|<(]?\s*(?:ERROR|INFO|WARNING|WARN|CRITICAL|DEBUG|FATAL|TRACE|error|info|warn|warning|debug|fatal)\s*[\]|>):]\s?",
);
static COMPOSE: Pattern = Pattern::new(r"^[\w.-]{1,60}\s{1,40}\|\x20?");
static POD: Pattern = Pattern::new(r"^\[(?:pod/)[^\]\s]{1,200}\]\x20?");
static LOGURU: Pattern = Pattern::new(r"^\|\x20(?:[A-Z]{4,8})\x20+\|\x20[^\s]{1,120}\x20-\x20");

/// Prefixes that name a rank, in their first group.
static RANKS: [Pattern; 8] = [
    Pattern::new(r"^\[(?:rank|default|trainer|worker|Rank)(\d{1,5})\]:?\x20?"),
    Pattern::new(r"^[\[(]?(?:global_|local_)?[Rr](?:ank|ANK)\s?[:=]?\s?(\d{1,5})(?:/\d+)?[\])]?\s?[|:\]]?\s?[:|]?\s"),
    Pattern::new(r"^\s{0,4}(\d{1,5}):\x20"),
    Pattern::new(r"^\[(?:[\w.-]+@)?\d+,(\d{1,5})\]<std(?:err|out|diag)>:\x20?"),
    Pattern::new(r"^\[(?:\d+,)(\d{1,5})\]<stddiag>:\x20?"),
    Pattern::new(r"^\([A-Za-z_][\w.:-]*?(?:[_\x20]TP|[_\x20]rank=?|[_\x20]Rank=?)(\d{1,5})[\w\x20.=,:-]{0,80}\)\s?"),
    Pattern::new(r"^\[(\d{1,4})\]:?\x20"),
    Pattern::new(r"^\[(?:[\w\x20.:/-]{0,40}\x20)?TP(\d{1,4})(?:\x20[A-Z]{2,3}\d+)*\]\x20?"),
];

/// Prefixes of processes that name no rank.
static ACTORS: [Pattern; 2] = [
    Pattern::new(r"^\([A-Za-z_][\w.:-]*\x20?(?:pid=\d+)?(?:,\x20ip=[\d.a-f:]+)?\)\s?"),
    Pattern::new(r"^\((?:[\w.-]+\x20)?pid=\d+(?:,\x20ip=[\d.a-f:]+)?\)\s?"),
];

static TP: Pattern = Pattern::new(r"\bTP(\d{1,4})\b");

impl Line {
    /// Takes prefixes and frames away and keeps what they tell.
    fn unwrap_prefixes(&mut self) {
        let whole = std::mem::take(&mut self.text);
        let mut text = whole.as_str();
        for _ in 0..MOST_PREFIXES {
            let before = text;
            text = self.without_prefix(text);
            if text.len() == before.len() {
                break;
            }
        }
        self.text = text.trim_end().to_owned();
    }

    fn take_rank(&mut self, rank: Option<u32>, parallel: bool) {
        if self.rank.is_none() {
            self.rank = rank;
            self.sole = parallel && rank == Some(0);
        }
    }

    fn without_prefix<'t>(&mut self, text: &'t str) -> &'t str {
        // The frame of a box, with its spaces.
        let unframed = text.trim_start_matches(' ').trim_start_matches(is_frame);
        if unframed.len() < text.trim_start_matches(' ').len() {
            return unframed.trim_end().trim_end_matches(is_frame).trim();
        }
        let after = |end: usize| text.get(end..).unwrap_or_default();
        if let Some(b'0'..=b'9' | b'[' | b'(') = text.bytes().next()
            && let Some(found) = ISO.captures(text)
        {
            let group = |n: usize| found.get(n).map_or("", |group| group.as_str());
            self.time = self.time.or(seconds(group(1), group(2), group(3)));
            let rest = after(found.get(0).map_or(0, |all| all.end()));
            let tail = AFTER_TIME.regex().find(rest).map_or(0, |tail| tail.end());
            let (tail, rest) = rest.split_at(tail);
            self.take_rank(TP.number(tail).and_then(|rank| rank.try_into().ok()), true);
            return rest;
        }
        for clocked in [&ENGINE_LOG, &GLOG, &TORCH_LOG, &SYSLOG] {
            if let Some(found) = clocked.captures(text) {
                let group = |n: usize| found.get(n).map_or("", |group| group.as_str());
                self.time = self.time.or(seconds(group(1), group(2), ""));
                return after(found.get(0).map_or(0, |all| all.end()));
            }
        }
        if let Some(found) = KERNEL.captures(text) {
            self.time = self.time.or(found.get(1).and_then(|group| group.as_str().parse().ok()));
            return after(found.get(0).map_or(0, |all| all.end()));
        }
        for ranked in &RANKS {
            if let Some(found) = ranked.captures(text) {
                let parallel = found.get(0).is_some_and(|all| all.as_str().contains("TP"));
                self.take_rank(found.get(1).and_then(|group| group.as_str().parse().ok()), parallel);
                return after(found.get(0).map_or(0, |all| all.end()));
            }
        }
        for other in ACTORS.iter().chain([&LOGURU, &LEVEL, &COMPOSE, &POD]) {
            if let Some(found) = other.regex().find(text) {
                return after(found.end());
            }
        }
        text
    }
}

static STAMP: Pattern =
    Pattern::new(r"(\d{4}-\d\d-\d\d|\d\d/\d\d/\d{4}|\d{4}/\d\d/\d\d)[T\x20](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?");

/// The first moment that a text names, in seconds.
pub fn clock(text: &str) -> Option<f64> {
    let found = STAMP.captures(text)?;
    let group = |n: usize| found.get(n).map_or("", |group| group.as_str());
    seconds(group(1), group(2), group(3))
}

/// Seconds of a date and a time of day; of a date only differences count, and none is longer than a log.
fn seconds(date: &str, time: &str, fraction: &str) -> Option<f64> {
    let mut parts = time.split(':').map(str::parse::<f64>);
    let (hours, minutes, seconds) = (parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?);
    let numbers: Vec<f64> = date.split(['-', '/']).filter_map(|part| part.parse().ok()).collect();
    // Year first, year last, month and day, or digits run together; every month is taken as 31 days.
    let days = match numbers.as_slice() {
        [year, month, day] if *year > 31.0 => year * 372.0 + month * 31.0 + day,
        [month, day, year] => year * 372.0 + month * 31.0 + day,
        [month, day] => month * 31.0 + day,
        [digits] if *digits > 99.0 => (digits / 100.0).floor() * 31.0 + digits % 100.0,
        [day] => *day,
        _ => 0.0,
    };
    let fraction: f64 = format!("0.{fraction}").parse().unwrap_or(0.0);
    Some(days * 86_400.0 + hours * 3_600.0 + minutes * 60.0 + seconds + fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(raw: &[u8]) -> Vec<Line> {
        let mut out = Vec::new();
        plain(raw, 0, 1, &mut out);
        out
    }

    #[test]
    fn prefixes_of_launchers_and_loggers_go_and_tell_the_rank() {
        for (raw, text, rank, timed) in [
            ("[rank3]: torch.OutOfMemoryError: x", "torch.OutOfMemoryError: x", Some(3), false),
            ("3: RuntimeError: x", "RuntimeError: x", Some(3), false),
            (" 12: RuntimeError: x", "RuntimeError: x", Some(12), false),
            ("rank 2 | RuntimeError: x", "RuntimeError: x", Some(2), false),
            ("[rank 2] RuntimeError: x", "RuntimeError: x", Some(2), false),
            ("[1,6]<stderr>:RuntimeError: x", "RuntimeError: x", Some(6), false),
            ("[default5]:RuntimeError: x", "RuntimeError: x", Some(5), false),
            ("[2026-07-01 08:40:31 TP1] Scheduler hit", "Scheduler hit", Some(1), true),
            ("[2026-07-01 08:40:31 DP0 TP3] Scheduler hit", "Scheduler hit", Some(3), true),
            ("(EngineCore_DP0 pid=2077) ValueError: x", "ValueError: x", None, false),
            ("(VllmWorker TP2 pid=77) ValueError: x", "ValueError: x", Some(2), false),
            ("(Worker_TP1 pid=77) ERROR 03-02 14:21:20 [core.py:596] ValueError: x", "ValueError: x", Some(1), true),
            ("(VllmWorker rank=1 pid=77) ERROR 03-02 14:21:20 [core.py:596] x", "x", Some(1), true),
            ("(RayTrainWorker pid=3311, ip=10.0.0.7) RuntimeError: x", "RuntimeError: x", None, false),
            ("(pid=3311, ip=10.0.0.7) RuntimeError: x", "RuntimeError: x", None, false),
            ("2026-04-19T05:11:41.733Z stderr F torch.x", "torch.x", None, true),
            ("2023-11-14 09:02:45,377 ERROR finetune: y", "ERROR finetune: y", None, true),
            ("[11/20/2025-10:31:07] [TRT] [W] z", "[TRT] [W] z", None, true),
            ("2026-01-01 10:00:00.123 | ERROR    | app:run:12 - z", "z", None, true),
            ("Nov 30 18:02:11 node3 python[4242]: z", "z", None, true),
            ("trainer-1  | torch.x", "torch.x", None, false),
            ("[pod/train-0/main] [rank1]: torch.x", "torch.x", Some(1), false),
            ("[86514.224112] Out of memory: Killed", "Out of memory: Killed", None, true),
            ("\u{2502} torch.x      \u{2502}", "torch.x", None, false),
            ("1. If yes, please stop them", "1. If yes, please stop them", None, false),
            ("12%|###", "12%|###", None, false),
        ] {
            let found = lines(raw.as_bytes());
            let [line] = found.as_slice() else { panic!("{raw}: {found:?}") };
            assert_eq!((line.text.as_str(), line.rank, line.time.is_some()), (text, rank, timed), "{raw}");
        }
    }

    #[test]
    fn colours_go_also_within_numbers() {
        let [line] =
            &lines(b"\x1b[1;91mError: \x1b[0mTried \x1b[1;36m1\x1b[0m.\x1b[36m00\x1b[0m GiB\x1b]8;;http://x\x07.\x07")[..]
        else {
            panic!("one line")
        };
        assert_eq!(line.text, "Error: Tried 1.00 GiB.");
    }

    #[test]
    fn json_gives_its_texts_line_by_line() {
        let found =
            lines(br#"{"ts":"2025-10-20T11:02:01.5Z","rank":3,"exc":"Traceback\n  File \"x\"\nError: y","n":{"deep":"z"}}"#);
        let texts: Vec<&str> = found.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(texts, ["Traceback", "  File \"x\"", "Error: y", "z"]);
        assert!(found.iter().all(|line| line.rank == Some(3) && line.time.is_some()));
        let cut = lines(br#"{"msg": "Traceback\n  File \"x\"\nError: y"#);
        assert_eq!(cut.last().map(|line| line.text.as_str()), Some("Error: y"));
        assert_eq!(lines(br"cd C:\new\bin").len(), 1);
    }

    #[test]
    fn clocks_differ_by_what_passed() {
        for (a, b, apart) in [
            ("2025-10-20T11:07:44.870Z", "2025-10-20T11:09:12.006Z", 87.136),
            ("11/20/2025-10:31:07 x", "11/20/2025-10:31:07 x", 0.0),
        ] {
            let at = |text: &str| lines(text.as_bytes()).first().and_then(|line| line.time).expect("a time");
            assert!((at(b) - at(a) - apart).abs() < 1e-3, "{a} {b}");
        }
    }
}
