//! Slurm: the limit of a job step was reached.

use super::{Dialect, Passage};
use crate::domain::Framework;
use crate::domain::oom::event::Event;
use crate::domain::oom::size::Pattern;

/// The dialect.
pub const DIALECT: Dialect =
    Dialect { id: "slurm", marks: &[" oom_kill", " oom-kill", "OUT_OF_ME", "Out Of Memory", "OOM Killed", "memory limit"], read };

static KILLED: Pattern = Pattern::new(r"(?i)Detected (?:\d+ )?oom[_-]kill event");
static SRUN: Pattern = Pattern::new(r"srun: error: [^\n]{1,80}: task[s]?:? ?[\d,-]{1,80}: Out Of Memory");
static STATE: Pattern = Pattern::new(r"\bOUT_OF_ME(?:MORY|\+)(?:$| |\))");
static STEP: Pattern = Pattern::new(r"(?:slurmstepd: error:)?[^\n]{0,60}Exceeded (?:job|step) memory limit");
static TASKS: Pattern = Pattern::new(r"task[s]? [^\n]{0,60}OOM Killed|tasks may have been killed by the cgroup out-of-memory handler");

fn read(passage: &Passage) -> Option<Event> {
    [&KILLED, &SRUN, &STATE, &STEP, &TASKS]
        .into_iter()
        .any(|pattern| passage.find(pattern).is_some())
        .then(|| Event::host(DIALECT.id, Framework::Slurm))
}

#[cfg(test)]
mod tests {
    use super::super::passage::read_text;
    use super::*;

    #[test]
    fn steps_that_were_killed_are_read() {
        for (text, read) in [
            ("slurmstepd: error: Detected 1 oom_kill event in StepId=123.0. Some of the step tasks have been OOM Killed.", true),
            ("slurmstepd: error: Detected 2 oom-kill event(s) in StepId=123.batch cgroup.", true),
            ("srun: error: gn03: task 2: Out Of Memory", true),
            ("State: OUT_OF_MEMORY (exit code 0)", true),
            ("123.batch  OUT_OF_ME+  0:125", true),
            ("slurmstepd: error: Job 123 exceeded memory limit (1 > 2), being killed", false),
            ("slurmstepd: error: *** JOB 99 ON gn03 CANCELLED DUE TO TIME LIMIT ***", false),
        ] {
            assert_eq!(read_text(&DIALECT, text).is_some(), read, "{text}");
        }
    }
}
