//! The function's server: what [`testplatform_composites`] answers, over gRPC. The program adds the command line and `render`.

pub mod serve;
