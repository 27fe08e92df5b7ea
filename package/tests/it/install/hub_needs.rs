//! Needs of hubs: the shipped rights are exactly those, the guide's table has the same data, and the check finds gaps.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use rstest::rstest;
use serde_json::Value;
use testplatform_apis::byoc::CARRIER_ROLE;
use testplatform_package::check::hub::{
    HubAnswers, HubReport, RequirementStatus, evaluate_hub,
    needs::{CheckPlan, Need, Subject},
    table::render_table,
    token::{TokenExpiry, jwt_expiry, token_expiry},
};

use crate::install::{documents, repository};

/// Verb, group, resource, namespace and name.
type Flat = (String, String, String, Option<String>, Option<String>);

/// The rights in shipped roles that are bound.
fn shipped(file: &str, account: &str) -> BTreeSet<Flat> {
    let all = documents(&repository().join("package/install/hub").join(file));
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let texts =
        |value: &Value| -> Vec<String> { value.as_array().into_iter().flatten().filter_map(text).collect() };
    let mut rights = BTreeSet::new();
    // Another's, who is let in claim by claim.
    let is_ours = |o: &&Value| o["metadata"]["name"] != CARRIER_ROLE;
    for role in all.iter().filter(|o| o["kind"] == "Role" || o["kind"] == "ClusterRole").filter(is_ours) {
        let binds = |o: &&Value| {
            o["roleRef"]["name"] == role["metadata"]["name"]
                && o["roleRef"]["kind"] == role["kind"]
                && o["metadata"]["namespace"] == role["metadata"]["namespace"]
                && o["subjects"][0]["name"] == account
        };
        assert!(all.iter().any(|o| binds(&o)), "{file}: nobody has {}", role["metadata"]["name"]);
        for rule in role["rules"].as_array().unwrap() {
            let names = texts(&rule["resourceNames"]);
            let names: Vec<Option<String>> =
                if names.is_empty() { vec![None] } else { names.into_iter().map(Some).collect() };
            for verb in texts(&rule["verbs"]) {
                for group in texts(&rule["apiGroups"]) {
                    for resource in texts(&rule["resources"]) {
                        for name in &names {
                            let namespace = text(&role["metadata"]["namespace"]);
                            let right =
                                (verb.clone(), group.clone(), resource.clone(), namespace, name.clone());
                            rights.insert(right);
                        }
                    }
                }
            }
        }
    }
    rights
}

fn needed(subject: Subject) -> BTreeSet<Flat> {
    let flat = |need: Need| {
        let right = need.right;
        let own = |text: &str| text.to_owned();
        (own(right.verb), own(right.group), own(right.resource), right.namespace, right.name.map(own))
    };
    CheckPlan::default().needs(subject).into_iter().map(flat).collect()
}

#[test]
fn shipped_rights_are_exactly_the_required_ones() {
    for subject in Subject::ALL {
        let of_claims = "konflux-identity-clusterclaims-rbac.yaml";
        let file = match subject {
            Subject::EphemeralCluster => "konflux-identity-rbac.yaml".to_owned(),
            Subject::ClusterClaim => of_claims.to_owned(),
            Subject::Byoc => "byoc-rbac.yaml".to_owned(),
            Subject::ByocTemplate => "byoc-hypershift-rbac.yaml".to_owned(),
            Subject::Space => "konflux-identity-spaces-rbac.yaml".to_owned(),
            Subject::Template(backend) => format!("konflux-identity-{backend}-rbac.yaml"),
        };
        let account = if subject == Subject::Space { "konflux-spaces" } else { "konflux" };
        let mut rights = shipped(&file, account);
        if subject == Subject::Byoc {
            // Such a hub has those of others too, of which these need all but what is in the namespace of pools.
            let pools = Subject::ClusterClaim.namespace();
            rights
                .extend(shipped(of_claims, account).into_iter().filter(|right| right.3.as_deref() != pools));
        }
        if subject == Subject::ByocTemplate {
            // Such a hub has those of others too: all but Hive's, and but what is in the namespace of other clusters.
            let clusters = Subject::Template(testplatform_apis::template::Backend::HyperShift).namespace();
            let both = [
                shipped("byoc-rbac.yaml", account),
                shipped("konflux-identity-hypershift-rbac.yaml", account),
            ];
            let both = both.into_iter().flatten();
            rights.extend(
                both.filter(|right| right.1 != "hive.openshift.io" && right.3.as_deref() != clusters),
            );
        }
        if let Subject::Template(_) = subject {
            // Once for each hub, whatever is made on it.
            let facts = shipped("konflux-identity-hub-facts-rbac.yaml", account);
            assert_eq!(facts.len(), 2);
            rights.extend(facts);
        }
        assert_eq!(rights, needed(subject), "{file}");
    }
}

/// Whoever has the identity can change what is no claim's: the file says so, and what is stolen with it is told of.
#[test]
fn rights_in_all_namespaces_have_a_warning() {
    let mut told = vec![];
    let pages = ["docs/explanation/security.md", "docs/explanation/security-limits.md"];
    let security = pages.map(|page| std::fs::read_to_string(repository().join(page)).unwrap()).concat();
    for backend in testplatform_apis::template::Backend::ALL {
        let file = format!("konflux-identity-{backend}-rbac.yaml");
        let text = std::fs::read_to_string(repository().join("package/install/hub").join(&file)).unwrap();
        let header: String = text.lines().take_while(|line| line.starts_with('#')).collect();
        let changed: BTreeSet<String> = shipped(&file, "konflux")
            .into_iter()
            .filter(|(verb, _, _, namespace, _)| namespace.is_none() && verb == "patch")
            .map(|(_, group, resource, ..)| format!("{resource}.{group}"))
            .collect();
        let worth = "a hub of nothing else that is worth more";
        assert_eq!(header.contains(worth), !changed.is_empty(), "{file}: {changed:?}: {header}");
        for resource in &changed {
            assert!(header.contains(resource), "{file}: {header}");
        }
        let linked = security.contains(&format!("[`{file}`](../../package/install/hub/{file})"));
        assert!(linked || changed.is_empty(), "security.md does not tell of {file}");
        told.extend(changed);
    }
    assert_eq!(told, ["hostedclusters.hypershift.openshift.io", "nodepools.hypershift.openshift.io"]);
}

/// The page with the table is compared with it by the tests of documents.
#[test]
fn table_has_a_row_for_each_subject() {
    let table = render_table();
    for subject in Subject::ALL {
        assert!(table.contains(&format!("| {} | {} |", subject.as_str(), subject.claims())), "{table}");
        assert_eq!(Subject::parse(subject.as_str()), Ok(subject));
    }
    assert_eq!(table.lines().count(), 2 + Subject::ALL.len());
    assert!(Subject::parse("kind").unwrap_err().contains("hypershift"));
}

fn now() -> Timestamp {
    "2026-01-01T12:00:00Z".parse().unwrap()
}

fn days(days: i64) -> TokenExpiry {
    TokenExpiry::At(now() + SignedDuration::from_hours(24 * days))
}

fn plan(subject: Subject) -> CheckPlan {
    CheckPlan { subjects: vec![subject], named: true, ..CheckPlan::default() }
}

/// A hub that has everything.
fn whole(plan: &CheckPlan) -> HubAnswers {
    let mut seen = HubAnswers::default();
    for subject in &plan.subjects {
        for kind in subject.kinds() {
            let key = (kind.group.to_owned(), kind.versions[0].to_owned());
            seen.served.entry(key).or_default().push(kind.plural.to_owned());
        }
        for namespace in plan.namespaces(*subject) {
            seen.namespaces.insert(namespace.to_owned(), Some(true));
        }
        for need in plan.needs(*subject) {
            seen.rights.insert(need.right, true);
        }
    }
    seen
}

fn of_verdict(report: &HubReport, verdict: RequirementStatus) -> Vec<String> {
    report.0.iter().filter(|line| line.verdict == verdict).map(ToString::to_string).collect()
}

#[test]
fn a_hub_that_has_everything_is_clean() {
    for subject in Subject::ALL {
        let plan = plan(subject);
        let report = evaluate_hub(&plan, &whole(&plan), &days(90), now());
        assert!(report.is_clean(), "{report}");
        assert_eq!(of_verdict(&report, RequirementStatus::Note), Vec::<String>::new());
        assert!(report.to_string().ends_with("nothing is missing\n"), "{report}");
    }
}

/// Each thing that is needed, taken away alone: a gap where it is needed, a note where it is advised.
#[test]
fn every_missing_requirement_is_reported() {
    for subject in Subject::ALL {
        let plan = plan(subject);
        let seen = whole(&plan);
        for need in plan.needs(subject) {
            let mut less = seen.clone();
            less.rights.insert(need.right.clone(), false);
            let report = evaluate_hub(&plan, &less, &days(90), now());
            let verdict = if need.advised { RequirementStatus::Note } else { RequirementStatus::Gap };
            let said = of_verdict(&report, verdict);
            assert_eq!(said.len(), 1, "{report}");
            assert!(said[0].contains(&format!("may not {}: {}", need.right, need.why)), "{report}");
            assert_eq!(report.is_clean(), need.advised);
        }
        for namespace in plan.namespaces(subject) {
            let mut less = seen.clone();
            less.namespaces.insert(namespace.to_owned(), Some(false));
            let gaps = of_verdict(&evaluate_hub(&plan, &less, &days(90), now()), RequirementStatus::Gap);
            assert_eq!(gaps, [format!("gap: {}: namespace {namespace} is missing", subject.as_str())]);
        }
        for kind in subject.kinds() {
            let mut less = seen.clone();
            less.served.values_mut().for_each(|plurals| plurals.retain(|plural| plural != kind.plural));
            let gaps = of_verdict(&evaluate_hub(&plan, &less, &days(90), now()), RequirementStatus::Gap);
            assert_eq!(gaps.len(), 1);
            assert!(gaps[0].contains(&format!("{}.{} is not served", kind.plural, kind.group)), "{gaps:?}");
        }
    }
}

#[test]
fn unnamed_subjects_are_checked_only_if_served() {
    let all = CheckPlan::default();
    let here = plan(Subject::ClusterClaim);
    let report_of = |seen: &HubAnswers| evaluate_hub(&all, seen, &days(90), now());
    let report = report_of(&whole(&here));
    assert!(report.is_clean() && !report.to_string().contains("hypershift"), "{report}");
    // Every hub serves namespaces, and one with Hive need not take what tenants bring.
    assert!(
        !report.0.iter().any(|line| ["space", "byoc", "byoc-template"].contains(&line.subject.as_str())),
        "{report}"
    );
    let nothing = report_of(&HubAnswers::default());
    assert!(
        !nothing.is_clean() && nothing.to_string().contains("it serves none of ephemeralclusters"),
        "{nothing}"
    );
}

#[test]
fn an_unknown_version_is_a_gap() {
    let plan = plan(Subject::parse("cluster-api").unwrap());
    let mut seen = whole(&plan);
    let with = |version: &str| {
        BTreeMap::from([(("cluster.x-k8s.io".to_owned(), version.to_owned()), vec!["clusters".to_owned()])])
    };
    seen.served = with("v1beta2");
    assert!(evaluate_hub(&plan, &seen, &days(90), now()).is_clean());
    seen.served = with("v1beta1");
    let said = evaluate_hub(&plan, &seen, &days(90), now()).to_string();
    assert!(said.contains("clusters.cluster.x-k8s.io is not served as v1beta2"), "{said}");
}

#[test]
fn excess_rights_are_reported() {
    let plan = plan(Subject::EphemeralCluster);
    for right in plan.excess_rights() {
        let mut seen = whole(&plan);
        seen.rights.insert(right.clone(), true);
        let report = evaluate_hub(&plan, &seen, &days(90), now());
        assert!(report.is_clean());
        let notes = of_verdict(&report, RequirementStatus::Note);
        assert_eq!(notes, [format!("note: hub: may {right}, which no claim needs")]);
    }
}

#[rstest]
#[case(days(90), RequirementStatus::Good, "the token ends at 2026-04-01")]
#[case(days(13), RequirementStatus::Note, "the token ends soon, at 2026-01-14")]
#[case(days(0), RequirementStatus::Gap, "the token ended at 2026-01-01")]
#[case(TokenExpiry::None, RequirementStatus::Note, "has no token")]
#[case(TokenExpiry::Unreadable, RequirementStatus::Note, "does not say")]
fn the_expiry_of_the_token_is_reported(
    #[case] token: TokenExpiry,
    #[case] verdict: RequirementStatus,
    #[case] words: &str,
) {
    let plan = plan(Subject::EphemeralCluster);
    let report = evaluate_hub(&plan, &whole(&plan), &token, now());
    assert_eq!(report.0[0].verdict, verdict);
    assert!(report.0[0].text.contains(words), "{report}");
}

#[test]
fn the_expiry_comes_from_the_token_of_the_context() {
    // {"exp":1767268800}
    let token = "e30.eyJleHAiOjE3NjcyNjg4MDB9.c2ln";
    assert_eq!(jwt_expiry(token), days(0));
    for other in ["", "opaque", "a.b.c", "e30.e30.c2ln"] {
        assert_eq!(jwt_expiry(other), TokenExpiry::Unreadable, "{other}");
    }
    let kubeconfig = |user: &str| {
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{{name: c, context: {{cluster: h, user: u}}}}]\n\
             clusters: []\nusers: [{{name: other, user: {{token: x}}}}, {{name: u, user: {user}}}]\n"
        );
        token_expiry(&kube::config::Kubeconfig::from_yaml(&text).unwrap(), Some("c"))
    };
    assert_eq!(kubeconfig(&format!("{{token: {token}}}")), days(0));
    assert_eq!(kubeconfig("{client-certificate-data: eA==}"), TokenExpiry::None);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, format!("{token}\n")).unwrap();
    assert_eq!(kubeconfig(&format!("{{tokenFile: '{}'}}", file.display())), days(0));
}

/// Result of the command line where it needs no API server.
#[test]
fn expired_token_is_a_gap() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hub");
    let run = |payload: &str, more: &[&str]| {
        let token = format!("e30.{}.c2ln", base64(payload));
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{{name: c, context: {{cluster: h, user: u}}}}]\n\
             clusters: [{{name: h, cluster: {{server: 'https://127.0.0.1:1'}}}}]\nusers: [{{name: u, user: {{token: {token}}}}}]\n"
        );
        std::fs::write(&file, text).unwrap();
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_testplatform-package"));
        let output = command.args(["check", "hub", "--kubeconfig"]).arg(&file).args(more).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(said).unwrap())
    };
    let (code, said) = run(r#"{"exp":1}"#, &[]);
    assert_eq!(
        (code, said.as_str()),
        (Some(3), "gap: hub: the token ended at 1970-01-01T00:00:01Z\n1 gap\n")
    );
    for (more, words) in [
        (&["--backend", "hypershift"][..], "cannot be reached"),
        (&["--backend", "kind"], "expected one of ephemeral-cluster"),
        (&["--namespace", "osac"], "expected backend=namespace"),
    ] {
        let (code, said) = run(r#"{"exp":99999999999}"#, more);
        assert!(code == Some(1) && said.contains(words), "{more:?}: {code:?} {said}");
        assert!(!said.contains("c2ln"), "a token is shown: {said}");
    }
}

fn base64(text: &str) -> String {
    use base64::Engine as _;
    base64::prelude::BASE64_URL_SAFE_NO_PAD.encode(text)
}

/// A hub of the guide is one, whole and without a flaw, and what mirrors it is never ready and only observes.
#[test]
fn the_sample_hub_is_valid() {
    use testplatform_apis::{
        foreign::provider_config::ProviderConfig,
        hub::{CONFIG_MAP, Hub, Mirror},
        names,
        template::Backend,
    };
    let install = repository().join("package/install");
    let [config, object] = <[Value; 2]>::try_from(documents(&install.join("examples/hub.yaml"))).unwrap();
    let read: ProviderConfig = serde_json::from_value(config).unwrap();
    let hub = Hub::from_provider_config(&read).unwrap().unwrap();
    assert!(
        hub.open
            && hub.serves_backend(Backend::HyperShift)
            && hub.versions.is_some()
            && hub.classes.is_some()
    );
    assert_eq!((hub.max_clusters, hub.reserved_percent, hub.max_provisioning), (Some(80), 10, Some(8)));
    // Every annotation of hubs that is there is one that is read.
    for key in read.metadata.annotations.keys().filter(|key| key.starts_with("testplatform.")) {
        let mut broken = read.clone();
        broken.metadata.annotations.insert(key.clone(), "!".into());
        let changed = Hub::from_provider_config(&broken).unwrap();
        assert!(changed.is_err() || changed.unwrap() != hub, "{key} is read by nobody");
    }
    let mut component = documents(&install.join("components/hub-facts/object.yaml")).remove(0);
    for key in ["/metadata/name", "/spec/providerConfigRef/name"] {
        *component.pointer_mut(key).unwrap() = object.pointer(key).unwrap().clone();
    }
    assert_eq!(component, object, "the component is the example for another hub");
    let mirror: Mirror = serde_json::from_value(object.clone()).unwrap();
    assert_eq!(mirror.spec.provider_config_ref.name, hub.name);
    assert_eq!(mirror.spec.management_policies, ["Observe"]);
    assert!(!mirror.spec.watch && object["spec"]["readiness"]["celQuery"] == "false");
    assert_eq!(mirror.metadata.labels[names::hub::FACTS], "true");
    let manifest = &mirror.spec.for_provider.manifest;
    assert_eq!(manifest["metadata"]["name"], CONFIG_MAP);
    assert_eq!(manifest["metadata"]["namespace"], CheckPlan::default().facts.as_str());
}
