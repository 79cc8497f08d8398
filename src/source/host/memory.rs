//! Host memory and swap, from `/proc/meminfo`.

use crate::domain::{Bytes, HostMemory};

use super::procfs;

/// Host memory now; none where `/proc` is not mounted or the kernel is older than `MemAvailable` (3.14).
pub fn read() -> Option<HostMemory> {
    let mut buffer = Vec::new();
    procfs::read("/proc/meminfo", 16 << 10, &mut buffer)?;
    parse(&String::from_utf8_lossy(&buffer))
}

fn parse(text: &str) -> Option<HostMemory> {
    let size = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(Bytes(kib.saturating_mul(1024)))
    };
    let (swap_total, swap_free) = (size("SwapTotal").unwrap_or_default(), size("SwapFree").unwrap_or_default());
    Some(HostMemory {
        total: size("MemTotal")?,
        available: size("MemAvailable")?,
        swap_used: swap_total.saturating_sub(swap_free),
        swap_total,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_found_by_name() {
        let text = "MemTotal:       131072 kB\nMemFree: 1 kB\nMemAvailable:  65536 kB\nSwapTotal: 2048 kB\nSwapFree: 1024 kB\n";
        let memory = parse(text).expect("all there");
        assert_eq!((memory.total, memory.available), (Bytes::mib(128), Bytes::mib(64)));
        assert_eq!((memory.swap_used, memory.swap_total), (Bytes::mib(1), Bytes::mib(2)));
        assert_eq!(parse("MemTotal: 1 kB\n"), None, "no available memory told: not zero");
        assert_eq!(parse("MemTotal: much\nMemAvailable: 1 kB\n"), None);
    }
}
