//! `package.yaml`: the stream of documents that Crossplane reads from a package.
//!
//! Input: parsed YAML files. Output: text. No I/O.

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use testplatform_apis::test_cluster;

use super::meta;
use crate::{
    names::{FUNCTION, dependency_name},
    oci::Digest,
    test_clusters, to_yaml,
};

/// The function's package: its metadata, then the CRDs of its inputs. Core never installs these; tools read them.
///
/// # Errors
/// If a document cannot be written as YAML.
pub fn render_function(inputs: &[Value]) -> anyhow::Result<String> {
    render_stream([&meta::function_metadata()].into_iter().chain(inputs))
}

/// The Configuration: its metadata, then XRDs, then Compositions.
///
/// It depends on the function by digest, so every user gets the tested function. The package manager names the Function object of an
/// installed dependency after its repository. The Compositions in this package therefore use that name.
///
/// # Errors
/// If no Composition uses the function, or a document cannot be written as YAML.
pub fn render_configuration(
    xrds: &[Value],
    compositions: &[Value],
    function_repository: &str,
    function: &Digest,
) -> anyhow::Result<String> {
    let mut about = meta::configuration_metadata();
    about["spec"]["dependsOn"] = json!([{
        "apiVersion": "pkg.crossplane.io/v1",
        "kind": "Function",
        "package": function_repository,
        "version": function.as_ref(),
    }]);
    let name = dependency_name(function_repository);
    let mut compositions = compositions.to_vec();
    // Both exist as soon as this package is installed.
    if xrds.iter().any(|xrd| xrd["spec"]["names"]["kind"] == test_cluster::KIND) {
        compositions.iter_mut().for_each(test_clusters::count_both);
    }
    let mut used = false;
    for composition in &mut compositions {
        let steps = composition.pointer_mut("/spec/pipeline").and_then(Value::as_array_mut);
        for step in steps.into_iter().flatten() {
            if let Some(reference) = step.pointer_mut("/functionRef/name")
                && reference == FUNCTION
            {
                *reference = Value::from(name.as_str());
                used = true;
            }
        }
    }
    ensure!(used, "no step of a Composition names {FUNCTION}; without one the package would do nothing");
    render_stream([&about].into_iter().chain(xrds).chain(&compositions))
}

fn render_stream<'a>(documents: impl Iterator<Item = &'a Value>) -> anyhow::Result<String> {
    let mut text = String::new();
    for document in documents {
        text.push_str("---\n");
        text.push_str(&to_yaml(document).context("cannot write a document of package.yaml")?);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn composition(function: &str) -> Value {
        json!({ "kind": "Composition", "spec": { "pipeline": [
            { "step": "ours", "functionRef": { "name": function } },
            { "step": "other", "functionRef": { "name": "function-auto-ready" } },
        ] } })
    }

    #[test]
    fn compositions_reference_the_function_by_cores_name() {
        let digest = crate::oci::digest_of(b"");
        let stream = |repository: &str| {
            render_configuration(&[], &[composition(FUNCTION)], repository, &digest).unwrap()
        };
        let nested = stream("registry.example.org/group/function-testplatform");
        assert!(nested.contains("name: group-function-testplatform\n"), "{nested}");
        assert!(nested.contains("name: function-auto-ready\n"), "{nested}");
        assert!(
            nested.contains(&format!("version: {digest}\n"))
                || nested.contains(&format!("version: \"{digest}\"\n"))
        );
        assert!(
            stream("registry.example.org/function-testplatform").contains("name: function-testplatform\n")
        );
    }

    #[test]
    fn a_package_whose_compositions_do_not_use_the_function_is_refused() {
        let refused = render_configuration(
            &[],
            &[composition("function-x")],
            "r.example/f",
            &crate::oci::digest_of(b""),
        );
        assert!(refused.unwrap_err().to_string().contains("function-testplatform"));
    }
}
