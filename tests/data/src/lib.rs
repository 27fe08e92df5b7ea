//! Files of other projects that tests compare with. `tests/data/README.md` names the repository, the commit and the date of each.

use std::path::PathBuf;

/// The directory of these files: `UPSTREAM_DIR` for a newer copy, else the one in this repository.
pub fn upstream() -> PathBuf {
    let committed = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/upstream"));
    std::env::var_os("UPSTREAM_DIR").map_or(committed, PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_directory_has_files() {
        for directory in ["crds", "examples", "infra-deployments", "parity", "prow", "xrds"] {
            let path = upstream().join(directory);
            assert!(path.read_dir().is_ok_and(|mut files| files.next().is_some()), "{}", path.display());
        }
    }
}
