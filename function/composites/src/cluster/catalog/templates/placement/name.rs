//! Names of cluster objects: the composite's name, as far as it fits.

use testplatform_apis::{names::shorten_name, template::Backend};

/// The name of the composite, or as much of it as fits with what keeps it apart from others, with dashes for dots: it becomes a label, or a
/// part of one. None: nothing fits.
pub(super) fn fit_name(backend: Backend, namespace: &str, name: &str) -> Option<String> {
    let room = backend.descriptor().name_limit.max_length(namespace)?;
    shorten_name(&name.replace('.', "-"), name, room)
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
