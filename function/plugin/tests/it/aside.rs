//! Output of kubectl while it runs, such as how to log in, and Ctrl-C meanwhile.

use std::os::unix::process::ExitStatusExt as _;

use rstest::rstest;

use crate::{
    fake::{FORBIDDEN, Fake, claim, event, ready},
    pty::Terminal,
    terminal::{INTERRUPT, left_sane, plugin},
};

const ARMS: &str = r#"
  apply*) cat "$room/claim" ;;
  *--watch*) cat "$room/watch" ;;
  "get secret"*) cat "$room/secret" ;;"#;
/// Script that asks for a login on stderr, and waits for the answer.
const LOGIN: &str =
    r#"echo 'Open https://login.example and enter CODE' >&2; until [ -e "$room/go" ]; do sleep 0.05; done;"#;
const PROMPT: &str = "Open https://login.example and enter CODE";

fn fake(arms: &str) -> Fake {
    let fake = Fake::new(&format!("{arms}\n{ARMS}"));
    fake.object("claim", &claim("Pending", &[]));
    fake.object("claim.yaml", &claim("", &[]));
    fake.write("watch", &event("ADDED", &ready()));
    fake
}

/// Whoever sees no prompt waits for ever. kubectl's own last word is told as ever, and what was seen is not told again.
#[rstest]
#[case("cat \"$room/claim\"", 0, "demo   Pending")]
#[case(
    "echo \"$forbidden\" >&2; exit 1",
    1,
    "error: Error from server (Forbidden): it is forbidden\nYou lack a right"
)]
#[case("exit 1", 1, "error: Open https://login.example and enter CODE")]
fn login_prompt_is_shown_while_kubectl_waits(#[case] then: &str, #[case] code: i32, #[case] words: &str) {
    let fake = fake(&format!("  get*demo*) forbidden='{FORBIDDEN}'; {LOGIN} {then} ;;"));
    let terminal = Terminal::run(&plugin(&fake, "get demo"), 200, "");
    terminal.until("the prompt", |glass| glass.text().contains(PROMPT));
    fake.write("go", "");
    let (status, glass) = terminal.end();
    let text = glass.text();
    assert_eq!(status.code(), Some(code), "{text}");
    assert!(text.starts_with(PROMPT) && text.contains(words), "{text}");
    // But where there is no other reason.
    let told = if words.ends_with("CODE") { 2 } else { 1 };
    assert_eq!(text.matches(PROMPT).count(), told, "{text}");
    left_sane(&glass);
}

/// A token ends while a cluster is waited for, and the next watch asks. That stands above the line that is written over.
#[test]
fn a_login_is_shown_while_a_cluster_is_waited_for() {
    let fake = fake(&format!("  *--watch*) {LOGIN} cat \"$room/watch\" ;;"));
    let terminal = Terminal::run(&plugin(&fake, "up claim.yaml"), 200, "");
    let glass = terminal.until("both", |glass| glass.text().contains(PROMPT) && glass.progress().is_some());
    assert_eq!(glass.lines()[0], PROMPT, "{glass:#?}");
    fake.write("go", "");
    let (status, glass) = terminal.end();
    let text = glass.text();
    assert_eq!(status.code(), Some(0), "{text}");
    assert!(text.starts_with(&format!("{PROMPT}\ntestplatformcluster/demo is ready after 40m\n")), "{text}");
    left_sane(&glass);
}

/// Output of a short call is passed on unchanged: warnings beside an answer, and errors once.
#[test]
fn output_of_a_short_call_is_printed_once() {
    let warned = fake("  get*demo*) echo 'Warning: that is old' >&2; cat \"$room/claim\" ;;");
    let said = warned.run("get demo");
    said.is(0, "demo   Pending");
    assert_eq!(said.err, "Warning: that is old\n");
    let refused =
        fake(&format!("  get*demo*) echo 'Warning: that is old' >&2; echo '{FORBIDDEN}' >&2; exit 1 ;;"));
    let said = refused.run("get demo");
    said.is(1, "ask its administrators");
    assert_eq!(said.err.matches("it is forbidden").count(), 1, "{}", said.err);
}

/// A cluster that was asked for goes on and costs money, from the moment in which it may have been asked for.
#[rstest]
#[case("apply*", "may have been applied, and then continues")]
#[case("*--watch*", "is Pending and continues")]
fn ctrl_c_after_the_apply_names_the_running_claim(#[case] hangs: &str, #[case] words: &str) {
    let fake = Fake::new(&format!("  {hangs}) : >\"$room/go\"; exec sleep 300 ;;\n{ARMS}"));
    fake.object("claim", &claim("Pending", &[]));
    fake.object("claim.yaml", &claim("", &[]));
    let mut terminal = Terminal::run(&plugin(&fake, "up claim.yaml"), 200, "");
    terminal.until("nothing", |_| fake.path("go").exists());
    terminal.interrupt();
    let (status, glass) = terminal.end();
    assert_eq!(status.signal(), INTERRUPT, "{glass:#?}");
    let text = glass.text();
    assert!(text.contains(&format!("error: interrupted; testplatformcluster/demo {words}\n")), "{text}");
    let more =
        "End it: kubectl testplatform down demo -n team-a\nMore:   kubectl testplatform why demo -n team-a";
    assert!(text.ends_with(more), "{text}");
    left_sane(&glass);
}
