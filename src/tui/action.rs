//! What a key can mean: one entry holds id, default keys, where it works and what the help says.

/// Something the user can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Leave.
    Quit,
    /// Close the top layer; never leaves.
    Back,
    /// Show or hide the help.
    Help,
    /// One row up.
    Up,
    /// One row down.
    Down,
    /// One page up.
    PageUp,
    /// One page down.
    PageDown,
    /// The first row.
    First,
    /// The last row.
    Last,
    /// The other list gets the arrows.
    Focus,
    /// Make the selected thing large.
    Open,
    /// All cards at once.
    All,
    /// Pick the selected process or job out, to act on several together.
    Tag,
    /// Fold the selected job, or unfold it.
    Fold,
    /// How the rows hang together.
    Tree,
    /// Show or hide processes that use the card for graphics alone.
    Graphics,
    /// Type which processes to show.
    Filter,
    /// Mark this moment.
    Mark,
    /// Mark this moment with a text.
    MarkText,
    /// The finding before, in time.
    PreviousFinding,
    /// The finding after, in time.
    NextFinding,
    /// Choose the column to sort by.
    Sort,
    /// Turn the order round.
    Reverse,
    /// Stop the picture at this moment, or let it run.
    Freeze,
    /// Earlier.
    Earlier,
    /// Later.
    Later,
    /// Much earlier.
    MuchEarlier,
    /// Much later.
    MuchLater,
    /// Show less time.
    ZoomIn,
    /// Show more time.
    ZoomOut,
    /// Signal processes.
    Signal,
    /// The next theme.
    Theme,
    /// Draw everything again.
    Redraw,
    /// Back to the shell; `fg` returns.
    Suspend,
}

impl Action {
    /// The row that is selected after this movement: `at` is the row before, `last` the last one, `page` the rows on the
    /// screen. None for what is no movement.
    pub fn moved(self, at: Option<usize>, last: usize, page: usize) -> Option<usize> {
        Some(match (self, at) {
            (Self::Up, Some(at)) => at.saturating_sub(1),
            (Self::Down, Some(at)) => (at + 1).min(last),
            (Self::PageUp, Some(at)) => at.saturating_sub(page),
            (Self::PageDown, Some(at)) => (at + page).min(last),
            (Self::First, _) | (Self::Down | Self::PageDown, None) => 0,
            (Self::Last, _) | (Self::Up | Self::PageUp, None) => last,
            _ => return None,
        })
    }
}

/// Where a key works. A scope's own keys go before those of `Everywhere`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// On every screen, also while typing.
    Everywhere,
    /// On the dashboard, and in menus.
    Dashboard,
}

/// One entry of the key table.
#[derive(Debug)]
pub struct ActionInfo {
    /// What it does.
    pub action: Action,
    /// What the configuration calls it.
    pub id: &'static str,
    /// Default keys, the one to show first.
    pub keys: &'static [&'static str],
    /// Where it works.
    pub scope: Scope,
    /// One word for the bottom line; empty where it is not worth the room.
    pub hint: &'static str,
    /// A sentence for the help.
    pub help: &'static str,
}

macro_rules! actions {
    ($($action:ident $id:literal $scope:ident [$($key:literal)*] $hint:literal $help:literal;)*) => {
        &[$(ActionInfo {
            action: Action::$action, id: $id, keys: &[$($key),*], scope: Scope::$scope, hint: $hint, help: $help,
        }),*]
    };
}

/// All actions, in the order of the help.
pub static ACTIONS: &[ActionInfo] = actions![
    Up "up" Everywhere ["up" "k"] "select" "Select the row above";
    Down "down" Everywhere ["down" "j"] "" "Select the row below";
    PageUp "page-up" Everywhere ["pgup"] "" "One page up";
    PageDown "page-down" Everywhere ["pgdn"] "" "One page down";
    First "first" Everywhere ["home" "g"] "" "The first row";
    Last "last" Everywhere ["end" "G"] "" "The last row";
    Focus "focus" Dashboard ["tab" "backtab"] "cards/processes" "Switch the up and down keys between cards, processes and findings";
    Open "open" Everywhere ["enter"] "large" "On a process tell all about it, on a card make the timeline large, on a finding go to its moment; in a menu, choose";
    PreviousFinding "previous-finding" Dashboard ["["] "" "Go to the finding before, in time";
    NextFinding "next-finding" Dashboard ["]"] "" "Go to the finding after, in time";
    All "all" Dashboard ["a"] "all cards" "Show all cards at once; again for one";
    Filter "filter" Dashboard ["/"] "filter" "Show only some processes: words, or user:NAME gpu:0 rel:foreign mem:>2GiB and others (see below)";
    Sort "sort" Dashboard ["s" "f6"] "sort" "Choose the column that processes are sorted by";
    Reverse "reverse" Dashboard ["r"] "" "Turn the order of the processes round";
    Fold "fold" Dashboard ["o"] "" "Open the selected job to see its processes, or close it; all of them where none is selected";
    Tree "tree" Dashboard ["t" "f5"] "" "Jobs in one row each; a tree of jobs and parents; every process by itself";
    Tag "tag" Dashboard ["space"] "" "Tag the selected process or job, to act on several at once; again to take the tag away";
    Graphics "graphics" Dashboard ["v"] "" "Hide the processes that use a card for graphics alone, or show them";
    Mark "mark" Dashboard ["m"] "" "Mark this moment: peaks are counted from here on as well";
    MarkText "mark-text" Dashboard ["M"] "" "Mark this moment with a text";
    Freeze "freeze" Dashboard ["f"] "freeze" "Freeze: stop at this moment and look around; again to go on";
    Earlier "earlier" Dashboard ["left"] "pan" "Earlier: pan into the past; when frozen, move the cursor";
    Later "later" Dashboard ["right"] "" "Later, up to now";
    MuchEarlier "much-earlier" Dashboard ["shift-left"] "" "Earlier by a whole screen";
    MuchLater "much-later" Dashboard ["shift-right"] "" "Later by a whole screen";
    ZoomIn "zoom-in" Dashboard ["+" "="] "zoom" "Show less time, in more detail (down to 10 s)";
    ZoomOut "zoom-out" Dashboard ["-"] "" "Show more time (up to 7 days)";
    Signal "signal" Dashboard ["K" "f9"] "signal" "Signal the selected process, after a question (end, interrupt, stop …)";
    Theme "theme" Dashboard ["T"] "" "The next theme";
    Redraw "redraw" Everywhere ["ctrl-l"] "" "Draw the whole screen again";
    Back "back" Everywhere ["esc"] "" "Close what is on top: help, menu, details, filter, freeze, past, large timeline, all cards. Never quits";
    Suspend "suspend" Everywhere ["ctrl-z"] "" "Back to the shell; fg returns";
    Help "help" Dashboard ["?" "h" "f1"] "help" "This list; type to search it";
    Quit "quit" Everywhere ["q" "f10" "ctrl-c"] "quit" "Quit";
];

/// The entry of an action.
pub fn info(action: Action) -> &'static ActionInfo {
    ACTIONS.iter().find(|info| info.action == action).expect("every action has an entry: held by a test")
}
