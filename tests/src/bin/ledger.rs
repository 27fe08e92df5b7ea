//! What one life of a claim costs: see [`testplatform_tests::ledger`].

use std::process::ExitCode;

use clap::Parser as _;
use testplatform_tests::ledger::{self, Arguments};

fn main() -> ExitCode {
    ledger::main(&Arguments::parse())
}
