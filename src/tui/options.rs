//! What the caller decides before the dashboard starts.

use super::theme::{Palette, Theme};
use crate::config::Notification;
use crate::domain::{Alerter, Period, RiskLevel};

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
    /// What is told beside the screen when a device or job is at risk.
    pub alerts: AlertOptions,
}

/// How alerts reach somebody who does not look at the screen.
#[derive(Clone, Debug)]
pub struct AlertOptions {
    /// Which risks are told, and how often.
    pub alerter: Alerter,
    /// Ring the terminal's bell.
    pub bell: bool,
    /// Ask the terminal for a notification.
    pub notification: Option<Notification>,
}

impl Default for AlertOptions {
    fn default() -> Self {
        Self { alerter: Alerter::new(RiskLevel::High, Period::secs(60)), bell: true, notification: None }
    }
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
            alerts: AlertOptions::default(),
        }
    }
}
