//! Panels: the parts of the screen. Each is a leaf: it draws, and takes what the user does in it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::action::Action;
use super::keymap::Key;
use super::look::Look;
use super::world::World;

mod answer;
mod details;
mod devices;
mod finding;
mod findings;
mod header;
mod help;
mod host;
mod multiples;
mod processes;
mod prompt;
pub mod signal;
mod sort;
mod status;
mod strip;
mod timeline;

/// A part of the screen.
pub trait Panel {
    /// Takes an action and says whether it was for this panel.
    fn act(&mut self, _action: Action, _look: &mut Look, _world: &World<'_>) -> bool {
        false
    }

    /// Takes a key before it means an action, as a text field does, and says whether it did.
    fn key(&mut self, _key: Key) -> bool {
        false
    }

    /// The mouse was pressed at a cell of this panel.
    fn click(&mut self, _x: u16, _y: u16, _look: &mut Look, _world: &World<'_>) {}

    /// Draws over `area`, which is not empty.
    fn render(&mut self, world: &World<'_>, look: &Look, area: Rect, buf: &mut Buffer);
}

/// Names a panel; the order is that of [`PANELS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumCount, strum::EnumIter, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum PanelId {
    /// Who and where.
    Header,
    /// The answer in words.
    Answer,
    /// One row per card.
    Devices,
    /// Memory of the host.
    Host,
    /// One card over time.
    Timeline,
    /// All cards over time.
    Multiples,
    /// Who holds it.
    Processes,
    /// What was seen, and what to do.
    Findings,
    /// The selected thing in a sentence, and keys.
    Status,
    /// All about the selected row.
    Details,
    /// The line that is typed.
    Prompt,
    /// Everything, in three rows.
    Strip,
    /// What keys do.
    Help,
    /// What to sort by.
    Sort,
    /// Which signal to send.
    Signal,
    /// One finding in full.
    Finding,
}

/// One panel of the table.
pub struct PanelInfo {
    /// Its name.
    pub id: PanelId,
    /// Makes one.
    pub new: fn() -> Box<dyn Panel>,
}

/// All panels.
pub static PANELS: &[PanelInfo] = &[
    PanelInfo { id: PanelId::Header, new: || Box::new(header::Header) },
    PanelInfo { id: PanelId::Answer, new: || Box::<answer::Answer>::default() },
    PanelInfo { id: PanelId::Devices, new: || Box::<devices::Devices>::default() },
    PanelInfo { id: PanelId::Host, new: || Box::new(host::Host) },
    PanelInfo { id: PanelId::Timeline, new: || Box::<timeline::Timeline>::default() },
    PanelInfo { id: PanelId::Multiples, new: || Box::<multiples::Multiples>::default() },
    PanelInfo { id: PanelId::Processes, new: || Box::<processes::Processes>::default() },
    PanelInfo { id: PanelId::Findings, new: || Box::<findings::Findings>::default() },
    PanelInfo { id: PanelId::Status, new: || Box::new(status::Status) },
    PanelInfo { id: PanelId::Details, new: || Box::<details::Details>::default() },
    PanelInfo { id: PanelId::Prompt, new: || Box::new(prompt::Line) },
    PanelInfo { id: PanelId::Strip, new: || Box::<strip::Strip>::default() },
    PanelInfo { id: PanelId::Help, new: || Box::<help::Help>::default() },
    PanelInfo { id: PanelId::Sort, new: || Box::<sort::Sort>::default() },
    PanelInfo { id: PanelId::Signal, new: || Box::<signal::Signal>::default() },
    PanelInfo { id: PanelId::Finding, new: || Box::<finding::FindingPanel>::default() },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slice_has_every_file_of_the_folder_in_the_order_of_the_names() {
        let mut names: Vec<&str> = PANELS.iter().map(|panel| panel.id.into()).collect();
        for (at, panel) in PANELS.iter().enumerate() {
            assert_eq!(panel.id as usize, at);
        }
        let mut files: Vec<String> = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src/tui/panels"))
            .expect("the folder is there")
            .map(|entry| entry.expect("readable").path().file_stem().expect("a name").to_string_lossy().into_owned())
            .filter(|name| name != "mod")
            .collect();
        names.sort_unstable();
        files.sort();
        assert_eq!(files, names);
    }
}
