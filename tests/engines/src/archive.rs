//! Release archives: one `.tar.gz` per artifact and platform, pinned by SHA-256 in `archives.json`.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Read as _, Write as _},
    path::Path,
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, ensure};
use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use ureq::tls::{RootCerts, TlsConfig};

use crate::{
    cache::{Entry, Key, RECORD},
    file::{hex, is_executable, list_files},
    report,
};

/// Path of the pins below this crate.
const PINS: &str = "archives.json";
/// Time limit for a connection and for the first byte of an answer.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);
/// Time limit for a whole archive.
const DOWNLOAD_TIMEOUT: Duration = Duration::from_mins(10);

/// Digests of the archives of one artifact.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    /// Digest of the sources that the archive was built from. For other sources the pin does not count.
    pub sources: String,
    /// SHA-256 by platform.
    pub sha256: BTreeMap<String, String>,
}

/// Pins by artifact.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pins(pub BTreeMap<String, Pin>);

impl Pins {
    /// The pins of this repository.
    ///
    /// # Errors
    ///
    /// If `archives.json` cannot be read.
    pub fn read() -> anyhow::Result<Self> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PINS);
        let read = || anyhow::Ok(serde_json::from_slice(&fs::read(&path)?)?);
        read().with_context(|| format!("cannot read {}", path.display()))
    }

    /// Writes them to this repository.
    ///
    /// # Errors
    ///
    /// If `archives.json` cannot be written.
    pub fn write(&self) -> anyhow::Result<()> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PINS);
        let text = serde_json::to_string_pretty(self)? + "\n";
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    }

    /// The SHA-256 of the archive for a key.
    #[must_use]
    pub fn find(&self, key: &Key) -> Option<&str> {
        let pin = self.0.get(&key.artifact).filter(|pin| pin.sources == key.sources)?;
        pin.sha256.get(&key.platform).map(String::as_str)
    }

    /// Adds or replaces the pin for a key.
    pub fn set(&mut self, key: &Key, sha256: String) {
        let pin = self.0.entry(key.artifact.clone()).or_default();
        if pin.sources != key.sources {
            *pin = Pin { sources: key.sources.clone(), sha256: BTreeMap::new() };
        }
        pin.sha256.insert(key.platform.clone(), sha256);
    }
}

/// File name of the archive for a key.
#[must_use]
pub fn archive_name(key: &Key) -> String {
    format!("{}-{}-{}.tar.gz", key.artifact, key.sources.get(..12).unwrap_or(&key.sources), key.platform)
}

/// Writes the archive of an entry and returns its SHA-256. The same files give the same bytes.
///
/// # Errors
///
/// If the entry cannot be read or the archive cannot be written.
pub fn write_archive(entry: &Entry, path: &Path) -> anyhow::Result<String> {
    let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    let mut archive = tar::Builder::new(GzEncoder::new(file, Compression::default()));
    for file in list_files(&entry.directory)? {
        let name = file.strip_prefix(&entry.directory)?;
        if name == Path::new(RECORD) {
            continue;
        }
        let mut header = tar::Header::new_gnu();
        header.set_size(fs::metadata(&file)?.len());
        header.set_mode(if is_executable(&file)? { 0o755 } else { 0o644 });
        header.set_mtime(0);
        archive.append_data(&mut header, name, File::open(&file)?)?;
    }
    archive.into_inner()?.finish()?.flush()?;
    let mut digest = Sha256::new();
    io::copy(&mut File::open(path)?, &mut HashWriter(&mut digest))?;
    Ok(hex(&digest.finalize()))
}

struct HashWriter<'d>(&'d mut Sha256);

impl io::Write for HashWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Error of [`download`] that says whether building is an alternative.
#[derive(Debug)]
pub enum DownloadError {
    /// The server cannot be reached or does not have the archive.
    NotAvailable(anyhow::Error),
    /// The archive is not the pinned one, or it cannot be stored here.
    Failed(anyhow::Error),
}

/// Downloads an archive, compares it with its pin, and unpacks it into a directory.
///
/// # Errors
///
/// [`DownloadError::NotAvailable`] where the artifact can be built in its place, [`DownloadError::Failed`] where somebody has to act.
pub fn download(base: &str, key: &Key, pin: &str, directory: &Path) -> Result<(), DownloadError> {
    let url = format!("{}/{}", base.trim_end_matches('/'), archive_name(key));
    report(&format!("downloading {url}"));
    let packed = directory.join("archive.tar.gz");
    let mut answer = request(&url).map_err(DownloadError::NotAvailable)?;
    save(&mut answer, &packed, &url)?;
    unpack(&packed, pin, directory)
        .with_context(|| format!("cannot use {url}"))
        .map_err(DownloadError::Failed)
}

fn request(url: &str) -> anyhow::Result<impl io::Read> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = TlsConfig::builder()
        .unversioned_rustls_crypto_provider(provider)
        .root_certs(RootCerts::PlatformVerifier);
    let config = ureq::Agent::config_builder()
        .tls_config(tls.build())
        .timeout_connect(Some(RESPONSE_TIMEOUT))
        .timeout_recv_response(Some(RESPONSE_TIMEOUT))
        .timeout_global(Some(DOWNLOAD_TIMEOUT));
    let answer = ureq::Agent::new_with_config(config.build()).get(url).call();
    Ok(answer.with_context(|| format!("cannot download {url}"))?.into_body().into_reader())
}

fn save(answer: &mut impl io::Read, path: &Path, url: &str) -> Result<(), DownloadError> {
    let failed = |error: io::Error| DownloadError::Failed(error.into());
    let mut file = File::create(path).map_err(failed)?;
    let mut buffer = vec![0; 1 << 16];
    loop {
        // A connection that ends early is the server's fault, a write that fails is this machine's.
        let read = answer.read(&mut buffer).with_context(|| format!("cannot download {url}"));
        match read.map_err(DownloadError::NotAvailable)? {
            0 => return Ok(()),
            read => file.write_all(&buffer[..read]).map_err(failed)?,
        }
    }
}

fn unpack(packed: &Path, pin: &str, directory: &Path) -> anyhow::Result<()> {
    let mut bytes = Vec::new();
    File::open(packed)?.read_to_end(&mut bytes)?;
    fs::remove_file(packed)?;
    let found = hex(&Sha256::digest(&bytes));
    ensure!(
        found == pin,
        "its SHA-256 is {found}, and tests/engines/archives.json pins {pin}: unset TESTPLATFORM_ASSETS_URL to build from \
         source, or ask whoever runs that server"
    );
    tar::Archive::new(GzDecoder::new(bytes.as_slice())).unpack(directory)?;
    Ok(())
}
