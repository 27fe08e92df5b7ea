//! What is to be done about a token now, and about the ServiceAccount that it is of. Pure.

use jiff::Timestamp;

use super::stamp::Stamp;
use crate::ephemeral_cluster::credentials::Published;

/// Whether what is published is good, as far as time and wishes go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Due {
    /// It is, until then.
    Keep(Timestamp),
    /// A token is made.
    Renew,
}

/// Whether a token is to be made. `generation` and `origin`: for which and of what.
pub fn due(published: &Published, generation: i64, origin: &str, now: Timestamp) -> Due {
    let wanted = Stamp::of(published).filter(|s| s.generation == generation && s.origin == origin);
    wanted.and_then(|stamp| stamp.term().kept_until(now)).map_or(Due::Renew, Due::Keep)
}

/// What has to be in a cluster, in the order in which it is made: what gives rights comes last, and the right to end itself first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Thing {
    /// The namespace.
    Namespace,
    /// The ServiceAccount.
    Account,
    /// A Role to delete that very ServiceAccount.
    Ending,
    /// The ServiceAccount has it.
    EndingBinding,
    /// The ServiceAccount has the ClusterRole that was asked for.
    Binding,
}

impl Thing {
    /// All of them, in that order.
    pub const ALL: [Self; 5] =
        [Self::Namespace, Self::Account, Self::Ending, Self::EndingBinding, Self::Binding];
}

/// How one of them was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Found {
    /// It is not there.
    #[default]
    Absent,
    /// It is as it has to be.
    Right,
    /// It is another: it cannot be changed, only made anew.
    Wrong,
    /// It is being deleted: what is made of it would end with it.
    Going,
}

/// What was seen of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Whether it has the ClusterRole that was asked for. A binding to one that is not there would be taken, and be worth nothing.
    pub has_role: bool,
    /// Each of [`Thing::ALL`].
    pub things: [Found; 5],
}

/// How a cluster took a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It knows whose it is, and that one has the right to end itself.
    Taken,
    /// It does not know it (401).
    Unknown,
    /// It knows it, and the rights have not arrived.
    NoRights,
}

/// How far it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// What was seen; none before.
    pub seen: Option<Seen>,
    /// Whether there is a token.
    pub token: bool,
    /// How the cluster took it; none before it was tried.
    pub answer: Option<Answer>,
}

/// Why there is no token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The cluster has no such ClusterRole.
    NoRole,
    /// Something that it needs is being deleted, and has to be gone before it is made anew.
    Going,
    /// It does not take its own token.
    Unknown,
    /// It takes it, and gives it no rights.
    NoRights,
}

/// One thing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// See what there is.
    Look,
    /// Take away what cannot be changed.
    Remove(Thing),
    /// Make one.
    Make(Thing),
    /// Ask for a token.
    Ask,
    /// Have the cluster say whether it takes it.
    Verify,
    /// It may be published.
    Take,
    /// It cannot be now.
    Stop(Obstacle),
}

/// What is to be done.
pub fn next(known: &Known) -> Step {
    let Some(seen) = &known.seen else { return Step::Look };
    if !seen.has_role {
        return Step::Stop(Obstacle::NoRole);
    }
    for (thing, found) in Thing::ALL.into_iter().zip(seen.things) {
        match found {
            Found::Right => {}
            Found::Absent => return Step::Make(thing),
            Found::Wrong => return Step::Remove(thing),
            Found::Going => return Step::Stop(Obstacle::Going),
        }
    }
    match (known.token, known.answer) {
        (false, _) => Step::Ask,
        (true, None) => Step::Verify,
        (true, Some(Answer::Taken)) => Step::Take,
        (true, Some(Answer::Unknown)) => Step::Stop(Obstacle::Unknown),
        (true, Some(Answer::NoRights)) => Step::Stop(Obstacle::NoRights),
    }
}
