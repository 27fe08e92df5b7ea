//! The claims of a run: made, and ended, at their times, by tenants who try again.

use serde_json::json;
use tokio::time::{Instant, sleep_until};

use super::{
    field::insist,
    plan::{End, Wish},
    world::Expected,
};
use crate::{
    actors::Fulfilled,
    crossplane::Engine,
    hive::objects,
    prow::playing::{Order, Prow},
    search::unique,
    tenant::{PASSWORD, Tenant},
};

/// A claim and its tenant.
pub struct Life<'e> {
    /// Its tenant, who has no other.
    pub tenant: Tenant<'e>,
    wish: Wish,
    token: String,
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
        let token = unique();
        if wish.by == Fulfilled::ByProvider {
            let kubeconfig = objects::kubeconfig(scenario, &token);
            prow.order(&tenant.namespace, Order { kubeconfig, password: PASSWORD.to_owned(), fails: false });
        }
        Ok(Self { tenant, wish: wish.clone(), token })
    }

    /// What is to have become of it.
    pub fn expected(&self) -> Expected {
        Expected {
            namespace: self.tenant.namespace.clone(),
            name: self.tenant.name.clone(),
            by: self.wish.by,
            end: self.wish.end,
            token: self.token.clone(),
        }
    }

    /// Lives it, beginning then.
    pub async fn live(&self, begun: Instant, prow: &Prow) -> anyhow::Result<()> {
        sleep_until(begun + self.wish.at).await;
        insist("the claim is made", async || {
            match self.tenant.konflux().create(&self.tenant.manifest(&json!({}))).await {
                // The answer to an earlier try was lost.
                Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
                other => Ok(other.map(|_| ())?),
            }
        })
        .await?;
        sleep_until(begun + self.wish.end_at).await;
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

    /// Deletes the claim. None there is fine.
    pub async fn delete(&self) -> anyhow::Result<()> {
        insist("the claim is deleted", async || self.tenant.konflux().delete(&self.tenant.claim()).await)
            .await
    }
}
