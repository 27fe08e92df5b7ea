//! Certificates as Crossplane makes them: subject and issuer are the same name, authority and leaves share
//! one serial number, and nothing in them says which is which.

use std::{fs, os::unix::fs::symlink, path::Path, sync::Arc};

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, Issuer, KeyPair, KeyUsagePurpose, PublicKeyData, SignatureAlgorithm, date_time_ymd,
};
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};

/// An RSA key as Crossplane writes them (PKCS#1). For tests: it is published here and secures nothing.
const RSA_KEY: &str = include_str!("../../tls/rsa.pem");

pub struct Authority {
    params: CertificateParams,
    key: KeyPair,
    certificate: Certificate,
}

/// A certificate and its key, as PEM.
pub struct Leaf {
    pub certificate: String,
    pub key: String,
}

fn params() -> CertificateParams {
    let mut params = CertificateParams::default();
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, "Crossplane");
    params.distinguished_name = name;
    params.serial_number = Some(2022_u64.into());
    params
}

fn leaf(usage: ExtendedKeyUsagePurpose) -> CertificateParams {
    let mut params = params();
    params.subject_alt_names = CertificateParams::new(["function".to_owned()]).unwrap().subject_alt_names;
    params.extended_key_usages = vec![usage];
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
    params
}

impl Authority {
    pub fn new() -> Self {
        let mut params = params();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        Self { params, key, certificate }
    }

    pub fn server(&self) -> Leaf {
        let key = KeyPair::generate().unwrap();
        let certificate = self.sign(&key, &leaf(ExtendedKeyUsagePurpose::ServerAuth));
        Leaf { certificate, key: key.serialize_pem() }
    }

    /// A server whose key is RSA-2048 in PKCS#1.
    pub fn rsa_server(&self) -> Leaf {
        let key = PrivateKeyDer::from_pem_slice(RSA_KEY.as_bytes()).unwrap();
        let spki = ring::sign::any_supported_type(&key).unwrap().public_key().unwrap().to_vec();
        let certificate = self.sign(&RsaPublicKey(spki), &leaf(ExtendedKeyUsagePurpose::ServerAuth));
        Leaf { certificate, key: RSA_KEY.to_owned() }
    }

    pub fn client(&self) -> Leaf {
        let key = KeyPair::generate().unwrap();
        let certificate = self.sign(&key, &leaf(ExtendedKeyUsagePurpose::ClientAuth));
        Leaf { certificate, key: key.serialize_pem() }
    }

    /// A client whose certificate is not good any more.
    pub fn expired_client(&self) -> Leaf {
        let mut params = leaf(ExtendedKeyUsagePurpose::ClientAuth);
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2021, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = self.sign(&key, &params);
        Leaf { certificate, key: key.serialize_pem() }
    }

    fn sign(&self, key: &impl PublicKeyData, params: &CertificateParams) -> String {
        let issuer = Issuer::from_params(&self.params, &self.key);
        params.signed_by(key, &issuer).unwrap().pem()
    }

    pub fn pem(&self) -> String {
        self.certificate.pem()
    }

    /// TLS configuration of a client of this authority; without a leaf it has no certificate.
    pub fn dial(&self, leaf: Option<&Leaf>) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.der().clone()).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        let mut config = match leaf {
            None => config.with_no_client_auth(),
            Some(leaf) => config
                .with_client_auth_cert(
                    vec![CertificateDer::from_pem_slice(leaf.certificate.as_bytes()).unwrap()],
                    PrivateKeyDer::from_pem_slice(leaf.key.as_bytes()).unwrap(),
                )
                .unwrap(),
        };
        config.alpn_protocols = vec![b"h2".to_vec()];
        config
    }
}

struct RsaPublicKey(Vec<u8>);

impl PublicKeyData for RsaPublicKey {
    fn der_bytes(&self) -> &[u8] {
        &self.0[24..] // after the algorithm and the bit string's header, which RSA-2048 always has alike
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        &rcgen::PKCS_RSA_SHA256
    }
}

/// Puts a version of the three files in place as a kubelet does: a new directory, and one link swapped.
pub fn publish(dir: &Path, version: &str, leaf: &Leaf, authority: &str) {
    let data = dir.join(format!("..{version}"));
    fs::create_dir(&data).unwrap();
    for (name, content) in
        [("tls.crt", leaf.certificate.as_str()), ("tls.key", leaf.key.as_str()), ("ca.crt", authority)]
    {
        fs::write(data.join(name), content).unwrap();
        let link = dir.join(name);
        if !link.is_symlink() {
            symlink(Path::new("..data").join(name), link).unwrap();
        }
    }
    let swap = dir.join("..data_tmp");
    symlink(format!("..{version}"), &swap).unwrap();
    fs::rename(swap, dir.join("..data")).unwrap();
}
