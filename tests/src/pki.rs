//! Certificates: an authority of our own, and what it signs.

use std::{fs, os::unix::fs::symlink, path::Path};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, KeyPair, KeyUsagePurpose, date_time_ymd,
};
use serde_json::Value;

/// An authority.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A certificate and its key, as PEM.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// The certificate.
    pub certificate: String,
    /// Its key.
    pub key: String,
}

impl Authority {
    /// A new authority.
    pub fn new(name: &str) -> anyhow::Result<Self> {
        let mut params = CertificateParams::default();
        params.distinguished_name = subject(name, None);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        Ok(Self { issuer: CertifiedIssuer::self_signed(params, KeyPair::generate()?)? })
    }

    /// The authority's own certificate.
    pub fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// For a server on this machine.
    pub fn server(&self, name: &str) -> anyhow::Result<Leaf> {
        let hosts = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        self.sign(CertificateParams::new(hosts)?, subject(name, None), ExtendedKeyUsagePurpose::ServerAuth)
    }

    /// For a client. To an API server the name is the user and the organisation the group.
    pub fn client(&self, name: &str, group: Option<&str>) -> anyhow::Result<Leaf> {
        self.sign(CertificateParams::default(), subject(name, group), ExtendedKeyUsagePurpose::ClientAuth)
    }

    /// A kubeconfig whose owner trusts this authority, and no other.
    pub fn instead(&self, mut kubeconfig: Value) -> Value {
        kubeconfig["clusters"][0]["cluster"]["certificate-authority-data"] =
            BASE64_STANDARD.encode(self.pem()).into();
        kubeconfig
    }

    /// As [`Self::server`], and not good any more.
    pub fn expired_server(&self, name: &str) -> anyhow::Result<Leaf> {
        let hosts = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let params = expired(CertificateParams::new(hosts)?);
        self.sign(params, subject(name, None), ExtendedKeyUsagePurpose::ServerAuth)
    }

    /// As [`Self::client`], and not good any more.
    pub fn expired_client(&self, name: &str) -> anyhow::Result<Leaf> {
        let params = expired(CertificateParams::default());
        self.sign(params, subject(name, None), ExtendedKeyUsagePurpose::ClientAuth)
    }

    fn sign(
        &self,
        mut params: CertificateParams,
        subject: DistinguishedName,
        usage: ExtendedKeyUsagePurpose,
    ) -> anyhow::Result<Leaf> {
        params.distinguished_name = subject;
        params.extended_key_usages = vec![usage];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?.pem();
        Ok(Leaf { certificate, key: key.serialize_pem() })
    }

    /// Writes a leaf as the three files that Kubernetes' TLS Secrets have, and puts them in place as a kubelet does: all at once,
    /// by one link that is swapped.
    pub fn publish(&self, directory: &Path, leaf: &Leaf) -> anyhow::Result<()> {
        let version = tempfile::Builder::new().prefix("..").tempdir_in(made(directory)?)?.keep();
        let authority = self.pem();
        let files = [("tls.crt", &leaf.certificate), ("tls.key", &leaf.key), ("ca.crt", &authority)];
        for (name, content) in files {
            fs::write(version.join(name), content)?;
            let link = directory.join(name);
            if !link.is_symlink() {
                symlink(Path::new("..data").join(name), link)?;
            }
        }
        let next = directory.join("..next");
        symlink(version.file_name().unwrap_or_default(), &next)?;
        Ok(fs::rename(next, directory.join("..data"))?)
    }
}

fn made(directory: &Path) -> anyhow::Result<&Path> {
    fs::create_dir_all(directory)?;
    Ok(directory)
}

fn expired(mut params: CertificateParams) -> CertificateParams {
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(2021, 1, 1);
    params
}

fn subject(name: &str, group: Option<&str>) -> DistinguishedName {
    let mut subject = DistinguishedName::new();
    subject.push(DnType::CommonName, name);
    if let Some(group) = group {
        subject.push(DnType::OrganizationName, group);
    }
    subject
}
