//! The Linux kernel's OOM killer, and what remains of a process that was killed.

use super::{Dialect, Passage};
use crate::domain::Framework;
use crate::domain::oom::event::Event;
use crate::domain::oom::size::Pattern;

/// The dialect.
pub const DIALECT: Dialect = Dialect {
    id: "linux",
    marks: &[" oom-kill", " oom_reaper", "ut of memory: Kill", "memory pressure", "OOM killer", "Killed", "SIGKILL", "sh: killed", " exitcode", "(exitcode"],
    read,
};

static KILLER: Pattern = Pattern::new(r"(?i)(?:invoked oom-killer|oom-kill:constraint|(?:cgroup )?out of memory: Kill(?:ed)? process|oom_reaper: reaped process|killed by the OOM killer|due to memory pressure for|systemd-oomd[^\n]{0,80}[Kk]illed)");
static VICTIM: Pattern = Pattern::new(r"(?:Kill(?:ed)? process |,pid=|reaped process )(\d+)");
static SHELL: Pattern = Pattern::new(r"(?:^Killed$|\b(?:zsh|bash|sh|fish): killed\b|: line \d+: +\d+ Killed\b|^\[\d+\]\s?[+-]? +\d* *Killed\b)");
static SIGNAL: Pattern = Pattern::new(r"(?:Signal 9 \(SIGKILL\) received by PID|\(exitcode: -9\)|exitcode +: -9|died with <Signals\.SIGKILL: 9>|died from signal 9|terminated by signal SIGKILL)");

fn read(passage: &Passage) -> Option<Event> {
    if passage.find(&KILLER).is_some() {
        let subject = VICTIM.number(passage.line());
        return Some(Event { subject, ..Event::host(DIALECT.id, Framework::Linux) });
    }
    let framework = if passage.find_said(&SHELL).is_some() {
        Framework::Linux
    } else {
        // The words of torchrun.
        passage.find(&SIGNAL)?;
        Framework::PyTorch
    };
    Some(Event { echo: true, ..Event::host(DIALECT.id, framework) })
}

#[cfg(test)]
mod tests {
    use super::super::passage::read_text;
    use super::*;

    #[test]
    fn the_kernel_is_read_and_its_settings_are_not() {
        for (text, read) in [
            ("python3 invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, oom_score_adj=0", true),
            ("Out of memory: Killed process 40112 (python3) total-vm:98211436kB", true),
            ("Memory cgroup out of memory: Killed process 40112 (python3)", true),
            ("Out of memory: Kill process 812 (python) score 900 or sacrifice child", true),
            ("run.sh: line 12: 40112 Killed                  python train.py", true),
            ("zsh: killed     python train.py", true),
            ("traceback : Signal 9 (SIGKILL) received by PID 2332", true),
            ("INFO  oom_score_adj of this process is 0", false),
            ("Killed 3 stale jobs before start", false),
        ] {
            assert_eq!(read_text(&DIALECT, text).is_some(), read, "{text}");
        }
    }
}
