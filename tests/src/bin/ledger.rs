//! Cost of one life of a claim: see [`testplatform_tests::ledger`].

use std::process::ExitCode;

use clap::Parser as _;
use testplatform_tests::ledger::{self, Arguments};

fn main() -> ExitCode {
    ledger::main(&Arguments::parse())
}
