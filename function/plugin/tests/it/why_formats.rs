//! `why` for programs, over time, and on narrow terminals.

use std::os::unix::process::ExitStatusExt as _;

use serde_json::{Value, json};

use crate::{
    fake::{Fake, claim, event, ready},
    pty::Terminal,
    terminal::{INTERRUPT, left_sane, plugin},
};

const ARMS: &str = r#"
  *--watch*) cat "$room/watch"; until [ -e "$room/go" ]; do sleep 0.05; done; cat "$room/then"; exec sleep 300 ;;
  "get testplatformclusters.ci.openshift.org demo -ojson"*) cat "$room/claim" ;;
  "get events"*) cat "$room/events" ;;
  "get xtestplatformclusters.ci.openshift.org"*) echo 'Error from server (Forbidden): it is forbidden' >&2; exit 1 ;;
  "get secret"*) cat "$room/secret" ;;"#;

fn fake(object: &Value) -> Fake {
    let fake = Fake::new(ARMS);
    fake.object("claim", object);
    fake.write("watch", &event("ADDED", object));
    fake.object(
        "events",
        &json!({ "items": [{
        "involvedObject": { "uid": "of-demo" }, "type": "Warning", "reason": "ProvisioningLate",
        "message": "it takes long", "count": 3, "lastTimestamp": "2026-03-02T10:30:00Z",
    }] }),
    );
    fake
}

fn provisioning() -> Value {
    let mut object = claim("Provisioning", &[["ClusterReady", "False", "Provisioning", "the job runs"]]);
    object["status"]["prowJob"]["url"] = "https://prow.example/1".into();
    object
}

#[test]
fn programs_get_the_whole_answer() {
    let fake = fake(&provisioning());
    let said = fake.run("why demo -o json");
    said.is(0, "");
    let answer: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(answer["kind"], "TestPlatformCluster");
    assert_eq!((&answer["namespace"], &answer["name"]), (&json!("team-a"), &json!("demo")));
    assert_eq!(answer["phase"], "Provisioning");
    assert_eq!(answer["links"][0]["object"], "testplatformcluster/demo");
    assert_eq!(answer["links"][0]["state"], "waiting");
    assert_eq!(answer["links"][1]["state"], "unknown");
    assert!(answer["waitsFor"].as_str().unwrap().starts_with("the hub to create the cluster"), "{answer}");
    assert!(answer["toDo"].as_str().unwrap().starts_with("wait"), "{answer}");
    let warning = json!({
        "reason": "ProvisioningLate", "message": "it takes long", "count": 3,
        "last": "2026-03-02T10:30:00Z", "current": true,
    });
    assert_eq!(answer["warnings"], json!([warning]));
    assert_eq!(answer["jobURL"], "https://prow.example/1");
    let yaml: Value = serde_saphyr::from_str(&fake.run("why demo -o yaml").out).unwrap();
    assert_eq!(yaml, answer);
    fake.run("why demo -o wide").is(2, "[possible values: json, yaml]");
}

#[test]
fn a_watch_prints_the_answer_again_when_it_changes() {
    let fake = fake(&provisioning());
    fake.write("then", &(event("MODIFIED", &provisioning()) + &event("MODIFIED", &ready())));
    let mut terminal = Terminal::run(&plugin(&fake, "why demo --watch"), 200, "");
    terminal.until("the first answer", |glass| glass.text().contains("--- "));
    fake.write("go", "");
    let glass = terminal.until("the second", |glass| glass.text().matches("--- ").count() == 2);
    let text = glass.text();
    assert!(text.contains("Waits for  nothing, the cluster is ready"), "{text}");
    assert_eq!(text.matches("Waits for").count(), 2, "{text}");
    terminal.interrupt();
    let (status, glass) = terminal.end();
    assert_eq!(status.signal(), INTERRUPT, "{glass:#?}");
    left_sane(&glass);
}

/// A line for each answer, and an end with the claim.
#[test]
fn a_watch_for_programs_has_an_object_on_each_line() {
    let fake = fake(&provisioning());
    fake.write("go", "");
    fake.write("then", &(event("MODIFIED", &ready()) + &event("DELETED", &ready())));
    let said = fake.run("why demo --watch -o json");
    said.is(5, "was deleted");
    let phases: Vec<Value> =
        said.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["phase"].clone()).collect();
    assert_eq!(phases, ["Provisioning", "Ready"]);
}

/// Nothing is wider than the terminal, and nothing breaks within a word.
#[test]
fn answers_fit_narrow_terminals() {
    for columns in [40, 60, 80] {
        let mut object = provisioning();
        object["status"]["message"] = "the hub installs the cluster and waits for its operators".into();
        let (status, glass) = Terminal::run(&plugin(&fake(&object), "why demo"), columns, "").end();
        assert_eq!(status.code(), Some(0), "{glass:#?}");
        assert_eq!(glass.wrapped, 0, "{glass:#?}");
        assert!(glass.styled > 0 && glass.text().contains("\u{2026} testplatformcluster/demo"), "{glass:#?}");
        let words: Vec<String> = glass.text().split_whitespace().map(str::to_owned).collect();
        assert!(words.join(" ").contains("installs the cluster and waits for its operators"), "{glass:#?}");
    }
}
