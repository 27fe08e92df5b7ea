//! Summary of an object for a person: its state in a word or two, and a detail.

use serde_json::Value;

use crate::{
    cluster::{condition, has},
    tenant::decoded,
};

/// An object of the story, in the order in which they are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Row {
    /// The claim.
    Claim,
    /// The composite.
    Composite,
    /// The Object with the EphemeralCluster as its manifest.
    PrimaryObject,
    /// The Object that reads the Secret.
    Credentials,
    /// The EphemeralCluster.
    Remote,
    /// Its ProwJob, as far as the EphemeralCluster tells.
    Job,
    /// The Secret on the hub.
    HubSecret,
    /// The Secret that the claim names.
    TenantSecret,
}

/// Every row.
pub const ROWS: [Row; 8] = [
    Row::Claim,
    Row::Composite,
    Row::PrimaryObject,
    Row::Credentials,
    Row::Remote,
    Row::Job,
    Row::HubSecret,
    Row::TenantSecret,
];

/// How a state is to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Nothing yet, or nothing any more.
    Quiet,
    /// It works on something.
    Busy,
    /// As it should be.
    Good,
    /// It is not as it should be.
    Bad,
}

/// Displayed fields of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// In a word or two.
    pub state: String,
    /// Its message, or the reason for its wait.
    pub words: String,
    /// How to take it.
    pub tone: Tone,
}

impl Shown {
    fn new(state: impl Into<String>, words: impl Into<String>, tone: Tone) -> Self {
        Self { state: state.into(), words: words.into(), tone }
    }

    /// Not there, any more or yet.
    pub fn absent(was_there: bool) -> Self {
        if was_there { Self::new("gone", "", Tone::Quiet) } else { Self::new("-", "", Tone::Quiet) }
    }
}

impl Row {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Row::Claim => "claim",
            Row::Composite => "composite",
            Row::PrimaryObject => "Object cluster",
            Row::Credentials => "Object credentials",
            Row::Remote => "EphemeralCluster",
            Row::Job => "ProwJob",
            Row::HubSecret => "Secret on the hub",
            Row::TenantSecret => "Secret of tenant",
        }
    }

    /// Displayed fields of an object, by its kind.
    pub fn of(self, object: &Value) -> Shown {
        if self != Row::Job && object["metadata"]["deletionTimestamp"].is_string() {
            return Shown::new("deleting", self.waits_to_go(object), Tone::Busy);
        }
        match self {
            Row::Claim => claim(object),
            Row::Composite | Row::PrimaryObject | Row::Credentials => self.managed(object),
            Row::Remote => remote(object),
            Row::Job => job(object),
            Row::HubSecret | Row::TenantSecret => secret(object),
        }
    }

    /// A managed resource of Crossplane and its providers.
    fn managed(self, object: &Value) -> Shown {
        let paused = text(object, "/metadata/annotations/crossplane.io~1paused") == "true";
        if paused || has(object, "Synced", "False", "ReconcilePaused") {
            return Shown::new("paused", "until the hub names its Secret", Tone::Quiet);
        }
        for (type_, state, tone) in [("Synced", "not synced", Tone::Bad), ("Ready", "not ready", Tone::Busy)]
        {
            if has(object, type_, "False", "") {
                let reason = condition(object, type_).and_then(|c| c["reason"].as_str()).unwrap_or_default();
                let words = match (message(object, type_), self, reason) {
                    ("", Row::Composite, "Creating") => "its Objects are not ready",
                    ("", _, "Creating") => "provider-kubernetes is creating it",
                    ("", Row::PrimaryObject, "Unavailable") => "the EphemeralCluster is not ready",
                    ("", _, reason) => reason,
                    (words, ..) => words,
                };
                return Shown::new(state, words, tone);
            }
        }
        if has(object, "Ready", "True", "") {
            return Shown::new("ready", "", Tone::Good);
        }
        Shown::new("created", "", Tone::Busy)
    }

    fn waits_to_go(self, object: &Value) -> &'static str {
        let held = object["metadata"]["finalizers"].as_array().into_iter().flatten();
        let held: Vec<_> = held.filter_map(Value::as_str).collect();
        match self {
            _ if held.is_empty() => "",
            _ if held == ["foregroundDeletion"] => "waiting for the garbage collector",
            Row::Claim => "waiting for the deletion of the composite",
            Row::Composite => "waiting for the deletion of its Objects",
            // Within 30 s of a creation provider-kubernetes does not trust an absence.
            Row::PrimaryObject | Row::Credentials => {
                "waiting for provider-kubernetes to confirm the deletion"
            }
            _ => "waiting for its controller to remove the finalizer",
        }
    }
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn message<'a>(object: &'a Value, type_: &str) -> &'a str {
    condition(object, type_).and_then(|c| c["message"].as_str()).unwrap_or_default()
}

fn tone(phase: &str) -> Tone {
    match phase {
        "Ready" => Tone::Good,
        "Failed" | "Degraded" => Tone::Bad,
        "Deprovisioned" => Tone::Quiet,
        _ => Tone::Busy,
    }
}

fn claim(claim: &Value) -> Shown {
    let phase = text(claim, "/status/phase");
    if has(claim, "Synced", "False", "") {
        return Shown::new("not synced", message(claim, "Synced"), Tone::Bad);
    }
    if phase.is_empty() {
        return Shown::new("created", "waiting for Crossplane to create a composite", Tone::Busy);
    }
    Shown::new(phase, text(claim, "/status/message"), tone(phase))
}

fn remote(ec: &Value) -> Shown {
    let phase = text(ec, "/status/phase");
    if phase.is_empty() {
        return Shown::new("created", "waiting for its controller to start", Tone::Busy);
    }
    let words = match phase {
        "Provisioning" => "the job creates the cluster",
        "Deprovisioning" => "the job removes the cluster",
        _ => "",
    };
    Shown::new(phase, words, tone(phase))
}

fn job(ec: &Value) -> Shown {
    let id = text(ec, "/status/prowJobId");
    if id.is_empty() {
        return Shown::absent(false);
    }
    if has(ec, "ProwJobCompleted", "True", "") {
        let good = has(ec, "ProwJobCompleted", "True", "ProwJobCompleted");
        let tone = if good { Tone::Quiet } else { Tone::Bad };
        return Shown::new(if good { "success" } else { "failure" }, id, tone);
    }
    let ready = has(ec, "ClusterReady", "True", "");
    let words = match (ready, has(ec, "TestCompleted", "True", "")) {
        (true, true) => "removes the cluster",
        (true, false) => "waiting for the end of the tests",
        _ => "creates the cluster",
    };
    Shown::new("running", words, if ready { Tone::Good } else { Tone::Busy })
}

/// Which keys there are. Never what is in them.
fn secret(secret: &Value) -> Shown {
    let data = decoded(secret);
    if data.is_empty() {
        return Shown::new("created", "no keys yet", Tone::Busy);
    }
    let emptied = data.values().all(String::is_empty);
    let note = |value: &str| if value.is_empty() && !emptied { " (empty)" } else { "" };
    let keys: Vec<_> = data.iter().rev().map(|(key, value)| format!("{key}{}", note(value))).collect();
    let (state, tone) = if emptied { ("emptied", Tone::Quiet) } else { ("filled", Tone::Good) };
    Shown::new(state, keys.join(", "), tone)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_secret_shows_its_keys_only() {
        let shown =
            Row::TenantSecret.of(&json!({ "data": { "kubeconfig": "c2VjcmV0", "kubeAdminPassword": "" } }));
        assert_eq!(shown, Shown::new("filled", "kubeconfig, kubeAdminPassword (empty)", Tone::Good));
        let shown = Row::TenantSecret.of(&json!({ "data": { "kubeconfig": "" } }));
        assert_eq!(shown.state, "emptied");
    }

    #[test]
    fn trouble_comes_before_readiness() {
        let object = json!({ "status": { "conditions": [
            { "type": "Ready", "status": "True" }, { "type": "Synced", "status": "False", "message": "refused" },
        ] } });
        assert_eq!(Row::PrimaryObject.of(&object), Shown::new("not synced", "refused", Tone::Bad));
    }

    #[test]
    fn a_job_is_told_from_its_owner() {
        let condition =
            |type_: &str, reason: &str| json!({ "type": type_, "status": "True", "reason": reason });
        let mut ec = json!({ "status": { "prowJobId": "j", "conditions": [] } });
        assert_eq!(Row::Job.of(&ec).words, "creates the cluster");
        ec["status"]["conditions"] = json!([condition("ClusterReady", "")]);
        assert_eq!(Row::Job.of(&ec).words, "waiting for the end of the tests");
        ec["status"]["conditions"] = json!([condition("ProwJobCompleted", "ProwJobFailure")]);
        assert_eq!(Row::Job.of(&ec).state, "failure");
    }
}
