//! The Tekton Tasks and the Pipeline of `examples/tekton`: their scripts, taken out of the YAML, run with bash, jq and
//! kubectl against claims on the real engine, with the rights that Konflux gives to pipelines. Tekton is played, but
//! what it would refuse is asked of its own code.
//!
//! They have an engine of their own, on whose hub no provider is: an actor fulfils every request.

mod call;
mod collect;
mod credentials;
mod deprovision;
mod files;
mod interrupted;
mod pipeline;
mod provision;
mod shape;
mod stage;
mod variables;

use std::{sync::Arc, time::Duration};

use libtest_mimic::{Failed, Trial};
use stage::{Stage, Tools};
use testplatform_tests::{binaries::Binaries, crossplane::Engine};
use tokio::sync::OnceCell;

use crate::{
    harness::{Outcome, Selection, Shared, Tier, repeat},
    table::Row,
};

/// Limit for one of them before it counts as hung.
const TIMEOUT: Duration = Duration::from_mins(5);

#[derive(Clone, Copy)]
struct Scenario {
    name: &'static str,
    run: for<'t> fn(&'t Stage<'t>) -> Outcome<'t>,
    /// Why it is in the quick tier: what only a real engine shows.
    shows: Option<&'static str>,
}

impl Scenario {
    fn title(&self) -> String {
        format!("tekton::{}", self.name)
    }

    const fn tier(&self) -> Tier {
        if self.shows.is_some() { Tier::Quick } else { Tier::Whole }
    }
}

macro_rules! scenario {
    ($module:ident::$name:ident) => {
        Scenario { name: stringify!($name), run: |stage| Box::pin($module::$name(stage)), shows: None }
    };
}

/// A scenario of the quick tier.
const fn quick(shows: &'static str, scenario: Scenario) -> Scenario {
    Scenario { shows: Some(shows), ..scenario }
}

const SCENARIOS: &[Scenario] = &[
    quick(
        "kubectl wait and watch of the Task against a real API server, until the Secret is there",
        scenario!(provision::becomes_ready),
    ),
    scenario!(provision::another_has_the_secret),
    scenario!(provision::words_are_data),
    scenario!(provision::bad_parameters),
    scenario!(provision::refused_by_the_hub),
    scenario!(provision::not_in_time),
    scenario!(provision::cancelled),
    scenario!(provision::claim_deleted_meanwhile),
    scenario!(provision::ended_by_somebody_else),
    scenario!(provision::asked_again),
    scenario!(provision::owner_deleted),
    scenario!(provision::cleaned_up_after_its_run),
    quick("a watch that an API server ends is begun again", scenario!(interrupted::watches_end)),
    scenario!(interrupted::server_away),
    scenario!(interrupted::answer_lost),
    scenario!(interrupted::not_about_the_claim),
    quick(
        "the Task's change to a live claim travels to the hub, and what comes back ends its watch",
        scenario!(deprovision::ends_well),
    ),
    scenario!(deprovision::ends_badly),
    scenario!(deprovision::leaves_something),
    scenario!(deprovision::ended_by_itself),
    scenario!(deprovision::nothing_there),
    scenario!(deprovision::not_in_time_either),
    scenario!(deprovision::without_waiting),
    scenario!(deprovision::deleted_while_waiting),
    scenario!(deprovision::refused_for_good),
    scenario!(collect::after_a_failure),
    scenario!(collect::while_it_is_ready),
    scenario!(credentials::written_as_files),
    scenario!(credentials::secrets_copied),
    quick("all Tasks of the Pipeline, one after the other, on one claim", scenario!(pipeline::green)),
    scenario!(pipeline::red),
    scenario!(pipeline::no_cluster),
    scenario!(pipeline::no_claim),
    scenario!(shape::needs_its_tools),
    quick(
        "RBAC of Konflux lets pipelines do what the Tasks do, and refuses the status subresource",
        scenario!(shape::rights_end_at_status),
    ),
];

type Check = fn() -> anyhow::Result<()>;

/// Checks that need no engine.
const CHECKS: &[(&str, Check)] = &[
    ("tekton_accepts", shape::tekton_accepts),
    ("scripts_hold_no_variables", shape::scripts_hold_no_variables),
    ("everything_declared_is_used", shape::everything_declared_is_used),
    ("parameters_of_the_konflux_tasks", shape::parameters_of_the_konflux_tasks),
    ("every_task_has_its_time", shape::every_task_has_its_time),
    ("one_image", shape::one_image),
    ("guide_tells_all", shape::guide_tells_all),
];

async fn start() -> anyhow::Result<(Engine, Tools)> {
    let engine = Box::pin(Engine::start_without_provider(&|_| ())).await?;
    let tools = Tools::new(engine.nest(), &Binaries::ensure()?.kubectl)?;
    stage::know_pipeline_runs(engine.konflux.cluster()).await?;
    Ok((engine, tools))
}

async fn run(shared: &Shared<(Engine, Tools)>, scenario: &Scenario) -> Result<(), Failed> {
    let (engine, tools) = shared.engine(start).await?;
    let stage = OnceCell::new();
    let tried = async {
        let begun = async || Stage::new(engine, tools, &scenario.name.replace('_', "-")).await;
        (scenario.run)(stage.get_or_try_init(begun).await?).await?;
        engine.check()
    };
    let Err(error) = shared.trials.run(scenario.name, TIMEOUT, tried).await else { return Ok(()) };
    let story = match stage.get() {
        Some(stage) => stage.tenant.story().await,
        None => String::new(),
    };
    let again = repeat(&scenario.title());
    // The error is last, where it is found also in an excerpt.
    Err(format!("{story}\n{}\n{again}\n{error:#}", engine.words()).into())
}

/// Trials of all of them.
pub fn trials(selection: &Selection) -> anyhow::Result<Vec<Trial>> {
    let shared = Shared::new()?;
    let checks = CHECKS.iter().filter_map(|(name, check)| {
        let run = move || check().map_err(|error| Failed::from(format!("{error:#}")));
        selection.trial(format!("tekton::{name}"), Tier::Quick, run)
    });
    let scenarios = SCENARIOS.iter().filter_map(|scenario| {
        let shared = Arc::clone(&shared);
        let trial = move || shared.runtime.block_on(run(&shared, scenario));
        selection.trial(scenario.title(), scenario.tier(), trial)
    });
    Ok(checks.chain(scenarios).collect())
}

/// Every scenario, for the table of them.
pub fn rows() -> Vec<Row> {
    SCENARIOS.iter().map(|scenario| Row { name: scenario.title(), shows: scenario.shows }).collect()
}
