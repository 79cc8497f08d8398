//! From the driver's bytes to holders: rows are measured and checked before a number is believed.

use std::collections::HashMap;

use super::raw::Form;
use crate::domain::{Bytes, Holder, HolderKind, Missing, Pid, Reading};

/// Instance numbers are small; all ones means none.
const INSTANCE_MAX: u32 = 255;
/// All ones: the size is not available.
const NOT_AVAILABLE: u64 = u64::MAX;

/// One row of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The pid.
    pub pid: u32,
    /// Its memory; none where the driver says "not available".
    pub used: Option<u64>,
    /// GPU and compute instance; all ones outside MIG.
    pub instance: (u32, u32),
}

/// The bytes are not rows of any known layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreadable;

/// Takes rows from the words that a call wrote. `count` is what the library says, `total` bounds a plausible size.
///
/// The width of a row is measured: with the whole buffer filled by a sentinel before the call, rows of 24 bytes end at
/// `3 · count` words and rows of 32 bytes (a fifth field, some R535 drivers and containers, nvitop#226) beyond that.
pub fn parse(words: &[u64], count: usize, form: Form, total: u64, rows: &mut Vec<Row>) -> Result<(), Unreadable> {
    rows.clear();
    if count == 0 {
        return Ok(());
    }
    let width = match (form, words.len()) {
        (Form::V1, written) if written <= 2 * count => 2,
        (Form::V2 | Form::V3, written) if written <= 3 * count => 3,
        (Form::V3, written) if written <= 4 * count => 4,
        _ => return Err(Unreadable),
    };
    for n in 0..count {
        let word = |field: usize| words.get(n * width + field).copied();
        let (pid, used) = (word(0).ok_or(Unreadable)? as u32, word(1).ok_or(Unreadable)?);
        let instance = match form {
            Form::V1 => (u32::MAX, u32::MAX),
            Form::V2 | Form::V3 => {
                let both = word(2).ok_or(Unreadable)?;
                (both as u32, (both >> 32) as u32)
            }
        };
        let sane_instance = |id: u32| id == u32::MAX || id <= INSTANCE_MAX;
        if pid == 0 || pid > Pid::MAX || !sane_instance(instance.0) || !sane_instance(instance.1) {
            return Err(Unreadable);
        }
        if used != NOT_AVAILABLE && used > total {
            return Err(Unreadable);
        }
        rows.push(Row { pid, used: (used != NOT_AVAILABLE).then_some(used), instance });
    }
    Ok(())
}

/// Holders under construction, from several lists.
#[derive(Debug, Default)]
pub struct Merge {
    at: HashMap<(u32, (u32, u32)), usize>,
    merged: Vec<(Row, HolderKind)>,
}

impl Merge {
    /// Empties it, keeping its room.
    pub fn clear(&mut self) {
        self.at.clear();
        self.merged.clear();
    }

    /// Adds a row of a list. A process may stand in several lists with the same memory, and more than once in one: the
    /// largest size counts, never the sum (gpustat#84).
    pub fn add(&mut self, row: Row, kind: HolderKind) {
        let slot = *self.at.entry((row.pid, row.instance)).or_insert_with(|| {
            self.merged.push((row, HolderKind::default()));
            self.merged.len() - 1
        });
        if let Some((known, kinds)) = self.merged.get_mut(slot) {
            known.used = known.used.max(row.used);
            *kinds = kinds.union(kind);
        }
    }

    /// Whether a size is missing somewhere.
    pub fn has_missing(&self) -> bool {
        self.merged.iter().any(|(row, _)| row.used.is_none())
    }

    /// The merged rows.
    pub fn rows(&self) -> &[(Row, HolderKind)] {
        &self.merged
    }
}

/// A row as a holder.
pub fn holder(row: Row, kind: HolderKind, instance: Option<crate::domain::Gpu>) -> Holder {
    let used: Reading<Bytes> =
        row.used.map(Bytes).ok_or(Missing::Unsupported("the driver does not tell this process's memory".into()));
    Holder { pid: Pid(row.pid), used, kind, instance }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NONE: u64 = u64::MAX;

    fn read(words: &[u64], count: usize, form: Form) -> Result<Vec<Row>, Unreadable> {
        let mut rows = Vec::new();
        parse(words, count, form, 1 << 40, &mut rows).map(|()| rows)
    }

    #[test]
    fn rows_of_each_layout_are_told_apart() {
        let row = |pid, used, instance| Row { pid, used, instance };
        let none = (u32::MAX, u32::MAX);
        assert_eq!(read(&[7, 100, 8, 200], 2, Form::V1), Ok(vec![row(7, Some(100), none), row(8, Some(200), none)]));
        let four = [7, 100, NONE, 8, NONE, 3 | (1 << 32)];
        assert_eq!(read(&four, 2, Form::V3), Ok(vec![row(7, Some(100), none), row(8, None, (3, 1))]));
        let five = [7, 100, NONE, 0, 8, 200, NONE, 0];
        assert_eq!(read(&five, 2, Form::V3), Ok(vec![row(7, Some(100), none), row(8, Some(200), none)]));
        assert_eq!(read(&[], 0, Form::V3), Ok(Vec::new()));
    }

    #[test]
    fn the_high_half_of_the_pid_is_padding() {
        assert_eq!(read(&[0xdead_beef_0000_0007, 1, NONE], 1, Form::V2).map(|rows| rows.len()), Ok(1));
    }

    #[test]
    fn absurd_rows_make_the_list_unreadable() {
        for (words, count) in [
            (vec![0, 100, NONE], 1),
            (vec![5_000_000, 100, NONE], 1),
            (vec![7, (1 << 40) + 1, NONE], 1),
            (vec![7, 100, 70_000], 1),
            (vec![7, 100, NONE], 2),
            (vec![7, 100, NONE, 1, 1], 1),
        ] {
            assert_eq!(read(&words, count, Form::V3), Err(Unreadable), "{words:?}");
        }
        assert_eq!(read(&[7, 100, NONE, 0], 1, Form::V2), Err(Unreadable), "no driver has five fields in v2");
    }

    #[test]
    fn lists_are_merged_by_largest_size_and_set_of_kinds() {
        let mut merge = Merge::default();
        let row = |pid, used| Row { pid, used, instance: (u32::MAX, u32::MAX) };
        merge.add(row(7, Some(100)), HolderKind::C);
        merge.add(row(7, Some(120)), HolderKind::G);
        merge.add(row(8, None), HolderKind::G);
        merge.add(row(8, Some(1)), HolderKind::M);
        merge.add(Row { instance: (1, 0), ..row(7, Some(5)) }, HolderKind::C);
        let merged: Vec<String> = merge.rows().iter().map(|(row, kind)| format!("{} {:?} {kind}", row.pid, row.used)).collect();
        assert_eq!(merged, ["7 Some(120) C+G", "8 Some(1) G+M", "7 Some(5) C"]);
        assert!(!merge.has_missing());
    }

    proptest! {
        #[test]
        fn no_bytes_break_the_parser(words in proptest::collection::vec(any::<u64>(), 0..64), count in 0_usize..32) {
            for form in [Form::V1, Form::V2, Form::V3] {
                if let Ok(rows) = read(&words, count, form) {
                    prop_assert_eq!(rows.len(), count);
                    prop_assert!(rows.iter().all(|row| row.used.is_none_or(|used| used <= 1 << 40)));
                }
            }
        }
    }
}
