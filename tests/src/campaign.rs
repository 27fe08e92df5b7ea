//! A fault campaign: claims of both kinds live their lives while everything around them fails, and when all is put right again the
//! world is compared with the design's invariants.
//!
//! ```text
//! seed ──▶ Plan (which claims, which faults, when and for how long)
//!            ├─▶ lives (tenants)      ┐
//!            └─▶ strikes on the Field ┴──▶ World at rest ──▶ checker ──▶ violations
//! ```
//!
//! **Invariant:** what is done follows from the seed, so that a run can be done again. How the programs interleave does not.
//! **Invariant:** a fault that cannot be done is an error, never one that was survived.

pub mod checker;
pub mod fault;
pub mod field;
mod lives;
mod places;
pub mod plan;
mod random;
mod strikes;
pub mod world;

use std::{collections::BTreeMap, convert::Infallible, fmt, time::Duration};

use anyhow::{Context as _, bail};
use futures_util::future::try_join_all;
use tokio::time::{Instant, sleep, sleep_until};

use crate::{cluster::at_root, function, invariants, kinds::COMPOSITE, provider, prow::playing::Prow};
use checker::{Invariant, Violation, judge, orphans};
use fault::Part;
use field::Field;
use lives::Life;
use plan::{End, Plan, Strike};
use world::{Expected, World};

/// The runs of every build: together they have every fault.
pub const SEEDS: [u64; 3] = [1, 2, 3];
/// How long the world may take to come to rest. Crossplane and provider-kubernetes try again at distances of a minute at most, and
/// what was made anew is collected half a minute after.
const REST: Duration = Duration::from_mins(4);
/// How often it is told what is waited for.
const TOLD: Duration = Duration::from_secs(30);
/// How often it is looked at meanwhile.
const LOOK: Duration = Duration::from_secs(2);

/// What was done so far.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    runs: usize,
    claims: usize,
    faults: BTreeMap<String, usize>,
    /// Programs that ended by themselves, and were started again.
    endings: BTreeMap<String, usize>,
    /// Composites that core forgot, and an administrator had to end.
    orphans: usize,
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
    /// What was done so far.
    pub counts: Counts,
}

impl Campaign {
    /// Starts everything that it needs.
    pub async fn start() -> anyhow::Result<Self> {
        let field = Box::pin(Field::start()).await?;
        let prow = Prow::start(field.engine.hub.cluster(), provider::SITE);
        Ok(Self { prow, field, counts: Counts::default() })
    }

    /// Makes the run of a seed. Fails with everything that was violated, and with how to do it again.
    pub async fn run(&mut self, seed: u64) -> anyhow::Result<()> {
        let plan = Plan::of(seed);
        let again =
            format!("cargo run --release -p testplatform-tests --bin campaign -- --seed {seed} --runs 1");
        eprintln!("seed {seed}; to do it again: {again}\n{plan}");
        let begun = Instant::now();
        let fought = tokio::select! {
            fought = fight(&self.field, &self.prow, &plan) => fought,
            ended = self.field.supervise() => ended.map(|never: Infallible| match never {}),
        };
        let violations =
            fought.with_context(|| format!("seed {seed} cannot be run; to try again: {again}"))?;
        self.count(&plan, &violations);
        if violations.is_empty() {
            eprintln!("seed {seed}: nothing is violated, {:.0?}", begun.elapsed());
            return Ok(());
        }
        let words: Vec<String> = violations.iter().map(ToString::to_string).collect();
        bail!(
            "seed {seed}: {} violations\n  {}\n{}\nto do it again: {again}",
            words.len(),
            words.join("\n  "),
            self.field.engine.words()
        )
    }

    fn count(&mut self, plan: &Plan, violations: &[Violation]) {
        self.counts.runs += 1;
        self.counts.claims += plan.wishes.len();
        self.counts.violations += violations.len();
        for strike in plan.sides.iter().flatten() {
            *self.counts.faults.entry(strike.fault.to_string()).or_default() += 1;
        }
        self.counts.orphans += self.field.orphans();
        for (part, _) in self.field.endings() {
            *self.counts.endings.entry(part.to_string()).or_default() += 1;
        }
    }
}

/// Everything of a run, from the first claim to the last trace of it.
async fn fight(field: &Field, prow: &Prow, plan: &Plan) -> anyhow::Result<Vec<Violation>> {
    let mut lives = Vec::new();
    for (number, wish) in plan.wishes.iter().enumerate() {
        lives.push(Life::prepare(&field.engine, prow, &format!("s{}-{number}", plan.seed), wish).await?);
    }
    let begun = Instant::now();
    let tenants = try_join_all(lives.iter().map(|life| life.live(begun, prow)));
    let strikes = try_join_all(plan.sides.iter().map(|side| strike(field, side, begun)));
    tokio::try_join!(tenants, strikes)?;
    eprintln!("  {:>8.1?} all is put right again", begun.elapsed());
    let mut expected: Vec<Expected> = lives.iter().map(Life::expected).collect();
    let mut violations = rest(field, &expected).await?;
    eprintln!("  {:>8.1?} at rest", begun.elapsed());

    for life in &lives {
        life.delete().await?;
    }
    for life in &mut expected {
        life.end = End::Deleted;
    }
    violations.extend(rest(field, &expected).await?);
    eprintln!("  {:>8.1?} nothing is left", begun.elapsed());
    for life in &lives {
        if let Err(error) = invariants::hold(&life.tenant, 1) {
            violations.push(Violation { of: Invariant::AllAlong, words: format!("{error:#}") });
        }
    }
    violations.extend(programs(field));
    violations.dedup();
    Ok(violations)
}

async fn strike(field: &Field, side: &[Strike], begun: Instant) -> anyhow::Result<()> {
    for Strike { at, fault, lasts } in side {
        sleep_until(begun + *at).await;
        let now = Instant::now();
        field.strike(*fault).await.with_context(|| format!("it cannot be done: {fault}"))?;
        // What took long to be done lasts shorter.
        sleep_until((now + *lasts).max(Instant::now() + Duration::from_millis(500))).await;
        field.heal(*fault).await.with_context(|| format!("it cannot be put right: {fault}"))?;
    }
    Ok(())
}

/// Waits until nothing is violated. What still is.
async fn rest(field: &Field, lives: &[Expected]) -> anyhow::Result<Vec<Violation>> {
    let begun = Instant::now();
    let mut told = begun;
    loop {
        let violations = look(field, lives).await;
        if violations.as_ref().is_ok_and(Vec::is_empty) || begun.elapsed() > REST {
            return violations;
        }
        if told.elapsed() > TOLD {
            told = Instant::now();
            eprintln!("  not yet at rest: {}", brief(&violations));
            end_orphans(field).await?;
        }
        sleep(LOOK).await;
    }
}

/// Ends what core forgot, as an administrator does. By now it has had its time.
async fn end_orphans(field: &Field) -> anyhow::Result<()> {
    let world = World::look(&field.engine).await?;
    for name in orphans(&world) {
        eprintln!("  core forgot composite {name} when it deleted its claim; it is ended by hand");
        field.engine.konflux.cluster().delete(&at_root(COMPOSITE, name)).await?;
        field.note_orphan(name);
    }
    Ok(())
}

/// What there is to wait for, in a line.
fn brief(violations: &anyhow::Result<Vec<Violation>>) -> String {
    match violations {
        Ok(violations) => {
            let first = violations.first().map(ToString::to_string).unwrap_or_default();
            format!("{} violations; {first}", violations.len())
        }
        Err(error) => format!("{error:#}"),
    }
}

/// What is violated as the world is now.
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
            Part::Provider => !words.contains("the lease was lost"),
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
        let log = std::fs::read(field.engine.nest().log(name)).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        if let Some(line) = log.lines().find(|line| line.contains("panicked at")) {
            violations.push(Violation { of: Invariant::Programs, words: format!("{name}: {line}") });
        }
    }
    violations
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let struck: usize = self.faults.values().sum();
        writeln!(
            f,
            "{} runs, {} claims, {struck} faults, {} violations",
            self.runs, self.claims, self.violations
        )?;
        for (fault, count) in &self.faults {
            writeln!(f, "  {count:>4} {fault}")?;
        }
        for (part, count) in &self.endings {
            writeln!(f, "  {count:>4} times {part} ended by itself and was started again")?;
        }
        if self.orphans > 0 {
            writeln!(
                f,
                "  {:>4} composites were forgotten by core with their claims and ended by hand",
                self.orphans
            )?;
        }
        Ok(())
    }
}
