//! Cases, tiers, and engines that cases share.
//!
//! Cases mostly wait, each for something else, so many run side by side. `cargo test` runs the quick tier. `cargo whole` runs
//! everything: the other cases count as ignored, and it passes `--include-ignored`. `TESTPLATFORM_PART=2/4` makes a run of the second
//! quarter of those other cases.

use std::{
    cell::Cell,
    pin::Pin,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, anyhow};
use libtest_mimic::{Arguments, Failed, Trial};
use testplatform_tests::{
    patience::is_late,
    settings::{Part, not_run, part},
    trials::Trials,
};
use tokio::{
    runtime::Runtime,
    sync::{OnceCell, RwLock},
};

/// Limit for one case before it counts as hung.
const TIMEOUT: Duration = Duration::from_mins(10);

/// A boxed future of a case.
pub type Outcome<'t> = Pin<Box<dyn Future<Output = anyhow::Result<()>> + 't>>;

/// When a case runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// Always.
    Quick,
    /// When the whole tier is requested.
    Whole,
    /// When it is named on the command line, because it takes long and means something only in a release build.
    Measurement,
}

/// A case that starts everything it needs by itself.
#[derive(Clone, Copy)]
pub struct Case {
    name: &'static str,
    tier: Tier,
    timeout: Duration,
    run: Run,
}

/// Body of a case.
#[derive(Clone, Copy)]
pub enum Run {
    /// A function that blocks.
    Blocking(fn() -> anyhow::Result<()>),
    /// A future, which gets a runtime of its own.
    Async(fn() -> Outcome<'static>),
}

impl Case {
    /// A case of the quick tier.
    pub const fn new(name: &'static str, run: Run) -> Self {
        Self { name, tier: Tier::Quick, timeout: TIMEOUT, run }
    }

    /// The same case, in the whole tier only.
    pub const fn whole(self) -> Self {
        Self { tier: Tier::Whole, ..self }
    }

    /// The same case as a measurement.
    pub const fn measurement(self) -> Self {
        Self { tier: Tier::Measurement, ..self }
    }

    /// The same case with another time limit.
    pub const fn within(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Its name, without the spaces that `stringify!` puts between the parts of a path.
    fn name(self) -> String {
        self.name.replace(' ', "")
    }

    fn run(self, trials: &Trials) -> Result<(), Failed> {
        let outcome = match self.run {
            Run::Blocking(run) => trials.run_blocking(self.name, run),
            Run::Async(run) => {
                let runtime = Runtime::new().context("cannot start a runtime")?;
                runtime.block_on(trials.run(self.name, self.timeout, run()))
            }
        };
        outcome.map_err(|error| format!("{error:#}").into())
    }
}

/// A case with an `async fn` as its body.
macro_rules! case {
    ($($part:ident)::+) => {
        $crate::harness::Case::new(
            stringify!($($part)::+),
            $crate::harness::Run::Async(|| Box::pin(crate::$($part)::+())),
        )
    };
}

/// A case with a `fn` as its body.
macro_rules! blocking {
    ($($part:ident)::+) => {
        $crate::harness::Case::new(
            stringify!($($part)::+),
            $crate::harness::Run::Blocking(crate::$($part)::+),
        )
    };
}

pub(crate) use {blocking, case};

/// Trials of cases that need no shared engine.
pub fn trials_of(cases: &'static [Case], selection: &Selection) -> Vec<Trial> {
    let trials = Arc::new(Trials::default());
    let trial = |case: &'static Case| {
        let trials = Arc::clone(&trials);
        selection.trial(case.name(), case.tier, move || case.run(&trials))
    };
    cases.iter().filter_map(trial).collect()
}

/// Runs the case with this name in this process, without a harness.
pub fn run_alone(cases: &[Case], name: &str) -> anyhow::Result<()> {
    let case =
        cases.iter().find(|case| case.name() == name).with_context(|| format!("there is no case {name}"))?;
    case.run(&Trials::default()).map_err(|failed| anyhow!(failed.message().unwrap_or_default().to_owned()))
}

/// How the case with this name is run once more.
pub fn repeat(name: &str) -> String {
    format!("once more: cargo test -p testplatform-tests --test it {name} -- --include-ignored")
}

/// Which cases this run has.
#[derive(Debug)]
pub struct Selection {
    part: Option<Part>,
    filtered: bool,
    /// Cases of the whole tier that were numbered so far.
    numbered: Cell<usize>,
}

impl Selection {
    /// As `TESTPLATFORM_PART` and the command line select.
    pub fn new(arguments: &Arguments) -> anyhow::Result<Self> {
        Ok(Self { part: part()?, filtered: arguments.filter.is_some(), numbered: Cell::new(0) })
    }

    /// A trial, or none where this run does not have the case. A part has no cases of the quick tier.
    pub fn trial(
        &self,
        name: String,
        tier: Tier,
        run: impl FnOnce() -> Result<(), Failed> + Send + 'static,
    ) -> Option<Trial> {
        let (selected, ignored) = match (tier, self.part) {
            (Tier::Quick, None) => (true, false),
            (Tier::Whole, None) => (true, true),
            (Tier::Whole, Some(part)) => (part.has(self.numbered.replace(self.numbered.get() + 1)), false),
            (Tier::Measurement, None) => (self.filtered, true),
            (Tier::Quick | Tier::Measurement, Some(_)) => (false, false),
        };
        let in_part = self.part.is_some();
        let title = name.clone();
        let run = move || {
            if in_part && is_late() {
                not_run(&title, "the time limit of this run is over");
                return Ok(());
            }
            run()
        };
        selected.then(|| Trial::test(name, run).with_ignored_flag(ignored))
    }
}

/// An engine that the cases of one group share. The first case that runs starts it, and it ends with the last trial that holds it,
/// so that the next group can start its own.
pub struct Shared<E> {
    engine: OnceCell<Result<E, String>>,
    /// Held for writing by a case that nothing may run beside.
    pub quiet: RwLock<()>,
    pub trials: Trials,
    pub runtime: Runtime,
}

impl<E> Shared<E> {
    pub fn new() -> anyhow::Result<Arc<Self>> {
        let runtime = Runtime::new().context("cannot start a runtime")?;
        Ok(Arc::new(Self {
            engine: OnceCell::new(),
            quiet: RwLock::new(()),
            trials: Trials::default(),
            runtime,
        }))
    }

    /// The engine. Where it could not be started, every case fails with the same error.
    pub async fn engine(&self, start: impl AsyncFnOnce() -> anyhow::Result<E>) -> Result<&E, Failed> {
        let started = async || {
            let started = Instant::now();
            let engine = start().await.map_err(|error| format!("{error:#}"));
            eprintln!("engine: {:.1} s", started.elapsed().as_secs_f32());
            engine
        };
        self.engine.get_or_init(started).await.as_ref().map_err(Failed::from)
    }
}
