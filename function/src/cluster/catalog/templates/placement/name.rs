//! Names of cluster objects: the composite's name, as far as it fits.

use testplatform_apis::{names::shorten_name, template::Backend};

/// The longest name of a namespace; HyperShift makes one for each control plane, `<namespace>-<name>`.
const NAMESPACE: usize = 63;
/// The longest name of what becomes a label.
const LABEL: usize = 63;
/// The longest name of a ClusterTemplateInstance: what charts add to it has to fit too.
const INSTANCE: usize = 40;
/// The name of the composite, or as much of it as fits with what keeps it apart from others. None: nothing fits.
pub(super) fn fit_name(backend: Backend, namespace: &str, name: &str) -> Option<String> {
    match backend {
        // With dashes for dots: names of what HyperShift makes for it are labels.
        Backend::HyperShift => {
            shorten_name(&name.replace('.', "-"), name, NAMESPACE.checked_sub(namespace.len() + 1)?)
        }
        // It becomes a label.
        Backend::ClusterApi => shorten_name(&name.replace('.', "-"), name, LABEL),
        // Its control plane is in a namespace of its own, `<namespace>-<name>-<name>`.
        Backend::Osac => {
            shorten_name(&name.replace('.', "-"), name, NAMESPACE.checked_sub(namespace.len() + 2)? / 2)
        }
        // It becomes a label, and charts make names of it.
        Backend::Caas => shorten_name(&name.replace('.', "-"), name, INSTANCE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_fits_and_stays_apart_from_others() {
        let fits = |namespace: &str, name: &str| fit_name(Backend::HyperShift, namespace, name);
        assert_eq!(fits("clusters", "demo-x7k2p").as_deref(), Some("demo-x7k2p"));
        let long = "a".repeat(60);
        let cut = fits("clusters", &long).unwrap();
        assert_eq!(cut.len() + "clusters-".len(), 63, "{cut}");
        assert_ne!(fits("clusters", &format!("{long}b")).unwrap(), cut);
        // A dash for a dot is another composite's name.
        assert_ne!(fits("clusters", "a.b"), fits("clusters", "a-b"));
        assert!(!fits("clusters", "a.b").unwrap().contains('.'));
        assert_eq!(fits(&"n".repeat(60), "demo"), None);
        let cut = fit_name(Backend::ClusterApi, &"n".repeat(60), &"a".repeat(70)).unwrap();
        assert_eq!(cut.len(), 63, "{cut}");
        let order = |name: &str| fit_name(Backend::Osac, "osac-orders", name);
        assert_eq!(order("demo-x7k2p").as_deref(), Some("demo-x7k2p"));
        assert_eq!(order(&"a".repeat(25)), Some("a".repeat(25)));
        let cut = order(&"a".repeat(26)).unwrap();
        assert_eq!(format!("osac-orders-{cut}-{cut}").len(), 63, "{cut}");
        assert_eq!(fit_name(Backend::Osac, &"n".repeat(45), "demo-x7k2p-and-more"), None);
        let cut = fit_name(Backend::Caas, "clusters", &"a".repeat(41)).unwrap();
        assert_eq!(cut.len(), 40, "{cut}");
        // Nothing that an API server lets through, but `render` reads files.
        assert!(fit_name(Backend::Caas, "clusters", &"ä".repeat(40)).is_some());
        assert_eq!(fit_name(Backend::Caas, "clusters", "demo-x7k2p").as_deref(), Some("demo-x7k2p"));
    }
}
