//! Offer of an entry, independent of its backend: [`Kit`] without its types, so that one validation of claims serves all backends without a
//! copy for each.

use super::Kit;
use crate::template::kind::{BackendDefinition, NetworkVariables};
use crate::template::parameter::Rule;
use crate::template::{Backend, companions::Architecture};

/// Parameters by name, in the order of their names.
pub type Rules<'a> = Vec<(&'a str, &'a Rule)>;

/// Validation rules for claims.
pub trait TemplateOffer {
    /// Backend of the clusters.
    fn backend(&self) -> Backend;
    /// The names of the classes of nodes, in their order.
    fn class_names(&self) -> Vec<&str>;
    /// Whether the load may take away the last node of a group of a class; none: there is no such class.
    fn scales_to_zero(&self, class: &str) -> Option<bool>;
    /// See [`BackendDefinition::architectures`]; empty too, if there is no such class.
    fn architectures(&self, class: &str) -> &'static [Architecture];
    /// Whether the nodes of a group can move to another class. False if a class does not exist.
    fn nodes_may_become(&self, old: &str, new: &str) -> bool;
    /// Parameters of claims.
    fn parameters(&self) -> Rules<'_>;
    /// Parameters of a claim's node groups.
    fn node_parameters(&self) -> Rules<'_>;
    /// See [`BackendDefinition::control_plane_classes`].
    fn control_plane_classes(&self) -> Vec<&str>;
    /// See [`BackendDefinition::network_variables`].
    fn network_variables(&self) -> NetworkVariables;
    /// See [`BackendDefinition::can_upgrade`].
    fn can_upgrade(&self) -> bool;
    /// See [`BackendDefinition::resizes_control_plane`].
    fn resizes_control_plane(&self) -> bool;
    /// See [`BackendDefinition::can_tune_parameters`].
    fn can_tune_parameters(&self) -> bool;
    /// See [`BackendDefinition::takes_versions`].
    fn takes_versions(&self) -> bool;
}

impl<K: BackendDefinition> TemplateOffer for Kit<K> {
    fn backend(&self) -> Backend {
        K::BACKEND
    }

    fn class_names(&self) -> Vec<&str> {
        self.classes.keys().map(String::as_str).collect()
    }

    fn scales_to_zero(&self, class: &str) -> Option<bool> {
        self.classes.get(class).map(|class| class.scale_to_zero)
    }

    fn architectures(&self, class: &str) -> &'static [Architecture] {
        self.classes.get(class).map_or(&[], |class| K::architectures(&class.machine))
    }

    fn nodes_may_become(&self, old: &str, new: &str) -> bool {
        let machine = |class: &str| self.classes.get(class).map(|class| &class.machine);
        machine(old).zip(machine(new)).is_some_and(|(old, new)| self.base.may_become(old, new))
    }

    fn parameters(&self) -> Rules<'_> {
        self.parameters.iter().map(|(name, parameter)| (name.as_str(), &parameter.rule)).collect()
    }

    fn node_parameters(&self) -> Rules<'_> {
        self.node_parameters.iter().map(|(name, parameter)| (name.as_str(), &parameter.rule)).collect()
    }

    fn control_plane_classes(&self) -> Vec<&str> {
        self.base.control_plane_classes()
    }

    fn network_variables(&self) -> NetworkVariables {
        self.base.network_variables()
    }

    fn can_upgrade(&self) -> bool {
        self.base.can_upgrade()
    }

    fn resizes_control_plane(&self) -> bool {
        self.base.resizes_control_plane()
    }

    fn can_tune_parameters(&self) -> bool {
        self.base.can_tune_parameters()
    }

    fn takes_versions(&self) -> bool {
        self.base.takes_versions()
    }
}
