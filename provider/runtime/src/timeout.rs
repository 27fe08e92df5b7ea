//! Time limits of calls.

use std::time::Duration;

use tokio::time::timeout;

use crate::error::{Cause, Error, Reason};

/// A call that may take so long.
pub async fn with_timeout<T>(
    action: &'static str,
    patience: Duration,
    call: impl Future<Output = Result<T, Cause>>,
) -> Result<T, Error> {
    let cause = match timeout(patience, call).await {
        Ok(Ok(answer)) => return Ok(answer),
        Ok(Err(cause)) => cause,
        Err(_) => no_answer_within(patience),
    };
    Err(cause.with_action(action))
}

/// Cause of a call that took too long.
pub(crate) fn no_answer_within(limit: Duration) -> Cause {
    Cause::new(Reason::Timeout, format!("no answer within {} s", limit.as_secs_f32()))
}
