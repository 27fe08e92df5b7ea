//! The corpus of `fuzz/` for `bump`, replayed and changed a little.

#[path = "../../../fuzz/oracles/bump.rs"]
mod bump;
#[path = "../../../fuzz/oracles/replay.rs"]
mod replay;

#[test]
fn a_bump_changes_refs_or_nothing() {
    replay::replay("bump", bump::check);
    replay::mutate("bump", 200, bump::check);
}
