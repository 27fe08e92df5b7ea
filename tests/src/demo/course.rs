//! Steps of the demo, in order, and the checks after each.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

use super::{
    Arguments, actor,
    claim::Claim,
    copies, delivered,
    keep::{INDENT, list_commands},
    screen::Screen,
    watches::Watches,
};
use crate::{
    cluster::{SOON, at, at_root, has},
    crossplane::Engine,
    hub,
    kinds::{COMPOSITE, EPHEMERAL_CLUSTER, OBJECT, SECRET},
    tenant::decoded,
};

/// Result of the demo.
pub struct Played {
    /// Checks that did not hold.
    pub failed: Vec<String>,
    /// When the teardown was asked for.
    pub teardown: Duration,
    /// When the claim was deleted.
    pub deletion: Duration,
}

/// Plays it. An error is what kept it from going on.
pub async fn play(
    engine: &Engine,
    claim: &Claim,
    arguments: &Arguments,
    screen: &Arc<Screen>,
) -> anyhow::Result<Played> {
    let mut course = Course {
        engine,
        claim,
        screen,
        watches: Watches::start(engine, claim, screen),
        patience: SOON + arguments.pace() * 4,
        failed: Vec::new(),
    };
    let composite = course.ask().await?;
    let actor = async { actor::fulfil(engine, &composite, arguments.pace()).await.context("on the hub") };
    let tenant = course.live(&composite, arguments.keep, arguments.pace());
    let ((), (teardown, deletion)) = tokio::try_join!(actor, tenant)?;
    engine.check()?;
    Ok(Played { failed: course.failed, teardown, deletion })
}

struct Course<'e> {
    engine: &'e Engine,
    claim: &'e Claim,
    screen: &'e Arc<Screen>,
    watches: Watches,
    /// How long a step may take, the hub's own time included.
    patience: Duration,
    failed: Vec<String>,
}

impl Course<'_> {
    /// Makes the claim, and waits until core has made a composite for it.
    async fn ask(&mut self) -> anyhow::Result<String> {
        let konflux = self.engine.konflux.cluster();
        let namespace =
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": self.claim.namespace } });
        konflux.apply(&namespace).await?;
        // Whatever profile it names: that of a claim of somebody's own is not known here.
        if let Some(profile) = self.claim.manifest["spec"]["ciOperator"]["test"]["clusterProfile"].as_str() {
            self.engine.fulfiller.admit_to(profile, &self.claim.namespace)?;
        }
        self.screen.act(&format!("claim {} created in namespace {}", self.claim.name, self.claim.namespace));
        match konflux.create(&self.claim.manifest).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) => {
                bail!("{}: the API server refuses the claim: {}", self.claim.file(), status.message)
            }
            Err(error) => return Err(error).context("cannot create the claim"),
        }
        let named = |claim: &Value| claim["spec"]["resourceRef"]["name"].is_string();
        let claim = konflux.until_is(&self.claim.at(), SOON, "bound to a composite", named).await?;
        let composite = claim["spec"]["resourceRef"]["name"].as_str().unwrap_or_default().to_owned();
        self.watches.go_on(&composite);
        Ok(composite)
    }

    /// From the composite to nothing. When the teardown and the deletion were asked for.
    async fn live(
        &mut self,
        composite: &str,
        keep: bool,
        pause: Duration,
    ) -> anyhow::Result<(Duration, Duration)> {
        let kubeconfig = self.ready().await?;
        self.used(&kubeconfig).await?;
        if keep {
            self.keep(composite).await?;
        }
        self.screen.wait("a moment, to be seen");
        tokio::time::sleep(pause).await;
        let teardown = self.tear_down(&kubeconfig).await?;
        let deletion = self.delete(composite).await?;
        Ok((teardown, deletion))
    }

    /// Waits until the claim says that it is ready, and looks at once whether that is so.
    async fn ready(&mut self) -> anyhow::Result<String> {
        let konflux = self.engine.konflux.cluster();
        self.screen.wait("until it is ready");
        // Nobody here makes true what only an administrator could.
        let hopeless = |claim: &Value| {
            matches!(phase(claim), "Failed" | "Deprovisioned") || has(claim, "RequestAccepted", "False", "")
        };
        let settled = |claim: &Value| has(claim, "ClusterReady", "True", "") || hopeless(claim);
        let claim = match konflux.until_is(&self.claim.at(), self.patience, "ready", settled).await {
            Ok(claim) => claim,
            Err(_) => konflux.get(&self.claim.at()).await?.context("the claim is gone")?,
        };
        // At once: this is what the next task of a pipeline does.
        let secret = konflux.get(&self.claim.secret_at()).await?;
        let data = secret.as_ref().map(decoded).unwrap_or_default();
        if !has(&claim, "ClusterReady", "True", "") {
            let words = claim["status"]["message"].as_str().unwrap_or_default();
            bail!("the claim does not become ready; it is {}: {words}", phase(&claim));
        }
        let filled = |data: &BTreeMap<String, String>| {
            KEYS.iter().all(|k| data.get(*k).is_some_and(|v| !v.is_empty()))
        };
        self.check(filled(&data), "ready, and the Secret has both keys", &[]);
        let made = self.engine.recorder.made(&self.claim.namespace);
        self.check(made == 1, &format!("exactly one cluster was requested from the hub, not {made}"), &[]);
        let late = konflux.until_is(&self.claim.secret_at(), SOON, "filled", |s| filled(&decoded(s))).await?;
        Ok(decoded(&late).remove("kubeconfig").unwrap_or_default())
    }

    /// Uses what was delivered, and looks where it lies.
    async fn used(&mut self, kubeconfig: &str) -> anyhow::Result<()> {
        match delivered::prove(kubeconfig).await {
            Ok(proof) => self.check(true, "the delivered kubeconfig works", &proof),
            Err(error) => self.check(false, "the delivered kubeconfig works", &[format!("{error:#}")]),
        }
        let found = copies::find(self.engine, kubeconfig).await?;
        let details = if found.elsewhere.is_empty() { found.words() } else { found.elsewhere.clone() };
        self.check(
            found.elsewhere.is_empty(),
            "the kubeconfig is in Secrets only, in no other object and no log",
            &details,
        );
        Ok(())
    }

    /// Prints commands that explore everything, and waits for an interruption.
    async fn keep(&mut self, composite: &str) -> anyhow::Result<()> {
        let mut block = vec![String::new()];
        for commands in list_commands(self.engine, self.claim, composite)? {
            block.push(self.screen.heading(&format!("  {}", commands.heading)));
            block.extend(commands.lines.iter().map(|line| format!("{INDENT}{line}")));
        }
        block.push(String::new());
        self.screen.wait("for you");
        self.screen.keep();
        self.screen.block(&block);
        loop {
            tokio::time::sleep(Duration::from_secs(1)).await;
            self.engine.check()?;
        }
    }

    /// Asks for the end, and waits until there is nothing more to be had.
    async fn tear_down(&mut self, kubeconfig: &str) -> anyhow::Result<Duration> {
        let konflux = self.engine.konflux.cluster();
        self.screen.act("teardown requested: spec.tearDownCluster is set");
        let asked = self.screen.now();
        konflux.merge(&self.claim.at(), &json!({ "spec": { "tearDownCluster": true } })).await?;
        self.screen.wait("until it is torn down");
        let over =
            |claim: &Value| phase(claim) == "Deprovisioned" && has(claim, "ProwJobCompleted", "True", "");
        konflux.until_is(&self.claim.at(), self.patience, "deprovisioned", over).await?;
        let empty =
            |secret: &Value| KEYS.iter().all(|k| decoded(secret).get(*k).is_some_and(String::is_empty));
        let emptied = konflux.until_is(&self.claim.secret_at(), SOON, "emptied", empty).await;
        self.check(emptied.is_ok(), "deprovisioned, and both keys of the Secret are empty", &[]);
        self.screen.wait("until the last copy is collected");
        let left = copies::until_none(self.engine, kubeconfig, COLLECTED).await?.words();
        self.check(left.is_empty(), "no copy of the kubeconfig is left while the claim still exists", &left);
        Ok(asked)
    }

    /// Deletes the claim, and waits until nothing is left of it.
    async fn delete(&mut self, composite: &str) -> anyhow::Result<Duration> {
        self.screen.act("deletion of the claim requested");
        self.screen.wait("until nothing is left");
        let (konflux, hub) = (self.engine.konflux.cluster(), self.engine.hub.cluster());
        let asked = self.screen.now();
        konflux.delete(&self.claim.at()).await?;
        let on_konflux = [
            self.claim.at(),
            at_root(COMPOSITE, composite),
            at_root(OBJECT, &format!("managed-{composite}")),
            at_root(OBJECT, &format!("credentials-{composite}")),
            self.claim.secret_at(),
        ];
        let on_hub = [
            delivered::place(composite),
            at(EPHEMERAL_CLUSTER, hub::NAMESPACE, composite),
            at(SECRET, hub::NAMESPACE, &format!("{composite}-credentials")),
        ];
        let mut left = Vec::new();
        for (cluster, object) in
            on_konflux.iter().map(|o| (konflux, o)).chain(on_hub.iter().map(|o| (hub, o)))
        {
            // Crossplane leaves the Objects to the garbage collector, which may first have to learn of their kind.
            if cluster.until_gone(object, self.patience + COLLECTED).await.is_err() {
                left.push(object.to_string());
            }
        }
        for secret in konflux.list(SECRET).await? {
            let text = |field: &str| secret["metadata"][field].as_str().unwrap_or_default();
            let connection = at(SECRET, text("namespace"), text("name"));
            let of_crossplane = text("namespace") == "crossplane-connections";
            if of_crossplane && konflux.until_gone(&connection, COLLECTED).await.is_err() {
                left.push(connection.to_string());
            }
        }
        let others = hub.list(EPHEMERAL_CLUSTER).await?;
        left.extend(others.iter().map(|ec| format!("EphemeralCluster {}", ec["metadata"]["name"])));
        self.check(left.is_empty(), "every object of the claim is deleted", &left);
        let made = self.engine.recorder.made(&self.claim.namespace);
        self.check(made == 1, &format!("one EphemeralCluster was created in total, not {made}"), &[]);
        Ok(asked)
    }

    fn check(&mut self, holds: bool, what: &str, details: &[String]) {
        // Counts belong to the sentence only if it is wrong.
        let said = if holds { what.split(", not ").next().unwrap_or(what) } else { what };
        self.screen.check(holds, said, details);
        if !holds {
            self.failed.push(format!("check failed: {said}"));
        }
    }
}

/// How long the garbage collector may take. It looks for new kinds every 30 s, and here all of them are new.
const COLLECTED: Duration = Duration::from_secs(75);
const KEYS: [&str; 2] = ["kubeconfig", "kubeAdminPassword"];

fn phase(claim: &Value) -> &str {
    claim["status"]["phase"].as_str().unwrap_or_default()
}
