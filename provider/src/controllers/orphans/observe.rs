//! Lists both sides. The hubs come first: an object that is listed there had its composite before, so its owner is in the listing that follows.

use k8s_openapi::api::core::v1::Namespace;
use kube::{
    Api, Client,
    api::DynamicObject,
    core::{ApiResource, GroupVersionKind},
};
use testplatform_apis::{
    claim::{COMPOSITE_KIND, COMPOSITE_PLURAL, GROUP, VERSION},
    foreign::object::{API_VERSION, KIND, NAMESPACED_API_VERSION},
    test_cluster,
};
use testplatform_runtime::{
    error::{Cause, Reason, is_forbidden},
    lookup::get_metadata_opt,
};

use super::{
    listing::{ObjectPart, list_objects, list_served},
    owners::{Owners, RemoteOwner},
    placements::{Placements, read_manifest},
    plan::{HubRemotes, KonfluxState},
    remote::RemoteObject,
};
use crate::{
    config::{Carried, OrphanHub, Orphans},
    sparse_object::PartialObject,
};

/// The namespace whose uid is that of the cluster.
pub const CLUSTER_NAMESPACE: &str = "kube-system";
/// Plural of Objects.
pub const OBJECTS: &str = "objects";

/// Group and version of Objects, of claims and of composites in namespaces.
pub(super) fn object_resource(api_version: &str) -> ApiResource {
    let (group, version) = api_version.split_once('/').unwrap_or_default();
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, KIND), OBJECTS)
}

/// The composites of a flavour.
pub(super) fn composite_resource(flavour: Carried) -> ApiResource {
    let (kind, plural) = match flavour {
        Carried::Claims => (COMPOSITE_KIND, COMPOSITE_PLURAL),
        Carried::TestClusters => (test_cluster::KIND, test_cluster::PLURAL),
    };
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(GROUP, VERSION, kind), plural)
}

/// The Objects of a flavour.
const fn objects_of(flavour: Carried) -> &'static str {
    match flavour {
        Carried::Claims => API_VERSION,
        Carried::TestClusters => NAMESPACED_API_VERSION,
    }
}

const FLAVOURS: [Carried; 2] = [Carried::Claims, Carried::TestClusters];

/// Lists one hub.
pub(super) async fn observe_hub(hub: &str, of: &OrphanHub, client: Result<Client, Cause>) -> HubRemotes {
    let remotes = async {
        let client = client?;
        for namespace in &of.namespaces {
            check_namespace(&client, hub, namespace).await?;
        }
        let mut remotes = Vec::new();
        for kind in &of.kinds {
            let namespaces: Vec<Option<&str>> = match of.namespaces.as_slice() {
                [] => vec![None],
                some => some.iter().map(|namespace| Some(namespace.as_str())).collect(),
            };
            for namespace in namespaces {
                let read =
                    |object: PartialObject| remotes.extend(RemoteObject::read(hub, *kind, &object.metadata));
                list_served(&client, &kind.resource(), namespace, ObjectPart::Metadata, read).await?;
            }
        }
        Ok(remotes)
    };
    HubRemotes { hub: hub.to_owned(), remotes: remotes.await.map_err(|cause: Cause| cause.message) }
}

/// Lists the Konflux cluster. Manifests are read only where a marked remote object has no owner by metadata, or where no placements are known.
pub(super) async fn observe_konflux(
    client: &Client,
    config: &Orphans,
    hubs: &[HubRemotes],
    known: Option<Placements>,
) -> Result<KonfluxState, Cause> {
    let name = cluster_name(client, &config.environment_config).await?;
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let found = get_metadata_opt(&namespaces, CLUSTER_NAMESPACE).await;
    let found = found.map_err(|error| Cause::from(error).at("cannot read namespace kube-system"))?;
    let uid = found.and_then(|namespace| namespace.metadata.uid).unwrap_or_default();
    if uid.is_empty() {
        return Err(Cause::new(Reason::NotFound, "namespace kube-system has no uid"));
    }
    let mut konflux =
        KonfluxState { name, uid, owners: Owners::default(), placements: Placements::default() };
    for flavour in FLAVOURS {
        let is_required = config.flavours.contains(&flavour);
        let (composites, objects) = (composite_resource(flavour), object_resource(objects_of(flavour)));
        let owners = &mut konflux.owners;
        list(client, &composites, ObjectPart::Metadata, is_required, |it| owners.add_composite(&it.metadata))
            .await?;
        list(client, &objects, ObjectPart::Metadata, is_required, |it| owners.add_object(&it.metadata))
            .await?;
    }
    let (is_known, needs_owners) = (known.is_some(), has_unowned(&konflux, hubs));
    konflux.placements = known.unwrap_or_default();
    if needs_owners || !is_known {
        match list_manifests(client, config, &mut konflux, !is_known).await {
            Err(cause) if needs_owners => return Err(cause),
            // Only the check of the namespaces needs them.
            Err(cause) => {
                tracing::warn!(error = cause.message, "orphans.hubs not compared with the Objects");
            }
            Ok(()) => {}
        }
    }
    Ok(konflux)
}

/// Reads the manifests of all Objects.
async fn list_manifests(
    client: &Client,
    config: &Orphans,
    konflux: &mut KonfluxState,
    adds_placements: bool,
) -> Result<(), Cause> {
    for flavour in FLAVOURS {
        let is_required = config.flavours.contains(&flavour);
        let resource = object_resource(objects_of(flavour));
        let KonfluxState { owners, placements, .. } = konflux;
        let add = |object: PartialObject| {
            let Some((kind, namespace, name)) = read_manifest(&object) else { return };
            owners.add_manifest(&object.metadata, kind, namespace, name);
            if adds_placements {
                placements.add_object(&object);
            }
        };
        list(client, &resource, ObjectPart::Everything, is_required, add).await?;
    }
    Ok(())
}

async fn list(
    client: &Client,
    resource: &ApiResource,
    part: ObjectPart,
    is_required: bool,
    on: impl FnMut(PartialObject),
) -> Result<(), Cause> {
    if is_required {
        return list_served(client, resource, None, part, on).await;
    }
    // A flavour that is not configured owns its remote objects too, where it is installed.
    list_objects(client, resource, None, part, on).await.map(|_| ())
}

fn has_unowned(konflux: &KonfluxState, hubs: &[HubRemotes]) -> bool {
    let mut remotes = hubs.iter().filter_map(|hub| hub.remotes.as_ref().ok()).flatten();
    remotes.any(|remote| {
        remote.is_of(&konflux.name) && konflux.owners.owner(remote) != Some(RemoteOwner::Composite)
    })
}

/// Complains about a namespace that does not exist: its list is empty, and no orphan would ever be found. An identity without the right to read
/// it is believed.
async fn check_namespace(client: &Client, hub: &str, name: &str) -> Result<(), Cause> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    match get_metadata_opt(&namespaces, name).await {
        Ok(Some(_)) => Ok(()),
        Ok(None) => {
            let sentence =
                format!("namespace {name} does not exist there: correct orphans.hubs.{hub}.namespaces");
            Err(Cause::new(Reason::NotFound, sentence))
        }
        Err(error) if is_forbidden(&error) => Ok(()),
        Err(error) => Err(Cause::from(error).at(&format!("cannot read namespace {name}"))),
    }
}

/// The name by which the function marks remote objects.
async fn cluster_name(client: &Client, environment_config: &str) -> Result<String, Cause> {
    let kind = GroupVersionKind::gvk("apiextensions.crossplane.io", "v1beta1", "EnvironmentConfig");
    let resource = ApiResource::from_gvk_with_plural(&kind, "environmentconfigs");
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let what = format!("EnvironmentConfig {environment_config}");
    let found = api.get(environment_config).await;
    let found = found.map_err(|error| Cause::from(error).at(&format!("cannot read {what}")))?;
    let name = found.data["data"]["clusterName"].as_str().unwrap_or_default();
    if name.is_empty() {
        return Err(Cause::new(Reason::NotFound, format!("{what} names no cluster: set data.clusterName")));
    }
    Ok(name.to_owned())
}
