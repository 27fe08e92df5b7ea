//! An earlier step of the pipeline that leaves our function no room: with its own words the answer would be longer than the 4 MiB that
//! core receives from a function.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use function_testplatform::serve::{
    self, Address, Config, MAX_RESPONSE_BYTES, Security, Server, metrics::Metrics,
};
use prost::bytes::Bytes;
use serde_json::{Value, json};
use testplatform_composites::sdk::{
    proto::{ResponseMeta, RunFunctionRequest, RunFunctionResponse},
    wire,
};
use tokio::task::JoinHandle;

use super::field::{Field, insist};
use crate::{
    actors::now,
    cluster::{at_root, condition},
    crossplane::{Engine, composition},
    function::Function,
    hive::objects::text,
    kinds::{COMPOSITE, COMPOSITION},
};

/// Name of the function, and of its step.
const NAME: &str = "ballast";
/// Bytes left for the steps after it: less than our function writes for any claim.
const ROOM: usize = 512;

/// The function, played in this process. It is there all the time, and called only by the Composition that names it.
pub(super) struct Ballast(JoinHandle<()>);

impl Ballast {
    /// Serves it, and tells core where.
    pub(super) async fn start(engine: &Engine) -> anyhow::Result<Self> {
        let function = Function::new(NAME, engine.nest(), engine.authority())?;
        let address = |port: u16| -> anyhow::Result<Address> {
            format!("127.0.0.1:{port}").parse().map_err(|error: String| anyhow::anyhow!(error))
        };
        let config = Config {
            address: address(function.port())?,
            admin_address: address(function.admin_port())?,
            security: Security::Mutual(function.certificates().to_owned()),
            max_recv_message_size: 64 << 20,
            max_connection_age: None,
            shutdown_timeout: Duration::ZERO,
        };
        let context = wire::to_struct(&json!({ "testbed/ballast": "x".repeat(MAX_RESPONSE_BYTES - ROOM) }))?;
        let handler = move |request: &RunFunctionRequest, _| answer(request, &context);
        let ballast = serve::Function::with_handler(handler, now, Metrics::default());
        let server = Server::bind(config, ballast).await?;
        let serving = tokio::spawn(async move {
            // It ends with the campaign, or the fault cannot be done, which is noticed.
            let _ = server.run(std::future::pending()).await;
        });
        function.register(engine.konflux.cluster()).await?;
        Ok(Self(serving))
    }
}

impl Drop for Ballast {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn answer(request: &RunFunctionRequest, context: &Bytes) -> RunFunctionResponse {
    let tag = request.meta.as_ref().map(|meta| meta.tag.clone()).unwrap_or_default();
    RunFunctionResponse {
        meta: Some(ResponseMeta { tag, ttl: None }),
        desired: request.desired.clone(),
        context: Some(context.clone()),
        ..RunFunctionResponse::default()
    }
}

impl Field {
    /// Puts the step before ours. It is done when core was told that nothing can be done.
    pub(super) async fn weigh_down(&self) -> anyhow::Result<()> {
        let ours = composition()?["spec"]["pipeline"].clone();
        let step = json!({ "step": NAME, "functionRef": { "name": NAME } });
        let steps: Vec<&Value> = [&step].into_iter().chain(ours.as_array().into_iter().flatten()).collect();
        self.compose(&json!(steps)).await?;
        insist("core is told that an answer is too long", async || {
            let composites = self.engine.konflux.cluster().list(COMPOSITE).await?;
            ensure!(composites.iter().any(is_told), "of {} composites none", composites.len());
            Ok(())
        })
        .await
    }

    /// Takes it away.
    pub(super) async fn lighten(&self) -> anyhow::Result<()> {
        self.compose(&composition()?["spec"]["pipeline"]).await
    }

    async fn compose(&self, pipeline: &Value) -> anyhow::Result<()> {
        let composition = composition()?;
        let composition = at_root(COMPOSITION, text(&composition, "/metadata/name"));
        let steps = json!({ "spec": { "pipeline": pipeline } });
        insist("the Composition has those steps", async || {
            self.engine.konflux.cluster().merge(&composition, &steps).await.context("it is refused")
        })
        .await
    }
}

/// `true` if our step is the one that had no room.
fn is_told(composite: &Value) -> bool {
    let words = condition(composite, "Synced").map_or("", |synced| text(synced, "/message"));
    words.contains("step \"testplatform\"") && words.contains("Crossplane receives at most")
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::*;

    /// Or it would be refused itself, and our function never be called.
    #[test]
    fn it_is_received_and_leaves_little_room() {
        let context =
            wire::to_struct(&json!({ "testbed/ballast": "x".repeat(MAX_RESPONSE_BYTES - ROOM) })).unwrap();
        let meta =
            testplatform_composites::sdk::proto::RequestMeta { tag: "t".repeat(64), ..Default::default() };
        let request = RunFunctionRequest { meta: Some(meta), ..RunFunctionRequest::default() };
        let bytes = answer(&request, &context).encoded_len();
        assert!((MAX_RESPONSE_BYTES - ROOM..MAX_RESPONSE_BYTES).contains(&bytes), "{bytes}");
    }

    #[test]
    fn only_our_own_words_are_told() {
        let said = |words: &str| json!({ "status": { "conditions": [{ "type": "Synced", "status": "False", "message": words }] } });
        let long = "returned a fatal result: the response has 4194400 bytes, 4193800 of them from earlier \
                    steps of the pipeline; Crossplane receives at most 4194304, so nothing was changed";
        assert!(is_told(&said(&format!("cannot compose resources: pipeline step \"testplatform\" {long}"))));
        assert!(!is_told(&said(&format!("cannot compose resources: pipeline step \"ballast\" {long}"))));
        assert!(!is_told(&said("pipeline step \"testplatform\" returned a fatal result: another")));
        assert!(!is_told(&json!({})));
    }
}
