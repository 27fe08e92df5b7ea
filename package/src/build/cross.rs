//! Compilers for platforms that this machine does not run: a search in `PATH`, and the variables for cargo.
//!
//! Linux programs need the cross compiler of a distribution, because it has a static C library. Zig has none of glibc. The plugin for macOS
//! is linked by zig, which has its libraries.

use std::{env, ffi::OsString, path::PathBuf};

use anyhow::Context as _;

use super::platform::{OperatingSystem, Platform};
use crate::oci::Architecture;

/// Call of cargo for a platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrossCompiler {
    /// Subcommand that builds.
    pub subcommand: &'static str,
    /// Environment variables.
    pub variables: Vec<(String, OsString)>,
}

impl CrossCompiler {
    /// The compiler for a platform, from the directories of `PATH`.
    ///
    /// # Errors
    /// If this machine has none.
    pub fn find(platform: Platform) -> anyhow::Result<Self> {
        Self::find_in(platform, &env::var_os("PATH").unwrap_or_default())
    }

    fn find_in(platform: Platform, path: &OsString) -> anyhow::Result<Self> {
        let find = |program: &str| {
            env::split_paths(path).map(|folder| folder.join(program)).find(|file| file.is_file())
        };
        let built_in = Self { subcommand: "build", variables: vec![] };
        match platform.os {
            OperatingSystem::Linux if platform.is_native() => Ok(built_in),
            OperatingSystem::Linux => {
                let prefix = gnu_prefix(platform.architecture);
                let compiler = find(&format!("{prefix}-gcc")).with_context(|| {
                    format!(
                        "{platform} needs the cross compiler {prefix}-gcc, which is not in PATH; install it (on Debian: package gcc-{}), or \
                         leave out {platform}",
                        prefix.replace('_', "-")
                    )
                })?;
                Ok(Self { variables: gnu_variables(platform, prefix, &compiler), ..built_in })
            }
            OperatingSystem::Darwin => {
                find("cargo-zigbuild").with_context(|| {
                    format!(
                        "{platform} needs cargo-zigbuild, which is not in PATH; install it with pip install cargo-zigbuild ziglang, or leave \
                         out {platform}"
                    )
                })?;
                Ok(Self { subcommand: "zigbuild", ..built_in })
            }
        }
    }
}

/// Prefix of the GNU tools for an architecture.
const fn gnu_prefix(architecture: Architecture) -> &'static str {
    match architecture {
        Architecture::Amd64 => "x86_64-linux-gnu",
        Architecture::Arm64 => "aarch64-linux-gnu",
    }
}

/// Linker for cargo, compiler and archiver for build scripts with C sources.
fn gnu_variables(platform: Platform, prefix: &str, compiler: &PathBuf) -> Vec<(String, OsString)> {
    let target = platform.target_triple().replace('-', "_");
    let linker = format!("CARGO_TARGET_{}_LINKER", target.to_uppercase());
    vec![
        (linker, compiler.into()),
        (format!("CC_{target}"), compiler.into()),
        (format!("AR_{target}"), format!("{prefix}-ar").into()),
    ]
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const DARWIN: Platform = Platform { os: OperatingSystem::Darwin, architecture: Architecture::Arm64 };

    /// Linux on the architecture that this machine is not.
    fn foreign() -> Platform {
        let other = Architecture::ALL.into_iter().find(|architecture| !architecture.is_native());
        Platform::linux(other.unwrap())
    }

    #[test]
    fn a_missing_compiler_is_named_with_its_package() {
        let folder = tempfile::tempdir().unwrap();
        let find = |platform| CrossCompiler::find_in(platform, &folder.path().into());
        let error = find(foreign()).unwrap_err().to_string();
        assert!(error.contains("-linux-gnu-gcc") && error.contains("package gcc-"), "{error}");
        let error = find(DARWIN).unwrap_err().to_string();
        assert!(error.starts_with("darwin/arm64 needs cargo-zigbuild"), "{error}");
    }

    #[test]
    fn compilers_in_path_are_used() {
        let folder = tempfile::tempdir().unwrap();
        let compiler = folder.path().join(format!("{}-gcc", gnu_prefix(foreign().architecture)));
        for file in [&compiler, &folder.path().join("cargo-zigbuild")] {
            fs::write(file, "").unwrap();
        }
        let find = |platform| CrossCompiler::find_in(platform, &folder.path().into()).unwrap();
        let linux = find(foreign());
        assert_eq!(linux.subcommand, "build");
        let linker = linux.variables.iter().find(|(name, _)| name.ends_with("_LINUX_GNU_LINKER")).unwrap();
        assert_eq!(linker.1, compiler);
        assert_eq!(find(DARWIN).subcommand, "zigbuild");
    }

    #[test]
    fn this_machine_needs_no_other_compiler() {
        for platform in Platform::ALL.into_iter().filter(|platform| platform.is_native()) {
            let found = CrossCompiler::find_in(platform, &OsString::new()).unwrap();
            assert_eq!(found, CrossCompiler { subcommand: "build", variables: vec![] });
        }
    }
}
