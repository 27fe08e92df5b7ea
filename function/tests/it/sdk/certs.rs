//! Certificates for both sides. Not Crossplane's own shape, which `serve/pki.rs` tests: subject and issuer are the
//! same name there, and the TLS library of gRPC for Python takes such a certificate for a self-signed one.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use serde_json::{Value, json};

use crate::serve::pki::Leaf;

/// Core's identity is its service account and namespace.
const CORE: &str = "crossplane.crossplane-system";

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
        self.sign(&leaf("localhost", ExtendedKeyUsagePurpose::ServerAuth))
    }

    pub fn client(&self) -> Leaf {
        self.sign(&leaf(CORE, ExtendedKeyUsagePurpose::ClientAuth))
    }

    /// The same, whose certificate is not good any more.
    pub fn expired_client(&self) -> Leaf {
        let mut params = leaf(CORE, ExtendedKeyUsagePurpose::ClientAuth);
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2021, 1, 1);
        self.sign(&params)
    }

    /// Configuration of a client that trusts this authority and has a certificate of it.
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

    fn sign(&self, params: &CertificateParams) -> Leaf {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap().pem();
        Leaf { certificate, key: key.serialize_pem() }
    }
}

fn leaf(name: &str, usage: ExtendedKeyUsagePurpose) -> CertificateParams {
    let mut params = named(name, &[name.to_owned()]);
    params.extended_key_usages = vec![usage];
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
    params.use_authority_key_identifier_extension = true;
    params
}

fn named(name: &str, alternatives: &[String]) -> CertificateParams {
    let mut params = CertificateParams::new(alternatives).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}
