//! The commands of bump.md mean something with the rings that are shipped.

use testplatform_package::bump::{Environment, Rings};

use crate::documents::text::read;

#[test]
fn rings_of_production_that_are_named_are_of_production() {
    let rings = Rings::default_rings().unwrap();
    let document = read("docs/how-to/bump.md");
    let named: Vec<&str> = document
        .split("--env production --ring ")
        .skip(1)
        .filter_map(|rest| rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').next())
        .collect();
    assert!(!named.is_empty(), "bump.md shows no bump of a ring of production");
    for name in named {
        let ring = rings.find_ring(name).unwrap_or_else(|| panic!("there is no ring {name}"));
        assert_eq!(ring.environment, Environment::Production, "--env production --ring {name}");
    }
}
