//! Mistakes that leave a catalogue unread: another name than the function reads, and numbers where a text belongs.

use super::{ENTRY, POOLS, checked, said};

/// A Composition with an input of the function.
fn composition(pools: &str) -> String {
    format!(
        "---\napiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nmetadata: {{ name: c }}\nspec:\n  pipeline:\n\
         \x20 - step: s\n    input: {{ apiVersion: testplatform.fn.crossplane.io/v1beta1, kind: Input{pools} }}\n"
    )
}

#[test]
fn an_unread_catalogue_of_pools_is_a_problem() {
    let other = POOLS.replace("testplatform-pools", "our-pools");
    let unread = |name: &str, read: &str| {
        [format!(
            "error: a.yaml:3: metadata.name: nobody reads a catalogue of pools named {name}; the function reads {read}: give it that name, or set pools in the function's input"
        )]
    };
    assert_eq!(said(&other), unread("our-pools", "testplatform-pools"));
    assert_eq!(checked(&other).pools, 1);
    // An input in the files says by which name it is read; one that says none leaves the usual name.
    assert_eq!(said(&format!("{other}{}", composition(", pools: our-pools"))), [""; 0]);
    assert_eq!(said(&format!("{other}{}", composition(""))), unread("our-pools", "testplatform-pools"));
    assert_eq!(said(&format!("{other}{}", composition(", pools: theirs"))), unread("our-pools", "theirs"));
    assert_eq!(
        said(&format!("{POOLS}{}", composition(", pools: theirs"))),
        unread("testplatform-pools", "theirs")
    );
    // A step without an input reads the usual one.
    let bare = "---\napiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nmetadata: { name: b }\nspec:\n  pipeline:\n\
                \x20 - { step: s, functionRef: { name: function-testplatform } }\n";
    assert_eq!(said(&format!("{POOLS}{}{bare}", composition(", pools: theirs"))), [""; 0]);
    let nameless = POOLS.replace("metadata: { name: testplatform-pools }\n", "");
    assert_eq!(
        said(&nameless),
        ["error: a.yaml:1: metadata.name: is missing: the function reads testplatform-pools"]
    );
}

/// YAML reads 4.20 as the number 4.2, which names another version.
#[test]
fn unquoted_version_is_a_problem_with_advice() {
    let advice = |line: usize, path: &str, value: &str| {
        format!(
            "error: a.yaml:{line}: data.{path}: must be a text, and {value} is a number in YAML: quote it, as in \"{value}\""
        )
    };
    let labels = POOLS.replace("cloud: aws,", "version: 4.20, cloud: aws,");
    assert_eq!(said(&labels), [advice(14, "pools[0].labels.version", "4.20")]);
    let block = POOLS.replace(
        "    labels: { cloud: aws, anything: goes }\n",
        "    labels:\n      cloud: aws\n      version: 4.20 # the newest\n",
    );
    assert_eq!(said(&block), [advice(16, "pools[0].labels.version", "4.20")]);
    // Quoted, it still is no whole version, which is said at once.
    let whole = |line: usize, path: &str| {
        format!("error: a.yaml:{line}: data.{path}: is not a whole version such as 4.20.3")
    };
    let version = said(&format!("{ENTRY}  version: 4.20\n"));
    assert_eq!(version, [advice(12, "version", "4.20"), whole(12, "version")]);
    let releases = format!("{ENTRY}  releases:\n  - version: 4.20\n    image: quay.io/x:1\n");
    assert_eq!(
        said(&releases),
        [advice(13, "releases[0].version", "4.20"), whole(13, "releases[0].version")]
    );
    let both = format!("{ENTRY}  upgradesFrom: [4]\n  title: 4.20\n");
    let found = said(&both);
    assert!(found.contains(&advice(12, "upgradesFrom[0]", "4")), "{found:?}");
    assert!(found.contains(&advice(13, "title", "4.20")), "{found:?}");
    // Of a quoted one nothing is said, and other mistakes of that kind are told as before.
    assert_eq!(said(&labels.replace("4.20", "\"4.20\"")), [""; 0]);
    let spans = said(&POOLS.replace("maxLifetime: 4h", "maxLifetime: 4"));
    assert!(spans.len() == 1 && !spans[0].contains("quote"), "{spans:?}");
}

/// Yes and no are booleans to some readers of YAML, and `true` is one to all.
#[test]
fn unquoted_booleans_are_reported_too() {
    let labels = POOLS.replace("anything: goes", "fips: true");
    assert_eq!(
        said(&labels),
        [
            "error: a.yaml:14: data.pools[0].labels.fips: must be a text, and true is a boolean in YAML: quote it, as in \"true\""
        ]
    );
}

/// The API server has no schema of the input either.
#[test]
fn an_unquoted_name_in_an_input_is_a_problem() {
    let found = said(&composition(", credentialsNamespace: 42")[4..]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].ends_with("must be a text, and 42 is a number in YAML: quote it, as in \"42\""),
        "{found:?}"
    );
}
