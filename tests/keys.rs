//! Keys: scenario, keys, expected text; one line per case.

use vramscope::domain::cuda::Visible;
use vramscope::tui::{CudaView, DashboardOptions, Effect};

use crate::support::frames::Screen;

fn screen(scenario: &str) -> Screen {
    let mut screen = Screen::new(scenario, (120, 40), DashboardOptions::default());
    screen.run_to(120);
    screen
}

#[test]
fn keys_lead_to_texts() {
    for (scenario, keys, expected) in [
        ("default", "", "── GPU 0 "),
        ("default", "down", "── GPU 1 "),
        ("default", "k k k k k", "── GPU 0 "),
        ("default", "end", "── GPU 3 "),
        ("default", "home j", "── GPU 1 "),
        ("default", "g", "── GPU 0 "),
        ("default", "G", "── GPU 3 "),
        ("default", "a", "── all cards "),
        ("default", "esc", "── GPU 0 "),
        ("default", "a esc", "── GPU 0 "),
        ("default", "a a", "── GPU 0 "),
        ("default", "down a esc esc", "── GPU 1 "),
        ("default", "a down", "── GPU 0 "),
        ("default", "+", "last 1 min"),
        ("default", "+ + + + + + + +", "last 10 s"),
        ("default", "-", "last 5 min"),
        ("default", "- - - - - - - - - - - - - - - - -", "last 7 days"),
        ("default", "+ left", "1 min up to 14:01:54, 5.5 s ago"),
        ("default", "+ left esc", "last 1 min"),
        ("default", "+ left right right", "last 1 min"),
        ("default", "left", "Nothing earlier"),
        ("default", "f", "FROZEN at 14:02:00"),
        ("default", "f f", "last 2 min"),
        ("default", "f esc", "last 2 min"),
        ("default", "f left", "on GPU 0 at 14:01:5"),
        ("default", "f shift-left", "on GPU 0 at 14:00:00"),
        ("default", "+ left f", "on GPU 0 at 14:01:5"),
        ("default", "f right right", "FROZEN at 14:02:00"),
        ("default", "home f left left left", "At 14:01:5"),
        ("lost", "home down f shift-left right right right right right right right right", "nothing is known of this moment"),
        ("lost", "home down f shift-left right right right right right right right right", "processes not known on GPU 1"),
        ("default", "home tab f left", "GPU%, CPU%, RSS: kept for now only"),
        ("default", "home down f left", "util: kept for now only"),
        ("default", "? c a p a c i t y", "What the card has"),
        ("default", "?", "Help: type to search"),
        ("default", "h", "Help: type to search"),
        ("default", "f1", "Help: type to search"),
        ("default", "? z o o m", "Help: zoom"),
        ("default", "? q", "Help: q"),
        ("default", "? x y z z y", "Nothing found"),
        ("default", "? x backspace", "Help: type to search"),
        ("default", "? esc", "── GPU 0 "),
        ("default", "? ?", "── GPU 0 "),
        ("default", "s", "Sort processes by"),
        ("default", "f6", "Sort processes by"),
        ("default", "s esc", "── GPU 0 "),
        ("default", "s home enter", "on GPU 0, by GPU▲"),
        ("default", "s", "r turn round"),
        ("default", "f", "f go on"),
        ("mig", "", "├ 2"),
        ("default", "a s home down enter", "pid▲"),
        ("default", "a s end enter", "command▲"),
        ("default", "a r", "GiB▲"),
        ("default", "enter", "── GPU 0 "),
        ("default", "home tab", "pretrain.py (41207), mine"),
        ("default", "home tab down", "Unattributed on GPU 0"),
        ("default", "home tab esc", "GPU 0: "),
        ("default", "T", "Theme paper: Dark ink"),
        ("wsl", "tab", "In use on GPU 0: "),
        ("wsl", "tab down", "its memory on GPU 0 is missing"),
        ("crowd", "tab", "▸ 512× train.py"),
        ("crowd", "tab o pgdn pgdn", "rows "),
        ("mig", "home down", "── GPU 2 "),
    ] {
        let mut screen = screen(scenario);
        screen.press(keys);
        let text = screen.text();
        assert!(text.contains(expected), "{scenario}, {keys:?}: no {expected:?} in\n{text}");
    }
}

#[test]
fn the_number_of_cuda_stands_beside_that_of_the_driver() {
    let view = |list: &str, order, is_complete| {
        let visible = Visible::new(list, order);
        let cuda = Some(CudaView { visible, is_ordered: false, is_complete });
        let mut screen = Screen::new("default", (120, 40), DashboardOptions { cuda, ..DashboardOptions::default() });
        screen.run_to(120);
        screen.press("end");
        screen.text()
    };
    for (list, order, is_complete, title) in [
        ("2,3", None, true, "── GPU 3, cuda:1  H100"),
        ("3", None, true, "── GPU 3, cuda:0  H100"),
        ("0,1", None, true, "── GPU 3  H100"),
        ("", None, true, "── GPU 3  H100"),
        // Cards that are not shown may be of another model.
        ("2,3", None, false, "── GPU 3  H100"),
        ("2,3", Some("PCI_BUS_ID"), false, "── GPU 3, cuda:1  H100"),
    ] {
        let text = view(list, order, is_complete);
        assert!(text.contains(title), "{list} {order:?} {is_complete}: no {title:?} in\n{text}");
    }
}

#[test]
fn keys_leave_or_do_not() {
    for (keys, effect) in [
        ("q", Some(Effect::Quit)),
        ("f10", Some(Effect::Quit)),
        ("ctrl-c", Some(Effect::Quit)),
        ("? ctrl-c", Some(Effect::Quit)),
        ("? f10", Some(Effect::Quit)),
        ("s q", Some(Effect::Quit)),
        ("f q", Some(Effect::Quit)),
        ("? q", None),
        ("esc esc esc esc esc", None),
        ("ctrl-z", Some(Effect::Suspend)),
        ("ctrl-l", Some(Effect::Redraw)),
    ] {
        assert_eq!(screen("idle").press(keys), effect, "{keys}");
    }
}

#[test]
fn the_help_shows_every_action_and_every_column() {
    let mut screen = Screen::new("idle", (120, 130), DashboardOptions::default());
    screen.run_to(1);
    screen.press("?");
    let text = screen.text();
    for info in vramscope::tui::action::ACTIONS {
        let start: String = info.help.chars().take(60).collect();
        assert!(text.contains(&start), "{} is missing:\n{text}", info.id);
    }
    for column in vramscope::tui::columns::COLUMNS {
        assert!(text.contains(column.help), "{} is missing:\n{text}", column.id);
    }
}

#[test]
fn clicks_select_and_sort() {
    let mut screen = screen("default");
    screen.click("0 H100");
    assert!(screen.text().contains("── GPU 0 "));
    screen.press("a");
    screen.click("user ");
    assert!(screen.text().contains("user▲"), "{}", screen.text());
    screen.click("user▲");
    assert!(screen.text().contains("user▼"), "{}", screen.text());
    screen.click("28811");
    assert!(screen.text().contains("(28811)"), "{}", screen.text());
}

#[test]
fn the_selection_follows_the_process() {
    let mut screen = screen("default");
    screen.press("a tab down down");
    let before = screen.app.look().row.clone();
    screen.press("r");
    screen.run_to(125);
    screen.press("s home enter");
    assert!(before.is_some());
    assert_eq!(screen.app.look().row, before);
}

#[test]
fn a_frozen_picture_stands_still() {
    let mut screen = screen("default");
    screen.press("home f left left");
    let before = screen.text();
    screen.run_to(140);
    let after = screen.text();
    let without_clock = |text: &str| text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(without_clock(&before), without_clock(&after));
    assert!(after.contains("FROZEN"), "{after}");
    screen.press("f");
    assert!(!screen.text().contains("FROZEN"));
}

#[test]
fn holders_that_are_gone_stand_in_the_past() {
    // The leaking run of the story ends before this.
    let mut screen = screen("default");
    screen.run_to(240);
    screen.press("home down - - f shift-left");
    let text = screen.text();
    assert!(text.contains("ended ") || text.contains("process on GPU 1 at"), "{text}");
}
