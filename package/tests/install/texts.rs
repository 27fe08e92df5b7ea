//! What is said in several places is said alike.

use std::fs;

use testplatform_apis::names::ours;

use crate::{documents, repository};

#[test]
fn overlays_name_the_version_of_this_workspace() {
    let version = format!(":v{}", env!("CARGO_PKG_VERSION"));
    let mut found = 0;
    for overlay in ["crossplane", "konflux", "development"] {
        let path = repository().join("package/install/overlays").join(overlay).join("kustomization.yaml");
        let text = fs::read_to_string(path).unwrap();
        let package = text.lines().find(|line| line.contains("/function-testplatform:")).unwrap();
        assert!(package.ends_with(&version), "{overlay}: {package}");
        found += 1;
    }
    let hub = &documents(&repository().join("package/install/overlays/hub/kustomization.yaml"))[0];
    assert_eq!(hub["images"][0]["newTag"], format!("v{}", env!("CARGO_PKG_VERSION")));
    assert_eq!(found, 3);
}

/// The annotation is a comment there until somebody knows the time.
#[test]
fn the_provider_config_shows_where_the_end_of_the_token_goes() {
    let path = repository().join("package/install/components/hub-access/provider-config.yaml");
    assert!(fs::read_to_string(path).unwrap().contains(&format!("# {}: ", ours::KUBECONFIG_EXPIRES_AT)));
}

/// Links of the guides lead to files.
#[test]
fn links_of_the_guides_lead_somewhere() {
    let folder = repository().join("package/install");
    let mut links = 0;
    for guide in ["README.md", "runbook.md", "rotation.md", "backup.md"] {
        let text = fs::read_to_string(folder.join(guide)).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next()) {
            if !link.is_empty() && !link.starts_with("http") {
                links += 1;
                assert!(folder.join(link).exists(), "{guide}: {link}");
            }
        }
    }
    assert!(links > 10, "{links}");
}
