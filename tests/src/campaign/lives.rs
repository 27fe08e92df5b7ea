//! The claims of a run: made, and ended, at their times, by tenants who try again.

use std::sync::OnceLock;

use anyhow::ensure;
use jiff::Timestamp;
use serde_json::json;

use super::{
    field::insist,
    pace::Pace,
    plan::{End, Wish},
    world::Expected,
};
use crate::{
    actors::{Fulfilled, now},
    crossplane::Engine,
    hive::objects,
    prow::playing::{Order, Prow},
    recorder::Said,
    search::unique,
    tenant::Tenant,
};

/// A claim and its tenant.
pub struct Life<'e> {
    /// Its tenant, who has no other.
    pub tenant: Tenant<'e>,
    wish: Wish,
    token: String,
    password: String,
    deleted: OnceLock<Timestamp>,
}

impl<'e> Life<'e> {
    /// The tenant is there, and the claim is not yet.
    pub async fn prepare(
        engine: &'e Engine,
        prow: &Prow,
        scenario: &str,
        wish: &Wish,
    ) -> anyhow::Result<Self> {
        let tenant = Tenant::new(engine, scenario, wish.by).await?;
        let [token, password] = [unique(), unique()];
        if wish.by == Fulfilled::ByProvider {
            let kubeconfig = objects::kubeconfig(scenario, &token);
            let order = Order { kubeconfig, password: password.clone(), fails: false };
            prow.order(&tenant.namespace, order);
        }
        Ok(Self { tenant, wish: wish.clone(), token, password, deleted: OnceLock::new() })
    }

    /// Expected end of this life.
    pub fn expected(&self) -> Expected {
        Expected {
            namespace: self.tenant.namespace.clone(),
            name: self.tenant.name.clone(),
            by: self.wish.by,
            end: self.wish.end,
            token: self.token.clone(),
            password: self.password.clone(),
        }
    }

    /// Lives it, each step when it is due.
    pub async fn live(&self, pace: &Pace, prow: &Prow) -> anyhow::Result<()> {
        pace.until(self.wish.at).await;
        insist("the claim is made", async || {
            match self.tenant.konflux().create(&self.tenant.manifest(&json!({}))).await {
                // The answer to an earlier try was lost.
                Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
                other => Ok(other.map(|_| ())?),
            }
        })
        .await?;
        pace.until(self.wish.end_at).await;
        // Only a recorded claim can be judged, and the recorder has a watch of its own.
        insist("the claim is seen", async || recorded(&self.said())).await?;
        match self.wish.end {
            End::Stays => Ok(()),
            End::TornDown => self.tear_down().await,
            End::Deleted => self.delete().await,
            End::TornDownAndDeleted => {
                self.tear_down().await?;
                self.delete().await
            }
            End::Fails => {
                prow.fail(&self.tenant.namespace);
                Ok(())
            }
        }
    }

    async fn tear_down(&self) -> anyhow::Result<()> {
        insist("teardown is asked for", async || {
            self.tenant.change(&json!({ "tearDownCluster": true })).await
        })
        .await
    }

    /// Fails unless it was watched to where it came to.
    pub fn witnessed(&self) -> anyhow::Result<()> {
        witnessed(&self.said(), self.wish.end)
    }

    fn said(&self) -> Vec<Said> {
        let key = (self.tenant.namespace.clone(), self.tenant.name.clone());
        self.tenant.engine.recorder.of_claim(&key)
    }

    /// When somebody first asked for its deletion.
    pub fn deleted(&self) -> Option<Timestamp> {
        self.deleted.get().copied()
    }

    /// Deletes the claim. None there is fine.
    pub async fn delete(&self) -> anyhow::Result<()> {
        self.deleted.get_or_init(now);
        insist("the claim is deleted", async || self.tenant.konflux().delete(&self.tenant.claim()).await)
            .await
    }
}

fn recorded(said: &[Said]) -> anyhow::Result<()> {
    ensure!(!said.is_empty(), "nothing of the claim was recorded: nobody knows what it was at any moment");
    Ok(())
}

fn witnessed(said: &[Said], end: End) -> anyhow::Result<()> {
    recorded(said)?;
    let last = match end {
        End::Stays => "Ready",
        End::TornDown => "Deprovisioned",
        End::Fails => "Failed",
        // It may have gone from any.
        End::Deleted | End::TornDownAndDeleted => return Ok(()),
    };
    let phases: Vec<&str> = said.iter().map(|said| said.phase.as_str()).collect();
    ensure!(phases.contains(&last), "that it was {last} was not recorded, but {phases:?}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_life_that_nobody_saw_is_noticed() {
        let said = |phases: &[&str]| -> Vec<Said> {
            phases.iter().map(|phase| Said { phase: (*phase).to_owned(), ..Said::default() }).collect()
        };
        for (end, phases) in [
            (End::Stays, vec!["", "Provisioning", "Ready"]),
            (End::TornDown, vec!["Ready", "Deprovisioned"]),
            (End::Fails, vec!["Provisioning", "Failed"]),
            (End::Deleted, vec![""]),
            (End::TornDownAndDeleted, vec!["Ready"]),
        ] {
            assert!(witnessed(&[], end).is_err(), "{end:?}");
            assert!(witnessed(&said(&phases), end).is_ok(), "{end:?}");
        }
        for end in [End::Stays, End::TornDown, End::Fails] {
            assert!(witnessed(&said(&["", "Provisioning"]), end).is_err(), "{end:?}");
        }
    }
}
