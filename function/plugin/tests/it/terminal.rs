//! The plugin on a terminal: a line that is written over, at any width, and what is left when somebody stops waiting.

use std::{
    fs,
    os::unix::process::ExitStatusExt as _,
    path::Path,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use rstest::rstest;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::{
    fake::{Fake, claim, event, ready},
    pty::{Glass, Terminal},
};

/// A watch that tells one thing at once, and the next when file `go` is there; then it stays. The claim is there from when it is applied.
const ARMS: &str = r#"
  apply*) : >"$room/made"; cat "$room/claim" ;;
  patch*) ;;
  *--watch*) echo $$ >"$room/pid"; cat "$room/watch"; until [ -e "$room/go" ]; do sleep 0.05; done; cat "$room/then"; exec sleep 300 ;;
  "get testplatformclusters.ci.openshift.org demo -ojson"*) [ ! -e "$room/made" ] || cat "$room/claim" ;;
  "get secret"*) cat "$room/secret" ;;"#;
/// SIGINT.
pub const INTERRUPT: Option<i32> = Some(2);

/// A claim in a phase, with a message.
fn says(phase: &str, message: &str) -> Value {
    let mut said = claim(phase, &[]);
    said["status"]["message"] = message.into();
    said
}

/// One that is told so first, and then is ready.
fn fake(first: &Value) -> Fake {
    let fake = Fake::new(ARMS);
    fake.object("claim", &claim("Pending", &[]));
    fake.object("claim.yaml", &claim("", &[]));
    fake.write("watch", &event("ADDED", first));
    fake.write("then", &event("MODIFIED", &ready()));
    fake
}

/// The plugin with a command line, to be run on a terminal.
pub fn plugin(fake: &Fake, line: &str) -> Command {
    let mut command = fake.command();
    command.args(line.split_whitespace());
    command
}

fn shows(phase: &'static str) -> impl Fn(&Glass) -> bool {
    move |glass| glass.progress().is_some_and(|line| line.contains(phase))
}

/// State in which the user's shell continues.
#[track_caller]
pub fn left_sane(glass: &Glass) {
    assert!(glass.wraps && glass.cursor.1 == 0 && glass.progress().is_none(), "{glass:#?}");
    assert_eq!(glass.cursor.0, glass.lines().len(), "nothing but lines: {glass:#?}");
}

/// Waits until a process is no more.
#[track_caller]
fn gone(fake: &Fake) {
    let id = fs::read_to_string(fake.path("pid")).unwrap();
    let process = Path::new("/proc").join(id.trim()).join("cmdline");
    let begun = Instant::now();
    // Of one that nobody has waited for yet the file is there, and empty.
    while fs::read(&process).is_ok_and(|line| !line.is_empty()) {
        assert!(begun.elapsed() < Duration::from_secs(10), "kubectl {id} is left behind");
        thread::sleep(Duration::from_millis(10));
    }
}

/// However much there is to say, it is one line, which ends where the terminal does and goes when it is over.
#[rstest]
#[case(80)]
#[case(200)]
fn progress_is_one_line(#[case] columns: u16) {
    let long = "waiting for machines ".repeat(28);
    let fake = fake(&says("Provisioning", &long));
    let terminal = Terminal::run(&plugin(&fake, "up claim.yaml"), columns, "");
    let begun = terminal.until("progress", shows("Provisioning"));
    // As long as this test has patience time goes on, and what was shown is written over.
    let glass =
        terminal.until("time", |glass| glass.progress() != begun.progress() && glass.progress().is_some());
    for glass in [begun, glass] {
        let line = glass.progress().unwrap();
        assert_eq!(line.chars().count(), usize::from(columns), "{line}");
        assert!(line.contains(": waiting for machines waiting"), "{line}");
        assert_eq!((glass.lines().len(), glass.wrapped), (1, 0), "{glass:#?}");
    }
    fake.write("go", "");
    let (status, glass) = terminal.end();
    assert_eq!(status.code(), Some(0), "{glass:#?}");
    let text = glass.text();
    assert!(text.starts_with("testplatformcluster/demo is ready after 40m\n"), "{text}");
    assert!(!text.contains("waiting") && !text.contains("Provisioning"), "{text}");
    left_sane(&glass);
    gone(&fake);
}

/// A shorter line leaves nothing of a longer one, and what is said beside it stays above it.
#[test]
fn lines_do_not_mix() {
    let first = says("Pending", &"a long story ".repeat(5));
    let fake = fake(&first);
    let clamped =
        [["RequestAccepted", "True", "LifetimeClamped", "spec.lifetime is more than may be had: 8h"]];
    let mut next = claim("Provisioning", &clamped);
    next["status"]["message"] = "short".into();
    fake.write("then", &event("MODIFIED", &next));
    let mut terminal = Terminal::run(&plugin(&fake, "up claim.yaml -n team-a"), 80, "");
    terminal.until("the first", shows("Pending"));
    fake.write("go", "");
    let glass = terminal.until("the second", shows("Provisioning"));
    let lines = glass.lines();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert_eq!(lines[0], "note: spec.lifetime is more than may be had: 8h");
    assert!(lines[1].trim_end().ends_with(": short"), "{lines:?}");
    terminal.interrupt();
    let (status, glass) = terminal.end();
    assert_eq!(status.signal(), INTERRUPT, "{glass:#?}");
    assert_eq!(glass.lines()[0], lines[0]);
    left_sane(&glass);
}

/// Ctrl-C ends the program as it ends any other, after it has said what that means.
#[rstest]
#[case(80)]
#[case(200)]
fn ctrl_c_stops_the_waiting_alone(#[case] columns: u16) {
    let fake = fake(&says("Provisioning", &"waiting for machines ".repeat(28)));
    let mut up = Terminal::run(&plugin(&fake, "up claim.yaml -n team-a"), columns, "");
    up.until("progress", shows("Provisioning"));
    up.interrupt();
    let (status, glass) = up.end();
    assert_eq!(status.signal(), INTERRUPT, "{glass:#?}");
    let expected = "\
error: interrupted; testplatformcluster/demo is Provisioning and continues
End it: kubectl testplatform down demo -n team-a
More:   kubectl testplatform why demo -n team-a";
    assert_eq!(glass.text(), expected);
    left_sane(&glass);
    gone(&fake);

    let mut down = Terminal::run(&plugin(&fake, "down demo --wait"), columns, "");
    down.until("progress", shows("Provisioning"));
    down.interrupt();
    let (status, glass) = down.end();
    assert_eq!(status.signal(), INTERRUPT, "{glass:#?}");
    let text = glass.text();
    assert!(
        text.starts_with("error: interrupted; testplatformcluster/demo is not gone yet: waiting"),
        "{text}"
    );
    assert!(text.ends_with("Wait for it: kubectl testplatform down --wait demo"), "{text}");
    left_sane(&glass);
    gone(&fake);
}

/// From a script, and without a terminal: kubectl, which got no signal, does not stay.
#[rstest]
#[case("2>err", "err")]
#[case("", "")]
fn a_signal_to_the_plugin_alone_ends_kubectl(#[case] redirect: &str, #[case] file: &str) {
    let fake = fake(&says("Provisioning", "waiting"));
    let terminal = Terminal::run(&plugin(&fake, "up claim.yaml"), 80, redirect);
    let said = || match file {
        "" => terminal.glass().text(),
        file => fs::read_to_string(fake.path(file)).unwrap_or_default(),
    };
    let begun = Instant::now();
    while !said().contains("Provisioning") {
        assert!(begun.elapsed() < Duration::from_secs(30), "{}", said());
        thread::sleep(Duration::from_millis(10));
    }
    kill_process(Pid::from_raw(terminal.id().cast_signed()).unwrap(), Signal::INT).unwrap();
    let (status, glass) = terminal.end();
    assert_eq!(status.signal(), INTERRUPT, "{glass:#?}");
    left_sane(&glass);
    gone(&fake);
}

/// Before anything is asked for nothing is begun that could be told of.
#[test]
fn ctrl_c_before_the_apply_ends_the_program_at_once() {
    let fake = Fake::new("  get*demo*) : >\"$room/go\"; exec sleep 300 ;;");
    fake.object("claim.yaml", &claim("", &[]));
    let mut terminal = Terminal::run(&plugin(&fake, "up claim.yaml"), 80, "");
    terminal.until("nothing", |_| fake.path("go").exists());
    terminal.interrupt();
    let (status, glass) = terminal.end();
    assert_eq!(status.signal(), INTERRUPT, "{glass:#?}");
    assert!(glass.wraps && glass.styled == 0 && !fake.calls().contains("apply"), "{glass:#?}");
}

/// Redirected output has no line that is written over, and no sequence that a terminal would obey.
#[test]
fn redirected_output_is_plain() {
    let fake = fake(&says("Provisioning", "waiting"));
    let terminal = Terminal::run(&plugin(&fake, "up claim.yaml"), 80, ">out");
    terminal.until("progress", shows("Provisioning"));
    fake.write("go", "");
    let (status, glass) = terminal.end();
    assert_eq!((status.code(), glass.text().as_str()), (Some(0), ""));
    let out = fs::read_to_string(fake.path("out")).unwrap();
    assert!(out.starts_with("testplatformcluster/demo is ready after 40m\n"), "{out}");
    assert!(!out.contains(['\u{1b}', '\r']), "{out:?}");

    fs::remove_file(fake.path("made")).unwrap();
    let terminal = Terminal::run(&plugin(&fake, "up claim.yaml"), 80, "2>err");
    let (status, glass) = terminal.end();
    assert_eq!(status.code(), Some(0));
    assert!(glass.text().starts_with("testplatformcluster/demo is ready"), "{glass:#?}");
    left_sane(&glass);
    let err = fs::read_to_string(fake.path("err")).unwrap();
    let lines: Vec<&str> = err.lines().collect();
    assert!(lines.len() == 2 && lines[0].starts_with("Pending "), "{err}");
    assert!(lines[1].starts_with("Provisioning "), "{err}");
    assert!(!err.contains(['\u{1b}', '\r']), "{err:?}");
}

/// A dumb terminal cannot write over a line, so it gets a new one for each change.
#[test]
fn a_dumb_terminal_gets_lines() {
    let fake = fake(&says("Provisioning", "waiting"));
    let mut command = plugin(&fake, "up claim.yaml");
    command.env("TERM", "dumb");
    let terminal = Terminal::run(&command, 80, "");
    terminal.until("a line", |glass| glass.text().contains("Provisioning "));
    fake.write("go", "");
    let (status, glass) = terminal.end();
    assert_eq!(status.code(), Some(0));
    let lines = glass.lines();
    assert!(lines[0].starts_with("Pending ") && lines[1].ends_with(": waiting"), "{lines:?}");
    assert!(lines[2].starts_with("testplatformcluster/demo is ready"), "{lines:?}");
    left_sane(&glass);
}

/// Colours are for terminals, and for nobody who does not want them.
#[rstest]
#[case(&[], "", true)]
#[case(&[("NO_COLOR", "1")], "", false)]
#[case(&[("TERM", "dumb")], "", false)]
#[case(&[], ">out 2>err", false)]
fn colours_follow_the_environment(
    #[case] variables: &[(&str, &str)],
    #[case] redirect: &str,
    #[case] coloured: bool,
) {
    let fake = Fake::new("");
    for line in ["--help", "fly", "up"] {
        let mut command = plugin(&fake, line);
        command.envs(variables.iter().copied());
        let (status, glass) = Terminal::run(&command, 80, redirect).end();
        assert_eq!(status.code(), Some(if line == "--help" { 0 } else { 2 }));
        assert_eq!(glass.styled > 0, coloured, "{line}: {glass:#?}");
        let mut said = glass.text();
        for file in ["out", "err"] {
            said += &fs::read_to_string(fake.path(file)).unwrap_or_default();
        }
        assert!(said.contains("Usage: kubectl testplatform") && !said.contains('\u{1b}'), "{line}: {said}");
    }
}

/// The line that is written over is none of colours.
#[test]
fn without_colours_the_line_is_still_written_over() {
    let fake = fake(&says("Provisioning", "waiting"));
    let mut command = plugin(&fake, "up claim.yaml");
    command.env("NO_COLOR", "1");
    let terminal = Terminal::run(&command, 80, "");
    terminal.until("progress", shows("Provisioning"));
    fake.write("go", "");
    let (status, glass) = terminal.end();
    assert_eq!((status.code(), glass.styled), (Some(0), 0));
    left_sane(&glass);
}

/// Whatever others have written is shown, and does nothing: a glass fails the test at anything that it is told beside what it knows.
#[test]
fn text_of_others_moves_no_cursor() {
    let hostile = "gone\u{1b}[2J\u{9b}31m\r\nroot# \u{7}\u{1b}]0;title\u{7}";
    let fake = fake(&says("Provisioning", hostile));
    let mut end = ready();
    end["status"]["version"] = hostile.into();
    end["status"]["consoleURL"] = hostile.into();
    fake.write("then", &event("MODIFIED", &end));
    let terminal = Terminal::run(&plugin(&fake, "up claim.yaml"), 80, "");
    let glass = terminal.until("progress", shows("Provisioning"));
    assert_eq!(glass.lines().len(), 1, "{glass:#?}");
    fake.write("go", "");
    let (status, glass) = terminal.end();
    assert_eq!(status.code(), Some(0));
    assert!(glass.lines()[0].contains("gone [2J 31m  root#"), "{glass:#?}");
    left_sane(&glass);
    fake.object("claim", &says("Provisioning", hostile));
    for line in ["why demo", "get demo -owide"] {
        let (status, glass) = Terminal::run(&plugin(&fake, line), 200, "").end();
        assert_eq!(status.code(), Some(0), "{glass:#?}");
        assert!(glass.text().contains("gone [2J"), "{glass:#?}");
    }
}
