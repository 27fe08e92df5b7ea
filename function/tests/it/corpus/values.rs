//! Requests of the corpus with other values in their objects. Of bytes that are changed anywhere few are a request still; these all are.

use function_model::list_pointers;
use proptest::{
    collection::vec,
    prelude::*,
    sample::{Index, select},
};
use prost::{Message as _, bytes::Bytes};
use serde_json::{Value, json};
use testplatform_composites::sdk::{
    proto::{Resource, RunFunctionRequest},
    wire,
};

use crate::corpus::replay::{Trial, corpus, words};

const TARGET: &str = "request";

/// Gives requests to a check of which a few values are others.
pub fn tried(trial: Trial, check: impl Fn(&[u8])) {
    let files = corpus(TARGET);
    let decoded = files.iter().filter_map(|(_, bytes)| RunFunctionRequest::decode(bytes.as_slice()).ok());
    let requests: Vec<_> = decoded.collect();
    let words = words(TARGET);
    let changed = |(request, changes): (Index, Vec<Change>)| {
        let mut request = request.get(&requests).clone();
        for change in &changes {
            change.make(&mut request, &words);
        }
        request.encode_to_vec()
    };
    trial.run(TARGET, &(any::<Index>(), vec(change(), 1..4)), changed, check);
}

/// A change of one value: the object, the place in it, and the new value.
#[derive(Clone, Debug)]
struct Change {
    object: Index,
    place: Index,
    new: New,
}

/// The new value.
#[derive(Clone, Debug)]
enum New {
    /// Nothing: it is left out.
    Nothing,
    /// This.
    Value(Value),
    /// A word of the target's dictionary.
    Word(Index),
    /// The value at another place of the object.
    Other(Index),
}

fn change() -> impl Strategy<Value = Change> {
    let new = prop_oneof![
        Just(New::Nothing),
        select(values()).prop_map(New::Value),
        any::<Index>().prop_map(New::Word),
        any::<Index>().prop_map(New::Other),
    ];
    (any::<Index>(), any::<Index>(), new).prop_map(|(object, place, new)| Change { object, place, new })
}

fn values() -> Vec<Value> {
    vec![
        json!(null),
        json!(true),
        json!(false),
        json!(0),
        json!(-1),
        json!(1.5),
        json!(1e300),
        json!(""),
        json!("x"),
        json!("X_Y/z"),
        json!("{{ .x }}\n- y: *z"),
        json!("x".repeat(300)),
        json!("2026-11-21T10:30:00Z"),
        json!([]),
        json!(["x", 1, null]),
        json!({}),
        json!({ "name": "x" }),
    ]
}

impl Change {
    /// Makes it, where there is anything to change.
    fn make(&self, request: &mut RunFunctionRequest, words: &[Vec<u8>]) {
        let mut count = 0_usize;
        each(request, |_| count += 1);
        if count == 0 {
            return;
        }
        let chosen = self.object.index(count);
        let mut number = 0_usize;
        each(request, |bytes| {
            if number == chosen {
                self.make_in(bytes, words);
            }
            number += 1;
        });
    }

    fn make_in(&self, bytes: &mut Bytes, words: &[Vec<u8>]) {
        let Ok(mut object) = wire::to_value(bytes) else { return };
        let places = list_pointers(&object);
        if places.is_empty() {
            return;
        }
        let new = match &self.new {
            New::Nothing => None,
            New::Value(value) => Some(value.clone()),
            New::Word(word) => Some(String::from_utf8_lossy(word.get::<Vec<u8>>(words)).into()),
            New::Other(other) => object.pointer(other.get::<String>(&places)).cloned(),
        };
        put(&mut object, self.place.get::<String>(&places), new);
        if let Ok(changed) = wire::to_struct(&object) {
            *bytes = changed;
        }
    }
}

/// Gives each object of a request to something that may change it.
fn each(request: &mut RunFunctionRequest, mut visit: impl FnMut(&mut Bytes)) {
    for state in request.observed.iter_mut().chain(&mut request.desired) {
        if let Some(composite) = &mut state.composite {
            visit(&mut composite.resource);
        }
        for bytes in state.resources.values_mut() {
            let Ok(mut resource) = Resource::decode(bytes.clone()) else { continue };
            visit(&mut resource.resource);
            *bytes = resource.encode_to_vec().into();
        }
    }
    let found = request.required_resources.values_mut().chain(request.extra_resources.values_mut());
    for resource in found.flat_map(|found| &mut found.items) {
        visit(&mut resource.resource);
    }
    for bytes in request.input.iter_mut().chain(&mut request.context) {
        visit(bytes);
    }
}

/// Puts a value at a place, or leaves out what is there.
fn put(object: &mut Value, place: &str, new: Option<Value>) {
    if let Some(new) = new {
        *object.pointer_mut(place).unwrap() = new;
        return;
    }
    let (above, key) = place.rsplit_once('/').unwrap();
    match object.pointer_mut(above).unwrap() {
        Value::Array(values) => {
            values.remove(key.parse().unwrap());
        }
        other => {
            let fields = other.as_object_mut().unwrap();
            fields.remove(&key.replace("~1", "/").replace("~0", "~"));
        }
    }
}

#[test]
fn changes_replace_or_remove_a_value() {
    let object = json!({ "a/b": { "~c": [1, { "d": 2 }] } });
    assert_eq!(list_pointers(&object), ["/a~1b/~0c/0", "/a~1b/~0c/1/d", "/a~1b/~0c/1", "/a~1b/~0c", "/a~1b"]);
    let after = |place: &str, new: Option<Value>| {
        let mut object = object.clone();
        put(&mut object, place, new);
        object
    };
    assert_eq!(after("/a~1b/~0c/0", None), json!({ "a/b": { "~c": [{ "d": 2 }] } }));
    assert_eq!(after("/a~1b/~0c", None), json!({ "a/b": {} }));
    assert_eq!(after("/a~1b", Some(json!(1))), json!({ "a/b": 1 }));
}
