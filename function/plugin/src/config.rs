//! Kubeconfigs: one cluster's own, put beside those that a person has.

use serde_json::{Value, json};

use super::claim::text;

/// Name of a claim's entries in a user's kubeconfig.
pub fn entry_name(namespace: &str, name: &str) -> String {
    format!("testplatform-{namespace}-{name}")
}

/// Members that would run a program, or read a file, of the kubeconfig's user.
const ALIVE: [&str; 6] =
    ["exec", "auth-provider", "tokenFile", "client-certificate", "client-key", "certificate-authority"];

/// A kubeconfig with nothing but its current context, that by another name. An error says what is missing.
pub fn extract_entry(config: &Value, name: &str) -> Result<Value, String> {
    let of = |list: &str, inner: &str, wanted: &str| -> Result<Value, String> {
        let found = config[list].as_array().into_iter().flatten().find(|e| text(e, "/name") == wanted);
        found.map(|e| e[inner].clone()).ok_or_else(|| format!("it has no entry {wanted:?} among its {list}"))
    };
    let mut context = match text(config, "/current-context") {
        // As kubectl has it: a single one needs no choice.
        "" if config["contexts"].as_array().is_some_and(|c| c.len() == 1) => {
            config["contexts"][0]["context"].clone()
        }
        "" => return Err("it has no current context".to_owned()),
        current => of("contexts", "context", current)?,
    };
    let cluster = of("clusters", "cluster", text(&context, "/cluster"))?;
    let user = of("users", "user", text(&context, "/user"))?;
    if let Some(field) = ALIVE.iter().find(|field| !cluster[**field].is_null() || !user[**field].is_null()) {
        return Err(format!("its {field} would run a program or read a file of yours"));
    }
    context["cluster"] = name.into();
    context["user"] = name.into();
    Ok(json!({
        "apiVersion": "v1", "kind": "Config",
        "clusters": [{ "name": name, "cluster": cluster }],
        "users": [{ "name": name, "user": user }],
        "contexts": [{ "name": name, "context": context }],
    }))
}

/// Name of the extension by which an entry belongs to a claim.
const EXTENSION: &str = "testplatform.ci.openshift.org";

/// Notes in the context of an extracted entry which claim it is for.
pub fn mark_owner(entry: &mut Value, uid: &str) {
    entry["contexts"][0]["context"]["extensions"] =
        json!([{ "name": EXTENSION, "extension": { "claimUID": uid } }]);
}

/// The uid of the claim that a context was added for.
fn claim_uid(context: &Value) -> Option<&str> {
    let extensions = context["context"]["extensions"].as_array()?;
    extensions.iter().find(|e| e["name"] == EXTENSION)?["extension"]["claimUID"].as_str()
}

/// A user's kubeconfig without the entries that were added for a claim, and whether its context was the current one.
/// None if there is no such context, or it was not added for this claim.
pub fn remove_entry(mut own: Value, name: &str, uid: &str) -> Option<(Value, bool)> {
    let is_named = |entry: &Value| text(entry, "/name") == name;
    let context = own["contexts"].as_array()?.iter().find(|context| is_named(context))?;
    if claim_uid(context) != Some(uid) {
        return None;
    }
    for list in ["clusters", "users", "contexts"] {
        if let Some(entries) = own.get_mut(list).and_then(Value::as_array_mut) {
            entries.retain(|entry| !is_named(entry));
        }
    }
    let was_current = text(&own, "/current-context") == name;
    if was_current {
        own["current-context"] = "".into();
    }
    Some((own, was_current))
}

/// The server to which the name of a kubeconfig's one cluster leads in a person's own, if that is another.
pub fn conflicting_server(own: &Value, new: &Value) -> Option<String> {
    let new = &new["clusters"][0];
    let old = own["clusters"].as_array()?.iter().find(|cluster| cluster["name"] == new["name"])?;
    let server = text(old, "/cluster/server");
    (!server.is_empty() && server != text(new, "/cluster/server")).then(|| server.to_owned())
}

/// A user's kubeconfig with the entries of another. Entries of the same names are replaced; the current context stays.
pub fn merge_configs(mut own: Value, new: &Value) -> Value {
    if !own.is_object() {
        own = json!({ "apiVersion": "v1", "kind": "Config" });
    }
    for list in ["clusters", "users", "contexts"] {
        let added = new[list].as_array().cloned().unwrap_or_default();
        let mut entries = own[list].as_array().cloned().unwrap_or_default();
        entries.retain(|entry| !added.iter().any(|a| a["name"] == entry["name"]));
        entries.extend(added);
        own[list] = Value::Array(entries);
    }
    own
}
