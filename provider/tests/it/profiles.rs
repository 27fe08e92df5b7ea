//! The registry of cluster profiles.

use crate::support;

use provider_testplatform::config::profiles::Profiles;
use rstest::rstest;
use support::{config, profiles};
use testplatform_test_data::upstream;

#[rstest]
#[case::by_name("aws", "acme-tenant", "stone-stg", true)]
#[case::by_group("aws", "acme-tenant", "stone-prd-rh02", true)]
#[case::other_cluster("aws", "acme-tenant", "stone-dev", false)]
#[case::other_tenant("aws", "other-tenant", "stone-stg", false)]
#[case::other_profile("gcp", "acme-tenant", "stone-prd-rh01", false)]
#[case::open_to_ordinary_ci("bare", "acme-tenant", "stone-stg", false)]
#[case::nobody("aws", "", "", false)]
fn owners_are_tenant_and_cluster_together(
    #[case] profile: &str,
    #[case] tenant: &str,
    #[case] cluster: &str,
    #[case] owned: bool,
) {
    assert_eq!(profiles().get(profile).unwrap().unwrap().is_owned_by(tenant, cluster), owned);
}

#[test]
fn a_profile_that_is_not_there_is_not_an_unreadable_registry() {
    assert_eq!(profiles().get("azure9"), Ok(None));
    assert_eq!(Profiles::unavailable("why").get("aws"), Err("why"));
}

#[rstest]
#[case::empty("", "it is empty")]
#[case::group(
    "cluster_profiles: [{ name: a, owners: [{ konflux: { tenant: t, cluster_groups: [g] } }] }]",
    r#"cluster profile "a" names the group "g", which is not among konflux.cluster_groups"#
)]
#[case::several(
    "cluster_profiles: [{ cluster_type: aws }, { name: a }, { name: a }]",
    r#"cluster_profiles[0] has no name; cluster profile "a" is there twice"#
)]
fn partly_understood_profile_is_refused(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(Profiles::parse(text).unwrap_err().to_string(), expected);
}

#[test]
fn a_syntax_error_has_its_place() {
    let error = Profiles::parse("cluster_profiles:\n- name: [a\n").unwrap_err().to_string();
    assert!(error.contains("line 2"), "{error}");
}

/// The file grows without asking us.
#[test]
fn unknown_fields_are_skipped() {
    let text = "
cluster_profiles:
- { name: a, cluster_type: aws, lease_type: l, ip_pool_lease_type: i, secret: s, config_map: c, set_members: [b], new: [1] }
cluster_profile_sets_config: { a: [b] }
konflux: { cluster_groups: {}, other: 1 }
";
    assert_eq!(Profiles::parse(text).unwrap().get("a").unwrap().unwrap().cluster_type, "aws");
}

#[test]
fn upstreams_file_is_read() {
    let directory = upstream();
    let text = std::fs::read_to_string(directory.join("prow/cluster-profiles.yaml")).unwrap();
    let profiles = Profiles::parse(&text).unwrap();
    assert_eq!(profiles.get("azure4").unwrap().unwrap().cluster_type, "azure");
}

#[test]
fn the_configuration_names_the_registry() {
    let aws = "cluster_profiles: [{ name: aws }]";
    let file = config("{ clusterProfiles: { file: /registry.yaml } }").ephemeral_cluster;
    let read = Profiles::of(&file, |path| {
        assert_eq!(path, std::path::Path::new("/registry.yaml"));
        Ok(aws.into())
    });
    assert!(read.get("aws").unwrap().is_some());
    let gone = Profiles::of(&file, |_| Err(std::io::ErrorKind::NotFound.into()));
    assert_eq!(gone.get("aws"), Err("/registry.yaml: entity not found"));
    let broken = Profiles::of(&file, |_| Ok(String::new()));
    assert_eq!(broken.get("aws"), Err("/registry.yaml: it is empty"));
    let never = |_: &std::path::Path| panic!("there is no file to read");
    let inline =
        config("{ clusterProfiles: { inline: { cluster_profiles: [{ name: aws }] } } }").ephemeral_cluster;
    assert!(Profiles::of(&inline, never).get("aws").unwrap().is_some());
    assert_eq!(
        Profiles::of(&config("{}").ephemeral_cluster, never).get("aws"),
        Err("the configuration names none")
    );
}
