//! Endpoint of a cluster's API, as several projects write it.

use serde::Deserialize;

/// Endpoint of an API.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Endpoint {
    /// Host name or address.
    pub host: String,
    /// Port.
    pub port: u16,
}

impl Endpoint {
    /// The URL, once host and port are known.
    pub fn url(&self) -> Option<String> {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        (!host.is_empty() && self.port != 0).then(|| format!("https://{host}:{}", self.port))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_a_url_once_it_is_whole() {
        let url = |host: &str, port| Endpoint { host: host.into(), port }.url();
        assert_eq!(url("api.demo.example", 6443).as_deref(), Some("https://api.demo.example:6443"));
        assert_eq!(url("fd00::1", 6443).as_deref(), Some("https://[fd00::1]:6443"));
        assert_eq!((url("", 6443), url("api.demo.example", 0)), (None, None));
    }
}
