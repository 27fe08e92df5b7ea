//! Evaluates ready expressions on a separate thread.

use std::time::Duration;

use serde_json::Value;
use tokio::{task::spawn_blocking, time::timeout};

pub use testplatform_readiness::{
    MAX_EXPRESSION_BYTES, MAX_STEPS, MAX_VALUES, Verdict, evaluate, validate_expression,
};

/// How long an evaluation is waited for.
const PATIENCE: Duration = Duration::from_secs(3);

/// Evaluates an expression on an object, within the time that a caller would wait.
pub async fn evaluate_off_thread(expression: &str, object: Value) -> Verdict {
    let expression = expression.to_owned();
    match timeout(PATIENCE, spawn_blocking(move || evaluate(&expression, &object))).await {
        Ok(Ok(verdict)) => verdict,
        Ok(Err(_)) => testplatform_readiness::EVALUATION_FAILED,
        Err(_) => testplatform_readiness::TIMED_OUT,
    }
}
