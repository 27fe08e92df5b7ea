//! Credentials: the files of `docker login` and `podman login`, and the helpers in them.

use std::{
    collections::BTreeMap,
    fs,
    io::Write as _,
    os::unix::fs::MetadataExt as _,
    path::PathBuf,
    process::{Command, Stdio},
};

use anyhow::{Context as _, ensure};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde::Deserialize;

use super::Reference;

/// Credentials for a registry. The type has no `Debug`, so no log can contain it.
#[derive(Clone, PartialEq, Eq)]
pub enum Credentials {
    /// Name and password.
    Basic {
        /// User name.
        user: String,
        /// Password, or a token in its place.
        password: String,
    },
    /// Refresh token, which a token server exchanges for tokens.
    Identity(String),
}

/// Location of credentials according to a file.
#[derive(Clone, PartialEq, Eq)]
pub enum CredentialLocation {
    /// In the file.
    InFile(Credentials),
    /// With the program `docker-credential-<name>`, under this key.
    Helper {
        /// Suffix of the program's name.
        name: String,
        /// Key of the request.
        key: String,
    },
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct LoginFile {
    auths: BTreeMap<String, LoginEntry>,
    cred_helpers: BTreeMap<String, String>,
    creds_store: String,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "lowercase")]
struct LoginEntry {
    auth: String,
    username: String,
    password: String,
    identitytoken: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct HelperOutput {
    username: String,
    secret: String,
}

/// Finds the credentials of a repository in a file. An entry for a path in the registry wins over one for the registry.
///
/// # Errors
/// If the file is invalid. The error does not repeat its content.
pub fn find_credentials(text: &str, reference: &Reference) -> anyhow::Result<Option<CredentialLocation>> {
    let config: LoginFile = serde_json::from_str(text)
        .map_err(|error| anyhow::anyhow!("line {}: not the JSON of a login file", error.line()))?;
    let mut path = reference.repository();
    let mut login_file_paths = vec![path.clone()];
    while let Some((parent, _)) = path.rsplit_once('/') {
        login_file_paths.push(parent.to_owned());
        path = parent.to_owned();
    }
    if ["docker.io", "registry-1.docker.io"].contains(&reference.registry.as_str()) {
        login_file_paths.push("index.docker.io".to_owned());
    }
    for place in &login_file_paths {
        let helper = config.cred_helpers.iter().find(|(key, _)| normalize_key(key) == place);
        if let Some((key, name)) = helper.filter(|(_, name)| !name.is_empty()) {
            return Ok(Some(CredentialLocation::Helper { name: name.clone(), key: key.clone() }));
        }
        let Some((key, auth)) = config.auths.iter().find(|(key, _)| normalize_key(key) == place) else {
            continue;
        };
        if let Some(credentials) = auth.credentials().with_context(|| format!("the entry {key:?}"))? {
            return Ok(Some(CredentialLocation::InFile(credentials)));
        }
        // An empty entry refers to the credential store.
        if !config.creds_store.is_empty() {
            return Ok(Some(CredentialLocation::Helper { name: config.creds_store, key: key.clone() }));
        }
    }
    Ok((!config.creds_store.is_empty())
        .then(|| CredentialLocation::Helper { name: config.creds_store, key: reference.registry.clone() }))
}

impl LoginEntry {
    fn credentials(&self) -> anyhow::Result<Option<Credentials>> {
        if !self.identitytoken.is_empty() {
            return Ok(Some(Credentials::Identity(self.identitytoken.clone())));
        }
        if !self.username.is_empty() {
            return Ok(Some(Credentials::Basic {
                user: self.username.clone(),
                password: self.password.clone(),
            }));
        }
        if self.auth.is_empty() {
            return Ok(None);
        }
        let decoded =
            BASE64_STANDARD.decode(self.auth.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let decoded = decoded.context("auth is not base64; log in again")?;
        let (user, password) = decoded.split_once(':').context("auth has no colon; log in again")?;
        Ok(Some(Credentials::Basic {
            user: user.to_owned(),
            password: password.trim_end_matches('\0').to_owned(),
        }))
    }
}

/// The key of an entry without the additions of different tools.
fn normalize_key(key: &str) -> &str {
    let key = key.strip_prefix("https://").or_else(|| key.strip_prefix("http://")).unwrap_or(key);
    let key = key.trim_end_matches('/');
    key.strip_suffix("/v1").or_else(|| key.strip_suffix("/v2")).unwrap_or(key)
}

/// The existing login files, in order of precedence. A file in `REGISTRY_AUTH_FILE` must exist, as with podman.
pub fn login_files() -> Vec<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let user = fs::metadata("/proc/self").ok().map(|process| process.uid());
    let named = variable("REGISTRY_AUTH_FILE");
    places(variable, user).filter(|path| path.is_file() || Some(path) == named.as_ref()).collect()
}

/// Possible locations of such files: podman's also without `XDG_RUNTIME_DIR`, as for root, and those that outlive a session
/// (containers-auth.json(5)).
fn places(variable: impl Fn(&str) -> Option<PathBuf>, user: Option<u32>) -> impl Iterator<Item = PathBuf> {
    let below_home = |folder: &str| Some(variable("HOME")?.join(folder));
    let docker = variable("DOCKER_CONFIG").or_else(|| below_home(".docker"));
    let session = variable("XDG_RUNTIME_DIR").map(|folder| folder.join("containers"));
    let session = session.or_else(|| Some(format!("/run/containers/{}", user?).into()));
    let lasting = variable("XDG_CONFIG_HOME").or_else(|| below_home(".config"));
    [
        variable("REGISTRY_AUTH_FILE"),
        docker.map(|folder| folder.join("config.json")),
        session.map(|folder| folder.join("auth.json")),
        lasting.map(|folder| folder.join("containers/auth.json")),
    ]
    .into_iter()
    .flatten()
}

/// The credentials of a repository, if any. The first file with the registry decides.
///
/// # Errors
/// If a file is invalid or a helper fails.
pub fn read_credentials(files: &[PathBuf], reference: &Reference) -> anyhow::Result<Option<Credentials>> {
    for file in files {
        let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let found = find_credentials(&text, reference).with_context(|| file.display().to_string())?;
        match found {
            Some(CredentialLocation::InFile(credentials)) => return Ok(Some(credentials)),
            Some(CredentialLocation::Helper { name, key }) => {
                if let Some(credentials) = ask_helper(&name, &key)? {
                    return Ok(Some(credentials));
                }
            }
            None => {}
        }
    }
    Ok(None)
}

/// Asks a helper, which may have no credentials.
fn ask_helper(name: &str, key: &str) -> anyhow::Result<Option<Credentials>> {
    ensure!(
        name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b)),
        "{name:?} is not a name of a credential helper"
    );
    let program = format!("docker-credential-{name}");
    let mut child = Command::new(&program)
        .arg("get")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("cannot run {program}, which the login file names"))?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(key.as_bytes()).with_context(|| format!("cannot ask {program}"))?;
    }
    let output = child.wait_with_output().with_context(|| format!("{program} does not answer"))?;
    if !output.status.success() {
        return Ok(None);
    }
    let helped: HelperOutput = serde_json::from_slice(&output.stdout)
        .ok()
        .with_context(|| format!("{program} answers something else than credentials"))?;
    Ok(Some(if helped.username == "<token>" {
        Credentials::Identity(helped.secret)
    } else {
        Credentials::Basic { user: helped.username, password: helped.secret }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(config: &str, reference: &str) -> Option<String> {
        let found = find_credentials(config, &reference.parse().unwrap()).unwrap()?;
        Some(match found {
            CredentialLocation::InFile(Credentials::Basic { user, password }) => format!("{user}:{password}"),
            CredentialLocation::InFile(Credentials::Identity(token)) => format!("token {token}"),
            CredentialLocation::Helper { name, key } => format!("helper {name} {key}"),
        })
    }

    #[test]
    fn login_files_of_docker_and_podman_are_understood() {
        // "a:b" and "c:d:e".
        let file = r#"{"auths": {"r.example": {"auth": "YTpi"}, "r.example/team": {"auth": "YzpkOmU="},
            "https://index.docker.io/v1/": {"username": "u", "password": "p"},
            "i.example": {"auth": "YTpi", "identitytoken": "t"}}}"#;
        assert_eq!(found(file, "r.example/other/f:v1").as_deref(), Some("a:b"));
        assert_eq!(found(file, "r.example/team/f:v1").as_deref(), Some("c:d:e"));
        assert_eq!(found(file, "docker.io/team/f:v1").as_deref(), Some("u:p"));
        assert_eq!(found(file, "i.example/f:v1").as_deref(), Some("token t"));
        assert_eq!(found(file, "other.example/f:v1"), None);
        assert_eq!(found("{}", "r.example/f:v1"), None);
    }

    #[test]
    fn login_files_are_found_at_the_paths_of_docker_and_podman() {
        let of = |set: &[(&str, &str)]| -> Vec<String> {
            let variable =
                |name: &str| set.iter().find(|(key, _)| *key == name).map(|(_, value)| PathBuf::from(value));
            places(variable, Some(0)).map(|path| path.display().to_string()).collect()
        };
        assert_eq!(of(&[]), ["/run/containers/0/auth.json"]);
        let home = [("HOME", "/h"), ("XDG_RUNTIME_DIR", "/r")];
        assert_eq!(
            of(&home),
            ["/h/.docker/config.json", "/r/containers/auth.json", "/h/.config/containers/auth.json"]
        );
        let other = [
            ("HOME", "/h"),
            ("REGISTRY_AUTH_FILE", "/a"),
            ("DOCKER_CONFIG", "/d"),
            ("XDG_CONFIG_HOME", "/c"),
        ];
        assert_eq!(
            of(&other),
            ["/a", "/d/config.json", "/run/containers/0/auth.json", "/c/containers/auth.json"]
        );
    }

    #[test]
    fn helpers_are_asked_where_the_file_says_so() {
        let file =
            r#"{"auths": {"s.example": {}}, "credsStore": "secret", "credHelpers": {"r.example": "cloud"}}"#;
        assert_eq!(found(file, "r.example/f:v1").as_deref(), Some("helper cloud r.example"));
        assert_eq!(found(file, "s.example/f:v1").as_deref(), Some("helper secret s.example"));
        assert_eq!(found(file, "x.example/f:v1").as_deref(), Some("helper secret x.example"));
    }

    #[test]
    fn problems_of_a_file_are_reported_without_its_content() {
        for (file, what) in [
            ("{\n\"auths\": {\"r.example\": {\"auth\": \"not base 64\"}}}", "not base64"),
            ("{\"auths\": {\"r.example\": {\"auth\": \"YQ==\"}}}", "no colon"),
            ("{\n\n not json", "line 3"),
        ] {
            let message =
                format!("{:#}", find_credentials(file, &"r.example/f".parse().unwrap()).err().unwrap());
            assert!(message.contains(what) && !message.contains("not base 64"), "{message}");
        }
    }
}
