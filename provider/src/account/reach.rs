//! Calls to a cluster that was delivered. What answers may be anybody's: no answer is waited for for long, and of none more is read than fits.

use std::time::Duration;

use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use kube::{
    Client, Config,
    client::Body,
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{
    admin::{AdminKubeconfig, Parts},
    callers::Callers,
};
use crate::{
    build_clusters::{Trust, limit, vouched},
    execute::Error,
};

/// The most that is read of an answer: more than an API server stores of one object.
const MOST: usize = 2 << 20;

/// A kubeconfig that cannot be used, and why: the end of a sentence, without a word of what is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unusable(pub &'static str);

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Silent {
    /// None came, or not in time.
    Unreachable,
    /// There is more of it than is read.
    TooLarge,
}

/// An answer.
pub(crate) struct Answer {
    /// The code of HTTP.
    pub code: StatusCode,
    /// What came with it; null if that was no JSON.
    pub body: Value,
}

/// A client for a cluster, by the kubeconfig of its admin. Nothing is called yet.
///
/// # Errors
/// If it is none that may be used.
pub(crate) async fn open(admin: &AdminKubeconfig) -> Result<Client, Unusable> {
    client(&admin.parts().map_err(Unusable)?).await
}

/// The same, of what was read of a kubeconfig.
///
/// # Errors
/// The same.
pub(super) async fn client(parts: &Parts) -> Result<Client, Unusable> {
    const NOT: Unusable = Unusable("cannot be used");
    let read: Kubeconfig = serde_json::from_value(parts.value()).map_err(|_| NOT)?;
    let config = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await;
    let mut config = config.map_err(|_| NOT)?;
    limit(&mut config);
    let bundle = std::env::var_os("SSL_CERT_FILE").is_some();
    let trust = if bundle { Trust::Bundle } else { Trust::Kubeconfig };
    vouched(&config, trust).map_err(|_| Unusable("has no certificate-authority-data"))?;
    Client::try_from(config).map_err(|_| NOT)
}

/// Whether a cluster says that it does not know whoever has this kubeconfig. Only a clear no counts: one that does not answer, or not in such words,
/// is none the less the one that it is.
///
/// # Errors
/// If too many wait for clusters already.
pub(crate) async fn refuses(
    callers: &Callers,
    admin: &AdminKubeconfig,
    patience: Duration,
) -> Result<bool, Error> {
    const PATH: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let review = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview" });
    let _leave = callers.leave().map_err(|cause| cause.during("try_credentials"))?;
    let Ok(client) = open(admin).await else { return Ok(false) };
    let answer = send(&client, "POST", PATH, ("application/json", &review), patience).await;
    Ok(answer.is_ok_and(|answer| answer.code == StatusCode::UNAUTHORIZED))
}

/// A call. Null is sent as nothing.
///
/// # Errors
/// If nothing is answered within `patience`, or too much.
pub(crate) async fn send(
    client: &Client,
    verb: &str,
    path: &str,
    (content, body): (&str, &Value),
    patience: Duration,
) -> Result<Answer, Silent> {
    let bytes = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let request = Request::builder().method(verb).uri(path).header("content-type", content);
    let request = request.body(Body::from(bytes)).map_err(|_| Silent::Unreachable)?;
    let answered = async {
        let answer = client.send(request).await.map_err(|_| Silent::Unreachable)?;
        let (parts, body) = answer.into_parts();
        let read = Limited::new(body, MOST).collect().await;
        let bytes = read.map_err(|error| {
            let long = error.is::<http_body_util::LengthLimitError>();
            if long { Silent::TooLarge } else { Silent::Unreachable }
        })?;
        let body = serde_json::from_slice(&bytes.to_bytes()).unwrap_or_default();
        Ok(Answer { code: parts.status, body })
    };
    timeout(patience, answered).await.unwrap_or(Err(Silent::Unreachable))
}
