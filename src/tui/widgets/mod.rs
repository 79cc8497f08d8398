//! Widgets: cells and bytes. They know nothing of the app, its panels or the devices.

pub mod bar;
pub mod glyphs;
pub mod list;
pub mod plot;
pub mod text;
