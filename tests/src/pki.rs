//! Certificates: an authority of our own, and what it signs.

use std::{fs, path::Path};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, KeyPair, KeyUsagePurpose, date_time_ymd,
};

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

    /// Writes a leaf as the three files that Kubernetes' TLS Secrets have.
    pub fn publish(&self, directory: &Path, leaf: &Leaf) -> anyhow::Result<()> {
        fs::create_dir_all(directory)?;
        fs::write(directory.join("tls.crt"), &leaf.certificate)?;
        fs::write(directory.join("tls.key"), &leaf.key)?;
        fs::write(directory.join("ca.crt"), self.pem())?;
        Ok(())
    }
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
