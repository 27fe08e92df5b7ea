//! Output of programs.

use std::io;

/// Takes a pipe that nobody reads any more (`program | head`) for no error.
///
/// # Errors
/// Every other one.
pub fn ignore_broken_pipe(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) }
}
