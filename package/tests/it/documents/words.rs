//! Words in sources and documents, as far as they are compared: those of enums, those that are written where they are given, and those
//! in tables.

use std::collections::BTreeSet;

/// Where a word in quotes is a reason, should anybody write one there.
const MARKS: [&str; 8] = [
    "emit(true, \"",
    "emit(false, \"",
    "tell(true, \"",
    "tell(false, \"",
    "reason: \"",
    "fatal(request, \"",
    "normal(\"",
    "warning(\"",
];

/// The enums of words of a source: those of `words!`, those with an `ALL`, and those that are told by `as_str`.
pub fn enums(code: &str) -> BTreeSet<&str> {
    let name = |text: &'_ str| text.find([' ', '{', '<']).unwrap_or(text.len());
    let is_told =
        |line: &str| line.contains("fn as_str(self) -> &'static str") || line.contains("const ALL:");
    let mut found = BTreeSet::new();
    let (mut in_words, mut last) = (false, "");
    for line in code.lines().map(str::trim_start) {
        if line.starts_with("words! {") {
            in_words = true;
        } else if in_words && line.starts_with(|c: char| c.is_ascii_uppercase()) {
            found.insert(&line[..name(line)]);
            in_words = false;
        } else if let Some(rest) = line.strip_prefix("impl ") {
            last = &rest[..name(rest)];
        } else if is_told(line) && !last.starts_with('$') {
            found.insert(last);
        }
    }
    found
}

/// The words that `as_str` of an enum has in a source; none if it has no such function there, as those of `words!`.
pub fn words_of(code: &str, name: &str) -> Option<BTreeSet<String>> {
    let (_, own) = code.split_once(&format!("\nimpl {name} {{\n"))?;
    let (own, _) = own.split_once("\n}\n")?;
    let (_, words) = own.split_once("fn as_str(self) -> &'static str {\n")?;
    let (words, _) = words.split_once("\n    }\n").unwrap_or((words, ""));
    let arm = |line: &str| Some(line.split_once("=> \"")?.1.split('"').next()?.to_owned());
    Some(words.lines().filter_map(arm).collect())
}

/// The words in the first column of the tables of a text.
pub fn rows(text: &str) -> BTreeSet<String> {
    let first = |line: &str| line.strip_prefix("| `")?.split_once(" |").map(|(cell, _)| format!("`{cell}"));
    let words = |cell: String| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    text.lines().filter_map(first).flat_map(words).collect()
}

/// Reasons that are written where they are given, instead of in an enum; on whichever line of the call.
pub fn literals(code: &str) -> Vec<String> {
    let code = code.split_whitespace().collect::<Vec<_>>().join(" ").replace("( ", "(");
    let code = code.as_str();
    let after = |mark: &&'static str| {
        let mark = *mark;
        code.match_indices(mark).filter_map(move |(at, _)| code[at + mark.len()..].split('"').next())
    };
    let is_word = |text: &&str| {
        text.starts_with(|c: char| c.is_ascii_uppercase()) && text.chars().all(|c| c.is_ascii_alphanumeric())
    };
    MARKS.iter().flat_map(after).filter(is_word).map(str::to_owned).collect()
}

/// The comparison sees what it is for.
#[test]
fn new_enums_and_literals_are_found() {
    let code = "words! {\n    /// Reasons.\n    PoolHealth {\n        Healthy,\n    }\n}\n\
                impl Reason {\n    /// All.\n    pub const ALL: [Self; 1] = [Self::A];\n}\n\
                impl $name {\n    pub const ALL: &'static [Self] = &[];\n}\n\
                impl Why {\n    pub const fn as_str(self) -> &'static str {\n        match self {\n            \
                Self::NotReady => \"NotReady\",\n            Self::Gone => \"GONE\",\n        }\n    }\n\n    \
                const fn word(self) -> &'static str {\n        match self { Self::Gone => \"gone\" }\n    }\n}\n\
                impl Name {\n    pub fn as_str(&self) -> &str {\n        &self.0\n    }\n}\n\
                fn f() { pass.emit(true, \"NewWord\", text); event(Event { reason: \"ScaledToZero\", n: \"no word\" }) }\n\
                fn g() { tell(\n    true,\n    \"Stalled\",\n    note,\n) }\n";
    assert_eq!(enums(code), ["PoolHealth", "Reason", "Why"].into());
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(words_of(code, "Why"), Some(words(&["GONE", "NotReady"])));
    assert_eq!((words_of(code, "Reason"), words_of(code, "PoolHealth")), (None, None));
    let table = "| reason | why |\n| --- | --- |\n| `A` | not `D` |\n| `B`, `C` | so |\nof `E` | x\n";
    assert_eq!(rows(table), words(&["A", "B", "C"]));
    assert_eq!(literals(code), ["NewWord", "Stalled", "ScaledToZero"]);
}
