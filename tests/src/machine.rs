//! The machine in words: what figures depend on, and nothing that tells whose it is.

use std::{fs, thread};

/// Cores, processor, memory and how busy they are.
pub fn describe() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let processor = read("/proc/cpuinfo");
    let processor = field(&processor, "model name").unwrap_or("unknown processor");
    let memory = read("/proc/meminfo");
    let memory =
        field(&memory, "MemTotal").and_then(|kib| kib.split_whitespace().next()?.parse::<u64>().ok());
    let memory =
        memory.map_or_else(|| "memory unknown".to_owned(), |kib| format!("{} GiB", kib.div_ceil(1 << 20)));
    let load = read("/proc/loadavg");
    let load = load.split_whitespace().next().unwrap_or("unknown");
    format!(
        "{cores} cores of {processor}, {memory}, Linux {}, load {load} at the start",
        std::env::consts::ARCH
    )
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
    fn the_machine_is_told_without_its_name() {
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let host = host.trim();
        assert!(host.len() < 4 || !describe().contains(host));
    }
}
