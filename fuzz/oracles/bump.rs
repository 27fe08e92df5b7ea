//! Any text in the files that `bump` reads: no panic, refs change or nothing, and twice is once.

use std::{path::Path, sync::LazyLock};

use testplatform_package::bump::{
    COMPONENT, CheckContext, Environment, Plan, Request, Rings, Scope, Tree, UPSTREAM_SOURCE, disk,
    plan_changes, run_checks,
};

/// A small infra-deployments, in which the text replaces files.
static TREE: LazyLock<Tree> = LazyLock::new(|| {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../package/tests/data/infra-deployments");
    disk::read_checkout(&data, COMPONENT).expect("the small repository")
});
/// Before each file stands its path below the repository.
const MARK: &str = "-- ";
const TO: &str = "1234567890123456789012345678901234567890";
const COMMIT: usize = 40;

/// Whatever the bytes.
pub fn check(bytes: &[u8]) {
    let tree = tree(bytes);
    let source = UPSTREAM_SOURCE.parse().expect("a source");
    let context = CheckContext::new(COMPONENT, source, Rings::default_rings().expect("rings"));
    let _ = run_checks(&tree, &context);
    let both = [Environment::Development, Environment::Staging];
    for request in [request(&both, &[]), request(&[Environment::Production], &["all"])] {
        let Ok(first) = plan_changes(&tree, &request) else { continue };
        let after = applied(&tree, &first);
        let second = plan_changes(&after, &request).expect("what was edited can be edited");
        assert_eq!(second.edits.into_keys().collect::<Vec<_>>(), Vec::<String>::new(), "twice is not once");
    }
}

/// The small repository with the files of the text; what stands before the first mark is the staging overlay.
fn tree(bytes: &[u8]) -> Tree {
    let mut tree = TREE.clone();
    let mut path = format!("components/{COMPONENT}/staging/base/kustomization.yaml");
    let mut file = Vec::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let marked = std::str::from_utf8(line).ok().and_then(|line| line.strip_prefix(MARK)).map(str::trim);
        let Some(next) = marked.filter(|path| !path.is_empty()) else {
            file.extend_from_slice(line);
            continue;
        };
        if !file.is_empty() {
            tree.insert(path.as_str(), std::mem::take(&mut file));
        }
        next.clone_into(&mut path);
    }
    tree.insert(path, file);
    tree
}

fn request(environments: &[Environment], rings: &[&str]) -> Request {
    Request {
        component: COMPONENT.to_owned(),
        source: UPSTREAM_SOURCE.parse().expect("a source"),
        to: TO.parse().expect("a commit"),
        scope: Scope {
            environments: environments.iter().copied().collect(),
            rings: rings.iter().map(ToString::to_string).collect(),
            clusters: Vec::new(),
        },
        add_clusters: Vec::new(),
        images: Vec::new(),
        environment_configs: true,
        force: false,
        rings: Rings::default_rings().expect("rings"),
    }
}

/// The repository after a plan, of which every line that differs has the new commit where the old one had another.
fn applied(tree: &Tree, plan: &Plan) -> Tree {
    let mut after = tree.clone();
    for (path, edit) in &plan.edits {
        assert_eq!(edit.before.as_deref(), tree.get(path), "{path} is another file");
        if let Some(before) = &edit.before {
            let old: Vec<&[u8]> = lines(before);
            let new: Vec<&[u8]> = lines(&edit.after);
            let added = new.len() - old.len();
            assert!(added <= 1, "{added} lines were added to {path}");
            let mut new = new.into_iter().peekable();
            // The only line that may come in is that of the EnvironmentConfig.
            let may_come = |line: &[u8]| line.ends_with(b"- environment-config.yaml");
            for line in old {
                if new.peek().is_some_and(|next| !is_moved(line, next)) {
                    let next = new.next().unwrap_or_default();
                    assert!(may_come(next), "{path}: {}", next.escape_ascii());
                }
                let next = new.next().unwrap_or_default();
                assert!(
                    is_moved(line, next),
                    "{path}: {} became {}",
                    line.escape_ascii(),
                    next.escape_ascii()
                );
            }
            // It is the last, where nothing is below the list.
            for next in new {
                assert!(may_come(next), "{path} ends with {}", next.escape_ascii());
            }
        }
        after.insert(path, edit.after.clone());
    }
    after
}

/// Lines without their ends. A file that ends without one may get one.
fn lines(text: &[u8]) -> Vec<&[u8]> {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    text.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line)).collect()
}

/// Whether a line is another one, or that with its commit replaced.
fn is_moved(before: &[u8], after: &[u8]) -> bool {
    if before == after {
        return true;
    }
    let at = |line: &[u8]| line.windows(COMMIT).position(|part| part == TO.as_bytes());
    before.len() == after.len()
        && at(after).is_some_and(|at| {
            before[..at] == after[..at]
                && before[at + COMMIT..] == after[at + COMMIT..]
                && before[at..at + COMMIT].iter().all(u8::is_ascii_hexdigit)
        })
}
