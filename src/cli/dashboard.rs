//! The dashboard: source, pipeline and screen put together.

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;

use jiff::tz::TimeZone;
use tokio::sync::oneshot;

use super::{Context, Exit, once, open};
use crate::alerts::AlertCommand;
use crate::config::terminal::is_utf8;
use crate::config::{Notification, Palette, Settings};
use crate::domain::{Alerter, Period, Sample};
use crate::pipeline::{self, Sink};
use crate::sampler::channel;
use crate::source::SourceError;
use crate::tui::{self, AlertOptions, CudaView, DashboardOptions, Hands, Outcome};

/// How long the screen waits for the source to say that it can't be used, so that this can be said without a screen.
const OPENING: Period = Period::millis(20);

/// Shows the dashboard until the user leaves. Without a terminal, or on a dumb one, prints the table of `once`.
///
/// # Errors
/// No driver; a terminal that can't be used.
pub fn run(context: &Context) -> anyhow::Result<Exit> {
    // A terminal that says that it can do nothing gets no full screen.
    let dumb = context.env.get("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    if dumb || !std::io::stdout().is_terminal() {
        return once::print_table(context);
    }
    let (samples, received) = channel(open::queue(&context.settings));
    let source = open::source(&context.settings, &context.env)?;
    let own = samples.clone();
    #[cfg(debug_assertions)]
    let spare = samples.clone();
    let handle = source.start(samples);
    #[cfg(debug_assertions)]
    let handle = super::fault::plant(context, handle, spare)?;
    let snapshots = pipeline::spawn(received, sinks(&context.settings))?;
    let failed = match handle.opened.recv_timeout(OPENING.std()) {
        Ok(opened) => {
            opened?;
            None
        }
        Err(RecvTimeoutError::Disconnected) => None,
        Err(RecvTimeoutError::Timeout) => Some(later(handle.opened)?),
    };
    let failed = async {
        match failed {
            Some(failed) => match failed.await {
                Ok(error) => error,
                Err(_) => std::future::pending().await,
            },
            None => std::future::pending().await,
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let clock = Arc::clone(&handle.now);
    // What the user does takes the way of all samples, so that every sink gets it. It waits for room: a mark must not be lost.
    let tell = Box::new(move |body| {
        own.send_waiting(Sample { t: clock(), body });
    });
    let hands = Hands { tell, signaller: handle.signaller };
    let outcome = runtime.block_on(tui::run(options(context), snapshots, handle.now, hands, failed));
    handle.stop.store(true, Ordering::Relaxed);
    match outcome? {
        Outcome::Quit | Outcome::Signal(_) => Ok(Exit::Success),
        Outcome::SourceFailed(error) => Err(error.into()),
    }
}

/// Passes on why a source that opens slowly can't be used.
fn later(opened: Receiver<Result<(), SourceError>>) -> std::io::Result<oneshot::Receiver<SourceError>> {
    let (tell, failed) = oneshot::channel();
    thread::Builder::new().name("opening".to_owned()).spawn(move || {
        if let Ok(Err(error)) = opened.recv() {
            // The dashboard may have ended before.
            let _ = tell.send(error);
        }
    })?;
    Ok(failed)
}

/// Who gets every sample beside the screen.
fn sinks(settings: &Settings) -> Vec<Box<dyn Sink>> {
    let alerter = Alerter::new(settings.alert_level, settings.alert_every);
    let command = settings.on_alert.clone().map(|command| -> Box<dyn Sink> { Box::new(AlertCommand::new(command, alerter)) });
    command.into_iter().collect()
}

fn options(context: &Context) -> DashboardOptions {
    let settings = &context.settings;
    DashboardOptions {
        theme: context.theme.clone(),
        palette: Palette::resolve(settings.color, &context.env),
        ascii: settings.ascii.unwrap_or(!is_utf8(&context.env)),
        mouse: settings.mouse,
        graphics: settings.graphics,
        timezone: if settings.utc { TimeZone::UTC } else { TimeZone::system() },
        cuda: context.env.cuda().map(|visible| CudaView {
            visible,
            is_ordered: settings.visible,
            is_complete: settings.gpus.is_empty(),
        }),
        read_only: settings.read_only.then(|| settings.origin("read-only").to_string()),
        alerts: AlertOptions {
            alerter: Alerter::new(settings.alert_level, settings.alert_every),
            bell: settings.bell,
            notification: Notification::resolve(settings.notify, &context.env),
        },
    }
}
