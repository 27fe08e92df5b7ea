//! Measurements, and the figures from them.

use std::time::Duration;

use super::servers::{NOOP, OURS};

/// One turn of one server.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    /// How long each call took, sorted.
    pub latencies: Vec<Duration>,
    /// How long all of them took.
    pub elapsed: Duration,
    /// The CPU that the server used meanwhile.
    pub cpu: Option<Duration>,
    /// Its resident memory after it, in KiB.
    pub resident: Option<u64>,
}

impl Turn {
    /// Calls per second.
    pub fn throughput(&self) -> f64 {
        count(&self.latencies) / self.elapsed.as_secs_f64()
    }

    /// The CPU of one call.
    pub fn cpu_per_call(&self) -> Option<Duration> {
        Some(self.cpu?.div_f64(count(&self.latencies)))
    }

    /// The latency that `percent` of the calls keep.
    pub fn percentile(&self, percent: usize) -> Duration {
        let rank = (self.latencies.len() * percent).div_ceil(100).max(1);
        self.latencies.get(rank - 1).copied().unwrap_or_default()
    }
}

/// All turns of one server.
#[derive(Clone, Debug, Default)]
pub(super) struct Series {
    pub name: String,
    pub turns: Vec<Turn>,
    /// The most resident memory that it ever had, in KiB, as the kernel keeps it.
    pub high_water: Option<u64>,
}

impl Series {
    /// The most resident memory that it ever had, in KiB. The value after a turn counts too: Linux adds up the counters
    /// of the processors only now and then, so its peak may be less than the current value that it has just shown.
    pub fn peak(&self) -> Option<u64> {
        self.turns.iter().filter_map(|turn| turn.resident).chain(self.high_water).max()
    }

    /// The middle one of what is measured in each turn.
    pub fn median<T: PartialOrd + Copy>(&self, of: impl Fn(&Turn) -> T) -> Option<T> {
        middle(self.turns.iter().map(of).collect())
    }

    /// The middle one of the turns in which it is known.
    pub fn cpu(&self) -> Option<Duration> {
        middle(self.turns.iter().filter_map(Turn::cpu_per_call).collect())
    }
}

/// A look at the memory of the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Look {
    /// Calls so far.
    pub calls: u64,
    /// Resident memory, in KiB.
    pub resident: u64,
}

/// Everything that was measured.
#[derive(Clone, Debug, Default)]
pub(super) struct Figures {
    pub request: String,
    pub bytes: usize,
    pub concurrency: u32,
    pub calls: u64,
    pub machine: String,
    pub series: Vec<Series>,
    pub soak: Vec<Look>,
}

/// A target of the function, and whether it holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Target {
    pub what: &'static str,
    pub wanted: &'static str,
    pub seen: String,
    pub held: bool,
}

const SHARE: f64 = 0.8;
const CPU: Duration = Duration::from_micros(150);
const MEMORY: u64 = 16 * 1024;
/// Further growth of an allocator after a tenth of all calls, in KiB.
const GROWTH: u64 = 512;

impl Figures {
    /// Throughput of the function as a part of that of another server: the middle one of all rounds, because in one round both
    /// had the same neighbours.
    pub fn share(&self, of: &str) -> Option<f64> {
        let named = |name: &str| self.series.iter().find(|series| series.name == name);
        let pairs = named(OURS)?.turns.iter().zip(&named(of)?.turns);
        middle(pairs.map(|(ours, other)| ours.throughput() / other.throughput()).collect())
    }

    /// The targets that these figures tell something about.
    pub fn targets(&self) -> Vec<Target> {
        let ours = self.series.iter().find(|series| series.name == OURS);
        let share = self.share(NOOP).map(|share| Target {
            what: "throughput, as a part of the no-op's",
            wanted: "at least 80 %",
            seen: format!("{:.0} %", share * 100.0),
            held: share >= SHARE,
        });
        let cpu = ours.and_then(Series::cpu).map(|cpu| Target {
            what: "CPU of a call",
            wanted: "at most 0.15 ms",
            seen: format!("{:.3} ms", cpu.as_secs_f64() * 1000.0),
            held: cpu <= CPU,
        });
        let memory = ours.and_then(Series::peak).map(|peak| Target {
            what: "resident memory, at its peak",
            wanted: "at most 16 MiB",
            seen: mib(peak),
            held: peak <= MEMORY,
        });
        let flat = self.soak.first().zip(self.soak.last()).map(|(first, last)| Target {
            what: "growth from the first to the last tenth of the long run",
            wanted: "at most 0.5 MiB",
            seen: mib(last.resident.saturating_sub(first.resident)),
            held: last.resident <= first.resident + GROWTH,
        });
        [share, cpu, memory, flat].into_iter().flatten().collect()
    }
}

/// Memory for people.
pub(super) fn mib(kib: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    let mib = kib as f64 / 1024.0;
    format!("{mib:.1} MiB")
}

#[expect(clippy::cast_precision_loss, reason = "far fewer than 2^53 calls")]
fn count(calls: &[Duration]) -> f64 {
    calls.len() as f64
}

fn middle<T: PartialOrd + Copy>(mut values: Vec<T>) -> Option<T> {
    values.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn turn(millis: &[u64], cpu: u64) -> Turn {
        let latencies = millis.iter().map(|millis| Duration::from_millis(*millis)).collect();
        let cpu = Some(Duration::from_micros(cpu) * u32::try_from(millis.len()).unwrap());
        Turn { latencies, elapsed: Duration::from_secs(1), cpu, resident: Some(8 * 1024) }
    }

    pub fn figures(ours: Vec<Turn>, noop: Vec<Turn>, soak: &[u64]) -> Figures {
        let series = |name: &str, turns| Series { name: name.to_owned(), turns, high_water: Some(9 * 1024) };
        let looks = soak.iter().zip(1..).map(|(resident, calls)| Look { calls, resident: *resident });
        Figures {
            request: "examples/ready".to_owned(),
            bytes: 12_000,
            concurrency: 16,
            calls: 10,
            machine: "2 cores".to_owned(),
            series: vec![series(OURS, ours), series(NOOP, noop)],
            soak: looks.collect(),
        }
    }

    #[test]
    fn a_percentile_is_a_call_that_was_made() {
        let turn = turn(&(1..=100).collect::<Vec<_>>(), 1);
        assert_eq!([50, 99, 100].map(|p| turn.percentile(p).as_millis()), [50, 99, 100]);
        assert_eq!(super::tests::turn(&[7], 1).percentile(99), Duration::from_millis(7));
        assert!((turn.throughput() - 100.0).abs() < 1e-9);
    }

    #[test]
    fn one_bad_round_decides_nothing() {
        let ours = vec![turn(&[1; 90], 100), turn(&[1; 10], 900), turn(&[1; 90], 100)];
        let figures = figures(ours, vec![turn(&[1; 100], 50); 3], &[9000, 9100]);
        assert!((figures.share(NOOP).unwrap() - 0.9).abs() < 1e-9);
        assert!(figures.targets().iter().all(|target| target.held), "{:?}", figures.targets());
        assert_eq!(figures.targets().len(), 4);
    }

    #[test]
    fn what_was_seen_is_no_more_than_the_most() {
        let seen = |kib| Turn { resident: Some(kib), ..turn(&[1], 1) };
        let turns = vec![seen(24_500), seen(24_100)];
        let series = |high_water| Series { turns: turns.clone(), high_water, ..Series::default() };
        let peaks = [Some(24_400), None, Some(25_000)].map(|kib| series(kib).peak());
        assert_eq!(peaks, [24_500, 24_500, 25_000].map(Some));
    }

    #[test]
    fn every_target_can_be_missed() {
        let mut figures = figures(vec![turn(&[1; 70], 200)], vec![turn(&[1; 100], 50)], &[9000, 9600]);
        figures.series[0].high_water = Some(17 * 1024);
        assert!(figures.targets().iter().all(|target| !target.held), "{:?}", figures.targets());
    }
}
