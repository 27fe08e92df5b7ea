//! The table of each kind: when its credentials are safe to read, and where they are.

use provider_testplatform::credentials::{
    cluster_kind::{CredentialsHolder, Password, of},
    cluster_object::Cluster,
    publish::Key,
};
use rstest::rstest;
use serde_json::{Value, json};
use testplatform_apis::template::Backend::{self, Caas, ClusterApi, HyperShift, Osac};

use crate::clusters::fixture::{Case, NAME, born, condition, minutes, running};

fn with(backend: Backend, status: Value) -> Cluster {
    running(backend).on_object("/status", status).object()
}

/// One thing at a time is missing.
#[rstest]
#[case::hypershift_says_nothing(HyperShift, json!({ "kubeconfig": { "name": "k" } }))]
#[case::hypershift_is_not_available(HyperShift, json!({ "conditions": [condition("Available", "False")], "kubeconfig": { "name": "k" } }))]
#[case::hypershift_does_not_know(HyperShift, json!({ "conditions": [condition("Available", "Unknown")] }))]
#[case::capi_says_nothing(ClusterApi, json!({}))]
#[case::capi_has_infrastructure(ClusterApi, json!({ "phase": "Provisioned", "conditions": [condition("InfrastructureReady", "True")] }))]
#[case::capi_is_initialized_only(ClusterApi, json!({ "conditions": [
    condition("ControlPlaneInitialized", "True"), condition("ControlPlaneAvailable", "False"),
] }))]
#[case::caas_installs(Caas, json!({ "phase": "ClusterInstalling", "kubeconfig": { "name": "k" } }))]
#[case::caas_sets_up(Caas, json!({ "phase": "ClusterSetupRunning", "kubeconfig": { "name": "k" } }))]
// It is stamped so again and again.
#[case::caas_is_ready_without_a_cluster(Caas, json!({
    "phase": "Ready", "kubeconfig": { "name": "k" }, "conditions": [condition("ClusterInstallSucceeded", "False")],
}))]
#[case::osac_behind_it(Osac, json!({ "phase": "Ready", "conditions": [condition("ControlPlaneAvailable", "True")] }))]
fn status_is_not_usable_yet(#[case] backend: Backend, #[case] status: Value) {
    let why = of(backend).runs(&with(backend, status)).unwrap_err();
    assert!(why.len() > 20 && !why.ends_with('.'), "{why}");
}

#[rstest]
#[case::hypershift(HyperShift, running(HyperShift).object["status"].clone())]
#[case::capi(ClusterApi, running(ClusterApi).object["status"].clone())]
#[case::caas(Caas, running(Caas).object["status"].clone())]
#[case::caas_that_says_little(Caas, json!({ "phase": "Ready" }))]
fn status_is_usable(#[case] backend: Backend, #[case] status: Value) {
    assert_eq!(of(backend).runs(&with(backend, status)), Ok(()));
}

fn password(case: &Case) -> Password<'static> {
    match of(case.backend).place(&case.object()).unwrap().password {
        Password::None => Password::None,
        Password::At(key) => Password::At(Key::new(key.secret.into_owned(), key.key)),
        Password::Perhaps { at, since } => {
            Password::Perhaps { at: at.map(|key| Key::new(key.secret.into_owned(), key.key)), since }
        }
    }
}

fn kubeconfig(case: &Case) -> (String, &'static str) {
    let object = case.object();
    let key = of(case.backend).place(&object).unwrap().kubeconfig;
    (key.secret.into_owned(), key.key)
}

#[test]
fn hypershift_names_its_secrets() {
    let case = running(HyperShift);
    assert_eq!(kubeconfig(&case), ("k".into(), "kubeconfig"));
    assert_eq!(password(&case), Password::At(Key::new("p", "password")));
    let custom = case.clone().on_object("/status/customKubeconfig", json!({ "name": "c" }));
    assert_eq!(kubeconfig(&custom), ("c".into(), "kubeconfig"));
    let empty = case.clone().on_object("/status/customKubeconfig", json!({ "name": "" }));
    assert_eq!(kubeconfig(&empty), ("k".into(), "kubeconfig"));
    let unnamed = case.on_object("/status/kubeconfig", Value::Null);
    assert!(of(HyperShift).place(&unnamed.object()).unwrap_err().contains("kubeconfig"));
}

/// Where others may log in there is no kubeadmin; else its Secret may be named a moment later.
#[test]
fn hypershift_may_have_no_password() {
    let unnamed = running(HyperShift).on_object("/status/kubeadminPassword", Value::Null);
    let since = Some(born() + minutes(1));
    assert_eq!(password(&unnamed), Password::Perhaps { at: None, since });
    let configured = json!({ "configuration": { "oauth": { "identityProviders": [] } } });
    assert_eq!(password(&unnamed.on_object("/spec", configured.clone())), Password::None);
    assert_eq!(
        password(&running(HyperShift).on_object("/spec", configured)),
        Password::At(Key::new("p", "password"))
    );
}

#[test]
fn capi_has_its_kubeconfig_by_its_name_and_no_password() {
    let case = running(ClusterApi);
    assert_eq!(kubeconfig(&case), (format!("{NAME}-kubeconfig"), "value"));
    assert_eq!(password(&case), Password::None);
}

#[test]
fn caas_may_have_a_password() {
    let case = running(Caas);
    assert_eq!(kubeconfig(&case), ("k".into(), "kubeconfig"));
    let since = Some(born() + minutes(1));
    assert_eq!(password(&case), Password::Perhaps { at: Some(Key::new("p", "password")), since });
    let late = json!({ "type": "ClusterSetupSucceeded", "status": "True", "lastTransitionTime": "2026-11-21T13:00:00Z" });
    let case =
        case.on_object("/status/conditions", json!([condition("ClusterInstallSucceeded", "True"), late]));
    assert!(
        matches!(password(&case), Password::Perhaps { since: Some(at), .. } if at == born() + minutes(60))
    );
    let unnamed = case.on_object("/status/kubeconfig", Value::Null);
    assert!(of(Caas).place(&unnamed.object()).is_err());
}

#[test]
fn osac_has_become_a_hosted_cluster() {
    let case = running(Osac);
    let holder =
        CredentialsHolder::Underlying { backend: HyperShift, namespace: "osac-orders-demo", name: NAME };
    assert_eq!(of(Osac).holder(&case.object()), holder);
    for reference in [Value::Null, json!({ "namespace": "n" }), json!({ "hostedClusterName": "n" })] {
        let case = running(Osac).on_object("/status/clusterReference", reference);
        assert!(matches!(of(Osac).holder(&case.object()), CredentialsHolder::NotNamed(_)));
    }
    for backend in [HyperShift, ClusterApi, Caas] {
        assert_eq!(of(backend).holder(&running(backend).object()), CredentialsHolder::Itself);
    }
    for backend in Backend::ALL {
        assert_eq!(of(backend).backend(), backend);
    }
}

/// Of what is only watched nothing is kept that nobody reads, and nothing less.
#[test]
fn cached_fields_suffice() {
    for backend in [HyperShift, ClusterApi, Caas] {
        let case = running(backend);
        let (whole, mut slim) = (case.object(), case.object());
        slim.drop_unread_fields(of(backend).conditions());
        assert_eq!(of(backend).runs(&slim), of(backend).runs(&whole));
        assert_eq!(of(backend).place(&slim), of(backend).place(&whole));
        let busy = case.clone().on_object("/metadata/resourceVersion", json!("8"));
        let mut busy =
            busy.on_object("/metadata/labels", json!({ "a": "b" })).said("Upgrading", "True").object();
        busy.drop_unread_fields(of(backend).conditions());
        assert!(busy.is_like(&slim), "{backend}");
        let mut ending = case.deleted().object();
        ending.drop_unread_fields(of(backend).conditions());
        assert!(!ending.is_like(&slim), "{backend}");
    }
}
