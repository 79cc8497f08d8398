//! Where a process comes from and runs: read once for each process, off the threads that read the driver.

use std::borrow::Cow;
use std::io;
use std::sync::Arc;

use super::container::{self, Container};
use super::kin::Kin;
use super::origin::{self, Variables};
use super::procfs;
use super::root::Root;
use crate::domain::{Ancestor, Details, Missing, Pid, Process, Reading, text};

/// The longest path that is kept, in characters.
const PATH: usize = 1024;
/// Text files of the kernel are not longer than this.
const LONGEST: u64 = 1 << 20;
/// Folders of logs that are looked through for the name of a pod.
const MAX_LOGS: usize = 4096;

/// Why what only the environment tells is missing.
const UNREAD: Missing = Missing::Denied(Cow::Borrowed("another user's environment is not read"));

/// What is read of a process beside its record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// For its record.
    pub details: Details,
    /// The container, with the best name that was found.
    pub container: Option<Arc<str>>,
}

/// The container in which a process lives, by its control group alone.
pub fn container(root: &Root, pid: u32) -> (Option<Container>, bool) {
    let mut buffer = Vec::new();
    if procfs::read(&root.proc(pid, "cgroup"), LONGEST, &mut buffer).is_none() {
        return (None, false);
    }
    let text = String::from_utf8_lossy(&buffer);
    (container::of_cgroup(&text), container::is_outside(&text))
}

/// Reads the details of a process. `mine` says that it is my own user's: nobody else's environment is ever read, root's
/// rights or not. `chain` are its parents, the nearest first.
pub fn read(root: &Root, process: &Process, mine: bool, chain: &[Arc<Kin>]) -> Origin {
    let pid = process.key.pid.0;
    let mut buffer = Vec::new();
    let mut text_of = |file: &str| {
        procfs::read(&root.proc(pid, file), LONGEST, &mut buffer).map(|()| String::from_utf8_lossy(&buffer).into_owned())
    };
    let cgroup = text_of("cgroup");
    let found = cgroup.as_deref().and_then(container::of_cgroup);
    let batch = match &cgroup {
        Some(cgroup) => Ok(container::batch_of_cgroup(cgroup).map(Into::into)),
        None => Err(Missing::Failed("its control groups can't be read".into())),
    };
    // Only a container has mounts worth reading, and a process that shares mine is in none of its own.
    let apart = link(root, pid, "ns/mnt")
        .ok()
        .is_none_or(|own| std::fs::read_link(root.path("/proc/self/ns/mnt")).ok().as_deref() != Some(own.as_path()));
    let mounts = if apart {
        text_of("mountinfo").map(|text| container::of_mountinfo(&text)).unwrap_or_default()
    } else {
        container::Mounts::default()
    };
    let pod = found.as_ref().and_then(|container| container.pod.clone());
    let pod = pod.or_else(|| mounts.container.as_ref().and_then(|container| container.pod.clone()));
    let named = pod.as_deref().and_then(|uid| pod_name(root, uid)).map(|(namespace, name)| {
        let of = mounts.container_name.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
        format!("pod {namespace}/{name}{of}")
    });
    let container = named.or_else(|| found.or(mounts.container).map(|container| container.label()));
    let variables = if mine {
        procfs::read(&root.proc(pid, "environ"), LONGEST, &mut buffer).map(|()| Variables::parse(&buffer))
    } else {
        None
    };
    let details = Details {
        cwd: path_of(link(root, pid, "cwd")),
        parents: ancestors(chain),
        batch,
        environment: environment(root, pid, process, mine, variables.as_ref()),
        session: session(chain, variables.as_ref()),
    };
    Origin { details, container: container.map(Into::into) }
}

/// The parents as the record has them.
pub fn ancestors(chain: &[Arc<Kin>]) -> Arc<[Ancestor]> {
    let above = chain.iter().take_while(|kin| kin.key.pid != Pid(1)).take(Details::MAX_PARENTS);
    above
        .map(|kin| {
            let name = if kin.zombie { format!("{} (zombie)", kin.name).into() } else { Arc::clone(&kin.name) };
            Ancestor { key: kin.key, name }
        })
        .collect()
}

fn link(root: &Root, pid: u32, name: &str) -> io::Result<std::path::PathBuf> {
    std::fs::read_link(root.proc(pid, name))
}

fn path_of(link: io::Result<std::path::PathBuf>) -> Reading<Arc<str>> {
    match link {
        Ok(path) => Ok(text::clean(&path.to_string_lossy(), PATH).into()),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Err(Missing::Denied("it is another user's process".into()))
        }
        Err(_) => Err(Missing::Failed("the process ended".into())),
    }
}

fn environment(root: &Root, pid: u32, process: &Process, mine: bool, variables: Option<&Variables>) -> Reading<Option<Arc<str>>> {
    if let Some(name) = variables.and_then(Variables::environment) {
        return Ok(Some(name.into()));
    }
    // As it was called: a virtual environment's interpreter is a link.
    let called =
        process.command.as_ref().ok().and_then(|command| command.split(' ').next()).and_then(origin::environment_of_path);
    let run = || link(root, pid, "exe").ok().and_then(|path| origin::environment_of_path(&path.to_string_lossy()));
    match called.or_else(run) {
        Some(name) => Ok(Some(name.into())),
        None if variables.is_some() => Ok(None),
        None if mine => Err(Missing::Denied("its environment can't be read".into())),
        None => Err(UNREAD),
    }
}

fn session(chain: &[Arc<Kin>], variables: Option<&Variables>) -> Reading<Option<Arc<str>>> {
    // What the variables say is more exact: the parents tell no more than that there is a multiplexer.
    let own = variables.and_then(Variables::session);
    let above = || chain.iter().find_map(|kin| origin::session_of_parent(&kin.name, kin.command.as_deref().unwrap_or_default()));
    // A process whose parents are gone may come from a session that only its variables would tell.
    let parentless = chain.first().is_none_or(|kin| kin.key.pid == Pid(1));
    match own.or_else(above) {
        None if variables.is_none() && parentless => Err(UNREAD),
        session => Ok(session.map(Into::into)),
    }
}

/// Namespace and name of a pod: the node keeps the logs of its pods in folders that are called so.
fn pod_name(root: &Root, uid: &str) -> Option<(String, String)> {
    let folders = std::fs::read_dir(root.path("/var/log/pods")).ok()?;
    folders.take(MAX_LOGS).find_map(|entry| container::of_log_folder(entry.ok()?.file_name().to_str()?, uid))
}
