//! Certificates for both sides. Not Crossplane's own shape, which `serve/pki.rs` tests: subject and issuer are the
//! same name there, and the TLS library of gRPC for Python takes such a certificate for a self-signed one.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use serde_json::{Value, json};

use super::pki::Leaf;

pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub pem: String,
}

impl Authority {
    pub fn new(name: &str) -> Self {
        let mut params = named(name, &[]);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    pub fn server(&self) -> Leaf {
        self.leaf("localhost", ExtendedKeyUsagePurpose::ServerAuth)
    }

    /// Core's identity is its service account and namespace.
    pub fn client(&self) -> Leaf {
        self.leaf("crossplane.crossplane-system", ExtendedKeyUsagePurpose::ClientAuth)
    }

    /// What a client needs that trusts this authority and has a certificate of it.
    pub fn dial(&self) -> Value {
        self.dial_with(&self.client())
    }

    /// The same with the certificate of another.
    pub fn dial_with(&self, leaf: &Leaf) -> Value {
        json!({"ca": self.pem, "cert": leaf.certificate, "key": leaf.key})
    }

    /// The same without a certificate.
    pub fn dial_without(&self) -> Value {
        json!({"ca": self.pem, "cert": null, "key": null})
    }

    fn leaf(&self, name: &str, usage: ExtendedKeyUsagePurpose) -> Leaf {
        let mut params = named(name, &[name.to_owned()]);
        params.extended_key_usages = vec![usage];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap().pem();
        Leaf { certificate, key: key.serialize_pem() }
    }
}

fn named(name: &str, alternatives: &[String]) -> CertificateParams {
    let mut params = CertificateParams::new(alternatives).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}
