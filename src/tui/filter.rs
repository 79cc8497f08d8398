//! The filter of the process table: words and terms, all of which must hold.
//!
//! ```text
//! train user:user2 gpu:0,1 rel:foreign mem:>2GiB pid:812 kind:G job:torchrun -ipykernel
//! ```
//!
//! A word is looked for in command, user, container and pid. `-` or `!` before a term turns it round, quotes keep blanks and
//! leading dashes together: `"-m vllm"`. A term that can't be understood is told and left out; the others hold.

use crate::domain::{Bytes, Gpu, HolderKind, Pid};

/// The longest filter that is kept.
pub const MAX_LENGTH: usize = 200;

/// What terms can name, and what stands behind it; for the help.
pub static TERMS: &[(&str, &str)] = &[
    ("word", "In the command, the user, the container or the pid, whatever the case"),
    ("user:user2", "Of that user"),
    ("gpu:0,2", "On these cards"),
    ("rel:foreign", "Whose: job, mine, foreign, system, unknown or unattributed"),
    ("mem:>2GiB", "By memory on the card: > >= < <= ="),
    ("pid:812", "That process"),
    ("kind:G", "C compute, G graphics, M client of MPS"),
    ("job:torchrun", "Of the job of that launcher, command or leading pid"),
    ("-term !term", "What does not fit the term"),
    ("\"-m vllm\"", "Quotes keep blanks and leading dashes"),
];

/// Words of `rel:`.
const RELATIONS: [&str; 6] = ["job", "mine", "foreign", "system", "unknown", "unattributed"];

/// What a row is compared by.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// Its card.
    pub gpu: Gpu,
    /// Its pid.
    pub pid: Option<Pid>,
    /// Its user; empty where not known.
    pub user: &'a str,
    /// Its command line; empty where not known.
    pub command: &'a str,
    /// Its container; empty without.
    pub container: &'a str,
    /// Whose it is, as `rel:` calls it.
    pub relation: &'a str,
    /// The lists it stands in.
    pub kind: HolderKind,
    /// Its memory on the card.
    pub used: Option<Bytes>,
    /// Its job: launcher, command and the leader's pid.
    pub job: Option<(&'a str, &'a str, Pid)>,
}

/// A filter as typed, and what was understood of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    text: String,
    terms: Vec<Term>,
    /// The first term that was not understood, and why.
    mistake: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    not: bool,
    what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
    Word(String),
    User(String),
    Gpu(Vec<u32>),
    Relation(String),
    Memory(Compare, Bytes),
    Pid(Vec<u32>),
    Kind(HolderKind),
    Job(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compare {
    More,
    AtLeast,
    Less,
    AtMost,
    Equal,
}

impl Filter {
    /// Reads a filter; more than [`MAX_LENGTH`] characters are not looked at.
    pub fn parse(text: &str) -> Self {
        let text: String = text.chars().take(MAX_LENGTH).collect();
        let mut filter = Self { text: text.trim().to_owned(), ..Self::default() };
        for (not, word, quoted) in words(&text) {
            match What::parse(&word, quoted) {
                Ok(what) => filter.terms.push(Term { not, what }),
                Err(why) => {
                    filter.mistake.get_or_insert_with(|| format!("`{word}`: {why}"));
                }
            }
        }
        filter
    }

    /// As typed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether nothing is filtered out.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The first term that was not understood, and why; it is left out.
    pub fn mistake(&self) -> Option<&str> {
        self.mistake.as_deref()
    }

    /// Whether all terms hold. What is not known fits no comparison of sizes, turned round or not.
    pub fn fits(&self, facts: &Facts<'_>) -> bool {
        self.terms.iter().all(|term| term.what.holds(facts).is_some_and(|holds| holds != term.not))
    }
}

impl What {
    fn parse(word: &str, quoted: bool) -> Result<Self, String> {
        let Some((key, value)) = word.split_once(':').filter(|_| !quoted) else { return Ok(Self::Word(word.to_lowercase())) };
        let numbers = |what: &str| -> Result<Vec<u32>, String> {
            let list = value.split(',').filter(|part| !part.is_empty());
            let list: Result<Vec<u32>, _> = list.map(str::parse).collect();
            list.ok().filter(|list| !list.is_empty()).ok_or_else(|| format!("a {what} is a number, as in {key}:{}", 0))
        };
        let lower = || value.to_lowercase();
        match key.to_ascii_lowercase().as_str() {
            "user" if value.is_empty() => Err("whose? Write user:NAME".to_owned()),
            "user" => Ok(Self::User(lower())),
            "job" if value.is_empty() => Err("which? Write job:LAUNCHER, a part of its command, or the leader's pid".to_owned()),
            "job" => Ok(Self::Job(lower())),
            "gpu" => numbers("card").map(Self::Gpu),
            "pid" => numbers("pid").map(Self::Pid),
            "rel" => {
                let value = lower();
                // The beginning of a word will do: the filter is live while it is typed.
                if !value.is_empty() && RELATIONS.iter().any(|word| word.starts_with(&value)) {
                    Ok(Self::Relation(value))
                } else {
                    Err(format!("whose memory is {}", RELATIONS.join(", ")))
                }
            }
            "kind" => HolderKind::parse(&value.to_ascii_uppercase())
                .map(Self::Kind)
                .ok_or_else(|| "a kind is C (compute), G (graphics) or M (client of MPS)".to_owned()),
            "mem" => {
                let (compare, size) = [
                    (">=", Compare::AtLeast),
                    ("<=", Compare::AtMost),
                    (">", Compare::More),
                    ("<", Compare::Less),
                    ("=", Compare::Equal),
                ]
                .into_iter()
                .find_map(|(sign, compare)| Some((compare, value.strip_prefix(sign)?)))
                .unwrap_or((Compare::AtLeast, value));
                Bytes::parse(size)
                    .map(|size| Self::Memory(compare, size))
                    .map_err(|_| "a size is written mem:>2GiB, mem:<=512MiB".to_owned())
            }
            // `http://…` and `module:Class` are words.
            _ => Ok(Self::Word(word.to_lowercase())),
        }
    }

    /// Whether it fits; none where that can't be told.
    fn holds(&self, facts: &Facts<'_>) -> Option<bool> {
        Some(match self {
            Self::Word(word) => {
                [facts.command, facts.user, facts.container].into_iter().any(|text| contains(text, word))
                    || facts.pid.is_some_and(|pid| contains(&pid.to_string(), word))
                    || (facts.pid.is_none() && contains(facts.relation, word))
            }
            Self::User(user) => contains(facts.user, user),
            Self::Gpu(gpus) => gpus.contains(&facts.gpu.0),
            Self::Relation(word) => facts.relation.starts_with(word.as_str()),
            Self::Pid(pids) => facts.pid.is_some_and(|pid| pids.contains(&pid.0)),
            Self::Kind(kind) => facts.kind.contains(*kind),
            Self::Job(text) => facts.job.is_some_and(|(launcher, command, leader)| {
                contains(launcher, text) || contains(command, text) || leader.to_string() == *text
            }),
            Self::Memory(compare, size) => {
                let used = facts.used?;
                match compare {
                    Compare::More => used > *size,
                    Compare::AtLeast => used >= *size,
                    Compare::Less => used < *size,
                    Compare::AtMost => used <= *size,
                    Compare::Equal => used == *size,
                }
            }
        })
    }
}

/// Whether `text` has `word`, which is in lower case, somewhere, whatever the case.
fn contains(text: &str, word: &str) -> bool {
    if text.is_ascii() {
        // Without a copy: this is done for every process at every frame.
        let (text, word) = (text.as_bytes(), word.as_bytes());
        return word.is_empty() || text.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word));
    }
    text.to_lowercase().contains(word)
}

/// The terms of a text: whether turned round, the term, and whether it was quoted.
fn words(text: &str) -> Vec<(bool, String, bool)> {
    let mut out = Vec::new();
    let mut chars = text.chars().peekable();
    loop {
        while chars.next_if(|c| c.is_whitespace()).is_some() {}
        if chars.peek().is_none() {
            return out;
        }
        let not = chars.next_if(|c| matches!(c, '-' | '!')).is_some();
        let (mut word, mut quoted, mut open) = (String::new(), false, false);
        while let Some(c) = chars.next_if(|c| open || !c.is_whitespace()) {
            if c == '"' {
                open = !open;
                quoted |= word.is_empty();
            } else {
                word.push(c);
            }
        }
        if !word.is_empty() {
            out.push((not, word, quoted));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> Facts<'static> {
        Facts {
            gpu: Gpu(1),
            pid: Some(Pid(812)),
            user: "user2",
            command: "/opt/conda/bin/Python -m ipykernel_launcher -f Über.json",
            container: "docker 3f2a",
            relation: "foreign",
            kind: HolderKind::C,
            used: Some(Bytes::gib(12)),
            job: Some(("torchrun", "torchrun train.py", Pid(800))),
        }
    }

    #[test]
    fn terms_hold_or_do_not() {
        for (text, holds) in [
            ("", true),
            ("python", true),
            ("PYTHON user2", true),
            ("python user3", false),
            ("über", true),
            ("81", true),
            ("docker", true),
            ("-python", false),
            ("!jupyter", true),
            ("\"-m ipykernel\"", true),
            ("-m", false),
            ("-\"-x\"", true),
            ("\"user:user2\"", false),
            ("user:user2", true),
            ("user:USER", true),
            ("user:user3", false),
            ("-user:user3", true),
            ("gpu:1", true),
            ("gpu:0,1", true),
            ("gpu:0", false),
            ("rel:foreign", true),
            ("rel:for", true),
            ("rel:mine", false),
            ("!rel:mine", true),
            ("mem:>2GiB", true),
            ("mem:>12GiB", false),
            ("mem:>=12GiB", true),
            ("mem:<12G", false),
            ("mem:<=12G", true),
            ("mem:=12GiB", true),
            ("mem:11G", true),
            ("-mem:>2GiB", false),
            ("pid:812", true),
            ("pid:81", false),
            ("kind:c", true),
            ("kind:G", false),
            ("kind:C+G", false),
            ("job:torch", true),
            ("job:800", true),
            ("job:train", true),
            ("job:mpirun", false),
            ("user:user2 gpu:1 mem:>2GiB ipykernel -sweep", true),
            ("http://x", false),
        ] {
            let filter = Filter::parse(text);
            assert_eq!(filter.mistake(), None, "{text}");
            assert_eq!(filter.fits(&facts()), holds, "{text}");
        }
    }

    #[test]
    fn what_is_not_known_is_neither_more_nor_less() {
        let unknown = Facts { used: None, ..facts() };
        for text in ["mem:>1", "-mem:>1", "mem:<1"] {
            assert!(!Filter::parse(text).fits(&unknown), "{text}");
        }
    }

    #[test]
    fn mistakes_are_told_and_the_rest_holds() {
        for (text, why) in [
            ("mem:>lots", "mem:>2GiB"),
            ("mem:", "mem:>2GiB"),
            ("gpu:x", "number"),
            ("gpu:", "number"),
            ("pid:-1", "number"),
            ("rel:theirs", "foreign"),
            ("kind:x", "compute"),
            ("user:", "user:NAME"),
            ("job:", "leader"),
        ] {
            let filter = Filter::parse(&format!("{text} sweep"));
            assert!(filter.mistake().is_some_and(|mistake| mistake.contains(why)), "{text}: {:?}", filter.mistake());
            assert!(!filter.fits(&facts()), "{text}: the word still holds");
        }
    }

    #[test]
    fn hostile_texts_are_bounded() {
        let filter = Filter::parse(&"a\"-! ".repeat(100_000));
        assert!(filter.text().chars().count() <= MAX_LENGTH);
        assert!(!filter.fits(&facts()));
        let _ = Filter::parse("\"\" - ! -\" :: \u{1b}[2J");
    }
}
