//! The edge: a web server for pages that a command makes, on the loopback address.
//!
//! Every user of the machine reaches a loopback port, and so does a page that a browser has from elsewhere. So each path begins with a word that
//! nobody can guess, and the header `Host` has to name the loopback address: a foreign name that was pointed to it is refused (DNS rebinding).
//! Nothing can be changed by it.
//!
//! Pages are made by the thread that owns the command, one after the other, so that any number of visitors costs the API server no more than one.

use std::{
    convert::Infallible,
    fmt::Write as _,
    io,
    net::{Ipv4Addr, TcpListener},
    sync::{
        Arc,
        mpsc::{Receiver, Sender, channel},
    },
    thread,
    time::Duration,
};

use axum::{
    Router,
    extract::{Path, Request, State},
    http::{HeaderName, HeaderValue, StatusCode, header},
    middleware::{Next, from_fn_with_state},
    response::{
        Html, IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
    routing::get,
};
use futures_util::stream::{Stream, unfold};
use tokio::{runtime::Builder, sync::oneshot, time::sleep};

use super::fleet::page::{LIVE, STYLE};

/// How often an open page asks whether something changed.
const INTERVAL: Duration = Duration::from_secs(3);
/// Bytes of the word with which each path begins.
const SECRET_BYTES: usize = 16;
/// Nothing is loaded from elsewhere, kept, or shown within another page.
const HEADERS: [(HeaderName, &str); 4] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (header::CACHE_CONTROL, "no-store"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
];

/// The requested page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// The overview.
    Overview,
    /// The page of a claim, by kind, namespace and name.
    Claim(String, String, String),
    /// The number of the present content.
    Revision,
}

/// The answer to a visitor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A page.
    Page(String),
    /// A page that says that there is no such thing.
    Missing(String),
    /// The number of the present content.
    Revision(u64),
}

/// A visitor who waits for an answer.
#[derive(Debug)]
pub struct Visit {
    /// The requested page.
    pub question: Question,
    answer: oneshot::Sender<Answer>,
}

impl Visit {
    /// Answers. A visitor who has left does not matter.
    pub fn answer(self, answer: Answer) {
        let _ = self.answer.send(answer);
    }
}

/// A running server. It ends with the program.
#[derive(Debug)]
pub struct PageServer {
    /// Address of the overview, with the word that nobody can guess.
    pub url: String,
    /// Visitors, in the order in which they came.
    pub visits: Receiver<Visit>,
}

/// State of all handlers.
struct Site {
    secret: String,
    hosts: [String; 2],
    visits: Sender<Visit>,
}

impl Site {
    async fn ask(&self, question: Question) -> Option<Answer> {
        let (answer, answered) = oneshot::channel();
        self.visits.send(Visit { question, answer }).ok()?;
        answered.await.ok()
    }

    async fn show_answer(&self, question: Question) -> Response {
        match self.ask(question).await {
            Some(Answer::Page(page)) => Html(page).into_response(),
            Some(Answer::Missing(page)) => (StatusCode::NOT_FOUND, Html(page)).into_response(),
            Some(Answer::Revision(_)) | None => StatusCode::SERVICE_UNAVAILABLE.into_response(),
        }
    }
}

impl PageServer {
    /// Listens on a port of the loopback address; 0: on any free one.
    ///
    /// # Errors
    /// If the port is taken, or if the system gives no random numbers or no thread.
    pub fn start(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let secret = random_word()?;
        let url = format!("http://{address}/{secret}/");
        let (sender, visits) = channel();
        let hosts = [address.to_string(), format!("localhost:{}", address.port())];
        let router = build_router(Arc::new(Site { secret, hosts, visits: sender }));
        let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
        let serve = move || {
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener)?;
                axum::serve(listener, router).await
            })
        };
        // Once it ends nobody visits any more, which the owner of the receiver sees.
        thread::Builder::new().name("pages".to_owned()).spawn(serve)?;
        Ok(Self { url, visits })
    }
}

fn random_word() -> io::Result<String> {
    let mut bytes = [0; SECRET_BYTES];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    let mut word = String::new();
    for byte in bytes {
        let _ = write!(word, "{byte:02x}");
    }
    Ok(word)
}

fn build_router(site: Arc<Site>) -> Router {
    let asset = |kind: &'static str, text: &'static str| {
        get(move || async move { ([(header::CONTENT_TYPE, kind)], text) })
    };
    Router::new()
        .route("/{secret}/", get(show_overview))
        .route("/{secret}/claims/{kind}/{namespace}/{name}", get(show_claim))
        .route("/{secret}/changes", get(stream_changes))
        .route("/{secret}/style.css", asset("text/css; charset=utf-8", STYLE))
        .route("/{secret}/live.js", asset("text/javascript; charset=utf-8", LIVE))
        .layer(from_fn_with_state(Arc::clone(&site), check_visitor))
        .with_state(site)
}

/// Lets in who knows the word, and came by the loopback address.
async fn check_visitor(State(site): State<Arc<Site>>, request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let is_local = host.is_some_and(|host| site.hosts.iter().any(|own| own == host));
    let knows_secret = request.uri().path().split('/').nth(1) == Some(site.secret.as_str());
    let mut response = match (is_local, knows_secret) {
        (false, _) => StatusCode::MISDIRECTED_REQUEST.into_response(),
        (true, false) => StatusCode::NOT_FOUND.into_response(),
        (true, true) => next.run(request).await,
    };
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

async fn show_overview(State(site): State<Arc<Site>>) -> Response {
    site.show_answer(Question::Overview).await
}

async fn show_claim(
    State(site): State<Arc<Site>>,
    Path((_, kind, namespace, name)): Path<(String, String, String, String)>,
) -> Response {
    site.show_answer(Question::Claim(kind, namespace, name)).await
}

/// Sends event `change` at first, as the page may be older than the connection, and for every change from then on.
async fn stream_changes(
    State(site): State<Arc<Site>>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>> + Send> {
    let changes = unfold((site, None), async |(site, sent)| {
        loop {
            if sent.is_some() {
                sleep(INTERVAL).await;
            }
            let Some(Answer::Revision(now)) = site.ask(Question::Revision).await else { return None };
            if sent != Some(now) {
                let event = Event::default().event("change").data(now.to_string());
                return Some((Ok(event), (site, Some(now))));
            }
        }
    });
    Sse::new(changes).keep_alive(KeepAlive::default())
}
