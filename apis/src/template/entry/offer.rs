//! What an entry offers, whatever its backend: [`Kit`] without its types, so that one judge of claims serves all backends and there is
//! no copy of it for each.

use super::{Kit, Made};
use crate::template::kind::{Kind, NetworkVariables};
use crate::template::parameter::Rule;
use crate::template::{Backend, companions::Architecture};

/// Parameters by name, in the order of their names.
pub type Rules<'a> = Vec<(&'a str, &'a Rule)>;

/// What claims are judged by.
pub trait Offer {
    /// What makes the clusters.
    fn backend(&self) -> Backend;
    /// The names of the classes of nodes, in their order.
    fn classes(&self) -> Vec<&str>;
    /// Whether the load may take away the last node of a group of a class; none: there is no such class.
    fn scales_to_zero(&self, class: &str) -> Option<bool>;
    /// See [`Kind::architectures`]; empty too, if there is no such class.
    fn architectures(&self, class: &str) -> &'static [Architecture];
    /// Whether the nodes of a group can become those of another class. One that is not there is nothing that could be compared.
    fn nodes_may_become(&self, old: &str, new: &str) -> bool;
    /// What claims may set.
    fn parameters(&self) -> Rules<'_>;
    /// What claims may set of a node group.
    fn node_parameters(&self) -> Rules<'_>;
    /// See [`Kind::control_plane_classes`].
    fn control_plane_classes(&self) -> Vec<&str>;
    /// See [`Kind::networks`].
    fn networks(&self) -> NetworkVariables;
    /// See [`Kind::upgrades`].
    fn upgrades(&self) -> bool;
    /// See [`Kind::resizes_control_plane`].
    fn resizes_control_plane(&self) -> bool;
    /// See [`Kind::tunable`].
    fn tunable(&self) -> bool;
    /// See [`Kind::takes_versions`].
    fn takes_versions(&self) -> bool;
}

impl<K: Kind> Offer for Kit<K> {
    fn backend(&self) -> Backend {
        K::BACKEND
    }

    fn classes(&self) -> Vec<&str> {
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

    fn networks(&self) -> NetworkVariables {
        self.base.networks()
    }

    fn upgrades(&self) -> bool {
        self.base.upgrades()
    }

    fn resizes_control_plane(&self) -> bool {
        self.base.resizes_control_plane()
    }

    fn tunable(&self) -> bool {
        self.base.tunable()
    }

    fn takes_versions(&self) -> bool {
        self.base.takes_versions()
    }
}

impl Made {
    /// What claims are judged by.
    pub fn offer(&self) -> &dyn Offer {
        match self {
            Self::HyperShift(kit) => kit,
            Self::ClusterApi(kit) => kit,
            Self::Caas(kit) => kit,
            Self::Osac(kit) => kit,
        }
    }
}
