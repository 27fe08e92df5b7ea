//! `cargo demo`: see [`testplatform_tests::demo`].

use std::process::ExitCode;

use clap::Parser as _;
use testplatform_tests::demo::{self, Arguments};

fn main() -> ExitCode {
    demo::main(Arguments::parse())
}
