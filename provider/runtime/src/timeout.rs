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
        Err(_) => Cause::new(Reason::Timeout, format!("no answer within {} s", patience.as_secs_f32())),
    };
    Err(cause.during(action))
}
