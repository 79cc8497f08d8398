//! Command lines as `/proc` gives them, words joined by blanks: what runs, and a short title that keeps the script's name.

use std::borrow::Cow;

/// What a command line runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invocation<'a> {
    /// The program without its path; wrappers such as `env` or `nohup` are skipped.
    pub program: &'a str,
    /// What an interpreter runs.
    pub target: Target<'a>,
    /// The first words after the program, or after what the interpreter runs.
    pub arguments: [&'a str; 2],
}

/// What an interpreter runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target<'a> {
    /// Nothing: no interpreter, or one that talks to a user.
    None,
    /// A file, with its path.
    Script(&'a str),
    /// `python -m`.
    Module(&'a str),
    /// Code from the command line itself.
    Code,
}

/// Programs that only start another with some of the surroundings changed.
const WRAPPERS: &[&str] = &[
    "env",
    "nohup",
    "nice",
    "ionice",
    "chrt",
    "time",
    "timeout",
    "numactl",
    "taskset",
    "stdbuf",
    "setsid",
    "catchsegv",
    "sudo",
    "doas",
    "strace",
    "ltrace",
    "nsys",
    "ncu",
    "compute-sanitizer",
    "cuda-memcheck",
    "xvfb-run",
    "conda",
    "mamba",
    "micromamba",
    "uv",
    "poetry",
    "pixi",
    "pdm",
    "hatch",
    "pipenv",
    "tini",
    "dumb-init",
    "catatonit",
];

/// Shells.
const SHELLS: &[&str] = &["sh", "bash", "zsh", "fish", "dash", "ksh", "csh", "tcsh", "ash", "busybox", "nu", "pwsh", "xonsh"];

/// Programs that start a script of the user's, whose own options take values.
const LAUNCHERS: &[&str] =
    &["torchrun", "accelerate", "accelerate-launch", "deepspeed", "mpirun", "mpiexec", "srun", "horovodrun"];

/// How many words after a wrapper may be its own.
const WRAPPED: usize = 12;

/// A word without its path.
pub fn base(word: &str) -> &str {
    word.rsplit('/').find(|part| !part.is_empty()).unwrap_or(word)
}

/// Whether a program is a Python interpreter.
pub fn is_python(program: &str) -> bool {
    let rest = ["python", "pypy", "ipython"].iter().find_map(|name| program.strip_prefix(name));
    rest.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.' || byte == b't'))
}

/// Whether a program is a shell.
pub fn is_shell(program: &str) -> bool {
    SHELLS.contains(&program)
}

impl<'a> Invocation<'a> {
    /// Takes a command line apart.
    pub fn parse(command: &'a str) -> Self {
        let mut words = command.split_whitespace();
        let first = words.next().unwrap_or_default();
        let mut program = program_of(first);
        // `uv run train.py` has no interpreter to find: what ends like a script is one.
        let mut script = None;
        for _ in 0..4 {
            if !WRAPPERS.contains(&program) {
                break;
            }
            // Options of wrappers take values (`conda run -n NAME python`): a word that is known to run things comes first.
            let runs = |word: &str| is_script(word) || runs_things(program_of(word));
            let mut ahead = words.clone().take(WRAPPED);
            let known = ahead.any(runs);
            let Some(next) = words.find(|word| if known { runs(word) } else { starts_something(word) }) else { break };
            if is_script(next) {
                script = Some(next);
                break;
            }
            program = program_of(next);
        }
        let target = match script {
            Some(script) => Target::Script(script),
            None if is_python(program) => python(&mut words),
            None if is_shell(program) => shell(&mut words),
            None if program == "java" => java(&mut words),
            None if ["node", "ruby", "perl", "Rscript", "julia", "bun", "deno"].contains(&program) => {
                words.find(|word| !word.starts_with('-')).map_or(Target::None, Target::Script)
            }
            None => Target::None,
        };
        let arguments = [words.next().unwrap_or_default(), words.next().unwrap_or_default()];
        Self { program, target, arguments }
    }

    /// The name by which people know it: the module, the script, or the program.
    pub fn name(&self) -> &'a str {
        match self.target {
            Target::Script(path) => base(path),
            Target::Module(name) => name,
            Target::None | Target::Code => self.program,
        }
    }
}

/// The program of a first word: without path, the dash of a login shell, and the colon of a process that renamed itself.
fn program_of(word: &str) -> &str {
    let word = base(word.strip_prefix('-').unwrap_or(word));
    word.strip_suffix(':').unwrap_or(word)
}

/// Whether a program is one that runs others: an interpreter, a shell, a launcher, another wrapper.
fn runs_things(program: &str) -> bool {
    is_python(program) || is_shell(program) || LAUNCHERS.contains(&program) || WRAPPERS.contains(&program)
}

/// After a wrapper: not its options, their numbers, variables or subcommands.
fn starts_something(word: &str) -> bool {
    let value = word.starts_with('-')
        || word.contains('=')
        || word.bytes().all(|byte| byte.is_ascii_digit() || b".smhd:,".contains(&byte));
    !value && !["run", "profile", "exec"].contains(&word)
}

fn is_script(word: &str) -> bool {
    std::path::Path::new(word).extension().is_some_and(|ending| ["py", "sh", "jl", "R"].iter().any(|known| ending == *known))
}

/// The options of `python` end where its script, module or code begins.
fn python<'a>(words: &mut impl Iterator<Item = &'a str>) -> Target<'a> {
    while let Some(word) = words.next() {
        match word {
            "-m" => return words.next().map_or(Target::None, Target::Module),
            "-c" => return Target::Code,
            "-" => return Target::None,
            // These take a word of their own.
            "-W" | "-X" | "--check-hash-based-pycs" => drop(words.next()),
            _ => match word.strip_prefix('-') {
                // `-um module`, `-mmodule`, `-uc code`.
                Some(flags) if !flags.starts_with('-') => match flags.split_once('m') {
                    Some((before, "")) if is_flags(before) => return words.next().map_or(Target::None, Target::Module),
                    Some((before, module)) if is_flags(before) => return Target::Module(module),
                    _ if flags.ends_with('c') && is_flags(flags.trim_end_matches('c')) => return Target::Code,
                    _ => {}
                },
                Some(_) => {}
                None => return Target::Script(word),
            },
        }
    }
    Target::None
}

/// Flags of `python` that stand alone.
fn is_flags(text: &str) -> bool {
    text.chars().all(|c| "bBdEhiIOPqRsStuvVx".contains(c))
}

fn shell<'a>(words: &mut impl Iterator<Item = &'a str>) -> Target<'a> {
    for word in words.by_ref() {
        match word.strip_prefix('-') {
            Some(flags) if !flags.starts_with('-') && flags.contains('c') => return Target::Code,
            Some(_) => {}
            None => return Target::Script(word),
        }
    }
    Target::None
}

fn java<'a>(words: &mut impl Iterator<Item = &'a str>) -> Target<'a> {
    while let Some(word) = words.next() {
        match word {
            "-jar" => return words.next().map_or(Target::None, Target::Script),
            "-cp" | "-classpath" | "--class-path" => drop(words.next()),
            _ if word.starts_with('-') => {}
            _ => return Target::Module(word),
        }
    }
    Target::None
}

/// A short title of a command line: the script or module of an interpreter, else the program without its path. A module that
/// is long is called by its package.
///
/// ```
/// use vramscope::domain::command::title;
/// assert_eq!(title("/usr/bin/python3 -u /home/x/train.py --bs 64"), "train.py");
/// assert_eq!(title("/usr/lib/xorg/Xorg vt2"), "Xorg");
/// ```
pub fn title(command: &str) -> Cow<'_, str> {
    let run = Invocation::parse(command);
    if let Some(role) = multiprocessing(command) {
        return Cow::Owned(format!("{} {role}", run.program));
    }
    // A process that renamed itself says who it is: `VLLM::EngineCore`, `ray::Trainer.fit`, `[nvidia-modeset]`.
    if command.starts_with('[') || run.program.contains("::") {
        return Cow::Borrowed(command.split_whitespace().next().unwrap_or(command));
    }
    if LAUNCHERS.contains(&run.program)
        && let Some(script) = command.split_whitespace().skip(1).find(|word| is_script(word))
    {
        return Cow::Borrowed(base(script));
    }
    if run.program == "vllm" && run.arguments[0] == "serve" {
        return Cow::Borrowed("vllm serve");
    }
    match run.target {
        Target::Module(name) if name.len() > 20 => Cow::Borrowed(name.split('.').next().unwrap_or(name)),
        Target::Code => Cow::Owned(format!("{} -c", run.program)),
        _ if run.program.is_empty() => Cow::Borrowed(command),
        _ => Cow::Borrowed(run.name()),
    }
}

/// What a child of Python's `multiprocessing` (or of joblib's `loky`) is, by the code that it is started with.
pub fn multiprocessing(command: &str) -> Option<&'static str> {
    [
        ("multiprocessing.resource_tracker", "tracker"),
        ("multiprocessing.forkserver", "forkserver"),
        ("multiprocessing.spawn", "worker"),
        ("--multiprocessing-fork", "worker"),
        ("loky.backend.popen_loky", "worker"),
    ]
    .into_iter()
    .find(|(text, _)| command.contains(text))
    .map(|(_, role)| role)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_keeps_the_name_of_the_script() {
        for (command, expected) in [
            ("/usr/bin/python3 -u /home/x/train.py --bs 64", "train.py"),
            ("python3.12 -W ignore -X dev train.py", "train.py"),
            ("python -m torch.distributed.run train.py", "torch"),
            ("python -um pkg.train", "pkg.train"),
            ("python -m ipykernel_launcher -f x.json", "ipykernel_launcher"),
            ("python -c import(torch)", "python -c"),
            ("python3", "python3"),
            ("torchrun --nproc-per-node 2 /x/train.py", "train.py"),
            ("torchrun --nproc-per-node 2 -m pkg.train", "torchrun"),
            ("accelerate launch --config_file a.yaml sft.py --x", "sft.py"),
            ("env CUDA_VISIBLE_DEVICES=0 nohup python train.py", "train.py"),
            ("uv run train.py --x", "train.py"),
            ("conda run -n train python /x/y/fit.py", "fit.py"),
            ("timeout 30m numactl --cpunodebind=0 python fit.py", "fit.py"),
            ("bash /srv/run.sh 7", "run.sh"),
            ("-bash", "bash"),
            ("java -Xmx4g -jar /opt/server.jar", "server.jar"),
            ("/usr/lib/xorg/Xorg vt2", "Xorg"),
            ("vllm serve meta/llama", "vllm serve"),
            ("VLLM::EngineCore", "VLLM::EngineCore"),
            ("ray::Trainer.fit()", "ray::Trainer.fit()"),
            ("[nvidia-modeset]", "[nvidia-modeset]"),
            ("tmux: server", "tmux"),
            ("python -c from multiprocessing.spawn import spawn_main; spawn_main() --multiprocessing-fork", "python worker"),
            ("", ""),
            ("/", "/"),
        ] {
            assert_eq!(title(command), expected, "{command}");
        }
    }

    #[test]
    fn invocations_are_taken_apart() {
        let run = Invocation::parse("/opt/conda/bin/python -u -m accelerate.commands.launch --num 2");
        assert_eq!((run.program, run.target), ("python", Target::Module("accelerate.commands.launch")));
        assert_eq!(run.arguments, ["--num", "2"]);
        assert_eq!(Invocation::parse("bash -lc 'x y'").target, Target::Code);
        assert_eq!(Invocation::parse("bash -l").target, Target::None);
        assert_eq!(Invocation::parse("/usr/bin/python3 /usr/local/bin/torchrun x.py").name(), "torchrun");
        assert!(is_python("python3.13t") && is_python("pypy3") && !is_python("pythonista"));
    }
}
