//! Keys for signatures: ECDSA on the curve P-256 with SHA-256.
//!
//! Input: PEM. Output: keys. No I/O.

use anyhow::{Context as _, anyhow, ensure};
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, UnparsedPublicKey},
};
use rustls::pki_types::{PrivatePkcs8KeyDer, SubjectPublicKeyInfoDer, pem::PemObject as _};

/// How a private key is created.
const GENERATE: &str = "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out FILE";
/// Start of each public key of this curve: its algorithm, and the length of the point.
const PUBLIC_KEY_PREFIX: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
    0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];
/// Bytes of a point that is not compressed.
const POINT: usize = 65;

/// A private key.
pub struct SigningKey(EcdsaKeyPair);

impl SigningKey {
    /// Reads a key in PKCS #8.
    ///
    /// # Errors
    /// If it is encrypted, no such key, or of another curve.
    pub fn from_pem(pem: &[u8]) -> anyhow::Result<Self> {
        ensure!(
            !String::from_utf8_lossy(pem).contains("-----BEGIN ENCRYPTED "),
            "the private key is encrypted, and cosign alone can sign with it; create one without a password: {GENERATE}"
        );
        let der = PrivatePkcs8KeyDer::from_pem_slice(pem)
            .map_err(|_| anyhow!("it is not a private key in PKCS #8; create one: {GENERATE}"))?;
        let pair = EcdsaKeyPair::from_pkcs8(
            &ECDSA_P256_SHA256_ASN1_SIGNING,
            der.secret_pkcs8_der(),
            &SystemRandom::new(),
        );
        pair.map(Self).map_err(|_| anyhow!("it is not a key of the curve P-256; create one: {GENERATE}"))
    }

    /// Signs a message. Two signatures of one message differ.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn sign(&self, message: &[u8]) -> anyhow::Result<Vec<u8>> {
        let signature = self.0.sign(&SystemRandom::new(), message);
        Ok(signature.map_err(|_| anyhow!("the system gave no random numbers"))?.as_ref().to_vec())
    }
}

/// A public key.
#[derive(Clone, Debug)]
pub struct VerifyingKey(Vec<u8>);

impl VerifyingKey {
    /// Reads a key as cosign and openssl write it (`BEGIN PUBLIC KEY`).
    ///
    /// # Errors
    /// If it is no public key, or of another curve.
    pub fn from_pem(pem: &[u8]) -> anyhow::Result<Self> {
        let der = SubjectPublicKeyInfoDer::from_pem_slice(pem).map_err(|_| {
            anyhow!("it is not a public key; openssl pkey -in FILE -pubout writes that of a private one")
        })?;
        let point = der.strip_prefix(&PUBLIC_KEY_PREFIX).filter(|point| point.len() == POINT);
        Ok(Self(point.context("it is not a key of the curve P-256")?.to_vec()))
    }

    /// Verifies a signature.
    ///
    /// # Errors
    /// If it is not of this message and by this key.
    pub fn verify(&self, message: &[u8], signature: &[u8]) -> anyhow::Result<()> {
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, &self.0);
        key.verify(message, signature).map_err(|_| anyhow!("a signature does not match the key"))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use ring::signature::KeyPair as _;

    use super::*;

    /// A new private key, and its public one.
    pub fn new_keys() -> (SigningKey, VerifyingKey) {
        let random = SystemRandom::new();
        let der = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, der.as_ref(), &random).unwrap();
        let public = VerifyingKey(pair.public_key().as_ref().to_vec());
        (SigningKey(pair), public)
    }

    #[test]
    fn files_that_are_no_keys_are_refused_with_the_remedy() {
        let signing = |pem: &str| SigningKey::from_pem(pem.as_bytes()).err().unwrap().to_string();
        assert!(signing("").contains("openssl genpkey"));
        assert!(signing("-----BEGIN ENCRYPTED SIGSTORE PRIVATE KEY-----\nAA==\n").contains("is encrypted"));
        let wrong = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
        assert!(signing(wrong).contains("P-256"));
        let verifying = |pem: &str| VerifyingKey::from_pem(pem.as_bytes()).err().unwrap().to_string();
        assert!(verifying(wrong).contains("not a public key"));
        let short = "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n";
        assert!(verifying(short).contains("P-256"));
    }
}
