//! Plans the credentials of one space. Pure.

use std::{fmt, str::FromStr};

use jiff::{SignedDuration, Timestamp};

use crate::credentials::{Published, account::token_lifetime::TokenLifetime};

/// A namespace that is, or was, a space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Space {
    /// Its uid.
    pub uid: String,
    /// Whether the function asks for credentials: everything that limits them is there.
    pub requested: bool,
    /// Whether it is being deleted.
    pub is_deleted: bool,
    /// Revision of the published credentials, as recorded on it.
    pub revision: Option<String>,
}

/// Inputs of published credentials, as recorded on the Secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpaceFingerprint {
    /// Time of the token request.
    pub issued: Timestamp,
    /// When it ends.
    pub expires: Timestamp,
    /// Of which URL, certificates and account.
    pub origin: String,
}

impl SpaceFingerprint {
    /// End of the token's use, for this requested lifetime; None if it must be replaced now.
    fn usable_until(&self, longest: SignedDuration, now: Timestamp) -> Option<Timestamp> {
        TokenLifetime { issued: self.issued, expires: self.expires, longest }.usable_until(now)
    }
}

impl fmt::Display for SpaceFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.issued, self.expires, self.origin)
    }
}

impl FromStr for SpaceFingerprint {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut parts = text.splitn(3, '/');
        let mut next = || parts.next().ok_or(());
        let (issued, expires, origin) = (next()?, next()?, next()?);
        Ok(Self {
            issued: issued.parse().map_err(|_| ())?,
            expires: expires.parse().map_err(|_| ())?,
            origin: origin.to_owned(),
        })
    }
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpacePlan {
    /// Nothing until something happens: there is no space, or it is going.
    Nothing,
    /// Credentials are made and published; the Secret's own event brings what comes next.
    Issue,
    /// Record this revision on the namespace.
    Note(String),
    /// Everything is as it should be until then.
    Wait(Timestamp),
    /// Somebody else's Secret has the name; whose, in a sentence.
    Blocked(String),
}

/// Plans the credentials. `origin` is the fingerprint of the inputs of new credentials; `lifetime` is their requested lifetime.
pub fn plan(
    space: Option<&Space>,
    published: &Published,
    origin: &str,
    lifetime: SignedDuration,
    now: Timestamp,
) -> SpacePlan {
    let Some(space) = space.filter(|space| space.requested && !space.is_deleted) else {
        return SpacePlan::Nothing;
    };
    match published {
        Published::Absent => SpacePlan::Issue,
        Published::Foreign(whose) => SpacePlan::Blocked(whose.clone()),
        Published::Ours { revision, source_revision } => {
            let stamp = source_revision.as_deref().and_then(|text| text.parse::<SpaceFingerprint>().ok());
            let valid = stamp.filter(|s| s.origin == origin);
            match valid.and_then(|stamp| stamp.usable_until(lifetime, now)) {
                None => SpacePlan::Issue,
                Some(_) if space.revision.as_deref() != Some(revision) => SpacePlan::Note(revision.clone()),
                Some(due) => SpacePlan::Wait(due),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-03-02T12:00:00Z";

    fn space() -> Space {
        Space { uid: "u".into(), requested: true, is_deleted: false, revision: Some("7".into()) }
    }

    fn ours(stamp: &str) -> Published {
        Published::Ours { revision: "7".into(), source_revision: Some(stamp.into()) }
    }

    fn step(space: Option<&Space>, published: &Published) -> SpacePlan {
        plan(space, published, "o", SignedDuration::from_hours(4), NOW.parse().unwrap())
    }

    #[test]
    fn only_a_space_that_is_whole_gets_credentials() {
        assert_eq!(step(Some(&space()), &Published::Absent), SpacePlan::Issue);
        assert_eq!(
            step(Some(&Space { requested: false, ..space() }), &Published::Absent),
            SpacePlan::Nothing
        );
        assert_eq!(
            step(Some(&Space { is_deleted: true, ..space() }), &Published::Absent),
            SpacePlan::Nothing
        );
        assert_eq!(step(None, &Published::Absent), SpacePlan::Nothing);
        let foreign = Published::Foreign("it is another's".into());
        assert_eq!(step(Some(&space()), &foreign), SpacePlan::Blocked("it is another's".into()));
    }

    #[test]
    fn a_token_is_replaced_when_two_thirds_are_over() {
        let of = |issued: &str, expires: &str| ours(&format!("{issued}/{expires}/o"));
        let fresh = of("2026-03-02T11:00:00Z", "2026-03-02T15:00:00Z");
        let due = "2026-03-02T13:40:00Z".parse().unwrap();
        assert_eq!(step(Some(&space()), &fresh), SpacePlan::Wait(due));
        assert_eq!(step(Some(&Space { revision: None, ..space() }), &fresh), SpacePlan::Note("7".into()));
        for old in [
            of("2026-03-02T09:20:00Z", "2026-03-02T13:20:00Z"),
            of("2026-03-01T09:20:00Z", "2026-03-01T13:20:00Z"),
            // Another clock's, another URL's, nobody's.
            of("2026-03-02T12:00:01Z", "2026-03-02T16:00:01Z"),
            ours("2026-03-02T11:00:00Z/2026-03-02T15:00:00Z/p"),
            ours("2026-03-02T15:00:00Z/2026-03-02T11:00:00Z/o"),
            ours("x"),
            Published::Ours { revision: "7".into(), source_revision: None },
        ] {
            assert_eq!(step(Some(&space()), &old), SpacePlan::Issue, "{old:?}");
        }
    }

    /// Plan right after a token was issued, with our clock so far ahead of the API server's that the token seems expired, and with our clock
    /// behind.
    #[test]
    fn clocks_that_differ_do_not_make_one_token_after_the_other() {
        for (expires, due) in [
            ("2026-03-02T12:00:00Z", "2026-03-02T12:06:40Z"),
            ("2026-03-02T02:00:00Z", "2026-03-02T12:06:40Z"),
            ("2026-03-03T12:00:00Z", "2026-03-02T14:40:00Z"),
        ] {
            let published = ours(&format!("{NOW}/{expires}/o"));
            assert_eq!(step(Some(&space()), &published), SpacePlan::Wait(due.parse().unwrap()), "{expires}");
        }
    }

    #[test]
    fn a_stamp_reads_back() {
        let text = "2026-03-02T11:00:00Z/2026-03-02T15:00:00Z/a/b";
        assert_eq!(text.parse::<SpaceFingerprint>().unwrap().to_string(), text);
    }
}
