//! A cluster that was delivered, played: tokens are good until they end or their ServiceAccount does, and each call may fail, before it has
//! done anything or after.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard},
};

use jiff::{SignedDuration, Timestamp};
use provider_testplatform::credentials::account::{
    plan::{AccountObject, AccountObjects, ObjectState, TokenCheck},
    token::{DeliveredCluster, Token, TokenFailure},
};
use testplatform_runtime::redacted::Redacted;

/// Secret that must never leave the hub.
pub const KEY: &str = "YWRtaW4ta2V5";
pub const ADMIN: &str = "apiVersion: v1\nkind: Config\ncurrent-context: admin\n\
    clusters: [{name: c, cluster: {server: 'https://api.c:6443', certificate-authority-data: UEVN}}]\n\
    contexts: [{name: admin, context: {cluster: c, user: admin}}]\n\
    users: [{name: admin, user: {client-certificate-data: Y2VydA==, client-key-data: YWRtaW4ta2V5}}]\n";

/// How a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing was done.
    Before,
    /// It was done; only the answer was lost, or nobody is there any more to hear it.
    After,
}

/// One token.
#[derive(Clone, Debug)]
struct Made {
    expires: Timestamp,
    account: u32,
    /// The API server itself knows it.
    known: bool,
}

#[derive(Default)]
pub struct State {
    pub now: Timestamp,
    /// How long a token lasts at most.
    pub life: SignedDuration,
    things: BTreeMap<usize, u32>,
    tokens: BTreeMap<String, Made>,
    made: u32,
    /// Calls until one fails, and how.
    pub fault: Option<(usize, Fault)>,
    /// It does not answer.
    pub down: bool,
    /// It does not know the tokens that it makes.
    pub forgets: bool,
    /// Rights are late.
    pub late: bool,
    /// Object that is being deleted, and not gone yet.
    pub goes: Option<AccountObject>,
    /// Object that exists with wrong content.
    pub wrong: Option<AccountObject>,
    /// A finalizer holds whatever is deleted.
    pub holds: bool,
    pub calls: usize,
}

#[derive(Default)]
pub struct Model(Mutex<State>);

impl Model {
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// `true` if a token works, here and now.
    pub fn takes(&self, token: &str) -> bool {
        let state = self.state();
        let alive = |made: &Made| {
            made.known && made.expires > state.now && state.things.get(&1) == Some(&made.account)
        };
        state.tokens.get(token).is_some_and(alive) && (0..5).all(|thing| state.things.contains_key(&thing))
    }

    /// Completes the deletion that is under way.
    pub fn lose(&self) {
        let mut state = self.state();
        if let Some(thing) = state.goes.take() {
            state.things.remove(&place(thing));
            state.wrong = state.wrong.filter(|wrong| *wrong != thing);
        }
    }

    /// A call, which may fail.
    fn call<T>(&self, act: impl FnOnce(&mut State) -> T) -> Result<T, TokenFailure> {
        let mut state = self.state();
        state.calls += 1;
        if state.down {
            return Err(TokenFailure::Unreachable);
        }
        let fault = match &mut state.fault {
            Some((0, fault)) => Some(*fault),
            Some((left, _)) => {
                *left -= 1;
                None
            }
            None => None,
        };
        if fault.is_some() {
            state.fault = None;
        }
        match fault {
            Some(Fault::Before) => Err(TokenFailure::Unreachable),
            Some(Fault::After) => {
                act(&mut state);
                Err(TokenFailure::Unreachable)
            }
            None => Ok(act(&mut state)),
        }
    }
}

fn place(thing: AccountObject) -> usize {
    AccountObject::ALL.iter().position(|other| *other == thing).unwrap()
}

impl DeliveredCluster for Model {
    async fn read_objects(&self) -> Result<AccountObjects, TokenFailure> {
        self.call(|state| {
            let found = |thing: AccountObject| match thing {
                _ if !state.things.contains_key(&place(thing)) => ObjectState::Absent,
                _ if state.goes == Some(thing) => ObjectState::Deleting,
                _ if state.wrong == Some(thing) => ObjectState::Wrong,
                _ => ObjectState::Right,
            };
            AccountObjects { has_role: true, things: AccountObject::ALL.map(found) }
        })
    }

    async fn delete_object(&self, thing: AccountObject) -> Result<(), TokenFailure> {
        self.call(|state| {
            if state.holds {
                state.goes = Some(thing);
            } else if state.goes != Some(thing) {
                // A second deletion request does not complete the first one sooner.
                state.things.remove(&place(thing));
                state.wrong = state.wrong.filter(|wrong| *wrong != thing);
            }
        })
    }

    async fn create_object(&self, thing: AccountObject) -> Result<bool, TokenFailure> {
        self.call(|state| {
            state.made += 1;
            let made = state.made;
            *state.things.entry(place(thing)).or_insert(made) == made
        })
    }

    async fn request_token(&self) -> Result<Token, TokenFailure> {
        let answer = self.call(|state| {
            let account = *state.things.get(&1)?;
            let token = format!("token-{}", state.tokens.len());
            let expires = state.now + state.life;
            state.tokens.insert(token.clone(), Made { expires, account, known: !state.forgets });
            Some(Token { token: Redacted(token), expires })
        })?;
        answer.ok_or(TokenFailure::Restless)
    }

    async fn verify_token(&self, token: &Token) -> Result<TokenCheck, TokenFailure> {
        let works = self.takes(&token.token.0);
        self.call(|state| match (works, state.late) {
            (true, false) => TokenCheck::Taken,
            (true, true) => TokenCheck::NoRights,
            (false, _) => TokenCheck::Unknown,
        })
    }
}
