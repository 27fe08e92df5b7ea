//! B11 with network access: asks registries for pinned images and their platforms.

use super::{
    BTreeMap, BTreeSet, CheckoutArgs, Failure, Finding, Kustomization, Tree, Upstream, Write, print_progress,
    upstream,
};
use crate::{
    bump::{Overlay, image, package_patch::list_patched_packages, tree::resolve_path},
    names::{CONFIGURATION, FUNCTION, PROVIDER},
    registry::{self, Reference},
    signature::command::{find_problem, read_verifying_key},
};

/// A reference by digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinnedReference {
    /// Its use, such as `package function-testplatform`.
    description: String,
    /// Whether it is of this product, by the name of its object or of its repository. A mirror may have another repository; overlays also pin images
    /// of others, with signatures of theirs.
    is_ours: bool,
}

/// References by digest: packages of the source, and packages and images that overlays set.
pub fn pinned_references(
    tree: &Tree,
    overlays: &[Overlay],
    ranges: &[Upstream],
) -> BTreeMap<String, PinnedReference> {
    let packages = ranges
        .iter()
        .flat_map(|range| upstream::list_packages(&range.after))
        .map(|(name, package)| ("package", name, package));
    let set_by_overlays = overlays.iter().flat_map(|overlay| {
        let bytes = tree.get(&overlay.kustomization).unwrap_or_default();
        let Ok(file) = Kustomization::read(&overlay.kustomization, bytes) else { return vec![] };
        let read_file = |path: &str| {
            let path = resolve_path(&overlay.directory, path)?;
            tree.get(&path).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        };
        let images = image::pinned_references(&file.value).into_iter();
        let images = images.map(|(name, reference)| ("image", name, reference));
        let patched = list_patched_packages(&file.value, read_file).into_iter();
        let patched = patched.map(|package| ("package", package.name, package.reference));
        images.chain(patched).collect::<Vec<_>>()
    });
    let mut pinned = BTreeMap::<String, PinnedReference>::new();
    for (kind, name, reference) in packages.chain(set_by_overlays) {
        // Another check reports references without a digest.
        if !reference.split_once('@').is_some_and(|(_, digest)| image::is_digest(digest)) {
            continue;
        }
        let description =
            if kind == "image" || name.is_empty() { kind.to_owned() } else { format!("{kind} {name}") };
        let is_ours = is_our_name(&name) || is_our_name(reference.split('@').next().unwrap_or_default());
        pinned
            .entry(reference)
            .and_modify(|known| known.is_ours |= is_ours)
            .or_insert(PinnedReference { description, is_ours });
    }
    pinned
}

/// Whether an object or a repository has a name of this product.
fn is_our_name(name: &str) -> bool {
    let last = name.rsplit('/').next().unwrap_or_default().split(':').next().unwrap_or_default();
    [FUNCTION, PROVIDER, CONFIGURATION].contains(&last)
}

/// Looks up each reference.
pub fn check_references(
    place: &CheckoutArgs,
    pinned: &BTreeMap<String, PinnedReference>,
    err: &mut impl Write,
) -> Result<Vec<Finding>, Failure> {
    let mut findings = Vec::new();
    let key = match place.key.as_deref().map(read_verifying_key).transpose() {
        Ok(key) => key,
        Err(error) => return Ok(vec![Finding::error("B11", format!("signatures: {error:#}"))]),
    };
    for (reference, PinnedReference { description, is_ours }) in pinned {
        print_progress(err, &format!("asking for {reference}"))?;
        match &key {
            Some(key) if *is_ours => {
                let problem = reference
                    .parse::<Reference>()
                    .and_then(|reference| find_problem(&reference, key, place.connection));
                match problem {
                    Ok(None) => {}
                    Ok(Some(problem)) => {
                        findings.push(Finding::error("B11", format!("{description}: {problem}")));
                    }
                    Err(error) => {
                        findings.push(Finding::error("B11", format!("signatures of {reference}: {error:#}")));
                    }
                }
            }
            Some(_) => findings.push(Finding::note(
                "B11",
                format!("{description} {reference} is not of this product, so its signature is not verified"),
            )),
            None => {}
        }
        let answer = reference
            .parse::<Reference>()
            .and_then(|reference| registry::command::list_platforms(&reference, place.connection));
        findings.push(evaluate_answer(&format!("{description} {reference}"), answer, &place.platform));
    }
    Ok(findings)
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
