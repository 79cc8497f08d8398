//! Layer 5: which GPUs a new job should take, and that two jobs do not take the same.
//!
//! [`settle`] says what headroom has lasted, [`choice`] puts the devices in order and names the nearest miss, [`leases`] keeps
//! others off a card until its new job is there.

pub mod choice;
pub mod leases;
pub mod settle;

pub use choice::{Board, Candidate, Wish};
pub use leases::{Lease, Leases, Turn};
pub use settle::Settle;
