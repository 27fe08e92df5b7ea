//! Where a kubeconfig is to be found: in which Secrets, and whether anywhere else.

use std::{fs, path::Path, time::Duration};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use kube::config::Kubeconfig;
use serde_json::Value;

use crate::{
    cluster::{At, at, at_root},
    control_plane::ControlPlane,
    crossplane::Engine,
    kinds::{CLAIM, COMPOSITE, EPHEMERAL_CLUSTER, EVENT, Kind, OBJECT, SECRET},
    tenant::decoded,
};

/// What the search found.
#[derive(Debug, Default)]
pub struct Copies {
    /// Secrets, which is where it belongs, and on which control plane.
    pub secrets: Vec<(&'static str, At)>,
    /// Anything else.
    pub elsewhere: Vec<String>,
}

/// Looks for a kubeconfig, or what is secret in it, in the objects of both control planes and in all logs.
pub async fn find(engine: &Engine, kubeconfig: &str) -> anyhow::Result<Copies> {
    let needles = needles(kubeconfig);
    let mut copies = Copies::default();
    for (name, plane) in [("konflux", &engine.konflux), ("hub", &engine.hub)] {
        for kind in KINDS.iter().filter(|(_, on)| on.contains(&name)).map(|(kind, _)| *kind) {
            for object in plane.cluster().list(kind).await? {
                let (secret, elsewhere) = holds(&object, kind, &needles);
                let at = place(&object, kind);
                copies.elsewhere.extend(elsewhere.then(|| format!("{name}: {at}")));
                copies.secrets.extend(secret.then_some((name, at)));
            }
        }
    }
    let nests =
        [plane_directory(&engine.konflux), plane_directory(&engine.hub), Some(engine.nest().directory())];
    for directory in nests.into_iter().flatten() {
        copies.elsewhere.extend(logs_with(directory, &needles));
    }
    Ok(copies)
}

/// Waits until there is none any more. What is left.
pub async fn until_none(engine: &Engine, kubeconfig: &str, within: Duration) -> anyhow::Result<Copies> {
    let needles = needles(kubeconfig);
    let end = tokio::time::Instant::now() + within;
    loop {
        let copies = find(engine, kubeconfig).await?;
        let Some((plane, at)) = copies.secrets.first() else { return Ok(copies) };
        let plane = if *plane == "hub" { &engine.hub } else { &engine.konflux };
        let without = |secret: Option<&Value>| secret.is_none_or(|s| !holds(s, SECRET, &needles).0);
        let left = end.saturating_duration_since(tokio::time::Instant::now());
        if plane.cluster().until(at, left, "without it", without).await.is_err() {
            return Ok(copies);
        }
    }
}

impl Copies {
    /// All of them, in words.
    pub fn words(&self) -> Vec<String> {
        let secrets = self.secrets.iter().map(|(plane, at)| format!("{plane}: {at}"));
        secrets.chain(self.elsewhere.iter().cloned()).collect()
    }
}

const BOTH: &[&str] = &["konflux", "hub"];
const KONFLUX: &[&str] = &["konflux"];
const KINDS: &[(Kind, &[&str])] = &[
    (SECRET, BOTH),
    (EVENT, BOTH),
    (Kind { api_version: "v1", kind: "ConfigMap" }, BOTH),
    (CLAIM, KONFLUX),
    (COMPOSITE, KONFLUX),
    (OBJECT, KONFLUX),
    (EPHEMERAL_CLUSTER, &["hub"]),
];

/// The kubeconfig as it is carried, and the token in it.
fn needles(kubeconfig: &str) -> Vec<String> {
    let mut needles = vec![BASE64_STANDARD.encode(kubeconfig)];
    let users = Kubeconfig::from_yaml(kubeconfig).map(|k| k.auth_infos).unwrap_or_default();
    // The claims of a token end where its signature begins; a log may show it cut off.
    let token =
        serde_json::to_value(users).unwrap_or_default()[0]["user"]["token"].as_str().map(str::to_owned);
    needles.extend(token.as_deref().and_then(|t| t.rsplit('.').next()).map(str::to_owned));
    needles
}

/// Whether an object holds it as a Secret does, and whether in any other way.
fn holds(object: &Value, kind: Kind, needles: &[String]) -> (bool, bool) {
    let has = |text: &str| needles.iter().any(|n| text.contains(n.as_str()));
    if kind != SECRET {
        return (false, has(&object.to_string()));
    }
    let inside = decoded(object).values().any(|value| has(value) || has(&BASE64_STANDARD.encode(value)));
    (inside, has(&object["metadata"].to_string()))
}

fn place(object: &Value, kind: Kind) -> At {
    let text = |field: &str| object["metadata"][field].as_str();
    let name = text("name").unwrap_or_default();
    text("namespace").map_or_else(|| at_root(kind, name), |namespace| at(kind, namespace, name))
}

fn plane_directory(plane: &ControlPlane) -> Option<&Path> {
    plane.kubeconfig().parent()
}

fn logs_with(directory: &Path, needles: &[String]) -> Vec<String> {
    let files = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    let logs = files.filter(|path| path.extension().is_some_and(|e| e == "log"));
    let with = logs.filter(|path| {
        let text =
            fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
        needles.iter().any(|n| text.contains(n.as_str()))
    });
    with.filter_map(|path| Some(format!("the log {}", path.file_name()?.display()))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const KUBECONFIG: &str =
        "apiVersion: v1\nkind: Config\nusers:\n- name: x\n  user:\n    token: head.body.signature\n";

    #[test]
    fn a_secret_is_found_however_it_is_held() {
        let needles = needles(KUBECONFIG);
        let secret = json!({ "metadata": {}, "data": { "other": BASE64_STANDARD.encode(KUBECONFIG) } });
        assert_eq!(holds(&secret, SECRET, &needles), (true, false));
        let object = json!({ "status": { "data": secret["data"]["other"] } });
        assert_eq!(holds(&object, OBJECT, &needles), (false, true));
        assert_eq!(holds(&json!({ "message": "used head.body.signature" }), EVENT, &needles), (false, true));
        assert_eq!(holds(&json!({ "data": { "kubeconfig": "" } }), SECRET, &needles), (false, false));
    }
}
