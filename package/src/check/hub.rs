//! `cargo xpkg check hub`: whether a hub has what claims need there, asked as the identity that they are made with.
//!
//! Input: what is needed ([`needs`]) and what the hub answered ([`Seen`]). Output: lines, each with a verdict. Only [`ask`] talks to an
//! API server. The table in `package/install/README.md` is made of the same data.

use std::{collections::BTreeMap, fmt};

use jiff::{SignedDuration, Timestamp};
use testplatform_apis::hub::ResourceKind;

pub mod ask;
pub mod needs;
pub mod table;
pub mod token;

use needs::{Plan, Right, Subject};
use token::End;

/// A token that ends sooner is told of.
const SOON: SignedDuration = SignedDuration::from_hours(14 * 24);

/// What a hub answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Resources that it serves, by group and version.
    pub served: BTreeMap<(String, String), Vec<String>>,
    /// Whether namespaces are there; none: we may not look.
    pub namespaces: BTreeMap<String, Option<bool>>,
    /// Whether we may do something.
    pub rights: BTreeMap<Right, bool>,
}

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// As it should be.
    Good,
    /// It cannot be told from here, or is not as it best were.
    Note,
    /// It is missing.
    Gap,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// How it is.
    pub verdict: Verdict,
    /// What it is needed for.
    pub subject: String,
    /// A sentence.
    pub text: String,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = match self.verdict {
            Verdict::Good => "ok",
            Verdict::Note => "note",
            Verdict::Gap => "gap",
        };
        write!(f, "{verdict}: {}: {}", self.subject, self.text)
    }
}

/// Everything that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report(pub Vec<Line>);

impl Report {
    /// Whether nothing is missing.
    pub fn is_clean(&self) -> bool {
        self.0.iter().all(|line| line.verdict != Verdict::Gap)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|line| writeln!(f, "{line}"))?;
        match self.0.iter().filter(|line| line.verdict == Verdict::Gap).count() {
            0 => writeln!(f, "nothing is missing"),
            1 => writeln!(f, "1 gap"),
            gaps => writeln!(f, "{gaps} gaps"),
        }
    }
}

/// What is to be said of a hub. `token`: that of the kubeconfig.
pub fn report(plan: &Plan, seen: &Seen, token: &End, now: Timestamp) -> Report {
    let mut lines = vec![of_token(token, now)];
    let there: Vec<Subject> =
        plan.subjects.iter().copied().filter(|subject| plan.named || is_served(*subject, seen)).collect();
    if there.is_empty() {
        let kinds =
            plan.subjects.iter().filter_map(|subject| subject.kinds().first().map(|kind| kind.plural));
        let kinds: Vec<&str> = kinds.collect();
        lines.push(line(Verdict::Gap, "hub", format!("it serves none of {}", kinds.join(", "))));
    }
    for subject in there {
        let word = subject.as_str();
        lines.extend(subject.kinds().iter().map(|kind| of_kind(word, kind, seen)));
        lines.extend(plan.namespaces(subject).into_iter().map(|name| of_namespace(word, name, seen)));
        lines.extend(plan.needs(subject).into_iter().map(|need| {
            let may = seen.rights.get(&need.right).copied().unwrap_or(false);
            let (verdict, may) = match (may, need.advised) {
                (true, _) => (Verdict::Good, "may"),
                (false, true) => (Verdict::Note, "may not"),
                (false, false) => (Verdict::Gap, "may not"),
            };
            let so = if verdict == Verdict::Good { String::new() } else { format!(": {}", need.why) };
            line(verdict, word, format!("{may} {}{so}", need.right))
        }));
    }
    let excess = plan.excess().into_iter().filter(|right| seen.rights.get(right) == Some(&true));
    lines
        .extend(excess.map(|right| line(Verdict::Note, "hub", format!("may {right}, which no claim needs"))));
    Report(lines)
}

fn line(verdict: Verdict, subject: &str, text: String) -> Line {
    Line { verdict, subject: subject.to_owned(), text }
}

/// Whether the first of its kinds is served in any version of ours.
fn is_served(subject: Subject, seen: &Seen) -> bool {
    subject.kinds().first().is_some_and(|kind| served(kind, seen).is_some())
}

/// The best version in which a kind is served.
fn served(kind: &ResourceKind, seen: &Seen) -> Option<&'static str> {
    let has = |version: &&&str| {
        let key = (kind.group.to_owned(), (**version).to_owned());
        seen.served.get(&key).is_some_and(|plurals| plurals.iter().any(|plural| plural == kind.plural))
    };
    kind.versions.iter().find(has).copied()
}

fn of_kind(subject: &str, kind: &ResourceKind, seen: &Seen) -> Line {
    let name = format!("{}.{}", kind.plural, kind.group);
    let missing =
        || line(Verdict::Gap, subject, format!("{name} is not served as {}", kind.versions.join(" or ")));
    let good = |version| line(Verdict::Good, subject, format!("{name} is served as {version}"));
    served(kind, seen).map_or_else(missing, good)
}

fn of_namespace(subject: &str, name: &str, seen: &Seen) -> Line {
    match seen.namespaces.get(name) {
        Some(Some(true)) => line(Verdict::Good, subject, format!("namespace {name} is there")),
        Some(Some(false)) => line(Verdict::Gap, subject, format!("namespace {name} is missing")),
        // A Role cannot be in a namespace that is not there, so the rights tell.
        Some(None) | None => line(
            Verdict::Good,
            subject,
            format!("namespace {name} may not be looked at; the rights in it tell"),
        ),
    }
}

fn of_token(token: &End, now: Timestamp) -> Line {
    let (verdict, text) = match token {
        End::None => {
            (Verdict::Note, "the kubeconfig has no token; when its credentials end is not known".into())
        }
        End::Unreadable => (Verdict::Note, "the token does not say when it ends".into()),
        End::At(end) if *end <= now => (Verdict::Gap, format!("the token ended at {end}")),
        End::At(end) if end.duration_since(now) < SOON => {
            (Verdict::Note, format!("the token ends soon, at {end}"))
        }
        End::At(end) => (Verdict::Good, format!("the token ends at {end}")),
    };
    line(verdict, "hub", text)
}
