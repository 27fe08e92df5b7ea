//! `host:port` as Go programs take it: `:9443` is every interface.
//!
//! A host is an IP address or `localhost`: no other name is resolved, which in a static program takes half a megabyte of code.

use std::{
    fmt, io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    str::FromStr,
};

use tokio::net::TcpListener;

/// Where to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    host: Host,
    port: u16,
}

/// On which interfaces.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Host {
    /// On every one.
    Every,
    /// On this machine's own, `localhost`.
    Local,
    /// On the one that has this address.
    Ip(IpAddr),
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let hint =
            "expected host:port, [ipv6]:port or :port, as in :9443; a host is an IP address or localhost";
        let (host, port) = text.rsplit_once(':').ok_or(hint)?;
        let port = port.parse().map_err(|_| hint)?;
        let host = match (host.strip_prefix('['), host) {
            (Some(rest), _) => {
                let ip: Ipv6Addr = rest.strip_suffix(']').and_then(|ip| ip.parse().ok()).ok_or(hint)?;
                Host::Ip(ip.into())
            }
            (None, "") => Host::Every,
            (None, "localhost") => Host::Local,
            (None, ip) => Host::Ip(ip.parse::<Ipv4Addr>().map_err(|_| hint)?.into()),
        };
        Ok(Self { host, port })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        match host {
            Host::Every => write!(f, ":{port}"),
            Host::Local => write!(f, "localhost:{port}"),
            Host::Ip(ip) => SocketAddr::new(*ip, *port).fmt(f),
        }
    }
}

impl Address {
    pub(super) async fn bind_listener(&self) -> io::Result<TcpListener> {
        let on = |ip: IpAddr| TcpListener::bind(SocketAddr::new(ip, self.port));
        let (first, second): (IpAddr, IpAddr) = match self.host {
            // On Linux this takes IPv4 as well, but a node may have IPv6 switched off.
            Host::Every => (Ipv6Addr::UNSPECIFIED.into(), Ipv4Addr::UNSPECIFIED.into()),
            Host::Local => (Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()),
            Host::Ip(ip) => return on(ip).await,
        };
        match on(first).await {
            Err(e) if e.kind() != io::ErrorKind::AddrInUse => on(second).await,
            result => result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_go_reads_them() {
        for text in [":9443", "0.0.0.0:9443", "localhost:0", "[::1]:9443", "[::]:1"] {
            assert_eq!(text.parse::<Address>().map(|address| address.to_string()), Ok(text.to_owned()));
        }
        for text in [
            "",
            "9443",
            "host",
            "::1:9443",
            ":",
            ":65536",
            ":-1",
            "[::1:9443",
            "host:port",
            "host:1",
            "[1.2.3.4]:1",
        ] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }

    #[tokio::test]
    async fn no_host_is_every_interface() {
        let address: Address = ":0".parse().unwrap();
        let listener = address.bind_listener().await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    }

    #[tokio::test]
    async fn localhost_needs_nobody_to_resolve_it() {
        let listener = "localhost:0".parse::<Address>().unwrap().bind_listener().await.unwrap();
        assert!(listener.local_addr().unwrap().ip().is_loopback());
    }
}
