//! The command `vramscope`.
fn main() {}
