//! Text broken at spaces to fit a width.

use unicode_width::UnicodeWidthStr;

/// Breaks a text at spaces, so that no line is wider than `width` unless a single word is. The first line begins with `first`,
/// those after it with `rest`.
pub fn wrap(out: &mut String, text: &str, [first, rest]: [&str; 2], width: usize) {
    out.push_str(first);
    let mut column = first.width();
    let mut begins = true;
    for word in text.split_whitespace() {
        let wide = word.width();
        if !begins && column + 1 + wide > width {
            out.push('\n');
            out.push_str(rest);
            column = rest.width();
        } else if !begins {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += wide;
        begins = false;
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_spaces_and_hang() {
        for (text, width, wrapped) in [
            ("one two three", 9, "- one two\n  three\n"),
            ("one two three", 80, "- one two three\n"),
            ("unbreakable", 4, "- unbreakable\n"),
            ("a  b\nc", 80, "- a b c\n"),
            ("", 9, "- \n"),
        ] {
            let mut out = String::new();
            wrap(&mut out, text, ["- ", "  "], width);
            assert_eq!(out, wrapped);
        }
    }
}
