//! Serves the version of the function after this one: see [`testplatform_tests::others::next`].

use std::process::ExitCode;

use testplatform_tests::others::{next, serve};

fn main() -> ExitCode {
    serve(next::run)
}
