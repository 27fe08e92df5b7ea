//! Kubeconfigs of clusters, parsed as kubectl parses them and rewritten.
//!
//! A client runs the programs and reads the files that a kubeconfig's users name, on its own machine. YAML parsers disagree on where a comment
//! ends and what a key is, so no check of the original bytes holds for every reader. The published kubeconfig has the fields below and nothing
//! else.
//!
//! Source: client-go, `tools/clientcmd/api/v1/{types,conversion}.go` and `tools/clientcmd/validation.go`.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use serde::{Deserialize, Serialize, de::IgnoredAny};
use serde_json::{Value, json};
use testplatform_apis::yaml::to_yaml;

const NONE: &str = "is not a kubeconfig";
const NO_CONTEXT: &str = "has no current context with a cluster and a user";

/// The usable part of a kubeconfig: its current context, and other contexts that are complete.
#[derive(Clone)]
pub struct Kubeconfig {
    current: String,
    contexts: BTreeMap<String, Context>,
    clusters: BTreeMap<String, KubeconfigCluster>,
    users: BTreeMap<String, KubeconfigUser>,
}

/// An API server.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct KubeconfigCluster {
    /// Its URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Certificates of its authorities, in base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate_authority_data: Option<String>,
    /// The name in its certificate, where that is not the URL's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_server_name: Option<String>,
    /// Whether any certificate is accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insecure_skip_tls_verify: Option<bool>,
    /// A proxy on the way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disable_compression: Option<bool>,
    #[serde(skip_serializing)]
    certificate_authority: Option<String>,
}

/// Credentials.
#[derive(Clone, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct KubeconfigUser {
    /// A certificate, in base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_certificate_data: Option<String>,
    /// The key of the certificate, in base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_key_data: Option<String>,
    /// A token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    username: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    password: Option<String>,
    #[serde(rename = "as", skip_serializing_if = "Option::is_none")]
    impersonated: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    as_uid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    as_groups: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    as_user_extra: Option<BTreeMap<String, Vec<String>>>,
    #[serde(skip_serializing)]
    exec: Option<IgnoredAny>,
    #[serde(skip_serializing)]
    auth_provider: Option<IgnoredAny>,
    #[serde(rename = "tokenFile", skip_serializing)]
    token_file: Option<String>,
    #[serde(skip_serializing)]
    client_certificate: Option<String>,
    #[serde(skip_serializing)]
    client_key: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct Context {
    cluster: Option<String>,
    user: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct File {
    #[serde(rename = "apiVersion")]
    api_version: Option<String>,
    kind: Option<String>,
    current_context: Option<String>,
    contexts: Option<Vec<NamedContext>>,
    clusters: Option<Vec<NamedCluster>>,
    users: Option<Vec<NamedUser>>,
}

#[derive(Deserialize)]
struct NamedContext {
    name: Option<String>,
    context: Option<Context>,
}

#[derive(Deserialize)]
struct NamedCluster {
    name: Option<String>,
    cluster: Option<KubeconfigCluster>,
}

#[derive(Deserialize)]
struct NamedUser {
    name: Option<String>,
    user: Option<KubeconfigUser>,
}

impl Kubeconfig {
    /// Reads one.
    ///
    /// # Errors
    /// Returns the end of a sentence, without any of the content: kubectl could not use it, or it would run a program or read files on the
    /// user's machine.
    pub fn read(bytes: &[u8]) -> Result<Self, &'static str> {
        let text = std::str::from_utf8(bytes).map_err(|_| NONE)?;
        // By way of JSON, as kubectl reads it: a number is no text there.
        let document: Value = serde_saphyr::from_str(text).map_err(|_| NONE)?;
        let file: File = serde_json::from_value(document).map_err(|_| NONE)?;
        let other = |value: &Option<String>, own| value.as_deref().is_some_and(|v| !v.is_empty() && v != own);
        if other(&file.api_version, "v1") || other(&file.kind, "Config") {
            return Err(NONE);
        }
        let contexts = file.contexts.into_iter().flatten().map(|named| (named.name, named.context));
        let mut contexts = by_name(contexts)?;
        let clusters = file.clusters.into_iter().flatten().map(|named| (named.name, named.cluster));
        let mut clusters = by_name(clusters)?;
        let users = file.users.into_iter().flatten().map(|named| (named.name, named.user));
        let mut users = by_name(users)?;
        clusters.values().try_for_each(KubeconfigCluster::decodable)?;
        users.values().try_for_each(KubeconfigUser::decodable)?;
        if clusters.is_empty() {
            return Err(NONE);
        }

        let current = file.current_context.filter(|name| !name.is_empty()).ok_or(NO_CONTEXT)?;
        let context = contexts.get(&current).ok_or(NO_CONTEXT)?;
        let (cluster, user) = context.of(&clusters, &users).ok_or(NO_CONTEXT)?;
        cluster.usable()?;
        user.usable()?;

        clusters.retain(|_, cluster| cluster.usable().is_ok());
        users.retain(|_, user| user.usable().is_ok());
        contexts.retain(|_, context| context.of(&clusters, &users).is_some());
        Ok(Self { current, contexts, clusters, users })
    }

    /// Cluster and user of the current context. Both are there in every one that was read.
    pub fn current(&self) -> Option<(&KubeconfigCluster, &KubeconfigUser)> {
        self.contexts.get(&self.current)?.of(&self.clusters, &self.users)
    }

    /// The text that is published.
    pub fn write(&self) -> String {
        let document = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": self.current,
            "clusters": list(&self.clusters, "cluster"),
            "contexts": list(&self.contexts, "context"),
            "users": list(&self.users, "user"),
        });
        // JSON is YAML too; nothing in it keeps the other from being written.
        to_yaml(&document).unwrap_or_else(|_| document.to_string())
    }
}

/// Parses and rewrites a kubeconfig.
///
/// # Errors
/// As those of [`Kubeconfig::read`].
pub fn rewrite_kubeconfig(bytes: &[u8]) -> Result<Vec<u8>, &'static str> {
    Kubeconfig::read(bytes).map(|kubeconfig| kubeconfig.write().into_bytes())
}

/// Entries by name. client-go refuses names that occur twice.
fn by_name<T: Default>(
    entries: impl Iterator<Item = (Option<String>, Option<T>)>,
) -> Result<BTreeMap<String, T>, &'static str> {
    let mut map = BTreeMap::new();
    for (name, entry) in entries {
        if map.insert(name.unwrap_or_default(), entry.unwrap_or_default()).is_some() {
            return Err("has two entries with one name");
        }
    }
    Ok(map)
}

fn list<T: Serialize>(entries: &BTreeMap<String, T>, key: &str) -> Value {
    entries.iter().map(|(name, entry)| json!({ "name": name, key: entry })).collect()
}

fn is_set(text: Option<&String>) -> bool {
    text.is_some_and(|text| !text.is_empty())
}

/// Go's decoder skips line breaks in base64.
fn is_base64(text: Option<&String>) -> bool {
    let Some(text) = text else { return true };
    let joined: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    serde_json::from_value::<ByteString>(joined.into()).is_ok()
}

impl Context {
    fn of<'a>(
        &self,
        clusters: &'a BTreeMap<String, KubeconfigCluster>,
        users: &'a BTreeMap<String, KubeconfigUser>,
    ) -> Option<(&'a KubeconfigCluster, &'a KubeconfigUser)> {
        Some((clusters.get(self.cluster.as_ref()?)?, users.get(self.user.as_ref()?)?))
    }
}

impl KubeconfigCluster {
    fn decodable(&self) -> Result<(), &'static str> {
        if is_base64(self.certificate_authority_data.as_ref()) { Ok(()) } else { Err(NONE) }
    }

    fn usable(&self) -> Result<(), &'static str> {
        if !is_set(self.server.as_ref()) {
            return Err("has no URL of an API server");
        }
        if is_set(self.certificate_authority.as_ref()) {
            return Err("names files on its user's machine");
        }
        Ok(())
    }
}

impl KubeconfigUser {
    fn decodable(&self) -> Result<(), &'static str> {
        let data = [&self.client_certificate_data, &self.client_key_data];
        if data.into_iter().all(|data| is_base64(data.as_ref())) { Ok(()) } else { Err(NONE) }
    }

    fn usable(&self) -> Result<(), &'static str> {
        if self.exec.is_some() || self.auth_provider.is_some() {
            return Err("would run a program on its user's machine");
        }
        let files = [&self.token_file, &self.client_certificate, &self.client_key];
        if files.into_iter().any(|file| is_set(file.as_ref())) {
            return Err("names files on its user's machine");
        }
        let basic = is_set(self.username.as_ref()) || is_set(self.password.as_ref());
        let certificate = is_set(self.client_certificate_data.as_ref());
        if certificate && !is_set(self.client_key_data.as_ref()) {
            return Err("has a certificate without its key");
        }
        match (is_set(self.token.as_ref()), basic) {
            (true, true) => Err("has a token and a password, and kubectl takes only one of them"),
            (false, false) if !certificate => Err("has no credentials"),
            (true | false, true | false) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "apiVersion: v1\nkind: Config\nclusters:\n- name: c\n  cluster: {server: 'https://api.c:6443', certificate-authority-data: eA==}\n\
        contexts:\n- name: admin\n  context: {cluster: c, user: admin}\ncurrent-context: admin\n";

    fn read(rest: &str) -> Result<String, &'static str> {
        rewrite_kubeconfig(format!("{GOOD}{rest}").as_bytes()).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn credentials_are_kept_and_written_the_same_again() {
        for user in [
            "{client-certificate-data: eA==, client-key-data: eA==}",
            "{token: s3cret}",
            "{username: kubeadmin, password: s3cret}",
            "{token: exec, as: somebody, as-groups: [g]}",
        ] {
            let text = read(&format!("users: [{{name: admin, user: {user}}}]")).unwrap();
            assert_eq!(rewrite_kubeconfig(text.as_bytes()).unwrap(), text.as_bytes(), "{user}");
            let again: Value = serde_saphyr::from_str(&text).unwrap();
            let asked: Value = serde_saphyr::from_str(user).unwrap();
            assert_eq!(again["users"][0]["user"], asked);
            assert_eq!(again["clusters"][0]["cluster"]["server"], "https://api.c:6443");
        }
    }

    #[test]
    fn programs_and_files_are_refused() {
        for (user, why) in [
            ("users: [{name: admin, user: {exec: {command: rm}}}]", "run"),
            ("users: [{name: admin, user: {token: t, exec: {command: rm}}}]", "run"),
            ("users: [{name: admin, user: {auth-provider: {name: gcp}}}]", "run"),
            ("users: [{name: admin, user: {tokenFile: /var/run/secrets/token}}]", "files"),
            ("users: [{name: admin, user: {token: t, client-key: /etc/keys/client.key}}]", "files"),
            ("users: [{name: admin, user: {Exec: {command: rm}}}]", "no credentials"),
            ("users: [{name: admin, user: {client-certificate-data: eA==}}]", "without its key"),
            ("users: [{name: admin, user: {token: t, password: p}}]", "only one"),
        ] {
            assert!(read(user).unwrap_err().contains(why), "{user}");
        }
    }

    /// kubectl ignores these, and nothing of them is published.
    #[test]
    fn harmless_fields_are_left_out() {
        for rest in [
            "users: [{name: admin, user: {token: t, exec: null}}]",
            "users: [{name: admin, user: {token: t, Exec: {command: rm}}}]",
            "users: [{name: admin, user: {token: t}}, {name: other, user: {exec: {command: rm}}}]",
            "users: [{name: admin, user: {token: t, tokenFile: ''}}]\nextensions: [{name: exec, extension: {exec: {}}}]",
            "users: [{name: admin, user: {token: t}}]\npreferences: {exec: {command: rm}}",
        ] {
            let text = read(rest).unwrap();
            assert!(!text.to_lowercase().contains("exec"), "{text}");
        }
        let second = GOOD.replace("contexts:", "- name: unfinished\n  cluster: {server: ''}\ncontexts:");
        let text =
            rewrite_kubeconfig(format!("{second}users: [{{name: admin, user: {{token: t}}}}]").as_bytes());
        assert!(!String::from_utf8(text.unwrap()).unwrap().contains("unfinished"));
    }

    /// Our parser takes the rest of the line for a comment, kubectl's does not.
    #[test]
    fn text_that_parsers_read_differently_is_not_published() {
        for line in ['\u{2028}', '\u{2029}', '\u{85}'] {
            let rest =
                format!("users:\n- name: admin\n  user:\n    token: t # {line}    exec: {{command: rm}}\n");
            let text = read(&rest).unwrap();
            assert!(!text.contains("exec") && !text.contains(line), "{text}");
        }
    }

    #[test]
    fn files_that_kubectl_cannot_use_are_refused() {
        let admin = "users: [{name: admin, user: {token: t}}]";
        for (text, why) in [
            (String::new(), NONE),
            ("not ready".into(), NONE),
            ("clusters: []".into(), NONE),
            ("clusters: {".into(), NONE),
            (GOOD.into(), NO_CONTEXT),
            (format!("{GOOD}users: [{{name: admin, user: {{token: 12345}}}}]"), NONE),
            (GOOD.replace("current-context: admin", "current-context: other") + admin, NO_CONTEXT),
            (GOOD.replace("current-context: admin", "") + admin, NO_CONTEXT),
            (GOOD.replace("kind: Config", "kind: Secret") + admin, NONE),
            (GOOD.replace("eA==", "'%'") + admin, NONE),
            (GOOD.replace("'https://api.c:6443'", "''") + admin, "has no URL of an API server"),
            (format!("{GOOD}{admin}\n---\n{admin}"), NONE),
            (
                format!("{GOOD}users: [{{name: admin, user: {{token: t}}}}, {{name: admin}}]"),
                "has two entries with one name",
            ),
        ] {
            assert_eq!(rewrite_kubeconfig(text.as_bytes()), Err(why), "{text}");
        }
        assert_eq!(rewrite_kubeconfig(&[0xff, 0xfe]), Err(NONE));
    }
}
