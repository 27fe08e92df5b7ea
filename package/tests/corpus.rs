//! The corpus of `fuzz/` for `bump`, replayed and changed a little.
#![allow(clippy::expect_used, clippy::panic, reason = "a test that cannot go on says so")]

#[path = "../../fuzz/oracles/bump.rs"]
mod bump;
#[path = "../../fuzz/oracles/replay.rs"]
mod replay;

#[test]
fn a_bump_changes_refs_or_nothing() {
    replay::replay("bump", bump::check);
    replay::mutate("bump", 200, bump::check);
}
