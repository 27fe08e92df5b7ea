//! Serves what was there before the function: see [`testplatform_tests::others::incumbent`].

use std::process::ExitCode;

use testplatform_composites::sdk::proto::{Result, RunFunctionResponse, Severity};
use testplatform_tests::others::{incumbent, incumbent_spaces, serve};

fn main() -> ExitCode {
    serve(|request, _| {
        let space = testplatform_composites::space::handles_kind(request);
        let answer = if space { incumbent_spaces::run(request) } else { incumbent::run(request) };
        answer.unwrap_or_else(|error| RunFunctionResponse {
            results: vec![Result {
                severity: Severity::Fatal.into(),
                message: format!("{error:#}"),
                ..Result::default()
            }],
            ..RunFunctionResponse::default()
        })
    })
}
