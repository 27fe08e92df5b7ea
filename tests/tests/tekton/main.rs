//! The Tekton Tasks and the Pipeline of `examples/tekton`: their scripts, taken out of the YAML, run with bash, jq and
//! kubectl against claims on the real engine, with the rights that Konflux gives to pipelines. Tekton is played, but
//! what it would refuse is asked of its own code.
//!
//! `cargo test -p testplatform-tests --test tekton NAME` runs those whose name contains NAME.

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

use std::{
    pin::Pin,
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use libtest_mimic::{Arguments, Failed, Trial};
use stage::{Stage, Tools};
use testplatform_tests::{binaries::Binaries, crossplane::Engine, trials::Trials};
use tokio::{runtime::Runtime, sync::OnceCell};

/// They mostly wait.
const AT_ONCE: usize = 6;
/// How long one may take before it counts as hung.
const PATIENCE: Duration = Duration::from_mins(5);

type Outcome<'t> = Pin<Box<dyn Future<Output = anyhow::Result<()>> + Send + 't>>;

#[derive(Clone, Copy)]
struct Scenario {
    name: &'static str,
    run: for<'t> fn(&'t Stage<'t>) -> Outcome<'t>,
}

macro_rules! scenario {
    ($module:ident::$name:ident) => {
        Scenario { name: stringify!($name), run: |stage| Box::pin($module::$name(stage)) }
    };
}

const SCENARIOS: &[Scenario] = &[
    scenario!(provision::becomes_ready),
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
    scenario!(interrupted::watches_end),
    scenario!(interrupted::server_away),
    scenario!(interrupted::answer_lost),
    scenario!(interrupted::not_about_the_claim),
    scenario!(deprovision::ends_well),
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
    scenario!(pipeline::green),
    scenario!(pipeline::red),
    scenario!(pipeline::no_cluster),
    scenario!(pipeline::no_claim),
    scenario!(shape::needs_its_tools),
    scenario!(shape::rights_end_at_status),
];

type Check = fn() -> anyhow::Result<()>;

/// What needs no engine.
const CHECKS: &[(&str, Check)] = &[
    ("tekton_accepts", shape::tekton_accepts),
    ("scripts_hold_no_variables", shape::scripts_hold_no_variables),
    ("everything_declared_is_used", shape::everything_declared_is_used),
    ("parameters_of_the_konflux_tasks", shape::parameters_of_the_konflux_tasks),
    ("every_task_has_its_time", shape::every_task_has_its_time),
    ("one_image", shape::one_image),
    ("guide_tells_all", shape::guide_tells_all),
];

/// Started by the first scenario that runs. An error is kept as its text, for all that come after.
struct Session {
    runtime: Runtime,
    engine: OnceCell<Result<(Engine, Tools), String>>,
    trials: Trials,
}

async fn start() -> anyhow::Result<(Engine, Tools)> {
    let begun = Instant::now();
    let engine = Box::pin(Engine::start_without_provider(&|_| ())).await?;
    let tools = Tools::new(engine.nest(), &Binaries::ensure()?.kubectl)?;
    stage::know_pipeline_runs(engine.konflux.cluster()).await?;
    eprintln!("engine: {:.1} s", begun.elapsed().as_secs_f32());
    Ok((engine, tools))
}

impl Session {
    async fn run(&self, scenario: &Scenario) -> Result<(), Failed> {
        let start = async || start().await.map_err(|error| format!("{error:#}"));
        let (engine, tools) = self.engine.get_or_init(start).await.as_ref().map_err(Failed::from)?;
        let stage = OnceCell::new();
        let tried = async {
            let begun = async || Stage::new(engine, tools, &scenario.name.replace('_', "-")).await;
            (scenario.run)(stage.get_or_try_init(begun).await?).await?;
            engine.check()
        };
        let Err(error) = self.trials.run(scenario.name, PATIENCE, tried).await else { return Ok(()) };
        let story = match stage.get() {
            Some(stage) => stage.tenant.story().await,
            None => String::new(),
        };
        // Last, where it is found also in an excerpt.
        Err(format!("{story}\n{}\n{error:#}", engine.words()).into())
    }
}

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(AT_ONCE);
    let runtime = match Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("cannot start the runtime: {error}");
            return ExitCode::FAILURE;
        }
    };
    let session = Arc::new(Session { runtime, engine: OnceCell::new(), trials: Trials::default() });
    let checks = CHECKS.iter().map(|(name, check)| {
        Trial::test(*name, move || check().map_err(|error| Failed::from(format!("{error:#}"))))
    });
    let scenarios = SCENARIOS.iter().map(|scenario| {
        let session = Arc::clone(&session);
        Trial::test(scenario.name, move || session.runtime.block_on(session.run(scenario)))
    });
    let conclusion = libtest_mimic::run(&arguments, checks.chain(scenarios).collect());
    conclusion.exit_code()
}
