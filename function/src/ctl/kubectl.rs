//! The edge: kubectl, run as a program. All of its authentication, contexts and proxies are the plugin's too.

use std::{
    ffi::OsString,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    process::{Child, ChildStderr, ChildStdout, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread::{self, JoinHandle},
    time::Duration,
};

use serde_json::Value;

use super::exit::{Exit, Stop};
use crate::text::bounded;

/// How to run kubectl.
#[derive(Clone, Debug)]
pub struct Kubectl {
    /// The program.
    pub program: OsString,
    /// Flags that go with every command: namespace, context, and what else was given to the plugin.
    pub flags: Vec<String>,
}

/// Why kubectl did not do what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// There is no such object.
    NotFound(String),
    /// The caller may not.
    Forbidden(String),
    /// The cluster does not serve the kind.
    NoKind(String),
    /// Somebody else set what was to be set.
    Conflict(String),
    /// Anything else, in kubectl's words.
    Other(String),
    /// kubectl could not be run.
    NotRun(String),
}

impl Trouble {
    /// By what kubectl prints: a status of an API server has its reason in brackets.
    pub fn of(printed: &str) -> Self {
        let words = printed.trim();
        let words = words.strip_prefix("error: ").unwrap_or(words).to_owned();
        let has = |text: &str| words.contains(text);
        if has("(NotFound)") {
            Self::NotFound(words)
        } else if has("(Forbidden)") {
            Self::Forbidden(words)
        } else if has("the server doesn't have a resource type") || has("no matches for kind") {
            Self::NoKind(words)
        } else if has("(Conflict)") || has("conflicts with") || has("Apply failed with ") {
            Self::Conflict(words)
        } else {
            Self::Other(words)
        }
    }

    /// What was printed.
    pub fn words(&self) -> &str {
        match self {
            Self::NotFound(words)
            | Self::Forbidden(words)
            | Self::NoKind(words)
            | Self::Conflict(words)
            | Self::Other(words)
            | Self::NotRun(words) => words,
        }
    }
}

impl From<Trouble> for Stop {
    fn from(trouble: Trouble) -> Self {
        let (exit, advice) = match &trouble {
            Trouble::NotFound(_) => (Exit::NotFound, ""),
            Trouble::Forbidden(_) => {
                (Exit::Error, "You lack a right on this cluster: ask its administrators for it.")
            }
            Trouble::NoKind(_) => {
                (Exit::Error, "This cluster does not serve that kind: is it the right --context?")
            }
            Trouble::Conflict(_) | Trouble::Other(_) => (Exit::Error, ""),
            Trouble::NotRun(_) => (Exit::Error, "Set KUBECTL to the program to use, such as oc."),
        };
        Self::new(exit, trouble.words(), advice)
    }
}

impl Kubectl {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).args(&self.flags);
        command
    }

    fn not_run(&self, error: &std::io::Error) -> Trouble {
        Trouble::NotRun(format!("cannot run {}: {error}", self.program.display()))
    }

    /// Runs it to its end, with a text for it to read if there is one. Returns what it printed; its warnings go on to stderr.
    pub fn run(&self, arguments: &[&str], input: Option<&str>) -> Result<String, Trouble> {
        match self.ended(arguments, input)? {
            (printed, None) => Ok(printed),
            (_, Some(trouble)) => Err(trouble),
        }
    }

    /// The same for what tells all that it found though it fails for what it did not find, such as discovery.
    ///
    /// # Errors
    /// If it cannot be run. That it failed is the second part of the answer.
    pub fn ended(
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
        if let (Some(mut stdin), Some(input)) = (child.stdin.take(), input) {
            // One that does not read to the end says why.
            let _ = stdin.write_all(input.as_bytes());
        }
        let output = child.wait_with_output().map_err(|e| self.not_run(&e))?;
        let said = String::from_utf8_lossy(&output.stderr);
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        if !output.status.success() {
            let said = if said.trim().is_empty() { output.status.to_string() } else { said.into_owned() };
            return Ok((printed, Some(Trouble::of(&said))));
        }
        let _ = std::io::stderr().write_all(said.as_bytes());
        Ok((printed, None))
    }

    /// Runs it for an object or a list; none if it prints nothing.
    pub fn json(&self, arguments: &[&str]) -> Result<Option<Value>, Trouble> {
        let printed = self.run(arguments, None)?;
        if printed.trim().is_empty() {
            return Ok(None);
        }
        let unreadable = |e: serde_json::Error| Trouble::Other(format!("kubectl's answer is no JSON: {e}"));
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
        let stderr = child.stderr.take();
        let said = thread::spawn(move || {
            let mut said = Vec::new();
            let _ = stderr.map(|mut e: ChildStderr| e.read_to_end(&mut said));
            String::from_utf8_lossy(&said).into_owned()
        });
        Ok(Watch { child, lines, said: Some(said), begun: String::new() })
    }
}

/// What a watch tells.
#[derive(Clone, Debug, PartialEq)]
pub enum Told {
    /// The object, as it is now.
    Object(Value),
    /// The object is gone.
    Deleted,
    /// Nothing for now.
    Nothing,
    /// It ended, with what it said.
    Ended(String),
}

/// A `kubectl get --watch` that runs. Ended when dropped.
pub struct Watch {
    child: Child,
    lines: Receiver<String>,
    said: Option<JoinHandle<String>>,
    begun: String,
}

impl Watch {
    /// What it tells next, if that comes in time.
    pub fn next(&mut self, within: Duration) -> Told {
        match self.lines.recv_timeout(within) {
            Ok(line) => event(&mut self.begun, &line),
            Err(RecvTimeoutError::Timeout) => Told::Nothing,
            Err(RecvTimeoutError::Disconnected) => {
                let _ = self.child.wait();
                let said = self.said.take().and_then(|thread| thread.join().ok()).unwrap_or_default();
                Told::Ended(bounded(said.trim(), 600))
            }
        }
    }
}

/// A line of a watch. An event is one line, or several that end with a bracket of its own.
fn event(begun: &mut String, line: &str) -> Told {
    begun.push_str(line);
    if !line.ends_with('}') {
        return Told::Nothing;
    }
    let Ok(mut event) = serde_json::from_str::<Value>(begun) else { return Told::Nothing };
    begun.clear();
    let object = event["object"].take();
    match event["type"].as_str() {
        Some("DELETED") => Told::Deleted,
        Some("ADDED" | "MODIFIED") => Told::Object(object),
        _ => Told::Nothing,
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
    fn troubles_are_told_apart() {
        let of = |printed: &str| Trouble::of(printed);
        assert!(matches!(of("Error from server (NotFound): x \"y\" not found\n"), Trouble::NotFound(_)));
        assert!(matches!(of("Error from server (Forbidden): x is forbidden"), Trouble::Forbidden(_)));
        assert!(matches!(of("error: the server doesn't have a resource type \"x\""), Trouble::NoKind(_)));
        assert!(matches!(of("error: Apply failed with 1 conflict: …"), Trouble::Conflict(_)));
        assert_eq!(of("error: no\n"), Trouble::Other("no".into()));
    }

    #[test]
    fn events_come_on_one_line_or_on_several() {
        let mut begun = String::new();
        let object = serde_json::json!({ "a": { "b": "}" } });
        let one = r#"{"type":"ADDED","object":{"a":{"b":"}"}}}"#;
        assert_eq!(event(&mut begun, one), Told::Object(object.clone()));
        let lines = ["{", r#""type": "MODIFIED", "object": {"a":"#, r#"{"b": "}"}"#, "}", "}"];
        let told: Vec<Told> = lines.iter().map(|line| event(&mut begun, line)).collect();
        assert_eq!(told[..4], [Told::Nothing, Told::Nothing, Told::Nothing, Told::Nothing]);
        assert_eq!(told[4], Told::Object(object));
        assert_eq!(event(&mut begun, r#"{"type":"DELETED","object":{}}"#), Told::Deleted);
        assert_eq!(event(&mut begun, r#"{"type":"ERROR","object":{}}"#), Told::Nothing);
        assert_eq!(begun, "");
    }
}
