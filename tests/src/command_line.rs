//! Shared parts of the measuring programs: arguments of one type, and the exit code of a result.

use std::{process::ExitCode, time::Duration};

/// An argument in whole seconds.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    text.parse().map(Duration::from_secs).map_err(|_| "not a number of seconds".to_owned())
}

/// 0 for what is as it should be; 1 for what is not, and for an error, which is printed.
pub(crate) fn exit_code(outcome: anyhow::Result<bool>) -> ExitCode {
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
