//! Values of a watch, by key.

use std::collections::HashMap;

use kube::runtime::watcher::Event;

/// A cache of a few values for each object. A new list replaces it only when it has come to its end.
#[derive(Debug)]
pub struct Table<V> {
    now: HashMap<String, V>,
    next: HashMap<String, V>,
}

impl<V> Default for Table<V> {
    fn default() -> Self {
        Self { now: HashMap::new(), next: HashMap::new() }
    }
}

impl<V: PartialEq> Table<V> {
    /// Applies an event. `read` returns an object's key and value. Returns the keys whose value changed.
    pub fn apply_event<K>(
        &mut self,
        event: &Event<K>,
        read: impl Fn(&K) -> Option<(String, V)>,
    ) -> Vec<String> {
        match event {
            Event::Init => {
                self.next = HashMap::new();
                Vec::new()
            }
            Event::InitApply(object) => {
                self.next.extend(read(object));
                Vec::new()
            }
            Event::InitDone => {
                let before = std::mem::replace(&mut self.now, std::mem::take(&mut self.next));
                let removed = before.keys().filter(|key| !self.now.contains_key(*key));
                let new = self.now.iter().filter(|(key, value)| before.get(*key) != Some(value));
                removed.chain(new.map(|(key, _)| key)).cloned().collect()
            }
            Event::Apply(object) => match read(object) {
                Some((key, value)) if self.now.get(&key) != Some(&value) => {
                    self.now.insert(key.clone(), value);
                    vec![key]
                }
                _ => Vec::new(),
            },
            Event::Delete(object) => match read(object) {
                Some((key, _)) => self.now.remove(&key).map(|_| key).into_iter().collect(),
                None => Vec::new(),
            },
        }
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&V> {
        self.now.get(key)
    }

    /// Every key and its value.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &V)> {
        self.now.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_replaces_what_was_known_when_it_ends() {
        let mut table = Table::default();
        let mut take = |event: Event<(&str, i32)>| {
            let mut keys = table.apply_event(&event, |&(key, value)| Some((key.to_owned(), value)));
            keys.sort();
            (keys, table.get("a").copied(), table.get("b").copied())
        };
        assert_eq!(take(Event::Apply(("a", 1))), (vec!["a".into()], Some(1), None));
        assert_eq!(take(Event::Apply(("a", 1))), (vec![], Some(1), None), "nothing changed");
        assert_eq!(take(Event::Init), (vec![], Some(1), None));
        assert_eq!(take(Event::InitApply(("b", 2))), (vec![], Some(1), None));
        assert_eq!(take(Event::InitDone), (vec!["a".into(), "b".into()], None, Some(2)));
        assert_eq!(take(Event::Delete(("b", 2))), (vec!["b".into()], None, None));
        assert_eq!(take(Event::Delete(("b", 2))), (vec![], None, None));
    }
}
