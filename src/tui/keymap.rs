//! Keys as people write them, and which action they mean.

use std::collections::HashMap;
use std::fmt;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::action::{ACTIONS, Action, Scope};

/// A key with its modifiers. Shift is part of a printable character, so it is dropped there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    code: KeyCode,
    modifiers: KeyModifiers,
}

/// The special keys: as written in tables, as shown.
const NAMES: [(&str, &str, KeyCode); 16] = [
    ("up", "↑", KeyCode::Up),
    ("down", "↓", KeyCode::Down),
    ("left", "←", KeyCode::Left),
    ("right", "→", KeyCode::Right),
    ("pgup", "PgUp", KeyCode::PageUp),
    ("pgdn", "PgDn", KeyCode::PageDown),
    ("home", "Home", KeyCode::Home),
    ("end", "End", KeyCode::End),
    ("tab", "Tab", KeyCode::Tab),
    ("backtab", "Shift-Tab", KeyCode::BackTab),
    ("enter", "Enter", KeyCode::Enter),
    ("esc", "Esc", KeyCode::Esc),
    ("backspace", "Backspace", KeyCode::Backspace),
    ("space", "Space", KeyCode::Char(' ')),
    ("delete", "Delete", KeyCode::Delete),
    ("insert", "Insert", KeyCode::Insert),
];

impl Key {
    /// Reads `q`, `G`, `up`, `f10`, `ctrl-c`, `shift-left`.
    ///
    /// ```
    /// use vramscope::tui::keymap::Key;
    /// assert_eq!(Key::parse("ctrl-c").map(|key| key.to_string()).as_deref(), Some("^C"));
    /// assert_eq!(Key::parse("hyper-x"), None);
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        let mut modifiers = KeyModifiers::NONE;
        let mut rest = text;
        loop {
            let (modifier, tail) = if let Some(tail) = rest.strip_prefix("ctrl-") {
                (KeyModifiers::CONTROL, tail)
            } else if let Some(tail) = rest.strip_prefix("alt-") {
                (KeyModifiers::ALT, tail)
            } else if let Some(tail) = rest.strip_prefix("shift-") {
                (KeyModifiers::SHIFT, tail)
            } else {
                break;
            };
            modifiers |= modifier;
            rest = tail;
        }
        let mut chars = rest.chars();
        let code = match (chars.next(), chars.next()) {
            (Some(c), None) => KeyCode::Char(c),
            _ => NAMES.iter().find(|(name, ..)| *name == rest).map(|(.., code)| *code).or_else(|| {
                let number = rest.strip_prefix('f')?.parse().ok()?;
                (1..=24).contains(&number).then_some(KeyCode::F(number))
            })?,
        };
        Some(Self { code, modifiers })
    }

    /// The key of an event.
    pub fn of(event: &KeyEvent) -> Self {
        let mut modifiers = event.modifiers & (KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SHIFT);
        if matches!(event.code, KeyCode::Char(_) | KeyCode::BackTab) {
            modifiers -= KeyModifiers::SHIFT;
        }
        Self { code: event.code, modifiers }
    }

    /// The character it types, if it types one.
    pub fn typed(self) -> Option<char> {
        match self.code {
            KeyCode::Char(c) if self.modifiers.is_empty() => Some(c),
            _ => None,
        }
    }

    /// Whether it deletes backwards.
    pub fn is_backspace(self) -> bool {
        self.code == KeyCode::Backspace
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.modifiers.contains(KeyModifiers::ALT) {
            f.write_str("Alt-")?;
        }
        if self.modifiers.contains(KeyModifiers::SHIFT) {
            f.write_str("Shift-")?;
        }
        match self.code {
            KeyCode::Char(c) if self.modifiers.contains(KeyModifiers::CONTROL) => write!(f, "^{}", c.to_ascii_uppercase()),
            KeyCode::F(n) => write!(f, "F{n}"),
            code => match (NAMES.iter().find(|(.., known)| *known == code), code) {
                (Some((_, shown, _)), _) => f.write_str(shown),
                (None, KeyCode::Char(c)) => write!(f, "{c}"),
                (None, _) => f.write_str("?"),
            },
        }
    }
}

/// Which key means what, by scope.
#[derive(Clone, Debug)]
pub struct Keymap {
    actions: HashMap<(Scope, Key), Action>,
    /// Keys in the order of the table, for showing.
    keys: Vec<(Action, Key)>,
}

impl Keymap {
    /// The default keys.
    pub fn new() -> Self {
        let keys: Vec<(Action, Key)> = ACTIONS
            .iter()
            .flat_map(|info| info.keys.iter().filter_map(|key| Key::parse(key)).map(|key| (info.action, key)))
            .collect();
        let scope = |action| ACTIONS.iter().find(|info| info.action == action).map(|info| info.scope);
        let actions = keys.iter().filter_map(|(action, key)| Some(((scope(*action)?, *key), *action))).collect();
        Self { actions, keys }
    }

    /// What a key means in a scope: its own keys first, then those that work everywhere.
    pub fn action(&self, scope: Scope, key: Key) -> Option<Action> {
        self.actions.get(&(scope, key)).or_else(|| self.actions.get(&(Scope::Everywhere, key))).copied()
    }

    /// The keys of an action, the one to show first.
    pub fn keys(&self, action: Action) -> impl Iterator<Item = Key> + '_ {
        self.keys.iter().filter(move |(known, _)| *known == action).map(|(_, key)| *key)
    }

    /// The first key of each of some actions, side by side.
    pub fn shown(&self, actions: &[Action]) -> String {
        actions.iter().filter_map(|action| self.keys(*action).next()).map(|key| key.to_string()).collect()
    }
}

impl Default for Keymap {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_key_reads_and_means_one_thing() {
        let mut seen = HashSet::new();
        let mut ids = HashSet::new();
        for info in ACTIONS {
            assert!(ids.insert(info.id), "{} is there twice", info.id);
            assert!(!info.keys.is_empty() && !info.help.is_empty(), "{}", info.id);
            for text in info.keys {
                let key = Key::parse(text).unwrap_or_else(|| panic!("{text} of {} is no key", info.id));
                for scope in [Scope::Everywhere, Scope::Dashboard] {
                    if info.scope == Scope::Everywhere || info.scope == scope {
                        assert!(seen.insert((scope, key)), "{text} means two things");
                    }
                }
            }
        }
    }

    #[test]
    fn quitting_works_everywhere() {
        let keymap = Keymap::new();
        for text in ["q", "f10", "ctrl-c"] {
            let key = Key::parse(text).expect("a key");
            assert_eq!(keymap.action(Scope::Dashboard, key), Some(Action::Quit));
            assert_eq!(keymap.action(Scope::Everywhere, key), Some(Action::Quit));
        }
    }

    #[test]
    fn shift_is_part_of_a_character() {
        let event = KeyEvent::new(KeyCode::Char('G'), KeyModifiers::SHIFT);
        assert_eq!(Some(Key::of(&event)), Key::parse("G"));
        let event = KeyEvent::new(KeyCode::BackTab, KeyModifiers::SHIFT);
        assert_eq!(Some(Key::of(&event)), Key::parse("backtab"));
    }
}
