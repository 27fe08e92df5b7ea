//! Whatever tenants and administrators write: it stays data, hurts nobody else, and the answer does not depend on orders that nobody
//! chose.

use function_model::{walks::bounded_cases, world::World};
use proptest::prelude::*;
use prost::Message as _;
use serde_json::{Value, json};
use testplatform_composites::{Options, run};

use crate::templates::{effective, made, templated};

/// Texts that have broken templates, parsers and terminals.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("{{ .spec }}".to_owned()),
        Just("a\nb: c\n---\n".to_owned()),
        Just("\u{1b}[31m\u{0}".to_owned()),
        Just("$(rm -rf /)".to_owned()),
        Just("%s%n{}".to_owned()),
        Just("../../etc".to_owned()),
        Just("ä\u{202e}".to_owned()),
        Just("x".repeat(70_000)),
        ".{0,40}",
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        (-1e9..1e9).prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map(text(), inner, 0..3).prop_map(|m| json!(m)),
        ]
    })
}

fn field() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "/template",
        "/version",
        "/releaseImage",
        "/parameters",
        "/parameters/proxy",
        "/parameters/nothing",
        "/controlPlane",
        "/nodeGroups",
        "/nodeGroups/0/name",
        "/nodeGroups/0/labels",
        "/nodeGroups/0/parameters",
        "/network",
        "/network/podCIDR",
        "/hub",
        "/timeouts",
    ])
}

fn set(spec: &mut Value, pointer: &str, value: Value) {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    if let Some(parent) = spec.pointer_mut(parent) {
        match (parent.is_object(), parent) {
            (true, parent) => parent[key] = value,
            (false, parent) => *parent = value,
        }
    }
}

fn full(world: &mut World) {
    world.spec["parameters"] = json!({ "proxy": "https://p" });
    world.spec["nodeGroups"] = json!([{ "name": "workers", "class": "small", "count": 2 }]);
    world.spec["network"] = json!({ "podCIDR": "10.132.0.0/14" });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: bounded_cases(192), ..ProptestConfig::default() })]

    /// In every field, before and after a cluster was asked for: an answer, bounded, without control characters.
    #[test]
    fn hostile_text_is_data(pointer in field(), value in value(), asked in any::<bool>()) {
        let mut world = if asked {
            let mut full = World::with_template("hosted");
            self::full(&mut full);
            made("hosted", &full.spec)
        } else {
            World::with_template("hosted")
        };
        if !asked {
            full(&mut world);
        }
        let was = world.status["effective"].clone();
        set(&mut world.spec, pointer, value);
        let response = world.pass();
        for condition in &response.conditions {
            let message = condition.message.clone().unwrap_or_default();
            prop_assert!(message.len() <= 2100 && !message.contains(char::is_control), "{message}");
        }
        prop_assert!(response.encoded_len() < 300_000);
        if asked && crate::templates::kept(&world).is_some() {
            world.status["backend"] = json!({ "uid": "remote-1" });
            prop_assert_eq!(&world.status["effective"], &was);
        }
    }

    /// Entries that are broken at random take nothing from the one that is asked for, and are not offered.
    #[test]
    fn broken_entry_does_not_affect_others(
        names in prop::collection::vec("[a-z]{1,5}", 0..4), data in prop::collection::vec(value(), 4)
    ) {
        let sound = effective(&World::with_template("hosted"));
        let mut world = World::with_template("hosted");
        for (name, data) in names.iter().zip(data) {
            world.templates.push(json!({ "metadata": { "name": format!("x{name}") }, "data": data }));
        }
        world.templates.push(json!("no object"));
        world.templates.retain(Value::is_object);
        prop_assert_eq!(effective(&world), sound);
        world.spec["template"] = json!("nothing");
        world.settle();
        prop_assert!(world.refusal_message().ends_with("chart, hosted (Hosted on the hub), hosted-next, order, topology, topology-next"), "{}", world.refusal_message());
    }

    /// Orders of entries, peers and members are nobody's choice.
    #[test]
    fn a_permutation_changes_nothing(seed in any::<u64>(), template in prop::sample::select(vec!["hosted", "order", "nothing", "broken"])) {
        let world = World::with_template(template);
        let answer = |world: &World| run(&world.request(), &Options::default(), world.now).encode_to_vec();
        let mut shuffled = world.clone();
        let length = shuffled.templates.len();
        for i in 0..length {
            let j = usize::try_from(seed.rotate_left(u32::try_from(i).unwrap() * 7) % length as u64).unwrap();
            shuffled.templates.swap(i, j);
        }
        prop_assert_eq!(answer(&world), answer(&shuffled));
    }
}

/// A tenant's text is in no other claim's messages, and parameters arrive unchanged.
#[test]
fn values_arrive_as_they_are() {
    let mut world = World::with_template("hosted");
    let odd = "https://{{ x }}\"'\\ $(y) ä";
    world.spec["parameters"] = json!({ "proxy": odd });
    assert_eq!(effective(&world)["parameters"]["proxy"], odd);
    assert_eq!(templated(&world).template, "hosted");
}
