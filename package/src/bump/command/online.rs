//! B11 with network access: asks registries for pinned images and their platforms.

use super::{
    BTreeMap, BTreeSet, CheckoutArgs, Failure, Finding, Kustomization, Tree, Upstream, Write, print_progress,
    upstream,
};
use crate::{
    bump::{Overlay, image},
    names::{CONFIGURATION, FUNCTION, PROVIDER},
    registry::{self, Reference},
    signature::command::{find_problem, read_verifying_key},
};

/// References by digest, each with a description: packages of the source, and images that overlays set.
pub fn pinned_references(tree: &Tree, overlays: &[Overlay], ranges: &[Upstream]) -> BTreeMap<String, String> {
    let packages = ranges
        .iter()
        .flat_map(|range| upstream::list_packages(&range.after))
        .map(|(name, package)| (package, format!("package {name}")));
    let images = overlays.iter().flat_map(|overlay| {
        let bytes = tree.get(&overlay.kustomization).unwrap_or_default();
        let file = Kustomization::read(&overlay.kustomization, bytes);
        let images = file.map(|file| image::pinned_references(&file.value)).unwrap_or_default();
        images.into_iter().map(|image| (image, "image".to_owned()))
    });
    let at_digest = |(reference, _): &(String, String)| {
        reference.split_once('@').is_some_and(|(_, digest)| image::is_digest(digest))
    };
    // Another check reports references without a digest.
    packages.chain(images).filter(at_digest).collect()
}

/// Looks up each reference.
pub fn check_references(
    place: &CheckoutArgs,
    pinned: &BTreeMap<String, String>,
    err: &mut impl Write,
) -> Result<Vec<Finding>, Failure> {
    let mut findings = Vec::new();
    let key = match place.key.as_deref().map(read_verifying_key).transpose() {
        Ok(key) => key,
        Err(error) => return Ok(vec![Finding::error("B11", format!("signatures: {error:#}"))]),
    };
    for (reference, what) in pinned {
        print_progress(err, &format!("asking for {reference}"))?;
        if let Some(key) = key.as_ref().filter(|_| is_ours(reference)) {
            let problem = reference
                .parse::<Reference>()
                .and_then(|reference| find_problem(&reference, key, place.connection));
            match problem {
                Ok(None) => {}
                Ok(Some(problem)) => findings.push(Finding::error("B11", format!("{what} {problem}"))),
                Err(error) => {
                    findings.push(Finding::error("B11", format!("signatures of {reference}: {error:#}")));
                }
            }
        }
        let answer = reference
            .parse::<Reference>()
            .and_then(|reference| registry::command::list_platforms(&reference, place.connection));
        findings.push(evaluate_answer(&format!("{what} {reference}"), answer, &place.platform));
    }
    Ok(findings)
}

/// Whether a reference by digest is of this product, by the last part of its repository. Overlays also pin images of others, with signatures
/// of theirs.
fn is_ours(reference: &str) -> bool {
    let repository = reference.split('@').next().unwrap_or_default();
    let name = repository.rsplit('/').next().unwrap_or_default().split(':').next().unwrap_or_default();
    [FUNCTION, PROVIDER, CONFIGURATION].contains(&name)
}

fn evaluate_answer(
    what: &str,
    answer: anyhow::Result<Option<BTreeSet<String>>>,
    wanted: &[String],
) -> Finding {
    let has = match answer {
        Ok(Some(has)) => has,
        Ok(None) => {
            return Finding::error("B11", format!("{what} is not there: its registry has no such digest"));
        }
        // A registry without an answer is a failed check.
        Err(error) => return Finding::error("B11", format!("{what} cannot be asked for: {error:#}")),
    };
    let list = |platforms: Vec<&str>| platforms.join(", ");
    let runs_on = list(has.iter().map(String::as_str).collect());
    let missing: Vec<&str> = wanted.iter().map(String::as_str).filter(|p| !has.contains(*p)).collect();
    if missing.is_empty() {
        return Finding::note("B11", format!("{what} is there, for {runs_on}"));
    }
    Finding::error("B11", format!("{what} does not run on {}, only on {runs_on}", list(missing)))
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;
    use crate::bump::FindingSeverity;

    #[test]
    fn registry_answers_become_findings() {
        let wanted = ["linux/amd64".to_owned(), "linux/arm64".to_owned()];
        let has = |platforms: &[&str]| Ok(Some(platforms.iter().map(ToString::to_string).collect()));
        for (asked, severity, words) in [
            (
                has(&["linux/amd64", "linux/arm64", "linux/s390x"]),
                FindingSeverity::Note,
                "is there, for linux/amd64",
            ),
            (
                has(&["linux/amd64"]),
                FindingSeverity::Error,
                "does not run on linux/arm64, only on linux/amd64",
            ),
            (Ok(None), FindingSeverity::Error, "is not there"),
            (Err(anyhow!("refused")), FindingSeverity::Error, "cannot be asked for: refused"),
        ] {
            let finding = evaluate_answer("image r.example/x", asked, &wanted);
            assert_eq!(finding.severity, severity, "{finding}");
            assert!(finding.message.contains(words), "{finding}");
        }
    }
}
