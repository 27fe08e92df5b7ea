//! Maps, sets and sorted lists out of what is iterated over.
//!
//! The standard library's `collect` into a map or a set sorts first, and its sort is some five kilobytes of a program for each iterator or
//! comparison that it is made for: 47 that were not needed came to 223 kB of the function.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
};

use serde_json::{Map, Value};

/// A map. Of equal keys the last counts.
pub fn to_map<K: Ord, V>(entries: impl IntoIterator<Item = (K, V)>) -> BTreeMap<K, V> {
    let mut map = BTreeMap::new();
    for (key, value) in entries {
        map.insert(key, value);
    }
    map
}

/// A JSON object. Of equal keys the last counts.
pub fn to_object(entries: impl IntoIterator<Item = (String, Value)>) -> Map<String, Value> {
    let mut object = Map::new();
    for (key, value) in entries {
        object.insert(key, value);
    }
    object
}

/// A JSON object of the texts that are there.
pub fn to_text_object<'k>(
    entries: impl IntoIterator<Item = (&'k str, Option<String>)>,
) -> Map<String, Value> {
    to_object(entries.into_iter().filter_map(|(key, text)| Some((key.to_owned(), text?.into()))))
}

/// A set.
pub fn to_set<T: Ord>(items: impl IntoIterator<Item = T>) -> BTreeSet<T> {
    let mut set = BTreeSet::new();
    for item in items {
        set.insert(item);
    }
    set
}

/// Sorts a few items by stable insertion sort. A sorted list takes one comparison per item; each misplaced item moves all items after its
/// place. Do not use it for lists of many thousands.
pub fn sort_few<T>(items: &mut Vec<T>, compare: impl Fn(&T, &T) -> Ordering) {
    for next in 1..items.len() {
        let place = items[..next].partition_point(|before| compare(before, &items[next]).is_le());
        if place < next {
            let item = items.remove(next);
            items.insert(place, item);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn collections_equal_those_of_the_standard_library(entries in proptest::collection::vec((0_u8..20, any::<u8>()), 0..60)) {
            prop_assert_eq!(to_map(entries.clone()), entries.iter().copied().collect::<BTreeMap<_, _>>());
            prop_assert_eq!(to_set(entries.clone()), entries.iter().copied().collect::<BTreeSet<_>>());
            let json = |(key, value): (u8, u8)| (key.to_string(), Value::from(value));
            prop_assert_eq!(to_object(entries.clone().into_iter().map(json)), entries.iter().copied().map(json).collect::<Map<_, _>>());
            let (mut ours, mut theirs) = (entries.clone(), entries);
            sort_few(&mut ours, |(a, _), (b, _)| a.cmp(b));
            theirs.sort_by_key(|(key, _)| *key);
            prop_assert_eq!(ours, theirs);
        }
    }
}
