//! Calls to a cluster that was delivered. What answers may be anybody's: no answer is waited for for long, and of none more is read than fits.

use std::time::Duration;

use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use kube::{Client, client::Body, config::Kubeconfig};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{
    admin::{AdminKubeconfig, Parts},
    callers::Callers,
};
use crate::{
    build_clusters::{Trust, configured, limit, vouched},
    execute::Error,
};

/// The most that is read of an answer with an object that may be of any kind, in bytes: more than an API server stores of one.
pub(crate) const MOST: usize = 2 << 20;
/// The most values in one: as many as are judged, and as many again for what is left out before that. Two bytes may become a value that takes hundreds, and
/// several answers are held at a time.
const MOST_VALUES: usize = 2 * testplatform_readiness::MAX_VALUES;

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
    let config = configured(read).await;
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
    let code = ask(&client, "POST", PATH, ("application/json", &review), patience).await;
    Ok(code.is_ok_and(|code| code == StatusCode::UNAUTHORIZED))
}

/// A call of which the code alone matters: what else is answered is not read.
///
/// # Errors
/// If nothing is answered within `patience`.
pub(crate) async fn ask(
    client: &Client,
    verb: &str,
    path: &str,
    body: (&str, &Value),
    patience: Duration,
) -> Result<StatusCode, Silent> {
    let answer = timeout(patience, begin(client, verb, path, body)).await;
    answer.unwrap_or(Err(Silent::Unreachable)).map(|answer| answer.status())
}

/// A call, of whose answer so many bytes are read.
///
/// # Errors
/// If nothing is answered within `patience`, or too much.
pub(crate) async fn send(
    client: &Client,
    verb: &str,
    path: &str,
    body: (&str, &Value),
    most: usize,
    patience: Duration,
) -> Result<Answer, Silent> {
    let answered = async {
        let (parts, body) = begin(client, verb, path, body).await?.into_parts();
        let read = Limited::new(body, most).collect().await;
        let bytes = read.map_err(|error| {
            let long = error.is::<http_body_util::LengthLimitError>();
            if long { Silent::TooLarge } else { Silent::Unreachable }
        })?;
        let bytes = bytes.to_bytes();
        if !fits(&bytes) {
            return Err(Silent::TooLarge);
        }
        let body = serde_json::from_slice(&bytes).unwrap_or_default();
        Ok(Answer { code: parts.status, body })
    };
    timeout(patience, answered).await.unwrap_or(Err(Silent::Unreachable))
}

/// Sends; null is sent as nothing.
async fn begin(
    client: &Client,
    verb: &str,
    path: &str,
    (content, body): (&str, &Value),
) -> Result<Response<Body>, Silent> {
    let bytes = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let request = Request::builder().method(verb).uri(path).header("content-type", content);
    let request = request.body(Body::from(bytes)).map_err(|_| Silent::Unreachable)?;
    client.send(request).await.map_err(|_| Silent::Unreachable)
}

/// Whether there are no more values in JSON than are read. Each but the first follows a comma or an opening bracket; of what is no JSON nothing is made but
/// what stands before the first flaw.
fn fits(json: &[u8]) -> bool {
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

    async fn read(text: &str, most: usize) -> Result<Value, Silent> {
        let client = answering(StatusCode::OK, text);
        send(&client, "GET", "/", NOTHING, most, PATIENCE).await.map(|answer| answer.body)
    }

    #[tokio::test]
    async fn of_an_answer_no_more_is_made_than_fits() {
        let many = |count: usize| format!("[{}0]", "0,".repeat(count));
        assert!(read(&many(MOST_VALUES - 2), MOST).await.is_ok());
        for much in
            [many(MOST_VALUES - 1), "[".repeat(MOST), format!("[{}{{}}]", r#"{"":0},"#.repeat(200_000))]
        {
            assert!(much.len() <= MOST);
            assert_eq!(read(&much, MOST).await.map(drop), Err(Silent::TooLarge), "{}", &much[..20]);
        }
        assert_eq!(read(&many(10), 10).await, Err(Silent::TooLarge));
        // What stands in a text is no value.
        for text in ["[{,".repeat(100_000), r#"",\"#.repeat(100_000)] {
            let whole = json!({ "data": text });
            assert_eq!(read(&whole.to_string(), MOST).await, Ok(whole));
        }
    }

    #[tokio::test]
    async fn where_the_code_is_all_that_matters_nothing_is_read() {
        let client = answering(StatusCode::UNAUTHORIZED, &" ".repeat(MOST + 1));
        assert_eq!(ask(&client, "GET", "/", NOTHING, PATIENCE).await, Ok(StatusCode::UNAUTHORIZED));
        let whole = send(&client, "GET", "/", NOTHING, MOST, PATIENCE).await;
        assert_eq!(whole.map(|answer| answer.code), Err(Silent::TooLarge));
    }
}
