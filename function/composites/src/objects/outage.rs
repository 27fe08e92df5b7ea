//! Reason why the hub does nothing for now, in the words of provider-kubernetes.

use std::fmt::{self, Display, Formatter};

use testplatform_apis::condition::Remote;

/// Why nothing can be done on the hub for now. The request is not refused, and the last observation may be out of date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outage {
    /// The hub cannot be reached, or does not let us in: in what way.
    Unreachable(&'static str),
    /// The hub's API server answers with an error of its own: which one.
    Failing(&'static str),
    /// The hub serves no objects of this kind.
    KindNotServed,
}

impl Outage {
    /// Its reason in `RemoteConsistent`.
    pub fn reason(self) -> Remote {
        match self {
            Self::Unreachable(_) => Remote::HubUnreachable,
            Self::Failing(_) => Remote::HubFailing,
            Self::KindNotServed => Remote::KindNotServed,
        }
    }

    /// The outage behind a failed Synced, by its message. None: the message names no known outage.
    pub(super) fn of(message: &str) -> Option<Self> {
        let named = |(_, words): &&(Self, &[&str])| words.iter().any(|word| message.contains(word));
        OUTAGES.iter().find(named).map(|(outage, _)| *outage)
    }
}

impl Display for Outage {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(way) => write!(f, "the hub cannot be reached: {way}"),
            Self::Failing(error) => write!(f, "the hub answers with an error: {error}"),
            Self::KindNotServed => f.write_str(
                "the hub does not serve this kind of object; its definition is not installed there",
            ),
        }
    }
}

/// Outages by words of their messages. The first that matches counts, because some messages quote others.
const OUTAGES: &[(Outage, &[&str])] = &[
    (
        Outage::Unreachable("it does not accept our credentials"),
        &["Unauthorized", "asked for the client to provide credentials"],
    ),
    // The API server quotes how its own call ended.
    (Outage::Failing("one of its admission webhooks does not answer"), &["failed calling webhook"]),
    (
        Outage::Unreachable("its certificate is not trusted"),
        &["x509:", "certificate signed by", "remote error: tls:"],
    ),
    (Outage::Unreachable("the connection is refused"), &["connection refused"]),
    (Outage::Unreachable("its host name is unknown"), &["no such host"]),
    (
        Outage::Unreachable("its ProviderConfig or the Secret that it refers to cannot be used"),
        &["connect failed: "],
    ),
    (
        Outage::Unreachable("it does not answer"),
        &[
            "i/o timeout",
            "Client.Timeout",
            "TLS handshake timeout",
            "deadline exceeded",
            "unexpected EOF",
            ": EOF",
            "connection reset",
            "connection lost",
            "dial tcp",
            "no route to host",
            "broken pipe",
            "use of closed network connection",
            "server sent GOAWAY",
        ],
    ),
    (Outage::Failing("its database is full"), &["database space exceeded"]),
    (Outage::Failing("its database fails"), &["etcdserver:"]),
    (
        Outage::Failing("it has more requests than it can handle"),
        &["currently unable to handle the request", "in the time allotted", "oo many requests"],
    ),
    (Outage::Failing("an internal error"), &["Internal error occurred"]),
    (Outage::Failing("it cannot tell which kinds it serves"), &["failed to get API group"]),
    (Outage::KindNotServed, &["no matches for kind"]),
];
