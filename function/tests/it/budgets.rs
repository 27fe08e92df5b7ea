//! Cost of a pass in units that no clock and no other job disturbs: allocations, bytes of the answer, instructions.
//!
//! Budgets are in [`budgets/passes.txt`](budgets/passes.txt) and [`budgets/instructions.txt`](budgets/instructions.txt). Who
//! makes a pass dearer sees it here, and so does who makes it so much cheaper that the budget says nothing any more:
//! `SNAPSHOTS=overwrite cargo test -p function-testplatform --test it budgets` writes what is measured now.

mod callgrind;
mod table;

use std::hint::black_box;

use function_model::examples;
use jiff::Timestamp;
use prost::Message as _;
use table::{Row, Table};
use testplatform_composites::{Options, run, sdk::proto::RunFunctionRequest};

/// One pass as the server makes it, from the bytes of the request to those of the answer.
fn pass(request: &[u8], now: Timestamp) -> Vec<u8> {
    let request = RunFunctionRequest::decode(black_box(request)).unwrap();
    run(&request, &Options::default(), now).encode_to_vec()
}

#[test]
fn every_example_stays_within_its_budget() {
    let now: Timestamp = examples::MADE.parse().unwrap();
    let rows = examples::load_examples(now).into_iter().map(|(name, request)| {
        let request = request.encode_to_vec();
        // Values that a process makes once are no cost of a pass.
        let answer = pass(&request, now);
        let counted = allocation_counter::measure(|| drop(black_box(pass(&request, now))));
        assert_eq!(counted.count_current, 0, "{name}: something is kept from pass to pass");
        Row { name, values: vec![counted.count_total, answer.len().try_into().unwrap()] }
    });
    let measured = Table::new(["allocations", "answer-bytes"], rows.collect());
    assert!(measured.rows.len() > 20, "the examples are not where they should be");
    measured.hold("passes.txt", 5);
}

/// Instructions of the function itself, as `valgrind --tool=callgrind` counts them in the program that is tested. That is
/// compiled at level 1, so they are more than in a release.
#[test]
fn the_function_stays_within_its_instructions() {
    let Some(rows) = callgrind::instructions(&["minimal", "ready", "hive-ready"]) else { return };
    Table::new(["instructions"], rows).hold("instructions.txt", 10);
}
