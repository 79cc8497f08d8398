//! Containers and batch jobs by the texts that the kernel has of a process: `/proc/PID/cgroup` and `/proc/PID/mountinfo`.
//!
//! Pure functions over text. A process can't change what stands there, but the names in it were chosen by somebody.

use crate::domain::text;

/// A container, as the runtime knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// `docker`, `podman`, `containerd`, `cri-o`, `lxc`, `nspawn`, `apptainer`, `enroot`, `garden`.
    pub runtime: &'static str,
    /// Its id or name.
    pub id: String,
    /// The pod's UID.
    pub pod: Option<String>,
    /// It runs as its user, so that its user numbers are real. Otherwise a daemon gave them.
    pub rootless: bool,
    /// Whose it is, where its place tells: within a rootless one, other users of its own have numbers of no account.
    pub owner: Option<u32>,
}

/// How many characters of an id are shown, as the runtimes do.
const SHORT: usize = 12;
/// The longest name of a machine or image.
const NAME: usize = 64;

impl Container {
    fn new(runtime: &'static str, id: &str) -> Self {
        Self { runtime, id: text::clean(id, NAME), pod: None, rootless: false, owner: None }
    }

    /// The id as runtimes print it; names are left whole.
    pub fn short_id(&self) -> &str {
        if is_id(&self.id) { self.id.get(..SHORT).unwrap_or(&self.id) } else { &self.id }
    }

    /// `docker 3f2a9c1b04de`, or `pod 7d9f…-uid (3f2a9c1b04de)` while nothing better is known of a pod.
    pub fn label(&self) -> String {
        match &self.pod {
            Some(pod) if self.id.is_empty() => format!("pod {pod}"),
            Some(pod) => format!("pod {pod} ({})", self.short_id()),
            None if self.id.is_empty() => self.runtime.to_owned(),
            None => format!("{} {}", self.runtime, self.short_id()),
        }
    }
}

/// The container of `/proc/PID/cgroup`, in its first or second version; the innermost where they are nested.
pub fn of_cgroup(cgroup: &str) -> Option<Container> {
    // v1 has a line for each controller, and not all know of the container.
    paths(cgroup).find_map(of_path)
}

/// Whether a process lives outside of the container in which I live: its path then leads up from mine, which is shown as `/`
/// in a control-group namespace of its own.
pub fn is_outside(cgroup: &str) -> bool {
    paths(cgroup).any(|path| path == "/.." || path.starts_with("/../"))
}

/// The job of the batch system: `slurm 4711`.
pub fn batch_of_cgroup(cgroup: &str) -> Option<String> {
    paths(cgroup).find_map(|path| {
        let mut parts = path.split('/');
        let slurm =
            parts.by_ref().any(|part| part == "slurm" || part.starts_with("slurm_") || part.ends_with("slurmstepd.scope"));
        if !slurm {
            return None;
        }
        let job = parts.find_map(|part| part.strip_prefix("job_"))?;
        // `job_4711` and, for a part of an array or a heterogeneous job, still its own number.
        is_number(job).then(|| format!("slurm {job}"))
    })
}

fn paths(cgroup: &str) -> impl Iterator<Item = &str> {
    cgroup.lines().filter_map(|line| line.splitn(3, ':').nth(2))
}

fn of_path(path: &str) -> Option<Container> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let pod = parts.iter().rev().find_map(|part| pod_uid(part));
    let found = (0..parts.len()).rev().find_map(|at| {
        let (before, rest) = parts.split_at(at);
        let container = of_part(rest.first()?, before.last().copied().unwrap_or_default(), pod.is_some())?;
        // Below the container's own group there may be slices of users who are known only within.
        let slices = || before.iter().filter(|part| part.starts_with("user@") || part.starts_with("user-"));
        let owner = slices().find_map(|part| part.strip_prefix("user-")?.strip_suffix(".slice")?.parse().ok());
        Some(Container { rootless: slices().next().is_some(), owner, ..container })
    });
    match (found, pod) {
        (Some(container), pod) => Some(Container { pod, ..container }),
        // The pod's own group, without a container's: the pause process of some runtimes.
        (None, Some(pod)) => Some(Container { pod: Some(pod), ..Container::new("kubernetes", "") }),
        (None, None) => None,
    }
}

/// One part of a path and the one before it.
fn of_part(part: &str, parent: &str, in_pod: bool) -> Option<Container> {
    // systemd: `docker-ID.scope`, and in the older driver of CRI `SLICE:cri-containerd:ID`.
    const SCOPES: &[(&str, &str)] = &[
        ("docker-", "docker"),
        ("libpod-", "podman"),
        ("cri-containerd-", "containerd"),
        ("nerdctl-", "containerd"),
        ("crio-", "cri-o"),
        ("apptainer-", "apptainer"),
        ("singularity-", "apptainer"),
    ];
    let scope = part.strip_suffix(".scope").unwrap_or(part);
    if let Some((runtime, id)) = SCOPES.iter().find_map(|(prefix, runtime)| Some((*runtime, scope.strip_prefix(prefix)?))) {
        // `libpod-conmon-ID`, `crio-conmon-ID` are the monitors outside.
        let named = is_id(id) || (runtime == "apptainer" && !id.is_empty());
        return named.then(|| Container::new(runtime, if is_id(id) { id } else { "" }));
    }
    if let Some((_, id)) = part.split_once(":cri-containerd:") {
        return is_id(id).then(|| Container::new("containerd", id));
    }
    // cgroupfs: the id below the runtime's name.
    if is_id(part) {
        let runtime = match parent {
            "docker" => "docker",
            "libpod_parent" | "libpod" => "podman",
            // The runtime of a pod does not stand in these paths.
            _ if in_pod => "containerd",
            // Namespaces of containerd, and Amazon's ECS.
            "default" | "k8s.io" | "moby" => "containerd",
            _ if is_id_of_task(parent) => "docker",
            _ => return None,
        };
        return Some(Container::new(runtime, part));
    }
    // LXC and Incus: `lxc.payload.NAME`, `lxc.payload/NAME`, `lxc/NAME`; their monitors live outside.
    if let Some(name) = part.strip_prefix("lxc.payload.") {
        return Some(Container::new("lxc", name));
    }
    if parent == "lxc.payload" || parent == "lxc" {
        return Some(Container::new("lxc", part));
    }
    // systemd-nspawn; virtual machines are scopes of the same kind.
    if let Some(name) = part.strip_prefix("systemd-nspawn@").and_then(|rest| rest.strip_suffix(".service")) {
        return Some(Container::new("nspawn", &unescape(name)));
    }
    if parent == "machine.slice"
        && let Some(name) = part.strip_prefix("machine-").and_then(|rest| rest.strip_suffix(".scope"))
    {
        let name = unescape(name);
        let machine = ["qemu-", "lxc-", "libvirt-"].iter().any(|kind| name.starts_with(kind));
        return (!machine).then(|| Container::new("nspawn", &name));
    }
    if parent == "singularity" || parent == "apptainer" {
        return Some(Container::new("apptainer", ""));
    }
    None
}

/// The UID of a pod in `kubepods-burstable-podUID.slice` (with underscores) or `podUID`.
fn pod_uid(part: &str) -> Option<String> {
    let part = part.split(':').next().unwrap_or(part);
    let part = part.strip_suffix(".slice").unwrap_or(part);
    let uid = match part.rsplit_once("-pod") {
        // On a node within a container: `kubelet-kubepods-…`.
        Some((before, uid)) if before.contains("kubepods") => uid,
        _ => part.strip_prefix("pod")?,
    };
    let uid = uid.replace('_', "-");
    is_pod_uid(&uid).then_some(uid)
}

/// A UUID, or for pods from files of the node 32 hexadecimal digits.
fn is_pod_uid(uid: &str) -> bool {
    let digits = uid.bytes().filter(u8::is_ascii_hexdigit).count();
    digits == 32 && uid.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// 64 hexadecimal digits; ECS adds a number to 32.
fn is_id(part: &str) -> bool {
    let hex = |text: &str, digits: usize| text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    hex(part, 64) || part.split_once('-').is_some_and(|(task, number)| hex(task, 32) && is_number(number))
}

/// A task of Amazon's ECS.
fn is_id_of_task(part: &str) -> bool {
    part.len() == 32 && part.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_number(part: &str) -> bool {
    !part.is_empty() && part.len() <= 20 && part.bytes().all(|byte| byte.is_ascii_digit())
}

/// systemd writes `-` within a name as `\x2d`.
fn unescape(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some((before, after)) = rest.split_once("\\x") {
        out.push_str(before);
        let code = after.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        rest = if let Some(code) = code {
            out.push(char::from(code));
            after.get(2..).unwrap_or_default()
        } else {
            out.push_str("\\x");
            after
        };
    }
    out.push_str(rest);
    out
}

/// What `/proc/PID/mountinfo` says where the control groups say nothing, or less.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mounts {
    /// The container whose files are mounted.
    pub container: Option<Container>,
    /// The name of the container within its pod.
    pub container_name: Option<String>,
}

/// Looks for the files that runtimes mount into their containers.
pub fn of_mountinfo(mountinfo: &str) -> Mounts {
    let mut mounts = Mounts::default();
    let mut pod = None;
    for line in mountinfo.lines() {
        // ID parent major:minor root mount-point options … - type source super-options
        let mut fields = line.split(' ').skip(3);
        let (Some(root), Some(point)) = (fields.next(), fields.next()) else { continue };
        // A node mounts the folders of its pods, a container those of its own.
        let own =
            ["/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/dev/termination-log", "/run/.containerenv"].contains(&point);
        if own && let Some(rest) = root.split_once("/kubelet/pods/").map(|(_, rest)| rest) {
            let mut parts = rest.split('/');
            pod = parts.next().filter(|uid| is_pod_uid(uid)).map(ToOwned::to_owned).or(pod);
            if (parts.next(), point) == (Some("containers"), "/dev/termination-log") {
                mounts.container_name = parts.next().map(|name| text::clean(name, NAME));
            }
        }
        if own && mounts.container.is_none() {
            mounts.container = id_after(root, "/containers/", "docker")
                .filter(|_| root.contains("docker/containers/"))
                .or_else(|| id_after(root, "/overlay-containers/", "podman"));
        }
        if point == "/" {
            let rest = fields.collect::<Vec<_>>().join(" ");
            if rest.contains("/singularity/mnt/") || rest.contains("/apptainer/mnt/") {
                mounts.container = Some(Container { rootless: true, ..Container::new("apptainer", "") });
            } else if let Some((_, name)) = root.split_once("/enroot/") {
                let name = name.rsplit('/').find(|part| !part.is_empty()).unwrap_or_default();
                mounts.container = Some(Container { rootless: true, ..Container::new("enroot", name) });
            }
        }
    }
    if let Some(pod) = pod {
        let container = mounts.container.unwrap_or_else(|| Container::new("kubernetes", ""));
        mounts.container = Some(Container { pod: Some(pod), ..container });
    }
    mounts
}

fn id_after(path: &str, folder: &str, runtime: &'static str) -> Option<Container> {
    let (_, rest) = path.split_once(folder)?;
    let id = rest.split('/').next().filter(|id| is_id(id))?;
    Some(Container::new(runtime, id))
}

/// Namespace and name of a pod by the folder of its logs, `NAMESPACE_NAME_UID`.
pub fn of_log_folder(folder: &str, uid: &str) -> Option<(String, String)> {
    let rest = folder.strip_suffix(uid)?.strip_suffix('_')?;
    let (namespace, name) = rest.split_once('_')?;
    Some((text::clean(namespace, NAME), text::clean(name, NAME)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "3f2a9c1b04de8a77f0c1d2e3b4a5968778695a4b3c2d1e0f3f2a9c1b04de8a77";

    /// What a cgroup text comes to: the label, and whether its user numbers are real.
    fn label(text: &str) -> Option<(String, bool)> {
        of_cgroup(&text.replace("{ID}", ID)).map(|container| (container.label(), container.rootless))
    }

    #[test]
    fn containers_are_found_in_control_groups() {
        let pod = "pod 0d6c8b5a-1f2e-4d3c-9b8a-7f6e5d4c3b2a (3f2a9c1b04de)";
        for (text, expected) in [
            // docker: v1 with cgroupfs, v2 with systemd, within a slice of the user (rootless).
            ("12:cpu,cpuacct:/docker/{ID}\n0::/system.slice/containerd.service\n", ("docker 3f2a9c1b04de", false)),
            ("11:devices:/\n4:memory:/docker/{ID}\n", ("docker 3f2a9c1b04de", false)),
            ("0::/system.slice/docker-{ID}.scope\n", ("docker 3f2a9c1b04de", false)),
            ("0::/../docker-{ID}.scope\n", ("docker 3f2a9c1b04de", false)),
            ("0::/user.slice/user-1000.slice/user@1000.service/user.slice/docker-{ID}.scope\n", ("docker 3f2a9c1b04de", true)),
            (
                "0::/ecs/0123456789abcdef0123456789abcdef/0123456789abcdef0123456789abcdef-1234567\n",
                ("docker 0123456789ab", false),
            ),
            // podman: as root, rootless, cgroupfs.
            ("0::/machine.slice/libpod-{ID}.scope/container\n", ("podman 3f2a9c1b04de", false)),
            (
                "0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{ID}.scope/container\n",
                ("podman 3f2a9c1b04de", true),
            ),
            ("2:pids:/libpod_parent/{ID}\n", ("podman 3f2a9c1b04de", false)),
            // containerd by itself.
            ("0::/system.slice/nerdctl-{ID}.scope\n", ("containerd 3f2a9c1b04de", false)),
            ("0::/default/{ID}\n", ("containerd 3f2a9c1b04de", false)),
            // Kubernetes: systemd and cgroupfs, containerd and CRI-O, v1 and v2, nested (kind).
            (
                "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0d6c8b5a_1f2e_4d3c_9b8a_7f6e5d4c3b2a.slice/cri-containerd-{ID}.scope\n",
                (pod, false),
            ),
            (
                "0::/kubepods.slice/kubepods-pod0d6c8b5a_1f2e_4d3c_9b8a_7f6e5d4c3b2a.slice/crio-{ID}.scope/container\n",
                (pod, false),
            ),
            ("8:memory:/kubepods/besteffort/pod0d6c8b5a-1f2e-4d3c-9b8a-7f6e5d4c3b2a/{ID}\n", (pod, false)),
            (
                "0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod0d6c8b5a_1f2e_4d3c_9b8a_7f6e5d4c3b2a.slice/cri-containerd-{ID}.scope\n",
                (pod, false),
            ),
            (
                "5:devices:/system.slice/containerd.service/kubepods-burstable-pod0d6c8b5a_1f2e_4d3c_9b8a_7f6e5d4c3b2a.slice:cri-containerd:{ID}\n",
                (pod, false),
            ),
            (
                "0::/kubepods/burstable/pod0d6c8b5a-1f2e-4d3c-9b8a-7f6e5d4c3b2a\n",
                ("pod 0d6c8b5a-1f2e-4d3c-9b8a-7f6e5d4c3b2a", false),
            ),
            // System containers.
            ("0::/lxc.payload.train/system.slice/ssh.service\n", ("lxc train", false)),
            ("4:memory:/lxc/train/user.slice/user-1000.slice/session-2.scope\n", ("lxc train", false)),
            ("0::/machine.slice/systemd-nspawn@lab.service/payload/init.scope\n", ("nspawn lab", false)),
            ("0::/machine.slice/machine-lab\\x2d2.scope\n", ("nspawn lab-2", false)),
            ("0::/user.slice/user-1000.slice/session-4.scope/apptainer-812.scope\n", ("apptainer", true)),
        ] {
            let expected = Some((expected.0.to_owned(), expected.1));
            let found = label(text);
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn a_rootless_container_tells_whose_it_is() {
        let text = format!("0::/user.slice/user-1002.slice/user@1002.service/user.slice/libpod-{ID}.scope/container\n");
        assert_eq!(of_cgroup(&text).and_then(|container| container.owner), Some(1002));
    }

    #[test]
    fn what_is_no_container_is_none() {
        for text in [
            "",
            "0::/\n",
            "0::/init.scope\n",
            "0::/user.slice/user-1000.slice/session-4.scope\n",
            "0::/user.slice/user-1000.slice/user@1000.service/app.slice/vte-spawn-{ID}.scope\n",
            "0::/machine.slice/libpod-conmon-{ID}.scope\n",
            "0::/kubepods.slice/x.slice/crio-conmon-{ID}.scope\n",
            "0::/lxc.monitor.train\n",
            "0::/machine.slice/machine-qemu\\x2d1\\x2dvm.scope\n",
            "0::/system.slice/docker.service\n",
            "0::/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0\n",
            "4:memory:/process_api/8428f02dddcf3cf49f3f8eb8b9e2dad6\n",
            "0::/docker/short\n",
            "no colons at all",
            "1:2",
        ] {
            assert_eq!(label(text), None, "{text}");
        }
    }

    #[test]
    fn batch_jobs_are_found_in_control_groups() {
        for (text, expected) in [
            ("0::/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0\n", Some("slurm 4711")),
            ("0::/system.slice/node17_slurmstepd.scope/job_12/step_batch/user/task_0\n", Some("slurm 12")),
            ("4:memory:/slurm/uid_1000/job_4711/step_0/task_0\n", Some("slurm 4711")),
            ("4:memory:/slurm_node17/uid_1000/job_4711/step_extern\n", Some("slurm 4711")),
            ("0::/user.slice/job_4711\n", None),
            ("0::/slurm/uid_1000/job_x\u{1b}[2J\n", None),
            ("0::/\n", None),
        ] {
            assert_eq!(batch_of_cgroup(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn containers_are_found_in_mounts() {
        let docker =
            format!("701 1 254:1 /var/lib/docker/containers/{ID}/hostname /etc/hostname rw,relatime - ext4 /dev/vda1 rw\n");
        let podman =
            format!("9 1 0:5 /containers/storage/overlay-containers/{ID}/userdata/hosts /etc/hosts rw - tmpfs tmpfs rw\n");
        let pod = "1 2 8:1 /var/lib/kubelet/pods/0d6c8b5a-1f2e-4d3c-9b8a-7f6e5d4c3b2a/etc-hosts /etc/hosts rw - ext4 /dev/sda1 rw\n\
            1 2 8:1 /var/lib/kubelet/pods/0d6c8b5a-1f2e-4d3c-9b8a-7f6e5d4c3b2a/containers/worker/9a8b7c6d /dev/termination-log rw - ext4 /dev/sda1 rw\n";
        let apptainer = "500 400 0:61 / / ro,nosuid,nodev,relatime - overlay overlay ro,lowerdir=/var/apptainer/mnt/session/overlay-lowerdir:/var/apptainer/mnt/session/rootfs\n";
        let enroot = "500 400 8:1 /var/lib/enroot/data/user-1000/pyxis_4711.0 / rw - ext4 /dev/sda1 rw\n";
        let node = "1 2 8:1 /var/lib/kubelet/pods/0d6c8b5a-1f2e-4d3c-9b8a-7f6e5d4c3b2a/volumes/x /mnt/x rw - ext4 /dev/sda1 rw\n";
        for (text, expected, name) in [
            (docker.as_str(), Some("docker 3f2a9c1b04de"), None),
            (&podman, Some("podman 3f2a9c1b04de"), None),
            (pod, Some("pod 0d6c8b5a-1f2e-4d3c-9b8a-7f6e5d4c3b2a"), Some("worker")),
            (apptainer, Some("apptainer"), None),
            (enroot, Some("enroot pyxis_4711.0"), None),
            (node, None, None),
            ("21 1 8:1 / / rw - ext4 /dev/sda1 rw\n\n \nx", None, None),
            ("", None, None),
        ] {
            let mounts = of_mountinfo(text);
            assert_eq!(mounts.container.as_ref().map(Container::label).as_deref(), expected, "{text}");
            assert_eq!(mounts.container_name.as_deref(), name, "{text}");
        }
    }

    #[test]
    fn pods_are_named_by_their_logs() {
        let uid = "0d6c8b5a-1f2e-4d3c-9b8a-7f6e5d4c3b2a";
        let found = of_log_folder("team_train-0_0d6c8b5a-1f2e-4d3c-9b8a-7f6e5d4c3b2a", uid);
        assert_eq!(found, Some(("team".to_owned(), "train-0".to_owned())));
        assert_eq!(of_log_folder("team_train-0_other", uid), None);
        assert_eq!(of_log_folder(uid, uid), None);
    }

    #[test]
    fn names_are_harmless() {
        let container = of_cgroup("0::/lxc.payload.a\u{1b}]0;x\u{7}\u{202e}\n").expect("a container");
        assert!(container.label().chars().all(|c| !c.is_control() && c != '\u{202e}'), "{container:?}");
        assert!(of_cgroup(&format!("0::/lxc/{}\n", "x".repeat(100_000))).is_some_and(|container| container.id.len() < 300));
        assert_eq!(unescape("a\\x2db\\xzz\\x"), "a-b\\xzz\\x");
    }
}
