//! `SHA256SUMS`: the digest of every file of a release, in the format that `sha256sum --check` reads. `digests`: the digest of every package.

use std::fmt::Write as _;

use crate::oci::digest_of;

/// File name of the checksums.
pub const CHECKSUMS: &str = "SHA256SUMS";

/// File name of the packages' digests. It is a file of the release like others, so the checksums, and the signature over them, hold for the packages too.
pub const DIGESTS: &str = "digests";

/// One line `NAME@DIGEST` for each package, sorted by name.
pub fn render_digests(mut packages: Vec<(String, String)>) -> String {
    packages.sort();
    packages.into_iter().flat_map(|(name, digest)| [name, "@".to_owned(), digest, "\n".to_owned()]).collect()
}

/// Whether the checksums name a file. They cannot name themselves, and signatures are made of them.
pub fn is_listed(name: &str) -> bool {
    !name.starts_with(CHECKSUMS) && !name.starts_with('.')
}

/// One line for each file, sorted by name.
pub fn render_checksums(mut files: Vec<(String, Vec<u8>)>) -> String {
    files.sort();
    let mut text = String::new();
    for (name, bytes) in files {
        let _ = writeln!(text, "{}  {name}", digest_of(&bytes).digest());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_sorted_and_signatures_are_left_out() {
        let text = render_checksums(vec![("b".to_owned(), vec![]), ("a".to_owned(), b"abc".to_vec())]);
        assert_eq!(
            text,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a\n\
             e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  b\n"
        );
        assert!(is_listed("testplatform.yaml"));
        assert!(!is_listed("SHA256SUMS") && !is_listed("SHA256SUMS.sigstore.json") && !is_listed(".part"));
    }
}
