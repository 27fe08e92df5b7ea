//! Report of the hub about the remote object.

use serde_json::json;

use super::{KUBECONFIG, NAME, PASSWORD, World};

impl World {
    /// The hub's controller reports.
    pub fn report_phase(&mut self, phase: &str, conditions: &[(&str, &str, &str, &str)]) {
        let Some(remote) = &mut self.remote else { return };
        let uid = remote["metadata"]["uid"].as_str().unwrap();
        if phase != "Failed" && uid.starts_with("remote-") {
            self.taken.insert(uid.to_owned());
        }
        let conditions: Vec<_> = conditions
            .iter()
            .map(|(t, s, r, m)| json!({ "type": t, "status": s, "reason": r, "message": m, "lastTransitionTime": self.now }))
            .collect();
        let status = &mut remote["status"];
        status["phase"] = json!(phase);
        status["conditions"] = json!(conditions);
        if phase != "Failed" {
            status["prowJobId"] = json!("job-1");
            status["prowJobURL"] = json!("https://prow.example/view/1");
        }
    }

    /// The hub is ready and has published the credentials.
    pub fn hub_ready(&mut self) {
        let secret = format!("{NAME}-credentials");
        self.secrets.insert(secret.clone(), (KUBECONFIG.into(), PASSWORD.into()));
        self.report_phase("Ready", &[("ClusterReady", "True", "", "")]);
        if let Some(remote) = &mut self.remote {
            remote["status"]["secretRef"] = json!(secret);
        }
    }

    /// The job ended.
    pub fn hub_done(&mut self, phase: &str) {
        let reason = if phase == "Failed" { "ProwJobFailure" } else { "ProwJobCompleted" };
        self.report_phase(phase, &[("ProwJobCompleted", "True", reason, "prowjob state: done")]);
        self.secrets.clear();
    }

    /// The hub-side provider's annotation, as it is observed.
    pub fn provider_keeps(&mut self, key: &str, value: &str) {
        let ec = self.objects.get_mut(self.writer()).unwrap();
        ec.object["status"]["atProvider"]["manifest"]["metadata"]["annotations"][key] = json!(value);
    }
}
