//! Ports for programs that are told where to listen.

use std::{
    net::TcpListener,
    process,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

use anyhow::Context as _;

/// Below what Linux, macOS and IANA give to whoever does not ask for one: there every connection takes a port, and could take one between its
/// choice and its use, or while the program that listens on it is begun anew.
const FIRST: u32 = 10_000;

/// How many there are. At 19000 and from 20000 on are the API servers that Cluster API's infrastructure in memory has; it cannot use others.
const COUNT: u32 = 9_000;

/// How far apart the first ports of two processes are whose numbers follow each other.
const APART: u32 = 199;

/// How many were tried in this process.
static TRIED: AtomicU32 = AtomicU32::new(0);

/// Ports on which nobody listens, none twice before all were given. Test programs that run at the same time begin at different ones.
pub fn free_ports<const N: usize>() -> anyhow::Result<[u16; N]> {
    let mut ports = [0; N];
    for port in &mut ports {
        *port = (0..COUNT).find_map(|_| free(next())).context("no free port between 10000 and 18999")?;
    }
    Ok(ports)
}

fn next() -> u32 {
    let first = process::id().wrapping_mul(APART);
    FIRST + first.wrapping_add(TRIED.fetch_add(1, Relaxed)) % COUNT
}

fn free(port: u32) -> Option<u16> {
    let port = u16::try_from(port).ok()?;
    TcpListener::bind(("127.0.0.1", port)).is_ok().then_some(port)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_is_given_once_and_none_that_is_taken() {
        let [taken] = free_ports().unwrap();
        let _held = TcpListener::bind(("127.0.0.1", taken)).unwrap();
        // Once around, so that the one that is taken comes again.
        TRIED.fetch_add(COUNT - 10, Relaxed);
        let given: BTreeSet<u16> = free_ports::<50>().unwrap().into();
        assert_eq!(given.len(), 50);
        assert!(!given.contains(&taken) && given.iter().all(|port| (10_000..19_000).contains(port)));
    }
}
