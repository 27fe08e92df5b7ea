//! Reasons of failures. Messages may be read by tenants, and never contain a secret.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;
use kube::Error as Kube;
use thiserror::Error;

/// Why an action was not done.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{action}: {message}")]
pub struct Error {
    /// Which action; a label of the metrics.
    pub action: &'static str,
    /// Reason; a label of the metrics.
    pub reason: Reason,
    /// One sentence.
    pub message: String,
}

impl Error {
    /// Message for the owner. It does not change from try to try, or each try would be a change.
    pub fn owner_message(&self) -> Option<String> {
        let text = match self.reason {
            // Nothing is wrong, or it passes by itself.
            Reason::Conflict | Reason::NotYet | Reason::Timeout | Reason::Server | Reason::Network => {
                return None;
            }
            Reason::Forbidden => {
                "the provider has no permission for this; an administrator must check its rights".to_owned()
            }
            Reason::NotFound => {
                "an object that it needs does not exist; an administrator must check it".to_owned()
            }
            Reason::Bug => "a bug in the provider; an administrator must report it".to_owned(),
            Reason::Unreachable => "a build cluster cannot be reached".to_owned(),
            Reason::Refused => format!("the API server refuses it: {}", self.message),
            Reason::Foreign | Reason::Delivered => self.message.clone(),
        };
        Some(text)
    }
}

/// Reason of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The object is not as it was when it was read: nothing is wrong, it has to be read again.
    Conflict,
    /// There was no answer in time. It may have been done.
    Timeout,
    /// RBAC, quota or admission do not let us.
    Forbidden,
    /// The object to change does not exist.
    NotFound,
    /// The API server does not take it as it is.
    Refused,
    /// It belongs to somebody else.
    Foreign,
    /// A delivered cluster does not answer, or refuses a call.
    Delivered,
    /// The build cluster cannot be reached, or is not known.
    Unreachable,
    /// Too little is known for the moment, and soon it will be more: nothing is wrong.
    NotYet,
    /// The API server has a problem.
    Server,
    /// The connection failed.
    Network,
    /// A bug of ours.
    Bug,
}

impl Reason {
    /// Whether nothing is wrong: what was read is only not current, or not enough.
    pub const fn nothing_is_wrong(self) -> bool {
        matches!(self, Self::Conflict | Self::NotYet)
    }

    /// Whether it may succeed in a moment, or was done although the response was lost.
    pub const fn may_pass(self) -> bool {
        matches!(self, Self::Timeout | Self::Server | Self::Network)
    }

    /// The word that metrics have for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Conflict => "conflict",
            Self::Timeout => "timeout",
            Self::Forbidden => "forbidden",
            Self::NotFound => "not_found",
            Self::Refused => "refused",
            Self::Foreign => "foreign",
            Self::Delivered => "delivered",
            Self::Unreachable => "unreachable",
            Self::NotYet => "not_yet",
            Self::Server => "server",
            Self::Network => "network",
            Self::Bug => "bug",
        }
    }

    fn of(error: &Kube) -> Self {
        match error {
            Kube::Api(status) => match status.code {
                409 => Self::Conflict,
                401 | 403 => Self::Forbidden,
                404 => Self::NotFound,
                429 | 500.. => Self::Server,
                _ => Self::Refused,
            },
            _ => Self::Network,
        }
    }
}

/// Why one call was not done, before it is known what it was for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// Reason of a failure.
    pub reason: Reason,
    /// One sentence.
    pub message: String,
}

impl Cause {
    /// A cause of our own.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }

    /// Adds the action that failed.
    pub fn with_action(self, action: &'static str) -> Error {
        let Self { reason, message } = self;
        Error { action, reason, message }
    }

    /// The same, with the place where it was.
    #[must_use]
    pub fn at(mut self, place: &str) -> Self {
        self.message = format!("{place}: {}", self.message);
        self
    }

    /// From a call that has a secret in its request or its answer: of the error only what cannot repeat it.
    pub fn about_secret(error: &Kube) -> Self {
        let message = match error {
            Kube::Api(status) if status.reason.is_empty() => {
                format!("the API server answered {}", status.code)
            }
            Kube::Api(status) => format!("the API server answered {} {}", status.code, status.reason),
            Kube::SerdeError(_) => "the answer cannot be understood".to_owned(),
            _ => "the connection failed".to_owned(),
        };
        Self::new(Reason::of(error), message)
    }
}

impl From<Kube> for Cause {
    fn from(error: Kube) -> Self {
        Self::new(Reason::of(&error), plain_message(&error))
    }
}

/// An error of the client as a sentence: kube's own words repeat the whole answer.
pub fn plain_message(error: &Kube) -> String {
    match error {
        Kube::Api(status) if status.message.is_empty() => {
            format!("the API server answered {} {}", status.code, status.reason)
        }
        Kube::Api(status) => status.message.clone(),
        Kube::SerdeError(_) => "the answer cannot be understood".to_owned(),
        // The innermost error says what happened.
        other => {
            let mut innermost: &dyn std::error::Error = other;
            while let Some(source) = innermost.source() {
                innermost = source;
            }
            innermost.to_string()
        }
    }
}

/// Turns a panic into an error: a bug in one reconcile must not end the others.
pub async fn catch_panic<T>(reconcile: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    AssertUnwindSafe(reconcile).catch_unwind().await.unwrap_or_else(|_| {
        Err(Error { action: "look", reason: Reason::Bug, message: "it panicked".to_owned() })
    })
}

/// Whether the API server knows who asks, and does not let them. A credential that it does not take (401) is not that.
pub fn is_forbidden(error: &Kube) -> bool {
    matches!(error, Kube::Api(status) if status.code == 403)
}

/// Whether the response is 404, whatever it refers to: for a list, that its kind is not served. It proves nothing about one object; [`is_object_not_found`]
/// does.
pub fn is_not_found(error: &Kube) -> bool {
    matches!(error, Kube::Api(status) if status.code == 404)
}

/// Whether the API server said that there is no object of this name.
pub fn is_object_not_found(error: &Kube, name: &str) -> bool {
    let Kube::Api(status) = error else { return false };
    let named = status.details.as_ref().is_some_and(|details| details.name == name);
    status.code == 404 && status.reason == "NotFound" && named
}

/// Whether the API server said that there is one of that name already.
pub fn already_exists(error: &Kube) -> bool {
    matches!(error, Kube::Api(status) if status.code == 409 && status.reason == "AlreadyExists")
}
