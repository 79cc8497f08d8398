//! Who the processes are: owners, jobs, containers, namespaces, hostile names, open nodes, accounts.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use serde_json::Value;
use vramscope::domain::{Bytes, Gpu, Health, Missing, OpenHandle, Pid, Process, Reading, Relation, SampleBody, Timestamp};
use vramscope::scenario::{self, StreamOptions};
use vramscope::source::SourceErrorKind;
use vramscope::source::nvml::NvmlOptions;

use crate::support::machine::{Machine, Text};
use crate::support::nvml::{Fake, Stream};
use crate::support::scenario::world;
use crate::terminal::{self, Terminal};

/// The user "nobody".
const NOBODY: u32 = 65_534;
/// An id as container runtimes give it.
const ID: &str = "3f2a9c1b04de8a77f0c1d2e3b4a5968778695a4b3c2d1e0f3f2a9c1b04de8a77";

/// A live process that ends with the test.
struct Live(Child);

impl Live {
    fn start(command: &mut Command) -> Self {
        Self(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    fn sleep() -> Self {
        Self::start(Command::new("sleep").arg("600"))
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Two cards on which these processes hold 3 GiB each, on the card of their place.
fn cards(processes: &[(u32, u32)], more: &str) -> String {
    let mut text =
        "[[device]]\nname = \"NVIDIA H100 80GB HBM3\"\ncopies = 2\ntotal = \"81559MiB\"\nreserved = \"479MiB\"\n".to_owned();
    for (pid, card) in processes {
        let _ = write!(
            text,
            "[[process]]\npid = {pid}\ncommand = \"x\"\nage = \"1h\"\n\
             on = [{{ devices = [{card}], phases = [{{ load = {{ to = \"3GiB\", in = \"0s\" }} }}] }}]\n"
        );
    }
    text + more
}

fn start(fake: &Fake, machine: &Machine, watched: &[u32]) -> Stream {
    Stream::with(NvmlOptions {
        lib: Some(fake.path.clone()),
        root: machine.root(),
        watched: watched.iter().map(|pid| Pid(*pid)).collect(),
        ..NvmlOptions::default()
    })
}

/// Waits for the record of a process that fits.
fn process(stream: &mut Stream, pid: u32, what: &str, fits: impl Fn(&Process) -> bool) -> Arc<Process> {
    stream.since(0, what, |body| match body {
        SampleBody::Process(process) if process.key.pid == Pid(pid) && fits(process) => Some(Arc::clone(process)),
        _ => None,
    })
}

fn any(_: &Process) -> bool {
    true
}

fn handles(stream: &mut Stream) -> (Reading<Vec<OpenHandle>>, u32) {
    stream.since(0, "a search for open nodes", |body| match body {
        SampleBody::Handles { list, denied } => Some((list.clone().map(|list| list.to_vec()), *denied)),
        _ => None,
    })
}

/// `once --json` of the binary.
fn once(fake: &Fake, machine: &Machine, arguments: &[&str], uid: Option<u32>) -> Option<(String, Value)> {
    once_as(fake, machine, arguments, uid, "")
}

/// The same with live processes in the place of the scenario's.
fn once_as(fake: &Fake, machine: &Machine, arguments: &[&str], uid: Option<u32>, pids: &str) -> Option<(String, Value)> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vramscope"));
    command.env_clear().env("FAKE_NVML_PIDS", pids).env("LANG", "C.UTF-8").env("VRAMSCOPE_TEST_ROOT", machine.folder());
    command.args(["once", "--json", "--timeout", "30s", "--nvml-lib"]).arg(&fake.path).args(arguments);
    if let Some(uid) = uid {
        command.uid(uid);
    }
    let output = command.output().ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let document = serde_json::from_str(&text).unwrap();
    Some((text, document))
}

fn holder(document: &Value, pid: u32) -> &Value {
    let devices = document["devices"].as_array().unwrap();
    let holders = devices.iter().flat_map(|device| device["holders"].as_array().unwrap());
    holders.into_iter().find(|holder| holder["pid"] == pid).unwrap_or_else(|| panic!("no {pid} in {document:#}"))
}

fn is_root() -> bool {
    rustix::process::getuid().is_root()
}

#[test]
fn two_users_are_told_apart() {
    if !is_root() {
        println!("skipped: only root makes processes of a second user");
        return;
    }
    let mine = Live::sleep();
    let other = Live::start(Command::new("sleep").arg("600").uid(NOBODY));
    let server = Live::start(Command::new("sleep").arg0("/usr/lib/xorg/Xorg").arg("600"));
    let graphics = "[[process]]\npid = 61002\ncommand = \"x\"\nkind = \"G\"\non = [{ phases = [{ load = { to = \"90MiB\", in = \"0s\" } }] }]\n";
    let fake = Fake::stage(&cards(&[(61_000, 0), (61_001, 1)], graphics));
    let pids = format!("61000={},61001={},61002={}", mine.pid(), other.pid(), server.pid());
    let machine = Machine::new(true);
    for live in [&mine, &other, &server] {
        machine.show(live.pid());
    }
    let (_, root) = once_as(&fake, &machine, &[], None, &pids).unwrap();
    let told = |document: &Value, live: &Live| {
        let holder = holder(document, live.pid());
        let text = |field: &str| holder[field].as_str().unwrap_or("null").to_owned();
        (text("relation"), text("user"), text("command"))
    };
    let row = |relation: &str, user: &str, command: &str| (relation.to_owned(), user.to_owned(), command.to_owned());
    assert_eq!(told(&root, &mine), row("mine", "root", "sleep 600"));
    assert_eq!(told(&root, &other), row("foreign", "nobody", "sleep 600"));
    assert!(holder(&root, mine.pid())["start"].as_u64().is_some_and(|start| start > 0));
    // The same as that other user sees it: root's computing is foreign, root's display server is the system's.
    let folders = [machine.folder(), fake.path.parent().unwrap()];
    for folder in folders {
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let Some((_, nobody)) = once_as(&fake, &machine, &[], Some(NOBODY), &pids) else {
        println!("skipped: the second user may not run the program here");
        return;
    };
    assert_eq!(told(&nobody, &mine).0, "foreign");
    assert_eq!(told(&nobody, &other), row("mine", "nobody", "sleep 600"));
    assert_eq!(told(&nobody, &server), row("system", "root", "/usr/lib/xorg/Xorg 600"));
}

#[test]
fn a_hostile_name_is_harmless() {
    let long = "x".repeat(100_000);
    let mut hostile = OsString::from("evil\u{1b}]0;owned\u{7}\u{1b}[2J\n\t\u{202e}txt.exe\u{200b}");
    hostile.push(OsString::from_vec(vec![0xff, 0xfe, b'\r', 0x9b]));
    let live = Live::start(Command::new("/bin/sh").arg0(&hostile).args(["-c", "sleep 600; :", &long]));
    let fake = Fake::stage(&cards(&[(live.pid(), 0)], ""));
    let machine = Machine::new(true);
    machine.show(live.pid());
    let (text, document) = once(&fake, &machine, &[], None).unwrap();
    let command = holder(&document, live.pid())["command"].as_str().unwrap();
    assert!(command.starts_with("evil·]0;owned··[2J···txt.exe·"), "{command}");
    assert_eq!(command.chars().count(), 4096);
    assert!(command.chars().all(|c| !c.is_control() && !matches!(c, '\u{202a}'..='\u{202e}' | '\u{200b}')));
    assert!(!text.contains('\u{1b}') && !text.contains("\\u001b") && !text.contains('\u{202e}'));
}

#[test]
fn a_hostile_name_does_nothing_to_a_terminal() {
    let name = "evil\u{1b}]0;owned\u{7}\u{1b}[2J\u{1b}[31m\n\u{202e}txt.exe\u{9b}5m";
    let live = Live::start(Command::new("/bin/sh").arg0(name).args(["-c", "sleep 600; :"]));
    let fake = Fake::stage(&cards(&[(live.pid(), 0)], ""));
    let machine = Machine::new(true);
    machine.show(live.pid());
    let mut command = terminal::vramscope(&["--nvml-lib"]);
    command.arg(&fake.path);
    command.env("VRAMSCOPE_TEST_ROOT", machine.folder());
    let mut terminal = Terminal::start(command, 160, 40);
    terminal.wait_for("evil·]0;owned··[2J·[31m··txt.exe·5m");
    terminal.wait("harmless bytes", |output| {
        let raw = String::from_utf8_lossy(&output.raw);
        let hostile = ["\u{1b}]0;owned", "owned\u{7}", "\u{202e}", "\u{9b}", "\u{1b}[31m\n"];
        output.raw.len() > 1000 && hostile.iter().all(|part| !raw.contains(part))
    });
    terminal.send("q");
    assert_eq!(terminal.end().0, 0);
}

/// A parent with the name of a launcher, and four children that sleep; their pids.
fn launcher(machine: &Machine) -> (Live, Vec<u32>) {
    let script = "sleep 600 & sleep 600 & sleep 600 & sleep 600 & wait";
    let parent = Live::start(Command::new("/bin/sh").arg0("/opt/x/bin/torchrun").args(["-c", script]));
    let clock = vramscope::sampler::Clock::start();
    let children = loop {
        let path = format!("/proc/{0}/task/{0}/children", parent.pid());
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let children: Vec<u32> = text.split_whitespace().map(|pid| pid.parse().unwrap()).collect();
        let runs = |pid: &u32| std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|text| text.starts_with(b"sleep"));
        if children.len() == 4 && children.iter().all(runs) {
            break children;
        }
        assert!(clock.now().as_secs_f64() < 30.0, "no children: {text:?}");
        std::thread::yield_now();
    };
    machine.show(parent.pid());
    for pid in &children {
        machine.show(*pid);
    }
    (parent, children)
}

/// Kills what a parent that is gone has left.
fn kill(pids: &[u32]) {
    for pid in pids {
        let pid = rustix::process::Pid::from_raw(i32::try_from(*pid).unwrap()).unwrap();
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}

#[test]
fn workers_are_one_job_and_a_watched_tree_is_the_job() {
    let machine = Machine::new(true);
    let (parent, workers) = launcher(&machine);
    let other = Live::sleep();
    machine.show(other.pid());
    let mut holders: Vec<(u32, u32)> = workers.iter().enumerate().map(|(n, pid)| (*pid, u32::try_from(n).unwrap() % 2)).collect();
    holders.push((other.pid(), 0));
    holders.push((parent.pid(), 1));
    let fake = Fake::stage(&cards(&holders, ""));
    let mut stream = start(&fake, &machine, &[]);
    for pid in &workers {
        let worker = process(&mut stream, *pid, "a worker", any);
        let job = worker.job.as_ref().expect("a job");
        assert_eq!((job.leader.pid, &*job.launcher, worker.relation), (Pid(parent.pid()), "torchrun", Relation::Mine));
        assert!(job.command.as_ref().is_ok_and(|command| command.starts_with("/opt/x/bin/torchrun -c")), "{job:?}");
    }
    process(&mut stream, parent.pid(), "the head with its own job", |head| head.job.is_some());
    assert_eq!(process(&mut stream, other.pid(), "another", any).job, None);
    let (_, document) = once(&fake, &machine, &["--pid", &parent.pid().to_string()], None).unwrap();
    for pid in workers.iter().chain([&parent.pid()]) {
        assert_eq!(holder(&document, *pid)["relation"], "job", "{pid}");
    }
    assert_ne!(holder(&document, other.pid())["relation"], "job");
    drop(parent);
    kill(&workers);
}

#[test]
fn a_worker_stays_in_the_job_when_its_parent_is_gone() {
    let machine = Machine::new(true);
    let (parent, workers) = launcher(&machine);
    let head = parent.pid();
    // Only one of them holds memory yet; the others are known from the tree alone.
    let late = format!(
        "[[process]]\npid = {}\ncommand = \"x\"\nat = \"100s\"\non = [{{ phases = [{{ load = {{ to = \"3GiB\", in = \"0s\" }} }}] }}]\n",
        workers[1]
    );
    let fake = Fake::stage(&cards(&[(workers[0], 0)], &late));
    let mut stream = start(&fake, &machine, &[head]);
    assert_eq!(process(&mut stream, workers[0], "a worker", any).relation, Relation::Job);
    drop(parent);
    let orphan = process(&mut stream, workers[0], "another parent", |worker| worker.ppid != Ok(Pid(head)));
    assert_eq!((orphan.relation, orphan.job.as_ref().map(|job| job.leader.pid)), (Relation::Job, Some(Pid(head))));
    fake.at(101.0);
    let late = process(&mut stream, workers[1], "a worker that comes late", any);
    assert_eq!((late.relation, late.job.as_ref().map(|job| &*job.launcher)), (Relation::Job, Some("torchrun")));
    assert_ne!(late.ppid, Ok(Pid(head)));
    kill(&workers);
}

#[test]
fn a_pid_that_nobody_has_is_refused() {
    let (fake, machine) = (Fake::stage(&cards(&[], "")), Machine::new(true));
    let error = start(&fake, &machine, &[4_000_001]).opened().unwrap_err();
    assert_eq!(error.kind, SourceErrorKind::Setting("pid"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_vramscope"));
    command.env_clear().env("LANG", "C.UTF-8").args(["once", "--pid", "4000001", "--nvml-lib"]).arg(&fake.path);
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("--pid") && said.contains("no process 4000001"), "{said}");
}

#[test]
fn containers_and_origins_are_read_from_the_texts_of_the_kernel() {
    let machine = Machine::new(true);
    let pod = "0d6c8b5a-1f2e-4d3c-9b8a-7f6e5d4c3b2a";
    std::fs::create_dir_all(machine.path(&format!("var/log/pods/team_train-0_{pod}"))).unwrap();
    let docker = format!("0::/system.slice/docker-{ID}.scope\n");
    let kubernetes = format!("0::/kubepods/burstable/pod{pod}/{ID}\n");
    let mounts =
        format!("1 2 8:1 /var/lib/kubelet/pods/{pod}/containers/worker/9a8b /dev/termination-log rw - ext4 /dev/sda1 rw\n");
    let slurm = "0::/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0\n";
    let me = rustix::process::getuid().as_raw();
    machine.put(&Text { pid: 50, command: b"tmux: server\0", ..Text::default() });
    machine.put(&Text { pid: 60, ppid: 50, start: 510, command: b"-bash\0", ..Text::default() });
    machine.put(&Text {
        pid: 61_000,
        ppid: 60,
        start: 520,
        command: b"/home/u/miniconda3/envs/train/bin/python\0train.py\0",
        cgroup: slurm,
        environ: "TMUX=/tmp/tmux-1000/default,50,3\0SECRET=hunter2\0",
        ..Text::default()
    });
    machine.put(&Text { pid: 61_001, cgroup: &docker, ..Text::default() });
    machine.put(&Text { pid: 61_002, cgroup: &kubernetes, mountinfo: &mounts, ..Text::default() });
    machine.put(&Text { pid: 61_003, uid: me + 7, environ: "VIRTUAL_ENV=/x/secret\0TMUX=/tmp/x,1,1\0", ..Text::default() });
    let fake = Fake::stage(&cards(&[(61_000, 0), (61_001, 0), (61_002, 1), (61_003, 1)], ""));
    let mut stream = start(&fake, &machine, &[]);
    let full = |process: &Process| process.details.is_some();
    let mine = process(&mut stream, 61_000, "details", full);
    let details = mine.details.as_ref().unwrap();
    assert_eq!((mine.relation, mine.container.as_deref()), (Relation::Mine, None));
    assert_eq!(details.cwd.as_deref(), Ok("/home/user1/run"));
    let parents: Vec<(u32, &str)> = details.parents.iter().map(|parent| (parent.key.pid.0, &*parent.name)).collect();
    assert_eq!(parents, [(60, "-bash"), (50, "tmux: server")]);
    let some = |reading: &Reading<Option<Arc<str>>>| reading.clone().unwrap().map(|text| text.to_string());
    assert_eq!(some(&details.batch).as_deref(), Some("slurm 4711"));
    assert_eq!(some(&details.environment).as_deref(), Some("conda train"));
    assert_eq!(some(&details.session).as_deref(), Some("tmux $3"));
    // In a container my number may be anybody's.
    let docker = process(&mut stream, 61_001, "a container", any);
    assert_eq!((docker.relation, docker.container.as_deref()), (Relation::Foreign, Some("docker 3f2a9c1b04de")));
    let pod = process(&mut stream, 61_002, "a pod's name", |pod| pod.container.as_deref() == Some("pod team/train-0 (worker)"));
    assert_eq!(pod.relation, Relation::Foreign);
    // Nobody else's environment is read, by root neither.
    let other = process(&mut stream, 61_003, "details of another user's", full);
    let details = other.details.as_ref().unwrap();
    assert_eq!(other.relation, Relation::Foreign);
    assert!(matches!(details.environment, Err(Missing::Denied(_))), "{details:?}");
    assert!(matches!(details.session, Err(Missing::Denied(_))), "{details:?}");
    assert!(!format!("{:?}", stream.seen).contains("hunter2"));
}

#[test]
fn a_pid_used_again_is_another_process() {
    let machine = Machine::new(true);
    machine.put(&Text { command: b"python\0first.py\0", ..Text::default() });
    let fake = Fake::stage(&cards(&[(61_000, 0)], ""));
    let mut stream = start(&fake, &machine, &[]);
    let named =
        |name: &'static str| move |process: &Process| process.command.as_ref().is_ok_and(|command| command.contains(name));
    let first = process(&mut stream, 61_000, "the first", named("first.py"));
    machine.put(&Text { start: 900, command: b"python\0second.py\0", cgroup: "0::/lxc.payload.box\n", ..Text::default() });
    let second = process(&mut stream, 61_000, "the second", named("second.py"));
    assert_eq!((first.key.start, second.key.start), (Some(500), Some(900)));
    assert_eq!((first.container.as_deref(), second.container.as_deref()), (None, Some("lxc box")));
    machine.end(61_000);
    stream.next("that nothing of it can be read", |body| match body {
        SampleBody::Usage(usage) => usage.processes.iter().find(|process| process.rss.is_err()).map(|_| ()),
        _ => None,
    });
}

#[test]
fn hidden_processes_are_said_to_be_hidden() {
    let machine = Machine::new(true);
    std::fs::write(machine.path("proc/self/mountinfo"), "22 27 0:21 / /proc rw - proc proc rw,hidepid=2\n").unwrap();
    let fake = Fake::stage(&cards(&[(61_000, 0)], ""));
    let mut stream = start(&fake, &machine, &[]);
    let hidden = process(&mut stream, 61_000, "a record", any);
    assert_eq!((hidden.relation, hidden.key.start), (Relation::Unknown, None));
    assert!(matches!(hidden.command, Err(Missing::Denied(_))), "{hidden:?}");
    stream.since(0, "a hint", |body| match body {
        SampleBody::Health(Health::Problem { why, fix, .. }) => (why.contains("hidepid") && fix.contains("root")).then_some(()),
        _ => None,
    });
}

#[test]
fn in_another_namespace_a_pid_is_nobody_until_it_is_proven() {
    let machine = Machine::new(false);
    let nodes = ["dev/nvidia0", "dev/nvidiactl", "dev/nvidia-uvm"];
    // By their numbers all are here; only one of them has that card open and can compute on it.
    machine.put(&Text { pid: 61_000, ..Text::default() });
    machine.put(&Text { pid: 61_001, open: &nodes, ..Text::default() });
    machine.put(&Text { pid: 61_002, open: &nodes[..2], ..Text::default() });
    machine.put(&Text { pid: 61_003, open: &nodes, ..Text::default() });
    let fake = Fake::stage(&cards(&[(61_000, 0), (61_001, 0), (61_002, 0), (61_003, 1), (61_004, 0)], ""));
    let mut stream = start(&fake, &machine, &[]);
    for pid in [61_000, 61_002, 61_003, 61_004] {
        let unknown = process(&mut stream, pid, "a record", any);
        assert_eq!((unknown.relation, unknown.key.start, &unknown.job), (Relation::Unknown, None, &None), "{pid}");
        assert!(unknown.command.is_err() && unknown.user.is_err() && unknown.ppid.is_err() && unknown.container.is_none());
    }
    let proven = process(&mut stream, 61_001, "a record", any);
    assert_eq!((proven.relation, proven.command.as_deref()), (Relation::Mine, Ok("python train.py")));
    // Its files are open by the time of the next look.
    machine.put(&Text { pid: 61_002, open: &nodes, ..Text::default() });
    process(&mut stream, 61_002, "the proof", |process| process.relation == Relation::Mine);
    stream.since(0, "a hint", |body| match body {
        SampleBody::Health(Health::Problem { fix, .. }) => {
            (fix.contains("--pid=host") && fix.contains("hostPID: true")).then_some(())
        }
        _ => None,
    });
    let header = stream.since(0, "the header", |body| match body {
        SampleBody::Header(header) => Some(Arc::clone(header)),
        _ => None,
    });
    assert!(header.foreign_pids);
    assert!(handles(&mut stream).0.is_err(), "whom the lists name can't be told");
}

#[test]
fn a_local_process_of_the_same_number_lends_no_name() {
    // The first processes of a namespace have small numbers: the driver names one of them.
    let fake = Fake::stage(&cards(&[(1, 0), (2, 0), (3, 1)], ""));
    let script = "sleep 600 & sleep 600 & \"$@\"; code=$?; kill %1 %2; exit $code";
    let mut command = Command::new("unshare");
    command.env_clear().env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin").env("LANG", "C.UTF-8");
    command.args(["--pid", "--fork", "--mount-proc", "sh", "-c", script, "sh", env!("CARGO_BIN_EXE_vramscope")]);
    let output = command.args(["once", "--json", "--timeout", "30s", "--nvml-lib"]).arg(&fake.path).output();
    let output = match output {
        Ok(output) if !output.stdout.is_empty() => output,
        refused => {
            println!("skipped: unshare is not permitted here: {refused:?}");
            return;
        }
    };
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    for pid in [1, 2, 3] {
        let holder = holder(&document, pid);
        assert_eq!(holder["relation"], "unknown", "{holder}");
        assert!(["start", "started", "user", "command"].iter().all(|field| holder[field].is_null()), "{holder}");
        assert_eq!(holder["used"], 3_u64 << 30);
    }
    let problems = document["problems"].to_string();
    assert!(problems.contains("--pid=host") && problems.contains("hostPID"), "{problems}");
}

#[test]
fn memory_in_nobodys_name_is_searched_for_by_open_nodes() {
    let machine = Machine::new(true);
    let node = machine.path("dev/nvidia1");
    let live = Live::start(Command::new("sleep").arg("600").stdin(Stdio::null()).env("X", "1"));
    // A live process with the stand-in open, and one of text: a zombie's child that the lists do not name.
    let holding = Live(Command::new("sleep").arg("600").stdin(std::fs::File::open(&node).unwrap()).spawn().unwrap());
    machine.show(live.pid());
    machine.show(holding.pid());
    machine.put(&Text { pid: 61_005, state: 'Z', command: b"", ..Text::default() });
    machine.put(&Text { pid: 61_006, ppid: 61_005, start: 600, open: &["dev/nvidia0", "dev/nvidiactl"], ..Text::default() });
    machine.put(&Text { pid: 61_007, open: &["dev/nvidia0"], ..Text::default() });
    let hidden = "[[process]]\npid = 70000\ncommand = \"x\"\nhidden = true\non = [{ phases = [{ load = { to = \"9GiB\", in = \"0s\" } }] }]\n";
    let fake = Fake::stage(&cards(&[(61_007, 0)], hidden));
    let mut stream = start(&fake, &machine, &[]);
    let (list, denied) = handles(&mut stream);
    let list = list.unwrap();
    let found: Vec<(u32, Vec<Gpu>)> = list.iter().map(|handle| (handle.key.pid.0, handle.gpus.to_vec())).collect();
    let mut expected = vec![(holding.pid(), vec![Gpu(1)]), (61_006, vec![Gpu(0)])];
    expected.sort();
    assert_eq!((found, denied), (expected, 0), "the listed one is none");
    assert!(list.iter().all(|handle| handle.key.start.is_some() && handle.state.is_ok()));
    // Who they are came before.
    let seen = stream.seen.iter().position(|sample| matches!(&sample.body, SampleBody::Process(of) if of.key.pid == Pid(61_006)));
    let told = stream.seen.iter().position(|sample| matches!(sample.body, SampleBody::Handles { .. }));
    assert!(seen < told && seen.is_some(), "{seen:?} {told:?}");
    let orphan = process(&mut stream, 61_006, "details", |process| process.details.is_some());
    let parents: Vec<String> = orphan.details.as_ref().unwrap().parents.iter().map(|parent| parent.name.to_string()).collect();
    assert_eq!(parents, [" (zombie)"]);
    // While it is unexplained, the search goes on.
    drop(holding);
    stream.next("the next search", |body| match body {
        SampleBody::Handles { list: Ok(list), .. } => (list.len() == 1).then_some(()),
        _ => None,
    });
}

#[test]
fn the_drivers_accounts_stand_beside_the_sampled_peak() {
    let text = |accounting: bool| {
        format!(
            "[driver]\naccounting = {accounting}\n[[device]]\nname = \"X\"\ntotal = \"80GiB\"\n[[process]]\npid = 61000\ncommand = \"x\"\n\
             on = [{{ phases = [{{ context = {{ size = \"1GiB\", in = \"0s\" }} }}, {{ plateau = {{ for = \"10s\" }} }}, \
             {{ spike = {{ height = \"30GiB\", for = \"6s\" }} }}, {{ plateau = {{}} }}] }}]\n"
        )
    };
    let account = |stream: &mut Stream| {
        stream.next("an account", |body| match body {
            SampleBody::Usage(usage) => usage.processes.first().map(|process| process.accounted.clone()),
            _ => None,
        })
    };
    let on = Fake::stage(&text(true));
    on.at(100.0);
    let mut stream = Stream::start(&on.path);
    assert_eq!(account(&mut stream), Ok(Bytes::gib(31)), "a spike from before vramscope was started");
    drop(stream);
    let off = Fake::stage(&text(false));
    let mut stream = Stream::start(&off.path);
    let Err(Missing::Unsupported(why)) = account(&mut stream) else { panic!("an account though accounting is off") };
    assert!(why.contains("accounting is off") && why.contains("interval"), "{why}");
    assert_eq!(off.calls(c"nvmlDeviceGetAccountingStats"), 0);
}

/// The samples of a built-in scenario up to a second of it.
fn story(name: &str, watched: &[Pid], until: u64) -> Vec<SampleBody> {
    let stream = scenario::Stream::new(world(name), StreamOptions::default()).watching(watched);
    stream.take_while(|sample| sample.t <= Timestamp::secs(until)).map(|sample| sample.body).collect()
}

/// The newest record of each process.
fn newest(bodies: &[SampleBody]) -> std::collections::BTreeMap<u32, Arc<Process>> {
    let records = bodies.iter().filter_map(|body| match body {
        SampleBody::Process(process) => Some((process.key.pid.0, Arc::clone(process))),
        _ => None,
    });
    records.collect()
}

#[test]
fn the_simulated_jobs_follow_the_same_rules() {
    let known = newest(&story("jobs", &[], 3));
    let relation = |pid: u32| known[&pid].relation;
    assert_eq!(
        [relation(52_011), relation(50_012), relation(48_133), relation(50_231), relation(1644)],
        [Relation::Mine, Relation::Foreign, Relation::Foreign, Relation::Foreign, Relation::System]
    );
    let job = |pid: u32| known[&pid].job.as_ref().map(|job| (job.leader.pid.0, job.launcher.to_string()));
    for pid in [52_000, 52_011, 52_012, 52_013, 52_014, 52_101, 52_102, 52_103] {
        assert_eq!(job(pid), Some((52_000, "torchrun".to_owned())), "{pid}");
    }
    assert_eq!((job(50_012), job(48_133), job(50_231)), (None, None, Some((50_210, "srun".to_owned()))));
    assert_eq!(known[&50_231].details.as_ref().unwrap().batch, Ok(Some("slurm 4711".into())));
    let watched = newest(&story("jobs", &[Pid(52_000)], 3));
    let jobs: Vec<u32> =
        watched.values().filter(|process| process.relation == Relation::Job).map(|process| process.key.pid.0).collect();
    assert_eq!(jobs, [52_000, 52_011, 52_012, 52_013, 52_014, 52_101, 52_102, 52_103]);
    // The accounts know what was between two readings.
    let account = story("jobs", &[], 9).into_iter().rev().find_map(|body| match body {
        SampleBody::Usage(usage) if usage.gpu == Gpu(0) => {
            usage.processes.iter().find(|process| process.pid == Pid(52_011)).map(|process| process.accounted.clone())
        }
        _ => None,
    });
    let account = account.unwrap().unwrap();
    assert!((Bytes::mib(17_400 + 5_100)..=Bytes::mib(17_400 + 5_200)).contains(&account), "{account}");
}

#[test]
fn simulated_leftovers_are_found_by_their_open_nodes() {
    let bodies = story("leftovers", &[], 90);
    let known = newest(&bodies);
    let parents = |pid: u32| -> Vec<String> {
        known[&pid].details.as_ref().unwrap().parents.iter().map(|parent| parent.name.to_string()).collect()
    };
    assert_eq!(parents(61_200), ["torchrun (zombie)", "bash"]);
    let searches: Vec<Vec<(u32, Vec<Gpu>)>> = bodies
        .iter()
        .filter_map(|body| match body {
            SampleBody::Handles { list: Ok(list), .. } => {
                Some(list.iter().map(|handle| (handle.key.pid.0, handle.gpus.to_vec())).collect())
            }
            _ => None,
        })
        .collect();
    assert!(searches.len() >= 4 && searches.iter().all(|search| search == &[(61_301, vec![Gpu(1)])]), "{searches:?}");
    assert_eq!((&*known[&61_301].user.clone().unwrap(), known[&61_301].ppid.clone()), ("user1", Ok(Pid(1))));
    assert!(!bodies.iter().any(|body| matches!(body, SampleBody::Exit { pid: Pid(61_301), .. })));
}

#[test]
fn what_a_simulated_leftover_keeps_goes_with_it() {
    let mut stream = scenario::Stream::new(world("leftovers"), StreamOptions::default());
    let mut until = |seconds: u64, kill: bool| -> (u64, usize) {
        if kill {
            let key = world("leftovers").handles(Timestamp::secs(50)).first().unwrap().key;
            assert!(stream.kill(key, Timestamp::secs(52)) && !stream.kill(key, Timestamp::secs(53)), "once");
        }
        let (mut used, mut open) = (0, 0);
        for sample in stream.by_ref().take_while(|sample| sample.t <= Timestamp::secs(seconds)) {
            match sample.body {
                SampleBody::Memory { gpu: Gpu(1), figures: Ok(figures) } => used = figures.used().0 >> 30,
                SampleBody::Handles { list: Ok(list), .. } => open = list.len(),
                _ => {}
            }
        }
        (used, open)
    };
    assert_eq!(until(51, false), (21, 1));
    assert_eq!(until(75, true), (0, 0), "the last one who had the node open is gone");
}

#[test]
fn a_simulated_container_names_nobody() {
    let bodies = story("container", &[], 12);
    assert!(newest(&bodies).values().all(|process| {
        process.relation == Relation::Unknown
            && process.key.start.is_none()
            && process.command.is_err()
            && process.details.is_none()
    }));
    let hints =
        bodies.iter().filter(|body| matches!(body, SampleBody::Health(Health::Problem { fix, .. }) if fix.contains("hostPID")));
    assert_eq!(hints.count(), 1);
    assert!(matches!(bodies.first(), Some(SampleBody::Header(header)) if header.foreign_pids));
}

#[test]
fn the_demo_watches_a_tree_and_refuses_a_pid_that_nobody_has() {
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_vramscope"));
        command
            .env_clear()
            .env("LANG", "C.UTF-8")
            .args(["once", "--json", "--source", "demo:jobs"])
            .args(arguments)
            .output()
            .unwrap()
    };
    let document: Value = serde_json::from_slice(&run(&["--pid", "52011,52013"]).stdout).unwrap();
    assert_eq!(holder(&document, 52_101)["relation"], "job");
    assert_eq!(holder(&document, 52_013)["relation"], "job");
    assert_eq!(holder(&document, 52_012)["relation"], "mine");
    let refused = run(&["--pid", "7"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("no process 7"), "{refused:?}");
}
