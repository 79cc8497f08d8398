//! A machine's files for tests: processes made of text, and live ones, under a root of their own.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use vramscope::source::host::root::Root;

/// A process made of text.
pub struct Text<'a> {
    pub pid: u32,
    pub ppid: u32,
    /// In clock ticks since boot.
    pub start: u64,
    pub uid: u32,
    pub state: char,
    pub command: &'a [u8],
    pub cgroup: &'a str,
    pub mountinfo: &'a str,
    pub environ: &'a str,
    /// What its open files are.
    pub open: &'a [&'a str],
}

impl Default for Text<'_> {
    /// A Python program of this user's.
    fn default() -> Self {
        Self {
            pid: 61_000,
            ppid: 1,
            start: 500,
            uid: rustix::process::getuid().as_raw(),
            state: 'S',
            command: b"python\0train.py\0",
            cgroup: "0::/user.slice/user-1000.slice/session-4.scope\n",
            mountinfo: "",
            environ: "",
            open: &[],
        }
    }
}

/// The files.
pub struct Machine {
    folder: PathBuf,
    _dir: tempfile::TempDir,
}

impl Machine {
    /// A machine as it looks in the initial PID namespace, or in another.
    pub fn new(initial: bool) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().canonicalize().unwrap();
        let machine = Self { folder, _dir: dir };
        let inode = if initial { 4_026_531_836_u32 } else { 4_026_532_178 };
        fs::create_dir_all(machine.path("proc/self/ns")).unwrap();
        symlink(format!("pid:[{inode}]"), machine.path("proc/self/ns/pid")).unwrap();
        symlink("mnt:[1]", machine.path("proc/self/ns/mnt")).unwrap();
        fs::write(machine.path("proc/self/cgroup"), "0::/\n").unwrap();
        fs::create_dir_all(machine.path("dev")).unwrap();
        for node in ["nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm"] {
            fs::write(machine.path("dev").join(node), "").unwrap();
        }
        machine
    }

    /// A file of it.
    pub fn path(&self, file: &str) -> PathBuf {
        self.folder.join(file)
    }

    /// For the options of a source.
    pub fn root(&self) -> Root {
        Root::at(&self.folder)
    }

    /// For the variable of the binary.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Shows a live process under its own number.
    pub fn show(&self, pid: u32) {
        symlink(format!("/proc/{pid}"), self.path(&format!("proc/{pid}"))).unwrap();
    }

    /// Makes a process, or makes it anew.
    pub fn put(&self, text: &Text<'_>) {
        let folder = self.path(&format!("proc/{}", text.pid));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("fd")).unwrap();
        fs::create_dir_all(folder.join("ns")).unwrap();
        let name: String = String::from_utf8_lossy(text.command).split('\0').next().unwrap().rsplit('/').next().unwrap().into();
        let name: String = name.chars().take(15).collect();
        fs::write(folder.join("status"), format!("Name:\t{name}\nUid:\t{0}\t{0}\t{0}\t{0}\n", text.uid)).unwrap();
        fs::write(folder.join("cmdline"), text.command).unwrap();
        fs::write(folder.join("cgroup"), text.cgroup).unwrap();
        fs::write(folder.join("mountinfo"), text.mountinfo).unwrap();
        fs::write(folder.join("environ"), text.environ).unwrap();
        symlink("/home/user1/run", folder.join("cwd")).unwrap();
        symlink("/usr/bin/python3.12", folder.join("exe")).unwrap();
        symlink(format!("mnt:[{}]", text.pid), folder.join("ns/mnt")).unwrap();
        for (n, file) in text.open.iter().enumerate() {
            symlink(self.path(file), folder.join(format!("fd/{n}"))).unwrap();
        }
        // Last, since a process without it is none.
        let stat = format!(
            "{} ({name}) {} {} 0 0 0 0 0 0 0 0 0 1 1 0 0 20 0 1 0 {} 0 5 0\n",
            text.pid, text.state, text.ppid, text.start
        );
        fs::write(folder.join("stat"), stat).unwrap();
    }

    /// Ends a process.
    pub fn end(&self, pid: u32) {
        let folder = self.path(&format!("proc/{pid}"));
        fs::remove_file(folder.join("stat")).unwrap();
        fs::remove_dir_all(folder).unwrap();
    }
}
