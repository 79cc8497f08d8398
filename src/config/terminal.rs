//! What the terminal can show, as far as its variables tell: colours and UTF-8.

use super::{ColorChoice, Environment, Notify};

/// How many colours a screen may use. Every meaning also has a glyph or a word.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, strum::Display, strum::EnumString, strum::EnumIter,
)]
#[strum(serialize_all = "lowercase")]
pub enum Palette {
    /// No colours: bold, dim and reverse only.
    None,
    /// The terminal's own 16.
    #[default]
    Ansi16,
    /// The 256 of xterm.
    Ansi256,
    /// 24 bits.
    TrueColor,
}

/// How a terminal takes a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notification {
    /// `OSC 9 ; text`.
    Osc9,
    /// `OSC 777 ; notify ; title ; text`.
    Osc777,
}

impl Notification {
    /// What the user chose; else what the terminal is known to understand. An unknown one might print the text across the
    /// picture, and a multiplexer keeps it to itself.
    pub fn resolve(choice: Notify, env: &Environment) -> Option<Self> {
        match choice {
            Notify::Off => None,
            Notify::Osc9 => Some(Self::Osc9),
            Notify::Osc777 => Some(Self::Osc777),
            Notify::Auto => Self::detect(env),
        }
    }

    fn detect(env: &Environment) -> Option<Self> {
        if env.get("TMUX").is_some() || env.get("STY").is_some() {
            return None;
        }
        let term = env.get("TERM").unwrap_or_default();
        match env.get("TERM_PROGRAM") {
            Some("iTerm.app" | "WezTerm" | "ghostty") => Some(Self::Osc9),
            _ if term == "xterm-kitty" || term == "xterm-ghostty" => Some(Self::Osc9),
            _ if term.starts_with("foot") || term.starts_with("rxvt-unicode") => Some(Self::Osc777),
            _ => None,
        }
    }
}

impl Palette {
    /// What the user chose; else what the terminal's variables say. `NO_COLOR` (no-color.org) beats detection, not a choice.
    pub fn resolve(choice: ColorChoice, env: &Environment) -> Self {
        match choice {
            ColorChoice::Never => Self::None,
            ColorChoice::Ansi16 => Self::Ansi16,
            ColorChoice::Ansi256 => Self::Ansi256,
            ColorChoice::TrueColor => Self::TrueColor,
            ColorChoice::Auto if env.get("NO_COLOR").is_some() => Self::None,
            ColorChoice::Auto => Self::detect(env),
        }
    }

    fn detect(env: &Environment) -> Self {
        let term = env.get("TERM").unwrap_or("dumb");
        if term == "dumb" || term.starts_with("vt1") || term.starts_with("vt2") || term.ends_with("-mono") {
            Self::None
        } else if matches!(env.get("COLORTERM"), Some("truecolor" | "24bit")) || term.ends_with("-direct") {
            Self::TrueColor
        } else if term.contains("256color") {
            Self::Ansi256
        } else {
            Self::Ansi16
        }
    }
}

/// Whether the locale's character set is UTF-8; the first of `LC_ALL`, `LC_CTYPE`, `LANG` that is set decides. No locale at all
/// is C, which is not.
pub fn is_utf8(env: &Environment) -> bool {
    ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(|name| env.get(name)).is_some_and(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_follow_choice_then_no_color_then_terminal() {
        for (choice, vars, palette) in [
            (ColorChoice::Auto, &[][..], Palette::None),
            (ColorChoice::Auto, &[("TERM", "xterm")], Palette::Ansi16),
            (ColorChoice::Auto, &[("TERM", "screen-256color")], Palette::Ansi256),
            (ColorChoice::Auto, &[("TERM", "xterm-256color"), ("COLORTERM", "truecolor")], Palette::TrueColor),
            (ColorChoice::Auto, &[("TERM", "xterm-direct")], Palette::TrueColor),
            (ColorChoice::Auto, &[("TERM", "dumb"), ("COLORTERM", "truecolor")], Palette::None),
            (ColorChoice::Auto, &[("TERM", "xterm-256color"), ("NO_COLOR", "1")], Palette::None),
            (ColorChoice::Auto, &[("TERM", "xterm-256color"), ("NO_COLOR", "")], Palette::Ansi256),
            (ColorChoice::Ansi16, &[("NO_COLOR", "1")], Palette::Ansi16),
            (ColorChoice::Never, &[("TERM", "xterm")], Palette::None),
        ] {
            assert_eq!(Palette::resolve(choice, &Environment::of(vars)), palette, "{choice:?} {vars:?}");
        }
    }

    #[test]
    fn only_terminals_that_are_known_get_notifications() {
        for (choice, vars, notification) in [
            (Notify::Auto, &[("TERM", "xterm-256color")][..], None),
            (Notify::Auto, &[("TERM", "xterm-kitty")], Some(Notification::Osc9)),
            (Notify::Auto, &[("TERM", "foot-extra")], Some(Notification::Osc777)),
            (Notify::Auto, &[("TERM", "xterm-256color"), ("TERM_PROGRAM", "WezTerm")], Some(Notification::Osc9)),
            (Notify::Auto, &[("TERM", "tmux-256color"), ("TERM_PROGRAM", "WezTerm"), ("TMUX", "/x,1,0")], None),
            (Notify::Off, &[("TERM", "xterm-kitty")], None),
            (Notify::Osc777, &[("TERM", "xterm")], Some(Notification::Osc777)),
        ] {
            assert_eq!(Notification::resolve(choice, &Environment::of(vars)), notification, "{choice:?} {vars:?}");
        }
    }

    #[test]
    fn the_first_locale_variable_that_is_set_decides() {
        for (vars, utf8) in [
            (&[][..], false),
            (&[("LANG", "en_US.UTF-8")], true),
            (&[("LC_ALL", "C"), ("LANG", "en_US.UTF-8")], false),
            (&[("LC_ALL", ""), ("LC_CTYPE", "C.utf8")], true),
            (&[("LANG", "de_DE.ISO-8859-1")], false),
        ] {
            assert_eq!(is_utf8(&Environment::of(vars)), utf8, "{vars:?}");
        }
    }
}
