//! The edge: kubectl, run as a program. All of its authentication, contexts and proxies are the plugin's too.

use std::{
    ffi::OsString,
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    process::{Child, ChildStdout, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::Duration,
};

use serde_json::Value;
use testplatform_apis::text::bounded;

use super::{aside::CapturedStderr, trouble::Trouble};

/// How to run kubectl.
#[derive(Clone, Debug)]
pub struct Kubectl {
    /// The program.
    pub program: OsString,
    /// Flags that go with every command: namespace, context, and what else was given to the plugin.
    pub flags: Vec<String>,
}

impl Kubectl {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).args(&self.flags);
        command
    }

    fn not_run(&self, error: &io::Error) -> Trouble {
        Trouble::NotRun(format!("cannot run {}: {error}", self.program.display()))
    }

    /// Runs it to its end, with a text for it to read if there is one. Returns what it printed; what it says beside that goes on to stderr.
    pub fn run(&self, arguments: &[&str], input: Option<&str>) -> Result<String, Trouble> {
        match self.run_with_output(arguments, input)? {
            (printed, None) => Ok(printed),
            (_, Some(trouble)) => Err(trouble),
        }
    }

    /// The same for what tells all that it found though it fails for what it did not find, such as discovery.
    ///
    /// # Errors
    /// If it cannot be run. That it failed is the second part of the answer.
    pub fn run_with_output(
        &self,
        arguments: &[&str],
        input: Option<&str>,
    ) -> Result<(String, Option<Trouble>), Trouble> {
        let mut command = self.command(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        if input.is_some() {
            command.stdin(Stdio::piped());
        }
        let mut child = command.spawn().map_err(|e| self.not_run(&e))?;
        // Beside what it says, as it may ask who somebody is before it reads or prints anything.
        if let (Some(mut stdin), Some(input)) = (child.stdin.take(), input.map(str::to_owned)) {
            // A process that does not read its whole input reports the reason itself.
            thread::spawn(move || stdin.write_all(input.as_bytes()));
        }
        let stdout = child.stdout.take();
        let printed = thread::spawn(move || {
            let mut printed = vec![];
            if let Some(mut stdout) = stdout {
                stdout.read_to_end(&mut printed)?;
            }
            Ok::<_, io::Error>(printed)
        });
        let mut aside = CapturedStderr::of(child.stderr.take());
        let show = |text: &[u8]| _ = io::stderr().write_all(text);
        aside.until_end(show);
        let printed = printed.join().unwrap_or_else(|_| Ok(vec![])).map_err(|e| self.not_run(&e))?;
        let status = child.wait().map_err(|e| self.not_run(&e))?;
        let printed = String::from_utf8_lossy(&printed).into_owned();
        if !status.success() {
            let text = aside.why().unwrap_or_else(|| status.to_string());
            return Ok((printed, Some(Trouble::of(&text, requested_name(arguments)))));
        }
        show(aside.pending());
        Ok((printed, None))
    }

    /// Runs it without a terminal, silently, and no longer than a limit. Returns what it printed; none if it did not succeed in time.
    /// For completion, which must neither ask for anything nor print an error.
    pub fn run_silently(&self, arguments: &[&str], limit: Duration) -> Option<String> {
        let mut command = self.command(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().ok()?;
        let mut stdout = child.stdout.take()?;
        let (sender, printed) = channel();
        // Not joined: a program that kubectl runs to log somebody in may hold the pipe for longer.
        thread::spawn(move || {
            let mut text = String::new();
            let read = stdout.read_to_string(&mut text);
            let _ = sender.send(read.is_ok().then_some(text));
        });
        let text = printed.recv_timeout(limit).ok().flatten();
        if text.is_none() {
            let _ = child.kill();
        }
        let status = child.wait().ok()?;
        text.filter(|_| status.success())
    }

    /// Runs it for an object or a list; none if it prints nothing.
    pub fn json(&self, arguments: &[&str]) -> Result<Option<Value>, Trouble> {
        let printed = self.run(arguments, None)?;
        if printed.trim().is_empty() {
            return Ok(None);
        }
        let unreadable = |e: serde_json::Error| Trouble::Other(format!("kubectl's answer is not JSON: {e}"));
        serde_json::from_str(&printed).map(Some).map_err(unreadable)
    }

    /// Runs it for a list: its items, or the object by itself where it is only one.
    pub fn items(&self, arguments: &[&str]) -> Result<Vec<Value>, Trouble> {
        let mut answer = self.json(arguments)?.unwrap_or_default();
        Ok(match answer["items"].take() {
            Value::Array(items) => items,
            _ if answer["kind"].is_string() && !answer["metadata"]["name"].is_null() => vec![answer],
            _ => vec![],
        })
    }

    /// Begins a watch.
    pub fn watch(&self, arguments: &[&str]) -> Result<Watch, Trouble> {
        let mut command = self.command(arguments);
        // A connection that hangs tells nobody, so each ends after a while and another takes its place. The last flag wins.
        command.arg("--request-timeout=300s");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|e| self.not_run(&e))?;
        let (sender, lines) = channel();
        let stdout = child.stdout.take();
        thread::spawn(move || {
            let lines = stdout.map(BufReader::<ChildStdout>::new).into_iter().flat_map(BufReader::lines);
            for line in lines.map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let aside = CapturedStderr::of(child.stderr.take());
        Ok(Watch { child, lines, aside, begun: String::new() })
    }
}

/// The name of the object that a command line is about; none if it is about many, or about a file.
fn requested_name<'a>(arguments: &[&'a str]) -> Option<&'a str> {
    match arguments {
        ["get" | "patch" | "delete", _, name, ..] if !name.starts_with('-') => Some(*name),
        _ => None,
    }
}

/// Event of a watch.
#[derive(Clone, Debug, PartialEq)]
pub enum WatchEvent {
    /// The object, as it is now.
    Object(Value),
    /// The object is gone; its last state.
    Deleted(Value),
    /// Nothing for now.
    Nothing,
    /// kubectl, or what it runs to log somebody in, said something and goes on.
    Output(String),
    /// It ended, with what it said.
    Ended(String),
}

/// A `kubectl get --watch` that runs. Ended when dropped.
pub struct Watch {
    child: Child,
    lines: Receiver<String>,
    aside: CapturedStderr,
    begun: String,
}

impl Watch {
    /// The next event, if it comes in time.
    pub fn next(&mut self, within: Duration) -> WatchEvent {
        match self.lines.recv_timeout(within) {
            Ok(line) => parse_event(&mut self.begun, &line),
            Err(RecvTimeoutError::Timeout) => {
                self.aside.overdue().map_or(WatchEvent::Nothing, WatchEvent::Output)
            }
            Err(RecvTimeoutError::Disconnected) => {
                let _ = self.child.wait();
                WatchEvent::Ended(bounded(self.aside.last().trim(), 600))
            }
        }
    }
}

/// A line of a watch. An event is one line, or several that end with a bracket of its own.
fn parse_event(begun: &mut String, line: &str) -> WatchEvent {
    begun.push_str(line);
    if !line.ends_with('}') {
        return WatchEvent::Nothing;
    }
    let Ok(mut event) = serde_json::from_str::<Value>(begun) else { return WatchEvent::Nothing };
    begun.clear();
    let object = event["object"].take();
    match event["type"].as_str() {
        Some("DELETED") => WatchEvent::Deleted(object),
        Some("ADDED" | "MODIFIED") => WatchEvent::Object(object),
        _ => WatchEvent::Nothing,
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines_are_about_one_object_or_about_none() {
        assert_eq!(requested_name(&["get", "secret", "demo", "-ojson"]), Some("demo"));
        assert_eq!(requested_name(&["delete", "testclusters", "demo", "--wait=true"]), Some("demo"));
        for none in
            [&["get", "events", "--watch"][..], &["apply", "--server-side", "-f-"], &["get", "secret"]]
        {
            assert_eq!(requested_name(none), None, "{none:?}");
        }
    }

    #[test]
    fn events_come_on_one_line_or_on_several() {
        let mut begun = String::new();
        let object = serde_json::json!({ "a": { "b": "}" } });
        let one = r#"{"type":"ADDED","object":{"a":{"b":"}"}}}"#;
        assert_eq!(parse_event(&mut begun, one), WatchEvent::Object(object.clone()));
        let lines = ["{", r#""type": "MODIFIED", "object": {"a":"#, r#"{"b": "}"}"#, "}", "}"];
        let events: Vec<WatchEvent> = lines.iter().map(|line| parse_event(&mut begun, line)).collect();
        assert_eq!(
            events[..4],
            [WatchEvent::Nothing, WatchEvent::Nothing, WatchEvent::Nothing, WatchEvent::Nothing]
        );
        assert_eq!(events[4], WatchEvent::Object(object));
        let deleted = WatchEvent::Deleted(serde_json::json!({}));
        assert_eq!(parse_event(&mut begun, r#"{"type":"DELETED","object":{}}"#), deleted);
        assert_eq!(parse_event(&mut begun, r#"{"type":"ERROR","object":{}}"#), WatchEvent::Nothing);
        assert_eq!(begun, "");
    }
}
