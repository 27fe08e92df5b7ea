//! Cost of many claims: see [`testplatform_tests::scale`].

use std::process::ExitCode;

use clap::Parser as _;
use testplatform_tests::scale::{self, Arguments};

fn main() -> ExitCode {
    scale::main(&Arguments::parse())
}
