//! A line that is typed: the filter, or the text of a mark.

use tui_input::{Input, InputRequest};

use super::filter;
use super::keymap::Key;
use crate::domain::text::clean;

/// What is being typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The filter of the process table.
    Filter,
    /// The text of a mark.
    Mark,
}

/// A line and its cursor.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// What for.
    pub asked: Asked,
    input: Input,
}

impl Prompt {
    /// A line that begins with `text`, the cursor at its end.
    pub fn new(asked: Asked, text: &str) -> Self {
        Self { asked, input: Input::new(text.to_owned()) }
    }

    /// The text so far.
    pub fn text(&self) -> &str {
        self.input.value()
    }

    /// Columns before the cursor.
    pub fn cursor(&self) -> u16 {
        u16::try_from(self.input.visual_cursor()).unwrap_or(u16::MAX)
    }

    /// Takes a key that edits, and says whether it did.
    pub fn edit(&mut self, key: Key) -> bool {
        let request = match key.to_string().as_str() {
            "Backspace" | "^H" => InputRequest::DeletePrevChar,
            "Delete" => InputRequest::DeleteNextChar,
            "←" | "^B" => InputRequest::GoToPrevChar,
            "→" | "^F" => InputRequest::GoToNextChar,
            "Home" | "^A" => InputRequest::GoToStart,
            "End" | "^E" => InputRequest::GoToEnd,
            "^W" => InputRequest::DeletePrevWord,
            "^U" => InputRequest::DeleteFromStart,
            "^K" => InputRequest::DeleteTillEnd,
            _ => match key.typed() {
                Some(c) => {
                    self.insert(c.encode_utf8(&mut [0; 4]));
                    return true;
                }
                None => return false,
            },
        };
        self.input.handle(request);
        true
    }

    /// Puts in what was pasted: harmless, on one line, and no more than a filter holds.
    pub fn insert(&mut self, text: &str) {
        let room = filter::MAX_LENGTH.saturating_sub(self.input.value().chars().count());
        // Cut before it is cleaned, so that no mark of a cut is typed.
        let text: String = text.chars().take(room).collect();
        for c in clean(&text, room).chars() {
            self.input.handle(InputRequest::InsertChar(c));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_edit() {
        for (keys, text) in [
            ("a b c", "abc"),
            ("a b backspace c", "ac"),
            ("a b left c", "acb"),
            ("a b home c", "cab"),
            ("a b home delete", "b"),
            ("a b ctrl-u", ""),
            ("a space b ctrl-w c", "a c"),
            ("a b ctrl-a ctrl-k x", "x"),
        ] {
            let mut prompt = Prompt::new(Asked::Filter, "");
            for key in keys.split(' ') {
                assert!(prompt.edit(Key::parse(key).expect("a key")), "{key}");
            }
            assert_eq!(prompt.text(), text, "{keys}");
        }
        assert!(!Prompt::new(Asked::Mark, "").edit(Key::parse("f5").expect("a key")));
    }

    #[test]
    fn a_hostile_paste_is_bounded_and_harmless() {
        let mut prompt = Prompt::new(Asked::Filter, "x");
        prompt.insert(&"\u{1b}[2J\n\u{202e}".repeat(50_000));
        assert_eq!(prompt.text().chars().count(), filter::MAX_LENGTH);
        assert!(prompt.text().chars().all(|c| !c.is_control() && c != '\u{202e}'));
    }
}
