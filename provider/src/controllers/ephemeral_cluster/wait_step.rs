//! The step that keeps a cluster alive until the signal: a bash script that runs on the build cluster.
//!
//! When it ends, ci-operator destroys the cluster. It therefore ends successfully only on the signal, tolerates a failing API server for a long
//! time, and exits with a non-zero code when it gives up: a job that ends without a request must not look like a requested end.

use testplatform_apis::{duration::GoDuration, names::ci_operator::SIGNAL};

use crate::config::WaitStep;

/// The longest pause between two tries at an API server that fails.
const LONGEST_PAUSE: GoDuration = GoDuration::from_secs(60);
const SCRIPT: &str = include_str!("wait_step.sh");

/// The script. ci-operator puts its own first lines before it, `set -eu` among them.
pub fn script(step: &WaitStep) -> String {
    let poll = millis(step.poll_interval);
    let tolerance = step.tolerance.as_secs().max(1);
    let longest = millis(LONGEST_PAUSE).max(poll);
    format!("signal={SIGNAL}\npoll_ms={poll}\nlongest_pause_ms={longest}\ntolerance_s={tolerance}\n{SCRIPT}")
}

fn millis(duration: GoDuration) -> i64 {
    (duration.as_nanos() / 1_000_000).max(1)
}
