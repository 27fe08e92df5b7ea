//! Writes by client and resource, from the audit logs of both API servers.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{BufRead as _, BufReader, Seek as _, SeekFrom},
    path::PathBuf,
};

use anyhow::Context as _;
use serde_json::Value;

use crate::{crossplane::Engine, scale::calls::client};

/// How often a client wrote a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// All attempts.
    pub all: u32,
    /// Those that the API server refused, conflicts among them.
    pub refused: u32,
}

/// By client, verb and resource, with its subresource.
pub type Writes = BTreeMap<(String, String), Count>;

/// A write of one client, from an audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    client: &'static str,
    /// Verb and resource.
    what: String,
    refused: bool,
    /// Namespace and name of the object, as far as they are known.
    of: [String; 2],
}

impl Write {
    /// Whether the object is in this namespace, or its name contains this one.
    pub fn is_of(&self, namespace: &str, name: &str) -> bool {
        self.of[0] == namespace || self.of[1].contains(name)
    }
}

/// Adds writes up.
pub fn sum<'w>(writes: impl IntoIterator<Item = &'w Write>) -> Writes {
    let mut sums = Writes::new();
    for Write { client, what, refused, .. } in writes {
        let count = sums.entry(((*client).to_owned(), what.clone())).or_default();
        count.all += 1;
        count.refused += u32::from(*refused);
    }
    sums
}

/// The audit logs of konflux and the hub from a moment on.
pub struct AuditLogs(Vec<(PathBuf, u64)>);

impl AuditLogs {
    /// Leaves out what is there.
    pub fn from_now_on(engine: &Engine) -> anyhow::Result<Self> {
        let logs = [engine.konflux.audit_log(), engine.hub.audit_log()].into_iter();
        let begun = logs.map(|path| {
            let size = path.metadata().with_context(|| format!("cannot read {}", path.display()))?.len();
            Ok((path, size))
        });
        Ok(Self(begun.collect::<anyhow::Result<_>>()?))
    }

    /// All writes since.
    pub fn read(&self) -> anyhow::Result<Vec<Write>> {
        let mut writes = Vec::new();
        for (path, from) in &self.0 {
            let mut file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
            file.seek(SeekFrom::Start(*from))?;
            for line in BufReader::new(file).lines() {
                // The first may be the second half of a line, and the last one the first half.
                if let Ok(call) = serde_json::from_str::<Value>(&line?) {
                    writes.extend(write(&call));
                }
            }
        }
        Ok(writes)
    }
}

fn write(call: &Value) -> Option<Write> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (verb, about) = (text(&call["verb"]), &call["objectRef"]);
    if !matches!(verb.as_str(), "create" | "update" | "patch" | "delete") {
        return None;
    }
    let client = client(call)?;
    let resource = match about["subresource"].as_str() {
        Some(subresource) => format!("{}/{subresource}", text(&about["resource"])),
        None => text(&about["resource"]),
    };
    // Leases go on while nobody does anything.
    if matches!(resource.as_str(), "" | "leases" | "events") {
        return None;
    }
    Some(Write {
        client,
        what: format!("{verb} {resource}"),
        refused: call["responseStatus"]["code"].as_u64().is_some_and(|code| code >= 400),
        of: [text(&about["namespace"]), text(&about["name"])],
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reads_and_leases_are_no_writes() {
        let call = |verb: &str, resource: &str, subresource: Option<&str>, code: u16| {
            json!({
                "verb": verb, "userAgent": "crossplane/v2", "user": { "username": "admin" },
                "objectRef": { "resource": resource, "subresource": subresource, "name": "one-x2b4z" },
                "responseStatus": { "code": code },
            })
        };
        let writes: Vec<Write> = [
            call("patch", "objects", None, 200),
            call("update", "xtestplatformclusters", Some("status"), 200),
            call("update", "xtestplatformclusters", Some("status"), 409),
            call("get", "objects", None, 200),
            call("update", "leases", None, 200),
        ]
        .iter()
        .filter_map(write)
        .collect();
        assert!(writes[0].is_of("tenant-one", "one") && !writes[0].is_of("tenant-two", "two"));
        let writes = sum(&writes);
        let of = |what: &str| writes[&("crossplane".to_owned(), what.to_owned())].clone();
        assert_eq!(of("update xtestplatformclusters/status"), Count { all: 2, refused: 1 });
        assert_eq!((of("patch objects"), writes.len()), (Count { all: 1, refused: 0 }, 2));
    }
}
