//! Logging of panics with their place, never with their message: the message may quote a request or an object.

use std::{cell::RefCell, panic};

thread_local! {
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Message of the log line of a panic.
pub const MESSAGE: &str = "panic";

/// Replaces the default hook, which prints the message, by a hook that logs only the place.
pub fn install() {
    panic::set_hook(Box::new(|info| {
        let place = info.location().map(|at| format!("{}:{}", shorten_path(at.file()), at.line()));
        tracing::error!(place = place.as_deref().unwrap_or("unknown"), "{MESSAGE}");
        PLACE.with_borrow_mut(|last| *last = place);
    }));
}

/// Takes the place of this thread's last panic.
pub fn take_place() -> Option<String> {
    PLACE.with_borrow_mut(Option::take)
}

/// Whether a log line reports a panic: in either of our formats, or in that of the default hook, which is active until ours is installed.
pub fn is_panic(line: &str) -> bool {
    let ours = [format!("{MESSAGE} place="), format!("\"msg\":\"{MESSAGE}\"")];
    line.contains("panicked at") || ours.iter().any(|words| line.contains(words))
}

/// The file's path in the repository; of other code only the file name, which is independent of the build machine.
fn shorten_path(file: &str) -> &str {
    if file.starts_with('/') { file.rsplit('/').next().unwrap_or(file) } else { file }
}

#[cfg(test)]
mod tests {
    use std::{
        env,
        panic::catch_unwind,
        process::{Command, Output},
        thread,
    };

    use serde_json::{Value, json};

    use super::*;
    use crate::logs;

    /// Environment variable of the panicking process.
    const PANICS: &str = "TESTPLATFORM_PANICS";
    const SECRET: &str = "s3cret-of-a-request";

    #[test]
    fn places_do_not_depend_on_the_machine() {
        assert_eq!(super::shorten_path("function/src/serve/function.rs"), "function/src/serve/function.rs");
        assert_eq!(super::shorten_path("/home/me/registry/some-crate-1.0/src/lib.rs"), "lib.rs");
    }

    /// Hooks and logs are global to a process, so this test runs itself again in a process of its own.
    #[test]
    fn panic_log_has_place_and_no_message() {
        match env::var_os(PANICS) {
            Some(form) if form == "text" => return panic_in_every_way(logs::Format::Text),
            Some(_) => return panic_in_every_way(logs::Format::Json),
            None => {}
        }
        for line in panics_in("json") {
            assert!(is_panic(&line), "{line}");
            let line: Value = serde_json::from_str(&line).expect(&line);
            assert_eq!((&line["level"], &line["msg"]), (&json!("error"), &json!(MESSAGE)), "{line}");
            assert!(line["place"].as_str().is_some_and(is_here), "{line}");
        }
        for line in panics_in("text") {
            assert!(is_panic(&line) && line.contains("process/src/panics.rs:"), "{line}");
        }
        assert!(is_panic("thread 'main' panicked at src/main.rs:1:1:"));
        assert!(!is_panic("INFO serving, and no panic"));
    }

    /// The log of a process that panics three times.
    fn panics_in(format: &str) -> Vec<String> {
        let itself = "panics::tests::panic_log_has_place_and_no_message";
        let mut command = Command::new(env::current_exe().unwrap());
        let Output { status, stdout, stderr } =
            command.args([itself, "--exact", "--nocapture"]).env(PANICS, format).output().unwrap();
        let (output, log) = (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap());
        assert!(status.success() && output.contains("1 passed"), "{output}\n{log}");
        assert!(!output.contains(SECRET) && !log.contains(SECRET), "{output}\n{log}");
        let lines: Vec<String> = log.lines().map(str::to_owned).collect();
        assert_eq!(lines.len(), 3, "{log}");
        lines
    }

    fn is_here(place: &str) -> bool {
        let line = place.strip_prefix("process/src/panics.rs:");
        line.is_some_and(|line| line.parse::<u32>().is_ok())
    }

    fn panic_in_every_way(format: logs::Format) {
        let _exporting = logs::init("test", true, format);
        install();
        assert_eq!(take_place(), None);
        assert!(catch_unwind(|| panic!("cannot read {SECRET}")).is_err());
        assert!(take_place().is_some_and(|place| is_here(&place)));
        assert_eq!(take_place(), None, "it is told once");
        assert!(catch_unwind(|| SECRET.parse::<u8>().expect(SECRET)).is_err());
        assert!(thread::spawn(|| SECRET.parse::<u8>().map_err(|_| SECRET).unwrap()).join().is_err());
    }
}
