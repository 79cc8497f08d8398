//! Layer 5: the dashboard.
//!
//! [`App::update`] takes a [`Msg`] and may answer with an [`Effect`]; [`App::render`] draws. Both are plain functions:
//! no I/O, no clock. [`event_loop`] alone awaits, [`terminal`] alone touches the tty. The screen is made of
//! [`panels`], leaves that own their scroll position and nothing else; what several of them need to agree on (which
//! card, which process, which moment) is the [`Look`]. [`widgets`] know cells and bytes, and nothing of the app.

pub mod action;
pub mod aim;
pub mod app;
pub mod cards;
pub mod columns;
pub mod event_loop;
pub mod filter;
pub mod grown;
pub mod keymap;
pub mod layout;
pub mod look;
pub mod msg;
pub mod options;
pub mod panels;
pub mod prompt;
pub mod rows;
pub mod seen;
pub mod subject;
pub mod tags;
pub mod terminal;
pub mod theme;
pub mod wallclock;
pub mod widgets;
pub mod world;

pub use app::App;
pub use event_loop::{Hands, Outcome, TuiError, run};
pub use look::Look;
pub use msg::{Effect, Msg};
pub use options::{AlertOptions, CudaView, DashboardOptions};
pub use theme::{Palette, THEMES, Theme};
