//! The testbed will live here.
