//! Linux's figures of a process: CPU time used, and memory.

use std::{fs, time::Duration};

use anyhow::Context as _;

/// A process on this machine.
#[derive(Clone, Copy, Debug)]
pub struct Observed(u32);

/// Linux counts in ticks of 10 ms for user space, whatever the kernel's own rate.
const TICK: Duration = Duration::from_millis(10);

impl Observed {
    /// The process with this id.
    pub fn new(pid: u32) -> Self {
        Self(pid)
    }

    /// User and system time of all its threads so far.
    pub fn cpu(self) -> anyhow::Result<Duration> {
        let stat = self.read("stat")?;
        // The name before the last parenthesis may hold spaces; utime and stime are fields 14 and 15.
        let fields: Vec<_> =
            stat.rsplit_once(')').map(|(_, rest)| rest.split_whitespace().collect()).unwrap_or_default();
        let ticks: u32 = fields
            .get(11..13)
            .context("/proc/*/stat is short")?
            .iter()
            .map(|f| f.parse::<u32>())
            .sum::<Result<_, _>>()?;
        Ok(TICK * ticks)
    }

    /// Resident memory now, in KiB.
    pub fn resident(self) -> anyhow::Result<u64> {
        self.kib("VmRSS:")
    }

    /// The most resident memory that it ever had, in KiB.
    pub fn peak(self) -> anyhow::Result<u64> {
        self.kib("VmHWM:")
    }

    fn kib(self, field: &str) -> anyhow::Result<u64> {
        let status = self.read("status")?;
        let line = status.lines().find_map(|line| line.strip_prefix(field));
        let value = line.and_then(|rest| rest.split_whitespace().next());
        Ok(value.with_context(|| format!("/proc/*/status has no {field}"))?.parse()?)
    }

    fn read(self, file: &str) -> anyhow::Result<String> {
        let path = format!("/proc/{}/{file}", self.0);
        fs::read_to_string(&path).with_context(|| format!("cannot read {path}; is the process still there?"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_used_cpu_and_memory() {
        let this = Observed::new(std::process::id());
        assert!(this.resident().unwrap() > 100);
        assert!(this.peak().unwrap() >= 100);
        assert!(this.cpu().unwrap() < Duration::from_hours(1));
        assert!(Observed::new(u32::MAX).cpu().unwrap_err().to_string().contains("still there"));
    }
}
