//! Looking a tip up by its id or by words.

use strum::IntoEnumIterator;

use super::{Side, TIPS, Tip};
use crate::domain::Framework;
use crate::domain::text::distance;

/// What words find.
#[derive(Debug)]
pub enum Search {
    /// The tip with that id.
    One(&'static Tip),
    /// The tips that have all the words, in the order of the catalogue; all of them for no words.
    Some(Vec<&'static Tip>),
    /// Nothing; the id that is most like it, where one is.
    Nothing(Option<&'static str>),
}

/// Looks for one id, or for tips that have all the words. Case does not count, and `-` counts as `_`.
pub fn search(words: &[String]) -> Search {
    let words: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    if let [word] = words.as_slice()
        && let Some(tip) = TIPS.iter().find(|tip| tip.id == word.replace('-', "_"))
    {
        return Search::One(tip);
    }
    let found: Vec<&'static Tip> = TIPS.iter().filter(|tip| words.iter().all(|word| tip.has(word))).collect();
    if found.is_empty() { Search::Nothing(nearest(&words.join("_"))) } else { Search::Some(found) }
}

/// The id, or the name of a framework or side, that is most like a wrong word: few of its characters have to change.
fn nearest(word: &str) -> Option<&'static str> {
    let names = || Framework::iter().map(<&str>::from).chain(Side::iter().map(<&str>::from));
    let known = names().filter(|name| TIPS.iter().any(|tip| tip.has(name)));
    let (far, id) = TIPS.iter().map(|tip| tip.id).chain(known).map(|known| (distance(word, known), known)).min()?;
    (far <= (word.chars().count() / 3).clamp(1, 6)).then_some(id)
}

impl Tip {
    /// The tip with an id.
    pub fn named(id: &str) -> Option<&'static Self> {
        TIPS.iter().find(|tip| tip.id == id)
    }

    /// Whether a word in lower case stands anywhere in it but in its sources.
    fn has(&self, word: &str) -> bool {
        let within = |text: &str| text.to_lowercase().contains(word);
        let plain = [self.id, self.title, self.topic.title(), self.does, self.cost, self.effort.words()];
        plain.into_iter().any(within)
            || self.not_when.iter().any(|text| within(text))
            || self.code.iter().any(|code| within(code.of) || code.lines.iter().any(|line| within(line)))
            || self.sides.iter().any(|side| within(&side.to_string()))
            || self.frameworks.iter().any(|framework| within(&framework.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(words: &[&str]) -> Search {
        search(&words.iter().map(|&word| word.to_owned()).collect::<Vec<String>>())
    }

    #[test]
    fn an_id_finds_one_words_find_some() {
        for word in ["expandable_segments", "expandable-segments", "EXPANDABLE_SEGMENTS"] {
            assert!(matches!(found(&[word]), Search::One(tip) if tip.id == "expandable_segments"), "{word}");
        }
        assert!(matches!(found(&[]), Search::Some(tips) if tips.len() == TIPS.len()));
        for words in [&["jax"][..], &["Serving", "vllm"], &["optimizer", "few lines"]] {
            let Search::Some(tips) = found(words) else { panic!("{words:?}") };
            assert!(!tips.is_empty() && tips.len() < TIPS.len() / 2, "{words:?}: {}", tips.len());
        }
    }

    #[test]
    fn a_wrong_id_names_the_nearest() {
        for (word, id) in [
            ("expandable_segmants", Some("expandable_segments")),
            ("reduce-batch-acumulate", Some("reduce_batch_accumulate")),
            ("inference_mod3", Some("inference_mode")),
            ("ollamma", Some("ollama")),
            ("servng", Some("serving")),
            ("zzzz", None),
        ] {
            assert!(matches!(found(&[word]), Search::Nothing(near) if near == id), "{word}");
        }
        assert!(matches!(found(&["jax", "no-such-word"]), Search::Nothing(_)));
    }
}
