//! The pages of `fleet --serve` in a real browser, by its driver.

use std::{
    env, fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    fake::Fake,
    fleet::{mirror, named},
    fleet_pages::{Served, fake, list},
};

/// A headless Chromium.
struct Browser {
    driver: Child,
    port: u16,
    session: String,
    /// Its profile.
    profile: TempDir,
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.call("DELETE", "", &json!({}));
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

impl Browser {
    fn start() -> Self {
        let mut command = Command::new("chromedriver");
        command.arg("--port=0").stdout(Stdio::piped()).stderr(Stdio::null());
        let mut driver = command.spawn().expect("a browser shows the pages; install chromium-driver");
        let started = BufReader::new(driver.stdout.take().unwrap()).lines().map_while(Result::ok);
        let line = started.into_iter().find(|line| line.contains("started successfully on port")).unwrap();
        let port = line.rsplit(' ').next().unwrap().trim_end_matches('.').parse().unwrap();
        let profile = tempfile::tempdir().unwrap();
        let mut browser = Self { driver, port, session: String::new(), profile };
        let data = format!("--user-data-dir={}", browser.profile.path().display());
        let flags = ["--headless", "--no-sandbox", "--disable-gpu", "--window-size=1280,940", data.as_str()];
        let options =
            json!({ "capabilities": { "alwaysMatch": { "goog:chromeOptions": { "args": flags } } } });
        let answer = browser.call("POST", "", &options);
        browser.session = format!("/{}", answer["sessionId"].as_str().expect("a session"));
        browser
    }

    fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        let body = body.to_string();
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let head = format!(
            "{method} /session{}{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close",
            self.session
        );
        write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        // It keeps the connection open.
        stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        let mut reader = BufReader::new(stream);
        let mut length = 0;
        for line in reader.by_ref().lines().map(Result::unwrap).take_while(|line| !line.is_empty()) {
            if let Some((name, value)) =
                line.split_once(':').filter(|(name, _)| name.eq_ignore_ascii_case("content-length"))
            {
                length = value.trim().parse().unwrap_or_else(|_| panic!("{name}: {value}"));
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let answer: Value = serde_json::from_slice(&body).unwrap();
        answer["value"].clone()
    }

    fn open(&self, url: &str) {
        self.call("POST", "/url", &json!({ "url": url }));
    }

    fn run(&self, script: &str) -> Value {
        self.call("POST", "/execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// Waits until the page says something.
    #[track_caller]
    fn until(&self, words: &str) {
        let begun = Instant::now();
        loop {
            let text = self.run("return document.body.innerText");
            if text.as_str().is_some_and(|text| text.contains(words)) {
                return;
            }
            assert!(begun.elapsed() < Duration::from_secs(30), "never {words}: {text}");
            thread::sleep(Duration::from_millis(200));
        }
    }

    /// Writes a picture into the folder that `FLEET_PICTURES` names.
    fn picture(&self, name: &str) {
        let Some(folder) = env::var_os("FLEET_PICTURES") else { return };
        let picture = self.call("GET", "/screenshot", &json!({}));
        let bytes = STANDARD.decode(picture.as_str().unwrap()).unwrap();
        fs::write(std::path::Path::new(&folder).join(name), bytes).unwrap();
    }
}

fn url(served: &Served) -> String {
    format!("http://{}{}", served.host, served.path)
}

/// An open page shows a change without being loaded again, and its links lead to claims and back.
#[test]
#[ignore = "needs Chromium and its driver"]
fn browser_shows_changes_and_follows_links() {
    let fake = fake();
    let served = Served::start(&fake);
    let browser = Browser::start();
    browser.open(&url(&served));
    browser.until("it is being created");
    browser.run("window.isSamePage = true");
    list(&fake, &[named("team-a", "demo", "Ready", &[], &json!({ "message": "it runs now" }))]);
    browser.until("it runs now");
    assert_eq!(browser.run("return window.isSamePage === true"), true);
    assert_eq!(browser.run("return getComputedStyle(document.querySelector('.card')).borderRadius"), "8px");
    browser.run("document.querySelector('td a').click()");
    browser.until("Timeline");
    browser.run("document.querySelector('p a').click()");
    browser.until("Phases");
}

/// Text of tenants is shown and not run.
#[test]
#[ignore = "needs Chromium and its driver"]
fn browser_runs_no_foreign_script() {
    let fake = fake();
    let evil = "<img src=x onerror=\"document.title='run'\"><script>document.title='run'</script>";
    list(&fake, &[named("team-a", "demo", "Failed", &[], &json!({ "message": evil }))]);
    let served = Served::start(&fake);
    let browser = Browser::start();
    browser.open(&url(&served));
    browser.until("<img src=x");
    // Inline scripts are refused too, should one ever come through.
    browser.run("const own = document.createElement('script'); own.textContent = \"document.title = 'run'\"; document.body.append(own)");
    assert_eq!(browser.run("return document.title"), "Test clusters");
}

/// A cluster with everything that the overview shows.
const PICTURED: &str = r#"
  "get testplatformclusters.ci.openshift.org -ojson"*) cat "$room/list" ;;
  "get configmap "*|"get xtestplatformclusters"*|"get secret "*) echo 'Error from server (Forbidden): no' >&2; exit 1 ;;
  "get objects.kubernetes"*) cat "$room/mirrors" ;;
  "get events"*) cat "$room/events" ;;
  "config current-context"*) echo here ;;"#;

/// A time so many minutes from now; the plugin reads the clock.
fn minutes(from_now: i64) -> String {
    #[expect(clippy::disallowed_methods, reason = "the plugin reads the clock too")]
    let now = jiff::Timestamp::now();
    format!("{:.0}", now + jiff::SignedDuration::from_mins(from_now))
}

/// A claim: where, phase, age and remaining lifetime in minutes, condition, and more status.
fn pictured(name: &str, phase: &str, [age, rest]: [i64; 2], told: [&str; 4], more: &Value) -> Value {
    let (namespace, name) = name.split_once('/').unwrap();
    let mut object = named(namespace, name, phase, &[told], more);
    object["metadata"]["creationTimestamp"] = minutes(-age).into();
    object["status"]["startedAt"] = minutes(-age).into();
    object["status"]["expiresAt"] = minutes(rest).into();
    object["status"]["conditions"][0]["lastTransitionTime"] = minutes(3 - age).into();
    object["status"]["message"] = told[3].into();
    object
}

fn pictured_claims() -> Vec<Value> {
    let on = |hub: &str, backend: &str, version: &str, cost: u64| {
        json!({
            "hub": { "name": hub }, "backend": { "kind": backend }, "version": version, "template": { "cost": cost },
        })
    };
    let ready = ["ClusterReady", "True", "Ready", "the cluster is ready"];
    let full =
        ["RequestAccepted", "False", "QuotaExceeded", "namespace search has used its quota of 4 clusters"];
    let late = [
        "ClusterReady",
        "False",
        "Late",
        "the control plane is being created; slower than 90 % of similar clusters",
    ];
    let away = ["RemoteConsistent", "False", "HubUnreachable", "the hub has not answered for 12 minutes"];
    let over = ["ClusterReady", "False", "Deprovisioning", "the cluster is being deleted"];
    let busy = ["ClusterReady", "False", "Provisioning", "3 of 5 nodes are ready"];
    vec![
        pictured("payments/nightly", "Ready", [96, 84], ready, &on("hub-east", "HostedCluster", "4.20.3", 4)),
        pictured(
            "payments/upgrade",
            "Provisioning",
            [71, 170],
            late,
            &on("hub-east", "HostedCluster", "4.20.3", 4),
        ),
        pictured("search/e2e-1", "Ready", [35, 145], ready, &on("hub-west", "Cluster", "1.34.2", 2)),
        pictured("search/e2e-2", "Provisioning", [12, 180], busy, &on("hub-west", "Cluster", "1.34.2", 2)),
        pictured("search/e2e-3", "Pending", [8, 180], full, &json!({})),
        pictured("storage/soak", "Ready", [1300, 140], away, &on("hub-south", "ClusterOrder", "4.19.9", 8)),
        pictured(
            "storage/old",
            "Deprovisioning",
            [500, -95],
            over,
            &on("hub-east", "HostedCluster", "4.18.24", 4),
        ),
    ]
}

/// The pictures of the documentation, in the folder that `FLEET_PICTURES` names.
#[test]
#[ignore = "needs Chromium and its driver"]
fn pictures_show_a_fleet() {
    let fake = Fake::new(PICTURED);
    list(&fake, &pictured_claims());
    let facts = |clusters: u64, provisioning: u64, free: u64| {
        json!({
            "writtenAt": minutes(0), "health": { "ready": true },
            "backends": { "hypershift": { "clusters": clusters, "provisioning": provisioning } },
            "classes": { "m6i.large": { "free": free } },
        })
    };
    let hubs = [mirror("hub-east", &facts(41, 3, 12)), mirror("hub-west", &facts(17, 1, 5))];
    fake.object("mirrors", &json!({ "kind": "List", "items": hubs }));
    let event = |type_: &str, reason: &str, message: &str, ago: i64| {
        json!({
            "involvedObject": { "uid": "of-payments-upgrade" }, "type": type_, "reason": reason, "message": message,
            "firstTimestamp": minutes(-ago), "lastTimestamp": minutes(-ago), "count": 1,
        })
    };
    let events = [
        event("Normal", "Provisioning", "the hub is creating the cluster", 70),
        event("Warning", "ProvisioningLate", "the cluster takes longer than nine of ten similar ones", 9),
    ];
    fake.object("events", &json!({ "kind": "List", "items": events }));
    let served = Served::start(&fake);
    let browser = Browser::start();
    browser.open(&url(&served));
    browser.until("outlives its lifetime");
    browser.picture("fleet.png");
    browser.open(&format!("{}claims/testplatformcluster/payments/upgrade", url(&served)));
    browser.until("ProvisioningLate");
    browser.picture("fleet-claim.png");
}
