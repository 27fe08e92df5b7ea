//! The Secret that a claim names: which keys it has, and whose it is. No value of it is looked at.
//!
//! Crossplane writes into no Secret that is another's, and says of the claim that its cluster is ready all the same.

use testplatform_apis::{
    condition::{ConditionType, Credentials},
    foreign::object::is_owned_by_another,
    names::keys,
    text::bounded,
};

use super::{
    claim::{Claim, Flavour, ReportedCondition},
    facts::Lookup,
};

/// Key of a Secret, and how many characters its value has. The value itself is not fetched.
pub type Key = (String, usize);

/// Known properties of a Secret.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObservedSecret {
    /// Its keys.
    pub keys: Vec<Key>,
    /// Whose it is.
    pub owner: Owner,
}

/// Owner of a Secret.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owner {
    /// It has the type of Crossplane's own Secrets. Crossplane takes over such a Secret if nobody controls it.
    pub connection: bool,
    /// The uid of what controls it; empty if nothing does.
    pub uid: String,
    /// That, in words.
    pub label: String,
}

/// Template with which kubectl prints the owner of a Secret, in two lines: whether it has Crossplane's type, and its controller.
macro_rules! owner {
    ($before:literal) => {
        concat!(
            "go-template=",
            $before,
            r#"{{"\n"}}{{with .type}}{{if eq . "connection.crossplane.io/v1alpha1"}}connection{{end}}{{end}}{{"\n"}}"#,
            "{{range .metadata.ownerReferences}}{{if .controller}}{{.uid}} {{.kind}} {{.name}}{{end}}{{end}}"
        )
    };
}

/// Has kubectl print the keys of a Secret and how long their values are, and no value; then whose it is.
pub const KEYS: &str = owner!("{{range $k, $v := .data}}{{$k}}={{len $v}} {{end}}");
/// Has kubectl print the kubeconfig in a Secret, as it is encoded; then whose it is.
pub const KUBECONFIG: &str = owner!("{{with .data}}{{with .kubeconfig}}{{.}}{{end}}{{end}}");

impl ObservedSecret {
    /// As [`KEYS`] has it printed.
    pub fn parse_output(printed: &str) -> Self {
        let (first, owner) = Owner::split_output(printed);
        let key = |word: &str| {
            let (key, length) = word.split_once('=')?;
            Some((key.to_owned(), length.parse().ok()?))
        };
        Self { keys: first.split_whitespace().filter_map(key).collect(), owner }
    }

    /// `true` if the keys include a kubeconfig. An empty value counts as none.
    pub fn has_kubeconfig(&self) -> bool {
        self.keys.iter().any(|(key, length)| key == keys::KUBECONFIG && *length > 0)
    }

    /// `true` if it has a claim's kubeconfig.
    pub fn delivers(&self, claim: &Claim) -> bool {
        self.has_kubeconfig() && self.owner.holds_for(claim)
    }
}

impl Owner {
    /// The first line that was printed, and whose the Secret is by the two after it.
    pub fn split_output(printed: &str) -> (&str, Self) {
        let mut lines = printed.splitn(3, '\n');
        let mut line = || lines.next().unwrap_or_default();
        let first = line();
        let connection = line() == "connection";
        let (uid, label) = line().split_once(' ').unwrap_or_default();
        (first, Self { connection, uid: uid.to_owned(), label: bounded(label.trim_end(), 320) })
    }

    /// `true` if the Secret's content is a claim's.
    pub fn holds_for(&self, claim: &Claim) -> bool {
        match claim.flavour {
            // Its composite's function looks after that.
            Flavour::Cluster => !reports_foreign_secret(claim),
            Flavour::Claim if self.uid.is_empty() => {
                // An adopted Secret without changes is reported as propagated.
                self.connection
                    && ReportedCondition::of(&claim.object, "Ready").is_some_and(ReportedCondition::holds)
            }
            Flavour::Claim => self.uid == claim.uid(),
        }
    }
}

/// That the Secret that a claim names is another's, as what is said of the Secret; none if it is not, or there is none.
pub fn foreign_owner(claim: &Claim, secret: &Lookup<ObservedSecret>) -> Option<String> {
    let by_word = || reports_foreign_secret(claim).then(|| "belongs to another owner".to_owned());
    match (claim.flavour, secret) {
        (Flavour::Claim, Lookup::Found(ObservedSecret { owner, .. })) if !owner.uid.is_empty() => {
            (!owner.holds_for(claim)).then(|| format!("belongs to {}", owner.label))
        }
        (Flavour::Claim, Lookup::Found(ObservedSecret { owner, .. })) => {
            (!owner.connection).then(|| "was not created by Crossplane".to_owned())
        }
        (Flavour::Claim, Lookup::Forbidden | Lookup::NotAsked) | (Flavour::Cluster, _) => by_word(),
        (Flavour::Claim, Lookup::Missing) => None,
    }
}

/// Message that a Secret exists into which nothing will be written for a claim that does not exist yet. A Secret of an earlier claim of
/// that name goes with it, and is not in the way.
pub fn describe_occupant(manifest: &Claim, secret: &Lookup<ObservedSecret>) -> Option<String> {
    let owner = &secret.found()?.owner;
    let (_, name) = owner.label.split_once(' ').unwrap_or_default();
    let own = match manifest.flavour {
        Flavour::Claim => manifest.name().to_owned(),
        Flavour::Cluster => format!("credentials-{}", manifest.name()),
    };
    if name == own {
        return None;
    }
    if owner.uid.is_empty() {
        return (!owner.connection).then(|| "already exists and was not created by Crossplane".to_owned());
    }
    Some(format!("already exists and belongs to {}", owner.label))
}

/// `true` if the claim itself reports a foreign Secret: core by its own attempt to write there (crossplane-runtime,
/// `ConnectionSecretMustBeControllableBy`), or the function by provider-kubernetes' attempt.
fn reports_foreign_secret(claim: &Claim) -> bool {
    match claim.flavour {
        Flavour::Claim => ReportedCondition::of(&claim.object, "Synced")
            .filter(|condition| condition.is_denied())
            .is_some_and(|condition| is_owned_by_another(&condition.message())),
        Flavour::Cluster => claim.condition(ConditionType::CredentialsPublished).is_some_and(|condition| {
            condition.is_denied() && condition.reason() == Credentials::SecretTaken.as_str()
        }),
    }
}
