//! Where a list is scrolled to.

/// The first row shown, so that the selected one is in sight and no room is wasted at the end.
pub fn scroll(offset: usize, selected: Option<usize>, rows: usize, height: usize) -> usize {
    let mut offset = offset;
    if let Some(selected) = selected {
        offset = offset.min(selected);
        if height > 0 && selected >= offset + height {
            offset = selected + 1 - height;
        }
    }
    offset.min(rows.saturating_sub(height))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_selected_row_is_in_sight() {
        assert_eq!(scroll(0, Some(9), 20, 5), 5);
        assert_eq!(scroll(7, Some(3), 20, 5), 3);
        assert_eq!(scroll(18, None, 20, 5), 15);
        assert_eq!(scroll(4, Some(0), 3, 5), 0);
    }
}
