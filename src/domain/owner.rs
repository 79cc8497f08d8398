//! Whose a process is: the rules behind [`Relation`], the same for live and simulated processes.

use std::borrow::Cow;

use super::command::Invocation;
use super::{Health, HolderKind, Missing, Relation};

/// Why nothing is known of a driver's pid in a PID namespace of its own.
pub const FOREIGN_PID: Missing = Missing::Unsupported(Cow::Borrowed("the driver's pid is of another PID namespace"));

/// What to tell the user who lives in a PID namespace of its own, once a list names a process.
pub fn foreign_pids() -> Health {
    Health::Problem {
        gpu: None,
        what: "processes are shown without names".into(),
        why: "this is a PID namespace of its own (a container), and the driver numbers processes as the host does".into(),
        fix: "start the container with `--pid=host` (in Kubernetes `hostPID: true`), or run vramscope on the host".into(),
    }
}

/// Where a process lives, for the question whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Where I live.
    Here,
    /// In a container whose daemon gives user numbers of its own: number 1000 in there may be anybody.
    Elsewhere,
}

/// What is known of a process.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Its owner; none where it is not visible.
    pub uid: Option<u32>,
    /// It is in the watched tree.
    pub watched: bool,
    /// Where it lives.
    pub place: Place,
    /// The lists it stands in.
    pub kind: HolderKind,
    /// Its command line, or its name.
    pub command: &'a str,
}

/// Display servers and compositors: system where the driver lists them for graphics.
const DISPLAYS: &[&str] = &[
    "Xorg",
    "X",
    "Xwayland",
    "Xvnc",
    "Xtigervnc",
    "gnome-shell",
    "mutter",
    "mutter-x11-frames",
    "kwin",
    "kwin_x11",
    "kwin_wayland",
    "plasmashell",
    "ksmserver",
    "sddm",
    "sddm-greeter",
    "sddm-greeter-qt6",
    "gdm",
    "gdm-x-session",
    "gdm-wayland-session",
    "lightdm",
    "lightdm-gtk-greeter",
    "greetd",
    "sway",
    "Hyprland",
    "weston",
    "gamescope",
    "labwc",
    "wayfire",
    "river",
    "niri",
    "cosmic-comp",
    "cinnamon",
    "compiz",
    "xfwm4",
    "xfce4-session",
    "marco",
    "muffin",
    "budgie-wm",
    "picom",
    "compton",
    "nxagent",
];

/// Daemons of drivers and monitors, whatever list they stand in.
const DAEMONS: &[&str] = &[
    "nvidia-persistenced",
    "nv-hostengine",
    "dcgmi",
    "dcgm-exporter",
    "nvidia-cuda-mps-server",
    "nvidia-cuda-mps-control",
    "nvidia-powerd",
    "nv-fabricmanager",
    "nvidia-imex",
    "nvsm_core",
    "nvidia-smi",
    "nvidia-device-plugin",
    "nvidia-dbus.service",
    "systemd-logind",
    "vgpu-mgr",
    "nvidia-vgpud",
    "nvidia-vgpu-mgr",
];

/// Numbers of people, as Linux systems give them; those outside are accounts of services (`login.defs`, and the range of
/// systemd's and gdm's dynamic users from 60001 on).
const PEOPLE: std::ops::RangeInclusive<u32> = 1000..=60_000;

impl Relation {
    /// Whose a process is; the first that fits.
    ///
    /// `me` is my user number. A container started by a daemon (docker, Kubernetes, LXC) is foreign whatever user it runs
    /// as, unless it is the one I live in; a rootless one runs as its user. Display servers and daemons are the system's
    /// where root or a service account runs them: another person's compositor is that person's.
    pub fn of(subject: &Subject<'_>, me: u32) -> Self {
        let Some(uid) = subject.uid else {
            return if subject.watched { Self::Job } else { Self::Unknown };
        };
        if subject.watched {
            return Self::Job;
        }
        if subject.place == Place::Here {
            if uid == me {
                return Self::Mine;
            }
            if !PEOPLE.contains(&uid) && is_system(subject.command, subject.kind) {
                return Self::System;
            }
        }
        Self::Foreign
    }
}

fn is_system(command: &str, kind: HolderKind) -> bool {
    let run = Invocation::parse(command);
    let program = run.program.trim_matches(['[', ']']);
    DAEMONS.contains(&program) || (kind.contains(HolderKind::G) && DISPLAYS.contains(&program))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_relation_that_fits() {
        use Relation::{Foreign, Job, Mine, System, Unknown};
        let (c, g, m, both) = (HolderKind::C, HolderKind::G, HolderKind::M, HolderKind::C.union(HolderKind::G));
        for (me, uid, place, kind, command, expected) in [
            (1000, Some(1000), Place::Here, c, "python train.py", Mine),
            (1000, Some(1002), Place::Here, c, "python train.py", Foreign),
            (1000, Some(0), Place::Here, c, "python train.py", Foreign),
            (0, Some(0), Place::Here, c, "python train.py", Mine),
            (0, Some(1000), Place::Here, c, "python train.py", Foreign),
            // Containers.
            (1000, Some(1000), Place::Elsewhere, c, "python train.py", Foreign),
            (0, Some(0), Place::Elsewhere, c, "python train.py", Foreign),
            // Graphics.
            (1000, Some(0), Place::Here, g, "/usr/lib/xorg/Xorg vt2", System),
            (1000, Some(0), Place::Here, c, "/usr/lib/xorg/Xorg vt2", Foreign),
            (1000, Some(120), Place::Here, both, "/usr/bin/gnome-shell", System),
            (1000, Some(60_578), Place::Here, g, "/usr/bin/gnome-shell", System),
            (1000, Some(1000), Place::Here, g, "/usr/bin/gnome-shell", Mine),
            (1000, Some(1002), Place::Here, g, "/usr/bin/Xwayland :1", Foreign),
            (1000, Some(0), Place::Here, g, "/usr/bin/blender", Foreign),
            // Daemons.
            (1000, Some(0), Place::Here, m, "nvidia-cuda-mps-server", System),
            (1000, Some(0), Place::Here, c, "[nv-hostengine]", System),
            (1000, Some(0), Place::Elsewhere, c, "dcgm-exporter", Foreign),
            (1000, None, Place::Here, c, "", Unknown),
        ] {
            let subject = Subject { uid, watched: false, place, kind, command };
            assert_eq!(Relation::of(&subject, me), expected, "{subject:?}");
            assert_eq!(Relation::of(&Subject { watched: true, ..subject }, me), Job, "{subject:?}");
        }
    }
}
