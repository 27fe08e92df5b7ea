//! What the programs of a testbed have used, from `/proc`.

use std::{collections::BTreeMap, fs, path::Path, time::Duration};

use anyhow::Context as _;
use rustix::param::clock_ticks_per_second;

/// What one program has used since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// User and system time.
    pub cpu: Duration,
    /// Resident memory in bytes.
    pub resident: u64,
    /// The most that it ever was.
    pub peak: u64,
}

impl Used {
    /// The parts of a hundred of a core that it took since an earlier look.
    pub fn share(&self, earlier: &Self, took: Duration) -> f64 {
        self.cpu.saturating_sub(earlier.cpu).as_secs_f64() / took.as_secs_f64() * 100.0
    }
}

/// What each program has used, by its name; of a control plane's programs with its name behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage(pub BTreeMap<String, Used>);

impl Usage {
    /// Of every child of this process, now.
    pub fn now() -> anyhow::Result<Self> {
        let own = std::process::id();
        let mut usage = Self::default();
        for entry in fs::read_dir("/proc")?.flatten() {
            let path = entry.path();
            // It may end while it is read.
            let Ok(stat) = fs::read_to_string(path.join("stat")) else { continue };
            let Some(stat) = Stat::read(&stat).filter(|stat| stat.parent == own) else { continue };
            let Some(name) = name(&path) else { continue };
            let status = fs::read_to_string(path.join("status")).unwrap_or_default();
            let used = usage.0.entry(name).or_default();
            used.cpu += stat.cpu();
            used.resident += kibibytes(&status, "VmRSS:").unwrap_or_default();
            used.peak = used.peak.max(kibibytes(&status, "VmHWM:").unwrap_or_default());
        }
        anyhow::ensure!(!usage.0.is_empty(), "no program runs");
        Ok(usage)
    }

    /// What one program has used. Of one that runs in a nest of its own, that is its nest's name behind it.
    pub fn of(&self, name: &str) -> anyhow::Result<Used> {
        self.0
            .get(name)
            .copied()
            .with_context(|| format!("{name} does not run; there are {:?}", self.0.keys()))
    }

    /// What was used between an earlier look and this one.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let before = |name: &String| earlier.0.get(name).map_or(Duration::ZERO, |used| used.cpu);
        let since = |(name, used): (&String, &Used)| {
            (name.clone(), Used { cpu: used.cpu.saturating_sub(before(name)), ..*used })
        };
        Self(self.0.iter().map(since).collect())
    }

    /// Both together.
    #[must_use]
    pub fn plus(mut self, more: &Self) -> Self {
        for (name, used) in &more.0 {
            let sum = self.0.entry(name.clone()).or_default();
            sum.cpu += used.cpu;
            sum.resident = used.resident;
            sum.peak = sum.peak.max(used.peak);
        }
        self
    }
}

/// What counts here of `/proc/<pid>/stat`, see `man 5 proc_pid_stat`.
struct Stat {
    parent: u32,
    ticks: u64,
}

impl Stat {
    fn read(text: &str) -> Option<Self> {
        // The name before may hold anything.
        let fields: Vec<&str> = text.rsplit_once(") ")?.1.split(' ').collect();
        let ticks = |n: usize| fields.get(n)?.parse::<u64>().ok();
        Some(Self { parent: fields.get(1)?.parse().ok()?, ticks: ticks(11)? + ticks(12)? })
    }

    fn cpu(&self) -> Duration {
        Duration::from_secs(self.ticks) / u32::try_from(clock_ticks_per_second()).unwrap_or(100)
    }
}

/// The program, and of which control plane it is: each runs in the directory of its nest.
fn name(process: &Path) -> Option<String> {
    let program = fs::read_link(process.join("exe")).ok()?;
    let program = program.file_name()?.to_str()?.to_owned();
    let directory = fs::read_link(process.join("cwd")).ok()?;
    let nest = directory.file_name()?.to_str()?.strip_prefix("testplatform-")?;
    let nest = nest.split('-').next().filter(|nest| *nest != "engine");
    Some(nest.map_or_else(|| program.clone(), |nest| format!("{program} of {nest}")))
}

/// A figure of `/proc/<pid>/status`, in bytes.
fn kibibytes(status: &str, field: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kib| kib * 1024)
}

/// What this machine is, in words.
pub fn machine() -> anyhow::Result<String> {
    let cpus = fs::read_to_string("/proc/cpuinfo").context("cannot read /proc/cpuinfo")?;
    let model = cpus.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let memory = fs::read_to_string("/proc/meminfo").context("cannot read /proc/meminfo")?;
    let kib = memory.lines().find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB"));
    let kib: u64 = kib.and_then(|kib| kib.parse().ok()).context("no MemTotal")?;
    let cores = std::thread::available_parallelism()?;
    let model = model.map_or("of an unknown kind", |(_, model)| model);
    Ok(format!("{cores} cores ({model}), {} GiB of memory, {}", kib >> 20, std::env::consts::OS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_what_separates() {
        let stat = Stat::read("12 (a) b) S 7 1 1 0 -1 4194304 1 2 3 4 150 50 0 0 20 0").unwrap();
        assert_eq!((stat.parent, stat.ticks), (7, 200));
        assert!(Stat::read("12 (a").is_none());
    }

    #[test]
    fn memory_is_in_bytes() {
        assert_eq!(kibibytes("Name:\ta\nVmHWM:\t    2048 kB\n", "VmHWM:"), Some(2 << 20));
        assert_eq!(kibibytes("Name:\ta\n", "VmHWM:"), None);
    }
}
