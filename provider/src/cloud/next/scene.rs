//! Observed input of decisions about a credential.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use testplatform_apis::cloud::Order;

use crate::cloud::record::Record;

/// Where the life of the cluster is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It lives, or is not there yet.
    Here,
    /// Its object is being deleted, which takes a credential that works.
    Going,
    /// The order is being deleted since then, and the cluster's object is gone.
    Gone(Timestamp),
}

/// The Secret of the order's name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "there is one of it in a pass")]
pub enum Stored {
    /// There is none.
    Absent,
    /// It is not ours, or of another composite.
    Foreign,
    /// It is ours. `filled`: something is published in it.
    Ours {
        /// Record on the Secret.
        record: Record,
        /// Whether something is published in it.
        filled: bool,
    },
}

/// Everything that decisions need, as it was read.
#[derive(Clone, Debug)]
pub struct Scene {
    /// Parsed request, or the parse error as a sentence.
    pub order: Result<Order, String>,
    /// Where the life of the cluster is.
    pub stage: Stage,
    /// Whether our finalizer stands on the order.
    pub holds: bool,
    /// Whether the order is being deleted.
    pub deleted: bool,
    /// Since when what was made is being deleted, if that takes more than one look.
    pub removing: Option<Timestamp>,
    /// The Secret.
    pub stored: Stored,
    /// Names of the issuers that may issue for it, the best one first.
    pub issuers: Vec<String>,
    /// We may not list the issuers' Secrets: nobody can be asked, and that nobody is there is not known.
    pub unread: bool,
    /// How often it is asked whether what is published works.
    pub probe: Duration,
    /// How long what was replaced is kept for those who read it before.
    pub grace: SignedDuration,
}

impl Scene {
    /// Record on the Secret.
    pub fn record(&self) -> Option<&Record> {
        match &self.stored {
            Stored::Ours { record, .. } => Some(record),
            Stored::Absent | Stored::Foreign => None,
        }
    }

    /// Uid of the composite, from where it is known.
    pub(super) fn uid(&self) -> Option<&str> {
        let order = self.order.as_ref().ok().map(|order| order.uid.as_str());
        order.or_else(|| self.record().map(|record| record.uid.as_str()))
    }
}

impl Scene {
    /// This stands on the Secret now.
    pub fn stands(&mut self, record: Record, filled: bool) {
        let was = matches!(self.stored, Stored::Ours { filled: true, .. });
        self.stored = Stored::Ours { record, filled: filled || was };
    }
}
