//! How a release comes to a HostedCluster, whoever made that.

use std::time::Duration;

use serde_json::Value;

use super::objects;
use crate::{
    cluster::{At, Cluster},
    hive::objects::text,
    player::Since,
};

/// Begins with the release that is asked for, and has brought it about `changing` later, once there are nodes for it. `seen`: the
/// HostedCluster as it was a moment ago.
pub(crate) async fn roll_out(
    hub: &Cluster,
    since: &mut Since,
    seen: &Value,
    place: &At,
    nodes: bool,
    changing: Duration,
) -> anyhow::Result<()> {
    let newest = &seen["status"]["version"]["history"][0];
    if newest["state"] == "Completed" && newest["image"] == seen["spec"]["release"]["image"] {
        return Ok(());
    }
    let Some(mut cluster) = hub.get(place).await? else { return Ok(()) };
    let image = text(&cluster, "/spec/release/image").to_owned();
    let newest = &cluster["status"]["version"]["history"][0];
    if newest["image"] != image.as_str() {
        since.ended("rolling out", place.name());
        cluster["status"]["version"] = objects::begins(&cluster, &image);
        return Ok(hub.replace_status(place, &cluster).await?);
    }
    if newest["state"] == "Partial" && nodes && since.over("rolling out", place.name(), changing) {
        cluster["status"]["version"] = objects::completes(&cluster);
        hub.replace_status(place, &cluster).await?;
    }
    Ok(())
}
