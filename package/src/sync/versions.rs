//! Versions: whether stored objects stay readable, and whether an update is refused.

use super::{
    compatibility::{describe_verdict, evaluate_change, is_cosmetic},
    crd::{Crd, Version},
    schema::diff_schemas,
};
use crate::bump::schema::Verdict;

const REWRITE: &str = "kubectl get ephemeralclusters.ci.openshift.io -A -o yaml | kubectl replace -f -";

/// Dangers to stored objects: of the CRD itself, and of its update over the hub's current one.
pub fn unsafe_versions(crd: &Crd, running: Option<&Crd>) -> Vec<String> {
    let mut found = check_stored(crd, running);
    if let Some(running) = running {
        found.extend(check_served(crd, running));
        found.extend(check_moved(crd, running));
        found.extend(check_narrowed(crd, running));
    }
    found
}

/// Objects stored in a removed version, or in one that an earlier update replaced.
fn check_stored(crd: &Crd, running: Option<&Crd>) -> Vec<String> {
    let message = |version: &String| {
        if crd.version_named(version).is_none() {
            return Some(format!(
                "status.storedVersions: {version} is not a version of the CRD any more, and objects may be stored in it; the API server \
                 refuses the CRD. Keep {version} in spec.versions with served: false, run `{REWRITE}`, and remove it from \
                 status.storedVersions before it goes"
            ));
        }
        let storage = crd.storage_version()?;
        // An update that moves the storage version has its own message.
        let moves = running.and_then(Crd::storage_version) == Some(version.as_str());
        (version != storage && !moves).then(|| {
            format!(
                "status.storedVersions: {version} is not the storage version ({storage}), and objects may be stored in it. Run \
                 `{REWRITE}`, then remove {version} from status.storedVersions"
            )
        })
    };
    running.unwrap_or(crd).stored_versions.iter().filter_map(message).collect()
}

fn check_served(crd: &Crd, running: &Crd) -> Vec<String> {
    let is_served = |name: &str| crd.version_named(name).is_some_and(|version| version.served);
    let removed = running.versions.iter().filter(|version| version.served && !is_served(&version.name));
    removed.map(|Version { name, .. }| {
        format!(
            "spec.versions.{name}: no longer served, so the API server refuses clients that request it. Keep served: true until \
             every client requests {}",
            crd.version
        )
    })
    .collect()
}

fn check_moved(crd: &Crd, running: &Crd) -> Option<String> {
    let (before, after) = (running.storage_version()?, crd.storage_version()?);
    (before != after).then(|| {
        format!(
            "spec.versions.{before}: the storage version becomes {after}; objects stay stored in {before} until they are written \
             again. Keep {before} in spec.versions, run `{REWRITE}` after the update, then remove {before} from status.storedVersions"
        )
    })
}

fn check_narrowed(crd: &Crd, running: &Crd) -> Vec<String> {
    let mut found = Vec::new();
    for before in running.versions.iter().filter(|version| version.served) {
        let Some(after) = crd.version_named(&before.name).filter(|version| version.served) else { continue };
        for (part, advice) in [
            ("spec", "change such objects before the update"),
            ("status", "update the controller before the CRD"),
        ] {
            let [old, new] = [before, after].map(|version| &version.schema["properties"][part]);
            let changes = diff_schemas(part, old, new);
            let refusing = changes
                .iter()
                .filter(|change| !is_cosmetic(change) && evaluate_change(change) >= Verdict::Maybe);
            found.extend(refusing.map(|change| {
                format!(
                    "update of {}: {change} ({}); stored objects that are not so may be refused at their next write: {advice}",
                    before.name,
                    describe_verdict(evaluate_change(change))
                )
            }));
        }
    }
    found
}
