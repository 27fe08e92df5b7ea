//! Every scenario, on one engine: real control planes, real Crossplane, real provider-kubernetes, the real function.
//!
//! Each has a tenant of its own, so they run side by side. `cargo test -p testplatform-tests --test scenarios NAME`
//! runs those whose name contains NAME, with `--ignored` those that take a quarter of an hour or are much like another, and with
//! `--include-ignored` all. On the hub the real
//! provider fulfils what is asked for; in those whose name ends in `_acted` an actor does, as the upstream controller
//! would, and by halves where that is the point. Where it begins with `hive_`, Hive gives clusters out of a pool; where it
//! begins with `hypershift_`, `cluster_api_`, `osac_` or `caas_`, HyperShift, Cluster API, OSAC or CaaS make them by a template, and
//! Cluster API does where it begins with `prerequisites_`. Those of several hubs share one more, which the first of them starts. In those
//! whose name ends in `_in_namespace` the tenant asks by a TestCluster in place of a claim.

mod bundles;
mod by_template;
mod byoc;
mod caas;
mod canary;
mod cleanup;
mod cloud_credential;
mod cluster_api;
mod credentials;
mod ctl;
mod cut_off;
mod deletion;
mod engine;
mod environment;
mod guide;
mod handover;
mod happy;
mod hive;
mod hive_pools;
mod hive_queue;
mod hive_rights;
mod hive_trouble;
mod hub_away;
mod hub_facts;
mod hubs;
mod hypershift;
mod impostor;
mod job;
mod life;
mod lost;
mod manners;
mod namespaced;
mod osac;
mod our_definition;
mod prerequisites;
mod remote;
mod service_account;
mod space;
mod teardown;
mod templates;
mod unwatched;
mod versions;

use std::{
    pin::Pin,
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use libtest_mimic::{Arguments, Failed, Trial};
use testplatform_tests::{
    actors::{Fulfilled, now},
    crossplane::Engine,
    flavour::Flavour,
    invariants,
    patience::is_late,
    settings::not_run,
    tenant::Tenant,
    trials::Trials,
};
use tokio::{
    runtime::Runtime,
    sync::{OnceCell, RwLock},
};

/// They mostly wait: with eight, half of two cores had nothing to do; with fourteen, nothing was left for what has to be in time.
const AT_ONCE: usize = 10;
/// How long one may take before it counts as hung.
const PATIENCE: Duration = Duration::from_mins(10);

const DAY: i64 = 24 * 60 * 60;

type Outcome<'t> = Pin<Box<dyn Future<Output = anyhow::Result<()>> + Send + 't>>;

#[derive(Clone, Copy)]
struct Scenario {
    name: &'static str,
    run: for<'t> fn(&'t Tenant<'t>) -> Outcome<'t>,
    /// How many remote objects there may be in its course.
    remotes: usize,
    /// Whether it does something that others would notice.
    alone: bool,
    /// Who fulfils what it asks for. It runs once with each.
    by: &'static [Fulfilled],
    /// Whether it takes a quarter of an hour, and runs only where that is asked for.
    long: bool,
    /// How its tenant asks. It runs once with each.
    asking: &'static [Flavour],
    /// Whether in all ways but the first it runs only where that is asked for: it takes long, and others show how those ways differ.
    first_way: bool,
    /// Whether it runs only [`When::IfTime`], as any does in all ways but the first, unless it is alone.
    if_time: bool,
}

macro_rules! scenario {
    ($module:ident::$name:ident) => {
        Scenario {
            name: stringify!($name),
            run: |tenant| Box::pin($module::$name(tenant)),
            remotes: 1,
            alone: false,
            by: &[Fulfilled::ByProvider],
            long: false,
            asking: &[Flavour::Claim],
            first_way: false,
            if_time: false,
        }
    };
}

const fn remotes(remotes: usize, scenario: Scenario) -> Scenario {
    Scenario { remotes, ..scenario }
}

const fn acted(scenario: Scenario) -> Scenario {
    Scenario { by: &[Fulfilled::ByActor], ..scenario }
}

const fn both(scenario: Scenario) -> Scenario {
    Scenario { by: &[Fulfilled::ByProvider, Fulfilled::ByActor], ..scenario }
}

const fn pooled(scenario: Scenario) -> Scenario {
    Scenario { by: &[Fulfilled::ByHive], ..scenario }
}

const fn hosted(scenario: Scenario) -> Scenario {
    Scenario { by: &[Fulfilled::ByHyperShift], ..scenario }
}

const fn topology(scenario: Scenario) -> Scenario {
    Scenario { by: &[Fulfilled::ByClusterApi], ..scenario }
}

const fn order(scenario: Scenario) -> Scenario {
    Scenario { by: &[Fulfilled::ByOsac], ..scenario }
}

const fn charted(scenario: Scenario) -> Scenario {
    Scenario { by: &[Fulfilled::ByCaas], ..scenario }
}

const fn alone(scenario: Scenario) -> Scenario {
    Scenario { alone: true, ..scenario }
}

/// Where an actor fulfils it, only a claim asks: the Composition for actors is one of claims.
const fn everywhere(scenario: Scenario) -> Scenario {
    Scenario { asking: &[Flavour::Claim, Flavour::TestCluster], ..scenario }
}

const fn in_namespace(scenario: Scenario) -> Scenario {
    Scenario { asking: &[Flavour::TestCluster], ..scenario }
}

const fn first_way(scenario: Scenario) -> Scenario {
    Scenario { first_way: true, ..scenario }
}

const fn if_time(scenario: Scenario) -> Scenario {
    Scenario { if_time: true, ..scenario }
}

const fn long(scenario: Scenario) -> Scenario {
    Scenario { long: true, ..scenario }
}

/// First those that want to be alone, then those that wait longest, so that all end together. Those that are [`When::IfTime`] come after all others.
const SCENARIOS: &[Scenario] = &[
    // First because nobody's time is taken in it: what has only just been started answers late.
    alone(everywhere(scenario!(environment::environment_config_deleted_while_live))),
    // Alone because its time is taken.
    alone(everywhere(both(scenario!(happy::happy_path)))),
    alone(everywhere(pooled(scenario!(hive::hive_happy_path)))),
    alone(everywhere(hosted(scenario!(hypershift::hypershift_happy_path)))),
    alone(scenario!(environment::environment_config_changed_while_live)),
    alone(scenario!(engine::function_down_for_a_while)),
    alone(scenario!(engine::hub_unreachable_then_back)),
    // Alone because the hub's definition is another one meanwhile.
    alone(scenario!(our_definition::happy_path_on_our_definition)),
    alone(scenario!(our_definition::teardown_on_our_definition)),
    alone(scenario!(our_definition::failure_on_our_definition)),
    // Alone because the definition of claims is another one meanwhile, and core is started anew.
    alone(scenario!(versions::rolled_back_and_forward)),
    // Short, because it may begin before those do, which wait until it has ended.
    everywhere(scenario!(happy::two_claims_of_one_name)),
    remotes(2, hosted(scenario!(hub_away::hub_away_before_first_try))),
    remotes(3, hosted(scenario!(hub_away::hub_away_when_ready))),
    if_time(remotes(4, hosted(scenario!(hubs::hub_tells_its_limits)))),
    remotes(10, hosted(scenario!(hubs::hubs_chosen_by_capacity_and_labels))),
    if_time(remotes(4, hosted(scenario!(hubs::hub_added_then_cordoned)))),
    scenario!(canary::canary_planted),
    first_way(everywhere(scenario!(canary::canary_of_a_job))),
    first_way(everywhere(pooled(scenario!(canary::canary_of_a_pool)))),
    scenario!(service_account::service_account_mode),
    if_time(pooled(scenario!(service_account::hive_service_account_mode))),
    if_time(first_way(everywhere(hosted(scenario!(service_account::hypershift_service_account_mode))))),
    first_way(everywhere(hosted(scenario!(bundles::hypershift_bundles)))),
    if_time(hosted(scenario!(bundles::hypershift_bundles_claim_deleted))),
    first_way(everywhere(topology(scenario!(cloud_credential::cluster_api_cloud_credential)))),
    first_way(everywhere(topology(scenario!(prerequisites::prerequisites_before_cluster)))),
    if_time(topology(scenario!(prerequisites::prerequisites_of_another))),
    if_time(topology(scenario!(prerequisites::prerequisites_claim_deleted))),
    scenario!(manners::build_cluster_away),
    scenario!(impostor::impostor_of_the_hub),
    scenario!(impostor::impostor_of_the_hub_to_the_provider),
    if_time(scenario!(impostor::impostor_of_a_build_cluster)),
    long(acted(scenario!(unwatched::watches_refused_and_the_hub_acts_alone))),
    scenario!(unwatched::watches_refused_and_lifetime_reached),
    scenario!(hub_facts::mirrored_facts_follow_the_hub),
    remotes(0, scenario!(space::space_switched_over)),
    remotes(0, scenario!(space::space_token_replaced)),
    remotes(0, scenario!(space::space_deleted_in_order)),
    remotes(0, scenario!(space::space_happy_path)),
    if_time(scenario!(unwatched::watches_refused)),
    if_time(hosted(scenario!(hypershift::hypershift_refused))),
    remotes(2, pooled(scenario!(hive_queue::hive_quota_reached))),
    if_time(remotes(3, pooled(scenario!(hive_queue::hive_full_hub_passed_over)))),
    if_time(pooled(scenario!(hive_queue::hive_two_tenants_of_one_pool))),
    topology(scenario!(cluster_api::cluster_api_refused)),
    if_time(charted(scenario!(caas::caas_failed))),
    topology(scenario!(cluster_api::cluster_api_degraded_and_recovered)),
    if_time(charted(scenario!(caas::caas_degraded_and_recovered))),
    if_time(order(scenario!(osac::osac_degraded_and_recovered))),
    if_time(topology(scenario!(cluster_api::cluster_api_hub_away))),
    charted(scenario!(caas::caas_hub_away)),
    if_time(order(scenario!(osac::osac_hub_away))),
    first_way(everywhere(topology(scenario!(cluster_api::cluster_api_happy_path)))),
    if_time(first_way(everywhere(topology(scenario!(cluster_api::cluster_api_torn_down))))),
    topology(scenario!(cluster_api::cluster_api_deleted_behind_our_back)),
    if_time(topology(scenario!(cluster_api::cluster_api_resized))),
    if_time(topology(scenario!(cluster_api::cluster_api_upgraded))),
    first_way(everywhere(order(scenario!(osac::osac_happy_path)))),
    if_time(order(scenario!(osac::osac_job_failed))),
    if_time(order(scenario!(osac::osac_resized))),
    if_time(order(scenario!(osac::osac_upgraded))),
    if_time(order(scenario!(osac::osac_deleted_behind_our_back))),
    first_way(everywhere(charted(scenario!(caas::caas_happy_path)))),
    if_time(charted(scenario!(caas::caas_neither_upgraded_nor_resized))),
    if_time(charted(scenario!(caas::caas_refused))),
    if_time(charted(scenario!(caas::caas_torn_down))),
    charted(scenario!(caas::caas_deleted_behind_our_back)),
    first_way(everywhere(hosted(scenario!(hypershift::hypershift_torn_down)))),
    first_way(everywhere(hosted(scenario!(hypershift::hypershift_claim_deleted)))),
    if_time(hosted(scenario!(hypershift::hypershift_deleted_behind_our_back))),
    if_time(hosted(scenario!(hypershift::hypershift_degraded_and_recovered))),
    if_time(hosted(scenario!(hypershift::hypershift_resized))),
    hosted(scenario!(hypershift::hypershift_upgraded)),
    if_time(hosted(scenario!(hypershift::hypershift_kubeconfig_rotated))),
    if_time(remotes(2, hosted(scenario!(templates::hypershift_catalogue)))),
    if_time(remotes(2, hosted(scenario!(templates::hypershift_quota_reached)))),
    hosted(scenario!(templates::hypershift_version_retired)),
    remotes(0, hosted(scenario!(templates::hypershift_name_taken))),
    topology(scenario!(templates::cluster_api_template_moved)),
    first_way(everywhere(hosted(scenario!(lost::hypershift_writer_lost)))),
    if_time(topology(scenario!(lost::cluster_api_writer_lost))),
    if_time(charted(scenario!(lost::caas_writer_lost))),
    if_time(order(scenario!(lost::osac_writer_lost))),
    first_way(everywhere(pooled(scenario!(hive::hive_torn_down)))),
    if_time(pooled(scenario!(hive::hive_lifetime_ended_by_hive))),
    if_time(pooled(scenario!(hive::hive_cluster_deleted_underneath))),
    everywhere(pooled(scenario!(hive::hive_claim_deleted_when_ready))),
    if_time(remotes(2, pooled(scenario!(hive::hive_beside_ci_operator)))),
    pooled(scenario!(hive_queue::hive_pool_deleted)),
    if_time(scenario!(hive_pools::hive_pool_by_the_clock)),
    scenario!(hive_pools::hive_pool_from_git),
    if_time(scenario!(hive_pools::hive_pool_in_git_deleted)),
    if_time(pooled(scenario!(hive_trouble::hive_assignment_conflict))),
    if_time(pooled(scenario!(hive_trouble::hive_deprovision_fails))),
    if_time(remotes(2, pooled(scenario!(hive_trouble::hive_back_to_ci_operator)))),
    scenario!(hive_pools::hive_pool_scaled_by_others),
    if_time(pooled(scenario!(hive_trouble::hive_broken_installs))),
    if_time(remotes(2, pooled(scenario!(hive_queue::hive_claim_vanished_in_the_queue)))),
    if_time(pooled(scenario!(hive::hive_claim_deleted_on_the_hub))),
    if_time(pooled(scenario!(hive_queue::hive_torn_down_in_the_queue))),
    first_way(everywhere(pooled(scenario!(byoc::byoc_happy_path)))),
    if_time(pooled(scenario!(byoc::byoc_claim_deleted_in_order))),
    if_time(first_way(everywhere(hosted(scenario!(byoc::byoc_template_happy_path))))),
    pooled(scenario!(hive::hive_hibernated_and_resumed)),
    if_time(pooled(scenario!(hive::hive_kubeconfig_rotated))),
    pooled(scenario!(hive_rights::hive_secrets_out_of_reach)),
    if_time(remotes(2, acted(scenario!(remote::deleted_twice_before_it_is_bound)))),
    first_way(everywhere(both(scenario!(life::lifetime_reached)))),
    scenario!(cleanup::cleanup_after_owner_completes),
    if_time(scenario!(engine::hub_credential_rotated)),
    scenario!(handover::handed_over),
    scenario!(versions::switch_over),
    acted(scenario!(credentials::secret_late)),
    if_time(remotes(2, acted(scenario!(remote::deleted_before_it_is_bound)))),
    if_time(scenario!(remote::deleted_while_provisioning)),
    first_way(everywhere(scenario!(remote::deleted_behind_our_back))),
    if_time(scenario!(remote::deleted_while_deprovisioning)),
    if_time(scenario!(deletion::claim_deleted_when_deprovisioned)),
    scenario!(deletion::claim_deleted_before_the_hub_is_asked),
    if_time(acted(scenario!(deletion::claim_deleted_before_the_hub_takes_it_up))),
    first_way(everywhere(both(scenario!(deletion::claim_deleted_while_provisioning)))),
    everywhere(both(scenario!(deletion::claim_deleted_when_ready))),
    first_way(both(scenario!(deletion::claim_deleted_while_deprovisioning))),
    scenario!(deletion::claim_deleted_when_failed),
    scenario!(ctl::ctl_whole_life),
    scenario!(ctl::ctl_trouble),
    scenario!(teardown::teardown_before_anything_exists),
    scenario!(teardown::teardown_before_the_hub_is_asked),
    if_time(acted(scenario!(teardown::teardown_before_the_hub_takes_it_up))),
    first_way(everywhere(both(scenario!(teardown::teardown_while_provisioning)))),
    everywhere(both(scenario!(teardown::teardown_when_ready))),
    if_time(acted(scenario!(teardown::teardown_while_deprovisioning))),
    first_way(both(scenario!(teardown::teardown_after_the_job_failed))),
    scenario!(teardown::teardown_after_the_provision_timeout),
    if_time(acted(scenario!(remote::replaced_before_it_is_bound))),
    if_time(acted(scenario!(remote::replaced_while_provisioning))),
    acted(scenario!(remote::replaced_behind_our_back)),
    if_time(acted(scenario!(remote::replaced_while_deprovisioning))),
    first_way(both(scenario!(job::job_fails_before_ready))),
    first_way(everywhere(both(scenario!(job::job_fails_after_ready)))),
    if_time(scenario!(manners::signal_ignored)),
    if_time(scenario!(manners::job_scheduled_late)),
    if_time(scenario!(manners::namespace_late)),
    if_time(scenario!(manners::namespace_named_late)),
    if_time(scenario!(manners::credentials_filled_late)),
    if_time(scenario!(manners::password_late)),
    if_time(scenario!(manners::job_aborted_by_others)),
    if_time(scenario!(manners::job_aborted_by_others_when_ready)),
    if_time(scenario!(manners::job_deleted_by_others)),
    if_time(scenario!(manners::job_deleted_by_others_when_ready)),
    if_time(acted(scenario!(credentials::secret_half_filled))),
    first_way(everywhere(both(scenario!(credentials::secret_rotated)))),
    scenario!(life::lifetime_extended),
    first_way(everywhere(both(scenario!(life::status_dropped)))),
    first_way(everywhere(scenario!(life::writer_lost))),
    everywhere(both(scenario!(happy::consumer_contract))),
    scenario!(happy::long_names),
    in_namespace(scenario!(namespaced::rules_hold)),
    in_namespace(scenario!(namespaced::secret_taken)),
    in_namespace(scenario!(namespaced::secret_deleted_by_the_tenant)),
];

/// When a way of a scenario runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    Always,
    /// After all others, and only while there is time ([`is_late`]): those show nearly as much.
    IfTime,
    /// Where somebody asks for it.
    Asked,
}

/// One of the ways in which a scenario runs.
#[derive(Clone, Copy)]
struct Way {
    scenario: &'static Scenario,
    by: Fulfilled,
    asking: Flavour,
    when: When,
}

impl Way {
    fn name(self) -> String {
        let name = self.scenario.name;
        let acted = match self.by {
            Fulfilled::ByProvider
            | Fulfilled::ByHive
            | Fulfilled::ByHyperShift
            | Fulfilled::ByClusterApi
            | Fulfilled::ByOsac
            | Fulfilled::ByCaas => "",
            Fulfilled::ByActor | Fulfilled::ByActorAlone => "_acted",
        };
        format!("{name}{acted}{}", self.asking.suffix())
    }
}

/// All that there are of a scenario.
fn ways(scenario: &'static Scenario) -> Vec<Way> {
    let all = scenario.by.iter().flat_map(|by| scenario.asking.iter().map(move |asking| (*by, *asking)));
    let legal = |way: &(Fulfilled, Flavour)| {
        !matches!(way, (Fulfilled::ByActor | Fulfilled::ByActorAlone, Flavour::TestCluster))
    };
    let ways = all.filter(legal).enumerate().map(|(nth, (by, asking))| {
        let when = if scenario.long || (scenario.first_way && nth > 0) {
            When::Asked
        } else if scenario.if_time || (nth > 0 && !scenario.alone) {
            When::IfTime
        } else {
            When::Always
        };
        Way { scenario, by, asking, when }
    });
    ways.collect()
}

/// Started by the first scenario that runs. An error is kept as its text, for all that come after.
struct Session {
    runtime: Runtime,
    engine: OnceCell<Result<Engine, String>>,
    quiet: RwLock<()>,
    trials: Trials,
}

impl Session {
    async fn run(&self, way: Way) -> Result<(), Failed> {
        let Way { scenario, by, asking, when } = way;
        let start = async || {
            let begun = Instant::now();
            let engine = Engine::start().await.map_err(|error| format!("{error:#}"));
            eprintln!("engine: {:.1} s", begun.elapsed().as_secs_f32());
            engine
        };
        let engine = self.engine.get_or_init(start).await.as_ref().map_err(Failed::from)?;
        let (_alone, _shared) = if scenario.alone {
            (Some(self.quiet.write().await), None)
        } else {
            (None, Some(self.quiet.read().await))
        };
        let name = way.name();
        if when == When::IfTime && is_late() {
            not_run(&name, "for want of time; `--test scenarios NAME` runs it");
            return Ok(());
        }
        let tenant = OnceCell::new();
        let tried = async {
            let begun = async || {
                let tenant = Tenant::new(engine, &name.replace('_', "-"), by).await?;
                anyhow::Ok(tenant.asking(asking))
            };
            let tenant: &Tenant<'_> = tenant.get_or_try_init(begun).await?;
            (scenario.run)(tenant).await?;
            invariants::hold(tenant, scenario.remotes)?;
            engine.check()?;
            tenant.leave().await
        };
        let patience = if scenario.long { 4 * PATIENCE } else { PATIENCE };
        let Err(error) = self.trials.run(&name, patience, tried).await else { return Ok(()) };
        let story = match tenant.get() {
            Some(tenant) => tenant.story().await,
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
    let session = Arc::new(Session {
        runtime,
        engine: OnceCell::new(),
        quiet: RwLock::new(()),
        trials: Trials::default(),
    });
    let (mut more, first): (Vec<_>, Vec<_>) =
        SCENARIOS.iter().flat_map(ways).partition(|way| way.when == When::IfTime);
    // Where time is short, these are others every day.
    let day = usize::try_from(now().as_second() / DAY).unwrap_or_default();
    let turn = day % more.len().max(1);
    more.rotate_left(turn);
    let all = [first, more].concat();
    if !arguments.ignored && !arguments.include_ignored && arguments.filter.is_none() {
        let left = all.iter().filter(|way| way.when == When::Asked).count();
        let what = format!("{left} scenarios that are long or much like another");
        not_run(&what, "`--test scenarios -- --ignored` runs them");
    }
    let trials = all.into_iter().map(|way| {
        let session = Arc::clone(&session);
        let run = move || session.runtime.block_on(session.run(way));
        Trial::test(way.name(), run).with_ignored_flag(way.when == When::Asked)
    });
    let conclusion = libtest_mimic::run(&arguments, trials.collect());
    conclusion.exit_code()
}
