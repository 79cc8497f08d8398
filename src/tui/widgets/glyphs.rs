//! The characters that pictures are made of, in Unicode and in plain ASCII.

/// One set of characters.
#[derive(Clone, Copy, Debug)]
pub struct Glyphs {
    /// Slices of a bar, in the order of the slices: job, mine, foreign, system, unknown, unattributed, in use,
    /// reserved, free.
    pub slices: [char; 9],
    /// A full cell.
    pub full: char,
    /// A rule.
    pub rule: char,
    /// The capacity line.
    pub capacity: char,
    /// The cursor's line.
    pub cursor: char,
    /// The selected row.
    pub marker: char,
    /// Sorted downwards, upwards.
    pub sorted: [char; 2],
    /// A mark in the lane.
    pub mark: char,
    /// A job whose processes are folded away, and one whose processes stand below it.
    pub folds: [char; 2],
    /// A tagged row.
    pub tag: char,
    /// Before a number that is less than nothing.
    pub minus: char,
    /// A MIG instance below its parent: one of several, the last.
    pub branches: [char; 2],
    /// The parts of a full block from empty to full.
    pub levels: &'static [char],
    /// Whether pictures use braille dots.
    pub braille: bool,
}

/// For terminals that show UTF-8.
pub static UNICODE: Glyphs = Glyphs {
    slices: ['█', '▓', '▚', '▄', '?', '▒', '▀', ':', '·'],
    full: '█',
    rule: '─',
    capacity: '┄',
    cursor: '│',
    marker: '▸',
    sorted: ['▼', '▲'],
    mark: '▾',
    folds: ['▸', '▾'],
    tag: '●',
    minus: '−',
    branches: ['├', '└'],
    levels: &[' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'],
    braille: true,
};

/// For all others.
pub static ASCII: Glyphs = Glyphs {
    slices: ['#', '=', '%', '+', '?', '~', '@', ':', '.'],
    full: '#',
    rule: '-',
    capacity: '-',
    cursor: '|',
    marker: '>',
    sorted: ['v', '^'],
    mark: 'v',
    folds: ['+', '-'],
    tag: '*',
    minus: '-',
    branches: ['|', '`'],
    levels: &[' ', '.', ':', '-', '=', '+', '*', '#', '@'],
    braille: false,
};
