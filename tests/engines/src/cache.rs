//! The cache: one directory per artifact, written once and checked before each use.
//!
//! ```text
//! ~/.cache/testplatform/engines/
//!   lock                              held while anything is written
//!   kube-apiserver-3f0c…/entry.json   record: key, origin, size and SHA-256 of each file
//!   kube-apiserver-3f0c…/bin/kube-apiserver
//!   .new-x7Gd/                        an entry that is being written; renamed when it is complete
//! ```

mod entry;
mod lock;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, ensure};
use tempfile::TempDir;

pub use entry::{Entry, FileRecord, Key, Origin, RECORD, Record};
pub use lock::Lock;

/// Prefix of an entry that is being written.
const NEW: &str = ".new-";

/// A directory of entries.
#[derive(Clone, Debug)]
pub struct Cache {
    root: PathBuf,
}

impl Cache {
    /// The cache in this directory, which is created when the first entry is stored.
    #[must_use]
    pub fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// Its directory.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Takes the lock that every change of the cache needs. Waits while another process holds it, and says so.
    ///
    /// # Errors
    ///
    /// If the directory or the lock file cannot be created.
    pub fn lock(&self) -> anyhow::Result<Lock> {
        fs::create_dir_all(&self.root).with_context(|| format!("cannot create {}", self.root.display()))?;
        let lock = Lock::take(&self.root.join("lock"))?;
        self.remove_unfinished();
        Ok(lock)
    }

    /// A directory for work in progress. It is removed when it is dropped, or by whoever takes the lock next.
    ///
    /// # Errors
    ///
    /// If it cannot be created.
    pub fn work_directory(&self, _lock: &Lock) -> anyhow::Result<TempDir> {
        Ok(tempfile::Builder::new().prefix(NEW).tempdir_in(&self.root)?)
    }

    /// The entry with this key, if there is one.
    ///
    /// # Errors
    ///
    /// If it is damaged: it has no valid record, or a file differs from the record.
    pub fn find(&self, key: &Key) -> anyhow::Result<Option<Entry>> {
        let directory = self.root.join(key.directory());
        if !directory.is_dir() {
            return Ok(None);
        }
        let entry = Entry::read(directory)?;
        entry.verify()?;
        Ok(Some(entry))
    }

    /// Any intact entry of this artifact from the same sources for the same platform, whichever Go version built it.
    #[must_use]
    pub fn find_any(&self, key: &Key) -> Option<Entry> {
        let mut entries = self.entries().into_iter();
        entries.find(|entry| entry.record.key.matches_without_go(key) && entry.verify().is_ok())
    }

    /// Every entry with a readable record, sorted by name.
    #[must_use]
    pub fn entries(&self) -> Vec<Entry> {
        let mut entries: Vec<_> =
            self.directories().into_iter().filter_map(|it| Entry::read(it).ok()).collect();
        entries.sort_by(|a, b| {
            a.record.key.artifact.cmp(&b.record.key.artifact).then(a.directory.cmp(&b.directory))
        });
        entries
    }

    fn directories(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.root).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
    }

    /// Stores an entry: `fill` writes its files into a new directory, which gets its name only when it is complete.
    ///
    /// # Errors
    ///
    /// If `fill` fails or the entry cannot be written. Nothing is left of it then.
    pub fn store(
        &self,
        lock: &Lock,
        key: &Key,
        origin: Origin,
        fill: impl FnOnce(&Path) -> anyhow::Result<()>,
    ) -> anyhow::Result<Entry> {
        let new = self.work_directory(lock)?;
        fill(new.path())?;
        let record = Record::of_directory(new.path(), key.clone(), origin)?;
        ensure!(!record.files.is_empty(), "{} has no files", key.artifact);
        record.write(new.path())?;
        let directory = self.root.join(key.directory());
        remove_directory(&directory)?;
        fs::rename(new.path(), &directory)?;
        // It has its own name now.
        let _ = new.keep();
        Ok(Entry { directory, record })
    }

    /// Removes what a process that was killed had begun to write. Nobody else writes while the lock is held.
    fn remove_unfinished(&self) {
        for directory in self.directories() {
            if directory.file_name().is_some_and(|name| name.to_string_lossy().starts_with(NEW)) {
                let _ = fs::remove_dir_all(directory);
            }
        }
    }

    /// Removes one entry.
    ///
    /// # Errors
    ///
    /// If its directory cannot be removed.
    pub fn remove(&self, _lock: &Lock, entry: &Entry) -> anyhow::Result<()> {
        remove_directory(&entry.directory)
    }

    /// Removes every entry, also those without a readable record, and returns how many there were.
    ///
    /// # Errors
    ///
    /// If a directory cannot be removed.
    pub fn clear(&self, _lock: &Lock) -> anyhow::Result<usize> {
        let directories = self.directories();
        directories.iter().try_for_each(|directory| remove_directory(directory))?;
        Ok(directories.len())
    }

    /// Adds the remedy to an error that comes from a full disk.
    #[must_use]
    pub fn explain(&self, error: anyhow::Error) -> anyhow::Error {
        let full = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>()).any(is_disk_full);
        if !full {
            return error;
        }
        let root = self.root.display();
        error.context(format!(
            "the disk is full: free space for {root}, or set XDG_CACHE_HOME to another disk"
        ))
    }
}

fn is_disk_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

fn remove_directory(directory: &Path) -> anyhow::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", directory.display()))
        }
        _ => Ok(()),
    }
}
