//! A gate before an API server: it counts what one client writes, strikes at one of those writes, and can be closed.
//!
//! ```text
//! provider ──HTTP──▶ Gate ──TLS, the provider's own credentials──▶ kube-apiserver
//! ```
//!
//! The client has the gate's kubeconfig in place of its own. A request that has arrived at the gate goes its way even if its
//! sender is gone, as in a network.

use std::{
    net::TcpListener,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use anyhow::{Context as _, bail};
use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{Request, State},
    http::{Method, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use kube::Client;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use crate::{control_plane::connect, ports::free_ports};

/// When in the course of a write its writer is struck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Nobody heard of the write.
    Unheard,
    /// The API server has done it, and the writer is not told.
    Unanswered,
}

/// Action that hits the writer.
pub type Blow = Box<dyn FnOnce() + Send>;

/// The writes that went through the gates of one client, and the blow that waits for one of them.
///
/// A write is known by what it says. One that is repeated because it came too late is the same write.
#[derive(Default)]
pub struct Toll {
    writes: Mutex<Vec<String>>,
    armed: Mutex<Option<(String, Moment, Blow)>>,
}

impl Toll {
    /// Strikes at a write, the first time that it comes by.
    pub fn arm(&self, write: &str, moment: Moment, blow: Blow) {
        *lock(&self.armed) = Some((write.to_owned(), moment, blow));
    }

    /// Everything that was ever written, in its order: where, how, what kind of thing, and what about it.
    pub fn writes(&self) -> Vec<String> {
        lock(&self.writes).clone()
    }

    /// `true` if the blow has fallen, or none was waiting.
    pub fn is_spent(&self) -> bool {
        lock(&self.armed).is_none()
    }

    /// Takes down a write; an empty one is none.
    fn note(&self, write: &str) -> Option<(Moment, Blow)> {
        let struck = lock(&self.armed).take_if(|(awaited, ..)| awaited == write);
        let mut writes = lock(&self.writes);
        if !write.is_empty() && !writes.iter().any(|known| known == write) {
            writes.push(write.to_owned());
        }
        struck.map(|(_, moment, blow)| (moment, blow))
    }
}

/// A gate before one API server, for one client.
pub struct Gate {
    port: u16,
    kubeconfig: Value,
    way: Way,
    /// Everything of an open gate lives on it, so that all connections break when it goes.
    open: Mutex<Option<Runtime>>,
}

#[derive(Clone)]
struct Way {
    name: String,
    toll: Arc<Toll>,
}

impl Gate {
    /// An open gate before the API server of a kubeconfig. `name` is the API server's in what is counted.
    pub fn before(name: &str, kubeconfig: &Value, toll: &Arc<Toll>) -> anyhow::Result<Self> {
        // One that is its own while it is closed, too.
        let [port] = free_ports()?;
        let listener = TcpListener::bind(("127.0.0.1", port)).context("no free port for a gate")?;
        let gate = Self {
            port,
            kubeconfig: kubeconfig.clone(),
            way: Way { name: name.to_owned(), toll: Arc::clone(toll) },
            open: Mutex::new(None),
        };
        gate.serve(listener)?;
        Ok(gate)
    }

    /// Kubeconfig through this proxy, for the client to use instead of its own.
    pub fn kubeconfig(&self) -> Value {
        let mut kubeconfig = self.kubeconfig.clone();
        let server = format!("http://127.0.0.1:{}", self.port);
        kubeconfig["clusters"][0]["cluster"] = json!({ "server": server });
        kubeconfig
    }

    /// Breaks every connection, and takes none until it is opened.
    pub fn close(&self) {
        if let Some(runtime) = lock(&self.open).take() {
            runtime.shutdown_background();
        }
    }

    /// Opens it again.
    pub fn open(&self) -> anyhow::Result<()> {
        let listener = TcpListener::bind(("127.0.0.1", self.port)).context("the gate's port was taken")?;
        self.serve(listener)
    }

    fn serve(&self, listener: TcpListener) -> anyhow::Result<()> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        listener.set_nonblocking(true)?;
        let (way, kubeconfig) = (self.way.clone(), self.kubeconfig.to_string());
        runtime.spawn(async move {
            let name = way.name.clone();
            let served = async {
                let client = connect(&kubeconfig).await?;
                let router = Router::new().fallback(pass).with_state((way, client));
                anyhow::Ok(axum::serve(tokio::net::TcpListener::from_std(listener)?, router).await?)
            };
            if let Err(error) = served.await {
                eprintln!("the gate before {name} does not serve: {error:#}");
            }
        });
        *lock(&self.open) = Some(runtime);
        Ok(())
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.close();
    }
}

async fn pass(State((way, client)): State<(Way, Client)>, request: Request) -> Response {
    // A task of its own, because this one ends when its client does.
    match tokio::spawn(carry(way, client, request)).await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => (StatusCode::BAD_GATEWAY, format!("{error:#}")).into_response(),
        Err(_) => StatusCode::BAD_GATEWAY.into_response(),
    }
}

async fn carry(way: Way, client: Client, request: Request) -> anyhow::Result<Response> {
    let (mut head, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await?;
    let write = counted(&head.method, head.uri.path())
        .map(|write| format!("{} {write}{}", way.name, said(&body)))
        .unwrap_or_default();
    let struck = match way.toll.note(&write) {
        Some((Moment::Unheard, blow)) => {
            blow();
            bail!("its writer was struck before it");
        }
        other => other,
    };
    // They name the gate.
    head.headers.remove(header::HOST);
    head.headers.remove(header::AUTHORIZATION);
    let onward = Request::from_parts(head, kube::client::Body::from(body.to_vec()));
    let answer = client.send(onward).await?;
    match struck {
        Some((_, blow)) if answer.status().is_success() => {
            blow();
            bail!("its writer was struck after it");
        }
        // It was not done, and is tried again.
        Some((moment, blow)) => way.toll.arm(&write, moment, blow),
        None => {}
    }
    let (head, body) = answer.into_parts();
    Ok(Response::from_parts(head, Body::new(body)))
}

/// How a request writes and what kind of thing, if it counts: what is renewed all the time, or only told, does not.
fn counted(method: &Method, path: &str) -> Option<String> {
    if ![Method::POST, Method::PUT, Method::PATCH, Method::DELETE].contains(method) {
        return None;
    }
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    let rest = match segments.as_slice() {
        ["api", _, rest @ ..] | ["apis", _, _, rest @ ..] => rest,
        other => other,
    };
    let rest = match rest {
        ["namespaces", _, rest @ ..] if !rest.is_empty() => rest,
        other => other,
    };
    let thing = match rest {
        ["leases" | "events", ..] => return None,
        [resource, _, subresource, ..] => format!("{resource}/{subresource}"),
        [resource, ..] => (*resource).to_owned(),
        [] => return Some(format!("{method} {path}")),
    };
    Some(format!("{method} {thing}"))
}

/// Part of a write's content that is the same in every life: words without digits, never data.
fn said(body: &[u8]) -> String {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    // A complete object needs no further description.
    if body["kind"].is_string() {
        return String::new();
    }
    let fields = |value: &Value| value.as_object().cloned().unwrap_or_default();
    let mut said = vec![String::new()];
    for (key, value) in fields(&body["metadata"]) {
        match &value {
            Value::Object(fields) => said.extend(fields.keys().map(|field| format!("{key}.{field}"))),
            Value::Array(values) => said.push(format!("{key}:{}", values.len())),
            _ if key == "resourceVersion" => {}
            _ => said.push(key),
        }
    }
    for (key, value) in fields(&body["status"]) {
        match &value {
            Value::String(phase) if key == "phase" => said.push(phase.clone()),
            Value::Array(conditions) => said.extend(conditions.iter().map(|condition| {
                let word = |field: &str| condition[field].as_str().unwrap_or_default();
                let message: Vec<&str> =
                    word("message").split(' ').filter(|w| !w.contains(char::is_numeric)).collect();
                format!("{}={} ({})", word("type"), word("reason"), message.join(" "))
            })),
            _ => said.push(key),
        }
    }
    said.join(", ")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_counts() {
        let of = |method, path: &str| counted(&method, path).unwrap_or_default();
        let cluster = "/apis/ci.openshift.io/v1/namespaces/a/ephemeralclusters/x";
        assert_eq!(of(Method::PATCH, cluster), "PATCH ephemeralclusters");
        assert_eq!(of(Method::PATCH, &format!("{cluster}/status")), "PATCH ephemeralclusters/status");
        assert_eq!(of(Method::POST, "/api/v1/namespaces/a/secrets"), "POST secrets");
        assert_eq!(of(Method::DELETE, "/api/v1/namespaces/a"), "DELETE namespaces");
        for path in [
            "/apis/coordination.k8s.io/v1/namespaces/a/leases/x",
            "/apis/events.k8s.io/v1/namespaces/a/events",
        ] {
            assert_eq!(of(Method::POST, path), "");
        }
        assert_eq!(of(Method::GET, cluster), "");
    }

    #[test]
    fn what_it_says() {
        let of = |body: Value| said(body.to_string().as_bytes());
        let message = "ProwJob 1-2-3 was created";
        let ready =
            json!({ "type": "ClusterReady", "status": "True", "reason": "Published", "message": message });
        let status = json!({ "phase": "Ready", "conditions": [ready], "secretRef": "x" });
        assert_eq!(
            of(json!({ "metadata": { "resourceVersion": "1" }, "status": status })),
            ", ClusterReady=Published (ProwJob was created), Ready, secretRef"
        );
        assert_eq!(of(json!({ "metadata": { "finalizers": [] } })), ", finalizers:0");
        assert_eq!(of(json!({ "metadata": { "annotations": { "a/b": "c" } } })), ", annotations.a/b");
        assert_eq!(of(json!({ "kind": "Secret", "metadata": { "name": "x" }, "data": { "a": "b" } })), "");
        assert_eq!(said(b""), "");
    }

    #[test]
    fn it_strikes_once_at_one_write() {
        let toll = Toll::default();
        let struck = Arc::new(Mutex::new(0));
        let counter = Arc::clone(&struck);
        toll.arm("b", Moment::Unheard, Box::new(move || *lock(&counter) += 1));
        assert!(toll.note("a").is_none() && !toll.is_spent());
        let (moment, blow) = toll.note("b").unwrap();
        blow();
        assert!(moment == Moment::Unheard && toll.is_spent() && *lock(&struck) == 1);
        assert!(toll.note("b").is_none());
        assert_eq!(toll.writes(), ["a", "b"]);
    }
}
