//! Loads functions and prints what a call costs: see [`testplatform_tests::load`].

use std::process::ExitCode;

use clap::Parser as _;
use testplatform_tests::load::{self, Arguments};

fn main() -> ExitCode {
    load::main(&Arguments::parse())
}
