//! Which processes have the driver's device nodes open, as `fuser` finds them: through `/proc/PID/fd`.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

use super::root::Root;

/// The number under which the driver's character devices are registered with Linux.
const MAJOR: u32 = 195;
/// Of a process, no more files are looked at.
const MAX_FILES: usize = 1 << 16;
/// Of a machine, no more processes.
pub const MAX_PROCESSES: usize = 1 << 15;

/// Looks for open nodes.
#[derive(Clone, Debug)]
pub struct Nodes {
    root: Root,
    /// What the paths of all nodes begin with.
    prefix: String,
}

/// The nodes that a process has open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Open {
    /// Numbers of cards, sorted.
    pub minors: Vec<u32>,
    /// `nvidia-uvm`: every CUDA context needs it.
    pub uvm: bool,
    /// Any node at all.
    pub any: bool,
}

/// What a search found.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The processes with an open node.
    pub open: Vec<(u32, Open)>,
    /// How many could not be looked into.
    pub denied: u32,
    /// How many were looked into.
    pub looked: u32,
}

impl Nodes {
    /// Looks under a root.
    pub fn new(root: Root) -> Self {
        let prefix = root.path("/dev/nvidia");
        Self { root, prefix }
    }

    /// The nodes that one process has open.
    pub fn opened_by(&self, pid: u32) -> io::Result<Open> {
        let folder = self.root.proc(pid, "fd");
        let mut open = Open::default();
        for entry in fs::read_dir(folder)?.take(MAX_FILES) {
            // A file may be closed between the two looks.
            let Ok(path) = entry.map(|entry| entry.path()) else { continue };
            let Ok(target) = fs::read_link(&path) else { continue };
            let Some(name) = target.to_str().and_then(|target| target.strip_prefix(&self.prefix)) else { continue };
            match node(name) {
                Some(Node::Card(number)) => {
                    let Some(number) = self.number(&path, number) else { continue };
                    open.minors.push(number);
                }
                Some(Node::Uvm) => open.uvm = true,
                Some(Node::Other) => {}
                None => continue,
            }
            open.any = true;
        }
        open.minors.sort_unstable();
        open.minors.dedup();
        Ok(open)
    }

    /// The card's number: that of the device, whatever its path says, and the path's where a test put a plain file.
    fn number(&self, fd: &std::path::Path, named: u32) -> Option<u32> {
        let facts = fs::metadata(fd).ok()?;
        if facts.file_type().is_char_device() {
            let device = facts.rdev();
            return (rustix::fs::major(device) == MAJOR).then(|| rustix::fs::minor(device));
        }
        (!self.root.is_real()).then_some(named)
    }

    /// All processes with an open node, but this one.
    pub fn search(&self) -> Option<Found> {
        let own = std::process::id();
        let mut found = Found::default();
        let pids = super::procfs::pids(&self.root)?;
        for pid in pids.into_iter().filter(|pid| *pid != own).take(MAX_PROCESSES) {
            match self.opened_by(pid) {
                Ok(open) if open.any => found.open.push((pid, open)),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    found.denied += 1;
                    continue;
                }
                // It ended.
                Err(_) => continue,
            }
            found.looked += 1;
        }
        Some(found)
    }
}

/// What a node is by what follows `/dev/nvidia`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Node {
    Card(u32),
    Uvm,
    Other,
}

fn node(name: &str) -> Option<Node> {
    let name = name.strip_suffix(" (deleted)").unwrap_or(name);
    if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit()) {
        return name.parse().ok().map(Node::Card);
    }
    match name {
        "-uvm" => Some(Node::Uvm),
        "ctl" | "-uvm-tools" | "-modeset" | "-nvlink" | "-nvswitchctl" => Some(Node::Other),
        _ => name.starts_with("-caps/").then_some(Node::Other),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn nodes_are_told_by_name() {
        for (name, expected) in [
            ("0", Some(Node::Card(0))),
            ("15", Some(Node::Card(15))),
            ("3 (deleted)", Some(Node::Card(3))),
            ("ctl", Some(Node::Other)),
            ("-uvm", Some(Node::Uvm)),
            ("-caps/nvidia-cap3", Some(Node::Other)),
            ("", None),
            ("99999999999", None),
            ("0x", None),
            ("-fs", None),
        ] {
            assert_eq!(node(name), expected, "{name}");
        }
    }

    #[test]
    fn open_nodes_are_found_and_the_rest_is_not() {
        let dir = tempfile::tempdir().expect("a folder");
        let root = Root::at(dir.path());
        fs::create_dir_all(root.path("/dev")).expect("a folder");
        for name in ["nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm", "null"] {
            fs::write(root.path(&format!("/dev/{name}")), "").expect("a stand-in");
        }
        let process = |pid: u32, files: &[&str]| {
            fs::create_dir_all(root.proc(pid, "fd")).expect("a folder");
            for (n, file) in files.iter().enumerate() {
                symlink(root.path(file), root.proc(pid, &format!("fd/{n}"))).expect("a link");
            }
        };
        process(7, &["/dev/null", "/dev/nvidia1", "/dev/nvidia0", "/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm"]);
        process(8, &["/dev/null", "/dev/nvidia9"]);
        process(9, &["/dev/nvidiactl"]);
        fs::create_dir_all(root.path("/proc/self")).expect("a folder");
        let found = Nodes::new(root).search().expect("a /proc");
        let mut pids = found.open;
        pids.sort_by_key(|(pid, _)| *pid);
        let expected = [
            (7, Open { minors: vec![0, 1], uvm: true, any: true }),
            // Of process 8, the node is gone: the number can't be checked.
            (9, Open { minors: vec![], uvm: false, any: true }),
        ];
        assert_eq!((pids.as_slice(), found.looked, found.denied), (&expected[..], 3, 0));
    }
}
