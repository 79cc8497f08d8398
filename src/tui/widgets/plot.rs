//! A filled line of the last value with the band from smallest to largest dotted around it, in braille or in ASCII.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::glyphs::Glyphs;
use crate::domain::{Bucket, Bytes};

/// Colours of a plot.
#[derive(Clone, Copy, Debug)]
pub struct PlotStyle {
    /// Of the newest value in each column.
    pub line: Style,
    /// Below the smallest value.
    pub fill: Style,
    /// Between the smallest and the largest value.
    pub band: Style,
}

/// A part of the whole, drawn into the fill.
#[derive(Clone, Copy, Debug)]
pub struct Share<'a> {
    /// As many buckets as the whole has.
    pub buckets: &'a [Bucket],
    /// Its colour.
    pub style: Style,
}

/// Values over time, two buckets to a column.
#[derive(Clone, Copy, Debug)]
pub struct Plot<'a> {
    /// Oldest first.
    pub buckets: &'a [Bucket],
    /// One holder's part.
    pub share: Option<Share<'a>>,
    /// The value at the upper edge.
    pub top: Bytes,
    /// Colours.
    pub style: PlotStyle,
    /// Characters.
    pub glyphs: &'a Glyphs,
}

/// Single dots in a plot, on top of what is there.
pub struct Dots<'a> {
    area: Rect,
    top: Bytes,
    glyphs: &'a Glyphs,
}

impl<'a> Dots<'a> {
    /// Dots in the area of a plot that ends at `top`.
    pub fn new(area: Rect, top: Bytes, glyphs: &'a Glyphs) -> Self {
        Self { area, top, glyphs }
    }

    /// Adds one in the left or right half of a column, at the height of a value.
    pub fn put(&self, buf: &mut Buffer, column: u16, right: bool, value: Bytes, style: Style) {
        let whole = f64::from(self.area.height) * 4.0;
        let level = (value.0 as f64 / self.top.0.max(1) as f64 * whole).round().clamp(1.0, whole.max(1.0)) as u16 - 1;
        let place = (self.area.x + column, self.area.bottom().saturating_sub(1 + level / 4));
        if !self.area.contains(place.into()) || !buf.area().contains(place.into()) {
            return;
        }
        let cell = &mut buf[place];
        let bit = u32::from(DOTS[usize::from(right)][usize::from(level % 4)]);
        let there = cell.symbol().chars().next().map(u32::from).filter(|c| (0x2800..0x2900).contains(c)).unwrap_or(0x2800);
        let glyph = if self.glyphs.braille { char::from_u32(there | bit).unwrap_or('.') } else { '.' };
        cell.set_char(glyph).set_style(super::text::plain(style));
    }
}

/// Levels of one bucket, counted from the lower edge in dots.
#[derive(Clone, Copy, Default)]
struct Levels {
    min: u32,
    max: u32,
    last: u32,
    /// The smallest and the largest part of the holder.
    share: [u32; 2],
    /// The value moved little in this time. Where it moved much, the last value is one of many: no line through it.
    calm: bool,
}

/// Bits of the braille dots, from the lower to the upper, left and right.
const DOTS: [[u8; 4]; 2] = [[0x40, 0x04, 0x02, 0x01], [0x80, 0x20, 0x10, 0x08]];

impl Plot<'_> {
    /// Draws over `area`; cells without a value are left as they are.
    pub fn render(&self, area: Rect, buf: &mut Buffer) {
        let area = area.intersection(*buf.area());
        if area.is_empty() || self.top == Bytes::ZERO {
            return;
        }
        for column in 0..area.width {
            let at = usize::from(column) * 2;
            let pair = [self.levels(at, area.height), self.levels(at + 1, area.height)];
            if pair.iter().all(|levels| levels.max == 0) {
                continue;
            }
            for row in 0..area.height {
                let base = u32::from(area.height - 1 - row) * 4;
                if let Some((glyph, style)) = if self.glyphs.braille { self.dots(pair, base) } else { self.ascii(pair, base) } {
                    buf[(area.x + column, area.y + row)].set_char(glyph).set_style(super::text::plain(style));
                }
            }
        }
    }

    fn levels(&self, at: usize, rows: u16) -> Levels {
        let Some(bucket) = self.buckets.get(at).filter(|bucket| !bucket.is_empty()) else { return Levels::default() };
        let whole = f64::from(rows) * 4.0;
        // A known value is at least one dot high: a flat zero is a line on the ground, a gap is nothing.
        let level = |value: Option<Bytes>| {
            value.map_or(0, |value| (value.0 as f64 / self.top.0 as f64 * whole).round().clamp(1.0, whole) as u32)
        };
        let share = self.share.and_then(|share| share.buckets.get(at));
        let share = [share.and_then(|bucket| bucket.min()), share.and_then(|bucket| bucket.max())];
        let (min, max) = (level(bucket.min()), level(bucket.max()));
        Levels {
            min,
            max,
            calm: max - min <= u32::from(rows) / 2 + 1,
            last: level(bucket.last()),
            share: share.map(|value| level(value.filter(|value| value.0 > 0))),
        }
    }

    /// The braille cell whose lowest dot is number `base`.
    fn dots(&self, pair: [Levels; 2], base: u32) -> Option<(char, Style)> {
        let mut bits = 0;
        let (mut line, mut fill) = (false, false);
        for (side, levels) in pair.iter().enumerate() {
            for (dot, bit) in DOTS[side].iter().enumerate() {
                let level = base + dot as u32 + 1;
                let is_line = levels.calm && level == levels.last;
                let is_fill = level <= levels.min;
                // A pattern of its own, so that the band differs from the fill without colours too; its upper edge is
                // always there: a spike reaches its height.
                let is_band = level == levels.max || (level < levels.max && (level + 2 * side as u32) % 4 == 1);
                if is_line || is_fill || is_band {
                    bits |= bit;
                }
                line |= is_line;
                fill |= is_fill;
            }
        }
        let glyph = char::from_u32(0x2800 + u32::from(bits)).filter(|_| bits > 0)?;
        Some((glyph, self.style_of(pair, base, line, fill)))
    }

    /// The ASCII cell that stands for the dots from `base` on.
    fn ascii(&self, pair: [Levels; 2], base: u32) -> Option<(char, Style)> {
        let (min, max) = (pair[0].min.min(pair[1].min), pair[0].max.max(pair[1].max));
        let last = if pair[1].max > 0 { pair[1].last } else { pair[0].last };
        let line = pair[1].calm && (base + 1..=base + 4).contains(&last);
        let fill = min > base;
        let glyph = if line {
            '*'
        } else if fill {
            '#'
        } else if max > base {
            ':'
        } else {
            return None;
        };
        Some((glyph, self.style_of(pair, base, line, fill)))
    }

    fn style_of(&self, pair: [Levels; 2], base: u32, line: bool, fill: bool) -> Style {
        // What it held all the time lies in the fill, what it held at times in the band.
        let at = usize::from(!fill);
        match self.share {
            Some(share) if pair[0].share[at].max(pair[1].share[at]) > base + 1 => share.style,
            _ if line => self.style.line,
            _ if fill => self.style.fill,
            _ => self.style.band,
        }
    }
}

/// The largest values as one row of blocks, one bucket to a column.
pub fn sparkline(buckets: &[Bucket], top: Bytes, glyphs: &Glyphs, style: Style, area: Rect, buf: &mut Buffer) {
    let area = area.intersection(*buf.area());
    if area.is_empty() || top == Bytes::ZERO {
        return;
    }
    let steps = glyphs.levels.len() - 1;
    for (x, bucket) in (area.x..area.right()).zip(buckets) {
        if let Some(max) = bucket.max() {
            let level = (max.0 as f64 / top.0 as f64 * steps as f64).ceil().clamp(1.0, steps as f64) as usize;
            buf[(x, area.y)].set_char(glyphs.levels[level]).set_style(style);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::glyphs::{ASCII, UNICODE};
    use super::*;
    use crate::domain::{Period, Series, Timestamp};

    fn plot(glyphs: &'static Glyphs, seconds: u64) -> Buffer {
        let mut series = Series::device();
        for (second, gib) in [(0, 20), (1, 20), (2, 40), (3, 40), (4, 80), (5, 40), (6, 40), (7, 0)] {
            series.push(Timestamp::secs(second), Bytes::gib(gib));
        }
        series.gap();
        let buckets = series.buckets(Timestamp::ZERO, Period::secs(seconds), 20, Timestamp::secs(9));
        let style = Style::new();
        let style = PlotStyle { line: style, fill: style, band: style };
        let mut buf = Buffer::empty(Rect::new(0, 0, 10, 3));
        Plot { buckets: &buckets, share: None, top: Bytes::gib(80), style, glyphs }.render(buf.area, &mut buf);
        buf
    }

    #[test]
    fn a_spike_reaches_its_height_and_a_gap_is_blank() {
        assert_eq!(text(&plot(&UNICODE, 1)), ["  ⡇", " ⣤⣧⡄", "⣶⣿⣿⣇"]);
        assert_eq!(text(&plot(&ASCII, 1)), ["  :", " **:", "*##*"]);
    }

    #[test]
    fn the_band_is_dotted_up_to_its_edge() {
        // One bucket from 20 to 80 GiB.
        assert_eq!(text(&plot(&UNICODE, 7)), ["⡁", "⡀", "⣆"]);
    }

    fn text(buf: &Buffer) -> Vec<String> {
        let row = |row: &[ratatui::buffer::Cell]| row.iter().map(ratatui::buffer::Cell::symbol).collect::<String>();
        buf.content().chunks(usize::from(buf.area.width)).map(|cells| row(cells).trim_end().to_owned()).collect()
    }
}
