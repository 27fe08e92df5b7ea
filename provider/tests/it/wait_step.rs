//! The wait step's script, run by a real bash beside an `oc` that is played.

use std::{
    fs,
    path::Path,
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use provider_testplatform::{config::WaitStep, controllers::ephemeral_cluster::wait_step::script};
use rstest::rstest;
use testplatform_apis::duration::GoDuration;

/// Answers the n-th call as the n-th word of `answers` says, and all further calls as the last.
const OC: &str = r#"#!/bin/bash
here=$(dirname "$0")
echo "$*" >> "$here/calls"
if [[ -n ${KUBECONFIG:-} ]]; then
    echo "this is the cluster under test"
    exit 0
fi
read -ra answers < "$here/answers"
n=$(wc -l < "$here/calls")
case ${answers[n - 1]:-${answers[-1]}} in
absent) ;;
warned) echo "Warning: something is deprecated" >&2 ;;
there) echo secret/test-done-signal ;;
error) echo "The connection to the server was refused" >&2; exit 1 ;;
esac
"#;

struct Place(tempfile::TempDir);

impl Place {
    /// A directory with `program`, which answers so.
    fn new(program: &str, answers: &str) -> Self {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("answers"), answers).unwrap();
        let written = place.path().join("written");
        fs::write(&written, OC).unwrap();
        // A process that another thread starts meanwhile would hold the file open for writing for a moment, and nobody could run it.
        let mut install = Command::new("install");
        let installed = install.arg("-m755").arg(&written).arg(place.path().join(program)).status();
        assert!(installed.unwrap().success());
        Self(place)
    }

    /// Starts the script as ci-operator does.
    fn start(&self, poll: Duration, path: &str) -> Child {
        let step = WaitStep {
            poll_interval: GoDuration::try_from(jiff::SignedDuration::try_from(poll).unwrap()).unwrap(),
            tolerance: GoDuration::from_secs(2),
            ..WaitStep::default()
        };
        let file = self.0.path().join("step");
        fs::write(&file, format!("#!/bin/bash\nset -eu\n{}", script(&step))).unwrap();
        Command::new(bash())
            .arg(&file)
            .env_clear()
            .env("PATH", format!("{}{path}", self.0.path().display()))
            .env("KUBECONFIG", "/somewhere/kubeconfig")
            .env("NAMESPACE", "ci-op-x")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    fn run(&self) -> Output {
        self.start(Duration::from_millis(30), ":/usr/bin:/bin").wait_with_output().unwrap()
    }

    fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.0.path().join("calls")).unwrap_or_default();
        calls.lines().map(str::to_owned).collect()
    }
}

fn bash() -> &'static str {
    ["/bin/bash", "/usr/bin/bash"]
        .into_iter()
        .find(|path| Path::new(path).is_file())
        .unwrap_or_else(|| panic!("these tests run the script that build clusters run, and need bash"))
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[rstest]
#[case::at_once("there", 1)]
#[case::late("absent absent absent there", 4)]
#[case::after_errors("error error absent there", 4)]
#[case::after_a_warning("warned there", 2)]
// All errors together last longer than is put up with, but not one row of them.
#[case::now_and_then(&"error absent ".repeat(30), 0)]
fn ends_well_on_the_signal_only(#[case] answers: &str, #[case] calls: usize) {
    let place = Place::new("oc", &format!("{answers} there"));
    let output = place.run();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(text(&output).ends_with("the signal is there\n"), "{}", text(&output));
    assert!(calls == 0 || place.calls().len() == calls, "{:?}", place.calls());
}

#[test]
fn secret_is_requested_in_its_own_namespace() {
    let place = Place::new("oc", "there");
    assert_eq!(place.run().status.code(), Some(0));
    assert_eq!(
        place.calls(),
        [
            "get secret test-done-signal --namespace ci-op-x --ignore-not-found --output=name --request-timeout=30s"
        ]
    );
}

#[test]
fn says_when_the_api_answers_again() {
    let output = Place::new("oc", "error absent there").run();
    assert!(text(&output).contains("The connection to the server was refused"), "{}", text(&output));
    assert!(text(&output).contains("the API answers again after"), "{}", text(&output));
}

#[test]
fn gives_up_with_an_error_after_errors_without_end() {
    let begun = Instant::now();
    let place = Place::new("oc", "error");
    let output = place.run();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(text(&output).contains("FAILURE: giving up after 2 s"), "{}", text(&output));
    // bash counts whole seconds, so that it may be one less.
    assert!(begun.elapsed() >= Duration::from_secs(1), "it gave up early");
    // 30 ms, doubled each time, are seven tries in two seconds and not sixty.
    assert!(place.calls().len() < 12, "it did not back off: {} calls", place.calls().len());
}

#[test]
fn kubectl_does_as_well() {
    let output = Place::new("kubectl", "there").run();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
}

#[test]
fn an_image_without_a_client_is_an_error() {
    let place = Place::new("something", "there");
    let output = place.start(Duration::from_millis(30), "").wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(127), "{}", text(&output));
    assert!(text(&output).contains("neither oc nor kubectl"), "{}", text(&output));
}

#[test]
fn external_termination_is_an_immediate_failure() {
    let place = Place::new("oc", "absent");
    let step = place.start(Duration::from_mins(1), ":/usr/bin:/bin");
    let begun = Instant::now();
    while place.calls().is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(20), "it never asked");
        std::thread::sleep(Duration::from_millis(10));
    }
    let killed = Command::new(bash()).args(["-c", &format!("kill -TERM {}", step.id())]).status().unwrap();
    assert!(killed.success());
    let output = step.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(143), "{}", text(&output));
    assert!(begun.elapsed() < Duration::from_secs(20), "it waited for its pause to end");
}
