//! The machine in words: what figures depend on, and nothing that tells whose it is.

use std::{fs, thread};

/// Cores, processor, memory and how busy they are.
pub fn describe() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let processor = read("/proc/cpuinfo");
    let processor = field(&processor, "model name").unwrap_or("unknown processor");
    let memory = memory()
        .map_or_else(|| "memory unknown".to_owned(), |bytes| format!("{} GiB", bytes.div_ceil(1 << 30)));
    let load = read("/proc/loadavg");
    let load = load.split_whitespace().next().unwrap_or("unknown");
    format!(
        "{cores} cores of {processor}, {memory}, Linux {}, load {load} at the start",
        std::env::consts::ARCH
    )
}

/// How much memory there is, in bytes, of which a container may have a part; none where that cannot be told.
pub fn memory() -> Option<u64> {
    let told = fs::read_to_string("/proc/meminfo").ok()?;
    let kib: u64 = field(&told, "MemTotal")?.split_whitespace().next()?.parse().ok()?;
    // "max" where nothing is said; not there on a machine of one's own.
    let part = fs::read_to_string("/sys/fs/cgroup/memory.max").ok().and_then(|part| part.trim().parse().ok());
    Some((kib << 10).min(part.unwrap_or(u64::MAX)))
}

fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix(':')).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let text = "model\t\t: 1\nmodel name\t: A CPU\nMemTotal:  100 kB\n";
        assert_eq!(field(text, "model name"), Some("A CPU"));
        assert_eq!(field(text, "MemTotal"), Some("100 kB"));
        assert_eq!(field(text, "Mem"), None);
    }

    #[test]
    fn its_memory_is_told_in_bytes() {
        let memory = memory().unwrap();
        assert!((1 << 28..1 << 48).contains(&memory), "{memory}");
    }

    #[test]
    fn the_machine_is_told_without_its_name() {
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let host = host.trim();
        assert!(host.len() < 4 || !describe().contains(host));
    }
}
