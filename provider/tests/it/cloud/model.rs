//! An identity service and a hub, played: users come, leave and lose roles, calls fail before or after they have done anything, and whoever makes
//! them may die after any of them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard},
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use provider_testplatform::controllers::cloud_credentials::{
    issuer::{Issuer, candidates},
    plan::{
        ClusterStage, CredentialCheck, DeletionResult, IdentityError, IssuedCredential, ObservedCredential,
        StepResults, StoredSecret, next_step, select_ours,
    },
    reconcile::{CredentialBackend, CredentialEvent, PassOutcome, reconcile_credential},
    record::{CredentialRecord, CredentialRef},
};
use serde_json::json;
use testplatform_apis::{
    cloud::{CredentialPhase, CredentialRequestSpec, credential_name_prefix},
    duration::GoDuration,
};
use testplatform_runtime::error::{Error, Reason};

/// How often what is published is probed.
pub const PROBE: SignedDuration = SignedDuration::from_mins(10);
pub const GRACE: SignedDuration = SignedDuration::from_mins(30);
pub const UID: &str = "0f-1";
/// Somebody whose issuer has a password, and the roles of an administrator.
pub const ADMIN: &str = "admin";

/// How a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blow {
    /// Nothing was done, and nothing is answered.
    Before,
    /// It was done, and nothing is answered.
    After,
    /// Nothing was done, and whoever called is no more.
    DiesBefore,
    /// It was done, and whoever called is no more.
    DiesAfter,
    /// It is done, and just before somebody has left.
    Leaves,
}

#[derive(Clone, Debug)]
pub struct User {
    pub here: bool,
    /// The issuer's Secret has the right password.
    pub password: bool,
    pub role: bool,
    /// It may neither make nor delete any.
    pub restricted: bool,
    /// It may make, and not delete.
    pub may_delete: bool,
}

#[derive(Clone, Debug)]
pub struct Credential {
    pub user: String,
    pub name: String,
    pub expires: Option<Timestamp>,
}

/// Everything that outlives a process.
#[derive(Default)]
pub struct World {
    pub users: BTreeMap<String, User>,
    pub credentials: BTreeMap<String, Credential>,
    pub made: u32,
    /// Issuers behind a service that does not answer.
    pub silent: BTreeSet<String>,
    /// Calls to the identity service in the last look.
    pub asked: usize,
    /// Writes on the hub in the last look.
    pub written: usize,
    /// Report of the last reconcile, and the time until the next one.
    pub told: Option<(String, Duration)>,
    /// The record, and the id of what is published.
    pub secret: Option<(CredentialRecord, Option<String>)>,
    pub finalizer: bool,
    /// The order went before the finalizer was put on it.
    pub vanished: bool,
    /// State on the request.
    pub removing: Option<Timestamp>,
    pub released: bool,
    pub down: bool,
    pub now: Timestamp,
    /// Calls until one fails, and how.
    pub blow: Option<(u32, Blow)>,
    pub dead: bool,
    /// Who leaves then.
    pub leaver: String,
    /// When another was published in their place.
    pub replaced: BTreeMap<String, Timestamp>,
    /// The cluster is gone.
    pub over: bool,
    /// Those whose deletion was forbidden or had nobody to do it.
    pub left: BTreeSet<String>,
    pub happened: Vec<CredentialEvent>,
}

pub struct Model {
    world: Mutex<World>,
    pub order: CredentialRequestSpec,
    /// Of which users there is an issuer's Secret.
    pub issuers: Vec<String>,
    /// Their Secrets may not be listed.
    pub unread: bool,
    pub deleted: Option<Timestamp>,
    pub cluster: bool,
}

pub fn order() -> CredentialRequestSpec {
    serde_json::from_value(json!({
        "cluster": { "group": "cluster.x-k8s.io", "kind": "Cluster", "name": "one" },
        "uid": UID, "cloud": "acme", "tenant": "t", "requestedBy": "alice",
    }))
    .unwrap()
}

impl Model {
    pub fn new(users: &[&str]) -> Self {
        let user = User { here: true, password: true, role: true, restricted: false, may_delete: true };
        let world = World {
            users: users.iter().map(|name| ((*name).to_owned(), user.clone())).collect(),
            now: "2026-03-02T00:00:00Z".parse().unwrap(),
            ..World::default()
        };
        let issuers = users.iter().map(|name| (*name).to_owned()).collect();
        Self {
            world: Mutex::new(world),
            order: order(),
            issuers,
            unread: false,
            deleted: None,
            cluster: true,
        }
    }

    pub fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap()
    }

    /// `true` if the published credential works.
    pub fn works(&self) -> bool {
        let world = self.world();
        let id = world.secret.as_ref().and_then(|(_, id)| id.clone());
        id.is_some_and(|id| world.takes(&id))
    }

    pub fn is_published(&self) -> bool {
        self.world().secret.as_ref().is_some_and(|(_, id)| id.is_some())
    }

    pub fn scene(&self) -> ObservedCredential {
        let world = self.world();
        let stored = match &world.secret {
            None => StoredSecret::Absent,
            Some((record, id)) => StoredSecret::Ours { record: record.clone(), filled: id.is_some() },
        };
        let issuers: Vec<Issuer> = self
            .issuers
            .iter()
            .filter(|_| !self.unread)
            .map(|name| Issuer {
                name: name.clone(),
                tenants: vec!["t".into()],
                users: (name != ADMIN).then(|| vec![name.clone()]),
                cloud: Err("is played"),
            })
            .collect();
        ObservedCredential {
            order: Ok(self.order.clone()),
            stage: match (self.deleted, self.cluster) {
                (None, _) => ClusterStage::Here,
                (Some(_), true) => ClusterStage::Going,
                (Some(at), false) => ClusterStage::Gone(at),
            },
            holds: world.finalizer,
            deleted: self.deleted.is_some(),
            removing: world.removing,
            stored,
            issuers: candidates(&issuers, &self.order),
            unread: self.unread,
            probe: PROBE.try_into().unwrap(),
            grace: GRACE,
        }
    }

    /// One reconcile, with nothing but stored state.
    pub fn look(&self) -> Option<CredentialPhase> {
        use futures_util::FutureExt as _;
        let mut world = self.world();
        (world.dead, world.asked, world.written, world.told) = (false, 0, 0, None);
        drop(world);
        let now = self.world().now;
        let mut hands = Hands(self);
        let scene = self.scene();
        let first = next_step(&scene, &StepResults::default(), now);
        let end =
            reconcile_credential(scene, first, &mut hands, now, |what| self.world().happened.push(what));
        match end.now_or_never().unwrap() {
            Ok(PassOutcome::Told(report, after)) => {
                self.world().told = Some((report.message.unwrap_or_default(), after));
                report.state
            }
            Ok(PassOutcome::Later(_) | PassOutcome::Released | PassOutcome::Nothing) => None,
            Err(error) => {
                assert!(error.reason != Reason::Bug && error.reason != Reason::NotYet, "{error}");
                None
            }
        }
    }

    /// Ids of ours that the identity service has.
    pub fn remaining(&self) -> BTreeSet<String> {
        let world = self.world();
        let ours =
            world.credentials.iter().filter(|(_, one)| one.name.starts_with(&credential_name_prefix(UID)));
        ours.map(|(id, _)| id.clone()).collect()
    }

    fn call<T>(&self, act: impl FnOnce(&mut World) -> T) -> Result<T, ()> {
        let mut world = self.world();
        if world.dead {
            return Err(());
        }
        let blow = match &mut world.blow {
            Some((0, blow)) => Some(*blow),
            Some((left, _)) => {
                *left -= 1;
                None
            }
            None => None,
        };
        if blow.is_some() {
            world.blow = None;
        }
        match blow {
            None => Ok(act(&mut world)),
            Some(Blow::Before) => Err(()),
            Some(Blow::After) => {
                act(&mut world);
                Err(())
            }
            Some(Blow::Leaves) => {
                let leaver = world.leaver.clone();
                world.leave(&leaver);
                Ok(act(&mut world))
            }
            Some(Blow::DiesBefore) => {
                world.dead = true;
                Err(())
            }
            Some(Blow::DiesAfter) => {
                act(&mut world);
                world.dead = true;
                Err(())
            }
        }
    }

    /// A call to the identity service.
    fn ask<T>(&self, act: impl FnOnce(&mut World) -> Result<T, IdentityError>) -> Result<T, IdentityError> {
        self.call(|world| {
            world.asked += 1;
            if world.down { Err(IdentityError::Unreachable) } else { act(world) }
        })
        .unwrap_or(Err(IdentityError::Unreachable))
    }

    fn write<T>(&self, act: impl FnOnce(&mut World) -> T) -> Result<T, Error> {
        let lost = |()| Error { action: "play", reason: Reason::Network, message: "lost".into() };
        self.call(|world| {
            world.written += 1;
            act(world)
        })
        .map_err(lost)
    }
}

impl World {
    pub fn takes(&self, id: &str) -> bool {
        let lasts = |one: &Credential| one.expires.is_none_or(|at| at > self.now);
        self.credentials.get(id).is_some_and(|one| lasts(one) && self.users[&one.user].here)
    }

    fn lets_in(&self, user: &str) -> Result<User, IdentityError> {
        if self.silent.contains(user) {
            return Err(IdentityError::Unreachable);
        }
        let found = self.users.get(user).filter(|user| user.here && user.password);
        found.cloned().ok_or(IdentityError::Unknown)
    }

    pub fn leave(&mut self, user: &str) {
        self.users.get_mut(user).unwrap().here = false;
        self.drop_all_of(user);
    }

    /// All credentials of a user go with the user, and with any of their roles.
    pub fn drop_all_of(&mut self, user: &str) {
        self.credentials.retain(|_, one| one.user != user);
    }
}

/// A process.
struct Hands<'a>(&'a Model);

impl CredentialBackend for Hands<'_> {
    async fn probe_published(&self) -> CredentialCheck {
        let taken = self.0.ask(|world| {
            let id = world.secret.as_ref().and_then(|(_, id)| id.clone()).unwrap();
            Ok(world.takes(&id))
        });
        match taken {
            Ok(true) => CredentialCheck::Works,
            Ok(false) => CredentialCheck::Invalid,
            Err(_) => CredentialCheck::Unknown,
        }
    }

    async fn list_credentials(&self, issuer: &str) -> Result<Vec<CredentialRef>, IdentityError> {
        self.0.ask(|world| {
            world.lets_in(issuer)?;
            let of_user = world.credentials.iter().filter(|(_, one)| one.user == issuer);
            let one = |(id, one): (&String, &Credential)| CredentialRef {
                id: id.clone(),
                user: one.user.clone(),
                name: one.name.clone(),
                issuer: issuer.to_owned(),
            };
            Ok(select_ours(UID, of_user.map(one).collect()))
        })
    }

    async fn issue_credential(
        &mut self,
        issuer: &str,
        number: u32,
    ) -> Result<IssuedCredential, IdentityError> {
        let name = format!("{}{number}", credential_name_prefix(UID));
        let lasts = self.0.order.lifetime.map(GoDuration::as_signed);
        self.0.ask(|world| {
            let user = world.lets_in(issuer)?;
            if user.restricted {
                return Err(IdentityError::Forbidden);
            }
            if !user.role {
                return Err(IdentityError::Refused("404".into()));
            }
            if world.credentials.values().any(|one| one.user == issuer && one.name == name) {
                return Err(IdentityError::Taken);
            }
            world.made += 1;
            let id = format!("id-{}", world.made);
            let expires = lasts.map(|lasts| world.now + lasts);
            world
                .credentials
                .insert(id.clone(), Credential { user: issuer.to_owned(), name: name.clone(), expires });
            let one = CredentialRef { id, user: issuer.to_owned(), name, issuer: issuer.to_owned() };
            Ok(IssuedCredential { one, renew: lasts.map(|lasts| world.now + lasts / 2) })
        })
    }

    async fn verify_issued(&self, minted: &IssuedCredential) -> CredentialCheck {
        match self.0.ask(|world| Ok(world.takes(&minted.one.id))) {
            Ok(true) => CredentialCheck::Works,
            Ok(false) => CredentialCheck::Invalid,
            Err(_) => CredentialCheck::Unknown,
        }
    }

    async fn delete_credential(&self, one: &CredentialRef, others: &[String]) -> DeletionResult {
        let mut came = DeletionResult::Nobody;
        for issuer in std::iter::once(&one.issuer).chain(others) {
            let done = self.0.ask(|world| {
                let user = world.lets_in(issuer)?;
                if user.restricted || !user.may_delete || (one.user != *issuer && issuer != ADMIN) {
                    return Err(IdentityError::Forbidden);
                }
                let published = world.secret.as_ref().and_then(|(_, id)| id.as_ref());
                assert!(world.over || published != Some(&one.id), "what is published is deleted");
                let kept = world.replaced.get(&one.id).is_none_or(|at| *at + GRACE <= world.now);
                let ended = world
                    .credentials
                    .get(&one.id)
                    .is_some_and(|c| c.expires.is_some_and(|at| at <= world.now));
                assert!(world.over || kept || ended, "somebody may still use {}", one.id);
                world.credentials.remove(&one.id);
                Ok(())
            });
            match (done, came) {
                (Ok(()), _) => return DeletionResult::Gone,
                (Err(IdentityError::Unreachable), _) => came = DeletionResult::Unreachable,
                (Err(IdentityError::Forbidden), DeletionResult::Nobody) => came = DeletionResult::Left,
                (Err(_), _) => {}
            }
        }
        if matches!(came, DeletionResult::Left | DeletionResult::Nobody) {
            self.0.world().left.insert(one.id.clone());
        }
        came
    }

    async fn add_finalizer(&mut self) -> Result<bool, Error> {
        self.0.write(|world| {
            world.finalizer = !world.vanished;
            world.finalizer
        })
    }

    async fn mark_removing(&mut self, removing: Option<Timestamp>) -> Result<(), Error> {
        self.0.write(|world| world.removing = removing)
    }

    async fn write_record(&mut self, record: &CredentialRecord) -> Result<(), Error> {
        self.0.write(|world| {
            assert!(world.finalizer, "nothing is begun that nobody would end");
            let id = world.secret.take().and_then(|(_, id)| id);
            world.secret = Some((record.clone(), id));
        })
    }

    async fn publish_issued(
        &mut self,
        minted: &IssuedCredential,
        record: &CredentialRecord,
    ) -> Result<(), Error> {
        self.0.write(|world| {
            let before = world.secret.take().and_then(|(_, id)| id);
            let now = world.now;
            world.replaced.extend(before.map(|before| (before, now)));
            world.secret = Some((record.clone(), Some(minted.one.id.clone())));
        })
    }

    async fn withdraw_secret(&mut self) -> Result<(), Error> {
        self.0.write(|world| world.secret = None)
    }

    async fn release_request(&mut self) -> Result<(), Error> {
        self.0.write(|world| {
            world.finalizer = false;
            world.released = true;
        })
    }
}
