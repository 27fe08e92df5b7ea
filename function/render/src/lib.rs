//! `render`: what the function would say, without a cluster.
//!
//! Options, order and shape of the output are those of `crossplane render`, so that scripts and goldens carry
//! over. The function runs in process: nothing is started, nothing is dialled.
//!
//! ```text
//! files ──files──▶ documents ──input──▶ Input ──pipeline──▶ Rendered ──output──▶ YAML stream
//! ```
//!
//! **Libraries.** `crossplane render` is a program in Go that runs each function in Docker, and knows neither our schemas nor our reasons.
//! No crate renders a Composition.
//!
//! **Invariant:** files are read in `files` and nowhere else; the rest is data in, data out.
//! **Invariant:** no value of a Secret is ever printed, neither in the output nor in an error.

mod args;
mod claim;
mod composition;
mod error;
mod files;
mod input;
mod output;
mod pipeline;
mod pool;
mod schema;
mod strict;

use std::io::Write;

use jiff::Timestamp;
use testplatform_apis::output::ignore_broken_pipe;

pub use args::RenderArgs;
pub use error::Error;
pub use input::Input;
pub use pipeline::{Pass, Rendered, run};
pub use strict::unknown_object_fields;

/// Renders what the arguments name onto `out`; what the user should know beside it goes to `notes`.
///
/// `clock` is asked only if the arguments do not say what time it is.
pub fn render(
    args: &RenderArgs,
    clock: fn() -> Timestamp,
    out: &mut dyn Write,
    notes: &mut dyn Write,
) -> Result<(), Error> {
    let now = args.now.unwrap_or_else(clock);
    let (input, issues) = Input::load(args, now)?;
    for issue in issues {
        writeln!(notes, "note: {issue}").or_else(ignore_broken_pipe)?;
    }
    let rendered = run(&input, now)?;
    // In one piece: whoever reads it gets a whole stream or an error.
    let text = output::format_stream(&input, &rendered, args)?;
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).or_else(ignore_broken_pipe)?;
    match rendered.fatal {
        Some(fatal) => Err(fatal),
        None => Ok(()),
    }
}
