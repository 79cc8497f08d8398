//! What happens to the app, and what it asks for.

use std::sync::Arc;

use super::keymap::Key;
use crate::domain::{ProcessKey, Refusal, Sent, Signal, Snapshot, Timestamp};

/// Something happened.
#[derive(Clone, Debug)]
pub enum Msg {
    /// A newer picture.
    Snapshot(Arc<Snapshot>),
    /// Time went on.
    Tick(Timestamp),
    /// A key was pressed.
    Key(Key),
    /// A text was pasted.
    Paste(String),
    /// The mouse was pressed at a column and a row.
    Click(u16, u16),
    /// The wheel was turned over a column and a row, down or up.
    Wheel(u16, u16, bool),
    /// Whether the processes of [`Effect::Hold`] could be taken hold of, in its order.
    Held(Vec<Result<(), Refusal>>),
    /// What became of [`Effect::Signal`], in the order of the processes.
    Signalled(Signal, Vec<Result<Sent, Refusal>>),
}

/// Something that only the event loop can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Leave.
    Quit,
    /// Stop this process as the shell's job control does.
    Suspend,
    /// Draw every cell again.
    Redraw,
    /// Put a mark into the stream, so that everybody who reads it sees it.
    Mark(Arc<str>),
    /// Take hold of these processes, and let go of those held before.
    Hold(Vec<ProcessKey>),
    /// Send this to the processes that are held.
    Signal(Signal),
}
