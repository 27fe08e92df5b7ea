//! Connections: HTTP/1.1 over TLS, with this machine's trusted certificates (`SSL_CERT_FILE` names others), directly or through the
//! environment's proxy.
//!
//! Nothing is retried here: the user repeats a failed push, and the push skips existing blobs.

use std::{io::Cursor, sync::Arc, time::Duration};

use anyhow::{Context as _, bail, ensure};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{
        Client,
        connect::{HttpConnector, proxy::Tunnel},
    },
    rt::TokioExecutor,
};

use super::proxy::{Proxy, is_loopback};

/// Request timeout: enough for a program of some megabytes over a slow connection.
const TIMEOUT: Duration = Duration::from_mins(5);
/// Maximum response size: larger than any package.
const MAX_BODY_BYTES: usize = 256 << 20;
const REDIRECTS: usize = 5;

type Body = Full<Cursor<Vec<u8>>>;
type Direct = HttpsConnector<HttpConnector>;
/// TLS to a server, in a tunnel of the proxy, with optional TLS to the proxy.
type Proxied = Client<HttpsConnector<Tunnel<Direct>>, Body>;

/// A client. It keeps connections between requests.
#[derive(Debug)]
pub struct Http {
    client: Client<Direct, Body>,
    proxied: Option<(Proxy, Proxied)>,
    plain: Option<bool>,
}

/// Response of a server.
#[derive(Clone, Debug)]
pub struct HttpResponse {
    /// Status.
    pub status: StatusCode,
    /// Headers.
    pub headers: HeaderMap,
    /// The complete body.
    pub body: Vec<u8>,
}

impl Http {
    /// A client. It uses plain HTTP only with this machine, unless `plain` allows it everywhere. None: the user has no option to allow it.
    ///
    /// # Errors
    /// If this machine has no trusted certificates, or its proxy is unusable.
    pub fn new(plain: Option<bool>) -> anyhow::Result<Self> {
        let tls = || {
            HttpsConnectorBuilder::new()
                .with_provider_and_native_roots(Arc::new(rustls::crypto::ring::default_provider()))
                .context("no trusted certificates; install a CA bundle, or name one with SSL_CERT_FILE")
        };
        let direct = tls()?.https_or_http().enable_http1().build();
        let proxied = match Proxy::from_environment(|name| {
            Some(std::env::var_os(name)?.to_string_lossy().into_owned())
        })? {
            Some(proxy) => {
                let mut tunnel = Tunnel::new(proxy.entry.uri().clone(), direct.clone());
                if let Some(login) = proxy.entry.basic_auth() {
                    tunnel = tunnel.with_auth(login.clone());
                }
                let connector = tls()?.https_only().enable_http1().wrap_connector(tunnel);
                Some((proxy, Client::builder(TokioExecutor::new()).build(connector)))
            }
            None => None,
        };
        Ok(Self { client: Client::builder(TokioExecutor::new()).build(direct), proxied, plain })
    }

    /// The scheme of a registry: TLS, unless plain HTTP is allowed and the registry has no TLS.
    pub async fn scheme(&self, host: &str) -> &'static str {
        if self.plain != Some(true) && !is_loopback(host) {
            return "https";
        }
        let Ok(uri) = format!("https://{host}/v2/").parse() else { return "https" };
        match self.send(Method::GET, &uri, &HeaderMap::new(), &[]).await {
            Ok(_) => "https",
            Err(_) => "http",
        }
    }

    /// Sends a request and follows redirects of reads. It sends no credentials to another server.
    ///
    /// # Errors
    /// If there is no response in time, it is too large, or the connection is insecure.
    pub async fn send(
        &self,
        method: Method,
        uri: &Uri,
        headers: &HeaderMap,
        body: &[u8],
    ) -> anyhow::Result<HttpResponse> {
        let mut uri = uri.clone();
        let mut headers = headers.clone();
        for _ in 0..=REDIRECTS {
            let answer = tokio::time::timeout(TIMEOUT, self.send_once(&method, &uri, &headers, body))
                .await
                .with_context(|| format!("no answer in {} s", TIMEOUT.as_secs()))
                .flatten()
                .with_context(|| format!("{method} {} failed", redact_query(&uri)))?;
            let reads = method == Method::GET || method == Method::HEAD;
            let Some(location) = answer.headers.get(header::LOCATION).filter(|_| {
                reads && answer.status.is_redirection() && answer.status != StatusCode::NOT_MODIFIED
            }) else {
                return Ok(answer);
            };
            let next = resolve_location(&uri, location)?;
            if next.authority() != uri.authority() || next.scheme() != uri.scheme() {
                headers.remove(header::AUTHORIZATION);
            }
            uri = next;
        }
        bail!("{} leads in circles ({REDIRECTS} redirects)", redact_query(&uri))
    }

    async fn send_once(
        &self,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
        body: &[u8],
    ) -> anyhow::Result<HttpResponse> {
        let host = uri.host().context("the address has no host")?;
        let option = self.plain.map_or("", |_| ", or --plain-http in a network that you trust");
        ensure!(
            uri.scheme_str() == Some("https") || self.plain == Some(true) || is_loopback(host),
            "plain HTTP could be read and changed on the way; use https{option}"
        );
        let mut request =
            Request::builder().method(method).uri(uri).body(Full::new(Cursor::new(body.to_vec())))?;
        *request.headers_mut() = headers.clone();
        let agent = HeaderValue::from_static(concat!("cargo-xpkg/", env!("CARGO_PKG_VERSION")));
        request.headers_mut().insert(header::USER_AGENT, agent);
        // hyper omits the length of an empty body, and Google's registries refuse uploads without a length (411).
        if body.is_empty() && *method != Method::GET && *method != Method::HEAD {
            request.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
        }
        // The cause is the helpful part of the error: "connection refused", "invalid peer certificate".
        let response = match self.proxied.as_ref().filter(|(proxy, _)| proxy.applies_to(uri)) {
            Some((proxy, client)) => client.request(request).await.with_context(|| {
                format!("no way through the proxy {} that the environment names", proxy.entry.uri())
            })?,
            None => self.client.request(request).await?,
        };
        let (parts, body) = response.into_parts();
        let body = Limited::new(body, MAX_BODY_BYTES).collect().await.map_err(anyhow::Error::from_boxed)?;
        Ok(HttpResponse { status: parts.status, headers: parts.headers, body: body.to_bytes().to_vec() })
    }
}

impl HttpResponse {
    /// A header as text.
    pub fn header(&self, name: impl header::AsHeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The server's error message, if it has any.
    pub fn error_message(&self) -> String {
        let errors: serde_json::Value = serde_json::from_slice(&self.body).unwrap_or_default();
        let words: Vec<_> = errors["errors"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|error| {
                let message = error["message"].as_str().filter(|message| !message.is_empty());
                message.or(error["code"].as_str())
            })
            .collect();
        match words.as_slice() {
            [] => self.status.to_string(),
            words => format!("{}: {}", self.status, words.join("; ")),
        }
    }
}

/// Resolves a `Location` header relative to the request's address.
///
/// # Errors
/// If it is no address.
pub fn resolve_location(from: &Uri, location: &HeaderValue) -> anyhow::Result<Uri> {
    let text = location.to_str().context("the server's Location is not text")?;
    let base = format!(
        "{}://{}",
        from.scheme_str().unwrap_or("https"),
        from.authority().context("the address has no host")?
    );
    // A later part, such as a query, may contain another address.
    let scheme = text.split_once("://").map(|(scheme, _)| scheme);
    let full = match text {
        _ if scheme.is_some_and(|scheme| !scheme.contains(['/', '?', '#'])) => text.to_owned(),
        _ if text.starts_with('/') => format!("{base}{text}"),
        _ => format!("{base}{}/{text}", from.path().rsplit_once('/').map_or("", |(folder, _)| folder)),
    };
    full.parse().with_context(|| format!("the server's Location {text:?} is not an address"))
}

/// An address without its query, because signed addresses carry their secret there.
pub fn redact_query(uri: &Uri) -> String {
    let text = uri.to_string();
    text.split_once('?').map_or(text.as_str(), |(before, _)| before).to_owned()
}

#[cfg(test)]
mod tests {
    use std::{
        io::{BufRead as _, BufReader, Write as _},
        net::TcpListener,
    };

    use super::*;

    #[test]
    fn only_this_machine_is_contacted_without_tls() {
        for host in ["localhost", "localhost:5000", "127.0.0.1:80", "[::1]:5000", "::1"] {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["r.example", "r.example:5000", "localhost.example", "10.0.0.1", "127.example"] {
            assert!(!is_loopback(host), "{host}");
        }
    }

    /// The head of a request without a body, as it came.
    fn head_of(method: Method) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let uri: Uri = format!("http://{}/v2/", listener.local_addr().unwrap()).parse().unwrap();
        let server = std::thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            let lines = BufReader::new(client.try_clone().unwrap()).lines().map_while(Result::ok);
            let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
            client
                .write_all(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                .unwrap();
            head.join("\n").to_ascii_lowercase()
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let http = Http::new(None).unwrap();
        let answer = runtime.block_on(http.send(method, &uri, &HeaderMap::new(), &[])).unwrap();
        assert_eq!(answer.status, StatusCode::ACCEPTED);
        server.join().unwrap()
    }

    #[test]
    fn requests_with_an_empty_body_have_a_content_length() {
        for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
            let head = head_of(method.clone());
            assert_eq!(head.matches("\ncontent-length: 0").count(), 1, "{method}: {head}");
        }
        for method in [Method::GET, Method::HEAD] {
            let head = head_of(method.clone());
            assert!(!head.contains("content-length"), "{method}: {head}");
        }
    }

    #[test]
    fn locations_are_understood_in_all_their_forms() {
        let from: Uri = "https://r.example:5000/v2/a/blobs/uploads/".parse().unwrap();
        for (location, expected) in [
            ("/v2/a/1?s=x", "https://r.example:5000/v2/a/1?s=x"),
            ("https://cdn.example/1", "https://cdn.example/1"),
            ("1?s=x", "https://r.example:5000/v2/a/blobs/uploads/1?s=x"),
            ("/v2/a/1?next=https://x", "https://r.example:5000/v2/a/1?next=https://x"),
            ("1?next=https://x", "https://r.example:5000/v2/a/blobs/uploads/1?next=https://x"),
        ] {
            let location = HeaderValue::from_static(location);
            assert_eq!(resolve_location(&from, &location).unwrap().to_string(), expected);
        }
    }

    #[test]
    fn secrets_in_addresses_are_not_shown() {
        let uri: Uri = "https://cdn.example/blob?signature=secret".parse().unwrap();
        assert_eq!(redact_query(&uri), "https://cdn.example/blob");
    }
}
