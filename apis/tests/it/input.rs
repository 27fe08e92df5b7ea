//! The function's input: empty means the incumbent's names.

use serde_json::json;
use testplatform_apis::duration::GoDuration;
use testplatform_apis::input::{Input, Settings, Spaces};

fn settings(input: serde_json::Value) -> Settings {
    serde_json::from_value::<Input>(input).unwrap().to_settings()
}

#[test]
fn empty_means_the_incumbent() {
    let expected = Settings {
        environment_config: "envcfg".to_owned(),
        provider_config: "testplatform-kubernetes-provider-config".to_owned(),
        namespace: "ephemeral-cluster".to_owned(),
        credentials_namespace: "ephemeral-cluster".to_owned(),
        connection_secret_namespace: "crossplane-connections".to_owned(),
        pools: "testplatform-pools".to_owned(),
        quotas_for_ci_operator: false,
        both_flavours: false,
        ttl: None,
        hub_max_lifetime: GoDuration::from_hours(2),
        default_lifetime: None,
        default_provision_timeout: GoDuration::from_hours(4),
        told_provision_timeout: None,
        max_lifetime: None,
        max_provision_timeout: None,
        spaces: Spaces::default(),
    };
    assert_eq!(settings(json!({})), expected);
    assert_eq!(Settings::default(), expected);
    let emptied = json!({
        "apiVersion": "testplatform.fn.crossplane.io/v1beta1", "kind": "Input", "metadata": { "name": "x" },
        "namespace": "", "providerConfig": " ", "environmentConfig": null, "ttl": "0s", "defaults": {}, "maxima": null, "spaces": {}, "later": 1,
    });
    assert_eq!(settings(emptied), expected);
}

#[test]
fn settings_of_the_input_are_used() {
    let set = settings(json!({
        "environmentConfig": "env", "providerConfig": "hub", "namespace": "a", "credentialsNamespace": "b", "connectionSecretNamespace": "c", "pools": "p",
        "ttl": "30s", "hubMaxLifetime": "6h", "defaults": { "lifetime": "8h", "provisionTimeout": "90m" },
        "maxima": { "lifetime": "6h", "provisionTimeout": "2h" },
    }));
    assert_eq!(set.environment_config, "env");
    assert_eq!(set.provider_config, "hub");
    assert_eq!((set.namespace.as_str(), set.credentials_namespace.as_str()), ("a", "b"));
    assert_eq!(set.connection_secret_namespace, "c");
    assert_eq!(set.pools, "p");
    assert_eq!(set.ttl, Some(GoDuration::from_secs(30)));
    assert_eq!(set.hub_max_lifetime, GoDuration::from_hours(6));
    assert_eq!(set.default_lifetime, Some(GoDuration::from_hours(6)), "limited to the maximum");
    assert_eq!(set.default_provision_timeout, GoDuration::from_mins(90));
    assert_eq!(set.told_provision_timeout, Some(GoDuration::from_mins(90)));
    assert_eq!(set.max_lifetime, Some(GoDuration::from_hours(6)));
    assert_eq!(set.max_provision_timeout, Some(GoDuration::from_hours(2)));
    let below_the_standard = settings(json!({ "maxima": { "provisionTimeout": "2h" } }));
    assert_eq!(below_the_standard.default_provision_timeout, GoDuration::from_hours(2));
    assert_eq!(
        below_the_standard.told_provision_timeout,
        Some(GoDuration::from_hours(2)),
        "else it holds at birth only"
    );
}

#[test]
fn invalid_duration_is_quoted_in_the_error() {
    for wrong in [json!({ "ttl": "soon" }), json!({ "defaults": { "lifetime": "1d" } })] {
        let error = serde_json::from_value::<Input>(wrong).unwrap_err().to_string();
        assert!(error.contains("is not a duration"), "{error}");
    }
}
