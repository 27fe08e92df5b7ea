//! An API server in memory, behind kube's client: resourceVersions, conflicts, finalizers, the status subresource, merge
//! patches, watches, and faults on request. No schemas and no admission: those are tried on a real one.

mod store;

use std::{
    convert::Infallible,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use http::{Request, Response, StatusCode, header};
use kube::{Client, client::Body};
use serde_json::{Value, json};
use tokio::sync::watch;

pub use self::store::Change;
use self::store::{Answer, Store};

/// Faults of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is not done; the answer is a status, which quotes what was sent: so does many an admission webhook. It names no object: with 404 it is that of
    /// something in between, or of what is not served.
    Refused(u16),
    /// It is not done: 404 about the very object, as of an API server that lags behind.
    Absent,
    /// It is not done, and there is no answer.
    Lost,
    /// It is done, and there is no answer.
    AnswerLost,
}

/// A request as it came.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub method: String,
    pub path: String,
    pub query: String,
    pub content_type: String,
    pub body: Value,
}

impl Call {
    /// Method and path.
    pub fn line(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    pub fn is_write(&self) -> bool {
        self.method != "GET"
    }

    /// The value of a parameter. Only what selectors need is decoded.
    pub fn parameter(&self, name: &str) -> Option<String> {
        let value = self.query.split('&').find_map(|part| part.strip_prefix(name)?.strip_prefix('='))?;
        Some(value.replace("%3D", "=").replace("%2F", "/"))
    }
}

type Judge = Box<dyn FnMut(&Call) -> Option<Fault> + Send>;

/// An API server.
#[derive(Clone)]
pub struct Memory(Arc<Inner>);

struct Inner {
    store: Mutex<Store>,
    calls: Mutex<Vec<Call>>,
    judge: Mutex<Judge>,
    /// The version of the last change, for those who watch.
    version: watch::Sender<u64>,
}

impl Memory {
    pub fn new() -> Self {
        Self(Arc::new(Inner {
            store: Mutex::default(),
            calls: Mutex::default(),
            judge: Mutex::new(Box::new(|_| None)),
            version: watch::Sender::new(0),
        }))
    }

    /// From now on the status of these is written through a subresource.
    pub fn with_status(&self, resource: &'static str) {
        self.store().status.push(resource);
    }

    /// From now on this is the time.
    pub fn with_clock(self, clock: fn() -> String) -> Self {
        self.store().clock = clock;
        self
    }

    /// Decides what goes wrong.
    pub fn judge(&self, judge: impl FnMut(&Call) -> Option<Fault> + Send + 'static) {
        *self.0.judge.lock().unwrap_or_else(PoisonError::into_inner) = Box::new(judge);
    }

    /// A client.
    pub fn client(&self) -> Client {
        let memory = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let memory = memory.clone();
            async move { Ok::<_, Infallible>(memory.serve(request).await) }
        });
        Client::new(service, "default")
    }

    /// Calls since the last time, reads included.
    pub fn calls(&self) -> Vec<Call> {
        std::mem::take(&mut *self.0.calls.lock().unwrap())
    }

    pub fn writes(&self) -> Vec<Call> {
        self.calls().into_iter().filter(Call::is_write).collect()
    }

    /// Puts an object, whatever was there.
    pub fn put(&self, path: &str, mut object: Value) -> Value {
        let name = path.rsplit('/').next().unwrap();
        object["metadata"]["name"] = json!(name);
        self.change(|store| store.put(path, object))
    }

    /// Merges into an object, if it is there.
    pub fn merge(&self, path: &str, changes: &Value) {
        if let Some(mut object) = self.get(path) {
            store::merge(&mut object, changes);
            self.put(path, object);
        }
    }

    /// Deletes an object, or says that it will be.
    pub fn delete(&self, path: &str) {
        self.change(|store| store.delete(path));
    }

    pub fn get(&self, path: &str) -> Option<Value> {
        self.store().get(path).cloned()
    }

    /// Every object of a collection.
    pub fn list(&self, path: &str) -> Vec<Value> {
        self.store().list(path, &|_| true)
    }

    /// Everything that ever changed, in its order.
    pub fn history(&self) -> Vec<Change> {
        self.store().history().to_vec()
    }

    fn store(&self) -> MutexGuard<'_, Store> {
        self.0.store.lock().unwrap()
    }

    fn change<T>(&self, change: impl FnOnce(&mut Store) -> T) -> T {
        let mut store = self.store();
        let result = change(&mut store);
        self.0.version.send_replace(store.version());
        result
    }

    async fn serve(&self, request: Request<Body>) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let bytes = body.collect_bytes().await.unwrap();
        let text =
            |name| parts.headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default().to_owned();
        let metadata_only = text(header::ACCEPT).contains("PartialObjectMetadata");
        let call = Call {
            method: parts.method.to_string(),
            path: parts.uri.path().to_owned(),
            query: parts.uri.query().unwrap_or_default().to_owned(),
            content_type: text(header::CONTENT_TYPE),
            body: if bytes.is_empty() { Value::Null } else { serde_json::from_slice(&bytes).unwrap() },
        };
        self.0.calls.lock().unwrap().push(call.clone());
        // One that panics is a bug that is played.
        let fault = (self.0.judge.lock().unwrap_or_else(PoisonError::into_inner))(&call);
        match fault {
            Some(Fault::Refused(code)) => {
                return answer(Err((code, "Injected", format!("injected: {}", call.body))), None, false);
            }
            Some(Fault::Absent) => {
                let name = store::name_of(&call.path);
                return answer(Err((404, "NotFound", format!("{} not found", call.path))), name, false);
            }
            Some(Fault::Lost) => std::future::pending().await,
            None if call.parameter("watch").is_some() => {
                return Response::new(Body::from(self.watch(&call, metadata_only).await));
            }
            None | Some(Fault::AnswerLost) => {}
        }
        let result = self.change(|store| store.serve(&call));
        if fault.is_some() {
            std::future::pending::<()>().await;
        }
        answer(result, store::name_of(&call.path), metadata_only)
    }

    /// Waits until there is something to tell, tells it, and lets the client ask again.
    async fn watch(&self, call: &Call, metadata_only: bool) -> Vec<u8> {
        let mut versions = self.0.version.subscribe();
        let from = call.parameter("resourceVersion").and_then(|v| v.parse().ok()).unwrap_or_default();
        let patience = tokio::time::sleep(Duration::from_mins(5));
        tokio::pin!(patience);
        loop {
            let events = self.store().events(call, from);
            if !events.is_empty() {
                let line = |(type_, object): (&str, Value)| {
                    let object = if metadata_only { partial(&object) } else { object };
                    format!("{}\n", json!({ "type": type_, "object": object }))
                };
                return events.into_iter().map(line).collect::<String>().into_bytes();
            }
            tokio::select! {
                _ = versions.changed() => {}
                () = &mut patience => return Vec::new(),
            }
        }
    }
}

fn partial(object: &Value) -> Value {
    json!({ "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": object["metadata"] })
}

/// `name`: of the object that a refusal is about.
fn answer(answer: Answer, name: Option<&str>, metadata_only: bool) -> Response<Body> {
    let (code, body) = match answer {
        Ok(mut list) if metadata_only && list["items"].is_array() => {
            for item in list["items"].as_array_mut().unwrap() {
                *item = partial(item);
            }
            (200, list)
        }
        Ok(object) if metadata_only => (200, partial(&object)),
        Ok(object) => (200, object),
        Err((code, reason, message)) => (
            code,
            json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
                "reason": reason, "message": message, "details": name.map(|name| json!({ "name": name })) }),
        ),
    };
    let response = Response::builder().status(StatusCode::from_u16(code).unwrap());
    response.body(Body::from(serde_json::to_vec(&body).unwrap())).unwrap()
}
