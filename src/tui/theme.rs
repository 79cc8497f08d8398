//! Themes: about twenty roles, each a few words in a TOML file, fitted to what the terminal can show.

use ratatui::style::{Color, Modifier, Style};
use strum::{EnumCount, IntoEnumIterator};

pub use crate::config::Palette;

/// What a colour is for. Hue says whose memory it is; `alert` and `notice` are for trouble and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumIter, strum::EnumCount, strum::EnumString, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Role {
    /// What everything stands on: the background, and the colour of what has none of its own.
    Ground,
    /// Ordinary text and numbers.
    Text,
    /// Secondary or old.
    Dim,
    /// What the eye should find first.
    Strong,
    /// Rules and axes.
    Rule,
    /// The selected row of the focused panel.
    Selected,
    /// Something is broken now.
    Alert,
    /// Something to know.
    Notice,
    /// A risk to watch.
    RiskWatch,
    /// A high risk.
    RiskHigh,
    /// A critical risk.
    RiskCritical,
    /// Memory of the watched job.
    Job,
    /// Memory of my other processes.
    Mine,
    /// Memory of other users.
    Foreign,
    /// Memory of display servers and daemons.
    System,
    /// Memory of processes that can't be seen from here.
    Unknown,
    /// Memory in use that no process owns up to.
    Unattributed,
    /// Memory in use where sizes of single processes are not told.
    InUse,
    /// Memory kept by the driver.
    Reserved,
    /// Free memory.
    Free,
    /// The newest value along the timeline.
    Line,
    /// What lies below the smallest value.
    Fill,
    /// Between the smallest and the largest value.
    Band,
    /// The line that can't be crossed.
    Capacity,
}

/// A theme that comes with the program.
#[derive(Debug)]
pub struct ThemeFile {
    /// What `--theme` calls it.
    pub name: &'static str,
    /// The TOML text.
    pub text: &'static str,
}

/// All themes; the first is the default.
pub static THEMES: &[ThemeFile] = &[
    ThemeFile { name: "terminal", text: include_str!("../../assets/themes/terminal.toml") },
    ThemeFile { name: "paper", text: include_str!("../../assets/themes/paper.toml") },
    ThemeFile { name: "clear", text: include_str!("../../assets/themes/clear.toml") },
];

/// Why a theme can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ThemeError {
    /// Not TOML, or not of the expected shape; the parser says where.
    #[error("theme: {0}")]
    Toml(String),
    /// A role that does not exist.
    #[error("theme: there is no role `{0}`; roles are {roles}", roles = role_names())]
    Role(String),
    /// A role that is left out.
    #[error("theme: role `{0}` is missing")]
    Missing(&'static str),
    /// A word that is neither a colour nor an attribute.
    #[error(
        "theme: role `{role}`: `{word}` is no colour (default, red, bright-red, 0 to 255, #rrggbb) and no attribute (bold, dim, italic, underline, reverse)"
    )]
    Word {
        /// Where.
        role: String,
        /// What.
        word: String,
    },
    /// No theme of that name.
    #[error("there is no theme `{0}`; themes are {themes}", themes = theme_names())]
    Unknown(String),
}

/// Colours and attributes by role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Theme {
    title: String,
    roles: [Style; Role::COUNT],
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    title: String,
    roles: std::collections::BTreeMap<String, String>,
}

impl Theme {
    /// The theme of that name.
    pub fn named(name: &str) -> Result<Self, ThemeError> {
        let file = THEMES.iter().find(|theme| theme.name == name).ok_or_else(|| ThemeError::Unknown(name.to_owned()))?;
        Self::parse(file.text)
    }

    /// Reads a theme file.
    pub fn parse(text: &str) -> Result<Self, ThemeError> {
        let file: File = toml::from_str(text).map_err(|error| ThemeError::Toml(error.to_string()))?;
        let mut roles = [None; Role::COUNT];
        for (name, words) in &file.roles {
            let role: Role = name.parse().map_err(|_| ThemeError::Role(name.clone()))?;
            roles[role as usize] = Some(style(name, words)?);
        }
        let mut theme = Self { title: file.title, roles: [Style::new(); Role::COUNT] };
        for role in Role::iter() {
            theme.roles[role as usize] = roles[role as usize].ok_or_else(|| ThemeError::Missing(role.into()))?;
        }
        Ok(theme)
    }

    /// What it looks like, in a few words.
    pub fn title(&self) -> &str {
        &self.title
    }
}

impl Default for Theme {
    fn default() -> Self {
        Self::parse(THEMES[0].text).expect("the themes that come along are read by a test")
    }
}

/// A theme as the terminal can show it.
#[derive(Clone, Debug)]
pub struct Styles([Style; Role::COUNT]);

impl Styles {
    /// Fits every colour to the palette.
    pub fn new(theme: &Theme, palette: Palette) -> Self {
        let mut styles = theme.roles;
        for style in &mut styles {
            style.fg = style.fg.and_then(|color| fit(color, palette));
            style.bg = style.bg.and_then(|color| fit(color, palette));
        }
        if palette == Palette::None {
            // A row that only its background sets apart would not be seen any more.
            let selected = &mut styles[Role::Selected as usize];
            *selected = selected.add_modifier(Modifier::REVERSED);
        }
        Self(styles)
    }
}

impl std::ops::Index<Role> for Styles {
    type Output = Style;
    fn index(&self, role: Role) -> &Style {
        &self.0[role as usize]
    }
}

fn role_names() -> String {
    Role::iter().map(<&str>::from).collect::<Vec<_>>().join(", ")
}

fn theme_names() -> String {
    THEMES.iter().map(|theme| theme.name).collect::<Vec<_>>().join(", ")
}

/// Reads `bold cyan on #202020`.
fn style(role: &str, words: &str) -> Result<Style, ThemeError> {
    let mut style = Style::new();
    let mut background = false;
    for word in words.split_whitespace() {
        let modifier = match word {
            "bold" => Modifier::BOLD,
            "dim" => Modifier::DIM,
            "italic" => Modifier::ITALIC,
            "underline" => Modifier::UNDERLINED,
            "reverse" => Modifier::REVERSED,
            "on" => {
                background = true;
                continue;
            }
            _ => {
                let color = color(word).ok_or_else(|| ThemeError::Word { role: role.to_owned(), word: word.to_owned() })?;
                style = if background { style.bg(color) } else { style.fg(color) };
                continue;
            }
        };
        style = style.add_modifier(modifier);
    }
    Ok(style)
}

/// The 16 colours by the names that terminals give them.
const NAMES: [(&str, Color); 17] = [
    ("default", Color::Reset),
    ("black", Color::Black),
    ("red", Color::Red),
    ("green", Color::Green),
    ("yellow", Color::Yellow),
    ("blue", Color::Blue),
    ("magenta", Color::Magenta),
    ("cyan", Color::Cyan),
    ("white", Color::Gray),
    ("bright-black", Color::DarkGray),
    ("bright-red", Color::LightRed),
    ("bright-green", Color::LightGreen),
    ("bright-yellow", Color::LightYellow),
    ("bright-blue", Color::LightBlue),
    ("bright-magenta", Color::LightMagenta),
    ("bright-cyan", Color::LightCyan),
    ("bright-white", Color::White),
];

fn color(word: &str) -> Option<Color> {
    if let Some((_, color)) = NAMES.iter().find(|(name, _)| *name == word) {
        return Some(*color);
    }
    if let Some(hex) = word.strip_prefix('#') {
        let value = u32::from_str_radix(hex, 16).ok().filter(|_| hex.len() == 6)?;
        return Some(Color::Rgb((value >> 16) as u8, (value >> 8) as u8, value as u8));
    }
    word.parse().ok().map(Color::Indexed)
}

/// The nearest colour that the palette has; none without colours.
fn fit(color: Color, palette: Palette) -> Option<Color> {
    match (palette, color) {
        (Palette::None, _) => None,
        (Palette::Ansi256, Color::Rgb(r, g, b)) => Some(Color::Indexed(nearest_256(r, g, b))),
        (Palette::Ansi16, Color::Rgb(r, g, b)) => Some(nearest_16((r, g, b))),
        (Palette::Ansi16, Color::Indexed(index)) => Some(nearest_16(rgb_of(index))),
        (Palette::Ansi16 | Palette::Ansi256 | Palette::TrueColor, color) => Some(color),
    }
}

/// The levels of xterm's colour cube.
const CUBE: [u8; 6] = [0, 95, 135, 175, 215, 255];

fn nearest_256(r: u8, g: u8, b: u8) -> u8 {
    (16..=255).min_by_key(|index| distance(rgb_of(*index), (r, g, b))).unwrap_or(15)
}

/// xterm's colour of that index; the first 16 as most terminals set them.
fn rgb_of(index: u8) -> (u8, u8, u8) {
    match index {
        0..16 => ANSI[usize::from(index)].1,
        16..232 => {
            let n = usize::from(index - 16);
            (CUBE[n / 36], CUBE[n / 6 % 6], CUBE[n % 6])
        }
        232.. => {
            let grey = 8 + 10 * (index - 232);
            (grey, grey, grey)
        }
    }
}

/// The 16 colours as xterm has them: terminals differ, their order of brightness does not.
const ANSI: [(Color, (u8, u8, u8)); 16] = [
    (Color::Black, (0, 0, 0)),
    (Color::Red, (205, 0, 0)),
    (Color::Green, (0, 205, 0)),
    (Color::Yellow, (205, 205, 0)),
    (Color::Blue, (0, 0, 238)),
    (Color::Magenta, (205, 0, 205)),
    (Color::Cyan, (0, 205, 205)),
    (Color::Gray, (229, 229, 229)),
    (Color::DarkGray, (127, 127, 127)),
    (Color::LightRed, (255, 0, 0)),
    (Color::LightGreen, (0, 255, 0)),
    (Color::LightYellow, (255, 255, 0)),
    (Color::LightBlue, (92, 92, 255)),
    (Color::LightMagenta, (255, 0, 255)),
    (Color::LightCyan, (0, 255, 255)),
    (Color::White, (255, 255, 255)),
];

fn nearest_16(rgb: (u8, u8, u8)) -> Color {
    ANSI.iter().min_by_key(|(_, other)| distance(*other, rgb)).map_or(Color::Reset, |(color, _)| *color)
}

fn distance(a: (u8, u8, u8), b: (u8, u8, u8)) -> u32 {
    let square = |x: u8, y: u8| u32::from(x.abs_diff(y)).pow(2);
    2 * square(a.0, b.0) + 4 * square(a.1, b.1) + 3 * square(a.2, b.2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_folder_is_in_the_slice_and_reads() {
        let mut files: Vec<String> = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/themes"))
            .expect("the folder is there")
            .map(|entry| entry.expect("readable").path().file_stem().expect("a name").to_string_lossy().into_owned())
            .collect();
        files.sort();
        let mut names: Vec<&str> = THEMES.iter().map(|theme| theme.name).collect();
        names.sort_unstable();
        assert_eq!(files, names);
        for name in names {
            Theme::named(name).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }

    #[test]
    fn mistakes_are_named() {
        let with = |line: &str| Theme::parse(&format!("title = \"x\"\n[roles]\n{line}")).expect_err(line).to_string();
        assert!(with("txet = \"red\"").contains("no role `txet`"));
        assert!(with("text = \"rde\"").contains("role `text`: `rde`"));
        assert!(with("text = \"red\"").contains("is missing"));
        assert!(Theme::named("nope").expect_err("unknown").to_string().contains("terminal"));
    }

    #[test]
    fn colours_are_fitted_to_the_palette() {
        let orange = Color::Rgb(255, 175, 0);
        assert_eq!(fit(orange, Palette::None), None);
        assert_eq!(fit(orange, Palette::Ansi256), Some(Color::Indexed(214)));
        assert_eq!(fit(orange, Palette::TrueColor), Some(orange));
        assert_eq!(fit(Color::Indexed(196), Palette::Ansi16), Some(Color::LightRed));
        assert_eq!(fit(Color::Cyan, Palette::Ansi256), Some(Color::Cyan));
    }
}
