//! Rules and panels name metrics that are exported, and parse; what kube-state-metrics reads is declared.

use std::{collections::BTreeSet, fs, path::Path};

use promql_parser::{
    label::MatchOp,
    parser::{self, Expr, VectorSelector},
};
use provider_testplatform::controllers::{bundles, prerequisites, secret_sync::state::SecretSyncState};
use serde_json::Value;
use testplatform_apis::condition::{ClusterReady, ConditionType, Remote, Request};
use testplatform_package::install::{
    alerts::LISTS,
    dashboard::{DashboardRow, PANELS, build_dashboard},
    metrics,
};
use testplatform_runtime::error::Reason;

use crate::install::{documents, repository};

fn selectors(expr: &Expr, found: &mut Vec<VectorSelector>) {
    match expr {
        Expr::Aggregate(e) => {
            selectors(&e.expr, found);
            e.param.iter().for_each(|param| selectors(param, found));
        }
        Expr::Unary(e) => selectors(&e.expr, found),
        Expr::Binary(e) => {
            selectors(&e.lhs, found);
            selectors(&e.rhs, found);
        }
        Expr::Paren(e) => selectors(&e.expr, found),
        Expr::Subquery(e) => selectors(&e.expr, found),
        Expr::VectorSelector(selector) => found.push(selector.clone()),
        Expr::MatrixSelector(matrix) => found.push(matrix.vs.clone()),
        Expr::Call(call) => call.args.args.iter().for_each(|argument| selectors(argument, found)),
        Expr::NumberLiteral(_) | Expr::StringLiteral(_) => {}
        Expr::Extension(_) => panic!("{expr}"),
    }
}

pub(crate) fn used(expression: &str) -> Vec<VectorSelector> {
    let parsed = parser::parse(expression).unwrap_or_else(|error| panic!("{expression}: {error}"));
    let mut found = Vec::new();
    selectors(&parsed, &mut found);
    assert!(!found.is_empty(), "{expression} reads nothing");
    found
}

fn expressions() -> Vec<&'static str> {
    let alerts = LISTS.into_iter().flatten().map(|alert| alert.expression);
    alerts.chain(PANELS.iter().flat_map(|panel| panel.queries).map(|(expression, _)| *expression)).collect()
}

/// Crossplane's own since 2.1 (`internal/circuit/circuit_metrics.go` of v2.3.4).
const OF_CROSSPLANE: &str = "circuit_breaker_opens_total";

#[test]
fn every_metric_is_exported_by_somebody() {
    let mut exported: BTreeSet<&str> = metrics::ALL.into();
    exported.extend(function_testplatform::serve::metrics::EXPORTED);
    exported.extend(provider_testplatform::metrics::EXPORTED);
    exported.insert(OF_CROSSPLANE);
    for expression in expressions() {
        for selector in used(expression) {
            let name = selector.name.unwrap();
            let plain = name.strip_suffix("_bucket").unwrap_or(&name);
            assert!(exported.contains(plain), "{name} in {expression} is exported by nobody");
        }
    }
    // And what claims are measured by is looked at.
    let all: String = expressions().concat();
    for name in metrics::ALL {
        assert!(all.contains(name), "{name} is in no rule and no panel");
    }
}

/// Metrics of roles beside the claims are in the guide, with their own descriptions.
#[test]
fn the_guide_lists_the_metrics_of_claims() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/how-to/monitoring.md");
    let guide = fs::read_to_string(&path).unwrap();
    let rows: Vec<&str> = guide.lines().filter(|line| line.starts_with("| `testplatform_")).collect();
    let exported = provider_testplatform::metrics::EXPORTED;
    let roles = ["secret_sync", "cleanup", "bundle", "cloud_credential", "prerequisite", "orphans"];
    let of_role = |name: &&&str| roles.iter().any(|role| name.starts_with(&format!("testplatform_{role}")));
    let named: Vec<&&str> = exported.iter().filter(of_role).collect();
    assert!(named.len() > 15, "{named:?}");
    for name in named {
        let row =
            |row: &&str| row.starts_with(&format!("| `{name}{{")) || row.starts_with(&format!("| `{name}`"));
        assert!(rows.iter().any(row), "{name} has no row");
    }
    let count = rows.iter().find(|row| row.starts_with("| `testplatform_bundles{")).unwrap();
    for standing in bundles::state::BundleState::ALL {
        assert!(count.contains(&format!("`{}`", standing.as_str())), "{standing:?} is not in: {count}");
    }
    let count = rows.iter().find(|row| row.starts_with("| `testplatform_cloud_credentials{")).unwrap();
    for word in provider_testplatform::controllers::cloud_credentials::metrics::STATES {
        assert!(count.contains(&format!("`{word}`")), "{word} is not in: {count}");
    }
    let made = |name: &str| guide.lines().find(|line| line.starts_with(&format!("| `{name}")));
    let count = made("testplatform_prerequisites{").unwrap();
    for standing in prerequisites::state::PrerequisiteState::ALL {
        assert!(count.contains(&format!("`{}`", standing.as_str())), "{standing:?} is not in: {count}");
    }
    let count = rows.iter().find(|row| row.starts_with("| `testplatform_secret_sync_claims{")).unwrap();
    for standing in SecretSyncState::ALL {
        assert!(count.contains(&format!("`{}`", standing.as_str())), "{standing:?} is not in: {count}");
    }
}

/// A reason that nobody gives would never ring.
#[test]
fn alerts_use_existing_conditions_and_reasons() {
    let mut reasons = 0;
    for expression in expressions() {
        for selector in used(expression) {
            let values = |label: &str| -> Vec<String> {
                let all = &selector.matchers.matchers;
                let named = all.iter().filter(|matcher| matcher.name == label);
                named.flat_map(|matcher| matcher.value.split('|')).map(str::to_owned).collect()
            };
            let types: Vec<ConditionType> =
                values("type").iter().map(|word| ConditionType::parse(word).expect(word)).collect();
            for reason in values("reason") {
                reasons += 1;
                if selector.name.as_deref() == Some("testplatform_provider_action_errors_total") {
                    let lasting =
                        [Reason::Forbidden, Reason::NotFound, Reason::Refused, Reason::Foreign, Reason::Bug];
                    assert!(lasting.iter().any(|given| given.as_str() == reason), "{reason}");
                    continue;
                }
                let given = types.iter().any(|type_| match type_ {
                    // After a pass that failed Crossplane says of it that it is Unknown.
                    ConditionType::ClusterReady if reason == "FatalError" => values("status") == ["Unknown"],
                    ConditionType::ClusterReady => ClusterReady::parse(&reason).is_some(),
                    ConditionType::RequestAccepted => Request::parse(&reason).is_some(),
                    ConditionType::RemoteConsistent => Remote::parse(&reason).is_some(),
                    other => panic!("{other}: say here which reasons it has"),
                });
                assert!(given, "reason {reason} of {types:?}");
            }
            for matcher in &selector.matchers.matchers {
                assert!(
                    matches!(matcher.op, MatchOp::Equal | MatchOp::NotEqual | MatchOp::Re(_)),
                    "{matcher}"
                );
                for value in matcher.value.split('|') {
                    let phases = testplatform_apis::phase::Phase::ALL;
                    let known = matcher.name != "phase" || phases.iter().any(|phase| phase.as_str() == value);
                    assert!(known, "phase {value}");
                }
            }
        }
    }
    assert!(reasons >= 5, "{reasons}");
}

/// Fields that are read of a claim are in its definition, or they would be pruned and never seen.
#[test]
fn paths_of_kube_state_metrics_are_declared_fields() {
    let xrd = testplatform_apis::xrd::test_platform_cluster().unwrap();
    let schema = &xrd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    let config = metrics::custom_resource_state();
    let resources = config["spec"]["resources"].as_array().unwrap();
    assert_eq!(resources[0]["groupVersionKind"]["kind"], xrd["spec"]["claimNames"]["kind"]);
    assert_eq!(resources[0]["groupVersionKind"]["group"], xrd["spec"]["group"]);
    let mut names = BTreeSet::new();
    let mut times = 0;
    for resource in resources {
        let prefix = resource["metricNamePrefix"].as_str().unwrap();
        for metric in resource["metrics"].as_array().unwrap() {
            names.insert(format!("{prefix}_{}", metric["name"].as_str().unwrap()));
            let each = &metric["each"];
            let set = &each["stateSet"];
            if set.is_object() {
                let phase = declared(schema, &set["path"]);
                let listed: Vec<&Value> = phase["enum"].as_array().unwrap().iter().collect();
                assert_eq!(listed, set["list"].as_array().unwrap().iter().collect::<Vec<_>>());
                continue;
            }
            let path = &each["gauge"]["path"];
            // Conditions are Crossplane's to declare, annotations are free.
            if path[0] == "status" && path[1] != "conditions" {
                assert_eq!(declared(schema, path)["type"], "string", "{path}");
                times += 1;
            }
        }
    }
    assert_eq!(times, 3);
    assert_eq!(names, metrics::ALL.iter().map(|name| (*name).to_owned()).collect());
}

fn declared<'s>(schema: &'s Value, path: &Value) -> &'s Value {
    path.as_array().unwrap().iter().fold(schema, |at, key| {
        let found = &at["properties"][key.as_str().unwrap()];
        assert!(found.is_object(), "{path} is not declared");
        found
    })
}

/// A kind that may not be listed is not measured, and nobody would notice.
#[test]
fn measured_kinds_may_be_listed_and_watched() {
    let role =
        documents(&repository().join("package/install/components/kube-state-metrics/rbac.yaml")).remove(0);
    let config = metrics::custom_resource_state();
    for resource in config["spec"]["resources"].as_array().unwrap() {
        let kind = &resource["groupVersionKind"];
        let group = kind["group"].as_str().unwrap();
        let plural = format!("{}s", kind["kind"].as_str().unwrap().to_lowercase());
        let wanted =
            [("apiGroups", group), ("resources", plural.as_str()), ("verbs", "list"), ("verbs", "watch")];
        let granted = role["rules"].as_array().unwrap().iter().any(|rule| {
            wanted.iter().all(|(field, word)| rule[*field].as_array().unwrap().contains(&(*word).into()))
        });
        assert!(granted, "{plural}.{group}");
    }
}

/// Panels have a description, a place of their own and links that exist; queries use variables that exist.
#[test]
fn the_dashboard_is_complete() {
    let dashboard = build_dashboard();
    let variables: BTreeSet<String> = dashboard["templating"]["list"]
        .as_array()
        .unwrap()
        .iter()
        .map(|variable| variable["name"].as_str().unwrap().to_owned())
        .collect();
    let mut places = BTreeSet::new();
    let mut ids = BTreeSet::new();
    let mut used_variables = BTreeSet::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        let place = &panel["gridPos"];
        assert!(places.insert((place["y"].as_u64(), place["x"].as_u64())), "{panel}");
        assert!(ids.insert(panel["id"].as_u64()), "{panel}");
        for target in panel["targets"].as_array().into_iter().flatten() {
            for name in target["expr"].as_str().unwrap().split("\"$").skip(1) {
                used_variables.insert(name.split('"').next().unwrap().to_owned());
            }
        }
    }
    assert!(used_variables.is_subset(&variables), "{used_variables:?}");
    assert!(["tenant", "cluster"].iter().all(|name| used_variables.contains(*name)), "{used_variables:?}");
    for row in DashboardRow::ALL {
        assert!(PANELS.iter().filter(|panel| panel.row == row).count() >= 4, "{row:?}");
    }
    assert!(PANELS.iter().filter(|panel| panel.thresholds.is_some()).count() >= 8);
    for panel in PANELS {
        assert!(panel.description.ends_with('.'), "{}", panel.title);
        assert!(panel.description.split(' ').count() <= 30, "{}", panel.title);
        let rendered = dashboard["panels"].as_array().unwrap().iter().find(|one| one["title"] == panel.title);
        let links = rendered.unwrap()["links"].as_array().unwrap().len();
        assert_eq!(
            links,
            usize::from(panel.alert.is_some()),
            "{} leads to an alert that does not exist",
            panel.title
        );
    }
}

/// Every object with rules that a component has.
fn rule_objects() -> Vec<Value> {
    let components = fs::read_dir(repository().join("package/install/components")).unwrap();
    let files = components.flat_map(|component| fs::read_dir(component.unwrap().path()).unwrap());
    let all =
        files.map(|file| file.unwrap().path()).filter(|path| path.extension().is_some_and(|e| e == "yaml"));
    all.flat_map(|path| documents(&path)).filter(|object| object["kind"] == "PrometheusRule").collect()
}

fn rules(object: &Value) -> impl Iterator<Item = &Value> {
    let groups = object["spec"]["groups"].as_array().unwrap().iter();
    groups.flat_map(|group| group["rules"].as_array().unwrap())
}

/// OpenShift's monitoring for users lets a rule see the metrics of its own namespace alone. Those of the function, of the provider and of
/// kube-state-metrics are in three, and those of the search for orphans in a fourth.
#[test]
fn no_object_has_rules_on_metrics_of_two_namespaces() {
    let objects = rule_objects();
    for object in &objects {
        let mut from = BTreeSet::new();
        for rule in rules(object) {
            for selector in used(rule["expr"].as_str().unwrap()) {
                let name = selector.name.unwrap();
                from.insert(if metrics::ALL.contains(&name.as_str()) {
                    "kube-state-metrics"
                } else if function_testplatform::serve::metrics::EXPORTED.contains(&name.as_str())
                    || name == OF_CROSSPLANE
                {
                    // Crossplane runs in the namespace of the function.
                    "function"
                } else {
                    "provider"
                });
            }
        }
        assert_eq!(from.len(), 1, "{}: {from:?}", object["metadata"]);
    }
    assert_eq!(objects.len(), 5);
}

fn expression(alert: &str) -> String {
    let objects = rule_objects();
    let found = objects.iter().flat_map(rules).find(|rule| rule["alert"] == alert);
    found.unwrap_or_else(|| panic!("no alert {alert}"))["expr"].as_str().unwrap().to_owned()
}

/// A function that does not run has no metrics, and no rate of them exceeds a limit. The alert is about the absence of a metric that a running
/// function has from its first moment on.
#[test]
fn a_missing_function_raises_an_alert() {
    let expression = expression("FunctionDown");
    let Expr::Call(call) = parser::parse(&expression).unwrap() else { panic!("{expression}") };
    assert_eq!(call.func.name, "absent");
    let fresh = function_testplatform::serve::metrics::Metrics::default().encode().unwrap();
    for selector in used(&expression) {
        let name = selector.name.unwrap();
        assert!(fresh.lines().any(|line| line.starts_with(&format!("{name}{{"))), "{name}: {fresh}");
        assert!(selector.matchers.matchers.is_empty(), "no label is that of every function");
    }
}

/// One that runs and cannot be reached has metrics. Crossplane then says of the conditions of every claim that they are Unknown.
#[test]
fn claims_raise_an_alert_for_an_unreachable_function() {
    let told = |label: &str, value: &str| {
        used(&expression("PassesFail")).iter().all(|selector| {
            let mut of = selector.matchers.matchers.iter().filter(|matcher| matcher.name == label);
            selector.name.as_deref() == Some(metrics::CONDITION) && of.any(|matcher| matcher.is_match(value))
        })
    };
    assert!(told("type", "ClusterReady") && told("status", "Unknown") && told("reason", "FatalError"));
}

/// Carrier and cleaner are the provider's program, and have its metrics: one that leads says nothing of the provider.
#[test]
fn other_roles_do_not_count_as_the_provider() {
    let install = repository().join("package/install");
    let namespace = |file: &str| documents(&install.join(file)).remove(0)["metadata"]["namespace"].clone();
    for selector in used(&expression("ProviderNotLeading")) {
        let seen = |namespace: Value| {
            let mut of = selector.matchers.matchers.iter().filter(|matcher| matcher.name == "namespace");
            of.all(|matcher| matcher.is_match(namespace.as_str().unwrap()))
        };
        assert!(seen(namespace("hub/deployment.yaml")), "{selector:?}");
        for role in ["carrier", "cleanup"] {
            assert!(!seen(namespace(&format!("components/{role}/deployment.yaml"))), "{role}: {selector:?}");
        }
    }
}
