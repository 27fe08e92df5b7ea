//! Whether an object is ready, where nobody is held up by the answer.

use std::time::Duration;

use serde_json::Value;
use tokio::{task::spawn_blocking, time::timeout};

pub use testplatform_readiness::{
    MAX_EXPRESSION_BYTES, MAX_STEPS, MAX_VALUES, Verdict, evaluate, validate_expression,
};

/// How long an evaluation is waited for.
const PATIENCE: Duration = Duration::from_secs(3);

/// What an expression says of an object, and for no longer than anybody would wait.
pub async fn judge_aside(expression: &str, object: Value) -> Verdict {
    let expression = expression.to_owned();
    match timeout(PATIENCE, spawn_blocking(move || evaluate(&expression, &object))).await {
        Ok(Ok(verdict)) => verdict,
        Ok(Err(_)) => testplatform_readiness::EVALUATION_FAILED,
        Err(_) => testplatform_readiness::TIMED_OUT,
    }
}
