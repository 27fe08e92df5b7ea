//! How a control plane fails: its etcd dies, has no space left, or is at the end of a bad wire.

use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use http::Request;
use kube::Client;
use serde_json::{Value, json};

use super::{ControlPlane, etcd_command, lock};
use crate::nest::Process;

/// Where the junk lies, and where it ends. Kubernetes has everything below another prefix.
const JUNK: [&str; 2] = ["/junk/", "/junk0"];
const MIB: usize = 1 << 20;
/// A request that takes longer was refused: the client retries while a server is overloaded.
const REFUSED: Duration = Duration::from_secs(2);

impl ControlPlane {
    /// Kills etcd. Its writes are on disk.
    pub fn kill_etcd(&self) {
        lock(&self.etcd).take();
    }

    /// Starts etcd again, with the most bytes that it may have on its disk.
    pub fn start_etcd(&self, quota: Option<u64>) -> anyhow::Result<()> {
        let mut command = etcd_command(&self.binaries, self.ports);
        command.args(quota.map(|bytes| format!("--quota-backend-bytes={bytes}")));
        *lock(&self.etcd) = Some(self.nest.spawn("etcd", &mut command)?);
        Ok(())
    }

    /// The port of its etcd.
    pub fn etcd_port(&self) -> u16 {
        self.ports.etcd
    }

    /// Leads the API server to etcd by another port, from its next start on.
    pub fn lead_to_etcd(&self, port: u16) {
        *lock(&self.way_to_etcd) = port;
    }

    /// Kills Kubernetes' own controllers.
    pub fn kill_controllers(&self) {
        lock(&self.manager).take();
    }

    /// How its programs ended, each that did by itself: etcd, API server, controllers.
    pub fn ended(&self) -> [Option<String>; 3] {
        [&self.etcd, &self.api_server, &self.manager]
            .map(|program| lock(program).as_mut().and_then(Process::epitaph))
    }

    /// Fills etcd until it takes no more and raises its alarm.
    pub async fn fill_etcd(&self) -> anyhow::Result<()> {
        let client = self.etcd_client().await?;
        let value = BASE64_STANDARD.encode(vec![b'x'; MIB]);
        for number in 0..1024 {
            let key = BASE64_STANDARD.encode(format!("{}{number}", JUNK[0]));
            let junk = json!({ "key": key, "value": value });
            let put = tokio::time::timeout(REFUSED, ask(&client, "kv/put", &junk)).await;
            if matches!(put, Ok(Ok(_))) {
                continue;
            }
            let alarms = alarms(&client).await?;
            ensure!(!alarms.is_empty(), "etcd does not take what is written, and has no alarm: {put:?}");
            return Ok(());
        }
        bail!("{} took a gibibyte: it has no quota", self.name)
    }

    /// As an administrator does it: what is too much goes, then the space is given back, then the alarm is disarmed.
    pub async fn make_room_in_etcd(&self) -> anyhow::Result<()> {
        let client = self.etcd_client().await?;
        let [from, to] = JUNK.map(|key| BASE64_STANDARD.encode(key));
        let removed = ask(&client, "kv/deleterange", &json!({ "key": from, "range_end": to })).await?;
        let revision = &removed["header"]["revision"];
        ask(&client, "kv/compaction", &json!({ "revision": revision, "physical": true })).await?;
        ask(&client, "maintenance/defragment", &json!({})).await?;
        let disarm =
            json!({ "action": "DEACTIVATE", "memberID": removed["header"]["member_id"], "alarm": "NOSPACE" });
        ask(&client, "maintenance/alarm", &disarm).await?;
        let alarms = alarms(&client).await?;
        ensure!(alarms.is_empty(), "the alarm stays: {alarms:?}");
        Ok(())
    }
}

async fn alarms(client: &Client) -> anyhow::Result<Vec<Value>> {
    let alarms = ask(client, "maintenance/alarm", &json!({ "action": "GET" })).await?;
    Ok(alarms["alarms"].as_array().cloned().unwrap_or_default())
}

/// Asks etcd by its JSON gateway.
async fn ask(client: &Client, what: &str, body: &Value) -> anyhow::Result<Value> {
    let request = Request::post(format!("/v3/{what}")).header("content-type", "application/json");
    let request = request.body(serde_json::to_vec(body)?)?;
    client.request(request).await.with_context(|| format!("etcd: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{binaries::Binaries, cluster::SOON, patience};

    /// Without that there would be nothing to survive.
    #[tokio::test(flavor = "multi_thread")]
    async fn full_etcd_refuses_writes_until_it_has_room() -> anyhow::Result<()> {
        let plane = ControlPlane::start("full", &Binaries::ensure()?).await?;
        plane.kill_etcd();
        plane.start_etcd(Some(32 << 20))?;
        let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "made" } });
        plane.fill_etcd().await?;
        let refused = patience::timeout(SOON, plane.cluster().create(&namespace)).await?;
        let words = refused.err().map(|error| error.to_string()).unwrap_or_default();
        ensure!(words.contains("space exceeded"), "it takes something: {words}");
        plane.make_room_in_etcd().await?;
        plane.cluster().create(&namespace).await?;
        Ok(())
    }
}
