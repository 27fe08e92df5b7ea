//! Why kubectl did not do what it was asked for, by what it printed.

use super::exit::{Exit, Stop};

/// Why kubectl did not do what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// There is no such object.
    NotFound(String),
    /// The caller may not.
    Forbidden(String),
    /// The caller may read neither kind of claim, in the words about the first.
    Neither(String),
    /// The cluster does not serve the kind.
    NoKind(String),
    /// Somebody else set what was to be set.
    Conflict(String),
    /// Anything else, in kubectl's words.
    Other(String),
    /// kubectl could not be run.
    NotRun(String),
}

impl Trouble {
    /// By what kubectl prints: a status of an API server has its reason in brackets. `name` is that of the object that it was asked about.
    pub fn of(printed: &str, name: Option<&str>) -> Self {
        let words = printed.trim();
        let words = words.strip_prefix("error: ").unwrap_or(words).to_owned();
        let has = |text: &str| words.contains(text);
        if names_missing_object(&words, name) {
            Self::NotFound(words)
        } else if has("(Forbidden)") {
            Self::Forbidden(words)
        } else if has("the server doesn't have a resource type") || has("no matches for kind") {
            Self::NoKind(words)
        } else if has("(Conflict)") || has("conflicts with") || has("Apply failed with ") {
            Self::Conflict(words)
        } else {
            Self::Other(words)
        }
    }

    /// The refusal to report if no kind of claim could be read, from the refusals in the order of the kinds.
    pub fn from_kinds(refusals: Vec<Self>) -> Option<Self> {
        let (forbidden, others): (Vec<Self>, Vec<Self>) =
            refusals.into_iter().partition(|trouble| matches!(trouble, Self::Forbidden(_)));
        let both = forbidden.len() > 1;
        match forbidden.into_iter().next() {
            Some(first) if both => Some(Self::Neither(first.words().to_owned())),
            Some(first) => Some(first),
            None => others.into_iter().next(),
        }
    }

    /// `true` if it concerns one kind of claim alone.
    pub const fn is_of_kind(&self) -> bool {
        match self {
            Self::Forbidden(_) | Self::NoKind(_) => true,
            Self::NotFound(_) | Self::Neither(_) | Self::Conflict(_) | Self::Other(_) | Self::NotRun(_) => {
                false
            }
        }
    }

    /// Output of kubectl.
    pub fn words(&self) -> &str {
        match self {
            Self::NotFound(words)
            | Self::Forbidden(words)
            | Self::Neither(words)
            | Self::NoKind(words)
            | Self::Conflict(words)
            | Self::Other(words)
            | Self::NotRun(words) => words,
        }
    }
}

/// `true` if an API server has no object of that name, or no namespace in which it could be. Any other 404 is not about the object:
/// a proxy sends it, or the kind is no longer served (`the server could not find the requested resource`), and the cluster runs.
fn names_missing_object(words: &str, name: Option<&str>) -> bool {
    let is_missing = |text: &str| {
        let (what, _) = text.split_once(" not found")?;
        let (resource, quoted) = what.split_once(' ')?;
        let named = quoted.strip_prefix('"')?.strip_suffix('"')?;
        Some(Some(named) == name || resource == "namespaces")
    };
    words.split("Error from server (NotFound): ").skip(1).any(|text| is_missing(text) == Some(true))
}

impl From<Trouble> for Stop {
    fn from(trouble: Trouble) -> Self {
        let (exit, advice) = match &trouble {
            Trouble::NotFound(_) => (Exit::NotFound, ""),
            Trouble::Forbidden(_) => {
                (Exit::Error, "You lack a right on this cluster: ask its administrators for it.")
            }
            Trouble::Neither(_) => (
                Exit::Error,
                "You may read neither testplatformclusters nor testclusters there: ask the cluster's administrators for that right.",
            ),
            Trouble::NoKind(_) => {
                (Exit::Error, "This cluster does not serve that kind: is it the right --context?")
            }
            Trouble::Conflict(_) | Trouble::Other(_) => (Exit::Error, ""),
            Trouble::NotRun(_) => (Exit::Error, "Set KUBECTL to the program to use, such as oc."),
        };
        Self::new(exit, trouble.words(), advice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn troubles_are_told_apart() {
        let of = |printed: &str| Trouble::of(printed, Some("y"));
        assert!(matches!(of("Error from server (NotFound): x \"y\" not found\n"), Trouble::NotFound(_)));
        assert!(matches!(of("Error from server (Forbidden): x is forbidden"), Trouble::Forbidden(_)));
        assert!(matches!(of("error: the server doesn't have a resource type \"x\""), Trouble::NoKind(_)));
        assert!(matches!(of("error: Apply failed with 1 conflict: …"), Trouble::Conflict(_)));
        assert_eq!(of("error: no\n"), Trouble::Other("no".into()));
    }

    /// Whoever took any 404 for the object's would say that a cluster is gone which runs and costs money.
    #[test]
    fn not_found_needs_the_requested_name() {
        let of = |printed: &str| Trouble::of(printed, Some("demo"));
        let found = "Error from server (NotFound): testplatformclusters.ci.openshift.org \"demo\" not found";
        for missing in [
            found.to_owned(),
            format!("Warning: the API is old\n{found}\n"),
            format!("Warning: on one line {found}"),
            "Error from server (NotFound): namespaces \"team-a\" not found".to_owned(),
        ] {
            assert!(matches!(of(&missing), Trouble::NotFound(_)), "{missing}");
        }
        for other in [
            "Error from server (NotFound): the server could not find the requested resource",
            "Error from server (NotFound): the server could not find the requested resource (get testclusters.ci.openshift.org demo)",
            "Error from server (NotFound): testclusters.ci.openshift.org \"demo-2\" not found",
            "Error from server (NotFound): demo not found",
            "Error from server (NotFound): \"demo\" not found",
            "error: x \"demo\" not found",
        ] {
            assert!(matches!(of(other), Trouble::Other(_)), "{other}");
        }
        // An apply asks about no object; its namespace has to exist.
        assert!(matches!(Trouble::of(found, None), Trouble::Other(_)));
        let nowhere = "Error from server (NotFound): namespaces \"team-a\" not found";
        assert!(matches!(Trouble::of(nowhere, None), Trouble::NotFound(_)));
    }
}
