//! `clouds.yaml`, as far as one cloud and its identity service go: what issuers have, and what is published.
//!
//! Keys and their meaning are those of OpenStack's clients (`openstacksdk`, "Configuring OpenStack SDK Applications").

use k8s_openapi::ByteString;
use serde_json::{Map, Value, json};
use testplatform_apis::yaml::to_yaml;
use testplatform_runtime::redacted::Redacted;

/// The longest `clouds.yaml` and certificates that are read.
const MOST: usize = 256 << 10;

/// A cloud, and by what its identity service lets somebody in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cloud {
    /// Its name in the file.
    pub name: String,
    /// URL of version 3 of its identity service, without a slash at its end.
    pub identity: String,
    /// By what it lets somebody in.
    pub proof: Proof,
    /// Additional settings for clients: region, interface, path of certificates.
    pub beside: Map<String, Value>,
    /// Certificates by which it is trusted (PEM); none: well-known ones.
    pub certificates: Option<Vec<u8>>,
}

/// By what the identity service lets somebody in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// A password.
    Password {
        /// The user, as the identity service has it: id, or name and domain.
        user: Value,
        /// The password.
        password: Redacted<String>,
        /// The project, the same.
        project: Value,
    },
    /// An application credential.
    Application {
        /// Its id.
        id: String,
        /// Its secret.
        secret: Redacted<String>,
    },
}

impl Proof {
    /// The secret part, which must never be logged or reported.
    pub fn secret(&self) -> &str {
        match self {
            Self::Password { password, .. } => &password.0,
            Self::Application { secret, .. } => &secret.0,
        }
    }

    /// The body of `POST /v3/auth/tokens`.
    pub fn auth_request(&self) -> Value {
        match self {
            Self::Application { id, secret } => json!({ "auth": { "identity": {
                "methods": ["application_credential"],
                "application_credential": { "id": id, "secret": secret.0 },
            } } }),
            Self::Password { user, password, project } => {
                let mut user = user.clone();
                user["password"] = password.0.as_str().into();
                json!({ "auth": {
                    "identity": { "methods": ["password"], "password": { "user": user } },
                    "scope": { "project": project },
                } })
            }
        }
    }
}

impl Cloud {
    /// Reads a Secret.
    ///
    /// # Errors
    /// If it cannot be used: the end of a sentence, without a word of what is in it.
    pub fn parse_clouds_yaml(file: &[u8], certificates: Option<&[u8]>) -> Result<Self, &'static str> {
        if file.len() > MOST || certificates.is_some_and(|pem| pem.len() > MOST) {
            return Err("is longer than 256 KiB");
        }
        let text = std::str::from_utf8(file).map_err(|_| "has a clouds.yaml that is not YAML")?;
        let file: Value = serde_saphyr::from_str(text).map_err(|_| "has a clouds.yaml that is not YAML")?;
        let clouds = file["clouds"].as_object().ok_or("has a clouds.yaml without clouds")?;
        let mut all = clouds.iter();
        let (Some((name, cloud)), None) = (all.next(), all.next()) else {
            return Err("has a clouds.yaml with none or several clouds; exactly one is read");
        };
        if cloud["verify"] == false || cloud["insecure"] == true {
            return Err("has a cloud whose certificates are not verified; give them as cacert");
        }
        let auth = &cloud["auth"];
        let identity = identity_url(text_of(&auth["auth_url"]).ok_or("has a cloud without auth_url")?)?;
        let proof = parse_proof(cloud["auth_type"].as_str().unwrap_or("password"), auth)?;
        let keep = ["region_name", "interface", "endpoint_type", "cacert"];
        let beside = keep.iter().filter_map(|key| Some(((*key).to_owned(), text_of(&cloud[*key])?.into())));
        let certificates = certificates.filter(|pem| !pem.is_empty()).map(<[u8]>::to_vec);
        Ok(Self { name: name.clone(), identity, proof, beside: beside.collect(), certificates })
    }

    /// The same cloud, for another who has an application credential there.
    #[must_use]
    pub fn with_credential(&self, id: String, secret: Redacted<String>) -> Self {
        Self { proof: Proof::Application { id, secret }, ..self.clone() }
    }

    /// The file with this cloud alone. None: it could not be written, which nothing in it brings about, or it is for a password.
    pub fn to_clouds_yaml(&self) -> Option<String> {
        let Proof::Application { id, secret } = &self.proof else { return None };
        let mut cloud = Map::new();
        cloud.insert("auth_type".into(), "v3applicationcredential".into());
        cloud.insert("identity_api_version".into(), 3.into());
        cloud.insert(
            "auth".into(),
            json!({
                "auth_url": self.identity,
                "application_credential_id": id, "application_credential_secret": secret.0,
            }),
        );
        cloud.extend(self.beside.clone());
        to_yaml(&json!({ "clouds": { self.name.as_str(): cloud } })).ok()
    }

    /// A kubeconfig for a client that trusts this cloud and has no credentials: what makes it looks into kubeconfigs alone.
    pub(super) fn client_config(&self) -> Value {
        let mut cluster = json!({ "server": self.identity });
        if let Some(pem) = &self.certificates {
            cluster["certificate-authority-data"] = json!(ByteString(pem.clone()));
        }
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "cloud",
            "clusters": [{ "name": "cloud", "cluster": cluster }],
            "contexts": [{ "name": "cloud", "context": { "cluster": "cloud", "user": "nobody" } }],
            "users": [{ "name": "nobody", "user": {} }],
        })
    }
}

fn text_of(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty())
}

/// Clients take the URL with the version or without it.
fn identity_url(url: &str) -> Result<String, &'static str> {
    let plain = url.trim_end_matches('/');
    let rest = plain
        .strip_prefix("https://")
        .ok_or("has an auth_url that is not https, by which secrets would be read on the way")?;
    if rest.is_empty() || rest.contains(['@', '?', '#', '\\']) || !rest.bytes().all(|b| b.is_ascii_graphic())
    {
        return Err("has an auth_url that is not a plain URL");
    }
    Ok(if plain.ends_with("/v3") { plain.to_owned() } else { format!("{plain}/v3") })
}

fn parse_proof(kind: &str, auth: &Value) -> Result<Proof, &'static str> {
    let text = |key: &str| text_of(&auth[key]);
    match kind {
        "v3applicationcredential" => {
            const LACKS: &str = "has no application_credential_id and application_credential_secret";
            let id = text("application_credential_id").ok_or(LACKS)?;
            let secret = text("application_credential_secret").ok_or(LACKS)?;
            Ok(Proof::Application { id: id.to_owned(), secret: Redacted(secret.to_owned()) })
        }
        "password" | "v3password" => {
            let domain =
                |of: &str| match (text(&format!("{of}_domain_id")), text(&format!("{of}_domain_name"))) {
                    (Some(id), _) => json!({ "id": id }),
                    (None, Some(name)) => json!({ "name": name }),
                    (None, None) => json!({ "id": "default" }),
                };
            let named = |id: Option<&str>, name: Option<&str>, of: &str| match (id, name) {
                (Some(id), _) => Some(json!({ "id": id })),
                (None, Some(name)) => Some(json!({ "name": name, "domain": domain(of) })),
                (None, None) => None,
            };
            let user =
                named(text("user_id"), text("username"), "user").ok_or("has no username and no user_id")?;
            let project = named(text("project_id"), text("project_name"), "project");
            let project = project.ok_or("has no project_name and no project_id")?;
            let password = text("password").ok_or("has no password")?;
            Ok(Proof::Password { user, password: Redacted(password.to_owned()), project })
        }
        _ => Err("has an auth_type that is neither password nor v3applicationcredential"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWORD: &str = "clouds: {acme: {auth: {auth_url: 'https://keystone:5000/', username: alice, password: hunter2, \
        project_name: p, user_domain_name: d}, region_name: R1, interface: public, cacert: /etc/ssl/ca.pem}}";

    #[test]
    fn what_is_published_is_one_cloud_and_reads_back() {
        let cloud = Cloud::parse_clouds_yaml(PASSWORD.as_bytes(), Some(b"PEM")).unwrap();
        assert_eq!(cloud.identity, "https://keystone:5000/v3");
        assert_eq!(cloud.to_clouds_yaml(), None, "a password is never published");
        let user = &cloud.proof.auth_request()["auth"]["identity"]["password"]["user"];
        assert_eq!(*user, json!({ "name": "alice", "domain": { "name": "d" }, "password": "hunter2" }));
        let own = cloud.with_credential("id".into(), Redacted("s3cret".into()));
        let text = own.to_clouds_yaml().unwrap();
        assert!(!text.contains("hunter2") && !text.contains("alice"), "{text}");
        assert_eq!(Cloud::parse_clouds_yaml(text.as_bytes(), Some(b"PEM")).unwrap(), own);
        let file: Value = serde_saphyr::from_str(&text).unwrap();
        let acme = &file["clouds"]["acme"];
        assert_eq!(acme["auth_type"], "v3applicationcredential");
        assert_eq!(
            [&acme["region_name"], &acme["interface"], &acme["cacert"]],
            ["R1", "public", "/etc/ssl/ca.pem"]
        );
        assert!(!format!("{own:?}{cloud:?}").contains("s3cret") && !format!("{cloud:?}").contains("hunter2"));
    }

    #[test]
    fn what_cannot_be_used_is_refused_without_a_word_of_it() {
        for (from, to, why) in [
            ("https", "http", "not https"),
            ("keystone:5000", "u:hunter2@keystone", "not a plain URL"),
            ("region_name: R1", "verify: false", "not verified"),
            ("username: alice, ", "", "no username"),
            ("project_name: p, ", "", "no project_name"),
            ("password: hunter2", "passwd: hunter2", "no password"),
            ("auth: {", "auth_type: token, auth: {", "neither"),
            ("clouds: {acme", "clouds: {b: {}, acme", "none or several"),
            ("clouds", "cloud", "without clouds"),
        ] {
            let error =
                Cloud::parse_clouds_yaml(PASSWORD.replacen(from, to, 1).as_bytes(), None).unwrap_err();
            assert!(error.contains(why) && !error.contains("hunter2"), "{from} {to}: {error}");
        }
        assert!(
            Cloud::parse_clouds_yaml(b"{", None).is_err()
                && Cloud::parse_clouds_yaml(&vec![b' '; MOST + 1], None).is_err()
        );
    }
}
