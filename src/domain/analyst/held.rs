//! One holder on one device, as the analyst follows it.

use std::sync::Arc;

use super::shape::Growths;
use super::signal::{Scale, Signal};
use super::trend::Trend;
use crate::domain::detect::pool_program;
use crate::domain::{Anatomy, Holder, HolderKind, Pid, Process};

/// A process on a device.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub(crate) pid: Pid,
    /// Ticks of its start, where known: another start is another process.
    pub(crate) start: Option<u64>,
    pub(crate) process: Option<Arc<Process>>,
    pub(crate) kind: HolderKind,
    pub(crate) signal: Signal,
    pub(crate) trend: Option<Trend>,
    pub(crate) growths: Growths,
    /// When a list named it first.
    pub(crate) first: f64,
    /// It was not in the first list: its beginning was seen.
    pub(crate) born_here: bool,
    /// When it was missed from a list.
    pub(crate) gone: Option<f64>,
    /// Its newest size.
    pub(crate) used: Option<f64>,
    /// What it held within its first two seconds: the context and libraries.
    pub(crate) context: Option<f64>,
    /// Its parts, as far as they were seen.
    pub(crate) anatomy: Anatomy,
    /// Percent of the device's time that it used last.
    pub(crate) busy: Option<f32>,
}

impl Held {
    pub(crate) fn new(holder: &Holder, process: Option<&Arc<Process>>, t: f64, born_here: bool) -> Self {
        Self {
            pid: holder.pid,
            start: process.and_then(|process| process.key.start),
            process: process.cloned(),
            kind: holder.kind,
            signal: Signal::default(),
            trend: None,
            growths: Growths::default(),
            first: t,
            born_here,
            gone: None,
            used: None,
            context: None,
            anatomy: Anatomy::default(),
            busy: None,
        }
    }

    /// Takes a size; whether about a second is complete.
    pub(crate) fn push(&mut self, t: f64, used: Option<f64>, scale: &Scale) {
        self.used = used;
        if self.born_here && t - self.first <= 2.0 {
            // More than a context can be: it was listed too late to tell.
            self.context = used.filter(|used| (100.0..=700.0).contains(used)).or(self.context);
        }
        match used {
            Some(used) => {
                if self.signal.push(t, used, scale) {
                    self.trend = Trend::of(&self.signal, 0.0, scale);
                    self.growths.take(t, self.trend.as_ref());
                }
            }
            None => self.signal.gap(),
        }
    }

    /// Whether it runs a program that is known to take a pool.
    pub(crate) fn is_pool(&self) -> bool {
        let command = self.process.as_ref().and_then(|process| process.command.as_deref().ok());
        command.and_then(pool_program).is_some()
    }

    /// The script or program that it runs: `train.py`, `vllm`, `ollama`.
    pub(crate) fn name(&self) -> String {
        let command = self.process.as_ref().and_then(|process| process.command.as_deref().ok());
        command.and_then(short).unwrap_or_else(|| "process".to_owned())
    }
}

/// The name that people use for a command: the script of an interpreter, the module of `-m`, else the program.
pub(crate) fn short(command: &str) -> Option<String> {
    let mut words = command.split_whitespace().filter(|word| !word.contains('=') || word.starts_with('-'));
    let base = |word: &str| word.rsplit('/').next().unwrap_or(word).to_owned();
    let first = words.next()?;
    let program = base(first);
    let interpreter = program.starts_with("python") || ["bash", "sh", "node", "ruby", "perl"].contains(&program.as_str());
    let launcher = ["torchrun", "accelerate", "deepspeed", "mpirun", "srun", "uv", "env"].contains(&program.as_str());
    if !interpreter && !launcher {
        return Some(program);
    }
    let rest: Vec<&str> = words.collect();
    if let Some(module) = rest.iter().position(|word| *word == "-m").and_then(|at| rest.get(at + 1)) {
        return Some(module.split('.').next().unwrap_or(module).to_owned());
    }
    let script = rest.iter().find(|word| matches!(word.rsplit_once('.'), Some((_, "py" | "sh" | "js"))));
    Some(script.map_or(program, |word| base(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_shortened_to_what_people_call_them() {
        for (command, name) in [
            ("python train.py --bs 64", "train.py"),
            ("/opt/conda/bin/python -m ipykernel_launcher -f kernel.json", "ipykernel_launcher"),
            ("/usr/bin/python3 -m vllm.entrypoints.openai.api_server --model x", "vllm"),
            ("torchrun --nproc-per-node 8 finetune.py --bf16", "finetune.py"),
            ("CUDA_VISIBLE_DEVICES=1 python /home/me/a b/run.py", "run.py"),
            ("/usr/lib/xorg/Xorg :0", "Xorg"),
            ("[nvidia-persiste]", "[nvidia-persiste]"),
            ("python", "python"),
        ] {
            assert_eq!(short(command).as_deref(), Some(name), "{command}");
        }
        assert_eq!(short("  "), None);
    }
}
