//! What of the system's processes can be seen from here: the PID namespace, and what `/proc` hides.
//!
//! The driver numbers processes as the initial PID namespace does. In any other a number may belong to nobody here, or to
//! somebody else. Then a process is believed to be the driver's only where it is proven: the local process of that number
//! has the node of the very card open whose list names it, and for a compute process `nvidia-uvm` as well, without which
//! there is no CUDA context; and it had started when the list first named it. That is as much as can be proven: the driver
//! tells no start, and no number of this namespace. A process whose open files can't be read is not proven.

use std::borrow::Cow;

use super::nodes::Nodes;
use super::procfs::{self, Stat};
use super::root::Root;
use crate::domain::owner::{self, FOREIGN_PID};
use crate::domain::{Health, HolderKind, Missing, Timestamp};

/// The inode of the initial PID namespace (`PROC_PID_INIT_INO` in the kernel's `proc_ns.h`).
const INITIAL: u64 = 0xEFFF_FFFC;

/// Why nothing is known of a pid that no process has here.
pub const ABSENT: Missing = Missing::Unsupported(Cow::Borrowed("no such process in /proc here"));
/// Why nothing is known of a process that `/proc` hides.
pub const HIDDEN: Missing = Missing::Denied(Cow::Borrowed("/proc hides the processes of others (hidepid)"));

/// How processes look from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// This is the initial PID namespace: the driver's pids are those of `/proc` here.
    pub initial: bool,
    /// `/proc` is mounted so that other users' processes do not show (`hidepid`).
    pub hides: bool,
}

impl View {
    /// The view of this process.
    pub fn of(root: &Root) -> Self {
        let link = std::fs::read_link(root.path("/proc/self/ns/pid"));
        // Without that link the kernel has no namespaces, or there is no `/proc` in which a pid could be mistaken.
        let initial = link.map_or(true, |link| inode(&link.to_string_lossy()).is_none_or(|inode| inode == INITIAL));
        let mut buffer = Vec::new();
        let mounts = procfs::read(&root.path("/proc/self/mountinfo"), 1 << 20, &mut buffer);
        let hides = mounts.is_some() && hides(&String::from_utf8_lossy(&buffer));
        Self { initial, hides }
    }

    /// Why nothing is known of a pid.
    pub fn why(self) -> Missing {
        match self {
            Self { initial: false, .. } => FOREIGN_PID,
            Self { hides: true, .. } => HIDDEN,
            _ => ABSENT,
        }
    }

    /// What to tell the user once a process is met of which nothing can be known.
    pub fn hint(self) -> Option<Health> {
        match self {
            Self { initial: false, .. } => Some(owner::foreign_pids()),
            Self { hides: true, .. } => Some(Health::Problem {
                gpu: None,
                what: "processes of other users are shown without names".into(),
                why: "/proc is mounted with hidepid".into(),
                fix: "run vramscope as root, or ask to be in the group that /proc is mounted with (`gid=`)".into(),
            }),
            _ => None,
        }
    }
}

/// The inode in `pid:[4026531836]`.
fn inode(link: &str) -> Option<u64> {
    link.strip_prefix("pid:[")?.strip_suffix(']')?.parse().ok()
}

/// Whether the `/proc` of a mountinfo hides processes. Of several mounts on one point the last counts.
fn hides(mountinfo: &str) -> bool {
    let proc = mountinfo.lines().rfind(|line| line.split(' ').nth(4) == Some("/proc"));
    let options = proc.and_then(|line| line.split_once(" - ")).map(|(_, rest)| rest.split([' ', ',']));
    let hidden = ["hidepid=1", "hidepid=2", "hidepid=4", "hidepid=noaccess", "hidepid=invisible", "hidepid=ptraceable"];
    options.is_some_and(|mut options| options.any(|option| hidden.contains(&option)))
}

/// What the driver says of a pid whose process is to be proven.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    /// The number of the card's node; none where the driver does not tell it.
    pub minor: Option<u32>,
    /// The lists it stands in.
    pub kind: HolderKind,
    /// When a list first named it.
    pub listed: Timestamp,
}

/// Whether a local process is the one that the driver means.
pub fn is_proven(nodes: &Nodes, pid: u32, stat: &Stat, started: Timestamp, claim: &Claim) -> bool {
    let alive = !matches!(stat.state, 'Z' | 'X');
    let computes = claim.kind.contains(HolderKind::C) || claim.kind.contains(HolderKind::M);
    let Some(minor) = claim.minor.filter(|_| alive && started <= claim.listed) else { return false };
    nodes.opened_by(pid).is_ok_and(|open| open.minors.contains(&minor) && (open.uvm || !computes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_initial_namespace_has_one_inode() {
        assert_eq!(inode("pid:[4026531836]"), Some(INITIAL));
        assert_eq!(inode("pid:[4026532178]"), Some(4_026_532_178));
        assert_eq!((inode("pid:[]"), inode("mnt:[4026531836]")), (None, None));
    }

    #[test]
    fn hidden_processes_show_in_the_mount_options() {
        let mount = |options: &str| {
            format!("22 27 0:21 / /proc rw,relatime - proc proc {options}\n23 27 0:5 / /dev rw - devtmpfs d rw\n")
        };
        for (options, expected) in [
            ("rw", false),
            ("rw,hidepid=0", false),
            ("rw,hidepid=off", false),
            ("rw,hidepid=2", true),
            ("rw,gid=4,hidepid=invisible", true),
            ("rw,hidepid=ptraceable,subset=pid", true),
        ] {
            assert_eq!(hides(&mount(options)), expected, "{options}");
        }
        assert!(!hides(&(mount("rw,hidepid=2") + &mount("rw"))), "the last mount counts");
        assert!(!hides(""));
    }

    #[test]
    fn the_hint_says_what_to_do() {
        let fix = |view: View| view.hint().map(|hint| format!("{hint:?}"));
        assert!(
            fix(View { initial: false, hides: false })
                .is_some_and(|text| text.contains("--pid=host") && text.contains("hostPID"))
        );
        assert!(fix(View { initial: true, hides: true }).is_some_and(|text| text.contains("hidepid")));
        assert_eq!(fix(View { initial: true, hides: false }), None);
    }
}
