//! `host:port` as Go programs take it: `:9443` is every interface.

use std::{fmt, io, net::SocketAddr, str::FromStr};

use tokio::net::TcpListener;

/// Where to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    host: String,
    port: u16,
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let hint = "expected host:port, [ipv6]:port or :port, as in :9443";
        let (host, port) = text.rsplit_once(':').ok_or(hint)?;
        let port = port.parse().map_err(|_| hint)?;
        let host = match host.strip_prefix('[') {
            Some(rest) => rest.strip_suffix(']').ok_or(hint)?,
            None if host.contains(':') => return Err(hint.to_owned()),
            None => host,
        };
        Ok(Self { host: host.to_owned(), port })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}

impl Address {
    pub(super) async fn bind(&self) -> io::Result<TcpListener> {
        if !self.host.is_empty() {
            return TcpListener::bind((self.host.as_str(), self.port)).await;
        }
        // On Linux this takes IPv4 as well, but a node may have IPv6 switched off.
        match TcpListener::bind(SocketAddr::from(([0_u16; 8], self.port))).await {
            Err(e) if e.kind() != io::ErrorKind::AddrInUse => {
                TcpListener::bind(SocketAddr::from(([0_u8; 4], self.port))).await
            }
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
        for text in ["", "9443", "host", "::1:9443", ":", ":65536", ":-1", "[::1:9443", "host:port"] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }

    #[tokio::test]
    async fn no_host_is_every_interface() {
        let address: Address = ":0".parse().unwrap();
        let listener = address.bind().await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    }
}
