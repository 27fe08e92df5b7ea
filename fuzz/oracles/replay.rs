//! Every file of a corpus once more, and many that are nearly one of them, with the compiler that everything else is tested with.

use std::{
    env, fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
};

use proptest::{
    collection::vec,
    prelude::*,
    sample::Index,
    test_runner::{RngSeed, TestRunner},
};

/// The most bytes that a changed file has, as in the longer runs. No file of a corpus has as many.
const MAX_SIZE: usize = 64 * 1024;
/// The most bytes that are moved at once.
const MAX_PART: usize = 64;

/// Gives each file of a target's corpus to its check, and names those that it does not take.
pub fn replay(target: &str, check: impl Fn(&[u8])) {
    let files = corpus(target);
    assert!(files.len() >= 10, "the corpus of {target} has {} files", files.len());
    let bad: Vec<_> = files
        .into_iter()
        .filter(|(_, bytes)| catch_unwind(AssertUnwindSafe(|| check(bytes))).is_err())
        .map(|(path, _)| path)
        .collect();
    assert!(bad.is_empty(), "what is wrong stands above; files: {bad:#?}");
}

/// How many changed files are tried, and which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trial {
    /// How many.
    pub cases: u32,
    /// What they follow from.
    pub seed: u64,
}

impl Trial {
    /// As many as the target has, and always the same, where the variables that proptest knows do not say otherwise.
    pub fn of(cases: u32, variable: impl Fn(&str) -> Option<String>) -> Self {
        let told = |name: &str| {
            let text = variable(name)?;
            Some(text.parse::<u64>().unwrap_or_else(|error| panic!("{name} is {text:?}: {error}")))
        };
        let told_cases = told("PROPTEST_CASES").map(|told| u32::try_from(told).expect("fewer cases"));
        Self { cases: told_cases.unwrap_or(cases), seed: told("PROPTEST_RNG_SEED").unwrap_or(1) }
    }

    /// The same, with the variables of the environment.
    #[expect(
        clippy::disallowed_methods,
        reason = "the variables of proptest, which has no command line in a test"
    )]
    pub fn told(cases: u32) -> Self {
        Self::of(cases, |name| env::var(name).ok())
    }

    /// Gives files to a target's check that are made of something at random. One that it does not take is made as simple as can be and shown.
    pub fn run<S: Strategy>(
        self,
        target: &str,
        random: &S,
        made: impl Fn(S::Value) -> Vec<u8>,
        check: impl Fn(&[u8]),
    ) {
        let config = ProptestConfig {
            cases: self.cases,
            failure_persistence: None,
            rng_seed: RngSeed::Fixed(self.seed),
            ..ProptestConfig::default()
        };
        let outcome = TestRunner::new(config).run(random, |random| {
            let bytes = made(random);
            let taken = catch_unwind(AssertUnwindSafe(|| check(&bytes))).is_ok();
            prop_assert!(taken, "{}", bytes.escape_ascii());
            Ok(())
        });
        assert!(
            outcome.is_ok(),
            "{target}, {self:?}: {}",
            outcome.err().map(|error| error.to_string()).unwrap_or_default()
        );
    }
}

/// Gives files of a target's corpus to its check after a few changes, `cases` of them and always the same, unless the environment says
/// otherwise.
pub fn mutate(target: &str, cases: u32, check: impl Fn(&[u8])) {
    tried(target, Trial::told(cases), check);
}

/// The same, whatever the environment says.
pub fn tried(target: &str, trial: Trial, check: impl Fn(&[u8])) {
    let files: Vec<Vec<u8>> = corpus(target).into_iter().map(|(_, bytes)| bytes).collect();
    let words = words(target);
    let changed = |(file, changes): (Index, Vec<Change>)| {
        let mut bytes = file.get(&files).clone();
        for change in &changes {
            change.make(&mut bytes, &files, &words);
            bytes.truncate(MAX_SIZE);
        }
        bytes
    };
    trial.run(target, &(any::<Index>(), vec(change(), 1..8)), changed, check);
}

/// What happens to a file.
#[derive(Clone, Debug)]
enum Change {
    /// A bit is another one.
    Bit(Index, u8),
    /// A byte is another one.
    Byte(Index, u8),
    /// A part is left out.
    Lost(Index, usize),
    /// A part comes twice.
    Twice(Index, usize),
    /// A word of the target's dictionary comes in.
    Word(Index, Index),
    /// A part of another file comes in, from somewhere in there.
    Other(Index, Index, Index, usize),
}

fn change() -> impl Strategy<Value = Change> {
    let at = any::<Index>;
    let part = || 1..=MAX_PART;
    prop_oneof![
        (at(), 0..8_u8).prop_map(|(at, bit)| Change::Bit(at, bit)),
        (at(), any::<u8>()).prop_map(|(at, byte)| Change::Byte(at, byte)),
        (at(), part()).prop_map(|(at, part)| Change::Lost(at, part)),
        (at(), part()).prop_map(|(at, part)| Change::Twice(at, part)),
        (at(), at()).prop_map(|(at, word)| Change::Word(at, word)),
        (at(), at(), at(), part()).prop_map(|(at, file, from, part)| Change::Other(at, file, from, part)),
    ]
}

impl Change {
    fn make(&self, bytes: &mut Vec<u8>, files: &[Vec<u8>], words: &[Vec<u8>]) {
        let within = |at: &Index, bytes: &[u8]| at.index(bytes.len() + 1);
        let part = |bytes: &[u8], from: usize, part: usize| from..bytes.len().min(from + part);
        match self {
            Self::Bit(at, bit) => {
                let at = within(at, bytes);
                bytes.get_mut(at).into_iter().for_each(|byte| *byte ^= 1 << bit);
            }
            Self::Byte(at, new) => {
                let at = within(at, bytes);
                bytes.get_mut(at).into_iter().for_each(|byte| *byte = *new);
            }
            Self::Lost(at, size) => {
                bytes.drain(part(bytes, within(at, bytes), *size));
            }
            Self::Twice(at, size) => {
                let at = within(at, bytes);
                let again = bytes[part(bytes, at, *size)].to_vec();
                bytes.splice(at..at, again);
            }
            Self::Word(at, word) => {
                let at = within(at, bytes);
                bytes.splice(at..at, word.get(words).iter().copied());
            }
            Self::Other(at, file, from, size) => {
                let (at, other) = (within(at, bytes), file.get(files));
                let other = &other[part(other, within(from, other), *size)];
                bytes.splice(at..at, other.iter().copied());
            }
        }
    }
}

/// The files of a target's corpus.
pub fn corpus(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let corpus = fuzz().join("corpus").join(target);
    let entries = fs::read_dir(&corpus).unwrap_or_else(|error| panic!("{}: {error}", corpus.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    let read = |path: &PathBuf| fs::read(path).expect("a file of the corpus");
    files.into_iter().map(|path| (path.clone(), read(&path))).collect()
}

/// What a target's dictionary has, in libFuzzer's form: a quoted word a line, bytes as `\xNN`.
pub fn words(target: &str) -> Vec<Vec<u8>> {
    let text = fs::read_to_string(fuzz().join("dictionaries").join(format!("{target}.dict")));
    let text = text.expect("a dictionary");
    let quoted = text.lines().filter_map(|line| line.strip_prefix('"')?.strip_suffix('"'));
    quoted.map(unescaped).collect()
}

fn unescaped(word: &str) -> Vec<u8> {
    let mut bytes = word.bytes();
    let mut plain = Vec::new();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            plain.push(byte);
            continue;
        }
        match bytes.next().expect("something after a backslash") {
            b'x' => {
                let digits: String = bytes.by_ref().take(2).map(char::from).collect();
                plain.push(u8::from_str_radix(&digits, 16).expect("two digits"));
            }
            quoted => plain.push(quoted),
        }
    }
    plain
}

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz")
}
