//! The distribution API: reads artifacts, and uploads missing blobs.

mod platforms;

use anyhow::{Context as _, bail, ensure};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use oci_spec::image::ToDockerV2S2 as _;

use super::{
    Reference, challenge,
    credentials::Credentials,
    http::{Http, HttpResponse, resolve_location},
    login::Login,
};
use crate::oci::{Artifact, Descriptor, Digest, MediaType, is_index, is_manifest, layout::referenced_blobs};

/// One repository of one registry.
pub struct Client {
    http: Http,
    reference: Reference,
    credentials: Option<Credentials>,
    /// Last successful authorization.
    authorization: Option<HeaderValue>,
    scheme: &'static str,
    pushes: bool,
}

/// Result of a push.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PushSummary {
    /// Number of blobs sent.
    pub sent: usize,
    /// Number of blobs that the registry already had.
    pub skipped: usize,
}

/// Maximum nesting: an index of images is the deepest package.
const MAX_DEPTH: usize = 3;

impl Client {
    /// A client for the repository that a reference names.
    pub fn new(http: Http, reference: Reference, credentials: Option<Credentials>) -> Self {
        Self { http, reference, credentials, authorization: None, scheme: "https", pushes: false }
    }

    /// Pushes an artifact: references come after their targets, so nobody reads an incomplete one.
    ///
    /// # Errors
    /// If the artifact is incomplete, the registry refuses a part of it, or the registry has other bytes afterwards.
    pub async fn push(&mut self, artifact: &Artifact) -> anyhow::Result<PushSummary> {
        self.pushes = true;
        self.scheme = self.http.scheme(self.registry_host()).await;
        let mut pushed = PushSummary::default();
        let verify_root = artifact.root.clone();
        self.push_inner(artifact, &verify_root, &mut pushed).await?;
        // Without a tag the artifact is available by its digest.
        let name = self.reference.tag.clone().unwrap_or_else(|| verify_root.digest().to_string());
        self.put_manifest(&name, &verify_root, artifact.blob(&verify_root)?).await?;
        Ok(pushed)
    }

    async fn push_inner(
        &mut self,
        artifact: &Artifact,
        parent: &Descriptor,
        pushed: &mut PushSummary,
    ) -> anyhow::Result<()> {
        for descriptor in referenced_blobs(parent.media_type(), artifact.blob(parent)?) {
            let bytes = artifact.blob(&descriptor)?;
            if is_manifest(descriptor.media_type()) || is_index(descriptor.media_type()) {
                Box::pin(self.push_inner(artifact, &descriptor, pushed)).await?;
                self.put_manifest(descriptor.digest().as_ref(), &descriptor, bytes).await?;
            } else if self.has_blob(descriptor.digest()).await? {
                pushed.skipped += 1;
            } else {
                self.put_blob(descriptor.digest(), bytes).await?;
                pushed.sent += 1;
            }
        }
        Ok(())
    }

    /// Reads an artifact with all of its blobs.
    ///
    /// # Errors
    /// If it does not exist, or a blob is missing or does not match its digest.
    pub async fn pull(&mut self) -> anyhow::Result<Artifact> {
        self.scheme = self.http.scheme(self.registry_host()).await;
        let answer = self.fetch_manifest().await?;
        self.pull_blobs(answer).await
    }

    /// Reads an artifact with all of its blobs; none if it does not exist.
    ///
    /// # Errors
    /// If the registry does not answer, or a blob is missing or does not match its digest.
    pub async fn find(&mut self) -> anyhow::Result<Option<Artifact>> {
        self.scheme = self.http.scheme(self.registry_host()).await;
        let answer = self.fetch_manifest().await?;
        if answer.status == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        self.pull_blobs(answer).await.map(Some)
    }

    /// The artifact whose manifest the registry gave.
    async fn pull_blobs(&mut self, answer: HttpResponse) -> anyhow::Result<Artifact> {
        let (root, bytes) = self.root(answer)?;
        let mut artifact = Artifact { root: root.clone(), blobs: [(root.digest().clone(), bytes)].into() };
        self.pull_inner(&mut artifact, &root, MAX_DEPTH).await?;
        Ok(artifact)
    }

    /// Requests the referenced image or index of images.
    async fn fetch_manifest(&mut self) -> anyhow::Result<HttpResponse> {
        let name = self.reference.name()?.to_owned();
        let kinds = [MediaType::ImageManifest, MediaType::ImageIndex];
        let of_docker = kinds.iter().filter_map(|kind| kind.to_docker_v2s2().ok());
        let accept = kinds.iter().map(AsRef::as_ref).chain(of_docker).collect::<Vec<_>>().join(", ");
        let headers = [(header::ACCEPT, accept.as_str())];
        self.send(Method::GET, &format!("manifests/{name}"), &headers, &[]).await
    }

    /// The response, if it matches the request.
    fn root(&self, answer: HttpResponse) -> anyhow::Result<(Descriptor, Vec<u8>)> {
        self.expect_status(&answer, &[StatusCode::OK], "cannot be read")?;
        let media_type = answer.header(header::CONTENT_TYPE).unwrap_or_default();
        let root =
            crate::oci::describe_blob(media_type.split(';').next().unwrap_or_default().into(), &answer.body);
        if let Some(digest) = &self.reference.digest {
            ensure!(digest == root.digest(), "{} answers with {} instead", self.reference, root.digest());
        }
        Ok((root, answer.body))
    }

    async fn pull_inner(
        &mut self,
        artifact: &mut Artifact,
        parent: &Descriptor,
        depth: usize,
    ) -> anyhow::Result<()> {
        ensure!(depth > 0, "{} is nested too deep for a package", self.reference);
        for descriptor in referenced_blobs(parent.media_type(), artifact.blob(parent)?) {
            let (media_type, digest) = (descriptor.media_type(), descriptor.digest());
            let inner = is_manifest(media_type) || is_index(media_type);
            let path = format!("{}/{digest}", if inner { "manifests" } else { "blobs" });
            let headers = [(header::ACCEPT, media_type.as_ref())];
            let answer = self.send(Method::GET, &path, if inner { &headers } else { &[] }, &[]).await?;
            self.expect_status(&answer, &[StatusCode::OK], &format!("lacks {digest}"))?;
            artifact.blobs.insert(digest.clone(), answer.body);
            artifact.blob(&descriptor)?;
            if inner {
                Box::pin(self.pull_inner(artifact, &descriptor, depth - 1)).await?;
            }
        }
        Ok(())
    }

    async fn has_blob(&mut self, digest: &Digest) -> anyhow::Result<bool> {
        let answer = self.send(Method::HEAD, &format!("blobs/{digest}"), &[], &[]).await?;
        self.expect_status(&answer, &[StatusCode::OK, StatusCode::NOT_FOUND], "does not say what it has")?;
        Ok(answer.status == StatusCode::OK)
    }

    /// Uploads in one piece: the largest blob is a program of a few megabytes.
    async fn put_blob(&mut self, digest: &Digest, bytes: &[u8]) -> anyhow::Result<()> {
        let answer = self.send(Method::POST, "blobs/uploads/", &[], &[]).await?;
        self.expect_status(&answer, &[StatusCode::ACCEPTED], "takes no uploads")?;
        let location =
            answer.headers.get(header::LOCATION).context("the registry names no place to upload to")?;
        let location = resolve_location(&self.uri("blobs/uploads/")?, location)?;
        let join = if location.query().is_some() { '&' } else { '?' };
        let build_uri: Uri = format!("{location}{join}digest={digest}").parse()?;
        let headers = [(header::CONTENT_TYPE, "application/octet-stream")];
        let answer = self.send_to(Method::PUT, &build_uri, &headers, bytes).await?;
        self.expect_status(&answer, &[StatusCode::CREATED], &format!("does not take {digest}"))
    }

    async fn put_manifest(
        &mut self,
        name: &str,
        descriptor: &Descriptor,
        bytes: &[u8],
    ) -> anyhow::Result<()> {
        let headers = [(header::CONTENT_TYPE, descriptor.media_type().as_ref())];
        let answer = self.send(Method::PUT, &format!("manifests/{name}"), &headers, bytes).await?;
        let accepted = [StatusCode::CREATED, StatusCode::OK, StatusCode::ACCEPTED];
        self.expect_status(&answer, &accepted, &format!("does not take the manifest {name}"))?;
        let built = descriptor.digest();
        let digest = answer.header("docker-content-digest").unwrap_or(built.as_ref());
        ensure!(
            digest == built.as_ref(),
            "the registry stored {name} as {digest}; it changed {built}, so what was built cannot be installed by its digest"
        );
        Ok(())
    }

    fn expect_status(
        &self,
        answer: &HttpResponse,
        statuses: &[StatusCode],
        what: &str,
    ) -> anyhow::Result<()> {
        if statuses.contains(&answer.status) {
            return Ok(());
        }
        let repository = self.reference.repository();
        match answer.status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                let registry = &self.reference.registry;
                let with = match self.credentials {
                    Some(_) => format!("the credentials for {registry} are not enough"),
                    None => format!("there are no credentials for {registry}"),
                };
                bail!(
                    "{repository} {what} ({}): {with}; log in with docker login or podman login",
                    answer.error_message()
                )
            }
            _ => bail!("{repository} {what}: {}", answer.error_message()),
        }
    }

    fn registry_host(&self) -> &str {
        match self.reference.registry.as_str() {
            // Docker Hub's web site has the common name; its registry has another.
            "docker.io" => "registry-1.docker.io",
            other => other,
        }
    }

    fn uri(&self, path: &str) -> anyhow::Result<Uri> {
        format!("{}://{}/v2/{}/{path}", self.scheme, self.registry_host(), self.reference.path)
            .parse()
            .with_context(|| format!("{} is not an address", self.reference))
    }

    async fn send(
        &mut self,
        method: Method,
        path: &str,
        headers: &[(HeaderName, &str)],
        body: &[u8],
    ) -> anyhow::Result<HttpResponse> {
        let uri = self.uri(path)?;
        self.send_to(method, &uri, headers, body).await
    }

    /// Sends a request, and repeats it once with credentials if the registry requires them.
    async fn send_to(
        &mut self,
        method: Method,
        uri: &Uri,
        headers: &[(HeaderName, &str)],
        body: &[u8],
    ) -> anyhow::Result<HttpResponse> {
        let mut all = HeaderMap::new();
        for (name, value) in headers {
            all.insert(name, HeaderValue::from_str(value)?);
        }
        // Some registries redirect uploads to another server, with the authorization in the address.
        let ours = is_same_server(uri, &self.uri("")?);
        if let Some(authorization) = self.authorization.as_ref().filter(|_| ours) {
            all.insert(header::AUTHORIZATION, authorization.clone());
        }
        let answer = self.http.send(method.clone(), uri, &all, body).await?;
        if answer.status != StatusCode::UNAUTHORIZED || !ours {
            return Ok(answer);
        }
        let ways = answer.headers.get_all(header::WWW_AUTHENTICATE).iter();
        let ways: Vec<_> =
            ways.filter_map(|way| way.to_str().ok()).flat_map(challenge::parse_challenges).collect();
        let login = Login {
            http: &self.http,
            path: &self.reference.path,
            credentials: self.credentials.as_ref(),
            pushes: self.pushes,
        };
        let Some(authorization) = login.authorize(&ways).await? else { return Ok(answer) };
        all.insert(header::AUTHORIZATION, authorization.clone());
        self.authorization = Some(authorization);
        self.http.send(method, uri, &all, body).await
    }
}

/// Whether two addresses have the same server and scheme. Data for TLS must not go to the same server without TLS.
fn is_same_server(one: &Uri, other: &Uri) -> bool {
    let of = |uri: &Uri| {
        let usual = if uri.scheme_str() == Some("http") { 80 } else { 443 };
        (uri.scheme().cloned(), uri.host().map(str::to_ascii_lowercase), uri.port_u16().unwrap_or(usual))
    };
    of(one) == of(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_the_same_by_scheme_host_and_port() {
        let same = |one: &str, other: &str| is_same_server(&one.parse().unwrap(), &other.parse().unwrap());
        assert!(same("https://r.example.com/v2/", "https://R.example.com:443/upload"));
        assert!(same("http://localhost:5000/a", "http://localhost:5000/b"));
        assert!(!same("https://r.example.com/", "http://r.example.com/"));
        assert!(!same("https://r.example.com/", "http://r.example.com:443/"));
        assert!(!same("https://r.example.com/", "https://r.example.com:5000/"));
        assert!(!same("https://r.example.com/", "https://other.example.com/"));
    }
}
