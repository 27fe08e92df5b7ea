//! Any text as the provider's configuration: what is taken means the same when it is written down, and what is not taken is told.

use provider_testplatform::{
    config::{Config, ConfigError},
    controllers::{cluster_claim::observed_state, ephemeral_cluster::settings::Settings},
};

/// Whatever the bytes.
pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match Config::parse("provider.yaml", text) {
        Ok(config) => {
            let _ = (
                Settings::from(&config),
                observed_state::ClaimSettings::from(&config),
                config.lease_namespace(),
            );
            let written = serde_json::to_string(&config).expect("a configuration can be written");
            let again = Config::parse("again.yaml", &written);
            assert_eq!(again.expect("what was taken is taken again"), config);
        }
        Err(ConfigError::Invalid(problems)) => {
            assert!(!problems.is_empty(), "refused for nothing");
            // To YAML a carriage return by itself ends a line too.
            let lines = text.replace("\r\n", "\n").split(['\r', '\n']).count();
            let lines = u64::try_from(lines).unwrap_or(u64::MAX);
            for problem in problems {
                assert!(!problem.message.is_empty(), "{problem:?}");
                assert!(problem.line <= lines, "a line that is not there: {problem:?}");
            }
        }
        Err(ConfigError::Unreadable { file, .. }) => panic!("{file} was read"),
    }
}
