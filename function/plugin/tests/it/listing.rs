//! `get`: order, headings, and the watch.

use std::{os::unix::process::ExitStatusExt as _, process::Command};

use serde_json::{Value, json};

use crate::{
    fake::{Fake, claim, ended, event, not_found, ready},
    pty::Terminal,
    terminal::{INTERRUPT, left_sane, plugin},
};

/// Lists two claims, and watches what is in files; the second part of the watch comes when file `go` is there.
const ARMS: &str = r#"
  *--watch*) cat "$room/watch"; until [ -e "$room/go" ]; do sleep 0.05; done; cat "$room/then"; exec sleep 300 ;;
  "get testplatformclusters.ci.openshift.org demo -ojson"*) cat "$room/claim" ;;
  "get testplatformclusters.ci.openshift.org -ojson"*) cat "$room/list" ;;
  "get testplatformclusters.ci.openshift.org -o "*) echo "as kubectl: $*" ;;
  "get testplatformclusters.ci.openshift.org demo -o "*) echo "as kubectl: $*" ;;"#;

fn older() -> Value {
    let mut older = claim("Provisioning", &[]);
    older["metadata"]["name"] = "older".into();
    older["metadata"]["uid"] = "of-older".into();
    older["metadata"]["creationTimestamp"] = "2026-03-01T10:00:00Z".into();
    older
}

fn fake() -> Fake {
    let fake = Fake::new(ARMS);
    fake.object("claim", &ready());
    fake.object("list", &json!({ "items": [ready(), older()] }));
    fake.write("watch", &(event("ADDED", &ready()) + &event("ADDED", &older())));
    fake.write("then", "");
    fake
}

fn first_words(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.split_whitespace().next()).collect()
}

#[test]
fn claims_are_sorted_by_columns_and_by_paths() {
    let fake = fake();
    for (line, expected) in [
        ("get", ["NAME", "demo", "older"]),
        ("get --sort-by age", ["NAME", "older", "demo"]),
        ("get --sort-by=.metadata.creationTimestamp", ["NAME", "older", "demo"]),
        ("get --sort-by {.status.phase}", ["NAME", "older", "demo"]),
        ("get --sort-by NAME", ["NAME", "demo", "older"]),
    ] {
        let said = fake.run(line);
        said.is(0, "");
        assert_eq!(first_words(&said.out), expected, "{line}");
    }
    fake.run("get --sort-by .spec.nothing").is(2, "no claim has this field");
    fake.run("get --sort-by {.items[*].a}").is(2, "this is no path of a field").is(2, "expires, hub, age");
    fake.run("get demo --sort-by name").is(2, "cannot be used with");
    // kubectl sorts where it prints.
    fake.run("get -o json --sort-by age").is(0, "-o json --sort-by={.metadata.creationTimestamp}");
}

#[test]
fn headings_can_be_left_out() {
    let fake = fake();
    assert_eq!(first_words(&fake.run("get --no-headers").out), ["demo", "older"]);
    assert_eq!(first_words(&fake.run("get demo --no-headers -o wide").out), ["demo"]);
    fake.run("get --no-headers -o custom-columns=N:.metadata.name")
        .is(0, "-o custom-columns=N:.metadata.name --no-headers");
}

/// A claim is printed again for a change of its state, and not for the time that passes or a watch that starts again.
#[test]
fn a_watch_prints_each_change() {
    let fake = fake();
    let mut changed = older();
    changed["status"]["phase"] = "Ready".into();
    let then = event("MODIFIED", &ready()) + &event("MODIFIED", &changed) + &event("DELETED", &ready());
    fake.write("then", &then);
    let mut terminal = Terminal::run(&plugin(&fake, "get -w"), 80, "");
    let glass = terminal.until("the list", |glass| glass.text().contains("older"));
    assert_eq!(first_words(&glass.text()), ["NAME", "demo", "older"]);
    assert!(glass.styled > 0, "phases have colours");
    fake.write("go", "");
    let glass = terminal.until("the changes", |glass| glass.text().contains("Deleted"));
    let text = glass.text();
    assert_eq!(first_words(&text), ["NAME", "demo", "older", "older", "demo"], "{text}");
    let news: Vec<&str> = text.lines().skip(3).collect();
    assert!(news[0].contains("older") && news[0].contains("Ready"), "{text}");
    terminal.interrupt();
    let (status, glass) = terminal.end();
    assert_eq!(status.signal(), INTERRUPT, "{glass:#?}");
    left_sane(&glass);
    let watches = fake.calls().lines().filter(|call| call.contains("--watch")).count();
    assert_eq!(watches, 1, "{}", fake.calls());
}

#[test]
fn a_watch_of_one_claim_ends_with_it() {
    let fake = fake();
    fake.write("go", "");
    let mut failed = ready();
    failed["status"]["phase"] = "Failed".into();
    failed["metadata"]["resourceVersion"] = "2".into();
    fake.write("watch", &event("ADDED", &ready()));
    fake.write("then", &(event("MODIFIED", &failed) + &event("DELETED", &failed)));
    let said = fake.run("get demo -w");
    said.is(0, "");
    assert_eq!(first_words(&said.out), ["NAME", "demo", "demo", "demo"], "{}", said.out);
    assert!(!said.out.contains('\u{1b}'), "{:?}", said.out);
    let names = fake.run("get demo -w -o name");
    names.is(0, "");
    assert_eq!(names.out, "testplatformcluster.ci.openshift.org/demo\n".repeat(3));
    let objects: Vec<Value> = serde_json::Deserializer::from_str(&fake.run("get demo -w -o json").out)
        .into_iter()
        .map(Result::unwrap)
        .collect();
    assert_eq!(objects.len(), 3);
    fake.run("get demo -w -o yaml").is(0, "---\n").is(0, "phase: Failed");
    fake.run("get -w -o jsonpath={.metadata.name}").is(2, "a watch prints wide, name, json or yaml");
    let calls = fake.calls();
    assert!(calls.contains("get testplatformclusters.ci.openshift.org demo --watch"), "{calls}");
}

/// kubectl's watch ends every five minutes, and a claim may be deleted before the next one.
#[test]
fn a_deletion_between_two_watches_is_printed() {
    let arms = r#"
  *--watch*) if [ -e "$room/again" ]; then cat "$room/then"; exec sleep 300; fi; touch "$room/again"; cat "$room/watch" ;;
  "get testplatformclusters.ci.openshift.org -ojson"*) if [ -e "$room/again" ]; then cat "$room/left"; else cat "$room/list"; fi ;;"#;
    let fake = Fake::new(arms);
    fake.object("list", &json!({ "items": [ready(), older()] }));
    fake.object("left", &json!({ "items": [older()] }));
    fake.write("watch", &(event("ADDED", &ready()) + &event("ADDED", &older())));
    fake.write("then", &event("ADDED", &older()));
    let mut terminal = Terminal::run(&plugin(&fake, "get -w"), 80, "");
    let glass = terminal.until("the deletion", |glass| glass.text().contains("Deleted"));
    let text = glass.text();
    assert_eq!(first_words(&text), ["NAME", "demo", "older", "demo"], "{text}");
    terminal.interrupt();
    left_sane(&terminal.end().1);
}

#[test]
fn a_deletion_between_two_watches_of_one_claim_ends_the_command() {
    let gone = not_found("testplatformclusters.ci.openshift.org", "demo");
    let arms = format!(
        r#"
  *--watch*) if [ -e "$room/again" ]; then echo '{gone}' >&2; exit 1; fi; touch "$room/again"; cat "$room/watch" ;;
  "get testplatformclusters.ci.openshift.org demo -ojson"*) cat "$room/claim" ;;"#
    );
    let fake = Fake::new(&arms);
    fake.object("claim", &ready());
    fake.write("watch", &event("ADDED", &ready()));
    let said = fake.run("get demo -w");
    said.is(0, "Deleted");
    assert_eq!(first_words(&said.out), ["NAME", "demo", "demo"], "{}", said.out);
}

#[test]
fn a_name_excludes_flags_that_select_claims() {
    let fake = fake();
    for line in ["get demo -A", "get demo -l a=b"] {
        fake.run(line).is(2, "cannot be used with");
    }
}

/// As in `get -w | head -n1`.
#[test]
fn a_watch_without_a_reader_ends() {
    let arms = r#"
  *--watch*) while :; do cat "$room/watch" "$room/then"; sleep 0.1; done ;;
  "get testplatformclusters.ci.openshift.org -ojson"*) cat "$room/list" ;;"#;
    let fake = Fake::new(arms);
    let mut changed = older();
    changed["status"]["phase"] = "Ready".into();
    fake.object("list", &older());
    fake.write("watch", &event("MODIFIED", &older()));
    fake.write("then", &event("MODIFIED", &changed));
    let script = "exec 3>&1; { \"$0\" get -w; echo \"ended $?\" >&3; } | head -n1 >/dev/null";
    let mut command = Command::new("sh");
    let own = fake.command();
    command.args(["-c", script]).arg(own.get_program()).current_dir(fake.path(""));
    command.env_clear().env("PATH", "/usr/bin:/bin").env("KUBECTL", fake.path("kubectl"));
    let said = ended(&mut command);
    assert_eq!((said.out.as_str(), said.err.as_str()), ("ended 0\n", ""));
}

/// Colours follow the command line, then the environment, then the terminal.
#[test]
fn colours_of_the_table_follow_the_wish() {
    let fake = fake();
    for (line, variables, coloured) in [
        ("get", &[][..], true),
        ("get --color=never", &[], false),
        ("get", &[("NO_COLOR", "1")], false),
        ("get", &[("CLICOLOR", "0")], false),
        ("get --color=always", &[("NO_COLOR", "1")], true),
    ] {
        let mut command = plugin(&fake, line);
        command.envs(variables.iter().copied());
        let (status, glass) = Terminal::run(&command, 80, "").end();
        assert_eq!(status.code(), Some(0), "{glass:#?}");
        assert_eq!(glass.styled > 0, coloured, "{line} {variables:?}");
    }
    assert!(fake.run("get --color always").out.contains('\u{1b}'));
    let mut forced = plugin(&fake, "get");
    forced.env("CLICOLOR_FORCE", "1");
    assert!(ended(&mut forced).out.contains('\u{1b}'));
    assert!(!fake.run("get").out.contains('\u{1b}'));
    fake.run("get --color sometimes").is(2, "invalid value 'sometimes'");
}

/// On a narrow terminal a row stays one line, without the columns that matter least.
#[test]
fn a_narrow_terminal_gets_fewer_columns() {
    let fake = fake();
    let (_, glass) = Terminal::run(&plugin(&fake, "get"), 30, "").end();
    let lines = glass.lines();
    assert_eq!(lines.len(), 3, "{glass:#?}");
    assert!(lines[0].starts_with("NAME") && !lines[0].contains("VERSION"), "{lines:?}");
    assert_eq!(glass.wrapped, 0);
}
