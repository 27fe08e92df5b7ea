//! Imports between modules of a crate. Siblings that import each other in a circle cannot be understood, or moved, one by one.
//!
//! Each circle of today is in a snapshot, so that a new one is seen in review. `SNAPSHOTS=overwrite` writes it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
};

use syn::{
    Attribute, Item, ItemMod, ItemUse, Path, UseTree,
    visit::{self, Visit},
};

use crate::documents::text::{read, root, sources};

/// Sources of each crate that is checked.
const CRATES: [&str; 7] = [
    "apis/src",
    "function/composites/src",
    "function/render/src",
    "function/src",
    "package/src",
    "provider/src",
    "provider/runtime/src",
];
const SNAPSHOT: &str = "package/tests/it/documents/circles.txt";

/// Segments of a module's path, from the root of its crate.
pub type Module = Vec<String>;

/// Module of a source, by its path below `src`.
fn module_of(path: &str) -> Module {
    let path = path.strip_suffix(".rs").unwrap_or(path);
    let mut module: Module = path.split('/').map(str::to_owned).collect();
    if module.len() == 1 && ["lib", "main"].contains(&path) || module.last().is_some_and(|last| last == "mod")
    {
        module.pop();
    }
    module
}

/// Paths that a source names, from the root of the crate.
struct Imports {
    module: Module,
    paths: BTreeSet<(Module, Vec<String>)>,
}

impl Imports {
    /// Records a path that starts with `crate`, `self` or `super`. Others are of other crates, or of children.
    fn record(&mut self, segments: &[String]) {
        let mut base = match segments.first().map(String::as_str) {
            Some("crate") => Module::new(),
            Some("self" | "super") => self.module.clone(),
            _ => return,
        };
        let mut rest = segments.iter().peekable();
        while let Some(segment) =
            rest.next_if(|segment| ["crate", "self", "super"].contains(&segment.as_str()))
        {
            if segment == "super" {
                base.pop();
            }
        }
        base.extend(rest.cloned());
        self.paths.insert((self.module.clone(), base));
    }

    fn record_tree(&mut self, before: &[String], tree: &UseTree) {
        let mut path = before.to_vec();
        match tree {
            UseTree::Path(at) => {
                path.push(at.ident.to_string());
                self.record_tree(&path, &at.tree);
            }
            UseTree::Name(name) => {
                path.push(name.ident.to_string());
                self.record(&path);
            }
            UseTree::Rename(name) => {
                path.push(name.ident.to_string());
                self.record(&path);
            }
            UseTree::Glob(_) => self.record(&path),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.record_tree(before, tree)),
        }
    }
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg") && attribute.parse_args::<syn::Ident>().is_ok_and(|of| of == "test")
    })
}

impl<'ast> Visit<'ast> for Imports {
    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.record_tree(&[], &item.tree);
    }

    fn visit_path(&mut self, path: &'ast Path) {
        let segments: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.record(&segments);
        visit::visit_path(self, path);
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if is_test(&item.attrs) {
            return;
        }
        self.module.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_item(&mut self, item: &'ast Item) {
        let tests = match item {
            Item::Fn(item) => is_test(&item.attrs),
            Item::Impl(item) => is_test(&item.attrs),
            Item::Use(item) => is_test(&item.attrs),
            _ => false,
        };
        if !tests {
            visit::visit_item(self, item);
        }
    }
}

/// Compares what is there today with a snapshot.
#[track_caller]
pub fn compare_snapshot(snapshot: &str, seen: &str) {
    let path = root().join(snapshot);
    if std::env::var_os("SNAPSHOTS").is_some_and(|value| value == "overwrite") {
        fs::write(&path, seen).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap_or_default(), seen);
}

/// Paths of the crate that a source names, each with the module that names it. `path` is below `src`. Tests do not count.
pub fn imports(path: &str, code: &str) -> BTreeSet<(Module, Vec<String>)> {
    let file = syn::parse_file(code).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut imports = Imports { module: module_of(path), paths: BTreeSet::new() };
    imports.visit_file(&file);
    imports.paths
}

/// Sources below a folder, by their path in it. Whole, because a source that is cut at its first test may end within an item.
pub fn whole_sources(folder: &str) -> Vec<(String, String)> {
    let below = |path: &str| path.strip_prefix(&format!("{folder}/")).map(str::to_owned);
    sources(folder).into_iter().filter_map(|(path, _)| Some((below(&path)?, read(&path)))).collect()
}

/// Arrows between siblings, by their parent: from a module, or one below it, to another.
type Arrows = BTreeMap<Module, BTreeMap<String, BTreeSet<String>>>;

/// Arrows of a crate. Those between a module and its own descendants do not count.
fn arrows(files: &[(String, String)]) -> Arrows {
    let modules: BTreeSet<Module> = files.iter().map(|(path, _)| module_of(path)).collect();
    let mut arrows = Arrows::new();
    for (path, code) in files {
        for (from, mut to) in imports(path, code) {
            while !to.is_empty() && !modules.contains(&to) {
                to.pop();
            }
            let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
            if let (Some(from), Some(target)) = (from.get(common), to.get(common)) {
                let siblings = arrows.entry(to[..common].to_vec()).or_default();
                siblings.entry(from.clone()).or_default().insert(target.clone());
            }
        }
    }
    arrows
}

/// Modules that are reached from one, itself only by a circle.
fn reached<'a>(from: &str, arrows: &'a BTreeMap<String, BTreeSet<String>>) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut next: Vec<&str> = arrows.get(from).into_iter().flatten().map(String::as_str).collect();
    while let Some(module) = next.pop() {
        if found.insert(module) {
            next.extend(arrows.get(module).into_iter().flatten().map(String::as_str));
        }
    }
    found
}

/// Circles of a crate: a parent, and siblings that reach each other.
fn circles(arrows: &Arrows) -> BTreeSet<(String, Vec<&str>)> {
    let mut circles = BTreeSet::new();
    for (parent, siblings) in arrows {
        for module in siblings.keys() {
            let others = reached(module, siblings);
            let circle: Vec<&str> = others
                .iter()
                .copied()
                .filter(|other| reached(other, siblings).contains(module.as_str()))
                .collect();
            if circle.len() > 1 {
                circles.insert((parent.join("::"), circle));
            }
        }
    }
    circles
}

#[test]
fn circles_of_modules_are_those_of_the_snapshot() {
    let mut seen = String::new();
    for folder in CRATES.iter().filter(|folder| root().join(folder).is_dir()) {
        let files = whole_sources(folder);
        let arrows = arrows(&files);
        for (parent, modules) in circles(&arrows) {
            let parent = if parent.is_empty() { String::new() } else { format!("::{parent}") };
            writeln!(seen, "{folder}{parent}: {}", modules.join(", ")).unwrap();
        }
    }
    compare_snapshot(SNAPSHOT, &seen);
}

#[test]
fn circles_are_found_between_siblings_only() {
    let file = |path: &str, code: &str| (path.to_owned(), code.to_owned());
    let files = [
        file("lib.rs", "pub mod a; mod b; mod c; use a::x;"),
        file("a.rs", "mod inner; use crate::b::{self, y}; pub fn x() { inner::z() }"),
        file("a/inner.rs", "pub fn z() { super::x(); crate::c::w() }"),
        file("b.rs", "pub fn y() { crate::c::w() }"),
        file("c.rs", "#[cfg(test)] mod tests { use crate::b::y; }\nuse super::b::y; pub fn w() {}"),
    ];
    let arrows = arrows(&files);
    assert_eq!(circles(&arrows), [(String::new(), vec!["b", "c"])].into());
}
