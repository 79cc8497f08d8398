//! The characters that pictures are made of, in Unicode and in plain ASCII.

/// One set of characters.
#[derive(Clone, Copy, Debug)]
pub struct Glyphs {
    /// Slices of a bar, in the order of the slices: job, mine, foreign, system, unknown, unattributed, in use,
    /// reserved, free.
    pub slices: [char; 9],
    /// A rule.
    pub rule: char,
    /// The capacity line.
    pub capacity: char,
    /// A light line across a picture.
    pub grid: char,
    /// The cursor's line.
    pub cursor: char,
    /// The selected row.
    pub marker: char,
    /// Sorted downwards, upwards.
    pub sorted: [char; 2],
    /// A mark in the lane.
    pub mark: char,
    /// A MIG instance below its parent.
    pub branch: char,
    /// The parts of a full block from empty to full.
    pub levels: &'static [char],
    /// Whether pictures use braille dots.
    pub braille: bool,
    /// Between facts.
    pub dot: &'static str,
    /// From … to.
    pub dash: &'static str,
}

/// For terminals that show UTF-8.
pub static UNICODE: Glyphs = Glyphs {
    slices: ['█', '▓', '▚', '▄', '?', '▒', '▀', ':', '·'],
    rule: '─',
    capacity: '┄',
    grid: '·',
    cursor: '│',
    marker: '▸',
    sorted: ['▼', '▲'],
    mark: '▾',
    branch: '└',
    levels: &[' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'],
    braille: true,
    dot: " · ",
    dash: "–",
};

/// For all others.
pub static ASCII: Glyphs = Glyphs {
    slices: ['#', '=', '%', '+', '?', '~', '@', ':', '.'],
    rule: '-',
    capacity: '-',
    grid: '.',
    cursor: '|',
    marker: '>',
    sorted: ['v', '^'],
    mark: 'v',
    branch: '`',
    levels: &[' ', '.', ':', '-', '=', '+', '*', '#', '@'],
    braille: false,
    dot: " | ",
    dash: "-",
};
