//! Windows: the commit limit, which the page file sets.

use super::{Dialect, Passage};
use crate::domain::Framework;
use crate::domain::oom::event::Event;
use crate::domain::oom::size::Pattern;

/// The dialect.
pub const DIALECT: Dialect = Dialect { id: "windows", marks: &["paging file", "WinError"], read };

static HEAD: Pattern = Pattern::new(r"(?i)(?:WinError 1455|os error 1455|paging file is too small|WinError 8\] Not enough memory|Resource-Exhaustion-Detector)");

fn read(passage: &Passage) -> Option<Event> {
    passage.find(&HEAD).map(|_| Event::host(DIALECT.id, Framework::Windows))
}

#[cfg(test)]
mod tests {
    use super::super::passage::read_text;
    use super::*;

    #[test]
    fn the_page_file_is_read() {
        let text = "OSError: [WinError 1455] The paging file is too small for this operation to complete. Error loading \"C:\\x\\cudnn_cnn_infer64_8.dll\" or one of its dependencies.";
        assert!(read_text(&DIALECT, text).is_some());
    }
}
