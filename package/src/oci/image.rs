//! One image: layers, configuration, manifest.

use std::fmt;

use anyhow::bail;
use oci_spec::image::{Arch, Os};
use serde_json::{Map, Value, json};

use super::{
    Annotations, Blobs, Descriptor, MediaType, Platform, XPKG, build_manifest, describe_blob, digest_of,
    layer::Layer, to_json,
};

/// Target architecture of a program in an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Architecture {
    /// x86-64.
    Amd64,
    /// 64-bit ARM.
    Arm64,
}

impl Architecture {
    /// All architectures.
    pub const ALL: [Self; 2] = [Self::Amd64, Self::Arm64];

    /// Its name in images.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
        }
    }

    /// Its target triple in Rust.
    pub fn target_triple(self) -> &'static str {
        match self {
            Self::Amd64 => "x86_64-unknown-linux-gnu",
            Self::Arm64 => "aarch64-unknown-linux-gnu",
        }
    }

    /// Whether this machine runs programs for it.
    pub const fn is_native(self) -> bool {
        match self {
            Self::Amd64 => cfg!(all(target_os = "linux", target_arch = "x86_64")),
            Self::Arm64 => cfg!(all(target_os = "linux", target_arch = "aarch64")),
        }
    }

    /// The architecture of a Linux program, from its file header.
    ///
    /// # Errors
    /// If it is no Linux program for one of these, or needs a loader and libraries, which the image lacks.
    pub fn of_program(program: &[u8]) -> anyhow::Result<Self> {
        const INTERPRETER: u64 = 3;
        let number = |at: usize, length: usize| {
            let bytes = program.get(at..at.checked_add(length)?)?;
            Some(bytes.iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte)))
        };
        // 64 bits, little-endian.
        if !program.starts_with(b"\x7fELF\x02\x01") {
            bail!("it is not a program for 64-bit Linux (no ELF header)");
        }
        let architecture = match number(18, 2) {
            Some(62) => Self::Amd64,
            Some(183) => Self::Arm64,
            other => {
                bail!("it is built for machine {} of ELF, not for amd64 or arm64", other.unwrap_or_default())
            }
        };
        let headers = number(32, 8).zip(number(54, 2)).zip(number(56, 2));
        let ((start, size), count) = headers.unwrap_or_default();
        for index in 0..count {
            let at = index.checked_mul(size).and_then(|offset| offset.checked_add(start));
            if at.and_then(|at| number(usize::try_from(at).ok()?, 4)) == Some(INTERPRETER) {
                bail!(
                    "it is linked dynamically, and the image has no libraries; build it with \
                     RUSTFLAGS='-C target-feature=+crt-static' and --target {}",
                    architecture.target_triple()
                );
            }
        }
        Ok(architecture)
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Start of a container from an image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// Program and arguments.
    pub entrypoint: Vec<String>,
    /// `uid:gid`.
    pub user: String,
    /// Ports, such as `9443/tcp`.
    pub ports: Vec<String>,
}

/// One image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Architecture. Core also reads an image without a program.
    pub architecture: Architecture,
    /// The configuration, as it is named by the manifest.
    pub config: Vec<u8>,
    /// Layers, lowest first.
    pub layers: Vec<Layer>,
    /// The manifest, whose digest is the image's.
    pub manifest: Vec<u8>,
    /// Annotations of the manifest.
    pub annotations: Annotations,
}

impl Image {
    /// Builds an image. The configuration repeats the `annotations`, because container tools look there. It also has the purpose of each
    /// layer, because an archive (`.xpkg`) has no place for annotations of layers.
    ///
    /// # Errors
    /// Never: strings always serialize to JSON.
    pub fn new(
        architecture: Architecture,
        start: &Start,
        layers: Vec<Layer>,
        annotations: &Annotations,
        created: &str,
    ) -> anyhow::Result<Self> {
        let mut labels: Map<String, Value> =
            annotations.iter().map(|(key, value)| (key.clone(), value.clone().into())).collect();
        for layer in &layers {
            if let Some(purpose) = layer.annotations.get(XPKG) {
                labels.insert(format!("{XPKG}:{}", digest_of(&layer.blob)), purpose.clone().into());
            }
        }
        let mut run = Map::from_iter([("Labels".to_owned(), Value::Object(labels))]);
        if !start.entrypoint.is_empty() {
            let ports: Map<_, _> = start.ports.iter().map(|port| (port.clone(), json!({}))).collect();
            run.insert("Entrypoint".to_owned(), json!(start.entrypoint));
            run.insert("ExposedPorts".to_owned(), Value::Object(ports));
            run.insert("User".to_owned(), json!(start.user));
            run.insert("WorkingDir".to_owned(), json!("/"));
        }
        let config = to_json(&json!({
            "architecture": architecture.as_str(),
            "config": run,
            "created": created,
            "os": "linux",
            "rootfs": { "type": "layers", "diff_ids": layers.iter().map(|l| &l.diff_id).collect::<Vec<_>>() },
        }))?;
        let descriptors = layers.iter().map(Layer::descriptor).collect();
        let manifest = to_json(&build_manifest(&config, descriptors, annotations)?)?;
        Ok(Self { architecture, config, layers, manifest, annotations: annotations.clone() })
    }

    /// Its descriptor.
    pub fn descriptor(&self) -> Descriptor {
        let mut platform = Platform::default();
        platform.set_architecture(Arch::from(self.architecture.as_str())).set_os(Os::Linux);
        let mut descriptor = describe_blob(MediaType::ImageManifest, &self.manifest);
        descriptor.set_platform(Some(platform));
        descriptor
    }

    /// Adds all of its blobs.
    pub fn into_blobs(self, blobs: &mut Blobs) {
        let layers = self.layers.into_iter().map(|layer| layer.blob);
        for blob in layers.chain([self.config, self.manifest]) {
            blobs.insert(digest_of(&blob), blob);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(machine: u8, kinds: &[u8]) -> Vec<u8> {
        let mut program = vec![0; 64 + 56 * kinds.len()];
        program[..6].copy_from_slice(b"\x7fELF\x02\x01");
        program[18] = machine;
        (program[32], program[54], program[56]) = (64, 56, u8::try_from(kinds.len()).unwrap());
        for (index, kind) in kinds.iter().enumerate() {
            program[64 + 56 * index] = *kind;
        }
        program
    }

    #[test]
    fn the_architecture_is_read_from_the_program() {
        assert_eq!(Architecture::of_program(&program(62, &[1, 2])).unwrap(), Architecture::Amd64);
        assert_eq!(Architecture::of_program(&program(183, &[])).unwrap(), Architecture::Arm64);
    }

    #[test]
    fn a_program_that_could_not_start_is_refused() {
        let refused = |bytes: &[u8]| Architecture::of_program(bytes).unwrap_err().to_string();
        assert!(refused(b"#!/bin/sh\n").contains("not a program for 64-bit Linux"));
        assert!(refused(&program(8, &[])).contains("machine 8"));
        assert!(refused(&program(62, &[1, 3])).contains("crt-static"));
        assert!(refused(b"\x7fELF\x02\x01").contains("machine 0"));
    }

    /// The header claims more than there is.
    #[test]
    fn a_truncated_program_does_not_panic() {
        let mut cut = program(62, &[1, 3]);
        cut.truncate(64);
        assert_eq!(Architecture::of_program(&cut).unwrap(), Architecture::Amd64);
        cut[32..40].fill(0xff);
        assert_eq!(Architecture::of_program(&cut).unwrap(), Architecture::Amd64);
    }
}
