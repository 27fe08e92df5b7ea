//! The name of this Konflux cluster, by which hubs identify its claims.

use testplatform_apis::{condition::Request, input::Settings};

use crate::cluster::{observed::Environment, request::AdmissionIssue};

/// Issue if the name of this Konflux cluster is unknown, by which hubs identify its claims.
pub(crate) fn missing_environment(environment: &Environment, settings: &Settings) -> Option<AdmissionIssue> {
    let config = &settings.environment_config;
    match environment {
        Environment::Found(_) => None,
        Environment::Invalid(why) => Some(AdmissionIssue::new(
            Request::EnvironmentConfigInvalid,
            format!("{why}; ask the platform team to repair it"),
        )),
        // This response is not the last one: core fetches the required resources and calls again.
        Environment::NotFetched => Some(AdmissionIssue::new(
            Request::EnvironmentConfigMissing,
            format!("EnvironmentConfig {config} was not read yet"),
        )),
        Environment::Missing => Some(AdmissionIssue::new(
            Request::EnvironmentConfigMissing,
            format!("EnvironmentConfig {config} does not exist; ask the platform team to create it"),
        )),
    }
}
