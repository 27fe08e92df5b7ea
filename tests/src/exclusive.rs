//! Resources of a machine that exist once: provider-kubernetes' ports, and so an engine; and a port of the real Cluster API.

use std::{env, fs::File, io::Write as _, net::TcpListener};

use anyhow::{Context as _, bail};

use crate::binaries::say;

/// Holds the machine's lock on engines. It is free again when the last holder of the file is gone.
pub fn only_one() -> anyhow::Result<File> {
    lock("testplatform-engine.lock", "another engine")
}

/// Holds the machine's lock on the real Cluster API, whose infrastructure provider has a fixed port.
pub fn only_cluster_api() -> anyhow::Result<File> {
    lock("testplatform-cluster-api.lock", "another Cluster API")
}

fn lock(file: &str, holder: &str) -> anyhow::Result<File> {
    let path = env::temp_dir().join(file);
    let mut lock = File::options().create(true).append(true).open(&path);
    if lock.is_err() {
        // Somebody else's file can still be locked.
        lock = File::open(&path);
    }
    let mut lock = lock.with_context(|| format!("cannot open {}", path.display()))?;
    if lock.try_lock().is_err() {
        say(&format!("waiting for {holder} on this machine to end"));
        lock.lock()?;
    }
    let _ = lock.flush();
    Ok(lock)
}

/// Fails if somebody listens on a port, and says who.
pub fn require_port(port: u16) -> anyhow::Result<()> {
    let Err(error) = TcpListener::bind(("0.0.0.0", port)) else { return Ok(()) };
    let whose = owner(port).map(|who| format!(" by {who}")).unwrap_or_default();
    bail!("provider-kubernetes needs port {port} and cannot use another one; it is taken{whose} ({error})")
}

/// Who listens on a port, as far as this user may know: the inode of the socket leads to the process.
fn owner(port: u16) -> Option<String> {
    let hex = format!(":{port:04X}");
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|t| std::fs::read_to_string(t).unwrap_or_default());
    let lines = tables.iter().flat_map(|t| t.lines().skip(1));
    let inode = lines.map(|l| l.split_whitespace().collect::<Vec<_>>()).find_map(|fields| {
        let listens = fields.get(1)?.ends_with(&hex) && *fields.get(3)? == "0A";
        listens.then(|| fields.get(9).map(|inode| format!("socket:[{inode}]"))).flatten()
    })?;
    for process in std::fs::read_dir("/proc").ok()?.flatten() {
        let Ok(files) = std::fs::read_dir(process.path().join("fd")) else { continue };
        if files
            .flatten()
            .any(|f| std::fs::read_link(f.path()).is_ok_and(|l| l.as_os_str() == inode.as_str()))
        {
            let name = std::fs::read_to_string(process.path().join("comm")).unwrap_or_default();
            return Some(format!("process {} ({})", process.file_name().display(), name.trim()));
        }
    }
    None
}
