//! When a cluster will probably be ready: what the hub says, else what past runs of its shape took.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use testplatform_apis::text::bounded;

use super::{
    claim::{Claim, text, time},
    span::human,
};

/// How many runs the history keeps.
const HISTORY_LINES: usize = 200;

/// When a cluster will probably be ready, and from what that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Estimate {
    /// The hub knows its kind: nine in ten are ready by then.
    FromHub(Timestamp),
    /// Past runs of its shape: then, as long as they took, and how many they are.
    FromHistory(Timestamp, SignedDuration, usize),
}

impl Estimate {
    /// For a claim, from the claims beside it and what was remembered.
    pub fn of(claim: &Claim, beside: &[Value], history: &str) -> Option<Self> {
        if let Some(at) = time(&claim.object, "/status/estimatedReadyAt") {
            return Some(Self::FromHub(at));
        }
        let shape = claim_shape(&claim.object);
        let mut lines: Vec<String> = beside.iter().filter_map(history_line).collect();
        lines.extend(history.lines().map(str::to_owned));
        // A claim that is still there may be remembered too, and counts once.
        lines.sort_unstable();
        lines.dedup();
        let of_shape =
            |line: &String| parse_run(line).filter(|(of, _)| *of == shape).map(|(_, seconds)| seconds);
        let mut seconds: Vec<i64> = lines.iter().filter_map(of_shape).collect();
        seconds.sort_unstable();
        let median = SignedDuration::from_secs(*seconds.get(seconds.len() / 2)?);
        Some(Self::FromHistory(claim.started()?.checked_add(median).ok()?, median, seconds.len()))
    }

    /// In words, at a time.
    pub fn words(&self, now: Timestamp) -> String {
        match self {
            Self::FromHub(at) if *at > now => {
                format!("90 % of similar clusters are ready within {}", human(at.duration_since(now)))
            }
            Self::FromHub(_) => "slower than 90 % of similar clusters".to_owned(),
            Self::FromHistory(at, took, runs) if *at > now => {
                let runs = if *runs == 1 { "1 run".to_owned() } else { format!("{runs} runs") };
                let remaining = human(at.duration_since(now));
                format!("ready in about {remaining}, as {runs} before it took {}", human(*took))
            }
            Self::FromHistory(_, took, _) => format!("later than usual, which is {}", human(*took)),
        }
    }
}

/// Common properties of clusters that take about as long.
pub fn claim_shape(claim: &Value) -> String {
    let of = |pointers: &[&str]| {
        let words: Vec<&str> = pointers.iter().map(|p| text(claim, p)).collect();
        bounded(&words.join("/"), 200)
    };
    let spec = &claim["spec"];
    if spec["ciOperator"].is_object() {
        of(&["/spec/ciOperator/test/workflow", "/spec/ciOperator/test/clusterProfile"])
    } else if spec["clusterClaim"].is_object() {
        let pool = "/spec/clusterClaim/pool/name";
        format!("pool {}", of(&[pool, "/spec/clusterClaim/version", "/spec/clusterClaim/cloud"]))
    } else {
        format!("template {}", of(&["/spec/template"]))
    }
}

/// How many seconds a claim took from its beginning until it was ready.
fn ready_seconds(claim: &Value) -> Option<i64> {
    let start = time(claim, "/status/startedAt").or_else(|| time(claim, "/metadata/creationTimestamp"))?;
    let seconds = time(claim, "/status/readyAt")?.duration_since(start).as_secs();
    (seconds >= 0).then_some(seconds)
}

/// A claim that became ready, as a line of the history.
fn history_line(claim: &Value) -> Option<String> {
    Some(format!("{}\t{}\t{}", text(claim, "/status/readyAt"), ready_seconds(claim)?, claim_shape(claim)))
}

/// A line of the history: time of readiness, seconds, shape. Invalid lines are skipped, because the file has no guaranteed format.
fn parse_run(line: &str) -> Option<(&str, i64)> {
    let (_, rest) = line.split_once('\t')?;
    let (seconds, shape) = rest.split_once('\t')?;
    Some((shape, seconds.parse().ok().filter(|s| *s >= 0)?))
}

/// The history with one more run. A run that is in there already is not added twice.
pub fn extend_history(history: &str, claim: &Claim) -> Option<String> {
    let line = history_line(&claim.object)?;
    let mut lines: Vec<&str> = history.lines().filter(|l| parse_run(l).is_some()).collect();
    if lines.contains(&line.as_str()) {
        return None;
    }
    lines.push(&line);
    let newest = lines.split_off(lines.len().saturating_sub(HISTORY_LINES));
    Some(newest.join("\n") + "\n")
}
