//! Text into cells, cut by display width.

use std::borrow::Cow;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns that a text takes.
pub fn width(text: &str) -> u16 {
    let columns = if text.is_ascii() { text.len() } else { text.width() };
    u16::try_from(columns).unwrap_or(u16::MAX)
}

/// Adds to a text.
pub fn say(text: &mut String, more: std::fmt::Arguments<'_>) {
    std::fmt::Write::write_fmt(text, more).expect("a String takes every text");
}

/// The text, or its beginning and `…` where it is wider than `max` columns.
pub fn fit(text: &str, max: u16) -> Cow<'_, str> {
    if width(text) <= max {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(usize::from(max) + 4);
    let mut columns = 0;
    for c in text.chars() {
        columns += c.width().unwrap_or(0);
        if columns >= usize::from(max) {
            break;
        }
        out.push(c);
    }
    if max > 0 {
        out.push('…');
    }
    Cow::Owned(out)
}

/// As many whole words of the text as fit; its beginning where not even one does.
pub fn fit_words(text: &str, max: u16) -> Cow<'_, str> {
    let mut out = "";
    for (at, _) in text.match_indices(' ').chain([(text.len(), "")]) {
        let (words, _) = text.split_at(at);
        if width(words) > max {
            break;
        }
        out = words;
    }
    if out.is_empty() { fit(text, max) } else { Cow::Borrowed(out) }
}

/// As many whole clauses of a sentence as fit, then `…`: what is told is told in full. Where not even one fits, whole
/// words of it, so that a number is never cut.
pub fn fit_clauses(text: &str, max: u16) -> Cow<'_, str> {
    if width(text) <= max {
        return Cow::Borrowed(text);
    }
    let cut = |separator: &str, more: &str| {
        let fits = |at: &usize| width(text.split_at(*at).0) + width(more) <= max;
        text.match_indices(separator).map(|(at, _)| at).take_while(fits).last().map(|at| text.split_at(at).0)
    };
    // What a sum is made of may be left out, too.
    match (cut("; ", "; …"), cut(" = ", " …")) {
        (clauses, Some(sum)) if clauses.is_none_or(|clauses| clauses.len() < sum.len()) => return Cow::Owned(format!("{sum} …")),
        (Some(clauses), _) => return Cow::Owned(format!("{clauses}; …")),
        (None, _) => {}
    }
    cut(" ", " …").map_or_else(|| fit(text, max), |words| Cow::Owned(format!("{words} …")))
}

/// The text in lines of at most `max` columns, broken between words where there are any.
pub fn wrap(text: &str, max: u16) -> Vec<String> {
    let max = max.max(1);
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let mut word = word;
        loop {
            let line = lines.last_mut().expect("there is a first line");
            let gap = u16::from(!line.is_empty());
            if width(line) + gap + width(word) <= max {
                if gap > 0 {
                    line.push(' ');
                }
                line.push_str(word);
                break;
            }
            if gap > 0 {
                lines.push(String::new());
                continue;
            }
            // A word wider than the line is cut where it must be.
            let mut columns = 0;
            let end = word.char_indices().find(|(_, c)| {
                columns += c.width().unwrap_or(0) as u16;
                columns > max
            });
            let Some((end, _)) = end.filter(|(end, _)| *end > 0) else { break };
            let (head, tail) = word.split_at(end);
            line.push_str(head);
            word = tail;
            lines.push(String::new());
        }
    }
    lines
}

/// The style without attributes of what lay below: `dim` of a rule would make its title dim.
pub fn plain(style: Style) -> Style {
    style.remove_modifier(Modifier::all().difference(style.add_modifier))
}

/// Writes `text` from `x` on, at most `max` columns, and returns the column after it. Outside of the buffer is nothing.
pub fn put(buf: &mut Buffer, x: u16, y: u16, max: u16, text: &str, style: Style) -> u16 {
    let area = *buf.area();
    if y < area.top() || y >= area.bottom() || x < area.left() || x >= area.right() {
        return x;
    }
    let max = max.min(area.right() - x);
    let style = plain(style);
    if text.is_ascii() {
        // Nearly all text is: without looking for graphemes this is ten times as fast.
        let mut at = x;
        for byte in text.bytes().take(usize::from(max)) {
            buf[(at, y)].set_char(if byte.is_ascii_control() { ' ' } else { byte as char }).set_style(style);
            at += 1;
        }
        return at;
    }
    buf.set_stringn(x, y, text, usize::from(max), style).0
}

/// Writes `text` so that it ends before `right`, at most `max` columns wide.
pub fn put_right(buf: &mut Buffer, right: u16, y: u16, max: u16, text: &str, style: Style) {
    let text = fit(text, max);
    let columns = width(&text).min(max);
    put(buf, right.saturating_sub(columns), y, columns, &text, style);
}

/// Fills a row with one character.
pub fn fill(buf: &mut Buffer, x: u16, y: u16, columns: u16, c: char, style: Style) {
    let area = *buf.area();
    if y < area.top() || y >= area.bottom() {
        return;
    }
    for x in x.max(area.left())..x.saturating_add(columns).min(area.right()) {
        buf[(x, y)].set_char(c).set_style(style);
    }
}

/// Writes along one row from the left; what does not fit is left out.
pub struct Pen<'a> {
    buf: &'a mut Buffer,
    x: u16,
    y: u16,
    right: u16,
}

impl<'a> Pen<'a> {
    /// At the left end of the first row of `area`.
    pub fn new(buf: &'a mut Buffer, area: Rect) -> Self {
        Self { x: area.x, y: area.y, right: area.right(), buf }
    }

    /// Columns left.
    pub fn left(&self) -> u16 {
        self.right.saturating_sub(self.x)
    }

    /// Writes as much of `text` as fits, and says with `…` that something is missing.
    pub fn put(&mut self, text: &str, style: Style) -> &mut Self {
        let text = fit(text, self.left());
        self.x = put(self.buf, self.x, self.y, self.left(), &text, style);
        self
    }

    /// Writes `text` if all of it fits, and says whether it did.
    pub fn put_whole(&mut self, text: &str, style: Style) -> bool {
        let fits = width(text) <= self.left();
        if fits {
            self.put(text, style);
        }
        fits
    }

    /// Leaves `columns` free.
    pub fn skip(&mut self, columns: u16) -> &mut Self {
        self.x = self.x.saturating_add(columns).min(self.right);
        self
    }
}

/// A rule with a title in it and, where there is room, something at its right end.
pub struct Rule<'a> {
    /// What stands in the rule.
    pub title: &'a str,
    /// What stands at its end.
    pub right: &'a str,
    /// The character of the rule.
    pub line: char,
    /// Of the line and of the text at the right.
    pub style: Style,
    /// Of the title.
    pub title_style: Style,
}

impl Rule<'_> {
    /// Draws it over the first row of `area`.
    pub fn render(&self, area: Rect, buf: &mut Buffer) {
        fill(buf, area.x, area.y, area.width, self.line, self.style);
        let room = area.width.saturating_sub(5);
        let title = fit(self.title, room);
        if !title.is_empty() {
            let end = put(buf, area.x + 2, area.y, 1, " ", self.style);
            let end = put(buf, end, area.y, room, &title, self.title_style);
            put(buf, end, area.y, 1, " ", self.style);
        }
        let taken = width(&title) + 5;
        let right = width(self.right);
        if right > 0 && taken + right + 4 <= area.width {
            let start = area.right() - right - 4;
            put(buf, start, area.y, 1, " ", self.style);
            put(buf, start + 1, area.y, right, self.right, self.style);
            put(buf, start + 1 + right, area.y, 1, " ", self.style);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_by_columns() {
        assert_eq!(fit("train.py", 8), "train.py");
        assert_eq!(fit("train.py", 6), "train…");
        assert_eq!(fit("訓練します", 6), "訓練…");
        assert_eq!(fit("訓練します", 5), "訓練…");
        assert_eq!(fit("x", 0), "");
        assert_eq!(fit("xy", 1), "…");
    }

    #[test]
    fn names_lose_their_last_words() {
        assert_eq!(fit_words("H100 80GB HBM3", 12), "H100 80GB");
        assert_eq!(fit_words("H100 80GB HBM3", 14), "H100 80GB HBM3");
        assert_eq!(fit_words("Superchip", 5), "Supe…");
    }

    #[test]
    fn sentences_lose_whole_clauses() {
        let text = "GPU 0: 12.5 GiB used; 0.47 reserved; peak 71.7";
        assert_eq!(fit_clauses(text, 50), text);
        assert_eq!(fit_clauses(text, 44), "GPU 0: 12.5 GiB used; 0.47 reserved; …");
        assert_eq!(fit_clauses(text, 30), "GPU 0: 12.5 GiB used; …");
        assert_eq!(fit_clauses("lost 3 s ago; 12.5 GiB used = 12 mine + 0.5 system", 40), "lost 3 s ago; 12.5 GiB used …");
        assert_eq!(fit_clauses(text, 15), "GPU 0: 12.5 …");
        assert_eq!(fit_clauses(text, 11), "GPU 0: …");
        assert_eq!(fit_clauses(text, 2), "G…");
    }

    #[test]
    fn text_is_wrapped_between_words() {
        assert_eq!(wrap("python train.py --bs 64", 12), ["python", "train.py", "--bs 64"]);
        assert_eq!(wrap("", 9), [""]);
        assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrap("x 訓練します", 5), ["x", "訓練", "しま", "す"]);
        assert!(wrap(&"x".repeat(100_000), 50).iter().all(|line| width(line) <= 50));
    }

    #[test]
    fn nothing_is_written_outside() {
        let mut buf = Buffer::empty(Rect::new(0, 0, 4, 1));
        put(&mut buf, 9, 0, 9, "far", Style::new());
        put(&mut buf, 0, 9, 9, "low", Style::new());
        put(&mut buf, 2, 0, 9, "訓練", Style::new());
        put_right(&mut buf, 2, 0, 9, "12", Style::new());
        assert_eq!(buf, Buffer::with_lines(["12訓"]));
    }
}
