//! The packaging tool will live here: generate, check, sync, build, push, bump.
