//! A backend of templates is a module in each crate, and few registrations. Everything else reads its descriptor.
//!
//! Sources outside its modules that name a backend are in a snapshot, so that a new one is seen in review. `SNAPSHOTS=overwrite` writes it.

use std::fmt::Write as _;

use crate::documents::{imports::compare_snapshot, text::sources};

/// Sources of the product. Its model and its tests name backends wherever they make one.
const FOLDERS: [&str; 8] = [
    "apis/src",
    "function/composites/src",
    "function/plugin/src",
    "function/render/src",
    "function/src",
    "package/src",
    "provider/runtime/src",
    "provider/src",
];
const SNAPSHOT: &str = "package/tests/it/documents/backends.txt";
/// The most sources that may name one. Adding a backend takes a line or two in each of them.
const MOST: usize = 10;

/// A backend, as sources name it.
struct Backend {
    name: &'static str,
    /// Its modules.
    modules: &'static [&'static str],
    /// Words that name it, in lower case.
    words: &'static [&'static str],
}

const BACKENDS: [Backend; 4] = [
    Backend { name: "caas", modules: &["caas"], words: &["caas", "clustertemplateinstance"] },
    Backend {
        name: "cluster-api",
        modules: &["cluster_api"],
        words: &["cluster-api", "cluster api", "cluster_api", "clusterapi", "capi_"],
    },
    Backend { name: "hypershift", modules: &["hypershift", "hosted_cluster"], words: &["hypershift"] },
    Backend { name: "osac", modules: &["osac"], words: &["osac", "clusterorder"] },
];

impl Backend {
    /// Whether a source is in one of its modules.
    fn has_source(&self, path: &str) -> bool {
        let path = path.strip_suffix(".rs").unwrap_or(path);
        path.split('/').any(|part| self.modules.contains(&part))
    }

    /// Whether a text names it.
    fn is_named_in(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        // An API of a cluster is written like this one.
        let text = text.replace("cluster api server", "");
        self.words.iter().any(|word| text.contains(word))
    }
}

#[test]
fn few_sources_outside_its_modules_name_a_backend() {
    let sources: Vec<(String, String)> = FOLDERS.iter().flat_map(|folder| sources(folder)).collect();
    let mut seen = String::new();
    for backend in BACKENDS {
        let outside = sources.iter().filter(|(path, code)| {
            !path.ends_with("/tests.rs") && !backend.has_source(path) && backend.is_named_in(code)
        });
        let paths: Vec<&String> = outside.map(|(path, _)| path).collect();
        assert!(paths.len() <= MOST, "{} is named in {} sources: {paths:#?}", backend.name, paths.len());
        for path in paths {
            writeln!(seen, "{}: {path}", backend.name).unwrap();
        }
    }
    compare_snapshot(SNAPSHOT, &seen);
}

#[test]
fn backends_are_found_by_their_names_outside_their_modules() {
    let [caas, cluster_api, hypershift, osac] = BACKENDS;
    assert!(
        osac.is_named_in("match backend { Backend::Osac => 4 }") && osac.is_named_in("// a ClusterOrder")
    );
    assert!(!osac.is_named_in("Backend::HyperShift"));
    assert!(cluster_api.is_named_in("of Cluster API") && !cluster_api.is_named_in("the cluster API server"));
    assert!(osac.has_source("function/composites/src/cluster/backends/osac/order.rs"));
    assert!(osac.has_source("apis/src/foreign/osac.rs") && !osac.has_source("apis/src/foreign.rs"));
    assert!(hypershift.has_source("apis/src/foreign/hosted_cluster.rs"));
    assert!(!caas.has_source("function/composites/src/cluster/backends.rs"));
}
