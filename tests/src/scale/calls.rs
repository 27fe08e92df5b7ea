//! Who called an API server, and how often, from its audit log.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{BufRead as _, BufReader, Seek as _, SeekFrom},
    path::PathBuf,
};

use anyhow::Context as _;
use serde_json::Value;

/// How often somebody did something.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Calls(pub BTreeMap<(String, String), u32>);

impl Calls {
    /// Adds others.
    pub fn add(&mut self, more: &Self) {
        for (what, count) in &more.0 {
            *self.0.entry(what.clone()).or_default() += count;
        }
    }

    fn count(&mut self, line: &str) -> anyhow::Result<()> {
        let call: Value = serde_json::from_str(line).context("an audit log without JSON")?;
        let verb = call["verb"].as_str().unwrap_or_default();
        let resource = call["objectRef"]["resource"].as_str().unwrap_or_default();
        // Requests of probes are not about claims.
        if let Some(client) = client(&call).filter(|_| !resource.is_empty()) {
            *self.0.entry((client.to_owned(), verb.to_owned())).or_default() += 1;
        }
        Ok(())
    }
}

/// Who called. None for those that play somebody, and for the API server's calls to itself.
pub fn client(call: &Value) -> Option<&'static str> {
    let agent = call["userAgent"].as_str().unwrap_or_default();
    match call["user"]["username"].as_str().unwrap_or_default() {
        "system:serviceaccount:ephemeral-cluster:konflux" => Some("provider-kubernetes, hub"),
        account if account.ends_with(":provider-testplatform") => Some("provider-testplatform"),
        "system:apiserver" => None,
        _ if agent.starts_with("crossplane/") => Some("crossplane"),
        _ if agent.starts_with("kube-controller-manager/") => Some("kube-controller-manager"),
        _ if agent.starts_with("provider") => Some("provider-kubernetes, konflux"),
        _ => None,
    }
}

/// An audit log that is being written.
pub struct Log {
    path: PathBuf,
    read: u64,
}

impl Log {
    /// From its beginning.
    pub fn new(path: PathBuf) -> Self {
        Self { path, read: 0 }
    }

    /// Counts what has come since it was last read.
    pub fn read(&mut self, calls: &mut Calls) -> anyhow::Result<()> {
        let mut file =
            File::open(&self.path).with_context(|| format!("cannot read {}", self.path.display()))?;
        file.seek(SeekFrom::Start(self.read))?;
        let mut lines = BufReader::new(file);
        let mut line = String::new();
        while lines.read_line(&mut line)? > 0 && line.ends_with('\n') {
            self.read += line.len() as u64;
            calls.count(&line)?;
            line.clear();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_by_who_made_them() {
        let line = |agent: &str, user: &str, resource: &str| {
            serde_json::json!({
                "verb": "get", "userAgent": agent, "user": { "username": user }, "objectRef": { "resource": resource },
            })
            .to_string()
        };
        let mut calls = Calls::default();
        for line in [
            line("crossplane/v2.3.4", "testbed", "objects"),
            line("crossplane/v2.3.4", "testbed", "objects"),
            line("crossplane/v2.3.4", "testbed", ""),
            line("", "testbed", "objects"),
            line("", "system:serviceaccount:a:provider-testplatform", "prowjobs"),
        ] {
            calls.count(&line).unwrap();
        }
        let counted: Vec<_> =
            calls.0.iter().map(|((who, verb), n)| (who.as_str(), verb.as_str(), *n)).collect();
        assert_eq!(counted, [("crossplane", "get", 2), ("provider-testplatform", "get", 1)]);
        assert!(calls.count("no JSON").is_err());
    }

    #[test]
    fn half_a_line_waits_for_its_end() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut log = Log::new(file.path().to_owned());
        let line = r#"{"verb":"get","userAgent":"crossplane/1","objectRef":{"resource":"objects"}}"#;
        let mut calls = Calls::default();
        std::fs::write(file.path(), &line[..20]).unwrap();
        log.read(&mut calls).unwrap();
        assert_eq!(calls, Calls::default());
        std::fs::write(file.path(), format!("{line}\n{line}\n")).unwrap();
        log.read(&mut calls).unwrap();
        log.read(&mut calls).unwrap();
        assert_eq!(calls.0.values().sum::<u32>(), 2);
    }
}
