//! One entry: its key, its record, and the check of its files against the record.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::Read as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, ensure};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::file::{hex, list_files};

/// File name of the record.
pub const RECORD: &str = "entry.json";

/// Everything that an entry depends on. Another key is another entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// Name of the artifact.
    pub artifact: String,
    /// SHA-256 of the recipe, `go.mod`, `go.sum` and the module's own Go files.
    pub sources: String,
    /// Operating system and architecture, as Go names them: `linux-amd64`.
    pub platform: String,
    /// Version of Go, or none for an entry from an archive.
    pub go: Option<String>,
}

impl Key {
    /// Name of the entry's directory.
    #[must_use]
    pub fn directory(&self) -> String {
        let mut digest = Sha256::new();
        for part in [&self.sources, &self.platform, self.go.as_deref().unwrap_or_default()] {
            digest.update(part);
            digest.update([0]);
        }
        let digest = hex(&digest.finalize());
        format!("{}-{}", self.artifact, &digest[..16])
    }

    pub(super) fn matches_without_go(&self, other: &Self) -> bool {
        (&self.artifact, &self.sources, &self.platform) == (&other.artifact, &other.sources, &other.platform)
    }
}

/// Source of an entry's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// Go built or copied them here.
    Built,
    /// They come from a release archive.
    Downloaded,
}

/// Size and digest of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRecord {
    /// In bytes.
    pub size: u64,
    /// SHA-256 in hexadecimal.
    pub sha256: String,
}

/// Contents of `entry.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Key of the entry.
    pub key: Key,
    /// Source of its files.
    pub origin: Origin,
    /// Files by their path in the entry.
    pub files: BTreeMap<String, FileRecord>,
}

impl Record {
    pub(super) fn of_directory(directory: &Path, key: Key, origin: Origin) -> anyhow::Result<Self> {
        let mut files = BTreeMap::new();
        for path in list_files(directory)? {
            let name = path.strip_prefix(directory)?.to_string_lossy().into_owned();
            files.insert(name, FileRecord::of_file(&path)?);
        }
        Ok(Self { key, origin, files })
    }

    pub(super) fn write(&self, directory: &Path) -> anyhow::Result<()> {
        let file = File::create(directory.join(RECORD))?;
        serde_json::to_writer_pretty(&file, self)?;
        // The directory is renamed next; after a power failure it must not have this name and an empty record.
        file.sync_all()?;
        Ok(())
    }

    /// Sum of the sizes of its files, in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.files.values().map(|file| file.size).sum()
    }
}

impl FileRecord {
    fn of_file(path: &Path) -> anyhow::Result<Self> {
        let mut file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
        let (mut digest, mut size, mut buffer) = (Sha256::new(), 0, vec![0; 1 << 20]);
        loop {
            let read = file.read(&mut buffer)?;
            if read == 0 {
                break;
            }
            size += u64::try_from(read)?;
            digest.update(&buffer[..read]);
        }
        Ok(Self { size, sha256: hex(&digest.finalize()) })
    }
}

/// An entry on disk.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its directory.
    pub directory: PathBuf,
    /// Its record.
    pub record: Record,
}

impl Entry {
    pub(super) fn read(directory: PathBuf) -> anyhow::Result<Self> {
        let read = || anyhow::Ok(serde_json::from_slice(&fs::read(directory.join(RECORD))?)?);
        let record =
            read().with_context(|| format!("cache entry {} has no valid {RECORD}", directory.display()))?;
        Ok(Self { directory, record })
    }

    /// Compares every file with the record.
    ///
    /// # Errors
    ///
    /// If a file is missing or has another size or digest.
    pub fn verify(&self) -> anyhow::Result<()> {
        let entry = || format!("cache entry {} is damaged", self.directory.display());
        for (name, expected) in &self.record.files {
            let found = FileRecord::of_file(&self.directory.join(name)).with_context(entry)?;
            ensure!(
                found.size == expected.size,
                "{}: {name} has {} bytes instead of {}",
                entry(),
                found.size,
                expected.size
            );
            ensure!(
                found.sha256 == expected.sha256,
                "{}: the SHA-256 of {name} differs from the record",
                entry()
            );
        }
        Ok(())
    }

    /// Path of the program in it, or of the directory of manifests.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        let program = self.directory.join("bin").join(&self.record.key.artifact);
        if program.is_file() { program } else { self.directory.join("crds") }
    }
}
