//! `tips [WORD…]`: the catalogue of advice.

use super::{Exit, args, print};
use crate::domain::text::clean;
use crate::domain::tips::{Search, TIPS, search};
use crate::output::tips;

/// Arguments of `tips`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The id of one tip, or words that a tip has to have: jax, serving, "few lines"
    #[arg(value_name = "WORD", value_parser = args::tips(), hide_possible_values = true)]
    words: Vec<String>,
    /// Print JSON: one object for an id, a list for words
    #[arg(long)]
    json: bool,
}

/// No tip is meant by these words.
#[derive(Debug, thiserror::Error)]
#[error("no tip is called `{words}` or has {these}; {hint}")]
pub struct NoTip {
    words: String,
    these: &'static str,
    hint: String,
}

/// Prints the list, the tips that have all the words, or one in full.
///
/// # Errors
/// [`NoTip`]; standard output can't be written.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let text = match (search(&args.words), args.json) {
        (Search::One(tip), false) => tips::full(tip, print::columns()),
        (Search::One(tip), true) => tips::full_json(tip),
        (Search::Some(found), false) => tips::list(&found, print::columns()),
        (Search::Some(found), true) => tips::list_json(&found),
        (Search::Nothing(near), _) => return Err(NoTip::of(&args.words, near).into()),
    };
    print::text(&text)?;
    Ok(Exit::Success)
}

impl NoTip {
    fn of(words: &[String], near: Option<&str>) -> Self {
        let hint =
            near.map_or_else(|| format!("`vramscope tips` lists all {}", TIPS.len()), |id| format!("did you mean `{id}`?"));
        let these = if words.len() == 1 { "that word" } else { "all those words" };
        Self { words: clean(&words.join(" "), 60), these, hint }
    }
}
