//! Whole frames: scenario, size and palette give this text and these colours.

use insta::assert_snapshot;
use vramscope::domain::{Bytes, DeviceState, Timestamp};
use vramscope::scenario::SCENARIOS;
use vramscope::tui::cards::{Card, holders_at};
use vramscope::tui::{DashboardOptions, Palette, Theme};

use crate::support::frames::{Screen, colours_of, text_of};

fn screen(scenario: &str, size: (u16, u16), seconds: u64) -> Screen {
    let mut screen = Screen::new(scenario, size, DashboardOptions::default());
    screen.run_to(seconds);
    screen
}

#[test]
fn the_default_story_at_every_size() {
    for (width, height) in [(200, 60), (160, 50), (120, 40), (80, 24), (40, 12), (100, 3)] {
        let text = screen("default", (width, height), 120).text();
        assert!(text.contains("SIMULATED"), "{width}x{height} does not say that it is simulated:\n{text}");
        assert_snapshot!(format!("default_{width}x{height}"), text);
    }
}

#[test]
fn every_scenario_at_120x40() {
    for (scenario, seconds) in [
        ("hang", 12),
        ("lost", 12),
        ("mig", 30),
        ("unified", 30),
        ("wsl", 30),
        ("idle", 10),
        ("crowd", 10),
        ("hang-init", 10),
        ("old-driver-v1", 30),
    ] {
        assert_snapshot!(format!("{scenario}_120x40"), screen(scenario, (120, 40), seconds).text());
    }
}

#[test]
fn many_cards_and_many_processes_scroll() {
    assert_snapshot!("sixteen_160x50", screen("sixteen", (160, 50), 20).text());
    let mut small = screen("sixteen", (80, 24), 20);
    small.press("end");
    assert_snapshot!("sixteen_80x24_last_card", small.text());
    let mut crowd = screen("crowd", (80, 24), 10);
    crowd.press("tab o end");
    let text = crowd.text();
    assert!(text.contains("to 514"), "{text}");
}

#[test]
fn colours_by_palette_and_theme() {
    let lost = |palette, theme: &str| {
        let options = DashboardOptions { palette, theme: Theme::named(theme).unwrap(), ..DashboardOptions::default() };
        let mut screen = Screen::new("lost", (80, 24), options);
        screen.run_to(12);
        colours_of(&screen.draw())
    };
    for (palette, theme) in [
        (Palette::None, "terminal"),
        (Palette::Ansi16, "terminal"),
        (Palette::Ansi16, "clear"),
        (Palette::Ansi256, "paper"),
        (Palette::TrueColor, "clear"),
    ] {
        assert_snapshot!(format!("lost_colours_{palette:?}_{theme}"), lost(palette, theme));
    }
    let plain = lost(Palette::None, "terminal");
    assert!(!plain.contains("Red") && !plain.contains("Cyan"), "a colour without colours:\n{plain}");
}

#[test]
fn ascii_terminals_get_ascii_alone() {
    let options = DashboardOptions { ascii: true, palette: Palette::None, ..DashboardOptions::default() };
    for (size, keys) in [((120, 40), ""), ((80, 24), "a"), ((120, 40), "?"), ((40, 12), ""), ((60, 3), ""), ((120, 40), "f left")]
    {
        let mut screen = Screen::new("default", size, options.clone());
        screen.run_to(120);
        screen.press(keys);
        let text = screen.text();
        assert!(text.is_ascii(), "{size:?} {keys}:\n{text}");
        if keys.is_empty() && size == (120, 40) {
            assert_snapshot!("default_120x40_ascii", text);
        }
    }
}

#[test]
fn no_size_is_too_small() {
    let mut screen = screen("default", (120, 40), 100);
    for keys in ["", "a", "f left left", "?", "esc s", "esc enter"] {
        screen.press(keys);
        for width in [1, 2, 5, 9, 17, 33, 59, 60, 61, 79, 99, 101, 300] {
            for height in [1, 2, 3, 5, 6, 7, 9, 15, 16, 17, 23, 29, 31, 90] {
                let area = ratatui::layout::Rect::new(0, 0, width, height);
                let mut buffer = ratatui::buffer::Buffer::empty(area);
                screen.app.render(area, &mut buffer);
            }
        }
    }
}

#[test]
fn a_lost_card_keeps_its_row_and_its_gap_is_blank() {
    let mut screen = screen("lost", (120, 40), 12);
    let text = screen.text();
    assert!(text.contains("GPU 1: lost"), "{text}");
    screen.run_to(40);
    screen.press("home down");
    let text = screen.text();
    assert!(!text.contains("GPU 1: lost"), "{text}");
    let plot: Vec<&str> = text.lines().filter(|line| line.contains('⣿')).collect();
    assert!(!plot.is_empty());
    for line in plot {
        let middle = line.trim_matches(|c| c != '⣿');
        assert!(middle.contains("    "), "no gap in the picture:\n{text}");
    }
}

#[test]
fn the_sums_hold_on_every_frame() {
    for builtin in SCENARIOS {
        let mut screen = Screen::new(builtin.id, (120, 40), DashboardOptions::default());
        for second in 1..40 {
            screen.run_to(second);
            let snapshot = screen.snapshot();
            for card in Card::all(&snapshot, None, snapshot.at) {
                let figures = &card.figures;
                let whole: u64 = figures.slices.iter().sum();
                let place = format!("{} GPU {} at {second} s: {figures:?}", builtin.id, card.gpu());
                if let (Some(total), Some(used), Some(free)) = (figures.total, figures.used, figures.free) {
                    assert_eq!(total, Bytes(used.0 + free.0 + figures.reserved.unwrap_or_default().0), "{place}");
                    assert_eq!(total, Bytes(whole), "{place}");
                }
                if let (Some(used), Some(unattributed)) = (figures.used, figures.unattributed)
                    && card.view.state == DeviceState::Ok
                    && let Ok(holders) = &card.view.holders
                {
                    let held: u64 = holders.iter().filter_map(|holder| holder.holder.used.as_ref().ok()).map(|used| used.0).sum();
                    let beyond = figures.beyond.unwrap_or_default();
                    assert_eq!(used, Bytes(held + unattributed.0 - beyond.0), "{place}");
                }
            }
        }
    }
}

#[test]
fn the_sums_hold_in_the_past() {
    let mut screen = Screen::new("default", (120, 40), DashboardOptions::default());
    screen.run_to(200);
    let snapshot = screen.snapshot();
    let mut told = 0;
    for second in 1..199 {
        let t = Timestamp::secs(second);
        for card in Card::all(&snapshot, Some(t), snapshot.at) {
            let figures = &card.figures;
            let place = format!("GPU {} at {second} s: {figures:?}", card.gpu());
            let (Some(total), Some(used)) = (figures.total, figures.used) else { continue };
            assert_eq!(total, Bytes(figures.slices.iter().sum()), "{place}");
            let Some(unattributed) = figures.unattributed else { continue };
            let held: u64 = holders_at(card.view, t).map(|(_, used)| used.0).sum();
            let held = held + card.view.others.at(t).unwrap_or_default().0;
            // The histories keep KiB.
            let sum = held + unattributed.0 - figures.beyond.unwrap_or_default().0;
            assert!(used.0.abs_diff(sum) < 4096, "{place}, held {held}");
            // A step of 21 GiB between a list and a reading is nobody's memory only if nobody looks closer.
            told += u64::from(unattributed < Bytes::gib(3));
        }
    }
    assert!(told > 700, "only {told} of 792 moments are explained");
}

#[test]
fn nothing_that_changed_is_nothing_drawn() {
    let mut screen = screen("idle", (120, 40), 10);
    let first = screen.draw();
    let second = screen.draw();
    assert_eq!(first, second, "{}", text_of(&second));
}
