//! Using what was given.

use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf};

use anyhow::{Context as _, ensure};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use testplatform_tests::{
    cluster::at,
    kinds::SECRET,
    tenant::{KUBECONFIG, PASSWORD, decoded},
};

use super::{
    call::{Call, LONG},
    interrupted::with_kubectl,
    stage::Stage,
};

/// A Task with the step, and one that looks at what it wrote.
fn look(stage: &Stage<'_>, timeout: &str) -> Value {
    json!({
        "volumes": [{ "name": "secret-files", "emptyDir": {} }],
        "steps": [
            { "name": "get", "ref": { "name": "get-ephemeral-cluster-credentials" }, "params": [
                { "name": "secretRef", "value": stage.secret_name() },
                { "name": "credentials", "value": "secret-files" },
                { "name": "timeout", "value": timeout },
            ] },
            { "name": "look", "volumeMounts": [{ "name": "secret-files", "mountPath": "/elsewhere" }],
              "env": [
                { "name": "HERE", "value": "/elsewhere" },
                { "name": "KUBECONFIG_FILE", "value": "$(steps.get.results.kubeconfig)" },
                { "name": "PASSWORD_FILE", "value": "$(steps.get.results.passwordPath)" },
              ],
              "script": "printf 'kubeconfig %s, password %s, in %s\\n' \"$KUBECONFIG_FILE\" \"$PASSWORD_FILE\" \"$HERE\"" },
        ],
    })
}

pub async fn written_as_files(stage: &Stage<'_>) -> anyhow::Result<()> {
    let tenant = &stage.tenant;
    let secret = |kubeconfig: &str, password: &str| {
        json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": { "name": stage.secret_name(), "namespace": tenant.namespace },
            "data": {
                "kubeconfig": BASE64_STANDARD.encode(kubeconfig),
                "kubeAdminPassword": BASE64_STANDARD.encode(password),
            },
        })
    };
    let call = |timeout: &str| Call::spec(stage, "look", Ok(look(stage, timeout)));
    call("1").run(LONG).await?.with(1)?.saying("NotFound")?;
    // As after the end: the keys are there and empty.
    tenant.konflux().apply(&secret("", "")).await?;
    call("1").run(LONG).await?.with(1)?.saying("the cluster is not ready yet, or is gone")?;

    // It comes while it is waited for. The incumbent says ready half a minute before.
    let late = async {
        tokio::time::sleep(std::time::Duration::from_secs(2)).await;
        tenant.konflux().apply(&secret(KUBECONFIG, PASSWORD)).await
    };
    let (ended, _) = tokio::try_join!(call("30").run(LONG), late)?;
    let name = stage.secret_name();
    let ended = ended.with(0)?.saying(&format!("kubeconfig {name}-kubeconfig, password {name}-password"))?;
    let volume = ended.log.lines().find_map(|l| l.split_once(", in ")).context("where is it?")?.1.to_owned();
    for (file, content) in [("kubeconfig", KUBECONFIG), ("password", PASSWORD)] {
        let path = std::path::Path::new(&volume).join(format!("{name}-{file}"));
        ensure!(fs::read_to_string(&path)? == content, "{file} differs");
        let mode = fs::metadata(&path)?.permissions().mode() & 0o7777;
        ensure!(mode == 0o600, "{file} has mode {mode:o}");
    }
    ensure!(fs::read_dir(&volume)?.count() == 2, "there is more in {volume}");

    // Without a password there is no file of it.
    tenant.konflux().apply(&secret(KUBECONFIG, "")).await?;
    let ended = call("1").run(LONG).await?.with(0)?;
    ended
        .saying("The cluster has no password")?
        .saying(&format!("kubeconfig {name}-kubeconfig, password ,"))?;
    Ok(())
}

pub async fn secrets_copied(stage: &Stage<'_>) -> anyhow::Result<()> {
    let tenant = &stage.tenant;
    let (konflux, hub) = (tenant.konflux(), tenant.engine.hub.cluster());
    let target = "copied-secrets";
    // The hub stands for the cluster.
    let cluster = fs::read_to_string(tenant.engine.hub.kubeconfig())?;
    let labels = json!({ "test.example.com/copy": "true", "team": "a" });
    let made = |name: &str, type_: &str, labels: &Value, data: Value| {
        json!({
            "apiVersion": "v1", "kind": "Secret", "type": type_, "data": data,
            "metadata": { "name": name, "namespace": tenant.namespace, "labels": labels },
        })
    };
    let kubeconfig = json!({ "kubeconfig": BASE64_STANDARD.encode(&cluster) });
    let pull =
        json!({ ".dockerconfigjson": BASE64_STANDARD.encode(r#"{"auths":{"a":{"auth":"c2VjcmV0"}}}"#) });
    let bytes = json!({ "bytes": BASE64_STANDARD.encode([0u8, 255, 10, 13]), "empty": "" });
    konflux
        .apply_all(&[
            made(&stage.secret_name(), "connection.crossplane.io/v1alpha1", &labels, kubeconfig),
            made("pull", "kubernetes.io/dockerconfigjson", &labels, pull.clone()),
            made("bytes", "Opaque", &labels, bytes.clone()),
            made("unlabelled", "Opaque", &json!({}), bytes.clone()),
        ])
        .await?;
    let call = || {
        stage
            .task("copy-secrets-to-ephemeral-cluster")
            .with("clusterCredentialsSecretRef", &stage.secret_name())
            .with("namespace", target)
            .with("labelSelector", "test.example.com/copy=true")
    };
    // Twice: the second time everything is there.
    for tools in [&stage.tools.oc, &stage.tools.kubectl] {
        let ended = call().tools(tools).run(LONG).await?.with(0)?;
        let ended = ended.saying("secret/pull")?.saying("secret/bytes")?;
        let ended = ended.not_saying("unlabelled")?.not_saying(&stage.secret_name())?;
        ended.not_saying("c2VjcmV0")?.not_saying(pull[".dockerconfigjson"].as_str().unwrap_or_default())?;
    }
    for (name, type_, data) in
        [("pull", "kubernetes.io/dockerconfigjson", &pull), ("bytes", "Opaque", &bytes)]
    {
        let copy = hub.get(&at(SECRET, target, name)).await?.with_context(|| format!("{name} is missing"))?;
        ensure!(
            copy["data"] == *data && copy["type"] == type_,
            "{name} differs: {:?}",
            decoded(&copy).keys()
        );
        ensure!(copy["metadata"]["labels"] == labels, "{}", copy["metadata"]);
        ensure!(copy["metadata"]["annotations"].is_null(), "{}", copy["metadata"]);
    }
    ensure!(hub.get(&at(SECRET, target, "unlabelled")).await?.is_none(), "too much was copied");
    ensure!(hub.get(&at(SECRET, target, &stage.secret_name())).await?.is_none(), "the kubeconfig was copied");

    call().tools(&astray(stage)?).run(LONG).await?.with(0)?.saying("secret/pull")?;

    let cases = [
        ("labelSelector", " ", "would select every Secret"),
        ("labelSelector", "nobody=has-it", "no Secret of"),
        ("namespace", "a/../b", "parameter namespace"),
        ("clusterCredentialsSecretRef", "missing", "NotFound"),
    ];
    for (parameter, value, words) in cases {
        call().with(parameter, value).run(LONG).await?.with(1)?.saying(words)?;
    }
    Ok(())
}

/// A kubectl of which the first request of each kind is answered as where nobody knows what it asks for.
fn astray(stage: &Stage<'_>) -> anyhow::Result<PathBuf> {
    let script = r#"
case " $* " in
  *" get secret "*) asked=credentials ;;
  *" get secrets "*) asked=secrets ;;
  *" get namespace "*) asked=namespace ;;
  *" apply "*) asked=applied ;;
  *) exec "$REAL" "$@" ;;
esac
if [[ ! -e "$HOME/$asked" ]]; then
  : >"$HOME/$asked"
  echo "Error from server (NotFound): the server could not find the requested resource" >&2
  exit 1
fi
exec "$REAL" "$@"
"#;
    with_kubectl(stage, script)
}
