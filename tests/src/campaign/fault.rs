//! Kinds of faults, as data.

use std::{fmt, time::Duration};

/// A control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Plane {
    /// That of the tenants.
    Konflux,
    /// That on which clusters are asked for.
    Hub,
}

/// A process that can be killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Our function.
    Function,
    /// Our provider.
    Provider,
    /// Crossplane core.
    Core,
    /// provider-kubernetes.
    ProviderKubernetes,
    /// A control plane's API server.
    ApiServer(Plane),
    /// A control plane's etcd.
    Etcd(Plane),
    /// A control plane's own controllers.
    Controllers(Plane),
}

impl Part {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Function,
        Self::Provider,
        Self::Core,
        Self::ProviderKubernetes,
        Self::ApiServer(Plane::Konflux),
        Self::Etcd(Plane::Konflux),
        Self::Controllers(Plane::Konflux),
        Self::ApiServer(Plane::Hub),
        Self::Etcd(Plane::Hub),
        Self::Controllers(Plane::Hub),
    ];
}

/// A wire between two of them, by who is at its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wire {
    /// Core to the function.
    Function,
    /// Core to konflux.
    Konflux,
    /// provider-kubernetes to konflux.
    Objects,
    /// provider-kubernetes to the hub.
    Hub,
    /// The provider to the hub.
    Provider,
    /// The provider to the build cluster.
    Site,
    /// A control plane's API server to its etcd.
    Etcd(Plane),
}

/// A certificate of ours, by whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certificate {
    /// The function's, as it serves.
    Server,
    /// Core's, as the function's client.
    Client,
}

/// Something that goes wrong, and is put right after a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// Killed by SIGKILL, and started again later.
    Killed(Part),
    /// Connections are reset, over and over.
    Reset(Wire),
    /// Everything takes longer.
    Slow(Wire),
    /// Nothing arrives.
    Silent(Wire),
    /// Nobody can connect.
    Refused(Wire),
    /// etcd has no space left; then it is compacted, defragmented and its alarm disarmed.
    NoSpace(Plane),
    /// Replaced by another good one.
    Rotated(Certificate),
    /// Replaced by one that is not good any more.
    Expired(Certificate),
    /// The function has a certificate of an authority that core does not trust, and trusts only that; or a client of the hub
    /// trusts another authority than the hub's.
    WrongAuthority(Part),
    /// Its clock is so many seconds ahead.
    Skewed(Part, i64),
    /// Lists of the hub are longer than 4 MiB.
    LargeAnswers,
    /// The function's answers to core would be longer than 4 MiB, because of an earlier step of the pipeline.
    LongAnswers,
    /// Clients that send a byte now and then to what a program serves.
    SlowLoris(Part),
    /// 1,000 connections to the function that say nothing.
    Crowd,
}

use Fault::{
    Crowd, Expired, Killed, LargeAnswers, LongAnswers, NoSpace, Refused, Reset, Rotated, Silent, Skewed,
    Slow, SlowLoris, WrongAuthority,
};

impl Fault {
    /// The wire by which somebody meets with it.
    pub const fn wire(self) -> Option<Wire> {
        match self {
            Reset(wire) | Slow(wire) | Silent(wire) | Refused(wire) => Some(wire),
            WrongAuthority(Part::ProviderKubernetes) => Some(Wire::Hub),
            WrongAuthority(Part::Provider) | LargeAnswers => Some(Wire::Provider),
            Rotated(_) | Expired(_) | WrongAuthority(_) => Some(Wire::Function),
            Killed(_) | NoSpace(_) | Skewed(..) | LongAnswers | SlowLoris(_) | Crowd => None,
        }
    }

    /// How long it lasts at the least, from when it is done. Who came anew with another clock needs some time to do something.
    pub const fn least(self) -> Duration {
        if matches!(self, Skewed(..)) { Duration::from_secs(3) } else { Duration::from_millis(500) }
    }
}

/// A minute, which clocks of different machines should not differ by, and do.
const MINUTE: i64 = 60;

/// Faults on the tenants' side, one at a time.
pub const OF_KONFLUX: &[Fault] = &[
    Killed(Part::Function),
    Killed(Part::Core),
    Killed(Part::ProviderKubernetes),
    Killed(Part::ApiServer(Plane::Konflux)),
    Killed(Part::Etcd(Plane::Konflux)),
    Killed(Part::Controllers(Plane::Konflux)),
    Reset(Wire::Function),
    Slow(Wire::Function),
    Silent(Wire::Function),
    Refused(Wire::Function),
    Reset(Wire::Konflux),
    Slow(Wire::Konflux),
    Silent(Wire::Konflux),
    Reset(Wire::Objects),
    Slow(Wire::Objects),
    Silent(Wire::Objects),
    Reset(Wire::Etcd(Plane::Konflux)),
    Slow(Wire::Etcd(Plane::Konflux)),
    NoSpace(Plane::Konflux),
    Rotated(Certificate::Server),
    Rotated(Certificate::Client),
    Expired(Certificate::Server),
    Expired(Certificate::Client),
    WrongAuthority(Part::Function),
    Skewed(Part::Function, MINUTE),
    Skewed(Part::Function, -MINUTE),
    LongAnswers,
    SlowLoris(Part::Function),
    Crowd,
];

/// Faults on the hub's side, one at a time, during a fault on the tenants' side.
pub const OF_HUB: &[Fault] = &[
    Killed(Part::Provider),
    Killed(Part::ApiServer(Plane::Hub)),
    Killed(Part::Etcd(Plane::Hub)),
    Killed(Part::Controllers(Plane::Hub)),
    Reset(Wire::Hub),
    Slow(Wire::Hub),
    Silent(Wire::Hub),
    Refused(Wire::Hub),
    Reset(Wire::Provider),
    Slow(Wire::Provider),
    Silent(Wire::Provider),
    Refused(Wire::Provider),
    Reset(Wire::Site),
    Slow(Wire::Site),
    Silent(Wire::Site),
    Refused(Wire::Site),
    Reset(Wire::Etcd(Plane::Hub)),
    Slow(Wire::Etcd(Plane::Hub)),
    NoSpace(Plane::Hub),
    WrongAuthority(Part::ProviderKubernetes),
    WrongAuthority(Part::Provider),
    Skewed(Part::Provider, MINUTE),
    Skewed(Part::Provider, -MINUTE),
    LargeAnswers,
    SlowLoris(Part::Provider),
];

impl fmt::Display for Plane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Konflux => "konflux",
            Self::Hub => "the hub",
        })
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Function => f.write_str("function"),
            Self::Provider => f.write_str("provider"),
            Self::Core => f.write_str("core"),
            Self::ProviderKubernetes => f.write_str("provider-kubernetes"),
            Self::ApiServer(plane) => write!(f, "API server of {plane}"),
            Self::Etcd(plane) => write!(f, "etcd of {plane}"),
            Self::Controllers(plane) => write!(f, "controllers of {plane}"),
        }
    }
}

impl fmt::Display for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Function => f.write_str("core–function"),
            Self::Konflux => f.write_str("core–konflux"),
            Self::Objects => f.write_str("provider-kubernetes–konflux"),
            Self::Hub => f.write_str("provider-kubernetes–hub"),
            Self::Provider => f.write_str("provider–hub"),
            Self::Site => f.write_str("provider–build cluster"),
            Self::Etcd(plane) => write!(f, "API server–etcd of {plane}"),
        }
    }
}

impl fmt::Display for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Server => "the function's serving certificate",
            Self::Client => "core's client certificate",
        })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Killed(part) => write!(f, "killed: {part}"),
            Reset(wire) => write!(f, "reset: {wire}"),
            Slow(wire) => write!(f, "slow: {wire}"),
            Silent(wire) => write!(f, "silent: {wire}"),
            Refused(wire) => write!(f, "refused: {wire}"),
            NoSpace(plane) => write!(f, "no space: etcd of {plane}"),
            Rotated(certificate) => write!(f, "rotated: {certificate}"),
            Expired(certificate) => write!(f, "expired: {certificate}"),
            WrongAuthority(part) => write!(f, "wrong authority: {part}"),
            Skewed(part, seconds) => write!(f, "clock {seconds:+} s: {part}"),
            LongAnswers => f.write_str("answers of more than 4 MiB: function"),
            LargeAnswers => f.write_str("answers of more than 4 MiB: hub"),
            SlowLoris(part) => write!(f, "slow loris: {part}"),
            Crowd => f.write_str("1,000 connections: function"),
        }
    }
}
