//! OpenStack's identity service, played over HTTPS: tokens by password and by application credential, and application credentials.
//!
//! It behaves as Keystone does in these cases (`keystone/application_credential/core.py`,
//! `keystone/common/policies/application_credential.py`):
//!
//! - the credentials of a user go when the user is disabled or deleted, and those in a project when the user loses any role in it;
//! - one that does not exist is answered with 404 where a token is asked for, a wrong secret or password with 401;
//! - only their owner makes them, and only with a password or an unrestricted one; only their owner or an administrator lists and deletes them;
//! - names are unique for each user (409); a role that the user has not is answered with 404, too many with 403.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use anyhow::Context as _;
use axum::{
    Router,
    body::Bytes,
    extract::{Path, State as Shared},
    http::{HeaderMap, StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse as _, Response},
    routing::{delete, get, post},
    serve::Listener,
};
use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};
use serde_json::{Value, json};
use testplatform_apis::cloud;
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinHandle,
    time::{sleep, timeout},
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use crate::{pki::Authority, search::unique};

/// Name of the cloud.
pub const CLOUD: &str = "acme";
/// Namespace of the issuers on a hub of the testbed.
pub const ISSUERS: &str = "testplatform-cloud-issuers";
/// The project in which everybody is.
const PROJECT: &str = "p0";
/// The most credentials of one user.
const LIMIT: usize = 8;
/// The role that may delete those of others.
pub const ADMIN: &str = "admin";

/// A user.
#[derive(Clone, Debug, Default)]
struct User {
    password: String,
    roles: BTreeSet<String>,
    disabled: bool,
}

/// An application credential.
#[derive(Clone, Debug)]
struct Credential {
    user: String,
    name: String,
    secret: String,
    roles: BTreeSet<String>,
    unrestricted: bool,
}

/// How the next creation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// It is done, and answered as if it were not.
    Unanswered,
    /// It is done, and the answer takes longer than anybody waits.
    Late,
}

#[derive(Default)]
struct State {
    users: BTreeMap<String, User>,
    credentials: BTreeMap<String, Credential>,
    /// By a token whose it is, and by which credential it was given.
    tokens: BTreeMap<String, (String, Option<String>)>,
    trouble: Option<Trouble>,
    down: bool,
    deletions_forbidden: bool,
    calls: Vec<String>,
    /// Whose it is, and what nobody may see anywhere else.
    secrets: Vec<(String, String)>,
}

/// The service.
pub struct Keystone {
    state: Arc<Mutex<State>>,
    authority: Authority,
    port: u16,
    task: JoinHandle<()>,
}

/// Connections with TLS.
struct Tls {
    tcp: TcpListener,
    acceptor: TlsAcceptor,
}

impl Listener for Tls {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let Ok((stream, from)) = self.tcp.accept().await else {
                sleep(Duration::from_millis(50)).await;
                continue;
            };
            // One that does not trust it hangs up.
            if let Ok(Ok(stream)) = timeout(Duration::from_secs(5), self.acceptor.accept(stream)).await {
                return (stream, from);
            }
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.tcp.local_addr()
    }
}

impl Keystone {
    /// One with nobody in it.
    pub async fn start() -> anyhow::Result<Self> {
        let authority = Authority::new("keystone")?;
        let leaf = authority.server("keystone")?;
        let certificate = CertificateDer::from_pem_slice(leaf.certificate.as_bytes())?;
        let key = PrivateKeyDer::from_pem_slice(leaf.key.as_bytes())?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)?;
        let tcp =
            TcpListener::bind(("127.0.0.1", 0)).await.context("no free port for an identity service")?;
        let port = tcp.local_addr()?.port();
        let state = Arc::new(Mutex::new(State::default()));
        let router = Router::new()
            .route("/identity/v3/auth/tokens", post(token))
            .route("/identity/v3/users/{user}/application_credentials", get(list).post(create))
            .route("/identity/v3/users/{user}/application_credentials/{id}", delete(remove))
            .with_state(Arc::clone(&state));
        let listener = Tls { tcp, acceptor: TlsAcceptor::from(Arc::new(config)) };
        let task = tokio::spawn(async move {
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { state, authority, port, task })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Somebody comes, with these roles. The id is the name.
    pub fn enter(&self, user: &str, roles: &[&str]) {
        let password = unique();
        let mut state = self.state();
        state.secrets.push((user.to_owned(), password.clone()));
        let roles = roles.iter().map(|role| (*role).to_owned()).collect();
        state.users.insert(user.to_owned(), User { password, roles, disabled: false });
    }

    /// Somebody is disabled: all their credentials go.
    pub fn leave(&self, user: &str) {
        let mut state = self.state();
        if let Some(user) = state.users.get_mut(user) {
            user.disabled = true;
        }
        state.drop_all_of(user);
    }

    /// Somebody loses a role: all their credentials in the project go.
    pub fn lose(&self, user: &str, role: &str) {
        let mut state = self.state();
        if let Some(user) = state.users.get_mut(user) {
            user.roles.remove(role);
        }
        state.drop_all_of(user);
    }

    /// The next creation fails so.
    pub fn fail_next_creation(&self, trouble: Trouble) {
        self.state().trouble = Some(trouble);
    }

    /// Stops or resumes answering requests.
    pub fn set_down(&self, down: bool) {
        self.state().down = down;
    }

    /// Forbids everybody to delete (403), or allows it again.
    pub fn forbid_deletions(&self, forbidden: bool) {
        self.state().deletions_forbidden = forbidden;
    }

    /// The `clouds.yaml` and `cacert` of an issuer with a user's password.
    pub fn issuer(&self, user: &str) -> (String, String) {
        let password = self.state().users.get(user).map(|user| user.password.clone()).unwrap_or_default();
        let file = json!({ "clouds": { CLOUD: {
            "auth": {
                "auth_url": format!("https://127.0.0.1:{}/identity", self.port),
                "username": user, "password": password, "project_name": PROJECT,
            },
            "region_name": "RegionOne", "interface": "public", "cacert": "/etc/openstack/cacert.pem",
        } } });
        (file.to_string(), self.authority.pem())
    }

    /// The Secret of an issuer as administrators make it, for a cloud and the tenants that it says, commas between them. `users`: for whose requests;
    /// none: the tenants' own.
    pub fn issuer_in(&self, namespace: &str, user: &str, tenants: &str, users: Option<&str>) -> Value {
        let (clouds, certificates) = self.issuer(user);
        let mut metadata = json!({
            "name": user, "namespace": namespace, "labels": { cloud::ISSUER: CLOUD }, "annotations": { cloud::TENANTS: tenants },
        });
        if let Some(users) = users {
            metadata["annotations"][cloud::USERS] = users.into();
        }
        let data = json!({ cloud::CLOUDS: clouds, cloud::CERTIFICATES: certificates });
        json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data })
    }

    /// Names of the credentials, by ids, and whose they are.
    pub fn credentials(&self) -> BTreeMap<String, (String, String)> {
        let state = self.state();
        let of = |(id, one): (&String, &Credential)| (id.clone(), (one.name.clone(), one.user.clone()));
        state.credentials.iter().map(of).collect()
    }

    /// The roles that a credential has.
    pub fn roles(&self, id: &str) -> BTreeSet<String> {
        self.state().credentials.get(id).map(|one| one.roles.clone()).unwrap_or_default()
    }

    /// `true` if a credential is accepted.
    pub fn takes(&self, id: &str, secret: &str) -> bool {
        let state = self.state();
        state.credentials.get(id).is_some_and(|one| one.secret == secret && state.is_here(&one.user))
    }

    /// Every call so far: method and path.
    pub fn calls(&self) -> Vec<String> {
        self.state().calls.clone()
    }

    /// Everything that nobody may see but in the Secrets made for it.
    pub fn secrets(&self) -> Vec<String> {
        self.state().secrets.iter().map(|(_, secret)| secret.clone()).collect()
    }

    /// Those of one user: the password, the tokens, and what the credentials ever had.
    pub fn secrets_of(&self, user: &str) -> Vec<String> {
        let state = self.state();
        let of_user = state.secrets.iter().filter(|(of, _)| of == user);
        of_user.map(|(_, secret)| secret.clone()).collect()
    }
}

impl Drop for Keystone {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn answer(code: StatusCode, body: &Value) -> Response {
    (code, [(CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

fn error(code: StatusCode, message: &str) -> Response {
    answer(code, &json!({ "error": { "code": code.as_u16(), "message": message } }))
}

/// Null, if it is no JSON.
fn read(body: &Bytes) -> Value {
    serde_json::from_slice(body).unwrap_or_default()
}

const DOWN: StatusCode = StatusCode::SERVICE_UNAVAILABLE;

impl State {
    fn is_here(&self, user: &str) -> bool {
        self.users.get(user).is_some_and(|user| !user.disabled && !user.roles.is_empty())
    }

    fn drop_all_of(&mut self, user: &str) {
        self.credentials.retain(|_, one| one.user != user);
        self.tokens.retain(|_, (of, _)| of != user);
    }

    /// Whose a token is.
    fn bearer(&self, headers: &HeaderMap) -> Option<(String, Option<String>)> {
        let token = headers.get("x-auth-token")?.to_str().ok()?;
        self.tokens.get(token).cloned()
    }

    fn may_all(&self, user: &str) -> bool {
        self.users.get(user).is_some_and(|user| user.roles.contains(ADMIN))
    }

    fn by_password(&self, given: &Value) -> Option<String> {
        let name = given["user"]["name"].as_str().or_else(|| given["user"]["id"].as_str())?;
        let right = self.users.get(name)?.password == given["user"]["password"].as_str()?;
        (right && self.is_here(name)).then(|| name.to_owned())
    }
}

async fn token(Shared(state): Shared<Arc<Mutex<State>>>, body: Bytes) -> Response {
    let asked = read(&body);
    let mut state = lock(&state);
    state.calls.push("POST tokens".into());
    if state.down {
        return error(DOWN, "down");
    }
    let identity = &asked["auth"]["identity"];
    let (user, by) = match identity["methods"][0].as_str() {
        Some("password") => (state.by_password(&identity["password"]), None),
        Some("application_credential") => {
            let given = &identity["application_credential"];
            let id = given["id"].as_str().unwrap_or_default();
            let Some(one) = state.credentials.get(id) else {
                return error(
                    StatusCode::NOT_FOUND,
                    &format!("Could not find Application Credential: {id}."),
                );
            };
            let right = given["secret"] == one.secret.as_str() && state.is_here(&one.user);
            (right.then(|| one.user.clone()), Some(id.to_owned()))
        }
        _ => return error(StatusCode::BAD_REQUEST, "no such method"),
    };
    let Some(user) = user else {
        return error(StatusCode::UNAUTHORIZED, "The request you have made requires authentication.");
    };
    let token = unique();
    state.secrets.push((user.clone(), token.clone()));
    state.tokens.insert(token.clone(), (user.clone(), by.clone()));
    let mut body = json!({ "token": { "user": { "id": user }, "project": { "id": PROJECT } } });
    if let Some(id) = by {
        body["token"]["application_credential"] = json!({ "id": id });
    }
    ([("x-subject-token", token)], answer(StatusCode::CREATED, &body)).into_response()
}

async fn list(
    Shared(state): Shared<Arc<Mutex<State>>>,
    Path(user): Path<String>,
    headers: HeaderMap,
) -> Response {
    let mut state = lock(&state);
    state.calls.push(format!("GET {user}"));
    if state.down {
        return error(DOWN, "down");
    }
    let Some((bearer, _)) = state.bearer(&headers) else { return error(StatusCode::UNAUTHORIZED, "who?") };
    if bearer != user && !state.may_all(&bearer) {
        return error(StatusCode::FORBIDDEN, "You are not authorized");
    }
    let of_user = state.credentials.iter().filter(|(_, one)| one.user == user);
    let all: Vec<Value> = of_user.map(|(id, one)| json!({ "id": id, "name": one.name })).collect();
    answer(StatusCode::OK, &json!({ "application_credentials": all }))
}

async fn create(
    Shared(shared): Shared<Arc<Mutex<State>>>,
    Path(user): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let asked = read(&body);
    let (answer, trouble) = {
        let mut state = lock(&shared);
        state.calls.push(format!("POST {user}"));
        let answer = if state.down { error(DOWN, "down") } else { made(&mut state, &user, &headers, &asked) };
        (answer, state.trouble.take())
    };
    match trouble {
        None => answer,
        Some(Trouble::Unanswered) => error(StatusCode::BAD_GATEWAY, "the proxy has lost it"),
        Some(Trouble::Late) => {
            sleep(Duration::from_secs(30)).await;
            answer
        }
    }
}

fn made(state: &mut State, user: &str, headers: &HeaderMap, asked: &Value) -> Response {
    let Some((bearer, by)) = state.bearer(headers) else { return error(StatusCode::UNAUTHORIZED, "who?") };
    let by = by.and_then(|by| state.credentials.get(&by).cloned());
    if bearer != user || by.as_ref().is_some_and(|by| !by.unrestricted) {
        return error(StatusCode::FORBIDDEN, "You are not authorized to perform the requested action");
    }
    let asked = &asked["application_credential"];
    let name = asked["name"].as_str().unwrap_or_default().to_owned();
    let own = state.users.get(user).map(|user| user.roles.clone()).unwrap_or_default();
    let named = asked["roles"].as_array().map(|roles| {
        roles.iter().filter_map(|role| role["name"].as_str().map(str::to_owned)).collect::<BTreeSet<_>>()
    });
    let roles = named.unwrap_or_else(|| own.clone());
    if !roles.is_subset(&own) {
        return error(StatusCode::NOT_FOUND, "Could not find role assignment");
    }
    let of_user: Vec<&Credential> = state.credentials.values().filter(|one| one.user == user).collect();
    if of_user.iter().any(|one| one.name == name) {
        return error(StatusCode::CONFLICT, "Duplicate entry found with name");
    }
    if of_user.len() >= LIMIT {
        return error(StatusCode::FORBIDDEN, "Unable to create additional application credentials");
    }
    let (id, secret) = (unique().replace('-', ""), unique());
    state.secrets.push((user.to_owned(), secret.clone()));
    let unrestricted = asked["unrestricted"] == true;
    let body = json!({ "application_credential": {
        "id": id, "name": name, "secret": secret, "project_id": PROJECT, "unrestricted": unrestricted,
        "roles": roles.iter().map(|role| json!({ "name": role })).collect::<Vec<_>>(),
    } });
    let one = Credential { user: user.to_owned(), name, secret, roles, unrestricted };
    state.credentials.insert(id, one);
    answer(StatusCode::CREATED, &body)
}

async fn remove(
    Shared(state): Shared<Arc<Mutex<State>>>,
    Path((user, id)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response {
    let mut state = lock(&state);
    state.calls.push(format!("DELETE {user}"));
    if state.down {
        return error(DOWN, "down");
    }
    let Some((bearer, _)) = state.bearer(&headers) else { return error(StatusCode::UNAUTHORIZED, "who?") };
    if state.deletions_forbidden || (bearer != user && !state.may_all(&bearer)) {
        return error(StatusCode::FORBIDDEN, "You are not authorized to perform the requested action");
    }
    match state.credentials.remove(&id) {
        Some(one) => {
            state.tokens.retain(|_, (of, by)| *of != one.user || by.as_deref() != Some(id.as_str()));
            StatusCode::NO_CONTENT.into_response()
        }
        None => error(StatusCode::NOT_FOUND, "Could not find Application Credential"),
    }
}
