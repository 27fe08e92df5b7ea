//! One look at one cluster.

use std::{sync::Mutex, time::Duration};

use provider_testplatform::manifests::apply::{
    ApplyError, ApplyErrorReason, ApplyProgress, GuestCluster, apply_bundles, describe_object,
};
use serde_json::{Value, json};
use testplatform_apis::bundle::Bundle;
use tokio::time::Instant;

use crate::bundles::model::order;

/// Answers with what it is given, and knows in which order.
struct Echo<F>(Mutex<Vec<String>>, F);

impl<F: Fn(&Value) -> Result<Value, ApplyError> + Sync> GuestCluster for Echo<F> {
    async fn apply_manifest(&self, object: &Value) -> Result<Value, ApplyError> {
        self.0.lock().unwrap().push(describe_object(object));
        (self.1)(object)
    }
}

fn bundles() -> Vec<Bundle> {
    serde_json::from_value(order(2, 0)["postInstall"].take()).unwrap()
}

async fn look(
    from: usize,
    answer: impl Fn(&Value) -> Result<Value, ApplyError> + Sync,
    time: Duration,
) -> (ApplyProgress, Vec<String>) {
    let echo = Echo(Mutex::default(), answer);
    let looked = apply_bundles(&bundles(), from, &echo, Instant::now() + time).await;
    (looked, echo.0.into_inner().unwrap())
}

const LONG: Duration = Duration::from_mins(1);

fn status(object: &Value, ready: &Value) -> Value {
    let mut there = object.clone();
    there["status"] = json!({ "ready": ready });
    there
}

#[tokio::test]
async fn everything_in_its_order() {
    let (looked, calls) = look(0, |object| Ok(status(object, &true.into())), LONG).await;
    assert_eq!(looked, ApplyProgress::All);
    assert_eq!(calls, ["First ns/after-0", "Second ns/after-0", "First ns/after-1", "Second ns/after-1"]);
    let (looked, calls) = look(1, |object| Ok(status(object, &true.into())), LONG).await;
    assert_eq!((looked, calls.len()), (ApplyProgress::All, 2));
}

#[tokio::test]
async fn bundles_stop_at_the_first_unready_object() {
    for (ready, why) in
        [(json!(false), "NotReady"), (Value::Null, "NotReady"), (json!("yes"), "InvalidExpression")]
    {
        let (looked, calls) = look(0, |object| Ok(status(object, &ready)), LONG).await;
        let ApplyProgress::At(0, stop) = looked else { panic!("{looked:?}") };
        assert_eq!((stop.object.as_deref(), &*stop.why.reason), (Some("Second ns/after-0"), why));
        assert_eq!(calls.len(), 2);
    }
}

#[tokio::test]
async fn refusal_ends_the_pass_and_is_redacted() {
    let refused = |_: &Value| {
        Err(ApplyError::from_response(422, "Inva lid\n", &format!("password=x{}", "y ".repeat(999))))
    };
    let (looked, calls) = look(0, refused, LONG).await;
    let ApplyProgress::At(0, stop) = looked else { panic!("{looked:?}") };
    assert_eq!((&*stop.why.reason, calls.len()), (ApplyErrorReason::Refused.as_str(), 1));
    assert!(stop.why.message.starts_with("password=[…]") && stop.why.message.chars().count() <= 256);
}

#[tokio::test]
async fn a_look_has_its_time() {
    let (looked, calls) = look(0, |object| Ok(status(object, &true.into())), Duration::ZERO).await;
    let ApplyProgress::At(0, stop) = looked else { panic!("{looked:?}") };
    assert_eq!((&*stop.why.reason, calls.len()), (ApplyErrorReason::Unreachable.as_str(), 0));
}

#[tokio::test]
async fn too_large_object_delays_nobody() {
    let began = Instant::now();
    let (looked, _) = look(0, |object| Ok(status(object, &json!(vec![1; 60_000]))), LONG).await;
    let ApplyProgress::At(0, stop) = looked else { panic!("{looked:?}") };
    assert_eq!(&*stop.why.reason, ApplyErrorReason::TooLarge.as_str());
    assert!(began.elapsed() < Duration::from_secs(4));
}
