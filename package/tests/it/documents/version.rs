//! The commit in a program is expanded where a new commit compiles next to nothing.

use crate::documents::text::{read, sources};

/// A new commit then compiles these files alone, and no library and no test.
#[test]
fn only_files_of_programs_expand_the_commit() {
    let folders = ["apis", "function", "package", "process", "provider", "readiness", "tests"];
    let mut files = Vec::new();
    for (path, text) in folders.iter().flat_map(|folder| sources(folder)) {
        // This test names it too.
        if !path.ends_with("documents/version.rs") && text.contains("testplatform_version::") {
            files.push(path);
        }
    }
    files.sort();
    assert_eq!(
        files,
        ["function/plugin/src/main.rs", "function/src/cli.rs", "package/src/main.rs", "provider/src/cli.rs"]
    );
    for library in ["function/src/lib.rs", "provider/src/lib.rs"] {
        assert!(!read(library).contains("mod cli;"), "{library} has the command line of the program");
    }
}
