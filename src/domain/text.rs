//! Making text from outside harmless before it is kept, shown or written; and telling how alike two words are.

/// `text` without anything that could move a cursor, reorder a line or break a column, cut to `max` characters.
///
/// Control characters (C0, C1, DEL), escape sequences' introducers, bidirectional overrides and
/// isolates, zero-width and other invisible format characters, and line or paragraph separators
/// become `·`, so that the reader sees that something stood there. A cut text ends in `…`.
///
/// ```
/// use vramscope::domain::text::clean;
/// assert_eq!(clean("py\x1b[2Jthon\n", 40), "py·[2Jthon·");
/// assert_eq!(clean("abcdef", 4), "abc…");
/// ```
pub fn clean(text: &str, max: usize) -> String {
    let mut out = String::with_capacity(text.len().min(max.saturating_mul(4)));
    for (n, c) in text.chars().enumerate() {
        if n >= max {
            out.pop();
            out.push('…');
            break;
        }
        out.push(if is_hostile(c) { '·' } else { c });
    }
    out
}

/// Whether a character can do more than show itself.
fn is_hostile(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{00ad}' | '\u{061c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// How many characters have to change to make one word of the other (Levenshtein); `_` counts as `-`.
///
/// ```
/// use vramscope::domain::text::distance;
/// assert_eq!(distance("intervall", "interval"), 1);
/// assert_eq!(distance("nvml_lib", "nvml-lib"), 0);
/// ```
pub fn distance(a: &str, b: &str) -> usize {
    let characters = |word: &str| word.replace('_', "-").chars().collect::<Vec<char>>();
    let (a, b) = (characters(a), characters(b));
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (y, cell) in b.iter().zip(row.iter_mut().skip(1)) {
            let above = *cell;
            let cost = (diagonal + usize::from(x != y)).min(above + 1).min(left + 1);
            diagonal = above;
            *cell = cost;
            left = cost;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_acts_on_a_terminal_survives() {
        let hostile = "a\u{1b}]0;x\u{7}\u{9b}2J\u{202e}b\r\n\t\u{200b}\u{0}";
        let cleaned = clean(hostile, 100);
        assert!(cleaned.chars().all(|c| !is_hostile(c)), "{cleaned:?}");
        assert!(cleaned.starts_with('a') && cleaned.contains('b'));
    }

    #[test]
    fn long_text_is_cut_by_characters() {
        assert_eq!(clean("äöüß", 3), "äö…");
        assert_eq!(clean("", 3), "");
        assert_eq!(clean("abc", 3), "abc");
        assert_eq!(clean(&"x".repeat(100_000), 10).chars().count(), 10);
    }
}
