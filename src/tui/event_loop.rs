//! The only place that waits: for keys, snapshots, signals and the clock.

use std::future::poll_fn;
use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_util::StreamExt;
use ratatui::crossterm::event::{Event, EventStream, KeyEventKind, MouseButton, MouseEventKind};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};

use super::app::App;
use super::keymap::Key;
use super::msg::{Effect, Msg};
use super::options::{AlertOptions, DashboardOptions};
use super::terminal::Tty;
use super::theme::Palette;
use crate::domain::{Period, SampleBody, Signaller, Snapshot, Timestamp};

/// The shortest time between two frames after keys and movement.
const MOTION: Duration = Duration::from_millis(33);
/// The shortest time between two frames while the first readings come in: nobody should wait for the first picture.
const OPENING: Duration = Duration::from_millis(8);
/// The shortest time between two frames when only numbers changed, on a timeline whose columns move that fast.
const NUMBERS: Duration = Duration::from_millis(100);
/// The same where a column stands for a second or so: the eye reads no number that stays for less.
const CALM_NUMBERS: Duration = Duration::from_millis(200);
/// The longest time on a timeline whose picture moves between two calm frames.
const FAST_SPAN: Period = Period::secs(30);
/// The longest time for which the size of the screen is taken as known.
const SECOND: Duration = Duration::from_secs(1);
/// The longest wait for a stop or a continue signal to arrive.
const SIGNALLED: Duration = Duration::from_millis(100);
/// The signal after a stop. SIGTSTP itself keeps its default, so that Ctrl-Z stops the process as any other.
const CONTINUE: i32 = rustix::process::Signal::CONT.as_raw();

/// Why the dashboard can't go on.
#[derive(Debug, thiserror::Error)]
pub enum TuiError {
    /// The tty can't be taken or written to.
    #[error("the terminal can't be used: {0}")]
    Tty(#[source] io::Error),
    /// Keys can't be read.
    #[error("the keyboard can't be read: {0}")]
    Input(#[source] io::Error),
    /// Signals can't be received.
    #[error("signals can't be received: {0}")]
    Signals(#[source] io::Error),
}

/// Why the dashboard ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome<E> {
    /// The user left.
    Quit,
    /// A signal ended it: its number.
    Signal(i32),
    /// The source can't be used: what `failed` said.
    SourceFailed(E),
}

/// What has to be drawn, and how soon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Want {
    /// Nothing but the clock.
    Clock,
    /// Numbers.
    Numbers,
    /// What the user did.
    Motion,
}

/// What the dashboard does beyond the screen: given by who puts the parts together.
pub struct Hands {
    /// Puts what the user did into the stream.
    pub tell: Box<dyn Fn(SampleBody)>,
    /// Signals processes.
    pub signaller: Box<dyn Signaller>,
}

/// Runs the dashboard until the user leaves, a signal ends it, or `failed` says that the source can't be used (pass
/// [`std::future::pending`] where it can't fail). `now` is the stream's clock.
pub async fn run<E>(
    options: DashboardOptions,
    snapshots: watch::Receiver<Arc<Snapshot>>,
    now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    hands: Hands,
    failed: impl Future<Output = E>,
) -> Result<Outcome<E>, TuiError> {
    let signals = Signals::new().map_err(TuiError::Signals)?;
    let resumed = signal(SignalKind::from_raw(CONTINUE)).map_err(TuiError::Signals)?;
    let tty = Tty::enter(options.mouse, options.palette != Palette::None).map_err(TuiError::Tty)?;
    let alerts = options.alerts.clone();
    let mut dashboard = Dashboard {
        app: App::new(options),
        tty,
        snapshots,
        now,
        hands,
        want: Want::Motion,
        titled: false,
        alerts,
        measured: None,
    };
    let last = dashboard.draw().map_err(TuiError::Tty)?;
    // Made after the first frame: it starts a thread.
    let mut input = Input::start();
    let result = dashboard.live(last, &mut input, signals, resumed, failed).await;
    // What is typed from here on is for the shell.
    input.stop().await;
    result
}

/// What the loop works on.
struct Dashboard {
    app: App,
    tty: Tty,
    snapshots: watch::Receiver<Arc<Snapshot>>,
    now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    hands: Hands,
    want: Want,
    titled: bool,
    alerts: AlertOptions,
    /// When the size of the screen was asked for; none where it may have changed. A change is told by an event, but not
    /// while nobody listens yet.
    measured: Option<Instant>,
}

/// Reads the keyboard in a task of its own: looking for input costs system calls, and the loop would look again
/// whenever anything else happens.
struct Input {
    events: mpsc::UnboundedReceiver<io::Result<Event>>,
    /// None once it was stopped.
    task: Option<JoinHandle<()>>,
}

impl Input {
    fn start() -> Self {
        // Unbounded, and still no more than a person types: the loop empties it at every turn.
        let (sender, events) = mpsc::unbounded_channel();
        let on_tty = io::stdin().is_terminal();
        let task = tokio::spawn(async move {
            let mut stream = EventStream::new();
            // crossterm 0.29 reads a tty that is gone over and over, and never comes back to the loop.
            while let Some(event) =
                poll_fn(|context| if on_tty && is_hung_up() { Poll::Ready(None) } else { stream.poll_next_unpin(context) }).await
            {
                if sender.send(event).is_err() {
                    break;
                }
            }
        });
        Self { events, task: Some(task) }
    }

    /// Returns when nobody reads the tty any more.
    async fn stop(&mut self) {
        if let Some(task) = self.task.take() {
            task.abort();
            // It ends by being aborted: that error is the expected one.
            let _ = task.await;
        }
    }
}

/// Whether the other end of the tty is gone.
fn is_hung_up() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdin = io::stdin();
    let mut fds = [PollFd::new(&stdin, PollFlags::empty())];
    poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok() && fds[0].revents().contains(PollFlags::HUP)
}

impl Dashboard {
    /// The loop, until something ends it.
    async fn live<E>(
        &mut self,
        mut last: Instant,
        input: &mut Input,
        mut signals: Signals,
        mut resumed: Signal,
        failed: impl Future<Output = E>,
    ) -> Result<Outcome<E>, TuiError> {
        let mut open = true;
        let mut failed = std::pin::pin!(failed);

        loop {
            let due = match self.want {
                Want::Motion => last + MOTION,
                Want::Numbers => last + self.pace(),
                Want::Clock => last.max(Instant::now()) + self.until_next_second(),
            };
            tokio::select! {
                biased;
                number = signals.ends() => return Ok(Outcome::Signal(number)),
                _ = resumed.recv() => {
                    self.resume()?;
                }
                event = input.events.recv() => {
                    let Some(event) = event else { return Ok(Outcome::Signal(SignalKind::hangup().as_raw_value())) };
                    let mut effect = self.take(event)?;
                    // All that has come in meanwhile: only the last picture of it is drawn.
                    while effect.is_none() && let Ok(event) = input.events.try_recv() {
                        effect = self.take(event)?;
                    }
                    match effect {
                        Some(Effect::Quit) => return Ok(Outcome::Quit),
                        Some(Effect::Redraw) => self.tty.invalidate().map_err(TuiError::Tty)?,
                        Some(Effect::Suspend) => {
                            // Nobody may read the tty while the shell has it.
                            input.stop().await;
                            self.tty.suspend();
                            // The stop is delivered before or while this waits; where the group can't be stopped, it ends.
                            let _ = timeout(SIGNALLED, resumed.recv()).await;
                            self.resume()?;
                            *input = Input::start();
                        }
                        Some(Effect::Mark(text)) => (self.hands.tell)(SampleBody::Mark(text)),
                        Some(Effect::Hold(targets)) => {
                            let answers = self.hands.signaller.hold(&targets);
                            self.app.update(Msg::Held(answers));
                        }
                        Some(Effect::Signal(signal)) => {
                            let answers = self.hands.signaller.signal(signal);
                            self.app.update(Msg::Signalled(signal, answers));
                        }
                        None => {}
                    }
                }
                error = &mut failed => return Ok(Outcome::SourceFailed(error)),
                changed = self.snapshots.changed(), if open && self.want == Want::Clock && !self.app.is_frozen() => {
                    // The sender is gone at the end of a stream: the last picture stays, its ages go on.
                    open = changed.is_ok();
                    self.want = if open { Want::Numbers } else { Want::Clock };
                }
                () = sleep_until(due) => last = self.draw().map_err(TuiError::Tty)?,
            }
        }
    }

    /// The shortest time between two frames when only numbers changed.
    fn pace(&self) -> Duration {
        if self.app.is_opening() {
            OPENING
        } else if self.app.look().span() <= FAST_SPAN {
            NUMBERS
        } else {
            CALM_NUMBERS
        }
    }

    /// Takes the screen again after a stop; its size may be another.
    fn resume(&mut self) -> Result<(), TuiError> {
        self.measured = None;
        self.want = Want::Motion;
        self.tty.resume().map_err(TuiError::Tty)
    }

    /// Draws the newest snapshot and returns when.
    fn draw(&mut self) -> io::Result<Instant> {
        let snapshot = Arc::clone(&self.snapshots.borrow_and_update());
        if !self.titled
            && let Some(header) = &snapshot.header
        {
            let host = header.host.as_deref().unwrap_or("GPU memory");
            let simulated = if header.simulated { " (simulated)" } else { "" };
            self.tty.title(&format!("vramscope: {host}{simulated}"))?;
            self.titled = true;
        }
        self.alert(&snapshot)?;
        self.app.update(Msg::Snapshot(snapshot));
        self.app.update(Msg::Tick((self.now)()));
        self.want = Want::Clock;
        let app = &mut self.app;
        let measure = self.measured.is_none_or(|at| at.elapsed() >= SECOND);
        if measure {
            self.measured = Some(Instant::now());
        }
        self.tty.draw(measure, |area, buf| app.render(area, buf))?;
        Ok(Instant::now())
    }

    /// Tells who does not look at the screen of risks that are news, freeze or not.
    fn alert(&mut self, snapshot: &Snapshot) -> io::Result<()> {
        let risks = snapshot.devices.iter().filter_map(|view| view.risk.as_ref()).chain(snapshot.job_risks.iter());
        for risk in risks {
            if self.alerts.alerter.takes(risk) {
                let text = format!("{}: {}", risk.level, risk.reason);
                self.tty.alert(self.alerts.bell, self.alerts.notification, &text)?;
            }
        }
        Ok(())
    }

    /// Takes an event of the terminal.
    fn take(&mut self, event: io::Result<Event>) -> Result<Option<Effect>, TuiError> {
        let event = event.map_err(TuiError::Input)?;
        let msg = match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => Msg::Key(Key::of(&key)),
            Event::Mouse(mouse) => match mouse.kind {
                MouseEventKind::Down(MouseButton::Left) => Msg::Click(mouse.column, mouse.row),
                MouseEventKind::ScrollUp => Msg::Wheel(mouse.column, mouse.row, false),
                MouseEventKind::ScrollDown => Msg::Wheel(mouse.column, mouse.row, true),
                _ => return Ok(None),
            },
            Event::Paste(text) => Msg::Paste(text),
            Event::Resize(..) => {
                self.measured = None;
                self.want = Want::Motion;
                return Ok(None);
            }
            _ => return Ok(None),
        };
        self.want = Want::Motion;
        self.app.update(Msg::Tick((self.now)()));
        Ok(self.app.update(msg))
    }

    /// The time until the clock in the header shows another second.
    fn until_next_second(&self) -> Duration {
        let created = self.snapshots.borrow().header.as_ref().map_or(0, |header| header.created.0);
        let wall = created.saturating_add(i64::try_from((self.now)().0).unwrap_or(0));
        Duration::from_micros(1_000_000 - wall.rem_euclid(1_000_000) as u64)
    }
}

/// Signals that end the dashboard.
struct Signals {
    terminate: Signal,
    hang_up: Signal,
    interrupt: Signal,
    quit: Signal,
}

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
            quit: signal(SignalKind::quit())?,
        })
    }

    /// The number of the first signal that ends the dashboard.
    async fn ends(&mut self) -> i32 {
        tokio::select! {
            _ = self.terminate.recv() => SignalKind::terminate().as_raw_value(),
            _ = self.hang_up.recv() => SignalKind::hangup().as_raw_value(),
            _ = self.interrupt.recv() => SignalKind::interrupt().as_raw_value(),
            _ = self.quit.recv() => SignalKind::quit().as_raw_value(),
        }
    }
}
