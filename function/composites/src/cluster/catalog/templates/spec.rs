//! Catalogue entry and claim → the request in terms of its backend.

use std::collections::BTreeMap;

use serde_json::Value;
use testplatform_apis::template::{
    entry::{BundleDocument, Document, Kit, Made, Parameter},
    kind::BackendDefinition,
};

use super::groups::{NodeGroupDraft, node_count};
use crate::cluster::request::{AnyBackendSpec, BackendSpec, BundleSelection, NodeGroupSpec, Setting};

impl BundleSelection {
    /// Selects the bundles that match the parameters of a claim.
    pub(super) fn select(document: &Document, parameters: &[(String, Value)]) -> Self {
        let selected = |all: &[BundleDocument]| {
            all.iter().filter(|bundle| bundle.is_selected_by(parameters)).cloned().collect()
        };
        Self {
            prerequisites: selected(&document.prerequisites),
            pre_create: selected(&document.pre_create),
            post_install: selected(&document.post_install),
            pre_delete: selected(&document.pre_delete),
        }
    }
}

impl<K: BackendDefinition> BackendSpec<K> {
    fn of(kit: &Kit<K>, groups: Vec<NodeGroupDraft>, parameters: Vec<(String, Value)>) -> Self {
        let group = |NodeGroupDraft { group, parameters }: NodeGroupDraft| NodeGroupSpec {
            machine: kit.classes.get(&group.class).map(|class| class.machine.clone()),
            size: node_count(&group),
            name: group.name,
            class: group.class,
            arch: group.arch,
            failure_domain: group.failure_domain,
            labels: group.labels.into_iter().collect(),
            taints: group.taints,
            parameters: parameter_settings(&kit.node_parameters, parameters),
        };
        Self {
            base: kit.base.clone(),
            overlay: kit.overlay.clone(),
            groups: groups.into_iter().map(group).collect(),
            parameters: parameter_settings(&kit.parameters, parameters),
        }
    }
}

macro_rules! define_build_backend_spec {
    ($($backend:ident),*) => {
        /// Builds the request in terms of its backend.
        pub(super) fn build_backend_spec(
            made: &Made,
            groups: Vec<NodeGroupDraft>,
            parameters: Vec<(String, Value)>,
        ) -> AnyBackendSpec {
            match made {
                $(Made::$backend(kit) => AnyBackendSpec::$backend(BackendSpec::of(kit, groups, parameters)),)*
            }
        }
    };
}

testplatform_apis::for_each_backend!(define_build_backend_spec);

/// Adds the targets. Unknown parameters were refused before.
fn parameter_settings<T: Clone>(
    known: &BTreeMap<String, Parameter<T>>,
    values: Vec<(String, Value)>,
) -> Vec<Setting<T>> {
    let placed = |(name, value): (String, Value)| {
        let target = known.get(&name)?.target.clone()?;
        Some(Setting { name, target, value })
    };
    values.into_iter().filter_map(placed).collect()
}
