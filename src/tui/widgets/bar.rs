//! A stacked bar: parts of a whole as runs of cells, one glyph and one style each.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

/// One part of the bar.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// How much.
    pub size: u64,
    /// Its glyph.
    pub glyph: char,
    /// Its colours.
    pub style: Style,
    /// Gives a cell to a part that would have none.
    pub elastic: bool,
}

/// How many of `cells` each part gets when `scale` fills them all. Every part that is not empty and not elastic gets at
/// least one: a small holder must not disappear. The sum is that of the exact picture.
pub fn cells<const N: usize>(sizes: &[(u64, bool); N], scale: u64, cells: u16) -> [u16; N] {
    let mut out = [0; N];
    if scale == 0 {
        return out;
    }
    let place = |sum: u64| ((u128::from(sum) * u128::from(cells) * 2 + u128::from(scale)) / (2 * u128::from(scale))) as u16;
    let mut sum = 0u64;
    let mut from = 0;
    for (out, (size, _)) in out.iter_mut().zip(sizes) {
        sum = sum.saturating_add(*size);
        let to = place(sum.min(scale)).min(cells);
        *out = to - from;
        from = to;
    }
    for at in 0..N {
        let (size, elastic) = sizes[at];
        if size > 0 && out[at] == 0 && !elastic {
            let largest = (0..N).max_by_key(|n| (sizes[*n].1, out[*n])).filter(|n| out[*n] > 0);
            let donor = largest.or_else(|| (0..N).max_by_key(|n| out[*n]));
            if let Some(donor) = donor.filter(|donor| out[*donor] > 1) {
                out[donor] -= 1;
                out[at] = 1;
            }
        }
    }
    out
}

/// Draws the parts from the left of the first row of `area`.
pub fn render<const N: usize>(parts: &[Part; N], scale: u64, area: Rect, buf: &mut Buffer) {
    let sizes = parts.map(|part| (part.size, part.elastic));
    let mut x = area.x;
    for (part, columns) in parts.iter().zip(cells(&sizes, scale, area.width)) {
        super::text::fill(buf, x, area.y, columns, part.glyph, part.style);
        x += columns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_add_up_to_the_whole() {
        assert_eq!(cells(&[(50, false), (25, false), (25, true)], 100, 40), [20, 10, 10]);
        assert_eq!(cells(&[(1, false), (0, false), (99, true)], 100, 10), [1, 0, 9]);
        assert_eq!(cells(&[(990, false), (1, false), (9, true)], 1000, 10), [9, 1, 0]);
        assert_eq!(cells(&[(50, false), (10, true)], 0, 10), [0, 0]);
        assert_eq!(cells(&[(500, false), (100, true)], 100, 10), [10, 0]);
        // A smaller card on the scale of a larger one ends earlier.
        assert_eq!(cells(&[(20, false), (20, true)], 80, 40), [10, 10]);
    }
}
