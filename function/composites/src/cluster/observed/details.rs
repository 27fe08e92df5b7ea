//! Connection details: the only place in the core that holds secrets. They are never printed.

use std::fmt;

use prost::bytes::Bytes;
use testplatform_apis::names::keys;

use crate::sdk::proto::resource::ConnectionDetailsEntry;

/// The two keys of the published credentials. `None` is an absent key, empty bytes an emptied one.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Details {
    /// `kubeconfig`.
    pub kubeconfig: Option<Bytes>,
    /// `kubeAdminPassword`.
    pub password: Option<Bytes>,
}

impl Details {
    /// The details of a resource on the wire. A value that is missing on the wire is an empty one.
    pub fn new(entries: &[ConnectionDetailsEntry]) -> Self {
        let get =
            |key| entries.iter().rev().find(|e| e.key == key).map(|e| e.value.clone().unwrap_or_default());
        Self { kubeconfig: get(keys::KUBECONFIG), password: get(keys::KUBEADMIN_PASSWORD) }
    }

    /// The same keys, with a word for what they hold.
    #[must_use]
    pub fn presence(&self) -> Self {
        let word = |value: &Option<Bytes>| {
            let present = |v: &Bytes| if v.is_empty() { Bytes::new() } else { Bytes::from_static(b"there") };
            value.as_ref().map(present)
        };
        Self { kubeconfig: word(&self.kubeconfig), password: word(&self.password) }
    }

    /// The same kubeconfig, and no password.
    #[must_use]
    pub fn without_password(self) -> Self {
        Self { password: self.password.map(|_| Bytes::new()), ..self }
    }

    /// Both keys, present and empty: what takes the credentials back.
    pub fn emptied() -> Self {
        Self { kubeconfig: Some(Bytes::new()), password: Some(Bytes::new()) }
    }

    /// Whether there is a kubeconfig.
    pub fn has_kubeconfig(&self) -> bool {
        self.kubeconfig.as_ref().is_some_and(|k| !k.is_empty())
    }

    /// Whether there is a `kubeconfig` key, even an empty one.
    pub fn has_kubeconfig_key(&self) -> bool {
        self.kubeconfig.is_some()
    }

    /// Whether there is a password that is not empty.
    pub fn has_password(&self) -> bool {
        self.password.as_ref().is_some_and(|p| !p.is_empty())
    }

    /// Both keys always: a consumer that reads an absent key fails, one that reads an empty one does not.
    pub fn entries(&self) -> Vec<ConnectionDetailsEntry> {
        [(keys::KUBEADMIN_PASSWORD, &self.password), (keys::KUBECONFIG, &self.kubeconfig)]
            .map(|(key, value)| ConnectionDetailsEntry {
                key: key.to_owned(),
                value: Some(value.clone().unwrap_or_default()),
            })
            .to_vec()
    }
}

impl fmt::Debug for Details {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = |v: &Option<Bytes>| match v {
            None => "absent",
            Some(v) if v.is_empty() => "empty",
            Some(_) => "present",
        };
        write!(
            f,
            "Details {{ kubeconfig: {}, password: {} }}",
            state(&self.kubeconfig),
            state(&self.password)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_never_printed() {
        let details = Details { kubeconfig: Some("secret-kubeconfig".into()), password: Some("".into()) };
        assert_eq!(format!("{details:?}"), "Details { kubeconfig: present, password: empty }");
    }

    #[test]
    fn presence_holds_no_secret() {
        let details = Details { kubeconfig: Some("secret-kubeconfig".into()), password: Some("".into()) };
        let there = Details { kubeconfig: Some("there".into()), password: Some("".into()) };
        assert_eq!((details.presence(), Details::default().presence()), (there, Details::default()));
    }

    #[test]
    fn both_keys_are_on_the_wire_also_when_empty() {
        let entries = Details { kubeconfig: Some("k".into()), password: None }.entries();
        let keys: Vec<_> = entries
            .iter()
            .map(|e| (e.key.as_str(), e.value.as_ref().map(prost::bytes::Bytes::len)))
            .collect();
        assert_eq!(keys, [("kubeAdminPassword", Some(0)), ("kubeconfig", Some(1))]);
    }
}
