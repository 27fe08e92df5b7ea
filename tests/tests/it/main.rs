//! Tests with control planes, engines and whole programs, in one program.
//!
//! `cargo test -p testplatform-tests --test it` runs the quick tier, `cargo whole` everything, and a name behind it those cases whose
//! name contains it:
//!
//! - `scenarios::` have one engine in common: two control planes, Crossplane, provider-kubernetes, the function and the provider;
//! - `tekton::` have another, for the scripts of the Tekton Tasks;
//! - `provider::` have the provider on control planes of their own, `admission::` and `install::` definitions, policies and overlays;
//! - the rest is about the testbed and its programs.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::unnecessary_wraps, reason = "all cases have one signature")]

mod admission;
mod campaign;
mod control_plane;
mod demo;
mod harness;
mod hub_controllers;
mod install;
mod kubeconfigs;
mod ledger;
mod load;
mod provider;
mod refusals;
mod scenarios;
mod table;
mod tekton;

use std::{process::ExitCode, time::Duration};

use harness::{Case, Selection, blocking, case, run_alone, trials_of};
use libtest_mimic::{Arguments, Trial};
use testplatform_tests::settings;

/// Cases that run at the same time. Most of them wait: with eight, half of two cores had nothing to do; with fourteen, those that
/// have a deadline missed it.
const AT_ONCE: usize = 12;

/// Those with control planes of their own, the longest first.
const STANDALONE: &[Case] = &[
    case!(provider::cloud::clusters_get_credentials_of_their_own_that_work_until_they_are_gone).whole(),
    case!(provider::kills::killed_at_every_write).whole(),
    case!(provider::takeover::every_phase_under_every_definition).whole(),
    case!(provider::replicas::one_replica_acts).whole(),
    case!(provider::account::a_token_in_place_of_the_admin).whole(),
    case!(provider::prerequisites::what_comes_before_a_cluster_is_made_on_the_hub_and_goes_after_it).whole(),
    case!(provider::bundles::bundles_are_set_up_in_a_cluster_and_taken_down_before_it_goes).whole(),
    case!(hub_controllers::real_cluster_api_makes_a_cluster_that_is_used_and_removed).whole(),
    case!(hub_controllers::conformance::the_real_cluster_api_conforms).whole(),
    case!(hub_controllers::conformance::the_fake_of_cluster_api_conforms),
    case!(provider::cleanup::clusters_that_nobody_needs_are_torn_down),
    case!(provider::namespace_deleted::nothing_is_withdrawn_for_want_of_rights),
    case!(provider::namespace_deleted::clusters_end_though_their_namespace_and_its_rights_are_deleted),
    case!(provider::life::a_life),
    case!(provider::claims::claims),
    case!(provider::clusters::clusters_of_every_kind),
    case!(provider::hub_facts::a_hub_tells_of_itself_in_one_config_map_alone),
    case!(provider::carry::secrets_are_carried),
    case!(provider::orphans::orphans_are_reported_and_ended_after_a_grace_period_of_seconds),
    case!(provider::pool::a_pool_is_looked_after_by_one_annotation_alone),
    case!(provider::spaces::credentials_of_spaces),
    case!(provider::identity::one_is_made_taken_listed_and_deleted),
    case!(provider::identity::refusals_are_told_apart),
    case!(provider::identity::silence_is_no_refusal),
    case!(provider::identity::a_stranger_is_told_nothing),
    case!(admission::claims::definitions_and_claims),
    case!(admission::claims::the_definition_of_spaces),
    case!(admission::pools::definitions_and_pools),
    case!(admission::templates::what_examples_ask_for_is_admitted),
    case!(admission::templates::orders_are_admitted_by_the_osac_they_are_for),
    case!(admission::requested_by::who_asked_is_who_wrote),
    case!(admission::sizes::large_ones_are_refused_by_their_size),
    case!(admission::crossplane_fields::what_is_crossplanes_is_nobody_elses_to_set),
    case!(install::what_is_installed),
    case!(install::packages::packages_are_pulled_installed_and_healthy).whole(),
    blocking!(install::rendered::overlays_are_in_order),
    blocking!(install::rendered::the_kubeconfig_of_the_hub_belongs_to_nobody),
    blocking!(install::rendered::a_hub_has_rights_of_its_own),
    blocking!(install::rendered::what_is_added_on_a_konflux_cluster_goes_beside_the_rest),
    case!(control_plane::it_is_real_and_the_konflux_identity_may_do_little),
    blocking!(control_plane::nothing_is_left_of_a_process_that_was_killed),
    blocking!(kubeconfigs::judged_as_kubectl_uses_them),
    blocking!(load::function_and_no_op_are_measured_side_by_side).whole(),
    blocking!(load::what_cannot_be_measured_is_an_error_of_its_own),
    blocking!(refusals::without_go_and_programs_it_says_what_to_install),
    blocking!(hub_controllers::a_directory_without_one_of_the_programs_is_refused),
    blocking!(table::scenarios_are_listed),
    blocking!(demo::a_file_without_a_claim_is_refused_at_once),
];

/// Those with an engine of their own, of which a machine has one at a time.
const WITH_ENGINE: &[Case] = &[
    blocking!(demo::it_exits_zero_and_says_what_it_saw),
    blocking!(demo::kept_commands_work_as_they_are_printed),
    blocking!(refusals::a_taken_port_is_said),
    // Case by case they go into another quarter, so those that take minutes are not one after the other.
    case!(campaign::no_fault_of_the_first_seed_breaks_an_invariant).whole().within(Duration::from_mins(15)),
    case!(ledger::lives_within_budgets_and_silence_between_with_a_wide_breaker)
        .whole()
        .within(Duration::from_mins(15)),
    case!(campaign::no_regression_comes_back).whole().within(Duration::from_mins(20)),
    case!(campaign::no_fault_of_the_second_seed_breaks_an_invariant).whole().within(Duration::from_mins(15)),
    case!(campaign::no_fault_of_the_third_seed_breaks_an_invariant).whole().within(Duration::from_mins(15)),
    case!(provider::load::five_thousand_at_rest).measurement(),
    case!(provider::load::ten_thousand_and_ten_events_a_second).measurement(),
];

/// Programs that a case starts to see how they end. They are this program, with this variable set.
pub const VICTIM: &str = "TESTPLATFORM_VICTIM";
const VICTIMS: &[Case] = &[
    case!(control_plane::victim),
    blocking!(refusals::victims::programs),
    case!(refusals::victims::engine),
    blocking!(hub_controllers::find),
];

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(AT_ONCE);
    let outcome = match settings::text(VICTIM) {
        Some(victim) => run_alone(VICTIMS, &victim).map(|()| ExitCode::SUCCESS),
        None => trials(&arguments).map(|trials| libtest_mimic::run(&arguments, trials).exit_code()),
    };
    match outcome {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn trials(arguments: &Arguments) -> anyhow::Result<Vec<Trial>> {
    let selection = Selection::new(arguments)?;
    let mut trials = trials_of(STANDALONE, &selection);
    trials.extend(scenarios::trials(&selection)?);
    trials.extend(tekton::trials(&selection)?);
    trials.extend(trials_of(WITH_ENGINE, &selection));
    Ok(trials)
}
