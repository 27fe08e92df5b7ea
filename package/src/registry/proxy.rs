//! The proxy of a restricted network: `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`, as in curl, docker and podman.
//!
//! Input: the environment and an address. Output: the proxy for the address, if any. Requests to a registry pass the proxy inside of TLS
//! that ends at the registry: the proxy learns only its name. Plain HTTP, which is limited to trusted networks, uses no proxy.

use anyhow::{Context as _, bail, ensure};
use http::Uri;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};

/// The proxy for TLS, with its exceptions.
#[derive(Debug)]
pub struct Proxy {
    /// Address and credentials of the proxy.
    pub entry: Intercept,
    matcher: Matcher,
}

impl Proxy {
    /// The proxy of the environment, if any. `variable` reads the environment.
    ///
    /// # Errors
    /// If the proxy is unusable: a direct connection would bypass it.
    pub fn from_environment(variable: impl Fn(&str) -> Option<String>) -> anyhow::Result<Option<Self>> {
        let read = |name: &str| {
            let lower = name.to_ascii_lowercase();
            [name, lower.as_str()].into_iter().find_map(&variable).filter(|value| !value.trim().is_empty())
        };
        let named = ["HTTPS_PROXY", "ALL_PROXY"].into_iter().find_map(|name| Some((name, read(name)?)));
        let Some((name, value)) = named else { return Ok(None) };
        let entry = parse_entry(&value).with_context(|| format!("{name} cannot be used"))?;
        let matcher = Matcher::builder().https(value).no(read("NO_PROXY").unwrap_or_default()).build();
        Ok(Some(Self { entry, matcher }))
    }

    /// Whether an address is reached through the proxy. This machine never is.
    pub fn applies_to(&self, uri: &Uri) -> bool {
        uri.host().is_some_and(|host| !is_loopback(host)) && self.matcher.intercept(uri).is_some()
    }
}

/// Parses a proxy URL. It may contain a password, so no error shows it.
fn parse_entry(value: &str) -> anyhow::Result<Intercept> {
    let example = "such as http://proxy.example.com:3128";
    let anywhere = Uri::from_static("https://registry.example.com");
    let Some(entry) = Matcher::builder().https(value).build().intercept(&anywhere) else {
        bail!("it is not an address of a proxy; write one {example}");
    };
    let scheme = entry.uri().scheme_str().unwrap_or_default();
    ensure!(
        ["http", "https"].contains(&scheme),
        "proxies of kind {scheme:?} are not spoken to, only HTTP proxies {example}"
    );
    Ok(entry)
}

/// Whether a host is this machine.
pub fn is_loopback(host: &str) -> bool {
    // The port follows the name or the brackets. An IPv6 address without brackets has none.
    let name = match host.rsplit_once(':') {
        Some((name, _)) if !name.contains(':') || name.ends_with(']') => name,
        _ => host,
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    name == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxy(variables: &[(&str, &str)]) -> anyhow::Result<Option<Proxy>> {
        let value = |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
        Proxy::from_environment(|name| value(name).map(str::to_owned))
    }

    #[test]
    fn the_environment_selects_the_proxy() {
        let usual = ("HTTPS_PROXY", "http://proxy.example:3128");
        for (variables, uri, expected) in [
            (&[][..], "https://r.example/v2/", None),
            (&[usual], "https://r.example/v2/", Some("http://proxy.example:3128/")),
            (
                &[("https_proxy", "proxy.example:3128")],
                "https://r.example",
                Some("http://proxy.example:3128/"),
            ),
            (&[("ALL_PROXY", "https://p.example")], "https://r.example", Some("https://p.example/")),
            (
                &[("ALL_PROXY", "http://other:1"), usual],
                "https://r.example",
                Some("http://proxy.example:3128/"),
            ),
            (&[("HTTPS_PROXY", " ")], "https://r.example", None),
            // Not for plain HTTP, not for this machine, not where it is not wanted.
            (&[usual, ("HTTP_PROXY", "http://proxy.example:3128")], "http://r.example:5000", None),
            (&[usual], "https://127.0.0.1:5000", None),
            (&[usual], "https://localhost:5000", None),
            (&[usual, ("NO_PROXY", "other.example, r.example")], "https://r.example:5000", None),
            (&[usual, ("no_proxy", ".example")], "https://r.example", None),
            (&[usual, ("NO_PROXY", "10.0.0.0/8")], "https://10.1.2.3", None),
            (&[usual, ("NO_PROXY", "*")], "https://r.example", None),
            (&[usual, ("NO_PROXY", "r.example")], "https://cdn.example", Some("http://proxy.example:3128/")),
        ] {
            let found = proxy(variables).unwrap().filter(|proxy| proxy.applies_to(&uri.parse().unwrap()));
            let found = found.map(|proxy| proxy.entry.uri().to_string());
            assert_eq!(found.as_deref(), expected, "{variables:?} {uri}");
        }
    }

    #[test]
    fn an_unusable_proxy_is_an_error() {
        for (value, words) in [
            ("socks5://p.example:1080", "of kind \"socks5\""),
            ("ftp://p.example", "not an address of a proxy"),
            ("http://user:secret@", "not an address of a proxy"),
            ("a b", "not an address of a proxy"),
        ] {
            let message = format!("{:#}", proxy(&[("HTTPS_PROXY", value)]).unwrap_err());
            assert!(message.contains(words) && message.contains("HTTPS_PROXY"), "{value}: {message}");
            assert!(!message.contains("secret"), "{message}");
        }
    }
}
