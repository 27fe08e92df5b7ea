//! CPU and memory of a testbed's programs, from `/proc`.

use std::{collections::BTreeMap, fs, path::Path, time::Duration};

use anyhow::Context as _;

use crate::observed::Observed;

/// Usage of one program since it started.
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
    /// By one process.
    fn by(process: Observed) -> anyhow::Result<Self> {
        let (resident, peak) = (process.resident()? << 10, process.peak()? << 10);
        // Linux may show a little less as the most that there was than it has just shown as what there is.
        Ok(Self { cpu: process.cpu()?, resident, peak: peak.max(resident) })
    }

    /// The parts of a hundred of a core that it took since an earlier look.
    pub fn share(&self, earlier: &Self, took: Duration) -> f64 {
        self.cpu.saturating_sub(earlier.cpu).as_secs_f64() / took.as_secs_f64() * 100.0
    }
}

/// Usage of each program by its name; those of a control plane have its name as a suffix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage(pub BTreeMap<String, Used>);

impl Usage {
    /// Of every child of this process, now.
    pub fn now() -> anyhow::Result<Self> {
        let own = std::process::id();
        let mut usage = Self::default();
        for entry in fs::read_dir("/proc")?.flatten() {
            let path = entry.path();
            let Some(pid) = entry.file_name().to_str().and_then(|pid| pid.parse().ok()) else { continue };
            // It may end while it is looked at.
            let Some(name) = name(&path).filter(|_| parent(&path) == Some(own)) else { continue };
            let Ok(one) = Used::by(Observed::new(pid)) else { continue };
            let used = usage.0.entry(name).or_default();
            used.cpu += one.cpu;
            used.resident += one.resident;
            used.peak = used.peak.max(one.peak);
        }
        anyhow::ensure!(!usage.0.is_empty(), "no program runs");
        Ok(usage)
    }

    /// Usage of one program. A program in a process group of its own has that group's name as a suffix.
    pub fn of(&self, name: &str) -> anyhow::Result<Used> {
        self.0
            .get(name)
            .copied()
            .with_context(|| format!("{name} does not run; there are {:?}", self.0.keys()))
    }

    /// Usage between an earlier measurement and this one.
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

/// The program, and of which control plane it is: each runs in the directory of its nest.
fn name(process: &Path) -> Option<String> {
    let program = fs::read_link(process.join("exe")).ok()?;
    let program = program.file_name()?.to_str()?.to_owned();
    let directory = fs::read_link(process.join("cwd")).ok()?;
    let nest = directory.file_name()?.to_str()?.strip_prefix("testplatform-")?;
    let nest = nest.split('-').next().filter(|nest| *nest != "engine");
    Some(nest.map_or_else(|| program.clone(), |nest| format!("{program} of {nest}")))
}

fn parent(process: &Path) -> Option<u32> {
    let status = fs::read_to_string(process.join("status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::nest::Nest;

    #[test]
    fn a_program_is_known_by_its_nest() {
        let nest = Nest::new("usage", None).unwrap();
        let _sleeps = nest.spawn("sleeps", Command::new("sleep").arg("60")).unwrap();
        let find = || Usage::now().unwrap().0.into_iter().find(|(name, _)| name.ends_with(" of usage"));
        // Until it has become the program, it is still this one.
        let found = (0..100).find_map(|_| {
            std::thread::sleep(Duration::from_millis(20));
            find().filter(|(name, _)| name.contains("sleep") || name.contains("coreutils"))
        });
        let (_, used) = found.unwrap();
        assert!(used.resident > 0 && used.peak >= used.resident, "{used:?}");
    }

    #[test]
    fn what_is_between_two_looks_is_their_difference() {
        let at = |cpu| {
            Usage([("a".to_owned(), Used { cpu: Duration::from_secs(cpu), resident: 1, peak: 2 })].into())
        };
        let between = at(5).since(&at(2));
        assert_eq!(between, at(3));
        assert_eq!(between.plus(&at(1)), at(4));
        assert!(
            (at(5).of("a").unwrap().share(&at(4).of("a").unwrap(), Duration::from_secs(10)) - 10.0).abs()
                < 1e-9
        );
        assert!(at(1).of("b").is_err());
    }
}
