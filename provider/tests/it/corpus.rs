//! The corpus of `fuzz/` for the configuration, replayed and changed a little.

#[path = "../../../fuzz/oracles/config.rs"]
mod config;
#[path = "../../../fuzz/oracles/replay.rs"]
mod replay;

#[test]
fn configuration_is_accepted_or_refused_with_a_message() {
    replay::replay("config", config::check);
    replay::mutate("config", 3_000, config::check);
}
