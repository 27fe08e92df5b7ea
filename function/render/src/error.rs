//! Errors, with the file or the step in which they occurred.

use std::{io, path::PathBuf};

use testplatform_apis::yaml::InvalidYaml;

/// Why there is no rendering, or only a part of one.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or directory cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file is not the YAML that it should be.
    #[error("{}:{line}:{column}: {message}", path.display())]
    Yaml {
        /// Which.
        path: PathBuf,
        /// Line, from 1.
        line: u64,
        /// Column, from 1.
        column: u64,
        /// The error.
        message: String,
    },
    /// A file says something that cannot be rendered.
    #[error("{}: {message}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What it says.
        message: String,
    },
    /// The files do not fit together.
    #[error("{0}")]
    Input(String),
    /// A step asks for something else in every pass.
    #[error("pipeline step {step:?}: requirements didn't stabilize after {passes} repeats")]
    Unstable {
        /// Name of the step.
        step: String,
        /// How often it was run again.
        passes: usize,
    },
    /// The function refused.
    #[error("pipeline step {step:?} returned a fatal result: {message}")]
    Fatal {
        /// Name of the step.
        step: String,
        /// The function's words.
        message: String,
    },
    /// The output cannot be written.
    #[error("cannot write the output: {0}")]
    Write(#[from] io::Error),
}

impl Error {
    /// The exit code: 3 when the function refused, as Crossplane's own command has it; 1 for everything else.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Fatal { .. } => 3,
            Self::Read { .. }
            | Self::Yaml { .. }
            | Self::File { .. }
            | Self::Input(_)
            | Self::Unstable { .. }
            | Self::Write(_) => 1,
        }
    }
}

impl From<InvalidYaml> for Error {
    fn from(invalid: InvalidYaml) -> Self {
        let InvalidYaml { origin: path, place, message } = invalid;
        match place {
            Some((line, column)) => Self::Yaml { path, line, column, message },
            None => Self::File { path, message },
        }
    }
}
