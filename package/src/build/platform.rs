//! Platforms of programs, as images and releases name them.
//!
//! Input: a name or the header of a program. Output: the platform. No I/O.

use std::{fmt, str::FromStr};

use anyhow::{Context as _, bail};

use crate::oci::Architecture;

/// Operating system of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OperatingSystem {
    /// Linux: images, and the plugin.
    Linux,
    /// macOS: the plugin alone.
    Darwin,
}

/// Operating system and architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Platform {
    /// Operating system.
    pub os: OperatingSystem,
    /// Architecture.
    pub architecture: Architecture,
}

impl Platform {
    /// All platforms with a build.
    pub const ALL: [Self; 4] = [
        Self { os: OperatingSystem::Linux, architecture: Architecture::Amd64 },
        Self { os: OperatingSystem::Linux, architecture: Architecture::Arm64 },
        Self { os: OperatingSystem::Darwin, architecture: Architecture::Amd64 },
        Self { os: OperatingSystem::Darwin, architecture: Architecture::Arm64 },
    ];

    /// Linux on an architecture.
    pub const fn linux(architecture: Architecture) -> Self {
        Self { os: OperatingSystem::Linux, architecture }
    }

    /// Its operating system, as Go, images and krew name it.
    pub const fn os_name(self) -> &'static str {
        match self.os {
            OperatingSystem::Linux => "linux",
            OperatingSystem::Darwin => "darwin",
        }
    }

    /// Its name in file names, such as `linux-amd64`.
    pub fn file_name(self) -> String {
        format!("{}-{}", self.os_name(), self.architecture)
    }

    /// Its target triple in Rust.
    pub fn target_triple(self) -> &'static str {
        match (self.os, self.architecture) {
            (OperatingSystem::Linux, architecture) => architecture.target_triple(),
            (OperatingSystem::Darwin, Architecture::Amd64) => "x86_64-apple-darwin",
            (OperatingSystem::Darwin, Architecture::Arm64) => "aarch64-apple-darwin",
        }
    }

    /// Whether this machine runs programs for it.
    pub const fn is_native(self) -> bool {
        matches!(self.os, OperatingSystem::Linux) && self.architecture.is_native()
    }

    /// The platform of a program, from its header.
    ///
    /// # Errors
    /// If it is no program for one of these, or a Linux program that needs libraries.
    pub fn of_program(program: &[u8]) -> anyhow::Result<Self> {
        if program.starts_with(b"\x7fELF") {
            return Ok(Self::linux(Architecture::of_program(program)?));
        }
        let number = |at: usize, length: usize| {
            let bytes = program.get(at..at.checked_add(length)?)?;
            Some(bytes.iter().rev().fold(0_u32, |number, byte| number << 8 | u32::from(*byte)))
        };
        // Mach-O of 64 bits, then the type of the processor. Universal programs have another magic number.
        if number(0, 4) == Some(0xfeed_facf) {
            let architecture = match number(4, 4) {
                Some(0x0100_0007) => Architecture::Amd64,
                Some(0x0100_000c) => Architecture::Arm64,
                other => bail!("it is built for processor type {} of macOS", other.unwrap_or_default()),
            };
            return Ok(Self { os: OperatingSystem::Darwin, architecture });
        }
        bail!("it is not a program for 64-bit Linux or macOS")
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.os_name(), self.architecture)
    }
}

impl FromStr for Platform {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let found = Self::ALL.into_iter().find(|platform| platform.to_string() == text);
        found.with_context(|| {
            format!("there is no build for it; choose from {}", Self::ALL.map(|it| it.to_string()).join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_platform_is_read_back_from_its_name() {
        for platform in Platform::ALL {
            assert_eq!(platform.to_string().parse::<Platform>().unwrap(), platform);
        }
    }

    #[test]
    fn an_unknown_platform_is_refused_with_the_known_ones() {
        for text in ["linux/s390x", "linux", "amd64", "", "Linux/amd64", "windows/amd64"] {
            let error = text.parse::<Platform>().unwrap_err().to_string();
            assert_eq!(
                error,
                "there is no build for it; choose from linux/amd64, linux/arm64, darwin/amd64, darwin/arm64"
            );
        }
    }

    #[test]
    fn the_platform_is_read_from_the_program() {
        let platform = |bytes: &[u8]| Platform::of_program(bytes).map(|it| it.to_string());
        assert_eq!(platform(b"\xcf\xfa\xed\xfe\x07\0\0\x01rest").unwrap(), "darwin/amd64");
        assert_eq!(platform(b"\xcf\xfa\xed\xfe\x0c\0\0\x01rest").unwrap(), "darwin/arm64");
        for other in [&b"\xcf\xfa\xed\xfe"[..], b"MZ", b"#!/bin/sh\n", b""] {
            assert!(platform(other).is_err(), "{other:?}");
        }
    }
}
