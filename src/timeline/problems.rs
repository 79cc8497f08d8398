//! What was wrong with a file: collected with its lines, and bounded whatever the file holds.

use crate::domain::text::clean;

/// How many of one kind are told one by one.
const TOLD: usize = 20;
/// What a problem's text is cut to.
const LONGEST: usize = 300;

/// Something that was wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The line, from 1; none for what is about the whole.
    pub line: Option<u64>,
    /// What.
    pub text: String,
    /// Something that was recorded could not be used.
    pub lost: bool,
}

/// What kind of thing was wrong, for counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumCount, strum::EnumIter)]
pub enum Kind {
    /// A line is no record.
    Line,
    /// A line is too long.
    TooLong,
    /// Time goes back or leaps.
    Time,
    /// A part of the compressed data is damaged.
    Frame,
    /// The file was cut off, or can't be read further.
    Cut,
    /// Another recording begins.
    Another,
}

/// What was wrong so far.
#[derive(Clone, Debug, Default)]
pub struct Problems {
    told: Vec<Problem>,
    more: [More; <Kind as strum::EnumCount>::COUNT],
    lost: bool,
}

/// Those of a kind that are counted alone.
#[derive(Clone, Copy, Debug, Default)]
struct More {
    told: usize,
    count: u64,
    first: u64,
    lost: bool,
}

impl Problems {
    /// Adds one.
    pub(super) fn add(&mut self, kind: Kind, line: u64, lost: bool, text: &str) {
        self.lost |= lost;
        let Some(more) = self.more.get_mut(kind as usize) else { return };
        if more.told < TOLD {
            more.told += 1;
            self.told.push(Problem { line: Some(line), text: clean(text, LONGEST), lost });
        } else {
            if more.count == 0 {
                more.first = line;
            }
            more.count += 1;
            more.lost |= lost;
        }
    }

    /// Adds one about the whole.
    pub fn note(&mut self, text: &str) {
        if self.told.len() < 10 * TOLD {
            self.told.push(Problem { line: None, text: clean(text, LONGEST), lost: false });
        }
    }

    /// Whether something that was recorded could not be used.
    pub fn lost(&self) -> bool {
        self.lost
    }

    /// Those that are told one by one, then one for the rest of each kind.
    pub fn list(&self) -> Vec<Problem> {
        use strum::IntoEnumIterator;
        let mut list = self.told.clone();
        for (kind, more) in Kind::iter().zip(&self.more).filter(|(_, more)| more.count > 0) {
            let text = format!("and {} more from here on: {}", more.count, kind.words());
            list.push(Problem { line: Some(more.first), text, lost: more.lost });
        }
        list
    }
}

impl Kind {
    fn words(self) -> &'static str {
        match self {
            Self::Line => "not a record",
            Self::TooLong => "too long",
            Self::Time => "out of the order of time",
            Self::Frame => "damaged",
            Self::Cut => "cut off",
            Self::Another => "another recording",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_of_a_kind_become_one_and_do_not_hide_another() {
        let mut problems = Problems::default();
        for line in 1..=1_000_000 {
            problems.add(Kind::Line, line, true, "not a record");
        }
        problems.add(Kind::Another, 1_000_001, false, "another recording begins");
        let list = problems.list();
        assert_eq!(list.len(), TOLD + 2);
        let rest = list.last().expect("one for the rest");
        assert_eq!(rest.line, Some(TOLD as u64 + 1));
        assert!(rest.text.contains("999980 more") && rest.lost, "{rest:?}");
        assert!(list.iter().any(|problem| problem.line == Some(1_000_001)));
    }
}
