//! The tty: enter, leave, suspend, title. No other file touches it.
//!
//! Leaving is idempotent and happens on return, on errors, on signals and when the thread that draws panics. A panic of
//! any other thread leaves the screen alone: it lives on, and says so.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Once, OnceLock};
use std::thread::ThreadId;

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::style::force_color_output;
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, SetTitle, disable_raw_mode, enable_raw_mode};
use ratatui::crossterm::{execute, queue};
use ratatui::layout::Rect;

use crate::config::Notification;
use crate::domain::text::clean;

/// Whether the screen is ours.
static ACTIVE: AtomicBool = AtomicBool::new(false);
/// The thread that draws.
static UI_THREAD: OnceLock<ThreadId> = OnceLock::new();

/// Buttons and wheel in the SGR encoding. Without motion: crossterm's own command asks for every move of the pointer.
const MOUSE_ON: &str = "\x1b[?1000h\x1b[?1006h";
const MOUSE_OFF: &str = "\x1b[?1006l\x1b[?1000l";
/// Pasted text comes marked as such: its letters are no keys.
const PASTE_ON: &str = "\x1b[?2004h";
const PASTE_OFF: &str = "\x1b[?2004l";
/// Keeps and brings back the window's title where the terminal has a stack of them.
const TITLE_PUSH: &str = "\x1b[22;2t";
const TITLE_POP: &str = "\x1b[23;2t";
/// Begin and end of a synchronized update: the terminal shows the frame as a whole.
const SYNC_ON: &[u8] = b"\x1b[?2026h";
const SYNC_OFF: &[u8] = b"\x1b[?2026l";

/// Collects a frame and hands it out in one write. Not a `BufWriter`: that would write its rest when it is dropped, into
/// a screen that is not ours any more.
#[derive(Default)]
struct Frame {
    bytes: Vec<u8>,
}

impl Write for Frame {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.is_empty() {
            self.bytes.extend_from_slice(SYNC_ON);
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        self.bytes.extend_from_slice(SYNC_OFF);
        let mut stdout = io::stdout().lock();
        let result = stdout.write_all(&self.bytes).and_then(|()| stdout.flush());
        self.bytes.clear();
        result
    }
}

/// The screen while it is ours.
pub struct Tty {
    terminal: Terminal<CrosstermBackend<Frame>>,
    mouse: bool,
}

impl Tty {
    /// Takes the screen of the tty; the calling thread is the one that draws. Nothing is asked of the terminal, since a
    /// slow one would keep the first frame waiting.
    pub fn enter(mouse: bool, colours: bool) -> io::Result<Self> {
        // crossterm looks at NO_COLOR by itself; whether it holds is decided with the other settings.
        force_color_output(colours);
        let _ = UI_THREAD.set(std::thread::current().id());
        hook_panics();
        take(mouse)?;
        let terminal = Terminal::new(CrosstermBackend::new(Frame::default())).inspect_err(|_| leave())?;
        Ok(Self { terminal, mouse })
    }

    /// Draws what has changed since the last frame. Asks for the size of the screen only where `measure` says that it
    /// may have changed: that opens the tty each time.
    pub fn draw(&mut self, measure: bool, render: impl FnOnce(Rect, &mut Buffer)) -> io::Result<()> {
        if measure {
            self.terminal.autoresize()?;
        }
        let mut frame = self.terminal.get_frame();
        let area = frame.area();
        render(area, frame.buffer_mut());
        self.terminal.flush()?;
        self.terminal.swap_buffers();
        self.terminal.backend_mut().flush()
    }

    /// Makes the next frame write every cell.
    pub fn invalidate(&mut self) -> io::Result<()> {
        // `clear` would ask the terminal for the cursor and wait for its answer; a resize does not.
        let size = self.terminal.size()?;
        self.terminal.resize(Rect::from((ratatui::layout::Position::ORIGIN, size)))
    }

    /// Names the window.
    pub fn title(&mut self, title: &str) -> io::Result<()> {
        queue!(self.terminal.backend_mut(), SetTitle(title))
    }

    /// Rings the bell and asks for a notification.
    pub fn alert(&mut self, bell: bool, notification: Option<Notification>, text: &str) -> io::Result<()> {
        // What a process calls itself is in it.
        let text = clean(text, 200);
        let frame = self.terminal.backend_mut();
        match notification {
            Some(Notification::Osc9) => write!(frame, "\x1b]9;vramscope: {text}\x1b\\")?,
            // The title and the text are parted by a semicolon.
            Some(Notification::Osc777) => write!(frame, "\x1b]777;notify;vramscope;{}\x1b\\", text.replace(';', ","))?,
            None => {}
        }
        if bell { frame.write_all(b"\x07") } else { Ok(()) }
    }

    /// Gives the screen back and stops the process group, as the shell's job control expects of Ctrl-Z. Returns when it
    /// was continued; in a group that nobody could continue the system does not stop it. Take the screen again with
    /// [`Tty::resume`].
    pub fn suspend(&mut self) {
        leave();
        let _ = rustix::process::kill_current_process_group(rustix::process::Signal::TSTP);
    }

    /// Takes the screen again.
    pub fn resume(&mut self) -> io::Result<()> {
        // The shell may have changed the modes of the tty in between: begin from its own.
        leave();
        take(self.mouse)?;
        self.invalidate()
    }
}

impl Drop for Tty {
    fn drop(&mut self) {
        leave();
    }
}

fn take(mouse: bool) -> io::Result<()> {
    enable_raw_mode()?;
    ACTIVE.store(true, Ordering::SeqCst);
    keep_interrupt();
    let mut out = io::stdout().lock();
    let result = out
        .write_all(TITLE_PUSH.as_bytes())
        .and_then(|()| execute!(out, EnterAlternateScreen, Hide))
        .and_then(|()| out.write_all(PASTE_ON.as_bytes()))
        .and_then(|()| if mouse { out.write_all(MOUSE_ON.as_bytes()) } else { Ok(()) })
        .and_then(|()| out.flush());
    drop(out);
    result.inspect_err(|_| leave())
}

/// Leaves Ctrl-C to the tty, which makes a signal of it: after an escape sequence without an end (Alt-[ and `?`, a torn
/// paste) crossterm 0.29 waits for its rest for ever, and no key would lead out. Ctrl-Z and Ctrl-\\ stay keys. Where the
/// tty refuses, Ctrl-C is a key as well.
fn keep_interrupt() {
    use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, tcgetattr, tcsetattr};
    let input = io::stdin();
    let Ok(mut modes) = tcgetattr(&input) else { return };
    modes.local_modes |= LocalModes::ISIG;
    for code in [SpecialCodeIndex::VSUSP, SpecialCodeIndex::VQUIT] {
        // _POSIX_VDISABLE on Linux.
        modes.special_codes[code] = 0;
    }
    let _ = tcsetattr(&input, OptionalActions::Now, &modes);
}

/// Gives the screen back as it was. Does nothing where it is not ours; errors are of no use to anybody here.
pub fn leave() {
    if ACTIVE.swap(false, Ordering::SeqCst) {
        let mut out = io::stdout().lock();
        let _ = out.write_all(SYNC_OFF);
        let _ = out.write_all(MOUSE_OFF.as_bytes());
        let _ = out.write_all(PASTE_OFF.as_bytes());
        let _ = execute!(out, LeaveAlternateScreen, Show);
        let _ = out.write_all(TITLE_POP.as_bytes());
        let _ = out.flush();
        let _ = disable_raw_mode();
    }
}

/// While the screen is ours, a panic of the drawing thread gives it back before the message is printed; the message of
/// any other thread goes to the log, not across the picture.
fn hook_panics() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let ours = UI_THREAD.get() == Some(&std::thread::current().id());
            if ACTIVE.load(Ordering::SeqCst) && !ours {
                tracing::error!(thread = std::thread::current().name(), "{info}");
                return;
            }
            leave();
            previous(info);
        }));
    });
}
