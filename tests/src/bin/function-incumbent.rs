//! Serves what was there before the function: see [`testplatform_tests::others::incumbent`].

use std::process::ExitCode;

use function_testplatform::proto::{Result, RunFunctionResponse, Severity};
use testplatform_tests::others::{incumbent, serve};

fn main() -> ExitCode {
    serve(|request, _| {
        incumbent::run(request).unwrap_or_else(|error| RunFunctionResponse {
            results: vec![Result {
                severity: Severity::Fatal.into(),
                message: format!("{error:#}"),
                ..Result::default()
            }],
            ..RunFunctionResponse::default()
        })
    })
}
