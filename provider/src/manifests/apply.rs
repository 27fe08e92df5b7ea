//! Applies the bundles of one cluster, or of its prerequisites on the hub, in order, and checks whether they are ready, up to the first that is
//! not.

use serde_json::Value;
use testplatform_apis::{
    bundle::{Bundle, Manifest},
    redact::redact_text,
};
use tokio::time::Instant;

use super::ready::{Verdict, evaluate_off_thread};

/// Maximum length of a message, in characters.
const MOST_MESSAGE: usize = 256;
/// Maximum length of an object's description, in characters: a kind and two names are no longer.
const MOST_OBJECT: usize = 384;
/// The longest reason.
const MOST_REASON: usize = 64;

/// Where bundles are applied, such as a cluster that was delivered. A call may be repeated, and may have been done although it failed.
pub trait GuestCluster {
    /// Applies a manifest, and returns the resulting object.
    fn apply_manifest(&self, object: &Value) -> impl Future<Output = Result<Value, ApplyError>> + Send;
}

/// Why an object was not applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApplyError {
    /// A word.
    pub reason: String,
    /// A sentence.
    pub message: String,
    /// Whether the error is terminal, whatever happens in the cluster.
    pub hopeless: bool,
}

impl ApplyError {
    /// One in our own words.
    pub fn new(why: ApplyErrorReason, message: impl Into<String>) -> Self {
        Self { reason: why.as_str().into(), message: message.into(), hopeless: why.is_terminal() }
    }

    /// Whether it is this one of ours.
    pub fn has_reason(&self, why: ApplyErrorReason) -> bool {
        self.reason == why.as_str()
    }

    /// One in the words of an API server: in a cluster they are those of its owner.
    pub fn from_response(code: u16, reason: &str, message: &str) -> Self {
        let fits = !reason.is_empty() && reason.len() <= MOST_REASON;
        let fits = fits && reason.bytes().all(|b| b.is_ascii_alphanumeric());
        let reason = if fits { reason } else { ApplyErrorReason::Refused.as_str() };
        let message = redact_text(message, MOST_MESSAGE);
        let message = if message.is_empty() { format!("the API server answered {code}") } else { message };
        Self { reason: reason.into(), message, hopeless: false }
    }
}

/// Reason why a bundle is not ready. In addition, API servers report their own, such as `Forbidden` and `Invalid`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApplyErrorReason {
    /// Its expression is not true yet.
    NotReady,
    /// Its expression is none, or gives neither true nor false.
    InvalidExpression,
    /// The manifest has no apiVersion, kind or metadata.name.
    InvalidManifest,
    /// The order cannot be read.
    InvalidOrder,
    /// Clusters of this kind are not served in this namespace.
    UnknownCluster,
    /// Another cluster has come under the name.
    ClusterReplaced,
    /// The credentials of the cluster are not published, or not any more.
    NotPublished,
    /// The kubeconfig is none that may be used.
    KubeconfigUnusable,
    /// The cluster does not take the kubeconfig (401).
    Unauthorized,
    /// The API server does not answer, or not in time.
    Unreachable,
    /// The API server serves no such kind, or not yet.
    NoSuchKind,
    /// There is an object of the name that somebody else has made.
    NameTaken,
    /// Objects of this kind are not made on the hub.
    KindNotAllowed,
    /// There is more in an answer than is read.
    TooLarge,
    /// The API server refuses it, and gives no reason.
    Refused,
}

impl ApplyErrorReason {
    /// All of them.
    pub const ALL: [Self; 15] = [
        Self::NotReady,
        Self::InvalidExpression,
        Self::InvalidManifest,
        Self::InvalidOrder,
        Self::UnknownCluster,
        Self::ClusterReplaced,
        Self::NotPublished,
        Self::KubeconfigUnusable,
        Self::Unauthorized,
        Self::Unreachable,
        Self::NoSuchKind,
        Self::NameTaken,
        Self::KindNotAllowed,
        Self::TooLarge,
        Self::Refused,
    ];

    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotReady => "NotReady",
            Self::InvalidExpression => "InvalidExpression",
            Self::InvalidManifest => "InvalidManifest",
            Self::InvalidOrder => "InvalidOrder",
            Self::UnknownCluster => "UnknownCluster",
            Self::ClusterReplaced => "ClusterReplaced",
            Self::NotPublished => "NotPublished",
            Self::KubeconfigUnusable => "KubeconfigUnusable",
            Self::Unauthorized => "Unauthorized",
            Self::Unreachable => "Unreachable",
            Self::NoSuchKind => "NoSuchKind",
            Self::NameTaken => "NameTaken",
            Self::KindNotAllowed => "KindNotAllowed",
            Self::TooLarge => "TooLarge",
            Self::Refused => "Refused",
        }
    }

    /// Whether the error is terminal, whatever happens in the cluster: waiting is useless.
    pub const fn is_terminal(self) -> bool {
        match self {
            Self::InvalidExpression
            | Self::InvalidManifest
            | Self::InvalidOrder
            | Self::UnknownCluster
            | Self::ClusterReplaced
            | Self::KindNotAllowed => true,
            Self::NotReady
            | Self::NotPublished
            | Self::KubeconfigUnusable
            | Self::Unauthorized
            | Self::Unreachable
            | Self::NoSuchKind
            | Self::NameTaken
            | Self::TooLarge
            | Self::Refused => false,
        }
    }
}

/// Where a look ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApplyProgress {
    /// All were applied, and everything was ready.
    All,
    /// This one, by its place, was not.
    At(usize, PendingObject),
}

/// Object that a bundle waits for, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingObject {
    /// The object: kind, namespace and name. None: it is about none.
    pub object: Option<String>,
    /// Why.
    pub why: ApplyError,
}

impl PendingObject {
    /// Creates an error that concerns no object.
    pub fn of(why: ApplyErrorReason, message: &str) -> Self {
        Self { object: None, why: ApplyError::new(why, message) }
    }
}

/// Applies bundles from an index on, and checks for each object whether it is ready. If a bundle is not ready, all of its own objects are
/// applied as far as possible, and none of the later bundles. No call starts after `until`.
pub async fn apply_bundles<'a>(
    bundles: impl IntoIterator<Item = &'a Bundle>,
    from: usize,
    cluster: &impl GuestCluster,
    until: Instant,
) -> ApplyProgress {
    for (place, bundle) in bundles.into_iter().enumerate().skip(from) {
        let mut first = None;
        for manifest in &bundle.manifests {
            let result = if Instant::now() >= until {
                Err(ApplyError::new(ApplyErrorReason::Unreachable, "the API server answers too slowly"))
            } else {
                cluster.apply_manifest(&manifest.object).await
            };
            match result {
                Err(why) => {
                    let stop = PendingObject { object: Some(describe_object(&manifest.object)), why };
                    // Later objects may need it, and earlier ones may wait for it.
                    let hopeless = first.filter(|first: &PendingObject| first.why.hopeless);
                    return ApplyProgress::At(place, hopeless.unwrap_or(stop));
                }
                Ok(object) => {
                    let stop = check_readiness(manifest, object).await;
                    first = first.or(stop);
                }
            }
        }
        if let Some(stop) = first {
            return ApplyProgress::At(place, stop);
        }
    }
    ApplyProgress::All
}

async fn check_readiness(manifest: &Manifest, object: Value) -> Option<PendingObject> {
    let expression = manifest.ready.as_deref()?;
    let (why, message) = match evaluate_off_thread(expression, object).await {
        Verdict::Ready => return None,
        Verdict::NotReady(message) => (ApplyErrorReason::NotReady, message),
        Verdict::Invalid(message) => (ApplyErrorReason::InvalidExpression, message),
        Verdict::TooLarge(message) => (ApplyErrorReason::TooLarge, message),
    };
    Some(PendingObject {
        object: Some(describe_object(&manifest.object)),
        why: ApplyError::new(why, message),
    })
}

/// Readable reference to an object: kind, namespace if it has one, and name.
pub fn describe_object(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (kind, metadata) = (text(&object["kind"]), &object["metadata"]);
    let name = text(&metadata["name"]);
    let reference = match metadata["namespace"].as_str().filter(|namespace| !namespace.is_empty()) {
        Some(namespace) => format!("{kind} {namespace}/{name}"),
        None => format!("{kind} {name}"),
    };
    reference.chars().filter(|c| !c.is_control()).take(MOST_OBJECT).collect()
}
