//! The pages of `fleet --serve`, as a browser gets them.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    fake::{Fake, ended},
    fleet::named,
};

const ARMS: &str = r#"
  "get testplatformclusters.ci.openshift.org -ojson"*) [ ! -e "$room/away" ] || { echo 'Unable to connect to the server: EOF' >&2; exit 1; }; cat "$room/list" ;;
  "get configmap "*|"get objects.kubernetes"*) echo 'Error from server (Forbidden): no' >&2; exit 1 ;;
  "get xtestplatformclusters"*|"get secret "*) echo 'Error from server (NotFound): x "y" not found' >&2; exit 1 ;;
  "config current-context"*) echo here ;;"#;

pub fn list(fake: &Fake, claims: &[Value]) {
    // A reader never sees half of it.
    fake.object("new", &json!({ "kind": "List", "items": claims }));
    std::fs::rename(fake.path("new"), fake.path("list")).unwrap();
}

pub fn fake() -> Fake {
    let fake = Fake::new(ARMS);
    list(
        &fake,
        &[named("team-a", "demo", "Provisioning", &[], &json!({ "message": "it is being created" }))],
    );
    fake
}

/// The plugin that serves pages, until the end of a test.
pub struct Served {
    plugin: Child,
    /// Address and port.
    pub host: String,
    /// Path of the overview.
    pub path: String,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.plugin.kill();
        let _ = self.plugin.wait();
    }
}

/// An answer.
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Served {
    pub fn start(fake: &Fake) -> Self {
        let mut command = fake.command();
        command.args(["fleet", "-A", "--serve"]).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut plugin = command.spawn().unwrap();
        let mut url = String::new();
        BufReader::new(plugin.stdout.as_mut().unwrap()).read_line(&mut url).unwrap();
        let address = url.trim().strip_prefix("http://").expect("an address is printed");
        let (host, path) = address.split_once('/').unwrap();
        Self { plugin, host: host.to_owned(), path: format!("/{path}") }
    }

    fn send(&self, method: &str, path: &str, host: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        write!(stream, "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
        stream
    }

    fn ask(&self, method: &str, path: &str, host: &str) -> Answer {
        let mut text = String::new();
        self.send(method, path, host).read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
    }

    fn get(&self, under: &str) -> Answer {
        self.ask("GET", &format!("{}{under}", self.path), &self.host)
    }

    /// Waits until the overview says something.
    #[track_caller]
    fn until(&self, words: &str) -> String {
        let begun = Instant::now();
        loop {
            let page = self.get("").body;
            if page.contains(words) {
                return page;
            }
            assert!(begun.elapsed() < Duration::from_secs(30), "never {words}: {page}");
            thread::sleep(Duration::from_millis(200));
        }
    }
}

#[test]
fn overview_and_claims_are_pages() {
    let fake = fake();
    let served = Served::start(&fake);
    let overview = served.get("");
    assert_eq!(overview.status, 200);
    let link = "claims/testplatformcluster/team-a/demo";
    assert!(overview.body.contains("of all namespaces") && overview.body.contains(link), "{}", overview.body);
    for header in ["content-security-policy: default-src 'none'", "cache-control: no-store"] {
        assert!(overview.head.contains(header), "{}", overview.head);
    }
    let claim = served.get(link);
    assert!(claim.status == 200 && claim.body.contains("Timeline"), "{}", claim.body);
    assert!(claim.body.contains("href=\"../../../style.css\""), "{}", claim.body);
    // Everything about a claim is read in its own namespace.
    let secret = fake.calls().lines().find(|call| call.starts_with("get secret")).unwrap().to_owned();
    assert!(secret.ends_with("--namespace=team-a"), "{secret}");
    assert!(served.get("style.css").head.contains("text/css"));
    assert!(served.get("live.js").head.contains("text/javascript"));
}

#[test]
fn only_claims_of_the_overview_reach_kubectl() {
    let fake = fake();
    let served = Served::start(&fake);
    for path in
        ["claims/testplatformcluster/team-a/other", "claims/pod/team-a/demo", "claims/x/--as=root/demo"]
    {
        let answer = served.get(path);
        assert!(answer.status == 404 && answer.body.contains("no such claim"), "{path}: {}", answer.body);
    }
    assert!(!fake.calls().contains("--as=root") && !fake.calls().contains("get secret"), "{}", fake.calls());
}

/// Other users of the machine reach the port, and so do pages from elsewhere by a name that leads to it.
#[test]
fn stranger_gets_nothing() {
    let fake = fake();
    let served = Served::start(&fake);
    let port = served.host.split_once(':').unwrap().1;
    let calls = fake.calls();
    assert_eq!(served.ask("GET", "/", &served.host).status, 404);
    assert_eq!(served.ask("GET", "/00000000000000000000000000000000/", &served.host).status, 404);
    assert_eq!(served.ask("GET", &served.path, &format!("rebound.example:{port}")).status, 421);
    assert_eq!(served.ask("GET", &served.path, &format!("localhost:{port}")).status, 200);
    assert_eq!(served.ask("POST", &served.path, &served.host).status, 405);
    assert!(fake.calls().lines().count() <= calls.lines().count() + 2, "{}", fake.calls());
}

#[test]
fn open_page_is_told_of_changes() {
    let fake = fake();
    let served = Served::start(&fake);
    let mut lines =
        BufReader::new(served.send("GET", &format!("{}changes", served.path), &served.host)).lines();
    let mut await_change = || lines.find(|line| line.as_ref().unwrap() == "event: change").is_some();
    assert!(await_change(), "the first event comes at once");
    list(&fake, &[named("team-a", "demo", "Ready", &[], &json!({ "message": "it runs" }))]);
    assert!(await_change());
    assert!(served.get("").body.contains("it runs"));
}

#[test]
fn trouble_is_shown_above_the_last_answer() {
    let fake = fake();
    let served = Served::start(&fake);
    fake.write("away", "");
    let page = served.until("It could not be read since");
    assert!(page.contains("team-a/demo"), "{page}");
    std::fs::remove_file(fake.path("away")).unwrap();
    list(&fake, &[]);
    served.until("<b>0</b><span>claims");
    assert!(!served.get("").body.contains("could not be read"));
}

#[test]
fn port_in_use_is_an_error() {
    let fake = fake();
    let served = Served::start(&fake);
    let port = served.host.split_once(':').unwrap().1;
    let said = ended(fake.command().args(["fleet", "--serve", "--port", port]));
    said.is(1, &format!("cannot listen on 127.0.0.1:{port}")).is(1, "Choose another port");
    fake.run("fleet --port 8099").is(2, "--serve");
    fake.run("fleet --serve --port 70000").is(2, "70000");
}

#[test]
fn terminal_gets_lines() {
    let fake = fake();
    fake.run("fleet -A").is(0, "1 claim, 1 not over").is(0, "Provisioning");
    assert!(fake.calls().contains("get testplatformclusters.ci.openshift.org -ojson --all-namespaces"));
}
