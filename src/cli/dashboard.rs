//! tmp
use super::{Context, Exit, once};
pub fn run(context: &Context) -> anyhow::Result<Exit> {
    once::print_table(context)
}
