//! One look at one cluster, or at what is made on the hub for it: applies bundles in their order and asks whether they are ready, up to the first that is not.

use serde_json::Value;
use testplatform_apis::{
    bundle::{Bundle, Manifest},
    redact::redacted,
};
use tokio::time::Instant;

use super::ready::{Verdict, judge_aside};

/// The most that is said of why, in characters.
const MOST_MESSAGE: usize = 256;
/// The most that is said of which object, in characters: a kind and two names are no longer.
const MOST_OBJECT: usize = 384;
/// The longest reason.
const MOST_REASON: usize = 64;

/// Where bundles are applied, such as a cluster that was delivered. A call may be repeated, and may have been done although it failed.
pub trait Inside {
    /// Makes an object what its manifest says, and returns what is there then.
    fn apply(&self, object: &Value) -> impl Future<Output = Result<Value, Refusal>> + Send;
}

/// Why an object was not applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// A word.
    pub reason: String,
    /// A sentence.
    pub message: String,
    /// Whether it stays so, whatever becomes of the cluster.
    pub hopeless: bool,
}

impl Refusal {
    /// One in our own words.
    pub fn new(why: Why, message: impl Into<String>) -> Self {
        Self { reason: why.as_str().into(), message: message.into(), hopeless: why.is_hopeless() }
    }

    /// Whether it is this one of ours.
    pub fn is(&self, why: Why) -> bool {
        self.reason == why.as_str()
    }

    /// One in the words of an API server: in a cluster they are those of its owner.
    pub fn answered(code: u16, reason: &str, message: &str) -> Self {
        let fits = !reason.is_empty() && reason.len() <= MOST_REASON;
        let fits = fits && reason.bytes().all(|b| b.is_ascii_alphanumeric());
        let reason = if fits { reason } else { Why::Refused.as_str() };
        let message = redacted(message, MOST_MESSAGE);
        let message = if message.is_empty() { format!("the API server answered {code}") } else { message };
        Self { reason: reason.into(), message, hopeless: false }
    }
}

/// Why a bundle is not ready, in a word of ours. Beside these there are the reasons of API servers, such as `Forbidden` and `Invalid`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
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

impl Why {
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

    /// Whether it stays so, whatever becomes of the cluster: nothing is to be waited for.
    pub const fn is_hopeless(self) -> bool {
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
pub enum Looked {
    /// All were applied, and everything was ready.
    All,
    /// This one, by its place, was not.
    At(usize, Stop),
}

/// What a bundle waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// The object: kind, namespace and name. None: it is about none.
    pub object: Option<String>,
    /// Why.
    pub why: Refusal,
}

impl Stop {
    /// One that is about no object.
    pub fn of(why: Why, message: &str) -> Self {
        Self { object: None, why: Refusal::new(why, message) }
    }
}

/// Applies bundles from one on, and asks of each object whether it is ready. Of a bundle that is not ready everything was applied that could
/// be, of those after it nothing. After `until` no call is begun any more.
pub async fn carry_out<'a>(
    bundles: impl IntoIterator<Item = &'a Bundle>,
    from: usize,
    cluster: &impl Inside,
    until: Instant,
) -> Looked {
    for (place, bundle) in bundles.into_iter().enumerate().skip(from) {
        let mut first = None;
        for manifest in &bundle.manifests {
            let said = if Instant::now() >= until {
                Err(Refusal::new(Why::Unreachable, "the API server answers too slowly"))
            } else {
                cluster.apply(&manifest.object).await
            };
            match said {
                Err(why) => {
                    let stop = Stop { object: Some(name_of(&manifest.object)), why };
                    // What comes after it may need it, and what came before may wait for it.
                    let hopeless = first.filter(|first: &Stop| first.why.hopeless);
                    return Looked::At(place, hopeless.unwrap_or(stop));
                }
                Ok(there) => {
                    let stop = judged(manifest, there).await;
                    first = first.or(stop);
                }
            }
        }
        if let Some(stop) = first {
            return Looked::At(place, stop);
        }
    }
    Looked::All
}

async fn judged(manifest: &Manifest, there: Value) -> Option<Stop> {
    let expression = manifest.ready.as_deref()?;
    let (why, message) = match judge_aside(expression, there).await {
        Verdict::Ready => return None,
        Verdict::NotReady(message) => (Why::NotReady, message),
        Verdict::Invalid(message) => (Why::InvalidExpression, message),
        Verdict::TooLarge(message) => (Why::TooLarge, message),
    };
    Some(Stop { object: Some(name_of(&manifest.object)), why: Refusal::new(why, message) })
}

/// By what people know an object: kind, namespace if it says one, and name.
pub fn name_of(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (kind, metadata) = (text(&object["kind"]), &object["metadata"]);
    let name = text(&metadata["name"]);
    let whole = match metadata["namespace"].as_str().filter(|namespace| !namespace.is_empty()) {
        Some(namespace) => format!("{kind} {namespace}/{name}"),
        None => format!("{kind} {name}"),
    };
    whole.chars().filter(|c| !c.is_control()).take(MOST_OBJECT).collect()
}
