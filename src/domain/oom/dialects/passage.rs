//! A line of a log and what follows it, as one text.

use regex::Captures;

use crate::domain::oom::size::Pattern;

/// A line and the lines that follow it, joined with single spaces: messages run over several lines, and terminals wrap them.
#[derive(Clone, Copy, Debug)]
pub struct Passage<'a> {
    /// All of it.
    pub text: &'a str,
    /// How much of it is the first line, in bytes.
    pub first: usize,
    /// The lines just before, joined with line breaks.
    pub before: &'a str,
}

/// What makes even a message with figures a piece of a document or a test.
static QUOTED: Pattern = Pattern::new(
    r"(?i)\b(?:(?:if|when|whenever) you (?:see|get|encounter|hit)|e\.g\.|for example|such as|faq|simulate[ds]?|simulating|injected|injecting|mock(?:ed|ing)?|assert\w*|match=|raises\(|test_\w*|docs?:)[^\n]{0,60}$",
);

/// What makes a message without figures a condition or a hint.
static SUPPOSED: Pattern = Pattern::new(
    r"(?i)\b(?:if|when|whenever|unless|should|could|would|might|may|avoid|avoids|avoiding|prevent|prevents|preventing|against|in case|in case of|encounter|hit|until|before|no|without|help: |retry on|on|of|handle|handles|handling|detect|detects|for|except|catch|--\w[\w-]*)[^\w]+(?:an? |the |any |\w+ ){0,3}$",
);

impl<'a> Passage<'a> {
    /// The first line.
    pub fn line(&self) -> &'a str {
        self.text.get(..self.first).unwrap_or(self.text)
    }

    /// A match that begins in the first line and is no quotation.
    pub fn find(&self, pattern: &Pattern) -> Option<Captures<'a>> {
        let found = self.find_any(pattern)?;
        (!QUOTED.is_match(self.head(&found))).then_some(found)
    }

    /// The same for a message without figures: one that is said of this run, not supposed.
    pub fn find_said(&self, pattern: &Pattern) -> Option<Captures<'a>> {
        let found = self.find(pattern)?;
        (!SUPPOSED.is_match(self.head(&found))).then_some(found)
    }

    /// A match that begins in the first line.
    pub fn find_any(&self, pattern: &Pattern) -> Option<Captures<'a>> {
        let found = pattern.captures(self.text)?;
        (found.get(0)?.start() < self.first).then_some(found)
    }

    /// The text from a match on, no more of it than a message can have.
    pub fn from(&self, found: &Captures) -> &'a str {
        let start = found.get(0).map_or(0, |all| all.start());
        let rest = self.text.get(start..).unwrap_or_default();
        let end = rest.char_indices().nth(4_000).map_or(rest.len(), |(at, _)| at);
        rest.get(..end).unwrap_or(rest)
    }

    /// The first line up to a match.
    pub fn head(&self, found: &Captures) -> &'a str {
        let start = found.get(0).map_or(0, |all| all.start());
        self.text.get(..start).unwrap_or_default()
    }
}

/// A group of a match.
pub fn group<'t>(found: &Captures<'t>, n: usize) -> &'t str {
    found.get(n).map_or("", |group| group.as_str())
}

/// Reads a text with one dialect, for tests.
#[cfg(test)]
pub fn read_text(dialect: &super::Dialect, text: &str) -> Option<crate::domain::oom::event::Event> {
    let first = text.find('\n').unwrap_or(text.len());
    (dialect.marks.iter().any(|mark| text.contains(mark))).then(|| (dialect.read)(&Passage { text, first, before: "" })).flatten()
}
