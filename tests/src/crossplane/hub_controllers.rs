//! Controllers of the hub, and our own beside the claims: each starts with the first scenario that needs it.

use serde_json::{Value, json};

use super::{BEHIND, Engine, PATIENCE, POOL_COMPOSITION, POOL_XRD_NAME};
use crate::{
    caas::{self, Caas},
    carrier, cleaner,
    cluster::{at_root, has},
    cluster_api::{self, ClusterApi, ClusterApiManagers, FakeClusterApi},
    flavour,
    hub::{
        self,
        another::{AnotherHub, WEST},
    },
    hypershift::{self, HyperShift},
    keystone::Keystone,
    kinds::{CRD, XRD},
    manifests,
    osac::{self, Osac},
    space,
};

impl Engine {
    /// The Composition of those claims that an actor fulfils on the hub. Not there from the start, because a claim that names
    /// no Composition gets any that there is.
    pub async fn act(&self) -> anyhow::Result<()> {
        let compose = async || {
            let credential = hub::issue(&self.hub, hub::IDENTITY, hub::ACTED).await?;
            let input = json!({ "namespace": hub::ACTED, "credentialsNamespace": hub::ACTED });
            self.own(hub::ACTED, &credential, &input).await
        };
        self.acted.get_or_try_init(compose).await?;
        Ok(())
    }

    /// Makes the hub one on which HyperShift makes clusters by a template that everybody may use: the one that we ship as an example.
    pub async fn host(&self) -> anyhow::Result<&HyperShift> {
        let begin = async || {
            self.offer_by_template(hypershift::BACKEND, &hypershift::template()?).await?;
            anyhow::Ok(HyperShift::start(self.hub.cluster()))
        };
        self.hosted.get_or_try_init(begin).await
    }

    /// As [`Self::host`], with Cluster API: the real one, if the engine was started with it.
    pub async fn cluster_api(&self) -> anyhow::Result<&ClusterApi> {
        let begin = async || {
            let started = match &self.cluster_api_programs {
                Some(programs) => ClusterApi::Real(
                    Box::pin(ClusterApiManagers::start(programs, &self.nest, &self.hub)).await?,
                ),
                None => ClusterApi::Fake(FakeClusterApi::start(self.hub.cluster())),
            };
            self.offer_by_template(cluster_api::BACKEND, &cluster_api::template()?).await?;
            anyhow::Ok(started)
        };
        self.cluster_api.get_or_try_init(begin).await
    }

    /// The fake of Cluster API, for scenarios that hold it at a step.
    pub async fn fake_cluster_api(&self) -> anyhow::Result<&FakeClusterApi> {
        self.cluster_api().await?.fake()
    }

    /// The other hub, which the first to ask for it starts. No ProviderConfig leads to it but those of scenarios' own.
    pub async fn another_hub(&self) -> anyhow::Result<&AnotherHub> {
        let begin = async || {
            let hub = Box::pin(AnotherHub::start(&self.binaries, &self.recorder)).await?;
            self.use_credential(WEST, &hub.credential).await?;
            anyhow::Ok(hub)
        };
        self.another_hub.get_or_try_init(begin).await
    }

    /// As [`Self::host`], with OSAC.
    pub async fn orders(&self) -> anyhow::Result<&Osac> {
        let begin = async || {
            self.offer_by_template(osac::BACKEND, &osac::template()?).await?;
            anyhow::Ok(Osac::start(self.hub.cluster()))
        };
        self.orders.get_or_try_init(begin).await
    }

    /// As [`Self::host`], with CaaS, whose chart makes clusters of HyperShift's.
    pub async fn instances(&self) -> anyhow::Result<&Caas> {
        let begin = async || {
            self.host().await?;
            self.offer_by_template(caas::BACKEND, &caas::template()?).await?;
            Caas::start(self.hub.cluster()).await
        };
        self.instances.get_or_try_init(begin).await
    }

    /// The identity service of a cloud, with nobody in it at first. Few scenarios need it.
    pub async fn identities(&self) -> anyhow::Result<&Keystone> {
        self.identities.get_or_try_init(Keystone::start).await
    }

    /// Lets spaces be asked for: their definition, Composition, rights on the hub and the way there. Few scenarios need them.
    pub async fn serve_spaces(&self) -> anyhow::Result<()> {
        self.spaces.get_or_try_init(|| space::serve(self)).await?;
        Ok(())
    }

    /// Lets claims bring their own credentials: the carrier beside them, and its rights on either side. Few scenarios need it.
    pub async fn carry(&self) -> anyhow::Result<()> {
        self.carrier.get_or_try_init(|| carrier::start(&self.nest, &self.konflux, &self.hub)).await?;
        Ok(())
    }

    /// Lets claims be torn down when the runs that own them are over: Tekton's kinds, and who looks at them. Few scenarios need it.
    pub async fn clean_up(&self) -> anyhow::Result<()> {
        self.cleaner.get_or_try_init(|| cleaner::start(&self.nest, &self.konflux)).await?;
        Ok(())
    }

    async fn offer_by_template(&self, backend: &str, template: &Value) -> anyhow::Result<()> {
        for rights in ["hub-facts", backend] {
            let path = format!("install/hub/konflux-identity-{rights}-rbac.yaml");
            self.hub.cluster().apply_all(&manifests::package(&path)?).await?;
        }
        let konflux = self.konflux.cluster();
        let config = hypershift::provider_config(BEHIND)?;
        konflux.apply(&flavour::for_namespaces(config.clone())).await?;
        konflux.apply(&config).await?;
        konflux.apply(template).await.map(|_| ())
    }

    /// Lets pools be kept in Git: their definition and Composition. Few scenarios need them.
    pub async fn keep_pools(&self) -> anyhow::Result<()> {
        let konflux = self.konflux.cluster();
        let define = async || {
            konflux.apply(&manifests::package_one(&format!("xrds/{POOL_XRD_NAME}.yaml"))?).await?;
            konflux.apply(&manifests::package_one(&format!("compositions/{POOL_COMPOSITION}.yaml"))?).await?;
            let established = |it: &Value| has(it, "Established", "True", "");
            for kind in [XRD, CRD] {
                let definition = at_root(kind, POOL_XRD_NAME);
                konflux.until_is(&definition, PATIENCE, "established", established).await?;
            }
            self.until_revised(POOL_COMPOSITION).await
        };
        self.pooled.get_or_try_init(define).await?;
        Ok(())
    }
}
