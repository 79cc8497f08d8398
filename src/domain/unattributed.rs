//! Why memory may belong to no visible process: what can be said, the most telling first.

use std::sync::Arc;

use super::snapshot::Handle;
use super::{Bytes, DeviceView, HolderKind, HolderView, MemoryKind, Period, Snapshot, Timestamp};

/// Contexts being made or torn down make a difference for a moment: only what lasts this long is called a finding.
pub const PERSISTENT: Period = Period::secs(10);

/// A process that ended this long before the memory became ownerless has nothing to do with it.
const PARTING: Period = Period::secs(5);

/// A reason for unattributed memory.
#[derive(Clone, Debug)]
pub enum Cause {
    /// The driver does not tell the sizes of single processes (WDDM, WSL2): all of it is one slice.
    SizesNotTold,
    /// The list of processes can't be read.
    NoList,
    /// A holder ended, and about as much as it held stayed.
    Left(Arc<HolderView>),
    /// These have the device open without standing in a list.
    Open(Vec<Handle>),
    /// The driver's pids are those of another PID namespace: processes of other containers may not be listed.
    OtherNamespace,
    /// Clients of the Multi-Process Service may be counted for its server, or not at all.
    Mps,
    /// The operating system manages the memory and keeps pages after exit.
    Numa,
    /// Managed memory (`cudaMallocManaged`) and what the driver keeps for contexts count for the device, hardly for the process.
    ManagedOrDriver,
    /// No process at all is listed.
    NoHolders,
    /// So many processes could not be looked into.
    NotSearched(u32),
}

impl Cause {
    /// The causes that fit what is known of a device, the most telling first. Empty where there is next to nothing to explain.
    pub fn of(view: &DeviceView, snapshot: &Snapshot) -> Vec<Self> {
        let Some(balance) = view.accounts() else { return Vec::new() };
        let mut causes = Vec::new();
        if view.holders.is_err() {
            return vec![Self::NoList];
        }
        if balance.unexplained.is_some_and(|bytes| bytes > Bytes::ZERO) {
            causes.push(Self::SizesNotTold);
        }
        let amount = balance.unattributed.or(balance.unexplained).unwrap_or_default();
        if amount <= DeviceView::NOTABLE {
            return causes;
        }
        let since = view.unattributed_since.map_or(balance.t, |(since, _)| since);
        causes.extend(left_by(view, since, amount).map(Self::Left));
        let open: Vec<Handle> = snapshot
            .handles
            .iter()
            .flat_map(|list| list.iter())
            .filter(|handle| handle.open.gpus.is_empty() || handle.open.gpus.contains(&view.gpu()))
            .cloned()
            .collect();
        if !open.is_empty() {
            causes.push(Self::Open(open));
        }
        let holders = || view.holders.iter().flat_map(|list| list.iter());
        if holders().any(|holder| holder.kind().contains(HolderKind::M) || is_mps_server(holder)) {
            causes.push(Self::Mps);
        }
        if view.device.memory == MemoryKind::Numa {
            causes.push(Self::Numa);
        }
        if snapshot.header.as_ref().is_some_and(|header| header.foreign_pids) {
            causes.push(Self::OtherNamespace);
        }
        if holders().next().is_none() {
            causes.push(Self::NoHolders);
        } else {
            causes.push(Self::ManagedOrDriver);
        }
        if snapshot.handles_denied > 0 {
            causes.push(Self::NotSearched(snapshot.handles_denied));
        }
        causes
    }

    /// The cause in one sentence, without the user's own texts but for names.
    pub fn text(&self) -> String {
        match self {
            Self::SizesNotTold => {
                "the driver does not tell what each process holds here (WDDM, WSL2): all of it is one slice".to_owned()
            }
            Self::NoList => "the driver's list of processes can't be read".to_owned(),
            Self::Left(holder) => {
                let name = holder.process.as_ref().and_then(|process| process.command.as_ref().ok());
                let size = holder
                    .series
                    .as_ref()
                    .and_then(|series| held_at_end(holder, series))
                    .map_or_else(String::new, |held| format!(" and had held {held}"));
                format!("pid {} ({}) ended{size}: its memory stayed", holder.pid(), name.map_or("unknown", |name| name))
            }
            Self::Open(handles) => {
                let names: Vec<String> = handles.iter().take(4).map(name).collect();
                let more = if handles.len() > 4 { format!(" and {} more", handles.len() - 4) } else { String::new() };
                format!("unlisted, but with the device open: {}{more}", names.join(", "))
            }
            Self::OtherNamespace => {
                "this is a container: processes of other containers may not be listed (see them with --pid=host)".to_owned()
            }
            Self::Mps => "the Multi-Process Service may count its clients' memory for itself".to_owned(),
            Self::Numa => "the operating system manages this memory and may keep pages after a process ends".to_owned(),
            Self::ManagedOrDriver => {
                "managed memory (cudaMallocManaged) and driver contexts count for the device, not for the process".to_owned()
            }
            Self::NoHolders => {
                "no process is listed: a leftover of one that ended, another container's or a virtual machine's".to_owned()
            }
            Self::NotSearched(denied) => format!("{denied} processes of other users could not be looked into (root can)"),
        }
    }
}

fn is_mps_server(holder: &HolderView) -> bool {
    holder
        .process
        .as_ref()
        .and_then(|process| process.command.as_ref().ok())
        .is_some_and(|command| command.contains("nvidia-cuda-mps-server"))
}

fn name(handle: &Handle) -> String {
    let command = handle.process.as_ref().and_then(|process| process.command.as_ref().ok());
    let zombie = if handle.open.state == Ok('Z') { ", a zombie" } else { "" };
    format!("pid {} ({}{zombie})", handle.open.key.pid, command.map_or("unknown", |command| command))
}

/// The holder that went at about `since` and held at least half of what stayed.
fn left_by(view: &DeviceView, since: Timestamp, amount: Bytes) -> Option<Arc<HolderView>> {
    view.gone
        .iter()
        .filter(|holder| holder.gone_at.is_some_and(|gone| since.since(gone) <= PARTING && gone.since(since) <= PARTING))
        .filter_map(|holder| Some((held_at_end(holder, holder.series.as_ref()?)?, holder)))
        .filter(|(held, _)| held.0 >= amount.0 / 2)
        .max_by_key(|(held, _)| *held)
        .map(|(_, holder)| Arc::clone(holder))
}

fn held_at_end(holder: &HolderView, series: &super::Series) -> Option<Bytes> {
    series.at(holder.gone_at?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fixture::Stream;

    #[test]
    fn what_a_process_left_behind_is_traced_to_it() {
        let mut stream = Stream::new(MemoryKind::Dedicated);
        stream.process(7, 111, 1000).holders(1_000, &[(7, Some(9_000))]).memory(1_001, 9_010);
        assert!(Cause::of(&stream.view(), &stream.snapshot()).is_empty(), "10 MiB are what a context costs");
        stream.holders(2_000, &[]).memory(2_001, 9_000).holders(20_000, &[]).memory(20_001, 9_000);
        let causes = Cause::of(&stream.view(), &stream.snapshot());
        assert!(matches!(&causes[0], Cause::Left(holder) if holder.pid().0 == 7), "{causes:?}");
        assert_eq!(causes[0].text(), "pid 7 (python train.py) ended and had held 8.79 GiB: its memory stayed");
        assert!(matches!(causes[1], Cause::NoHolders));
    }

    #[test]
    fn sizes_that_are_not_told_are_said_to_be_so() {
        let mut stream = Stream::new(MemoryKind::Dedicated);
        stream.holders(1_000, &[(7, None)]).memory(1_001, 9_010);
        let causes = Cause::of(&stream.view(), &stream.snapshot());
        assert!(matches!(causes[0], Cause::SizesNotTold), "{causes:?}");
    }
}
