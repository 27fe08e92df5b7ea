//! Every scenario, on one engine: real control planes, real Crossplane, real provider-kubernetes, the real function.
//!
//! Each has a tenant of its own, so they run side by side. On the hub the real
//! provider fulfils what is asked for; in those whose name ends in `_acted` an actor does, as the upstream controller
//! would, and by halves where that is the point. Where it begins with `hive_`, Hive gives clusters out of a pool; where it
//! begins with `hypershift_`, `cluster_api_`, `osac_` or `caas_`, HyperShift, Cluster API, OSAC or CaaS make them by a template, and
//! Cluster API does where it begins with `prerequisites_`. Those of several hubs share one more, which the first of them starts. In those
//! whose name ends in `_in_namespace` the tenant asks by a TestCluster in place of a claim. Those that begin with `real::` run on
//! the real controllers of the hub, on an engine of their own; without `real::` they run on the fakes.
//!
//! The quick tier has those scenarios that show something that only a real engine can; [`quick`] says what. `tests/SCENARIOS.md` lists them all.

mod bundles;
mod by_template;
mod byoc;
mod caas;
mod canary;
mod cleanup;
mod cloud_credential;
mod cluster_api;
mod cluster_api_autoscaled;
mod cluster_api_life;
mod credentials;
mod ctl;
mod cut_off;
mod deletion;
mod disturbed;
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
mod hub_policy;
mod hubs;
mod hypershift;
mod impostor;
mod job;
mod konflux_tasks;
mod life;
mod lost;
mod manners;
mod namespace_deletion;
mod namespaced;
mod orphaned;
mod osac;
mod our_definition;
mod prerequisites;
mod refused_deletion;
mod remote;
mod service_account;
mod space;
mod teardown;
mod templates;
mod unwatched;
mod versions;
mod ways;

use std::sync::Arc;

use libtest_mimic::Trial;

use self::ways::{
    HubControllers, Scenario, Way, acted, alone, both, charted, everywhere, hosted, in_namespace, long,
    on_either, on_real, order, pooled, quick, remotes, run, scenario, topology, undelivered, ways,
};
use crate::{
    harness::{Selection, Shared, Tier},
    table::Row,
};

/// First those that want to be alone, then those that wait longest, so that all end together.
const SCENARIOS: &[Scenario] = &[
    // First because nobody's time is taken in it: what has only just been started answers late.
    quick(
        "core calls the function without the EnvironmentConfig, and garbage collection deletes nothing",
        alone(scenario!(environment::environment_config_deleted_while_live)),
    ),
    // Alone because its time is taken.
    quick(
        "claim, composite, Objects, hub and connection Secret by server-side apply, with every controller in between",
        alone(everywhere(both(scenario!(happy::happy_path)))),
    ),
    quick(
        "Hive objects pass the hub's schemas, and the Secret of the hub reaches the tenant",
        alone(everywhere(pooled(scenario!(hive::hive_happy_path)))),
    ),
    quick(
        "HostedCluster and NodePools pass the schemas and CEL rules of HyperShift",
        alone(everywhere(hosted(scenario!(hypershift::hypershift_happy_path)))),
    ),
    quick(
        "core hands the changed EnvironmentConfig to passes of live claims, and nothing on the hub moves",
        alone(scenario!(environment::environment_config_changed_while_live)),
    ),
    quick(
        "core keeps every composed resource while the function is away",
        alone(scenario!(engine::function_down_for_a_while)),
    ),
    quick(
        "errors of provider-kubernetes become conditions, and end when the hub is back",
        alone(scenario!(engine::hub_unreachable_then_back)),
    ),
    // Alone because the hub's definition is another one meanwhile.
    quick(
        "an API server with our EphemeralCluster definition keeps our additive fields",
        alone(scenario!(our_definition::happy_path_on_our_definition)),
    ),
    alone(scenario!(our_definition::teardown_on_our_definition)),
    quick(
        "the same for the fields of a failure",
        alone(scenario!(our_definition::failure_on_our_definition)),
    ),
    // Alone because the definition of claims is another one meanwhile, and core is started anew.
    alone(scenario!(versions::rolled_back_and_forward)),
    // Alone because no space can reach its hub meanwhile, and because twenty claims at a time slow others down.
    alone(remotes(0, scenario!(namespace_deletion::twenty_spaces_deleted_while_the_hub_is_away))),
    alone(remotes(0, scenario!(namespace_deletion::twenty_spaces_deleted))),
    // Alone because the search would end the clusters of claims that others lose on purpose.
    alone(on_either(remotes(
        2,
        topology(scenario!(refused_deletion::cluster_api_deleted_while_a_change_is_refused)),
    ))),
    alone(everywhere(scenario!(namespace_deletion::twenty_deleted_while_provisioning))),
    alone(everywhere(scenario!(namespace_deletion::twenty_deleted_when_ready))),
    alone(everywhere(scenario!(namespace_deletion::twenty_deleted_while_the_hub_is_away))),
    // Alone because the search sees the clusters of all.
    alone(scenario!(orphaned::cluster_whose_claim_a_restore_lost)),
    // Short, because it may begin before those do, which wait until it has ended.
    quick(
        "names that core generates keep claims of two namespaces apart",
        scenario!(happy::two_claims_of_one_name),
    ),
    quick(
        "the search for secrets reads etcd, logs and audit, and finds what is planted in each",
        scenario!(canary::canary_planted),
    ),
    everywhere(scenario!(canary::canary_of_a_job)),
    everywhere(pooled(scenario!(canary::canary_of_a_pool))),
    scenario!(service_account::service_account_mode),
    pooled(scenario!(service_account::hive_service_account_mode)),
    hosted(scenario!(service_account::hypershift_service_account_mode)),
    // The longest, after a few short ones: a scenario that begins before one that is alone keeps it waiting, and all others with it.
    long(acted(scenario!(unwatched::watches_refused_and_the_hub_acts_alone))),
    remotes(2, hosted(scenario!(hub_away::hub_away_before_first_try))),
    remotes(3, hosted(scenario!(hub_away::hub_away_when_ready))),
    acted(scenario!(disturbed::change_refused_for_minutes)),
    remotes(2, hosted(scenario!(disturbed::hub_flaps))),
    acted(scenario!(disturbed::conditions_rewritten_each_second_for_a_minute)),
    hosted(scenario!(byoc::byoc_template_happy_path)),
    scenario!(unwatched::watches_refused_and_lifetime_reached),
    remotes(4, hosted(scenario!(hubs::hub_tells_its_limits))),
    remotes(10, hosted(scenario!(hubs::hubs_chosen_by_capacity_and_labels))),
    remotes(4, hosted(scenario!(hubs::hub_added_then_cordoned))),
    everywhere(hosted(scenario!(bundles::hypershift_bundles))),
    hosted(scenario!(bundles::hypershift_bundles_claim_deleted)),
    topology(scenario!(cloud_credential::cluster_api_cloud_credential)),
    everywhere(topology(scenario!(prerequisites::prerequisites_before_cluster))),
    topology(scenario!(prerequisites::prerequisites_of_another)),
    topology(scenario!(prerequisites::prerequisites_claim_deleted)),
    scenario!(manners::build_cluster_away),
    quick(
        "provider-kubernetes sends nothing to a server with another certificate",
        scenario!(impostor::impostor_of_the_hub),
    ),
    scenario!(impostor::impostor_of_the_hub_to_the_provider),
    scenario!(impostor::impostor_of_a_build_cluster),
    scenario!(hub_facts::mirrored_facts_follow_the_hub),
    remotes(0, scenario!(space::space_switched_over)),
    remotes(0, scenario!(space::space_token_replaced)),
    remotes(0, scenario!(space::space_deleted_in_order)),
    quick(
        "quotas, network policies and RBAC of a namespace on the hub hold for its tenant",
        remotes(0, scenario!(space::space_happy_path)),
    ),
    scenario!(unwatched::watches_refused),
    remotes(2, pooled(scenario!(hive_queue::hive_quota_reached))),
    remotes(3, pooled(scenario!(hive_queue::hive_full_hub_passed_over))),
    pooled(scenario!(hive_queue::hive_two_tenants_of_one_pool)),
    topology(scenario!(cluster_api::cluster_api_refused)),
    order(scenario!(osac::osac_degraded_and_recovered)),
    topology(scenario!(cluster_api::cluster_api_hub_away)),
    quick(
        "Cluster and its topology pass the schemas of Cluster API",
        everywhere(topology(scenario!(cluster_api::cluster_api_happy_path))),
    ),
    topology(scenario!(cluster_api::cluster_api_torn_down)),
    on_either(topology(scenario!(cluster_api::cluster_api_resized))),
    quick(
        "provider-kubernetes applies one change of the topology after the other",
        on_either(topology(scenario!(cluster_api::cluster_api_upgraded))),
    ),
    on_real(topology(scenario!(cluster_api_autoscaled::cluster_api_autoscaled))),
    on_either(topology(scenario!(cluster_api_life::cluster_api_life))),
    on_either(topology(scenario!(cluster_api_life::cluster_api_kubeconfig_renewed))),
    on_either(topology(scenario!(cluster_api_life::cluster_api_deleted_at_each_phase))),
    on_either(topology(scenario!(cluster_api_life::cluster_api_deleted_behind_our_back))),
    on_either(remotes(2, topology(scenario!(cluster_api_life::cluster_api_two_claims)))),
    everywhere(order(scenario!(osac::osac_happy_path))),
    order(scenario!(osac::osac_job_failed)),
    order(scenario!(osac::osac_resized)),
    order(scenario!(osac::osac_upgraded)),
    quick(
        "ClusterTemplateInstance passes its schema, and its Secret reaches the tenant",
        everywhere(charted(scenario!(caas::caas_happy_path))),
    ),
    charted(scenario!(caas::caas_neither_upgraded_nor_resized)),
    charted(scenario!(caas::caas_refused)),
    charted(scenario!(caas::caas_torn_down)),
    charted(scenario!(caas::caas_deleted_behind_our_back)),
    everywhere(hosted(scenario!(hypershift::hypershift_torn_down))),
    everywhere(hosted(scenario!(hypershift::hypershift_claim_deleted))),
    hosted(scenario!(hypershift::hypershift_deleted_behind_our_back)),
    hosted(scenario!(hypershift::hypershift_degraded_and_recovered)),
    hosted(scenario!(hypershift::hypershift_resized)),
    hosted(scenario!(hypershift::hypershift_upgraded)),
    remotes(2, hosted(scenario!(templates::hypershift_catalogue))),
    hosted(scenario!(templates::hypershift_version_retired)),
    quick(
        "field managers of the API server protect an object of somebody else",
        remotes(0, hosted(scenario!(templates::hypershift_name_taken))),
    ),
    topology(scenario!(templates::cluster_api_template_moved)),
    on_either(topology(scenario!(templates::cluster_api_moved_to_a_class_without_a_variable))),
    hosted(scenario!(lost::hypershift_writer_lost)),
    pooled(scenario!(hive::hive_torn_down)),
    pooled(scenario!(hive::hive_cluster_deleted_underneath)),
    pooled(scenario!(hive::hive_claim_deleted_when_ready)),
    remotes(2, pooled(scenario!(hive::hive_beside_ci_operator))),
    pooled(scenario!(hive_queue::hive_pool_deleted)),
    scenario!(hive_pools::hive_pool_by_the_clock),
    scenario!(hive_pools::hive_pool_from_git),
    scenario!(hive_pools::hive_pool_in_git_deleted),
    pooled(scenario!(hive_trouble::hive_assignment_conflict)),
    pooled(scenario!(hive_trouble::hive_deprovision_fails)),
    remotes(2, pooled(scenario!(hive_trouble::hive_back_to_ci_operator))),
    scenario!(hive_pools::hive_pool_scaled_by_others),
    pooled(scenario!(hive_trouble::hive_broken_installs)),
    pooled(scenario!(hive::hive_claim_deleted_on_the_hub)),
    pooled(scenario!(hive_queue::hive_torn_down_in_the_queue)),
    everywhere(pooled(scenario!(byoc::byoc_happy_path))),
    pooled(scenario!(byoc::byoc_claim_deleted_in_order)),
    pooled(scenario!(hive::hive_hibernated_and_resumed)),
    quick(
        "RBAC of the hub and of the tenant's namespace refuses every other Secret",
        pooled(scenario!(hive_rights::hive_secrets_out_of_reach)),
    ),
    scenario!(life::lifetime_reached),
    quick(
        "the owner's completion travels through claim and composite, as core copies annotations",
        scenario!(cleanup::cleanup_after_owner_completes),
    ),
    quick(
        "provider-kubernetes takes up a replaced credential while claims live",
        scenario!(engine::hub_credential_rotated),
    ),
    quick(
        "a TestCluster adopts the objects of a claim, and core's garbage collection leaves them alone",
        scenario!(handover::handed_over),
    ),
    quick(
        "claims of the incumbent's making live on under core with our Composition, and back",
        scenario!(versions::switch_over),
    ),
    acted(scenario!(credentials::secret_late)),
    remotes(2, acted(scenario!(remote::deleted_before_it_is_bound))),
    quick(
        "provider-kubernetes sees that its remote object is gone, and a watch tells core",
        everywhere(scenario!(remote::deleted_behind_our_back)),
    ),
    scenario!(deletion::claim_deleted_when_deprovisioned),
    scenario!(deletion::claim_deleted_before_the_hub_is_asked),
    quick(
        "core deletes in the order that finalizers ask for, and the hub ends first",
        everywhere(scenario!(deletion::claim_deleted_when_ready)),
    ),
    quick(
        "a namespace ends with the objects that controllers made in it, and the hub ends first",
        everywhere(scenario!(namespace_deletion::namespace_deleted_while_provisioning)),
    ),
    quick("the plugin runs kubectl against a real API server", scenario!(ctl::ctl_whole_life)),
    scenario!(ctl::ctl_trouble),
    quick(
        "core applies nothing that was never requested",
        scenario!(teardown::teardown_before_anything_exists),
    ),
    scenario!(teardown::teardown_before_the_hub_is_asked),
    scenario!(teardown::teardown_while_provisioning),
    quick(
        "the annotation reaches the hub before the Object goes, and the Secret is emptied by core",
        scenario!(teardown::teardown_when_ready),
    ),
    scenario!(teardown::teardown_after_the_job_failed),
    quick(
        "an object of another uid under the same name is noticed by what provider-kubernetes reports",
        acted(scenario!(remote::replaced_behind_our_back)),
    ),
    quick(
        "a failure travels from the ProwJob to events and conditions of the claim",
        scenario!(job::job_fails_before_ready),
    ),
    scenario!(job::job_fails_after_ready),
    scenario!(konflux_tasks::newest_tasks_end_well),
    scenario!(konflux_tasks::newest_tasks_end_before_a_cluster),
    scenario!(konflux_tasks::newest_tasks_fail_to_provision),
    scenario!(konflux_tasks::newest_tasks_fail_to_deprovision),
    scenario!(manners::signal_ignored),
    scenario!(manners::job_scheduled_late),
    scenario!(manners::namespace_named_late),
    scenario!(manners::credentials_filled_late),
    scenario!(manners::password_late),
    scenario!(manners::job_aborted_by_others_when_ready),
    scenario!(manners::job_deleted_by_others_when_ready),
    acted(scenario!(credentials::secret_half_filled)),
    remotes(3, undelivered(scenario!(credentials::secret_of_a_claim_taken))),
    undelivered(scenario!(credentials::secret_of_a_claim_over_quota)),
    quick(
        "core publishes connection details that change while the claim is ready",
        everywhere(scenario!(credentials::secret_rotated)),
    ),
    quick("core calls again when the TTL of the answer is over", scenario!(life::lifetime_extended)),
    quick(
        "the status subresource of an API server is written anew after a restore",
        scenario!(life::status_dropped),
    ),
    everywhere(scenario!(life::writer_lost)),
    quick(
        "a client's watch sees four conditions in an order that Konflux tasks can use",
        everywhere(both(scenario!(happy::consumer_contract))),
    ),
    quick(
        "names at the limits of the API server are accepted everywhere on the way",
        scenario!(happy::long_names),
    ),
    quick(
        "CEL rules in the definition that core derives from ours",
        in_namespace(scenario!(namespaced::rules_hold)),
    ),
    quick(
        "an API server's conflict keeps the Secret of somebody else",
        in_namespace(scenario!(namespaced::secret_taken)),
    ),
    in_namespace(scenario!(namespaced::secret_deleted_by_the_tenant)),
];

/// Trials of every way of every scenario.
pub fn trials(selection: &Selection) -> anyhow::Result<Vec<Trial>> {
    let (fake, real) = (Shared::new()?, Shared::new()?);
    let trial = |way: Way| {
        let shared = Arc::clone(match way.on {
            HubControllers::Fake => &fake,
            HubControllers::Real => &real,
        });
        let trial = move || shared.runtime.block_on(run(&shared, way));
        selection.trial(way.title(), way.tier, trial)
    };
    // Those on the real controllers come last: they wait until the other engine has ended.
    let (last, first): (Vec<Way>, Vec<Way>) =
        SCENARIOS.iter().flat_map(ways).partition(|way| way.on == HubControllers::Real);
    Ok(first.into_iter().chain(last).filter_map(trial).collect())
}

/// Every way of every scenario, for the table of them.
pub fn rows() -> Vec<Row> {
    let row =
        |way: Way| Row { name: way.title(), shows: way.scenario.shows.filter(|_| way.tier == Tier::Quick) };
    SCENARIOS.iter().flat_map(ways).map(row).collect()
}
