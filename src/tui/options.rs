//! What the caller decides before the dashboard starts.

use super::theme::{Palette, Theme};
use crate::config::Notification;
use crate::domain::cuda::{Visible, ordinals};
use crate::domain::{Alerter, Gpu, Period, RiskLevel, Snapshot};

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
    /// Whether to show processes that use a card for graphics alone, to begin with.
    pub graphics: bool,
    /// For the clock and the time axis.
    pub timezone: jiff::tz::TimeZone,
    /// Who switched signals off, where they are: the option, the variable or the line of the file.
    pub read_only: Option<String>,
    /// What CUDA is shown, where somebody chose, and how its numbers are known.
    pub cuda: Option<CudaView>,
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

/// What a program that is started here would see of the devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CudaView {
    /// What the variables say.
    pub visible: Visible,
    /// The source has found that CUDA counts the cards as the driver does, whichever of them are shown.
    pub is_ordered: bool,
    /// Every card is shown, so that their order can be told from them.
    pub is_complete: bool,
}

impl CudaView {
    /// CUDA's number of a device.
    pub fn ordinal(&self, gpu: Gpu, snapshot: &Snapshot) -> Option<usize> {
        let known = self.is_complete || self.is_ordered || self.visible.is_exact();
        let ordinals = if known { ordinals(snapshot, &self.visible, self.is_ordered) } else { Vec::new() };
        ordinals.into_iter().find(|(known, _)| *known == gpu).map(|(_, number)| number)
    }
}

impl Default for DashboardOptions {
    fn default() -> Self {
        Self {
            theme: Theme::default(),
            palette: Palette::Ansi16,
            ascii: false,
            mouse: true,
            graphics: true,
            timezone: jiff::tz::TimeZone::UTC,
            read_only: None,
            cuda: None,
            alerts: AlertOptions::default(),
        }
    }
}
