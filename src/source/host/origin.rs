//! Where a process was started from: its Python environment and its terminal multiplexer. Pure functions over paths and texts.

use crate::domain::command::{Invocation, base, is_python};
use crate::domain::text;

/// The longest name.
const NAME: usize = 64;
/// Folders in which a virtual environment has no name of its own but its project's.
const NAMELESS: &[&str] = &[".venv", "venv", "env", ".env", "virtualenv"];
/// Folders that hold virtual environments by name.
const SHELVES: &[&str] = &[".virtualenvs", "virtualenvs", "venvs", ".venvs", ".pyenv"];

/// The variables that are looked at, of my own processes alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variables {
    conda: Option<String>,
    venv: Option<String>,
    tmux: Option<String>,
    screen: Option<String>,
}

impl Variables {
    /// Takes them from `/proc/PID/environ`: nothing else of it is kept.
    pub fn parse(environ: &[u8]) -> Self {
        let mut variables = Self::default();
        for entry in environ.split(|byte| *byte == 0) {
            let text = String::from_utf8_lossy(entry.get(..entry.len().min(4096)).unwrap_or_default());
            let Some((name, value)) = text.split_once('=').filter(|(_, value)| !value.is_empty()) else { continue };
            let slot = match name {
                "CONDA_DEFAULT_ENV" => &mut variables.conda,
                "VIRTUAL_ENV" => &mut variables.venv,
                "TMUX" => &mut variables.tmux,
                "STY" => &mut variables.screen,
                _ => continue,
            };
            *slot = Some(value.to_owned());
        }
        variables
    }

    /// The environment that is active.
    pub fn environment(&self) -> Option<String> {
        // Inside of a conda environment a virtual one may be active, hardly ever the other way round.
        let venv = self.venv.as_deref().map(|path| format!("venv {}", venv_name(path)));
        // Older versions of conda give the path of an environment without a name.
        venv.or_else(|| self.conda.as_deref().map(|name| format!("conda {}", text::clean(base(name), NAME))))
    }

    /// The session of a terminal multiplexer. tmux tells its socket and the number by which `tmux attach -t '$3'` finds the
    /// session, not its name.
    pub fn session(&self) -> Option<String> {
        if let Some(tmux) = &self.tmux {
            let mut fields = tmux.rsplitn(3, ',');
            let (session, _, socket) = (fields.next(), fields.next(), fields.next()?);
            let session = session.filter(|id| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit()))?;
            let socket = base(socket);
            let socket = if socket == "default" { String::new() } else { format!("{}:", text::clean(socket, NAME)) };
            return Some(format!("tmux {socket}${session}"));
        }
        self.screen.as_deref().map(|name| format!("screen {}", text::clean(name, NAME)))
    }
}

fn venv_name(path: &str) -> String {
    let mut parts = path.rsplit('/').filter(|part| !part.is_empty());
    let name = parts.next().unwrap_or_default();
    match parts.next() {
        Some(project) if NAMELESS.contains(&name) => text::clean(&format!("{project}/{name}"), NAME),
        _ => text::clean(name, NAME),
    }
}

/// The environment by the path of an interpreter: of the executable, or as it was called (a virtual environment's `python`
/// is a link to another).
pub fn environment_of_path(path: &str) -> Option<String> {
    let (folder, program) = path.rsplit_once('/')?;
    let prefix = folder.strip_suffix("/bin")?;
    let (above, name) = prefix.rsplit_once('/')?;
    if let Some((_, name)) = prefix.rsplit_once("/envs/").filter(|(_, name)| !name.is_empty() && !name.contains('/')) {
        return Some(format!("conda {}", text::clean(name, NAME)));
    }
    let conda = ["conda", "miniconda", "anaconda", "mambaforge", "miniforge", "micromamba"];
    if conda.iter().any(|kind| name.trim_end_matches(|c: char| c.is_ascii_digit()) == *kind) {
        return Some("conda base".to_owned());
    }
    let shelf = base(above);
    let venv = NAMELESS.contains(&name) || SHELVES.contains(&shelf) || name.contains("venv");
    (venv && (is_python(program) || prefix.contains("venv"))).then(|| format!("venv {}", venv_name(prefix)))
}

/// The multiplexer among the parents: its name, and the session where the command line tells it for sure.
pub fn session_of_parent(name: &str, command: &str) -> Option<String> {
    let run = Invocation::parse(command);
    if name.starts_with("tmux: server") || (name == "tmux" && run.program == "tmux") {
        return Some("tmux".to_owned());
    }
    let mut words = command.split_whitespace();
    if run.program.eq_ignore_ascii_case("screen") {
        let named = words.find(|word| *word == "-S" || word.starts_with("-dmS")).and_then(|_| words.next());
        return Some(named.map_or_else(|| "screen".to_owned(), |name| format!("screen {}", text::clean(name, NAME))));
    }
    if run.program == "zellij" {
        let socket = words.find(|word| *word == "--server").and_then(|_| words.next());
        return Some(socket.map_or_else(|| "zellij".to_owned(), |socket| format!("zellij {}", text::clean(base(socket), NAME))));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn my_own_variables_tell_environment_and_session() {
        for (environ, environment, session) in [
            ("A=1\0CONDA_DEFAULT_ENV=train\0TMUX=/tmp/tmux-1000/default,3921,4\0", Some("conda train"), Some("tmux $4")),
            ("CONDA_DEFAULT_ENV=base\0VIRTUAL_ENV=/home/u/proj/.venv\0", Some("venv proj/.venv"), None),
            ("CONDA_DEFAULT_ENV=/scratch/u/envs/x\0STY=812.train\0", Some("conda x"), Some("screen 812.train")),
            ("TMUX=/tmp/tmux-1000/work,3921,0\0", None, Some("tmux work:$0")),
            ("TMUX=odd\0", None, None),
            ("TMUX=/tmp/x,1,y\0VIRTUAL_ENV=\0", None, None),
            ("NOT_TMUX=1\0\0\0=\0", None, None),
        ] {
            let variables = Variables::parse(environ.as_bytes());
            assert_eq!(variables.environment().as_deref(), environment, "{environ:?}");
            assert_eq!(variables.session().as_deref(), session, "{environ:?}");
        }
        let hostile = Variables::parse(b"STY=1.\x1b[2J\xff\xe2\x80\xae\0VIRTUAL_ENV=/a\n/b\x07\0");
        for text in [hostile.session(), hostile.environment()] {
            assert!(text.is_some_and(|text| text.chars().all(|c| !c.is_control() && c != '\u{202e}')));
        }
    }

    #[test]
    fn an_interpreters_path_tells_its_environment() {
        for (path, expected) in [
            ("/home/u/miniconda3/envs/train/bin/python3.11", Some("conda train")),
            ("/opt/conda/bin/python", Some("conda base")),
            ("/home/u/miniforge3/bin/python3.12", Some("conda base")),
            ("/home/u/proj/.venv/bin/python", Some("venv proj/.venv")),
            ("/home/u/.virtualenvs/fit/bin/python", Some("venv fit")),
            ("/data/my-venv/bin/torchrun", Some("venv my-venv")),
            ("/usr/bin/python3.11", None),
            ("/usr/local/bin/python3", None),
            ("/home/u/env/bin/tool", None),
            ("python", None),
            ("", None),
        ] {
            assert_eq!(environment_of_path(path).as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn multiplexers_stand_among_the_parents() {
        for (name, command, expected) in [
            ("tmux: server", "tmux new -s first", Some("tmux")),
            ("screen", "SCREEN -S train", Some("screen train")),
            ("screen", "SCREEN -dmS fit bash", Some("screen fit")),
            ("screen", "SCREEN", Some("screen")),
            ("zellij", "/x/zellij --server /run/user/1000/zellij/0.40.1/blue", Some("zellij blue")),
            ("bash", "-bash", None),
            ("python", "python tmux.py", None),
        ] {
            assert_eq!(session_of_parent(name, command).as_deref(), expected, "{command}");
        }
    }
}
