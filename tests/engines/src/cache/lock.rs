//! The lock of the cache: one process writes at a time.

use std::{fs::File, path::Path};

use anyhow::Context as _;

use crate::report;

/// Held until it is dropped, or the process ends.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    pub(super) fn take(path: &Path) -> anyhow::Result<Self> {
        let cannot_lock = || format!("cannot lock {}", path.display());
        let file = File::options().create(true).append(true).open(path).with_context(cannot_lock)?;
        if file.try_lock().is_err() {
            report("waiting for another process that writes into the cache of engine programs");
            file.lock().with_context(cannot_lock)?;
        }
        Ok(Self { _file: file })
    }
}
