//! Kubernetes and other runtimes of containers: the limit of a container was reached.

use super::{Dialect, Passage};
use crate::domain::Framework;
use crate::domain::oom::event::Event;
use crate::domain::oom::size::Pattern;

/// The dialect.
pub const DIALECT: Dialect =
    Dialect { id: "kubernetes", marks: &["OOMKill", "low on resource: memory", " exit code", " exited", "Exit Code", " exit status"], read };

static KILLED: Pattern = Pattern::new(r"\b(?:Reason:? ?|reason\x22?[:=] ?\x22?|state\x22?: \x22?|status[^\n]{0,20}|\x22?)?OOMKilled\b(\x22?: ?(?:false|0))?");
static EVICTED: Pattern = Pattern::new(r"(?i)node was low on resource: memory|OOMKilling");
static COMMAND: Pattern = Pattern::new(r"command terminated with (?:non-zero )?exit code:? ?137|Exit Code: +137");
static EXIT: Pattern = Pattern::new(r"(?i)\b(?:exit(?:ed)?|returned|failed|terminated|died|finished)[^\n]{0,40}?(?:code|status)\)?:?=? ?\(?137\b");

fn read(passage: &Passage) -> Option<Event> {
    if let Some(found) = passage.find(&KILLED) {
        // docker inspect prints it also where it is not so.
        return found.get(1).is_none().then(|| Event::host(DIALECT.id, Framework::Kubernetes));
    }
    if passage.find(&EVICTED).or_else(|| passage.find(&COMMAND)).is_some() {
        return Some(Event::host(DIALECT.id, Framework::Kubernetes));
    }
    passage.find_said(&EXIT).map(|_| Event { echo: true, ..Event::host(DIALECT.id, Framework::Linux) })
}

#[cfg(test)]
mod tests {
    use super::super::passage::read_text;
    use super::*;

    #[test]
    fn killed_containers_are_read_and_living_ones_not() {
        for (text, framework) in [
            ("    Reason:       OOMKilled", Some(Framework::Kubernetes)),
            ("train-0   0/1     OOMKilled   0     3m", Some(Framework::Kubernetes)),
            ("command terminated with exit code 137", Some(Framework::Kubernetes)),
            ("    Exit Code:    137", Some(Framework::Kubernetes)),
            ("trainer exited with code 137", Some(Framework::Linux)),
            ("\"OOMKilled\": true,", Some(Framework::Kubernetes)),
            ("\"OOMKilled\": false,", None),
            ("    Exit Code:    1", None),
            ("loss 137) ok", None),
        ] {
            assert_eq!(read_text(&DIALECT, text).and_then(|event| event.framework), framework, "{text}");
        }
    }
}
