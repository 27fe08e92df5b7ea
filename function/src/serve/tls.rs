//! The server's certificate and the authority for its clients, read again when they change on disk.
//!
//! Nothing renews Crossplane's certificates on its own, but administrators and cert-manager do, and a
//! function that has to be restarted for it is a function that is down until somebody notices.
//!
//! **Libraries.** tonic's TLS reads its files once. rustls-cert-reloadable-resolver replaces the server's certificate, but not the authority
//! for clients, which rustls keeps in the `ServerConfig`. So the whole `ServerConfig` is replaced here, which needs no trait of theirs.

use std::{
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use rustls::{
    RootCertStore, ServerConfig,
    crypto::ring,
    pki_types::{
        CertificateDer, PrivateKeyDer,
        pem::{self, PemObject as _},
    },
    server::{NoServerSessionStorage, VerifierBuilderError, WebPkiClientVerifier},
};
use thiserror::Error;

use crate::serve::metrics::Metrics;

/// Certificate, key, and the authority that signs client certificates; the names in Crossplane's Secret.
const FILES: [&str; 3] = ["tls.crt", "tls.key", "ca.crt"];

/// How often the files are looked at, at most.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Why a directory of certificates cannot be used.
#[derive(Debug, Error)]
pub enum Error {
    /// A file is missing or cannot be read.
    #[error("{}: {cause}", path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why not.
        cause: io::Error,
    },
    /// A file cannot be read as PEM.
    #[error("{}: {cause}", path.display())]
    Pem {
        /// Which file.
        path: PathBuf,
        /// The error.
        cause: pem::Error,
    },
    /// A file holds no certificate.
    #[error("{}: no certificate in it", .0.display())]
    Empty(PathBuf),
    /// The authority cannot be used.
    #[error("{}: {cause}", path.display())]
    Authority {
        /// Which file.
        path: PathBuf,
        /// The error.
        cause: VerifierBuilderError,
    },
    /// Certificate or key cannot be used, or not together.
    #[error("{}: {cause}", path.display())]
    Tls {
        /// The directory.
        path: PathBuf,
        /// The error.
        cause: rustls::Error,
    },
}

/// Identity of one version of a file. A Secret volume is swapped as a whole behind a symbolic link, which shows as another inode.
#[derive(Clone, PartialEq, Eq)]
struct Stamp(Vec<Option<[i64; 5]>>);

impl Stamp {
    fn of_directory(dir: &Path) -> Self {
        let stamp = |name: &&str| {
            let data = fs::metadata(dir.join(name)).ok()?;
            #[expect(clippy::cast_possible_wrap, reason = "only compared")]
            Some([data.dev() as i64, data.ino() as i64, data.mtime(), data.mtime_nsec(), data.size() as i64])
        };
        Self(FILES.iter().map(stamp).collect())
    }
}

/// The certificates in a directory, in their current version.
pub struct Certs {
    dir: PathBuf,
    metrics: Metrics,
    current: Mutex<Current>,
}

struct Current {
    config: Arc<ServerConfig>,
    stamp: Stamp,
    checked: Instant,
}

impl Certs {
    /// Loads the directory, which must be complete. An error counts only if no file changed meanwhile: three files are not read all at
    /// once, and those of two versions do not match.
    pub fn load(dir: PathBuf, metrics: Metrics) -> Result<Self, Error> {
        // Before reading: what changes meanwhile is read again at the next look.
        let mut stamp = Stamp::of_directory(&dir);
        let config = loop {
            let loaded = read_config(&dir);
            let now = Stamp::of_directory(&dir);
            if loaded.is_ok() || now == stamp {
                break Arc::new(loaded?);
            }
            stamp = now;
        };
        let current = Mutex::new(Current { config, stamp, checked: Instant::now() });
        Ok(Self { dir, metrics, current })
    }

    /// Configuration for a new connection. Checks the files first, at most once a second; that costs three calls of stat and needs no
    /// thread. A faulty set is logged once, and the last valid one stays.
    pub fn current_config(&self) -> Arc<ServerConfig> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.checked.elapsed() >= CHECK_INTERVAL {
            current.checked = Instant::now();
            let stamp = Stamp::of_directory(&self.dir);
            if stamp != current.stamp {
                current.stamp = stamp;
                let loaded = read_config(&self.dir);
                self.metrics.certificates_loaded(loaded.is_ok());
                match loaded {
                    Ok(config) => {
                        current.config = Arc::new(config);
                        tracing::info!(dir = %self.dir.display(), "certificates reloaded");
                    }
                    Err(error) => tracing::error!(
                        dir = %self.dir.display(),
                        %error,
                        "certificates not reloaded; the previous ones stay in use"
                    ),
                }
            }
        }
        Arc::clone(&current.config)
    }
}

fn read_config(dir: &Path) -> Result<ServerConfig, Error> {
    let [certificate, key, authority] = FILES.map(|name| dir.join(name));
    let chain = read_certificates(&certificate)?;
    let key = PrivateKeyDer::from_pem_slice(&read_file(&key)?)
        .map_err(|cause| Error::Pem { path: key.clone(), cause })?;
    let tls = |cause| Error::Tls { path: dir.to_owned(), cause };

    let provider = Arc::new(ring::default_provider());
    let mut roots = RootCertStore::empty();
    for certificate in read_certificates(&authority)? {
        roots.add(certificate).map_err(tls)?;
    }
    // No hints: a client that finds none of its certificates among them sends none at all, and the log would
    // then not say that it has one of another authority.
    let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), Arc::clone(&provider))
        .clear_root_hint_subjects()
        .build()
        .map_err(|cause| Error::Authority { path: authority, cause })?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions() // 1.2 and 1.3
        .map_err(tls)?
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain, key)
        .map_err(tls)?;
    config.alpn_protocols = vec![b"h2".to_vec()];
    // Crossplane keeps one connection; a resumed session would only outlive its authority.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(config)
}

fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let bytes = read_file(path)?;
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    let all = all.map_err(|cause| Error::Pem { path: path.to_owned(), cause })?;
    if all.is_empty() { Err(Error::Empty(path.to_owned())) } else { Ok(all) }
}

fn read_file(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(|cause| Error::Read { path: path.to_owned(), cause })
}
