//! Issuers: Secrets by which new credentials are made, and which of them issue for an order.

use k8s_openapi::api::core::v1::Secret;
use testplatform_apis::cloud::{CERTIFICATES, CLOUDS, CredentialRequestSpec, TENANTS, USERS};

use super::clouds::Cloud;

/// A Secret, as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issuer {
    /// Its name.
    pub name: String,
    /// The tenants for whose clusters it issues.
    pub tenants: Vec<String>,
    /// The users for whose requests it issues; none: for whom has no issuer of their own.
    pub users: Option<Vec<String>>,
    /// The cloud; or why it cannot be used, the end of a sentence.
    pub cloud: Result<Cloud, &'static str>,
}

impl Issuer {
    /// Reads a Secret.
    pub fn from_secret(secret: &Secret) -> Self {
        let note = |key| secret.metadata.annotations.as_ref()?.get(key);
        let list = |text: &String| -> Vec<String> {
            text.split(',').map(str::trim).filter(|one| !one.is_empty()).map(str::to_owned).collect()
        };
        let value = |key| secret.data.as_ref()?.get(key).map(|value| value.0.as_slice());
        Self {
            name: secret.metadata.name.clone().unwrap_or_default(),
            tenants: note(TENANTS).map(list).unwrap_or_default(),
            users: note(USERS).map(list),
            cloud: value(CLOUDS)
                .ok_or("has no key clouds.yaml")
                .and_then(|file| Cloud::parse_clouds_yaml(file, value(CERTIFICATES))),
        }
    }

    fn is_of(&self, tenant: &str) -> bool {
        self.tenants.iter().any(|one| one == tenant || one == "*")
    }
}

/// Names of the issuers for a request, the best one first: those of the requesting user, then those of the tenant; each sorted by name, so that
/// every reconcile has the same order.
pub fn candidates(issuers: &[Issuer], order: &CredentialRequestSpec) -> Vec<String> {
    let served = || issuers.iter().filter(|issuer| issuer.is_of(&order.tenant));
    let by = |issuer: &&Issuer| match (&issuer.users, &order.requested_by) {
        (Some(users), Some(user)) => users.contains(user),
        (Some(_), None) | (None, _) => false,
    };
    let mut own: Vec<String> = served().filter(by).map(|issuer| issuer.name.clone()).collect();
    let mut common: Vec<String> =
        served().filter(|issuer| issuer.users.is_none()).map(|issuer| issuer.name.clone()).collect();
    own.sort();
    common.sort();
    own.extend(common);
    own
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    fn issuer(name: &str, notes: &[(&str, &str)]) -> Issuer {
        let mut secret = Secret::default();
        secret.metadata.name = Some(name.into());
        let notes = notes.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        secret.metadata.annotations = Some(notes.collect::<BTreeMap<_, _>>());
        Issuer::from_secret(&secret)
    }

    #[test]
    fn the_users_own_come_before_the_tenants_and_no_others() {
        let issuers = [
            issuer("z-admin", &[(TENANTS, "acme, other")]),
            issuer("anywhere", &[(TENANTS, "*")]),
            issuer("nobody", &[]),
            issuer("alice", &[(TENANTS, "acme"), (USERS, "alice,al")]),
            issuer("alice-elsewhere", &[(TENANTS, "other"), (USERS, "alice")]),
            issuer("no-user", &[(TENANTS, "acme"), (USERS, "")]),
        ];
        let of = |user: Option<&str>| {
            let order = json!({
                "cluster": { "group": "g", "kind": "k", "name": "n" }, "uid": "u", "cloud": "c", "tenant": "acme", "requestedBy": user,
            });
            candidates(&issuers, &serde_json::from_value(order).unwrap())
        };
        assert_eq!(of(Some("alice")), ["alice", "anywhere", "z-admin"]);
        assert_eq!(of(Some("bob")), ["anywhere", "z-admin"]);
        assert_eq!(of(Some("")), ["anywhere", "z-admin"]);
        assert_eq!(of(None), ["anywhere", "z-admin"]);
        assert_eq!(issuers[0].cloud, Err("has no key clouds.yaml"));
    }
}
