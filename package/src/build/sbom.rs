//! The bill of materials of a program: every crate that is linked into it, as `CycloneDX`.
//!
//! Input: output of cargo. Output: JSON. No I/O.
//!
//! Three sources are necessary. `cargo metadata` has licences and sources, but of every crate in the workspace. `cargo tree` has exactly
//! the crates linked into one program, but little else. `Cargo.lock` has checksums.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, bail};
use cargo_metadata::{Metadata, Package, PackageId};
use cyclonedx_bom::{
    external_models::{normalized_string::NormalizedString, spdx::SpdxExpression, uri::Purl},
    models::{
        component::{Classification, Component, Components},
        dependency::{Dependencies, Dependency},
        hash::{Hash, HashAlgorithm, HashValue, Hashes},
        license::{LicenseChoice, Licenses},
        metadata::Metadata as About,
    },
    prelude::{Bom, SpecVersion, Validate as _},
};

use crate::oci::to_json;

/// A crate by name and version. Two sources with one version do not occur.
type Crate = (String, String);

/// Builds the bill of materials of one program.
///
/// `tree` is the output of `cargo tree --prefix none --format {p}` for it, `lock` the text of `Cargo.lock`.
///
/// # Errors
/// If the three sources contradict each other, or the bill is invalid.
pub fn build_bill(program: &str, metadata: &Metadata, tree: &str, lock: &str) -> anyhow::Result<Vec<u8>> {
    let parse_linked = linked(tree)?;
    let packages: BTreeMap<&PackageId, &Package> = metadata
        .packages
        .iter()
        .filter(|package| parse_linked.contains(&crate_key(package)))
        .map(|package| (&package.id, package))
        .collect();
    if let Some((name, version)) =
        parse_linked.iter().find(|wanted| !packages.values().any(|package| crate_key(package) == **wanted))
    {
        bail!(
            "cargo tree names {name} {version}, which cargo metadata does not know; is Cargo.lock up to date?"
        );
    }
    let root = *packages
        .values()
        .find(|package| package.name.as_str() == program)
        .with_context(|| format!("cargo tree does not name {program}"))?;
    let parse_checksums = checksums(lock);
    let mut components = Vec::new();
    for package in packages.values().filter(|package| package.id != root.id) {
        components.push(build_component(package, Classification::Library, &parse_checksums)?);
    }
    components.sort_by(|a, b| a.bom_ref.cmp(&b.bom_ref));
    let mut dependencies = list_dependencies(metadata, &packages);
    dependencies.sort_by(|a, b| a.dependency_ref.cmp(&b.dependency_ref));
    let bom = Bom {
        spec_version: SpecVersion::V1_5,
        version: 1,
        serial_number: None,
        metadata: Some(About {
            component: Some(build_component(root, Classification::Application, &parse_checksums)?),
            timestamp: None,
            tools: None,
            authors: None,
            manufacture: None,
            supplier: None,
            licenses: None,
            properties: None,
            lifecycles: None,
        }),
        components: Some(Components(components)),
        dependencies: Some(Dependencies(dependencies)),
        services: None,
        external_references: None,
        compositions: None,
        properties: None,
        vulnerabilities: None,
        signature: None,
        annotations: None,
        formulation: None,
    };
    let result = bom.validate_version(SpecVersion::V1_5);
    if !result.passed() {
        bail!("the bill of materials of {program} is not valid: {result:?}");
    }
    let mut json = Vec::new();
    bom.output_as_json_v1_5(&mut json).context("the bill of materials cannot be written")?;
    to_json(&serde_json::from_slice::<serde_json::Value>(&json)?)
}

fn build_component(
    package: &Package,
    kind: Classification,
    checksums: &BTreeMap<Crate, String>,
) -> anyhow::Result<Component> {
    let version = package.version.to_string();
    let mut component = Component::new(kind, &package.name, &version, Some(crate_reference(package)));
    component.purl = Some(
        Purl::new("cargo", &package.name, &version)
            .with_context(|| format!("{} has no package URL", package.name))?,
    );
    component.description = package.description.as_deref().map(NormalizedString::new);
    component.licenses = package
        .license
        .clone()
        .map(SpdxExpression::parse_lax)
        .transpose()
        .with_context(|| format!("the licence of {} is not an SPDX expression", package.name))?
        .map(|expression| Licenses(vec![LicenseChoice::Expression(expression)]));
    component.hashes = checksums.get(&crate_key(package)).map(|checksum| {
        Hashes(vec![Hash { alg: HashAlgorithm::SHA_256, content: HashValue(checksum.clone()) }])
    });
    Ok(component)
}

/// Reference of a crate. Cargo's own id is no alternative: for workspace crates it contains a path of the build machine.
fn crate_reference(package: &Package) -> String {
    format!("pkg:cargo/{}@{}", package.name, package.version)
}

fn list_dependencies(metadata: &Metadata, packages: &BTreeMap<&PackageId, &Package>) -> Vec<Dependency> {
    let nodes = metadata.resolve.iter().flat_map(|resolve| &resolve.nodes);
    nodes
        .filter_map(|node| {
            let package = packages.get(&node.id)?;
            let normal = node.deps.iter().filter(|dependency| {
                dependency.dep_kinds.iter().any(|kind| kind.kind == cargo_metadata::DependencyKind::Normal)
            });
            let targets: BTreeSet<_> = normal
                .filter_map(|dependency| packages.get(&dependency.pkg))
                .map(|p| crate_reference(p))
                .collect();
            Some(Dependency {
                dependency_ref: crate_reference(package),
                dependencies: targets.into_iter().collect(),
            })
        })
        .collect()
}

/// Parses lines such as `tokio v1.54.0`, `apis v0.1.0 (/path)`, `tokio v1.54.0 (*)`.
fn linked(tree: &str) -> anyhow::Result<BTreeSet<Crate>> {
    tree.lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| {
            let mut words = line.split_whitespace();
            let name = words.next()?;
            let version = words.next()?.strip_prefix('v')?;
            Some((name.to_owned(), version.to_owned()))
        })
        .collect::<Option<_>>()
        .context("cargo tree does not print names and versions")
}

/// Checksums from `Cargo.lock`. It is TOML, but cargo always writes one value per line.
fn checksums(lock: &str) -> BTreeMap<Crate, String> {
    let mut checksums = BTreeMap::new();
    for block in lock.split("[[package]]") {
        let value = |name: &str| {
            block.lines().find_map(|line| {
                line.strip_prefix(name)?.strip_prefix(" = \"")?.strip_suffix('"').map(str::to_owned)
            })
        };
        if let (Some(name), Some(version), Some(checksum)) =
            (value("name"), value("version"), value("checksum"))
        {
            checksums.insert((name, version), checksum);
        }
    }
    checksums
}

fn crate_key(package: &Package) -> Crate {
    (package.name.to_string(), package.version.to_string())
}
