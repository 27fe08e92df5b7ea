//! A fault campaign: claims of both kinds live their lives while everything around them fails, and when all is put right again the
//! world is compared with the design's invariants.
//!
//! ```text
//! seed ──▶ Plan (which claims, which faults, when and for how long)
//!            ├─▶ lives (tenants)      ┐
//!            └─▶ strikes on the Field ┴──▶ World at rest ──▶ checker ──▶ violations
//! ```
//!
//! **Invariant:** what is done follows from the seed, or is written down, so that a run can be done again. How the programs
//! interleave does not.
//! **Invariant:** a fault that cannot be done is an error, never one that was survived; so is a wire that nobody uses.

mod ballast;
pub mod checker;
mod clock;
mod evidence;
pub mod fault;
pub mod field;
mod lives;
mod orphans;
mod pace;
mod places;
pub mod plan;
mod presented;
mod random;
pub mod regressions;
mod strikes;
pub mod world;

use std::{collections::BTreeMap, convert::Infallible, fmt, time::Duration};

use anyhow::{Context as _, bail, ensure};
use futures_util::future::{LocalBoxFuture, try_join_all};
use testplatform_process::panics;
use tokio::time::{Instant, sleep, sleep_until};

use crate::{
    cluster::at_root,
    function,
    invariants::{self, Bounds},
    kinds::COMPOSITE,
    patience::longer,
    provider,
    prow::playing::Prow,
};
use checker::{Invariant, Violation, judge, orphans};
use evidence::unused;
use fault::Part;
use field::{Field, insist};
use lives::Life;
use orphans::{Deafness, Orphan};
use pace::Pace;
use plan::{End, Origin, Plan, Strike};
use world::{Expected, World};

/// The runs of every build, beside [`regressions`]: together they have every fault.
pub const SEEDS: [u64; 3] = [1, 2, 3];
/// How long the world may take to come to rest. Crossplane and provider-kubernetes try again at distances of a minute at most, and
/// what was made anew is collected half a minute after.
const REST: Duration = Duration::from_mins(4);
/// How often it is told what is waited for.
const TOLD: Duration = Duration::from_secs(30);
/// How often it is looked at meanwhile.
const LOOK: Duration = Duration::from_secs(2);
/// Log lines of the provider: its start, and its end after another replica took the lease.
const STARTING: &str = " starting version=";
const LOST: &str = "the lease was lost";

/// Totals of all runs so far.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    runs: usize,
    claims: usize,
    faults: BTreeMap<String, usize>,
    /// Programs that ended by themselves, and were started again.
    endings: BTreeMap<String, usize>,
    /// Faults that nobody met with while they lasted.
    unmet: BTreeMap<String, usize>,
    /// Composites that core forgot, as it is known to, and an administrator had to end.
    excused: usize,
    violations: usize,
}

impl Counts {
    /// How much of what must hold did not.
    pub fn violations(&self) -> usize {
        self.violations
    }
}

/// A campaign on one field.
pub struct Campaign {
    prow: Prow,
    /// Where it is fought.
    pub field: Field,
    /// Totals of all runs so far.
    pub counts: Counts,
}

impl Campaign {
    /// Starts everything that it needs. Boxed as what it is, as a run is too, so that it is compiled here, and not in each program that
    /// has a campaign.
    pub fn start() -> LocalBoxFuture<'static, anyhow::Result<Self>> {
        Box::pin(async {
            let field = Box::pin(Field::start()).await?;
            let prow = Prow::start(field.engine.hub.cluster(), provider::SITE);
            Ok(Self { prow, field, counts: Counts::default() })
        })
    }

    /// Makes a run. Fails with everything that was violated, with how to do it again, and with how to keep it.
    pub fn run<'a>(&'a mut self, plan: &'a Plan) -> LocalBoxFuture<'a, anyhow::Result<()>> {
        Box::pin(self.run_to_the_end(plan))
    }

    async fn run_to_the_end(&mut self, plan: &Plan) -> anyhow::Result<()> {
        let (origin, again) = (plan.origin, plan.origin.again());
        eprintln!("{origin}; to do it again: {again}\n{plan}");
        let begun = Instant::now();
        let fought = tokio::select! {
            fought = fight(&self.field, &self.prow, plan) => fought,
            ended = self.field.supervise() => ended.map(|never: Infallible| match never {}),
        };
        let violations = fought.with_context(|| format!("{origin} cannot be run; to try again: {again}"))?;
        self.count(plan, &violations);
        if violations.is_empty() {
            eprintln!("{origin}: nothing is violated, {:.0?}", begun.elapsed());
            return Ok(());
        }
        let words: Vec<String> = violations.iter().map(ToString::to_string).collect();
        bail!(
            "{origin}: {} violations\n  {}\n{}\nto do it again: {again}\n{}",
            words.len(),
            words.join("\n  "),
            self.field.engine.words(),
            to_keep(plan)
        )
    }

    fn count(&mut self, plan: &Plan, violations: &[Violation]) {
        self.counts.runs += 1;
        self.counts.claims += plan.wishes.len();
        self.counts.violations += violations.len();
        for strike in plan.sides.iter().flatten() {
            *self.counts.faults.entry(strike.fault.to_string()).or_default() += 1;
        }
        self.counts.excused += self.field.excused();
        for (part, _) in self.field.endings() {
            *self.counts.endings.entry(part.to_string()).or_default() += 1;
        }
        for fault in self.field.unmet() {
            *self.counts.unmet.entry(fault.to_string()).or_default() += 1;
        }
    }
}

/// Everything of a run, from the first claim to the last trace of it.
async fn fight(field: &Field, prow: &Prow, plan: &Plan) -> anyhow::Result<Vec<Violation>> {
    let mut lives = Vec::new();
    for (number, wish) in plan.wishes.iter().enumerate() {
        lives.push(
            Life::prepare(&field.engine, prow, &format!("{}-{number}", plan.origin.label()), wish).await?,
        );
    }
    let (begun, deafness, met) = (Instant::now(), Deafness::default(), field.met());
    let pace = Pace::new(begun);
    let tenants = try_join_all(lives.iter().map(|life| life.live(&pace, prow)));
    let strikes = try_join_all(plan.sides.iter().map(|side| strike(field, side, &pace, &deafness)));
    tokio::try_join!(tenants, strikes)?;
    eprintln!("  {:>8.1?} all is put right again", begun.elapsed());
    let mut expected: Vec<Expected> = lives.iter().map(Life::expected).collect();
    let mut violations = rest(field, &expected, &lives, &deafness).await?;
    eprintln!("  {:>8.1?} at rest", begun.elapsed());
    for life in &lives {
        // Who watches may be a moment behind; what is at rest stays as it is.
        let witnessed = insist("the claim was witnessed", async || life.witnessed());
        if violations.is_empty()
            && let Err(error) = witnessed.await
        {
            violations.push(all_along(life, &error));
        }
    }

    for life in &lives {
        life.delete().await?;
    }
    for life in &mut expected {
        life.end = End::Deleted;
    }
    violations.extend(rest(field, &expected, &lives, &deafness).await?);
    eprintln!("  {:>8.1?} nothing is left", begun.elapsed());
    for life in &lives {
        if let Err(error) = invariants::hold(&life.tenant, Bounds { remotes: 1, undelivered: false }) {
            violations.push(all_along(life, &error));
        }
    }
    violations.extend(programs(field));
    violations.dedup();
    let unused = unused(plan, &met, &field.met());
    // A violation says more than an unused wire.
    ensure!(!violations.is_empty() || unused.is_empty(), "nobody uses these wires: {}", unused.join(", "));
    Ok(violations)
}

fn all_along(life: &Life<'_>, error: &anyhow::Error) -> Violation {
    Violation { of: Invariant::AllAlong, words: format!("{}: {error:#}", life.tenant.claim()) }
}

async fn strike(field: &Field, side: &[Strike], pace: &Pace, deafness: &Deafness) -> anyhow::Result<()> {
    for Strike { at, fault, lasts } in side {
        pace.until(*at).await;
        pace.comes(*at);
        let (now, met) = (Instant::now(), field.met());
        deafness.begins(*fault);
        field.strike(*fault).await.with_context(|| format!("it cannot be done: {fault}"))?;
        // Time spent on injecting the fault counts as part of its duration.
        sleep_until((now + *lasts).max(Instant::now() + fault.least())).await;
        field.feel(*fault, &met).await;
        field.heal(*fault).await.with_context(|| format!("it cannot be put right: {fault}"))?;
        deafness.ends(*fault);
    }
    Ok(())
}

/// Waits until nothing is violated. Returns the remaining violations.
async fn rest(
    field: &Field,
    expected: &[Expected],
    lives: &[Life<'_>],
    deafness: &Deafness,
) -> anyhow::Result<Vec<Violation>> {
    let begun = Instant::now();
    let mut told = begun;
    loop {
        let violations = look(field, expected).await;
        if violations.as_ref().is_ok_and(Vec::is_empty) || begun.elapsed() > longer(REST) {
            return violations;
        }
        if told.elapsed() > TOLD {
            told = Instant::now();
            eprintln!("  not yet at rest: {}", brief(&violations));
            end_orphans(field, lives, deafness).await?;
        }
        sleep(LOOK).await;
    }
}

/// Deletes objects that core forgot for a known reason, as an administrator does. Core has had its time by now. Objects that stay for
/// any other reason are violations.
async fn end_orphans(field: &Field, lives: &[Life<'_>], deafness: &Deafness) -> anyhow::Result<()> {
    let world = World::look(&field.engine).await?;
    for composite in orphans(&world) {
        let (name, labels) = (world::name(composite), &composite["metadata"]["labels"]);
        let [namespace, claim] = ["namespace", "name"]
            .map(|of| labels[format!("crossplane.io/claim-{of}")].as_str().unwrap_or_default().to_owned());
        let deleted = lives.iter().find(|life| life.tenant.namespace == namespace).and_then(Life::deleted);
        let said = field.engine.recorder.of_composite(&(namespace, claim));
        let orphan = Orphan::read(composite, &said, deleted)?;
        if !orphan.is_excused(&deafness.times()) {
            eprintln!("  composite {name} has lost its claim, and not as core loses them: {orphan:?}");
            continue;
        }
        eprintln!("  core forgot composite {name} when it deleted its claim; it is ended by hand");
        field.engine.konflux.cluster().delete(&at_root(COMPOSITE, name)).await?;
        field.excuse(name);
    }
    Ok(())
}

/// How a run stays beside the seeds, which mean something else when a fault is added.
fn to_keep(plan: &Plan) -> String {
    match plan.origin {
        Origin::Regression(name) => format!("it is kept already, as {name}"),
        Origin::Seed(_) => format!(
            "to keep it, add to ALL in tests/src/campaign/regressions.rs what still fails of this, with a name and the reason:\n{}",
            regressions::written(plan)
        ),
    }
}

/// One line on the open violations.
fn brief(violations: &anyhow::Result<Vec<Violation>>) -> String {
    match violations {
        Ok(violations) => {
            let first = violations.first().map(ToString::to_string).unwrap_or_default();
            format!("{} violations; {first}", violations.len())
        }
        Err(error) => format!("{error:#}"),
    }
}

/// Violations in the current state of the world.
pub async fn look(field: &Field, lives: &[Expected]) -> anyhow::Result<Vec<Violation>> {
    let world = World::look(&field.engine).await?;
    let violations = judge(&world, lives);
    if !violations.is_empty() {
        return Ok(violations);
    }
    places::judge(&field.engine, &world, lives).await
}

/// Our programs end only when they are killed, or have lost their Lease; and they never panic.
fn programs(field: &Field) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (part, words) in field.seen() {
        let ours = match part {
            Part::Function => true,
            Part::Provider => !lost_its_lease(&words),
            Part::Core
            | Part::ProviderKubernetes
            | Part::ApiServer(_)
            | Part::Etcd(_)
            | Part::Controllers(_) => false,
        };
        if ours {
            violations.push(Violation {
                of: Invariant::Programs,
                words: format!("{part} ended by itself: {words}"),
            });
        }
    }
    for name in [function::NAME, provider::NAME] {
        let words = match std::fs::read(field.engine.nest().log(name)) {
            Ok(log) => panicked(&String::from_utf8_lossy(&log)).map(str::to_owned),
            Err(error) => Some(format!("its log cannot be read: {error}")),
        };
        if let Some(words) = words {
            violations.push(Violation { of: Invariant::Programs, words: format!("{name}: {words}") });
        }
    }
    violations
}

/// `true` if the program's last report is that it lost its Lease. An earlier program that writes into the same log may also have lost
/// it, and does not count.
fn lost_its_lease(words: &str) -> bool {
    let own = words.rsplit(STARTING).next().unwrap_or_default();
    let tells = |line: &&str| line.starts_with("error: ") || line.contains(LOST);
    own.lines().rfind(tells).is_some_and(|line| line.contains(LOST))
}

/// The first line of a log that tells of a panic.
fn panicked(log: &str) -> Option<&str> {
    log.lines().find(|line| panics::is_panic(line))
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let struck: usize = self.faults.values().sum();
        writeln!(
            f,
            "{} runs, {} claims, {struck} faults, {} excused, {} violations",
            self.runs, self.claims, self.excused, self.violations
        )?;
        for (fault, count) in &self.faults {
            writeln!(f, "  {count:>4} {fault}")?;
        }
        for (part, count) in &self.endings {
            writeln!(f, "  {count:>4} times {part} ended by itself and was started again")?;
        }
        for (fault, count) in &self.unmet {
            writeln!(f, "  {count:>4} times nobody met with {fault}")?;
        }
        if self.excused > 0 {
            writeln!(
                f,
                "  {:>4} composites were forgotten by core with their claims, are excused, and were ended by hand",
                self.excused
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_fails_tells_how_to_keep_it() {
        let words = to_keep(&Plan::of(7));
        let kept = ["regressions.rs", "name: \"s7\"", "claim(", "strike("];
        assert!(kept.iter().all(|kept| words.contains(kept)), "{words}");
    }

    /// As the provider's `main` writes them.
    #[test]
    fn only_what_a_program_said_last_excuses_its_end() {
        let header = "provider-testplatform ended with exit status: 1; its last words:\n";
        let start = "2026-11-24T00:00:00.000000Z  INFO provider_testplatform: starting version=\"0.1.0\"\n";
        let lost = "error: the lease was lost: it could not be renewed for 6s: no answer in time\n";
        let other = "error: cannot listen on 127.0.0.1:1 for health and metrics\n";
        let line = "2026-11-24T00:00:01.000000Z  WARN testplatform_runtime::watch: the watch failed\n";
        for (words, is) in [
            (vec![header, start, line, lost], true),
            (vec![header, line, lost, line], true),
            (vec![header, start, other, start, lost], true),
            (vec![header, start, lost, start, other], false),
            (vec![header, start, lost, other], false),
            // Killed by somebody else.
            (vec![header, start, lost, start, line], false),
            (vec![header], false),
        ] {
            assert_eq!(lost_its_lease(&words.concat()), is, "{words:?}");
        }
    }

    /// As `process/src/logs.rs` has it that both programs write them.
    #[test]
    fn a_panic_in_a_log_is_noticed() {
        let told = [
            "2026-11-24T00:00:00.000000Z ERROR testplatform_process::panics: panic place=\"function/src/serve/function.rs:1\"",
            "{\"ts\":\"2026-11-24T00:00:00.000000Z\",\"level\":\"error\",\"msg\":\"panic\",\"place\":\"function.rs:1\"}",
            "thread 'main' (1) panicked at provider/src/main.rs:1:1:",
        ];
        for line in told {
            assert_eq!(panicked(&format!("one\n{line}\nthree\n")), Some(line));
        }
        assert_eq!(panicked("INFO serving\nERROR the lease was lost\n"), None);
    }
}
