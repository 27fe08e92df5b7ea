//! Labels that hold tenant text: anybody can make up as many values as they like, so only some get a series of their own.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Mutex, PoisonError},
};

/// How many values a label with tenant text may have; the rest is `other`.
pub const MOST: usize = 100;
/// Label value that stands for all other values.
const OTHER: &str = "other";
/// Longer values are no legal names.
const LONGEST: usize = 128;

/// Replaces all but the `most` most frequent values of each column.
pub fn most_frequent<const N: usize>(mut rows: Vec<[String; N]>, most: usize) -> Vec<[String; N]> {
    for column in 0..N {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for row in &rows {
            *counts.entry(row[column].as_str()).or_default() += 1;
        }
        let mut values: Vec<(&str, usize)> =
            counts.into_iter().filter(|(value, _)| value.len() <= LONGEST).collect();
        // By name where they are equally frequent, or series would come and go.
        values.sort_by_key(|(value, count)| (std::cmp::Reverse(*count), *value));
        let frequent: BTreeSet<String> =
            values.into_iter().take(most).map(|(value, _)| value.to_owned()).collect();
        for row in &mut rows {
            if !frequent.contains(&row[column]) {
                OTHER.clone_into(&mut row[column]);
            }
        }
    }
    rows
}

/// The first values that come keep their names: a counter cannot be given another one later.
pub struct FirstCome {
    most: usize,
    known: Mutex<BTreeSet<String>>,
}

impl FirstCome {
    /// For so many values.
    pub fn new(most: usize) -> Self {
        Self { most, known: Mutex::default() }
    }

    /// The value, or what all others are called.
    pub fn admit(&self, value: &str) -> String {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let admitted = value.len() <= LONGEST
            && (known.contains(value) || (known.len() < self.most && known.insert(value.to_owned())));
        if admitted { value.to_owned() } else { OTHER.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_and_long_values_share_a_name() {
        let row = |value: &str| [value.to_owned()];
        let long = "x".repeat(1000);
        let rows = ["a", "b", "a", "c", &long, &long, &long].map(row);
        let kept: Vec<String> = most_frequent(rows.to_vec(), 2).into_iter().flatten().collect();
        assert_eq!(kept, ["a", "b", "a", "other", "other", "other", "other"]);
    }

    #[test]
    fn first_come_first_served() {
        let values = FirstCome::new(2);
        let names: Vec<String> =
            ["a", "b", "c", "a", &"x".repeat(1000)].iter().map(|v| values.admit(v)).collect();
        assert_eq!(names, ["a", "b", "other", "a", "other"]);
    }
}
