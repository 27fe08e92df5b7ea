//! Proof that a fault hit somebody. An effect that must follow is awaited after the fault; its absence is an error. Where it is possible
//! that nobody comes by while a fault lasts, it lasts a little longer; a fault that still hit nobody is reported, and is no error: how
//! soon a program tries again is its own affair.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
    time::Duration,
};

use anyhow::{Context as _, ensure};
use http::Request;
use kube::Client;
use serde_json::Value;
use tokio::time::{sleep, timeout};

use super::{
    fault::{Certificate, Fault, Part, Wire},
    field::{Field, insist, lock},
    plan::Plan,
};
use crate::{
    cluster::condition, control_plane::plain, hive::objects::text, kinds::OBJECT, patience::longer, provider,
    proxy::Met,
};

/// How much longer a fault lasts that nobody has met with.
const LONGER: Duration = Duration::from_secs(10);
/// How often it is looked at meanwhile.
const LOOK: Duration = Duration::from_millis(300);
/// Within this who lost a watch lists anew, mostly. It is shorter than a try may be.
const LISTED: Duration = Duration::from_secs(8);
/// How the function counts the clients that it turned away.
const FAILURES: &str = "testplatform_function_tls_handshake_failures_total ";
/// The provider's error for a server whose authority it does not know.
const UNKNOWN: &str = "invalid peer certificate: UnknownIssuer";
/// provider-kubernetes' error for it.
const DISTRUSTED: &str = "x509: ";

/// Counters of each wire.
pub(super) type Meetings = BTreeMap<Wire, Met>;

/// A program's log from some moment on.
#[derive(Clone, Debug)]
pub(super) struct Log {
    path: PathBuf,
    /// How long it was then.
    length: usize,
}

impl Log {
    /// From now on.
    pub(super) fn from_now(path: PathBuf) -> Self {
        let length = fs::read(&path).map_or(0, |log| log.len());
        Self { path, length }
    }

    /// Log since then.
    pub(super) fn read(&self) -> anyhow::Result<String> {
        let log = fs::read(&self.path)?;
        Ok(String::from_utf8_lossy(log.get(self.length..).unwrap_or_default()).into_owned())
    }
}

impl Field {
    /// Counters of each wire so far.
    pub(super) fn met(&self) -> Meetings {
        self.wires.iter().map(|(wire, proxy)| (*wire, proxy.met())).collect()
    }

    /// Waits for somebody to meet with a fault, but not for long. `before` is what wires had met with when it was done.
    pub(super) async fn feel(&self, fault: Fault, before: &Meetings) {
        let felt = async {
            while !self.is_felt(fault, before).await {
                sleep(LOOK).await;
            }
        };
        if timeout(LONGER, felt).await.is_err() {
            eprintln!("  nobody met with this: {fault}");
            lock(&self.unmet).push(fault);
        }
    }

    async fn is_felt(&self, fault: Fault, before: &Meetings) -> bool {
        if fault == Fault::WrongAuthority(Part::ProviderKubernetes) {
            let objects = self.engine.konflux.cluster().list(OBJECT).await.unwrap_or_default();
            return objects.iter().any(is_distrustful);
        }
        fault.wire().is_none_or(|wire| is_met(fault, since(before, wire, self.wires[&wire].met())))
    }

    /// Waits until the function turns core away, which has just been started.
    pub(super) async fn turned_away(&self) -> anyhow::Result<()> {
        let function = plain(self.engine.function.admin_port()).await?;
        let before = insist("the function counts failed handshakes", || failures(&function)).await?;
        insist("the function turns core away", async || {
            let now = failures(&function).await?;
            ensure!(now > before, "no handshake has failed since core was started");
            Ok(())
        })
        .await
    }

    /// Waits until the provider, whose log is given from when it was started, says that it does not trust the hub.
    pub(super) async fn distrusted(&self, log: &Log) -> anyhow::Result<()> {
        insist("the provider does not trust the hub", async || {
            ensure!(log.read()?.contains(UNKNOWN), "{} has not said so", provider::NAME);
            Ok(())
        })
        .await
    }

    /// Breaks the watches that go by a wire until who has them lists anew, and is given more than so many bytes.
    pub(super) async fn list_anew(&self, wire: Wire, bytes: u64) -> anyhow::Result<()> {
        let proxy = &self.wires[&wire];
        let before = proxy.met();
        let carried = || proxy.met().after(before).carried;
        insist("a long list is given to who watches", async || {
            // A watch that seems to have ended in order is resumed.
            proxy.reset();
            let listed = async {
                while carried() <= bytes {
                    sleep(LOOK).await;
                }
            };
            let late = || format!("{wire} has carried {} bytes of more than {bytes}", carried());
            timeout(longer(LISTED), listed).await.with_context(late)
        })
        .await
    }
}

/// Counters of a wire since then.
fn since(before: &Meetings, wire: Wire, now: Met) -> Met {
    now.after(before.get(&wire).copied().unwrap_or_default())
}

/// `true` if the fault hit somebody, by the counters of its wire since it was injected.
const fn is_met(fault: Fault, met: Met) -> bool {
    match fault {
        Fault::Reset(_) => met.reset > 0,
        Fault::Slow(_) | Fault::Silent(_) => met.delayed > 0,
        Fault::Refused(_) => met.refused > 0,
        // Who is connected goes by what was shown before.
        Fault::Expired(Certificate::Server) | Fault::WrongAuthority(Part::Function) => met.connections > 0,
        // Nobody need come by, or it was waited for when it was done.
        Fault::Killed(_)
        | Fault::NoSpace(_)
        | Fault::Rotated(_)
        | Fault::Expired(Certificate::Client)
        | Fault::WrongAuthority(_)
        | Fault::Skewed(..)
        | Fault::LargeAnswers
        | Fault::LongAnswers
        | Fault::SlowLoris(_)
        | Fault::Crowd => true,
    }
}

/// The wires of a plan's faults that carried nothing at all between two looks.
pub(super) fn unused(plan: &Plan, before: &Meetings, after: &Meetings) -> Vec<String> {
    let wires: BTreeSet<Wire> =
        plan.sides.iter().flatten().filter_map(|strike| strike.fault.wire()).collect();
    let carried = |wire: &Wire| since(before, *wire, after.get(wire).copied().unwrap_or_default()).carried;
    wires.iter().filter(|wire| carried(wire) == 0).map(ToString::to_string).collect()
}

async fn failures(function: &Client) -> anyhow::Result<f64> {
    let page = function.request_text(Request::get("/metrics").body(Vec::new())?).await?;
    counted(&page).context("it does not count them")
}

fn counted(page: &str) -> Option<f64> {
    page.lines().find_map(|line| line.strip_prefix(FAILURES)?.parse().ok())
}

/// `true` if an Object cannot be reconciled because its hub is not trusted.
fn is_distrustful(object: &Value) -> bool {
    condition(object, "Synced").is_some_and(|synced| text(synced, "/message").contains(DISTRUSTED))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::campaign::plan::{Origin, Strike};

    #[test]
    fn each_network_fault_has_its_own_evidence() {
        let wire = Wire::Site;
        let connected = Met { connections: 1, carried: 1, ..Met::default() };
        for (fault, met) in [
            (Fault::Reset(wire), Met { reset: 1, ..Met::default() }),
            (Fault::Slow(wire), Met { delayed: 1, ..Met::default() }),
            (Fault::Silent(wire), Met { delayed: 1, ..Met::default() }),
            (Fault::Refused(wire), Met { refused: 1, ..Met::default() }),
        ] {
            assert!(is_met(fault, met), "{fault}");
            assert!(!is_met(fault, connected), "{fault}");
        }
        for fault in [Fault::Expired(Certificate::Server), Fault::WrongAuthority(Part::Function)] {
            assert!(is_met(fault, connected), "{fault}");
            assert!(!is_met(fault, Met { carried: 1, ..Met::default() }), "{fault}");
        }
    }

    #[test]
    fn a_wire_that_nobody_uses_is_noticed() {
        let strike = |fault| Strike { at: Duration::ZERO, fault, lasts: Duration::ZERO };
        let konflux = vec![strike(Fault::Slow(Wire::Konflux)), strike(Fault::Killed(Part::Core))];
        let hub = vec![strike(Fault::Reset(Wire::Site)), strike(Fault::LargeAnswers)];
        let plan = Plan { origin: Origin::Seed(1), wishes: Vec::new(), sides: [konflux, hub] };
        let carried = |bytes: [u64; 3]| -> Meetings {
            let met = bytes.map(|carried| Met { carried, ..Met::default() });
            [Wire::Konflux, Wire::Site, Wire::Provider].into_iter().zip(met).collect()
        };
        assert!(unused(&plan, &carried([1, 1, 1]), &carried([2, 2, 2])).is_empty());
        let idle = unused(&plan, &carried([1, 1, 1]), &carried([2, 1, 2]));
        assert_eq!(idle, [Wire::Site.to_string()]);
    }

    /// As the function's page has it.
    #[test]
    fn clients_that_were_turned_away_are_counted() {
        let page = "# TYPE testplatform_function_tls_handshake_failures counter\ntestplatform_function_tls_handshake_failures_total 3\n# EOF\n";
        assert_eq!(counted(page).map(|count| count.to_string()).as_deref(), Some("3"));
        assert!(counted("testplatform_function_panics_total 0\n").is_none());
    }

    #[test]
    fn only_a_hub_that_is_not_trusted_is_told() {
        let said = |words: &str| json!({ "status": { "conditions": [{ "type": "Synced", "status": "False", "message": words }] } });
        let get = "observe failed: cannot get object: failed to get API group resources: Get \"https://127.0.0.1:1/api\": ";
        assert!(is_distrustful(&said(&format!(
            "{get}tls: failed to verify certificate: x509: certificate signed by unknown authority"
        ))));
        assert!(!is_distrustful(&said(&format!("{get}dial tcp 127.0.0.1:1: connect: connection refused"))));
        assert!(!is_distrustful(&json!({})));
    }
}
