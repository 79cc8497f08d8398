//! What the caller decides before the dashboard starts.

use super::theme::{Palette, Theme};

/// Settings of the dashboard. The environment and the files they come from are the caller's business.
#[derive(Clone, Debug)]
pub struct DashboardOptions {
    /// Colours by role.
    pub theme: Theme,
    /// How many colours the terminal has; `None` under `NO_COLOR`.
    pub palette: Palette,
    /// Only ASCII: for terminals that do not show UTF-8.
    pub ascii: bool,
    /// Whether to ask the terminal for mouse events; without, its own selection works.
    pub mouse: bool,
    /// For the clock and the time axis.
    pub timezone: jiff::tz::TimeZone,
    /// Who switched signals off, where they are: the option, the variable or the line of the file.
    pub read_only: Option<String>,
}

impl Default for DashboardOptions {
    fn default() -> Self {
        Self {
            theme: Theme::default(),
            palette: Palette::Ansi16,
            ascii: false,
            mouse: true,
            timezone: jiff::tz::TimeZone::UTC,
            read_only: None,
        }
    }
}
