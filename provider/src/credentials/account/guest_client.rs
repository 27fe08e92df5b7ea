//! Calls to a delivered cluster. The server may be anybody's: each call has a short timeout, and the response size is limited.

use std::time::Duration;

use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use kube::{Client, client::Body, config::Kubeconfig};
use serde_json::{Value, json};
use testplatform_runtime::{
    client::{Trust, build_config, check_authority, set_timeouts},
    error::Error,
};
use tokio::time::timeout;

use super::{
    admin::{AdminKubeconfig, KubeconfigParts},
    guest_limiter::GuestLimiter,
};

/// The most that is read of an answer with an object that may be of any kind, in bytes: more than an API server stores of one.
pub(crate) const MAX_RESPONSE_BYTES: usize = 2 << 20;
/// The most values in one: as many as are judged, and as many again for what is left out before that. Two bytes may become a value that takes hundreds, and
/// several answers are held at a time.
const MOST_VALUES: usize = 2 * testplatform_readiness::MAX_VALUES;

/// A kubeconfig that cannot be used, and why: the end of a sentence, without a word of what is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnusableKubeconfig(pub &'static str);

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestError {
    /// None came, or not in time.
    Unreachable,
    /// There is more of it than is read.
    TooLarge,
}

/// An answer.
pub(crate) struct ApiResponse {
    /// The code of HTTP.
    pub code: StatusCode,
    /// Body; null if it is not JSON.
    pub body: Value,
}

/// A client for a cluster, by the kubeconfig of its admin. Nothing is called yet.
///
/// # Errors
/// If it is none that may be used.
pub(crate) async fn connect(admin: &AdminKubeconfig) -> Result<Client, UnusableKubeconfig> {
    build_client(&admin.read_parts().map_err(UnusableKubeconfig)?).await
}

/// The same, of what was read of a kubeconfig.
///
/// # Errors
/// The same.
pub(super) async fn build_client(parts: &KubeconfigParts) -> Result<Client, UnusableKubeconfig> {
    const NOT: UnusableKubeconfig = UnusableKubeconfig("cannot be used");
    let read: Kubeconfig = serde_json::from_value(parts.value()).map_err(|_| NOT)?;
    let config = build_config(read).await;
    let mut config = config.map_err(|_| NOT)?;
    set_timeouts(&mut config);
    let bundle = std::env::var_os("SSL_CERT_FILE").is_some();
    let trust = if bundle { Trust::Bundle } else { Trust::Kubeconfig };
    check_authority(&config, trust).map_err(|_| UnusableKubeconfig("has no certificate-authority-data"))?;
    Client::try_from(config).map_err(|_| NOT)
}

/// Whether a cluster rejects this kubeconfig with 401. Only a clear rejection counts: a cluster without an answer, or with another one, is
/// still the same cluster.
///
/// # Errors
/// If too many wait for clusters already.
pub(crate) async fn is_unauthorized(
    callers: &GuestLimiter,
    admin: &AdminKubeconfig,
    patience: Duration,
) -> Result<bool, Error> {
    const PATH: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let review = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview" });
    let _leave = callers.acquire_permit().map_err(|cause| cause.with_action("try_credentials"))?;
    let Ok(client) = connect(admin).await else { return Ok(false) };
    let code = send_json(&client, "POST", PATH, ("application/json", &review), patience).await;
    Ok(code.is_ok_and(|code| code == StatusCode::UNAUTHORIZED))
}

/// A call of which the code alone matters: what else is answered is not read.
///
/// # Errors
/// If nothing is answered within `patience`.
pub(crate) async fn send_json(
    client: &Client,
    verb: &str,
    path: &str,
    body: (&str, &Value),
    patience: Duration,
) -> Result<StatusCode, RequestError> {
    let answer = timeout(patience, start_request(client, verb, path, body)).await;
    answer.unwrap_or(Err(RequestError::Unreachable)).map(|answer| answer.status())
}

/// A call, of whose answer so many bytes are read.
///
/// # Errors
/// If nothing is answered within `patience`, or too much.
pub(crate) async fn send_request(
    client: &Client,
    verb: &str,
    path: &str,
    body: (&str, &Value),
    most: usize,
    patience: Duration,
) -> Result<ApiResponse, RequestError> {
    let answered = async {
        let (parts, body) = start_request(client, verb, path, body).await?.into_parts();
        let read = Limited::new(body, most).collect().await;
        let bytes = read.map_err(|error| {
            let long = error.is::<http_body_util::LengthLimitError>();
            if long { RequestError::TooLarge } else { RequestError::Unreachable }
        })?;
        let bytes = bytes.to_bytes();
        if !fits_value_limit(&bytes) {
            return Err(RequestError::TooLarge);
        }
        let body = serde_json::from_slice(&bytes).unwrap_or_default();
        Ok(ApiResponse { code: parts.status, body })
    };
    timeout(patience, answered).await.unwrap_or(Err(RequestError::Unreachable))
}

/// Sends; null is sent as nothing.
async fn start_request(
    client: &Client,
    verb: &str,
    path: &str,
    (content, body): (&str, &Value),
) -> Result<Response<Body>, RequestError> {
    let bytes = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let request = Request::builder().method(verb).uri(path).header("content-type", content);
    let request = request.body(Body::from(bytes)).map_err(|_| RequestError::Unreachable)?;
    client.send(request).await.map_err(|_| RequestError::Unreachable)
}

/// Whether JSON has no more values than the limit. Each value but the first follows a comma or an opening bracket; for invalid JSON only the
/// part before the first error is parsed.
fn fits_value_limit(json: &[u8]) -> bool {
    let (mut values, mut quoted, mut escaped) = (1_usize, false, false);
    for byte in json {
        match (quoted, byte) {
            (true, _) if escaped => escaped = false,
            (true, b'\\') => escaped = true,
            (_, b'"') => quoted = !quoted,
            (false, b',' | b'[' | b'{') => values += 1,
            (true | false, _) => {}
        }
    }
    values <= MOST_VALUES
}

#[cfg(test)]
pub(super) mod tests {
    use std::convert::Infallible;

    use super::*;

    const PATIENCE: Duration = Duration::from_mins(1);
    const NOTHING: (&str, &Value) = ("application/json", &Value::Null);

    /// A cluster that answers so to everything.
    pub fn answering(code: StatusCode, text: &str) -> Client {
        let text = text.to_owned();
        let service = tower::service_fn(move |_: Request<Body>| {
            let mut answer = Response::new(Body::from(text.clone().into_bytes()));
            *answer.status_mut() = code;
            async move { Ok::<_, Infallible>(answer) }
        });
        Client::new(service, "default")
    }

    async fn read(text: &str, most: usize) -> Result<Value, RequestError> {
        let client = answering(StatusCode::OK, text);
        send_request(&client, "GET", "/", NOTHING, most, PATIENCE).await.map(|answer| answer.body)
    }

    #[tokio::test]
    async fn of_an_answer_no_more_is_made_than_fits() {
        let many = |count: usize| format!("[{}0]", "0,".repeat(count));
        assert!(read(&many(MOST_VALUES - 2), MAX_RESPONSE_BYTES).await.is_ok());
        for much in [
            many(MOST_VALUES - 1),
            "[".repeat(MAX_RESPONSE_BYTES),
            format!("[{}{{}}]", r#"{"":0},"#.repeat(200_000)),
        ] {
            assert!(much.len() <= MAX_RESPONSE_BYTES);
            assert_eq!(
                read(&much, MAX_RESPONSE_BYTES).await.map(drop),
                Err(RequestError::TooLarge),
                "{}",
                &much[..20]
            );
        }
        assert_eq!(read(&many(10), 10).await, Err(RequestError::TooLarge));
        // Text in a string is not a value.
        for text in ["[{,".repeat(100_000), r#"",\"#.repeat(100_000)] {
            let whole = json!({ "data": text });
            assert_eq!(read(&whole.to_string(), MAX_RESPONSE_BYTES).await, Ok(whole));
        }
    }

    #[tokio::test]
    async fn where_the_code_is_all_that_matters_nothing_is_read() {
        let client = answering(StatusCode::UNAUTHORIZED, &" ".repeat(MAX_RESPONSE_BYTES + 1));
        assert_eq!(send_json(&client, "GET", "/", NOTHING, PATIENCE).await, Ok(StatusCode::UNAUTHORIZED));
        let whole = send_request(&client, "GET", "/", NOTHING, MAX_RESPONSE_BYTES, PATIENCE).await;
        assert_eq!(whole.map(|answer| answer.code), Err(RequestError::TooLarge));
    }
}
