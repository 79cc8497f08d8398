//! Reading `/proc/PID`: texts of the kernel, in which a process chooses its own name and arguments.

use std::fs::File;
use std::io::Read;

use super::root::Root;
use crate::domain::text;

/// Longest command line that is kept, in characters.
const COMMAND: usize = 4096;

/// Fields of `/proc/PID/stat`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    /// The name, as the process set it.
    pub name: String,
    /// `R`, `S`, `D`, `Z` …
    pub state: char,
    /// The parent.
    pub ppid: u32,
    /// Time on the CPU in clock ticks, user and system.
    pub ticks: u64,
    /// Start in clock ticks since boot.
    pub start: u64,
    /// Resident pages.
    pub resident: u64,
    /// Whether it is a thread of the kernel.
    pub kernel: bool,
}

/// `PF_KTHREAD` of the kernel's `include/linux/sched.h`, in field 9.
const KERNEL_THREAD: u32 = 0x0020_0000;

/// Reads up to `max` bytes of a file into `buffer`, which it empties first.
pub fn read(path: &str, max: u64, buffer: &mut Vec<u8>) -> Option<()> {
    buffer.clear();
    File::open(path).ok()?.take(max).read_to_end(buffer).ok()?;
    Some(())
}

/// `/proc/PID/stat`; none where there is no such process here.
pub fn stat(root: &Root, pid: u32) -> Option<Stat> {
    let mut buffer = Vec::with_capacity(512);
    read(&root.proc(pid, "stat"), 4096, &mut buffer)?;
    parse_stat(&String::from_utf8_lossy(&buffer))
}

/// The real user of a process.
pub fn uid(root: &Root, pid: u32) -> Option<u32> {
    let mut buffer = Vec::with_capacity(2048);
    read(&root.proc(pid, "status"), 16 << 10, &mut buffer)?;
    parse_uid(&String::from_utf8_lossy(&buffer))
}

/// The owner of a process's folder, which shows also where its files don't (`hidepid=1`).
pub fn owner(root: &Root, pid: u32) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    Some(std::fs::metadata(root.path(&format!("/proc/{pid}"))).ok()?.uid())
}

/// The command line, cleaned; none where there is none (kernel threads, zombies).
pub fn command(root: &Root, pid: u32) -> Option<String> {
    let mut buffer = Vec::with_capacity(512);
    // Four bytes hold any character.
    read(&root.proc(pid, "cmdline"), 4 * COMMAND as u64 + 4, &mut buffer)?;
    parse_command(&buffer)
}

/// The numbers of all processes, sorted.
pub fn pids(root: &Root) -> Option<Vec<u32>> {
    let names = std::fs::read_dir(root.path("/proc")).ok()?;
    let mut pids: Vec<u32> = names.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    pids.sort_unstable();
    Some(pids)
}

/// The name stands in parentheses and may hold some itself: it ends at the last one.
fn parse_stat(line: &str) -> Option<Stat> {
    let (head, tail) = line.rsplit_once(')')?;
    let (_, name) = head.split_once('(')?;
    let mut fields = tail.split_ascii_whitespace();
    // The first field after the name is field 3 of proc_pid_stat(5).
    let state = fields.next()?.chars().next()?;
    let ppid = fields.next()?.parse().ok()?;
    let flags: u32 = fields.nth(4)?.parse().ok()?;
    let utime: u64 = fields.nth(4)?.parse().ok()?;
    let stime: u64 = fields.next()?.parse().ok()?;
    let start = fields.nth(6)?.parse().ok()?;
    let resident = fields.nth(1)?.parse::<i64>().ok()?;
    Some(Stat {
        name: text::clean(name, 64),
        state,
        ppid,
        ticks: utime.saturating_add(stime),
        start,
        resident: resident.max(0).unsigned_abs(),
        kernel: flags & KERNEL_THREAD != 0,
    })
}

fn parse_uid(status: &str) -> Option<u32> {
    status.lines().find_map(|line| line.strip_prefix("Uid:"))?.split_ascii_whitespace().next()?.parse().ok()
}

fn parse_command(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes).replace('\0', " ");
    let text = text.trim();
    (!text.is_empty()).then(|| text::clean(text, COMMAND))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_what_ends_a_name() {
        let line = "77 (a) b) (c) S 5 77 77 0 -1 4194304 102 0 0 0 30 12 0 0 20 0 1 0 139364 2998272 382 18446744073709551615";
        let stat = parse_stat(line).expect("a line");
        assert_eq!(
            stat,
            Stat { name: "a) b) (c".into(), state: 'S', ppid: 5, ticks: 42, start: 139_364, resident: 382, kernel: false }
        );
        let thread = "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 3 0 0 20 0 1 0 2 0 0 18446744073709551615";
        assert!(parse_stat(thread).is_some_and(|stat| stat.kernel && stat.ticks == 3 && stat.start == 2));
        assert_eq!(parse_stat("77 (cut) S 5 77"), None);
        assert_eq!(parse_stat(""), None);
    }

    #[test]
    fn the_real_user_is_the_owner() {
        assert_eq!(parse_uid("Name:\tx\nUid:\t1000\t0\t0\t0\n"), Some(1000));
        assert_eq!(parse_uid("Name:\tx\n"), None);
    }

    #[test]
    fn a_command_line_is_one_harmless_line() {
        assert_eq!(parse_command(b"python\0train.py\0--name\0a\x1b[2J\n\0").as_deref(), Some("python train.py --name a·[2J"));
        assert_eq!(parse_command(b"\0\0"), None);
        let long = parse_command(&b"x".repeat(20_000)).expect("text");
        assert_eq!(long.chars().count(), COMMAND);
    }

    #[test]
    fn this_process_is_visible() {
        let (pid, root, me) = (std::process::id(), Root::default(), rustix::process::getuid().as_raw());
        assert_eq!((uid(&root, pid), owner(&root, pid)), (Some(me), Some(me)));
        assert!(stat(&root, pid).is_some_and(|stat| stat.resident > 0 && stat.start > 0));
        assert!(command(&root, pid).is_some());
        assert!(pids(&root).is_some_and(|pids| pids.is_sorted() && pids.contains(&pid)));
        assert_eq!(stat(&root, u32::MAX), None);
    }
}
