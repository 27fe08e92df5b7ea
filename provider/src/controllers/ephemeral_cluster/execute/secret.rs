//! Secrets: the published one on the hub, and the signal on a build cluster.

use k8s_openapi::{api::core::v1::Secret, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube::{Api, Resource as _};
use testplatform_apis::names::ci_operator;
use testplatform_runtime::{
    apply::create_params,
    error::{Cause, already_exists},
};

use super::{Executor, Reached};
use crate::{
    controllers::ephemeral_cluster::object::EphemeralCluster,
    credentials::{
        Credentials,
        account::revoke_tokens,
        secret::{SecretContent, write},
    },
};

impl Executor {
    pub(super) async fn publish(
        &self,
        object: &EphemeralCluster,
        credentials: &Credentials,
    ) -> Result<(), Cause> {
        let owned = ObjectMeta {
            name: Some(object.secret_name()),
            owner_references: object.controller_owner_ref(&()).map(|owner| vec![owner]),
            ..ObjectMeta::default()
        };
        write(&self.hub.secrets(), owned, &SecretContent::of(credentials), |secret| ours(secret, object))
            .await
    }

    pub(super) async fn withdraw(&self, object: &EphemeralCluster) -> Result<(), Cause> {
        let name = object.secret_name();
        let uid = |secret: &ObjectMeta| ours(secret, object).is_ok().then(|| object.uid().to_owned());
        revoke_tokens(&self.callers, &self.hub.secrets(), &self.hub.secrets_metadata(), &name, uid).await
    }

    pub(super) async fn signal(&self, cluster: &str, namespace: &str) -> Result<(), Cause> {
        let Reached { client, leave: _leave } = (self.reach)(cluster)?;
        let secrets: Api<Secret> = Api::namespaced(client, namespace);
        let signal = Secret {
            metadata: ObjectMeta {
                name: Some(ci_operator::SIGNAL.into()),
                namespace: Some(namespace.into()),
                ..ObjectMeta::default()
            },
            type_: Some("Opaque".into()),
            ..Secret::default()
        };
        match secrets.create(&create_params(), &signal).await {
            Err(error) if already_exists(&error) => Ok(()),
            other => Ok(other.map(|_| ())?),
        }
    }
}

/// Checks that an object controls a Secret; the error is a sentence that names the actual owner.
pub fn ours(secret: &ObjectMeta, object: &EphemeralCluster) -> Result<(), String> {
    let name = secret.name.as_deref().unwrap_or_default();
    let controller = secret.owner_references.iter().flatten().find(|owner| owner.controller == Some(true));
    match controller {
        Some(owner) if owner.uid == object.uid() => Ok(()),
        Some(owner) => {
            Err(format!("Secret {name} belongs to {} {} (uid {})", owner.kind, owner.name, owner.uid))
        }
        None => Err(format!("Secret {name} belongs to nobody, and was not made for this EphemeralCluster")),
    }
}
