//! Authentication: from a registry's challenge to the `Authorization` header.

use anyhow::{Context as _, bail};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};

use super::{
    challenge::Challenge,
    credentials::Credentials,
    http::{Http, redact_query},
};

/// Data for the authentication.
pub struct Login<'a> {
    /// Client for the token server.
    pub http: &'a Http,
    /// Path of the repository.
    pub path: &'a str,
    /// None: anonymous.
    pub credentials: Option<&'a Credentials>,
    /// Whether the client pushes.
    pub pushes: bool,
}

impl Login<'_> {
    /// Builds the `Authorization` header of the next request; none if no challenge is supported.
    ///
    /// # Errors
    /// If the token server gives no token.
    pub async fn authorize(&self, ways: &[Challenge]) -> anyhow::Result<Option<HeaderValue>> {
        for way in ways {
            match (way, self.credentials) {
                (Challenge::Basic, Some(Credentials::Basic { user, password })) => {
                    return Ok(Some(basic_header(user, password)?));
                }
                (Challenge::Bearer { realm, service, scope }, _) => {
                    let actions = if self.pushes { "pull,push" } else { "pull" };
                    let ours = format!("repository:{}:{actions}", self.path);
                    // The first request of a push is a lookup, whose challenge requires only `pull`. Quay creates a repository only for a
                    // token with push scope, and refuses lookups in a missing one.
                    let scope = scope.as_deref().filter(|_| !self.pushes).unwrap_or(&ours);
                    let token = self.fetch_token(realm, service.as_deref(), scope).await?;
                    return Ok(Some(sensitive_header(&format!("Bearer {token}"))?));
                }
                _ => {}
            }
        }
        Ok(None)
    }

    /// Gets a token, with credentials or anonymously.
    async fn fetch_token(&self, realm: &str, service: Option<&str>, scope: &str) -> anyhow::Result<String> {
        let mut query: Vec<(&str, &str)> = vec![("scope", scope)];
        query.extend(service.map(|service| ("service", service)));
        let mut headers = HeaderMap::new();
        let answer = if let Some(Credentials::Identity(token)) = self.credentials {
            query.extend([
                ("grant_type", "refresh_token"),
                ("client_id", "cargo-xpkg"),
                ("refresh_token", token),
            ]);
            let form = HeaderValue::from_static("application/x-www-form-urlencoded");
            headers.insert(header::CONTENT_TYPE, form);
            let uri: Uri = realm.parse().context("the registry's token server has no address")?;
            self.http.send(Method::POST, &uri, &headers, encode_form(&query).as_bytes()).await
        } else {
            if let Some(Credentials::Basic { user, password }) = self.credentials {
                headers.insert(header::AUTHORIZATION, basic_header(user, password)?);
            }
            let join = if realm.contains('?') { '&' } else { '?' };
            let uri: Uri = format!("{realm}{join}{}", encode_form(&query))
                .parse()
                .context("the registry's token server has no address")?;
            self.http.send(Method::GET, &uri, &headers, &[]).await
        }
        .with_context(|| format!("no token for {}", self.path))?;
        if answer.status != StatusCode::OK {
            let server = realm.parse::<Uri>().map_or_else(|_| realm.to_owned(), |uri| redact_query(&uri));
            bail!(
                "{server} gives no token for {} ({}); log in with docker login or podman login",
                self.path,
                answer.error_message()
            );
        }
        let body: serde_json::Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let token = body["token"].as_str().or_else(|| body["access_token"].as_str());
        token.map(str::to_owned).context("the token server answers without a token")
    }
}

fn basic_header(user: &str, password: &str) -> anyhow::Result<HeaderValue> {
    sensitive_header(&format!("Basic {}", BASE64_STANDARD.encode(format!("{user}:{password}"))))
}

fn sensitive_header(text: &str) -> anyhow::Result<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok().context("the credentials cannot be sent in a header")?;
    value.set_sensitive(true);
    Ok(value)
}

fn encode_form(pairs: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_for_a_token_server_are_encoded() {
        assert_eq!(
            encode_form(&[("scope", "repository:a/b:pull,push"), ("service", "r.example")]),
            "scope=repository%3Aa%2Fb%3Apull%2Cpush&service=r.example"
        );
    }
}
