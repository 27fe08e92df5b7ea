//! A program's clock is wrong for a while, and there is evidence of that: by its own log the clock was off, and whoever acts only
//! with a Lease had it.

use anyhow::{Context as _, bail, ensure};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::{
    evidence::Log,
    fault::Part,
    field::{Field, insist, lock},
};
use crate::{actors::now, cluster::at, function, hive::objects::text, kinds::Kind, provider};

const LEASE: Kind = Kind { api_version: "coordination.k8s.io/v1", kind: "Lease" };
/// Log lines of the function when it serves, and of the provider when it acts.
const SERVING: &str = " serving ";
const LEADING: &str = " leading identity=";
/// How far two looks at one clock may be from each other.
const NEAR: SignedDuration = SignedDuration::from_secs(2);

/// A program with a wrong clock.
#[derive(Clone, Debug)]
pub(super) struct Skewed {
    seconds: i64,
    /// Its log since it started.
    log: Log,
    /// When it was, by our clock.
    since: Timestamp,
}

impl Field {
    /// Starts a part anew with a clock that is so many seconds ahead. It is done when the part works with it.
    pub(super) async fn skew(&self, part: Part, seconds: i64) -> anyhow::Result<()> {
        let (name, working) = match part {
            Part::Function => (function::NAME, SERVING),
            Part::Provider => (provider::NAME, LEADING),
            Part::Core
            | Part::ProviderKubernetes
            | Part::ApiServer(_)
            | Part::Etcd(_)
            | Part::Controllers(_) => bail!("nobody has a clock for {part}"),
        };
        if part == Part::Provider {
            self.dismiss_provider();
        } else {
            self.kill(part);
        }
        let log = Log::from_now(self.engine.nest().log(name));
        let skewed = Skewed { seconds, log, since: now() };
        lock(&self.clocks).insert(part, seconds);
        self.start_part(part)?;
        insist("it works with a clock that is wrong", async || skewed.said(working).map(|_| ())).await?;
        // Not tried again: a clock that is right stays so.
        skewed.require(skewed.said(working)?.0)?;
        lock(&self.skewed).insert(part, skewed);
        Ok(())
    }

    /// Starts a part anew with a clock that is right. Fails if it did nothing with the wrong one.
    pub(super) async fn right(&self, part: Part) -> anyhow::Result<()> {
        let skewed = lock(&self.skewed).remove(&part);
        if let Some(skewed) = skewed.filter(|_| part == Part::Provider) {
            let lease = at(LEASE, provider::NAME, provider::NAME);
            let led = async || {
                let lease = self.engine.hub.cluster().get(&lease).await?.context("there is no Lease")?;
                let (led, words) = skewed.said(LEADING)?;
                renewal(&lease, led, &words)
            };
            skewed.require(insist("the provider leads with a clock that is wrong", led).await?)?;
        }
        // Killed: whoever comes after it finds a Lease with a time of that clock.
        self.restart(part)
    }
}

impl Skewed {
    /// Last log line of its program that has these words, and its time by the program's own clock.
    fn said(&self, words: &str) -> anyhow::Result<(Timestamp, String)> {
        last(&self.log.read()?, words).with_context(|| format!("it has not said so yet: {words:?}"))
    }

    fn require(&self, written: Timestamp) -> anyhow::Result<()> {
        require(written, self.seconds, [self.since, now()])
    }
}

/// The last whole line of a log with some words, and its time.
fn last(log: &str, words: &str) -> Option<(Timestamp, String)> {
    let mut lines = log.split_inclusive('\n');
    let line = lines.rfind(|line| line.ends_with('\n') && line.contains(words))?;
    Some((line.split_whitespace().next()?.parse().ok()?, line.to_owned()))
}

/// When the Lease was renewed by whoever said then that it leads.
fn renewal(lease: &Value, led: Timestamp, words: &str) -> anyhow::Result<Timestamp> {
    let holder = text(lease, "/spec/holderIdentity");
    ensure!(
        !holder.is_empty() && words.contains(holder),
        "{holder:?} has the Lease, and not who said: {words}"
    );
    let renewed: Timestamp = text(lease, "/spec/renewTime").parse()?;
    ensure!(renewed > led, "it was renewed last at {renewed}, before it was led at {led}");
    Ok(renewed)
}

/// Fails unless a program whose clock is so many seconds ahead can have written a time between two moments of ours.
fn require(written: Timestamp, seconds: i64, [from, to]: [Timestamp; 2]) -> anyhow::Result<()> {
    let ours = written - SignedDuration::from_secs(seconds);
    ensure!(
        from - NEAR <= ours && ours <= to + NEAR,
        "its clock is not {seconds:+} s off: it wrote {written} between {from} and {to}; is the program static?"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn moment(text: &str) -> Timestamp {
        format!("2026-01-01T{text}Z").parse().unwrap()
    }

    #[test]
    fn a_clock_that_is_right_is_no_fault() {
        let between = [moment("12:00:00"), moment("12:00:10")];
        for (written, seconds, is) in [
            ("12:01:05", 60, true),
            ("11:59:05", -60, true),
            ("12:00:05", 60, false),
            ("12:00:05", -60, false),
            ("12:01:05", -60, false),
            ("12:01:13", 60, false),
        ] {
            let off = require(moment(written), seconds, between);
            assert_eq!(off.is_ok(), is, "{written} {seconds}: {off:?}");
        }
    }

    #[test]
    fn the_last_whole_line_counts() {
        let line = |time: &str, who: &str| {
            format!("2026-01-01T{time}Z  INFO provider_testplatform: leading identity=\"{who}\"\n")
        };
        let log = line("12:00:00.5", "a_1-2") + &line("12:00:09", "b_3-4");
        assert_eq!(last(&log, LEADING).unwrap(), (moment("12:00:09"), line("12:00:09", "b_3-4")));
        let cut = log.trim_end();
        assert_eq!(last(cut, LEADING).unwrap().0, moment("12:00:00.5"));
        assert_eq!(last(&log, SERVING), None);
    }

    /// Who waits for the Lease does nothing with its clock, nor does who had it only for a moment.
    #[test]
    fn who_did_not_lead_was_not_reached() {
        let lease = |holder: &str, time: &str| json!({ "spec": { "holderIdentity": holder, "renewTime": format!("2026-01-01T{time}Z") } });
        let led = moment("12:01:00");
        let words = "2026-01-01T12:01:00Z INFO x: leading identity=\"b_3-4\"\n";
        assert_eq!(renewal(&lease("b_3-4", "12:01:01.000000"), led, words).unwrap(), moment("12:01:01"));
        for (holder, time) in [("a_1-2", "12:01:01"), ("", "12:01:01"), ("b_3-4", "12:01:00"), ("b_3-4", "-")]
        {
            assert!(renewal(&lease(holder, time), led, words).is_err(), "{holder} {time}");
        }
    }
}
