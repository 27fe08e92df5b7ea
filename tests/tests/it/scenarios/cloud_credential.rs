//! A credential of the cloud for one cluster alone: there before it, rotated under it, and gone after it. The identity service is played over HTTPS.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use testplatform_apis::{
    cloud::{self, CLOUDS},
    names::ours,
};
use testplatform_tests::{
    cluster::{At, SOON, at, has},
    cluster_api::{self, topology},
    hypershift::CLUSTERS,
    keystone::{CLOUD, ISSUERS, Keystone},
    kinds::{CONFIG_MAP, SECRET},
    patience,
    search::{Marks, Place},
    tenant::{Tenant, decoded},
};

use super::{canary::lies_in, hive::GONE, templates::Entry};

/// The variable of the class that takes the name of the Secret.
const VARIABLE: &str = "cloudCredentialsSecret";
fn secret(name: &str) -> At {
    at(SECRET, CLUSTERS, &format!("{name}{}", cloud::SUFFIX))
}

fn order(name: &str) -> At {
    at(CONFIG_MAP, CLUSTERS, &format!("{name}{}", cloud::SUFFIX))
}

/// Id and secret of the credential that a Secret has.
fn credential(of: &Value) -> Option<(String, String)> {
    let files = decoded(of);
    let file: Value = serde_saphyr::from_str(files.get(CLOUDS)?).ok()?;
    let auth = &file["clouds"][CLOUD]["auth"];
    let part = |key: &str| auth[key].as_str().map(str::to_owned);
    Some((part("application_credential_id")?, part("application_credential_secret")?))
}

/// Ids of the credentials of a user.
fn of_user(identities: &Keystone, user: &str) -> Vec<String> {
    let all = identities.credentials().into_iter();
    all.filter(|(_, (_, of))| of == user).map(|(id, _)| id).collect()
}

async fn until_only(identities: &Keystone, user: &str, ids: &[String]) -> anyhow::Result<()> {
    let only = async {
        while of_user(identities, user) != ids {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    let ended = patience::timeout(GONE, only).await;
    ended.with_context(|| format!("wanted {ids:?}: {:?}", of_user(identities, user)))
}

/// The cloud's secrets are in their place and nowhere else: the credential in its Secret, the password in that of the issuer. Tokens, and
/// a credential that was replaced, are nowhere.
async fn lies_as_it_has_to(
    tenant: &Tenant<'_>,
    identities: &Keystone,
    moment: &str,
    (name, given): (&str, &str),
) -> anyhow::Result<()> {
    const CREDENTIAL: &str = "the credential";
    const ELSE: &str = "what else is secret of the user";
    let user = tenant.namespace.as_str();
    let named = |secret: String| (if secret == given { CREDENTIAL } else { ELSE }, secret);
    let marks = Marks::new(identities.secrets_of(user).into_iter().map(named))?;
    let expected = [(CREDENTIAL, secret(name)), (ELSE, at(SECRET, ISSUERS, user))];
    let expected = expected.map(|(what, at)| (what, vec![Place::secret("hub", &at, CLOUDS)]));
    lies_in(tenant, &marks, moment, &expected).await.map(drop)
}

pub async fn cluster_api_cloud_credential(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let (konflux, hub) = (tenant.konflux(), tenant.engine.hub.cluster());
    let player = tenant.engine.fake_cluster_api().await?;
    let identities = tenant.engine.identities().await?;
    let user = tenant.namespace.as_str();
    let mut entry = Entry::new(tenant, cluster_api::template()?, "");
    let own = json!({ "cloud": CLOUD, "variable": VARIABLE, "roles": ["member"], "lifetime": "24h" });
    entry.offer(|data| data["backendRef"]["cloudCredential"] = own).await?;
    tenant.ask(&json!({ "template": entry.name() })).await?;
    let name = tenant.composite().await?;

    // Nobody issues for the tenant yet: it is told, and no cluster is paid for.
    let told = |claim: &Value| {
        has(claim, "PlatformCredentialsValid", "False", "OwnerInvalid")
            && has(claim, "RequestAccepted", "False", "PlatformCredentialsNotReady")
    };
    let claim = tenant.until(GONE, "told that nobody issues", told).await?;
    ensure!(claim["status"]["phase"] == "Pending", "{claim}");
    ensure!(hub.get(&topology(&name)).await?.is_none(), "asked for without a credential");
    identities.enter(user, &["member", "reader"]);
    hub.apply(&identities.issuer_in(ISSUERS, user, user, None)).await?;
    let cluster = hub.until_is(&topology(&name), GONE, "asked for", |_| true).await?;
    let variables = cluster["spec"]["topology"]["variables"].clone();
    let named = json!({ "name": VARIABLE, "value": format!("{name}{}", cloud::SUFFIX) });
    ensure!(variables.as_array().is_some_and(|all| all.contains(&named)), "{variables}");
    let published = hub.get(&secret(&name)).await?.context("asked for before the Secret was there")?;
    let (first, given) = credential(&published).context("no credential in the Secret")?;
    ensure!(identities.takes(&first, &given), "it does not work");
    ensure!(identities.roles(&first) == ["member".to_owned()].into(), "{:?}", identities.roles(&first));
    tenant.until(GONE, "Ready", |claim| claim["status"]["phase"] == "Ready").await?;
    let well = |claim: &Value| {
        has(claim, "PlatformCredentialsValid", "True", "Valid") && has(claim, "RequestAccepted", "True", "")
    };
    tenant.until(GONE, "well", well).await?;
    // The claim is told by status first, and given the Secret next.
    let there = |secret: &Value| decoded(secret).contains_key("kubeconfig");
    konflux.until_is(&tenant.secret(), SOON, "given", there).await?;
    lies_as_it_has_to(tenant, identities, "ready", (&name, &given)).await?;

    // Rotated in place: no machine is rolled, and the one before goes later.
    let before = hub.get(&topology(&name)).await?.context("no cluster")?["metadata"]["generation"].clone();
    let again = json!({ "metadata": { "annotations": { ours::CLOUD_CREDENTIAL_GENERATION: "1" } } });
    konflux.merge(&tenant.claim(), &again).await?;
    let another = |secret: &Value| credential(secret).is_some_and(|(id, _)| id != first);
    let rotated = hub.until_is(&secret(&name), GONE, "rotated", another).await?;
    ensure!(rotated["metadata"]["uid"] == published["metadata"]["uid"], "it is another Secret");
    let (second, given) = credential(&rotated).context("no credential in the Secret")?;
    ensure!(identities.takes(&second, &given), "the second does not work");
    until_only(identities, user, std::slice::from_ref(&second)).await?;
    tenant.until(GONE, "well", well).await?;
    let cluster = hub.get(&topology(&name)).await?.context("no cluster")?;
    ensure!(cluster["metadata"]["generation"] == before, "the cluster was changed by it: {cluster}");
    lies_as_it_has_to(tenant, identities, "rotated", (&name, &given)).await?;

    // It works until the cluster that goes by it is gone, also where nobody asks the function any more.
    player.hold_end(&name, 0);
    let composite = tenant.composite_at().await?;
    konflux.delete(&tenant.claim()).await?;
    let going = |c: Option<&Value>| c.is_some_and(|c| c["metadata"]["deletionTimestamp"].is_string());
    hub.until(&topology(&name), GONE, "being deleted", going).await?;
    hub.until(&order(&name), SOON, "being deleted", going).await?;
    tokio::time::sleep(Duration::from_secs(5)).await;
    ensure!(identities.takes(&second, &given), "its credential went before the cluster");
    let kept = hub.get(&secret(&name)).await?.and_then(|secret| credential(&secret));
    ensure!(kept == Some((second, given)), "what was published went before the cluster");
    player.let_go(&name);
    hub.until_gone(&topology(&name), GONE).await?;
    until_only(identities, user, &[]).await?;
    for at in [secret(&name), order(&name)] {
        hub.until_gone(&at, GONE).await?;
    }
    konflux.until_gone(&composite, GONE).await?;
    hub.delete(&at(SECRET, ISSUERS, user)).await?;
    konflux.delete(&entry.at()).await
}
