//! Every file of a corpus once more, with the compiler that everything else is tested with.

use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
};

/// Gives each file of a target's corpus to its check, and names those that it does not take.
pub fn replay(target: &str, check: impl Fn(&[u8])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(target);
    let entries = fs::read_dir(&corpus).unwrap_or_else(|error| panic!("{}: {error}", corpus.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    assert!(files.len() >= 10, "{} has {} files", corpus.display(), files.len());
    let bad: Vec<_> = files
        .into_iter()
        .filter(|file| {
            let bytes = fs::read(file).expect("a file of the corpus");
            catch_unwind(AssertUnwindSafe(|| check(&bytes))).is_err()
        })
        .collect();
    assert!(bad.is_empty(), "what is wrong stands above; files: {bad:#?}");
}
