//! A delivered cluster, by a client: finds resources, applies objects.

use std::{collections::BTreeMap, fmt::Write as _, time::Duration};

use http::StatusCode;
use kube::Client;
use serde_json::Value;
use tokio::sync::Mutex;

use super::apply::{Inside, Refusal, Why};
use crate::{
    account::{
        admin::AdminKubeconfig,
        reach::{self, Answer, Silent, Unusable, send},
    },
    ephemeral_cluster::object::MANAGER,
};

/// How long one call may take. Admission in the cluster may take longer; then it is tried again.
const CALL: Duration = Duration::from_secs(10);
/// The namespace of what says none, as that of `kubectl` is.
const DEFAULT: &str = "default";

/// What discovery says of a kind.
#[derive(Clone, Debug)]
struct Resource {
    plural: String,
    namespaced: bool,
}

/// A cluster for the time of one look: what it serves is asked for once, but for what it does not serve, which a bundle may be making just now.
pub(super) struct Opened {
    client: Client,
    known: Mutex<BTreeMap<(String, String), Resource>>,
}

/// Opens a cluster. Nothing is called yet.
pub(super) async fn open(admin: &AdminKubeconfig) -> Result<Opened, Refusal> {
    match reach::open(admin).await {
        Ok(client) => Ok(Opened { client, known: Mutex::default() }),
        Err(Unusable(why)) => {
            Err(Refusal::new(Why::KubeconfigUnusable, format!("the kubeconfig of the cluster {why}")))
        }
    }
}

impl Opened {
    async fn call(&self, verb: &str, path: &str, body: (&str, &Value)) -> Result<Answer, Refusal> {
        match send(&self.client, verb, path, body, CALL).await {
            Ok(Answer { code: StatusCode::UNAUTHORIZED, .. }) => {
                Err(Refusal::new(Why::Unauthorized, "the cluster does not take the kubeconfig"))
            }
            Ok(answer) => Ok(answer),
            Err(Silent::Unreachable) => {
                Err(Refusal::new(Why::Unreachable, "the cluster cannot be reached from the hub"))
            }
            Err(Silent::TooLarge) => {
                Err(Refusal::new(Why::TooLarge, "the cluster's answer is longer than 2 MiB"))
            }
        }
    }

    /// Where the objects of a kind are.
    async fn resource(&self, root: &str, kind: &str) -> Result<Resource, Refusal> {
        let key = (root.to_owned(), kind.to_owned());
        if let Some(known) = self.known.lock().await.get(&key) {
            return Ok(known.clone());
        }
        let answer = self.call("GET", root, ("application/json", &Value::Null)).await?;
        let all = match answer.code {
            StatusCode::NOT_FOUND => None,
            code if code.is_success() => answer.body["resources"].as_array(),
            code => return Err(refused(code, &answer.body)),
        };
        let named = |entry: &&Value| {
            entry["kind"] == kind && entry["name"].as_str().is_some_and(|name| !name.contains('/'))
        };
        let found = all.and_then(|all| all.iter().find(named)).and_then(|entry| {
            let plural = entry["name"].as_str()?.to_owned();
            Some(Resource { plural, namespaced: entry["namespaced"].as_bool()? })
        });
        let found = found.ok_or_else(|| {
            Refusal::new(Why::NoSuchKind, "the cluster does not serve objects of this kind")
        })?;
        self.known.lock().await.insert(key, found.clone());
        Ok(found)
    }
}

impl Inside for Opened {
    async fn apply(&self, object: &Value) -> Result<Value, Refusal> {
        let unreadable =
            || Refusal::new(Why::InvalidManifest, "the manifest has no apiVersion, kind or metadata.name");
        let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let metadata = &object["metadata"];
        let version = text(&object["apiVersion"]).ok_or_else(unreadable)?;
        let kind = text(&object["kind"]).ok_or_else(unreadable)?;
        let name = text(&metadata["name"]).ok_or_else(unreadable)?;
        let root = match version.split_once('/') {
            None => format!("/api/{}", segment(&version)?),
            Some((group, version)) => format!("/apis/{}/{}", segment(group)?, segment(version)?),
        };
        let resource = self.resource(&root, &kind).await?;
        let mut path = root;
        if resource.namespaced {
            let namespace = text(&metadata["namespace"]).unwrap_or_else(|| DEFAULT.into());
            path.push_str("/namespaces/");
            path.push_str(&segment(&namespace)?);
        }
        let (plural, name) = (segment(&resource.plural)?, segment(&name)?);
        let path = format!("{path}/{plural}/{name}?fieldManager={MANAGER}&force=true");
        // JSON is YAML too.
        let mut answer = self.call("PATCH", &path, ("application/apply-patch+yaml", object)).await?;
        if !answer.code.is_success() {
            return Err(refused(answer.code, &answer.body));
        }
        // The largest part of many objects, and nothing that anybody asks for.
        if let Some(metadata) = answer.body["metadata"].as_object_mut() {
            metadata.remove("managedFields");
        }
        Ok(answer.body)
    }
}

fn refused(code: StatusCode, status: &Value) -> Refusal {
    let text = |key| status[key].as_str().unwrap_or_default();
    Refusal::answered(code.as_u16(), text("reason"), text("message"))
}

/// A part of a path: whatever is in it leads nowhere else.
fn segment(text: &str) -> Result<String, Refusal> {
    if matches!(text, "" | "." | "..") || text.len() > 253 {
        return Err(Refusal::new(Why::InvalidManifest, "a name in the manifest is no name"));
    }
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b':') {
            encoded.push(char::from(byte));
        } else {
            // Writing to a String does not fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    Ok(encoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_nowhere_else() {
        assert_eq!(segment("system:node-proxier.x_y").unwrap(), "system:node-proxier.x_y");
        assert_eq!(segment("../secrets?a=b#c%2f").unwrap(), "..%2Fsecrets%3Fa%3Db%23c%252f");
        for none in ["", ".", "..", &"x".repeat(254)] {
            assert!(segment(none).is_err(), "{none}");
        }
    }
}
