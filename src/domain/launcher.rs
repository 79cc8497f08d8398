//! Launchers and their workers: which head a process belongs to, told from its chain of parents.
//!
//! A head is a program that starts the parts of one computation (`torchrun`, `mpirun`, a serving engine), or a program that
//! forked itself (data loaders, `multiprocessing`). What only starts independent programs is none: shells, terminal
//! multiplexers, login and system daemons, cron, and Jupyter, whose kernels are each their own.

use super::command::{Invocation, Target, is_python, is_shell, multiprocessing};

/// A process of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link<'a> {
    /// Its owner.
    pub uid: Option<u32>,
    /// Its name, as the kernel has it: 15 bytes, chosen by the process.
    pub name: &'a str,
    /// Its command line; empty where it has none.
    pub command: &'a str,
}

/// The head of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Its place in the chain; never 0, since a process that nobody heads has no job.
    pub at: usize,
    /// The launcher's name, or [`FORK`].
    pub launcher: &'static str,
}

/// What stands for a launcher where a program forked itself.
pub const FORK: &str = "fork";

/// What stands for a launcher where a tree is watched whose head is none.
pub const TREE: &str = "tree";

/// How far up a chain is looked at.
pub const MAX_CHAIN: usize = 32;

/// What a process in a chain is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// A launcher.
    Launcher(&'static str),
    /// A batch system's step: a head only where there is nothing nearer.
    Step(&'static str),
    /// Nothing above belongs to the job.
    Barrier,
    /// Any other program.
    Other,
}

/// Launchers by the name of their program, script or module.
const LAUNCHERS: &[(&str, &str)] = &[
    ("torchrun", "torchrun"),
    ("torch.distributed.run", "torchrun"),
    ("torch.distributed.launch", "torchrun"),
    ("accelerate-launch", "accelerate"),
    ("accelerate.commands.launch", "accelerate"),
    ("deepspeed", "deepspeed"),
    ("deepspeed.launcher.runner", "deepspeed"),
    ("deepspeed.launcher.launch", "deepspeed"),
    ("mpirun", "mpirun"),
    ("mpiexec", "mpiexec"),
    ("mpiexec.hydra", "mpiexec"),
    ("mpirun.real", "mpirun"),
    ("mpiexec.real", "mpiexec"),
    ("orterun", "mpirun"),
    ("prterun", "mpirun"),
    ("orted", "mpirun"),
    ("prted", "mpirun"),
    ("hydra_pmi_proxy", "mpiexec"),
    ("hydra_bstrap_proxy", "mpiexec"),
    ("horovodrun", "horovodrun"),
    ("raylet", "ray"),
    ("composer", "composer"),
    ("sglang.launch_server", "sglang"),
    ("text-generation-launcher", "text-generation"),
    ("tritonserver", "tritonserver"),
];

/// Launchers that are a subcommand.
const SUBCOMMANDS: &[(&str, &str, &str)] = &[
    ("accelerate", "launch", "accelerate"),
    ("accelerate_cli.py", "launch", "accelerate"),
    ("colossalai", "run", "colossalai"),
    ("vllm", "serve", "vllm"),
];

/// Packages whose modules are launchers, whatever the module.
const PACKAGES: &[(&str, &str)] = &[("torch.distributed.", "torchrun"), ("vllm.entrypoints.", "vllm")];

/// The steps of batch systems.
const STEPS: &[(&str, &str)] = &[("slurmstepd", "srun"), ("srun", "srun")];

/// What starts independent programs; compared with the program, script or module, and with the process's name.
const BARRIERS: &[&str] = &[
    "systemd",
    "init",
    "sshd",
    "sshd-session",
    "login",
    "su",
    "cron",
    "crond",
    "atd",
    "anacron",
    "tmux",
    "screen",
    "zellij",
    "dtach",
    "abduco",
    "mosh-server",
    "gnome-terminal-server",
    "konsole",
    "xterm",
    "alacritty",
    "kitty",
    "wezterm-gui",
    "gnome-shell",
    "containerd-shim",
    "containerd-shim-runc-v2",
    "conmon",
    "dockerd",
    "containerd",
    "runc",
    "crun",
    "podman",
    "slurmd",
    "supervisord",
    "jupyter",
    "jupyter-lab",
    "jupyter-notebook",
    "jupyter-server",
    "jupyterhub-singleuser",
    "jupyterhub",
    "jupyterlab",
    "notebook",
    "jupyter_server",
    "nautilus",
    "plasmashell",
    "code-server",
    "code",
    "cursor",
    "emacs",
    "vim",
    "nvim",
];

fn role(link: &Link<'_>) -> Role {
    let run = Invocation::parse(link.command);
    let name = if run.program.is_empty() { link.name } else { run.name() };
    let find = |table: &[(&str, &'static str)]| table.iter().find(|(known, _)| *known == name).map(|(_, head)| *head);
    if let Some(launcher) = find(LAUNCHERS) {
        return Role::Launcher(launcher);
    }
    let by_argument = SUBCOMMANDS.iter().find(|(program, word, _)| *program == name && run.arguments[0] == *word);
    if let Some((_, _, launcher)) = by_argument {
        return Role::Launcher(launcher);
    }
    if let Target::Module(module) = run.target
        && let Some((_, launcher)) = PACKAGES.iter().find(|(package, _)| module.starts_with(package))
    {
        return Role::Launcher(launcher);
    }
    if let Some(step) = find(STEPS) {
        return Role::Step(step);
    }
    if is_shell(run.program) {
        // A shell that runs a script is a part of what it runs; one that talks to a user is where things are started from.
        return if run.target == Target::None { Role::Barrier } else { Role::Other };
    }
    // `tmux: server` is the kernel's name of it.
    let own = link.name.split(':').next().unwrap_or_default();
    if BARRIERS.contains(&name) || BARRIERS.contains(&own) || name.starts_with("jupyter-") { Role::Barrier } else { Role::Other }
}

/// The name of a launcher or of a batch system's step; none for any other program.
pub fn name(link: &Link<'_>) -> Option<&'static str> {
    match role(link) {
        Role::Launcher(name) | Role::Step(name) => Some(name),
        Role::Barrier | Role::Other => None,
    }
}

/// Whether a child is its parent's own kind: a fork, a worker of `multiprocessing`, or the same script started again.
fn is_like(child: &Link<'_>, parent: &Link<'_>) -> bool {
    let (own, other) = (Invocation::parse(child.command), Invocation::parse(parent.command));
    if is_shell(other.program) {
        return false;
    }
    let python = is_python(other.program) || multiprocessing(parent.command).is_some();
    // Data loaders of PyTorch name their threads.
    if python && (multiprocessing(child.command).is_some() || child.name == "pt_data_worker") {
        return true;
    }
    if !child.command.is_empty() && child.command == parent.command {
        return true;
    }
    let runs = |run: &Invocation<'_>| matches!(run.target, Target::Script(_) | Target::Module(_));
    python && is_python(own.program) && runs(&own) && runs(&other) && own.name() == other.name()
}

/// The head of the job that the first process of a chain is part of. The chain goes up: each link is the parent of the one
/// before. The outermost launcher counts, a step of a batch system only where there is nothing nearer, and nothing is taken
/// from beyond another user's process (but the daemon of the batch system, which is root's).
pub fn head(chain: &[Link<'_>]) -> Option<Head> {
    let first = chain.first()?;
    let owner = first.uid?;
    let (mut launcher, mut step, mut fork) = (None, None, None);
    let mut family = true;
    let mut below = first;
    if role(first) == Role::Barrier {
        return None;
    }
    for (at, link) in chain.iter().enumerate().take(MAX_CHAIN).skip(1) {
        let role = role(link);
        if link.uid != Some(owner) && !(link.uid == Some(0) && matches!(role, Role::Step(_))) {
            break;
        }
        match role {
            Role::Barrier => break,
            Role::Launcher(name) => launcher = Some(Head { at, launcher: name }),
            Role::Step(name) => step = Some(Head { at, launcher: name }),
            Role::Other => {}
        }
        family = family && role == Role::Other && is_like(below, link);
        if family {
            fork = Some(Head { at, launcher: FORK });
        }
        below = link;
    }
    launcher.or(fork).or(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chain of one user, the process first.
    fn head_of(chain: &[&str]) -> Option<(usize, &'static str)> {
        let links: Vec<Link<'_>> = chain.iter().map(|command| link(1000, command)).collect();
        head(&links).map(|head| (head.at, head.launcher))
    }

    fn link(uid: u32, command: &str) -> Link<'_> {
        Link { uid: Some(uid), name: "", command }
    }

    const SPAWN: &str =
        "/x/python -c from multiprocessing.spawn import spawn_main; spawn_main(tracker_fd=5) --multiprocessing-fork";
    const FORKSERVER: &str = "/x/python -c from multiprocessing.forkserver import main; main(11, 12)";

    #[test]
    fn workers_belong_to_their_launcher() {
        for (chain, expected) in [
            // Training.
            (&["/x/python -u train.py", "/x/python /x/bin/torchrun --nproc-per-node 4 train.py", "-bash"][..], (1, "torchrun")),
            (&["python -u train.py", "python -m torch.distributed.run train.py", "bash run.sh", "-bash"], (1, "torchrun")),
            (&["python -u train.py", "python -m torch.distributed.launch train.py", "tmux"], (1, "torchrun")),
            (&["python -u train.py", "python -m torch.distributed.elastic.x", "tmux"], (1, "torchrun")),
            (&["python sft.py", "python /x/bin/accelerate launch sft.py", "bash"], (1, "accelerate")),
            (&["python sft.py", "python -m accelerate.commands.launch sft.py", "bash"], (1, "accelerate")),
            (
                &[
                    "python -u ds.py --local_rank=1",
                    "python -u -m deepspeed.launcher.launch --x ds.py",
                    "python /x/bin/deepspeed ds.py",
                    "bash",
                ],
                (2, "deepspeed"),
            ),
            (
                &["python hvd.py", "mpirun -np 4 python hvd.py", "python /x/horovodrun -np 4 python hvd.py", "zsh"],
                (2, "horovodrun"),
            ),
            (&["lmp -in x", "prted --daemonize", "init"], (1, "mpirun")),
            (&["lmp -in x", "orted -mca x", "sshd: user1"], (1, "mpirun")),
            (&["a.out", "/usr/lib/x86_64/hydra_pmi_proxy --x", "mpiexec -n 4 a.out", "-bash"], (2, "mpiexec")),
            (&["ray::Trainer.fit()", "/x/ray/core/src/ray/raylet/raylet --socket", "init"], (1, "ray")),
            // A launcher within a launcher: the outermost.
            (&["python t.py", "python /x/torchrun t.py", "mpirun -np 2 torchrun t.py", "bash"], (2, "mpirun")),
            // Through scripts and wrappers.
            (&["python t.py", "bash wrap.sh", "env A=1 mpirun -np 2 bash wrap.sh", "bash"], (2, "mpirun")),
            (&["python t.py", "sh -c python t.py", "nohup torchrun t.py", "bash"], (2, "torchrun")),
            // Serving.
            (&["VLLM::Worker_TP1", "VLLM::EngineCore", "/x/python /x/bin/vllm serve m", "tini -- vllm serve m"], (3, "vllm")),
            (&[SPAWN, "python3 -m vllm.entrypoints.openai.api_server --model m", "bash"], (1, "vllm")),
            (&["sglang::scheduler_TP0", "python3 -m sglang.launch_server --model m", "bash"], (1, "sglang")),
            (&["triton_python_backend_stub a b", "tritonserver --model-repository x", "bash"], (1, "tritonserver")),
            // Families.
            (&["python train.py --bs 64", "python train.py --bs 64", "-bash"], (1, FORK)),
            (&[SPAWN, "python train.py", "-bash"], (1, FORK)),
            (&[FORKSERVER, FORKSERVER, "python train.py", "-bash"], (2, FORK)),
            (&["/x/python /y/train.py --rank 1", "python train.py", "tmux"], (1, FORK)),
            (
                &["python -m ipykernel_launcher -f k.json", "python -m ipykernel_launcher -f k.json", "python /x/jupyter-lab"],
                (1, FORK),
            ),
            (&["python train.py", "python train.py", "torchrun train.py", "bash"], (2, "torchrun")),
            // A step of the batch system is the last resort.
            (&["python train.py", "srun python train.py", "bash"], (1, "srun")),
            (&["python train.py", "torchrun train.py", "srun torchrun train.py", "bash"], (1, "torchrun")),
            (&["python train.py", "python train.py", "srun python train.py", "bash"], (1, FORK)),
        ] {
            assert_eq!(head_of(chain), Some(expected), "{chain:?}");
        }
    }

    #[test]
    fn what_only_starts_programs_heads_nothing() {
        for chain in [
            &["python a.py", "-bash", "sshd: user1@pts/0"][..],
            &["python a.py", "bash", "tmux: server"],
            &["python a.py", "bash run.sh", "-zsh", "torchrun x.py"],
            &["python a.py", "python sweep.py", "bash"],
            &["python a.py", "/usr/sbin/cron -f"],
            &["python a.py", "/usr/lib/systemd/systemd --user"],
            &["python -m ipykernel_launcher -f a.json", "/x/python /x/bin/jupyter-lab --no-browser", "bash"],
            &["python -m ipykernel_launcher -f a.json", "python -m jupyterlab", "srun jupyter lab"],
            &["python a.py", "bash", "srun --pty bash", "bash"],
            &["bash", "bash", "bash"],
            &["bash run.sh", "bash run.sh", "bash"],
            &["torchrun x.py", "bash"],
            &["x"],
            &[],
        ] {
            assert_eq!(head_of(chain), None, "{chain:?}");
        }
    }

    #[test]
    fn nothing_is_taken_from_beyond_another_user() {
        let chain = |uid| head(&[link(1000, "python t.py"), link(uid, "torchrun t.py")]);
        assert_eq!(chain(1000).map(|head| head.at), Some(1));
        assert_eq!(chain(0), None);
        assert_eq!(chain(1001), None);
        let step = Link { uid: Some(0), name: "slurmstepd", command: "slurmstepd: [4711.0]" };
        assert_eq!(head(&[link(1000, "lmp"), step]), Some(Head { at: 1, launcher: "srun" }));
        assert_eq!(head(&[Link { uid: None, ..link(0, "x") }, link(0, "mpirun x")]), None);
    }

    #[test]
    fn names_tell_where_command_lines_do_not() {
        let named = |name| Link { uid: Some(1000), name, command: "python train.py --other" };
        let loader = Link { name: "pt_data_worker", command: "pt_data_worker", ..named("") };
        assert_eq!(head(&[loader, named("python")]).map(|head| head.at), Some(1));
        let server = Link { name: "tmux: server", command: "/x/y new -s a", ..named("") };
        assert_eq!(head(&[named("python"), server, link(1000, "mpirun x")]), None);
    }

    #[test]
    fn long_chains_are_cut() {
        let mut chain = vec![link(1000, "python a.py"); 1];
        chain.extend(std::iter::repeat_n(link(1000, "wrapper"), MAX_CHAIN));
        chain.push(link(1000, "mpirun x"));
        assert_eq!(head(&chain).map(|head| head.launcher), None);
    }
}
