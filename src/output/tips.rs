//! The catalogue of advice as text and JSON: the list, or one tip in full.
//!
//! ```text
//! The framework's allocator
//!   expandable_segments   one flag      Let segments grow
//!   empty_cache           a few lines   Empty the cache between phases
//! ```

use std::fmt::Write;

use super::prose::wrap;
use crate::domain::tips::{Effort, TIPS, Tip};
use serde::Serialize;

/// The version of the JSON. It rises only when an old reader would be wrong.
const VERSION: u32 = 1;
/// Text into a pipe is broken at this column; lists are not.
const WIDTH: usize = 100;
/// No terminal is taken for narrower: words would stand one a line.
const NARROWEST: usize = 30;
/// What is read as running text gets tiring beyond it.
const WIDEST: usize = 110;
/// Columns left of an entry.
const INDENT: &str = "  ";

/// The list, by topic: id, effort and title. `width` is that of the terminal; none where nothing has to fit.
pub fn list(tips: &[&Tip], width: Option<u16>) -> String {
    let line = width.map_or(usize::MAX, |width| usize::from(width).max(NARROWEST));
    let ids = tips.iter().map(|tip| tip.id.len()).max().unwrap_or(0);
    let efforts =
        [Effort::Flag, Effort::Lines, Effort::Redesign].map(|effort| effort.words().len()).into_iter().max().unwrap_or(0);
    // Where a title would get a column of a few words only, it stands below.
    let left = INDENT.len() + ids + 2 + efforts + 2;
    let beside = line >= left + NARROWEST;
    let mut out = String::new();
    let mut topic = None;
    for tip in tips {
        if topic != Some(tip.topic) {
            let gap = if topic.is_some() { "\n" } else { "" };
            wrap(&mut out, tip.topic.title(), [gap, ""], line);
            topic = Some(tip.topic);
        }
        let (id, effort) = (tip.id, tip.effort.words());
        if beside {
            wrap(&mut out, tip.title, [&format!("{INDENT}{id:<ids$}  {effort:<efforts$}  "), &" ".repeat(left)], line);
        } else {
            wrap(&mut out, &format!("{id} ({effort})"), [INDENT, "    "], line);
            wrap(&mut out, tip.title, ["    ", "    "], line);
        }
    }
    let more = match tips.len() {
        1 => "1 tip".to_owned(),
        count if count < TIPS.len() => format!("{count} of {} tips", TIPS.len()),
        count => format!("{count} tips"),
    };
    wrap(&mut out, &format!("{more}. vramscope tips ID shows one in full."), ["\n", ""], line);
    out
}

/// One tip in full.
pub fn full(tip: &Tip, width: Option<u16>) -> String {
    let line = width.map_or(WIDTH, |width| usize::from(width).clamp(NARROWEST, WIDEST));
    let mut out = String::new();
    wrap(&mut out, tip.title, ["", ""], line);
    let frameworks = joined(tip.frameworks);
    let of = if frameworks.is_empty() { "any framework".to_owned() } else { frameworks };
    let facts = format!("{} | {} | for {} | {of}", tip.id, tip.effort.words(), joined(tip.sides));
    wrap(&mut out, &facts, ["", ""], line);
    wrap(&mut out, tip.does, ["\n", ""], line);
    for code in tip.code {
        wrap(&mut out, &format!("{}:", code.of), ["\n", ""], line);
        for text in code.lines {
            // Code is copied: it is never broken.
            let _ = writeln!(out, "    {text}");
        }
    }
    wrap(&mut out, &format!("Cost: {}", tip.cost), ["\n", ""], line);
    out.push_str("\nIt does not help where\n");
    for when in tip.not_when {
        wrap(&mut out, when, ["- ", "  "], line);
    }
    out.push_str("\nSources\n");
    for url in tip.sources {
        let _ = writeln!(out, "- {url}");
    }
    out
}

fn joined<T: ToString>(words: &[T]) -> String {
    words.iter().map(ToString::to_string).collect::<Vec<String>>().join(", ")
}

#[derive(Serialize)]
struct Catalogue<'a> {
    version: u32,
    tips: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct Single<'a> {
    version: u32,
    #[serde(flatten)]
    tip: Entry<'a>,
}

#[derive(Serialize)]
struct Entry<'a> {
    id: &'a str,
    title: &'a str,
    topic: String,
    effort: String,
    sides: Vec<String>,
    frameworks: Vec<String>,
    does: &'a str,
    code: Vec<CodeEntry<'a>>,
    cost: &'a str,
    not_when: &'a [&'a str],
    sources: &'a [&'a str],
}

#[derive(Serialize)]
struct CodeEntry<'a> {
    r#for: &'a str,
    text: String,
}

impl<'a> Entry<'a> {
    fn of(tip: &'a Tip) -> Self {
        Self {
            id: tip.id,
            title: tip.title,
            topic: tip.topic.to_string(),
            effort: tip.effort.to_string(),
            sides: tip.sides.iter().map(ToString::to_string).collect(),
            frameworks: tip.frameworks.iter().map(ToString::to_string).collect(),
            does: tip.does,
            code: tip.code.iter().map(|code| CodeEntry { r#for: code.of, text: code.lines.join("\n") }).collect(),
            cost: tip.cost,
            not_when: tip.not_when,
            sources: tip.sources,
        }
    }
}

/// The list as JSON.
pub fn list_json(tips: &[&Tip]) -> String {
    json(&Catalogue { version: VERSION, tips: tips.iter().map(|tip| Entry::of(tip)).collect() })
}

/// One tip as JSON.
pub fn full_json(tip: &Tip) -> String {
    json(&Single { version: VERSION, tip: Entry::of(tip) })
}

fn json(document: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(document).expect("strings, numbers and lists alone: nothing here can fail");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthStr;

    use super::*;

    #[test]
    fn the_list_has_every_tip_once_and_fits_any_width() {
        let all: Vec<&Tip> = TIPS.iter().collect();
        for width in [20, 40, 60, 80, 100, 200] {
            let text = list(&all, Some(width));
            for line in text.lines() {
                assert!(line.width() <= usize::from(width).max(NARROWEST), "{width}: {line}");
                assert_eq!(line.trim_end(), line);
            }
            for tip in TIPS {
                assert!(text.lines().any(|line| line.split_whitespace().next() == Some(tip.id)), "{width}: {}", tip.id);
            }
        }
        // Into a pipe each is one line.
        let piped = list(&all, None);
        for tip in TIPS {
            assert!(piped.lines().any(|line| line.contains(tip.id) && line.ends_with(tip.title)), "{}", tip.id);
        }
    }

    #[test]
    fn one_in_full_fits_but_for_code_and_addresses() {
        for tip in TIPS {
            for width in [Some(40), Some(80), Some(200), None] {
                let text = full(tip, width);
                let fits = width.map_or(WIDTH, |width| usize::from(width).min(WIDEST));
                for line in text.lines() {
                    let copied = line.starts_with("    ") || line.starts_with("- https://");
                    assert!(copied || line.width() <= fits, "{}: {line}", tip.id);
                }
                for part in tip.code.iter().flat_map(|code| code.lines).chain(tip.sources) {
                    assert!(text.contains(part), "{}: {part}", tip.id);
                }
            }
        }
    }

    #[test]
    fn a_tip_in_full_reads_like_this() {
        let tip = Tip::named("detach_logged_tensors").expect("it is in the catalogue");
        insta::assert_snapshot!("tip", full(tip, Some(80)));
        insta::assert_snapshot!("tip_json", full_json(tip));
    }
}
