//! The corpus of `fuzz/` for the configuration, replayed and changed a little.

#[path = "../../../fuzz/oracles/config.rs"]
mod config;
#[path = "../../../fuzz/oracles/replay.rs"]
mod replay;

#[test]
fn a_configuration_is_taken_as_it_is_or_refused_with_words() {
    replay::replay("config", config::check);
    replay::mutate("config", 3_000, config::check);
}
