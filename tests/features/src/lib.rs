//! No code: only dependencies with features, see `Cargo.toml`.
//!
//! Without this crate cargo compiles a dependency once for each set of features that the selected packages need: `cargo test` enables
//! those of dev-dependencies, `cargo run` does not, and `-p` drops those of the other members. It is a normal dependency of the
//! testbed and a dev-dependency of every other member, so programs that are released are built without it.
